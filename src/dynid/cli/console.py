"""How commands speak: results on stdout, warnings on stderr, JSON for machines."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dynid.cli.plain_text import escaped_json
from dynid.prose import Document, Line, as_text, json_text

if TYPE_CHECKING:
    from dynid.writers.savers.saved import Saved

__all__ = ["clean", "complain", "emit_json", "note", "say", "show", "table", "tell", "warn", "with_flags", "wrote"]


WIDE = 1000
"""Columns of a table that goes into a file or a pipe: nothing is folded."""


OBEYED = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode categories of characters that move the cursor, change colours, or turn the direction of writing."""
MAX_MESSAGE = 4000
"""Characters of an error that are shown: a damaged file may have names of any length."""


def clean(text: str) -> str:
    """Text without anything that a terminal would obey: names in files, and of files, are not commands."""
    return "".join(f"\\x{ord(c):02x}" if unicodedata.category(c) in OBEYED and c not in "\n\t" else c for c in text)


CALLS = {"`repair()`": "dynid lint ROBOT --repair OUT", "`inertials='ignore'`": "--ignore-inertials"}
"""What messages of the library say to do in Python, and what one types instead."""


def with_flags(text: str) -> str:
    """A message of the library with the parameters it names in backticks as options: ``--half-window``."""
    for call, typed in CALLS.items():
        text = text.replace(call, typed)
    return re.sub(r"`([a-z_]+)(=True)?`", lambda found: "--" + found.group(1).rstrip("_").replace("_", "-"), text)


def say(label: str, value: str = "") -> None:
    """One line of the result: a short label and what it is."""
    Console(highlight=False, soft_wrap=True, file=sys.stdout).print(Text(clean(with_flags(f"{label:<11}{value}"))))


def note(text: str) -> None:
    """A plain line of the result."""
    Console(highlight=False, soft_wrap=True, file=sys.stdout).print(Text(clean(text)))


def warn(text: str) -> None:
    """A warning on stderr."""
    text = with_flags(text)
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
        grid.add_row(*(Text(clean(with_flags(cell))) for cell in row))
    terminal = sys.stdout.isatty()
    Console(highlight=False, file=sys.stdout, width=None if terminal else WIDE).print(grid)


def show(document: Document) -> None:
    """A result on stdout: its plain text, or on a terminal tables that fold to its width."""
    if not sys.stdout.isatty():
        sys.stdout.write(clean(with_flags(as_text(document))) + "\n")
        return
    for part in document:
        if isinstance(part, Line):
            say(part.label, part.text)
        else:
            note("")
            table(part.headers, part.rows, numeric=part.numeric)
            note("")


@runtime_checkable
class Told(Protocol):
    """What every result of a job says of itself."""

    def json(self) -> Mapping[str, object]: ...

    def document(self) -> Document: ...


def emit_json(content: Mapping[str, object]) -> None:
    """One JSON object on stdout; what is not finite becomes null."""
    sys.stdout.write(escaped_json(json_text(content)))


def wrote(saved: Saved) -> None:
    """The files of a result, a line each, and how its robot file came about."""
    for path in saved.files.values():
        say("wrote", str(path))
    if saved.urdf is not None:
        say("robot.urdf", saved.urdf.how)


def tell(result: Told, saved: Saved, *, json: bool) -> None:
    """A result and its files, for people or as one object for scripts."""
    if json:
        emit_json({**result.json(), **saved.json()})
    else:
        show(result.document())
        wrote(saved)
