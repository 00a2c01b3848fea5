"""Zero-phase low-pass kernels and their exact derivatives: one filter for position, velocity, torque and regressor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Float, readonly

__all__ = ["LowPass", "motion_bandwidth_hz"]

ATTENUATION_DB = 50.0
"""Of the stop band, from 4/3 of the cut-off on; the pass band ends at 2/3 of it and is as flat."""


@dataclass(frozen=True)
class LowPass:
    """A symmetric finite filter (Kaiser-windowed sinc): no phase, no edge transients, only samples lost at the ends."""

    cutoff_hz: float
    """Where the gain is one half, Hz; infinite filters nothing."""
    rate_hz: float
    """Samples per second of what is filtered."""
    attenuation_db: float = ATTENUATION_DB
    """Of the stop band, relative, in dB (units of 20·log10)."""

    @property
    def active(self) -> bool:
        """Whether it filters at all."""
        return bool(np.isfinite(self.cutoff_hz))

    @cached_property
    def half_length(self) -> int:
        """Samples lost at each end."""
        if not self.active:
            return 2
        width = 2.0 * np.pi * (2.0 / 3.0) * self.cutoff_hz / self.rate_hz
        return int(np.ceil((self.attenuation_db - 7.95) / (2.285 * width) / 2.0)) + 2

    @cached_property
    def kernel(self) -> Float[Array, " n_taps"]:
        """Weights of 2·half_length + 1 samples, dimensionless, summing to one."""
        n = np.arange(-self.half_length, self.half_length + 1)
        if not self.active:
            return readonly(n == 0)
        # Two zeros at each end make the differences below exact on polynomials.
        window = np.zeros(len(n))
        window[2:-2] = np.kaiser(len(n) - 4, _kaiser_beta(self.attenuation_db))
        fraction = 2.0 * self.cutoff_hz / self.rate_hz
        weights = fraction * np.sinc(fraction * n) * window
        return readonly(weights / weights.sum())

    @cached_property
    def slope(self) -> Float[Array, " n_taps"]:
        """Weights (1/s) that filter and differentiate at once, exact on straight lines."""
        h = self.kernel
        steps = (h[2:] - h[:-2]) * self.rate_hz / 2.0
        weights = np.concatenate([[h[1] * self.rate_hz / 2.0], steps, [-h[-2] * self.rate_hz / 2.0]])
        return readonly(weights)

    @cached_property
    def curvature(self) -> Float[Array, " n_taps"]:
        """Weights (1/s²) that filter and differentiate twice at once, exact on parabolas."""
        h = self.kernel
        steps = (h[2:] - 2.0 * h[1:-1] + h[:-2]) * self.rate_hz**2
        return readonly(np.concatenate([[h[1] * self.rate_hz**2], steps, [h[-2] * self.rate_hz**2]]))

    def applied(self, values: Float[Array, "n_samples *rest"], order: int = 0) -> Float[Array, "n_left *rest"]:
        """Filtered values (order 0) or their first or second time derivative; half_length samples go at each end."""
        kernel = (self.kernel, self.slope, self.curvature)[order]
        return _convolved(values, kernel)

    def thinned(self, values: Float[Array, "n_samples n_columns"], every: int) -> Float[Array, "n_left n_columns"]:
        """One filtered sample in `every`, the first centred on sample half_length; the others are not computed."""
        n_taps, group = len(self.kernel), 8
        n_left = (len(values) - n_taps) // every + 1
        if n_left <= 0:
            return np.empty((0, values.shape[1]))
        if not self.active:
            return values[self.half_length :: every][:n_left]
        span = (group - 1) * every + n_taps
        weights = np.zeros((group, span))
        for k in range(group):
            weights[k, k * every : k * every + n_taps] = self.kernel
        out = np.empty((n_left, values.shape[1]))
        for first in range(0, n_left, group):
            count = min(group, n_left - first)
            length = (count - 1) * every + n_taps
            block = values[first * every : first * every + length]
            out[first : first + count] = weights[:count, :length] @ block
        return out


def _kaiser_beta(attenuation_db: float) -> float:
    """Kaiser's shape parameter of a window with this attenuation (dB), by his own formula."""
    if attenuation_db > 50.0:
        return 0.1102 * (attenuation_db - 8.7)
    over = max(attenuation_db - 21.0, 0.0)
    return float(0.5842 * over**0.4 + 0.07886 * over)


def _convolved(
    values: Float[Array, "n_samples *rest"], kernel: Float[Array, " n_taps"]
) -> Float[Array, "n_left *rest"]:
    """Every whole overlap of values and kernel, by Fourier transforms of overlapping blocks.

    As `scipy.signal.oaconvolve` does; importing that package takes longer than all filtering of a log.
    """
    n_taps, n_left = len(kernel), len(values) - len(kernel) + 1
    if n_left <= 0:
        return np.empty((0, *values.shape[1:]))
    size = _fast_length(min(8 * n_taps, len(values)))
    step = size - n_taps + 1
    spectrum = np.fft.rfft(kernel, size).reshape(-1, *([1] * (values.ndim - 1)))
    out = np.empty((n_left, *values.shape[1:]))
    for first in range(0, n_left, step):
        block = np.fft.irfft(np.fft.rfft(values[first : first + size], size, axis=0) * spectrum, size, axis=0)
        count = min(step, n_left - first)
        out[first : first + count] = block[n_taps - 1 : n_taps - 1 + count]
    return out


def _fast_length(least: int) -> int:
    """The smallest product of twos, threes and fives that is at least that: Fourier transforms are fast there."""
    best = 1 << max(least - 1, 0).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            best = min(best, three << max(-(-least // three) - 1, 0).bit_length())
            three *= 3
        five *= 5
    return best


def motion_bandwidth_hz(
    q: Float[Array, "n_samples n_dof"],
    rate_hz: float,
    *,
    share: float = 0.95,
    floor_std: Float[Array, " n_dof"] | float = 0.0,
) -> float:
    """The frequency below which `share` of the velocity's power lies, for the fastest joint, Hz.

    The velocity spectrum comes from positions, bins near the noise floor left out: differentiated encoder noise would
    pass for fast motion.
    """
    n = len(q)
    window = np.hanning(n + 2)[1:-1]
    trend = np.linspace(0.0, 1.0, n)[:, None]
    centred = q - (q[0] + (q[-1] - q[0]) * trend)
    power = np.abs(np.fft.rfft(centred * window[:, None], axis=0)) ** 2
    frequency = np.fft.rfftfreq(n, 1.0 / rate_hz)
    floor = np.maximum(np.median(power[len(power) // 2 :], axis=0), np.square(floor_std) * np.sum(window**2))
    velocity = np.where(power > 100.0 * floor, power, 0.0) * frequency[:, None] ** 2
    total = velocity.sum(axis=0)
    moving = total > 1e-9 * np.max(total, initial=0.0)
    if not np.any(moving):
        return float(frequency[1]) if n > 2 else rate_hz / 2.0
    running = np.cumsum(velocity[:, moving], axis=0) / total[moving]
    return float(max(frequency[np.searchsorted(running[:, j], share)] for j in range(running.shape[1])))
