"""Parameters as a table for other programs, CSV or JSON, with units, standard deviations and trust."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from dynid.disk import write_whole
from dynid.errors import ExportError
from dynid.regression.estimate import UNRELIABLE
from dynid.regression.model import IdentifiedModel
from dynid.writers.exported import DEFAULTS, N_CHECKED, Exported, ExportOptions, require_agreement, torque_error

__all__ = ["TableRow", "parameter_rows", "write_csv_table", "write_json_table"]

TABLE_FORMAT = "dynid-parameters/1"
"""Name and version of the JSON table."""
RISKY = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "'")
"""Letters with which a cell must not start: spreadsheets would take it for a formula, those of full width as well."""


@dataclass(frozen=True)
class TableRow:
    """One base parameter, or one parameter of the full set."""

    kind: Literal["base", "full"]
    symbol: str
    """Short name, ``J3xy``; for a base parameter that of its leading parameter."""
    owner: str
    """Link or joint."""
    name: str
    """Name of the parameter, or the combination that the base parameter is."""
    value: float
    """In `unit`."""
    unit: str
    std: float | None
    """Standard deviation in `unit`; None where nothing is known or none exists."""
    trust: str
    """identified, unreliable or unseen for a base parameter; identified, combination, prior or bound for a full one."""


def parameter_rows(model: IdentifiedModel) -> list[TableRow]:
    """Base parameters with standard deviations, then the full set where there is one (units ride on each row)."""
    base = model.base
    std = np.sqrt(np.maximum(np.diag(model.covariance), 0.0))
    rows = [
        TableRow(
            "base",
            symbol,
            column.owner,
            label,
            float(value),
            column.unit,
            float(sigma) if math.isfinite(sigma) else None,
            "unseen"
            if not math.isfinite(sigma)
            else "identified"
            if sigma <= UNRELIABLE * abs(value)
            else "unreliable",
        )
        for symbol, column, label, value, sigma in zip(
            base.leading, base.leading_columns, base.labels(), model.beta, std, strict=True
        )
    ]
    if model.theta is None:
        return rows
    trust = model.labels or ("",) * len(model.theta)
    return rows + [
        TableRow("full", symbol, column.owner, column.name, float(value), column.unit, None, word)
        for symbol, column, value, word in zip(
            model.model.symbols, model.model.columns, model.theta, trust, strict=True
        )
    ]


def write_csv_table(model: IdentifiedModel, path: Path, options: ExportOptions = DEFAULTS) -> Exported:
    """Write parameters (SI) as CSV, after it has been read back and has re-predicted the torque.

    Raises:
        ExportError: read back it says something else.
    """
    text = _csv(parameter_rows(model))
    found = [(row["kind"], row["symbol"], float(row["value"])) for row in csv.DictReader(io.StringIO(text))]
    return _written(model, path, "csv", text, found)


def write_json_table(model: IdentifiedModel, path: Path, options: ExportOptions = DEFAULTS) -> Exported:
    """Write parameters (SI) as JSON, after it has been read back and has re-predicted the torque.

    Raises:
        ExportError: read back it says something else.
    """
    content = {
        "format": TABLE_FORMAT,
        "robot": model.model.robot.name,
        "joints": list(model.model.robot.joint_names),
        "estimator": model.estimator,
        "status": model.status,
        "consistent": model.consistent,
        "rule": model.rule,
        "parameters": [asdict(row) for row in parameter_rows(model)],
    }
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    found = [(row["kind"], row["symbol"], row["value"]) for row in json.loads(text)["parameters"]]
    return _written(model, path, "json", text, found)


def _written(
    model: IdentifiedModel, path: Path, kind: str, text: str, found: Sequence[tuple[str, str, float]]
) -> Exported:
    full = model.theta is not None
    numbers = {symbol: value for what, symbol, value in found if what == ("full" if full else "base")}
    names = model.model.symbols if full else model.base.leading
    if set(numbers) != set(names):
        raise ExportError(f"{path}: not written, read back its parameters have other names")
    values = np.array([numbers[name] for name in names])
    error = require_agreement(path, [("torque", torque_error(model, values if full else model.base.lift(values)))])
    write_whole(path, text)
    return Exported(path, kind, error, N_CHECKED, f"Python's {kind} module", subject=model.model.robot.name)


def _csv(rows: Sequence[TableRow]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    names = list(TableRow.__dataclass_fields__)
    writer.writerow(names)
    for row in rows:
        writer.writerow([_cell(getattr(row, name)) for name in names])
    return out.getvalue()


def _cell(value: str | float | None) -> str:
    """A number as it is; a text that a spreadsheet would execute behind an apostrophe."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(RISKY) else value
    return "" if value is None else repr(value)
