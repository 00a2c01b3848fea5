"""Logs as text: cells between commas, semicolons, tabs or blanks, also packed by gzip, zip, xz or bzip2."""

from __future__ import annotations

import gzip
import lzma
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dynid.arrays import Array, Float
from dynid.disk import whole_file
from dynid.errors import RecordingError
from dynid.recording.column_map import ColumnMap
from dynid.recording.formats.text_dialect import MISSING, NUMBER, Dialect, dialect_of
from dynid.recording.formats.text_stream import PACKED_SUFFIXES, TextStream, opened_text
from dynid.recording.log_format import LogBlock, LogFormat, LogTable, regrouped
from dynid.recording.recording import JOINT_SIGNALS, WRENCH_AXES, Recording
from dynid.recording.spelling import STEMS

__all__ = ["TEXT", "write_csv"]

TEXT_BYTES = 1 << 21
"""How much text is read at a time."""
PARSE_BYTES = 1 << 19
"""How much of it a thread parses at a time."""
LONGEST_CELL = 1000
"""Letters of a cell above which it is no number, and is not quoted."""
OPEN_ENDINGS = ("", ".dat", ".log", ".asc", ".out", ".data")
"""Endings that text has, and other files as well."""
COMMENT_LINE = re.compile(rb"^(?:#|%|//)[^\n]*\n?", re.MULTILINE)
BLANKS = re.compile(rb"[ \t]+")
OUTER_BLANK = re.compile(rb"^ | (?=\r?$)", re.MULTILINE)


def open_text(path: Path, columns: ColumnMap) -> LogTable:
    """The table of a text file with a header, whatever stands before it; lines that start with #, % or // are comments.

    Raises:
        RecordingError: naming the file and the line.
    """
    del columns  # A text file needs no hints to be taken apart.
    dialect = dialect_of(path)

    def blocks(names: Sequence[str], n_samples: int) -> Iterator[LogBlock]:
        return _blocks(path, dialect, names, n_samples)

    return LogTable(str(path), dialect.names, blocks, units=dialect.units)


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


def _texts(stream: TextStream, dialect: Dialect) -> Iterator[bytes]:
    """The rows of numbers of a text file, some thousand whole lines at a time, without comments and further headers."""
    header = dialect.header.encode()
    again = re.compile(rb"^" + re.escape(header) + rb"\r?\n?", re.MULTILINE) if header else None
    while text := stream.read(TEXT_BYTES):
        text += stream.readline()
        if text.startswith((b"#", b"%", b"/")) or b"\n#" in text or b"\n%" in text or b"\n//" in text:
            text = COMMENT_LINE.sub(b"", text)
        if again is not None and header in text:
            text = again.sub(b"", text)  # files that were joined, each with its header
        if dialect.delimiter == " ":
            text = OUTER_BLANK.sub(b"", BLANKS.sub(b" ", text))
        if text and not text.isspace():
            yield text


def _blocks(path: Path, dialect: Dialect, names: Sequence[str], n_samples: int) -> Iterator[LogBlock]:
    import pyarrow as pa

    with opened_text(path) as stream:
        _skip(stream, dialect.n_lines_before)
        try:
            block = None
            for block in regrouped(_parsed(stream, dialect, names), n_samples):
                yield block
            if block is None:
                raise _diagnosed(path, dialect, names, "no rows")
        except pa.ArrowInvalid as error:
            raise _diagnosed(path, dialect, names, str(error)) from error


def _skip(stream: TextStream, n_lines: int) -> None:
    for _ in range(n_lines):
        stream.readline()


def _parsed(
    stream: TextStream, dialect: Dialect, names: Sequence[str]
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
        null_values=list(MISSING),
        decimal_point=dialect.decimal,
    )
    for text in _texts(stream, dialect):
        # A copy that belongs to pyarrow: its threads must never meet an object of Python, such as an open file. They
        # live on when a log is given up half-way, and then keep the process from ending, or crash it.
        own = pa.BufferOutputStream()
        own.write(text)
        source = pa.BufferReader(own.getvalue())
        table = pa_csv.read_csv(source, read_options=read, parse_options=parse, convert_options=convert)
        yield np.stack([column.to_numpy() for column in table.columns]).T


def _diagnosed(path: Path, dialect: Dialect, names: Sequence[str], reason: str) -> RecordingError:
    """The error for a text file that could not be parsed: the first line at fault, found by a slow second look."""
    n_columns = len(dialect.names)
    wanted = {name: dialect.names.index(name) for name in names}
    n_rows = 0
    with opened_text(path) as stream:
        lines = iter(stream.readline, b"")
        for number, raw in enumerate(lines, start=1):
            line = raw.decode("utf-8", errors="replace")
            plain = line.strip()
            if number <= dialect.n_lines_before or not plain or plain.startswith(("#", "%", "//")):
                continue
            if line.strip("\r\n") == dialect.header:
                continue
            n_rows += 1
            cells = dialect.cells(line)
            if len(cells) != n_columns:
                last = next(lines, None) is None
                remedy = "the log was cut off while writing: delete that line" if last else "correct that line"
                return RecordingError(f"{path}: line {number} has {len(cells)} cells, the header {n_columns}; {remedy}")
            for name, place in wanted.items():
                cell = cells[place].replace(",", ".") if dialect.decimal == "," else cells[place]
                if len(cell) > LONGEST_CELL or (cell not in MISSING and not NUMBER.fullmatch(cell)):
                    found = repr(cells[place]) if len(cell) <= LONGEST_CELL else f"a cell of {len(cell)} characters"
                    return RecordingError(
                        f"{path}: line {number}, column {name}: {found} is not a number; correct that cell"
                    )
    if n_rows == 0:
        return RecordingError(f"{path}: a header but no rows; check that the log was written to its end")
    return RecordingError(f"{path}: cannot be read as a table of numbers: {reason}")


def _errors() -> tuple[type[Exception], ...]:
    import pyarrow as pa

    return pa.ArrowException, UnicodeDecodeError, zipfile.BadZipFile, lzma.LZMAError, NotImplementedError, RuntimeError


def _is_text(path: Path) -> bool:
    """Whether a file whose ending leaves it open is text."""
    if not path.is_file() or path.suffix.lower() not in OPEN_ENDINGS:
        return False
    with path.open("rb") as file:
        head = file.read(4096)
    return b"\n" in head and b"\x00" not in head and not head.startswith(b"PAR1")


TEXT = LogFormat(
    kind="text file",
    suffixes=(".csv", ".tsv", ".txt", *PACKED_SUFFIXES),
    open=open_text,
    errors=_errors,
    sniff=_is_text,
)
"""Comma, semicolon, tab or space separated values."""
