"""Logs as named arrays, what NPZ, HDF5 and MAT files have in common: the table of arrays with one or two axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import RecordingError
from dynid.recording.column_map import ColumnMap
from dynid.recording.log_format import LogBlock, LogTable
from dynid.recording.spelling import TIME_NAMES

__all__ = ["CELL_ARRAY", "NOT_NUMBERS", "NamedArray", "array_table", "sliced"]

MAX_COLUMNS = 256
"""Arrays with more columns are pictures or the like, not signals of joints."""
NOT_NUMBERS = "holds no real numbers"
CELL_ARRAY = "is a cell array (convert it with cell2mat)"


@dataclass(frozen=True, eq=False)
class NamedArray:
    """One array of a container, read along one of its axes."""

    shape: tuple[int, ...]
    pieces: Callable[[int, int], Iterator[Array]]
    """Reads it along an axis, this many samples at a time, as (n_samples, n_columns)."""


def sliced(array: Array, axis: int, size: int) -> Iterator[Array]:
    """An array in memory (any unit) along one of its axes, `size` samples at a time, as (n_samples, n_columns)."""
    along = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
    yield from (along[start : start + size] for start in range(0, len(along), size))


def array_table(
    path: Path,
    members: Mapping[str, NamedArray],
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


def _without_common_prefix(members: Mapping[str, NamedArray]) -> dict[str, NamedArray]:
    shortened = dict(members)
    while shortened:
        heads = {name.partition(".")[0] for name in shortened}
        if len(heads) > 1 or not all("." in name for name in shortened):
            break
        shortened = {name.partition(".")[2]: member for name, member in shortened.items()}
    return shortened


def _n_samples(members: Mapping[str, NamedArray], columns: ColumnMap) -> int:
    folded = {name.casefold(): member for name, member in members.items()}
    mapped = columns.columns.t
    times = [members.get(mapped)] if mapped is not None else [folded.get(name) for name in TIME_NAMES]
    for time in times:
        if time is not None and time.shape and math.prod(time.shape) == max(time.shape):
            return max(time.shape)
    return max((max(member.shape, default=0) for member in members.values()), default=0)
