"""Compiled state maps: parameters, columns of θ and exact derivatives at a state."""

from __future__ import annotations

from typing import NamedTuple, no_type_check

import numpy as np

from dynid.arrays import Array
from dynid.dynamics.kernels.stored import njit

__all__ = ["MapArrays", "evaluate_map"]


class MapArrays(NamedTuple):
    """A state map as arrays for the compiled core."""

    lower: Array
    upper: Array
    slope: Array
    scale: Array
    centre: Array
    """Value of a free parameter at state zero."""
    bounded: Array
    first: Array
    """First column of θ that the state acts on."""
    width: Array
    """Number of columns it acts on; 0 for the states of a nonlinear group."""
    B: Array
    """(n_state, 10) what one unit of the parameter adds to these columns."""
    theta0: Array
    """The part of θ that is not estimated."""
    group_kind: Array
    """0 moments and principal inertias, 1 log-Cholesky."""
    group_state: Array
    """First state of the group."""
    group_axes: Array
    """(n_groups, 3, 3) principal axes as columns."""


@njit(cache=True, nogil=True)
@no_type_check
def evaluate_map(a, x, theta, G, p, rate):
    """Fill p with the parameters at x, rate with ∂p/∂x, θ with all columns, G[state] with ∂θ/∂x over its columns."""
    bounded, slope, lower, upper, centre, scale = a.bounded, a.slope, a.lower, a.upper, a.centre, a.scale
    first, width, B, theta0 = a.first, a.width, a.B, a.theta0
    for k in range(theta.shape[0]):
        theta[k] = theta0[k]
    for s in range(x.shape[0]):
        if bounded[s]:
            share = 1.0 / (1.0 + np.exp(-slope[s] * x[s]))
            span = upper[s] - lower[s]
            p[s] = lower[s] + span * share
            rate[s] = slope[s] * span * share * (1.0 - share)
        else:
            p[s] = centre[s] + scale[s] * x[s]
            rate[s] = scale[s]
        if width[s] > 0:
            for k in range(width[s]):
                theta[first[s] + k] += p[s] * B[s, k]
                G[s, k] = rate[s] * B[s, k]
        else:
            G[s, 0] = rate[s]
    for g in range(a.group_kind.shape[0]):
        s = a.group_state[g]
        c = a.first[s]
        if a.group_kind[g] == 0:
            _moments(a.group_axes[g], p[s : s + 7], theta[c : c + 10], G[s : s + 7])
        else:
            _log_cholesky(p[s : s + 10], theta[c : c + 10], G[s : s + 10])


@njit(cache=True, nogil=True)
@no_type_check
def _moments(R, p, pi, G):
    r"""Ten numbers of (m, l, I₁…I₃) about the link frame, :math:`I = R\,\mathrm{diag}(I_k)R^T + (l^Tl\,1 - ll^T)/m`."""
    m = p[0]
    n = 4
    square = p[1] * p[1] + p[2] * p[2] + p[3] * p[3]
    pi[0], pi[1], pi[2], pi[3] = m, p[1], p[2], p[3]
    rate = (G[0, 0], G[1, 0], G[2, 0], G[3, 0], G[4, 0], G[5, 0], G[6, 0])
    for s in range(7):
        for k in range(10):
            G[s, k] = 0.0
    for s in range(4):
        G[s, s] = rate[s]
    for column in range(3):
        for row in range(column + 1):
            unit = 1.0 if row == column else 0.0
            steiner = (square * unit - p[1 + row] * p[1 + column]) / m
            total = steiner
            for k in range(3):
                part = R[row, k] * R[column, k]
                total += p[4 + k] * part
                G[4 + k, n] = rate[4 + k] * part
            pi[n] = total
            G[0, n] = -rate[0] * steiner / m
            for k in range(3):
                slope = 2.0 * p[1 + k] * unit
                if k == row:
                    slope -= p[1 + column]
                if k == column:
                    slope -= p[1 + row]
                G[1 + k, n] = rate[1 + k] * slope / m
            n += 1


@njit(cache=True, nogil=True)
@no_type_check
def _log_cholesky(p, pi, G):
    r"""Ten numbers of J = UUᵀ and their derivatives: :math:`\partial J = \partial U\,U^T + U\,\partial U^T`."""
    size = np.exp(p[0])
    U = (
        (size * np.exp(p[1]), size * p[4], size * p[6], size * p[7]),
        (0.0, size * np.exp(p[2]), size * p[5], size * p[8]),
        (0.0, 0.0, size * np.exp(p[3]), size * p[9]),
        (0.0, 0.0, 0.0, size),
    )
    _of_pseudo(U, U, 0.5, pi)
    rows = (0, 0, 1, 2, 0, 1, 0, 0, 1, 2)
    columns = (0, 0, 1, 2, 1, 2, 2, 3, 3, 3)
    for s in range(10):
        rate = G[s, 0]
        if s == 0:
            for k in range(10):
                G[s, k] = 2.0 * rate * pi[k]
            continue
        # ∂U is one entry; its product with Uᵀ is one row.
        r, c = rows[s], columns[s]
        value = rate * (U[r][c] if s < 4 else size)
        _of_entry(U, r, c, value, G[s])


@njit(cache=True, nogil=True)
@no_type_check
def _of_pseudo(A, B, factor, pi):
    """Ten numbers of the symmetric matrix factor·(ABᵀ + BAᵀ)."""
    J = (
        _dot(A[0], B[0]),
        0.5 * (_dot(A[0], B[1]) + _dot(A[1], B[0])),
        _dot(A[1], B[1]),
        0.5 * (_dot(A[0], B[2]) + _dot(A[2], B[0])),
        0.5 * (_dot(A[1], B[2]) + _dot(A[2], B[1])),
        _dot(A[2], B[2]),
    )
    pi[0] = 2.0 * factor * _dot(A[3], B[3])
    for k in range(3):
        pi[1 + k] = factor * (_dot(A[k], B[3]) + _dot(A[3], B[k]))
    trace = J[0] + J[2] + J[5]
    for n in range(6):
        pi[4 + n] = -2.0 * factor * J[n]
    for n in (0, 2, 5):
        pi[4 + n] += 2.0 * factor * trace


@njit(cache=True, nogil=True)
@no_type_check
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@njit(cache=True, nogil=True)
@no_type_check
def _of_entry(U, r, c, value, pi):
    """Ten numbers of ∂U Uᵀ + U ∂Uᵀ where ∂U has `value` at (r, c) and is zero elsewhere."""
    zero = 0.0
    D = (
        (
            value if r == 0 and c == 0 else zero,
            value if r == 0 and c == 1 else zero,
            value if r == 0 and c == 2 else zero,
            value if r == 0 and c == 3 else zero,
        ),
        (
            zero,
            value if r == 1 and c == 1 else zero,
            value if r == 1 and c == 2 else zero,
            value if r == 1 and c == 3 else zero,
        ),
        (zero, zero, value if r == 2 and c == 2 else zero, value if r == 2 and c == 3 else zero),
        (zero, zero, zero, zero),
    )
    _of_pseudo(D, U, 1.0, pi)
