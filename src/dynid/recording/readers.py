"""Log files of every format: read at once, or as a stream of any length."""

from __future__ import annotations

import difflib
import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from dynid.errors import DynidError, RecordingError, WrongType
from dynid.recording.column_map import ColumnMap
from dynid.recording.columns import Layout, layout
from dynid.recording.formats.bags import BAG
from dynid.recording.formats.hdf5 import HDF5
from dynid.recording.formats.mat import MAT
from dynid.recording.formats.npz import NPZ
from dynid.recording.formats.parquet import PARQUET
from dynid.recording.formats.text import TEXT
from dynid.recording.log_format import LogBlock, LogFormat
from dynid.recording.raw import RAW_SIGNALS, RawLog, increasing
from dynid.recording.recording import Recording, part_error, time_error

__all__ = ["LOG_FORMATS", "column_names", "read_raw", "read_recording", "stream_raw", "stream_recording"]

CHUNK_SAMPLES = 100_000
"""Samples read at a time: some 20 MB for an arm of seven joints."""
MAX_SUGGESTED = 3
"""Files of nearly the same name that an error offers."""
LOG_FORMATS: tuple[LogFormat, ...] = (TEXT, NPZ, PARQUET, HDF5, MAT, BAG)
"""Every format of log files; see docs/recipes/reader.md for how to add one."""


def read_recording(path: Path | str, joint_names: Sequence[str], *, columns: ColumnMap | None = None) -> Recording:
    """The whole log of a file, in SI units at the joints.

    Args:
        path: CSV (also .gz), NPZ, Parquet, HDF5, MAT, ROS 1 or ROS 2 bag (file or folder), or MCAP.
        joint_names: the joints of the robot, in its order; the log may have them in another.
        columns: names, units, signs and gear ratios of the log, where they are not the usual ones.

    Raises:
        RecordingError: saying where in the file, what, and what to do.
    """
    plan, stream = _opened(path, joint_names, columns, CHUNK_SAMPLES)
    block = _joined(stream)
    if not len(block.values):
        raise _no_samples(plan, block.n_skipped)
    return plan.recording(block, 0)


def read_raw(
    path: Path | str,
    joint_names: Sequence[str],
    *,
    columns: ColumnMap | None = None,
    most_samples: int | None = None,
    t_from: float | None = None,
) -> RawLog:
    """What a file holds, for the doctor: rows that `read_recording` refuses are there as well.

    Args:
        path: as for `read_recording`.
        joint_names: the joints of the robot, in its order; the log may have them in another.
        columns: names, units, signs and gear ratios of the log, where they are not the usual ones.
        most_samples: rows to read; all of them where None.
        t_from: where to begin, s on the clock of the log; its start where None.

    Raises:
        RecordingError: where the file is no table of numbers, or lacks a column.
    """
    chunk = CHUNK_SAMPLES if most_samples is None else min(CHUNK_SAMPLES, most_samples)
    plan, stream = _opened(path, joint_names, columns, chunk)
    held: list[LogBlock] = []
    n_samples, n_before, whole = 0, 0, True
    covered: list[float] = []
    for block in stream:
        if most_samples is not None and n_samples >= most_samples:
            whole = False
            break
        numbers = n_before + np.arange(len(block.values)) if block.numbers is None else block.numbers
        n_before += len(block.values)
        numbered = replace(block, numbers=numbers)
        if t_from is not None and len(numbers) and np.all((times := plan.times(numbered, 0)) < t_from):
            covered += [float(times.min()), float(times.max())]
            continue
        held.append(numbered)
        n_samples += len(block.values)
    block = _joined(iter(held))
    if not len(block.values) and covered:
        raise part_error(plan.source, t_from, None, min(covered), max(covered))
    if not len(block.values):
        raise _no_samples(plan, block.n_skipped)
    return _raw(plan, block, whole=whole)


def stream_raw(
    path: Path | str,
    joint_names: Sequence[str],
    *,
    columns: ColumnMap | None = None,
    chunk_samples: int = CHUNK_SAMPLES,
) -> Iterator[RawLog]:
    """What a file holds in consecutive pieces, unchecked; arguments and errors as for `stream_recording`."""
    plan, stream = _opened(path, joint_names, columns, chunk_samples)
    n_before = 0
    for block in stream:
        numbers = n_before + np.arange(len(block.values)) if block.numbers is None else block.numbers
        n_before += len(block.values)
        if len(block.values):
            yield _raw(plan, replace(block, numbers=numbers), whole=False)
    if n_before == 0:
        raise _no_samples(plan, 0)


def _raw(plan: Layout, block: LogBlock, *, whole: bool) -> RawLog:
    values = plan.signals(block)
    return RawLog(
        plan.joint_names,
        plan.times(block, 0),
        values["q"],
        dq=values.get("dq"),
        tau=values.get("tau"),
        current=values.get("current"),
        source=plan.source,
        numbers=block.numbers,
        columns={name: plan.columns[span] for name, span in plan.spans.items() if name in RAW_SIGNALS},
        whole=whole,
        repairs=plan.repairs,
        ddq=values.get("ddq"),
        base_wrench=values.get("base_wrench"),
        tool_wrench=values.get("tool_wrench"),
    )


def stream_recording(
    path: Path | str,
    joint_names: Sequence[str],
    *,
    columns: ColumnMap | None = None,
    chunk_samples: int = CHUNK_SAMPLES,
) -> Iterator[Recording]:
    """The log of a file in consecutive pieces, in SI units at the joints; memory does not grow with the log.

    The exceptions are MAT files up to version 7.2 and NPZ arrays in Fortran order: they are loaded whole.

    Args:
        path: as for `read_recording`.
        joint_names: the joints of the robot, in its order; the log may have them in another.
        columns: names, units, signs and gear ratios of the log, where they are not the usual ones.
        chunk_samples: samples of a piece; the last may have fewer.

    Raises:
        RecordingError: saying where in the file, what, and what to do.
    """
    if chunk_samples < 1:
        raise RecordingError(f"chunk_samples is {chunk_samples}; it must be at least 1")
    plan, blocks = _opened(path, joint_names, columns, chunk_samples)
    n_before = n_skipped = 0
    last_time = 0.0
    for block in blocks:
        n_skipped += block.n_skipped
        if not len(block.values):
            continue
        first = n_before if block.numbers is None else int(block.numbers[0])
        chunk = plan.recording(replace(block, n_skipped=n_skipped), first)
        if n_before and chunk.t[0] <= last_time:
            raise time_error(plan.source, n_before - 1, last_time, float(chunk.t[0]))
        last_time, n_skipped = float(chunk.t[-1]), 0
        n_before += chunk.n_samples
        yield chunk
    if n_before == 0:
        raise _no_samples(plan, n_skipped)


def column_names(path: Path | str, *, columns: ColumnMap | None = None) -> tuple[str, ...]:
    """The columns of a log file, as it calls them; no sample is read.

    Raises:
        RecordingError: where the file is no log.
    """
    log_format = _format(Path(path))
    with _explained(Path(path), log_format):
        return log_format.open(Path(path), columns or ColumnMap()).names


def _opened(
    given: Path | str, joint_names: Sequence[str], column_map: ColumnMap | None, chunk_samples: int
) -> tuple[Layout, Iterator[LogBlock]]:
    """Where the signals of a log are, and its content in blocks."""
    if not isinstance(given, str | Path):
        raise WrongType("path", "the path of a log file", given)
    if isinstance(joint_names, str) or not isinstance(joint_names, Iterable):
        raise WrongType("joint_names", "a sequence of names, as robot.joint_names", joint_names)
    if column_map is not None and not isinstance(column_map, ColumnMap):
        raise WrongType("columns", "a ColumnMap (read_column_map reads one from a file)", column_map)
    path, joint_names, columns = Path(given), tuple(joint_names), column_map or ColumnMap()
    log_format = _format(path)
    with _explained(path, log_format):
        table = log_format.open(path, columns)
    plan = layout(table, joint_names, columns)

    def blocks() -> Iterator[LogBlock]:
        with _explained(path, log_format):
            yield from table.blocks(plan.columns, chunk_samples)

    return plan, _cleaned(blocks(), plan, columns) if columns.drop_bad_rows or columns.exclude else blocks()


def _cleaned(blocks: Iterator[LogBlock], plan: Layout, columns: ColumnMap) -> Iterator[LogBlock]:
    """The blocks without the rows that the column map leaves out; their numbers are kept."""
    n_before, last = 0, -np.inf
    for block in blocks:
        numbers = n_before + np.arange(len(block.values))
        n_before += len(block.values)
        t = plan.times(LogBlock(block.values, numbers=numbers), 0)
        kept = np.full(len(t), True)
        for start, stop in columns.exclude:
            kept &= ~((t >= start) & (t < stop))
        places = np.flatnonzero(kept)
        if columns.drop_bad_rows:
            places = places[np.isfinite(block.values[places]).all(axis=1)]
            if len(places) and (t[places[0]] <= last or np.diff(t[places]).min(initial=np.inf) <= 0.0):
                places = places[increasing(t[places], last)]
            last = float(t[places[-1]]) if len(places) else last
        yield LogBlock(block.values[places], block.n_skipped, numbers[places])


def _joined(blocks: Iterator[LogBlock]) -> LogBlock:
    held = list(blocks)
    if not held:
        return LogBlock(np.empty((0, 0)))
    numbers = [block.numbers for block in held if block.numbers is not None]
    return LogBlock(
        np.concatenate([block.values for block in held]),
        sum(block.n_skipped for block in held),
        np.concatenate(numbers) if numbers else None,
    )


def _no_samples(plan: Layout, n_skipped: int) -> RecordingError:
    why = f"none of {n_skipped} messages has all of {', '.join(plan.columns)}" if n_skipped else "it has no rows"
    return RecordingError(f"{plan.source}: no samples, because {why}; check that the log is of this robot and complete")


def _format(path: Path) -> LogFormat:
    """The format of a file or folder, by its ending or else by its content."""
    if not path.exists():
        near = []
        if path.parent.is_dir():
            near = difflib.get_close_matches(path.name, [p.name for p in path.parent.iterdir()], n=MAX_SUGGESTED)
        raise RecordingError(f"{path}: no such file" + (f"; did you mean {' or '.join(near)}?" if near else ""))
    if not path.is_file() and not path.is_dir():
        raise RecordingError(f"{path}: a pipe or a device, not a log; write it into a file first")
    for log_format in LOG_FORMATS if path.is_file() else ():
        if path.suffix.lower() in log_format.suffixes:
            return log_format
    for log_format in LOG_FORMATS:
        if log_format.sniff(path):
            return log_format
    if path.is_dir():
        raise RecordingError(
            f"{path}: a folder, not a log; give a file, or the folder of a ROS 2 bag (it holds metadata.yaml)"
        )
    known = ", ".join(suffix for log_format in LOG_FORMATS for suffix in log_format.suffixes)
    raise RecordingError(
        f"{path}: no format of logs ends in {path.suffix!r}; known: {known}, and folders of ROS 2 bags"
    )


@contextmanager
def _explained(path: Path, log_format: LogFormat) -> Iterator[None]:
    """Errors of the libraries that read files, as ours."""
    damaged: tuple[type[Exception], ...] = (OSError, *log_format.errors())
    try:
        yield
    except DynidError:
        raise
    except PermissionError as error:
        raise RecordingError(f"{path}: permission denied; make the file readable (chmod +r) and try again") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise RecordingError(f"{path}: the file is cut off or damaged ({error}); copy it again") from error
    except MemoryError as error:
        raise RecordingError(
            f"{path}: more than the memory of this machine; the file is damaged, or too long"
        ) from error
    except damaged as error:
        reason = f"{type(error).__name__}: {error}"
        raise RecordingError(f"{path}: not a readable {log_format.kind} ({reason}); check or copy it again") from error
