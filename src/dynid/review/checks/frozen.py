"""Signals that stand still while the joint moves, or that change at a lower rate than the log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float
from dynid.recording.column_map import ColumnMap
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look
from dynid.review.phrases import enumerated, in_percent
from dynid.review.signal_view import SignalView, runs

__all__ = ["find_repeated_rows", "frozen_or_held"]

FROZEN_SECONDS = 0.02
FROZEN_SAMPLES = 8
"""Shortest frozen segment, s and samples: the longer of the two. Shorter ones are lost messages, which are gaps."""
MANY = 20
"""Frozen segments from which on a signal is held rather than frozen, where they fill much of the log."""
MOST_CUTS = 50
"""Frozen segments that a column map leaves out one by one; a log with more is to be logged again."""
MIN_HELD = 0.25
"""Share of samples that repeat the one before, from which on a signal is held: three samples of four are new."""
MIN_REPEATED_ROWS = 0.01
"""Share of rows that repeat the whole row before, from which on it is good to know."""
BY_CHANCE = 1e-6
"""Probability that a segment of repeated values would be met by chance."""


@dataclass(frozen=True)
class RepeatedRows:
    """Rows that repeat every value of the row before, with a new stamp."""

    samples: tuple[int, ...]
    longest: int
    """Most of them in a row."""
    share: float = number("1", normal=(0.0, MIN_REPEATED_ROWS))
    cause = "the logger runs faster than the robot sends, or messages were lost and the last one written again"
    fix = "nothing if they are few; otherwise log at the rate of the robot"

    @property
    def evidence(self) -> str:
        return (
            f"{in_percent(self.share, 2)} of the rows repeat every value of the row before, up to {self.longest} in a "
            f"row; samples {enumerated(self.samples)}"
        )


def find_repeated_rows(look: Look) -> Look:
    """Rows that repeat the whole row before while the arm moves."""
    view = look.signals
    if not view.is_long:
        return look
    # At rest, noiseless signals repeat themselves by nature.
    same = view.rows_repeat & ~view.still[1:].all(axis=1)
    share = float(np.mean(same))
    if share < MIN_REPEATED_ROWS:
        return look
    samples = view.numbers((np.flatnonzero(same) + 1).tolist())
    measured = RepeatedRows(tuple(samples), max(stop - start for start, stop in runs(same)), share)
    severity = Severity.INFO if share < MIN_HELD else Severity.WARNING
    return look.found([Finding(code="repeated-rows", severity=severity, measured=measured)])


@dataclass(frozen=True)
class Held:
    """A signal that is measured at a lower rate than it is logged."""

    signal: str
    share: float = number("1", normal=(0.0, MIN_HELD))
    """Moving samples that repeat the one before."""
    signal_rate_hz: float = number("Hz")
    log_rate_hz: float = number("Hz")

    @property
    def evidence(self) -> str:
        return (
            f"{self.signal} repeats the sample before in {in_percent(self.share)} of the moving samples: it changes "
            f"about {self.signal_rate_hz:.3g} times a second at {self.log_rate_hz:.4g} samples a second"
        )

    @property
    def cause(self) -> str:
        return f"{self.signal} is measured at a lower rate than the log, and held in between"

    @property
    def fix(self) -> str:
        return f"log at the rate of the slowest signal, or a {self.signal} that is measured as often"


@dataclass(frozen=True)
class Frozen:
    """Segments in which a signal stands still while the joint moves."""

    signal: str
    segments: tuple[tuple[int, int, float], ...]
    """First and last sample, and the time of the first in s."""
    longest_samples: int
    total: float = number("s", normal=(0.0, 0.0))
    longest: float = number("s", normal=(0.0, FROZEN_SECONDS))
    cause = "a sensor or its bus stopped sending, and the last value was written on"

    @property
    def evidence(self) -> str:
        places = enumerated(f"{first}–{last} ({time:.3f} s)" for first, last, time in self.segments)
        return (
            f"{self.signal} stands still in {len(self.segments)} segments while the joint moves, "
            f"{1e3 * self.total:.4g} ms in all, the longest {1e3 * self.longest:.4g} ms ({self.longest_samples} "
            f"samples); samples {places}"
        )

    @property
    def fix(self) -> str:
        return "leave these segments out" if len(self.segments) <= MOST_CUTS else "log again"


def frozen_or_held(
    view: SignalView, signal: str, j: int, values: Float[Array, " n_samples"], step: float, *, clipped: bool
) -> Iterator[Finding]:
    """Segments of joint j's signal (SI) that stand still though the motion goes on, and signals of a lower rate."""
    changes = np.diff(values)
    zero = changes == 0.0
    others = view.rows_repeat
    moving = ~view.still[1:, j]
    usual = np.abs(changes[~zero])
    if not len(usual):
        return
    grain = max(step, float(np.percentile(usual, 1.0)))
    shortest = max(FROZEN_SAMPLES, int(np.ceil(FROZEN_SECONDS / view.period)))
    extremes = (values.min(), values.max()) if clipped else ()
    segments = [
        (start, stop)
        for start, stop in runs(zero, shortest)
        if values[start] not in extremes and _goes_on(view, signal, j, start, stop, grain)
    ]
    if sum(stop - start for start, stop in segments) > MIN_HELD * len(zero) and len(segments) >= MANY:
        segments = []
    counted = zero & moving & ~others & ~np.isin(values[1:], extremes)
    for start, stop in segments:
        counted[start:stop] = False
    n_moving = max(int(np.sum(moving & ~others)), 1)
    one_step = int(np.sum((np.abs(changes) < 1.5 * grain) & ~zero & moving))
    held = float(np.sum(counted)) / n_moving
    # Coarse signals repeat themselves too, but then change by single steps.
    if held > MIN_HELD and one_step < 0.5 * np.sum(~zero & moving):
        rate = 1.0 / view.period
        slower = Held(signal, held, rate * max(1.0 - held, 1e-6), rate)
        yield Finding(code="held", severity=Severity.WARNING, joint=view.names[j], measured=slower)
    if segments:
        yield _frozen(view, signal, j, segments)


def _frozen(view: SignalView, signal: str, j: int, segments: list[tuple[int, int]]) -> Finding:
    t = view.log.t
    longest = max(segments, key=lambda segment: segment[1] - segment[0])
    cuts = tuple((round(float(t[a]), 6), round(float(t[b] + 0.5 * view.period), 6)) for a, b in segments)
    measured = Frozen(
        signal,
        tuple((a, b, float(t[a])) for a, b in segments),
        longest[1] - longest[0] + 1,
        float(sum(t[b] - t[a] for a, b in segments)),
        float(t[longest[1]] - t[longest[0]]),
    )
    return Finding(
        code="frozen",
        severity=Severity.WARNING,
        joint=view.names[j],
        measured=measured,
        repair=ColumnMap(exclude=cuts) if len(segments) <= MOST_CUTS else None,
    )


def _goes_on(view: SignalView, signal: str, j: int, start: int, stop: int, grain: float) -> bool:
    """Whether the joint moves on while a signal repeats samples `start` to `stop`."""
    values = getattr(view.log, signal)[:, j]
    if signal == "q":
        # Positions themselves cannot say so while they stand still: velocities do, or the leap behind.
        leap = abs(values[stop + 1] - values[stop]) if stop + 1 < len(values) else 0.0
        dq = view.log.dq
        told = 0.0 if dq is None else abs(float(np.trapezoid(dq[start : stop + 1, j], view.log.t[start : stop + 1])))
        usual = view.fast[j] * view.period
        return bool(max(told, leap) > 4.0 * grain + 3.0 * usual)
    q = view.log.q[:, j]
    moved = np.ptp(q[start : stop + 1])
    resolution = view.q_noise[j]
    if moved <= 0.02 * view.fast[j] * (view.log.t[stop] - view.log.t[start]) + 8.0 * resolution:
        return False
    if signal == "dq":
        # Steady motion has a steady velocity: only a change that dq does not show counts.
        slope = view.velocity[start : stop + 1, j]
        room = 4.0 * grain + 6.0 * view.speed_noise[j] + 0.02 * view.fast[j]
        return bool(np.max(np.abs(slope - np.median(slope))) > room)
    after = values[min(stop + 1, len(values) - 1)] - values[stop]
    # Torque without noise may rest for a moment and leap when a joint reverses.
    long = view.log.t[stop] - view.log.t[start] > 5.0 * FROZEN_SECONDS
    return bool((long and abs(after) > 4.0 * grain) or _is_noisy(values, start, stop))


def _is_noisy(values: Float[Array, " n_samples"], start: int, stop: int) -> bool:
    """Whether the samples around a segment change so often that it could not stand still by chance."""
    around = np.concatenate([np.diff(values[max(0, start - 50) : start]), np.diff(values[stop + 1 : stop + 51])])
    if len(around) < 10:
        return False
    repeats = (np.sum(around == 0.0) + 1.0) / (len(around) + 2.0)
    return bool((stop - start) * np.log(repeats) < np.log(BY_CHANCE))
