"""`refine="rollout"`: after the linear fit, parameters that make simulated motions those that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.errors import ConfigError, ParameterError
from dynid.recording.conditioning import Samples, Segment
from dynid.recording.recording import Recording
from dynid.regression.estimate import Estimate, Estimator, full_estimate
from dynid.regression.feasible.feasible import Feasible
from dynid.regression.model import IdentifiedModel
from dynid.regression.problem import Regression
from dynid.simulation.arm import LONGEST_STEP, SimulatedArm
from dynid.simulation.joint_controller import JointController, read_controller
from dynid.validation.rollout import Windows, noisier, open_loop, window_starts
from dynid.workflow.contract import ChosenJson
from dynid.workflow.fitting import FittedRows, simulator_friction
from dynid.workflow.identify_job import IdentifyJob
from dynid.workflow.logs import Log
from dynid.workflow.progress import Progress
from dynid.workflow.references import Drive, asked_reference, commanded_log
from dynid.workflow.rolling import roll_out
from dynid.workflow.rollout_result import ModelRollout
from dynid.workflow.shooting import Shot, ShotState, refined_parameters, shot_error, with_misfit

__all__ = [
    "DrivenLogs",
    "Refinement",
    "driven_logs",
    "for_simulator",
    "open_shots",
    "refined_estimate",
    "refined_fit",
    "simulated_logs",
]

HORIZON = 0.5
"""Length of open-loop windows, s: long enough for inertia and friction to show, short enough to be almost linear."""
CLOSED_HORIZON = 2.0
"""Length of closed-loop windows, s: the controller keeps them near."""
ROW = 0.02
"""Time between the rows of a window, s."""
COMMANDED = 0.05
"""Weight of rows whose torque is a command that nobody measured, against measured ones: they hang on its delay."""
HELD_OUT = 0.25
"""Share of the training log whose windows decide, where there is no held-out log."""
PASSES = 3
"""Fits of open-loop windows, each with the variances that the one before left: the third changes them little."""
MOST_SHOTS = 60
"""Windows that are fitted at most, spread evenly."""
MOST_LOOPS = 12
"""Closed-loop windows that are fitted at most: they are longer, and every delay is tried on them."""
OWN = "this model"
"""What the identified model is called beside the robot file."""
STATE_MARGIN = 2.0
"""Standard deviation of a start over that of the noise in it: a low-pass bends what it smooths."""


@dataclass(frozen=True, eq=False)
class Refinement:
    """What Gauss–Newton on rollouts did."""

    estimate: Estimate
    """The refined estimate (SI), or the linear one where held-out rollouts did not improve."""
    reason: str
    """What it gained, or why it was not taken."""
    change_percent: float
    """What it makes of the error of held-out rollouts, %; negative is a gain."""
    bias: Float[Array, " n_dof"] | None = None
    """What the encoders are off by, rad or m; closed loop alone."""
    delay: float = 0.0
    """Delay of the command, s; closed loop alone."""


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """A training log whose windows are simulated (SI)."""

    recording: Recording
    """As read."""
    samples: Samples
    """Conditioned."""
    drive: Drive | None = None
    """Controller and reference, for closed-loop windows; None for open-loop ones."""


def refined_fit(
    estimate: Estimate,
    estimator: Estimator,
    regression: Regression,
    runs: Sequence[TrainingRun],
    held_out: Sequence[Samples],
    progress: Progress,
) -> Refinement:
    """The linear fit refined on rollouts, where held-out rollouts improve.

    Args:
        estimate: the linear fit.
        estimator: how it was made; full, physically consistent parameters are needed.
        regression: its rows, which are the prior.
        runs: the training logs; closed-loop windows where they say what drove them.
        held_out: other logs, conditioned; without any, the last quarter of each training log decides.
        progress: hears what is being done.

    Raises:
        ConfigError: an estimator without links, or friction that cannot be simulated.
    """
    if not isinstance(estimator, Feasible) or estimate.theta is None:
        raise ConfigError("`refine` rollout needs full, physically consistent parameters: use the estimator feasible")
    drive = runs[0].drive
    fastest = max(float(np.max(np.abs(part.motion.dq))) for run in runs for part in run.samples.segments)
    try:
        arm = SimulatedArm.of(estimate.model, estimate.theta, fastest)
    except ParameterError as error:
        raise ConfigError(f"`refine` rollout: {error}") from error
    plain = np.ones(arm.model.n_dof) if estimate.weights is None else estimate.weights
    weights = plain if estimate.belief is None else estimate.belief.weights
    prior = regression.stacked(weights * (1.0 if drive is None else COMMANDED))
    shots, rest = _divided(arm, runs, whole=bool(held_out) and drive is None)
    fitted = _spread(shots, MOST_SHOTS if drive is None else MOST_LOOPS)
    progress("refining on rollouts")
    period = 0.0 if drive is None else 1.0 / (drive.controller.rate_hz or runs[0].recording.rate_hz)
    delay = 0.0 if drive is None else drive.controller.delay
    if drive is None:
        state = ShotState(np.array(estimate.theta), tuple(shot.start for shot in fitted), np.zeros(arm.model.n_dof))
        for _ in range(PASSES):
            weighed = with_misfit(arm, fitted, state)
            state = refined_parameters(arm.with_theta(state.theta), estimate.base, weighed, prior, estimator)
    else:
        state = refined_parameters(arm, estimate.base, fitted, prior, estimator, delay=delay, free_delay=period)
    if drive is None:
        last = held_out or [run.samples for run in runs]
        before, after = (_open_error(arm.with_theta(t), last, bool(held_out)) for t in (estimate.theta, state.theta))
    else:
        start = ShotState(np.array(estimate.theta), (), np.zeros(arm.model.n_dof), delay)
        before, after = (_closed_error(arm, rest or fitted, s) for s in (start, state))
    change = 100.0 * (after / before - 1.0) if before > 0.0 else 0.0
    told = f"held-out rollouts {1e3 * before:.3g} → {1e3 * after:.3g} mrad or mm"
    if not after < before:
        return Refinement(estimate, f"refinement on rollouts not taken: {told}", change)
    done = full_estimate(
        estimator, regression, state.theta, weights=plain, status=estimate.status, labels=estimate.labels,
        rule=f"{estimate.rule}; refined on rollouts" if estimate.rule else "refined on rollouts",
        belief=estimate.belief,
    )  # fmt: skip
    if drive is None:
        return Refinement(done, f"refined on rollouts: {told}", change)
    biases = ", ".join(f"{1e3 * x:.2g}" for x in state.bias)
    extra = f"; the command is late by {1e3 * state.delay:.3g} ms, encoders are off by {biases} mrad or mm"
    return Refinement(done, f"refined on rollouts: {told}{extra}", change, state.bias, state.delay)


def _divided(arm: SimulatedArm, runs: Sequence[TrainingRun], *, whole: bool) -> tuple[list[Shot], list[Shot]]:
    """Windows of every log (SI) to fit, and those of its last quarter; all are fitted where other logs decide."""
    fitted: list[Shot] = []
    rest: list[Shot] = []
    for run in runs:
        shots = open_shots(arm, run.recording, run.samples) if run.drive is None else _closed_shots(arm, run)
        keep = len(shots) if whole else max(1, round((1.0 - HELD_OUT) * len(shots)))
        fitted += shots[:keep]
        rest += shots[keep:]
    if not fitted and runs[0].drive is not None:
        raise ConfigError(f"{runs[0].recording.source}: too short for a closed-loop window of {CLOSED_HORIZON:g} s")
    return fitted, rest


def for_simulator(job: IdentifyJob, robot: Robot) -> IdentifyJob:
    """The job with the friction that the robot file's simulator applies, where rollouts are the purpose and none is
    typed: what an export would have to refit must not be refined."""
    simulator = simulator_friction(robot)
    if not job.fit.is_for_simulator or not job.fit.is_automatic or simulator is None:
        return job
    rotors = True if job.fit.rotor_inertia is None else job.fit.rotor_inertia
    return replace(job, fit=replace(job.fit, friction=f"viscous+{simulator}", rotor_inertia=rotors))


@dataclass(frozen=True, eq=False)
class DrivenLogs:
    """The logs of a job, the command of a known controller in place of torque where there is none."""

    logs: tuple[Log, ...]
    held_out: tuple[Log, ...]
    drives: tuple[Drive, ...] = ()
    """What drove each training log, then each held-out one; empty without a controller."""
    is_bare: tuple[bool, ...] = ()
    """Of which the torque was not measured, in the same order; empty without a controller."""

    @property
    def drive(self) -> Drive | None:
        """What drove the first log, where its torque was not measured."""
        return self.drives[0] if self.is_bare[:1] == (True,) else None


def driven_logs(job: IdentifyJob, logs: tuple[Log, ...], held_out: tuple[Log, ...]) -> DrivenLogs:
    """The logs (SI) with what drove them, where a controller is given."""
    if job.controller is None:
        return DrivenLogs(logs, held_out)
    given, before = job.controller, (*logs, *held_out)
    known = given if isinstance(given, JointController) else read_controller(given, logs[0].robot)
    drives = tuple(Drive(known, asked_reference(known, log, job.reference)) for log in before)
    done = tuple(commanded_log(log, known, drive.reference) for log, drive in zip(before, drives, strict=True))
    bare = tuple(after is not log for log, after in zip(before, done, strict=True))
    return DrivenLogs(done[: len(logs)], done[len(logs) :], drives, bare)


def simulated_logs(
    job: IdentifyJob, model: IdentifiedModel, driven: DrivenLogs, progress: Progress
) -> tuple[ModelRollout, ...]:
    """Rollouts of the held-out logs, or of the first training log without any, where a simulator is the purpose."""
    if not job.fit.is_for_simulator:
        return ()
    n_fitted = len(driven.logs)
    chosen = range(n_fitted, n_fitted + len(driven.held_out)) if driven.held_out else range(1)
    found = []
    for k in chosen:
        log = (*driven.logs, *driven.held_out)[k]
        drive = driven.drives[k] if driven.drives else None
        measured = not (driven.is_bare and driven.is_bare[k])
        found.append(
            roll_out([(OWN, model)], log.name, log.first_piece(), has_torque=measured, drive=drive, progress=progress)
        )
    return tuple(found)


def refined_estimate(
    job: IdentifyJob,
    estimate: Estimate,
    fit: FittedRows,
    driven: DrivenLogs,
    progress: Progress,
) -> tuple[Estimate, tuple[ChosenJson, ...]]:
    """What Gauss–Newton on rollouts makes of a linear fit (SI), where it is asked for, and what that gained."""
    if not job.fit.refines:
        return estimate, ()
    plan, estimator = fit.samples.plan, job.fit.made_estimator(job.seed)
    runs = [
        TrainingRun(log.first_piece(), samples, driven.drives[k] if driven.is_bare and driven.is_bare[k] else None)
        for k, (log, samples) in enumerate(zip(driven.logs, fit.runs, strict=True))
        if not driven.is_bare or driven.is_bare[k] == driven.is_bare[0]
    ]
    others = [] if driven.drive is not None else [plan.apply(log.first_piece()) for log in driven.held_out]
    done = refined_fit(estimate, estimator, fit.regression, runs, others, progress)
    taken = "rollout" if done.estimate is not estimate else "none"
    told: ChosenJson = {
        "setting": "refine",
        "joint": None,
        "value": taken,
        "change_percent": done.change_percent,
        "reason": done.reason,
    }
    return done.estimate, (told,)


def _spread(shots: Sequence[Shot], most: int) -> list[Shot]:
    chosen = np.unique(np.linspace(0, len(shots) - 1, min(len(shots), most)).round().astype(int))
    return [shots[k] for k in chosen]


def open_shots(arm: SimulatedArm, recording: Recording, samples: Samples) -> list[Shot]:
    """Windows one after the other, with what noise does to them: that of a log with as much noise again."""
    noisy = noisier(recording, samples)
    rate, model = samples.plan.low_pass.rate_hz, arm.model
    n_steps = max(1, int(np.ceil(1.0 / rate / LONGEST_STEP - 1e-6)))
    stride = max(1, round(ROW * rate))
    n_rows = max(2, round(HORIZON * rate / stride))
    found, drift, starts = [], [], []
    for segment, other in zip(samples.segments, noisy.segments, strict=True):
        states = model.joint_states(segment.motion) if model.has_memory else None
        for k in range(0, segment.motion.n_samples - n_rows * stride, n_rows * stride):
            rows = slice(k, k + n_rows * stride + 1)
            z = None if states is None else states[k]
            tau, disturbed = (_steps(part.tau[rows], n_steps) for part in (segment, other))
            q, dq = segment.motion.q[k], segment.motion.dq[k]
            step = 1.0 / rate / n_steps
            both = [arm.run(q, dq, push, step, z=z).q[:: stride * n_steps] for push in (tau, disturbed)]
            drift.append(both[1] - both[0])
            starts.append(np.array([other.motion.q[k] - q, other.motion.dq[k] - dq]))
            found.append((segment.motion.q[rows][::stride], np.array([q, dq]), tau, z, step))
    pairs = zip(samples.segments, noisy.segments, strict=True)
    noise = _rms([other.motion.q - segment.motion.q for segment, other in pairs])
    finite = np.where(np.isfinite(drift), drift, 0.0)
    std = np.hypot(np.sqrt(np.mean(finite**2, axis=0)), noise) + 1e-7
    start_std = STATE_MARGIN * np.sqrt(np.mean(np.array(starts) ** 2, axis=0)) + 1e-7
    return [Shot(q, std, start, start_std, stride * n_steps, step, tau, z) for q, start, tau, z, step in found]


def _closed_shots(arm: SimulatedArm, run: TrainingRun) -> list[Shot]:
    """Windows under the controller, each from a command on."""
    recording, drive = run.recording, run.drive
    assert drive is not None
    segment: Segment = max(run.samples.segments, key=lambda s: s.motion.n_samples)
    motion, robot = segment.motion, arm.model.robot
    period, steps = drive.controller.ticks(recording.rate_hz, LONGEST_STEP)
    step = period / steps
    noise = np.sqrt(np.mean(np.diff(recording.q, 4, axis=0) ** 2, axis=0) / 70.0) + 1e-6
    per_row = max(1, round(ROW / period)) * steps
    n_rows = max(2, round(CLOSED_HORIZON / (per_row * step)))
    n_ticks = n_rows * per_row // steps
    inside = drive.reference.t[(drive.reference.t >= motion.t[0]) & (drive.reference.t <= motion.t[-1])]
    shots = []
    every = max(1, round(n_ticks * period * recording.rate_hz))
    for first in inside[::every].tolist():
        times = first + per_row * step * np.arange(n_rows + 1)
        if times[-1] > motion.t[-1]:
            break
        q = np.column_stack([np.interp(times, motion.t, x) for x in motion.q.T])
        start = np.array([[np.interp(first, motion.t, x) for x in part.T] for part in (motion.q, motion.dq)])
        feedback = drive.controller.feedback(
            robot, drive.reference.t, drive.reference.q, first, n_ticks + 1, period, steps
        )
        # The first commands of a window were decided before it: its start is known only roughly.
        start_std = np.array([10.0 * noise, 10.0 * noise * recording.rate_hz / 5.0])
        z = None
        if arm.model.has_memory:
            at = int(np.searchsorted(motion.t, first))
            z = arm.model.joint_states(motion)[min(at, motion.n_samples - 1)]
        std = np.tile(noise, (n_rows + 1, 1))
        nothing = np.zeros((0, robot.n_dof))
        shots.append(Shot(q, std, start, start_std, per_row, step, nothing, z, feedback, n_ticks * steps))
    return shots


def _steps(tau: Float[Array, "n_samples n_dof"], n_steps: int) -> Float[Array, "n_steps n_dof"]:
    share = (np.arange(n_steps) + 0.5) / n_steps
    return (tau[:-1, None] + share[None, :, None] * (tau[1:] - tau[:-1])[:, None]).reshape(-1, tau.shape[1])


def _rms(parts: Sequence[Array]) -> Float[Array, " n_dof"]:
    return np.sqrt(np.mean(np.concatenate(parts) ** 2, axis=0))


def _open_error(arm: SimulatedArm, logs: Sequence[Samples], whole: bool) -> float:
    """RMS error (rad or m) of rollouts over 0.5 s, in other logs or in the last quarter of the training log."""
    found = []
    for samples in logs:
        windows = window_starts(samples, HORIZON)
        first = 0 if whole else round((1.0 - HELD_OUT) * len(windows.starts))
        chosen = Windows(windows.starts[first:] or windows.starts, windows.n_samples)
        rolled = open_loop(arm, arm.model, samples, chosen, diverging=False)
        found.append(np.mean(rolled.rms(float(rolled.t[-1])) ** 2))
    return float(np.sqrt(np.mean(found)))


def _closed_error(arm: SimulatedArm, shots: Sequence[Shot], state: ShotState) -> float:
    """RMS error (rad or m) of closed-loop windows that start as measured."""
    moved = arm.with_theta(state.theta)
    errors = []
    for shot in shots:
        start = np.array([shot.start[0] - state.bias, shot.start[1]])
        errors.append(np.mean(shot_error(moved, shot, state, start) ** 2))
    return float(np.sqrt(np.mean(errors)))
