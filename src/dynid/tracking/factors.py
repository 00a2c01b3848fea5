r"""Compiled updates of the factors :math:`P = U D U^T` of a covariance, one row after the other.

Bierman's update multiplies the entries of D by ratios of positive numbers, so P stays symmetric and positive definite
whatever the rounding, for any number of steps [Bierman1977]_. Row j of `U` holds column j of the unit upper triangular
factor, so that the inner loops run along memory.
"""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from scipy import linalg

from dynid.arrays import Array, Float
from dynid.dynamics.kernels.stored import njit

__all__ = [
    "absorb_row",
    "add_noise",
    "information_factor",
    "scale_factors",
    "state_std",
    "triangular_factors",
    "upper_triangle",
]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
@no_type_check
def absorb_row(U, D, h, first, r, b):
    """Bierman's update by one row h (zero before `first`) with noise variance r.

    Returns the variance S of the innovation; b/S is then the gain.
    """
    n = h.shape[0]
    for i in range(n):
        b[i] = 0.0
    alpha, inverse = r, 1.0 / r
    for j in range(first, n):
        row = U[j]
        f = h[j]
        for i in range(first, j):
            f += row[i] * h[i]
        v = D[j] * f
        back = -f * inverse
        before = alpha
        alpha += v * f
        inverse = 1.0 / alpha
        D[j] *= before * inverse
        for i in range(j):
            old, gain = row[i], b[i]
            row[i] = old + gain * back
            b[i] = gain + old * v
        b[j] = v
    return alpha


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def add_noise(U, D, s, variance, a):
    """The factors of P + variance·e_s e_sᵀ by Agee and Turner's rank-one update."""
    for i in range(s):
        a[i] = 0.0
    a[s] = 1.0
    c = variance
    for j in range(s, -1, -1):
        push = a[j]
        d = D[j] + c * push * push
        share = c / d
        gain = push * share
        c = share * D[j]
        D[j] = d
        row = U[j]
        for i in range(j):
            old = row[i]
            left = a[i] - push * old
            a[i] = left
            row[i] = old + gain * left


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def scale_factors(U, D, s):
    """The factors of S P S with S = diag(s)."""
    for j in range(D.shape[0]):
        row = U[j]
        inverse = 1.0 / s[j]
        D[j] *= s[j] * s[j]
        for i in range(j):
            row[i] *= s[i] * inverse


@njit(cache=True, nogil=True)
@no_type_check
def state_std(U, D, std):
    """Standard deviation of every state: the root of the diagonal of UDUᵀ."""
    n = D.shape[0]
    for i in range(n):
        total = D[i]
        for j in range(i + 1, n):
            total += U[j, i] * U[j, i] * D[j]
        std[i] = np.sqrt(total)


def upper_triangle(U: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The unit upper triangular factor itself, dimensionless."""
    return np.triu(U.T, 1) + np.eye(len(U))


def triangular_factors(
    n: int, std: float, correlation: Float[Array, "n n"] | None
) -> tuple[Float[Array, "n n"], Float[Array, " n"]]:
    """U and D of a covariance with one standard deviation for all states (dimensionless), correlated or not."""
    if correlation is None:
        return np.eye(n), np.full(n, std**2)
    # Cholesky from the last state backwards gives the upper triangular factor.
    half = np.linalg.cholesky(np.asarray(correlation)[::-1, ::-1])[::-1, ::-1]
    return np.array((half / np.diag(half)).T, order="C"), std**2 * np.diag(half) ** 2


def information_factor(U: Float[Array, "n n"], D: Float[Array, " n"], scale: Float[Array, " n"]) -> Float[Array, "n n"]:
    """F with FᵀF = P⁻¹ of `scale` times the states, in one over the unit of `scale`."""
    whole = linalg.solve_triangular(upper_triangle(U), np.diag(1.0 / scale), unit_diagonal=True)
    return np.asarray(whole / np.sqrt(D)[:, None])
