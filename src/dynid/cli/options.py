"""Options that several commands share, spelled the same everywhere; each group gives the keywords that were typed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from dynid.dynamics.friction.table import AUTO, FRICTION

__all__ = [
    "ForceFlag",
    "FrictionName",
    "JsonFlag",
    "LogOptions",
    "RobotName",
    "RobotOptions",
    "ScaleOptions",
    "WorkersOption",
    "free_place",
    "keywords",
]

# The literals are for completion in the shell; any other text is taken too: a file, or names joined by +.
RobotName = Annotated[Literal["panda", "wam7", "planar2r", "spatial2r"] | str, Parameter(show_choices=False)]
if TYPE_CHECKING:
    FrictionName = str
else:
    _FRICTION = (AUTO, "none", *FRICTION, "viscous+coulomb", "viscous+coulomb+offset")
    FrictionName = Annotated[Literal[_FRICTION] | str, Parameter(show_choices=False)]
ForceFlag = Annotated[bool, Parameter(negative="")]
JsonFlag = Annotated[bool, Parameter(name="--json", negative="", help="One JSON object on stdout, for scripts.")]
WorkersOption = Annotated[
    str, Parameter(help="Processes (−1: one a core), or the address of a dask scheduler; results do not depend on it.")
]


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
        tuple[float, float, float] | None,
        Parameter(negative="", help="Roll, pitch, yaw of the base in the world, rad [default: 0 0 0]."),
    ] = None
    ignore_inertials: Annotated[
        bool, Parameter(negative="", help="Do not use (or check) the inertias of the robot file.")
    ] = False
    tip: Annotated[
        str | None,
        Parameter(help="Last link of the arm that is meant, where the file has several; other joints are held."),
    ] = None
    transmission: Annotated[
        Path | None,
        Parameter(help="TOML file of coupled drives, as of a wrist: which joints each motor turns with."),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """How to read and condition a log."""

    from_: Annotated[float | None, Parameter(name="--from", help="Start of the part to use, s.")] = None
    until: Annotated[float | None, Parameter(help="End of the part to use, s.")] = None
    columns: Annotated[Path | None, Parameter(help="Mapping file: names, units, signs and gear ratios.")] = None
    gains: Annotated[
        str | None,
        Parameter(help="Drive gains K1,K2,… in N·m/A, or the file of payload --known-mass; for motor currents."),
    ] = None
    lowpass: Annotated[float | None, Parameter(help="Low-pass in Hz [default: ten times the motion's bandwidth].")] = (
        None
    )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScaleOptions:
    """How sure the scale of the torques is."""

    gain_std: Annotated[
        str | None,
        Parameter(
            help="Relative σ of drive gains or torque sensors, one number or one a joint [default: the model's or the "
            "gains file's; 0.02 for gains that are typed, 0.005 for torque sensors]."
        ),
    ] = None


def keywords(*groups: object) -> dict[str, Any]:
    """What was typed of some groups of options, as keywords of the library; what was not typed is left out."""
    found: dict[str, Any] = {}
    for group in groups:
        if group is None:
            continue
        for field in fields(group):  # type: ignore[arg-type]
            value = getattr(group, field.name)
            if value is not None and value is not False and value != ():
                found[field.name] = value
    return found


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
