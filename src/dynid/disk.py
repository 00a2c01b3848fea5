"""Files are read with limits, and written whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import stat
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from dynid.errors import DynidError, OutputError

try:
    import fcntl
except ImportError:  # not on Windows; there, runs into one folder are not kept apart
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "at_once",
    "claimed",
    "read_json",
    "read_text",
    "read_toml",
    "refuse_replacing",
    "whole_file",
    "write_whole",
]

MAX_TEXT_BYTES = 64 * 2**20
"""Largest configuration or model file that is read; real ones stay below 10 MB."""
# A key of many parts takes the parser of Python time and memory that grow with the square of their number.
_KEY_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"""(?<![\w"'.-]){_KEY_PART}(?:[ \t]*+\.[ \t]*+{_KEY_PART}){{64}}""")
CLAIM_PATIENCE = 60.0
"""How long one run waits for another that writes into the same folder, s; writing takes about one."""
HERE = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:6]
"""This machine, in the names of files that are being written: only it knows which of its processes still run."""
_LEFT_OVER = re.compile(rf"\.(?P<name>.+)\.{HERE}-(?P<process>\d+)-[0-9a-f]{{8}}\.part")
_CLAIMED: ContextVar[frozenset[Path]] = ContextVar("claimed", default=frozenset())
"""Folders that this run has claimed already."""
_HELD: ContextVar[dict[Path, Path] | None] = ContextVar("held", default=None)
"""Inside `at_once`: the hidden parts that wait there, by the files they will be."""


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file completely or, when anything fails, not at all; missing folders are made.

    Text is written as UTF-8; for the rest see `whole_file`.

    Raises:
        OutputError: naming the file and what the system said.
    """
    with whole_file(path) as file:
        # A name of a file that is not UTF-8 becomes \udcxx, which JSON reads back as that very name.
        file.write(content.encode(errors="backslashreplace") if isinstance(content, str) else content)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write into that takes the place of `path` when the block ends well, and vanishes when it does not.

    The bytes go into a hidden neighbour ``.NAME.….part`` first, which is then renamed over `path`: what was there stays
    as it was until the new file is complete. A run that is killed may leave such a neighbour behind, never half a file;
    the next run that writes the same file removes it.
    A symbolic link at `path` is replaced by the file, never followed. Missing folders are made. Inside `at_once` the
    renaming waits for the end of that block.

    Raises:
        OutputError: naming the file and what the system said.
    """
    path = Path(path)
    held = _HELD.get()
    temporary: Path | None = None
    try:
        folder = path.parent.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / path.name
        _refuse_special(path, target)
        _remove_left_overs(target)
        temporary = target.with_name(f".{target.name[:200]}.{HERE}-{os.getpid()}-{secrets.token_hex(4)}.part")
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.is_file() and not target.is_symlink():
            shutil.copymode(target, temporary)
        if held is None:
            os.replace(temporary, target)
        else:
            superseded = held.get(target)
            held[target] = temporary
            temporary = superseded
    except OutputError:
        raise
    except (OSError, ValueError) as error:
        # ValueError: a name with a NUL in it. What the block itself raises of this kind is about its file, too.
        if isinstance(error, DynidError):
            raise
        raise _refusal(path, error) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()


def _remove_left_overs(target: Path) -> None:
    """Remove the neighbours of a file that runs of this machine left behind when they were killed."""
    with contextlib.suppress(OSError):
        for path in target.parent.glob(f".{glob.escape(target.name[:200])}.{HERE}-*.part"):
            found = _LEFT_OVER.fullmatch(path.name)
            if found is not None and found["name"] == target.name[:200] and not _runs(int(found["process"])):
                path.unlink()


def _runs(process: int) -> bool:
    """Whether a process of this machine, by its number, is still there."""
    if os.name != "posix":
        return True  # nobody can tell without risk
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Let the files that are written inside the block appear together when it ends well, and none when it does not.

    Until then they wait, complete, as hidden neighbours, see `whole_file`. They are then renamed one right after the
    other, the first that was written last: a run that writes its main file first and is killed leaves all files of the
    run before, unless it is hit within the microseconds of the renaming, when its main file is still the old one. They
    cannot be read back inside the block.

    Raises:
        OutputError: naming a file that cannot be put in its place, and what the system said.
    """
    held: dict[Path, Path] = {}
    token = _HELD.set(held)
    try:
        yield
        with contextlib.ExitStack() as old:
            for target in held if os.name == "posix" else ():
                # An open file is not removed from the disk before it is closed, which takes longer than the renaming.
                with contextlib.suppress(OSError):
                    old.enter_context(target.open("rb"))
            for target, temporary in reversed(held.items()):
                try:
                    os.replace(temporary, target)
                except OSError as error:
                    raise _refusal(target, error) from error
    finally:
        _HELD.reset(token)
        for temporary in held.values():
            with contextlib.suppress(OSError):
                temporary.unlink()


def refuse_replacing(
    inputs: Iterable[Path], outputs: Iterable[Path], *, unasked: Mapping[Path, str] | None = None
) -> None:
    """Refuse to write a file in the place of one that was read, or of somebody else's.

    Args:
        inputs: files that were read; what is no file is passed over.
        outputs: files that will be written, each because its name was given.
        unasked: files that will be written, too, with a text that every file of that kind holds: one without it is
            somebody else's.

    Raises:
        OutputError: naming the file.
    """
    beside = unasked or {}
    # Of a name that no file can have, os.path says that it is none; pathlib raises.
    read = [path for path in inputs if os.path.isfile(path)]
    for path in (*outputs, *beside):
        if not os.path.isfile(path):
            continue
        if any(path.samefile(other) for other in read):
            raise OutputError(f"{path}: is read by this very run and would be replaced; choose another name to write")
        if path in beside and beside[path].encode() not in path.read_bytes():
            raise OutputError(
                f"{path}: is there already and would be replaced; it was not written by dynid, so choose another name, "
                "or delete it first"
            )


def _refusal(path: Path, error: OSError | ValueError) -> OutputError:
    reason = error.strerror if isinstance(error, OSError) else None
    return OutputError(f"{path}: cannot be written: {reason or error}; choose another place")


def _refuse_special(path: Path, target: Path) -> None:
    """Refuse to put a file in the place of a folder, a device, a pipe or a socket, or of a link to one."""
    try:
        mode = target.stat().st_mode
    except OSError:
        return  # nothing there, or a link that leads nowhere
    if stat.S_ISDIR(mode):
        raise OutputError(f"{path}: cannot be written: it is a folder; give the name of a file")
    if not stat.S_ISREG(mode):
        raise OutputError(f"{path}: cannot be written: it is a device, a pipe or a socket; give the name of a file")


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Keep other runs of dynid from writing into a folder meanwhile, so that it holds the files of one run.

    Waits for a run that is writing there. The claim ends with the block, or with the process, however that ends; it is
    a lock of the operating system on the folder itself and leaves no file. Inside the block the same folder can be
    claimed again.

    Raises:
        OutputError: another run does not end, or the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place = folder.resolve()
        handle = None if place in _CLAIMED.get() else os.open(folder, os.O_RDONLY)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        raise _refusal(folder, error) from error
    if handle is None:
        yield
        return
    token = _CLAIMED.set(_CLAIMED.get() | {place})
    try:
        _lock(folder, handle)
        yield
    finally:
        _CLAIMED.reset(token)
        os.close(handle)


def _lock(folder: Path, handle: int) -> None:
    started = time.monotonic()
    while fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() - started > CLAIM_PATIENCE:
                raise OutputError(
                    f"{folder}: another run of dynid is writing there; wait for it or choose another folder"
                ) from None
            time.sleep(0.05)
        except OSError:
            return  # a file system without locks
        else:
            return


def read_text(path: Path, error: type[DynidError], what: str = "file") -> str:
    """The text of a file in UTF-8, with or without a byte order mark.

    Args:
        path: the file.
        error: what to raise.
        what: what the file should be, for messages.

    Raises:
        DynidError: of type `error`, naming the file: missing, too large, or not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_TEXT_BYTES + 1)
    except FileNotFoundError as problem:
        raise error(f"{path}: cannot be read (no such {what})") from problem
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise error(f"{path}: cannot be read ({reason}); give a {what}") from problem
    if len(data) > MAX_TEXT_BYTES:
        raise error(f"{path}: larger than {MAX_TEXT_BYTES // 2**20} MB, which no {what} is")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise error(f"{path}: not a text file in UTF-8 ({problem.reason} at byte {problem.start})") from problem


def read_toml(path: Path, error: type[DynidError], what: str = "TOML file") -> dict[str, object]:
    """The content of a TOML file; arguments and errors as for `read_text`."""
    text = read_text(path, error, what)
    if _LONG_KEY.search(text):
        raise error(f"{path}: not valid TOML: a key of more than 64 parts")
    try:
        return tomllib.loads(text)
    except RecursionError as problem:
        raise error(f"{path}: not valid TOML: nested too deeply") from problem
    except ValueError as problem:  # also for a number with thousands of digits
        raise error(f"{path}: not valid TOML: {problem}") from problem


def read_json(path: Path, error: type[DynidError], what: str = "JSON file") -> object:
    """The content of a JSON file, in which every number must be finite; arguments and errors as for `read_text`."""
    text = read_text(path, error, what)

    def refuse(word: str) -> object:
        raise ValueError(f"{word} is no number of JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError as problem:
        raise error(f"{path}: cannot be read as JSON: nested too deeply") from problem
    except ValueError as problem:
        raise error(f"{path}: cannot be read as JSON: {problem}") from problem
