"""Logs as Parquet files: plain columns, structs of joints, or lists with one number per joint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dynid.arrays import Array, Float
from dynid.errors import RecordingError
from dynid.recording.column_map import ColumnMap
from dynid.recording.log_format import LogBlock, LogFormat, LogTable, regrouped, starts_with

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PARQUET"]

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""What one unit of Arrow's time stamps is in s."""


def open_parquet(path: Path, columns: ColumnMap) -> LogTable:
    """The table of a Parquet file; time stamps become seconds.

    Raises:
        RecordingError: naming the file and the column.
    """
    import pyarrow.parquet as pq

    unfit: dict[str, str] = {}
    with pq.ParquetFile(path) as file:
        head = next(file.iter_batches(batch_size=1), None)
        if head is None:
            raise RecordingError(f"{path}: columns but no rows; check that the log was written to its end")
    homes: dict[str, str] = {}
    names: list[str] = []
    for field, content in zip(head.schema.names, head.columns, strict=True):
        labels = list(_flat(field, content, columns.first))
        if not labels:
            unfit[field] = f"is of type {content.type}, no real numbers"
        names += labels
        homes |= dict.fromkeys(labels, field)

    def blocks(wanted: Sequence[str], n_samples: int) -> Iterator[LogBlock]:
        fields = list(dict.fromkeys(homes[label] for label in wanted))
        return regrouped(_pieces(path, fields, wanted, columns.first, n_samples), n_samples)

    return LogTable(str(path), tuple(names), blocks, unfit)


def _pieces(
    path: Path, fields: Sequence[str], wanted: Sequence[str], first: int, n_samples: int
) -> Iterator[Float[Array, "n_samples n_columns"]]:
    import pyarrow.parquet as pq

    n_read = 0
    with pq.ParquetFile(path) as file:
        # Group by group: a single pass over all of them keeps what it has read until its end.
        batches = (
            batch
            for group in range(file.num_row_groups)
            for batch in file.iter_batches(batch_size=n_samples, row_groups=[group], columns=list(fields))
        )
        for batch in batches:
            content: dict[str, Float[Array, " n_samples"]] = {}
            for field in fields:
                content |= _flat(field, batch.column(field), first)
            lacking = [label for label in wanted if label not in content]
            if lacking:
                raise RecordingError(
                    f"{path}: {', '.join(lacking)} is missing in some of the rows {n_read} to {n_read + len(batch)}: "
                    "the lists there have another length; write lists with one number per joint"
                )
            yield np.stack([content[label] for label in wanted]).T
            n_read += len(batch)


def _flat(name: str, content: pa.Array, first: int) -> dict[str, Float[Array, " n_samples"]]:
    """The columns of an Arrow array; none where it holds no real numbers or lists of different lengths."""
    import pyarrow as pa

    kind = content.type
    if pa.types.is_struct(kind):
        children = [_flat(f"{name}.{kind.field(k).name}", content.field(k), first) for k in range(kind.num_fields)]
        return {label: values for child in children for label, values in child.items()}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        if pa.types.is_nested(kind.value_type):
            return {}
        inner = content.flatten()
        width = len(inner) // max(len(content), 1)
        if content.null_count or any(length != width for length in set(content.value_lengths().to_pylist())):
            return {}
        return {
            f"{name}{k + first}": values[k::width]
            for values in _flat(name, inner, first).values()
            for k in range(width)
        }
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return {name: _numbers(content.cast(pa.int64())) * SECONDS[kind.unit]}
    if (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
    ):
        return {name: _numbers(content)}
    return {}


def _numbers(content: pa.Array) -> Float[Array, " n_samples"]:
    import pyarrow as pa

    return content.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _errors() -> tuple[type[Exception], ...]:
    import pyarrow as pa

    return pa.ArrowException, UnicodeDecodeError


PARQUET = LogFormat(
    kind="Parquet file", suffixes=(".parquet", ".pq"), open=open_parquet, errors=_errors, sniff=starts_with(b"PAR1")
)
"""Apache Parquet, columns of numbers, lists or structs."""
