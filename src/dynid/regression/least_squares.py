"""Ordinary, weighted and robust least squares on the base coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import RegressionError
from dynid.regression.estimate import Estimate, FitError, uncertainty, unseen_columns
from dynid.regression.problem import RANK_TOLERANCE, Regression, Stacked, column_scale, compress
from dynid.regression.rows import HeldRows, JointRows, RowSource
from dynid.regression.status import Status

__all__ = ["OLS", "WLS", "Robust", "joint_weights", "unexcited"]


@dataclass(frozen=True, kw_only=True)
class OLS:
    """Ordinary least squares: every row counts alike, as in the papers."""

    def fit(self, regression: Regression) -> Estimate:
        """The coefficients that minimise the squared torque error."""
        return _fitted("ols", regression, None)


@dataclass(frozen=True, kw_only=True)
class WLS:
    """Weighted least squares: rows of each joint over the noise of that joint, iterated [Gautier1990]_."""

    max_iterations: int = 30
    tolerance: float = 1e-6
    """Largest relative change of a weight at which the iteration ends."""

    def fit(self, regression: Regression) -> Estimate:
        """The coefficients that minimise the torque error in units of each joint's own noise."""
        weights, iterations, settled = joint_weights(
            regression, max_iterations=self.max_iterations, tolerance=self.tolerance
        )
        estimate = replace(_fitted("wls", regression, weights), iterations=iterations)
        if not settled and estimate.status is Status.CONVERGED:
            return replace(estimate, status=Status.NOT_CONVERGED)
        return estimate


@dataclass(frozen=True, kw_only=True)
class Robust:
    """Iteratively reweighted least squares: rows far outside the noise count less (Huber's weights) [Huber1964]_."""

    threshold: float = 1.345
    """Residual over noise beyond which a row's weight falls; 1.345 costs 5 % on clean data."""
    max_iterations: int = 50
    tolerance: float = 1e-4
    """Largest change of a coefficient relative to its standard deviation at which the iteration ends."""

    def fit(self, regression: Regression) -> Estimate:
        """The coefficients with the influence of outlying rows bounded.

        Raises:
            RegressionError: when the regression cannot produce its rows again.
        """
        if regression.source is None:
            raise RegressionError("robust fitting weighs single rows: give it the logs together, not added regressions")
        source = held(regression.source, regression)
        start = WLS().fit(regression)
        beta, step, iteration = start.beta, np.inf, 0
        unit = np.where(start.std > 0.0, start.std, 1.0)
        weighted, scale = regression, np.ones(regression.model.n_dof)
        while step > self.tolerance and iteration < self.max_iterations:
            iteration += 1
            scale = _robust_scale(source, regression, beta)
            weighted = compress(_Reweighted(source, regression.visible, beta, scale, self.threshold))
            following = _solved(weighted.stacked(1.0 / scale))
            step = float(np.max(np.abs(following - beta) / unit))
            beta = following
        final = _fitted("robust", weighted, 1.0 / scale)
        settled = step <= self.tolerance or final.status is not Status.CONVERGED
        return replace(
            final,
            fit=FitError.on(regression, final.beta),
            iterations=iteration,
            status=final.status if settled else Status.NOT_CONVERGED,
        )


@dataclass(frozen=True, eq=False)
class _Reweighted:
    """Rows of another source times the square root of Huber's weights."""

    source: RowSource
    visible: tuple[Int[Array, " ..."], ...]
    beta: Float[Array, " n_base"]
    scale: Float[Array, " n_dof"]
    threshold: float

    @property
    def model(self) -> TorqueModel:
        return self.source.model

    @property
    def base(self) -> BaseParameters:
        return self.source.base

    def blocks(self) -> Iterator[tuple[JointRows, ...]]:
        for block in self.source.blocks():
            yield tuple(self._weighted(j, rows) for j, rows in enumerate(block))

    def _weighted(self, j: int, rows: JointRows) -> JointRows:
        distance = np.abs(rows.tau - rows.Y @ self.beta[self.visible[j]]) / self.scale[j]
        weight = np.sqrt(np.minimum(1.0, self.threshold / np.maximum(distance, 1e-300)))
        return JointRows(rows.Y * weight[:, None], rows.tau * weight)


def _robust_scale(source: RowSource, regression: Regression, beta: Float[Array, " n_base"]) -> Float[Array, " n_dof"]:
    """Noise of each joint from the median of its absolute residuals, N·m or N; a thinned stream keeps memory flat."""
    kept: list[list[Float[Array, " ..."]]] = [[] for _ in range(source.model.n_dof)]
    for block in source.blocks():
        for j, rows in enumerate(block):
            kept[j].append(np.abs(rows.tau - rows.Y @ beta[regression.visible[j]])[:RESIDUALS_PER_BLOCK])
    scale = np.array([1.4826 * np.median(np.concatenate(residuals)) for residuals in kept])
    rms = np.sqrt(regression.residual_power(beta) / regression.rows_per_joint())
    return np.maximum(scale, 1e-6 * np.maximum(rms, 1e-12))


HELD_BYTES = 512 * 2**20
"""Rows up to this size are kept between passes; longer logs are streamed anew."""


def held(source: RowSource, regression: Regression) -> RowSource:
    """The same rows (N·m or N), kept in memory where they are few."""
    width = sum(
        n * (len(columns) + 1) for n, columns in zip(regression.rows_per_joint(), regression.visible, strict=True)
    )
    return HeldRows(source.model, source.base, tuple(source.blocks())) if 8 * width <= HELD_BYTES else source


RESIDUALS_PER_BLOCK = 1000
"""Residuals of a block that the robust noise level is taken from."""


def joint_weights(
    regression: Regression, *, max_iterations: int = 30, tolerance: float = 1e-6
) -> tuple[Float[Array, " n_dof"], int, bool]:
    """Weights 1/σ_j (1/(N·m)) of each joint's rows, the number of iterations, and whether they settled."""
    power, rows = regression.power(), regression.rows_per_joint()
    weights = np.ones(regression.model.n_dof)
    for iteration in range(1, max_iterations + 1):
        beta = _solved(regression.stacked(weights))
        spent = np.array([len(columns) for columns in regression.visible]) / regression.model.n_dof
        sigma = np.sqrt(regression.residual_power(beta) / np.maximum(rows - spent, 1.0))
        # Simulated data may fit exactly; a weight must stay finite then.
        floor = 1e-9 * np.sqrt(power / np.maximum(rows, 1)) + 1e-12
        following = 1.0 / np.maximum(sigma, floor)
        change = float(np.max(np.abs(following / weights - 1.0)))
        weights = following
        if change < tolerance:
            return weights, iteration, True
    return weights, max_iterations, False


def _solved(stacked: Stacked) -> Float[Array, " n_base"]:
    scale = column_scale(stacked.R)
    return np.linalg.lstsq(stacked.R / scale, stacked.rho, rcond=RANK_TOLERANCE)[0] / scale


def _fitted(name: str, regression: Regression, weights: Float[Array, " n_dof"] | None) -> Estimate:
    stacked = regression.stacked(weights)
    condition, rank = regression.stacked().condition()
    beta = _solved(stacked)
    sure = uncertainty(regression, beta, weights)
    status = Status.CONVERGED
    if rank < regression.base.n_base:
        status = Status.RANK_DEFICIENT
    return Estimate(
        estimator=name,
        model=regression.model,
        base=regression.base,
        beta=beta,
        uncertainty=sure,
        condition_number=condition,
        rank=rank,
        n_rows=regression.n_rows,
        fit=FitError.on(regression, beta),
        status=status,
        weights=weights,
    )


def unexcited(regression: Regression) -> tuple[str, ...]:
    """Symbols of the coefficients that the motion of these logs does not show, alone or apart from others."""
    return tuple(np.array(regression.base.leading)[unseen_columns(regression)].tolist())
