"""The compiled run of a simulated arm: one evaluation of dynamics a step, friction implicit, reversals in fine steps.

M and the bias are taken half a step ahead (explicit midpoint, the velocity there extrapolated from the last step), so
a step has an error of third order while friction does not turn. A joint that stops or turns inside a step would start
late by up to a step: such a step is done again in `FINE` parts.
"""

from __future__ import annotations

from typing import Any, NamedTuple, no_type_check

import numpy as np

from dynid.arrays import Array
from dynid.dynamics.kernels.machine_code import Bundle
from dynid.dynamics.kernels.stored import njit
from dynid.simulation.arm_kernels import mass_matrix_and_bias, rigid_torque, workspace
from dynid.simulation.friction_step import friction_step

__all__ = ["FINE", "RUN", "Feedback", "RunWork", "StepTrace", "new_trace", "run_arm", "run_work"]

FINE = 16
"""Parts of a step in which a joint stops or turns."""
RUNAWAY = 1e3
"""A velocity (rad/s or m/s) that no arm reaches: the simulation has diverged."""

RUN = Bundle.of(
    "simulation/run.ll.gz", tuple(f"simulation/{name}.py" for name in ("arm_kernels", "friction_step", "roll_kernels"))
)
"""The compiled run."""
inner: Any = njit(cache=True, nogil=True, fastmath={"contract"})


class Feedback(NamedTuple):
    """A joint controller as the steps take it (SI); without rows of `position` the torque is given."""

    position: Array
    """(n_ticks, n_dof) reference at every tick, rad or m."""
    velocity: Array
    """(n_ticks, n_dof) its velocity."""
    forward: Array
    """(n_ticks, n_dof) feed-forward torque, N·m or N."""
    kp: Array
    kd: Array
    limit: Array
    """(n_dof,) largest torque, N·m or N."""
    bias: Array
    """(n_dof,) what the encoders say beyond the position, rad or m."""
    period: float
    """Time between ticks in s."""
    delay: float
    """Time in s after which a command takes effect."""
    steps: int
    """Steps of the simulation in a tick."""


class StepTrace(NamedTuple):
    """What every part of a step was, for derivatives; empty where none are wanted."""

    step: Array
    """(n_parts,) index of the step."""
    h: Array
    """(n_parts,) its length in s."""
    q: Array
    """(n_parts, n_dof) position where M and the bias were taken."""
    dq: Array
    """(n_parts, n_dof) velocity there."""
    before: Array
    """(n_parts, n_dof) velocity before the part."""
    after: Array
    """(n_parts, n_dof) velocity after it."""
    side: Array
    """(n_parts, n_dof) way of motion; 0 where the joint sticks."""
    z: Array
    """(n_parts, n_dof, n_lengths) states of presliding before the part."""
    load: Array
    """(n_parts, n_dof) torque of the gears, absolute."""
    filled: Array
    """(1,) parts that are filled in."""


def new_trace(n_parts: int, n_dof: int, n_lengths: int) -> StepTrace:
    """Room for the parts of a run."""
    rows = (n_parts, n_dof)
    return StepTrace(
        np.zeros(n_parts, dtype=np.int64), np.zeros(n_parts), np.zeros(rows), np.zeros(rows), np.zeros(rows),
        np.zeros(rows), np.zeros(rows, dtype=np.int64), np.zeros((*rows, n_lengths)), np.zeros(rows),
        np.zeros(1, dtype=np.int64),
    )  # fmt: skip


class RunWork(NamedTuple):
    """What a run works in, made once for it; single rows are arrays of their own, which compiled code has to know."""

    W: Array
    M: Array
    A: Array
    linear: Array
    """(n_dof, 2)"""
    qm: Array
    vm: Array
    zero: Array
    last: Array
    force: Array
    bias: Array
    impulse: Array
    u: Array
    v0: Array
    low: Array
    high: Array
    load: Array
    path: Array
    ahead: Array
    side: Array
    """(n_dof,) way of motion; 0 where a joint sticks."""
    start: Array
    """(n_dof, n_lengths) states of presliding at the start."""
    commands: Array
    """(n_ticks, n_dof) of the controller, N·m or N."""


def run_work(n_dof: int, n_lengths: int, n_ticks: int) -> RunWork:
    """Zeros of the shapes that a run of so many joints, lengths of presliding and ticks of a controller asks for."""
    z, n = np.zeros, n_dof
    matrices, rows = [workspace(n), z((n, n)), z((n, n)), z((n, 2))], [z(n) for _ in range(14)]
    return RunWork(*[*matrices, *rows, z(n, dtype=np.int64), z((n, n_lengths)), z((n_ticks, n))])


@inner
@no_type_check
def _largest(values):
    """The largest absolute value; nan where one is nan."""
    found = 0.0
    for k in range(values.shape[0]):
        size = abs(values[k])
        if not size <= found:
            found = size
    return found


@inner
@no_type_check
def _follow(res, path, z):
    """Dahl's states after a path of every joint."""
    for j in range(z.shape[0]):
        for k in range(z.shape[1]):
            if path[j] != 0.0 and res.dahl[j, k] != 0.0:
                side = 1.0 if path[j] > 0.0 else -1.0
                z[j, k] = side + (z[j, k] - side) * np.exp(-abs(path[j]) / res.length[j, k])


@inner
@no_type_check
def _turns(res, low, high, v, u):
    """Whether a joint with friction that depends on the way of motion stops or turns between v and u."""
    for j in range(v.shape[0]):
        if (high[j] > low[j] or res.curved[j] != 0.0) and v[j] != 0.0 and u[j] * v[j] <= 0.0:
            return True
    return False


@inner
@no_type_check
def _write(trace, k, h, qm, vm, v, u, side, z, load):
    at = trace.filled[0]
    trace.step[at], trace.h[at] = k, h
    for j in range(v.shape[0]):
        trace.q[at, j], trace.dq[at, j] = qm[j], vm[j]
        trace.before[at, j], trace.after[at, j], trace.side[at, j] = v[j], u[j], side[j]
        trace.load[at, j] = load[j]
        for i in range(z.shape[1]):
            trace.z[at, j, i] = z[j, i]
    trace.filled[0] = at + 1


@inner
@no_type_check
def _command(feedback, commands, tick, q, v):
    """Torque that the controller decides on at a tick."""
    k = min(tick, feedback.position.shape[0] - 1)
    for j in range(q.shape[0]):
        total = feedback.forward[k, j] + feedback.kp[j] * (feedback.position[k, j] - q[j] - feedback.bias[j])
        total += feedback.kd[j] * (feedback.velocity[k, j] - v[j])
        commands[tick, j] = min(max(total, -feedback.limit[j]), feedback.limit[j])


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def run_arm(chain, links, rotor, res, h, q, dq, z, tau, feedback, fine, w, q_out, dq_out, tau_out, trace):
    """Fill rows 1… of q_out and dq_out from the state q, dq, z on, which row 0 gets, in steps of h.

    `tau` holds the torque of every step, or nothing where `feedback` gives it; `w` is zero. Returns 0 where all went
    well, k + 1 where the arm ran away in step k, −k − 1 where its mass matrix is not positive definite.
    """
    n_steps, n = q_out.shape[0] - 1, q.shape[0]
    W, M, A, qm, vm, zero, last, force = w.W, w.M, w.A, w.qm, w.vm, w.zero, w.last, w.force
    bias, impulse, u, v0, low, high, load = w.bias, w.impulse, w.u, w.v0, w.low, w.high, w.load
    path, ahead, linear, side, start, commands = w.path, w.ahead, w.linear, w.side, w.start, w.commands
    closed, loaded = commands.shape[0] > 0, _largest(res.load) > 0.0
    for j in range(n):
        low[j], high[j], last[j] = res.low[j], res.high[j], dq[j]
        q_out[0, j], dq_out[0, j] = q[j], dq[j]
        for i in range(z.shape[1]):
            start[j, i] = z[j, i]
    for k in range(n_steps):
        if closed and k % feedback.steps == 0:
            _command(feedback, commands, k // feedback.steps, q, dq)
        tick = 0
        if closed:
            tick = max(int(np.floor(((k + 0.5) * h - feedback.delay) / feedback.period + 1e-9)), 0)
        for j in range(n):
            qm[j], vm[j] = q[j] + 0.5 * h * dq[j], 1.5 * dq[j] - 0.5 * last[j]
            force[j] = commands[tick, j] if closed else tau[k, j]
            tau_out[k, j] = force[j]
        if loaded:
            for j in range(n):
                impulse[j] = (dq[j] - last[j]) / h
            rigid_torque(chain, qm, vm, impulse, res.load_links, W, load)
            for j in range(n):
                load[j] = abs(load[j])
                low[j], high[j] = res.low[j] - res.load[j] * load[j], res.high[j] + res.load[j] * load[j]
        mass_matrix_and_bias(chain, qm, vm, zero, links, rotor, W, M, bias)
        for j in range(n):
            force[j] -= bias[j] + res.spring[j, 0] * qm[j] + res.spring[j, 1]
        for j in range(n):
            ahead[j] = dq[j] - last[j]
        if not friction_step(M, force, res, low, high, dq, ahead, h, z, side, A, linear, impulse, u):
            return -k - 1
        for j in range(n):
            last[j] = dq[j]
        parts = fine if fine > 1 and _turns(res, low, high, dq, u) else 1
        # Every step that is left needs room for a part at least.
        if trace.step.shape[0] > 0 and trace.filled[0] + parts + (n_steps - k) > trace.step.shape[0]:
            parts = 1
        part = h / parts
        for _ in range(parts):
            for j in range(n):
                v0[j] = dq[j]
            if parts > 1:
                ahead[:] = 0.0
                if not friction_step(M, force, res, low, high, v0, ahead, part, z, side, A, linear, impulse, u):
                    return -k - 1
            if trace.step.shape[0] > 0:
                _write(trace, k, part, qm, vm, v0, u, side, z, load)
            for j in range(n):
                path[j] = 0.5 * part * (v0[j] + u[j])
                q[j] += path[j]
                dq[j] = u[j]
            _follow(res, path, z)
        for j in range(n):
            q_out[k + 1, j], dq_out[k + 1, j] = q[j], dq[j]
        if not _largest(dq) < RUNAWAY:
            for j in range(n):
                q[j] = q_out[0, j]
                for m in range(z.shape[1]):
                    z[j, m] = start[j, m]
            return k + 1
    return 0
