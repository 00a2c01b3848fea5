"""Values around the filter: what goes in, how it is set, what comes out."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.errors import TrackingError
from dynid.prose import Grid, PrintsAsTable, counted, significant
from dynid.tracking import core

__all__ = [
    "CHECKED_SAMPLES",
    "History",
    "ProcessNoise",
    "Sample",
    "SampleOutcome",
    "TrackedParameters",
    "refuse_wrong_sizes",
    "refuse_wrong_unit",
]

CHECKED_SAMPLES = 50
"""Samples after which measured and predicted sizes are compared."""
UNIT_RATIO = 30.0
"""Measured over predicted size (or its inverse) that no wrong mass explains but a wrong unit does."""


def refuse_wrong_unit(ratio: float, when: str = "", source: str = "") -> None:
    """Compare measured over predicted size (dimensionless) with what a wrong unit gives.

    Raises:
        TrackingError: no wrong mass explains the ratio, but a wrong unit does.
    """
    if not 1.0 / UNIT_RATIO < ratio < UNIT_RATIO:
        raise TrackingError(
            f"{source}what is measured is {ratio:.3g} times what the model predicts{when}; check its "
            "unit (N·m, not N·mm or kN·m) and the robot, then start again"
        )


def refuse_wrong_sizes(numbers: Float[Array, " n_numbers"], n_absorbed: int) -> None:
    """`refuse_wrong_unit` with the sizes (SI) that a filter has met in its first samples.

    Raises:
        TrackingError: as there.
    """
    measured, predicted = float(numbers[core.SUM_MEASURED]), float(numbers[core.SUM_PREDICTED])
    if n_absorbed >= CHECKED_SAMPLES and min(measured, predicted) > 0.0:
        refuse_wrong_unit(float(np.sqrt(measured / predicted)), f" over the first {n_absorbed} samples")


class Sample(NamedTuple):
    """What is known at one time; measurements that were not made are None."""

    t: float
    """Time in s."""
    q: Float[Array, " n_dof"]
    dq: Float[Array, " n_dof"] | None = None
    ddq: Float[Array, " n_dof"] | None = None
    tau: Float[Array, " n_dof"] | None = None
    base_wrench: Float[Array, " 6"] | None = None
    tool_wrench: Float[Array, " 6"] | None = None


class SampleOutcome(enum.Enum):
    """What became of a sample."""

    ABSORBED = core.ABSORBED
    NOT_FINITE = core.NOT_FINITE
    BACKWARDS = core.BACKWARDS


@dataclass(frozen=True, kw_only=True)
class ProcessNoise:
    r"""Process noise of every state per sample, :math:`k_n = k_0 e^{-n/n_0} + k_\infty` (dimensionless, as states)."""

    start: float = 1e-2
    """k₀: large at first, so that wrong parameters move quickly."""
    samples: float = 200.0
    """n₀, in samples."""
    floor: float = 0.0
    """k∞: zero for a steady state, above zero to follow parameters that change."""

    def __post_init__(self) -> None:
        if min(self.start, self.floor) < 0.0 or not self.samples > 0.0:
            raise TrackingError("process noise cannot be negative, and it must decay over some samples")

    @classmethod
    def constant(cls, k: float) -> ProcessNoise:
        """Constant process noise (dimensionless, per sample), for parameters that change, such as a load."""
        return cls(start=0.0, floor=k)


@dataclass(frozen=True, eq=False)
class TrackedParameters(PrintsAsTable):
    """The estimate at one sample, SI."""

    symbols: tuple[str, ...]
    units: tuple[str, ...]
    values: Float[Array, " n_state"]
    std: Float[Array, " n_state"]
    """Standard deviation to first order."""
    lower: Float[Array, " n_state"]
    """Two standard deviations below, inside the bounds."""
    upper: Float[Array, " n_state"]
    """Two standard deviations above, inside the bounds."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def _table(self) -> Grid:
        numbers = zip(self.symbols, self.values, self.std, self.units, strict=True)
        rows = [(symbol, significant(value, std), f"{std:.2g}", unit) for symbol, value, std, unit in numbers]
        return Grid(("parameter", "value", "± 1σ", "unit"), rows, (1, 2))

    def __repr__(self) -> str:
        rows = self._table().rows[:3]
        shown = ", ".join(f"{symbol} {value} ± {std} {unit}".rstrip() for symbol, value, std, unit in rows)
        more = f", … {len(self.symbols) - 3} more" if len(self.symbols) > 3 else ""
        return f"TrackedParameters({shown}{more})"


@dataclass(frozen=True, eq=False)
class History:
    """The estimate over time, SI."""

    symbols: tuple[str, ...]
    units: tuple[str, ...]
    t: Float[Array, " n_kept"]
    """Time in s."""
    values: Float[Array, "n_kept n_state"]
    lower: Float[Array, "n_kept n_state"]
    upper: Float[Array, "n_kept n_state"]
    """`values` with their 2σ band."""
    t_nis: Float[Array, " n_samples"]
    nis: Float[Array, " n_samples"]
    """Normalised innovation squared (dimensionless) of each sample; nan where it was skipped."""
    band: tuple[float, float]
    """Two-sided 95 % band of the NIS."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __repr__(self) -> str:
        span = f"{self.t[0]:.3g} … {self.t[-1]:.3g} s, " if len(self.t) else ""
        return f"History({counted(len(self.symbols), 'state')}, {span}{counted(len(self.t), 'sample')} kept)"

    @property
    def share_inside(self) -> float:
        """Fraction of the steps whose NIS lies in its band."""
        known = self.nis[np.isfinite(self.nis)]
        return float(np.mean((known >= self.band[0]) & (known <= self.band[1]))) if len(known) else np.nan
