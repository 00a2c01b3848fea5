"""Covariance of base parameters from held-out residuals: coloured noise, drift of friction, scale of the torques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import Array, Float
from dynid.recording.conditioning import Samples
from dynid.regression.drift import base_drift
from dynid.regression.estimate import Estimate
from dynid.regression.problem import Regression, column_scale
from dynid.regression.residuals import ResidualStatistics
from dynid.regression.rows import chunks_of, rows_of_segment

__all__ = ["coloured_estimate", "gain_directions", "scale_distortion"]


def gain_directions(
    regression: Regression, beta: Float[Array, " n_base"], weights: Float[Array, " n_dof"] | None = None
) -> Float[Array, "n_dof n_base"]:
    r"""Change of β (in its units) per relative change of the scale of each joint's torque.

    .. math::

        g_j = H^{-1} w_j^2 Y_j^T Y_j \beta, \qquad H = \sum_j w_j^2 Y_j^T Y_j, \qquad \sum_j g_j = \beta
    """
    stacked = regression.stacked(weights)
    scale = column_scale(stacked.R)
    H_inv = np.linalg.pinv((stacked.R / scale).T @ (stacked.R / scale), hermitian=True, rcond=1e-12)
    directions = np.zeros((regression.model.n_dof, len(beta)))
    for j, (factor, columns) in enumerate(zip(regression.joints, regression.visible, strict=True)):
        weight = 1.0 if weights is None else weights[j]
        pull = np.zeros(len(beta))
        pull[columns] = weight**2 * factor.R.T @ (factor.R @ beta[columns]) / scale[columns]
        directions[j] = H_inv @ pull / scale
    return directions


def scale_distortion(
    regression: Regression,
    beta: Float[Array, " n_base"],
    directions: Float[Array, "n_dof n_base"],
    scales: Float[Array, "n_dof n_dof"],
) -> Float[Array, " n_dof"]:
    """Mean square ((N·m)² or N²) of what uncertain scales (relative covariance) do to each joint's own residual."""
    found = np.zeros(len(scales))
    for j, (factor, columns) in enumerate(zip(regression.joints, regression.visible, strict=True)):
        v = factor.R @ directions[:, columns].T
        v[:, j] -= factor.R @ beta[columns]
        found[j] = float(np.sum((v @ scales) * v)) / max(factor.n_rows, 1)
    return found


def coloured_estimate(
    estimate: Estimate, regression: Regression, runs: Sequence[Samples], residuals: ResidualStatistics
) -> Estimate:
    r"""The estimate with the covariance (in the units of β) that held-out residuals give it.

    .. math::

        \Sigma_\beta = H^{-1} \Bigl(\sum_j w_j^4 Y_j^T C_j Y_j\Bigr) H^{-1} + \tfrac{1}{n} K_f D K_f^T
        + \sum_{ij} \Gamma_{ij} g_i g_j^T

    with :math:`C_j` the covariance of the rows' noise (`RowColour`), D the drift between n runs, Γ the relative
    covariance of the scales of the torques. A joint whose scores vary more between blocks of time than :math:`C_j` says
    counts with what they show.

    Args:
        estimate: of all rows.
        regression: these rows.
        runs: conditioned logs; of a long one its first piece, which then stands for all of it.
        residuals: of held-out runs or segments.
    """
    n_base = regression.base.n_base
    weights = np.ones(regression.model.n_dof) if estimate.weights is None else estimate.weights
    stacked = regression.stacked(estimate.weights)
    scale = column_scale(stacked.R)
    middle = np.zeros((n_base, n_base))
    scores = _summed(regression, runs, residuals)
    noise, inflation = estimate.uncertainty.noise, estimate.uncertainty.inflation
    for j, (M, factor, columns) in enumerate(zip(scores, regression.joints, regression.visible, strict=True)):
        R = factor.R / scale[columns]
        blocks = inflation[j] * noise[j] ** 2 * R.T @ R
        M = M / np.outer(scale[columns], scale[columns])
        more = max(1.0, float(np.trace(blocks) / max(np.trace(M), 1e-300)))
        middle[np.ix_(columns, columns)] += weights[j] ** 4 * more * M
    H_inv = np.linalg.pinv((stacked.R / scale).T @ (stacked.R / scale), hermitian=True, rcond=1e-12)
    covariance = H_inv @ middle @ H_inv / np.outer(scale, scale)
    covariance = covariance + base_drift(regression.base, residuals.drift) / residuals.n_logs + residuals.of_scales
    unseen = ~np.isfinite(np.diag(estimate.uncertainty.covariance))
    covariance[unseen, unseen] = np.inf
    sure = replace(estimate.uncertainty, covariance=0.5 * (covariance + covariance.T))
    return replace(estimate, uncertainty=sure)


def _summed(
    regression: Regression, runs: Sequence[Samples], residuals: ResidualStatistics
) -> list[Float[Array, "_ _"]]:
    """YᵀCY of each joint over all rows, by gapless segments."""
    model, base, visible = regression.model, regression.base, regression.visible
    totals = [np.zeros((len(columns), len(columns))) for columns in visible]
    n_rows = np.zeros(model.n_dof)
    for samples in runs:
        colour = residuals.row_colour(samples.plan.every, samples.plan.low_pass.rate_hz)
        for segment in samples.segments:
            blocks = [
                rows_of_segment(model, base, chunk, samples.plan, visible, extra)
                for chunk, extra in chunks_of(model, replace(samples, segments=(segment,)))
            ]
            for j, own in enumerate(zip(*blocks, strict=True)):
                Y = np.vstack([rows.Y for rows in own])
                totals[j] += colour.summed(j, Y)
                n_rows[j] += len(Y)
    share = regression.rows_per_joint() / np.maximum(n_rows, 1.0)
    return [total * more for total, more in zip(totals, share, strict=True)]
