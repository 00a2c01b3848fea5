"""The doctor: everything that is wrong with a log, by every check of the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import BaseParameters
from dynid.errors import RecordingError
from dynid.recording.column_map_edits import without_signal
from dynid.recording.raw import RawLog
from dynid.recording.recording import Recording
from dynid.review.checks.table import CHECKS
from dynid.review.findings import Finding, gravest_first
from dynid.review.look import Check, Look

__all__ = ["review_log", "run_checks"]


def review_log(
    robot: Robot,
    log: Recording | RawLog,
    *,
    against: Sequence[Recording] = (),
    beside: Sequence[Recording] = (),
    friction: str = "viscous+coulomb+offset",
    base: BaseParameters | None = None,
    checks: Iterable[Check] = CHECKS,
) -> tuple[Finding, ...]:
    """Everything that is wrong with a log, the gravest first; empty for a log without fault.

    Args:
        robot: whose limits, joint types and dynamics the log is compared with.
        log: a recording, or what a file holds as `read_raw` gives it: its bad rows are then reported by number.
        against: other logs, whose samples this one should not hold.
        beside: other logs of the same robot and controller: signs, units and mounting have to hold in all of them.
        friction: friction of the model that will be fitted, for the names of unexcited parameters.
        base: base parameters of that model, where they are known already.
        checks: what to look at, in this order.

    Raises:
        RecordingError: for a log of other joints than the robot's.
    """
    raw = RawLog.of(log) if isinstance(log, Recording) else log
    if raw.joint_names != robot.joint_names:
        raise RecordingError(
            f"{raw.source}: a log of {', '.join(raw.joint_names)}, but {robot.name} has {', '.join(robot.joint_names)}"
        )
    look = run_checks(Look.at(robot, raw, against=against, beside=beside, friction=friction, base=base), checks)
    return gravest_first(_reconciled(look.findings))


def run_checks(look: Look, checks: Iterable[Check]) -> Look:
    """The look after every check whose needs the log meets."""
    for check in checks:
        if look.has(check.needs):
            look = check.run(look)
    return look


def _reconciled(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings without those that another one explains.

    Where q and dq contradict each other, the equations of the arm tell which of them is wrong: a position that is to be
    negated or moved to another joint explains the contradiction, and its velocity is right. A signal that froze jumps
    when it goes on.
    """
    found = {(finding.code, finding.joint) for finding in findings}
    for finding in findings:
        here = finding.joint
        if finding.code == "permuted-velocity" and ("permuted-positions", None) in found:
            continue
        if finding.code == "flipped-velocity" and ("flipped-position", here) in found:
            continue
        if finding.code == "jump" and ("frozen", here) in found:
            continue
        right_velocity = (finding.code == "permuted-positions" and ("permuted-velocity", None) in found) or (
            finding.code == "flipped-position" and ("flipped-velocity", here) in found
        )
        if right_velocity and finding.repair is not None:
            yield replace(finding, repair=without_signal(finding.repair, "dq"))
        else:
            yield finding
