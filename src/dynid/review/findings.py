"""Findings: what is wrong with a log, the number that shows it, the likely cause, and the exact fix."""

from __future__ import annotations

import enum
from dataclasses import dataclass

__all__ = ["MAP", "Finding", "Severity"]

MAP = "put into the column map (--columns map.toml):"
"""What stands before the lines for a column map, in a fix."""


class Severity(enum.Enum):
    """How much a finding matters to an identification."""

    INFO = "info"
    """Good to know; the result is sound."""
    WARNING = "warning"
    """The result will be worse than it could be."""
    ERROR = "error"
    """The result would be wrong: identify refuses without ``--force``."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing wrong with a log."""

    code: str
    """A stable name for scripts, in kebab case, such as ``degrees`` or ``flipped-torque``."""
    severity: Severity
    joint: str | None = None
    """The joint at fault; None where the whole log is."""
    evidence: str
    """The number that shows it, with its unit and what is normal."""
    cause: str
    """What most often makes a log look like this."""
    log: str | None = None
    """The log it is about; None where there is only one."""
    probability: float | None = None
    """How likely this reading of the log is, a fraction; None where nobody reckoned it."""
    fix: str
    """What to do: where a mapping file repairs it, the very lines to put into it."""

    @property
    def mapping(self) -> str:
        """The lines of the fix that belong into a column map, TOML; empty where none can repair the log."""
        return self.fix.partition(f"{MAP}\n")[2]
