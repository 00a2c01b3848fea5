r"""The compiled load filter: three hypotheses side by side, each a Kalman filter of the load and of what disturbs it.

State of one filter, in this order (n rows are measured, the first n_dof of them joint torques):

=============  =======  ====================================================================================
c              n        slow torque error of each row, first-order Markov: standard deviation `slow`, `memory`
o              n_dof    offset of each joint since the model was identified, N·m or N
f              n_dof    friction of each joint over that of the model, minus one
g              n_dof    drive gain of each joint as the load sees it, minus one
:math:`\pi`    10       the load about the flange, SI
=============  =======  ====================================================================================

One torque reads :math:`\tau_j = \tau_{arm,j} + (1+g_j) H_j \pi + f_j F_j + o_j + c_j + v_j` with white noise
:math:`v_j`; :math:`F_j` is the model's friction and :math:`H_j` the load's row of the regressor with the friction that
its weight adds in the gear. Rows are absorbed one after the other in the factors :math:`P = U D U^T` [Bierman1977]_.
The load stands last, so that its covariance needs only its own block of the factors.
"""

from __future__ import annotations

from typing import NamedTuple, no_type_check

import numpy as np
from numba import njit

from dynid.arrays import Array
from dynid.tracking.core import _scale_factors, absorb_row, add_noise
from dynid.tracking.load_body import BodyScratch, nearest_body
from dynid.tracking.rows import RowArrays, Work, predict_rows
from dynid.tracking.terms import TermArrays, begin_path, fill_terms, follow_path, keep_to_velocity

__all__ = [
    "CONTACT",
    "NOTHING",
    "OLDER",
    "PICKED",
    "SAVED",
    "LoadConstants",
    "LoadMemory",
    "LoadState",
    "absorb_sample",
    "predict_arm",
]

NOTHING, PICKED, CONTACT, SAVED, OLDER = range(5)
"""Filters of the bank: the load is what it was; it changed; something touches the arm. The last two do not run: they
are what the first was a moment ago, so that a hypothesis starts from before the change, not from its first samples."""
OUTLIER = 4.0
"""Standard deviations beyond which a row counts less: its weight falls as one over its size (Huber)."""
LEAST_NOISE, MOST_NOISE = 0.05, 4.0
"""White noise of a row over that of the identified model, at least and at most."""
SLOWEST = 0.02
"""Pace of slow errors over that of the model, at least: smooth errors change less from sample to sample."""
SPREAD_TIME, SPREAD_STEP = 0.3, 0.1
"""Time (s) over which the spread of innovations is estimated, and its largest relative step in one sample."""
LEAST_SPREAD, MOST_SPREAD = 1e-4, 100.0
"""Variance of an innovation over that of the filter, at least and at most."""


class LoadConstants(NamedTuple):
    """What does not change while the filter runs."""

    rows: RowArrays
    terms: TermArrays
    theta: Array
    """(n_links·10 + 10) inertial parameters of the arm, then zeros for the load, SI."""
    gear: Array
    """(n_columns,) the same of the links that load the gears; empty where no friction depends on it."""
    own: Array
    """(n_dof, n_terms) parameters of the joint terms, SI."""
    inertia: Array
    """(n_terms,) 1 for terms that are inertias, 0 for friction."""
    E: Array
    """(10, 4, 4) pseudo-inertias of the unit loads."""
    limits: Array
    """(2,) largest mass in kg, reach in m."""
    white: Array
    """(n_rows,) standard deviation of the white noise in the identified model, N·m or N."""
    slow: Array
    """(n_rows,) standard deviation of the slow error, N·m or N."""
    memory: Array
    """(n_rows,) its time constant, s."""
    standstill: Array
    """(n_dof,) standard deviation of friction near standstill, N·m or N."""
    standstill_speed: Array
    """(n_dof,) speed below which a joint stands, rad/s or m/s."""
    drift: Array
    """(n_x,) stationary standard deviation of each state, SI; 0 for c and the load."""
    drift_time: float
    """Time constant of offset and friction, s."""
    walk: Array
    """(10,) random walk of the load, SI per √s."""
    jump: Array
    """(10, 10) rows whose outer products add up to the covariance of a load change, SI."""
    touch: Array
    """(n_rows,) standard deviation of the torque of a contact, N·m or N."""
    touch_time: float
    """Time constant of a contact's torque, s."""
    noise_time: float
    """Time over which the white noise is estimated while running, s."""
    gap: float
    """Longest step of time that is predicted over, s."""


class LoadState(NamedTuple):
    """Everything the next step depends on; fixed in size."""

    x: Array
    """(5, n_x) means of the filters."""
    U: Array
    """(5, n_x, n_x) unit triangular factors, by columns."""
    D: Array
    """(5, n_x)"""
    R: Array
    """(n_rows,) variances of the white noise."""
    pace: Array
    """(n_rows,) how fast slow errors change over what the model says; at most 1."""
    spread: Array
    """(2, n_rows) variance of an innovation over that of the filter, in motion and at standstill. Below 1 errors of
    successive samples are alike, and the filter rightly counts each for less than one; above 1 the noise of the row is
    larger by that for now."""
    speed: Array
    """(n_dof,) velocities of the sample before, rad/s or m/s."""
    pi: Array
    """(5, 10) the loads: always bodies, SI."""
    likelihood: Array
    """(5,) log-likelihood since the last branch."""
    touched: Array
    """(5,) 1 where the filter takes slow torque for a contact."""
    before: Array
    """(n_dof,) positions of the sample before, rad or m."""
    z: Array
    """(n_dof, n_states + 2) what friction remembers, the load of the gear and its position."""
    t: Array
    """(3,) time of the last sample in s (nan before the first), number of samples, NIS of the last."""


class LoadMemory(NamedTuple):
    """Scratch of one step, made once."""

    work: Work
    body: BodyScratch
    terms: Array
    """(n_dof, n_terms) columns of the joint terms."""
    stack: Array
    rigid: Array
    """(n_rows,) torque of the arm's links, N·m or N."""
    arm: Array
    """(n_rows,) the same with joint terms."""
    friction: Array
    """(n_dof,) friction of the model, N·m or N."""
    extra: Array
    """(2, n_dof) friction added per torque that the load asks of the gear; and what it adds at the load itself."""
    H: Array
    """(n_rows, 10) rows of the load."""
    h: Array
    """(n_x,) one row of the measurement."""
    b: Array
    scale: Array
    gears: Array
    """(n_dof,) torque that loads the gears, N·m or N."""
    swept: Array
    """(n_rows,) variance of friction that passed through standstill since the sample before, (N·m)² or N²."""


@njit(cache=True, nogil=True)
@no_type_check
def predict_arm(c, s, m, dt, q, dq, ddq):
    """The arm's torque and the load's rows at a sample; friction goes on from the sample before."""
    n, n_rows = q.shape[0], s.R.shape[0]
    if np.isnan(s.before[0]):
        begin_path(c.terms, q, dq, c.standstill_speed, s.before, s.z, m.stack)
    else:
        keep_to_velocity(q, dq, dt, s.before)
        follow_path(c.terms, q, s.before, s.z, m.stack)
    if c.gear.shape[0] > 0:
        predict_rows(c.rows, q, dq, ddq, c.gear, m.work)
        for j in range(n):
            m.gears[j] = m.work.z[j]
    predict_rows(c.rows, q, dq, ddq, c.theta, m.work)
    last = c.theta.shape[0] - 10
    for r in range(n_rows):
        m.rigid[r] = m.work.z[r]
        for a in range(10):
            m.H[r, a] = m.work.Y[r, last + a]


@njit(cache=True, nogil=True)
@no_type_check
def _loaded_terms(c, s, m, q, dq, ddq, pi):
    """Joint terms with a load π on the gears, friction of the model, and the friction per torque on the gears."""
    n, n_rows, n_terms = dq.shape[0], s.R.shape[0], c.own.shape[1]
    loads = m.scale
    for j in range(n):
        total = m.gears[j]
        for a in range(10):
            total += m.H[j, a] * pi[a]
        loads[j] = total
    fill_terms(c.terms, q, dq, ddq, loads, s.z, m.stack, m.terms)
    for r in range(n_rows):
        m.arm[r] = m.rigid[r]
    for j in range(n):
        m.friction[j], m.extra[0, j], m.extra[1, j] = 0.0, 0.0, 0.0
    C = c.terms.transmission
    for motor in range(n):
        whole, friction, per_load = 0.0, 0.0, 0.0
        gear = s.z[motor, c.terms.state_code.shape[0]]
        for k in range(n_terms):
            value = c.own[motor, k] * m.terms[motor, k]
            whole += value
            if c.inertia[k] == 0.0:
                friction += value
            if c.terms.loaded[k] and abs(gear) > 1e-9:
                # Homogeneous in the load of the gear: |τ|, so the slope is the value over the load.
                per_load += value / gear
        for j in range(n):
            if C[motor, j] != 0.0:
                m.arm[j] += C[motor, j] * whole
                m.friction[j] += C[motor, j] * friction
                m.extra[0, j] += per_load  # one motor a joint where friction depends on the load


@njit(cache=True, nogil=True)
@no_type_check
def _sweep(c, s, m, dq):
    """Variance of friction that turns round: all of it once the velocity has passed through standstill."""
    for j in range(dq.shape[0]):
        v = c.standstill_speed[j]
        before = dq[j] if np.isnan(s.speed[j]) else s.speed[j]
        passed = abs(min(v, max(-v, dq[j])) - min(v, max(-v, before)))
        share = passed / (2.0 * v) if v > 0.0 else 0.0
        m.swept[j] = c.standstill[j] * c.standstill[j] * share
        # What rest has shown does not hold once the joint moves.
        s.spread[1, j] += max(0.0, 1.0 - s.spread[1, j]) * share
        s.speed[j] = dq[j]


@njit(cache=True, nogil=True)
@no_type_check
def _time_update(c, s, b, dt, dq, m):
    """Forget the slow errors, let the load walk, let offset and friction drift."""
    x, U, D, n_rows = s.x[b], s.U[b], s.D[b], s.R.shape[0]
    n_x = x.shape[0]
    scale = m.scale
    touched = s.touched[b] > 0.0
    decay = np.exp(-dt / c.drift_time)
    for i in range(n_x):
        scale[i] = 1.0
        if i < n_rows:
            scale[i] = np.exp(-dt / c.touch_time) if touched else np.exp(-dt * s.pace[i] / c.memory[i])
        elif i < n_x - 10 and c.drift[i] > 0.0:
            scale[i] = decay
        x[i] *= scale[i]
    _scale_factors(U, D, scale)
    for i in range(n_rows):
        std = c.touch[i] if touched else c.slow[i]
        variance = std * std
        if i < dq.shape[0] and abs(dq[i]) < c.standstill_speed[i]:
            variance += c.standstill[i] * c.standstill[i]
        add_noise(U, D, i, variance * (1.0 - scale[i] * scale[i]) + m.swept[i], m.b)
    # The slow ones get their noise in turn: one state a sample, with what is due to all of them.
    n_slow = n_x - n_rows
    turn = n_rows + int(s.t[1] % n_slow) if n_slow > 0 else 0
    for i in range(n_rows, n_x):
        if i != turn:
            continue
        if i >= n_x - 10:
            rate = c.walk[i - n_x + 10]
            add_noise(U, D, i, rate * rate * dt * n_slow, m.b)
        elif c.drift[i] > 0.0:
            add_noise(U, D, i, c.drift[i] * c.drift[i] * (1.0 - decay * decay) * n_slow, m.b)


@njit(cache=True, nogil=True)
@no_type_check
def _rows_of(c, s, b, m, n_dof, r):
    """Fill h with row r of the measurement at the filter's load; return what it predicts there."""
    x, pi, h, n_rows = s.x[b], s.pi[b], m.h, s.R.shape[0]
    n_x = x.shape[0]
    for i in range(n_x):
        h[i] = 0.0
    h[r] = 1.0
    carried = 0.0
    for a in range(10):
        carried += m.H[r, a] * pi[a]
    gain = 1.0
    predicted = m.arm[r] + x[r]
    if r < n_dof:
        per_load = m.extra[0, r]
        o, f, g = n_rows + r, n_rows + n_dof + r, n_rows + 2 * n_dof + r
        h[o], h[f], h[g] = 1.0, m.friction[r], carried
        gain = 1.0 + x[g] + per_load
        predicted += x[o] + x[f] * m.friction[r]
        # arm[] already holds the friction that the load adds at π; the rest is linear in the load.
        predicted += (1.0 + x[g]) * carried
    else:
        predicted += carried
    for a in range(10):
        h[n_x - 10 + a] = gain * m.H[r, a]
        predicted += gain * m.H[r, a] * (x[n_x - 10 + a] - pi[a])
    return predicted


@njit(cache=True, nogil=True)
@no_type_check
def _absorb(c, s, b, m, tau, dt, adapt):
    """Absorb every finite row of a sample; return the NIS of its innovations, scaled to all rows."""
    x, U, D, R, h = s.x[b], s.U[b], s.D[b], s.R, m.h
    n_rows, n_x, n_dof = R.shape[0], x.shape[0], c.own.shape[0]
    nis, likelihood, count = 0.0, 0.0, 0
    for r in range(n_rows):
        if not np.isfinite(tau[r]):
            continue
        innovation = tau[r] - _rows_of(c, s, b, m, n_dof, r)
        noise = R[r]
        # What this row's variance would be, to see whether it is an outlier before it is absorbed.
        S = noise
        for j in range(r, n_x):
            total = h[j] + U[j, r] * h[r] if j > r else h[j]
            for i in range(n_rows, j):
                if h[i] != 0.0:
                    total += U[j, i] * h[i]
            S += D[j] * total * total
        push = min(innovation * innovation / S, OUTLIER * OUTLIER) - 1.0
        resting = 1 if r < n_dof and abs(s.speed[r]) < c.standstill_speed[r] else 0
        own, spread = S - m.swept[r], s.spread[resting, r]
        expected = spread * own + m.swept[r]
        nis += innovation * innovation / expected
        count += 1
        if adapt:
            pace = min(0.05, dt / c.noise_time)
            least, most = c.white[r] * LEAST_NOISE, c.white[r] * MOST_NOISE
            R[r] = min(most * most, max(least * least, R[r] * (1.0 + pace * (noise / S) * push)))
            fresh = 2.0 * c.slow[r] * c.slow[r] * dt * s.pace[r] / c.memory[r]
            s.pace[r] = min(1.0, max(SLOWEST, s.pace[r] * (1.0 + pace * min(1.0, fresh / S) * push)))
            pace = min(SPREAD_STEP, dt / SPREAD_TIME) * spread * own / expected
            push = min(innovation * innovation / expected, OUTLIER * OUTLIER) - 1.0
            s.spread[resting, r] = min(MOST_SPREAD, max(LEAST_SPREAD, spread * (1.0 + pace * push)))
        extra = max(0.0, spread - 1.0) * own
        noise, S = noise + extra, S + extra
        ratio = innovation * innovation / S
        size = np.sqrt(ratio)
        if size > OUTLIER:
            likelihood -= OUTLIER * (size - 0.5 * OUTLIER) + 0.5 * np.log(S)
            noise += S * (size / OUTLIER - 1.0)
        else:
            likelihood -= 0.5 * (ratio + np.log(S))
        S = absorb_row(U, D, h, r, noise, m.b)
        step = innovation / S
        for i in range(n_x):
            x[i] += m.b[i] * step
    s.likelihood[b] += likelihood
    return nis * n_rows / max(count, 1)


@njit(cache=True, nogil=True)
@no_type_check
def absorb_sample(c, s, m, t, q, dq, ddq, tau, active, n_newton, distance):
    """One sample into the filters that are `active`; False where time does not go on or a motion is not finite."""
    good = np.isfinite(t) and not t <= s.t[0]
    for j in range(q.shape[0]):
        good = good and np.isfinite(q[j]) and np.isfinite(dq[j]) and np.isfinite(ddq[j])
    if not good:
        return False
    dt = 0.0 if np.isnan(s.t[0]) else min(t - s.t[0], c.gap)
    predict_arm(c, s, m, dt, q, dq, ddq)
    _sweep(c, s, m, dq)
    n_x = s.x.shape[1]
    for b in range(3):
        if not active[b]:
            continue
        _loaded_terms(c, s, m, q, dq, ddq, s.pi[b])
        _time_update(c, s, b, dt, dq, m)
        nis = _absorb(c, s, b, m, tau, dt, b == NOTHING and not active[CONTACT] and s.touched[b] == 0.0)
        x, U, D, pi = s.x[b], s.U[b], s.D[b], s.pi[b]
        distance[b] = nearest_body(c.E, x, U, D, n_x - 10, c.limits, n_newton, pi, m.body)
        if b == NOTHING:
            s.t[2] = nis
    s.t[0] = t
    s.t[1] += 1.0
    return True
