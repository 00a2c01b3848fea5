"""Logs as text: comma, semicolon or tab separated values, also compressed by gzip."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dynid.arrays import Array, Float
from dynid.disk import whole_file
from dynid.errors import RecordingError
from dynid.recording.column_map import ColumnMap
from dynid.recording.log_format import LogBlock, LogFormat, LogTable, regrouped
from dynid.recording.recording import JOINT_SIGNALS, WRENCH_AXES, Recording
from dynid.recording.spelling import STEMS

__all__ = ["TEXT", "write_csv"]

GZIP_MAGIC = b"\x1f\x8b"
"""First bytes of a gzip file, whatever its name."""
HEAD_BYTES = 1 << 16
"""How much of a file is looked at to find its header, separator and decimal mark."""
TEXT_BYTES = 1 << 21
"""How much text is read at a time."""
PARSE_BYTES = 1 << 19
"""How much of it a thread parses at a time."""
LONGEST_CELL = 1000
"""Letters of a cell above which it is no number, and is not quoted."""
COMMENT_LINE = re.compile(rb"^#[^\n]*\n?", re.MULTILINE)
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?|[+-]?(nan|inf(inity)?)", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class _Dialect:
    """How a text file is written."""

    names: tuple[str, ...]
    delimiter: str
    decimal: str
    n_bytes_before: int
    """Bytes before the first row of numbers: byte order mark, comments and header."""
    n_lines_before: int

    def cells(self, line: str) -> list[str]:
        return _cells(line, self.delimiter)


def open_text(path: Path, columns: ColumnMap) -> LogTable:
    """The table of a text file with a header; lines that start with # are comments.

    Raises:
        RecordingError: naming the file and the line.
    """
    del columns  # A text file needs no hints to be taken apart.
    dialect = _dialect(path)

    def blocks(names: Sequence[str], n_samples: int) -> Iterator[LogBlock]:
        return _blocks(path, dialect, names, n_samples)

    return LogTable(str(path), dialect.names, blocks)


def write_csv(recording: Recording, path: Path) -> None:
    """Write a recording as text, columns ``t, q1, …`` in SI units, with the fewest digits that give the same numbers.

    The file (compressed where its name ends in .gz) is written whole or not at all. A tool wrench is written as
    ``tool.fx``, ….

    Raises:
        OutputError: where the file cannot be written.
    """
    import pyarrow as pa
    from pyarrow import csv as pa_csv

    path = Path(path)
    content: dict[str, Float[Array, " n_samples"]] = {"t": recording.t}
    for signal in recording.signals:
        values = getattr(recording, signal)
        if signal in JOINT_SIGNALS:
            names = [f"{STEMS[signal][0]}{number}" for number in range(1, recording.n_dof + 1)]
        else:
            names = [f"tool.{axis}" if signal == "tool_wrench" else axis for axis in WRENCH_AXES]
        content |= {name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(names)}
    header = ",".join(content) + "\n"
    with whole_file(path) as raw, _compressed(raw) if path.suffix == ".gz" else nullcontext(raw) as stream:
        stream.write(header.encode())
        pa_csv.write_csv(pa.table(content), stream, pa_csv.WriteOptions(include_header=False))


def _compressed(raw: BinaryIO) -> gzip.GzipFile:
    # Neither name nor date of the file inside: the same recording gives the same bytes.
    return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)


def _open(path: Path) -> gzip.GzipFile | io.BufferedReader:
    with path.open("rb") as raw:
        zipped = raw.read(2) == GZIP_MAGIC
    return gzip.open(path, "rb") if zipped else path.open("rb")


def _dialect(path: Path) -> _Dialect:
    with _open(path) as stream:
        head = stream.read(HEAD_BYTES)
    if not head:
        raise RecordingError(f"{path}: the file is empty; check that the log was written to its end")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in head:
        raise RecordingError(f"{path}: not a text file in UTF-8; save it as CSV in UTF-8")
    if len(head) == HEAD_BYTES:
        head = head[: head.rfind(b"\n") + 1] or head
    try:
        lines = list(io.StringIO(head.decode("utf-8"), newline=""))
    except UnicodeDecodeError as error:
        raise RecordingError(
            f"{path}: not a text file in UTF-8 ({error.reason} at byte {error.start}); save it as CSV in UTF-8"
        ) from error
    n_before, comment = 0, ""
    for line in lines:
        bare = line.lstrip("\ufeff").strip()
        if bare and not bare.startswith("#"):
            break
        comment = bare.lstrip("#").strip() or comment
        n_before += 1
    else:
        raise RecordingError(f"{path}: no header line t,q1,…; the file holds comments and blank lines only")
    header = lines[n_before].lstrip("\ufeff").strip("\r\n")
    delimiter = _delimiter(header)
    if all(NUMBER.fullmatch(cell) for cell in _cells(header, delimiter) if cell):
        # numpy.savetxt writes the header as a comment.
        if not comment or len(_cells(comment, delimiter)) != len(_cells(header, delimiter)):
            raise RecordingError(
                f"{path}: line {n_before + 1} holds numbers where the header should be; "
                "add a first line with the names of the columns: t,q1,…"
            )
        header = comment
    else:
        n_before += 1
    decimal = "." if delimiter == "," else _decimal(lines[n_before:], delimiter)
    n_bytes = len("".join(lines[:n_before]).encode())
    return _Dialect(tuple(_cells(header, delimiter)), delimiter, decimal, n_bytes, n_before)


def _delimiter(header: str) -> str:
    counts = {mark: header.count(mark) for mark in (";", "\t", ",")}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else " "


def _decimal(lines: Sequence[str], delimiter: str) -> str:
    cells = (cell for line in lines if not line.startswith("#") for cell in _cells(line, delimiter))
    return "," if any(DECIMAL_COMMA.fullmatch(cell) for cell in cells) else "."


def _cells(line: str, delimiter: str) -> list[str]:
    plain = line.strip("\r\n")
    try:
        row = next(csv.reader([plain], delimiter=delimiter, skipinitialspace=delimiter != " "), [])
    except csv.Error:  # such as a cell that is longer than any should be
        row = plain.split(delimiter)
    return [cell.strip() for cell in row]


def _texts(stream: gzip.GzipFile | io.BufferedReader) -> Iterator[bytes]:
    """The rows of numbers of a text file, some thousand whole lines at a time, without those that start with #."""
    while text := stream.read(TEXT_BYTES):
        text += stream.readline()
        if text.startswith(b"#") or b"\n#" in text:
            text = COMMENT_LINE.sub(b"", text)
        if text and not text.isspace():
            yield text


def _blocks(path: Path, dialect: _Dialect, names: Sequence[str], n_samples: int) -> Iterator[LogBlock]:
    import pyarrow as pa

    with _open(path) as stream:
        stream.read(dialect.n_bytes_before)
        try:
            block = None
            for block in regrouped(_parsed(stream, dialect, names), n_samples):
                yield block
            if block is None:
                raise _diagnosed(path, dialect, names, "no rows")
        except pa.ArrowInvalid as error:
            raise _diagnosed(path, dialect, names, str(error)) from error


def _parsed(
    stream: gzip.GzipFile | io.BufferedReader, dialect: _Dialect, names: Sequence[str]
) -> Iterator[Float[Array, "n_samples n_columns"]]:
    import pyarrow as pa
    from pyarrow import csv as pa_csv

    # Numbers for names: the file's own may be empty.
    labels = [str(k) for k in range(len(dialect.names))]
    wanted = [str(dialect.names.index(name)) for name in names]
    read = pa_csv.ReadOptions(column_names=labels, block_size=PARSE_BYTES)
    parse = pa_csv.ParseOptions(delimiter=dialect.delimiter)
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(wanted, pa.float64()),
        include_columns=wanted,
        null_values=[""],
        decimal_point=dialect.decimal,
    )
    for text in _texts(stream):
        # A copy that belongs to pyarrow: its threads must never meet an object of Python, such as an open file. They
        # live on when a log is given up half-way, and then keep the process from ending, or crash it.
        own = pa.BufferOutputStream()
        own.write(text)
        source = pa.BufferReader(own.getvalue())
        table = pa_csv.read_csv(source, read_options=read, parse_options=parse, convert_options=convert)
        yield np.stack([column.to_numpy() for column in table.columns]).T


def _diagnosed(path: Path, dialect: _Dialect, names: Sequence[str], reason: str) -> RecordingError:
    """The error for a text file that could not be parsed: the first line at fault, found by a slow second look."""
    n_columns = len(dialect.names)
    wanted = {name: dialect.names.index(name) for name in names}
    n_rows = 0
    with io.TextIOWrapper(_open(path), encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            if number <= dialect.n_lines_before or not line.strip() or line.startswith("#"):
                continue
            n_rows += 1
            cells = _cells(line, dialect.delimiter)
            if len(cells) != n_columns:
                last = next(lines, None) is None
                remedy = "the log was cut off while writing: delete that line" if last else "correct that line"
                return RecordingError(f"{path}: line {number} has {len(cells)} cells, the header {n_columns}; {remedy}")
            for name, place in wanted.items():
                cell = cells[place].replace(",", ".") if dialect.decimal == "," else cells[place]
                if len(cell) > LONGEST_CELL or (cell and not NUMBER.fullmatch(cell)):
                    found = repr(cells[place]) if len(cell) <= LONGEST_CELL else f"a cell of {len(cell)} characters"
                    return RecordingError(
                        f"{path}: line {number}, column {name}: {found} is not a number; correct that cell"
                    )
    if n_rows == 0:
        return RecordingError(f"{path}: a header but no rows; check that the log was written to its end")
    return RecordingError(f"{path}: cannot be read as a table of numbers: {reason}")


def _errors() -> tuple[type[Exception], ...]:
    import pyarrow as pa

    return pa.ArrowException, UnicodeDecodeError


TEXT = LogFormat(kind="text file", suffixes=(".csv", ".tsv", ".txt", ".gz"), open=open_text, errors=_errors)
"""Comma, semicolon, tab or space separated values."""
