"""Noise of encoders: how coarse positions are, and how wide a motion filter may be before accelerations suffer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays

__all__ = ["EncoderNoise", "encoder_noise", "period_of", "resolution"]

MAX_ATTENUATION = 5e-4
"""Noise power over signal power of accelerations that a motion filter may let through: inertias shrink by as much."""
MATTERS = 5e-5
"""Attenuation by the usual filter from which another one is worth its longer ends. Inertias hardly shrink yet; but with
a 16 bit encoder velocities about reversals are spoilt so far that 80 % of parameters lie within 1.96 σ."""
_STEPS = 0.95
"""Share of differences between values that are whole multiples of the smallest, for values on a grid."""
_OFF_STEP = 0.05
"""Relative: how far a multiple may be off through rounding in the log."""
_NOTHING_BUT_NOISE = 2.0
"""Power beyond the band of a motion over that of the noise, at most. Sums of it are compared, not lines: the rounding
of a motion that repeats itself repeats too, and stands in few lines."""

_SLOWEST = 0.25
"""Share of the mean speed of a joint below which its rows may be masked, at most."""
_APART, _REPEATS = 100.0, 4.0
"""Squared differences of positions over the variance of their noise: clearly another pose; the same, where 2 is noise
alone."""
_FEWEST = 10
"""One over the share of all lines whose sum does not scatter."""


@dataclass(frozen=True, eq=False)
class EncoderNoise:
    """What noise of positions (or velocities) means for accelerations, joint by joint."""

    step: Float[Array, " n_dof"]
    """Resolution in rad or m (or per s); 0 where values lie on no grid."""
    std: Float[Array, " n_dof"]
    """Noise in the same unit: that of the grid, or of the spectrum's floor, whichever is larger."""
    band_hz: float
    """Where the accelerations of all joints end, as far as they stand clear of the noise, Hz."""
    frequency: Float[Array, " n_frequencies"]
    """Hz, of `attenuation`."""
    attenuation: Float[Array, " n_frequencies"]
    """Noise power over signal power of accelerations below each frequency, of the joint that suffers most."""
    unresolved: float = 0.0
    """Speed (rad/s or m/s) below which a joint about to turn stays on one step, so that its direction is not known."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def at(self, cutoff_hz: float) -> float:
        """The attenuation of accelerations (dimensionless) behind a low-pass at this frequency, Hz."""
        return float(np.interp(cutoff_hz, self.frequency, self.attenuation))

    @property
    def narrowest_hz(self) -> float:
        """The smallest cut-off (Hz) that leaves the motion alone: the pass band of `LowPass` ends at two thirds."""
        return 1.5 * self.band_hz

    @property
    def widest_hz(self) -> float:
        """The largest cut-off (Hz) that keeps accelerations clean, but never one that cuts into the motion."""
        clean = self.frequency[self.attenuation <= MAX_ATTENUATION]
        return max(float(clean[-1]) if len(clean) else 0.0, self.narrowest_hz)

    def matters(self, cutoff_hz: float) -> bool:
        """Whether noise spoils what passes a low-pass at this frequency, Hz."""
        return self.at(cutoff_hz) > MATTERS


def resolution(values: Float[Array, " n_samples"]) -> float:
    """The grid (in the unit of the values) that values lie on, 0 for none."""
    distinct = np.unique(values)
    if len(distinct) < 3 or len(distinct) > 0.9 * len(values):
        return 0.0
    gaps = np.diff(distinct)
    gaps = gaps[gaps > 1e-9 * (distinct[-1] - distinct[0])]
    if not len(gaps):
        return 0.0
    step = float(np.median(gaps[gaps < 1.5 * np.min(gaps)]))
    multiples = gaps / step
    off = np.abs(multiples - np.round(multiples))
    return step if np.mean(off <= _OFF_STEP * np.maximum(multiples, 1.0)) >= _STEPS else 0.0


def encoder_noise(
    values: Float[Array, "n_samples n_dof"],
    raw: Float[Array, "n_raw n_dof"],
    rate_hz: float,
    *,
    order: int = 2,
) -> EncoderNoise:
    r"""Noise of positions (order 2) or velocities (order 1), and the power of it in accelerations.

    With a signal of power S above a floor N of the periodogram, the noise power over signal power of accelerations
    below f is :math:`\sum_{f_k < f} N \omega_k^{2n} / \sum_k S \omega_k^{2n}`: what inertias are attenuated by.

    Args:
        values: on a uniform grid of times, rad or m (per s).
        raw: as logged, for the resolution.
        rate_hz: samples a second of `values`.
        order: derivatives between values and accelerations.
    """
    n = len(values)
    window = np.hanning(n + 2)[1:-1]
    trend = np.linspace(0.0, 1.0, n)[:, None]
    centred = values - (values[0] + (values[-1] - values[0]) * trend)
    power = np.abs(np.fft.rfft(centred * window[:, None], axis=0)) ** 2
    frequency = np.fft.rfftfreq(n, 1.0 / rate_hz)
    step = np.array([resolution(column) for column in raw.T])
    unit = float(np.sum(window**2))
    floor = np.maximum(np.median(power[len(power) // 2 :], axis=0), step**2 / 12.0 * unit)
    weight = (2.0 * np.pi * frequency[:, None]) ** (2 * order)
    left = np.cumsum(power[::-1], axis=0)[::-1]
    # Sums of few lines scatter; fewer than these are judged as if there were as many.
    count = np.maximum(np.arange(len(power), 0, -1), len(power) // _FEWEST)[:, None]
    beyond = left > _NOTHING_BUT_NOISE * floor * count
    band = np.array([np.max(np.flatnonzero(column), initial=0) for column in beyond.T])
    inside = np.arange(len(power))[:, None] <= band
    signal = np.sum(np.where(inside, np.maximum(power - floor, 0.0), 0.0) * weight, axis=0)
    moving = signal > 1e-6 * np.max(signal, initial=0.0)
    noise = np.cumsum(floor * weight, axis=0)
    std = np.sqrt(floor / unit)
    if not np.any(moving):
        return EncoderNoise(step, std, 0.0, frequency, np.zeros(len(frequency)))
    ends = float(np.max(frequency[band[moving]]))
    attenuation = np.max(noise[:, moving] / signal[moving], axis=1)
    slow = _unresolved(np.sqrt(2.0 * signal / unit / n)[moving], centred[:, moving], rate_hz, step[moving])
    return EncoderNoise(step, std, ends, frequency, attenuation, slow if order == 2 else 0.0)


def _unresolved(
    acceleration: Float[Array, " n_moving"],
    q: Float[Array, "n_samples n_moving"],
    rate_hz: float,
    step: Float[Array, " n_moving"],
) -> float:
    """Speed (rad/s or m/s) that a joint has one step away from where it turns: √(2 a·step), a of RMS size.

    A quarter of the mean speed at most, so that no joint loses its rows.
    """
    speed = np.mean(np.abs(np.diff(q[:: max(1, int(0.1 * rate_hz))], axis=0)), axis=0) / 0.1
    return float(np.min(np.minimum(np.sqrt(2.0 * acceleration * step), _SLOWEST * speed)))


def period_of(values: Float[Array, "n_samples n_dof"], std: Float[Array, " n_dof"]) -> int | None:
    """After how many samples the motion (rad or m, noise `std`) repeats itself; None where it does not."""
    n = len(values)
    padded = np.fft.rfft(values - values.mean(axis=0), 2 * n, axis=0)
    overlap = np.arange(n, 0, -1)[:, None]
    together = np.fft.irfft(np.abs(padded) ** 2, axis=0)[:n] / overlap
    squares = (values - values.mean(axis=0)) ** 2
    ends = np.cumsum(squares, axis=0)[::-1] + np.cumsum(squares[::-1], axis=0)[::-1]
    difference = np.max((ends / overlap - 2.0 * together) / np.maximum(std, 1e-300) ** 2, axis=1)
    first_apart = int(np.argmax(difference > _APART))
    same = np.flatnonzero(difference[first_apart : n // 2] < _REPEATS)
    if not len(same) or not first_apart:
        return None
    # The best of the first group of lags that agree.
    group = same[: int(np.argmax(np.diff(same, append=n) > 1)) + 1]
    return int(first_apart + group[np.argmin(difference[first_apart + group])])
