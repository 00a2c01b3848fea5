"""The doctor: what is wrong with a log, the number that shows it, the likely cause and the exact fix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from dynid.chain.robot import Robot
from dynid.errors import RecordingError
from dynid.recording.raw import RawLog
from dynid.recording.recording import Recording
from dynid.review.findings import Finding, Severity
from dynid.review.model import model_findings
from dynid.review.overlap import overlap_findings
from dynid.review.signals import signal_findings

__all__ = ["examine"]

VELOCITY_LINE = re.compile(r"(dq\.|columns\.dq|.*\.dq\s*=|#)")
"""Lines of a column map that are about velocities."""
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
        found += _model_findings(robot, diagnosis.log, diagnosis.blocking, friction)
    found = _reconciled(found)
    return tuple(sorted(found, key=lambda finding: ORDER[finding.severity]))


def _model_findings(robot: Robot, log: Recording, blocking: Sequence[str], friction: str) -> tuple[Finding, ...]:
    if log.tau is None:
        currents = log.current is not None
        return (
            Finding(
                code="no-torque",
                severity=Severity.INFO,
                evidence="the log has currents and no drive gains"
                if currents
                else "the log has no torque and no current",
                cause="nothing to compare the equations of the arm with: checks of the torque are left out",
                fix="give drive gains, --gains K1,K2,… in N·m/A"
                if currents
                else "log tau1…taun or i1…in with --gains, or say what the log calls them: "
                'columns.tau = "moment_{n}" in the column map (--columns map.toml)',
            ),
        )
    if blocking:
        return (
            Finding(
                code="not-compared",
                severity=Severity.INFO,
                evidence=f"{', '.join(blocking)} come first",
                cause="a motion that is read wrongly explains no torque: checks of the torque are left out",
                fix="repair what is named above, and ask again",
            ),
        )
    return model_findings(robot, log, friction=friction)


def _reconciled(findings: list[Finding]) -> list[Finding]:
    """Where q and dq contradict each other, the equations of the arm tell which of them is wrong.

    A position that is to be turned round or moved to another joint explains the contradiction: its velocity is right.
    """
    codes = {(finding.code, finding.joint) for finding in findings}
    kept = []
    for finding in findings:
        moved = finding.code == "permuted-velocity" and ("permuted-positions", None) in codes
        turned = finding.code == "flipped-velocity" and ("flipped-position", finding.joint) in codes
        if moved or turned:
            continue
        if (finding.code == "permuted-positions" and ("permuted-velocity", None) in codes) or (
            finding.code == "flipped-position" and ("flipped-velocity", finding.joint) in codes
        ):
            lines = [line for line in finding.fix.split("\n") if not VELOCITY_LINE.match(line)]
            kept.append(replace(finding, fix="\n".join(lines)))
        else:
            kept.append(finding)
    return kept
