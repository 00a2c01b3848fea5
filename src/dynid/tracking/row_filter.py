r"""A low-pass on whole equations: the rows of the regressor and what was measured pass the same filter.

The measurement is linear in the parameters, so any linear filter of its rows keeps it true, phase and all:

.. math::

    z = Y\theta + v \quad\Rightarrow\quad (h * z) = (h * Y)\,\theta + (h * v)

What is left of the noise is what lies in the band of the motion, as in the batch fit; a row in `every` then tells all.
"""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.kernels.stored import njit

__all__ = ["low_pass_weights", "rows_every", "smooth_rows"]

ROWS_PER_CUTOFF = 4.0
"""Rows absorbed per second over the cut-off frequency, as in the batch fit: a little more than they can carry."""
WIDEST_CUTOFF = 0.2
"""Cut-off over rate above which a low-pass takes nothing away that is worth its memory."""


def low_pass_weights(cutoff_hz: float | None, rate_hz: float) -> Float[Array, " n_weights"]:
    """b₀, b₁, b₂, a₁, a₂ of the Butterworth low-pass of second order; none where it would take nothing away.

    The bilinear transform of :math:`1/(s^2 + \\sqrt2 s + 1)`, the frequency prewarped.
    """
    if cutoff_hz is None or not _useful(cutoff_hz, rate_hz):
        return np.zeros(0)
    w = np.tan(np.pi * cutoff_hz / rate_hz)
    whole = 1.0 + np.sqrt(2.0) * w + w * w
    b = w * w / whole
    return np.array([b, 2.0 * b, b, 2.0 * (w * w - 1.0) / whole, (1.0 - np.sqrt(2.0) * w + w * w) / whole])


def rows_every(cutoff_hz: float | None, rate_hz: float) -> int:
    """One row in so many is worth absorbing after the low-pass; 1 without one."""
    if cutoff_hz is None or not _useful(cutoff_hz, rate_hz):
        return 1
    return max(1, int(rate_hz / (ROWS_PER_CUTOFF * cutoff_hz)))


def _useful(cutoff_hz: float, rate_hz: float) -> bool:
    return 0.0 < cutoff_hz < WIDEST_CUTOFF * rate_hz


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def smooth_rows(weights, past_Y, past_z, Y, z, Y_smooth, z_smooth):
    """One sample of every measured row through the filter (direct form II, transposed).

    A row that was not measured keeps its memory: what comes out later is still a sum of true equations.
    """
    b0, b1, b2, a1, a2 = weights[0], weights[1], weights[2], weights[3], weights[4]
    for r in range(Y.shape[0]):
        if not np.isfinite(z[r]):
            z_smooth[r] = np.nan
            continue
        first, second, row, out = past_Y[0, r], past_Y[1, r], Y[r], Y_smooth[r]
        for k in range(row.shape[0]):
            x = row[k]
            y = b0 * x + first[k]
            first[k] = b1 * x - a1 * y + second[k]
            second[k] = b2 * x - a2 * y
            out[k] = y
        x = z[r]
        y = b0 * x + past_z[0, r]
        past_z[0, r] = b1 * x - a1 * y + past_z[1, r]
        past_z[1, r] = b2 * x - a2 * y
        z_smooth[r] = y
