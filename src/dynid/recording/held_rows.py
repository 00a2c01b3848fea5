"""Held rows: a slow controller that is logged fast repeats every measurement until the next one comes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dynid.arrays import Array, Bool, Float, Int
from dynid.recording.raw import RawLog

__all__ = ["Holding", "holding_of"]

FEWEST_NEW = 20
"""New rows from which on a pattern can be told."""
LEAST_HELD = 0.15
"""Share of repeated rows from which on a log is held; below, messages were lost here and there."""
REGULAR = 0.9
"""Share of the new rows that come as far behind the one before as they all do, to one row or a half."""
SMOOTHED = 31
"""New rows over which the clock of the controller is taken to be even."""
TOGETHER = 0.5
"""Share of the columns that change when a row is new: those of coarse encoders change one at a time."""
LINE_ROWS = 1.2
"""How far, in periods of the log, new rows may lie off an even clock that explains when they were seen."""


@dataclass(frozen=True)
class Holding:
    """How a log repeats its rows."""

    every: float
    """Rows from one that is new to the next, on average."""
    share: float
    """Of the rows that repeat the one before, dimensionless."""


def holding_of(raw: RawLog) -> Holding | None:
    """The pattern of repeated rows; None where rows repeat by chance, at rest, or not at all.

    What tells: all columns change together, at regular intervals, in the whole log. A robot that rests repeats itself
    for long, and not while it moves; coarse encoders change one by one, noise in every row.
    """
    table = np.column_stack([getattr(raw, name) for name in raw.signals])
    if len(table) < 2 * FEWEST_NEW:
        return None
    changed = np.diff(table, axis=0) != 0.0
    new = changed.any(axis=1)
    share = 1.0 - float(np.mean(new))
    places = np.flatnonzero(new)
    if share < LEAST_HELD or len(places) < FEWEST_NEW:
        return None
    live = changed.any(axis=0)
    if np.median(np.mean(changed[new][:, live], axis=1)) < TOGETHER:
        return None
    intervals = np.diff(places)
    usual = float(np.median(intervals))
    if usual < 2.0:
        # Less than twice too fast: it is the repeated rows that come regularly, and never two in a row.
        between = np.diff(np.flatnonzero(~new))
        lone = np.mean(between == 1) < 1.0 - REGULAR
        return Holding(1.0 / (1.0 - share), share) if lone and _is_regular(between) else None
    if not _is_regular(intervals):
        return None
    even = intervals[_alike(intervals)]
    return Holding(float(np.mean(even)), share)


def _alike(intervals: Int[Array, " n_intervals"]) -> Bool[Array, " n_intervals"]:
    usual = float(np.median(intervals))
    return np.abs(intervals - usual) <= max(1.0, 0.5 * usual)


def _is_regular(intervals: Int[Array, " n_intervals"]) -> bool:
    return bool(len(intervals) and np.mean(_alike(intervals)) >= REGULAR)


def new_rows(raw: RawLog, before: RawLog | None = None) -> Bool[Array, " n_samples"]:
    """Rows that differ from the row before; `before` is what was read just before this part."""
    table = np.column_stack([getattr(raw, name) for name in raw.signals])
    first = True
    if before is not None:
        last = np.concatenate([getattr(before, name)[-1] for name in raw.signals])
        first = bool(np.any(last != table[0]))
    return np.concatenate([[first], (np.diff(table, axis=0) != 0.0).any(axis=1)])


def evened(t: Float[Array, " n_new"], period: float, row_period: float) -> Float[Array, " n_new"]:
    """Times (s) of new rows by an even clock of the controller, where it explains when the log (periods, s) saw them.

    A log sees a new row up to one of its own periods late, which is not the time of the measurement: differentiated,
    that jitter is noise. Where messages were lost, or the controller does not tick evenly, stamps stay as they are.
    """
    from scipy.signal import savgol_filter

    even = np.array(t)
    edges = [0, *(np.flatnonzero(np.diff(t) > period + 1.5 * row_period) + 1).tolist(), len(t)]
    for start, stop in pairwise(edges):
        if stop - start < SMOOTHED:
            continue
        seen, k = t[start:stop] - t[start], np.arange(stop - start, dtype=float)
        slope, at = np.polyfit(k, seen, 1)
        line = at + slope * k
        for clock in (line, line + savgol_filter(seen - line, SMOOTHED, 1)):
            if np.max(np.abs(clock - seen)) <= LINE_ROWS * row_period:
                even[start:stop] = t[start] + clock
                break
    return even if np.all(np.diff(even) > 0.0) else np.array(t)
