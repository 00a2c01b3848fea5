"""What changes along a log: a delay of the torque, a load picked up, friction that warms up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from dynid.arrays import Array, Bool, Float
from dynid.review.equations.bursts import friction_level
from dynid.review.equations.effects import Effect, effect_of
from dynid.review.equations.hypothesis import HypothesisFit
from dynid.review.equations.joint_fits import FLOOR, ArmFit
from dynid.review.equations.rows import Arm

__all__ = ["SPAN", "Drift", "LoadStep", "TorqueLag", "drift_of", "lag_at", "load_step_of", "tip_columns", "torque_lag"]

SPAN = 0.1
"""Largest delay looked for, s, either way."""
STEPS = 14
"""Times tried for a change of load, before those around the best."""
SCREEN = 0.1
"""Part of the residual that loads which differ between parts of the log must explain before a change is looked for."""


@dataclass(frozen=True, eq=False)
class TorqueLag:
    """How much later the torque is than the motion."""

    seconds: float
    """Positive where the torque lags, s."""
    error: float
    """Standard deviation, s, widened where the joints disagree."""
    gain: float
    """Residual without the delay over that with it, RMS."""


def torque_lag(fitted: HypothesisFit) -> TorqueLag:
    """The shift of the torque at which every joint's own residual is least, the joints taken together.

    `dynid.regression.estimated_delay` answers the same question for the model that is fitted, in 1 s of a core on a log
    of 20 544 samples of seven joints. This takes 0.006 s, has a standard deviation, and needs no friction model.
    """
    rows = fitted.rows
    coarse = np.linspace(-SPAN, SPAN, 41)
    whole = _shift_costs(fitted, coarse)
    noise = np.maximum(np.min(whole, axis=1), 1e-300)
    centre = float(coarse[int(np.argmin(np.sum(whole / noise[:, None], axis=0)))])
    width = max(2.0 * (coarse[1] - coarse[0]), rows.sample_time)
    fine = np.clip(centre + np.linspace(-width, width, 9), -SPAN, SPAN)
    costs = _shift_costs(fitted, fine)
    noise = np.maximum(np.min(costs, axis=1), 1e-300)
    curves = np.array([np.polyfit(fine - centre, row, 2) for row in costs])
    bend, slope = np.maximum(curves[:, 0], 1e-9 * noise / width**2), curves[:, 1]
    best = np.clip(-slope / (2.0 * bend), -width, width)
    # Rows share noise with their neighbours: about two of them tell one thing.
    error = np.sqrt(2.0 * noise / max(rows.n_rows, 1) / bend)
    weight = 1.0 / error**2
    mean = float(np.sum(weight * best) / np.sum(weight))
    scatter = float(np.sum(weight * (best - mean) ** 2) / max(1, len(best) - 1))
    spread = float(np.sqrt(max(1.0, scatter) / np.sum(weight)))
    at = _shift_costs(fitted, np.array([0.0, centre + mean]))
    gain = float(np.sqrt(np.sum(at[:, 0] / noise) / max(np.sum(at[:, 1] / noise), 1e-300)))
    return TorqueLag(centre + mean, spread, gain)


def lag_at(fitted: HypothesisFit, seconds: float, error: float) -> TorqueLag:
    """A delay (s) that was estimated otherwise, with what it does to the residual."""
    costs = _shift_costs(fitted, np.array([0.0, seconds]))
    noise = np.maximum(np.min(costs, axis=1), 1e-300)
    gain = float(np.sqrt(np.sum(costs[:, 0] / noise) / max(np.sum(costs[:, 1] / noise), 1e-300)))
    return TorqueLag(seconds, error, gain)


def _shift_costs(fitted: HypothesisFit, delays: Float[Array, " n_delays"]) -> Float[Array, "n_dof n_delays"]:
    """Sum of squared residuals ((N·m)² or N²) of every joint for every delay (s)."""
    rows = fitted.rows
    costs = np.empty((rows.n_dof, len(delays)))
    for j, own in enumerate(fitted.fits):
        times = rows.t[:, None] + delays[None, :]
        tau = np.interp(times.ravel(), rows.t_fine, rows.tau_fine[:, j]).reshape(times.shape)
        W = np.column_stack([fitted.rigid[j], fitted.own[j]]) / own.scale
        inside = solve_triangular(own.R, W.T @ tau, trans="T")
        floor = (FLOOR * np.sqrt(np.mean(rows.tau[:, j] ** 2))) ** 2 * rows.n_rows
        costs[j] = np.sum(tau**2, axis=0) - np.sum(inside**2, axis=0) + floor
    return costs


def tip_columns(arm: Arm, fitted: HypothesisFit, n_numbers: int = 4) -> Float[Array, "n_rows n_dof n_columns"]:
    """Columns of mass and first moments (SI) of a load on the last link, under the gravity of the hypothesis."""
    n = arm.n_dof
    last = [i for i in range(n) if i not in arm.robot.parents][-1]
    robot = arm.robot if fitted.hypothesis.gravity is None else arm.robot.with_gravity(fitted.hypothesis.gravity)
    model = arm.model if robot is arm.robot else type(arm.model)(robot)
    return model.regressor(fitted.rows.motion)[:, :, 10 * last : 10 * last + n_numbers]


@dataclass(frozen=True, eq=False)
class LoadStep:
    """A load that comes or goes during the log."""

    time: float
    """s."""
    mass: float
    """kg, negative where it is put down."""
    error: float
    """kg."""
    effect: Effect


def load_step_of(arm: Arm, fitted: HypothesisFit, fit: ArmFit, keep: Bool[Array, " n_rows"]) -> LoadStep | None:
    """The change of load at the tip that explains most of the residual; None where no change explains much."""
    rows = fitted.rows
    columns = tip_columns(arm, fitted)
    thirds = [np.where(rows.t > np.quantile(rows.t, share), 1.0, 0.0)[:, None, None] for share in (0.3, 0.5, 0.7)]
    screen = effect_of(arm, fitted, fit, np.concatenate([columns * after for after in thirds], axis=2), keep)
    if screen.share < SCREEN:
        return None
    best: tuple[float, Effect] | None = None
    shares = np.linspace(0.12, 0.88, STEPS)
    for _ in range(2):
        for share in shares:
            time = float(np.quantile(rows.t, share))
            after = np.where(rows.t > time, 1.0, 0.0)
            effect = effect_of(arm, fitted, fit, columns * after[:, None, None], keep)
            if best is None or effect.share > best[1].share:
                best, at = (time, effect), float(share)
        shares = np.clip(at + np.linspace(-0.05, 0.05, 5), 0.05, 0.95)
    assert best is not None
    time, effect = best
    return LoadStep(time, float(effect.value[0]), float(effect.error[0]), effect)


@dataclass(frozen=True, eq=False)
class Drift:
    """Friction and offsets that change along the log."""

    dry: Float[Array, " n_dof"]
    """Change of dry friction from start to end, N·m or N."""
    dry_error: Float[Array, " n_dof"]
    """Its standard deviation, N·m or N."""
    offset: Float[Array, " n_dof"]
    """Change of the offset from start to end, N·m or N."""
    offset_error: Float[Array, " n_dof"]
    """Its standard deviation, N·m or N."""
    level: Float[Array, " n_dof"]
    """Friction at the joint's RMS speed over the whole log, N·m or N."""
    share: float
    """Part of the residual's squares that the drift explains."""


def drift_of(arm: Arm, fitted: HypothesisFit, fit: ArmFit, keep: Bool[Array, " n_rows"]) -> Drift:
    """Friction at running speed and offset, each with a part that grows evenly with time."""
    rows = fitted.rows
    n_dof, n_own, n_base = arm.n_dof, fitted.own[0].shape[1], arm.base.n_base
    span = max(float(rows.t[-1] - rows.t[0]), 1e-9)
    ramp = (rows.t - rows.t[0]) / span - 0.5
    columns = np.zeros((rows.n_rows, n_dof, 2 * n_dof))
    level = friction_level(arm, fitted, fit)
    for j in range(n_dof):
        first = n_base + j * n_own
        curve = rows.friction[:, j] @ fit.beta[first : first + rows.friction.shape[2]]
        columns[:, j, 2 * j] = ramp * curve / max(level[j], 1e-300)
        columns[:, j, 2 * j + 1] = ramp
    effect = effect_of(arm, fitted, fit, columns, keep)
    return Drift(
        effect.value[0::2],
        effect.error[0::2],
        effect.value[1::2],
        effect.error[1::2],
        level,
        effect.share,
    )
