"""MCAP files while they are written: records as far as they are complete, without the index that stands at the end.

The format: eight bytes of magic, then records of one byte of kind, eight of length, and content; messages lie in
records of their own or, packed, in chunks. See the specification of MCAP, version 0.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dynid.errors import TrackingError

__all__ = ["McapMessage", "McapRecords"]

MAGIC = b"\x89MCAP0\r\n"
SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0F
MAX_RECORD = 1 << 26
"""Bytes of a record, or of an unpacked chunk, above which the file is damaged: joint states are small."""
MAX_CHANNELS = 4096
"""Channels and schemas that are remembered."""


class McapMessage(NamedTuple):
    """One message of a channel."""

    topic: str
    kind: str
    """Name of its schema, as ``sensor_msgs/msg/JointState``."""
    encoding: str
    """Of the content; ``cdr`` for ROS 2."""
    log_time: int
    """ns"""
    data: bytes


class McapRecords:
    """Takes the bytes of a growing file in any pieces, and gives the messages that are complete."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.ended = False
        """Whether the writer has finished the file."""
        self._rest = b""
        self._started = False
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, tuple[str, int, str]] = {}

    def messages(self, data: bytes) -> Iterator[McapMessage]:
        """The messages that these further bytes complete.

        Raises:
            TrackingError: what cannot be MCAP.
        """
        self._rest += data
        if not self._started:
            if len(self._rest) < len(MAGIC):
                return
            if not self._rest.startswith(MAGIC):
                raise TrackingError(f"{self.where}: not an MCAP file")
            self._rest, self._started = self._rest[len(MAGIC) :], True
        place = 0
        try:
            while not self.ended and len(self._rest) - place >= 9:
                kind, length = struct.unpack_from("<BQ", self._rest, place)
                if length > MAX_RECORD:
                    raise TrackingError(f"{self.where}: a record of {length} bytes; the file is damaged")
                if len(self._rest) - place - 9 < length:
                    break
                content = self._rest[place + 9 : place + 9 + length]
                place += 9 + length
                yield from self._record(kind, content)
        except (struct.error, UnicodeDecodeError) as error:
            raise TrackingError(f"{self.where}: a damaged record ({type(error).__name__})") from error
        finally:
            self._rest = self._rest[place:]

    def _record(self, kind: int, content: bytes) -> Iterator[McapMessage]:
        if kind == SCHEMA and len(self._schemas) < MAX_CHANNELS:
            (number,) = struct.unpack_from("<H", content)
            self._schemas[number] = _string(content, 2)[0]
        elif kind == CHANNEL and len(self._channels) < MAX_CHANNELS:
            number, schema = struct.unpack_from("<HH", content)
            topic, place = _string(content, 4)
            self._channels[number] = (topic, schema, _string(content, place)[0])
        elif kind == MESSAGE:
            number, _, log_time, _ = struct.unpack_from("<HIQQ", content)
            topic, schema, encoding = self._channels.get(number, ("", 0, ""))
            yield McapMessage(topic, self._schemas.get(schema, ""), encoding, log_time, content[22:])
        elif kind == CHUNK:
            yield from self._chunk(content)
        elif kind == DATA_END:
            self.ended = True

    def _chunk(self, content: bytes) -> Iterator[McapMessage]:
        size, _ = struct.unpack_from("<QI", content, 16)
        if size > MAX_RECORD:
            raise TrackingError(f"{self.where}: a chunk of {size} bytes; the file is damaged")
        name, place = _string(content, 28)
        (length,) = struct.unpack_from("<Q", content, place)
        records = _unpacked(name, content[place + 8 : place + 8 + length], size, self.where)
        place = 0
        while len(records) - place >= 9:
            kind, length = struct.unpack_from("<BQ", records, place)
            if kind != CHUNK:  # no chunk lies in a chunk
                yield from self._record(kind, records[place + 9 : place + 9 + length])
            place += 9 + length


def _string(content: bytes, place: int) -> tuple[str, int]:
    """A text with its length before it, and where it ends."""
    (length,) = struct.unpack_from("<I", content, place)
    end = place + 4 + length
    if end > len(content):
        raise struct.error("a text longer than its record")
    return content[place + 4 : end].decode(), end


def _unpacked(name: str, data: bytes, size: int, where: str) -> bytes:
    if name == "":
        return data
    unpack = _UNPACKERS.get(name)
    if unpack is None:
        raise TrackingError(f"{where}: chunks packed by {name[:20]!r}; only zstd and lz4 are known")
    return unpack(data, size, where)


def _zstd(data: bytes, size: int, where: str) -> bytes:
    # What rosbags itself unpacks with, so that no further library is needed.
    from rosbags.rosbag2.storage_mcap import zstd

    try:
        return bytes(zstd.ZstdDecompressor().decompress(data, max_length=size))
    except zstd.ZstdError as error:
        raise TrackingError(f"{where}: a damaged chunk ({error})") from error


def _lz4(data: bytes, size: int, where: str) -> bytes:
    from lz4.frame import LZ4FrameDecompressor

    try:
        return bytes(LZ4FrameDecompressor().decompress(data, max_length=size))
    except (RuntimeError, EOFError) as error:
        raise TrackingError(f"{where}: a damaged chunk ({error})") from error


_UNPACKERS: dict[str, Callable[[bytes, int, str], bytes]] = {"zstd": _zstd, "lz4": _lz4}
