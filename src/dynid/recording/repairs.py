"""Repairs: what was wrong with the rows of a log, and what was done about it while it was read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["LogRepair", "listed_samples"]

MAX_LISTED = 8
"""Samples that a sentence names."""


@dataclass(frozen=True)
class LogRepair:
    """One thing that was wrong with a log, which was read all the same."""

    code: str
    """A stable name for scripts, in kebab case; the doctor's for the same fault."""
    evidence: str
    """What was found, with its number and its place."""
    cause: str
    """What most often makes a log look like this."""
    done: str
    """What was done about it."""
    joint: str | None = None
    """The joint at fault; None where the whole log is."""
    samples: tuple[int, ...] = ()
    """Rows of the file that it is about, counted from 0."""
    share: float = 0.0
    """Of the rows of the log, dimensionless."""
    harmless: bool = True
    """Whether the result is none the worse for it."""


def listed_samples(samples: Iterable[int]) -> str:
    """Samples in words: the first ones, and how many more there are."""
    held = list(samples)
    more = f" and {len(held) - MAX_LISTED} more" if len(held) > MAX_LISTED else ""
    return ", ".join(str(sample) for sample in held[:MAX_LISTED]) + more
