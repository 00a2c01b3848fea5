"""The values of single signals: clipped, frozen, held or coarse ones, and positions that leap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float
from dynid.review.checks.clipping import clipped_values
from dynid.review.checks.frozen import frozen_or_held
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look
from dynid.review.phrases import enumerated, in_percent
from dynid.review.signal_view import UNIT_OF, SignalView

__all__ = ["CoarseSignal", "find_jumps", "find_wrong_values", "step_of"]

LATTICE_LEVELS = 4096
"""Steps across the range of a signal below which its resolution is looked at: a 12-bit converter."""
COARSE_LEVELS = {"q": 1000, "dq": 128, "tau": 128, "current": 128}
"""Steps across the range of a signal below which it is coarse, where noise does not blur them; q is differentiated
twice, so it needs more."""
BLURRED = 0.35
"""Noise, relative to the step, from which on steps are blurred and do no harm: above 0.29, that of the rounding."""
LEAP = 10.0
"""Speed of a leap, relative to the speed that the joint exceeds in 2 % of the time."""


def find_wrong_values(look: Look) -> Look:
    """Signals that are clipped, frozen, held or coarse."""
    view = look.signals
    return look.found(_value_findings(view)) if view.is_long else look


def _value_findings(view: SignalView) -> Iterator[Finding]:
    for signal in ("q", "dq", "tau", "current"):
        values = getattr(view.log, signal)
        if values is None or (signal == "current" and view.log.tau is not None):
            continue
        levels = view.noise_of(signal)
        for j in range(view.log.n_dof):
            if np.ptp(values[:, j]) == 0.0:
                continue
            step = step_of(values[:, j])
            clipped = list(clipped_values(view, signal, j, values[:, j], step))
            coarse = list(_coarse(view, signal, j, values[:, j], step, float(levels[j])))
            frozen = list(frozen_or_held(view, signal, j, values[:, j], step, clipped=bool(clipped)))
            # Each of the three makes plateaus: held samples pass for clipped ones, coarse ones for frozen ones.
            held = any(finding.code == "held" for finding in frozen)
            yield from () if held else clipped
            yield from (finding for finding in frozen if not (coarse and finding.code == "frozen"))
            yield from coarse


def step_of(values: Float[Array, " n_samples"]) -> float:
    """The step of a quantised signal in its own unit; 0 where its values lie on no lattice, or a fine one."""
    levels = np.unique(values)
    span = float(levels[-1] - levels[0])
    if len(levels) < 2 or len(levels) > LATTICE_LEVELS:
        return 0.0
    gaps = np.diff(levels)
    gaps = gaps[gaps > 1e-6 * span]
    if not len(gaps):
        return 0.0
    step = float(np.median(gaps[gaps <= 1.5 * gaps.min()]))
    if span / step > LATTICE_LEVELS:
        return 0.0
    multiples = gaps / step
    # Continuous values have gaps of every length; those of a lattice are whole multiples of one.
    whole = np.abs(multiples - np.round(multiples)) < 0.1
    fine = len(levels) < 0.7 * len(values) or np.mean(gaps < 1.5 * step) > 0.5
    return step if fine and np.mean(whole) > 0.9 else 0.0


@dataclass(frozen=True)
class CoarseSignal:
    """Steps so large that they show in the fit."""

    signal: str
    step: float = number("SI")
    n_levels: float = number("1")
    """Steps across the range of the signal."""
    repeats: float = number("1")
    """Share of the samples that repeat the one before."""
    cause = "numbers were written with too few digits, or the sensor is coarse for this motion"

    @property
    def evidence(self) -> str:
        return (
            f"{self.signal} has steps of {self.step:.4g} {UNIT_OF[self.signal]}, {self.n_levels:.3g} over its whole "
            f"range (normal: over {COARSE_LEVELS[self.signal]}, or blurred by noise); {in_percent(self.repeats, 2)} "
            "of the samples repeat the one before"
        )

    @property
    def fix(self) -> str:
        return f"write {self.signal} with more digits, or make the motion larger"


def _coarse(
    view: SignalView, signal: str, j: int, values: Float[Array, " n_samples"], step: float, level: float
) -> Iterator[Finding]:
    if step == 0.0:
        return
    n_levels = float(np.ptp(values)) / step
    if n_levels >= COARSE_LEVELS[signal]:
        return
    if signal == "dq" and _is_difference(view, j, step):
        return
    repeats = float(np.mean(np.diff(values) == 0.0))
    blurred = level > BLURRED * step and repeats < 0.5
    if blurred and n_levels > 32:
        return
    if signal == "q" and not view.moves[j] and n_levels < 8:
        return
    measured = CoarseSignal(signal, step, n_levels, repeats)
    yield Finding(code="quantisation", severity=Severity.WARNING, joint=view.names[j], measured=measured)


def _is_difference(view: SignalView, j: int, step: float) -> bool:
    """Whether the steps of a velocity are those of the encoder over one or two periods."""
    changes = np.abs(np.diff(view.log.q[:, j]))
    count = float(np.min(changes[changes > 0.0], initial=np.inf)) / view.period
    return any(abs(step * periods / count - 1.0) < 0.02 for periods in (1.0, 2.0))


@dataclass(frozen=True)
class Jumps:
    """Single samples at which a position leaps."""

    samples: tuple[int, ...]
    largest: float = number("rad or m")
    speed: float = number("1", normal=(0.0, LEAP))
    """Of the worst leap, relative to the fastest motion."""
    cause = "a spike of the encoder, a turn that was lost, or samples cut out without a gap in time"
    fix = "cut the log there, or leave these samples out of it"

    @property
    def evidence(self) -> str:
        return (
            f"q leaps {len(self.samples)} times, by up to {self.largest:.3g} rad or m in one sample, "
            f"{self.speed:.2g} times the fastest motion; after samples {enumerated(self.samples)}"
        )


def find_jumps(look: Look) -> Look:
    """Single samples at which a position leaps."""
    view = look.signals
    return look.found(_jumps(view)) if view.log.n_samples >= 100 else look


def _jumps(view: SignalView) -> Iterator[Finding]:
    t, q = view.log.t, view.log.q
    steps = np.diff(t)
    for j in range(view.log.n_dof):
        leap = np.abs(np.diff(q[:, j])) / np.maximum(steps, view.period)
        if leap.max() == 0.0:
            continue
        usual = float(np.percentile(leap, 98.0))
        least = max(LEAP * usual, 3.0 * float(np.max(np.abs(view.log.dq[:, j]))) if view.log.dq is not None else 0.0)
        found = np.flatnonzero((leap > least) & (steps < 2.5 * view.period))
        around = np.maximum(leap[np.maximum(found - 2, 0)], leap[np.minimum(found + 2, len(leap) - 1)])
        alone: list[int] = found[around < leap[found] / 3.0].tolist()
        if alone and usual > 0.0:
            worst = alone[int(np.argmax(leap[alone]))]
            largest = float(abs(q[worst + 1, j] - q[worst, j]))
            measured = Jumps(tuple(view.numbers(alone)), largest, float(leap[worst] / usual))
            yield Finding(code="jump", severity=Severity.WARNING, joint=view.names[j], measured=measured)
