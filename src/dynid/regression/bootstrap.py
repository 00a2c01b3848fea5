"""Intervals by resampling: the fit repeated on blocks of time drawn with replacement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float, Int, freeze_arrays
from dynid.errors import ParameterError, RegressionError
from dynid.regression.estimate import Estimate
from dynid.regression.problem import Factor, Regression
from dynid.regression.status import Status

__all__ = ["Bootstrap", "bootstrap"]

INTERVAL_SHARE = 0.95
"""Share of the draws, as a fraction, that an interval spans."""
MIN_RESAMPLED = 8
"""Blocks of time below which resampling them says nothing."""
BATCHES = 16
"""Draws are handed out in this many batches: a regression is sent around a few times, not once a draw."""


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Base parameters of the same fit on resampled blocks of time [Kunsch1989]_, and the intervals they span."""

    draws: Float[Array, "n_draws n_base"]
    """Base parameters of every draw that could be fitted, in the units of their leading parameters."""
    failed: int
    """Draws whose fit did not converge and that are left out."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __repr__(self) -> str:
        n_draws, n_base = self.draws.shape
        return f"Bootstrap({n_draws} refits of {n_base} base parameters, {self.failed} more failed)"

    @property
    def lower(self) -> Float[Array, " n_base"]:
        """Lower ends of the 95 % percentile intervals, in the units of the base parameters."""
        return np.quantile(self.draws, 0.5 * (1.0 - INTERVAL_SHARE), axis=0)

    @property
    def upper(self) -> Float[Array, " n_base"]:
        """Upper ends of the 95 % percentile intervals, in the units of the base parameters."""
        return np.quantile(self.draws, 0.5 * (1.0 + INTERVAL_SHARE), axis=0)

    @property
    def std(self) -> Float[Array, " n_base"]:
        """Spread of the draws, in the units of the base parameters."""
        return np.std(self.draws, axis=0, ddof=1)


def bootstrap(
    regression: Regression,
    fit: Callable[[Regression], Estimate],
    *,
    n_draws: int = 200,
    seed: int = 0,
    workers: int | None = None,
) -> Bootstrap:
    """The fit (in its own units) repeated `n_draws` times on blocks of time drawn with replacement.

    A draw re-stacks triangular factors, so it costs a fit and no pass over the log. Blocks are long against the memory
    of the noise, so what is correlated stays together. Every draw has random numbers of its own: the result does not
    depend on the number of workers.

    Args:
        regression: the rows in blocks of time.
        fit: an estimator's ``fit``; estimators that weigh single rows cannot be resampled.
        n_draws: number of repetitions, at least 2.
        seed: of the draws.
        workers: processes, −1 for one a core; None for what joblib's configuration says (1 outside of any).

    Raises:
        RegressionError: too few blocks, or no draw could be fitted.
    """
    if n_draws < 2:
        raise ParameterError(f"a bootstrap needs at least 2 draws, got {n_draws}")
    if len(regression.blocks) < MIN_RESAMPLED:
        raise RegressionError(
            f"the log makes only {len(regression.blocks)} independent blocks of time; resampling needs at least "
            f"{MIN_RESAMPLED}: log longer, or leave the bootstrap out"
        )
    from joblib import Parallel, delayed

    bare = replace(regression, source=None)
    seeds = np.random.SeedSequence(seed).spawn(n_draws)
    parts = [seeds[start : start + -(-n_draws // BATCHES)] for start in range(0, n_draws, -(-n_draws // BATCHES))]
    found = Parallel(n_jobs=workers)(delayed(_batch)(bare, fit, part) for part in parts)
    fitted = [beta for batch in found for beta in batch if beta is not None]
    if len(fitted) < 2:
        raise RegressionError(f"{n_draws - len(fitted)} of {n_draws} resampled fits failed; log longer or excite more")
    return Bootstrap(np.array(fitted), n_draws - len(fitted))


def resampled(regression: Regression, counts: Int[Array, " n_blocks"]) -> Regression:
    """The regression with block b taken ``counts[b]`` times: normal equations (SI) of that many copies."""
    blocks = tuple(
        tuple(Factor(np.sqrt(count) * factor.triangle, int(count) * factor.n_rows) for factor in block)
        for block, count in zip(regression.blocks, counts, strict=True)
        if count
    )
    return replace(regression, blocks=blocks, source=None)


def _batch(
    regression: Regression, fit: Callable[[Regression], Estimate], seeds: list[np.random.SeedSequence]
) -> list[Float[Array, " n_base"] | None]:
    n_blocks = len(regression.blocks)
    found: list[Float[Array, " n_base"] | None] = []
    for seed in seeds:
        drawn = np.random.default_rng(seed).integers(0, n_blocks, n_blocks)
        estimate = fit(resampled(regression, np.bincount(drawn, minlength=n_blocks)))
        found.append(estimate.beta if estimate.status is Status.CONVERGED else None)
    return found
