"""Public data sets by name: copied from a mirror or fetched from their authors, checked, and laid out as logs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from dynid.errors import DataSetError, RecordingError
from dynid.recording.datasets.conversion import convert, numbers_digest
from dynid.recording.datasets.entries import DataFile, DataSet, SourceFile
from dynid.recording.datasets.fetched import Fetched, mirrored
from dynid.recording.datasets.published import data_set
from dynid.recording.formats.text import write_csv

__all__ = ["fetch_data"]

SCHEMES = ("https",)
"""How an address may start."""
MAX_BYTES = 256 * 2**20
"""The largest download, and the largest content of an archive, where a data set does not say its size."""
MAX_MEMBERS = 10_000
"""Files of an archive at most; those of the data sets have hundreds."""
CHUNK_BYTES = 1 << 16
"""Of a download, counted and checked one by one."""
TIMEOUT = 30.0
"""Seconds without a byte after which a download is given up."""

DownloadProgress = Callable[[str, int, int], None]
"""Told the file, the bytes that are there, and how many there will be (0 where that is not known)."""


def fetch_data(
    name: str,
    folder: Path,
    *,
    mirror: Path | None = None,
    unverified: bool = False,
    force: bool = False,
    progress: DownloadProgress | None = None,
) -> Fetched:
    """Put a data set into a folder, with a README; from `mirror` where it has it, else from its authors by HTTPS.

    Everything is checked and converted in a hidden folder first; nothing appears before all of it is right.

    Args:
        name: one of `DATA_SETS`.
        folder: where to; made when missing.
        mirror: a folder with a folder for each data set.
        unverified: also take files whose hash nobody knows.
        force: replace files that are there with another content.
        progress: told how much of each download is there, in bytes.

    Raises:
        DataSetError: for a wrong hash, a broken download, an unsafe archive, content without a known hash.
    """
    wanted, source = data_set(name), mirrored(name, mirror)
    if source is None and wanted.archive is None and not any(file.sources for file in wanted.files):
        raise DataSetError(
            f"{wanted.name}: its files exist in mirrors only, made from those of {wanted.source}, whose hash is not "
            "known; point DYNID_DATA at a mirror"
        )
    if source is None and not unverified:
        _refuse_unverified(wanted)
    base = folder.resolve().parent
    base.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".dynid-data-", dir=base) as hidden:
        stage = Path(hidden) / "ready"
        stage.mkdir()
        if source is not None:
            _copy(wanted, source, stage)
            doubtful: tuple[str, ...] = ()
        else:
            doubtful = _download(wanted, stage, Path(hidden) / "downloads", progress)
        files = tuple(sorted(path.name for path in stage.iterdir()))
        left_out = tuple(file.name for file in wanted.files if file.name not in files)
        commands = _commands(wanted, folder, files)
        fetched = Fetched(
            wanted, folder, "network" if source is None else str(source), files, doubtful, left_out, commands
        )
        (stage / "README.md").write_text(_readme(fetched), encoding="utf-8")
        (stage / "dataset.json").write_text(_facts(fetched, stage), encoding="utf-8")
        _publish(stage, folder, force=force)
    return fetched


def _refuse_unverified(wanted: DataSet) -> None:
    doubtful = [file.name for file in wanted.files if file.sources and not file.verified]
    doubtful += [wanted.archive.name] if wanted.archive is not None and not wanted.archive.sha256 else []
    if doubtful:
        raise DataSetError(
            f"{wanted.name}: no hash is known of {', '.join(doubtful)} at {wanted.source}, so nothing vouches for what "
            "arrives; take it as it is with `unverified=True`, or point DYNID_DATA at a mirror"
        )


def _copy(wanted: DataSet, source: Path, stage: Path) -> None:
    """Copy every file of a mirror whose hash is right; the designed series become trajectories too."""
    for file in wanted.files:
        path = source / file.name
        if not file.sha256:
            continue
        if not path.is_file():
            raise DataSetError(f"{path}: missing in the mirror; complete it, or unset DYNID_DATA to use the network")
        if path.stat().st_size != file.n_bytes:
            raise DataSetError(f"{path}: {path.stat().st_size} bytes instead of {file.n_bytes}; the mirror is damaged")
        content = path.read_bytes()
        _check_hash(str(path), content, file.sha256)
        (stage / file.name).write_bytes(content)
        if file.converter and not file.sources:
            for key, recording in convert(file.converter, {file.name: content}).items():
                write_csv(recording, stage / f"{key}.csv.gz")


def _check_hash(where: str, content: bytes, sha256: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise DataSetError(f"{where}: SHA-256 is {found}, not {sha256}; it is not the published file, nothing was kept")


def _download(wanted: DataSet, stage: Path, downloads: Path, progress: DownloadProgress | None) -> tuple[str, ...]:
    """Fetch and convert what the authors publish; the names of the files that nothing vouches for."""
    doubtful: list[str] = []
    for file in wanted.files:
        if not file.sources:
            continue
        contents = {source.name: _retrieved(source, downloads, progress) for source in file.sources}
        if not file.converter:
            (stage / file.name).write_bytes(next(iter(contents.values())))
        else:
            _write_log(file, contents, stage)
        if not file.verified:
            doubtful.append(file.name)
    if wanted.archive is not None:
        members = archive_members(_retrieved(wanted.archive, downloads, progress), wanted.archive.name)
        doubtful += _unpack(wanted, members, stage)
    return tuple(doubtful)


def _write_log(file: DataFile, contents: dict[str, bytes], stage: Path) -> None:
    recording = next(iter(convert(file.converter, contents, rows=file.rows).values()))
    found = numbers_digest(recording)
    if file.numbers and found != file.numbers:
        raise DataSetError(
            f"{file.name}: the numbers converted from {', '.join(contents)} have SHA-256 {found}, not {file.numbers}; "
            "the authors' file has changed, nothing was kept"
        )
    write_csv(recording, stage / file.name)


def _unpack(wanted: DataSet, members: dict[str, bytes], stage: Path) -> list[str]:
    """Convert the members of the folders that hold logs; those of another form are left out."""
    names: list[str] = []
    for folder, form in wanted.members:
        for path, content in members.items():
            inside = PurePosixPath(*PurePosixPath(path).parts[1:])  # Without the folder named after the commit.
            if str(inside.parent) != folder:
                continue
            try:
                found = convert(form, {inside.name: content})
            except (DataSetError, RecordingError):
                continue
            for key, recording in found.items():
                name = f"{key}.csv.gz" if form != "wam-record" else f"{key}_recorded.csv.gz"
                write_csv(recording, stage / name)
                names.append(name)
    if not names:
        raise DataSetError(f"{wanted.name}: nothing in the archive has the form of a log; nothing was kept")
    return names


@dataclass
class _Meter:
    """Counts the bytes of a download for pooch, and stops one that is too large."""

    name: str
    limit: int
    told: DownloadProgress | None
    expected: int = 0
    done: int = field(default=0, init=False)

    @property
    def total(self) -> int:
        return self.expected

    @total.setter
    def total(self, value: int) -> None:
        self.expected = value or self.expected
        self._check(value)

    def update(self, n_bytes: int) -> None:
        self.done += n_bytes
        # pooch counts whole chunks: the last one may be shorter.
        self._check(self.done - CHUNK_BYTES)
        if self.told is not None:
            self.told(self.name, min(self.done, self.expected or self.done), self.expected)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        """Nothing is held open."""

    def _check(self, n_bytes: int) -> None:
        if n_bytes > self.limit:
            raise DataSetError(f"{self.name}: larger than {self.limit} bytes; stopped, nothing was kept")


def _retrieved(source: SourceFile, downloads: Path, progress: DownloadProgress | None) -> bytes:
    """The content of a published file, checked where its hash is known."""
    import pooch

    if urlsplit(source.address).scheme not in SCHEMES:
        raise DataSetError(f"{source.address}: only HTTPS is fetched")
    pooch.get_logger().setLevel("ERROR")
    # A file of known size may be compressed on its way or have other line ends, but not be another size altogether.
    limit = 2 * source.n_bytes + 4 * CHUNK_BYTES if source.n_bytes else MAX_BYTES
    meter = _Meter(source.name, limit, progress, source.n_bytes)
    # A redirect could leave HTTPS: none is followed, the addresses are final.
    getter = pooch.HTTPDownloader(progressbar=meter, chunk_size=CHUNK_BYTES, timeout=TIMEOUT, allow_redirects=False)
    try:
        path = pooch.retrieve(
            source.address,
            known_hash=f"sha256:{source.sha256}" if source.sha256 else None,
            fname=source.name,
            path=downloads,
            downloader=getter,
        )
        return Path(path).read_bytes()
    except DataSetError:
        raise
    except OSError as error:
        raise DataSetError(
            f"{source.address}: could not be fetched ({_reason(error)}); nothing was kept. Check the connection and "
            "try again, or point DYNID_DATA at a mirror"
        ) from error
    except ValueError as error:
        raise DataSetError(
            f"{source.address}: SHA-256 is not {source.sha256}; it is not the published file, nothing was kept"
        ) from error


def _reason(error: OSError) -> str:
    """What went wrong with a download, without the address once more."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return f"the server answers {status}" if status is not None else type(error).__name__


def archive_members(content: bytes, name: str) -> dict[str, bytes]:
    """The files of a zip archive by their path; nothing is ever unpacked by the archive's own paths.

    Raises:
        DataSetError: for paths that are absolute or climb, for links, and for too many or too large members.
    """
    import io

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_MEMBERS or sum(entry.file_size for entry in entries) > MAX_BYTES:
                raise DataSetError(f"{name}: unpacks to more than {MAX_BYTES} bytes or {MAX_MEMBERS} files; refused")
            for entry in entries:
                _check_member(entry, name)
            return {entry.filename: archive.read(entry) for entry in entries if not entry.is_dir()}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataSetError(f"{name}: is no zip archive that can be read: {error}; nothing was kept") from error


def _check_member(entry: zipfile.ZipInfo, name: str) -> None:
    path = entry.filename.replace("\\", "/")
    climbing = path.startswith("/") or ".." in PurePosixPath(path).parts or ":" in path.split("/")[0]
    if climbing:
        raise DataSetError(f"{name}: holds {entry.filename!r}, a path that leaves the folder; refused")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise DataSetError(f"{name}: holds {entry.filename!r}, a link; refused")


def _commands(wanted: DataSet, folder: Path, files: tuple[str, ...]) -> tuple[str, ...]:
    """The commands whose files are here; of two that write to the same place the first."""
    kept: list[str] = []
    places: set[str] = set()
    for command, needs in wanted.next:
        place = command.partition("--out ")[2]
        if set(needs) <= set(files) and (not place or place not in places):
            kept.append(command.format(dir=_quoted(folder)))
            places.add(place)
    return tuple(kept)


def _quoted(folder: Path) -> str:
    text = str(folder)
    return (
        text if all(letter.isalnum() or letter in "._-/" for letter in text) else "'" + text.replace("'", "'\\''") + "'"
    )


def _readme(fetched: Fetched) -> str:
    wanted = fetched.data_set
    whats = {file.name: file.what for file in wanted.files}
    lines = [f"# {wanted.title}", "", f"- robot: {wanted.robot}", f"- source: {wanted.source}"]
    lines += [f"- licence: {wanted.licence}", f"- cite: {wanted.cite}", f"- taken from: {fetched.origin}", ""]
    for name in fetched.files:
        doubt = " (not verified: no hash is known)" if name in fetched.unverified else ""
        what = whats.get(name, "trajectory or log, as the authors name it").removesuffix("; mirrors only")
        lines.append(f"- `{name}`: {what}{doubt}")
    if fetched.left_out:
        lines += ["", f"Not here, because only mirrors have them: {', '.join(fetched.left_out)}."]
    lines += ["", *wanted.notes, "", "Next:", "", "```", *fetched.next, "```", ""]
    return "\n".join(lines)


def _facts(fetched: Fetched, stage: Path) -> str:
    wanted = fetched.data_set
    content = {
        "name": wanted.name,
        "source": wanted.source,
        "licence": wanted.licence,
        "cite": wanted.cite,
        "origin": fetched.origin,
        "files": {name: hashlib.sha256((stage / name).read_bytes()).hexdigest() for name in fetched.files},
        "unverified": list(fetched.unverified),
        "left_out": list(fetched.left_out),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _publish(stage: Path, folder: Path, *, force: bool) -> None:
    """Move what is ready into the folder; files of another content stay unless forced."""
    ready = sorted(stage.iterdir())
    other = [path.name for path in ready if _differs(path, folder / path.name)]
    if other and not force:
        raise DataSetError(
            f"{folder}: {', '.join(other)} are there with another content; choose another folder, or "
            "replace them with force=True"
        )
    folder.mkdir(parents=True, exist_ok=True)
    mask = os.umask(0)
    os.umask(mask)
    for path in ready:
        path.chmod(0o666 & ~mask)
        shutil.move(path, folder / path.name)


def _differs(new: Path, old: Path) -> bool:
    return os.path.lexists(old) and (not old.is_file() or new.read_bytes() != old.read_bytes())
