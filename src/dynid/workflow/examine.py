"""`examine`: what is wrong with a log, the number that shows it, the likely cause and the exact fix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TypedDict

from dynid.arrays import Array
from dynid.chain.transmission import TransmissionLike
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import RecordingError
from dynid.prose import Document, Grid, Line, PrintsAsDocument
from dynid.recording.column_map import ColumnMap
from dynid.recording.log_settings import LogSettings
from dynid.review.examination import review_log
from dynid.review.findings import Finding, Severity
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.contract import FindingJson, findings_json
from dynid.workflow.doors import LogLike, RobotLike, RobotOptions, as_gains, as_logs, as_map
from dynid.workflow.fit_options import DEFAULT_FRICTION
from dynid.workflow.logs import Log
from dynid.workflow.progress import Progress, silent

__all__ = ["LogReview", "examine"]


class LogReviewJson(TypedDict):
    """All that `doctor` tells."""

    robot: str
    log: str
    findings: list[FindingJson]


@dataclass(frozen=True)
class LogReview(PrintsAsDocument):
    """The result of `dynid.examine`: what was found in one log, the gravest first."""

    robot: str
    log: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    """What the reader of the robot file decided by itself, a sentence each."""

    @property
    def has_errors(self) -> bool:
        """Whether a finding makes the result of an identification wrong."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    def json(self) -> LogReviewJson:
        """What scripts read of it."""
        return {"robot": self.robot, "log": self.log, "findings": findings_json(self.findings)}

    def document(self) -> Document:
        """The findings from top to bottom."""
        parts: list[Line | Grid] = [Line("log", self.log)]
        if not self.findings:
            return (*parts, Line("healthy", "nothing found that would harm an identification"))
        for finding in self.findings:
            parts.append(Line(finding.severity.value, f"{finding.code}{f'  {finding.joint}' if finding.joint else ''}"))
            for label, text in (("evidence", finding.evidence), ("cause", finding.cause), ("fix", finding.fix)):
                first, *rest = text.split("\n")
                parts.append(Line(f"  {label}", first))
                parts += [Line("", f"  {line}") for line in rest]
        return tuple(parts)

    def __repr__(self) -> str:
        codes = ", ".join(f"{finding.severity.value} {finding.code}" for finding in self.findings)
        return f"LogReview({self.log!r}: {codes or 'healthy'})"


@checked_arguments
@one_blas_thread()
def examine(
    robot: RobotLike,
    log: LogLike,
    *,
    against: LogLike | Sequence[LogLike] = (),
    friction: str = DEFAULT_FRICTION,
    from_: float | None = None,
    until: float | None = None,
    columns: str | PathLike[str] | ColumnMap | None = None,
    gains: str | Sequence[float] | Array | None = None,
    lock: Iterable[str] | Mapping[str, float] = (),
    gravity: tuple[float, float, float] | None = None,
    mount: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ignore_inertials: bool = False,
    tip: str | None = None,
    transmission: TransmissionLike | None = None,
    progress: Progress = silent,
) -> LogReview:
    """What is wrong with a log of a robot: what the command ``dynid doctor`` tells (SI); of a long log, its start.

    Args:
        robot: built-in name, robot file or `Robot`.
        log: a log file, a `Recording`, or plain arrays by name.
        against: other logs, whose samples this one should not hold: for validation, the training logs.
        friction: friction of the model that torques are compared with.
        from_: start of the part to look at, s.
        until: end of the part to look at, s.
        columns: mapping file or `ColumnMap`.
        gains: drive gains in N·m/A, for logs of motor current.
        lock: joints to freeze, names or JOINT=VALUE (rad or m).
        gravity: in world axes, m/s²; None is the file's, or −z.
        mount: roll, pitch, yaw of the base in the world, rad.
        ignore_inertials: neither use nor check the inertias of the robot file.
        tip: last link of the arm that is meant, where the file has several; None is what the log has.
        transmission: coupled drives, a TOML file or a matrix with a row for every motor; None is the robot file's.
        progress: hears what is being done.

    Raises:
        RecordingError: for a file that is no log of this robot.
    """
    options = RobotOptions.of(lock, gravity, mount, ignore_inertials, tip, transmission)
    sources = as_logs(log, "log")
    if len(sources) != 1:
        raise RecordingError(f"log: expected one log, got {len(sources)}")
    arm, read_with = options.load_for(robot, sources[0], as_map(columns))
    settings = LogSettings(columns=read_with, gains=as_gains(gains))
    progress("looking at the log")
    asked = Log.of(sources[0], arm, settings, from_, until)
    others = [Log.of(source, arm, settings).good_rows for source in as_logs(against, "against")]
    found = review_log(arm, asked.raw, against=others, beside=others, friction=friction)
    name = asked.name if not isinstance(asked.source, Path) else str(asked.source)
    return LogReview(arm.name, name, found, arm.notes)
