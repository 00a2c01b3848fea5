"""Effects beside the model: what further columns would explain, with autocorrelation-robust errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float
from dynid.review.equations.hypothesis import HypothesisFit
from dynid.review.equations.joint_fits import ArmFit
from dynid.review.equations.rows import Arm

__all__ = ["Effect", "effect_of"]

BLOCKS = 16
"""Segments of a log whose residuals count as independent: as many as errors need, each as long as can be."""


@dataclass(frozen=True, eq=False)
class Effect:
    """What further columns would explain of the residual."""

    value: Float[Array, " n_columns"]
    covariance: Float[Array, "n_columns n_columns"]
    """From the scatter between pieces of time, so friction the model lacks counts as noise."""
    share: float
    """Part of the residual's squares that the columns explain."""

    @property
    def error(self) -> Float[Array, " n_columns"]:
        """Standard deviation of each value, in its unit."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def z(self) -> float:
        """Size of the whole effect in standard deviations."""
        values, vectors = np.linalg.eigh(self.covariance)
        floor = max(float(values[-1]) * 1e-10, 1e-300)
        return float(np.sqrt(np.mean((vectors.T @ self.value) ** 2 / np.maximum(values, floor))))


def effect_of(
    arm: Arm,
    fitted: HypothesisFit,
    fit: ArmFit,
    columns: Float[Array, "n_rows n_dof n_columns"],
    keep: Array | None = None,
) -> Effect:
    """The effect of further columns (N·m or N per unit of their parameter) beside all that the model has."""
    n_rows, n_dof, n_columns = columns.shape
    n_own, n_base = fitted.own[0].shape[1], arm.base.n_base
    weighted = columns / fit.sigma[None, :, None]
    products = np.zeros((len(fit.beta), n_columns))
    for j in range(n_dof):
        first = n_base + j * n_own
        products[arm.visible[j]] += fitted.rigid[j].T @ weighted[:, j] / fit.sigma[j]
        products[first : first + n_own] += fitted.own[j].T @ weighted[:, j] / fit.sigma[j]
    inside = fit.spread @ (fit.spread.T @ products)
    outside = np.empty_like(weighted)
    for j in range(n_dof):
        first = n_base + j * n_own
        model = fitted.rigid[j] @ inside[arm.visible[j]] + fitted.own[j] @ inside[first : first + n_own]
        outside[:, j] = weighted[:, j] - model / fit.sigma[j]
    left = fit.residual / fit.sigma
    if keep is not None:
        outside, left = outside * keep[:, None, None], left * keep[:, None]
    A, b = outside.reshape(-1, n_columns), left.ravel()
    length = np.maximum(np.linalg.norm(A, axis=0), 1e-12 * np.linalg.norm(weighted.reshape(-1, n_columns), axis=0))
    length[length == 0.0] = 1.0
    inverse = np.linalg.pinv((A / length).T @ (A / length), rcond=1e-10)
    value = inverse @ ((A / length).T @ b)
    rest = (b - (A / length) @ value).reshape(n_rows, n_dof)
    pieces = np.minimum((np.arange(n_rows) * BLOCKS) // n_rows, BLOCKS - 1)
    scores = np.einsum("njk,nj->nk", outside / length, rest)
    summed = np.array([scores[pieces == k].sum(axis=0) for k in range(BLOCKS)])
    meat = summed.T @ summed * BLOCKS / (BLOCKS - 1.0)
    plain = np.sum(rest**2) / max(1, rest.size - len(fit.beta)) * inverse
    covariance = inverse @ meat @ inverse + plain
    share = 1.0 - float(np.sum(rest**2)) / max(float(np.sum(b**2)), 1e-300)
    return Effect(value / length, covariance / np.outer(length, length), share)
