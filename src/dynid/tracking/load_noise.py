"""Compiled steps of the load filter's noise: an uncertain arm, friction that turns round, noise that adapts."""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from dynid.dynamics.kernels.stored import called_kernel, njit
from dynid.tracking.rows import other_rows

__all__ = ["ALIKE", "OUTLIER", "adapt_noise", "doubt_arm", "sweep_friction"]

OUTLIER = 4.0
"""Standard deviations beyond which a row counts less: its weight falls as one over its size (Huber)."""
LEAST_NOISE, MOST_NOISE = 0.05, 4.0
"""White noise of a row over that of the identified model, at least and at most."""
SLOWEST = 0.02
"""Pace of slow errors over that of the model, at least: smooth errors change less from sample to sample."""
SPREAD_TIME, SPREAD_STEP, SPREAD_RISE = 0.1, 0.1, 1.3
"""Time (s) over which the spread of innovations is estimated, its largest relative step in one sample, and how much
faster it rises than it falls: errors of friction come in bursts. Of 0.05 to 0.3 s and 1 to 3 times, whichever of seven
arms is left out, the others ask for at most 0.1 s and 1.7 times; more than 1.3 is too careful with Gaussian noise."""
LEAST_SPREAD, MOST_SPREAD = 1e-4, 100.0
"""Variance of an innovation over that of the filter, at least and at most."""


ALIKE_BLOCK, ALIKE_TIME, ALIKE_PRIOR = 0.05, 2.0, 0.2
"""Time (s) over which innovations are summed, the time over which their squares are averaged, and the time for which
the word counts that they are not alike."""
SUM, COUNT, SPAN, AGE, ALIKE = range(5)
"""Places of what is known of innovations that are alike."""


@njit(cache=True, nogil=True)
@no_type_check
def _count_alike(s, r, innovation, expected, dt):
    """Learn how many samples of a row count for one: sums of innovations that are alike vary more than they would."""
    a = s.alike
    a[SUM, r] += innovation / np.sqrt(expected)
    a[COUNT, r] += 1.0
    a[SPAN, r] += dt
    if a[SPAN, r] < ALIKE_BLOCK:
        return
    usual = max(1.0, a[ALIKE, r])
    a[AGE, r] += a[SPAN, r]
    rate = a[SPAN, r] / (ALIKE_PRIOR + min(a[AGE, r], ALIKE_TIME))
    a[ALIKE, r] += rate * (min(a[SUM, r] * a[SUM, r] / a[COUNT, r], OUTLIER * OUTLIER * usual) - a[ALIKE, r])
    a[SUM, r], a[COUNT, r], a[SPAN, r] = 0.0, 0.0, 0.0


@njit(cache=True, nogil=True)
@no_type_check
def sweep_friction(c, s, m, dq):
    """Variance of friction that turns round: all of it once the velocity has passed through standstill."""
    for j in range(dq.shape[0]):
        v = c.standstill_speed[j]
        before = dq[j] if np.isnan(s.speed[j]) else s.speed[j]
        passed = abs(min(v, max(-v, dq[j])) - min(v, max(-v, before)))
        m.swept[j] = c.standstill[j] * c.standstill[j] * passed / (2.0 * v) if v > 0.0 else 0.0
        s.speed[j] = dq[j]


@njit(cache=True, nogil=True)
@no_type_check
def adapt_noise(c, s, r, resting, innovation, S, expected, swept, dt):
    """Let white noise, pace of slow errors, spread and likeness of innovations of one row follow its innovation."""
    _count_alike(s, r, innovation, expected, dt)
    square = innovation * innovation
    push, rate = min(square / S, OUTLIER * OUTLIER) - 1.0, min(0.05, dt / c.noise_time)
    fresh = 2.0 * s.slow[r] * s.slow[r] * dt * s.pace[r] / c.memory[r]
    least, most = c.white[r] * LEAST_NOISE, c.white[r] * MOST_NOISE
    s.R[r] = min(most * most, max(least * least, s.R[r] * (1.0 + rate * (s.R[r] / S) * push)))
    s.pace[r] = min(1.0, max(SLOWEST, s.pace[r] * (1.0 + rate * min(1.0, fresh / S) * push)))
    push, rate = min(square / expected, OUTLIER * OUTLIER) - 1.0, min(SPREAD_STEP, dt / SPREAD_TIME)
    rate *= SPREAD_RISE if push > 0.0 else 1.0
    spread = s.spread[resting, r] * (1.0 + rate * (1.0 - swept / expected) * push)
    s.spread[resting, r] = min(MOST_SPREAD, max(LEAST_SPREAD, spread))


@called_kernel
@no_type_check
def doubt_arm(c, s, m):
    """Let slow errors be as large as uncertain parameters make the torque of this motion: both are part of one error.

    What grows with the motion is the error itself, not only what is unknown of it.
    """
    n_rows, n, n_terms, C = s.R.shape[0], c.own.shape[0], c.own.shape[1], c.terms.transmission
    for r in range(n_rows):
        m.grown[r] = 0.0
    for k in range(c.doubt_own.shape[0]):
        other_rows(c.rows, c.doubt_links[k], m.work, m.doubted)
        for motor in range(n):
            whole = 0.0
            for term in range(n_terms):
                whole += c.doubt_own[k, motor, term] * m.terms[motor, term]
            for j in range(n):
                m.doubted[j] += C[motor, j] * whole
        for r in range(n_rows):
            m.grown[r] += m.doubted[r] * m.doubted[r]
    for r in range(n_rows):
        now = max(c.slow[r], np.sqrt(m.grown[r]))
        m.grown[r] = now / s.slow[r]
        s.slow[r] = now
