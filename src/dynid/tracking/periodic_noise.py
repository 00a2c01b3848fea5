r"""Noise of the measured rows from a motion that repeats itself: what differs between periods is no dynamics.

Where the reference has a period T, so have the motion and its torque; with v independent from one period to the next,

.. math::

    z(t + T) - z(t) = v(t + T) - v(t), \qquad R = \tfrac12\,\overline{(z(t + T) - z(t))^2}

as [Joukov2015]_ takes its measurement covariance. The differences also tell how long the noise remembers.
"""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array, Float
from dynid.errors import RecordingError
from dynid.tracking.row_filter import low_pass_weights

__all__ = ["period_of", "periodic_noise"]

SAME = 1e-3
"""Mean square difference of positions one period apart, over twice their variance, at which a motion repeats itself."""
SHORTEST = 0.5
"""Shortest period that is looked for, s: control loops ring faster."""
FEWEST = 2.0
"""Periods that a log must hold at least."""
LARGEST_ECHO = 0.99
"""Largest correlation of neighbouring rows that is believed."""


def period_of(t: Float[Array, " n_samples"], q: Float[Array, "n_samples n_dof"]) -> float | None:
    """The shortest time in s after which a motion repeats itself; None where it does not, or not often enough."""
    n = len(t)
    dt = float(np.median(np.diff(t))) if n > 2 else 0.0
    if not dt > 0.0:
        return None
    grid = np.arange(t[0], t[-1], dt)
    even = np.column_stack([np.interp(grid, t, column) for column in q.T])
    even -= np.mean(even, axis=0)
    n = len(even)
    power = float(np.mean(np.sum(even**2, axis=1)))
    # Σ|q(t+T) − q(t)|² over all lags at once: sums of squares from either end, less twice the correlation.
    size = int(2 ** np.ceil(np.log2(2 * n)))
    spectrum = np.fft.rfft(even, size, axis=0)
    product = np.sum(np.fft.irfft(np.abs(spectrum) ** 2, size, axis=0)[:n], axis=1)
    squares = np.concatenate([[0.0], np.cumsum(np.sum(even**2, axis=1))])
    lags = np.arange(n)
    apart = (squares[n - lags] + squares[n] - squares[lags] - 2.0 * product) / np.maximum(n - lags, 1)
    ratio = apart / max(2.0 * power, 1e-300)
    first, last = max(1, int(SHORTEST / dt)), int(n / FEWEST)
    inner = np.arange(first + 1, last)
    dips = inner[(ratio[inner] <= ratio[inner - 1]) & (ratio[inner] <= ratio[inner + 1]) & (ratio[inner] < SAME)]
    return None if len(dips) == 0 else float(dips[0] * dt)


def periodic_noise(
    source: str,
    t: Float[Array, " n_samples"],
    q: Float[Array, "n_samples n_dof"],
    measured: Float[Array, "n_samples n_rows"],
    *,
    cutoff_hz: float | None,
    rate_hz: float,
    every: int,
) -> Float[Array, " n_rows"]:
    """Standard deviation of each measured row (N·m and N), larger where neighbouring rows remember each other.

    Args:
        source: name of the log, for messages.
        t: time in s.
        q: positions.
        measured: what was measured, SI.
        cutoff_hz: low-pass of the rows, Hz; None for none.
        rate_hz: samples per second.
        every: samples from one row that is absorbed to the next.

    Raises:
        RecordingError: the motion does not repeat itself.
    """
    period = period_of(t, q)
    if period is None:
        raise RecordingError(
            f"{source}: the motion does not repeat itself at least {FEWEST:g} times, so its periods tell no noise; "
            "give `noise` in numbers, leave it out, or log several periods"
        )
    later = t + period
    inside = later <= t[-1]
    apart = np.column_stack([np.interp(later[inside], t, z) - z[inside] for z in measured.T])
    weights = low_pass_weights(cutoff_hz, rate_hz)
    if len(weights):
        apart = _filtered(weights, apart)[:: max(every, 1)]
    # A first difference of two periods cancels a drift between them as little as a fit does: the mean stays in.
    variance = np.maximum(0.5 * np.mean(apart**2, axis=0), 1e-30)
    rho = np.clip(0.5 * np.mean(apart[1:] * apart[:-1], axis=0) / variance, 0.0, LARGEST_ECHO)
    return np.sqrt(variance * (1.0 + rho) / (1.0 - rho))


def _filtered(
    weights: Float[Array, " n_weights"], values: Float[Array, "n_samples n_rows"]
) -> Float[Array, "n_samples n_rows"]:
    from scipy.signal import lfilter  # takes long to import

    return np.asarray(lfilter(weights[:3], [1.0, *weights[3:]], values, axis=0))
