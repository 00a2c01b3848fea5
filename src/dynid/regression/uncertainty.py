"""Covariance of base parameters: with autocorrelated residuals, and as papers count rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from dynid.arrays import Array, Bool, Float, freeze_arrays
from dynid.regression.problem import RANK_TOLERANCE, Regression, column_scale

__all__ = ["Uncertainty", "uncertainty", "unseen_columns"]

INFLATION_FLOOR = 0.5
"""Smallest variance over that of independent rows; a few blocks of time may show less by chance."""
_SHARE = 1e-3
"""Part of a base parameter in a direction that was not excited, relative, above which it counts as not seen."""


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How sure base parameters are: autocorrelation-robust, and as the papers compute it."""

    covariance: Float[Array, "n_base n_base"]
    """Autocorrelation-robust: residuals may be correlated in time (filtering, what the model misses)."""
    white_std: Float[Array, " n_base"]
    """As in the papers: every row counted as independent."""
    noise: Float[Array, " n_dof"]
    """Standard deviation of the residual of each joint, N·m or N."""
    inflation: Float[Array, " n_dof"]
    """Variance of the base parameters over what independent rows would give, from each joint's residuals."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def std(self) -> Float[Array, " n_base"]:
        """Autocorrelation-robust standard deviations, in the units of the base parameters."""
        return np.sqrt(np.diag(self.covariance))

    def __repr__(self) -> str:
        largest = f"largest inflation {np.max(self.inflation):.3g}"
        return f"Uncertainty({len(self.white_std)} base parameters, {largest}, noise {_listed(self.noise)} N·m or N)"


def uncertainty(
    regression: Regression, beta: Float[Array, " n_base"], weights: Float[Array, " n_dof"] | None = None
) -> Uncertainty:
    r"""How sure base parameters are that were fitted with rows weighted by joint (1/(N·m), one when None).

    With :math:`H_j = Y_j^T Y_j`, noise :math:`\sigma_j` and :math:`H = \sum_j w_j^2 H_j`, independent rows would give
    :math:`H^{-1} (\sum_j w_j^4 \sigma_j^2 H_j) H^{-1}`. Correlated residuals inflate the middle term by

    .. math::

        f_j = \frac{\sum_b g_{bj}^T G g_{bj}}{\sum_b \mathrm{tr}\, G(\sigma_j^2 H_{bj} - H_{bj} G H_{bj})}, \qquad
        g_{bj} = Y_{bj}^T (\tau_{bj} - Y_{bj}\beta)

    over blocks b of time that are long against the memory of the noise; the denominator is what independent rows of
    the same blocks would give on average, parameters fitted.
    """
    stacked = regression.stacked(weights)
    n_dof, n_base = regression.model.n_dof, regression.base.n_base
    ones = np.ones(n_dof) if weights is None else weights
    scale = column_scale(stacked.R)
    inverse = _inverse(stacked.R / scale)
    residual = regression.residual_power(beta)
    rows = regression.rows_per_joint()
    noise = np.zeros(n_dof)
    grams = []
    for j, (factor, columns) in enumerate(zip(regression.joints, regression.visible, strict=True)):
        R = factor.R / scale[columns]
        grams.append(R.T @ R)
        used = ones[j] ** 2 * float(np.sum((R @ inverse[columns]) ** 2))
        noise[j] = np.sqrt(residual[j] / max(rows[j] - used, 1.0))
    G = _whitened_inverse(regression, grams, noise, n_base)
    inflation = np.array([_inflation(regression, j, beta, noise[j], G, scale) for j in range(n_dof)])
    middle, white = np.zeros((n_base, n_base)), np.zeros((n_base, n_base))
    for j, columns in enumerate(regression.visible):
        part = ones[j] ** 4 * noise[j] ** 2 * grams[j]
        white[np.ix_(columns, columns)] += part
        middle[np.ix_(columns, columns)] += inflation[j] * part
    H_inv = inverse @ inverse.T
    covariance = H_inv @ middle @ H_inv / np.outer(scale, scale)
    # A variance that rounding has made negative is one that nobody knows.
    hidden = unseen_columns(regression) | (np.diag(covariance) < 0.0)
    covariance[hidden, hidden] = np.inf
    white_std = np.sqrt(np.maximum(np.diag(H_inv @ white @ H_inv), 0.0)) / scale
    return Uncertainty(0.5 * (covariance + covariance.T), white_std, noise, inflation)


def unseen_columns(regression: Regression) -> Bool[Array, " n_base"]:
    """Which base parameters the motion of these logs does not show, alone or apart from others."""
    R = regression.stacked().R
    _, values, rows = np.linalg.svd(R / column_scale(R))
    null = rows[values <= RANK_TOLERANCE * max(values[0], 1e-300)]
    return np.linalg.norm(null, axis=0) > _SHARE if len(null) else np.zeros(R.shape[1], dtype=bool)


def _listed(values: Float[Array, " n"]) -> str:
    return "(" + ", ".join(f"{value:.3g}" for value in values) + ")"


def _inverse(R: Float[Array, "n_base n_base"]) -> Float[Array, "n_base n_base"]:
    """R⁻¹ of a triangular factor, directions that were not excited left out."""
    diagonal = np.abs(np.diag(R))
    if np.min(diagonal) > 1e-12 * np.max(diagonal):
        return solve_triangular(R, np.eye(len(R)))
    return np.linalg.pinv(R, rcond=1e-10)


def _whitened_inverse(
    regression: Regression, grams: list[Float[Array, ...]], noise: Float[Array, " n_dof"], n_base: int
) -> Float[Array, "n_base n_base"]:
    H = np.zeros((n_base, n_base))
    least = 1e-12 * float(np.max(noise)) or 1.0  # where a joint, or every one, leaves no residual at all
    for gram, sigma, columns in zip(grams, noise, regression.visible, strict=True):
        H[np.ix_(columns, columns)] += gram / max(sigma, least) ** 2
    values, vectors = np.linalg.eigh(H)
    kept = values > 1e-12 * values[-1]
    return (vectors[:, kept] / values[kept]) @ vectors[:, kept].T


def _inflation(
    regression: Regression,
    joint: int,
    beta: Float[Array, " n_base"],
    noise: float,
    G: Float[Array, "n_base n_base"],
    scale: Float[Array, " n_base"],
) -> float:
    columns = regression.visible[joint]
    metric = G[np.ix_(columns, columns)]
    seen, expected = 0.0, 0.0
    for block in regression.blocks:
        factor = block[joint]
        g = factor.score(beta[columns]) / scale[columns] / noise**2 if noise > 0.0 else np.zeros(len(columns))
        R = factor.R / scale[columns] / noise if noise > 0.0 else np.zeros_like(factor.R)
        RG = R @ metric
        seen += float(g @ metric @ g)
        expected += float(np.sum(RG * R) - np.sum((RG @ R.T) ** 2))
    return max(seen / expected, INFLATION_FLOOR) if expected > 0.0 else 1.0
