"""Tables and numbers as a person reads them: what `print(value)` and a notebook show."""

import html
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

__all__ = [
    "Document",
    "Grid",
    "Line",
    "PrintsAsDocument",
    "PrintsAsTable",
    "as_html",
    "as_text",
    "counted",
    "html_table",
    "json_text",
    "plain",
    "significant",
    "spread_percent",
    "text_table",
    "with_std",
]

_GAP = "  "
"""Space between two columns of a plain table."""


def text_table(headers: Sequence[str], rows: Sequence[Sequence[object]], numeric: Collection[int] = ()) -> str:
    """Aligned plain text of a table: one line for the headers, one a row, no trailing space.

    Args:
        headers: Names of the columns. If all are empty, the table has no header line.
        rows: Cells, as many as there are headers; a cell is shown as its `str`.
        numeric: Indices of the columns to align to the right.
    """
    lines = [[str(cell) for cell in row] for row in rows]
    if any(headers):
        lines.insert(0, list(headers))
    widths = [max((len(line[column]) for line in lines), default=0) for column in range(len(headers))]

    def padded(column: int, cell: str) -> str:
        return cell.rjust(widths[column]) if column in numeric else cell.ljust(widths[column])

    return "\n".join(_GAP.join(padded(*item) for item in enumerate(line)).rstrip() for line in lines)


def html_table(
    headers: Sequence[str], rows: Sequence[Sequence[object]], numeric: Collection[int] = (), caption: str = ""
) -> str:
    """The same table as HTML, every text escaped; what `_repr_html_` gives to a notebook."""

    def cells(tag: str, line: Sequence[object]) -> str:
        aligned = ("right" if column in numeric else "left" for column in range(len(line)))
        return "".join(
            f'<{tag} style="text-align:{align}">{html.escape(str(cell))}</{tag}>'
            for align, cell in zip(aligned, line, strict=True)
        )

    head = f"<thead><tr>{cells('th', headers)}</tr></thead>" if any(headers) else ""
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}{head}<tbody>{body}</tbody></table>"


def significant(value: float, std: float = math.nan, digits: int = 4) -> str:
    """A number to as many digits as its standard deviation leaves standing: two digits of `std`, `digits` without one.

    >>> significant(4.87031, 0.0213)
    '4.870'
    >>> significant(0.000123456)
    '0.0001235'
    """
    if not math.isfinite(value):
        return str(value)
    if math.isfinite(std) and std > 0.0:
        if value == 0.0 or abs(value) < std:
            return f"{value:.2g}"
        digits = min(max(1, math.floor(math.log10(abs(value))) - math.floor(math.log10(std)) + 2), 15)
    text = f"{value:#.{digits}g}"
    return text if "e" in text else text.rstrip(".")


def with_std(value: float, std: float) -> str:
    """A number and its standard deviation (the same unit) to the digits that mean something.

    One digit of `std`, two where the first is a 1.

    >>> with_std(7.3347, 0.91)
    '7.3 ± 0.9'
    >>> with_std(0.28512, 0.0141)
    '0.285 ± 0.014'
    """
    if not (math.isfinite(value) and math.isfinite(std)) or std < 0.0:
        return significant(value)
    if std == 0.0:
        return f"{value:.6g}"
    exponent = math.floor(math.log10(std))
    places = -exponent + (1 if round(std / 10.0**exponent, 1) < 2.0 else 0)
    shown = [0.0 + round(number, places) for number in (value, std)]
    return " ± ".join(f"{number:.{max(places, 0)}f}" for number in shown)


MUCH = 1000.0
"""A spread of more than this many percent of its value says only that nothing is known."""


def spread_percent(std: float, value: float) -> str:
    """A standard deviation in % of its value (any unit, the same of both), as a cell of a table."""
    if not value or not math.isfinite(std):
        return "–"
    share = 100.0 * std / abs(value)
    return f"{share:.1f}" if share < MUCH else f"> {MUCH:.0f}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun, in the plural unless it is one: `1 joint`, `20 544 samples`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}".replace(",", " ")


LABEL_WIDTH = 11
"""Characters that the label of a line takes, the space behind it included."""


@dataclass(frozen=True)
class Line:
    """One line of a result: a short label, and what there is to say."""

    label: str
    text: str = ""


@dataclass(frozen=True)
class Grid:
    """A table; units stand in the headers or in a column of their own."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[int] = ()
    """Columns of numbers, aligned to the right."""


Document = tuple[Line | Grid, ...]
"""A result as it is read, from top to bottom: what `print(result)`, a notebook and the terminal show alike."""


def as_text(document: Document) -> str:
    """Plain text of a document; tables stand between empty lines."""
    lines: list[str] = []
    for part in document:
        if isinstance(part, Line):
            lines.append(f"{part.label:<{LABEL_WIDTH}}{part.text}".rstrip())
            continue
        if lines and lines[-1]:
            lines.append("")
        lines += [text_table(part.headers, part.rows, part.numeric), ""]
    return "\n".join(lines).rstrip("\n")


def as_html(document: Document) -> str:
    """A document for a notebook, every text escaped."""
    blocks = []
    for part in document:
        if isinstance(part, Line):
            blocks.append(f"<div><b>{html.escape(part.label)}</b> {html.escape(part.text)}</div>")
        else:
            blocks.append(html_table(part.headers, part.rows, part.numeric))
    return "".join(blocks)


class PrintsAsDocument(ABC):
    """A result that prints, in a terminal and in a notebook, as the document that it makes of itself."""

    @abstractmethod
    def document(self) -> Document:
        """The result from top to bottom."""

    def __str__(self) -> str:
        return as_text(self.document())

    def _repr_html_(self) -> str:
        return as_html(self.document())


class PrintsAsTable(ABC):
    """A value that prints as its `repr` and a table below it, and shows the same table in a notebook."""

    @abstractmethod
    def _table(self) -> Grid: ...

    def __str__(self) -> str:
        table = self._table()
        return f"{self!r}\n{text_table(table.headers, table.rows, table.numeric)}"

    def _repr_html_(self) -> str:
        table = self._table()
        return html_table(table.headers, table.rows, table.numeric, caption=repr(self))


def plain(value: object) -> object:
    """A value as JSON can hold it: arrays as lists, what is not finite as None."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return value


def json_text(content: Mapping[str, object]) -> str:
    """One JSON object on one line; what is not finite becomes null."""
    text = json.dumps(plain(content), ensure_ascii=False) + "\n"
    # A name of a file that is not UTF-8 is written as JSON writes what Unicode has no place for.
    return text.encode(errors="backslashreplace").decode()
