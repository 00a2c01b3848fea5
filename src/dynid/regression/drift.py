"""Friction that drifts between runs: how far its parameters differ from run to run, beyond what noise explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, Int, freeze_arrays
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel

__all__ = ["DriftEvidence", "base_drift", "drift_between", "drifting_terms"]

PRIOR_SHARE = 0.05
"""Share of a joint's friction by which it drifts between runs, RMS: what well-measured friction does on five arms (an
LWR4+, a KR300, a UR10 and two Pandas; temperature changes it by more, [Bittencourt2012]_)."""
PRIOR_RUNS = 4.0
"""Runs that this knowledge counts as: few, for joints and arms differ by a factor of two and more."""
COMMON = 0.8
"""Part of the drift that all terms of a joint share, as a warmer gear does; the rest is each term's own."""
MAX_STEPS = 300
"""Of expectation maximisation."""
SETTLED = 1e-4
"""Largest relative change of a variance at which it ends."""


@dataclass(frozen=True, eq=False)
class DriftEvidence:
    r"""What one run says of the deviation δ of its drifting terms: :math:`\Lambda\,\delta = b` by least squares."""

    information: Float[Array, "n_drifting n_drifting"]
    """Λ: one over (SI)²."""
    pull: Float[Array, " n_drifting"]
    """b: Λ times the δ that fits best."""
    power: Float[Array, "n_dof n_drifting n_drifting"]
    """Mean products of the columns of each joint's rows, (N·m)² or N² per SI²."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


def drifting_terms(model: TorqueModel) -> Int[Array, " n_drifting"]:
    """Which of the joint terms of θ, counted from the first of them, are friction: those that drift."""
    inertia = set(model.inertia_terms)
    n_terms = len(model.terms)
    return np.array([k for k in range(model.n_dof * n_terms) if k % n_terms not in inertia], dtype=np.int64)


def base_drift(base: BaseParameters, drift: Float[Array, "n_terms n_terms"]) -> Float[Array, "n_base n_base"]:
    """The covariance of β (in its units) that a covariance of the joint terms of θ (SI) gives."""
    K = base.K[:, base.K.shape[1] - len(drift) :]
    return K @ drift @ K.T


def drift_between(
    runs: Sequence[DriftEvidence],
    model: TorqueModel,
    terms: Int[Array, " n_drifting"],
    theta: Float[Array, " n_params"],
) -> tuple[Float[Array, "n_terms n_terms"], Float[Array, "n_runs n_terms"]]:
    r"""Covariance D (SI) of the joint terms between runs, and the most probable deviation of each run.

    .. math::

        \delta_r \sim N(0, D), \qquad
        D_j = a_j^2 \Bigl(\rho\,\theta_j \theta_j^T + \frac{1 - \rho}{n_j} S_j^2\Bigr)

    with :math:`\theta_j` the friction terms of joint j and :math:`S_j` what changes the torque by the friction of the
    joint, term by term. The share :math:`a_j` comes from the runs by expectation maximisation [Dempster1977]_, beside
    `PRIOR_SHARE` which counts as `PRIOR_RUNS` runs.
    """
    n_terms = model.n_dof * len(model.terms)
    whole, deviations = np.zeros((n_terms, n_terms)), np.zeros((len(runs), n_terms))
    own = theta[model.n_inertial :][terms]
    joint = terms // max(len(model.terms), 1)
    scale = _scales(runs, joint, own)
    kept = np.flatnonzero(scale > 0.0)
    if not len(kept):
        return whole, deviations
    joint, scale, own = joint[kept], scale[kept], own[kept]
    shape = _shape(joint, own / scale)
    inverse = np.linalg.inv(shape)
    information = [run.information[np.ix_(kept, kept)] * np.outer(scale, scale) for run in runs]
    pull = [run.pull[kept] * scale for run in runs]
    members = [np.flatnonzero(joint == j) for j in range(model.n_dof)]
    share = np.full(model.n_dof, PRIOR_SHARE**2)
    means: list[Float[Array, " n_kept"]] = []
    for _ in range(MAX_STEPS):
        precision = inverse / np.sqrt(np.outer(share[joint], share[joint]))
        covariances = [np.linalg.inv(precision + Lambda) for Lambda in information]
        means = [C @ b for C, b in zip(covariances, pull, strict=True)]
        moments = sum((np.outer(m, m) + C for m, C in zip(means, covariances, strict=True)), np.zeros_like(shape))
        following = np.array(share)
        for j, k in enumerate(members):
            if len(k):
                seen = float(np.sum(inverse[np.ix_(k, k)] * moments[np.ix_(k, k)])) / len(k)
                following[j] = (PRIOR_RUNS * PRIOR_SHARE**2 + seen) / (PRIOR_RUNS + len(runs))
        change = float(np.max(np.abs(following / share - 1.0)))
        share = following
        if change < SETTLED:
            break
    rows = terms[kept]
    whole[np.ix_(rows, rows)] = shape * np.sqrt(np.outer(share[joint], share[joint])) * np.outer(scale, scale)
    deviations[:, rows] = np.array(means) * scale
    return whole, deviations


def _shape(joint: Int[Array, " n_kept"], relative: Float[Array, " n_kept"]) -> Float[Array, "n_kept n_kept"]:
    """D over a², terms in units of their scales."""
    n_own = np.array([np.count_nonzero(joint == j) for j in joint], dtype=float)
    together = np.where(joint[:, None] == joint, np.outer(relative, relative), 0.0)
    return COMMON * together + (1.0 - COMMON) * np.diag(1.0 / n_own)


def _scales(
    runs: Sequence[DriftEvidence], joint: Int[Array, " n_drifting"], theta: Float[Array, " n_drifting"]
) -> Float[Array, " n_drifting"]:
    """For each term the change (SI) that alters the torque by the friction of its joint, RMS over the runs."""
    power = np.mean([np.sum(run.power, axis=0) for run in runs], axis=0)
    friction = np.array([theta[joint == j] @ power[np.ix_(joint == j, joint == j)] @ theta[joint == j] for j in joint])
    own = np.diag(power)
    return np.sqrt(np.where(own > 0.0, np.maximum(friction, 0.0) / np.where(own > 0.0, own, 1.0), 0.0))
