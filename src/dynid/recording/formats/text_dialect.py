"""How a text file is written: its separator and decimal mark, and what stands before the first row of numbers."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dynid.errors import RecordingError
from dynid.recording.formats.text_stream import opened_text

__all__ = ["MISSING", "NUMBER", "Dialect", "dialect_of"]

HEAD_BYTES = 1 << 16
"""How much of a file is looked at to find its header, separator and decimal mark."""
MAX_LINES = 400
"""Lines of it that are taken apart."""
SEPARATORS = (";", "\t", ",", " ")
"""What may stand between cells; a blank stands for blanks and tabs in any number."""
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?|[+-]?(nan|inf(inity)?)", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
MISSING = (
    "",
    "nan",
    "NaN",
    "NAN",
    "null",
    "NULL",
    "Null",
    "none",
    "None",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "NaT",
    "-",
    "--",
)
"""Cells that say that there is no value."""
COMMENT = re.compile(r"^(?:#+|//+|%+(?=\s))\s*")
"""What makes a line a comment; ``%time`` is a name of ``rostopic echo -p``."""
UNIT_CELL = re.compile(r"\[[^\]]*\]|\([^)]*\)|[°a-zA-Zµμ%\-][a-zA-Z°²·⋅*/^\d\-]{0,9}|1")
"""A cell of a line of units: in brackets, or a short word."""
PLAIN_UNITS = frozenset(
    (
        "s", "sec", "secs", "ms", "us", "µs", "ns", "rad", "deg", "°", "m", "mm", "rad/s", "rad/sec", "deg/s",
        "deg/sec", "°/s", "rpm", "m/s", "mm/s", "rad/s²", "rad/s^2", "rad/s2", "deg/s²", "deg/s^2", "nm", "n·m", "n*m",
        "n.m", "n-m", "nmm", "n", "kn", "a", "ma", "-", "1", "%",
    )
)  # fmt: skip
"""Units that are known without brackets, in lower case."""


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    names: tuple[str, ...]
    """One a column; empty for a column without a name."""
    delimiter: str
    decimal: str
    n_lines_before: int
    """Lines before the first row of numbers: preamble, header and units."""
    header: str = ""
    """The header line as it stands, to know it again where files were joined."""
    units: dict[str, str] = field(default_factory=dict)
    """Units of columns that stand in a line below the header."""

    def cells(self, line: str) -> list[str]:
        """The cells of a line."""
        return _cells(line, self.delimiter)


def dialect_of(path: Path) -> Dialect:
    """The dialect of a file, from its first lines.

    Raises:
        RecordingError: for a file without a header, naming the line.
    """
    with opened_text(path) as stream:
        head = stream.read(HEAD_BYTES)
    if not head:
        raise RecordingError(f"{path}: the file is empty; check that the log was written to its end")
    if b"\x00" in head:
        raise RecordingError(
            f"{path}: not a text file; give a table of numbers as text, or name the file after its format"
        )
    if len(head) >= HEAD_BYTES:
        head = head[: head.rfind(b"\n") + 1] or head
    lines = list(io.StringIO(head.decode("utf-8", errors="replace"), newline="\n"))
    tables = [found for mark in SEPARATORS if (found := _table(lines, mark)) is not None]
    if not tables:
        return _without_rows(path, lines)
    best = max(tables, key=lambda table: table.share)
    return _dialect(path, lines, best.delimiter, best.first)


@dataclass(frozen=True)
class _Table:
    """Lines taken apart by one separator."""

    delimiter: str
    first: int
    """Place of the first row of numbers."""
    share: float
    """Cells of its rows that are numbers, dimensionless."""


def _table(lines: Sequence[str], delimiter: str) -> _Table | None:
    """The rows of numbers that lines hold with this separator; None where they hold none."""
    rows: list[tuple[int, int, int]] = []
    for place, line in enumerate(lines[:MAX_LINES]):
        if not _bare(line) or COMMENT.match(_bare(line)):
            continue
        cells = _cells(line, delimiter)
        while len(cells) > 1 and not cells[-1]:
            cells = cells[:-1]
        n_numbers = sum(bool(NUMBER.fullmatch(cell)) or cell in MISSING for cell in cells)
        if len(cells) > 1 and any(NUMBER.fullmatch(cell) for cell in cells) and 2 * n_numbers >= len(cells):
            rows.append((place, len(cells), n_numbers))
    if not rows:
        return None
    # Lines of a preamble may hold numbers, too, but are fewer, or shorter.
    widths = Counter(width for _, width, _ in rows)
    width = max(widths, key=lambda size: (widths[size] * size, size))
    alike = [(place, n_numbers) for place, size, n_numbers in rows if size == width]
    return _Table(delimiter, alike[0][0], sum(n for _, n in alike) / (width * len(alike)))


def _dialect(path: Path, lines: Sequence[str], delimiter: str, first: int) -> Dialect:
    body = [line for line in lines[first:MAX_LINES] if _bare(line) and not COMMENT.match(_bare(line))]
    n_columns = len(_cells(body[0], delimiter))
    above = [(place, COMMENT.sub("", _bare(lines[place]))) for place in range(first - 1, -1, -1)]
    units: list[str] = []
    header, named = "", ""
    for place, text in above:
        cells = _cells(text, delimiter)
        if not _fits(cells, n_columns, body, delimiter) or _is_numbers(cells):
            continue
        if (
            not units
            and _are_units(cells)
            and any(
                _fits(_cells(other, delimiter), n_columns, body, delimiter)
                for further, other in above
                if further < place
            )
        ):
            units = cells
            continue
        header, named = text, lines[place].strip("\r\n")
        break
    if not header:
        raise RecordingError(
            f"{path}: line {first + 1} holds numbers where the header should be; "
            "add a first line with the names of the columns: t,q1,…"
        )
    numbered = not all(not _cells(line, delimiter)[-1] for line in body)
    names = _padded(_cells(header, delimiter), n_columns, numbered=numbered)
    below = _padded(units, n_columns, numbered=numbered)
    said = {name: unit.strip("[]() ") for name, unit in zip(names, below, strict=True) if name}
    return Dialect(
        tuple(names),
        delimiter,
        _decimal(body, delimiter),
        first,
        named,
        {name: unit for name, unit in said.items() if unit and unit not in "-1%"},
    )


def _without_rows(path: Path, lines: Sequence[str]) -> Dialect:
    """The dialect of a file in which no line is a row of numbers: a header at most."""
    texts = [(place, _bare(line)) for place, line in enumerate(lines)]
    plain = [(place, text) for place, text in texts if text and not COMMENT.match(text)]
    if not plain:
        raise RecordingError(f"{path}: no header line t,q1,…; the file holds comments and blank lines only")
    place, header = plain[0]
    delimiter = max(SEPARATORS[:3], key=header.count)
    delimiter = delimiter if delimiter in header else " "
    return Dialect(tuple(_cells(header, delimiter)), delimiter, ".", place + 1, header)


def _fits(cells: Sequence[str], n_columns: int, body: Sequence[str], delimiter: str) -> bool:
    """Whether a line has a cell for every column of the rows, save for an empty last or an unnamed first one."""
    n_more = n_columns - len(cells)
    if n_more == 0:
        return len(cells) > 1
    if n_more == -1:
        return not cells[-1]
    if n_more != 1 or len(cells) < 2:
        return False
    rows = [_cells(line, delimiter) for line in body]
    return all(not row[-1] for row in rows) or _is_index([row[0] for row in rows])


def _padded(cells: Sequence[str], n_columns: int, *, numbered: bool) -> list[str]:
    """The cells of a header, one a column: a row with one cell more starts with its number, or ends in a separator."""
    if len(cells) >= n_columns:
        return list(cells[:n_columns])
    more = [""] * (n_columns - len(cells))
    return [*more, *cells] if numbered else [*cells, *more]


def _is_index(cells: Sequence[str]) -> bool:
    return all(cell.isdigit() for cell in cells) and [int(cell) for cell in cells] == list(
        range(int(cells[0]), int(cells[0]) + len(cells))
    )


def _is_numbers(cells: Sequence[str]) -> bool:
    return any(cells) and all(NUMBER.fullmatch(cell) for cell in cells if cell)


def _are_units(cells: Sequence[str]) -> bool:
    """Whether every cell is a unit: in brackets, or a word that is known to be one."""
    said = [cell for cell in cells if cell]
    return bool(said) and all(
        UNIT_CELL.fullmatch(cell) and (cell[0] in "[(" or cell.casefold() in PLAIN_UNITS) for cell in said
    )


def _decimal(lines: Sequence[str], delimiter: str) -> str:
    cells = (cell for line in lines for cell in _cells(line, delimiter))
    return "," if any(DECIMAL_COMMA.fullmatch(cell) for cell in cells) else "."


def _bare(line: str) -> str:
    return line.lstrip("\ufeff").strip()


def _cells(line: str, delimiter: str) -> list[str]:
    plain = line.lstrip("\ufeff").strip("\r\n")
    plain = plain.replace("\t", " ").strip() if delimiter == " " else plain
    try:
        row = next(csv.reader([plain], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:  # such as a cell that is longer than any should be
        row = plain.split(delimiter)
    return [cell.strip() for cell in row]
