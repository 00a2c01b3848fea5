"""`payload`: the load carried in a log, or the drive gains that a load of known mass reveals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import overload

import numpy as np

from dynid.arrays import Array, ArrayLike, Transform
from dynid.chain.placement import rotation_rpy, transform
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ParameterError, RecordingError
from dynid.recording.column_map import ColumnMap
from dynid.recording.conditioning import Conditioning
from dynid.recording.gains_file import is_gains_file
from dynid.regression.drive_gains import identify_gains
from dynid.regression.load_fit import KnownArm
from dynid.regression.model import IdentifiedModel
from dynid.regression.payload import identify_payload
from dynid.regression.status import Status
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.doors import LogLike, LogSource, ModelLike, as_logs, as_model, model_files
from dynid.workflow.identify_job import LogOptions
from dynid.workflow.logs import Log
from dynid.workflow.payload_results import GainsIdentification, PayloadIdentification
from dynid.workflow.progress import Progress, silent
from dynid.workflow.torque_scales import GainStd, with_stated_scales

__all__ = ["payload"]


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
    gains: str | PathLike[str] | Sequence[float] | Array | None = None,
    gain_std: GainStd | None = None,
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
    gains: str | PathLike[str] | Sequence[float] | Array | None = None,
    gain_std: GainStd | None = None,
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
    gains: str | PathLike[str] | Sequence[float] | Array | None = None,
    gain_std: GainStd | None = None,
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
        gains: drive gains in N·m/A, or the file of them that `known_mass` gave, for logs of motor current.
        gain_std: relative σ of gains or torque sensors, one number or one a joint; None: as in the model.
        lowpass: low-pass in Hz.
        progress: hears what is being done.

    Raises:
        RecordingError: a log is missing, or has not what is needed.
        RegressionError: both logs are the same, or a gain does not show.
    """
    progress("reading")
    known = as_model(model)
    asked = LogOptions.of(from_, until, columns, gains, lowpass, gain_std)
    settings = asked.settings().over(known.settings)
    if known_mass is not None:
        if gains is not None:
            raise RecordingError("`known_mass` finds the drive gains; leave `gains` out")
        # What is measured is the current itself, also where the model knows gains.
        settings = replace(settings, gains=None, remembered_gains=False)
    elif gain_std is not None or is_gains_file(gains):
        known = with_stated_scales(known, settings)
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
        known=None if without else _known_arm(known),
        T_link_flange=T_link_flange,
        noise=known.residuals,
        scales=None if known.residuals is None else known.residuals.scale_covariance,
    )
    return PayloadIdentification(
        load=found,
        model=known,
        log=loaded.name,
        frame=known.robot.link_names[-1] if flange is None else "flange",
        T_link_frame=T_link_flange,
        warnings=_told(found.status),
    )


def _known_arm(model: IdentifiedModel) -> KnownArm:
    """Base parameters of the empty arm, what uncertain scales add to their covariance told apart."""
    residuals = model.residuals
    if residuals is None:
        return KnownArm(model.beta, model.covariance)
    return KnownArm(model.beta, model.covariance - residuals.of_scales, residuals.gain_directions)


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
        given = " ".join(f"{value:g}" for value in pose.ravel())
        raise ParameterError(f"`flange` {given}: give six finite numbers: x y z in m and roll pitch yaw in rad")
    return transform(rotation_rpy(*pose[3:].tolist()), pose[:3])
