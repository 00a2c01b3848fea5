"""The doors of the library: robots and logs as people have them, and what is said of anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from dynid.arrays import Array, ArrayLike
from dynid.chain.formats.assembly import read_bodies
from dynid.chain.library import load_robot, robot_of_tree
from dynid.chain.robot import Robot
from dynid.chain.transmission import TransmissionLike, with_transmission
from dynid.dynamics.drives import RotorInertia
from dynid.dynamics.friction.table import friction_models
from dynid.dynamics.model import TorqueModel
from dynid.errors import ConfigError, RecordingError, RobotError, UnknownKeyword
from dynid.recording.column_map import ColumnMap, read_column_map
from dynid.recording.gains_file import is_gains_file, read_gains
from dynid.recording.raw import RawLog
from dynid.recording.recording import Recording
from dynid.regression.model import IdentifiedModel
from dynid.regression.model_file import load_model
from dynid.workflow.argument_types import check_argument_types
from dynid.workflow.arm_choice import choose_arm, numbered_through

__all__ = [
    "LogLike",
    "LogSource",
    "ModelLike",
    "RobotKeywords",
    "RobotLike",
    "RobotOptions",
    "as_gains",
    "as_locks",
    "as_logs",
    "as_map",
    "as_model",
    "as_numbers",
    "as_seed",
    "as_torque_model",
    "check_keywords",
    "locked_joint",
    "model_files",
    "model_name",
    "raw_log",
]

RobotLike = str | PathLike[str] | Robot
"""A built-in name, a robot file, or a `Robot`."""
LogLike = str | PathLike[str] | Recording | RawLog | Mapping[str, ArrayLike]
"""A log file, a `Recording`, or plain arrays by name: t, q, tau, and dq where there is one."""
LogSource = Path | RawLog | Mapping[str, Array]
"""A log that has passed the door: a file, what a file holds, or arrays by name."""
A_LOG = "a log file, a Recording or arrays by name (t, q, tau, and dq where there is one)"
ModelLike = str | PathLike[str] | IdentifiedModel
"""A model.json (or the folder it lies in), or an `IdentifiedModel`."""
LOG_ENDINGS = (".csv", ".gz", ".npz", ".parquet", ".h5", ".mat", ".bag", ".mcap")
"""What no robot file ends in."""
ARRAYS = ("t", "q", "dq", "ddq", "tau", "current", "base_wrench", "tool_wrench")
"""Names of plain arrays that make up a log."""


class RobotKeywords(TypedDict, total=False):
    """How to read a robot file."""

    lock: Iterable[str] | Mapping[str, float]
    """Joints to freeze, names or JOINT=VALUE (rad or m)."""
    gravity: tuple[float, float, float] | None
    """In world axes, m/s²; None is the file's, or −z."""
    mount: tuple[float, float, float]
    """Roll, pitch, yaw of the base in the world, rad."""
    ignore_inertials: bool
    """Neither use nor check the inertias of the robot file."""
    tip: str | None
    """Last link of the arm that is meant; joints off the way to it are held. None is the whole robot."""
    transmission: TransmissionLike | None
    """Coupled drives: a TOML file, or the matrix itself; None is what the robot file says."""


@dataclass(frozen=True, kw_only=True)
class RobotOptions:
    """How to read a robot."""

    lock: tuple[str, ...] = ()
    """Joints to freeze, JOINT or JOINT=VALUE (rad or m)."""
    gravity: tuple[float, float, float] | None = None
    """Gravity in world axes, m/s²; None is the file's, or −z."""
    mount: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Roll, pitch, yaw of the base in the world, rad."""
    ignore_inertials: bool = False
    """Whether inertias of the file are neither used nor checked."""
    tip: str | None = None
    """Last link of the arm that is meant; None for the whole robot, or what the log has."""
    transmission: Path | tuple[tuple[float, ...], ...] | None = None
    """File or rows of the matrix of coupled drives, dimensionless; None for what the robot file says."""

    @classmethod
    def of(
        cls,
        lock: Iterable[str] | Mapping[str, float],
        gravity: tuple[float, float, float] | None,
        mount: tuple[float, float, float],
        ignore_inertials: bool,
        tip: str | None = None,
        transmission: TransmissionLike | None = None,
    ) -> RobotOptions:
        """From what people give: joints to lock as texts or with their positions (rad or m), m/s², rad."""
        return cls(
            lock=as_locks(lock),
            gravity=gravity,
            mount=mount,
            ignore_inertials=ignore_inertials,
            tip=tip,
            transmission=_as_transmission(transmission),
        )

    @classmethod
    def of_keywords(cls, keywords: RobotKeywords) -> RobotOptions:
        """From the keywords of a call (SI)."""
        return cls.of(
            keywords.get("lock", ()),
            keywords.get("gravity"),
            keywords.get("mount", (0.0, 0.0, 0.0)),
            keywords.get("ignore_inertials", False),
            keywords.get("tip"),
            keywords.get("transmission"),
        )

    @property
    def files(self) -> tuple[Path, ...]:
        """The transmission file, where there is one."""
        return (self.transmission,) if isinstance(self.transmission, Path) else ()

    def load(self, robot: RobotLike) -> Robot:
        """The robot of a built-in name or a file, as these options say; a `Robot` as it is.

        Raises:
            RobotError: for what is no robot, or options that cannot change one that was loaded before.
        """
        if isinstance(robot, Robot):
            if self != RobotOptions():
                raise RobotError(
                    "lock, gravity, mount, ignore_inertials, tip and transmission go with a robot file; "
                    "give the first five to load_robot, and the last to `Robot`"
                )
            return robot
        if not isinstance(robot, str | PathLike):
            raise RobotError(f"robot: expected a built-in name, a robot file or a Robot, got {type(robot).__name__}")
        text = fspath(robot)
        if text.lower().endswith(LOG_ENDINGS):
            raise RobotError(f"{text}: is a log, no robot file; the robot comes first, then the logs")
        found = load_robot(
            text,
            lock=dict(locked_joint(item) for item in self.lock),
            gravity=self.gravity,
            mounting=self.mount,
            inertials="ignore" if self.ignore_inertials else "check",
            tip=self.tip,
            square=True,
        )
        return self._coupled(found)

    def _coupled(self, robot: Robot) -> Robot:
        return robot if self.transmission is None else with_transmission(robot, self.transmission)

    def load_for(self, robot: RobotLike, log: LogSource, columns: ColumnMap | None) -> tuple[Robot, ColumnMap | None]:
        """The robot as these options say, of a file only the joints that the log is about, and how to read the log.

        Raises:
            RobotError: for what is no robot.
            RecordingError: for a log that several arms of the file could have made.
        """
        path = None if isinstance(robot, Robot) or not isinstance(robot, str | PathLike) else Path(robot)
        if path is None or not path.is_file() or path.suffix.lower() in (".toml", *LOG_ENDINGS):
            return self._numbered_for(robot, log, columns)
        if isinstance(log, Path) and not log.exists():
            return self.load(robot), columns
        locked = dict(locked_joint(item) for item in self.lock)
        tree = read_bodies(path, square=True)
        choice = choose_arm(tree, log, columns, lock=locked, tip=self.tip)
        found = robot_of_tree(
            tree,
            lock={**choice.lock, **locked},
            gravity=self.gravity,
            mounting=self.mount,
            inertials="ignore" if self.ignore_inertials else "check",
            tip=self.tip,
            moving=choice.moving,
            square=True,
        )
        return self._coupled(found), choice.columns

    def _numbered_for(
        self, robot: RobotLike, log: LogSource, columns: ColumnMap | None
    ) -> tuple[Robot, ColumnMap | None]:
        """A table or built-in robot, and how to read a log whose columns count its locked joints, too."""
        found = self.load(robot)
        if not self.lock or not isinstance(log, Path) or not log.is_file():
            return found, columns
        whole = replace(self, lock=(), transmission=None).load(robot)
        return found, numbered_through(whole.joint_names, found.joint_names, log, columns)


def check_keywords(job: Callable[..., object], given: Mapping[str, object], group: type) -> None:
    """Refuse what a job does not take beyond its own arguments and the keys of `group`, a typed dictionary.

    Raises:
        UnknownKeyword: naming the nearest keyword and all that exist.
        WrongType: no number where one belongs.
    """
    own = [name for name, parameter in signature(job).parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    for name in given:
        if name not in group.__annotations__:
            raise UnknownKeyword(name, known=(*own, *group.__annotations__), where=job.__name__)
    check_argument_types(group.__annotations__, given)


def locked_joint(item: str) -> tuple[str, float]:
    """Name and position (rad or m) of JOINT or JOINT=VALUE.

    Raises:
        RobotError: for a value that is no number.
    """
    name, _, value = item.partition("=")
    try:
        return name, float(value) if value else 0.0
    except ValueError as error:
        raise RobotError(f"`lock` {item}: {value!r} is not a number; write JOINT=VALUE in rad or m") from error


def as_locks(lock: Iterable[str] | Mapping[str, float]) -> tuple[str, ...]:
    """Joints to freeze as texts, JOINT or JOINT=VALUE (rad or m)."""
    if isinstance(lock, str):
        return (lock,)
    if not isinstance(lock, Iterable):
        raise ConfigError(f"lock: expected names of joints, or positions by name, got {type(lock).__name__}")
    if isinstance(lock, Mapping):
        return tuple(f"{name}={float(value)!r}" for name, value in lock.items())
    return tuple(lock)


def _as_transmission(given: TransmissionLike | None) -> Path | tuple[tuple[float, ...], ...] | None:
    if given is None or isinstance(given, str | PathLike):
        return None if given is None else Path(given)
    try:
        return tuple(tuple(float(x) for x in row) for row in np.atleast_2d(np.asarray(given, dtype=float)))
    except (TypeError, ValueError) as error:
        raise RobotError(
            f"`transmission`: expected a file or a matrix with a row for every motor, got {type(given).__name__}"
        ) from error


def as_logs(logs: LogLike | Sequence[LogLike], what: str = "logs") -> tuple[LogSource, ...]:
    """Logs (SI) as paths that are still to be read, or what is in memory.

    Raises:
        RecordingError: for anything else, saying what was expected.
    """
    if isinstance(logs, str | PathLike | Recording | RawLog | Mapping):
        logs = (logs,)
    if not isinstance(logs, Iterable):
        raise RecordingError(f"{what}: expected {A_LOG}, or a list of these, got {type(logs).__name__}")
    return tuple(_as_log(log, what) for log in logs)


def _as_log(log: LogLike, what: str) -> LogSource:
    if isinstance(log, RawLog):
        return log
    if isinstance(log, Recording):
        return RawLog.of(log)
    if isinstance(log, str | PathLike):
        return Path(log)
    if not isinstance(log, Mapping):
        raise RecordingError(f"{what}: expected {A_LOG}, got {type(log).__name__}")
    unknown = [str(name) for name in log if name not in ARRAYS]
    if unknown or not {"t", "q"} <= set(log):
        raise RecordingError(
            f"{what}: arrays of a log are called {', '.join(ARRAYS)}, and t and q are needed; got "
            f"{', '.join(str(name) for name in log)}"
        )
    return {name: np.asarray(value, dtype=float) for name, value in log.items()}


def raw_log(arrays: Mapping[str, Array], joint_names: Sequence[str]) -> RawLog:
    """Plain arrays by name (SI) as a log, as unchecked as a file; those of one joint may lack their second axis.

    Raises:
        RecordingError: for shapes that do not fit the joints.
    """
    shaped = {name: value if name == "t" or value.ndim != 1 else value[:, None] for name, value in arrays.items()}
    t = shaped["t"]
    # Shapes are those of a recording; values and stamps may be as bad as in a file.
    named: dict[str, Any] = {name: np.zeros(np.shape(value)) for name, value in shaped.items()}
    named["t"] = np.arange(len(t), dtype=float) if t.ndim == 1 else t
    shape = RawLog.of(Recording(tuple(joint_names), **named))
    given: dict[str, Any] = shaped
    return replace(shape, **given, numbers=None)


def as_map(columns: str | PathLike[str] | ColumnMap | None) -> ColumnMap | None:
    """A column map, or that of a file; None for none.

    Raises:
        RecordingError: for a file that is no column map, or another type.
    """
    if columns is None or isinstance(columns, ColumnMap):
        return columns
    if isinstance(columns, str | PathLike):
        return read_column_map(Path(columns))
    raise RecordingError(f"columns: expected a mapping file or a ColumnMap, got {type(columns).__name__}")


def as_gains(gains: str | PathLike[str] | Sequence[float] | Array | None) -> tuple[float, ...] | None:
    """Drive gains in N·m/A, from numbers, a text ``K1,K2,…`` or the file that `payload` wrote; None for none.

    Raises:
        RecordingError: for what are no numbers.
    """
    if gains is None:
        return None
    if is_gains_file(gains):
        return read_gains(gains)[0]
    assert not isinstance(gains, PathLike)
    words = gains.replace(",", " ").split() if isinstance(gains, str) else gains
    try:
        return tuple(float(word) for word in words)
    except (TypeError, ValueError) as error:
        raise RecordingError(f"`gains` {gains}: {error}; give a number in N·m/A for each joint, K1,K2,…") from error


def as_model(model: ModelLike) -> IdentifiedModel:
    """A model, or that of a file.

    Raises:
        ModelFileError: for a file that is no model.
        ConfigError: for another type.
    """
    if isinstance(model, IdentifiedModel):
        return model
    if isinstance(model, str | PathLike):
        return load_model(Path(model))
    raise ConfigError(f"model: expected a model.json or an IdentifiedModel, got {type(model).__name__}")


def model_name(model: ModelLike, otherwise: str) -> str:
    """The file of a model, for messages; `otherwise` for one in memory."""
    return fspath(model) if isinstance(model, str | PathLike) else otherwise


def model_files(*models: ModelLike | None) -> tuple[Path, ...]:
    """The files among some models, for the provenance."""
    return tuple(Path(model) for model in models if isinstance(model, str | PathLike))


def as_torque_model(robot: Robot, friction: str, *, rotor_inertia: bool = False) -> TorqueModel:
    """The torque of a robot with friction by names joined by +, and with a rotor inertia at every joint where asked.

    Raises:
        ConfigError: for friction that is no text.
        UnknownName: for friction that does not exist.
    """
    if not isinstance(friction, str):
        raise ConfigError(f"friction: expected none, or names joined by +, got {type(friction).__name__}")
    return TorqueModel(robot, (*((RotorInertia(),) if rotor_inertia else ()), *friction_models(friction)))


def as_numbers(name: str, values: str | float | Sequence[float] | Array) -> tuple[float, ...]:
    """Numbers of a parameter (its unit), from numbers or from a text of numbers joined by commas.

    Raises:
        ConfigError: for what are no numbers.
    """
    try:
        if isinstance(values, str):
            return tuple(float(part) for part in values.split(","))
        return tuple(np.atleast_1d(np.asarray(values, dtype=float)).tolist())
    except (TypeError, ValueError) as error:
        raise ConfigError(f"`{name}` {values}: write numbers joined by commas") from error


def as_seed(seed: int) -> int:
    """A seed that random numbers can be drawn from.

    Raises:
        ConfigError: for anything but a whole number that is not negative.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ConfigError(f"`seed` {seed}: give a whole number that is not negative")
    return seed
