"""Noise with a memory: a white and a slow part of residuals, from their spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from dynid.arrays import Array, Float, freeze_arrays

__all__ = ["NoiseColour", "RowColour", "noise_colour"]

N_BINS = 50
"""Bins of frequency, even in its logarithm, that the periodogram is averaged in."""
N_MEMORIES, N_RATIOS = 60, 60
"""Time constants tried, and ratios of slow to white power, evenly in their logarithms."""
LONGEST_MEMORY = 0.5
"""Longest time constant tried, over the longest segment: a slower process does not show in it."""
STEADY = 1e-10
"""Change of the variance of a prediction, over itself, below which it is steady."""
RATIOS = (1e-3, 1e4)
"""Power of the slow part at its lowest frequencies over that of the white part."""


@dataclass(frozen=True, eq=False)
class NoiseColour:
    r"""Residuals as a white part and an Ornstein–Uhlenbeck process.

    .. math::

        S(f) = \frac{\sigma_w^2}{f_s} + \frac{2 \sigma_s^2 T}{1 + (2\pi f T)^2}
    """

    white_std: Float[Array, " n_dof"]
    """σ of the part without memory, N·m or N."""
    slow_std: Float[Array, " n_dof"]
    """σ of the part with memory, N·m or N."""
    memory: Float[Array, " n_dof"]
    """T, s."""
    band_white_std: Float[Array, " n_dof"]
    """σ of the white part as the frequencies of the fit show it, N·m or N a sample."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class RowColour:
    r"""The noise of rows behind a low-pass: white, and an AR(1) process.

    .. math::

        c_\ell = v\,[\ell = 0] + s^2 \rho^{|\ell|}
    """

    white: Float[Array, " n_dof"]
    """v: variance of the white part of a row, (N·m)² or N²."""
    slow: Float[Array, " n_dof"]
    """s²: variance of the part with memory, (N·m)² or N²."""
    decay: Float[Array, " n_dof"]
    """ρ: correlation of the slow part between neighbouring rows."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def summed(self, joint: int, Y: Float[Array, "n_rows n_columns"]) -> Float[Array, "n_columns n_columns"]:
        """Yᵀ C Y of gapless rows, C the covariance of their noise: what a score Yᵀe has for covariance."""
        own = Y.T @ Y
        # Each row and what is left of those before it: y_k = Y_k + ρ y_{k-1}, as a banded system.
        band = np.array([np.ones(len(Y)), np.full(len(Y), -self.decay[joint])])
        before = Y.T @ linalg.solve_banded((1, 0), band, Y, check_finite=False)
        return self.white[joint] * own + self.slow[joint] * (before + before.T - own)

    def whitened(self, joint: int, rows: Float[Array, "n_rows n_columns"]) -> Float[Array, "n_rows n_columns"]:
        """Gapless rows times the inverse root of their noise covariance: the innovations of a Kalman filter.

        The prediction error of each row, given those before it, over its standard deviation; rows are unit and white.
        """
        from scipy.signal import lfilter

        v, s2, rho = float(self.white[joint]), float(self.slow[joint]), float(self.decay[joint])
        out = np.empty_like(rows)
        state, P = np.zeros(rows.shape[1]), s2
        for k, row in enumerate(rows):
            S = P + v
            error = row - state
            out[k] = error / np.sqrt(S)
            gain = P / S
            state = rho * (state + gain * error)
            following = rho**2 * (1.0 - gain) * P + s2 * (1.0 - rho**2)
            if abs(following - P) <= STEADY * S:
                # From here on the filter has constant gain.
                kept = rho * (1.0 - gain)
                rest = lfilter([rho * gain], [1.0, -kept], rows[k + 1 :], axis=0, zi=kept * state[None, :])[0]
                shifted = np.vstack([state[None, :], rest])[: len(rows) - k - 1]
                out[k + 1 :] = (rows[k + 1 :] - shifted) / np.sqrt(S)
                break
            P = following
        return out


def noise_colour(pieces: Sequence[Float[Array, "_ n_dof"]], rate_hz: float, highest_hz: float = np.inf) -> NoiseColour:
    """The white and the slow part of gapless residuals (N·m or N) sampled at `rate_hz`, by Whittle's likelihood
    [Whittle1953]_.

    Only frequencies up to `highest_hz` count for the slow part: what the low-pass of a fit takes away has a colour of
    its own. White is what residuals forget within half a period of that frequency.
    """
    frequency, power, count = _spectrum(pieces, rate_hz, min(highest_hz, 0.5 * rate_hz))
    total = sum(np.sum(piece**2, axis=0) for piece in pieces) / sum(len(piece) for piece in pieces)
    n_dof = len(total)
    memories = np.geomspace(2.0 / rate_hz, LONGEST_MEMORY * max(map(len, pieces)) / rate_hz, N_MEMORIES)
    ratios = np.concatenate([[0.0], np.geomspace(*RATIOS, N_RATIOS)])
    best = np.full(n_dof, np.inf)
    slow, white, memory = np.zeros(n_dof), np.zeros(n_dof), np.full(n_dof, memories[0])
    for T in memories:
        shape = 1.0 / (1.0 + (2.0 * np.pi * frequency * T) ** 2)
        for ratio in ratios:
            S = 1.0 + ratio * shape
            # The level that fits best, then minus the logarithm of the likelihood.
            level = np.maximum((count / S) @ power / np.sum(count), 1e-300)
            cost = count @ np.log(S) + np.sum(count) * np.log(level)
            better = cost < best - 1e-9
            best = np.where(better, cost, best)
            slow = np.where(better, np.minimum(0.5 * ratio * level / T, total), slow)
            white = np.where(better, np.minimum(level * rate_hz, total), white)
            memory = np.where(better, T, memory)
    # Beyond the frequencies looked at there may be more than the white part of those: what half a period forgets.
    lag = max(1, round(0.5 * rate_hz / min(highest_hz, 0.5 * rate_hz)))
    steps = [piece[lag:] - piece[:-lag] for piece in pieces if len(piece) > lag]
    forgotten = 0.5 * sum(np.sum(step**2, axis=0) for step in steps) / sum(map(len, steps))
    forgotten = forgotten - slow * -np.expm1(-lag / (rate_hz * memory))
    return NoiseColour(np.sqrt(np.maximum(forgotten, white)), np.sqrt(slow), memory, np.sqrt(white))


def _spectrum(
    pieces: Sequence[Float[Array, "_ n_dof"]], rate_hz: float, highest_hz: float
) -> tuple[Float[Array, " n_bins"], Float[Array, "n_bins n_dof"], Float[Array, " n_bins"]]:
    """Two-sided spectral density ((N·m)²/Hz or N²/Hz) by bins of frequency (Hz), and how many ordinates each has."""
    frequencies, densities = [], []
    for piece in pieces:
        n_samples = len(piece)
        if n_samples < 16:
            continue
        taper = np.hanning(n_samples)
        transformed = np.fft.rfft(piece * taper[:, None], axis=0)
        frequency = np.fft.rfftfreq(n_samples, 1.0 / rate_hz)
        # Under the taper the lowest ordinates hold the mean, which is part of a slow process.
        inside = (frequency <= highest_hz) & (np.arange(len(frequency)) > 0)
        frequencies.append(frequency[inside])
        densities.append(np.abs(transformed[inside]) ** 2 / (rate_hz * np.sum(taper**2)))
    f, S = np.concatenate(frequencies), np.vstack(densities)
    edges = np.geomspace(np.min(f) * 0.999, np.max(f) * 1.001, N_BINS + 1)
    own = np.clip(np.searchsorted(edges, f) - 1, 0, N_BINS - 1)
    count = np.bincount(own, minlength=N_BINS).astype(float)
    kept = count > 0.0
    mean_f = np.bincount(own, f, N_BINS)[kept] / count[kept]
    mean_S = np.column_stack([np.bincount(own, column, N_BINS)[kept] / count[kept] for column in S.T])
    return mean_f, mean_S, count[kept]
