r"""One Gaussian of the load and of what disturbs each row, kept as the load and the disturbances given the load.

Given the load :math:`\pi`, what disturbs one row has nothing to do with what disturbs another,

.. math::

    p(\pi, e_1, \dots, e_n) = \mathcal N(\pi;\, m,\, U D U^T)
    \prod_r \mathcal N\bigl(e_r;\, \bar e_r + B_r (\pi - m),\, C_r\bigr) ,

so a row :math:`z = h_e^T e_r + h^T \pi + v` is one scalar update of the ten states of the load [Bierman1977]_, with
:math:`k = h + B_r^T h_e` for its row and :math:`h_e^T C_r h_e + R` for its noise, and one of four states,
:math:`K = C_r h_e / (h_e^T C_r h_e + R)`: it is the Kalman filter of all states, term by term. Only a load that moves
ties the rows together: none of them knows how far it went. That adds :math:`\beta b b^T` to the covariance of all
errors, and :math:`\beta b_r b_r^T / \mu_r` for each row alone bounds it from above for any shares that add up to one
(Cauchy and Schwarz); :math:`\mu_r` is proportional to :math:`b_r` over what row r does not know of its errors, which
makes the bound tight where one row knows more than the others. So the filter is never surer than that of all states.
"""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from dynid.dynamics.kernels.stored import njit

__all__ = [
    "LOAD_SIZE",
    "N_ERRORS",
    "absorb_row_of_errors",
    "absorb_row_of_load",
    "errors_by_load",
    "row_variance",
    "spread_load",
]

LOAD_SIZE = 10
"""States of the load."""
N_ERRORS = 4
"""States of each row: slow error, offset, friction and drive gain."""


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def add_direction(U, D, variance, a):
    """The factors of P + variance·a aᵀ (Agee and Turner); a is used up."""
    for j in range(D.shape[0] - 1, -1, -1):
        push = a[j]
        d = D[j] + variance * push * push
        if push == 0.0 or d <= 0.0:
            continue
        share = variance / d
        gain = push * share
        variance = share * D[j]
        D[j] = d
        for i in range(j):
            left = a[i] - push * U[j, i]
            a[i] = left
            U[j, i] += gain * left


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def spread_load(U, D, B, C, u, only, variance, w, moved):
    r"""Let the load move by a random length along u (used up): P' = P + variance·u uᵀ, and what the rows know of it.

    With :math:`w = P^{-1} u`, :math:`\beta = \sigma^2 / (1 + \sigma^2 u^T w)` and :math:`b_r = B_r u`, exactly
    :math:`B_r' = B_r - \beta b_r w^T` and :math:`\beta b_r b_s^T` more covariance of the errors of rows r and s.
    `only` is the one state along which u points, −1 where it points along more; `moved` (n_rows, 5) is scratch.
    """
    for i in range(LOAD_SIZE):
        w[i] = u[i]
    for j in range(LOAD_SIZE - 1 if only < 0 else only, -1, -1):
        for i in range(j):
            w[i] -= U[j, i] * w[j]
    along = 0.0
    for j in range(LOAD_SIZE):
        total = w[j] / D[j]
        for i in range(j):
            total -= U[j, i] * w[i]
        w[j] = total
        along += total * u[j]
    share, sizes = variance / (1.0 + variance * along), 0.0
    for r in range(B.shape[0]):
        square = 0.0
        for i in range(N_ERRORS):
            total = 0.0
            if only < 0:
                for a in range(LOAD_SIZE):
                    total += B[r, i, a] * u[a]
            else:
                total = B[r, i, only] * u[only]
            moved[r, i] = total
            if C[r, i, i] > 0.0:
                square += total * total / C[r, i, i]
            push = share * total
            for a in range(LOAD_SIZE):
                B[r, i, a] -= push * w[a]
        moved[r, N_ERRORS] = np.sqrt(square)
        sizes += moved[r, N_ERRORS]
    for r in range(B.shape[0]):
        if moved[r, N_ERRORS] > 0.0:
            push = share * sizes / moved[r, N_ERRORS]
            for i in range(N_ERRORS):
                for k in range(N_ERRORS):
                    C[r, i, k] += push * moved[r, i] * moved[r, k]
    add_direction(U, D, variance, u)


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def errors_by_load(B, he, k):
    """Fill k with Bᵀhe: what heᵀe changes by with the load."""
    for a in range(LOAD_SIZE):
        k[a] = he[0] * B[0, a] + he[1] * B[1, a] + he[2] * B[2, a] + he[3] * B[3, a]


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def row_variance(U, D, C, he, k, seen, f):
    """Variance of heᵀe + hᵀπ given π, and over all, with k = h + Bᵀhe; seen becomes C he and f Uᵀk."""
    own = 0.0
    for i in range(N_ERRORS):
        total = C[i, 0] * he[0] + C[i, 1] * he[1] + C[i, 2] * he[2] + C[i, 3] * he[3]
        seen[i] = total
        own += total * he[i]
    whole = own
    for j in range(LOAD_SIZE):
        total = k[j]
        for i in range(j):
            total += U[j, i] * k[i]
        f[j] = total
        whole += D[j] * total * total
    return own, whole


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def absorb_row_of_load(U, D, f, own, b):
    """Bierman's update of the load by a row with f = Uᵀk and noise `own`; return the variance S: b/S is the gain."""
    alpha, inverse = own, 1.0 / own
    for j in range(LOAD_SIZE):
        v = D[j] * f[j]
        back = -f[j] * inverse
        before = alpha
        alpha += v * f[j]
        inverse = 1.0 / alpha
        D[j] *= before * inverse
        for i in range(j):
            old, gain = U[j, i], b[i]
            U[j, i] = old + gain * back
            b[i] = gain + old * v
        b[j] = v
    return alpha


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def absorb_row_of_errors(e, B, C, k, own, innovation, seen):
    """The same of one row's errors given the load; the innovation is that at the load which e belongs to."""
    inverse = 1.0 / own
    for i in range(N_ERRORS):
        gain = seen[i] * inverse
        e[i] += gain * innovation
        for a in range(LOAD_SIZE):
            B[i, a] -= gain * k[a]
        for j in range(N_ERRORS):
            C[i, j] -= gain * seen[j]
