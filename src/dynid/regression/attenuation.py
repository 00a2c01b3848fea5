"""By how much noise of positions shrinks inertias: least squares beside instrumental variables."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.prose import with_std
from dynid.recording.conditioning import Plan, Samples
from dynid.recording.filters import LowPass
from dynid.recording.recording import Recording
from dynid.recording.splines import spline
from dynid.regression.rows import JointRows, rows_of_segment, visible_columns

__all__ = ["Attenuation", "attenuation"]

_FITS = 0.4
"""Cut-off over sampling rate up to which every other sample still carries a low-pass."""
_CLEAR = 5.0
"""Inertias that are less than so many σ say nothing about their attenuation."""


@dataclass(frozen=True)
class Attenuation:
    """The share that noise of positions takes off inertias, and how sure that is; both dimensionless."""

    share: float
    std: float

    @property
    def matters(self) -> bool:
        """Whether inertias are clearly more than 1 % too small."""
        return self.share - 2.0 * self.std > 0.01

    def __str__(self) -> str:
        return f"{with_std(100.0 * self.share, 100.0 * self.std)} %"


def attenuation(
    model: TorqueModel, base: BaseParameters, recording: Recording, plan: Plan, weights: Float[Array, " n_dof"]
) -> Attenuation | None:
    r"""How much too small inertias come out of a log of positions alone.

    Every other sample gives a motion X, those between them another one, Z, whose noise is independent. Least squares
    of X are attenuated; with Z as instruments they are not:

    .. math::

        \beta_{IV} = (Z^T X)^{-1} Z^T \tau, \qquad \beta_{LS} = (X^T X)^{-1} X^T \tau .

    Half as many samples have twice the noise, so all of them attenuate by half of 1 − LS/IV, averaged over the
    inertias that stand clear of it.

    Args:
        model: whose rows are fitted.
        base: its regrouping.
        recording: the log; one with velocities of its own says nothing.
        plan: how it is conditioned.
        weights: of the rows of each joint, 1/(N·m).
    """
    low = plan.low_pass
    if recording.dq is not None or recording.tau is None or not low.active or low.cutoff_hz > _FITS * low.rate_hz / 2.0:
        return None
    half = replace(
        plan, low_pass=LowPass(low.cutoff_hz, low.rate_hz / 2.0), every=max(1, plan.every // 2), min_velocity=0.0
    )
    t, q, tau = recording.t[::2][:-1], recording.q[::2][:-1], recording.tau[::2][:-1]
    between = spline(recording.t[1::2], recording.q[1::2], t[1:])
    pair = [
        half.apply(Recording(recording.joint_names, t[1:], values, tau=tau[1:], source=recording.source))
        for values in (q[1:], between)
    ]
    rows = [_rows(model, base, samples) for samples in pair]
    n = base.n_base
    ZX, XX, ZZ, Zt, Xt = (np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros(n), np.zeros(n))
    residual, n_rows = 0.0, 0
    visible = visible_columns(model, base)
    for own, instrument in zip(*rows, strict=True):
        for j, columns in enumerate(visible):
            X, Z, torque = weights[j] * own[j].Y, weights[j] * instrument[j].Y, weights[j] * own[j].tau
            place = np.ix_(columns, columns)
            ZX[place] += Z.T @ X
            XX[place] += X.T @ X
            ZZ[place] += Z.T @ Z
            Zt[columns] += Z.T @ torque
            Xt[columns] += X.T @ torque
            residual, n_rows = residual + float(torque @ torque), n_rows + len(torque)
    scale = np.sqrt(np.maximum(np.diag(XX), np.finfo(float).tiny))
    plain, free = (
        np.linalg.lstsq(A / np.outer(scale, scale), b / scale, rcond=1e-10)[0] / scale for A, b in ((XX, Xt), (ZX, Zt))
    )
    inverse = np.linalg.pinv(ZX / np.outer(scale, scale), rcond=1e-10) / np.outer(scale, scale)
    noise = max(residual - float(plain @ Xt), 0.0) / max(n_rows - n, 1)
    std = np.sqrt(np.maximum(np.diag(noise * inverse @ ZZ @ inverse.T), 0.0))
    inertias = np.array([column.unit == "kg·m²" for column in base.leading_columns])
    clear = inertias & (np.abs(free) > _CLEAR * std) & (std > 0.0)
    if not np.any(clear):
        return None
    precision = (free[clear] / std[clear]) ** 2
    share = float(np.sum((1.0 - plain[clear] / free[clear]) * precision) / np.sum(precision))
    return Attenuation(0.5 * share, 0.5 / float(np.sqrt(np.sum(precision))))


def _rows(model: TorqueModel, base: BaseParameters, samples: Samples) -> list[tuple[JointRows, ...]]:
    visible = visible_columns(model, base)
    return [
        rows_of_segment(
            model,
            base,
            segment,
            samples.plan,
            visible,
            model.joint_columns(segment.motion) if model.has_memory else None,
        )
        for segment in samples.segments
    ]
