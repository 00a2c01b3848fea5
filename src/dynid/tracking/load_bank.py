r"""The compiled load filter: three hypotheses side by side, each a Kalman filter of the load and of what disturbs it.

State of one filter (n rows are measured, the first n_dof of them joint torques):

=============  =======  ====================================================================================
:math:`\pi`    10       the load about the flange, SI
c              n        slow torque error of each row, first-order Markov: standard deviation `slow`, `memory`
o              n_dof    offset of each joint since the model was identified, N·m or N
f              n_dof    friction of each joint over that of the model, minus one
g              n_dof    drive gain of each joint as the load sees it, minus one
=============  =======  ====================================================================================

One torque reads :math:`\tau_j = \tau_{arm,j} + (1+g_j) H_j \pi + f_j F_j + o_j + c_j + v_j` with white noise
:math:`v_j`; :math:`F_j` is the model's friction and :math:`H_j` the load's row of the regressor with the friction that
its weight adds in the gear. The four errors of each row are kept given the load, as in `dynid.tracking.load_gauss`.
"""

from __future__ import annotations

from typing import NamedTuple, no_type_check

import numpy as np

from dynid.arrays import Array
from dynid.dynamics.kernels.stored import called_kernel
from dynid.tracking.load_body import BodyScratch, nearest_body
from dynid.tracking.load_gauss import (
    LOAD_SIZE,
    N_ERRORS,
    absorb_row_of_errors,
    absorb_row_of_load,
    errors_by_load,
    row_variance,
    spread_load,
)
from dynid.tracking.load_noise import ALIKE, OUTLIER, adapt_noise, doubt_arm, sweep_friction
from dynid.tracking.rows import RowArrays, Work, other_rows, predict_rows
from dynid.tracking.terms import TermArrays, begin_path, fill_terms, follow_path, keep_to_velocity, renew_loaded_terms

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
"""Filters of the bank: the load is what it was; it changes; something touches the arm. The last two do not run: they
are what the first was a moment ago, so that a hypothesis starts from before the change, not from its first samples."""


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
    limits: Array
    """(2,) largest mass in kg, reach in m."""
    white: Array
    """(n_rows,) σ of the white noise in the identified model, N·m or N."""
    slow: Array
    """(n_rows,) standard deviation of the slow error, N·m or N."""
    memory: Array
    """(n_rows,) its time constant, s."""
    standstill: Array
    """(n_dof,) standard deviation of friction near standstill, N·m or N."""
    standstill_speed: Array
    """(n_dof,) speed below which a joint stands, rad/s or m/s."""
    drift: Array
    """(n_rows, 4) stationary σ of each row's errors, SI; 0 for c and where there is none."""
    doubt_links: Array
    """(n_doubts, n_columns) uncertain directions of the arm's inertial parameters, one standard deviation each, SI;"""
    doubt_own: Array
    """(n_doubts, n_dof, n_terms) and of its joint terms."""
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

    p: Array
    """(5, 10) means of the load, SI."""
    U: Array
    """(5, 10, 10) unit triangular factors of its covariance, by columns."""
    D: Array
    """(5, 10)"""
    e: Array
    """(5, n_rows, 4) means of c, o, f and g of each row."""
    B: Array
    """(5, n_rows, 4, 10) what they change by with the load."""
    C: Array
    """(5, n_rows, 4, 4) their covariance given the load."""
    R: Array
    """(n_rows,) variances of the white noise."""
    slow: Array
    """(n_rows,) standard deviation of the slow error at the motion of the last sample, N·m or N."""
    pace: Array
    """(n_rows,) how fast slow errors change over what the model says; at most 1."""
    spread: Array
    """(2, n_rows) variance of an innovation over that of the filter, in motion and at standstill. Below 1 errors of
    successive samples are alike, and the filter rightly counts each for less than one; above 1 the noise of the row is
    larger by that for now."""
    alike: Array
    """(5, n_rows) what is known of innovations that are alike; last how many samples of a row count for one."""
    speed: Array
    """(n_dof,) velocities of the sample before, rad/s or m/s."""
    pi: Array
    """(5, 10) the loads: always bodies, SI."""
    likelihood: Array
    """(5,) log-likelihood since the last branch."""
    touched: Array
    """(5,) 1 where the filter takes slow torque for a contact."""
    haste: Array
    """(5,) how fast its load may change over a held one."""
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
    gears: Array
    """(n_dof,) torque that loads the gears, N·m or N."""
    doubted: Array
    """(n_rows,) torque of one uncertain direction of the arm, N·m or N."""
    grown: Array
    """(n_rows,) σ of the slow error over that of the sample before."""
    swept: Array
    """(n_rows,) variance of friction that passed through standstill since the sample before, (N·m)² or N²;"""
    more: Array
    """(n_rows,) and of noise that is larger for now."""
    loads: Array
    """(n_dof,) the same with the load."""
    fade: Array
    """(n_rows + 2,) what a step of time leaves of each slow error, of a contact, and of offset, friction and gain."""
    moved: Array
    """(10,) how far the load's mean has moved in this sample, SI."""
    he: Array
    """(4,) one row of the measurement, by its errors;"""
    k: Array
    """(10,) and by the load."""
    seen: Array
    """(4,) covariance of the errors with that row."""
    knows: Array
    """(n_rows, 5)"""
    f: Array
    b: Array


@called_kernel
@no_type_check
def predict_arm(c, s, m, dt, q, dq, ddq):
    """The arm's torque and the load's rows at a sample; friction goes on from the sample before."""
    n_rows = s.R.shape[0]
    if np.isnan(s.before[0]):
        begin_path(c.terms, q, dq, c.standstill_speed, s.before, s.z, m.stack)
    else:
        keep_to_velocity(q, dq, dt, s.before)
        follow_path(c.terms, q, s.before, s.z, m.stack)
    predict_rows(c.rows, q, dq, ddq, c.theta, m.work)
    last = c.theta.shape[0] - 10
    for r in range(n_rows):
        m.rigid[r] = m.work.z[r]
        for a in range(10):
            m.H[r, a] = m.work.Y[r, last + a]
    if c.gear.shape[0] > 0:
        other_rows(c.rows, c.gear, m.work, m.gears)


@called_kernel
@no_type_check
def _loaded_terms(c, s, m, q, dq, ddq, pi, first):
    """Joint terms with a load π on the gears, friction of the model, and the friction per torque on the gears.

    Those of the `first` filter are those of all others where no friction depends on the load.
    """
    if not first and c.gear.shape[0] == 0:
        return
    n, n_rows, n_terms = dq.shape[0], s.R.shape[0], c.own.shape[1]
    loads = m.loads
    for j in range(n):
        total = m.gears[j]
        for a in range(10):
            total += m.H[j, a] * pi[a]
        loads[j] = total
    if first:
        fill_terms(c.terms, q, dq, ddq, loads, s.z, m.stack, m.terms)
    else:
        renew_loaded_terms(c.terms, dq, ddq, loads, s.z, m.stack, m.terms)
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


@called_kernel
@no_type_check
def _time_update(c, s, b, dt, dq, m):
    """Forget the slow errors, let the load walk, let offset, friction and gain drift."""
    e, B, C, n_rows = s.e[b], s.B[b], s.C[b], s.R.shape[0]
    touched = s.touched[b] > 0.0
    fades, drift = m.fade, c.drift
    keep, slower = fades[n_rows], fades[n_rows + 1]
    for r in range(n_rows):
        fade, grown = keep if touched else fades[r], 1.0 if touched else m.grown[r]
        for i in range(N_ERRORS):
            scale = fade * grown if i == 0 else slower
            e[r, i] *= scale
            for a in range(LOAD_SIZE):
                B[r, i, a] *= scale
            for j in range(N_ERRORS):
                C[r, i, j] *= scale * (fade * grown if j == 0 else slower)
            C[r, i, i] += drift[r, i] * drift[r, i] * (1.0 - scale * scale)
        std = c.touch[r] if touched else s.slow[r]
        variance = std * std
        if r < dq.shape[0] and abs(dq[r]) < c.standstill_speed[r]:
            variance += c.standstill[r] * c.standstill[r]
        C[r, 0, 0] += variance * (1.0 - fade * fade) + m.swept[r]
    # The load walks along one axis a sample, as far as is due to all of them.
    turn = int(s.t[1] % LOAD_SIZE)
    for a in range(LOAD_SIZE):
        m.k[a] = 0.0
    m.k[turn] = c.walk[turn] * s.haste[b]
    spread_load(s.U[b], s.D[b], B, C, m.k, turn, dt * LOAD_SIZE, m.f, m.knows)


# Arrays one by one: to hand over all of a named tuple takes longer than the row.
@called_kernel
@no_type_check
def _rows_of(e, B, p, pi, moved, H, friction, per_load, is_joint, he, k):
    """Fill he and k with a row of the measurement at the filter's load; return what it predicts beyond the arm."""
    predicted, gain = 0.0, 1.0
    for a in range(LOAD_SIZE):
        predicted += H[a] * pi[a]
    # The arm already has the friction that the load adds at π; the rest is linear in the load.
    he[0], he[1], he[2], he[3] = 1.0, 0.0, 0.0, 0.0
    if is_joint:
        he[1], he[2], he[3] = 1.0, friction, predicted
        gain += per_load + e[3]
        for a in range(LOAD_SIZE):
            gain += B[3, a] * moved[a]
    errors_by_load(B, he, k)
    for i in range(N_ERRORS):
        predicted += he[i] * e[i]
    for a in range(LOAD_SIZE):
        h = gain * H[a]
        predicted += k[a] * moved[a] + h * (p[a] + moved[a] - pi[a])
        k[a] += h
    return predicted


@called_kernel
@no_type_check
def _absorb(c, s, b, m, tau, dt, adapt):
    """Absorb every finite row of a sample; return the NIS of its innovations, scaled to all rows."""
    p, U, D, e, B, C, R = s.p[b], s.U[b], s.D[b], s.e[b], s.B[b], s.C[b], s.R
    n_rows, n_dof, moved = R.shape[0], c.own.shape[0], m.moved
    pi, H, he, k, seen, f, gains = s.pi[b], m.H, m.he, m.k, m.seen, m.f, m.b
    nis, likelihood, volume, count = 0.0, 0.0, 1.0, 0
    for a in range(LOAD_SIZE):
        moved[a] = 0.0
    for r in range(n_rows):
        if not np.isfinite(tau[r]):
            continue
        friction = m.friction[r] if r < n_dof else 0.0
        per_load = m.extra[0, r] if r < n_dof else 0.0
        carried = _rows_of(e[r], B[r], p, pi, moved, H[r], friction, per_load, r < n_dof, he, k)
        innovation = tau[r] - m.arm[r] - carried
        own, whole = row_variance(U, D, C[r], he, k, seen, f)
        resting = 1 if r < n_dof and abs(s.speed[r]) < c.standstill_speed[r] else 0
        spread, swept = s.spread[resting, r], m.swept[r]
        expected = spread * (whole + R[r] - swept) + swept
        nis += innovation * innovation / expected
        count += 1
        m.more[r] = max(0.0, spread - 1.0) * (whole + R[r] - swept) if b == NOTHING else m.more[r]
        if adapt:
            adapt_noise(c, s, r, resting, innovation, whole + R[r], expected, swept, dt)
        noise = (R[r] + m.more[r]) * max(1.0, s.alike[ALIKE, r])
        S = whole + noise
        ratio = innovation * innovation / S
        volume *= S
        if ratio > OUTLIER * OUTLIER:
            size = np.sqrt(ratio)
            likelihood -= OUTLIER * (size - 0.5 * OUTLIER)
            noise += S * (size / OUTLIER - 1.0)
        else:
            likelihood -= 0.5 * ratio
        # The errors of a row are those at the load with which the sample began, until all rows are absorbed.
        there = innovation
        for a in range(LOAD_SIZE):
            there += k[a] * moved[a]
        absorb_row_of_errors(e[r], B[r], C[r], k, own + noise, there, seen)
        S = absorb_row_of_load(U, D, f, own + noise, gains)
        for a in range(LOAD_SIZE):
            moved[a] += gains[a] * (innovation / S)
    for a in range(LOAD_SIZE):
        p[a] += moved[a]
    for r in range(n_rows):
        for i in range(N_ERRORS):
            step = 0.0
            for a in range(LOAD_SIZE):
                step += B[r, i, a] * moved[a]
            e[r, i] += step
    s.likelihood[b] += likelihood - 0.5 * np.log(volume)
    return nis * n_rows / max(count, 1)


@called_kernel
@no_type_check
def absorb_sample(c, s, m, t, q, dq, ddq, tau, active, adapt, n_newton, distance):
    """One sample into the `active` filters, and into the noise if `adapt`; False where it has no new time or motion."""
    good = np.isfinite(t) and not t <= s.t[0]
    for j in range(q.shape[0]):
        good = good and np.isfinite(q[j]) and np.isfinite(dq[j]) and np.isfinite(ddq[j])
    if not good:
        return False
    dt = 0.0 if np.isnan(s.t[0]) else min(t - s.t[0], c.gap)
    predict_arm(c, s, m, dt, q, dq, ddq)
    sweep_friction(c, s, m, dq)
    for r in range(s.R.shape[0]):
        m.fade[r] = np.exp(-dt * s.pace[r] / c.memory[r])
    m.fade[s.R.shape[0]], m.fade[s.R.shape[0] + 1] = np.exp(-dt / c.touch_time), np.exp(-dt / c.drift_time)
    for b in range(3):
        if not active[b]:
            continue
        _loaded_terms(c, s, m, q, dq, ddq, s.pi[b], b == NOTHING)
        if b == NOTHING:
            doubt_arm(c, s, m)
        _time_update(c, s, b, dt, dq, m)
        nis = _absorb(c, s, b, m, tau, dt, adapt and b == NOTHING and s.touched[b] == 0.0)
        # One body a sample: between two samples a load moves by far less than it is unsure by.
        if int(s.t[1] % 2) == b % 2:
            distance[b] = nearest_body(s.p[b], s.U[b], s.D[b], c.limits, n_newton, s.pi[b], m.body)
        s.t[2] = nis if b == NOTHING else s.t[2]
    s.t[0] = t
    s.t[1] += 1.0
    return True
