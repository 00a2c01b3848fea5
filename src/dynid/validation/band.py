"""How far a predicted torque may be off: from the uncertainty of the base parameters, and from the noise about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.recording.conditioning import Samples
from dynid.regression.rows import JointRows, SampleRows, visible_columns

__all__ = ["WITHIN_95", "TorqueBand", "torque_band"]

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
    """Standard deviation of the residual of each joint in the fit, N·m or N; nan where it is not known."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def prediction_std(self) -> Float[Array, "n_rows n_dof"]:
        """s: of a measured torque about the predicted one, N·m or N."""
        return np.hypot(self.std, self.noise)

    def coverage(self, residual: Float[Array, "n_rows n_dof"]) -> Float[Array, " n_dof"]:
        """Share of each joint's residuals (N·m or N) inside the 95 % prediction band; nan where noise is not known."""
        inside = np.mean(np.abs(residual) <= WITHIN_95 * self.prediction_std, axis=0)
        return np.where(np.isfinite(self.noise), inside, np.nan)


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
