"""The HTML report: one file that opens offline, every text escaped, light and dark."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dynid.disk import write_whole

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["Figure", "Report", "Section", "Table"]


@dataclass(frozen=True)
class Table:
    """Plain text cells under headers; units stand in the headers or in a column of their own."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Figure:
    """A Plotly figure as the JSON of its traces and layout (labels carry units)."""

    data: tuple[dict[str, object], ...]
    layout: dict[str, object]
    caption: str = ""
    height: int = 420
    """Pixels."""

    def as_json(self) -> str:
        """Traces and layout, safe to stand inside a script element."""
        text = json.dumps({"data": self.data, "layout": self.layout}, allow_nan=False)
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@dataclass(frozen=True)
class Section:
    """A part of the report: a heading, paragraphs, tables and figures, in this order."""

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Report:
    """A whole report; `verdict` is the paragraph a hurried reader needs."""

    title: str
    verdict: str
    sections: tuple[Section, ...]
    footer: str = ""

    def html(self) -> str:
        """The page as one string, without any address to load from."""
        from plotly.offline import get_plotlyjs

        has_figures = any(section.figures for section in self.sections)
        script = get_plotlyjs() if has_figures else ""
        return _template().render(report=self, plotly=script)

    def write(self, path: Path) -> None:
        """Write the page whole or not at all."""
        write_whole(path, self.html())


@cache
def _template() -> Template:
    from importlib.resources import files

    from jinja2 import Environment, StrictUndefined

    text = files("dynid.writers").joinpath("templates/report.html").read_text(encoding="utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(
        text
    )
