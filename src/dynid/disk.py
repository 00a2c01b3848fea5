"""Files are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from pathlib import Path

from dynid.errors import OutputError

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file completely or, when anything fails, not at all; missing folders are made.

    The bytes go into a hidden neighbour first, which is then renamed over `path`; text is written as UTF-8.

    Raises:
        OutputError: naming the file and what the system said.
    """
    data = content.encode() if isinstance(content, str) else content
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
