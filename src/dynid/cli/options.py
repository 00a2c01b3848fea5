"""Options that several commands share, spelled the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dynid.chain import Robot, load_robot
from dynid.errors import ConfigError, RobotError

__all__ = [
    "ForceFlag",
    "FrictionName",
    "JsonFlag",
    "RobotName",
    "RobotOptions",
    "checked_seed",
    "free_place",
    "locked_joint",
]

# The literals are for completion in the shell; any other text is taken too: a file, or names joined by +.
RobotName = Annotated[Literal["panda", "wam7", "planar2r", "spatial2r"] | str, Parameter(show_choices=False)]
FrictionName = Annotated[
    Literal[
        "auto",
        "none",
        "viscous",
        "coulomb",
        "offset",
        "asymmetric",
        "tanh",
        "sigmoid",
        "stribeck",
        "load",
        "presliding",
        "viscous+coulomb",
        "viscous+coulomb+offset",
    ]
    | str,
    Parameter(show_choices=False),
]
LOG_ENDINGS = (".csv", ".gz", ".npz", ".parquet", ".h5", ".mat", ".bag", ".mcap")
ForceFlag = Annotated[bool, Parameter(negative="")]
JsonFlag = Annotated[bool, Parameter(name="--json", negative="", help="One JSON object on stdout, for scripts.")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RobotOptions:
    """How to read the robot."""

    lock: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="Freeze a joint, JOINT or JOINT=VALUE (rad or m); may be given several times."),
    ] = ()
    gravity: Annotated[
        tuple[float, float, float] | None,
        Parameter(negative="", help="Gravity in world axes, m/s² [default: the file's, or −z]."),
    ] = None
    mount: Annotated[
        tuple[float, float, float], Parameter(negative="", help="Roll, pitch, yaw of the base in the world, rad.")
    ] = (0.0, 0.0, 0.0)
    ignore_inertials: Annotated[
        bool, Parameter(negative="", help="Do not use (or check) the inertias of the robot file.")
    ] = False

    def load(self, robot: str) -> Robot:
        """The robot of a built-in name or a file, as these options say."""
        if robot.lower().endswith(LOG_ENDINGS):
            raise RobotError(f"{robot}: is a log, no robot file; the robot comes first, then the logs")
        return load_robot(
            robot,
            lock=dict(locked_joint(item) for item in self.lock),
            gravity=self.gravity,
            mounting=self.mount,
            inertials="ignore" if self.ignore_inertials else "check",
        )


def free_place(given: Path | None, usual: str) -> Path:
    """Where results go: as asked; else the usual place, or its first numbered neighbour with nothing in it."""
    if given is not None:
        return given
    path = Path(usual)
    for number in count(2):
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            break
        path = Path(f"{Path(usual).stem}-{number}{Path(usual).suffix}")
    return path


def checked_seed(seed: int) -> int:
    """A seed, as typed, that random numbers can be drawn from.

    Raises:
        ConfigError: a negative number.
    """
    if seed < 0:
        raise ConfigError(f"--seed {seed}: give a whole number that is not negative")
    return seed


def locked_joint(item: str) -> tuple[str, float]:
    """Name and position (rad or m) of JOINT or JOINT=VALUE."""
    name, _, value = item.partition("=")
    try:
        return name, float(value) if value else 0.0
    except ValueError as error:
        raise RobotError(f"--lock {item}: {value!r} is not a number; write JOINT=VALUE in rad or m") from error
