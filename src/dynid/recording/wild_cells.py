"""Wild cells: single samples that have nothing to do with those before and behind."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array, Bool, Float
from dynid.recording.recording import measurable

__all__ = ["wild_cells"]

WILD = 10.0
"""How far a wild cell lies off the curve through its neighbours, in units of what the signal changes by from sample to
sample around it (its 80th percentile). On seven measured robots without fault, of 10⁶ cells two exceed 10."""
DROPPED_OUT = 5.0
"""The same for a cell of exactly 0 in a column that is hardly ever 0; of the others, one in 10⁵ exceeds 5."""
BLOCK = 40
"""Samples over which that change is taken."""
LONE = 0.2
"""Most that the two samples on either side of a wild cell may differ from each other, relative to what it is off by: a
real peak has flanks, and rings on."""
FINEST = 1e-3
"""Least change that counts, relative to the range of the column: for signals without noise, at rest."""
ABSURD = 1e3
"""Distance from the median, in ranges of the column (1st to 99th percentile), that no measurement has."""
ABSURD_OF_NOTHING = 1e6
"""The same where a column does not move at all, in its own SI unit."""
RARE = 0.01
"""Most of a column that can be wild, as a share: what happens more often is a signal."""
SELDOM = 1e-3
"""Share of zeros in a column up to which a zero is a value that was lost."""


def wild_cells(values: Float[Array, "n_samples n_columns"]) -> Bool[Array, "n_samples n_columns"]:
    """Which cells (any unit) were not measured: not numbers, absurdly large, or far off the curve of their neighbours.

    Of a column in which too much is wild nothing is, save for what is not a number.
    """
    wild = ~measurable(values)
    for j, column in enumerate(values.T):
        lost = wild[:, j]
        if lost.all():
            continue
        found = lost.copy()
        # What is gone must not spoil the neighbourhood of the others.
        found |= _absurd(column, lost)
        found |= _off_curve(_filled(column, found))
        if np.mean(found & ~lost) <= RARE:
            wild[:, j] = found
    return wild


def _absurd(column: Float[Array, " n_samples"], lost: Bool[Array, " n_samples"]) -> Bool[Array, " n_samples"]:
    low, middle, high = np.percentile(column[~lost], [1.0, 50.0, 99.0])
    most = ABSURD * (high - low) if high > low else ABSURD_OF_NOTHING
    return ~lost & (np.abs(np.where(lost, middle, column) - middle) > most)


def _filled(column: Float[Array, " n_samples"], lost: Bool[Array, " n_samples"]) -> Float[Array, " n_samples"]:
    if not lost.any() or lost.all():
        return column
    places = np.arange(len(column))
    return np.interp(places, places[~lost], column[~lost])


def _off_curve(x: Float[Array, " n_samples"]) -> Bool[Array, " n_samples"]:
    """Cells far off the cubic through two samples on either side, whose neighbours agree with each other."""
    wild = np.full(len(x), False)
    if len(x) < BLOCK:
        return wild
    ends = np.pad(x, 2, mode="edge")
    before, after = ends[1:-3], ends[3:-1]
    off = np.abs(x - (4.0 * (before + after) - ends[:-4] - ends[4:]) / 6.0)
    zeros = x == 0.0
    least = np.where(zeros & (np.mean(zeros) <= SELDOM), DROPPED_OUT, WILD)
    around = np.stack([ends[:-4], before, after, ends[4:]])
    usual = _usual_change(x)
    found = (off > least * usual) & (np.abs(np.diff(around, axis=0)).max(axis=0) < LONE * off)
    # Of neighbours that all look wild, the worst one is.
    places = np.flatnonzero(found)
    wild[places] = [off[k] >= off[max(k - 1, 0) : k + 2].max() for k in places]
    # The first and the last sample lie off the line through the two beside them.
    for end, one, two in ((0, 1, 2), (-1, -2, -3)):
        far = abs(x[end] - 2.0 * x[one] + x[two])
        lone = abs(x[one] - x[two]) < LONE * far and not wild[[one, two]].any()
        wild[end] |= bool(lone and far > 2.0 * WILD * usual[end])
    return wild


def _usual_change(x: Float[Array, " n_samples"]) -> Float[Array, " n_samples"]:
    """What a signal changes by from sample to sample around each sample, in its own unit."""
    changes = np.abs(np.diff(x, append=x[-1:]))
    n_blocks = len(x) // BLOCK
    blocks = np.percentile(changes[: n_blocks * BLOCK].reshape(n_blocks, BLOCK), 80.0, axis=1)
    beside = np.concatenate([blocks[:1], blocks, blocks[-1:]])
    around = np.maximum(blocks, np.maximum(beside[:-2], beside[2:]))
    local = np.repeat(around, BLOCK)
    low, high = np.percentile(x, [1.0, 99.0])
    floor = max(float(np.percentile(changes, 75.0)), FINEST * float(high - low), 1e-300)
    return np.maximum(np.concatenate([local, np.full(len(x) - len(local), around[-1])]), floor)
