"""Ratios against peers and physical limits, measured in one run: `python -m benchmarks [NAME…]`.

A benchmark is a module `bench_NAME.py` here with a function `run() -> list[Line]`.
"""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Line"]


@dataclass(frozen=True)
class Line:
    """One measured figure and what it should be."""

    name: str
    """What was measured, as a sentence would say it."""
    value: float
    """The figure, in `unit`; nan where it could not be measured."""
    target: float | None = None
    """What it should be, in `unit`; None where it is only reported."""
    unit: str = "×"
    """The unit of value and target; × is a ratio of two times measured in the same run."""
    bound: Literal["at least", "at most"] = "at least"
    """The side of the target on which the value should lie."""

    @property
    def met(self) -> bool:
        """Whether the value is on the right side of its target; never for nan."""
        if self.target is None:
            return True
        return self.value >= self.target if self.bound == "at least" else self.value <= self.target
