"""Logs as HDF5 files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dynid.arrays import Array
from dynid.errors import RecordingError
from dynid.recording.column_map import ColumnMap
from dynid.recording.formats.hdf5_storage import storage_fault
from dynid.recording.formats.named_arrays import CELL_ARRAY, NOT_NUMBERS, NamedArray, array_table
from dynid.recording.log_format import LogFormat, LogTable, starts_with

if TYPE_CHECKING:
    import h5py

__all__ = ["HDF5", "open_hdf5"]

MAX_DEPTH = 4
"""Groups inside groups that are looked into."""
ELSEWHERE = "is a link, which is never followed (store the numbers themselves)"


def open_hdf5(path: Path, columns: ColumnMap) -> LogTable:
    """The table of an HDF5 file: datasets ``t``, ``q``, … or groups ``q`` of one dataset per joint.

    A group around everything is dropped from the names. Links and datasets kept in other files are never followed.

    Raises:
        RecordingError: naming the file.
    """
    import h5py

    members: dict[str, NamedArray] = {}
    unfit: dict[str, str] = {}
    with h5py.File(path, "r") as file:
        matlab = "MATLAB" in _userblock(path, file.userblock_size)
        for name, item in _datasets(file, unfit):
            if item.shape is not None and item.dtype.kind in "fiub":
                members[name] = _hdf5_member(path, item.name, item.shape)
            elif item.attrs.get("MATLAB_class") == b"cell":
                unfit[name] = CELL_ARRAY
            else:
                unfit[name] = NOT_NUMBERS
    # MATLAB stores the last axis first.
    return array_table(path, members, unfit, columns, samples_last=matlab)


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


def _hdf5_member(path: Path, place: str, shape: tuple[int, ...]) -> NamedArray:
    import h5py

    def pieces(axis: int, size: int) -> Iterator[Array]:
        with h5py.File(path, "r") as file:
            dataset = file[place]
            if fault := storage_fault(dataset):
                raise RecordingError(f"{path}: {place} {fault}")
            for start in range(0, shape[axis], size):
                piece = dataset[start : start + size] if axis == 0 else dataset[:, start : start + size].T
                yield piece.reshape(len(piece), -1)

    return NamedArray(shape, pieces)


def _errors() -> tuple[type[Exception], ...]:
    return RuntimeError, LookupError, ValueError, TypeError


HDF5 = LogFormat(
    kind="HDF5 file",
    suffixes=(".h5", ".hdf5", ".hdf"),
    open=open_hdf5,
    errors=_errors,
    sniff=starts_with(b"\x89HDF\r\n\x1a\n"),
)
"""Datasets in groups, read piece by piece."""
