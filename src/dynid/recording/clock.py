"""Time stamps that do not go on: repeated ones, rows out of order, logs joined in one file, clocks that were set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.recording.raw import RawLog, increasing
from dynid.recording.repairs import LogRepair, listed_samples

__all__ = ["steady_clock"]

MOST_LOST = 0.2
"""Share of the rows that a repair may leave out; a log that would lose more is left to its owner."""
COARSE_SHARE = 1.0 / 3.0
"""Share of time steps of zero from which on stamps are coarse rather than repeated."""
RESTART_STEPS = 20.0
"""Step back, in periods, from which on another log begins there: rows out of order, and messages that overtake each
other, step back by less."""
PAUSE = 1.0
"""Least time, s, that is put between two logs in one file."""
PART_SAMPLES = 10
"""Samples between two steps back, at least: fewer are no log."""
PART_GAP = 100.0
"""Periods that are put between two logs in one file: more than any gap that is interpolated."""
CLOCK_JUMP = 3600.0
"""Step forward, s, of a clock that was set rather than a log that paused: no run waits an hour."""
USED_APART = "its parts are used one by one, each as a log of its own"
CONTINUOUS = 3.0
"""Step of a signal across a break of the clock, in units of its usual steps (99th percentile), up to which the motion
goes on there."""


def steady_clock(raw: RawLog) -> RawLog:
    """The log with stamps (s) that increase: what can be put right is, and said; the rest stays as it is."""
    steps = np.diff(raw.t)
    if not len(steps) or not np.isfinite(raw.t).all():
        return raw
    if steps.min() > 0.0 and steps.max() < CLOCK_JUMP:
        return raw
    if np.mean(steps == 0.0) > COARSE_SHARE:
        return _even(raw)
    whole = _joined_parts(raw)
    steps = np.diff(whole.t)
    return _in_order(whole) if len(steps) and steps.min() <= 0.0 else whole


def _period(t: Float[Array, " n_samples"]) -> float:
    """Median step forward, s."""
    steps = np.diff(t)
    return float(np.median(steps[steps > 0.0])) if np.any(steps > 0.0) else 0.0


def _even(raw: RawLog) -> RawLog:
    """Stamps of a clock that ticks more slowly than the log is written, replaced by even ones."""
    t = raw.t
    steps = np.diff(t)
    if steps.min() < 0.0 or t[-1] <= t[0]:
        return raw
    tick = _period(t)
    ticks = np.flatnonzero(np.concatenate([[True], steps > 0.0]))
    # A line through the first sample of every tick; the very first tick may have begun before the log.
    middle = ticks[1:] if len(ticks) > 3 else ticks
    slope, start = np.polyfit(middle - middle[0], t[middle] - t[middle[0]], 1)
    line = t[middle[0]] + start + slope * (np.arange(len(t)) - middle[0])
    how = f"even stamps at {1.0 / slope:.5g} Hz stand in for them, which follow the clock within two ticks"
    if np.max(np.abs(line - t)) > 2.0 * tick:
        line, how = _spread(t, ticks, tick), "the rows of one tick are spread evenly until the next"
    n_zero = int(np.sum(steps == 0.0))
    repair = LogRepair(
        "coarse-stamps",
        f"{n_zero} of {len(steps)} time steps are zero: the clock ticks every {1e3 * tick:.4g} ms, a row is written "
        f"every {1e3 * slope:.4g} ms",
        "stamps were rounded to less than the period of the log",
        how,
        share=n_zero / len(steps),
    )
    return replace(raw, t=line, repairs=(*raw.repairs, repair))


def _spread(t: Float[Array, " n_samples"], ticks: Int[Array, " n_ticks"], tick: float) -> Float[Array, " n_samples"]:
    """Stamps (s) spread from the first row of each tick (s) to the first of the next."""
    starts = np.concatenate([t[ticks], [t[-1] + tick]])
    places = np.concatenate([ticks, [len(t)]])
    # A clock that paused says nothing of the rows before the pause.
    ends = np.minimum(starts[1:], starts[:-1] + 2.0 * tick)
    count = np.diff(places)
    within = np.arange(len(t)) - np.repeat(ticks, count)
    return np.asarray(t + within * np.repeat((ends - starts[:-1]) / count, count))


def _joined_parts(raw: RawLog) -> RawLog:
    """The parts of a file that holds several logs, one after the other: each is moved behind the one before."""
    period = _period(raw.t)
    steps = np.diff(raw.t)
    back = steps < -RESTART_STEPS * period
    forward = steps > CLOCK_JUMP
    places = np.flatnonzero(back | forward) + 1
    edges = np.array([0, *places.tolist(), raw.n_samples])
    # Two breaks close together are one stamp that is wrong, not a log.
    if not len(places) or np.min(np.diff(edges)[1:]) < PART_SAMPLES:
        return raw
    kept = _first_of_twins(raw) if np.any(back) else np.arange(raw.n_samples)
    t = np.array(raw.t)
    pause = max(PAUSE, PART_GAP * period)
    n_on = 0
    for place in places.tolist():
        before, later = kept[kept < place], kept[kept >= place]
        if len(later):
            goes_on = _goes_on(raw, int(before[-1]), int(later[0]))
            n_on += goes_on
            t[place:] += t[before].max() + (period if goes_on else pause) - t[later[0]]
    moved = replace(raw, t=t).rows(kept)
    how = "the motion goes on there, and so does the time" if n_on == len(places) else USED_APART
    numbers = raw.places[places].tolist()
    twins = raw.n_samples - len(kept)
    if np.any(back):
        moved = _with(
            moved,
            LogRepair(
                "backward-stamps",
                f"time starts again {int(np.sum(back))} times, from {raw.t[places[0] - 1]:.6g} s to "
                f"{raw.t[places[0]]:.6g} s at sample {listed_samples(raw.places[np.flatnonzero(back) + 1].tolist())}",
                "several logs were joined in one file, or the clock was set back",
                how + (f"; {twins} rows that stand there twice are used once" if twins else ""),
                samples=tuple(numbers),
                share=twins / raw.n_samples,
            ),
        )
    if np.any(forward):
        moved = _with(
            moved,
            LogRepair(
                "clock-jump",
                f"the clock leaps forward by {steps.max():.4g} s at sample "
                f"{listed_samples(raw.places[np.flatnonzero(forward) + 1].tolist())}",
                "the clock was set while logging, or the first stamps were written before it was",
                how,
                samples=tuple(raw.places[np.flatnonzero(forward) + 1].tolist()),
            ),
        )
    return moved


def _goes_on(raw: RawLog, before: int, after: int) -> bool:
    """Whether the row `after` follows the row `before` as every row follows the one before it."""
    for name in raw.signals:
        for values in getattr(raw, name).T:
            with np.errstate(invalid="ignore"):  # infinite cells are no numbers either
                step, steps = abs(values[after] - values[before]), np.abs(np.diff(values))
            known = steps[np.isfinite(steps)]
            # A value that is missing on either side says nothing.
            if np.isfinite(step) and len(known) and step > CONTINUOUS * np.percentile(known, 99.0):
                return False
    return True


def _with(raw: RawLog, repair: LogRepair) -> RawLog:
    return replace(raw, repairs=(*raw.repairs, repair))


def _first_of_twins(raw: RawLog) -> Int[Array, " n_kept"]:
    """Places of the rows that do not repeat an earlier one with the same stamp and values, in order."""
    # nan is no equal of itself; as a number that nobody measures it is.
    table = np.column_stack([raw.t, *(getattr(raw, name) for name in raw.signals)])
    table[np.isnan(table)] = np.inf
    order = np.lexsort((np.arange(len(table)), raw.t))
    same = np.concatenate([[False], (table[order][1:] == table[order][:-1]).all(axis=1)])
    return np.sort(order[~same])


def _in_order(raw: RawLog) -> RawLog:
    """The most rows whose stamps increase; what is left out is said."""
    kept = increasing(raw.t)
    if len(kept) < (1.0 - MOST_LOST) * raw.n_samples:
        return raw
    steps = np.diff(raw.t)
    ordered = raw.rows(kept)
    repeated, backward = np.flatnonzero(steps == 0.0) + 1, np.flatnonzero(steps < 0.0) + 1
    n_lost = raw.n_samples - len(kept)
    done = f"{n_lost} rows ({100.0 * n_lost / raw.n_samples:.2g} %) are left out"
    if len(repeated):
        places = raw.places[repeated].tolist()
        ordered = _with(
            ordered,
            LogRepair(
                "repeated-stamps",
                f"{len(repeated)} stamps are those of the row before, samples {listed_samples(places)}",
                "rows were written twice, or two messages came within the resolution of the clock",
                done,
                samples=tuple(places),
                share=n_lost / raw.n_samples,
                harmless=n_lost < 0.25 * MOST_LOST * raw.n_samples,
            ),
        )
    if len(backward):
        places = raw.places[backward].tolist()
        ordered = _with(
            ordered,
            LogRepair(
                "backward-stamps",
                f"time runs backwards {len(backward)} times, by up to {-steps.min():.3g} s, at samples "
                f"{listed_samples(places)}",
                "rows out of order, or a clock that was set while logging",
                done,
                samples=tuple(places),
                share=n_lost / raw.n_samples,
                harmless=n_lost < 0.25 * MOST_LOST * raw.n_samples,
            ),
        )
    return ordered
