"""How far a predicted torque may be off: from the uncertainty of the base parameters, and from the noise about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Bool, Float, freeze_arrays
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.recording.conditioning import Samples
from dynid.regression.drift import base_drift
from dynid.regression.model import IdentifiedModel
from dynid.regression.rows import JointRows, SampleRows, visible_columns

__all__ = ["WITHIN_95", "NextRun", "TorqueBand", "next_run_band", "torque_band"]

WITHIN_95 = 1.959963984540054
"""Standard deviations (dimensionless) within which 95 % of a normal variable lie."""


@dataclass(frozen=True, eq=False)
class TorqueBand:
    r"""Standard deviations about a predicted torque, row by row.

    .. math::

        \sigma_{kj}^2 = y_{kj} \Sigma_\beta y_{kj}^T, \qquad s_{kj}^2 = \sigma_{kj}^2 + \sigma_j^2

    with :math:`y_{kj}` the row of joint j at sample k, low-passed like the torque. The true torque is expected within
    1.96 σ in 95 % of all rows, a measured one within 1.96 s.
    """

    std: Float[Array, "n_rows n_dof"]
    """σ of the predicted torque, N·m or N; infinite where it rests on base parameters that were never seen."""
    noise: Float[Array, " n_dof"]
    """Standard deviation of a row that uncertain parameters do not explain, N·m or N: of held-out residuals, or of the
    fit where no held-out ones are known; nan where nothing is."""
    next_run: Float[Array, "n_rows n_dof"] | None = None
    """s of the next run: with drift of friction and standstill, scales of the torques as far as they do not cancel;
    N·m or N. None where held-out residuals are not known."""
    standstill: Bool[Array, "n_rows n_dof"] | None = None
    """Which rows stiction may hold; None where that is not known."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def prediction_std(self) -> Float[Array, "n_rows n_dof"]:
        """s: of a measured torque about the predicted one, N·m or N."""
        return np.hypot(self.std, self.noise) if self.next_run is None else self.next_run

    def inside(self, residual: Float[Array, "n_rows n_dof"]) -> Bool[Array, "n_rows n_dof"]:
        """Which residuals (N·m or N) lie inside the 95 % prediction band."""
        return np.abs(residual) <= WITHIN_95 * self.prediction_std

    def coverage(self, residual: Float[Array, "n_rows n_dof"]) -> Float[Array, " n_dof"]:
        """Share of each joint's residuals (N·m or N) inside the 95 % prediction band; nan where noise is not known."""
        return np.where(np.isfinite(self.noise), np.mean(self.inside(residual), axis=0), np.nan)

    def coverage_at_rest(self, residual: Float[Array, "n_rows n_dof"]) -> float:
        """Share (a fraction) of the residuals (N·m or N) at standstill inside the band; nan where there are none."""
        if self.standstill is None or not np.any(self.standstill):
            return np.nan
        return float(np.mean(self.inside(residual)[self.standstill]))


def torque_band(
    model: TorqueModel,
    base: BaseParameters,
    covariance: Float[Array, "n_base n_base"],
    samples: Samples,
    noise: Float[Array, " n_dof"] | None = None,
) -> TorqueBand:
    """The band about the torque (N·m or N) that base parameters with this covariance predict for conditioned samples.

    Rows are those of `validate`, low-passed and thinned.
    """
    visible = visible_columns(model, base)
    known = np.isfinite(np.diag(covariance))
    finite = np.where(np.outer(known, known), covariance, 0.0)
    values, vectors = np.linalg.eigh(finite)
    root = vectors * np.sqrt(np.maximum(values, 0.0))

    def spread(block: tuple[JointRows, ...]) -> Float[Array, "n_rows n_dof"]:
        columns = []
        for rows, seen in zip(block, visible, strict=True):
            unseen = np.any(rows.Y[:, ~known[seen]] != 0.0, axis=1)
            std = np.sqrt(np.sum((rows.Y @ root[seen]) ** 2, axis=1))
            columns.append(np.where(unseen, np.inf, std))
        return np.column_stack(columns)

    # A velocity threshold masks rows of the fit; a prediction has them all.
    whole = replace(samples, plan=replace(samples.plan, min_velocity=0.0))
    parts = list(SampleRows(model, base, (whole,)).mapped(spread))
    unknown = np.full(model.n_dof, np.nan)
    return TorqueBand(np.concatenate(parts), unknown if noise is None else noise)


@dataclass(frozen=True, eq=False)
class NextRun:
    r"""What stands between the torque that a model predicts and the one that its next run will measure.

    .. math::

        s_{kj}^2 = y \Sigma_n y^T + y K_f D K_f^T y^T + v \Gamma v^T + \sigma_j^2 + [|\dot q| \le \dot q_0]\,\sigma_h^2,
        \qquad v_i = y g_i - [i = j]\, y\beta

    with :math:`\Sigma_n` the covariance of β without what uncertain scales add. Scales that are wrong in the fit are as
    wrong in the next log of the same drives: a common factor cancels, only what differing ones distort counts (v). A
    log whose gains are others has both errors, :math:`\sum_{ik} \Gamma_{ik}\, y g_i\, y g_k + \Gamma_{jj} (y\beta)^2`.
    """

    beta: Float[Array, " n_base"]
    """In the units of the base parameters."""
    roots: Float[Array, "n_base n_directions"]
    """L with LLᵀ the covariance of β in the next run: noise and drift."""
    directions: Float[Array, "n_dof n_base"]
    """g: change of β per relative change of each scale."""
    scales: Float[Array, "n_dof n_dof"]
    """Γ: relative covariance of the scales."""
    rows: Float[Array, " n_dof"]
    """σ of a moving row, N·m or N."""
    at_rest: Float[Array, " n_dof"]
    """What σ standstill adds, N·m or N."""
    speed: Float[Array, " n_dof"]
    """Below which it does, rad/s or m/s."""
    same_drives: bool = True
    """Whether its torques come by the gains, or from the sensors, of the fit."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(cls, model: IdentifiedModel, *, same_drives: bool = True) -> NextRun | None:
        """From the statistics of held-out residuals (SI); None where the model has none."""
        known = model.residuals
        if known is None:
            return None
        seen = np.isfinite(np.diag(model.covariance))
        covariance = model.covariance - known.of_scales + base_drift(model.base, known.drift)
        values, vectors = np.linalg.eigh(np.where(np.outer(seen, seen), covariance, 0.0))
        return cls(
            beta=model.beta,
            roots=vectors * np.sqrt(np.maximum(values, 0.0)),
            directions=known.gain_directions,
            scales=known.scale_covariance,
            rows=known.row_std,
            at_rest=known.standstill_std,
            speed=known.standstill_speed,
            same_drives=same_drives,
        )

    def std(
        self, joint: int, Y: Float[Array, "n_rows n_base"], speed: Float[Array, " n_rows"]
    ) -> Float[Array, " n_rows"]:
        """s of rows of one joint (N·m or N) whose joint moves at `speed` (rad/s or m/s)."""
        variance = np.sum((Y @ self.roots) ** 2, axis=1)
        v = Y @ self.directions.T
        if self.same_drives:
            v[:, joint] -= Y @ self.beta
        else:
            variance += self.scales[joint, joint] * (Y @ self.beta) ** 2
        variance += np.sum((v @ self.scales) * v, axis=1)
        resting = np.abs(speed) <= self.speed[joint]
        return np.sqrt(variance + self.rows[joint] ** 2 + np.where(resting, self.at_rest[joint] ** 2, 0.0))


def next_run_band(model: IdentifiedModel, samples: Samples, *, same_drives: bool = True) -> TorqueBand:
    """The band about the torque (N·m or N) that a model predicts for conditioned samples of its next run.

    Without statistics of held-out residuals, that of uncertain parameters and the noise of the fit.

    Args:
        model: with its statistics.
        samples: of the next run.
        same_drives: whether its torques come by the gains, or from the sensors, of the fit.
    """
    noise = model.noise if model.residuals is None else model.residuals.row_std
    band = torque_band(model.model, model.base, model.covariance, samples, noise)
    coming = NextRun.of(model, same_drives=same_drives)
    if coming is None:
        return band
    visible = visible_columns(model.model, model.base)
    low_pass, every = samples.plan.low_pass, samples.plan.every
    speeds = []
    for segment in samples.segments:
        n_rows = len(low_pass.thinned(segment.tau[:, :1], every))
        speeds.append(np.abs(segment.motion.dq[low_pass.half_length + every * np.arange(n_rows)]))
    speed = np.vstack(speeds)

    def rows(block: tuple[JointRows, ...]) -> list[Float[Array, "n_rows n_base"]]:
        wide = [np.zeros((len(own.tau), model.base.n_base)) for own in block]
        for own, seen, Y in zip(block, visible, wide, strict=True):
            Y[:, seen] = own.Y
        return wide

    whole = replace(samples, plan=replace(samples.plan, min_velocity=0.0))
    parts, start = [], 0
    for block in SampleRows(model.model, model.base, (whole,)).mapped(rows):
        own = speed[start : start + len(block[0])]
        parts.append(np.column_stack([coming.std(j, Y, own[:, j]) for j, Y in enumerate(block)]))
        start += len(block[0])
    unseen = np.isinf(band.std)
    return replace(band, next_run=np.where(unseen, np.inf, np.concatenate(parts)), standstill=speed <= coming.speed)
