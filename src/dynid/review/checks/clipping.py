"""Signals that rest at their extreme, or at the effort limit of the drive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look
from dynid.review.phrases import enumerated, in_percent
from dynid.review.signal_view import UNIT_OF, SignalView, runs

__all__ = ["clipped_values", "find_effort_limit"]

CLIPPED_SAMPLES = 8
CLIPPED_SHARE = 0.002
"""Samples at the very extreme of a signal, and their share, from which on it is clipped: the larger of the two."""
MUCH_CLIPPED = 0.05
"""Share of clipped samples that is an error: it biases the fit by as much."""
MUCH_SATURATED = 0.1
"""The same of samples at the effort limit, where noise takes samples there too."""
AT_LIMIT = 0.985
"""Effort, relative to the limit of the drive, that is at the limit."""


@dataclass(frozen=True)
class Clipped:
    """Plateaus at the largest or smallest value of a signal."""

    signal: str
    which: str
    """largest or smallest."""
    plateaus: tuple[tuple[int, int, float], ...]
    """First and last sample, and the time of the first in s."""
    n_samples: int
    extreme: float = number("SI")
    share: float = number("1", normal=(0.0, CLIPPED_SHARE))
    effort_limit: float | None = None
    """N·m or N, where the signal rests at the limit of the drive."""
    fix = "move more gently or widen the range, and log again: cut-off values bias the fit"

    @property
    def evidence(self) -> str:
        places = enumerated(f"{first}–{last} ({time:.3f} s)" for first, last, time in self.plateaus)
        return (
            f"{self.signal} stays at its {self.which} value {self.extreme:.5g} {UNIT_OF[self.signal]} for "
            f"{self.n_samples} samples ({in_percent(self.share, 2)}) in {len(self.plateaus)} plateaus; samples {places}"
        )

    @property
    def cause(self) -> str:
        if self.effort_limit is not None:
            return f"the drive is at its limit of {self.effort_limit:g}"
        return f"{self.signal} left the range of the sensor, the drive or the number format"


def clipped_values(
    view: SignalView, signal: str, j: int, values: Float[Array, " n_samples"], step: float
) -> Iterator[Finding]:
    """Plateaus at the extremes of joint j's signal (SI), which no smooth or noisy signal has."""
    fewest = max(CLIPPED_SAMPLES, int(CLIPPED_SHARE * len(values)))
    changes = np.abs(np.diff(values))
    bit = step if step > 0.0 else float(np.min(changes[changes > 0.0]))
    for which, extreme in (("largest", float(values.max())), ("smallest", float(values.min()))):
        inside = abs(extreme) * 1e-12 + 1e-3 * step
        at = np.abs(values - extreme) <= inside
        count = int(np.sum(at))
        if count < fewest:
            continue
        plateaus = [(a, b) for a, b in runs(at, 3) if _is_cut_off(view, signal, j, a, b, bit)]
        total = sum(b - a for a, b in plateaus)
        if total < fewest:
            continue
        # The peak of a smooth signal fills its last step, but the next one almost as much.
        inward = extreme - bit if which == "largest" else extreme + bit
        near = int(np.sum(np.abs(values - inward) < 0.5 * bit))
        if count < 6 * near:
            continue
        torque, share = signal in ("tau", "current"), total / view.log.n_samples
        limit = view.robot.joints[j].limits.effort
        at_limit = torque and np.isfinite(limit) and limit > 0.0 and abs(abs(extreme) / limit - 1.0) < 0.05
        places = tuple((a, b - 1, float(view.log.t[a])) for a, b in plateaus)
        yield Finding(
            code="saturation" if torque else "clipping",
            severity=Severity.ERROR if share > MUCH_CLIPPED else Severity.WARNING,
            joint=view.names[j],
            measured=Clipped(signal, which, places, total, extreme, share, limit if at_limit else None),
        )


def _is_cut_off(view: SignalView, signal: str, j: int, start: int, stop: int, step: float) -> bool:
    """Whether a plateau of a signal is no rest and no steady velocity."""
    t, q = view.log.t, view.log.q[:, j]
    if signal == "q":
        dq = view.log.dq
        usual = view.fast[j] * view.period
        if dq is not None:
            told = float(np.trapezoid(np.abs(dq[start:stop, j]), t[start:stop]))
            blur = view.noise_of("dq")[j] * (t[stop - 1] - t[start])
            return bool(told - blur > 4.0 * step + usual)
        # A joint comes to rest gently: the last steps before are far smaller than the usual ones.
        before = abs(q[start] - q[start - 1]) if start > 0 else 0.0
        after = abs(q[stop] - q[stop - 1]) if stop < len(q) else 0.0
        return bool(max(before, after) > 0.08 * usual + 2.0 * step)
    if bool(view.still[start:stop].all()):
        return False
    if signal == "dq":
        slope = (q[stop - 1] - q[start]) / (t[stop - 1] - t[start])
        told = float(getattr(view.log, signal)[start, j])
        spread = 4.0 * view.q_noise[j] / (t[stop - 1] - t[start])
        return bool(abs(slope) - abs(told) > 0.02 * abs(told) + spread + step)
    return True


@dataclass(frozen=True)
class AtEffortLimit:
    """Torque that dwells at the effort limit."""

    signal: str
    limit: float = number("N·m or N")
    share: float = number("1", normal=(0.0, 0.005))
    cause = "the drive is at its limit"
    fix = "move more gently, and log again: what the drive could not give biases the fit"

    @property
    def evidence(self) -> str:
        return (
            f"tau is within {in_percent(1.0 - AT_LIMIT, 2)} of the effort limit of {self.limit:g} {UNIT_OF['tau']} in "
            f"{in_percent(self.share, 2)} of the samples; it should hardly ever be"
        )


def find_effort_limit(look: Look) -> Look:
    """Torque that stays at the drive's limit, blurred by noise."""
    view = look.signals
    return look.found(_at_limit(view)) if view.is_long else look


def _at_limit(view: SignalView) -> Iterator[Finding]:
    tau = view.log.tau
    if tau is None:
        return
    for j, joint in enumerate(view.robot.joints):
        limit = joint.limits.effort
        if not 0.0 < limit < np.inf:
            continue
        size = np.abs(tau[:, j])
        spread = 3.0 * float(view.noise_of("tau")[j])
        at = (size > AT_LIMIT * limit - spread) & (size < limit / AT_LIMIT + spread)
        beyond = float(np.mean(size > 1.1 * limit + spread))
        share = float(np.mean(at))
        # Torques that pass through the limit, or are in another unit, do not dwell there.
        band = 2.0 * ((1.0 - AT_LIMIT) * limit + spread) / limit
        if share > max(0.005, 1.5 * band) and beyond == 0.0 and spread < 0.1 * limit:
            yield Finding(
                code="saturation",
                severity=Severity.ERROR if share > MUCH_SATURATED else Severity.WARNING,
                joint=joint.name,
                measured=AtEffortLimit("tau", limit, share),
            )
