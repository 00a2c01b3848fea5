"""What there is to fetch, what a fetch left behind, and logs that were converted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from dynid.errors import DataSetError
from dynid.prose import Document, Grid, Line, PrintsAsDocument, counted
from dynid.recording.datasets.conversion import RowRange, convert
from dynid.recording.datasets.entries import DataSet
from dynid.recording.datasets.published import DATA_SETS, data_set
from dynid.recording.recording import Recording

__all__ = ["ConvertedLogs", "DataCatalogue", "Fetched", "convert_logs", "data_catalogue", "mirrored"]

WRITTEN = ("README.md", "dataset.json")
"""Files that a fetch adds to those of the data set."""


@dataclass(frozen=True)
class Fetched(PrintsAsDocument):
    """What a fetch left behind."""

    data_set: DataSet
    folder: Path
    origin: str
    """The mirror's folder, or ``network``."""
    files: tuple[str, ...]
    """Names in the folder."""
    unverified: tuple[str, ...] = ()
    """Those of them whose content nothing vouches for."""
    left_out: tuple[str, ...] = ()
    """Files that exist in mirrors only, and therefore not here."""
    next: tuple[str, ...] = ()
    """Commands to type."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is missing and what nothing vouches for, a sentence each."""
        told = []
        if self.left_out:
            told.append(f"only mirrors have {', '.join(self.left_out)}")
        if self.unverified:
            told.append(f"not verified, no hash is known: {', '.join(self.unverified)}")
        return tuple(told)

    def json(self) -> dict[str, object]:
        """What scripts read of it."""
        return {
            "name": self.data_set.name,
            "folder": str(self.folder),
            "origin": self.origin,
            "licence": self.data_set.licence,
            "files": {file: str(self.folder / file) for file in (*self.files, *WRITTEN)},
            "unverified": list(self.unverified),
            "left_out": list(self.left_out),
            "next": list(self.next),
        }

    def document(self) -> Document:
        """What was fetched from where, and what to do with it."""
        return (
            Line("data", self.data_set.title),
            Line("licence", self.data_set.licence),
            Line("from", self.data_set.source if self.origin == "network" else self.origin),
            *(Line("wrote", str(self.folder / file)) for file in (*self.files, *WRITTEN)),
            *(Line("next", command) for command in self.next),
        )

    def __repr__(self) -> str:
        return (
            f"Fetched({self.data_set.name!r}: {counted(len(self.files), 'file')} in {self.folder}, from {self.origin})"
        )


def mirrored(name: str, mirror: Path | None) -> Path | None:
    """The folder of a data set inside a mirror, where it has one."""
    folder = None if mirror is None else mirror / data_set(name).name
    return folder if folder is not None and folder.is_dir() else None


@dataclass(frozen=True)
class DataCatalogue(PrintsAsDocument):
    """Every public data set that dynid knows, and which of them a mirror has."""

    data_sets: tuple[DataSet, ...]
    mirrored: frozenset[str] = frozenset()
    """Names of those in the mirror."""

    def json(self) -> dict[str, object]:
        """What scripts read of it."""
        return {"data_sets": [_entry(entry, entry.name in self.mirrored) for entry in self.data_sets]}

    def document(self) -> Document:
        """One line for each data set."""
        rows = tuple(
            (entry.name, entry.title, entry.licence, "mirror" if entry.name in self.mirrored else _trust(entry))
            for entry in self.data_sets
        )
        return (Grid(("name", "what", "licence", "from"), rows),)

    def __repr__(self) -> str:
        return f"DataCatalogue({', '.join(entry.name for entry in self.data_sets)})"


def data_catalogue(mirror: str | PathLike[str] | None = None) -> DataCatalogue:
    """Every public data set that dynid knows, and which of them a mirror has."""
    folder = None if mirror is None else Path(mirror)
    return DataCatalogue(
        tuple(DATA_SETS.values()), frozenset(name for name in DATA_SETS if mirrored(name, folder) is not None)
    )


def _trust(entry: DataSet) -> str:
    if entry.archive is None and not any(file.sources for file in entry.files):
        return "mirrors only: the hash of the authors' own files is not known"
    unsure = entry.archive is not None or any(file.sources and not file.verified for file in entry.files)
    return "network, only with `unverified`" if unsure else "network"


def _entry(entry: DataSet, is_mirrored: bool) -> dict[str, object]:
    return {
        "name": entry.name,
        "title": entry.title,
        "robot": entry.robot,
        "source": entry.source,
        "licence": entry.licence,
        "cite": entry.cite,
        "mirrored": is_mirrored,
        "archive": None if entry.archive is None else entry.archive.address,
        "files": [
            {
                "name": file.name,
                "what": file.what,
                "sha256": file.sha256 or None,
                "numbers_sha256": file.numbers or None,
                "bytes": file.n_bytes or None,
                "verified": file.verified,
                "converter": file.converter or None,
                "sources": [
                    {"address": s.address, "sha256": s.sha256 or None, "bytes": s.n_bytes or None} for s in file.sources
                ],
            }
            for file in entry.files
        ],
    }


@dataclass(frozen=True, eq=False)
class ConvertedLogs:
    """Logs that were in the form their authors published; `dynid.save` them as a .csv, or several into a folder."""

    form: str
    logs: Mapping[str, Recording]
    """By name (SI)."""
    inputs: tuple[Path, ...] = ()
    """The published files: none of them is ever replaced."""

    def json(self) -> dict[str, object]:
        """What scripts read of it (s)."""
        return {
            "form": self.form,
            "logs": [
                {"name": name, "n_samples": log.n_samples, "duration": log.duration, "signals": list(log.signals)}
                for name, log in self.logs.items()
            ],
        }

    def document(self) -> Document:
        """One line for each log."""
        return tuple(
            Line(
                "log",
                f"{name}   {log.n_samples} samples, {log.duration:.1f} s, {log.n_dof} joints: {', '.join(log.signals)}",
            )
            for name, log in self.logs.items()
        )

    def __repr__(self) -> str:
        return f"ConvertedLogs({self.form!r}: {', '.join(self.logs)})"


def convert_logs(
    form: str, files: str | PathLike[str] | Sequence[str | PathLike[str]], *, rows: RowRange = None
) -> ConvertedLogs:
    """Logs (SI) from files in the form their authors published.

    Args:
        form: panda, ur, wam-record, wam-reference or wam-series.
        files: the published files.
        rows: first and last row to keep, counted from 1.

    Raises:
        DataSetError: for files that do not have this form.
    """
    paths = tuple(Path(file) for file in ((files,) if isinstance(files, str | PathLike) else files))
    if not paths:
        raise DataSetError("`files`: no file given to convert")
    return ConvertedLogs(form, convert(form, {path.name: path.read_bytes() for path in paths}, rows=rows), paths)
