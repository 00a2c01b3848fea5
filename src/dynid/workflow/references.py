"""What a controller was asked for, as logs have it, and logs without torque."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynid.errors import ConfigError, RecordingError
from dynid.recording.column_map import EVERY, ColumnMap
from dynid.recording.log_settings import LogSettings
from dynid.recording.raw import RawLog
from dynid.recording.readers import read_recording
from dynid.recording.recording import Recording
from dynid.simulation.joint_controller import REFERENCE_NAMES, JointController
from dynid.workflow.doors import LogSource
from dynid.workflow.logs import Log, as_recording

__all__ = ["Drive", "asked_reference", "commanded_log", "logged_reference", "with_any_torque"]


@dataclass(frozen=True, eq=False)
class Drive:
    """What drove a log: its controller, and what that was asked for."""

    controller: JointController
    reference: Recording


def logged_reference(controller: JointController, log: Log) -> Recording:
    """The reference (rad or m) that a controller followed: columns of the log, or the file that the controller names.

    Raises:
        ConfigError: where there is none, saying how to name it.
    """
    named = controller.reference
    names = log.robot.joint_names
    if named is not None and "{" not in named:
        path = Path(controller.source).parent / named
        if not path.is_file():
            raise ConfigError(
                f"{controller.source}: reference: {path} is no file, and {named} no pattern such as qr{{n}}"
            )
        return read_recording(path, names)
    if not isinstance(log.source, Path):
        raise ConfigError(f"{log.name}: a log in memory has no reference columns; give `reference`, a log with t and q")
    known = log.settings.columns or ColumnMap()
    for pattern in (named,) if named is not None else REFERENCE_NAMES:
        columns = known.columns.model_copy(update={"q": {EVERY: pattern}})
        try:
            found = read_recording(log.source, names, columns=known.model_copy(update={"columns": columns}))
        except RecordingError as error:
            if named is not None:
                raise ConfigError(f"{log.name}: no reference columns {named}: {error}") from error
            continue
        return found.part(log.t_from, log.t_until)
    raise ConfigError(
        f"{log.name}: no reference columns ({', '.join(REFERENCE_NAMES[:3])}, …); name them in the controller file, as "
        'in reference = "q_ref{n}", or give `reference`, a log with t and q'
    )


def with_any_torque(log: Log) -> tuple[Recording, bool]:
    """A log (SI) as it can be conditioned, and whether its torque was measured; zero stands for what was not."""
    logged = log.as_logged
    if logged.tau is None and logged.current is None:
        return replace(logged, tau=np.zeros_like(logged.q)), False
    return log.recording, True


def asked_reference(controller: JointController, log: Log, given: LogSource | None) -> Recording:
    """What a controller was asked for in a log (rad or m): what is given, or what log and controller file say."""
    if given is None:
        return logged_reference(controller, log)
    return as_recording(given, log.robot, LogSettings())


def commanded_log(log: Log, controller: JointController, reference: Recording) -> Log:
    """A log without torque with the command of its controller in place (N·m or N); one with torque as it is.

    The command acts later by its delay and, held until the next, by half a period more on average.
    """
    logged = log.as_logged
    if logged.tau is not None or logged.current is not None:
        return log
    t, q = logged.t, logged.q
    rate = controller.rate_hz or logged.rate_hz
    late = controller.delay + (0.5 / rate if controller.held else 0.0)
    dq = logged.dq if logged.dq is not None else np.gradient(q, t, axis=0)
    period = float(np.median(np.diff(t)))
    feedback = controller.feedback(log.robot, reference.t, reference.q, float(t[0]), len(t), period, 1)
    asked = np.column_stack([np.interp(t, reference.t, x) for x in reference.q.T])
    speed = np.gradient(asked, t, axis=0) if controller.on_error else np.zeros_like(asked)
    command = feedback.forward + controller.kp * (asked - q) + controller.kd * (speed - dq)
    command = np.clip(command, -controller.limit, controller.limit)
    tau = np.column_stack([np.interp(t - late, t, x) for x in command.T])
    return replace(log, source=RawLog.of(replace(logged, tau=tau)))
