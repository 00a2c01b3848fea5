"""Ratios against peers and physical limits, measured in one run: `python -m benchmarks [NAME…] [--quick]`.

A benchmark is a module `bench_NAME.py` here with a function `run(*, quick)` that yields what it measures as soon as it
is known. `quick` shrinks every size until the whole takes seconds: it shows that a benchmark works, not what it says.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

# As the command line of dynid does, before NumPy is imported: threads of BLAS make small factorisations slower.
BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
for _variable in BLAS_THREADS:
    os.environ.setdefault(_variable, "1")

__all__ = ["BLAS_THREADS", "Item", "Line", "Note", "Table", "best_of"]


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


@dataclass(frozen=True)
class Table:
    """Figures that are read side by side; times in them are relative to one of them."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """One text for every column of the header."""


@dataclass(frozen=True)
class Note:
    """A sentence: what was left out and why, or how a figure came about."""

    text: str


Item = Line | Table | Note


def best_of(works: Iterable[Callable[[], object]], *, repetitions: int = 5) -> list[float]:
    """Shortest of several runs of every work, s; the works take turns, so that a busy moment meets all of them."""
    alternatives = list(works)
    times = [[0.0] * repetitions for _ in alternatives]
    for turn in range(repetitions):
        for k, work in enumerate(alternatives):
            started = perf_counter()
            work()
            times[k][turn] = perf_counter() - started
    return [min(own) for own in times]
