"""ROS 2 bags while they are written, MCAP or SQLite, a file or the folder of a recorder; no ROS is needed."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dynid.arrays import Array, Float
from dynid.errors import RecordingError, TrackingError
from dynid.recording.column_map import ColumnMap
from dynid.recording.formats.bags import BAG
from dynid.tracking.sources.feeds import Arrived
from dynid.tracking.sources.growing import GrowingFile, TableSamples
from dynid.tracking.sources.mcap import MAX_RECORD, McapMessage, McapRecords
from dynid.tracking.sources.messages import StreamMessage, StreamMessages

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

__all__ = ["BAG_SUFFIXES", "GrowingBag", "JointStates"]

BAG_SUFFIXES = (".mcap", ".db3")
"""Endings of the files of a ROS 2 bag."""
JOINT_STATE = "sensor_msgs/msg/JointState"
FIELDS = {"q": "position", "dq": "velocity", "tau": "effort"}
"""The parts of a JointState message."""
LOOK_AGAIN = 0.02
"""Time in s between two looks at a bag that has not grown."""
AT_ONCE = 2000
"""Messages of a database taken in one call at most."""
MAX_LAYOUTS = 32
"""Sets of joint names that are remembered: several drivers may publish on one topic."""


@cache
def _types() -> Typestore:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.LATEST)


class JointStates:
    """JointState messages as samples of one robot."""

    def __init__(self, where: str, messages: StreamMessages, columns: ColumnMap | None = None) -> None:
        self._where, self._messages, self._columns = where, messages, columns or ColumnMap()
        self._layouts: dict[tuple[str, ...], TableSamples | RecordingError] = {}
        self._topic, self._start = self._columns.topic, 0

    def sample(self, message: McapMessage) -> StreamMessage | TrackingError | None:
        """The sample (SI) of a message, why it is none, or None where it is about something else."""
        if message.kind != JOINT_STATE or (self._topic is not None and message.topic != self._topic):
            return None
        if message.encoding not in ("cdr", ""):
            return TrackingError(f"{self._where}: messages encoded as {message.encoding[:20]!r}; only cdr is known")
        try:
            content = _types().deserialize_cdr(message.data, JOINT_STATE)
            names = tuple(str(name) for name in content.name)
            stamp = int(content.header.stamp.sec) * 1_000_000_000 + int(content.header.stamp.nanosec)
            parts = {signal: np.asarray(getattr(content, field), dtype=float) for signal, field in FIELDS.items()}
        except BAG.errors() as error:
            return TrackingError(f"{self._where}: a damaged JointState message ({type(error).__name__})")
        return self._of(names, parts, message.log_time if self._columns.stamps == "received" or not stamp else stamp)

    def _of(
        self, names: tuple[str, ...], parts: dict[str, Float[Array, " n_joints"]], stamp: int
    ) -> StreamMessage | TrackingError | None:
        offered = {
            f"{signal}.{name}": float(value)
            for signal, values in parts.items()
            if len(values) == len(names)
            for name, value in zip(names, values, strict=True)
            if signal == "q" or value == value
        }
        known = self._layout(tuple(offered))
        if isinstance(known, RecordingError):
            # A gripper may publish its joints on the same topic: only if nothing else comes is that worth a word.
            others = any(isinstance(other, TableSamples) for other in self._layouts.values())
            return None if others else TrackingError(str(known))
        self._start = self._start or stamp
        values = np.array([offered.get(name, 0.0) for name in known.layout.columns])
        return known.sample(values, t=1e-9 * (stamp - self._start))

    def _layout(self, names: tuple[str, ...]) -> TableSamples | RecordingError:
        if names not in self._layouts:
            if len(self._layouts) >= MAX_LAYOUTS:
                self._layouts.clear()
            try:
                self._layouts[names] = TableSamples(("t", *names), self._where, self._messages, self._columns)
            except RecordingError as error:
                self._layouts[names] = error
        return self._layouts[names]


class _Part(Protocol):
    """One file of a bag."""

    @property
    def ended(self) -> bool: ...
    def messages(self) -> Iterator[McapMessage]: ...
    def close(self) -> None: ...


class _McapPart:
    def __init__(self, path: Path, where: str) -> None:
        self._file, self._records, self._where = GrowingFile(path), McapRecords(where), where

    @property
    def ended(self) -> bool:
        return self._records.ended

    def messages(self) -> Iterator[McapMessage]:
        data = self._file.read()
        if self._file.restarted():
            self._records = McapRecords(self._where)
        yield from self._records.messages(data)

    def close(self) -> None:
        self._file.close()


class _SqlitePart:
    ended = True
    """A database never says that it is finished: the next file, where there is one, says so."""

    def __init__(self, path: Path, where: str) -> None:
        self._path, self._where, self._last = path, where, 0
        self._database: sqlite3.Connection | None = None
        self._topics: dict[int, tuple[str, str, str]] = {}

    def messages(self) -> Iterator[McapMessage]:
        try:
            rows = self._rows()
        except sqlite3.OperationalError:
            return  # locked by its writer, or its tables are not there yet
        except sqlite3.Error as error:
            raise TrackingError(f"{self._where}: a damaged database ({type(error).__name__})") from error
        for number, topic, timestamp, data in rows:
            self._last = number
            name, kind, encoding = self._topics.get(topic, ("", "", ""))
            if isinstance(data, bytes) and isinstance(timestamp, int):
                yield McapMessage(str(name), str(kind), str(encoding), timestamp, data)

    def _rows(self) -> list[tuple[int, int, int, bytes]]:
        if self._database is None:
            if not self._path.exists():
                return []
            # A live run reads in one thread and closes in another, never at once.
            self._database = sqlite3.connect(
                f"{self._path.resolve().as_uri()}?mode=ro", uri=True, timeout=0.05, check_same_thread=False
            )
        asked = "SELECT id, name, type, serialization_format FROM topics"
        self._topics = {number: (name, kind, form) for number, name, kind, form in self._database.execute(asked)}
        wanted = (
            "SELECT id, topic_id, timestamp, data FROM messages WHERE id > ? AND length(data) < ? ORDER BY id LIMIT ?"
        )
        return self._database.execute(wanted, (self._last, MAX_RECORD, AT_ONCE)).fetchall()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()


class GrowingBag:
    """Joint states of a ROS 2 bag as they are written to it; a recorder that begins a next file is followed."""

    def __init__(self, path: Path, messages: StreamMessages, columns: ColumnMap | None = None) -> None:
        self.label, self.real_time = f"bag {path.name}", False
        self._path = path
        self._states = JointStates(self.label, messages, columns)
        self._at: Path | None = None
        self._part: _Part | None = None

    @property
    def ended(self) -> bool:
        """Never: the recorder may begin a next file."""
        return False

    def receive(self, wait: float) -> list[Arrived]:
        """The joint states that were added; waits up to `wait` (s)."""
        until = time.monotonic() + wait
        while not (found := self._added()) and (left := until - time.monotonic()) > 0.0:
            time.sleep(min(LOOK_AGAIN, left))
        return found

    def _added(self) -> list[Arrived]:
        if self._part is None and not self._open_next():
            return []
        assert self._part is not None
        now, found, anything = time.monotonic(), list[Arrived](), False
        try:
            for message in self._part.messages():
                anything = True
                content = self._states.sample(message)
                if content is not None:
                    found.append((content, now))
        except TrackingError as error:
            found.append((error, now))
        if not anything and self._part.ended:
            self._open_next()
        return found

    def _open_next(self) -> bool:
        """Whether there is a further file to read, which is opened then."""
        files = [self._path] if not self._path.is_dir() else sorted(
            (file for file in self._path.iterdir() if file.suffix in BAG_SUFFIXES), key=_number_of
        )  # fmt: skip
        later = files if self._at is None or self._at not in files else files[files.index(self._at) + 1 :]
        if not later or later[0] == self._at or not later[0].exists():
            return False
        self.close()
        self._at = later[0]
        self._part = (_SqlitePart if self._at.suffix == ".db3" else _McapPart)(self._at, self.label)
        return True

    def close(self) -> None:
        """Give the files back."""
        if self._part is not None:
            self._part.close()
        self._part = None


def _number_of(path: Path) -> tuple[int, str]:
    """The order in which a recorder numbers its files: name_0, name_1, …, name_10."""
    digits = re.search(r"(\d+)$", path.stem)
    return int(digits[1]) if digits else -1, path.name
