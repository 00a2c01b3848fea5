"""Cubics through the samples of a log, as SciPy has them.

Written out, since importing ``scipy.interpolate`` takes longer than conditioning a whole log.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_banded

from dynid.arrays import Array, Float

__all__ = ["hermite", "spline"]


def hermite(
    t: Float[Array, " n_samples"],
    q: Float[Array, "n_samples n_dof"],
    dq: Float[Array, "n_samples n_dof"],
    grid: Float[Array, " n_grid"],
) -> Float[Array, "n_grid n_dof"]:
    """On a grid of times (s), the cubics that have the positions and velocities of the samples at both their ends."""
    before = np.clip(np.searchsorted(t, grid, side="right") - 1, 0, len(t) - 2)
    step = np.diff(t)[:, None]
    slope = np.diff(q, axis=0) / step
    bend = (dq[:-1] + dq[1:] - 2.0 * slope) / step
    second, third = (slope - dq[:-1]) / step - bend, bend / step
    s = (grid - t[before])[:, None]
    return q[before] + dq[before] * s + second[before] * (s * s) + third[before] * (s * s * s)


def spline(
    t: Float[Array, " n_samples"], q: Float[Array, "n_samples n_dof"], grid: Float[Array, " n_grid"]
) -> Float[Array, "n_grid n_dof"]:
    """On a grid of times (s), the cubics through the samples with two continuous derivatives.

    Their slopes follow from a tridiagonal system; at the ends the third derivative is continuous too ("not a knot").
    """
    if len(t) < 4:
        from scipy.interpolate import CubicSpline

        return np.asarray(CubicSpline(t, q)(grid))
    step = np.diff(t)
    tall = step[:, None]
    slope = np.diff(q, axis=0) / tall
    first, last = t[2] - t[0], t[-1] - t[-3]
    bands, right = np.zeros((3, len(t))), np.empty_like(q, dtype=float)
    bands[0, 1], bands[0, 2:] = first, step[:-1]
    bands[1, 0], bands[1, 1:-1], bands[1, -1] = step[1], 2.0 * (step[:-1] + step[1:]), step[-2]
    bands[2, :-2], bands[2, -2] = step[1:], last
    right[0] = ((tall[0] + 2.0 * first) * tall[1] * slope[0] + tall[0] ** 2 * slope[1]) / first
    right[1:-1] = 3.0 * (tall[1:] * slope[:-1] + tall[:-1] * slope[1:])
    right[-1] = (tall[-1] ** 2 * slope[-2] + (2.0 * last + tall[-1]) * tall[-2] * slope[-1]) / last
    return hermite(t, q, solve_banded((1, 1), bands, right, check_finite=False), grid)
