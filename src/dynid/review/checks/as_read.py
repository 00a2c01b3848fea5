"""What was wrong with a log and was put right while it was read: good to know, and nothing to do."""

from __future__ import annotations

from dataclasses import dataclass

from dynid.recording.repairs import LogRepair
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look

__all__ = ["REPAIRED", "find_repairs"]

REPAIRED = (
    "not-finite",
    "coarse-stamps",
    "repeated-stamps",
    "backward-stamps",
    "clock-jump",
    "header-stamps",
    "jump",
    "wild-cell",
    "repeated-rows",
    "joint-names",
)
"""Codes of what readers put right."""


@dataclass(frozen=True)
class PutRight:
    """A fault that the reader repaired."""

    repair: LogRepair
    share: float = number("1")
    """Of the rows of the log."""

    @property
    def evidence(self) -> str:
        return self.repair.evidence

    @property
    def cause(self) -> str:
        return self.repair.cause

    @property
    def fix(self) -> str:
        return f"nothing: {self.repair.done}"


def find_repairs(look: Look) -> Look:
    """What the reader put right, each as information; a warning where much of the log was lost by it."""
    return look.found(
        Finding(
            code=repair.code,
            severity=Severity.INFO if repair.harmless else Severity.WARNING,
            joint=repair.joint,
            measured=PutRight(repair, repair.share),
        )
        for repair in look.raw.repairs
    )
