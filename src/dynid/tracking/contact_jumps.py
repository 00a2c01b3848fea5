r"""The compiled watch for sudden contacts: a jump of the external torque against what it was a moment ago.

Slow errors of the model are there before a contact as well as in it. So what counts is not the external torque
:math:`u` but its mean over the last `WINDOW` less its recent average before that,

.. math::

    d = \frac{1}{T} \int_{t-T}^{t} u \, dt - b ,

in the band that :math:`d` keeps in free motion. The band is learned while running, from what the model says: errors of
the model grow with the change of torque that they are an error of, so :math:`\sigma_d^2 = a + \epsilon^2 x^2` with
:math:`x` the jump of the model's own torque. One wild sample is no contact: a sample counts no further than some
standard deviations beyond twice the one before. A force :math:`F` at the flange gives :math:`d = J^T F`; the statistic
is the part of the squares of d that such a force explains, compared with the chi-squared quantile of three degrees of
freedom at the chosen number of false alarms an hour.

Two such watches run side by side: one that is quick, and one with a window four times as long for forces that the noise
of the quick one hides.
"""

from __future__ import annotations

from typing import NamedTuple, no_type_check

import numpy as np

from dynid.arrays import Array
from dynid.dynamics.kernels.stored import njit

__all__ = [
    "CALM",
    "JUMP_TAILS",
    "LONG_WINDOW",
    "SIZE",
    "WINDOW",
    "JumpConstants",
    "JumpState",
    "explained",
    "forget_jumps",
    "jump_state",
    "jump_watches",
    "keep_calm",
    "watch_jumps",
]

WINDOW = 0.045
"""Time over which the external torque is averaged, s: of the 60 ms to find a contact in, what its rise leaves."""
BASE_TIME = 0.2
"""Time over which the external torque before that is averaged, s: 0.15 to 0.3 find as much, longer ones let slow errors
through."""
LONG_WINDOW, LONG_BASE_TIME = 0.2, 0.4
"""The same of the watch for smaller forces, s. On a UR10e 10 N at the flange are then above what free motion reaches in
96 % of the cases, after 31 % with `WINDOW`; on three other arms in 99 % and all. A window of 0.45 s finds no more."""
HELD_TIME = 60.0
"""The same while a contact lasts, s: it is compared with what was before it, and most contacts are over long before
this average has followed them."""
JUMP_TAILS = 1.7
"""Threshold over that of Gaussian noise, for its heavier tails. In held-out logs of the UR10e and the LWR4+, beyond 15
the statistic is exceeded some 3 times less often every 5; half a time an hour is then 1.7 and 1.6 times the Gaussian
threshold. Logs of four other arms, 46 s together, are too short to tell; all of them stay below the Gaussian one."""
USUAL_TIME = 10.0
"""Time over which the band is learned, s; less at the start."""
PRIOR_WINDOWS = 7.0
"""Windows for which what the model says of the band counts."""
LATE_RISE = 0.0175
"""What a jump may rise beyond half the window, s: half of an onset of 20 ms, and a little noise."""
TYPICAL = 3.0
"""Standard deviations beyond which a jump counts no further for the band."""
WILD = 3.0
"""Standard deviations of a single sample that it may differ by from twice the one before."""
LEAST = 0.1
"""Variance in free motion over that of the model, at least."""
SHARE = 0.1
"""Error of the model's torque over the change of torque, before it is learned."""
SHARE_WEIGHT = 0.03
"""Weight of that guess against the one of the variance: 0.003 to 0.3 do alike."""
MISSED = 1.5
"""Time since the sample before, in periods, beyond which samples were lost."""
CONFIRM = 0.01
"""Time over which the jump is averaged where samples come faster, s: velocities are noisy at both ends of a window."""
OLDEST, COUNT = range(2)
"""Where the window is in memory: its first sample, and how many there are."""
AGE, SIZE, CALM, SPAN, BASE_AGE = range(5)
"""Numbers: age of the band (s), the statistic, when it was last low (s), length of window and age of the base (s)."""


class JumpConstants(NamedTuple):
    """What does not change while the watch runs."""

    usual: Array
    """(n_dof,) variance of a jump in free motion as the model says, (N·m)² or N²."""
    force: Array
    """(3,) typical force of a contact along each axis, N."""
    threshold: float
    """Of the squares that a force explains, dimensionless."""
    confirm: float
    """Time constant over which the jump is averaged, s."""
    period: float
    """Typical time between samples, s."""
    window: float
    """Time over which the external torque is averaged, s."""
    base: float
    """Time over which the external torque before that is averaged, s."""
    prior: float
    """Time for which what the model says of the band counts, s."""
    rise: float
    """Longest rise of a jump from half its size that is a contact, s; errors of the model change more slowly."""


class JumpState(NamedTuple):
    """What the watch remembers; fixed in size."""

    spans: Array
    """(n_window,) time since the sample before of each sample in the window, s."""
    past: Array
    """(3, n_window, n_dof) impulses of the external torque and of the model's (N·m·s or N·s), and variance of what is
    unknown of the first."""
    sums: Array
    """(3, n_dof) of them."""
    base: Array
    """(2, n_dof) averages of external torque and model's torque before the window, N·m or N."""
    wild: Array
    """(2, n_dof) deviation of the last sample, N·m or N, and the usual variance of such a deviation."""
    value: Array
    """(2, n_dof) the jump and its standard deviation in free motion, N·m or N."""
    usual: Array
    """(2, n_dof) its variance without change of torque, (N·m)² or N², and the squared share of that change."""
    change: Array
    """(n_dof,) square of the jump of the model's torque, (N·m)² or N²."""
    moments: Array
    """(5, n_dof) weighted means that these are fitted to."""
    J: Array
    """(n_dof, 3) torque per force at the load frame, in its axes."""
    A: Array
    """(3, 4) normal equations of a force."""
    frame: Array
    """(24,) load frame in the frame of a body, now and before."""
    numbers: Array
    places: Array


def jump_watches(
    white: Array, slow: Array, memory: Array, *, period: float, force: float, gaussian: float
) -> tuple[JumpConstants, JumpConstants]:
    """What the quick watch takes, and the one for smaller forces.

    Args:
        white: noise of single torques, N·m or N.
        slow: slow error of the model, N·m or N.
        memory: of that error, s.
        period: of sampling, s.
        force: a typical one, N.
        gaussian: threshold of the statistic for Gaussian noise.
    """

    def constants(window: float, base: float) -> JumpConstants:
        change = 2.0 * (1.0 - np.exp(-0.5 * (window + base) / memory))
        return JumpConstants(
            usual=np.asarray(white**2 * min(1.0, period / window) + slow**2 * change),
            force=np.full(3, force),
            threshold=JUMP_TAILS * gaussian,
            confirm=max(0.0, CONFIRM - period),
            period=period,
            window=window,
            base=base,
            prior=PRIOR_WINDOWS * window,
            rise=0.5 * window + LATE_RISE,
        )

    return constants(WINDOW, BASE_TIME), constants(LONG_WINDOW, LONG_BASE_TIME)


def jump_state(k: JumpConstants) -> JumpState:
    """The watch before the first sample (no external torque, N·m)."""
    # Room for the longer window in both: they are of one type then, and so of one function in C.
    n, n_window = len(k.usual), int(np.ceil(LONG_WINDOW / k.period)) + 2
    usual = np.stack([k.usual, np.full(n, SHARE**2)])
    return JumpState(
        spans=np.zeros(n_window),
        past=np.zeros((3, n_window, n)),
        sums=np.zeros((3, n)),
        base=np.zeros((2, n)),
        wild=np.stack([np.zeros(n), k.usual]),
        value=np.stack([np.zeros(n), np.ones(n)]),
        usual=usual,
        change=np.zeros(n),
        moments=np.zeros((5, n)),
        J=np.zeros((n, 3)),
        A=np.zeros((3, 4)),
        frame=np.zeros(24),
        numbers=np.zeros(5),
        places=np.zeros(2, dtype=np.int64),
    )


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
def forget_jumps(o):
    """Start the window and the average before it afresh; the band stays."""
    o.places[OLDEST], o.places[COUNT] = 0, 0
    o.numbers[SPAN], o.numbers[BASE_AGE], o.numbers[SIZE] = 0.0, 0.0, 0.0
    for j in range(o.J.shape[0]):
        o.wild[0, j], o.value[0, j], o.change[j] = 0.0, 0.0, 0.0
        for i in range(3):
            o.sums[i, j] = 0.0


@njit(cache=True, nogil=True)
@no_type_check
def keep_calm(k, o, t, dt, low):
    """Keep when the statistic was last below `low` (s), without the time of lost samples: no rise shows in them."""
    if o.numbers[SIZE] < low:
        o.numbers[CALM] = t
    elif dt > MISSED * k.period:
        o.numbers[CALM] += dt - k.period


@njit(cache=True, nogil=True)
@no_type_check
def _leave(k, o, held):
    """The oldest sample of the window becomes part of the average before it."""
    first = o.places[OLDEST]
    span = o.spans[first]
    follow = span / (span + (HELD_TIME if held else min(k.base, o.numbers[BASE_AGE])))
    for j in range(o.J.shape[0]):
        for i in range(2):
            o.base[i, j] += follow * (o.past[i, first, j] / span - o.base[i, j])
        for i in range(3):
            o.sums[i, j] -= o.past[i, first, j]
    o.numbers[SPAN] -= span
    o.numbers[BASE_AGE] += span
    o.places[OLDEST], o.places[COUNT] = (first + 1) % o.spans.shape[0], o.places[COUNT] - 1


@njit(cache=True, nogil=True)
@no_type_check
def _enter(k, o, dt, impulse, tau, shake, still, near, learn):
    """The newest sample joins the window, if it is wild only as far as it may be."""
    place = (o.places[OLDEST] + o.places[COUNT]) % o.spans.shape[0]
    o.spans[place] = dt
    o.numbers[SPAN] += dt
    o.places[COUNT] += 1
    # A wild velocity is an impulse, however long ago the sample before is: lost ones do not let it count for longer.
    share = k.period / dt if dt > MISSED * k.period else 1.0
    for j in range(impulse.shape[0]):
        deviation, known = 0.0, o.base[1, j]
        if not np.isnan(impulse[j]):
            deviation, known = impulse[j] / dt - o.base[0, j], tau[j] + impulse[j] / dt
        if o.numbers[BASE_AGE] > 0.0:
            usual = max(o.wild[1, j], LEAST * k.usual[j])
            free = WILD * np.sqrt(usual + shake[j] * shake[j] + still[j])
            if near[j] == 0.0:
                o.wild[1, j] += learn * (min(deviation * deviation, TYPICAL * TYPICAL * usual) - o.wild[1, j])
            deviation = min(deviation, share * (free + 2.0 * max(0.0, o.wild[0, j])))
            deviation = max(deviation, share * (-free + 2.0 * min(0.0, o.wild[0, j])))
            o.wild[0, j] = deviation
        o.past[0, place, j] = dt * (o.base[0, j] + deviation)
        o.past[1, place, j] = dt * known
        o.past[2, place, j] = dt * dt * shake[j] * shake[j]
        for i in range(3):
            o.sums[i, j] += o.past[i, place, j]


@njit(cache=True, nogil=True)
@no_type_check
def _learn_band(k, o, j, change, learn):
    """Fit variance and share of one joint to its squared jumps, weighted as squares of Gaussian numbers are."""
    model, m = k.usual[j], o.moments
    usual = o.usual[0, j] + o.usual[1, j] * change
    weight, square = (model / usual) ** 2, min(o.value[0, j] ** 2, TYPICAL * TYPICAL * usual)
    m[0, j] += learn * (weight - m[0, j])
    m[1, j] += learn * (weight * change - m[1, j])
    m[2, j] += learn * (weight * change * change - m[2, j])
    m[3, j] += learn * (weight * square - m[3, j])
    m[4, j] += learn * (weight * change * square - m[4, j])
    # The model's word: its variance where torque does not change, twice that at a change of which it is the share.
    prior = k.prior / (k.prior + min(o.numbers[AGE], USUAL_TIME))
    doubled, less = model / (SHARE * SHARE), SHARE_WEIGHT * prior
    n0, n1, n2 = m[0, j] + prior + less, m[1, j] + less * doubled, m[2, j] + less * doubled * doubled
    s0, s1 = m[3, j] + (prior + 2.0 * less) * model, m[4, j] + 2.0 * less * doubled * model
    share = max(0.0, (n0 * s1 - n1 * s0) / (n0 * n2 - n1 * n1))
    still = (s0 - share * n1) / n0
    if still < LEAST * model:
        still = LEAST * model
        share = max(0.0, (s1 - still * n1) / n2)
    o.usual[0, j], o.usual[1, j] = still, share


@njit(cache=True, nogil=True)
@no_type_check
def watch_jumps(k, o, a, E, dt, impulse, tau, shake, still, near, held):
    """Take one sample of the external torque; return the statistic.

    The impulse of each joint since the sample before is nan where its torque is missing; `shake` is what is unknown of
    its momentum's rate, `still` the variance of friction, `near` 1 where it stands; `held` says that a contact lasts.
    """
    n, free = impulse.shape[0], o.numbers[SIZE] < k.threshold and not held
    o.numbers[AGE] += dt
    learn = dt / (k.prior + min(o.numbers[AGE], USUAL_TIME - k.prior)) if free else 0.0
    if o.places[COUNT] == o.spans.shape[0]:
        _leave(k, o, held)
    _enter(k, o, dt, impulse, tau, shake, still, near, learn)
    # A quarter of a sample of play, or jitter would make the window one sample longer or shorter.
    while o.places[COUNT] > 1 and o.numbers[SPAN] > k.window + 0.25 * dt:
        _leave(k, o, held)
    span, age = o.numbers[SPAN], o.numbers[BASE_AGE]
    # After a gap the average before the window is one of few samples. The noise of a velocity is an impulse, whose mean
    # falls with the time over which it is taken; and this average is not averaged over `confirm`.
    ready, young = age >= k.window, 0.0
    if ready and age < k.base:
        young = ((k.window / age) ** 2 - (k.window / k.base) ** 2) * (1.0 + 2.0 * k.confirm / k.period)
    for j in range(n):
        jump, change = 0.0, 0.0
        if ready:
            jump = o.sums[0, j] / span - o.base[0, j]
            change = (o.sums[1, j] / span - o.base[1, j]) ** 2
        o.change[j] = change
        o.value[0, j] += (jump - o.value[0, j]) * dt / (dt + k.confirm)
        usual = o.usual[0, j] * (1.0 + young) + o.usual[1, j] * change
        o.value[1, j] = np.sqrt(usual + o.sums[2, j] / (span * span) + still[j])
        if free and age >= k.base and near[j] == 0.0:
            _learn_band(k, o, j, change, learn)
    _flange_rows(a, E, o.J, o.frame)
    fit, _, _ = explained(o.value[0], o.value[1], o.J, k.force, o.A)
    o.numbers[SIZE] = fit
    return fit
