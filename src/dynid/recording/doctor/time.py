"""What changes along a log: a delay of the torque, a contact, a load picked up, friction that warms up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Bool, Float
from dynid.recording.doctor.explain import Judged
from dynid.recording.doctor.extra import Effect, effect_of
from dynid.recording.doctor.fit import FLOOR, Fit
from dynid.recording.doctor.rows import Arm

__all__ = ["Burst", "Delay", "Drift", "LoadStep", "burst_of", "delay_of", "drift_of", "load_step_of", "tip_columns"]

SPAN = 0.1
"""Largest delay looked for, s, either way."""
WINDOWS = (0.1, 0.3, 0.8)
"""Lengths of a contact that are looked for, s."""
AROUND = 1.0
"""Time in s on either side of a contact that is left out of what it is compared with."""
USUAL = 0.97
"""Quantile of the residuals elsewhere that stands for what is usual."""
DOUBT = 0.25
"""Weight of a joint that creeps or turns round meanwhile, where it lacks less than its friction."""
ALSO = 1.5
"""Times what is usual at which a contact shows at a further joint."""
AT_ONCE = 3
"""Joints that lack torque at the same time without that being a matter of friction."""
CREEP = 0.15
"""Speed over the joint's largest at which dry friction is uncertain."""
CANDIDATES = 3
"""Stretches of each length that are looked at closely."""
STEPS = 14
"""Instants tried for a change of load."""
SCREEN = 0.1
"""Part of the residual that loads which differ between parts of the log must explain before a change is looked for."""


@dataclass(frozen=True, eq=False)
class Delay:
    """How much later the torque is than the motion."""

    seconds: float
    """Positive where the torque lags, s."""
    error: float
    """Standard deviation, s, widened where the joints disagree."""
    gain: float
    """Residual without the delay over that with it, RMS."""


def delay_of(arm: Arm, judged: Judged) -> Delay:
    """The shift of the torque at which every joint's own residual is least, the joints taken together."""
    rows = judged.rows
    coarse = np.linspace(-SPAN, SPAN, 41)
    whole = _shift_costs(judged, coarse)
    noise = np.maximum(np.min(whole, axis=1), 1e-300)
    centre = float(coarse[int(np.argmin(np.sum(whole / noise[:, None], axis=0)))])
    width = max(2.0 * (coarse[1] - coarse[0]), rows.sample_time)
    fine = np.clip(centre + np.linspace(-width, width, 9), -SPAN, SPAN)
    costs = _shift_costs(judged, fine)
    noise = np.maximum(np.min(costs, axis=1), 1e-300)
    curves = np.array([np.polyfit(fine - centre, row, 2) for row in costs])
    bend, slope = np.maximum(curves[:, 0], 1e-300), curves[:, 1]
    best = np.clip(-slope / (2.0 * bend), -width, width)
    # Rows share noise with their neighbours: about two of them tell one thing.
    error = np.sqrt(2.0 * noise / max(rows.n_rows, 1) / bend)
    weight = 1.0 / error**2
    mean = float(np.sum(weight * best) / np.sum(weight))
    scatter = float(np.sum(weight * (best - mean) ** 2) / max(1, len(best) - 1))
    spread = float(np.sqrt(max(1.0, scatter) / np.sum(weight)))
    at = _shift_costs(judged, np.array([0.0, centre + mean]))
    gain = float(np.sqrt(np.sum(at[:, 0] / noise) / max(np.sum(at[:, 1] / noise), 1e-300)))
    return Delay(centre + mean, spread, gain)


def _shift_costs(judged: Judged, delays: Float[Array, " n_delays"]) -> Float[Array, "n_dof n_delays"]:
    """Sum of squared residuals ((N·m)² or N²) of every joint for every delay (s)."""
    rows = judged.rows
    costs = np.empty((rows.n_dof, len(delays)))
    for j, own in enumerate(judged.fits):
        times = rows.t[:, None] + delays[None, :]
        tau = np.interp(times.ravel(), rows.t_fine, rows.tau_fine[:, j]).reshape(times.shape)
        inside = own.basis.T @ tau
        floor = (FLOOR * np.sqrt(np.mean(rows.tau[:, j] ** 2))) ** 2 * rows.n_rows
        costs[j] = np.sum(tau**2, axis=0) - np.sum(inside**2, axis=0) + floor
    return costs


@dataclass(frozen=True, eq=False)
class Burst:
    """A short stretch in which the torque is not the model's."""

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


def burst_of(arm: Arm, judged: Judged, fit: Fit) -> Burst | None:
    """The stretch whose torque the rest of the log predicts worst, against what is usual; None in a very short log."""
    rows = judged.rows
    left = fit.residual / fit.sigma
    best: Burst | None = None
    for window in WINDOWS:
        width = max(1, round(window / rows.period))
        if width * 8 > rows.n_rows:
            continue
        mean = _running_mean(left, width)
        usual = np.maximum(np.quantile(np.abs(mean), USUAL, axis=0), 1e-12)
        loud = np.max(np.abs(mean) / usual, axis=1)
        for _ in range(CANDIDATES):
            k = int(np.argmax(loud))
            if loud[k] <= 0.0:
                break
            near = np.abs(rows.t - rows.t[k]) <= AROUND + window
            loud[near] = 0.0
            found = _left_out(arm, judged, fit, k, width, mean, near)
            if best is None or found.times > best.times:
                best = found
    return best


def _running_mean(values: Float[Array, "n_rows n_dof"], width: int) -> Float[Array, "n_rows n_dof"]:
    kernel = np.ones(width) / width
    return np.column_stack([np.convolve(column, kernel, mode="same") for column in values.T])


def _left_out(
    arm: Arm,
    judged: Judged,
    fit: Fit,
    k: int,
    width: int,
    mean: Float[Array, "n_rows n_dof"],
    near: Bool[Array, " n_rows"],
) -> Burst:
    """A stretch around row k as the rest of the log predicts it.

    The fit bends towards a burst. With the block H of the hat matrix, the residual that a fit without these rows would
    leave is (1 − H)⁻¹ r, and its covariance under white noise σ² (1 − H)⁻¹.
    """
    t, n_dof = judged.rows.t, arm.n_dof
    first = max(0, k - width // 2 - 1)
    rows = np.arange(first, min(len(t), k + (width + 1) // 2 + 1))
    n_own, n_base = judged.own[0].shape[1], arm.base.n_base
    W = np.zeros((n_dof, len(rows), len(fit.beta)))
    for j in range(n_dof):
        W[j][:, arm.visible(j)] = judged.rigid[j][rows] / fit.sigma[j]
        own = n_base + j * n_own
        W[j][:, own : own + n_own] = judged.own[j][rows] / fit.sigma[j]
    A = W.reshape(-1, len(fit.beta)) @ fit.spread
    C = np.linalg.inv(np.eye(len(A)) * (1.0 + 1e-3) - A @ A.T)
    left = (fit.residual[rows] / fit.sigma).T.ravel()
    outside = (C @ left).reshape(n_dof, len(rows))
    usual = np.maximum(np.quantile(np.abs(mean[~near]), USUAL, axis=0), 1e-12) * np.sqrt(width)
    blocks = np.array(
        [C[j * len(rows) : (j + 1) * len(rows)][:, j * len(rows) : (j + 1) * len(rows)].sum() for j in range(n_dof)]
    )
    times = np.abs(outside.sum(axis=1)) / np.sqrt(np.maximum(blocks, len(rows))) / usual
    speed = np.abs(judged.rows.dq)
    creeping = np.min(speed[max(0, rows[0] - 1) : rows[-1] + 2], axis=0) < CREEP * np.max(speed, axis=0)
    peak = outside.mean(axis=1) * fit.sigma
    doubtful = creeping & (np.abs(peak) < friction_level(arm, judged, fit))
    if np.count_nonzero(times > ALSO) >= AT_ONCE:
        doubtful[:] = False
    times = np.where(doubtful, DOUBT * times, times)
    joint = int(np.argmax(times))
    loud = near & (np.abs(mean[:, joint]) > 0.4 * np.abs(mean[k, joint]))
    start, stop = float(t[loud].min(initial=t[k])), float(t[loud].max(initial=t[k]))
    joints = tuple(int(j) for j in np.flatnonzero(times >= max(0.3 * times[joint], min(ALSO, times[joint]))))
    keep = (t < min(start, t[rows[0]]) - 0.2) | (t > max(stop, t[rows[-1]]) + 0.2)
    return Burst(start, stop, peak, float(np.linalg.norm(times)), joints, keep)


def friction_level(arm: Arm, judged: Judged, fit: Fit) -> Float[Array, " n_dof"]:
    """RMS of the friction of every joint in the fit, N·m or N."""
    n_own, friction = judged.own[0].shape[1], judged.rows.friction
    starts = arm.base.n_base + n_own * np.arange(arm.n_dof)
    curves = [friction[:, j] @ fit.beta[k : k + friction.shape[2]] for j, k in enumerate(starts)]
    return np.sqrt(np.mean(np.square(curves), axis=1))


def tip_columns(arm: Arm, judged: Judged, n_numbers: int = 4) -> Float[Array, "n_rows n_dof n_columns"]:
    """Columns of mass and first moments (SI) of a load on the last link, under the gravity of the explanation."""
    n = arm.n_dof
    last = [i for i in range(n) if i not in arm.robot.parents][-1]
    robot = arm.robot if judged.explanation.gravity is None else arm.robot.with_gravity(judged.explanation.gravity)
    model = arm.model if robot is arm.robot else type(arm.model)(robot)
    return model.regressor(judged.rows.motion)[:, :, 10 * last : 10 * last + n_numbers]


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


def load_step_of(arm: Arm, judged: Judged, fit: Fit, keep: Bool[Array, " n_rows"]) -> LoadStep | None:
    """The change of load at the tip that explains most of the residual; None where no change explains much."""
    rows = judged.rows
    columns = tip_columns(arm, judged)
    thirds = [np.where(rows.t > np.quantile(rows.t, share), 1.0, 0.0)[:, None, None] for share in (0.3, 0.5, 0.7)]
    screen = effect_of(arm, judged, fit, np.concatenate([columns * after for after in thirds], axis=2), keep)
    if screen.share < SCREEN:
        return None
    best: tuple[float, Effect] | None = None
    shares = np.linspace(0.12, 0.88, STEPS)
    for _ in range(2):
        for share in shares:
            time = float(np.quantile(rows.t, share))
            after = np.where(rows.t > time, 1.0, 0.0)
            effect = effect_of(arm, judged, fit, columns * after[:, None, None], keep)
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
    viscous: Float[Array, " n_dof"]
    """Change of viscous friction at the joint's RMS speed, N·m or N."""
    offset: Float[Array, " n_dof"]
    """Change of the offset from start to end, N·m or N."""
    offset_error: Float[Array, " n_dof"]
    """Its standard deviation, N·m or N."""
    level: Float[Array, " n_dof"]
    """Friction at the joint's RMS speed over the whole log, N·m or N."""
    share: float
    """Part of the residual's squares that the drift explains."""


def drift_of(arm: Arm, judged: Judged, fit: Fit, keep: Bool[Array, " n_rows"]) -> Drift:
    """Friction at running speed and offset, each with a part that grows evenly with time."""
    rows = judged.rows
    n_dof, n_own, n_base = arm.n_dof, judged.own[0].shape[1], arm.base.n_base
    span = max(float(rows.t[-1] - rows.t[0]), 1e-9)
    ramp = (rows.t - rows.t[0]) / span - 0.5
    columns = np.zeros((rows.n_rows, n_dof, 2 * n_dof))
    level = friction_level(arm, judged, fit)
    for j in range(n_dof):
        first = n_base + j * n_own
        curve = rows.friction[:, j] @ fit.beta[first : first + rows.friction.shape[2]]
        columns[:, j, 2 * j] = ramp * curve / max(level[j], 1e-300)
        columns[:, j, 2 * j + 1] = ramp
    effect = effect_of(arm, judged, fit, columns, keep)
    return Drift(
        effect.value[0::2],
        effect.error[0::2],
        np.zeros(n_dof),
        effect.value[1::2],
        effect.error[1::2],
        level,
        effect.share,
    )
