"""`rollout`: models simulated forward beside what the robot did, open loop in windows and under its controller."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from dynid.arrays import Array
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ConfigError
from dynid.recording.column_map import ColumnMap
from dynid.recording.log_settings import LogSettings
from dynid.regression.model import IdentifiedModel
from dynid.simulation.joint_controller import JointController, read_controller
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.doors import LogLike, ModelLike, as_gains, as_logs, as_map
from dynid.workflow.logs import Log
from dynid.workflow.progress import Progress, silent
from dynid.workflow.references import Drive, asked_reference, with_any_torque
from dynid.workflow.rolling import HORIZONS, roll_out
from dynid.workflow.rollout_result import ModelRollout
from dynid.workflow.validate import models_of_one_robot

__all__ = ["rollout"]


@checked_arguments
@one_blas_thread()
def rollout(
    models: ModelLike | Sequence[ModelLike],
    log: LogLike,
    *,
    window: float | Sequence[float] = HORIZONS,
    controller: str | PathLike[str] | JointController | None = None,
    reference: LogLike | None = None,
    in_: str | Sequence[str] = (),
    from_: float | None = None,
    until: float | None = None,
    columns: str | PathLike[str] | ColumnMap | None = None,
    gains: str | Sequence[float] | Array | None = None,
    lowpass: float | None = None,
    progress: Progress = silent,
) -> ModelRollout:
    """Simulate models forward and compare with what the robot did (SI): only a rollout tells a simulator's model.

    Open loop, windows start from measured states and take the measured torque. Closed loop, the whole log is repeated
    under its controller and reference. The nominal robot file is always set beside.

    Args:
        models: one model.json or `IdentifiedModel`, or several.
        log: the log to repeat; its conditioning is that of the first model's fit.
        window: lengths of the windows, s.
        controller: ctrl.toml, or a `JointController`: also simulate in closed loop.
        reference: log with t and q that the controller was asked for; None is as the controller file says.
        in_: ``mujoco:FILE``: also step this file in MuJoCo.
        from_: start of the part to use, s.
        until: end of the part to use, s.
        columns: mapping file or `ColumnMap`.
        gains: drive gains in N·m/A, for logs of motor current.
        lowpass: low-pass in Hz.
        progress: hears what is being done.

    Raises:
        ModelFileError: models of robots with other joints.
        ConfigError: a log without torque and no controller, or a file that cannot be stepped.
    """
    known = models_of_one_robot(models)
    first = known[0][1]
    horizons = _horizons(window)
    typed = LogSettings(columns=as_map(columns), gains=as_gains(gains), cutoff_hz=lowpass)
    opened = Log.of(as_logs(log, "log")[0], first.robot, typed.over(first.settings), from_, until, held=True)
    driver = None if controller is None else _controller(controller, first)
    recording, has_torque = with_any_torque(opened)
    if not has_torque and driver is None:
        raise ConfigError(
            f"{opened.name}: has no torque, so nothing drives an open-loop rollout; give `controller` and a reference "
            "for a closed one"
        )
    drive = None
    if driver is not None:
        asked = None if reference is None else as_logs(reference, "reference")[0]
        drive = Drive(driver, asked_reference(driver, opened, asked))
    return roll_out(
        known, opened.name, recording, has_torque=has_torque, typed=typed, horizons=horizons, drive=drive,
        in_=(in_,) if isinstance(in_, str) else tuple(in_), progress=progress,
    )  # fmt: skip


def _horizons(window: float | Sequence[float]) -> tuple[float, ...]:
    values = (window,) if isinstance(window, int | float) else tuple(window)
    if not values or not all(isinstance(x, int | float) and 0.0 < x <= 60.0 for x in values):
        given = " ".join(str(x) for x in values)
        raise ConfigError(f"`window` {given}: give seconds, more than 0 and at most 60")
    return tuple(sorted(float(x) for x in values))


def _controller(given: str | PathLike[str] | JointController, model: IdentifiedModel) -> JointController:
    if isinstance(given, JointController):
        return given
    if not isinstance(given, str | PathLike):
        raise ConfigError(f"controller: expected a file ctrl.toml or a JointController, got {type(given).__name__}")
    return read_controller(Path(given), model.robot)
