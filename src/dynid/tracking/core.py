r"""The compiled filter step: scalar updates of the factors :math:`P = U D U^T`, one row after the other.

Bierman's update multiplies the entries of D by ratios of positive numbers, so P stays symmetric and positive definite
whatever the rounding, for any number of steps [Bierman1977]_. Row j of `U` holds column j of the unit upper triangular
factor, so that the inner loops run along memory.
"""

from __future__ import annotations

from typing import NamedTuple, no_type_check

import numpy as np
from numba import njit

from dynid.arrays import Array
from dynid.tracking.rows import RowArrays, Work, predict_rows
from dynid.tracking.state_kernels import MapArrays, evaluate_map

__all__ = [
    "ABSORBED",
    "BACKWARDS",
    "NOT_FINITE",
    "Constants",
    "Memory",
    "State",
    "filter_step",
    "filter_steps",
    "state_jacobian",
]

ABSORBED, NOT_FINITE, BACKWARDS = 0, 1, 2
"""How a sample ended: in the estimate, or skipped because of a value that is not finite or time that does not go on."""

N_STEPS, N_NOT_FINITE, N_BACKWARDS, N_JUMPS, N_INSIDE, NEXT_NOISY, RING = range(7)
"""Places of the counters: absorbed, skipped (twice), time jumps, NIS inside its band, next noisy state, ring."""
LAST_T, NIS, PENDING, SUM_MEASURED, SUM_PREDICTED = range(5)
"""Places of the running numbers: last time (s), last NIS, process noise not yet given out, sums of squares."""
NOISY_PER_STEP = 3
"""States that get their process noise in one step where there are many; the others wait their turn."""
EVERY_STATE_UP_TO = 32
"""Up to so many states all get their process noise in every step."""
NEGLIGIBLE = 1e-14
"""Process noise below this (states are dimensionless, of order one) is none."""
MARGIN = 1e-3
"""Fraction of its range that a parameter keeps away from its bounds; it stops there."""
FLAT = 0.015
"""Slope of a sigmoid, over c times its range, below which the parameter counts as stopped by a bound."""
SMALL_STEP = 1e-3
"""Step of a state, times its slope, below which curve and straight line are the same."""
EDGE = 6.906754778648554  # log((1 - MARGIN) / MARGIN)
"""Slope times state at that margin."""
LARGEST_STEP = 1.0
"""Of a log-Cholesky state in one sample, in units of its scale: farther its linearisation means nothing."""
FACTOR_LIMIT = 0.5
"""Largest relative change of an estimated noise variance in one step."""


class Constants(NamedTuple):
    """What does not change while the filter runs."""

    rows: RowArrays
    map: MapArrays
    noise_start: float
    noise_decay: float
    """Samples after which the annealed process noise has fallen by e."""
    noise_floor: float
    gap: float
    """Seconds between samples beyond which time has jumped."""
    memory: float
    """Samples over which the measurement noise is estimated; 0 keeps it as given."""
    band: Array
    """(2,) two-sided 95 % band of the NIS."""
    carry: bool
    """Whether the covariance of the parameters, not of the state, is carried along when the state moves."""


class State(NamedTuple):
    """What a checkpoint holds: everything the next step depends on."""

    x: Array
    U: Array
    D: Array
    R: Array
    """(n_rows,) variances of the measured rows."""
    pending: Array
    """(n_state,) sums of process noise already given to each state."""
    counters: Array
    numbers: Array
    nis: Array
    """Ring of the latest NIS values."""


class Memory(NamedTuple):
    """Scratch of one step, made once."""

    work: Work
    theta: Array
    G: Array
    p: Array
    rate: Array
    H: Array
    b: Array
    dx: Array


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


@njit(cache=True, nogil=True)
@no_type_check
def _process_noise(c, st, m):
    """Give out the annealed process noise k₀ exp(−n/n₀) + k∞: to all states, or to some in turn."""
    U, D, pending, counters, numbers, scratch = st.U, st.D, st.pending, st.counters, st.numbers, m.b
    n_state = D.shape[0]
    k = c.noise_floor
    if c.noise_start > 0.0:
        k += c.noise_start * np.exp(-counters[N_STEPS] / c.noise_decay)
    if k < NEGLIGIBLE:
        k = 0.0
    numbers[PENDING] += k
    count = n_state if n_state <= EVERY_STATE_UP_TO else NOISY_PER_STEP
    for _ in range(count):
        s = counters[NEXT_NOISY]
        due = numbers[PENDING] - pending[s]
        if due > 0.0:
            add_noise(U, D, s, due, scratch)
            pending[s] = numbers[PENDING]
        counters[NEXT_NOISY] = s + 1 if s + 1 < n_state else 0


@njit(cache=True, nogil=True)
@no_type_check
def state_jacobian(a, Y, G, H):
    """Rows of the measurement by the state: the regressor times ∂θ/∂x."""
    firsts, widths = a.first, a.width
    for s in range(H.shape[1]):
        first = firsts[s]
        width = widths[s] if widths[s] > 0 else 10
        for r in range(H.shape[0]):
            total = 0.0
            for k in range(width):
                total += Y[r, first + k] * G[s, k]
            H[r, s] = total


@njit(cache=True, nogil=True)
@no_type_check
def _finite(t, q, dq, ddq, z):
    good = np.isfinite(t)
    for j in range(q.shape[0]):
        good = good and np.isfinite(q[j]) and np.isfinite(dq[j]) and np.isfinite(ddq[j])
    # A row that is missing is left out; only a sample without any is skipped.
    some = False
    for r in range(z.shape[0]):
        some = some or np.isfinite(z[r])
    return good and some


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _absorb(U, D, R, numbers, H, b, dx, predicted, z, memory, n_steps):
    """Absorb every finite row one after the other; fill dx, return the NIS as if all rows had been measured."""
    n_rows, n_state = H.shape
    for s in range(n_state):
        dx[s] = 0.0
    nis, n_measured = 0.0, 0
    for r in range(n_rows):
        if not np.isfinite(z[r]):
            continue
        n_measured += 1
        h = H[r]
        first = 0
        while first < n_state and h[first] == 0.0:
            first += 1
        innovation = z[r] - predicted[r]
        numbers[SUM_MEASURED] += z[r] * z[r]
        numbers[SUM_PREDICTED] += predicted[r] * predicted[r]
        for s in range(first, n_state):
            innovation -= h[s] * dx[s]
        S = absorb_row(U, D, h, first, R[r], b)
        step = innovation / S
        for s in range(n_state):
            dx[s] += b[s] * step
        nis += innovation * step
        if memory > 0.0:
            # A step of R up the likelihood, Δ log R = α (R/S)(ν²/S − 1): positive by construction.
            pace = max(1.0 / memory, 1.0 / (n_steps + 10.0))
            change = pace * (R[r] / S) * (innovation * step - 1.0)
            R[r] *= 1.0 + min(FACTOR_LIMIT, max(-FACTOR_LIMIT, change))
    return nis * n_rows / n_measured


@njit(cache=True, nogil=True)
@no_type_check
def filter_step(c, st, m, t, q, dq, ddq, z):
    """One sample: predict, absorb row by row, move the state; nothing is allocated."""
    if not _finite(t, q, dq, ddq, z):
        st.counters[N_NOT_FINITE] += 1
        return NOT_FINITE
    if t <= st.numbers[LAST_T]:
        st.counters[N_BACKWARDS] += 1
        return BACKWARDS
    if t - st.numbers[LAST_T] > c.gap:
        st.counters[N_JUMPS] += 1
    st.numbers[LAST_T] = t
    _process_noise(c, st, m)
    evaluate_map(c.map, st.x, m.theta, m.G, m.p, m.rate)
    predict_rows(c.rows, q, dq, ddq, m.theta, m.work)
    state_jacobian(c.map, m.work.Y, m.G, m.H)
    nis = _absorb(st.U, st.D, st.R, st.numbers, m.H, m.b, m.dx, m.work.z, z, c.memory, st.counters[N_STEPS])
    _move_state(c.map, st, m, c.carry)
    _remember(c, st, nis)
    return ABSORBED


@njit(cache=True, nogil=True)
@no_type_check
def _move_state(a, st, m, carry):
    r"""Move the state and, where asked, carry the covariance of the parameters to where it is now.

    The measurement is linear in the parameters, so what it said about them stays true when the slope of a sigmoid
    changes: :math:`P \leftarrow S P S` with :math:`S = \mathrm{diag}(p'(x^-)/p'(x^+))`, in the factors
    :math:`U_{ij} s_i / s_j` and :math:`D_j s_j^2`. Where a sigmoid is flat, near a bound, P stays that of the state:
    the parameter stops there and the others take over what it cannot explain. States stop a thousandth of the range
    away from a bound, so that they can come back.
    """
    x, dx, ratio, p, rate = st.x, m.dx, m.b, m.p, m.rate
    bounded, slope, lower, upper = a.bounded, a.slope, a.lower, a.upper
    for s in range(x.shape[0]):
        ratio[s] = 1.0
        if dx[s] == 0.0:
            continue
        if not bounded[s]:
            # The ten states of a consistent link stand in exponents: a spike must not carry them out of reach.
            most = LARGEST_STEP if a.width[s] == 0 else np.inf
            x[s] += min(most, max(-most, dx[s]))
            continue
        c, span = slope[s], upper[s] - lower[s]
        to = x[s] + dx[s]
        if carry and abs(c * dx[s]) > SMALL_STEP:
            # Away from a bound the curve steepens: not further than the parameter itself would go.
            share = min(1.0 - MARGIN, max(MARGIN, (p[s] - lower[s] + rate[s] * dx[s]) / span))
            straight = np.log(share / (1.0 - share)) / c
            if abs(straight - x[s]) < abs(dx[s]):
                to = straight
        to = min(EDGE / c, max(-EDGE / c, to))
        x[s] = to
        if carry:
            share = 1.0 / (1.0 + np.exp(-c * to))
            least = FLAT * c * span
            ratio[s] = max(rate[s], least) / max(c * span * share * (1.0 - share), least)
    if carry:
        _scale_factors(st.U, st.D, ratio)


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _scale_factors(U, D, s):
    for j in range(D.shape[0]):
        row = U[j]
        inverse = 1.0 / s[j]
        D[j] *= s[j] * s[j]
        for i in range(j):
            row[i] *= s[i] * inverse


@njit(cache=True, nogil=True)
@no_type_check
def _remember(c, st, nis):
    st.numbers[NIS] = nis
    st.counters[N_STEPS] += 1
    if c.band[0] <= nis <= c.band[1]:
        st.counters[N_INSIDE] += 1
    st.nis[st.counters[RING]] = nis
    st.counters[RING] = (st.counters[RING] + 1) % st.nis.shape[0]


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


@njit(cache=True, nogil=True)
@no_type_check
def filter_steps(c, st, m, t, q, dq, ddq, z, terms, every, x, std, nis):
    """All samples of a block; after every `every`-th its state goes into x and std, the NIS of each into nis."""
    n_kept = 0
    for k in range(t.shape[0]):
        if terms.shape[0] > 0:
            m.work.terms[:] = terms[k]
        outcome = filter_step(c, st, m, t[k], q[k], dq[k], ddq[k], z[k])
        nis[k] = st.numbers[NIS] if outcome == ABSORBED else np.nan
        if (k + 1) % every == 0 and n_kept < x.shape[0]:
            x[n_kept, :] = st.x
            state_std(st.U, st.D, std[n_kept])
            n_kept += 1
    return n_kept
