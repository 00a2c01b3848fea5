"""Torque that was low-passed before it was logged: no sensor is as quiet at high frequencies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look

__all__ = ["find_filtered_torque", "low_pass_of"]

QUIET = 1e-11
"""Power of a torque near half the sampling rate over its largest, below which nothing was measured there. Sensors and
drives of five robots have 10⁻² to 10⁻⁶, two robots whose torque was filtered 10⁻¹⁵ to 10⁻¹⁸."""
FEWEST = 256
"""Samples from which on a spectrum can be told."""
SEEN = 0.15
"""Part of the spectrum in which the cut-off is looked for, relative to the sampling rate."""
ROUNDED = 1e-9
"""Power over the largest below which the digits of the log count for more than the filter."""
SEGMENT = 2048
"""Samples of a segment of the spectrum, at most; segments overlap by half."""


@dataclass(frozen=True)
class FilteredTorque:
    """Torque without any noise above a frequency."""

    cutoff_hz: float = number("Hz")
    quiet: float = number("1", normal=(QUIET, 1.0))
    """Power near half the sampling rate over the largest."""
    rate_hz: float = number("Hz")
    cause = "the torque was low-passed before it was logged (or simulated without noise)"

    @property
    def evidence(self) -> str:
        return (
            f"torque falls off from about {self.cutoff_hz:.2g} Hz on, and has {self.quiet:.1g} of its power left near "
            f"{0.5 * self.rate_hz:.4g} Hz (sensors: over 1e-06)"
        )

    @property
    def fix(self) -> str:
        return (
            "nothing if the motion was filtered alike; otherwise compare the two below that frequency (`lowpass` "
            f"{0.5 * self.cutoff_hz:.2g}), with `delay` auto for a filter that lags"
        )


def find_filtered_torque(look: Look) -> Look:
    """Torque that was filtered before it was logged, with the frequency from which on it is gone."""
    view = look.signals
    tau = view.log.tau if view.log.tau is not None else view.log.current
    if tau is None or view.log.n_samples < FEWEST:
        return look
    found = low_pass_of(tau[:, np.ptp(tau, axis=0) > 0.0], 1.0 / view.period)
    if found is None:
        return look
    return look.found([Finding(code="filtered-torque", severity=Severity.INFO, measured=found)])


def low_pass_of(tau: Float[Array, "n_samples n_dof"], rate_hz: float) -> FilteredTorque | None:
    """The low-pass that torques (N·m or N, sampled at `rate_hz`, Hz) went through; None where they have noise.

    Its cut-off is where the spectrum of the median joint is half as steep as far above: dry friction alone falls with
    the square of the frequency, a filter adds two for each of its poles.
    """
    if not tau.shape[1]:
        return None
    power = _spectrum(tau)
    frequency = np.linspace(0.0, 0.5 * rate_hz, len(power))
    level = np.median(np.log10(power[1:] / power[1:].max(axis=0) + 1e-300), axis=1)
    f = frequency[1:]
    quiet = float(10.0 ** np.median(level[(f > 0.3 * rate_hz) & (f < 0.45 * rate_hz)]))
    if quiet > QUIET:
        return None
    # On a logarithmic axis; digital filters fall ever more steeply towards half the sampling rate.
    rounded = f[(level < np.log10(ROUNDED)) & (np.arange(len(f)) > int(np.argmax(level)))]
    last = min(SEEN * rate_hz, float(rounded[0]) if len(rounded) else np.inf)
    octave = np.exp(np.linspace(np.log(f[1]), np.log(max(last, 2.0 * f[1])), 60))
    smooth = np.interp(octave, f, level)
    slope = np.gradient(smooth, np.log10(octave))
    slope = np.convolve(np.pad(slope, 3, mode="edge"), np.ones(7) / 7.0, mode="valid")
    # From the top down: what lies below the bend is the motion's own, which may fall as steeply.
    flat = np.flatnonzero(slope > 0.5 * np.median(slope[-10:]))
    place = int(flat[-1]) if len(flat) else 0
    return FilteredTorque(float(octave[place]), quiet, rate_hz)


def _spectrum(values: Float[Array, "n_samples n_columns"]) -> Float[Array, "n_bins n_columns"]:
    """Power by frequency, averaged over overlapping segments, each with its own line taken out [Welch1967]_."""
    size = min(SEGMENT, len(values) // 2)
    window = np.blackman(size + 2)[1:-1, None] ** 2  # falls faster than what is looked for
    total = np.zeros((size // 2 + 1, values.shape[1]))
    for start in range(0, len(values) - size + 1, max(size // 2, 1)):
        piece = values[start : start + size]
        line = np.linspace(0.0, 1.0, size)[:, None]
        centred = piece - (piece[0] + (piece[-1] - piece[0]) * line)
        total += np.abs(np.fft.rfft(centred * window, axis=0)) ** 2
    return total
