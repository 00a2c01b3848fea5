"""Text files as a stream of UTF-8 bytes, whatever they are packed by or encoded in."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, BinaryIO, Protocol, cast, runtime_checkable

from dynid.errors import RecordingError

__all__ = ["PACKED_SUFFIXES", "TextStream", "opened_text"]

PACKED_SUFFIXES = (".gz", ".zip", ".xz", ".bz2")
"""Endings of packed text."""
GZIP, ZIP, XZ, BZIP2 = b"\x1f\x8b", b"PK\x03\x04", b"\xfd7zXZ\x00", b"BZh"
"""First bytes of packed files, whatever their names."""
TABLES_INSIDE = (".csv", ".tsv", ".txt", ".dat", ".log")
"""Endings of what is a log in an archive of several files."""
LOOKED_AT = 1 << 16
"""Bytes at the start of a file that tell its encoding."""


@runtime_checkable
class TextStream(Protocol):
    """What the reader of text needs of a file: UTF-8, some bytes or a line at a time."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""
        ...

    def readline(self) -> bytes:
        """The rest of the line."""
        ...


class _Recoded:
    """A stream of another encoding, as UTF-8."""

    def __init__(self, raw: BinaryIO, encoding: str) -> None:
        self._text = io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="")

    def read(self, size: int, /) -> bytes:
        return self._text.read(size).encode()

    def readline(self) -> bytes:
        return self._text.readline().encode()


@contextmanager
def opened_text(path: Path) -> Iterator[TextStream]:
    """A text file as UTF-8: unpacked from gzip, zip, xz or bzip2, and recoded from UTF-16 or Latin-1.

    Raises:
        RecordingError: an archive that does not hold one log.
    """
    with _unpacked(path) as stream:
        encoding = _encoding(stream.read(LOOKED_AT))
    with _unpacked(path) as stream:
        yield cast(TextStream, stream) if encoding == "utf-8" else _Recoded(stream, encoding)


@contextmanager
def _unpacked(path: Path) -> Iterator[BinaryIO]:
    with ExitStack() as stack:
        raw = stack.enter_context(path.open("rb"))
        magic = raw.read(len(XZ))
        raw.seek(0)
        stream: IO[bytes] = raw
        if magic.startswith(GZIP):
            stream = cast(IO[bytes], stack.enter_context(gzip.GzipFile(fileobj=raw)))
        elif magic.startswith(XZ):
            stream = stack.enter_context(lzma.LZMAFile(raw))
        elif magic.startswith(BZIP2):
            stream = stack.enter_context(bz2.BZ2File(raw))
        elif magic.startswith(ZIP):
            archive = stack.enter_context(zipfile.ZipFile(raw))
            stream = stack.enter_context(archive.open(_only_table(path, archive)))
        yield cast(BinaryIO, stream)


def _only_table(path: Path, archive: zipfile.ZipFile) -> str:
    """The one log of an archive."""
    files = [item.filename for item in archive.infolist() if not item.is_dir() and "__MACOSX" not in item.filename]
    tables = files if len(files) == 1 else [name for name in files if name.lower().endswith(TABLES_INSIDE)]
    if len(tables) != 1:
        listing = ", ".join(files[:8]) or "nothing"
        raise RecordingError(f"{path}: an archive of {listing}; unpack it and give the one file that is the log")
    return tables[0]


def _encoding(head: bytes) -> str:
    """The encoding of text that starts like this."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\x00" in head[:64]:
        # ASCII as UTF-16 has a zero in every other byte.
        return "utf-16-le" if head[1:2] == b"\x00" else "utf-16-be" if head[:1] == b"\x00" else "utf-8"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"
