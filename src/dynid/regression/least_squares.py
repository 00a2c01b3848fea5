"""Ordinary, weighted and robust least squares on the base parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import RegressionError
from dynid.regression.estimate import Estimate, FitError, estimate_of
from dynid.regression.problem import Regression, compress
from dynid.regression.rows import HeldRows, JointRows, RowSource
from dynid.regression.status import Status
from dynid.regression.uncertainty import unseen_columns

__all__ = ["OLS", "WLS", "Robust", "joint_weights", "unexcited"]


@dataclass(frozen=True, kw_only=True)
class OLS:
    """Ordinary least squares: every row counts alike, as in the papers."""

    name: ClassVar[str] = "ols"
    label: ClassVar[str] = "ordinary least squares"
    gives_links: ClassVar[bool] = False
    needs_rows: ClassVar[bool] = False

    def fit(self, regression: Regression) -> Estimate:
        """The base parameters that minimise the squared torque error."""
        return estimate_of(self, regression, regression.stacked().solution())


@dataclass(frozen=True, kw_only=True)
class WLS:
    """Weighted least squares: rows of each joint over the noise of that joint, iterated [Gautier1990]_."""

    max_iterations: int = 30
    tolerance: float = 1e-6
    """Largest relative change of a weight at which the iteration ends."""
    name: ClassVar[str] = "wls"
    label: ClassVar[str] = "weighted least squares"
    gives_links: ClassVar[bool] = False
    needs_rows: ClassVar[bool] = False

    def fit(self, regression: Regression) -> Estimate:
        """The base parameters that minimise the torque error in units of each joint's own noise."""
        weights, iterations, settled = joint_weights(
            regression, max_iterations=self.max_iterations, tolerance=self.tolerance
        )
        status = Status.CONVERGED if settled else Status.NOT_CONVERGED
        beta = regression.stacked(weights).solution()
        return estimate_of(self, regression, beta, weights=weights, status=status, iterations=iterations)


@dataclass(frozen=True, kw_only=True)
class Robust:
    """Iteratively reweighted least squares: rows far outside the noise count less (Huber's weights) [Huber1964]_."""

    threshold: float = 1.345
    """Residual over noise beyond which a row's weight falls; 1.345 costs 5 % on clean data."""
    max_iterations: int = 50
    tolerance: float = 1e-4
    """Largest change of a base parameter relative to its standard deviation at which the iteration ends."""
    name: ClassVar[str] = "robust"
    label: ClassVar[str] = "robust least squares"
    gives_links: ClassVar[bool] = False
    needs_rows: ClassVar[bool] = True

    def fit(self, regression: Regression) -> Estimate:
        """The base parameters with the influence of outlying rows bounded.

        Raises:
            RegressionError: when the regression cannot produce its rows again.
        """
        if regression.source is None:
            raise RegressionError(
                "robust fitting weighs single rows: compress the logs together instead of adding regressions"
            )
        source = held(regression.source, regression)
        start = WLS().fit(regression)
        beta, step, iteration = start.beta, np.inf, 0
        unit = np.where(start.std > 0.0, start.std, 1.0)
        weighted, scale = regression, np.ones(regression.model.n_dof)
        while step > self.tolerance and iteration < self.max_iterations:
            iteration += 1
            scale = _robust_scale(source, regression, beta)
            weighted = compress(_Reweighted(source, regression.visible, beta, scale, self.threshold))
            following = weighted.stacked(1.0 / scale).solution()
            step = float(np.max(np.abs(following - beta) / unit))
            beta = following
        status = Status.CONVERGED if step <= self.tolerance else Status.NOT_CONVERGED
        final = weighted.stacked(1.0 / scale).solution()
        found = estimate_of(self, weighted, final, weights=1.0 / scale, status=status, iterations=iteration)
        return replace(found, fit=FitError.on(regression, final))


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
        beta = regression.stacked(weights).solution()
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


def unexcited(regression: Regression) -> tuple[str, ...]:
    """Symbols of the base parameters that the motion of these logs does not show, alone or apart from others."""
    return tuple(np.array(regression.base.leading)[unseen_columns(regression)].tolist())
