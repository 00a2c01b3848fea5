"""Rows for the search of friction curves: rigid columns once, friction columns of a candidate whenever asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, ArrayLike, Float, Int
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.joint_model import JointModel
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import RegressionError
from dynid.recording.conditioning import Samples, Segment
from dynid.recording.filters import LowPass

__all__ = ["FrictionRows", "check_reversals", "friction_rows", "never_reversing"]

N_FOLDS = 6
"""Parts of the logs, equally long, that are left out of the fit in turn."""
MAX_ROWS = 4000
"""Rows of a joint that the search of curves uses at most; longer logs are thinned evenly for it."""
MAX_SAMPLES = 200_000
"""Samples that curves are computed on at most; of longer logs the search uses the first part of each segment."""
SEARCH_RATE = 40.0
"""Samples per second over the cut-off frequency that the search computes curves on: far above what the low-pass lets
through of any of them. A log of 1 kHz has five times as many."""
MIN_SHARE = 0.02
"""Share of a joint's moving samples that must go each way before it counts as reversing."""


@dataclass(frozen=True, eq=False)
class FrictionRows:
    """Low-passed rows of every drive, with the rigid columns, its torque, and the fold each belongs to.

    Where joints are coupled, a row is that of a motor: there friction acts on its own row only.
    """

    model: TorqueModel
    """Links and rotors, without friction."""
    base: BaseParameters | None
    """Base parameters that are fitted together with friction; None where the links are known."""
    samples: tuple[Samples, ...]
    thin: int
    """One conditioned row in this many is used."""
    Y: tuple[Float[Array, "_ _"], ...]
    """Rigid columns of each drive; no columns where the links are known."""
    tau: tuple[Float[Array, " _"], ...]
    """What the columns shall explain, N·m or N; without the torque of the links where those are known."""
    power: Float[Array, " n_dof"]
    """Mean of the squared measured torque of each drive, (N·m)² or N²."""
    fold: tuple[Int[Array, " _"], ...]
    """Which part of the logs each row belongs to, 0 … `N_FOLDS` − 1."""
    keep: tuple[Float[Array, " _"], ...]
    """For each drive 1 at the rows that are used, 0 at those too slow."""
    block: tuple[Int[Array, " _"], ...]
    """Which block of time each row belongs to; blocks are long against the memory of the noise."""
    prior: Float[Array, "n_base n_base_and_one"] | None = None
    """What is known of the base parameters before, as further rows in units of the noise, torque last."""

    @property
    def n_dof(self) -> int:
        """Number of drives."""
        return self.model.n_dof

    @cached_property
    def speed(self) -> Float[Array, " n_dof"]:
        """Largest speed of each drive, rad/s or m/s."""
        largest = [np.max(np.abs(self._drives(s.motion.dq)), axis=0) for log in self.samples for s in log.segments]
        return np.maximum(np.max(largest, axis=0), 1e-9)

    @cached_property
    def travel(self) -> Float[Array, " n_dof"]:
        """Range that each drive travels, rad or m."""
        q = [self._drives(segment.motion.q) for log in self.samples for segment in log.segments]
        span = np.max([x.max(axis=0) for x in q], axis=0) - np.min([x.min(axis=0) for x in q], axis=0)
        return np.maximum(span, 1e-9)

    def _drives(self, values: Float[Array, "n_samples n_dof"]) -> Float[Array, "n_samples n_dof"]:
        C = self.model.robot.transmission
        return values if C is None else values @ C.T

    def columns(self, friction: JointModel) -> tuple[Float[Array, "_ _"], ...]:
        """Low-passed columns of a friction model (SI) for each drive, at the rows that are used."""
        model = TorqueModel(self.model.robot, (friction,))
        n_terms = len(friction.terms)
        pieces = []
        for samples in self.samples:
            low_pass, every = samples.plan.low_pass, samples.plan.every * self.thin
            for segment in samples.segments:
                flat = model.joint_columns(segment.motion).reshape(segment.motion.n_samples, -1)
                pieces.append(low_pass.thinned(np.ascontiguousarray(flat), every))
        whole = np.concatenate(pieces).reshape(-1, self.n_dof, n_terms)
        return tuple(whole[self.keep[j] > 0.0, j] for j in range(self.n_dof))

    def torque(self, shift: float) -> tuple[Float[Array, " _"], ...]:
        """Torque of each drive (N·m or N), low-passed, at the rows that are used, logged `shift` s later.

        Only for rows whose links are fitted, not known. Nothing is known beyond the ends of a segment: the last value
        stands there.
        """
        C = self.model.robot.transmission
        pieces = []
        for samples in self.samples:
            low_pass, every = samples.plan.low_pass, samples.plan.every * self.thin
            for segment in samples.segments:
                t = segment.motion.t
                later = np.column_stack([np.interp(t + shift, t, column) for column in segment.tau.T])
                rows = low_pass.thinned(later, every)
                pieces.append(rows if C is None else np.linalg.solve(C.T, rows.T).T)
        whole = np.concatenate(pieces)
        return tuple(whole[self.keep[j] > 0.0, j] for j in range(self.n_dof))


def friction_rows(
    model: TorqueModel,
    base: BaseParameters | None,
    samples: Sequence[Samples],
    theta: ArrayLike | None = None,
) -> FrictionRows:
    """Rows (N·m or N) for the search of friction curves.

    Args:
        model: links and rotors, without friction.
        base: its base parameters, to be fitted with the friction; None where `theta` is known.
        samples: conditioned logs.
        theta: known parameters of `model` (SI), whose torque is taken off.

    Raises:
        RegressionError: a joint has hardly any rows.
    """
    samples = [_leading(log, MAX_SAMPLES / sum(each.n_samples for each in samples)) for log in samples]
    if theta is None:
        samples = [_slower(log) for log in samples]
    longest = sum(len(s.tau) // log.plan.every for log in samples for s in log.segments)
    thin = max(1, longest // MAX_ROWS)
    C = model.robot.transmission
    independent = np.zeros(0, dtype=np.int64) if base is None else base.independent
    Y_parts, tau_parts, measured, fast, time_of = [], [], [], [], []
    offset = 0.0
    for log in samples:
        low_pass, every = log.plan.low_pass, log.plan.every * thin
        for segment in log.segments:
            motion = segment.motion
            known = segment.tau if theta is None else segment.tau - model.torque(motion, theta)
            rows = low_pass.thinned(np.ascontiguousarray(known), every)
            Y = np.zeros((len(rows), model.n_dof, len(independent)))
            if len(independent):
                whole = model.regressor(motion)[:, :, independent]
                for j in range(model.n_dof):
                    Y[:, j] = low_pass.thinned(np.ascontiguousarray(whole[:, j]), every)
            full = low_pass.thinned(np.ascontiguousarray(segment.tau), every)
            centres = low_pass.half_length + every * np.arange(len(rows))
            if C is not None:
                # τ = Cᵀτ_motor, so rows of motors are C⁻ᵀ times rows of joints.
                Y = np.linalg.solve(C.T, Y.reshape(len(Y), model.n_dof, -1)) if Y.size else Y
                rows, full = np.linalg.solve(C.T, rows.T).T, np.linalg.solve(C.T, full.T).T
            Y_parts.append(Y)
            tau_parts.append(rows)
            measured.append(full)
            fast.append(np.abs(motion.dq[centres]) >= log.plan.min_velocity)
            time_of.append(offset + motion.t[centres] - motion.t[0])
            offset = time_of[-1][-1] if len(centres) else offset
    Y_all, tau_all, keep = np.concatenate(Y_parts), np.concatenate(tau_parts), np.concatenate(fast)
    time = np.concatenate(time_of)
    share = (time - time[0]) / max(time[-1] - time[0], 1e-9)
    fold = np.minimum((share * N_FOLDS).astype(np.int64), N_FOLDS - 1)
    low_pass = samples[0].plan.low_pass
    memory = 10.0 / low_pass.cutoff_hz if low_pass.active else 32.0 / low_pass.rate_hz
    n_blocks = int(np.clip((time[-1] - time[0]) / memory, 12, 200))
    block = np.minimum((share * n_blocks).astype(np.int64), n_blocks - 1)
    few = [model.robot.joint_names[j] for j in range(model.n_dof) if np.count_nonzero(keep[:, j]) < 4 * N_FOLDS]
    if few:
        raise RegressionError(f"hardly any rows for friction of {', '.join(few)}; log longer or lower min_velocity")
    joints = range(model.n_dof)
    return FrictionRows(
        model=model,
        base=base,
        samples=tuple(samples),
        thin=thin,
        Y=tuple(Y_all[keep[:, j], j] for j in joints),
        tau=tuple(tau_all[keep[:, j], j] for j in joints),
        power=np.array([np.mean(np.concatenate(measured)[keep[:, j], j] ** 2) for j in joints]),
        fold=tuple(fold[keep[:, j]] for j in joints),
        keep=tuple(keep[:, j].astype(float) for j in joints),
        block=tuple(block[keep[:, j]] for j in joints),
    )


def _leading(samples: Samples, share: float) -> Samples:
    """The first part of every segment, at least as long as the low-pass needs for some rows."""
    if share >= 1.0:
        return samples
    least = 2 * samples.plan.low_pass.half_length + 100 * samples.plan.every
    segments = []
    for segment in samples.segments:
        stop = min(max(round(share * len(segment.tau)), least), len(segment.tau))
        segments.append(Segment(segment.motion.part(0, stop), segment.tau[:stop]))
    return replace(samples, segments=tuple(segments))


def _slower(samples: Samples) -> Samples:
    """The same with fewer samples a second, where there are far more than the low-pass needs.

    Torque is averaged over the samples that each one stands for; the motion has nothing beyond the low-pass.
    """
    plan = samples.plan
    step = int(plan.low_pass.rate_hz / (SEARCH_RATE * plan.low_pass.cutoff_hz)) if plan.low_pass.active else 1
    # An odd number, so that a sample stands in the middle of what it stands for.
    step = min(step, plan.every)
    step -= 1 - step % 2
    if step < 3:
        return samples
    low_pass = LowPass(plan.low_pass.cutoff_hz, plan.low_pass.rate_hz / step, plan.low_pass.attenuation_db)
    segments = []
    for segment in samples.segments:
        motion, count = segment.motion, segment.motion.n_samples // step
        middle = step // 2 + step * np.arange(count)
        tau = segment.tau[: count * step].reshape(count, step, -1).mean(axis=1)
        segments.append(Segment(Motion(motion.t[middle], motion.q[middle], motion.dq[middle], motion.ddq[middle]), tau))
    slower = replace(plan, low_pass=low_pass, every=max(1, plan.every // step))
    return replace(samples, segments=tuple(segments), plan=slower)


def never_reversing(samples: Sequence[Samples]) -> tuple[str, ...]:
    """Names of the joints that move one way only (or not at all): dry friction and a constant look the same there."""
    names = samples[0].joint_names
    dq = np.concatenate([segment.motion.dq for log in samples for segment in log.segments])
    found = []
    for j, name in enumerate(names):
        largest = float(np.max(np.abs(dq[:, j])))
        moving = dq[np.abs(dq[:, j]) > 0.01 * largest, j] if largest > 0.0 else np.zeros(0)
        ways = (np.mean(moving > 0.0), np.mean(moving < 0.0)) if len(moving) else (0.0, 0.0)
        if min(ways) < MIN_SHARE:
            found.append(name)
    return tuple(found)


def check_reversals(samples: Sequence[Samples], models: Sequence[JointModel]) -> None:
    """Refuse friction with dry and constant parts for joints that never reverse.

    Raises:
        RegressionError: naming the joints.
    """
    if not {"dry", "constant"} <= {kind for model in models for kind in model.kinds}:
        return
    still = never_reversing(samples)
    if still:
        raise RegressionError(
            f"{samples[0].source}: {', '.join(still)} never reverses, so Coulomb friction and offset cannot be told "
            "apart; move it both ways, or leave offset out"
        )
