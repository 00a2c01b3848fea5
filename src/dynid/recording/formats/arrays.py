"""Logs as named arrays: NPZ, HDF5 and MAT files."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array
from dynid.errors import RecordingError
from dynid.recording.column_map import ColumnMap
from dynid.recording.columns import LogBlock, LogTable
from dynid.recording.formats.hdf5_storage import storage_fault
from dynid.recording.formats.matlab import loadable_variables
from dynid.recording.spelling import TIME_NAMES

if TYPE_CHECKING:
    import h5py

__all__ = ["open_hdf5", "open_mat", "open_npz"]

MAX_COLUMNS = 256
"""Arrays with more columns are pictures or the like, not signals of joints."""
MAX_DEPTH = 4
"""Groups inside groups that are looked into."""
NOT_NUMBERS = "holds no real numbers"
ELSEWHERE = "is a link, which is never followed (store the numbers themselves)"


@dataclass(frozen=True, eq=False)
class _Member:
    """One array of a container, read along one of its axes."""

    shape: tuple[int, ...]
    pieces: Callable[[int, int], Iterator[Array]]
    """Reads it along an axis, this many samples at a time, as (n_samples, n_columns)."""


def open_npz(path: Path, columns: ColumnMap) -> LogTable:
    """The table of NumPy's NPZ: one-dimensional arrays, or two-dimensional ones with one column per joint.

    Arrays are read piece by piece, compressed or not; pickled objects are never loaded.

    Raises:
        RecordingError: naming the file and the array.
    """
    members: dict[str, _Member] = {}
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
    return _array_table(path, members, unfit, columns)


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


def _npz_member(path: Path, filename: str, header: _NpyHeader) -> _Member:
    def pieces(axis: int, size: int) -> Iterator[Array]:
        n_samples = header.shape[axis]
        width = math.prod(header.shape) // n_samples
        with zipfile.ZipFile(path) as archive, archive.open(filename) as stream:
            _NpyHeader.read(stream)
            if axis != (len(header.shape) - 1 if header.fortran else 0):
                # The values of one sample lie apart, so there is no piece to read alone.
                whole = np.frombuffer(stream.read(), dtype=header.dtype)
                order: Literal["C", "F"] = "F" if header.fortran else "C"
                yield from _sliced(whole.reshape(header.shape, order=order), axis, size)
                return
            for start in range(0, n_samples, size):
                rows = min(size, n_samples - start)
                data = stream.read(rows * width * header.dtype.itemsize)
                yield np.frombuffer(data, dtype=header.dtype).reshape(rows, width)

    return _Member(header.shape, pieces)


def _sliced(array: Array, axis: int, size: int) -> Iterator[Array]:
    along = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
    yield from (along[start : start + size] for start in range(0, len(along), size))


def open_hdf5(path: Path, columns: ColumnMap) -> LogTable:
    """The table of an HDF5 file: datasets ``t``, ``q``, … or groups ``q`` of one dataset per joint.

    A group around everything is dropped from the names. Links and datasets kept in other files are never followed.

    Raises:
        RecordingError: naming the file.
    """
    import h5py

    members: dict[str, _Member] = {}
    unfit: dict[str, str] = {}
    with h5py.File(path, "r") as file:
        matlab = "MATLAB" in _userblock(path, file.userblock_size)
        for name, item in _datasets(file, unfit):
            if item.shape is not None and item.dtype.kind in "fiub":
                members[name] = _hdf5_member(path, item.name, item.shape)
            elif item.attrs.get("MATLAB_class") == b"cell":
                unfit[name] = "is a cell array (convert it with cell2mat)"
            else:
                unfit[name] = NOT_NUMBERS
    # MATLAB stores the last axis first.
    return _array_table(path, members, unfit, columns, samples_last=matlab)


def _userblock(path: Path, n_bytes: int) -> str:
    with path.open("rb") as stream:
        return stream.read(n_bytes).decode("ascii", errors="replace")


def _datasets(
    group: h5py.Group, unfit: dict[str, str], prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, h5py.Dataset]]:
    import h5py

    for key in group:
        name = f"{prefix}{key}"
        if key.startswith("#"):
            continue  # MATLAB's own bookkeeping
        if not isinstance(group.get(key, getlink=True), h5py.HardLink):
            unfit[name] = ELSEWHERE
            continue
        item = group[key]
        if isinstance(item, h5py.Group) and depth < MAX_DEPTH:
            yield from _datasets(item, unfit, f"{name}.", depth + 1)
        elif isinstance(item, h5py.Dataset):
            if item.is_virtual or item.external:
                unfit[name] = ELSEWHERE
            else:
                yield name, item


def _hdf5_member(path: Path, place: str, shape: tuple[int, ...]) -> _Member:
    import h5py

    def pieces(axis: int, size: int) -> Iterator[Array]:
        with h5py.File(path, "r") as file:
            dataset = file[place]
            if fault := storage_fault(dataset):
                raise RecordingError(f"{path}: {place} {fault}")
            for start in range(0, shape[axis], size):
                piece = dataset[start : start + size] if axis == 0 else dataset[:, start : start + size].T
                yield piece.reshape(len(piece), -1)

    return _Member(shape, pieces)


def open_mat(path: Path, columns: ColumnMap) -> LogTable:
    """The table of a MATLAB file: variables ``t``, ``q``, … or one level of struct around them.

    Raises:
        RecordingError: naming the file.
    """
    import h5py
    import scipy.io

    if h5py.is_hdf5(path):
        return open_hdf5(path, columns)
    members: dict[str, _Member] = {}
    unfit: dict[str, str] = {}
    if scipy.io.matlab.matfile_version(path)[0] == 1:
        fit, others = loadable_variables(path)
        unfit |= dict.fromkeys(others, NOT_NUMBERS)
        loaded = scipy.io.loadmat(path, variable_names=fit)
    else:
        loaded = scipy.io.loadmat(path)
    variables = {name: value for name, value in loaded.items() if not name.startswith("__")}
    for variable, value in variables.items():
        fields = {variable: value}
        names = getattr(getattr(value, "dtype", None), "names", None)
        if names and value.size == 1:
            fields = {f"{variable}.{field}": value[field].flat[0] for field in names}
        for name, content in fields.items():
            if not isinstance(content, np.ndarray) or content.dtype.names:
                unfit[name] = "is no plain matrix (store the numbers themselves)"
            elif content.dtype.kind == "O":
                unfit[name] = "is a cell array (convert it with cell2mat)"
            elif content.dtype.kind not in "fiub":
                unfit[name] = NOT_NUMBERS
            else:
                members[name] = _loaded_member(content)
    return _array_table(path, members, unfit, columns)


def _loaded_member(array: Array) -> _Member:
    return _Member(array.shape, lambda axis, size: _sliced(array, axis, size))


def _array_table(
    path: Path,
    members: Mapping[str, _Member],
    unfit: Mapping[str, str],
    columns: ColumnMap,
    *,
    samples_last: bool = False,
) -> LogTable:
    """The table of arrays: a column each where they have one axis, several where they have two.

    Args:
        path: the file, for messages.
        members: the arrays of real numbers.
        unfit: what else the file holds.
        columns: gives the name of the time and the number of the first joint.
        samples_last: for square arrays, samples lie along the last axis.
    """
    members, unfit = _without_common_prefix(members), dict(unfit)
    n_samples = _n_samples(members, columns)
    if members and n_samples == 0:
        raise RecordingError(f"{path}: its arrays are empty; check that the log was written to its end")
    places: dict[str, tuple[str, int]] = {}
    axes: dict[str, int] = {}
    names: list[str] = []
    for name, member in members.items():
        fitting = [axis for axis, length in enumerate(member.shape) if length == n_samples]
        n_columns = math.prod(member.shape) // n_samples
        if not fitting or len(member.shape) > 2 or not 0 < n_columns <= MAX_COLUMNS:
            unfit[name] = f"has the shape {member.shape}, which does not fit {n_samples} samples"
            continue
        axes[name] = fitting[-1] if samples_last else fitting[0]
        labels = [name] if n_columns == 1 else [f"{name}{k + columns.first}" for k in range(n_columns)]
        names += labels
        places |= {label: (name, k) for k, label in enumerate(labels)}

    def blocks(wanted: Sequence[str], size: int) -> Iterator[LogBlock]:
        used = dict.fromkeys(places[label][0] for label in wanted)  # in their order: the first at fault is named
        streams = {name: members[name].pieces(axes[name], size) for name in used}
        for start in range(0, n_samples, size):
            pieces = {name: next(stream) for name, stream in streams.items()}
            values = np.empty((len(wanted), min(size, n_samples - start)))
            for k, label in enumerate(wanted):
                name, column = places[label]
                values[k] = pieces[name][:, column]
            yield LogBlock(values.T)

    return LogTable(str(path), tuple(names), blocks, unfit)


def _without_common_prefix(members: Mapping[str, _Member]) -> dict[str, _Member]:
    shortened = dict(members)
    while shortened:
        heads = {name.partition(".")[0] for name in shortened}
        if len(heads) > 1 or not all("." in name for name in shortened):
            break
        shortened = {name.partition(".")[2]: member for name, member in shortened.items()}
    return shortened


def _n_samples(members: Mapping[str, _Member], columns: ColumnMap) -> int:
    folded = {name.casefold(): member for name, member in members.items()}
    mapped = columns.columns.t
    times = [members.get(mapped)] if mapped is not None else [folded.get(name) for name in TIME_NAMES]
    for time in times:
        if time is not None and time.shape and math.prod(time.shape) == max(time.shape):
            return max(time.shape)
    return max((max(member.shape, default=0) for member in members.values()), default=0)
