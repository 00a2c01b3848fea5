r"""The compiled contact watch: external torque, the band that free motion keeps it in, and what it looks like.

The observer of `dynid.tracking.contact` in increments,

.. math::

    r_k = \frac{r_{k-1} + K \bigl(\Delta p - \tfrac{\Delta t}{2}(d_k + d_{k-1})\bigr)}{1 + K \Delta t}, \qquad
    d = \tau - \tau_f + C^T \dot q - g ,

with the load, friction and offsets as the load filter has them. Its variance in free motion is the sum of what the
identified model says (slow error, white noise behind the low-pass, friction at standstill) and of what happens between
two samples: momentum whose rate changes by :math:`\Delta \dot p` from one sample to the next is known to about half of
:math:`\Delta t\, \Delta \dot p` only. The sum of squares over the joints is compared with the chi-squared quantile of
the chosen number of false alarms an hour.
"""

from __future__ import annotations

from typing import NamedTuple, no_type_check

import numpy as np

from dynid.arrays import Array
from dynid.dynamics.kernels.stored import called_kernel
from dynid.tracking.contact import momentum
from dynid.tracking.contact_jumps import JumpConstants, JumpState, explained, forget_jumps, watch_jumps
from dynid.tracking.load_bank import NOTHING
from dynid.tracking.load_gauss import errors_by_load, row_variance
from dynid.tracking.rows import predict_rows
from dynid.tracking.terms import begin_path, fill_terms, follow_path, keep_to_velocity

__all__ = [
    "BandConstants",
    "BandState",
    "load_like",
    "observe_contact",
]

PAUSE = 5.0
"""Time between samples, over the time constant of the observer, after which it starts afresh."""
UNRESOLVED = 0.2
"""Share of a change of momentum rate within one sample that stays unknown."""

USUAL_TIME = 10.0
"""Time over which the external torque of free motion is averaged, s."""
TYPICAL = 3.0
"""Standard deviations beyond which a torque counts no further for that average."""


class BandConstants(NamedTuple):
    """What does not change while the observer runs."""

    gain: float
    """K, 1/s."""
    white: Array
    """(n_dof,) standard deviation of single torques, N·m or N."""
    slow: Array
    """(n_dof,) of the slow error, N·m or N."""
    standstill: Array
    """(n_dof,) of friction at standstill, N·m or N."""
    standstill_speed: Array
    """(n_dof,) rad/s or m/s"""
    rotor: Array
    """(n_dof, n_dof) momentum of the rotors at each joint per velocity of each joint, kg·m²."""
    threshold: float
    """Of the sum of squares, dimensionless."""
    period: float
    """Typical time between samples, s."""
    prior: Array
    """(4,) standard deviation of a load's mass and first moments, SI."""
    touch: Array
    """(n_dof,) of a contact's torque, N·m or N."""
    jumps: JumpConstants
    """The quick watch for jumps,"""
    small: JumpConstants
    """and the one for smaller forces."""


class BandState(NamedTuple):
    """What the observer remembers; fixed in size."""

    r: Array
    """(n_dof,) external torque, N·m or N."""
    band: Array
    """(n_dof,) its standard deviation in free motion, N·m or N."""
    peak: Array
    """(2, n_dof) external torque and band where the sum of squares of this contact was largest, N·m or N."""
    between: Array
    """(n_dof,) variance from what happened between samples, (N·m)²."""
    still: Array
    """(n_dof,) variance from friction near standstill, (N·m)²."""
    usual: Array
    """(n_dof,) mean square of the external torque over the last seconds without contact, (N·m)²."""
    p: Array
    """(n_dof,) momentum at the sample before; the first is nan where that was of another load."""
    rate: Array
    """(n_dof,) its rate there."""
    drive: Array
    """(n_dof,)"""
    before: Array
    """(n_dof,) positions there."""
    z: Array
    """(n_dof, n_states + 2) what friction remembers."""
    theta: Array
    """(n_columns,) arm and load, SI."""
    out: Array
    """(3, n_dof) momenta"""
    zeros: Array
    """(n_dof,)"""
    speed: Array
    """(n_dof,) velocities at the sample before."""
    acceleration: Array
    """(n_dof,) acceleration behind the same low-pass as the external torque."""
    H: Array
    """(n_dof, 4) rows of a weight at the flange."""
    A: Array
    """(4, 5) normal equations of a weight."""
    impulse: Array
    """(n_dof,) of the external torque since the sample before, N·m·s; nan where a torque is missing."""
    shake: Array
    """(n_dof,) what stays unknown of a change of momentum rate since then, N·m or N."""
    near: Array
    """(n_dof,) 1 where the joint stands."""
    jumps: JumpState
    small: JumpState
    numbers: Array
    """Time of the last sample (s, nan before the first), sum of squares now, its short average, its peak, and the
    sum now with what the model may get wrong of a change of torque."""


@called_kernel
@no_type_check
def _fill_load_rows(o, c, m, q, dq, last):
    """The rows of the load at the motion of now: those of its filter are half a window of accelerations old."""
    predict_rows(c.rows, q, dq, o.acceleration, c.theta, m.work)
    for j in range(q.shape[0]):
        for a in range(10):
            m.H[j, a] = m.work.Y[j, last + a]


@called_kernel
@no_type_check
def observe_contact(k, o, c, s, m, t, q, dq, tau, held):
    """Take one sample; return the sum of squares of the external torque over its band, nan where there is none.

    `held` says that a contact lasts.
    """
    n = q.shape[0]
    good = np.isfinite(t) and not t <= o.numbers[0]
    for j in range(n):
        good = good and np.isfinite(q[j]) and np.isfinite(dq[j])
    if not good:
        return np.nan
    fresh = np.isnan(o.numbers[0])
    dt = 0.0 if fresh else t - o.numbers[0]
    fresh = fresh or dt > PAUSE / k.gain or np.isnan(o.p[0])
    last = c.theta.shape[0] - 10
    for a in range(10):
        o.theta[last + a] = s.pi[NOTHING, a]
    if np.isnan(o.before[0]):
        begin_path(c.terms, q, dq, k.standstill_speed, o.before, o.z, m.stack)
    else:
        keep_to_velocity(q, dq, dt, o.before)
        follow_path(c.terms, q, o.before, o.z, m.stack)
    momentum(c.rows, q, dq, o.theta, m.work, o.out)
    _friction(k, o, c, s, m, q, dq)
    forget = 1.0 / (1.0 + k.gain * dt)
    for j in range(n):
        o.acceleration[j] = 0.0 if fresh else forget * (o.acceleration[j] + k.gain * (dq[j] - o.speed[j]))
    _fill_load_rows(o, c, m, q, dq, last)
    U, D, e, B, C, total = s.U[NOTHING], s.D[NOTHING], s.e[NOTHING], s.B[NOTHING], s.C[NOTHING], 0.0
    surely = 0.0
    H, he, row, seen, f = m.H, m.he, m.k, m.seen, m.f
    pole = 1.0 / (1.0 + k.gain * k.period)
    for j in range(n):
        p = o.out[0, j]
        for i in range(n):
            p += k.rotor[j, i] * dq[i]
        friction = m.friction[j] * (1.0 + e[j, 2]) + e[j, 1]
        drive = tau[j] - friction + o.out[1, j] - o.out[2, j]
        lost = np.isnan(drive)
        before = drive if np.isnan(o.drive[j]) else o.drive[j]
        rate = o.rate[j] if fresh else (p - o.p[j]) / dt
        near = abs(dq[j]) < k.standstill_speed[j]
        o.near[j] = 1.0 if near else 0.0
        still = k.standstill[j] * k.standstill[j] if near else 0.0
        o.impulse[j] = 0.0 if fresh else p - o.p[j] - 0.5 * dt * (drive + before)
        o.shake[j] = 0.0 if fresh else UNRESOLVED * (rate - o.rate[j])
        if fresh:
            o.r[j], o.between[j], o.still[j] = 0.0, 0.0, still
        else:
            if lost:  # a torque that is missing says nothing: what was seen before fades
                o.r[j] *= forget
            else:
                o.r[j] = forget * (o.r[j] + k.gain * o.impulse[j])
            jump = k.gain * dt * o.shake[j]
            o.between[j] = forget * forget * (o.between[j] + jump * jump)
            o.still[j] = max(still, forget * o.still[j])
        o.p[j], o.rate[j], o.drive[j], o.speed[j] = p, rate, drive, dq[j]
    _watch(k, o, c, m, dt, tau, held, fresh)
    for j in range(n):
        noise = k.white[j] * k.white[j] * (1.0 - pole) / (1.0 + pole)
        unsure = _unsure(U, D, B[j], C[j], m.friction[j], H[j], he, row, seen, f)
        usual = max(s.slow[j] * s.slow[j] + noise, o.usual[j])
        o.band[j] = np.sqrt(usual + o.between[j] + o.still[j] + unsure)
        if o.numbers[2] < k.threshold and o.near[j] == 0.0:
            size = min(o.r[j] * o.r[j], TYPICAL * TYPICAL * usual)
            o.usual[j] += min(1.0, dt / USUAL_TIME) * (size - o.usual[j])
        if not np.isnan(tau[j]):
            total += (o.r[j] / o.band[j]) ** 2
            # Errors of the model grow with the change of torque; the watch for jumps learns by which share.
            changing = o.jumps.usual[1, j] * o.jumps.change[j]
            surely += o.r[j] * o.r[j] / (o.band[j] * o.band[j] + changing)
    o.numbers[0], o.numbers[1], o.numbers[4] = t, total, surely
    if total > o.numbers[3]:
        o.numbers[3] = total
        for j in range(n):
            o.peak[0, j], o.peak[1, j] = o.r[j], o.band[j]
    return total


@called_kernel
@no_type_check
def _watch(k, o, c, m, dt, tau, held, fresh):
    """Both watches for jumps take the sample, or start afresh."""
    if fresh:
        forget_jumps(o.jumps)
        forget_jumps(o.small)
        return
    watch_jumps(k.jumps, o.jumps, c.rows, m.work.E, dt, o.impulse, tau, o.shake, o.still, o.near, held)
    watch_jumps(k.small, o.small, c.rows, m.work.E, dt, o.impulse, tau, o.shake, o.still, o.near, held)


@called_kernel
@no_type_check
def _unsure(U, D, B, C, friction, h, he, k, seen, f):
    """Variance of one torque from what is not known of offset, friction and load; h is the load's row."""
    he[0], he[1], he[2], he[3] = 0.0, 1.0, friction, 0.0
    errors_by_load(B, he, k)
    for a in range(k.shape[0]):
        k[a] += h[a]
    _, whole = row_variance(U, D, C, he, k, seen, f)
    return whole


@called_kernel
@no_type_check
def _friction(k, o, c, s, m, q, dq):
    """Friction of every joint at a velocity (N·m or N), without rotors, gears loaded by gravity."""
    n, C = dq.shape[0], c.terms.transmission
    for j in range(n):
        m.gears[j] = o.out[2, j]
        m.friction[j] = 0.0
    fill_terms(c.terms, q, dq, o.zeros, m.gears, o.z, m.stack, m.terms)
    for motor in range(n):
        total = 0.0
        for term in range(c.inertia.shape[0]):
            if c.inertia[term] == 0.0:
                total += c.own[motor, term] * m.terms[motor, term]
        for j in range(n):
            m.friction[j] += C[motor, j] * total


@called_kernel
@no_type_check
def load_like(k, o, c, s, m, r, band, mass_std, likeness):
    """How much better (in nats) a contact explains the external torque now than another load does; above 0: contact."""
    n = r.shape[0]
    predict_rows(c.rows, o.before, o.speed, o.acceleration, c.theta, m.work)
    last = c.theta.shape[0] - 10
    for j in range(n):
        for a in range(4):
            o.H[j, a] = m.work.Y[j, last + a]
    fit, log_det, pulled = explained(r, band, o.H, k.prior, o.A)
    weight = 0.5 * (fit - log_det)
    # A weight pulls against the torque that carries it, and no arm carries less than nothing.
    short = (pulled - s.pi[NOTHING, 0]) / (mass_std + 0.1)
    if short > 0.0:
        weight -= 0.5 * short * short
    touch = 0.0
    for j in range(n):
        ratio = k.touch[j] * k.touch[j] / (band[j] * band[j])
        z = r[j] / band[j]
        # A contact further in leaves the joints beyond it alone: each joint takes part or not, whichever is likelier.
        touch += max(0.0, 0.5 * (z * z * ratio / (1.0 + ratio) - np.log(1.0 + ratio)))
    return (1.0 - likeness) * touch - weight
