"""Files that grow: text with a header or one JSON object a line, read on as it is written."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dynid.arrays import Array, Float
from dynid.errors import RecordingError, TrackingError
from dynid.recording.column_map import ColumnMap
from dynid.recording.columns import Layout, layout
from dynid.recording.formats.text_dialect import MISSING, Dialect, dialect_of
from dynid.recording.log_format import LogBlock, LogTable
from dynid.tracking.samples import Sample
from dynid.tracking.sources.feeds import READ_BYTES, TOO_LONG, Arrived, JsonLines, LineSplitter
from dynid.tracking.sources.messages import LARGEST, StreamMessage, StreamMessages

__all__ = ["GrowingFile", "GrowingJson", "GrowingTable", "TableSamples"]

LOOK_AGAIN = 0.01
"""Time in s between two looks at a file that has not grown."""


class GrowingFile:
    """The bytes of a file from its start, and those that are written to it later, also where it is replaced."""

    def __init__(self, path: Path) -> None:
        """Open it where it is there; it may come later.

        Raises:
            TrackingError: a folder, or a file that may not be read.
        """
        self.path = path
        self._fresh = False
        self._file: BinaryIO | None = None
        self._reopen()

    def read(self) -> bytes:
        """What has been added; empty where nothing was."""
        if self._file is None:
            self._reopen()
            if self._file is None:
                return b""
        data = self._file.read(READ_BYTES)
        if not data and self._replaced():
            self.close()
            self._reopen()
            self._fresh = True
        return data

    def wait(self, wait: float) -> bytes:
        """What is added within `wait` s."""
        until = time.monotonic() + wait
        while not (data := self.read()) and (left := until - time.monotonic()) > 0.0:
            time.sleep(min(LOOK_AGAIN, left))
        return data

    def restarted(self) -> bool:
        """Whether what `read` gave last is of another file than before; says so once."""
        fresh, self._fresh = self._fresh, False
        return fresh

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _reopen(self) -> None:
        try:
            self._file = self.path.open("rb", buffering=0)
        except FileNotFoundError:
            self._file = None
        except OSError as error:
            raise TrackingError(f"{self.path}: cannot be followed: {error.strerror}; name a file") from error

    def _replaced(self) -> bool:
        assert self._file is not None
        try:
            there = self.path.stat()
        except OSError:
            return False  # what was read stays open until something new stands in its place
        mine = os.fstat(self._file.fileno())
        return (there.st_ino, there.st_dev) != (mine.st_ino, mine.st_dev) or there.st_size < self._file.tell()


class GrowingJson:
    """A file that grows by one JSON object a line."""

    def __init__(self, path: Path, messages: StreamMessages) -> None:
        self.label, self.real_time = f"file {path.name}", False
        self._file, self._lines = GrowingFile(path), JsonLines(messages)

    @property
    def ended(self) -> bool:
        """Whether its writer said so."""
        return self._lines.ended

    def receive(self, wait: float) -> list[Arrived]:
        """The messages that were added; waits up to `wait` (s)."""
        data, now = self._file.wait(wait), time.monotonic()
        if self._file.restarted():
            self._lines.restart()
        return self._lines.of(data, now)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


class TableSamples:
    """Rows of named columns as samples, by the names, units, signs and gains of the log's map."""

    def __init__(self, names: Sequence[str], where: str, messages: StreamMessages, columns: ColumnMap | None) -> None:
        """Find the signals.

        Raises:
            RecordingError: a joint is missing among the columns.
        """
        table = LogTable(where, tuple(names), _no_blocks)
        self.layout: Layout = layout(table, messages.joint_names, columns or ColumnMap())
        self.places = [table.names.index(name) for name in self.layout.columns]
        """Of the columns to read, among all."""
        self._messages, self._where, self._count = messages, where, 0

    def sample(self, values: Float[Array, " n_columns"], *, t: float | None = None) -> StreamMessage | TrackingError:
        """The sample (SI) of one row of `layout.columns`, in the units of the log, or why it is none; `t` in s."""
        row = f"{self._where}, row {self._count + 1}"
        block = LogBlock(values[None, :])
        if t is None:
            t = float(self.layout.times(block, self._count)[0])
        self._count += 1
        signals = {name: part[0] for name, part in self.layout.signals(block).items()}
        if not math.isfinite(t) or np.any(np.abs(values[np.isfinite(values)]) * self._largest(values) > LARGEST):
            return TrackingError(f"{row}: no time, or a number that no arm has")
        tau = signals.get("tau")
        if tau is None and "current" in signals:
            try:
                tau = self._messages.torque(signals["current"], row)
            except TrackingError as error:
                return error
        wrenches = (signals.get("base_wrench"), signals.get("tool_wrench"))
        return StreamMessage(Sample(t, signals["q"], signals.get("dq"), signals.get("ddq"), tau, *wrenches))

    def _largest(self, values: Float[Array, " n_columns"]) -> Float[Array, " n_finite"]:
        """Factors of the finite values; that of the time is none of them."""
        factors = np.abs(self.layout.factors)
        if "t" in self.layout.spans:
            factors = factors.copy()
            factors[self.layout.spans["t"]] = 0.0
        return factors[np.isfinite(values)]


def _no_blocks(names: Sequence[str], n_samples: int) -> Iterator[LogBlock]:
    del names, n_samples
    return iter(())


class GrowingTable:
    """A text log that is being written: its header says what the columns are, as in a log that is read whole."""

    def __init__(self, path: Path, messages: StreamMessages, columns: ColumnMap | None = None) -> None:
        self.label, self.real_time = f"file {path.name}", False
        self._path, self._messages, self._columns = path, messages, columns
        self._file, self._splitter = GrowingFile(path), LineSplitter()
        self._fresh = False
        self._dialect: Dialect | None = None
        self._rows: TableSamples | None = None
        self._held: list[bytes] = []

    @property
    def ended(self) -> bool:
        """Never: more may be written."""
        return False

    def receive(self, wait: float) -> list[Arrived]:
        """The rows that were added; waits up to `wait` (s).

        Raises:
            RecordingError: a header that lacks a joint of the robot.
        """
        data, now = self._file.wait(wait), time.monotonic()
        if self._file.restarted():
            self._splitter.clear()
            self._held, self._dialect, self._rows, self._fresh = [], None, None, True
        self._held += self._splitter.lines(data)
        if self._rows is None and not self._start():
            return []
        assert self._rows is not None
        found: list[Arrived] = []
        for line in self._held:
            message = self._of_line(line, self._rows)
            if isinstance(message, StreamMessage):
                message, self._fresh = message._replace(fresh=self._fresh), False
            if message is not None:
                found.append((message, now))
        self._held = []
        return found

    def _start(self) -> bool:
        """Whether the header is known by now; the lines up to the first row of numbers are dropped then."""
        if len(self._held) < 2:
            return False
        try:
            dialect = dialect_of(self._path)
        except RecordingError:
            if len(self._held) > 200:
                raise
            return False
        if len(self._held) <= dialect.n_lines_before:
            return False
        self._dialect = dialect
        self._rows = TableSamples(dialect.names, self.label, self._messages, self._columns)
        del self._held[: dialect.n_lines_before]
        return True

    def _of_line(self, line: bytes, rows: TableSamples) -> StreamMessage | TrackingError | None:
        dialect = self._dialect
        assert dialect is not None
        text = line.decode("utf-8", errors="replace").strip("\r\n")
        if not text.strip() or text.lstrip().startswith(("#", "%", "//")) or text == dialect.header:
            return None
        cells = dialect.cells(text)
        if line == TOO_LONG or len(cells) != len(dialect.names):
            return TrackingError(f"{self.label}: a row of {len(cells)} cells, the header has {len(dialect.names)}")
        values = np.array([_number(cells[place], dialect.decimal) for place in rows.places])
        if np.any(np.isinf(values)):
            return TrackingError(f"{self.label}: a cell that is no number")
        return rows.sample(values)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


def _number(cell: str, decimal: str) -> float:
    """The number of a cell, nan where it is empty, infinite where it holds anything else."""
    if cell in MISSING:
        return float("nan")
    try:
        return float(cell.replace(",", ".") if decimal == "," else cell) if len(cell) < 100 else float("inf")
    except ValueError:
        return float("inf")
