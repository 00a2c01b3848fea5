r"""How a simulated motion depends on base parameters, start and encoder bias: derivatives of the steps themselves.

Every part of a step solves :math:`r(u) = \mathrm{ID}(q_m, \dot q_m, (u - v)/h) + f(u, v, z) - \tau = 0` for the joints
that slide, and :math:`u_j = 0` for those that stick. Its derivative is propagated from step to step (forward
sensitivities). That of inverse dynamics comes from the adjoint of the regressor, in batches over all steps; only the
gear load of `load` friction counts as given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, no_type_check

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.kernels.adjoint import pull_back
from dynid.dynamics.kernels.ready import fill_regressor
from dynid.dynamics.kernels.stored import njit
from dynid.simulation.arm import SimulatedArm, SimulatedRun, no_feedback
from dynid.simulation.arm_kernels import factor, solve_factored
from dynid.simulation.roll_kernels import Feedback, StepTrace

__all__ = ["Sensitivities", "sensitivities"]

inner: Any = njit(cache=True, nogil=True, fastmath={"contract"})
CHUNK = 256
"""Parts of steps whose derivatives are computed at a time."""


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Derivatives of positions after every step (rad or m per unit)."""

    q: Float[Array, "n_kept n_dof n_columns"]
    """Columns: base parameters, then start positions, start velocities and encoder biases, n_dof each."""
    steps: Float[Array, " n_kept"]
    """The steps after which they stand; 0 is the start."""


@inner
@no_type_check
def _propagate(
    step, h, span, side, Gq, Gv, M, slope, by_speed, by_state, forget, by_path, Y, feedback, every, n, P, n_steps, out
):
    """Fill out[row] with the derivatives of q after every `every`-th step."""
    n_base = Y.shape[2]
    n_z = forget.shape[2]
    Sq, Sv, last, Sm, Sw, rhs = np.zeros((6, n, P))
    new = np.empty((n, P))
    Z = np.zeros((n, max(n_z, 1), P))
    A, column = np.empty((n, n)), np.empty(n)
    closed = feedback.position.shape[0] > 0
    commands = np.zeros((n_steps // max(feedback.steps, 1) + 1 if closed else 1, n, P if closed else 1))
    for j in range(n):
        Sq[j, n_base + j] = 1.0
        Sv[j, n_base + n + j] = 1.0
        last[j, n_base + n + j] = 1.0
    out[0] = Sq
    at = -1
    tick = 0
    for k in range(step.shape[0]):
        if step[k] != at:
            if at >= 0 and (at + 1) % every == 0 and (at + 1) // every < out.shape[0]:
                out[(at + 1) // every] = Sq
            at = step[k]
            if closed and at % feedback.steps == 0:
                for j in range(n):
                    for p in range(P):
                        commands[at // feedback.steps, j, p] = -feedback.kp[j] * Sq[j, p] - feedback.kd[j] * Sv[j, p]
                    commands[at // feedback.steps, j, n_base + 2 * n + j] -= feedback.kp[j]
            if closed:
                tick = max(int(np.floor(((at + 0.5) * span - feedback.delay) / feedback.period + 1e-9)), 0)
            for j in range(n):
                for p in range(P):
                    Sm[j, p] = Sq[j, p] + 0.5 * span * Sv[j, p]
                    Sw[j, p] = 1.5 * Sv[j, p] - 0.5 * last[j, p]
                    last[j, p] = Sv[j, p]
        for j in range(n):
            if side[k, j] == 0:
                for p in range(P):
                    rhs[j, p] = 0.0
                continue
            for p in range(P):
                rhs[j, p] = -by_speed[k, j] * Sv[j, p]
                if closed:
                    rhs[j, p] += commands[tick, j, p]
            for p in range(n_base):
                rhs[j, p] -= Y[k, j, p]
            for i in range(n):
                a, b, c = Gq[k, j, i], Gv[k, j, i], M[k, j, i] / h[k]
                for p in range(P):
                    rhs[j, p] += c * Sv[i, p] - a * Sm[i, p] - b * Sw[i, p]
            for s in range(n_z):
                for p in range(P):
                    rhs[j, p] -= by_state[k, j, s] * Z[j, s, p]
        for j in range(n):
            for i in range(j + 1):
                A[j, i] = 0.0 if side[k, j] == 0 or side[k, i] == 0 else M[k, j, i] / h[k]
            if side[k, j] == 0:
                A[j, j] = 1.0
            else:
                A[j, j] += slope[k, j]
        factor(A)
        for p in range(P):
            for j in range(n):
                column[j] = rhs[j, p]
            solve_factored(A, column)
            for j in range(n):
                new[j, p] = column[j]
        for j in range(n):
            for p in range(P):
                path = 0.5 * h[k] * (Sv[j, p] + new[j, p])
                Sq[j, p] += path
                for s in range(n_z):
                    Z[j, s, p] = forget[k, j, s] * Z[j, s, p] + by_path[k, j, s] * path
                Sv[j, p] = new[j, p]
    if at >= 0 and (at + 1) % every == 0 and (at + 1) // every < out.shape[0]:
        out[(at + 1) // every] = Sq


def sensitivities(
    arm: SimulatedArm,
    run: SimulatedRun,
    base: BaseParameters,
    step: float,
    *,
    every: int = 1,
    feedback: Feedback | None = None,
) -> Sensitivities:
    """Derivatives of a traced run's positions (rad or m) by base parameters, start and encoder bias.

    Args:
        arm: what was simulated.
        run: the run, with its trace.
        base: which parameters are the leading ones.
        step: length of a step in s.
        every: steps between two rows of the result.
        feedback: the controller, where there was one.
    """
    assert run.trace is not None, "derivatives need a traced run"
    count = int(run.trace.filled[0])
    trace = _filled(run.trace, count)
    n, n_base = arm.model.n_dof, base.n_base
    a = (trace.after - trace.before) / trace.h[:, None]
    Gq, Gv, M = _inverse_dynamics(arm, trace, a)
    own = _joint_terms(arm, trace, a)
    Y = np.zeros((count, n, arm.model.n_params))
    fill_regressor(arm.model.chain, trace.q, trace.dq, a, 0, count, Y)
    n_terms = len(arm.model.terms)
    for j in range(n):
        first = arm.model.n_inertial + j * n_terms
        Y[:, j, first : first + n_terms] = own.columns[:, j]
    kept = np.ascontiguousarray(Y[:, :, base.independent])
    P = n_base + 3 * n
    out = np.zeros((run.n_steps // every + 1, n, P))
    _propagate(
        trace.step, trace.h, float(step), trace.side, Gq, Gv, M, own.slope, own.by_speed, own.by_state, own.forget,
        own.by_path, kept, no_feedback(n) if feedback is None else feedback, every, n, P, run.n_steps, out,
    )  # fmt: skip
    if feedback is not None:
        # What is compared is what the encoders say.
        for j in range(n):
            out[:, j, n_base + 2 * n + j] += 1.0
    return Sensitivities(out, np.arange(len(out)) * float(every))


def _filled(trace: StepTrace, count: int) -> StepTrace:
    cut = [np.ascontiguousarray(part[:count]) for part in trace[:-1]]
    return trace._replace(**dict(zip(StepTrace._fields[:-1], cut, strict=True)))


def _inverse_dynamics(
    arm: SimulatedArm, trace: StepTrace, a: Float[Array, "n_parts n_dof"]
) -> tuple[Array, Array, Array]:
    """Derivatives of rigid torque by position and velocity, and the mass matrix with rotors, of every part (SI)."""
    n, count = arm.model.n_dof, len(a)
    Gq, Gv, M = np.empty((3, count, n, n))
    links = arm.theta[: arm.model.n_inertial]
    seed = np.zeros((CHUNK * n, n, 10 * n))
    for j in range(n):
        seed[j::n, j] = links
    for first in range(0, count, CHUNK):
        rows = slice(first, min(first + CHUNK, count))
        q, dq, ddq = (np.repeat(part[rows], n, axis=0) for part in (trace.q, trace.dq, a))
        bars = np.empty((3, len(q), n))
        pull_back(arm.model.chain, q, dq, ddq, seed[: len(q)], 0, len(q), bars[0], bars[1], bars[2])
        Gq[rows], Gv[rows], M[rows] = (bar.reshape(-1, n, n) for bar in bars)
    rotor = arm.tables.rotor(arm.theta)
    for j in range(n):
        M[:, j, j] += rotor[j]
    return Gq, Gv, M


@dataclass(frozen=True, eq=False)
class _JointTerms:
    """What joints add to a part of a step, and its derivatives (SI)."""

    columns: Float[Array, "n_parts n_dof n_terms"]
    """By each parameter."""
    slope: Float[Array, "n_parts n_dof"]
    """By the velocity after the part."""
    by_speed: Float[Array, "n_parts n_dof"]
    """By the velocity before it."""
    by_state: Float[Array, "n_parts n_dof n_lengths"]
    """By what presliding remembers."""
    forget: Float[Array, "n_parts n_dof n_lengths"]
    """Of the state after the part by that before."""
    by_path: Float[Array, "n_parts n_dof n_lengths"]
    """Of the state after the part by its path."""


def _joint_terms(arm: SimulatedArm, trace: StepTrace, a: Float[Array, "n_parts n_dof"]) -> _JointTerms:
    tables, res = arm.tables, arm.resistance
    v, u, h, z, side = trace.before, trace.after, trace.h[:, None], trace.z, trace.side
    n_terms = len(arm.model.terms)
    columns = np.zeros((*v.shape, n_terms))
    forward = side > 0
    for t in range(n_terms):
        dry = np.where(forward, tables.high[:, t], tables.low[:, t]) + np.where(forward, 1.0, -1.0) * (
            tables.load[:, t] * trace.load
        )
        columns[:, :, t] = dry + tables.viscous[:, t] * 0.5 * (v + u)
        for j in range(v.shape[1]):
            if np.any(tables.rise[t, j]):
                columns[:, j, t] += _table(tables.rise[t, j], res.grid, u[:, j])[0]
            if np.any(tables.fall[t, j]):
                columns[:, j, t] += _table(tables.fall[t, j], res.grid, v[:, j])[0]
    for t in arm.model.inertia_terms:
        columns[:, :, t] = a
    slope, by_speed = np.tile(0.5 * res.viscous, (len(v), 1)), np.tile(0.5 * res.viscous, (len(v), 1))
    for j in range(v.shape[1]):
        if np.any(res.rise[j]):
            slope[:, j] += _table(res.rise[j], res.grid, u[:, j])[1]
        if np.any(res.fall[j]):
            by_speed[:, j] += _table(res.fall[j], res.grid, v[:, j])[1]
    path = 0.5 * h * (v + u)
    way = np.where(path >= 0.0, 1.0, -1.0)[:, :, None]
    forget = np.exp(-np.abs(path)[:, :, None] / res.length) if z.shape[2] else np.zeros_like(z)
    by_path = (1.0 - way * z) * forget / res.length if z.shape[2] else np.zeros_like(z)
    by_state = res.dahl * forget
    bent = np.sum(res.dahl * by_path, axis=2) * 0.5 * h
    slope, by_speed = slope + bent, by_speed + bent
    for k, t in enumerate(tables.dahl_terms):
        columns[:, :, t] = way[:, :, 0] + (z[:, :, k] - way[:, :, 0]) * forget[:, :, k]
    if tables.soft_term is not None:
        height, rate, slip = res.soft.T
        x = (a + rate * v) / slip
        inside = np.abs(x) < 1.0
        columns[:, :, tables.soft_term] = np.where(height > 0.0, np.clip(x, -1.0, 1.0), 0.0)
        slope = slope + np.where(inside, height / (slip * h), 0.0)
        by_speed = by_speed + np.where(inside, height / slip * (rate - 1.0 / h), 0.0)
    return _JointTerms(columns, slope, by_speed, by_state, forget, by_path)


def _table(
    table: Float[Array, "2 n_nodes"], grid: Float[Array, " 4"], v: Float[Array, " n_parts"]
) -> tuple[Float[Array, " n_parts"], Float[Array, " n_parts"]]:
    """Value and slope of a curve at velocities, as the steps read it."""
    way, size = (v < 0.0).astype(int), np.abs(v)
    fine = size < grid[0]
    place = np.nan_to_num(np.where(fine, size / grid[1], grid[3] + (size - grid[0]) / grid[2]), posinf=0.0)
    step = np.where(fine, grid[1], grid[2])
    k = np.minimum(place.astype(int), table.shape[1] - 2)
    rise = table[way, k + 1] - table[way, k]
    return table[way, k] + (place - k) * rise, np.where(way == 0, 1.0, -1.0) * rise / step
