"""Bursts: short segments of a log in which the torque is not what the rest of it predicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Bool, Float
from dynid.review.equations.hypothesis import HypothesisFit
from dynid.review.equations.joint_fits import ArmFit
from dynid.review.equations.rows import DRY, Arm

__all__ = ["Burst", "burst_of", "friction_level", "with_drift", "with_load_friction"]

WINDOWS = (0.1, 0.3, 0.8)
"""Lengths of a contact that are looked for, s."""
AROUND = 1.0
"""Time in s on either side of a contact that is left out of what it is compared with."""
USUAL = 0.97
"""Quantile of the residuals elsewhere that stands for what is usual."""
DOUBT = 0.25
"""Weight of a joint that creeps or reverses meanwhile, where it lacks less than its friction."""
ALSO = 1.5
"""Times what is usual at which a contact shows at a further joint."""
AT_ONCE = 3
"""Joints that lack torque at the same time without that being a matter of friction."""
CREEP = 0.15
"""Speed over the joint's largest at which dry friction is uncertain."""
CANDIDATES = 3
"""Segments of each length that are looked at closely."""


@dataclass(frozen=True, eq=False)
class Burst:
    """A short segment in which the torque is not the model's."""

    start: float
    """s."""
    stop: float
    """s."""
    peak: Float[Array, " n_dof"]
    """Mean torque that the model lacks there, N·m or N."""
    times: float
    """How many times what is usual elsewhere, the joints together."""
    joints: tuple[int, ...]
    """Where it shows."""
    keep: Bool[Array, " n_rows"]
    """The rows outside."""
    size: float
    """The largest of `peak` over the swing of its joint's torque."""


def with_load_friction(arm: Arm, fitted: HypothesisFit) -> HypothesisFit:
    """The same with dry friction that grows with the load of the gear, as the fit without it tells the load (SI)."""
    fit = fitted.arm_fit(arm)
    load = [np.abs(fitted.rigid[j] @ fit.beta[arm.visible[j]]) for j in range(arm.n_dof)]
    return fitted.beside([[load[j] * fitted.rows.friction[:, j, DRY]] for j in range(arm.n_dof)])


def with_drift(arm: Arm, fitted: HypothesisFit, fit: ArmFit) -> HypothesisFit:
    """The same with friction and offsets that change slowly along the log (SI)."""
    t = fitted.rows.t
    ramp = (t - t[0]) / max(float(t[-1] - t[0]), 1e-9) - 0.5
    curves = _friction_curves(arm, fitted, fit)
    shapes = ramp[:, None, None] * fitted.rows.friction
    bends = [np.column_stack([ramp**2 * curve, ramp**3 * curve]) for curve in curves.T]
    return fitted.beside([[ramp, shapes[:, j], bends[j]] for j in range(arm.n_dof)])


def burst_of(arm: Arm, fitted: HypothesisFit, fit: ArmFit) -> Burst | None:
    """The segment whose torque the rest of the log predicts worst, against what is usual; None in a very short log."""
    rows = fitted.rows
    left = fit.residual / fit.sigma
    found: list[Burst] = []
    for window in WINDOWS:
        width = max(1, round(window / rows.period))
        if width * 8 > rows.n_rows:
            continue
        mean = _running_mean(left, width)
        usual = np.maximum(np.quantile(np.abs(mean), USUAL, axis=0), 1e-12)
        loud = np.linalg.norm(mean / usual, axis=1)
        for _ in range(CANDIDATES):
            k = int(np.argmax(loud))
            if loud[k] <= 0.0:
                break
            near = np.abs(rows.t - rows.t[k]) <= AROUND + window
            loud[near] = 0.0
            found.append(_left_out(arm, fitted, fit, k, width, mean, near))
    return max(found, key=lambda burst: burst.times, default=None)


def _running_mean(values: Float[Array, "n_rows n_dof"], width: int) -> Float[Array, "n_rows n_dof"]:
    kernel = np.ones(width) / width
    return np.column_stack([np.convolve(column, kernel, mode="same") for column in values.T])


def _left_out(
    arm: Arm,
    fitted: HypothesisFit,
    fit: ArmFit,
    k: int,
    width: int,
    mean: Float[Array, "n_rows n_dof"],
    near: Bool[Array, " n_rows"],
) -> Burst:
    """A segment around row k as the rest of the log predicts it.

    The fit bends towards a burst. With one indicator of the segment a joint in D and H the hat matrix, constant torques
    there are M⁻¹Dᵀr with M = Dᵀ(1 − H)D, of covariance σ² M⁻¹ under white noise σ².
    """
    t, n_dof = fitted.rows.t, arm.n_dof
    first = max(0, k - width // 2 - 1)
    rows = np.arange(first, min(len(t), k + (width + 1) // 2 + 1))
    n_own, n_base = fitted.own[0].shape[1], arm.base.n_base
    # Sums over the segment, joint by joint: what they are, and what of a constant torque the fit would leave there.
    W = np.zeros((n_dof, len(fit.beta)))
    for j in range(n_dof):
        own = n_base + j * n_own
        W[j, arm.visible[j]] = fitted.rigid[j][rows].sum(axis=0) / fit.sigma[j]
        W[j, own : own + n_own] = fitted.own[j][rows].sum(axis=0) / fit.sigma[j]
    A = W @ fit.spread
    M = len(rows) * np.eye(n_dof) - A @ A.T
    inverse = np.linalg.inv(M + 1e-3 * len(rows) * np.eye(n_dof))
    lacking = inverse @ (fit.residual[rows] / fit.sigma).sum(axis=0)
    usual = np.maximum(np.quantile(np.abs(mean[~near]), USUAL, axis=0), 1e-12) * np.sqrt(width)
    times = np.abs(lacking) / np.sqrt(np.diag(inverse)) / usual
    speed = np.abs(fitted.rows.dq)
    around, fastest = speed[max(0, rows[0] - 1) : rows[-1] + 2], np.maximum(np.max(speed, axis=0), 1e-300)
    peak = lacking * fit.sigma
    small = np.abs(peak) < friction_peak(arm, fitted, fit)
    standing, creeping = (extreme(around / fastest, axis=0) < CREEP for extreme in (np.max, np.min))
    doubtful = creeping & small
    # Joints that start and stop together lack friction together; those that reverse at different times do not.
    together = bool(np.any(np.max(around / fastest, axis=1) < CREEP))
    if np.count_nonzero(times > ALSO) >= AT_ONCE and not together:
        doubtful[:] = False
    times = np.where(standing & small, 0.0, np.where(doubtful, DOUBT * times, times))
    joint = int(np.argmax(times))
    loud = near & (np.abs(mean[:, joint]) > 0.4 * np.abs(mean[k, joint]))
    start, stop = float(t[loud].min(initial=t[k])), float(t[loud].max(initial=t[k]))
    joints = tuple(int(j) for j in np.flatnonzero(times >= max(0.3 * times[joint], min(ALSO, times[joint]))))
    keep = (t < min(start, t[rows[0]]) - 0.2) | (t > max(stop, t[rows[-1]]) + 0.2)
    share = np.abs(peak) / np.maximum(np.std(fitted.rows.tau, axis=0), 1e-300)
    size = float(np.max(share[list(joints)], initial=0.0))
    return Burst(start, stop, peak, float(np.linalg.norm(times)), joints, keep, size)


def friction_peak(arm: Arm, fitted: HypothesisFit, fit: ArmFit) -> Float[Array, " n_dof"]:
    """The largest friction of every joint in the fit but for a few rows, N·m or N."""
    return np.quantile(np.abs(_friction_curves(arm, fitted, fit)), USUAL, axis=0)


def friction_level(arm: Arm, fitted: HypothesisFit, fit: ArmFit) -> Float[Array, " n_dof"]:
    """RMS of the friction of every joint in the fit, N·m or N."""
    return np.sqrt(np.mean(_friction_curves(arm, fitted, fit) ** 2, axis=0))


def _friction_curves(arm: Arm, fitted: HypothesisFit, fit: ArmFit) -> Float[Array, "n_rows n_dof"]:
    n_own, friction = fitted.own[0].shape[1], fitted.rows.friction
    starts = arm.base.n_base + n_own * np.arange(arm.n_dof)
    curves = [friction[:, j] @ fit.beta[k : k + friction.shape[2]] for j, k in enumerate(starts)]
    return np.stack(curves, axis=1)
