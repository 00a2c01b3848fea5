"""Logs as ROS 1 bags, ROS 2 bags and MCAP files with JointState messages."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.errors import RecordingError, UnknownName
from dynid.recording.column_map import ColumnMap
from dynid.recording.log_format import LogBlock, LogFormat, LogTable
from dynid.recording.recording import WRENCH_AXES
from dynid.recording.repairs import LogRepair, listed_samples

if TYPE_CHECKING:
    from rosbags.highlevel import AnyReader

__all__ = ["BAG"]

JOINT_STATE = "sensor_msgs/msg/JointState"
WRENCH_STAMPED = "geometry_msgs/msg/WrenchStamped"
FIELDS = {"q": "position", "dq": "velocity", "tau": "effort"}
"""The parts of a JointState message."""
N_LOOKED_AT = 1000
"""Messages that are looked at to find the names of the joints."""
NANOSECOND = 1e-9
"""s"""


class _Stamp(Protocol):
    sec: int
    nanosec: int


class _Header(Protocol):
    stamp: _Stamp


class _Message(Protocol):
    header: _Header


class _JointState(_Message, Protocol):
    name: Sequence[str]
    position: Float[Array, " n_joints"]
    velocity: Float[Array, " n_joints"]
    effort: Float[Array, " n_joints"]


class _Vector(Protocol):
    x: float
    y: float
    z: float


class _Wrench(Protocol):
    force: _Vector
    torque: _Vector


class _WrenchStamped(_Message, Protocol):
    wrench: _Wrench


@dataclass(frozen=True)
class _Clock:
    """How the messages of a topic are stamped."""

    received: bool
    """Whether by their arrival alone."""
    late: int = 0
    """Time from header to arrival in ns: where single headers have no time, it stands in for them."""

    def stamp(self, header: int, received: int) -> int:
        """The time of a message in ns."""
        if self.received:
            return received
        return header if header > 0 else received - self.late


def open_bag(path: Path, columns: ColumnMap) -> LogTable:
    """The table of a bag: ``t`` in s since its first sample, ``q.NAME``, ``dq.NAME`` and ``tau.NAME``.

    Messages that lack a joint are skipped and counted. Where headers have no time, that of arrival stands in. A
    WrenchStamped topic, where the map names one, is interpolated at the times of the joint states.

    Raises:
        RecordingError: naming the file, and the topics to choose from.
    """
    with _opened(path) as reader:
        topic = _topic(reader, path, JOINT_STATE, columns.topic, "topic")
        clock, repairs = _clock(reader, topic, columns)
        offered: dict[str, None] = {}
        for _, message in islice(_messages(reader, topic, clock), N_LOOKED_AT):
            offered |= dict.fromkeys(_offered(message))
        if not offered:
            raise RecordingError(
                f"{path}: topic {topic} holds no joint states; check that the log was written to its end"
            )
        wrench_topic = None
        if columns.wrench_topic is not None:
            wrench_topic = _topic(reader, path, WRENCH_STAMPED, columns.wrench_topic, "wrench_topic")

    def blocks(names: Sequence[str], n_samples: int) -> Iterator[LogBlock]:
        return _blocks(path, clock, (topic, wrench_topic), names, n_samples)

    wrench = WRENCH_AXES if wrench_topic else ()
    return LogTable(str(path), ("t", *sorted(offered), *wrench), blocks, repairs=repairs)


def _clock(reader: AnyReader, topic: str, columns: ColumnMap) -> tuple[_Clock, tuple[LogRepair, ...]]:
    """How the messages of a topic are stamped, by its first ones, and what is said of it."""
    if columns.stamps == "received":
        return _Clock(received=True), ()
    stamps = np.array(list(islice(_stamps(reader, topic), N_LOOKED_AT)), dtype=np.int64).reshape(-1, 2)
    missing = np.flatnonzero(stamps[:, 0] <= 0)
    if not len(missing):
        return _Clock(received=False), ()
    told = stamps[stamps[:, 0] > 0]
    clock = _Clock(received=len(missing) > len(told), late=int(np.median(told[:, 1] - told[:, 0])) if len(told) else 0)
    stands_in = "the time received stands in for it" if len(told) else "the time received stands in for all"
    if not clock.received and clock.late:
        stands_in += f", less the {1e-6 * clock.late:.3g} ms that the others arrive late"
    elif len(told):
        stands_in = "the time received stands in for all, because most have none"
    repair = LogRepair(
        "header-stamps",
        f"{len(missing)} of the first {len(stamps)} messages of {topic} have no time in their header, messages "
        f"{listed_samples(missing.tolist())}",
        "the driver does not fill in the header, or publishes before its clock runs",
        stands_in,
        samples=tuple(missing.tolist()),
        share=len(missing) / len(stamps),
    )
    return clock, (repair,)


def _stamps(reader: AnyReader, topic: str) -> Iterator[tuple[int, int]]:
    """Time of the header and of arrival of the messages of a topic, ns."""
    connections = [connection for connection in reader.connections if connection.topic == topic]
    for connection, received, raw in reader.messages(connections=connections):
        time = cast(_Message, reader.deserialize(raw, connection.msgtype)).header.stamp
        yield time.sec * 1_000_000_000 + time.nanosec, received


def _opened(path: Path) -> AnyReader:
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    # Bags of early ROS 2 do not say what their messages look like.
    return AnyReader([path], default_typestore=get_typestore(Stores.LATEST))


def _topic(reader: AnyReader, path: Path, kind: str, asked: str | None, key: str) -> str:
    topics = sorted({connection.topic for connection in reader.connections if connection.msgtype == kind})
    if asked is not None:
        if asked not in topics:
            raise _UnknownTopic(asked, known=topics, kind=f"{kind} topic", where=str(path))
        return asked
    if not topics:
        others = ", ".join(sorted({connection.topic for connection in reader.connections})) or "none"
        raise RecordingError(f"{path}: no topic with {kind} messages; topics of the bag: {others}")
    if len(topics) > 1:
        raise RecordingError(
            f"{path}: several topics hold {kind} messages: {', '.join(topics)}; choose one in a column map, as in "
            f'{key} = "{topics[0]}"'
        )
    return str(topics[0])


class _UnknownTopic(UnknownName, RecordingError):
    pass


def _messages(reader: AnyReader, topic: str, clock: _Clock) -> Iterator[tuple[int, object]]:
    """Time in ns and content of the messages of a topic, in the order they were received."""
    connections = [connection for connection in reader.connections if connection.topic == topic]
    for connection, received, raw in reader.messages(connections=connections):
        message = reader.deserialize(raw, connection.msgtype)
        time = cast(_Message, message).header.stamp
        yield clock.stamp(time.sec * 1_000_000_000 + time.nanosec, received), message


def _offered(content: object) -> Iterator[str]:
    message = cast(_JointState, content)
    for signal, field in FIELDS.items():
        values = getattr(message, field)
        # Drivers fill what they cannot measure with nan, or leave it empty.
        if len(values) == len(message.name):
            yield from (f"{signal}.{name}" for name, value in zip(message.name, values, strict=True) if value == value)


def _blocks(
    path: Path, clock: _Clock, topics: tuple[str, str | None], names: Sequence[str], n_samples: int
) -> Iterator[LogBlock]:
    topic, wrench_topic = topics
    wrench_places = [names.index(axis) for axis in WRENCH_AXES if axis in names]
    start: int | None = None
    with _opened(path) as reader, _opened(path) as wrench_reader:
        wrench = None
        if wrench_topic is not None and wrench_places:
            wrench = _WrenchTrack(_messages(wrench_reader, wrench_topic, clock), path)
        rows = _rows(_messages(reader, topic, clock), names)
        while True:
            chunk = list(islice(rows, n_samples))
            if not chunk:
                return
            kept = [(stamp, row) for stamp, row in chunk if row is not None]
            stamps = np.array([stamp for stamp, _ in kept], dtype=np.int64)
            values = np.array([row for _, row in kept]).reshape(len(kept), len(names))
            if wrench is not None and len(kept):
                values[:, wrench_places] = wrench.at(stamps)
                covered = np.isfinite(values[:, wrench_places]).all(axis=1)
                stamps, values = stamps[covered], values[covered]
            if start is None and len(stamps):
                start = int(stamps[0])
            if "t" in names:
                values[:, names.index("t")] = (stamps - (start or 0)) * NANOSECOND
            yield LogBlock(values, len(chunk) - len(values))


def _rows(messages: Iterator[tuple[int, object]], names: Sequence[str]) -> Iterator[tuple[int, list[float] | None]]:
    """Time in ns and wanted values of every message, None where it lacks one; the time itself is left nan."""
    wanted = [name.partition(".") for name in names]
    places: dict[tuple[str, ...], list[tuple[str, int]] | None] = {}
    for stamp, content in messages:
        message = cast(_JointState, content)
        joints = tuple(message.name)
        if joints not in places:
            index = {name: k for k, name in enumerate(joints)}
            complete = all(joint in index for signal, _, joint in wanted if signal in FIELDS)
            places[joints] = [(FIELDS.get(s, ""), index.get(joint, 0)) for s, _, joint in wanted] if complete else None
        found = places[joints]
        if found is None or any(len(getattr(message, field)) != len(joints) for field, _ in found if field):
            yield stamp, None
        else:
            yield stamp, [float(getattr(message, field)[k]) if field else np.nan for field, k in found]


class _WrenchTrack:
    """The wrench between its messages, read forward as far as it is asked for."""

    def __init__(self, messages: Iterator[tuple[int, object]], path: Path) -> None:
        self._messages = messages
        self._path = path
        self._stamps: list[int] = []
        self._values: list[tuple[float, ...]] = []

    def at(self, stamps: Int[Array, " n_samples"]) -> Float[Array, "n_samples 6"]:
        """Force (N) and moment (N·m) at times in ns, which go on from call to call; nan outside of the messages."""
        while not self._stamps or self._stamps[-1] < stamps[-1]:
            stamp, content = next(self._messages, (0, None))
            if content is None:
                break
            if self._stamps and stamp <= self._stamps[-1]:
                raise RecordingError(
                    f"{self._path}: the time of the wrench does not increase after {self._stamps[-1]} ns; "
                    'write stamps = "received" in a column map to take the time of arrival'
                )
            wrench = cast(_WrenchStamped, content).wrench
            self._stamps.append(stamp)
            self._values.append(tuple(v for part in (wrench.force, wrench.torque) for v in (part.x, part.y, part.z)))
        if not self._stamps:
            return np.full((len(stamps), len(WRENCH_AXES)), np.nan)
        # Differences, because ns since 1970 do not fit into a float.
        known = np.array(self._stamps, dtype=np.int64) - stamps[0]
        values = np.array(self._values)
        asked = (stamps - stamps[0]).astype(float)
        found = np.stack([np.interp(asked, known, axis, left=np.nan, right=np.nan) for axis in values.T], axis=1)
        n_passed = max(int(np.searchsorted(known, asked[-1], side="right")) - 1, 0)
        del self._stamps[:n_passed], self._values[:n_passed]
        return found


def _errors() -> tuple[type[Exception], ...]:
    from rosbags.highlevel import AnyReaderError
    from rosbags.rosbag1 import ReaderError as ReaderError1
    from rosbags.rosbag2 import ReaderError as ReaderError2
    from rosbags.serde import SerdeError

    found = [AnyReaderError, ReaderError1, ReaderError2, SerdeError, sqlite3.Error, struct.error, AssertionError]
    with suppress(ModuleNotFoundError):  # rosbags reads SQLite by the one or the other, as its version is
        import apsw

        found.append(apsw.Error)
    return *found, AttributeError, LookupError, ArithmeticError, TypeError, ValueError


def _is_folder_of_bag(path: Path) -> bool:
    return (path / "metadata.yaml").is_file()


BAG = LogFormat(
    kind="ROS bag", suffixes=(".bag", ".db3", ".mcap"), open=open_bag, errors=_errors, sniff=_is_folder_of_bag
)
"""ROS 1 and ROS 2 bags, the latter also as folders, and MCAP."""
