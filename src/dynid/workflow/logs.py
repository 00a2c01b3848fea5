"""A log as the jobs take it: parsed once, for review and fit alike; a file too long for memory is streamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import RecordingError
from dynid.recording.conditioning import Plan, Samples
from dynid.recording.followed import followed_log
from dynid.recording.formats.text_stream import PACKED_SUFFIXES
from dynid.recording.log_settings import LogSettings
from dynid.recording.raw import RawLog
from dynid.recording.readers import read_raw, read_recording, stream_raw
from dynid.recording.recording import Recording
from dynid.recording.tidying import Tidying
from dynid.regression.problem import Regression, compress
from dynid.regression.rows import SampleRows
from dynid.regression.streamed_rows import StreamedRows
from dynid.workflow.doors import LogLike, LogSource, as_logs, raw_log
from dynid.workflow.progress import Progress, silent

__all__ = ["BadRows", "Log", "as_recording", "compressed", "followed_recording"]

STREAMED_BYTES = 64 * 2**20
"""Log files larger than this are streamed, never held as a whole: conditioning takes some ten times their size."""
PACKED_BYTES = 16 * 2**20
"""The same for packed text, which is some four times as long as its file."""
PIECE_SAMPLES = 40_000
"""Samples of a streamed log that are conditioned at a time: the memory of a long log is some 5 kB a sample of these."""
LOOKED_AT = 100_000
"""Samples of a streamed log that are reviewed."""


class BadRows(RecordingError):
    """A log with rows that no recording holds: not finite, or with a time that does not go on.

    Attributes:
        log: the log at fault.
    """

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True, eq=False)
class Log:
    """One log of a robot, its part that is asked for, and how to read it."""

    source: Path | RawLog
    robot: Robot
    settings: LogSettings
    t_from: float | None = None
    """Start of the part to use, s on the clock of the log; None for its start."""
    t_until: float | None = None
    """End of the part to use, s; None for its end."""
    held: bool = False
    """Whether a long file is held all the same, for a job that needs all of it at once."""

    @classmethod
    def of(
        cls,
        source: LogSource,
        robot: Robot,
        settings: LogSettings,
        t_from: float | None = None,
        t_until: float | None = None,
        *,
        held: bool = False,
    ) -> Log:
        """A log of a robot; arrays by name take the robot's joints (times in s)."""
        raw = source if isinstance(source, Path | RawLog) else raw_log(source, robot.joint_names)
        return cls(raw, robot, settings, t_from, t_until, held)

    @property
    def name(self) -> str:
        """The file, or what a recording in memory calls itself."""
        return self.source.source if isinstance(self.source, RawLog) else str(self.source)

    @property
    def is_long(self) -> bool:
        """Whether the file is streamed rather than held."""
        if self.held or isinstance(self.source, RawLog) or not self.source.is_file():
            return False
        most = PACKED_BYTES if self.source.suffix.lower() in PACKED_SUFFIXES else STREAMED_BYTES
        return self.source.stat().st_size > most

    @cached_property
    def as_read(self) -> RawLog:
        """What the file holds (SI), of a long log its start."""
        if isinstance(self.source, RawLog):
            return self.source
        most = LOOKED_AT if self.is_long else None
        return read_raw(
            self.source, self.robot.joint_names, columns=self.settings.columns, most_samples=most, t_from=self.t_from
        )

    @cached_property
    def raw(self) -> RawLog:
        """The asked part of it without rows that nobody measured, with torques (N·m or N) where gains are given."""
        found = Tidying.of(self.as_read).applied(self.as_read).part(self.t_from, self.t_until)
        return self.settings.with_raw_torque(found, self.robot)

    @cached_property
    def good_rows(self) -> Recording:
        """What can be used of it, rows that no recording holds left out."""
        return self.raw.good_rows()

    @cached_property
    def as_logged(self) -> Recording:
        """The asked part, of a long log its start; torques (N·m or N) only where they were logged or gains are given.

        Raises:
            BadRows: for rows that no recording holds, naming the first.
        """
        raw = self.raw
        try:
            return raw.recording()
        except RecordingError as error:
            raise BadRows(str(error), self.name) from error

    @property
    def recording(self) -> Recording:
        """The asked part with torques (N·m or N), of a long log its start.

        Raises:
            BadRows: for rows that no recording holds, naming the first.
        """
        found = self.as_logged
        return self.settings.with_torque(found, self.robot) if found.tau is None else found

    def first_piece(self) -> Recording:
        """What the conditioning is planned on: all of it, or the first piece of a long log (SI)."""
        return next(self.stream()) if self.is_long else self.recording

    def condition(self) -> Samples:
        """Samples (N·m or N) of all of it, or of the first piece of a long log."""
        return self.settings.condition(self.first_piece())

    def stream(self, progress: Progress = silent) -> Iterator[Recording]:
        """The asked part in pieces, with torques (N·m or N); `progress` hears how far the reading is."""
        if isinstance(self.source, RawLog):
            yield self.recording
            return
        row_bytes, n_read = _row_bytes(self.source), 0
        names, columns = self.robot.joint_names, self.settings.columns
        pieces = stream_raw(self.source, names, columns=columns, chunk_samples=PIECE_SAMPLES)
        for raw in Tidying.of(self.as_read).stream(pieces):
            n_read += raw.n_samples
            share = None if row_bytes is None else n_read * row_bytes / self.source.stat().st_size
            progress(f"reading {self.source.name}: {n_read} samples", share)
            if (self.t_until is not None and raw.t[0] >= self.t_until) or (
                self.t_from is not None and raw.t[-1] < self.t_from
            ):
                continue
            piece = raw.recording().part(self.t_from, self.t_until)
            yield self.settings.with_torque(piece, self.robot)


def _row_bytes(path: Path) -> float | None:
    """The mean length of a row, in bytes, of a log that is plain text; None for other logs."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(2**20)
    n_lines = head.count(b"\n")
    return None if b"\0" in head or n_lines < 2 else len(head) / n_lines


def as_recording(log: LogLike, robot: Robot, settings: LogSettings) -> Recording:
    """The whole log with every signal it has (SI), wrenches too; what is in memory as it is.

    Raises:
        RecordingError: for what is no log of this robot, saying what was expected.
    """
    if isinstance(log, Recording):
        return log
    source = as_logs(log, "log")[0]
    if isinstance(source, Path):
        return read_recording(source, robot.joint_names, columns=settings.columns)
    return (source if isinstance(source, RawLog) else raw_log(source, robot.joint_names)).recording()


def followed_recording(log: LogLike, robot: Robot, settings: LogSettings) -> Recording:
    """The whole log (SI) for a filter: values may be missing, stamps were put right; a `Recording` as it is.

    Raises:
        RecordingError: for what is no log of this robot, or stamps that cannot be put right.
    """
    if isinstance(log, Recording):
        return log
    source = as_logs(log, "log")[0]
    if isinstance(source, Path):
        return followed_log(read_raw(source, robot.joint_names, columns=settings.columns))
    return followed_log(source if isinstance(source, RawLog) else raw_log(source, robot.joint_names))


def compressed(
    model: TorqueModel,
    base: BaseParameters,
    logs: Sequence[Log],
    plans: Sequence[Plan],
    held: Sequence[Samples],
    progress: Progress,
) -> Regression:
    """The rows of all logs as one regression; long logs are read again, piece by piece."""
    parts = [
        compress(StreamedRows(model, base, partial(log.stream, progress), plan))
        for log, plan in zip(logs, plans, strict=True)
        if log.is_long
    ]
    whole = tuple(samples for log, samples in zip(logs, held, strict=True) if not log.is_long)
    if whole:
        parts.append(compress(SampleRows(model, base, whole)))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
