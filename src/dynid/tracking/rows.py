"""One sample of the measured rows and their regressor: compiled, scalar, in arrays that exist before the loop starts.

The robot is extended by joints that never move: six before the first link, whose torques are the base wrench, and six
(or one) after the carrier, behind which the load hangs and whose torques are the tool wrench. So joint torque, base
wrench and tool wrench are all torques of one chain, and one recursion gives them with their derivatives.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, no_type_check

import numpy as np

from dynid.arrays import Array, Transform
from dynid.chain.inertia import INERTIAL_NAMES
from dynid.dynamics.kernels.chains import chain_arrays
from dynid.dynamics.kernels.formulas import GIVEN
from dynid.dynamics.kernels.stored import njit
from dynid.dynamics.model import TorqueModel
from dynid.tracking.terms import add_joint_terms

__all__ = [
    "LOAD_SYMBOLS",
    "MEASUREMENTS",
    "Measurement",
    "RowArrays",
    "Work",
    "needs_columns",
    "other_rows",
    "predict_rows",
    "row_arrays",
    "work_for",
]

Measurement = Literal["torque", "base-wrench", "tool-wrench"]
"""A kind of measurement: joint torques, wrench under the base, wrench at the tool."""
MEASUREMENTS: tuple[Measurement, ...] = ("torque", "base-wrench", "tool-wrench")
"""What can be measured, in the order in which the rows are stacked."""

LOAD_SYMBOLS = ("mL", "mcLx", "mcLy", "mcLz", *(f"JL{name[1:]}" for name in INERTIAL_NAMES[4:]))
"""Symbols of the ten numbers of the load, about the load frame; they follow those of the model."""

_FREE = 6
"""Ways in which a body can move that nothing holds: the rows of a wrench."""


class RowArrays(NamedTuple):
    """The extended chain as constant arrays; SI."""

    parent: Array
    pose_cos: Array
    pose_sin: Array
    pose_linear: Array
    pose_constant: Array
    S: Array
    gravity: Array
    joint: Array
    """Which entry of q moves the body; −1 for a joint that never moves."""
    row: Array
    """Measured row of the joint's torque; −1 where it is not measured."""
    column: Array
    """First of the body's ten columns; −1 for a body without parameters."""
    active: Array
    """Whether the derivatives of the body's columns are wanted."""
    needed: Array
    """Whether the body lies on the way to an active one."""
    term_row: Array
    """Measured row of each joint's own terms; −1 where its torque is not measured."""
    term_first: int
    """First column of the joint terms, joint after joint."""
    term_code: Array
    """(n_terms, length) operations of each term's formula; `GIVEN` first where its column comes from outside."""
    term_numbers: Array
    """(n_terms, n_dof, length) numbers that go with them."""
    transmission: Array
    """(n_dof, n_dof) motor over joint velocities, where the terms are those of motors; empty without coupling."""


class Work(NamedTuple):
    """Memory of `predict_rows`, made once."""

    E: Array
    V: Array
    X: Array
    s: Array
    f: Array
    Y: Array
    """(n_rows, n_columns) torque per unit of each parameter; structural zeros stay zero."""
    z: Array
    """(n_rows,) predicted measurement."""
    terms: Array
    """(n_dof, n_terms) columns of the joints' own terms."""
    stack: Array
    """Memory of the formulas of those terms."""


def row_arrays(
    model: TorqueModel,
    measure: tuple[Measurement, ...],
    *,
    carrier: int,
    T_carrier_load: Transform,
    active_columns: Array,
) -> RowArrays:
    """The extended chain of a robot for what is measured.

    Args:
        model: the robot with its joint terms.
        measure: what is measured, rows stacked in the order of `MEASUREMENTS`.
        carrier: index of the link that carries the load.
        T_carrier_load: load frame, which is also the frame of the tool wrench, in that link's frame.
        active_columns: (n_columns,) mask of the columns whose derivatives are wanted; with the base link's or without.
    """
    chain = chain_arrays(model.robot)
    n_dof = model.n_dof
    n_base = _FREE if "base-wrench" in measure else 0
    n_tool = _FREE if "tool-wrench" in measure else 1
    n_bodies = n_base + n_dof + n_tool
    still = np.concatenate([np.eye(3).ravel(), np.zeros(3)])
    none = np.zeros((1, 12))

    def extended(values: Array, fixed: Array) -> Array:
        return np.concatenate([np.repeat(fixed, n_base, 0), values, np.repeat(fixed, n_tool, 0)])

    constant = extended(chain.pose_constant, still[None])
    constant[n_base + n_dof] = np.concatenate([T_carrier_load[:3, :3].ravel(), T_carrier_load[:3, 3]])
    S = np.zeros((n_bodies, 6))
    S[:n_base] = np.eye(_FREE)[:n_base]
    S[n_base : n_base + n_dof] = chain.S
    if n_tool == _FREE:
        S[n_base + n_dof :] = np.eye(_FREE)
    parent = np.arange(-1, n_bodies - 1)
    parent[n_base : n_base + n_dof] = np.where(chain.parent < 0, n_base - 1, chain.parent + n_base)
    parent[n_base + n_dof] = n_base + carrier
    joint = np.full(n_bodies, -1)
    joint[n_base : n_base + n_dof] = np.arange(n_dof)
    row = np.full(n_bodies, -1)
    n_torque = n_dof if "torque" in measure else 0
    if n_torque:
        row[n_base : n_base + n_dof] = np.arange(n_dof)
    row[:n_base] = n_torque + np.arange(n_base)
    if n_tool == _FREE:
        row[n_base + n_dof :] = n_torque + n_base + np.arange(_FREE)
    column = np.full(n_bodies, -1)
    column[n_base : n_base + n_dof] = 10 * np.arange(n_dof)
    column[-1] = model.n_params
    if n_base and len(active_columns) > model.n_params + 10:
        column[n_base - 1] = model.n_params + 10
    active = np.array([c >= 0 and bool(np.any(active_columns[c : c + 10])) for c in column])
    return RowArrays(
        parent,
        extended(chain.pose_cos, none),
        extended(chain.pose_sin, none),
        extended(chain.pose_linear, none),
        constant,
        S,
        np.array(chain.gravity),
        joint,
        row,
        column,
        active,
        _on_the_way(parent, active),
        np.arange(n_dof) if n_torque else np.full(n_dof, -1),
        model.n_inertial,
        *_term_programs(model),
        np.zeros((0, 0)) if model.robot.transmission is None else np.array(model.robot.transmission),
    )


def _term_programs(model: TorqueModel) -> tuple[Array, Array]:
    """Operations and numbers of all joint terms, padded to the longest."""
    parts = [joint_model.programs(model.n_dof) for joint_model in model.joint_models]
    length = max((code.shape[1] for code, _ in parts), default=1)
    codes, numbers = (
        np.zeros((len(model.terms), length), dtype=np.int64),
        np.zeros((len(model.terms), model.n_dof, length)),
    )
    first = 0
    for code, values in parts:
        last = first + len(code)
        codes[first:last, : code.shape[1]], numbers[first:last, :, : code.shape[1]] = code, values
        first = last
    return codes, numbers


def needs_columns(arrays: RowArrays) -> bool:
    """Whether columns of joint terms come from outside: friction that remembers the path or depends on the load."""
    return GIVEN in arrays.term_code


def _on_the_way(parent: Array, active: Array) -> Array:
    needed = active.copy()
    for i in range(len(parent) - 1, -1, -1):
        if needed[i] and parent[i] >= 0:
            needed[parent[i]] = True
    return needed


def n_rows(arrays: RowArrays) -> int:
    """Number of measured rows."""
    return int(np.max(arrays.row)) + 1


def work_for(arrays: RowArrays, n_columns: int) -> Work:
    """Memory for one chain of bodies, shapes (n_bodies, …)."""
    n = len(arrays.parent)
    return Work(
        np.zeros((n, 12)),
        np.zeros((n, 12)),
        np.zeros((n, 18)),
        np.zeros((n, n, 6)),
        np.zeros((n, 6)),
        np.zeros((n_rows(arrays), n_columns)),
        np.zeros(n_rows(arrays)),
        np.zeros((len(arrays.term_row), len(arrays.term_code))),
        np.zeros(arrays.term_code.shape[1]),
    )


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _move(E, up, here, o):
    """Carry a spatial motion (linear, angular, from place o on) from the parent frame into the link frame."""
    w0, w1, w2 = up[o + 3], up[o + 4], up[o + 5]
    v0 = up[o] + w1 * E[11] - w2 * E[10]
    v1 = up[o + 1] + w2 * E[9] - w0 * E[11]
    v2 = up[o + 2] + w0 * E[10] - w1 * E[9]
    for r in range(3):
        here[o + r] = E[r] * v0 + E[3 + r] * v1 + E[6 + r] * v2
        here[o + 3 + r] = E[r] * w0 + E[3 + r] * w1 + E[6 + r] * w2


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _accelerate(S, dq, ddq, V, x):
    """Add the joint's own motion; fill what the wrench needs (as in `dynid.dynamics.kernels.batch`)."""
    v0, v1, v2 = V[0] + S[0] * dq, V[1] + S[1] * dq, V[2] + S[2] * dq
    w0, w1, w2 = V[3] + S[3] * dq, V[4] + S[4] * dq, V[5] + S[5] * dq
    a0 = V[6] + S[0] * ddq + (w1 * S[2] - w2 * S[1] + v1 * S[5] - v2 * S[4]) * dq
    a1 = V[7] + S[1] * ddq + (w2 * S[0] - w0 * S[2] + v2 * S[3] - v0 * S[5]) * dq
    a2 = V[8] + S[2] * ddq + (w0 * S[1] - w1 * S[0] + v0 * S[4] - v1 * S[3]) * dq
    d0 = V[9] + S[3] * ddq + (w1 * S[5] - w2 * S[4]) * dq
    d1 = V[10] + S[4] * ddq + (w2 * S[3] - w0 * S[5]) * dq
    d2 = V[11] + S[5] * ddq + (w0 * S[4] - w1 * S[3]) * dq
    V[0], V[1], V[2], V[3], V[4], V[5] = v0, v1, v2, w0, w1, w2
    V[6], V[7], V[8], V[9], V[10], V[11] = a0, a1, a2, d0, d1, d2
    x[0], x[1], x[2] = a0 + w1 * v2 - w2 * v1, a1 + w2 * v0 - w0 * v2, a2 + w0 * v1 - w1 * v0
    x[3], x[4], x[5] = -w1 * w1 - w2 * w2, w0 * w1 + d2, w0 * w2 - d1
    x[6], x[7], x[8] = w0 * w1 - d2, -w0 * w0 - w2 * w2, w1 * w2 + d0
    x[9], x[10], x[11] = w0 * w2 + d1, w1 * w2 - d0, -w0 * w0 - w1 * w1
    x[12], x[13], x[14], x[15], x[16], x[17] = w0, w1, w2, d0, d1, d2


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _project(s, x, y):
    """Row of one joint over the ten parameters of one body: its subspace s (in the body frame) times the wrench."""
    v0, v1, v2, w0, w1, w2 = s[0], s[1], s[2], s[3], s[4], s[5]
    a0, a1, a2, o0, o1, o2, d0, d1, d2 = x[0], x[1], x[2], x[12], x[13], x[14], x[15], x[16], x[17]
    y[0] = v0 * a0 + v1 * a1 + v2 * a2
    y[1] = x[3] * v0 + x[4] * v1 + x[5] * v2 + a1 * w2 - a2 * w1
    y[2] = x[6] * v0 + x[7] * v1 + x[8] * v2 + a2 * w0 - a0 * w2
    y[3] = x[9] * v0 + x[10] * v1 + x[11] * v2 + a0 * w1 - a1 * w0
    u0, u1, u2 = w1 * o2 - w2 * o1, w2 * o0 - w0 * o2, w0 * o1 - w1 * o0
    y[4] = w0 * d0 + u0 * o0
    y[5] = w0 * d1 + w1 * d0 + u0 * o1 + u1 * o0
    y[6] = w1 * d1 + u1 * o1
    y[7] = w0 * d2 + w2 * d0 + u0 * o2 + u2 * o0
    y[8] = w1 * d2 + w2 * d1 + u1 * o2 + u2 * o1
    y[9] = w2 * d2 + u2 * o2


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _wrench(x, pi, f):
    """Force and moment about the body's origin that Newton and Euler ask for."""
    m, m0, m1, m2 = pi[0], pi[1], pi[2], pi[3]
    xx, xy, yy, xz, yz, zz = pi[4], pi[5], pi[6], pi[7], pi[8], pi[9]
    a0, a1, a2, w0, w1, w2, d0, d1, d2 = x[0], x[1], x[2], x[12], x[13], x[14], x[15], x[16], x[17]
    h0, h1, h2 = xx * w0 + xy * w1 + xz * w2, xy * w0 + yy * w1 + yz * w2, xz * w0 + yz * w1 + zz * w2
    f[0] = m * a0 + x[3] * m0 + x[6] * m1 + x[9] * m2
    f[1] = m * a1 + x[4] * m0 + x[7] * m1 + x[10] * m2
    f[2] = m * a2 + x[5] * m0 + x[8] * m1 + x[11] * m2
    f[3] = xx * d0 + xy * d1 + xz * d2 + w1 * h2 - w2 * h1 + m1 * a2 - m2 * a1
    f[4] = xy * d0 + yy * d1 + yz * d2 + w2 * h0 - w0 * h2 + m2 * a0 - m0 * a2
    f[5] = xz * d0 + yz * d1 + zz * d2 + w0 * h1 - w1 * h0 + m0 * a1 - m1 * a0


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def pass_on(E, f, up):
    """Add the wrench of a body to that of its parent, moved into the parent's frame."""
    g0 = E[0] * f[0] + E[1] * f[1] + E[2] * f[2]
    g1 = E[3] * f[0] + E[4] * f[1] + E[5] * f[2]
    g2 = E[6] * f[0] + E[7] * f[1] + E[8] * f[2]
    up[0] += g0
    up[1] += g1
    up[2] += g2
    up[3] += E[0] * f[3] + E[1] * f[4] + E[2] * f[5] + E[10] * g2 - E[11] * g1
    up[4] += E[3] * f[3] + E[4] * f[4] + E[5] * f[5] + E[11] * g0 - E[9] * g2
    up[5] += E[6] * f[3] + E[7] * f[4] + E[8] * f[5] + E[9] * g1 - E[10] * g0


# Fields of the tuples are taken out before the loops: reading one inside a loop counts references every time.
@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def place(moved, position, cos, sin, linear, constant, E):
    """Pose of a body in its parent: rotation row by row, then origin."""
    if not moved:
        for r in range(12):
            E[r] = constant[r]
        return
    c, s = np.cos(position), np.sin(position)
    for r in range(12):
        E[r] = c * cos[r] + s * sin[r] + position * linear[r] + constant[r]


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def outward(a, q, dq, ddq, w):
    """Poses, velocities and accelerations of all bodies, from the base outwards."""
    parent, joint, S, gravity = a.parent, a.joint, a.S, a.gravity
    cos, sin, linear, constant = a.pose_cos, a.pose_sin, a.pose_linear, a.pose_constant
    Es, Vs, Xs = w.E, w.V, w.X
    g0, g1, g2 = gravity[0], gravity[1], gravity[2]
    for i in range(parent.shape[0]):
        j = joint[i]
        E, V = Es[i], Vs[i]
        place(j >= 0, q[j] if j >= 0 else 0.0, cos[i], sin[i], linear[i], constant[i], E)
        if parent[i] < 0:
            for r in range(12):
                V[r] = 0.0
            for r in range(3):
                V[6 + r] = -(E[r] * g0 + E[3 + r] * g1 + E[6 + r] * g2)
        else:
            up = Vs[parent[i]]
            _move(E, up, V, 0)
            _move(E, up, V, 6)
        if j >= 0:
            _accelerate(S[i], dq[j], ddq[j], V, Xs[i])
        else:
            _accelerate(S[i], 0.0, 0.0, V, Xs[i])


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def other_rows(a, theta, w, out):
    """Fill `out` with as many rows as it has, of links of parameters θ at the motion of the last `outward`."""
    parent, row, column, S = a.parent, a.row, a.column, a.S
    Es, Xs, f = w.E, w.X, w.f
    n_bodies = parent.shape[0]
    for i in range(n_bodies):
        c = column[i]
        if c >= 0:
            _wrench(Xs[i], theta[c : c + 10], f[i])
        else:
            for r in range(6):
                f[i, r] = 0.0
    for i in range(n_bodies - 1, -1, -1):
        if 0 <= row[i] < out.shape[0]:
            power = 0.0
            for r in range(6):
                power += S[i, r] * f[i, r]
            out[row[i]] = power
        if parent[i] >= 0:
            pass_on(Es[i], f[i], f[parent[i]])


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def predict_rows(a, q, dq, ddq, theta, w):
    """Fill w.z with the predicted rows at θ and w.Y with their derivatives by the active columns.

    Terms that depend on more than the sample are taken from w.terms as they stand.
    """
    outward(a, q, dq, ddq, w)
    parent, row, column, active, needed, S = a.parent, a.row, a.column, a.active, a.needed, a.S
    Es, Xs, s, Y, z = w.E, w.X, w.s, w.Y, w.z
    n_bodies = parent.shape[0]
    for i in range(n_bodies):
        c, up = column[i], parent[i]
        if not needed[i]:
            continue
        E, X = Es[i], Xs[i]
        if row[i] >= 0:
            for r in range(6):
                s[i, i, r] = S[i, r]
        j = up
        while j >= 0:
            if row[j] >= 0:
                _move(E, s[up, j], s[i, j], 0)
            j = parent[j]
        if active[i]:
            j = i
            while j >= 0:
                if row[j] >= 0:
                    _project(s[i, j], X, Y[row[j], c : c + 10])
                j = parent[j]
    other_rows(a, theta, w, z)
    add_joint_terms(a, dq, ddq, theta, w)
