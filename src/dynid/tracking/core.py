"""The compiled filter step: predict, low-pass, absorb one row after the other, move the state."""

from __future__ import annotations

from typing import NamedTuple, no_type_check

import numpy as np

from dynid.arrays import Array
from dynid.dynamics.kernels.stored import njit
from dynid.tracking.factors import absorb_row, add_noise, scale_factors, state_std
from dynid.tracking.row_filter import smooth_rows
from dynid.tracking.rows import RowArrays, Work, n_rows, predict_rows, work_for
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
    "memory_for",
    "state_jacobian",
]

ABSORBED, NOT_FINITE, BACKWARDS = 0, 1, 2
"""How a sample ended: in the estimate, or skipped because of a value that is not finite or time that does not go on."""

N_STEPS, N_NOT_FINITE, N_BACKWARDS, N_JUMPS, N_INSIDE, NEXT_NOISY, RING = range(7)
"""Places of the counters: absorbed, skipped (twice), time jumps, NIS inside its band, next noisy state, ring."""
LAST_T, NIS, PENDING, SUM_MEASURED, SUM_PREDICTED, SCALE, ECHO, N_NUMBERS = range(8)
"""Places of the running numbers: last time (s), last NIS, process noise not yet given out, sums of squares, mean square
of the innovations over what was expected, mean product of neighbouring ones; how many there are."""
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
TINY = 1e-12
"""Least factor on the variances: noise a millionth of what was given is none."""
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
    common: bool
    """Whether one factor on all variances is estimated in place of the noise of each row."""
    low_pass: Array
    """Weights of the low-pass of the rows; empty for none."""
    every: int
    """One filtered row in so many is absorbed."""


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
    last: Array
    """(n_rows,) latest innovation of each row over its standard deviation."""
    past_Y: Array
    """(2, n_rows, n_columns) memory of the low-pass of the regressor; empty without one."""
    past_z: Array
    """(2, n_rows) the same of what was measured."""


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
    Y: Array
    """(n_rows, n_columns) regressor after the low-pass; empty without one."""
    z: Array
    """(n_rows,) measured after the low-pass, without the share of what is not estimated."""
    predicted: Array
    """(n_rows,) prediction after the low-pass."""


def memory_for(rows: RowArrays, n_state: int, n_columns: int, *, smooth: bool) -> Memory:
    """Scratch of a filter of so many states; `smooth` where its rows pass a low-pass."""
    n, z = n_rows(rows), np.zeros
    filtered = (z((n, n_columns)), z(n), z(n)) if smooth else (z((0, 0)), z(0), z(0))
    states = (z((n_state, 10)), z(n_state), z(n_state), z((n, n_state)), z(n_state), z(n_state))
    return Memory(work_for(rows, n_columns), z(n_columns), *states, *filtered)


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
def _absorb(c, st, m, predicted, z, n_updates):
    """Absorb every finite row one after the other; fill dx, return the NIS as if all rows had been measured."""
    U, D, R, numbers, last, H, b, dx = st.U, st.D, st.R, st.numbers, st.last, m.H, m.b, m.dx
    memory = c.memory if not c.common else 0.0
    n_rows, n_state = H.shape
    echo = 0.0
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
        white = innovation / np.sqrt(S)
        echo += white * last[r]
        last[r] = white
        if memory > 0.0:
            # A step of R up the likelihood, Δ log R = α (R/S)(ν²/S − 1): positive by construction.
            pace = max(1.0 / memory, 1.0 / (n_updates + 10.0))
            change = pace * (R[r] / S) * (innovation * step - 1.0)
            R[r] *= 1.0 + min(FACTOR_LIMIT, max(-FACTOR_LIMIT, change))
    if c.common and c.memory > 0.0:
        pace = max(1.0 / c.memory, 1.0 / (n_updates + 1.0))
        before = numbers[SCALE] if n_updates > 0 else nis / n_measured
        numbers[SCALE] += pace * (nis / n_measured - numbers[SCALE])
        numbers[ECHO] += pace * (echo / n_measured - numbers[ECHO])
        nis /= max(before, TINY)
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
    n_updates = st.counters[N_STEPS] // c.every
    if c.low_pass.shape[0] == 0:
        state_jacobian(c.map, m.work.Y, m.G, m.H)
        nis = _absorb(c, st, m, m.work.z, z, n_updates)
    else:
        _smooth(c, st, m, z)
        if (st.counters[N_STEPS] + 1) % c.every:
            st.counters[N_STEPS] += 1
            return ABSORBED
        state_jacobian(c.map, m.Y, m.G, m.H)
        nis = _absorb(c, st, m, m.predicted, m.z, n_updates)
    _move_state(c.map, st, m, c.carry)
    _remember(c, st, nis)
    return ABSORBED


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _smooth(c, st, m, z):
    """Fill m.Y, m.z and m.predicted: the low-passed equations of what is estimated, at the state as it is."""
    Y, theta, known, predicted = m.work.Y, m.theta, m.z, m.predicted
    n_rows, n_columns = Y.shape
    for r in range(n_rows):
        # Columns that are not estimated have no derivatives: their share goes over to the measured side.
        total = z[r] - m.work.z[r]
        for k in range(n_columns):
            total += Y[r, k] * theta[k]
        known[r] = total
    smooth_rows(c.low_pass, st.past_Y, st.past_z, Y, known, m.Y, known)
    for r in range(n_rows):
        total = 0.0
        for k in range(n_columns):
            total += m.Y[r, k] * theta[k]
        predicted[r] = total


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
        scale_factors(st.U, st.D, ratio)


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
def filter_steps(c, st, m, t, q, dq, ddq, z, terms, every, x, std, nis):
    """All samples of a block; after every `every`-th its state goes into x and std, the NIS of each into nis."""
    n_kept = 0
    for k in range(t.shape[0]):
        if terms.shape[0] > 0:
            for j in range(terms.shape[1]):
                for i in range(terms.shape[2]):
                    m.work.terms[j, i] = terms[k, j, i]
        outcome = filter_step(c, st, m, t[k], q[k], dq[k], ddq[k], z[k])
        nis[k] = st.numbers[NIS] if outcome == ABSORBED else np.nan
        if (k + 1) % every == 0 and n_kept < x.shape[0]:
            for i in range(x.shape[1]):
                x[n_kept, i] = st.x[i]
            state_std(st.U, st.D, std[n_kept])
            n_kept += 1
    return n_kept
