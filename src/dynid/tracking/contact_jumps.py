r"""The compiled watch for sudden contacts: a jump of the external torque against what it was a moment ago.

Slow errors of the model are there before a contact as well as in it. So what counts is not the external torque but

.. math::

    d_k = r_k - b_k, \qquad b_{k+1} = b_k + \frac{\Delta t}{\Delta t + T_b} (r_k - b_k) ,

the external torque over its own recent average, in the band that :math:`d` keeps in free motion: learned while running,
from what the model says. A force :math:`F` at the flange gives :math:`d = J^T F`; the statistic is the part of the
squares of d that such a force explains, compared with the chi-squared quantile of three degrees of freedom at the
chosen number of false alarms an hour.
"""

from __future__ import annotations

from typing import NamedTuple, no_type_check

import numpy as np
from numba import njit

from dynid.arrays import Array

__all__ = ["JUMP_GAIN", "JUMP_TAILS", "JumpConstants", "JumpState", "explained", "jump_variance", "watch_jumps"]

JUMP_GAIN = 30.0
"""Low-pass of the external torque that is watched for jumps, 1/s: with 60 ms to find a contact in, faster ones let more
noise through than they gain."""
BASE_TIME = 0.15
"""Time over which the external torque before a contact is averaged, s: errors of friction change over longer ones."""
HELD_TIME = 60.0
"""The same while a contact lasts, s: it is compared with what was before it, and most contacts are over long before
this average has followed them."""
JUMP_TAILS = 1.7
"""Largest statistic in free motion over that of Gaussian noise: 1.65 over ten minutes of clean logs of five arms, some
of them logs that the model was identified from; the LWR4+ goes beyond it once, and rises too slowly for a contact."""
USUAL_TIME = 10.0
"""Time over which the band is learned, s; less at the start."""
TYPICAL = 3.0
"""Standard deviations beyond which a jump counts no further for the band."""
LEAST = 0.1
"""Variance in free motion over that of the model, at least."""
CONFIRM = 0.01
"""Time over which the statistic is averaged, s."""


class JumpConstants(NamedTuple):
    """What does not change while the watch runs."""

    usual: Array
    """(n_dof,) variance of a jump in free motion as the model says, (N·m)² or N²."""
    force: Array
    """(3,) typical force of a contact along each axis, N."""
    threshold: float
    """Of the squares that a force explains, dimensionless."""


class JumpState(NamedTuple):
    """What the watch remembers; fixed in size."""

    fast: Array
    """(n_dof,) external torque behind the low-pass, N·m or N."""
    base: Array
    """(n_dof,) its recent average, N·m or N."""
    value: Array
    """(2, n_dof) the jump and its standard deviation in free motion, N·m or N."""
    between: Array
    """(n_dof,) variance from what happened between samples, (N·m)² or N²."""
    usual: Array
    """(n_dof,) mean square in free motion, (N·m)² or N²."""
    J: Array
    """(n_dof, 3) torque per force at the load frame, in its axes."""
    A: Array
    """(3, 4) normal equations of a force."""
    frame: Array
    """(24,) load frame in the frame of a body, now and before."""
    numbers: Array
    """Age of the band (s), the statistic, its short average, and the time (s) when that was last low."""


def jump_variance(white: Array, slow: Array, memory: Array, period: float) -> Array:
    """Variance of a jump in free motion, (N·m)² or N²: white noise behind the low-pass, change of the slow error."""
    pole = 1.0 / (1.0 + JUMP_GAIN * period)
    change = 2.0 * (1.0 - np.exp(-(BASE_TIME + 1.0 / JUMP_GAIN) / memory))
    return np.asarray(white**2 * (1.0 - pole) / (1.0 + pole) + slow**2 * change)


@njit(cache=True, nogil=True)
@no_type_check
def explained(r, band, H, prior, A):
    """Of the squares of r over its band: what H x with x of this prior explains; log of its determinant; first of x."""
    n, n_x = r.shape[0], prior.shape[0]
    for a in range(n_x):
        for b in range(n_x + 1):
            A[a, b] = 0.0
        A[a, a] = 1.0
    for j in range(n):
        weight = 1.0 / (band[j] * band[j])
        for a in range(n_x):
            ha = H[j, a] * prior[a]
            for b in range(n_x):
                A[a, b] += ha * weight * H[j, b] * prior[b]
            A[a, n_x] += ha * weight * r[j]
    fit, log_det = 0.0, 0.0
    for a in range(n_x):
        pivot = A[a, a]
        log_det += np.log(pivot)
        fit += A[a, n_x] * A[a, n_x] / pivot
        for b in range(a + 1, n_x):
            ratio = A[b, a] / pivot
            for col in range(a, n_x + 1):
                A[b, col] -= ratio * A[a, col]
    for a in range(n_x - 1, -1, -1):
        total = A[a, n_x]
        for b in range(a + 1, n_x):
            total -= A[a, b] * A[b, n_x]
        A[a, n_x] = total / A[a, a]
    return fit, log_det, A[0, n_x] * prior[0]


@njit(cache=True, nogil=True)
@no_type_check
def _flange_rows(a, E, J, frame):
    """Torque of every joint per force at the load frame (in its axes), from the poses of the chain just now."""
    for i in range(24):
        frame[i] = 1.0 if i < 9 and i % 4 == 0 else 0.0
    for i in range(a.parent.shape[0] - 1, -1, -1):
        if not a.needed[i]:
            continue
        j, S, x0, x1, x2 = a.joint[i], a.S[i], frame[9], frame[10], frame[11]
        if j >= 0:
            v0 = S[0] + S[4] * x2 - S[5] * x1
            v1 = S[1] + S[5] * x0 - S[3] * x2
            v2 = S[2] + S[3] * x1 - S[4] * x0
            for r in range(3):
                J[j, r] = frame[r] * v0 + frame[3 + r] * v1 + frame[6 + r] * v2
        for r in range(12):
            frame[12 + r] = frame[r]
        pose = E[i]
        for r in range(3):
            frame[9 + r] = pose[9 + r] + pose[3 * r] * x0 + pose[3 * r + 1] * x1 + pose[3 * r + 2] * x2
            for col in range(3):
                frame[3 * r + col] = (
                    pose[3 * r] * frame[12 + col]
                    + pose[3 * r + 1] * frame[15 + col]
                    + pose[3 * r + 2] * frame[18 + col]
                )


@njit(cache=True, nogil=True)
@no_type_check
def watch_jumps(k, o, a, E, dt, t, impulse, shake, still, near, held):
    """Take one sample of the external torque; return the average of the statistic.

    The impulse of each joint since the sample before is nan where its torque is missing; `shake` is what is unknown of
    its momentum's rate, `still` the variance of friction, `near` 1 where it stands; `held` says that a contact lasts.
    """
    n = impulse.shape[0]
    forget, low = 1.0 / (1.0 + JUMP_GAIN * dt), o.numbers[2] < k.threshold
    o.numbers[0] += dt
    learn = dt / (1.0 + min(o.numbers[0], USUAL_TIME - 1.0))
    follow = dt / (dt + (HELD_TIME if held else BASE_TIME))
    for j in range(n):
        o.fast[j] *= forget
        if not np.isnan(impulse[j]):
            o.fast[j] += forget * JUMP_GAIN * impulse[j]
        unknown = JUMP_GAIN * dt * shake[j]
        o.between[j] = forget * forget * (o.between[j] + unknown * unknown)
        jump, usual = o.fast[j] - o.base[j], max(o.usual[j], LEAST * k.usual[j])
        o.value[0, j], o.value[1, j] = jump, np.sqrt(usual + o.between[j] + still[j])
        if low and not held and near[j] == 0.0:
            o.usual[j] += learn * (min(jump * jump, TYPICAL * TYPICAL * usual) - o.usual[j])
        o.base[j] += follow * jump
    _flange_rows(a, E, o.J, o.frame)
    fit, _, _ = explained(o.value[0], o.value[1], o.J, k.force, o.A)
    o.numbers[1] = fit
    o.numbers[2] += (fit - o.numbers[2]) * dt / (dt + CONFIRM)
    return o.numbers[2]
