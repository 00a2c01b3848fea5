"""What a controller was asked for, as logs have it, and logs without torque."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dynid.errors import ConfigError, RecordingError
from dynid.recording.column_map import EVERY, ColumnMap
from dynid.recording.readers import read_recording
from dynid.recording.recording import Recording
from dynid.simulation.joint_controller import REFERENCE_NAMES, JointController
from dynid.workflow.logs import Log

__all__ = ["logged_reference", "with_any_torque"]


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
