"""The compiled loop of a controlled arm: Heun's method, dry friction solved implicitly in every step."""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from dynid.dynamics.kernels.batch import newton_euler
from dynid.dynamics.kernels.forward import cholesky, cholesky_solve, mass_and_bias
from dynid.dynamics.kernels.stored import njit

__all__ = ["simulate_loop"]

RUNAWAY = 1e4
"""A velocity (rad/s or m/s) that no arm reaches: the loop is unstable."""
NEWTON_STEPS = 60
"""Iterations of the dry-friction solver at most; it needs a few where joints come to rest."""
BISECTIONS = 60
"""Halvings of its line search at most: the share of a step is then known to the last digit."""
SETTLED = 1e-13
"""Step of the dry-friction solver at which it stops, relative to the velocities."""


@njit(cache=True, nogil=True)
@no_type_check
def _command(chain, nominal, stiffness, damping, c, s, q, dq, tau):
    """Torque of the controller at time s into an interval whose reference is the quintic c."""
    n_dof = q.shape[0]
    rows, wrench = np.empty((4, 1, n_dof)), np.empty((1, n_dof, 6))
    for j in range(n_dof):
        reference = ((((c[5, j] * s + c[4, j]) * s + c[3, j]) * s + c[2, j]) * s + c[1, j]) * s + c[0, j]
        speed = (((5.0 * c[5, j] * s + 4.0 * c[4, j]) * s + 3.0 * c[3, j]) * s + 2.0 * c[2, j]) * s + c[1, j]
        push = ((20.0 * c[5, j] * s + 12.0 * c[4, j]) * s + 6.0 * c[3, j]) * s + 2.0 * c[2, j]
        rows[0, 0, j], rows[1, 0, j] = q[j], dq[j]
        rows[2, 0, j] = push + damping * (speed - dq[j]) + stiffness * (reference - q[j])
    newton_euler(chain, rows[0], rows[1], rows[2], nominal, 0, 1, rows[3], wrench)
    for j in range(n_dof):
        tau[j] = rows[3, 0, j]


@njit(cache=True, nogil=True)
@no_type_check
def _smooth(node, smooth, v):
    """The smooth part of friction at velocity v, linear between the nodes of the table and beyond its ends."""
    half = (smooth.shape[0] - 1) // 2
    place = v / node + half
    k = min(max(int(np.floor(place)), 0), smooth.shape[0] - 2)
    return smooth[k] + (place - k) * (smooth[k + 1] - smooth[k])


@njit(cache=True, nogil=True)
@no_type_check
def _push(resistance, tau, bias, dq, force):
    """Force that accelerates the arm, dry friction left out."""
    _, _, node, smooth, _ = resistance
    for j in range(dq.shape[0]):
        force[j] = tau[j] - bias[j] - _smooth(node, smooth[j], dq[j])


@njit(cache=True, nogil=True)
@no_type_check
def _share(rest, Mstep, v, step, h, dry, slip):
    """The share of a step, at most 1, at which the convex function of `_rub` is least along it."""
    low, high, share = 0.0, 1.0, 1.0
    for _ in range(BISECTIONS):
        slope, size = 0.0, 0.0
        for i in range(v.shape[0]):
            friction = h * dry[i] * min(max((v[i] + share * step[i]) / slip, -1.0), 1.0)
            slope += step[i] * (rest[i] + share * Mstep[i] + friction)
            size += abs(step[i]) * (abs(rest[i]) + abs(Mstep[i]) + abs(friction))
        if abs(slope) <= SETTLED * size or (share == 1.0 and slope < 0.0):
            break
        if slope < 0.0:
            low = share
        else:
            high = share
        share = 0.5 * (low + high)
    return share


@njit(cache=True, nogil=True)
@no_type_check
def _rub(M, free, h, dry, slip, v):
    """Velocity after dry friction: minimise ½(v − free)ᵀM(v − free) + h Σ Φ(v), Φ' = dry·clip(v / slip, −1, 1).

    Newton's method with exact line search on a strongly convex, piecewise quadratic function; v holds the start and
    becomes the solution.
    """
    n = v.shape[0]
    if np.max(dry) == 0.0:
        v[:] = free
        return
    H, step, rest, Mstep = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n)
    for _ in range(NEWTON_STEPS):
        H[:] = M
        for i in range(n):
            rest[i] = 0.0
            for j in range(n):
                rest[i] += M[i, j] * (v[j] - free[j])
            step[i] = -rest[i] - h * dry[i] * min(max(v[i] / slip, -1.0), 1.0)
            if abs(v[i]) < slip:
                H[i, i] += h * dry[i] / slip
        cholesky(H)
        cholesky_solve(H, step)
        for i in range(n):
            Mstep[i] = 0.0
            for j in range(n):
                Mstep[i] += M[i, j] * step[j]
        share = _share(rest, Mstep, v, step, h, dry, slip)
        for i in range(n):
            v[i] += share * step[i]
        if share * np.max(np.abs(step)) <= SETTLED * (slip + np.max(np.abs(v))):
            return


@njit(cache=True, nogil=True)
@no_type_check
def simulate_loop(
    chain, links, resistance, nominal, stiffness, damping, t, coefficients, n_steps, q_out, dq_out, ddq_out, tau_out
):
    """Fill the motion from its first row on; 0 where all went well, k + 1 for a runaway and −k − 1 for no mass at k."""
    rotor, dry, _, _, slip = resistance
    n_samples, n_dof = q_out.shape
    M0, M1 = np.empty((n_dof, n_dof)), np.empty((n_dof, n_dof))
    factor, bias, tau = np.empty((n_dof, n_dof)), np.empty(n_dof), np.empty(n_dof)
    a0, a1 = np.empty(n_dof), np.empty(n_dof)
    q, dq = q_out[0].copy(), dq_out[0].copy()
    q1, v1 = np.empty(n_dof), np.empty(n_dof)
    for k in range(n_samples):
        last = k == n_samples - 1
        c = coefficients[min(k, n_samples - 2)]
        h = (t[min(k, n_samples - 2) + 1] - t[min(k, n_samples - 2)]) / n_steps
        for step in range(1 if last else n_steps):
            _command(chain, nominal, stiffness, damping, c, (n_steps if last else step) * h, q, dq, tau)
            mass_and_bias(chain, q, dq, links, rotor, M0, bias)
            _push(resistance, tau, bias, dq, a0)
            factor[:] = M0
            if not cholesky(factor):
                return -k - 1
            if step == 0:
                for j in range(n_dof):
                    a1[j] = a0[j] - dry[j] * min(max(dq[j] / slip, -1.0), 1.0)
                cholesky_solve(factor, a1)
                q_out[k], dq_out[k], ddq_out[k], tau_out[k] = q, dq, a1, tau
            if last:
                break
            cholesky_solve(factor, a0)
            v1[:] = dq
            _rub(M0, dq + h * a0, h, dry, slip, v1)
            q1[:] = q + 0.5 * h * (dq + v1)
            _command(chain, nominal, stiffness, damping, c, (step + 1) * h, q1, v1, tau)
            mass_and_bias(chain, q1, v1, links, rotor, M1, bias)
            _push(resistance, tau, bias, v1, a1)
            factor[:] = M1
            if not cholesky(factor):
                return -k - 1
            cholesky_solve(factor, a1)
            _rub(0.5 * (M0 + M1), dq + 0.5 * h * (a0 + a1), h, dry, slip, v1)
            q += 0.5 * h * (dq + v1)
            dq[:] = v1
            if not np.max(np.abs(dq)) < RUNAWAY:
                return k + 1
    return 0
