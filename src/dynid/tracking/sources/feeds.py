"""What every source of a stream does, and the simplest of them: lines of standard input."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Sequence
from typing import BinaryIO, Protocol, runtime_checkable

from dynid.errors import TrackingError
from dynid.tracking.sources.messages import StreamMessage, StreamMessages

__all__ = ["Arrived", "JsonLines", "LineFeed", "LineSplitter", "StreamFeed"]

MAX_LINE = 1 << 16
"""Bytes of a line above which it is no sample, and is skipped to its end."""
TOO_LONG = b"\0"
"""In the place of such a line: no sample either."""
READ_BYTES = 1 << 18
"""What is read of a file or pipe at a time."""

Arrived = tuple[StreamMessage | TrackingError, float]
"""A message, or why there is none, and when it came (s on the clock of this machine)."""


@runtime_checkable
class StreamFeed(Protocol):
    """A source of messages; any class with these is one."""

    label: str
    """What a page or a terminal calls it: never a path of this machine."""
    real_time: bool
    """Whether messages arrive when they are measured; not so from a file that is caught up with."""

    @property
    def ended(self) -> bool:
        """Whether nothing will follow."""
        ...

    def receive(self, wait: float) -> Sequence[Arrived]:
        """What has come; waits up to `wait` (s) where nothing has."""
        ...

    def close(self) -> None:
        """Give back what was opened."""
        ...


class LineSplitter:
    """Whole lines of bytes as they come in; one that is too long is skipped to its end."""

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = False

    def lines(self, data: bytes) -> list[bytes]:
        """The lines that these bytes complete; `TOO_LONG` stands for one that was."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if self._skipping and whole:
            whole[0], self._skipping = TOO_LONG, False
        if len(self._rest) > MAX_LINE:
            self._rest, self._skipping = b"", True
        return [line if len(line) <= MAX_LINE else TOO_LONG for line in whole]

    def clear(self) -> None:
        """Forget the line that was begun."""
        self._rest, self._skipping = b"", False


class JsonLines:
    """Messages of the lines of a stream, one JSON object a line, counted; bad lines are told by their number."""

    def __init__(self, messages: StreamMessages) -> None:
        self.ended = False
        self._messages, self._splitter, self._n_lines, self._fresh = messages, LineSplitter(), 0, False

    def restart(self) -> None:
        """Forget the line that was begun; the next message is the first of a new run."""
        self._splitter.clear()
        self._fresh = True

    def of(self, data: bytes, now: float) -> list[Arrived]:
        """The messages (SI) of the lines that these bytes complete, heard at `now` (s), up to the stream's end."""
        found: list[Arrived] = []
        for line in self._splitter.lines(data):
            self._n_lines += 1
            if not line.strip():
                continue
            try:
                message = self._messages.of_bytes(line, f"line {self._n_lines}")
            except TrackingError as error:
                found.append((error, now))
                continue
            if message.end:
                self.ended = True
                break
            found.append((message._replace(fresh=True) if self._fresh else message, now))
            self._fresh = False
        return found


class LineFeed:
    """Messages of a pipe, one JSON object a line; by default standard input."""

    def __init__(self, messages: StreamMessages, pipe: BinaryIO | None = None) -> None:
        self.label, self.real_time = "standard input", True
        self._file = sys.stdin.buffer.fileno() if pipe is None else pipe.fileno()
        self._lines = JsonLines(messages)

    @property
    def ended(self) -> bool:
        """Whether the pipe was closed, or its writer said so."""
        return self._lines.ended

    def receive(self, wait: float) -> list[Arrived]:
        """The messages that have come; waits up to `wait` (s)."""
        if self.ended or not select.select([self._file], [], [], wait)[0]:
            return []
        data = os.read(self._file, READ_BYTES)
        # The last line of a pipe that was closed may lack its end.
        found = self._lines.of(data or b"\n", time.monotonic())
        self._lines.ended = self._lines.ended or not data
        return found

    def close(self) -> None:
        """Standard input stays open."""
