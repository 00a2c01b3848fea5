"""The structure of MATLAB files (versions 5 to 7.2), walked before anything is loaded: the loader trusts what it reads.

SciPy looks up the type of every block in a table without checking that it is in the table, so that one wrong byte can
end the process. Here every tag is checked first, and how much the compressed blocks hold.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from dynid.errors import RecordingError

__all__ = ["loadable_variables"]

HEADER_BYTES = 128
"""Of a MAT file, version 5: text, version and byte order."""
MAX_LOADED_BYTES = 2 * 2**30
"""Largest content, decompressed; longer logs belong into version 7.3, which is read piece by piece."""
MAX_NESTED = 16
"""Structs in structs."""
INT8, UINT32, INT32, MATRIX, COMPRESSED = 1, 6, 5, 14, 15
"""Types of blocks, as MathWorks numbers them."""
NUMERIC = (1, 2, 3, 4, 5, 6, 7, 9, 12, 13)
"""Types of blocks of numbers."""
TEXT = (1, 2, 3, 4, 16, 17, 18)
"""Types of blocks of characters."""
CELL, STRUCT, CHAR, DOUBLE, UINT64 = 1, 2, 4, 6, 15
"""Classes of arrays; numbers are `DOUBLE` to `UINT64`."""
COMPLEX = 0x08
"""Flag of an array with an imaginary part."""


class _Unfit(Exception):
    """A variable of a kind that no log needs: sparse, an object, a function."""


def loadable_variables(path: Path) -> tuple[list[str], list[str]]:
    """Names of the variables that can be loaded safely, and of those of other kinds.

    Raises:
        RecordingError: damaged, or larger than `MAX_LOADED_BYTES`.
    """
    fit: list[str] = []
    other: list[str] = []
    try:
        for order, data in _elements(path):
            name = _Walker(data, order).name()
            if name in (*fit, *other):
                raise ValueError(f"two variables are called {name!r}")
            try:
                _Walker(data, order).array(0)
                fit.append(name)
            except _Unfit:
                other.append(name)
    except (ValueError, struct.error, zlib.error, UnicodeDecodeError) as error:
        raise RecordingError(f"{path}: not a readable MAT file ({error}); save or copy it again") from error
    return fit, other


def _elements(path: Path) -> Iterator[tuple[str, bytes]]:
    """Byte order and content of every variable, decompressed."""
    if path.stat().st_size > MAX_LOADED_BYTES:
        raise _too_large()
    data = path.read_bytes()
    mark = data[126:128]
    if len(data) < HEADER_BYTES or mark not in (b"IM", b"MI"):
        raise ValueError("no header of MATLAB")
    order = "<" if mark == b"IM" else ">"
    position, loaded = HEADER_BYTES, 0
    while position < len(data):
        kind, size = struct.unpack_from(order + "II", data, position)
        position += 8
        if kind not in (MATRIX, COMPRESSED) or size > len(data) - position:
            raise ValueError(f"a block of type {kind} and {size} bytes at byte {position - 8}")
        content = data[position : position + size]
        position += size
        if kind == COMPRESSED:
            inflate = zlib.decompressobj()
            content = inflate.decompress(content, MAX_LOADED_BYTES - loaded)
            if not inflate.eof:
                raise _too_large() if inflate.unconsumed_tail else ValueError("a compressed block is cut off")
            inner, size = struct.unpack_from(order + "II", content)
            if inner != MATRIX or size != len(content) - 8:
                raise ValueError("a compressed block whose size is wrong")
            content = content[8:]
        loaded += len(content)
        if loaded > MAX_LOADED_BYTES:
            raise _too_large()
        yield order, content


def _too_large() -> ValueError:
    return ValueError(f"more than {MAX_LOADED_BYTES // 2**30} GB of content; save it as version 7.3, which is streamed")


class _Walker:
    """A walk through the blocks of one array."""

    def __init__(self, data: bytes, order: str) -> None:
        self.data = data
        self.order = order
        self.position = 0

    def name(self) -> str:
        """The name in the header of an array."""
        self.flags()
        self.block((INT32,))
        return self.block((INT8,)).decode("latin-1")

    def flags(self) -> tuple[int, bool]:
        """Class of an array, and whether it is complex."""
        block = self.block((UINT32,))
        if len(block) != 8:
            raise ValueError("array flags of a wrong size")
        word = struct.unpack_from(self.order + "I", block)[0]
        return word & 0xFF, bool(word >> 8 & COMPLEX)

    def block(self, kinds: tuple[int, ...]) -> bytes:
        """The next block, whose type must be one of these."""
        word, size = struct.unpack_from(self.order + "II", self.data, self.position)
        if word >> 16:  # up to four bytes in the tag itself
            kind, size, start, step = word & 0xFFFF, word >> 16, self.position + 4, 8
            if size > 4:
                raise ValueError("a small block that is too long")
        else:
            kind, start, step = word, self.position + 8, 8 + size + (-size % 8)
        if kind not in kinds or start + size > len(self.data):
            raise ValueError(f"a block of type {kind} and {size} bytes where none belongs")
        self.position = min(self.position + step, len(self.data))
        return self.data[start : start + size]

    def array(self, depth: int) -> None:
        """Check an array and all in it."""
        if not self.data[self.position :]:
            return  # MATLAB writes an empty array as a block without content
        kind, is_complex = self.flags()
        sizes = self.block((INT32,))
        shape = struct.unpack(f"{self.order}{len(sizes) // 4}i", sizes)
        self.block((INT8,))
        if len(shape) < 2 or len(shape) > 32 or min(shape) < 0:
            raise ValueError(f"an array of shape {shape}")
        count = 1
        for length in shape:
            count *= length
        if count > MAX_LOADED_BYTES:
            raise ValueError(f"an array of shape {shape}")
        if DOUBLE <= kind <= UINT64:
            for _ in range(2 if is_complex else 1):
                self.block(NUMERIC)
        elif kind == CHAR:
            self.block(TEXT)
        elif kind in (CELL, STRUCT):
            self.parts(kind, count, depth)
        else:
            raise _Unfit

    def parts(self, kind: int, count: int, depth: int) -> None:
        """Check the arrays in a cell array or a struct."""
        if depth >= MAX_NESTED:
            raise ValueError("nested too deeply")
        if kind == STRUCT:
            width = self.block((INT32,))
            names = self.block((INT8,))
            length = struct.unpack(self.order + "i", width)[0] if len(width) == 4 else 0
            if not 0 < length <= 1024 or len(names) % length:
                raise ValueError("names of fields of a wrong length")
            count *= len(names) // length
        if count > len(self.data):
            raise ValueError(f"{count} arrays in {len(self.data)} bytes")
        for _ in range(count):
            _Walker(self.block((MATRIX,)), self.order).array(depth + 1)
