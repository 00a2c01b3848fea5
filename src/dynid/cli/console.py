"""How commands speak: results on stdout, warnings on stderr, JSON for machines."""

from __future__ import annotations

import json
import math
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = [
    "clean",
    "complain",
    "emit_json",
    "json_text",
    "kept_warnings",
    "note",
    "plain",
    "say",
    "table",
    "warn",
    "with_flags",
]


WIDE = 1000
"""Columns of a table that goes into a file or a pipe: nothing is folded."""


OBEYED = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode categories of characters that move the cursor, change colours, or turn the direction of writing."""
MAX_MESSAGE = 4000
"""Characters of an error that are shown: a damaged file may have names of any length."""


def clean(text: str) -> str:
    """Text without anything that a terminal would obey: names in files, and of files, are not commands."""
    return "".join(f"\\x{ord(c):02x}" if unicodedata.category(c) in OBEYED and c not in "\n\t" else c for c in text)


def with_flags(text: str) -> str:
    """A message of the library with the parameters it names in backticks as options: ``--half-window``."""
    return re.sub(r"`([a-z_]+)`", lambda found: "--" + found.group(1).replace("_", "-"), text)


def say(label: str, value: str = "") -> None:
    """One line of the result: a short label and what it is."""
    Console(highlight=False, soft_wrap=True, file=sys.stdout).print(Text(clean(f"{label:<11}{value}")))


def note(text: str) -> None:
    """A plain line of the result."""
    Console(highlight=False, soft_wrap=True, file=sys.stdout).print(Text(clean(text)))


_kept: ContextVar[list[str] | None] = ContextVar("dynid_warnings", default=None)


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """Collect the warnings of the block in a list instead of showing them: a worker has nobody to tell."""
    texts: list[str] = []
    token = _kept.set(texts)
    try:
        yield texts
    finally:
        _kept.reset(token)


def warn(text: str) -> None:
    """A warning on stderr, or kept for later."""
    text = with_flags(text)
    kept = _kept.get()
    if kept is not None:
        kept.append(text)
        return
    Console(highlight=False, soft_wrap=True, file=sys.stderr).print(
        Text("warning    ", style="yellow") + Text(clean(text))
    )


def complain(text: str, hint: str = "") -> None:
    """An error on stderr, with what to do next."""
    text = with_flags(text)
    console = Console(highlight=False, soft_wrap=True, file=sys.stderr)
    if len(text) > MAX_MESSAGE:
        text = f"{text[: MAX_MESSAGE // 2]} … {text[-MAX_MESSAGE // 2 :]}"
    console.print(Text("error      ", style="red") + Text(clean(text)))
    if hint:
        console.print(Text(clean(f"           {hint}")))


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: Sequence[int] = ()) -> None:
    """A plain table on stdout; `numeric` columns are aligned to the right."""
    grid = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for k, header in enumerate(headers):
        grid.add_column(
            Text(clean(header)), justify="right" if k in numeric else "left", no_wrap=k in numeric, overflow="fold"
        )
    for row in rows:
        grid.add_row(*(Text(clean(cell)) for cell in row))
    terminal = sys.stdout.isatty()
    Console(highlight=False, file=sys.stdout, width=None if terminal else WIDE).print(grid)


def emit_json(content: Mapping[str, object]) -> None:
    """One JSON object on stdout; what is not finite becomes null."""
    sys.stdout.write(json_text(content))


def json_text(content: Mapping[str, object]) -> str:
    """One JSON object on one line; what is not finite becomes null."""
    text = json.dumps(plain(content), ensure_ascii=False) + "\n"
    # A name of a file that is not UTF-8 is written as JSON writes what Unicode has no place for.
    return text.encode(errors="backslashreplace").decode()


def plain(value: object) -> object:
    """A value as JSON can hold it: arrays as lists, what is not finite as None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return value
