r"""Gauss–Newton on rollouts: base parameters that make simulated motions those that were measured (output error).

The log is cut into windows whose start is unknown, within what the measured state says (multiple shooting
[Bock1984]_). Each iteration makes the windows linear in the base parameters, with exact derivatives, eliminates the
starts (and the bias of the encoders, in closed loop) and adds what is left to the rows of the linear fit, which are the
prior. The semidefinite programme of the linear fit then gives the next, physically consistent parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.base_parameters import BaseParameters
from dynid.regression.feasible.feasible import Feasible
from dynid.regression.feasible.programme import solve
from dynid.regression.problem import Stacked
from dynid.regression.triangle import triangular
from dynid.simulation.arm import SimulatedArm, SimulatedRun
from dynid.simulation.roll_kernels import Feedback
from dynid.simulation.sensitivity import sensitivities

__all__ = ["Shot", "ShotState", "refined_parameters", "shot_cost", "shot_error", "with_misfit"]

ITERATIONS = 6
"""Gauss–Newton steps at most."""
SHARES = (1.0, 0.5, 0.25, 0.1)
"""Parts of a step that are tried until the cost falls."""
SETTLED = 1e-3
"""Relative fall of the cost below which the iteration ends."""
INDEPENDENT = 4.0
"""Independent rows that a joint has in a window: errors of a rollout grow together, a start, a drift and their bend."""
BIAS_STD = 0.02
"""What encoders may be off by before the data, rad or m."""
DELAY_STEPS = ((-1.0, -0.5, 0.5, 1.0), (-0.5, 0.5))
"""Changes of the command's delay that are tried in the first iterations, relative to the sampling time."""


@dataclass(frozen=True, eq=False)
class Shot:
    """One window of a log: what was measured, what drove it, and how well each is known (SI)."""

    q: Float[Array, "n_rows n_dof"]
    """Measured positions at its rows; the first is the start."""
    std: Float[Array, "n_rows n_dof"]
    """How far a rollout of the truth would be off there."""
    start: Float[Array, "2 n_dof"]
    """Measured position and velocity at the start."""
    start_std: Float[Array, "2 n_dof"]
    every: int
    """Steps of the simulation between two rows."""
    step: float
    """s"""
    tau: Float[Array, "n_steps n_dof"]
    """Torque of every step; empty in closed loop."""
    z: Float[Array, "n_dof n_lengths"] | None = None
    feedback: Feedback | None = None
    n_steps: int | None = None


@dataclass(frozen=True, eq=False)
class ShotState:
    """What is searched for: parameters, starts, bias and delay (SI)."""

    theta: Float[Array, " n_params"]
    starts: tuple[Float[Array, "2 n_dof"], ...]
    bias: Float[Array, " n_dof"]
    delay: float = 0.0
    """s, of the command in closed loop."""


def _run(arm: SimulatedArm, shot: Shot, state: ShotState, start: Array, *, traced: bool) -> SimulatedRun:
    return arm.run(
        start[0], start[1], shot.tau, shot.step, feedback=_feedback(shot, state), n_steps=shot.n_steps, z=shot.z,
        traced=traced,
    )  # fmt: skip


def _feedback(shot: Shot, state: ShotState) -> Feedback | None:
    return None if shot.feedback is None else shot.feedback._replace(bias=np.array(state.bias), delay=state.delay)


def _seen(shot: Shot, state: ShotState, run: SimulatedRun) -> Float[Array, "n_rows n_dof"]:
    """What the encoders would say at the rows."""
    return run.q[:: shot.every] + (0.0 if shot.feedback is None else state.bias)


def shot_error(arm: SimulatedArm, shot: Shot, state: ShotState, start: Array) -> Float[Array, "n_rows n_dof"]:
    """Measured minus simulated positions of a window (rad or m) that starts so; infinite after the arm ran away."""
    error = shot.q - _seen(shot, state, _run(arm, shot, state, start, traced=False))
    return np.where(np.isfinite(error), error, np.inf)


def shot_cost(arm: SimulatedArm, shots: Sequence[Shot], state: ShotState) -> float:
    """Squared errors of all windows over their noise, starts and bias included; infinite where one runs away."""
    moved = arm.with_theta(state.theta)
    total = float(np.sum((state.bias / BIAS_STD) ** 2))
    for shot, start in zip(shots, state.starts, strict=True):
        error = shot_error(moved, shot, state, start) / shot.std
        weight = INDEPENDENT / max(len(shot.q) - 1, 1)
        total += weight * float(np.sum(error[1:] ** 2)) + float(np.sum(((start - shot.start) / shot.start_std) ** 2))
    return total if np.isfinite(total) else np.inf


def with_misfit(arm: SimulatedArm, shots: Sequence[Shot], state: ShotState) -> list[Shot]:
    """The windows with what this state leaves of them (rad or m) counted beside their noise, by joint and row.

    No model repeats an arm as well as its encoders see it, and a log that was filtered before it was stored shows no
    noise at all. Variances that are estimated again from the residuals are maximum likelihood [Klein2006]_.
    """
    moved = arm.with_theta(state.theta)
    errors = [shot_error(moved, shot, state, start) for shot, start in zip(shots, state.starts, strict=True)]
    variance: dict[int, Float[Array, "n_rows n_dof"]] = {}
    # Logs of other rates have windows of other lengths.
    for n_rows in {len(shot.q) for shot in shots}:
        alike = np.array([error for error in errors if len(error) == n_rows])
        seen = np.isfinite(alike)
        total, count = np.sum(np.where(seen, alike, 0.0) ** 2, axis=0), np.maximum(np.sum(seen, axis=0), 1)
        variance[n_rows] = total / count
    return [replace(shot, std=np.sqrt(shot.std**2 + variance[len(shot.q)])) for shot in shots]


def _linear(
    arm: SimulatedArm, base: BaseParameters, shot: Shot, state: ShotState, start: Array
) -> tuple[Float[Array, "n_start _"], Float[Array, "n_left _"]]:
    """Triangular rows of a window: those that give its start, and those that are left for bias, β and error."""
    n, n_base = arm.model.n_dof, base.n_base
    run = _run(arm, shot, state, start, traced=True)
    feedback = _feedback(shot, state)
    found = sensitivities(arm, run, base, shot.step, every=shot.every, feedback=feedback)
    rows = min(len(found.q), len(shot.q))
    error = (shot.q - _seen(shot, state, run))[1:rows]
    weight = np.sqrt(INDEPENDENT / max(rows - 1, 1)) / shot.std[1:rows]
    J = found.q[1:rows] * weight[:, :, None]
    flat = J.reshape(-1, J.shape[2])
    columns = [
        flat[:, n_base : n_base + 2 * n],
        flat[:, n_base + 2 * n :],
        flat[:, :n_base],
        (weight * error).reshape(-1, 1),
    ]
    known = np.zeros((2 * n, 3 * n + n_base + 1))
    known[:, : 2 * n] = np.diag(1.0 / shot.start_std.ravel())
    known[:, -1] = ((shot.start - start) / shot.start_std).ravel()
    whole = triangular(np.vstack([known, np.column_stack(columns)]))
    return whole[: 2 * n], whole[2 * n :, 2 * n :]


def refined_parameters(
    arm: SimulatedArm,
    base: BaseParameters,
    shots: Sequence[Shot],
    prior: Stacked,
    estimator: Feasible,
    *,
    delay: float = 0.0,
    free_delay: float = 0.0,
) -> ShotState:
    """Parameters (SI) that make the windows what was measured, with the rows of the linear fit as prior.

    Args:
        arm: the linear fit.
        base: its base parameters.
        shots: windows of the log.
        prior: rows of the linear fit, in units of its noise.
        estimator: constraints, and what is known of the links.
        delay: of the command in closed loop, s.
        free_delay: a sampling time (s) where the delay is to be found too; 0 where it is known.
    """
    n = arm.model.n_dof
    state = ShotState(np.array(arm.theta), tuple(shot.start for shot in shots), np.zeros(n), delay)

    def cost(candidate: ShotState) -> float:
        rest = prior.R @ base.project(candidate.theta) - prior.rho
        return shot_cost(arm, shots, candidate) + float(rest @ rest)

    now = cost(state)
    for iteration in range(ITERATIONS):
        before = now
        tried = [state]
        if free_delay and iteration < len(DELAY_STEPS):
            tried += [replace(state, delay=max(state.delay + x * free_delay, 0.0)) for x in DELAY_STEPS[iteration]]
        # A delay is judged by what the parameters make of it, not by those of another delay.
        done = [_advanced(arm, base, shots, prior, estimator, one, cost(one), cost) for one in tried]
        state, now = min(done, key=lambda pair: pair[1])
        if not now < before * (1.0 - SETTLED):
            break
    return state


def _advanced(
    arm: SimulatedArm,
    base: BaseParameters,
    shots: Sequence[Shot],
    prior: Stacked,
    estimator: Feasible,
    state: ShotState,
    now: float,
    cost: Callable[[ShotState], float],
) -> tuple[ShotState, float]:
    """One Gauss–Newton step, as much of it as makes the cost fall."""
    n, beta = arm.model.n_dof, base.project(state.theta)
    here = arm.with_theta(state.theta)
    parts = [_linear(here, base, shot, state, start) for shot, start in zip(shots, state.starts, strict=True)]
    bias = np.zeros((n, n + base.n_base + 1))
    bias[:, :n], bias[:, -1] = np.eye(n) / BIAS_STD, -state.bias / BIAS_STD
    whole = triangular(np.vstack([bias, *(left for _, left in parts)]))
    for_bias, for_beta = whole[:n], whole[n:, n:]
    rows = np.column_stack([for_beta[:, :-1], for_beta[:, -1] + for_beta[:, :-1] @ beta])
    joined = triangular(np.vstack([np.column_stack([prior.R, prior.rho]), rows]))
    n_base = base.n_base
    found = solve(
        joined[:n_base, :n_base], joined[:n_base, -1], arm.model, base, estimator.constraints, prior=estimator.prior,
        residual=float(joined[n_base:, -1] @ joined[n_base:, -1]), solver=estimator.solver,
    )  # fmt: skip
    if not np.all(np.isfinite(found.theta)):
        return state, now
    change = base.project(found.theta) - beta
    off = np.linalg.solve(for_bias[:, :n], for_bias[:, -1] - for_bias[:, n:-1] @ change)
    moves = []
    for for_start, _ in parts:
        right = for_start[:, -1] - for_start[:, 2 * n : 3 * n] @ off - for_start[:, 3 * n : -1] @ change
        moves.append(np.linalg.solve(for_start[:, : 2 * n], right).reshape(2, n))
    for share in SHARES:
        tried = ShotState(
            state.theta + share * (found.theta - state.theta),
            tuple(start + share * move for start, move in zip(state.starts, moves, strict=True)),
            state.bias + share * off,
            state.delay,
        )
        there = cost(tried)
        if there < now:
            return tried, there
    return state, now
