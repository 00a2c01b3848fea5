"""Settings that only the full-model residual can tell: the delay of the torque and the velocity threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.recording.conditioning import Plan, Samples
from dynid.recording.recording import Recording
from dynid.regression.least_squares import OLS
from dynid.regression.problem import compress
from dynid.regression.rows import SampleRows, rows_of_segment, visible_columns
from dynid.regression.triangle import triangular

__all__ = ["ThresholdChoice", "estimated_delay", "velocity_threshold"]

THRESHOLD_SHARES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1)
"""Velocity thresholds tried, as shares of the largest speed of all joints."""
CONDITION_PRICE = 1.05
"""A threshold may worsen the condition number by this factor at most."""


def estimated_delay(
    model: TorqueModel, base: BaseParameters, recording: Recording, plan: Plan, *, span: float = 0.03, n_tried: int = 13
) -> float:
    """Time in s by which the torque stamps lag behind the position stamps, at the least residual of the full model.

    Friction misleads a cross-correlation of torque and acceleration; the model that contains friction is not misled.
    Delays from −span to span are tried at once as further right-hand sides, then refined by a parabola.
    """
    delays = np.linspace(-span, span, n_tried)
    costs = _costs(model, base, recording, plan, delays)
    best = int(np.argmin(costs))
    if 0 < best < n_tried - 1:
        fine = np.linspace(delays[best - 1], delays[best + 1], n_tried)
        costs = _costs(model, base, recording, plan, fine)
        best, delays = int(np.argmin(costs)), fine
    if 0 < best < n_tried - 1:
        left, middle, right = costs[best - 1 : best + 2]
        bend = left - 2.0 * middle + right
        shift = 0.5 * (left - right) / bend if bend > 0.0 else 0.0
        return float(delays[best] + shift * (delays[1] - delays[0]))
    return float(delays[best])


def _costs(
    model: TorqueModel, base: BaseParameters, recording: Recording, plan: Plan, delays: Float[Array, " n_delays"]
) -> Float[Array, " n_delays"]:
    """Sum of squared residuals ((N·m)²) for every delay, rows cut to what all delays have."""
    visible = visible_columns(model, base)
    shifted = [plan.with_delay(plan.delay + float(delay), "").apply(recording) for delay in delays]
    joints = [np.zeros((0, len(columns) + len(delays))) for columns in visible]
    for number, segment in enumerate(shifted[0].segments):
        rows = rows_of_segment(model, base, segment, plan, visible)
        tau = [plan.low_pass.thinned(samples.segments[number].tau, plan.every) for samples in shifted]
        edge = int(np.ceil(np.max(np.abs(delays)) * plan.low_pass.rate_hz / plan.every)) + 1
        keep = slice(edge, max(edge, len(tau[0]) - edge))
        fast = np.abs(segment.motion.dq[plan.low_pass.half_length :: plan.every][: len(tau[0])]) >= plan.min_velocity
        for j, joint_rows in enumerate(rows):
            full = np.zeros((len(tau[0]), joint_rows.Y.shape[1]))
            full[fast[:, j]] = joint_rows.Y
            targets = np.column_stack([values[:, j] * fast[:, j] for values in tau])
            joints[j] = triangular(np.vstack([joints[j], np.column_stack([full, targets])[keep]]))
    n_base, n_delays = base.n_base, len(delays)
    stack = np.zeros((sum(len(part) for part in joints) + n_base + n_delays, n_base + n_delays))
    row = 0
    for part, columns in zip(joints, visible, strict=True):
        stack[row : row + len(part), columns] = part[:, : len(columns)]
        stack[row : row + len(part), n_base:] = part[:, len(columns) :]
        row += len(part)
    whole = triangular(stack)
    return np.sum(whole[n_base:, n_base:] ** 2, axis=0)


@dataclass(frozen=True, eq=False)
class ThresholdChoice:
    """The trade-off of [Sousa2013]_, Fig. 2: error and condition number against the velocity threshold."""

    thresholds: Float[Array, " n_tried"]
    """rad/s or m/s."""
    relative_percent: Float[Array, " n_tried"]
    condition: Float[Array, " n_tried"]
    chosen: float
    """rad/s or m/s."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


def velocity_threshold(model: TorqueModel, base: BaseParameters, samples: Samples) -> ThresholdChoice:
    """The threshold (rad/s or m/s) with the least error among those that hardly cost conditioning.

    Near standstill the sign of the velocity is noise and dry friction undefined; rows there only disturb. But too few
    rows leave parameters unexcited, which the condition number shows.
    """
    fastest = max(float(np.max(np.abs(segment.motion.dq))) for segment in samples.segments)
    thresholds = np.array(THRESHOLD_SHARES) * fastest
    error, condition = np.empty(len(thresholds)), np.empty(len(thresholds))
    for k, threshold in enumerate(thresholds):
        plan = samples.plan.with_min_velocity(float(threshold), "")
        masked = Samples(samples.joint_names, samples.segments, plan, samples.source)
        estimate = OLS().fit(compress(SampleRows(model, base, (masked,))))
        error[k], condition[k] = estimate.fit.relative_percent, estimate.condition_number
    allowed = condition <= CONDITION_PRICE * condition[0]
    best = int(np.argmin(np.where(allowed, error, np.inf)))
    return ThresholdChoice(thresholds, error, condition, float(thresholds[best]))
