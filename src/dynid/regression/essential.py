"""Essential parameters: the smallest set of base parameters that predicts as well as all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float, Int, freeze_arrays
from dynid.dynamics.base_parameters import BaseParameters
from dynid.regression.estimate import FitError
from dynid.regression.problem import RANK_TOLERANCE, Regression, Stacked, column_scale

__all__ = ["EssentialParameters", "essential_parameters"]

N_PARTS, FEWEST_PARTS = 5, 3
"""Parts of the logs, one after the other in time, that are left out in turn; and the fewest that tell anything."""
AS_WELL = 1.005
"""Error on left-out parts over that of the best set, up to which a smaller set predicts as well."""


@dataclass(frozen=True, eq=False)
class EssentialParameters:
    """Base parameters that the data support; the others are zero [Gautier2013]_."""

    base: BaseParameters
    kept: Int[Array, " n_kept"]
    """Which base parameters, by their place."""
    beta: Float[Array, " n_base"]
    """All base parameters in the units of their leading parameters, refitted; those left out are zero."""
    std: Float[Array, " n_base"]
    """σ of those kept, autocorrelation-robust; zero for the others."""
    sizes: Int[Array, " n_sizes"]
    """Numbers of parameters that were tried."""
    left_out_percent: Float[Array, " n_sizes"]
    """Error on left-out parts with as many, %."""
    train_percent: tuple[float, float]
    """Error on the rows of the fit with all base parameters, and with those kept, %."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Leading parameters of those left out."""
        kept = set(self.kept.tolist())
        return tuple(name for k, name in enumerate(self.base.leading) if k not in kept)

    @property
    def left_out(self) -> tuple[float, float]:
        """Error on left-out parts with all base parameters, and with those kept, %."""
        own = self.left_out_percent[np.flatnonzero(self.sizes == len(self.kept))[0]]
        return float(self.left_out_percent[np.argmax(self.sizes)]), float(own)

    def __repr__(self) -> str:
        before, after = self.left_out
        return (
            f"EssentialParameters({len(self.kept)} of {self.base.n_base} base parameters, "
            f"{before:.3g} → {after:.3g} % on left-out parts)"
        )


def essential_parameters(
    regression: Regression, weights: Float[Array, " n_dof"], inflation: Float[Array, " n_dof"]
) -> EssentialParameters | None:
    """Backward elimination: the base parameter that stands least clear of its σ goes, one after the other.

    How many stay is decided by prediction: parts of the logs are left out in turn, each with an elimination of its own,
    and the smallest set is taken that predicts them as well as the best. None where the logs are too short for that.

    Args:
        regression: rows in blocks of time.
        weights: of the rows of each joint, 1/(N·m).
        inflation: variance of base parameters over that of independent rows, by joint.
    """
    blocks = regression.blocks
    n_parts = min(N_PARTS, len(blocks))
    if n_parts < FEWEST_PARTS:
        return None
    # Rows that remember each other count for fewer.
    counted = weights / np.sqrt(np.maximum(inflation, 1.0))
    orders, betas = _eliminated(regression, counted)
    sizes = np.arange(len(orders), 0, -1)
    part = np.arange(len(blocks)) * n_parts // len(blocks)
    residual = np.zeros((len(sizes), regression.model.n_dof))
    for left in range(n_parts):
        rest = tuple(block for block, number in zip(blocks, part, strict=True) if number != left)
        _, found = _eliminated(replace(regression, blocks=rest, source=None), counted)
        for k in range(len(sizes)):
            beta = found[min(k, len(found) - 1)]
            for block in (block for block, number in zip(blocks, part, strict=True) if number == left):
                for j, (factor, columns) in enumerate(zip(block, regression.visible, strict=True)):
                    residual[k, j] += factor.residual_power(beta[columns])
    # Joints weigh as in the fit, so that a strong one does not decide for all.
    weighted = residual @ counted**2
    chosen = int(np.flatnonzero(weighted <= AS_WELL**2 * np.min(weighted))[-1])
    power, rows = regression.power(), regression.rows_per_joint().astype(float)
    errors = np.array([FitError.of(r, power, rows).relative_percent for r in residual])
    kept = np.sort(orders[chosen])
    beta, std = _fitted(regression.stacked(counted), kept)
    train = tuple(FitError.on(regression, values).relative_percent for values in (betas[0], beta))
    return EssentialParameters(regression.base, kept, beta, std, sizes, errors, (train[0], train[1]))


def _eliminated(
    regression: Regression, weights: Float[Array, " n_dof"]
) -> tuple[list[Int[Array, " n_kept"]], list[Float[Array, " n_base"]]]:
    """Sets of base parameters, each without the least clear one of the set before, and β of each."""
    stacked = regression.stacked(weights)
    kept = np.flatnonzero(np.isfinite(column_scale(stacked.R)))
    orders, betas = [], []
    while len(kept):
        beta, std = _fitted(stacked, kept)
        orders.append(kept)
        betas.append(beta)
        clear = np.abs(beta[kept]) / np.maximum(std[kept], np.finfo(float).tiny)
        kept = np.delete(kept, int(np.argmin(clear)))
    return orders, betas


def _fitted(stacked: Stacked, kept: Int[Array, " n_kept"]) -> tuple[Float[Array, " n_base"], Float[Array, " n_base"]]:
    """β and σ of least squares with these base parameters alone."""
    own = stacked.R[:, kept]
    scale = column_scale(own)
    U, values, V = np.linalg.svd(own / scale, full_matrices=False)
    good = values > RANK_TOLERANCE * values[0]
    inverse = (V[good].T / values[good]) @ U[:, good].T
    beta, std = np.zeros(len(stacked.R)), np.zeros(len(stacked.R))
    beta[kept] = inverse @ stacked.rho / scale
    std[kept] = np.linalg.norm(inverse, axis=1) / scale
    return beta, std
