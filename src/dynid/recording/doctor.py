"""The doctor: what is wrong with a log, the number that shows it, the likely cause and the exact fix."""

from __future__ import annotations

from collections.abc import Sequence

from dynid.chain.robot import Robot
from dynid.errors import RecordingError
from dynid.recording.doctor_overlap import overlap_findings
from dynid.recording.doctor_signals import signal_findings
from dynid.recording.findings import Finding, Severity
from dynid.recording.raw import RawLog
from dynid.recording.recording import Recording

__all__ = ["examine"]

ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def examine(
    robot: Robot,
    log: Recording | RawLog,
    *,
    against: Sequence[Recording] = (),
    friction: str = "viscous+coulomb+offset",
) -> tuple[Finding, ...]:
    """Everything that is wrong with a log, the gravest first; empty for a log without fault.

    Args:
        robot: whose limits, joint types and dynamics the log is compared with.
        log: a recording, or what a file holds as `read_raw` gives it: its bad rows are then reported by number.
        against: other logs, whose samples this one should not hold.
        friction: friction of the model that torques are compared with.

    Raises:
        RecordingError: for a log of other joints than the robot's.
    """
    raw = RawLog.of(log) if isinstance(log, Recording) else log
    if raw.joint_names != robot.joint_names:
        raise RecordingError(
            f"{raw.source}: a log of {', '.join(raw.joint_names)}, but {robot.name} has {', '.join(robot.joint_names)}"
        )
    diagnosis = signal_findings(robot, raw)
    found = list(diagnosis.findings)
    if diagnosis.log is not None:
        found += overlap_findings(diagnosis.log, against)
    return tuple(sorted(found, key=lambda finding: ORDER[finding.severity]))
