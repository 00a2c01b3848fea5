"""Whether the filter can be believed: NIS against its band, excitation, bounds, samples that went wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from dynid.dynamics.kernels.bound import run_kernel
from dynid.prose import counted
from dynid.tracking import core
from dynid.tracking.bundles import ARM
from dynid.tracking.factors import state_std
from dynid.tracking.filter import Tracker

__all__ = ["Health", "health", "health_sentences", "nis_band"]

NEAR_BOUND = 0.01
"""Distance from a bound, as a fraction of the range, at which a parameter counts as being on it."""
STARVED = 0.95
"""Standard deviation over the initial one above which a state has learnt nothing."""
NOTABLE = 1.1
"""Innovations over what the filter expects, or its inverse, that are worth a sentence."""
FEW = 50
"""Samples below which nothing is said about the NIS."""


@dataclass(frozen=True)
class Health:
    """The state of a filter in numbers and in plain sentences."""

    n_absorbed: int
    n_not_finite: int
    n_backwards: int
    n_jumps: int
    nis_mean: float
    """Mean NIS over the latest samples, dimensionless; the number of measured rows is what it should be."""
    nis_band: tuple[float, float]
    """Two-sided 95 % band of that mean, dimensionless."""
    nis_share: float
    """Fraction of the latest samples whose NIS lies in the 95 % band of one sample."""
    at_bound: tuple[str, ...]
    starved: tuple[str, ...]
    unobservable: tuple[str, ...]
    sentences: tuple[str, ...]
    """What a person should know; empty when all is well."""

    @property
    def nis_sentence(self) -> str:
        """The mean NIS beside the band it should lie in."""
        return f"{self.nis_mean:.3g}, healthy between {self.nis_band[0]:.3g} and {self.nis_band[1]:.3g}"

    def __str__(self) -> str:
        return "\n".join([f"{counted(self.n_absorbed, 'sample')} absorbed, NIS {self.nis_sentence}", *self.sentences])


def health(tracker: Tracker) -> Health:
    """The state of a filter; NIS dimensionless, over its latest samples."""
    options, counters = tracker.options, tracker.state.counters
    known = tracker.state.nis[np.isfinite(tracker.state.nis)]
    n, rows = len(known), options.n_rows
    band = nis_band(n, rows)
    mean = float(np.mean(known)) if n else np.nan
    low, high = tracker.band
    share = float(np.mean((known >= low) & (known <= high))) if n else np.nan
    at_bound, starved = _at_bound(tracker), _starved(tracker)
    found = Health(
        n_absorbed=tracker.n_absorbed,
        n_not_finite=int(counters[core.N_NOT_FINITE]),
        n_backwards=int(counters[core.N_BACKWARDS]),
        n_jumps=max(0, int(counters[core.N_JUMPS]) - 1),  # the first sample comes after no other
        nis_mean=mean,
        nis_band=band,
        nis_share=share,
        at_bound=at_bound,
        starved=starved,
        unobservable=options.unobservable,
        sentences=(),
    )
    return replace(found, sentences=health_sentences(found, n, rows))


def nis_band(n: int, rows: int) -> tuple[float, float]:
    """Two-sided 95 % band of the mean NIS (dimensionless) of `n` samples of so many rows."""
    low, high = (float(stats.chi2.ppf(share, max(n, 1) * rows)) / max(n, 1) for share in (0.025, 0.975))
    return low, high


def _at_bound(tracker: Tracker) -> tuple[str, ...]:
    mapping, values = tracker.options.state, tracker.parameters.values
    a = mapping.arrays
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(a.bounded, (values - a.lower) / (a.upper - a.lower), 0.5)
    near = (share < NEAR_BOUND) | (share > 1.0 - NEAR_BOUND)
    return tuple(symbol for symbol, there in zip(mapping.symbols, near, strict=True) if there)


def _starved(tracker: Tracker) -> tuple[str, ...]:
    std = np.zeros(tracker.options.state.n_state)
    run_kernel(ARM, state_std, tracker.state.U, tracker.state.D, std)
    idle = std > STARVED * tracker.options.initial_std
    unseen = tracker.options.unobservable
    return tuple(s for s, idles in zip(tracker.options.state.symbols, idle, strict=True) if idles and s not in unseen)


def health_sentences(health: Health, n: int, rows: int) -> tuple[str, ...]:
    """What a person should know of a filter that has seen `n` samples of so many rows; NIS dimensionless."""
    said = []
    excess = float(np.sqrt(health.nis_mean / rows))
    if n >= FEW and health.nis_mean > health.nis_band[1] and excess > NOTABLE:
        said.append(
            f"over-confident: innovations are {excess:.2g} times as large as the filter "
            "expects; raise the measurement noise, let it be estimated, or complete the model"
        )
    if n >= FEW and health.nis_mean < health.nis_band[0] and excess < 1.0 / NOTABLE:
        said.append(
            f"too cautious: innovations are {excess:.2g} times as large as the filter "
            "expects; lower the measurement noise"
        )
    if health.starved and health.n_absorbed >= FEW:
        said.append(f"starved of excitation: the motion has not shown {', '.join(health.starved)}; move more joints")
    if health.at_bound:
        said.append(f"at a bound: {', '.join(health.at_bound)}; widen the bound if you trust the data more than it")
    if health.unobservable:
        said.append(f"nothing measured can observe {', '.join(health.unobservable)}; they stay where they started")
    if health.n_not_finite:
        said.append(f"{health.n_not_finite} samples skipped because a value was missing or not finite")
    if health.n_backwards:
        said.append(f"{health.n_backwards} samples skipped because time stood still or ran backwards")
    if health.n_jumps:
        said.append(f"time jumped {health.n_jumps} times; the estimate went on from where it was")
    return tuple(said)
