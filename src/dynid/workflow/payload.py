"""`payload`: the load carried in a log, or the drive gains that a load of known mass reveals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TypedDict, overload

import numpy as np

from dynid.arrays import Array, ArrayLike, Transform
from dynid.chain.placement import rotation_rpy, transform
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ParameterError, RecordingError
from dynid.prose import Document, Grid, Line, PrintsAsDocument
from dynid.recording.column_map import ColumnMap
from dynid.recording.conditioning import Conditioning
from dynid.regression.drive_gains import DriveGains, identify_gains
from dynid.regression.model import IdentifiedModel
from dynid.regression.payload import KnownArm, Payload, identify_payload
from dynid.regression.status import Status
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.contract import ErrorJson, Numbers, error_json
from dynid.workflow.doors import LogLike, LogSource, ModelLike, as_logs, as_model, model_files
from dynid.workflow.identify_job import LogOptions
from dynid.workflow.logs import Log
from dynid.workflow.progress import Progress, silent

__all__ = ["GainsIdentification", "PayloadIdentification", "payload"]

_AXES = "xyz"
_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Entries of a tensor, row by row."""
_DIALOGUE = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""The same in the order of a controller's load dialogue: moments first."""


class LoadErrorJson(ErrorJson):
    """How well the load explains its log."""

    log: str


class FrameJson(TypedDict):
    """The frame that a load is given in."""

    name: str
    T_link_frame: Numbers


class LoadStdJson(TypedDict):
    """Standard deviations of a load, SI."""

    mass: float
    com: Numbers
    inertia_com: Numbers


class LoadJson(TypedDict):
    """A load, SI, in its frame."""

    mass: float
    com: Numbers
    inertia_com: Numbers
    frame: FrameJson
    std: LoadStdJson


class PayloadJson(TypedDict):
    """All that `payload` tells of a load."""

    robot: str
    n_dof: int
    n_parameters: int
    n_base: int
    estimator: str
    status: str
    consistent: bool
    train: LoadErrorJson
    without_load: ErrorJson
    payload: LoadJson


class GainJson(TypedDict):
    """The gain of one drive."""

    joint: str
    value: float
    std: float
    unit: str


class GainsJson(TypedDict):
    """All that `payload` tells of drive gains."""

    robot: str
    n_dof: int
    status: str
    gains: list[GainJson]


@dataclass(frozen=True, eq=False)
class PayloadIdentification(PrintsAsDocument):
    """The result of `dynid.payload`: print it to read it, `dynid.save` it as a JSON file."""

    load: Payload
    """Mass, centre of mass and inertia with σ, and the errors with and without it (SI)."""
    model: IdentifiedModel
    """Of the arm without load."""
    log: str
    """The log with the load: its file, or what a log in memory calls itself."""
    frame: str
    """The frame the load is given in: flange, or the link whose frame it is."""
    T_link_frame: Transform
    """That frame in the last link's frame; m."""
    warnings: tuple[str, ...] = ()
    """What is weak about the result, a sentence each."""
    inputs: tuple[Path, ...] = ()
    """The files it was made from."""

    def json(self) -> PayloadJson:
        """What scripts read of it (SI)."""
        load, error = self.load, error_json(self.load.fit)
        return {
            "robot": self.model.robot.name,
            "n_dof": self.model.model.n_dof,
            "n_parameters": self.model.model.n_params,
            "n_base": self.model.base.n_base,
            "estimator": "payload",
            "status": load.status.name.lower(),
            "consistent": load.status is Status.CONVERGED,
            "train": {"log": self.log, **error},
            "without_load": error_json(load.without),
            "payload": {
                "mass": load.mass,
                "com": load.com,
                "inertia_com": load.inertia_com,
                "frame": {"name": self.frame, "T_link_frame": self.T_link_frame},
                "std": {"mass": load.mass_std, "com": load.com_std, "inertia_com": load.inertia_com_std},
            },
        }

    def document(self) -> Document:
        """The result from top to bottom, as the terminal shows it."""
        load = self.load
        before, after = load.without.relative_percent, load.fit.relative_percent
        rows = [("mass", f"{load.mass:.4f}", f"{load.mass_std:.4f}", "kg")]
        com = zip(_AXES, load.com, load.com_std, strict=True)
        rows += [(f"com {axis}", f"{value:.4f}", f"{std:.4f}", "m") for axis, value, std in com]
        tensor, spread = load.inertia_com, load.inertia_com_std
        rows += [(f"I {_AXES[a]}{_AXES[b]}", f"{tensor[a, b]:.5f}", f"{spread[a, b]:.5f}", "kg·m²") for a, b in _UPPER]
        frame = self.frame if self.frame == "flange" else f"{self.frame} frame"
        inertia = ", ".join(f"I{_AXES[a]}{_AXES[b]} {tensor[a, b]:.5f}" for a, b in _DIALOGUE)
        return (
            Line("robot", f"{self.model.robot.name}   {self.model.model.n_dof} joints"),
            Line("log", f"{self.log}   {before:.2f} % empty, {after:.2f} % with the load"),
            Grid(("load", "value", "± 1σ", "unit"), tuple(rows), (1, 2)),
            Line("settings", f"for the load dialogue of a controller, {frame}:"),
            Line("", f"mass {load.mass:.3f} kg"),
            Line("", "centre of gravity " + ", ".join(f"{1e3 * x:.1f}" for x in load.com) + " mm"),
            Line("", f"inertia about it {inertia} kg·m²"),
        )

    def __repr__(self) -> str:
        load = self.load
        return (
            f"PayloadIdentification({self.model.robot.name!r}: {load.mass:.4f} ± {load.mass_std:.2g} kg, "
            f"{load.without.relative_percent:.2f} % empty, {load.fit.relative_percent:.2f} % with the load)"
        )


@dataclass(frozen=True, eq=False)
class GainsIdentification(PrintsAsDocument):
    """The result of `dynid.payload` with a known mass: print it to read it, `dynid.save` it as a JSON file."""

    found: DriveGains
    """The gains with σ, N·m/A."""
    model: IdentifiedModel
    """What gave robot and rotors."""
    known_mass: float
    """Of the load, kg."""
    warnings: tuple[str, ...] = ()
    """What is weak about the result, a sentence each."""
    inputs: tuple[Path, ...] = ()
    """The files it was made from."""

    @property
    def gains(self) -> tuple[float, ...]:
        """What the other jobs take as `gains`, N·m/A."""
        return tuple(self.found.gains.tolist())

    def json(self) -> GainsJson:
        """What scripts read of it (N·m/A)."""
        found = self.found
        return {
            "robot": self.model.robot.name,
            "n_dof": self.model.model.n_dof,
            "status": found.status.name.lower(),
            "gains": [
                {"joint": name, "value": float(gain), "std": float(std), "unit": "N·m/A"}
                for name, gain, std in zip(found.joint_names, found.gains, found.std, strict=True)
            ],
        }

    def document(self) -> Document:
        """The result from top to bottom, as the terminal shows it."""
        found, robot = self.found, self.model.robot
        rows = tuple(
            (name, f"{gain:.4f}", f"{std:.4f}")
            for name, gain, std in zip(found.joint_names, found.gains, found.std, strict=True)
        )
        return (
            Line("robot", f"{robot.name}   {robot.n_dof} joints; scale set by {self.known_mass:g} kg"),
            Grid(("joint", "gain / N·m/A", "± 1σ"), rows, (1, 2)),
        )

    def __repr__(self) -> str:
        gains = ", ".join(f"{gain:.4g}" for gain in self.gains)
        return f"GainsIdentification({self.model.robot.name!r}: {gains} N·m/A by {self.known_mass:g} kg)"


@overload
def payload(
    model: ModelLike,
    log: LogLike,
    *,
    unloaded: LogLike | None = None,
    flange: ArrayLike | None = None,
    known_mass: None = None,
    friction: str = "auto",
    from_: float | None = None,
    until: float | None = None,
    columns: str | PathLike[str] | ColumnMap | None = None,
    gains: str | Sequence[float] | Array | None = None,
    lowpass: float | None = None,
    progress: Progress = silent,
) -> PayloadIdentification: ...


@overload
def payload(
    model: ModelLike,
    log: LogLike,
    *,
    unloaded: LogLike | None = None,
    flange: ArrayLike | None = None,
    known_mass: float,
    friction: str = "auto",
    from_: float | None = None,
    until: float | None = None,
    columns: str | PathLike[str] | ColumnMap | None = None,
    gains: str | Sequence[float] | Array | None = None,
    lowpass: float | None = None,
    progress: Progress = silent,
) -> GainsIdentification: ...


@checked_arguments
@one_blas_thread()
def payload(
    model: ModelLike,
    log: LogLike,
    *,
    unloaded: LogLike | None = None,
    flange: ArrayLike | None = None,
    known_mass: float | None = None,
    friction: str = "auto",
    from_: float | None = None,
    until: float | None = None,
    columns: str | PathLike[str] | ColumnMap | None = None,
    gains: str | Sequence[float] | Array | None = None,
    lowpass: float | None = None,
    progress: Progress = silent,
) -> PayloadIdentification | GainsIdentification:
    """Mass, centre of mass and inertia (SI) of the load in a log, against the model of the empty arm.

    With `unloaded` the empty arm is fitted anew from a run without load; the model then gives only robot and friction.
    With `known_mass` both logs are motor currents, and the drive gains are found instead. The logs are read and
    conditioned as those of the model's fit were: its column map, gains, low-pass and delay hold unless given here.

    Args:
        model: model.json or `IdentifiedModel` of the arm without load.
        log: the log with the load.
        unloaded: a log without it.
        flange: flange frame in the last link's frame: x y z in m, roll pitch yaw in rad; None is the link's own.
        known_mass: mass of the load in kg; finds drive gains from currents with and without it.
        friction: friction for `known_mass`: names joined by +, or auto.
        from_: start of the part to use, s.
        until: end of the part to use, s.
        columns: mapping file or `ColumnMap`.
        gains: drive gains in N·m/A, for logs of motor current.
        lowpass: low-pass in Hz.
        progress: hears what is being done.

    Raises:
        RecordingError: a log is missing, or has not what is needed.
        RegressionError: both logs are the same, or a gain does not show.
    """
    progress("reading")
    known = as_model(model)
    asked = LogOptions.of(from_, until, columns, gains, lowpass)
    settings = asked.settings().over(known.settings)
    if known_mass is not None:
        if gains is not None:
            raise RecordingError("`known_mass` finds the drive gains; leave `gains` out")
        # What is measured is the current itself, also where the model knows gains.
        settings = replace(settings, gains=None, remembered_gains=False)
    loaded = Log.of(_one(log, "log"), known.robot, settings, from_, until, held=True)
    empty = None
    if unloaded is not None:
        empty = Log.of(_one(unloaded, "unloaded"), known.robot, settings, from_, until, held=True)
    opened = (loaded.source, None if empty is None else empty.source)
    inputs = (*model_files(model), *(source for source in opened if isinstance(source, Path)), *asked.files)
    if known_mass is None:
        return replace(_load(known, loaded, empty, flange, progress), inputs=inputs)
    found = _gains(known, loaded, empty, _number(known_mass, "known_mass"), friction, progress)
    return replace(found, inputs=inputs)


def _load(
    known: IdentifiedModel, loaded: Log, empty: Log | None, flange: ArrayLike | None, progress: Progress
) -> PayloadIdentification:
    T_link_flange = np.eye(4) if flange is None else _frame(flange)
    samples = loaded.condition()
    without = [] if empty is None else [empty.condition()]
    progress("fitting the load")
    found = identify_payload(
        known.model,
        known.base,
        [samples],
        unloaded=without,
        known=None if without else KnownArm(known.beta, known.covariance),
        T_link_flange=T_link_flange,
    )
    return PayloadIdentification(
        load=found,
        model=known,
        log=loaded.name,
        frame=known.robot.link_names[-1] if flange is None else "flange",
        T_link_frame=T_link_flange,
        warnings=_told(found.status),
    )


def _gains(
    known: IdentifiedModel, loaded: Log, empty: Log | None, mass: float, friction: str, progress: Progress
) -> GainsIdentification:
    if empty is None:
        raise RecordingError("`known_mass` needs a run without the load as well: `unloaded`")
    settings = loaded.settings
    logs = loaded.as_logged, empty.as_logged
    progress("fitting gains, arm and load together")
    found = identify_gains(
        known.robot,
        *logs,
        mass,
        drives=tuple(m for m in known.model.joint_models if not m.is_friction),
        friction=friction,
        conditioning=Conditioning(cutoff_hz=settings.cutoff_hz, delay=settings.delay or 0.0),
    )
    return GainsIdentification(found, known, mass, _told(found.status))


def _told(status: Status) -> tuple[str, ...]:
    return () if status is Status.CONVERGED else (status.value,)


def _one(log: LogLike, what: str) -> LogSource:
    """A single log.

    Raises:
        RecordingError: for several.
    """
    found = as_logs(log, what)
    if len(found) != 1:
        raise RecordingError(f"{what}: expected one log, got {len(found)}")
    return found[0]


def _number(value: float, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{name}: expected a number, got {type(value).__name__}")
    return float(value)


def _frame(flange: ArrayLike) -> Transform:
    """A frame from x y z (m) and roll pitch yaw (rad).

    Raises:
        ParameterError: for anything but six finite numbers.
    """
    try:
        pose = np.asarray(flange, dtype=float)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"`flange`: {error}; give x y z in m and roll pitch yaw in rad") from error
    if pose.shape != (6,) or not np.all(np.isfinite(pose)):
        raise ParameterError(f"`flange` {flange}: give six finite numbers: x y z in m and roll pitch yaw in rad")
    return transform(rotation_rpy(*pose[3:].tolist()), pose[:3])
