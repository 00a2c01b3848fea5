"""The HTML report: one file that opens offline, every text escaped, light and dark, on screen and on paper."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dynid.disk import write_whole
from dynid.errors import OutputError
from dynid.prose import counted, html_table, text_table
from dynid.validation.verdict import Criterion, Mark, Verdict

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["BADGES", "Badge", "Figure", "Report", "Section", "Table", "Tile", "rendered"]

_NUMBER = re.compile(r"(> )?[+\-−]?(\d[\d \u2009.]*|\.\d+)(e[+\-−]?\d+)?(\s?%)?|[+\-−]?inf|nan")
"""A cell that is a number, with or without a percent sign."""
_NOTHING = ("", "–")
"""Cells of a column of numbers that hold none."""
LONG_CELL = 140
"""Letters of a cell above which it is cut to a few lines until someone points at it, and whole on paper."""
_SEARCHABLE = 12
"""Tables with more rows than this get a box to filter them."""


@dataclass(frozen=True)
class Badge:
    """A word that stands out by colour, by its sign and by its border, so that it reads in print as well."""

    text: str
    sign: str
    tone: Literal["green", "blue", "amber", "violet", "red", "grey"]


BADGES = {
    "identified": Badge("identified", "●", "green"),
    "combination": Badge("only in combination", "◐", "blue"),
    "prior": Badge("chosen by prior", "○", "amber"),
    "bound": Badge("at a bound", "▮", "violet"),
    "open": Badge("left open", "○", "grey"),
    "unreliable": Badge("σ above 30 %", "△", "red"),
    "unseen": Badge("not excited", "✕", "red"),
    "good": Badge("good", "✓", "green"),
    "usable": Badge("usable", "~", "amber"),
    "not good enough": Badge("not good enough", "✕", "red"),
    "info": Badge("info", "i", "blue"),
    "warning": Badge("warning", "!", "amber"),
    "error": Badge("error", "✕", "red"),
    "yes": Badge("yes", "✓", "green"),
    "no": Badge("no", "✕", "red"),
    "NO": Badge("NO", "✕", "red"),
}
"""Words that tables show as badges; other words stay plain text."""


@dataclass(frozen=True)
class Table:
    """Plain text cells under headers; units stand in the headers or in a column of their own.

    Readers can sort by any column, and filter tables that are long.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    badges: tuple[int, ...] = ()
    """Columns whose words are keys of `BADGES`."""

    def __repr__(self) -> str:
        return f"Table({self.caption or ', '.join(self.headers)!r}, {counted(len(self.rows), 'row')})"

    def __str__(self) -> str:
        return text_table(self.headers, self.rows, self.numeric)

    def _repr_html_(self) -> str:
        return html_table(self.headers, self.rows, self.numeric, self.caption)

    @cached_property
    def numeric(self) -> frozenset[int]:
        """Columns that hold numbers and nothing else."""
        return frozenset(k for k in range(len(self.headers)) if self._holds_numbers(k))

    @property
    def searchable(self) -> bool:
        """Whether it is long enough to need a filter."""
        return len(self.rows) > _SEARCHABLE

    @property
    def words(self) -> dict[int, list[str]]:
        """The different badges of each column of badges, in the order of `BADGES`."""
        return {k: [word for word in BADGES if any(row[k] == word for row in self.rows)] for k in self.badges}

    def badge(self, column: int, word: str) -> Badge | None:
        """The badge of a cell; None for plain text."""
        return BADGES.get(word) if column in self.badges else None

    def _holds_numbers(self, column: int) -> bool:
        cells = [row[column].strip() for row in self.rows]
        said = [cell for cell in cells if cell not in _NOTHING]
        return (bool(said) or "–" in cells) and all(_NUMBER.fullmatch(cell) for cell in said)


@dataclass(frozen=True)
class Figure:
    """A Plotly figure as the JSON of its traces and layout (labels carry units).

    Colours may be names of the page's palette, ``@c0`` to ``@c7``, ``@ink``, ``@soft`` and ``@grid``: they follow light
    and dark. Text must have passed `dynid.writers.report.drawing.shown`.
    """

    data: tuple[dict[str, object], ...]
    layout: dict[str, object]
    caption: str = ""
    height: int = 420
    """Pixels."""
    title: str = ""
    wide: bool = True
    """Whether it takes the whole width of the page; others stand side by side where there is room."""
    link: str = ""
    """Figures with the same link share their horizontal zoom."""
    flat: Figure | None = None
    """What is drawn in place of a three-dimensional figure on paper, and where the browser has no WebGL."""
    frames: tuple[dict[str, object], ...] = ()
    """Plotly's frames of a figure that moves; its layout holds the buttons and the slider that play them."""

    def __repr__(self) -> str:
        return f"Figure({self.title or self.caption!r}, {counted(len(self.data), 'trace')})"

    def as_json(self) -> str:
        """Traces and layout, safe to stand inside a script element."""
        moving = {"frames": self.frames} if self.frames else {}
        return _script_safe({"data": self.data, "layout": self.layout, **moving})


def _script_safe(value: object) -> str:
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@dataclass(frozen=True)
class Tile:
    """One number or word at a glance (the unit is part of the value)."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True)
class Section:
    """A part of the report: a heading, tiles, paragraphs, figures and tables, in this order."""

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    tiles: tuple[Tile, ...] = ()

    def __repr__(self) -> str:
        return f"Section({self.title!r}, {counted(len(self.figures), 'figure')}, {counted(len(self.tables), 'table')})"


@dataclass(frozen=True)
class Report:
    """A whole report; `verdict` is the paragraph a hurried reader needs."""

    title: str
    verdict: str
    sections: tuple[Section, ...]
    footer: str = ""
    criteria: tuple[Criterion, ...] = ()
    """What the result was judged by; the worst of them is the mark beside the verdict."""

    def __repr__(self) -> str:
        return f"Report({self.title!r}, {counted(len(self.sections), 'section')})"

    def __str__(self) -> str:
        headings = "".join(f"\n- {section.title}" for section in self.sections)
        return f"{self.title}\n{self.verdict}{headings}"

    @property
    def mark(self) -> Mark | None:
        """The mark beside the verdict; None for reports without criteria."""
        return Verdict(self.criteria).mark if self.criteria else None

    def html(self) -> str:
        """The page as one string, without any address to load from."""
        has_figures = any(section.figures for section in self.sections)
        names = ("plotly", "report.js") if has_figures else ("report.js",)
        return rendered(
            "report.html",
            report=self,
            badges=BADGES,
            long_cell=LONG_CELL,
            # The browser runs these scripts and no other, should markup ever find its way into the page.
            hashes=[_hash(name) for name in names],
            style=_part("report.css"),
            script=_part("report.js"),
            plotly=_plotly() if has_figures else "",
        )

    def write(self, path: Path) -> None:
        """Write the page whole or not at all.

        Raises:
            OutputError: naming the file and what the system said.
        """
        # A file name may hold bytes that are no text; the page shows a question mark for them.
        write_whole(path, self.html().encode("utf-8", errors="replace"))


@cache
def _plotly() -> str:
    """The charting script that Plotly's package carries; importing the package would take longer than the report."""
    from importlib.util import find_spec

    found = find_spec("plotly")
    if found is None or not found.submodule_search_locations:
        raise OutputError("plotly is not installed, which draws the charts of the report; install it and try again")
    folder = Path(next(iter(found.submodule_search_locations)))
    script = (folder / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    # No part of it may end the script element it stands in.
    return re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE)


@cache
def _hash(name: str) -> str:
    """What the page's policy calls a script by."""
    script = _plotly() if name == "plotly" else _part(name)
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


@cache
def _part(name: str) -> str:
    from importlib.resources import files

    return files("dynid.writers.report").joinpath("templates", name).read_text(encoding="utf-8")


def rendered(template: str, **values: object) -> str:
    """A page of the folder of templates, every text escaped."""
    return _template(template).render(values)


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_part(name))
