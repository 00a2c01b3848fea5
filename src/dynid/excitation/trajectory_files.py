"""Trajectories as files: CSV, and motion files as TOML, which read back exactly."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dynid.arrays import Array, Float
from dynid.disk import read_toml, write_whole
from dynid.dynamics.motion import Motion
from dynid.errors import ExcitationError
from dynid.excitation.curves.bspline import SplineCurve
from dynid.excitation.curves.curve import Curve
from dynid.excitation.curves.fourier import FourierSeries
from dynid.excitation.limits.workspace import KeepOut
from dynid.excitation.poses import PoseDesign
from dynid.excitation.ready_made import Sinusoids
from dynid.excitation.trajectory import Cruise, Hold, MotionPiece, Move, Trajectory

__all__ = [
    "MotionFile",
    "read_coefficients",
    "read_motion_file",
    "write_coefficients",
    "write_poses",
    "write_trajectory",
]

FORMAT = "dynid trajectory 1"
"""What a file of coefficients says it is; another number would be another layout."""


@dataclass(frozen=True, eq=False)
class MotionFile:
    """What a motion file says: where the robot may move, and the motion itself where there is one yet."""

    trajectory: Trajectory | None
    """None in a file that only describes the surroundings."""
    floor: float | Literal["none"] | None = None
    """Height of the floor, m in the base frame; None where the file says nothing."""
    keep_out: tuple[KeepOut, ...] = ()
    """Boxes that no link may enter."""


def write_trajectory(path: Path, trajectory: Trajectory, *, rate_hz: float = 1000.0) -> Motion:
    """Write ``t, q1…, dq1…, ddq1…`` (s, rad or m, per s, per s²) at `rate_hz`; returns what was written.

    Raises:
        ExcitationError: the rate is too low for the motion.
        OutputError: the file cannot be written.
    """
    motion = trajectory.motion(rate_hz)
    numbers = range(1, trajectory.n_dof + 1)
    header = ["t", *(f"{name}{j}" for name in ("q", "dq", "ddq") for j in numbers)]
    _write_table(path, header, np.column_stack([motion.t, motion.q, motion.dq, motion.ddq]))
    return motion


def write_poses(path: Path, design: PoseDesign) -> None:
    """Write ``q1…`` (rad or m), one pose a row."""
    _write_table(path, [f"q{j + 1}" for j in range(len(design.joint_names))], design.poses)


def _write_table(path: Path, header: Sequence[str], rows: Float[Array, "n_rows n_columns"]) -> None:
    text = io.StringIO()
    text.write(",".join(header) + "\n")
    np.savetxt(text, rows, fmt="%.12g", delimiter=",")
    write_whole(path, text.getvalue())


def write_coefficients(
    path: Path,
    trajectory: Trajectory,
    *,
    floor: float | Literal["none"] | None = None,
    keep_out: Sequence[KeepOut] = (),
) -> None:
    """Write the pieces of a trajectory and the coefficients of its curves (SI) as TOML; reads back exactly.

    The floor and the keep-out boxes (m) that it was designed for stand beside them.

    Raises:
        OutputError: the file cannot be written.
    """
    names = json.dumps(list(trajectory.joint_names), ensure_ascii=False)
    lines = [f'format = "{FORMAT}"', f"joint_names = {names}"]
    lines += [] if floor is None else [f"floor = {_toml(floor)}"]
    for box in keep_out:
        lines += ["", "[[keep_out]]", f"lower = {_toml(box.lower)}", f"upper = {_toml(box.upper)}"]
    for piece in trajectory.pieces:
        lines += ["", "[[piece]]"]
        lines += [f"{key} = {_toml(value)}" for key, value in _table(piece).items()]
    write_whole(path, "\n".join(lines) + "\n")


def _toml(value: object) -> str:
    if isinstance(value, np.ndarray):
        return _toml(value.tolist())
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else repr(float(str(value)))


def _table(piece: MotionPiece) -> Mapping[str, object]:
    match piece:
        case Hold():
            return {"kind": "hold", "pose": piece.pose, "duration": piece.duration}
        case Move():
            return {"kind": "move", "start": piece.start, "stop": piece.stop, "duration": piece.duration}
        case Cruise():
            plain = {"kind": "cruise", "phase": piece.phase, "cruise": piece.cruise, "ramp": piece.ramp}
            return {**plain, **_curve_table(piece.curve)}
    raise ExcitationError(f"a piece of type {type(piece).__name__} cannot be written as TOML")


def _curve_table(curve: Curve) -> Mapping[str, object]:
    match curve:
        case FourierSeries():
            shape = {"a": curve.a, "b": curve.b, "centre": curve.centre}
            return {"curve": "fourier", "base_frequency_hz": curve.base_frequency_hz, **shape}
        case SplineCurve():
            return {"curve": "spline", "length": curve.length, "control": curve.control}
        case Sinusoids():
            shape = {"amplitude": curve.amplitude, "period": curve.period, "centre": curve.centre}
            return {"curve": "sinusoids", **shape}
    raise ExcitationError(f"a curve of type {type(curve).__name__} cannot be written as TOML")


_Number = Annotated[float, Field(ge=-1e6, le=1e6)]
"""A position, speed, frequency or time (SI); more is a mistake, and third derivatives of it would overflow."""
_Time = Annotated[float, Field(ge=1e-6, le=1e7)]
"""s"""
_Vector = list[_Number]
_Matrix = list[list[_Number]]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _HoldTable(_Table):
    kind: Literal["hold"]
    pose: _Vector
    duration: _Time

    def piece(self) -> MotionPiece:
        return Hold(np.array(self.pose), self.duration)


class _MoveTable(_Table):
    kind: Literal["move"]
    start: _Vector
    stop: _Vector
    duration: _Time

    def piece(self) -> MotionPiece:
        return Move(np.array(self.start), np.array(self.stop), self.duration)


class _CruiseTable(_Table):
    kind: Literal["cruise"]
    phase: _Number
    cruise: _Time
    ramp: float = Field(ge=0.0, le=1e7)
    curve: Literal["fourier", "spline", "sinusoids"]
    base_frequency_hz: _Number = 0.0
    a: _Matrix = []
    b: _Matrix = []
    centre: _Vector = []
    length: _Number = 0.0
    control: _Matrix = []
    amplitude: _Vector = []
    period: list[_Time] = []

    def piece(self) -> MotionPiece:
        if 0.0 < self.ramp < 1e-6:
            raise ExcitationError(f"a ramp of {self.ramp} s is too short; give 0 or at least 1e-6")
        return Cruise(self._curve(), self.phase, self.cruise, self.ramp)

    def _curve(self) -> Curve:
        centre = np.array(self.centre)
        if self.curve == "fourier":
            return FourierSeries(self.base_frequency_hz, np.atleast_2d(self.a), np.atleast_2d(self.b), centre)
        if self.curve == "spline":
            return SplineCurve(self.length, np.atleast_2d(self.control))
        return Sinusoids(np.array(self.amplitude), np.array(self.period), centre)


class _KeepOutTable(_Table):
    lower: tuple[_Number, _Number, _Number]
    upper: tuple[_Number, _Number, _Number]


class _TrajectoryTable(_Table):
    format: Literal["dynid trajectory 1"]
    joint_names: list[str] = []
    floor: _Number | Literal["none"] | None = None
    keep_out: list[_KeepOutTable] = Field(default=[], max_length=1000)
    piece: list[Annotated[_HoldTable | _MoveTable | _CruiseTable, Field(discriminator="kind")]] = []


def read_coefficients(path: Path) -> Trajectory:
    """The trajectory that `write_coefficients` wrote (SI).

    Raises:
        ExcitationError: naming the file and the key at fault.
    """
    trajectory = read_motion_file(path).trajectory
    if trajectory is None:
        raise ExcitationError(f"{path}: piece: the file holds no motion, only where one may be")
    return trajectory


def read_motion_file(path: Path) -> MotionFile:
    """Keep-out boxes and floor (m in the base frame) of a motion file, and its motion where it holds one.

    Raises:
        ExcitationError: naming the file and the key at fault.
    """
    try:
        table = _TrajectoryTable.model_validate(read_toml(path, ExcitationError))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ExcitationError(f"{path}: {where}: {first['msg']}") from error
    try:
        boxes = tuple(KeepOut(np.array(box.lower), np.array(box.upper)) for box in table.keep_out)
        pieces = tuple(piece.piece() for piece in table.piece)
        return MotionFile(Trajectory(tuple(table.joint_names), pieces) if pieces else None, table.floor, boxes)
    except ValueError as error:
        raise ExcitationError(f"{path}: {error}") from error
