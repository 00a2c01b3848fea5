"""Progress of long work: one line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress"]


@contextmanager
def progress(first: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done while the block runs; the value given names the next step."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{first} …") as status:
        yield lambda text: status.update(f"{text} …")
