"""Tables and numbers as a person reads them: what `print(value)` and a notebook show."""

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import NamedTuple

__all__ = ["PrintsAsTable", "TableOf", "counted", "html_table", "significant", "text_table"]

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


class TableOf(NamedTuple):
    """What a table shows; fields as the arguments of `text_table`."""

    headers: Sequence[str]
    rows: Sequence[Sequence[object]]
    numeric: Collection[int] = ()


class PrintsAsTable(ABC):
    """A value that prints as its `repr` and a table below it, and shows the same table in a notebook."""

    @abstractmethod
    def _table(self) -> TableOf: ...

    def __str__(self) -> str:
        return f"{self!r}\n{text_table(*self._table())}"

    def _repr_html_(self) -> str:
        return html_table(*self._table(), caption=repr(self))


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


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun, in the plural unless it is one: `1 joint`, `20 544 samples`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}".replace(",", " ")
