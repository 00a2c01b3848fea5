r"""One step of velocity under friction, solved implicitly: sticking is exact, and stiff curves need no short steps.

With the mass matrix M and the force f without friction frozen over a step h, the velocity u after it solves

.. math::

    M (u - v) + h \Bigl( d\,\tfrac{v + u}{2} + c(u) + r \Bigr) = h f, \qquad
    r_j = \begin{cases} r^+_j & u_j > 0 \\ r \in [r^-_j, r^+_j] & u_j = 0 \\ r^-_j & u_j < 0 \end{cases}

where d is viscous friction and c gathers the continuous, rising curves: a strictly monotone problem with one solution
[Acary2008]_. An active set (which joints stick) with Newton's method finds it in a step or two; where that does not
settle, joint after joint is solved in turn, which always does.
"""

from __future__ import annotations

from typing import Any, NamedTuple, no_type_check

import numpy as np

from dynid.arrays import Array
from dynid.dynamics.kernels.stored import njit
from dynid.simulation.arm_kernels import factor, solve_factored

__all__ = ["Resistance", "friction_step", "table_at"]

ACTIVE_SETS = 24
"""Active sets tried before joints are solved in turn."""
SWEEPS = 2000
"""Rounds over all joints at most."""
SETTLED = 1e-9
"""Change, or what Newton's linear curves leave, at which the solver stops, relative to the impulses of the step."""
BISECTIONS = 80
"""Halvings of the interval of one joint at most: more than a double has digits."""

inner: Any = njit(cache=True, nogil=True, fastmath={"contract"})


class Resistance(NamedTuple):
    """What joints add to rigid-body torque beyond rotor inertia, as the steps take it (SI)."""

    low: Array
    """(n_dof,) friction at the slowest backward motion, N·m or N: the lower end of what holds a joint at rest."""
    high: Array
    """(n_dof,) the same forward: the upper end."""
    load: Array
    """(n_dof,) dry friction per torque of the gear, dimensionless."""
    viscous: Array
    """(n_dof,) straight part, N·m·s/rad or N·s/m."""
    rise: Array
    """(n_dof, 2, n_nodes) what rises with velocity: forward, backward; zero at rest."""
    fall: Array
    """(n_dof, 2, n_nodes) what falls with velocity, such as Stribeck's."""
    grid: Array
    """End of the fine nodes, their distance, and the distance of the coarse ones, rad/s or m/s; then the number of
    fine intervals."""
    dahl: Array
    """(n_dof, n_lengths) heights of presliding, N·m or N."""
    length: Array
    """(n_dof, n_lengths) its paths, rad or m."""
    soft: Array
    """(n_dof, 3) MuJoCo's friction: height, rate b in 1/s, and acceleration at which it slips."""
    spring: Array
    """(n_dof, 2) torque of position: per rad or m, and at zero, N·m or N."""
    load_links: Array
    """(n_dof, 10) links whose torque loads the gears; used where `load` is not zero."""
    curved: Array
    """(n_dof,) 1 where a continuous curve rises beside the straight part."""
    falls: Array
    """(n_dof,) 1 where one falls."""


@inner
@no_type_check
def table_at(table, grid, v):
    """Value and slope of a curve at velocity v, straight between its nodes and beyond them."""
    side = 0 if v >= 0.0 else 1
    size, last = abs(v), table.shape[1] - 2
    if size < grid[0]:
        place, step = size / grid[1], grid[1]
    else:
        place, step = grid[3] + (size - grid[0]) / grid[2], grid[2]
    # Not an arm's velocity any more where this does not hold, and no number to index with.
    k = int(place) if place < last else last
    rise = table[side, k + 1] - table[side, k]
    slope = rise / step
    return table[side, k] + (place - k) * rise, slope if side == 0 else -slope


@inner
@no_type_check
def _curve(res, j, v, u, h, z):
    """Force and slope of the continuous curves of joint j at the end of a step from velocity v to u."""
    force, slope = table_at(res.rise[j], res.grid, u)
    path = 0.5 * h * (v + u)
    side = 1.0 if path >= 0.0 else -1.0
    for k in range(res.dahl.shape[1]):
        if res.dahl[j, k] != 0.0:
            left = np.exp(-abs(path) / res.length[j, k])
            force += res.dahl[j, k] * (side + (z[j, k] - side) * left)
            slope += res.dahl[j, k] * (1.0 - side * z[j, k]) * left / res.length[j, k] * 0.5 * h
    if res.soft[j, 0] != 0.0:
        x = ((u - v) / h + res.soft[j, 1] * v) / res.soft[j, 2]
        force += res.soft[j, 0] * min(max(x, -1.0), 1.0)
        if abs(x) < 1.0:
            slope += res.soft[j, 0] / (res.soft[j, 2] * h)
    return force, slope


@inner
@no_type_check
def _alone(res, j, v, h, z, low, high, weight, pull, start):
    """Velocity of joint j after the step where all others are given: weight·u + h (c(u) + r) = pull."""
    rest = pull - h * _curve(res, j, v, 0.0, h, z)[0]
    if high > low and h * low <= rest <= h * high:
        return 0.0
    if rest > h * high:
        rest, near, far = h * high, 0.0, (rest - h * high) / weight
    elif rest < h * low:
        rest, near, far = h * low, 0.0, (rest - h * low) / weight
    else:
        rest, near, far = h * high, 0.0, (rest - h * high) / weight
    u = start if (start - near) * (start - far) < 0.0 else 0.5 * (near + far)
    for _ in range(BISECTIONS):
        force, slope = _curve(res, j, v, u, h, z)
        error = weight * u + h * force + rest - pull
        if (error > 0.0) == (far > near):
            far = u
        else:
            near = u
        guess = u - error / (weight + h * slope)
        if not (guess - near) * (guess - far) < 0.0:
            guess = 0.5 * (near + far)
        if abs(guess - u) <= 1e-15 + 1e-13 * abs(u):
            return guess
        u = guess
    return u


@inner
@no_type_check
def _in_turn(M, res, low, high, v, h, z, impulse, u):
    """Solve joint after joint until nothing changes: slow, and always right."""
    n = v.shape[0]
    for _ in range(SWEEPS):
        change, size = 0.0, 1e-9
        for j in range(n):
            weight, pull = M[j, j] + 0.5 * h * res.viscous[j], impulse[j]
            for i in range(n):
                if i != j:
                    pull -= M[j, i] * u[i]
            new = _alone(res, j, v[j], h, z, low[j], high[j], weight, pull, u[j])
            change, size = max(change, abs(new - u[j])), max(size, abs(new))
            u[j] = new
        if change <= SETTLED * size:
            return


@inner
@no_type_check
def _solved(M, res, low, high, v, h, z, impulse, side, A, linear, u):
    """Velocities u for an active set `side` with the curves straight about u; False where M is not definite."""
    n = v.shape[0]
    for j in range(n):
        linear[j, 0], linear[j, 1] = 0.0, 0.0
        if res.curved[j] != 0.0:
            force, slope = _curve(res, j, v[j], u[j], h, z)
            linear[j, 0], linear[j, 1] = force - slope * u[j], slope
    for j in range(n):
        stuck = side[j] == 0
        for i in range(j + 1):
            A[j, i] = 0.0 if stuck or side[i] == 0 else M[j, i]
        if stuck:
            A[j, j], u[j] = 1.0, 0.0
        else:
            A[j, j] += h * (0.5 * res.viscous[j] + linear[j, 1])
            u[j] = impulse[j] - h * (linear[j, 0] + (high[j] if side[j] > 0 else low[j]))
    if not factor(A):
        return False
    solve_factored(A, u)
    return True


@inner
@no_type_check
def friction_step(M, force, res, low, high, v, ahead, h, z, side, A, linear, impulse, u):
    """Fill u with the velocity after a step from v, and `side` with the way each joint moves (0: it sticks).

    `ahead` is about how much it changes, for a first guess. False where M is not positive definite.
    A, linear (n, 2) and impulse are room to work in.
    """
    n = v.shape[0]
    largest = 1e-30
    for j in range(n):
        total = h * (force[j] - 0.5 * res.viscous[j] * v[j])
        if res.falls[j] != 0.0:
            total -= h * table_at(res.fall[j], res.grid, v[j] + 0.5 * ahead[j])[0]
        for i in range(n):
            total += M[j, i] * v[i]
        impulse[j], u[j] = total, v[j] + ahead[j]
        largest = max(largest, abs(total))
        side[j] = 0 if high[j] > low[j] and v[j] == 0.0 else (1 if v[j] >= 0.0 else -1)
        if side[j] == 0:
            u[j] = 0.0
    for _ in range(ACTIVE_SETS):
        if not _solved(M, res, low, high, v, h, z, impulse, side, A, linear, u):
            return False
        settled = True
        for j in range(n):
            if side[j] != 0:
                if high[j] > low[j] and u[j] * side[j] < 0.0:
                    side[j], settled = 0, False
            else:
                rest = impulse[j] - h * (linear[j, 0])
                for i in range(n):
                    rest -= M[j, i] * u[i]
                if rest > h * high[j] + SETTLED * largest:
                    side[j], settled = 1, False
                elif rest < h * low[j] - SETTLED * largest:
                    side[j], settled = -1, False
            if res.curved[j] != 0.0:
                there = _curve(res, j, v[j], u[j], h, z)[0]
                if h * abs(there - linear[j, 0] - linear[j, 1] * u[j]) > SETTLED * largest:
                    settled = False
        if settled:
            return True
    for j in range(n):
        u[j] = v[j]
    _in_turn(M, res, low, high, v, h, z, impulse, u)
    for j in range(n):
        side[j] = 0 if u[j] == 0.0 and high[j] > low[j] else (1 if u[j] >= 0.0 else -1)
    return True
