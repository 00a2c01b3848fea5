"""What is known of a public data set and of its files."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynid.prose import counted
from dynid.recording.datasets.conversion import RowRange

__all__ = ["DataFile", "DataSet", "SourceFile"]


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """A file where its authors published it."""

    address: str
    """HTTPS, at a commit that does not change."""
    sha256: str = ""
    """Empty where it is not known."""
    n_bytes: int = 0
    """Size; 0 where it is not known."""

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.address.rsplit("/", 1)[-1]


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """A file of a data set as dynid lays it out, and how it comes about."""

    name: str
    what: str
    sha256: str = ""
    """Of the file in a mirror; empty where it exists only after a fetch from the network."""
    n_bytes: int = 0
    """Size in a mirror."""
    numbers: str = ""
    """SHA-256 of the numbers of a log (SI, float64), wherever it comes from; see `numbers_digest`."""
    sources: tuple[SourceFile, ...] = ()
    """What it is made from; empty where it exists in mirrors only."""
    converter: str = ""
    """The form of the sources; empty for a plain copy."""
    rows: RowRange = None

    @property
    def verified(self) -> bool:
        """Whether a fetch from the network can be checked, by file or by numbers."""
        return bool(self.sources) and (bool(self.numbers) or all(source.sha256 for source in self.sources))


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A public data set: source, licence, files, and what to do with it."""

    name: str
    title: str
    robot: str
    source: str
    """The authors' page."""
    licence: str
    cite: str
    files: tuple[DataFile, ...]
    archive: SourceFile | None = None
    """A zip file from which whatever has the form of a log is taken."""
    members: tuple[tuple[str, str], ...] = ()
    """Folders inside the archive, each with the form of the logs in it."""
    notes: tuple[str, ...] = ()
    next: tuple[tuple[str, tuple[str, ...]], ...] = field(default=())
    """Commands to type, with `{dir}` for the folder, each with the files it needs."""

    def __repr__(self) -> str:
        return f"DataSet({self.name!r}: {self.title}; {counted(len(self.files), 'file')})"
