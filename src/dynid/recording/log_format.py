"""What a log format is to the readers: how its files are known, opened and read block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.recording.column_map import ColumnMap
from dynid.recording.repairs import LogRepair

__all__ = ["LogBlock", "LogFormat", "LogTable", "regrouped", "starts_with"]


@dataclass(frozen=True, eq=False)
class LogBlock:
    """Consecutive samples of some columns of a log."""

    values: Float[Array, "n_samples n_columns"]
    """In the units of the log."""
    n_skipped: int = 0
    """Messages of a bag that were left out among them."""
    numbers: Int[Array, " n_samples"] | None = None
    """Index of each sample in the log, counted from 0; None if they are consecutive."""


@dataclass(frozen=True, eq=False)
class LogTable:
    """A log as a table of numbers: the names of its columns, and how to read some of them block by block."""

    source: str
    names: tuple[str, ...]
    """As the file has them, in its order."""
    blocks: Callable[[Sequence[str], int], Iterator[LogBlock]]
    """Reads the named columns, in blocks of this many samples (the last may be shorter)."""
    unfit: Mapping[str, str] = field(default_factory=dict)
    """What else the file holds under a name, and why it is not a column."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Units that the file says of its columns, beside those in their names."""
    repairs: tuple[LogRepair, ...] = ()
    """What was put right to make it a table."""


def _never(path: Path) -> bool:
    del path
    return False


@dataclass(frozen=True, kw_only=True)
class LogFormat:
    """One format of log files: a module in `formats/`, and one line in `readers.FORMATS`."""

    kind: str
    """What messages call such a file."""
    suffixes: tuple[str, ...]
    """Endings of its files, in lower case with the dot."""
    open: Callable[[Path, ColumnMap], LogTable]
    """Opens a file as a table; reads no more than it needs to know the columns."""
    errors: Callable[[], tuple[type[Exception], ...]]
    """What the library that reads it raises for a damaged file; a function, so that nothing is imported too early."""
    sniff: Callable[[Path], bool] = _never
    """Whether a file or folder whose ending says nothing is of this format."""


def starts_with(magic: bytes) -> Callable[[Path], bool]:
    """A `LogFormat.sniff` for files that begin with these bytes."""

    def sniff(path: Path) -> bool:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(magic)) == magic

    return sniff


def regrouped(pieces: Iterable[Float[Array, "_ n_columns"]], n_samples: int) -> Iterator[LogBlock]:
    """Pieces of any length (in the units of the log) as blocks of `n_samples`; the last may be shorter."""
    held: list[Float[Array, "_ n_columns"]] = []
    count = 0
    for piece in pieces:
        held.append(piece)
        count += len(piece)
        if count >= n_samples:
            joined = np.concatenate(held)
            whole = count - count % n_samples
            for start in range(0, whole, n_samples):
                yield LogBlock(joined[start : start + n_samples])
            held, count = [joined[whole:]], count - whole
    if count:
        yield LogBlock(np.concatenate(held))
