"""Findings: what is wrong with a log, as numbers with units; words and lines of a column map are made from them."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from dynid.recording.column_map import ColumnMap, read_column_map
from dynid.recording.column_map_edits import column_map_toml, join_maps
from dynid.review.phrases import PUT_INTO_MAP

__all__ = [
    "Finding",
    "Measured",
    "Quantity",
    "Severity",
    "gravest_first",
    "number",
    "repaired_map",
]


class Severity(enum.Enum):
    """How much a finding matters to an identification."""

    INFO = "info"
    """Good to know; the result is sound."""
    WARNING = "warning"
    """The result will be worse than it could be."""
    ERROR = "error"
    """The result would be wrong: identification refuses the log unless it is forced."""


class Quantity(NamedTuple):
    """A number of a finding."""

    name: str
    value: float
    """In `unit`."""
    unit: str
    """SI, ``1`` where dimensionless."""
    normal: tuple[float, float] | None
    """Least and largest value of a log without this fault, in `unit`; None where nothing is normal."""


def number(unit: str, *, normal: tuple[float, float] | None = None) -> Any:
    """A field of a `Measured` value that holds a number in `unit` (SI, ``1`` where dimensionless)."""
    return field(metadata={"unit": unit, "normal": normal})


@runtime_checkable
class Measured(Protocol):
    """What a check measured, as the fields of a frozen dataclass, and the sentences that say it.

    Fields made by `number` carry a unit and what is normal.
    """

    @property
    def evidence(self) -> str:
        """The number that shows the fault, with its unit and what is normal."""
        ...

    @property
    def cause(self) -> str:
        """What most often makes a log look like this."""
        ...

    @property
    def fix(self) -> str:
        """What to do; empty where the lines for a column map say it all."""
        ...


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing wrong with a log."""

    code: str
    """A stable name for scripts, in kebab case, such as ``degrees`` or ``flipped-torque``."""
    severity: Severity
    measured: Measured
    joint: str | None = None
    """The joint at fault; None where the whole log is."""
    log: str | None = None
    """The source of the log, such as its path."""
    probability: float | None = None
    """How likely the finding is right, from 0 to 1 (dimensionless); None where it was not estimated."""
    repair: ColumnMap | None = None
    """What to add to the column map of the log so that it is read rightly; None where no map repairs it."""

    @property
    def evidence(self) -> str:
        """The number that shows it, with its unit and what is normal."""
        return self.measured.evidence

    @property
    def cause(self) -> str:
        """What most often makes a log look like this."""
        return self.measured.cause

    @property
    def fix(self) -> str:
        """What to do; where a column map repairs the log, with its lines."""
        if self.repair is None:
            return self.measured.fix
        first = f"{self.measured.fix}; " if self.measured.fix else ""
        return f"{first}{PUT_INTO_MAP}\n{self.mapping}"

    @property
    def mapping(self) -> str:
        """The lines of `repair`, TOML; empty where no map repairs the log."""
        return "" if self.repair is None else column_map_toml(self.repair)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """The numbers of `measured` with their units, in the order of its fields."""
        assert is_dataclass(self.measured)
        return tuple(
            Quantity(f.name, float(getattr(self.measured, f.name)), f.metadata["unit"], f.metadata["normal"])
            for f in fields(self.measured)
            if "unit" in f.metadata
        )

    def __str__(self) -> str:
        return f"{self.severity.value}: {self.code}{f' of {self.joint}' if self.joint else ''}: {self.evidence}"

    def __repr__(self) -> str:
        return f"<Finding {self}>"


def gravest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors, then warnings, then information, each in the order they were found."""
    order = [Severity.ERROR, Severity.WARNING, Severity.INFO]
    return tuple(sorted(findings, key=lambda finding: order.index(finding.severity)))


def repaired_map(columns_file: Path | None, findings: Iterable[Finding]) -> str:
    """The text of a column map with the repair of every finding, on top of the map that was used, if any.

    Raises:
        RecordingError: where the map in use cannot be read.
    """
    columns = ColumnMap() if columns_file is None else read_column_map(columns_file)
    lines = ["# written by dynid; repairs:"]
    for finding in findings:
        if finding.repair is not None:
            columns = join_maps(columns, finding.repair)
            lines.append(f"# {finding.code}{f' of {finding.joint}' if finding.joint else ''}")
    return "\n".join([*lines, "", column_map_toml(columns)]) + "\n"
