"""The column map: a TOML file that tells the names, units, signs and gear ratios of a log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, get_args

import numpy as np
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from dynid.disk import read_toml
from dynid.errors import RecordingError, UnknownJoint
from dynid.recording.recording import WRENCH_AXES

__all__ = ["ColumnMap", "read_column_map"]

Signal = Literal["q", "dq", "ddq", "tau", "current"]
Positive = Annotated[float, Field(gt=1e-9, lt=1e9, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
MAX_COUNTS = 1e12
"""Encoder counts per revolution; the best encoders have some 10⁸."""
Sign = Literal[1, -1]
EVERY = "*"
"""The key of a value that holds for every joint, or for every signal of a joint."""
TURN = 2.0 * np.pi
"""rad"""

UNITS: dict[str, dict[str, float]] = {
    "t": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9},
    "q": {"rad": 1.0, "mrad": 1e-3, "deg": TURN / 360.0, "rev": TURN, "m": 1.0, "mm": 1e-3},
    "dq": {
        "rad/s": 1.0,
        "mrad/s": 1e-3,
        "deg/s": TURN / 360.0,
        "rpm": TURN / 60.0,
        "rev/s": TURN,
        "m/s": 1.0,
        "mm/s": 1e-3,
    },
    "ddq": {"rad/s²": 1.0, "deg/s²": TURN / 360.0, "rpm/s": TURN / 60.0, "rev/s²": TURN, "m/s²": 1.0, "mm/s²": 1e-3},
    "tau": {"N·m": 1.0, "mN·m": 1e-3, "N·mm": 1e-3, "N·cm": 1e-2, "kN·m": 1e3, "N": 1.0, "kN": 1e3},
    "current": {"A": 1.0, "mA": 1e-3},
}
"""What one of each unit is in SI."""
COUNTS = {"q": "counts", "dq": "counts/s", "ddq": "counts/s²"}
"""Encoder units; followed by a colon and the counts per revolution."""
SPELLINGS = {
    "N-m": "N·m", "Nm": "N·m", "nm": "N·m", "NM": "N·m", "mNm": "mN·m", "Nmm": "N·mm", "Ncm": "N·cm", "kNm": "kN·m",
    "μs": "µs", "sec": "s", "secs": "s", "seconds": "s", "msec": "ms", "milliseconds": "ms", "usec": "us", "nsec": "ns",
    "radian": "rad", "radians": "rad", "rads": "rad", "degree": "deg", "degrees": "deg", "degs": "deg",
    "rad/sec": "rad/s", "deg/sec": "deg/s", "m/sec": "m/s", "mm/sec": "mm/s", "dps": "deg/s", "amps": "A",
    "ampere": "A", "amperes": "A", "Amps": "A", "Ampere": "A",
}  # fmt: skip
"""Units as others write them."""


def unit_factor(signal: str, unit: str) -> float:
    """What to multiply values in `unit` by to have SI units.

    Raises:
        ValueError: where `signal` is not measured in `unit`, listing the units it is measured in.
    """
    plain = re.sub(r"\s", "", unit).replace("^2", "²").replace("s2", "s²").replace("°", "deg")
    plain = re.sub(r"[*.⋅∙]", "·", plain) if signal == "tau" else plain
    plain = SPELLINGS.get(plain, plain)
    if plain in UNITS[signal]:
        return UNITS[signal][plain]
    encoder = COUNTS.get(signal)
    name, _, counts = plain.partition(":")
    if encoder and name == encoder and re.fullmatch(r"\d+(\.\d+)?", counts) and 0.0 < float(counts) < MAX_COUNTS:
        return TURN / float(counts)
    known = [*UNITS[signal], *([f"{encoder}:4096"] if encoder else [])]
    raise ValueError(f"no unit {unit!r} for {signal}; known: {', '.join(known)}")


def _for_every(value: object) -> object:
    return value if isinstance(value, dict) else {EVERY: value}


def _unit_of(signal: str) -> AfterValidator:
    def check(units: dict[str, str]) -> dict[str, str]:
        for unit in units.values():
            unit_factor(signal, unit)
        return units

    return AfterValidator(check)


def _time_unit(unit: str) -> str:
    unit_factor("t", unit)
    return unit


# A value that holds for every joint is kept under `EVERY`, so that errors never speak of unions.
PerJoint = Annotated[dict[str, str], BeforeValidator(_for_every)]
PerSignal = Annotated[dict[Literal[Signal, "*"], Sign], BeforeValidator(_for_every)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class _Columns(_Strict):
    t: str | None = None
    q: PerJoint = {}
    dq: PerJoint = {}
    ddq: PerJoint = {}
    tau: PerJoint = {}
    current: Annotated[PerJoint, Field(validation_alias=AliasChoices("current", "i"))] = {}
    fx: str | None = None
    fy: str | None = None
    fz: str | None = None
    mx: str | None = None
    my: str | None = None
    mz: str | None = None

    @model_validator(mode="after")
    def _whole_wrench(self) -> _Columns:
        missing = [axis for axis in WRENCH_AXES if getattr(self, axis) is None]
        if 0 < len(missing) < len(WRENCH_AXES):
            raise ValueError(f"a wrench needs all of {', '.join(WRENCH_AXES)}; add {', '.join(missing)}")
        return self


class _Units(_Strict):
    t: Annotated[str, AfterValidator(_time_unit)] = "s"
    q: Annotated[PerJoint, _unit_of("q")] = {}
    dq: Annotated[PerJoint, _unit_of("dq")] = {}
    ddq: Annotated[PerJoint, _unit_of("ddq")] = {}
    tau: Annotated[PerJoint, _unit_of("tau")] = {}
    current: Annotated[PerJoint, _unit_of("current"), Field(validation_alias=AliasChoices("current", "i"))] = {}


class _MotorSide(_Strict):
    signals: tuple[Literal["q", "dq", "ddq", "tau"], ...] = ()


class ColumnMap(_Strict):
    """What a log calls its columns, and what turns them into SI units at the joint.

    Every key may be left out. ``{n}`` stands for the number of a joint and ``{joint}`` for its name. A name of the
    table ``columns`` without either is a two-dimensional array (one column per joint), or a stem that numbers follow.
    Where a value differs between joints, write a table with one key per joint in place of the value. Example::

        rate_hz = 500.0              # samples per second: stands in for the time column
        first = 0                    # number of the first joint in column names: 1 (default) or 0
        order = ["elbow", "shoulder", "wrist"]  # joints in the order of the log's numbers; default: the robot's
        topic = "/joint_states"      # JointState topic of a bag; needed where there are several
        wrench_topic = "/ft_sensor"  # WrenchStamped topic of a bag, interpolated at the joint states' times
        stamps = "header"            # time of a message: its header (default) or when it was "received"
        wrench = "tool"              # where fx fy fz mx my mz are measured: "base" (default) or "tool"
        wrench_sign = -1             # turns the wrench round where the sensor reports the reaction
        drop_bad_rows = true         # leave out rows that are not finite, or whose time does not go on
        exclude = [[3.0, 3.5]]       # leave out segments from … until … in s, on the clock of the log

        [joints]                     # names of joints in the log, where the robot calls them otherwise
        elbow = "arm_elbow_joint"

        [columns]                    # names of columns; what is not here keeps its usual name
        t = "stamp"
        q = "actual_q_{n}"
        dq = "speed of {joint}"
        ddq = "accelerations"        # the columns accelerations0, accelerations1, … or a 2-D array
        tau.shoulder = "torque_a"
        tau.elbow = "torque_b"
        current = "motor_{n}.amps"   # also spelled i
        fx = "force_x"
        fy = "force_y"
        fz = "force_z"
        mx = "moment_x"
        my = "moment_y"
        mz = "moment_z"

        [units]                      # of the log; default SI
        t = "ms"                     # s, ms, us, ns
        q = "counts:4096"            # rad, mrad, deg, rev, m, mm, or encoder counts per revolution
        dq = "rpm"                   # rad/s, mrad/s, deg/s, rpm, rev/s, m/s, mm/s, counts/s:4096
        ddq = "deg/s²"               # rad/s², deg/s², rpm/s, rev/s², m/s², mm/s², counts/s²:4096
        tau.shoulder = "N·mm"        # N·m, mN·m, N·mm, N·cm, kN·m, N, kN
        current = "mA"               # A, mA

        [signs]                      # of every signal of a joint, or of one signal
        shoulder = -1
        elbow.tau = -1

        [gear]                       # turns of the motor for one of the joint (or rad per m)
        shoulder = 101
        elbow = 101
        wrist = 50.5

        [motor_side]                 # signals measured before the gear: q, dq, ddq are divided, tau multiplied
        signals = ["q", "tau"]
    """

    rate_hz: Positive | None = None
    """Samples per second; stands in for the time column."""
    first: Literal[0, 1] = 1
    order: tuple[str, ...] = ()
    topic: str | None = None
    wrench_topic: str | None = None
    stamps: Literal["header", "received"] = "header"
    wrench: Literal["base", "tool"] = "base"
    wrench_sign: Sign = 1
    drop_bad_rows: bool = False
    """Whether rows that are not finite, or whose time does not go on, are left out rather than refused."""
    exclude: tuple[tuple[Finite, Finite], ...] = ()
    """Segments to leave out: from, until, in s on the clock of the log."""
    joints: dict[str, str] = {}
    columns: _Columns = _Columns()
    units: _Units = _Units()
    signs: dict[str, PerSignal] = {}
    gear: dict[str, Positive] = {}
    """Turns of the motor for one of the joint, a ratio (or rad per m)."""
    motor_side: _MotorSide = _MotorSide()
    _source: str = PrivateAttr("column map")

    @model_validator(mode="after")
    def _gears_say_where(self) -> ColumnMap:
        if self.gear and not self.motor_side.signals:
            raise ValueError(
                'gear: say which signals are measured before the gear, as in [motor_side] signals = ["q", "tau"]'
            )
        return self

    def __repr__(self) -> str:
        said = self.model_dump(exclude_defaults=True)
        return f"ColumnMap({self.source}: {', '.join(said) or 'usual names, SI'})"

    __str__ = __repr__

    @property
    def source(self) -> str:
        """The file this map was read from."""
        return self._source

    def log_name(self, joint: str) -> str:
        """What the log calls `joint`."""
        return self.joints.get(joint, joint)

    def ordered(self, joint_names: Sequence[str]) -> tuple[str, ...]:
        """The joints in the order of the log's numbers."""
        return self.order or tuple(joint_names)

    def check_joints(self, joint_names: Sequence[str]) -> None:
        """Refuse a map for another robot.

        Raises:
            UnknownJoint: naming the key.
            RecordingError: where `order` or `gear` leaves out a joint.
        """
        for key, joint in self._named_joints():
            if joint not in joint_names:
                raise UnknownJoint(joint, known=joint_names, where=f"{self.source}: {key}")
        if self.order and sorted(self.order) != sorted(joint_names):
            raise RecordingError(
                f"{self.source}: order names {', '.join(self.order)}; it must name every joint once: "
                f"{', '.join(joint_names)}"
            )
        without = [joint for joint in joint_names if joint not in self.gear]
        if self.motor_side.signals and without:
            raise RecordingError(
                f"{self.source}: gear: no ratio for {', '.join(without)}; give one to every joint, 1 without a gear"
            )

    def factor(self, signal: str, joint: str) -> float:
        """What to multiply a column of the log by to have SI units at the joint."""
        units: dict[str, str] = getattr(self.units, signal)
        unit = units.get(joint, units.get(EVERY))
        factor = 1.0 if unit is None else unit_factor(signal, unit)
        signs = {str(key): sign for key, sign in self.signs.get(joint, {}).items()}
        factor *= signs.get(signal, signs.get(EVERY, 1))
        if signal in self.motor_side.signals:
            factor = factor * self.gear[joint] if signal == "tau" else factor / self.gear[joint]
        return factor

    def _named_joints(self) -> Iterator[tuple[str, str]]:
        for key in ("order", "joints", "signs", "gear"):
            yield from ((key, joint) for joint in getattr(self, key))
        for table in ("columns", "units"):
            for signal in get_args(Signal):
                joints: dict[str, str] = getattr(getattr(self, table), signal)
                yield from ((f"{table}.{signal}", joint) for joint in joints if joint != EVERY)


TABLES: dict[str, type[BaseModel]] = {"columns": _Columns, "units": _Units, "motor_side": _MotorSide}


def read_column_map(path: Path) -> ColumnMap:
    """The column map of a TOML file; `ColumnMap` documents every key.

    Raises:
        RecordingError: naming the file and the key.
    """
    path = Path(path)
    content = read_toml(path, RecordingError, "column map")
    try:
        columns = ColumnMap.model_validate(content)
    except ValidationError as error:
        raise RecordingError(f"{path}: " + "; ".join(_explained(error))) from error
    columns._source = str(path)
    return columns


def _explained(error: ValidationError) -> Iterator[str]:
    for problem in error.errors():
        where = ".".join(str(part) for part in problem["loc"] if part not in (EVERY, "[key]"))
        if problem["type"] == "extra_forbidden":
            where, _, key = where.rpartition(".")
            known = ", ".join(TABLES.get(where, ColumnMap).model_fields)
            yield f"{where + ': ' if where else ''}no key {key!r}; known: {known}"
        else:
            yield f"{where + ': ' if where else ''}{problem['msg'].removeprefix('Value error, ')}"
