"""Logs as NumPy's NPZ files."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array
from dynid.errors import RecordingError
from dynid.recording.column_map import ColumnMap
from dynid.recording.formats.named_arrays import NOT_NUMBERS, NamedArray, array_table, sliced
from dynid.recording.log_format import LogFormat, LogTable

__all__ = ["NPZ"]


def open_npz(path: Path, columns: ColumnMap) -> LogTable:
    """The table of NumPy's NPZ: one-dimensional arrays, or two-dimensional ones with one column per joint.

    Arrays are read piece by piece, compressed or not; pickled objects are never loaded.

    Raises:
        RecordingError: naming the file and the array.
    """
    members: dict[str, NamedArray] = {}
    unfit: dict[str, str] = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name == info.filename:
                continue
            if name in members:
                raise RecordingError(f"{path}: duplicated array name: {name}; save every array once")
            with archive.open(info) as stream:
                header = _NpyHeader.read(stream)
                n_bytes = stream.tell() + math.prod(header.shape) * header.dtype.itemsize
            if header.dtype.kind == "O":
                unfit[name] = "holds pickled Python objects, which are never loaded (save plain numbers)"
            elif header.dtype.kind not in "fiub":
                unfit[name] = NOT_NUMBERS
            elif n_bytes != info.file_size:
                raise RecordingError(f"{path}: array {name} is cut off or damaged; copy the file again")
            else:
                members[name] = _npz_member(path, info.filename, header)
    return array_table(path, members, unfit, columns)


@runtime_checkable
class _Bytes(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


@dataclass(frozen=True)
class _NpyHeader:
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[np.generic]

    @classmethod
    def read(cls, stream: _Bytes) -> _NpyHeader:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return cls(*read(stream))


def _npz_member(path: Path, filename: str, header: _NpyHeader) -> NamedArray:
    def pieces(axis: int, size: int) -> Iterator[Array]:
        n_samples = header.shape[axis]
        width = math.prod(header.shape) // n_samples
        with zipfile.ZipFile(path) as archive, archive.open(filename) as stream:
            _NpyHeader.read(stream)
            if axis != (len(header.shape) - 1 if header.fortran else 0):
                # The values of one sample lie apart, so there is no piece to read alone.
                whole = np.frombuffer(stream.read(), dtype=header.dtype)
                order: Literal["C", "F"] = "F" if header.fortran else "C"
                yield from sliced(whole.reshape(header.shape, order=order), axis, size)
                return
            for start in range(0, n_samples, size):
                rows = min(size, n_samples - start)
                data = stream.read(rows * width * header.dtype.itemsize)
                yield np.frombuffer(data, dtype=header.dtype).reshape(rows, width)

    return NamedArray(header.shape, pieces)


def _errors() -> tuple[type[Exception], ...]:
    numpys = (ValueError, RuntimeError, SyntaxError, TokenError, LookupError, TypeError)
    return zipfile.BadZipFile, zlib.error, struct.error, *numpys


NPZ = LogFormat(kind="NPZ file", suffixes=(".npz",), open=open_npz, errors=_errors)
"""NumPy's archive of named arrays."""
