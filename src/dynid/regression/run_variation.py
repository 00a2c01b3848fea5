"""Statistics of held-out residuals: each run left out of the fit in turn, or each segment where there is one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Bool, Float
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.recording.conditioning import Samples
from dynid.regression.drift import DriftEvidence, drift_between, drifting_terms
from dynid.regression.estimate import Estimate, FitError
from dynid.regression.noise_colour import noise_colour
from dynid.regression.problem import Factor, Regression
from dynid.regression.residuals import LEAST_NOISE, ONE_LOG, ResidualStatistics
from dynid.regression.rows import chunks_of, rows_of_segment, visible_columns

__all__ = ["LeftOut", "left_out_runs"]

N_SEGMENTS, LEAST_SEGMENTS = 5, 3
"""Segments of a single log that are left out of the fit in turn, and the fewest from which anything can be."""
STANDSTILL_SPEEDS = (0.005, 0.01, 0.02, 0.05, 0.1)
"""Speeds below which stiction may hold a joint, over its RMS speed in the logs; the likeliest is taken."""
STANDSTILL_ROWS = 20
"""Rows at standstill from which the variance of a joint's is measured."""


@dataclass(frozen=True, eq=False)
class _Part:
    """A run, or a segment of one, that is left out of the fit."""

    run: int
    """Number of its log."""
    t_from: float
    t_until: float
    blocks: tuple[tuple[Factor, ...], ...]

    @property
    def n_rows(self) -> Float[Array, " n_dof"]:
        return np.array([sum(f.n_rows for f in column) for column in zip(*self.blocks, strict=True)], dtype=float)


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """A part as the fit of the others predicts it."""

    theta: Float[Array, " n_params"]
    residual: Float[Array, " n_dof"]
    """Squares of what is left of its rows, summed, (N·m)² or N²."""
    evidence: DriftEvidence
    spread: Float[Array, " n_dof"]
    """Mean variance of the predicted torque that the covariance of β gives, (N·m)² or N²."""


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What fits predict of the runs, or segments, that are left out of them in turn."""

    statistics: ResidualStatistics
    error: FitError
    """In % and N·m or N."""


def left_out_runs(
    model: TorqueModel,
    base: BaseParameters,
    runs: Sequence[Samples],
    fit: Callable[[Regression], Estimate],
    estimate: Estimate,
) -> LeftOut | None:
    """What the fit of the other runs leaves of each run (N·m or N); None where the logs make too few blocks of time.

    Args:
        model: links and friction.
        base: its base parameters.
        runs: conditioned training logs.
        fit: an estimator's ``fit``, one that needs no rows.
        estimate: of all runs together.
    """
    parts = tuple(_parts(model, base, runs))
    if len(parts) < 2:
        return None
    held_out = [_held_out(model, base, parts, k, fit) for k in range(len(parts))]
    whole = Regression(model, base, visible_columns(model, base), tuple(b for part in parts for b in part.blocks))
    residual = np.sum([found.residual for found in held_out], axis=0)
    error = FitError.of(residual, whole.power(), whole.rows_per_joint().astype(float))
    theta = base.lift(estimate.beta) if estimate.theta is None else estimate.theta
    drift, deviations = drift_between([found.evidence for found in held_out], model, drifting_terms(model), theta)
    # A run differs from the mean of the others by its own drift and by theirs.
    drift = drift / (1.0 + 1.0 / (len(parts) - 1))
    rows = [
        _residual_rows(model, runs, part, found, own)
        for part, found, own in zip(parts, held_out, deviations, strict=True)
    ]
    plan = runs[0].plan
    single = [piece for part in rows for piece in part.single]
    colour = noise_colour(single, plan.low_pass.rate_hz, plan.low_pass.cutoff_hz)
    rested = np.vstack([part.rested for part in rows])
    speed, resting = _standstill(rested, np.vstack([part.speed for part in rows]), _friction_level(model, runs, theta))
    terms = drifting_terms(model)
    moving = _row_std(parts, held_out, rows, speed, drift[np.ix_(terms, terms)])
    statistics = ResidualStatistics(
        white_std=colour.white_std,
        slow_std=colour.slow_std,
        memory=colour.memory,
        row_std=moving,
        standstill_std=np.sqrt(np.maximum(resting**2 - moving**2, 0.0)),
        standstill_speed=speed,
        drift=drift,
        gain_std=np.zeros(model.n_dof),
        gain_directions=np.zeros((model.n_dof, base.n_base)),
        rate_hz=plan.low_pass.rate_hz,
        n_runs=len(parts),
        source=f"{len(runs)} logs" if len(runs) > 1 else ONE_LOG,
        gain_source="not stated",
        band_white_std=colour.band_white_std,
    )
    return LeftOut(statistics, error)


def _parts(model: TorqueModel, base: BaseParameters, runs: Sequence[Samples]) -> Iterator[_Part]:
    visible = visible_columns(model, base)
    for number, samples in enumerate(runs):
        spans, blocks = [], []
        for chunk, extra in chunks_of(model, samples):
            spans.append((float(chunk.motion.t[0]), float(chunk.motion.t[-1])))
            rows = rows_of_segment(model, base, chunk, samples.plan, visible, extra)
            blocks.append(tuple(Factor.of(own) for own in rows))
        if len(runs) > 1:
            yield _Part(number, -np.inf, np.inf, tuple(blocks))
            continue
        n_parts = min(N_SEGMENTS, len(blocks))
        if n_parts < LEAST_SEGMENTS:
            return
        of = np.arange(len(blocks)) * n_parts // len(blocks)
        margin = samples.plan.low_pass.half_length / samples.plan.low_pass.rate_hz
        for k in range(n_parts):
            own = np.flatnonzero(of == k)
            yield _Part(
                number, spans[own[0]][0] + margin, spans[own[-1]][1] - margin, tuple(blocks[b] for b in own.tolist())
            )


def _held_out(
    model: TorqueModel,
    base: BaseParameters,
    parts: Sequence[_Part],
    left: int,
    fit: Callable[[Regression], Estimate],
) -> _HeldOut:
    visible = visible_columns(model, base)
    others = tuple(block for k, part in enumerate(parts) if k != left for block in part.blocks)
    rest = Regression(model, base, visible, others)
    estimate = fit(rest)
    theta = base.lift(estimate.beta) if estimate.theta is None else estimate.theta
    own = Regression(model, base, visible, parts[left].blocks)
    residual = own.residual_power(estimate.beta)
    n_rows = np.maximum(own.rows_per_joint(), 1)
    inflation = np.maximum(estimate.uncertainty.inflation, 1.0)
    terms = model.n_inertial + drifting_terms(model)
    Lambda, b = np.zeros((len(terms), len(terms))), np.zeros(len(terms))
    power = np.zeros((model.n_dof, len(terms), len(terms)))
    spread = np.zeros(model.n_dof)
    covariance = np.where(np.isfinite(estimate.uncertainty.covariance), estimate.uncertainty.covariance, 0.0)
    for j, (factor, columns) in enumerate(zip(own.joints, visible, strict=True)):
        R = factor.R @ base.K[np.ix_(columns, terms)]
        power[j] = R.T @ R / n_rows[j]
        noise = max(float(residual[j]) / n_rows[j], 1e-300) * inflation[j]
        Lambda += R.T @ R / noise
        b += R.T @ (factor.rho - factor.R @ estimate.beta[columns]) / noise
        spread[j] = float(np.sum((factor.R @ covariance[np.ix_(columns, columns)]) * factor.R)) / n_rows[j]
    return _HeldOut(theta, residual, DriftEvidence(Lambda, b, power), spread)


@dataclass(frozen=True, eq=False)
class _ResidualRows:
    """Residuals of one part as the others predict it, N·m or N."""

    predicted: Float[Array, "n_rows n_dof"]
    """Behind the low-pass, drift and all."""
    rested: Float[Array, "n_rows n_dof"]
    """The same with the drift of this part taken away."""
    speed: Float[Array, "n_rows n_dof"]
    """Of each joint at these rows, rad/s or m/s."""
    single: tuple[Float[Array, "_ n_dof"], ...]
    """Single samples, gapless, the drift taken away."""


def _residual_rows(
    model: TorqueModel, runs: Sequence[Samples], part: _Part, found: _HeldOut, deviation: Float[Array, " n_terms"]
) -> _ResidualRows:
    samples = runs[part.run]
    low_pass, every = samples.plan.low_pass, samples.plan.every
    drifted = np.concatenate([np.zeros(model.n_inertial), deviation])
    predicted, rested, speed, single = [], [], [], []
    for segment in samples.segments:
        motion = segment.motion
        inside = (motion.t >= part.t_from) & (motion.t <= part.t_until)
        if np.count_nonzero(inside) < every:
            continue
        left = segment.tau - model.torque(motion, found.theta)
        own = model.joint_torque(motion, drifted)
        filtered = low_pass.thinned(left, every)
        centres = low_pass.half_length + every * np.arange(len(filtered))
        kept = inside[centres]
        predicted.append(filtered[kept])
        rested.append((filtered - low_pass.thinned(own, every))[kept])
        speed.append(np.abs(motion.dq[centres])[kept])
        single.append((left - own)[inside])
    return _ResidualRows(np.vstack(predicted), np.vstack(rested), np.vstack(speed), tuple(single))


def _friction_level(
    model: TorqueModel, runs: Sequence[Samples], theta: Float[Array, " n_params"]
) -> Float[Array, " n_dof"]:
    """Median size of each joint's friction, N·m or N."""
    alone = np.array(theta)
    alone[: model.n_inertial] = 0.0
    own = alone[model.n_inertial :].reshape(model.n_dof, -1)
    own[:, list(model.inertia_terms)] = 0.0
    torque = np.vstack([model.joint_torque(segment.motion, alone) for run in runs for segment in run.segments])
    return np.median(np.abs(torque), axis=0)


def _standstill(
    residual: Float[Array, "n_rows n_dof"], speed: Float[Array, "n_rows n_dof"], friction: Float[Array, " n_dof"]
) -> tuple[Float[Array, " n_dof"], Float[Array, " n_dof"]]:
    """Speed (rad/s or m/s) below which rows have a variance of their own, and their σ (N·m or N)."""
    typical = np.sqrt(np.mean(speed**2, axis=0))
    speeds = STANDSTILL_SPEEDS[len(STANDSTILL_SPEEDS) // 2] * typical
    resting, ratios = np.full(len(typical), np.nan), []
    for j, own in enumerate(residual.T):
        tried = [_two_variances(own, speed[:, j] <= share * typical[j]) for share in STANDSTILL_SPEEDS]
        gains = [gain if n_rows >= STANDSTILL_ROWS else -np.inf for n_rows, gain, _ in tried]
        best = int(np.argmax(gains))
        if np.isfinite(gains[best]):
            speeds[j] = STANDSTILL_SPEEDS[best] * typical[j]
            resting[j] = np.sqrt(tried[best][2])
            ratios.append(tried[best][2] / max(float(np.mean(own**2)), 1e-300))
    # A joint that hardly rested does as the others; where none did, stiction is anywhere between the signs of friction.
    usual = np.sqrt(np.mean(residual**2, axis=0))
    guessed = usual * np.sqrt(np.median(ratios)) if ratios else np.hypot(usual, friction / np.sqrt(3.0))
    return speeds, np.where(np.isfinite(resting), resting, guessed)


def _two_variances(residual: Float[Array, " n_rows"], slow: Bool[Array, " n_rows"]) -> tuple[int, float, float]:
    """Slow rows, what a variance of their own gains in log-likelihood, and that variance ((N·m)² or N²)."""
    n_slow, n_fast = int(np.count_nonzero(slow)), int(np.count_nonzero(~slow))
    if not n_slow or not n_fast:
        return n_slow, 0.0, 0.0
    v_slow, v_fast = float(np.mean(residual[slow] ** 2)), float(np.mean(residual[~slow] ** 2))
    v_all = (n_slow * v_slow + n_fast * v_fast) / (n_slow + n_fast)
    if not v_slow > v_fast > 0.0:
        return n_slow, 0.0, v_slow
    gain = 0.5 * ((n_slow + n_fast) * np.log(v_all) - n_slow * np.log(v_slow) - n_fast * np.log(v_fast))
    return n_slow, float(gain), v_slow


def _row_std(
    parts: Sequence[_Part],
    held_out: Sequence[_HeldOut],
    rows: Sequence[_ResidualRows],
    speed: Float[Array, " n_dof"],
    drift: Float[Array, "n_drifting n_drifting"],
) -> Float[Array, " n_dof"]:
    """σ of moving rows, N·m or N: what uncertain parameters and drift do not explain of the whole residual.

    So that noise, parameters and drift together have the power that held-out rows show, and none counts twice.
    """
    moving = [part.speed > speed for part in rows]
    count = np.maximum(np.sum([np.count_nonzero(kept, axis=0) for kept in moving], axis=0), 1)
    whole = sum(np.sum(np.where(m, p.predicted**2, 0.0), axis=0) for m, p in zip(moving, rows, strict=True)) / count
    least = sum(np.sum(np.where(m, p.rested**2, 0.0), axis=0) for m, p in zip(moving, rows, strict=True)) / count
    n_rows = np.array([part.n_rows for part in parts])
    n_others = len(parts) - 1
    explained = np.array(
        [
            found.spread + (1.0 + 1.0 / n_others) * np.einsum("jkl,kl->j", found.evidence.power, drift)
            for found in held_out
        ]
    )
    explained = np.sum(n_rows * explained, axis=0) / np.maximum(np.sum(n_rows, axis=0), 1.0)
    return np.sqrt(np.maximum(whole - explained, LEAST_NOISE * least))
