"""The motion as a whole: rest, joints that never reverse, too short, too slow, outside limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.errors import RecordingError
from dynid.recording.conditioning import Conditioning
from dynid.review.checks.stamps import speed_limits
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import FEWEST_SAMPLES, Look
from dynid.review.phrases import in_percent
from dynid.review.signal_view import SignalView

__all__ = [
    "NoMotion",
    "OneWay",
    "ShortLog",
    "SlowMotion",
    "Standstill",
    "StillJoint",
    "find_broken_limits",
    "find_no_motion",
    "find_one_way",
    "find_rest",
    "find_too_few_samples",
    "find_too_little_motion",
]

MUCH_REST = 0.3
MOST_REST = 0.5
"""Share of the time at rest that is reported, and that is a warning: most rows then tell of static friction."""
ONE_WAY = 0.02
"""Share of the moving time in the rarer direction, below which a joint does not reverse."""
SLOW = 0.1
"""Fast speed of every joint, relative to its limit, below which inertias hardly show: torque grows with its square."""
ORDINARY = 0.2
"""Speed of an ordinary joint without a limit in the robot file, relative to what no arm exceeds."""
FEWEST_CYCLES = 2.0
"""Periods of the fastest motion in a log, below which it is short."""
MANY_CYCLES = 10.0
LONG = 3.0
"""Periods and duration in s from which on the low-pass cannot use up a log."""
USED_UP = 0.8
"""Share of a log that the low-pass uses up, from which on it is short."""
ROWS_PER_PARAMETER = 10
"""Numbers of a log for each parameter of the arm, at least."""
PARAMETERS_PER_JOINT = 13
"""Ten of the link and three of the friction."""
SAMPLES_PER_CYCLE = 10.0
"""Samples in a period of the fastest motion, below which the rate is low: differentiation damps by several percent."""
EDGES = frozenset({"held", "quantisation", "repeated-rows", "jump"})
"""Findings whose steps look like fast motion."""
OUTSIDE = 0.01
"""How far outside its limits a position may go, relative to their distance."""
SPIKES = 0.003
"""Share of samples that may lie anywhere."""
OVER_SPEED = 1.5
"""Speed, relative to the limit of the robot file, that no drive allows."""
LOG_LONGER = "log for longer: ten periods of the motion, or 10 s, are a good start"


@dataclass(frozen=True)
class TooFewSamples:
    """Hardly any row."""

    n_samples: int
    cause = "the log was cut off, or hardly any row is complete"
    fix = LOG_LONGER

    @property
    def evidence(self) -> str:
        return f"{self.n_samples} usable samples"


def find_too_few_samples(look: Look) -> Look:
    """Logs of a handful of samples."""
    if look.log is None or look.log.n_samples >= FEWEST_SAMPLES:
        return look
    measured = TooFewSamples(look.log.n_samples)
    return look.found([Finding(code="short", severity=Severity.ERROR, measured=measured)])


@dataclass(frozen=True)
class NoMotion:
    """Positions that do not change."""

    n_samples: int
    cause = "the robot stood still, or the columns of q are constant"
    fix = "log an exciting motion"

    @property
    def evidence(self) -> str:
        return f"no joint moves beyond the noise of its position in {self.n_samples} samples"


def find_no_motion(look: Look) -> Look:
    """Logs without motion; what later checks say of the motion would be noise."""
    view = look.signals
    if np.any(view.moves):
        return look
    finding = Finding(code="no-motion", severity=Severity.ERROR, measured=NoMotion(view.log.n_samples))
    return replace(look.found([finding]), view=None)


@dataclass(frozen=True)
class Standstill:
    """Time in which every joint rests."""

    share: float = number("1", normal=(0.0, MUCH_REST))
    seconds: float = number("s")
    cause = "the log starts long before or ends long after the motion, or waits between motions"
    fix = "use the moving part of the log, or mask slow rows (min_velocity)"

    @property
    def evidence(self) -> str:
        return (
            f"every joint rests in {in_percent(self.share)} of the samples ({self.seconds:.3g} s); below "
            f"{in_percent(MUCH_REST)} is normal"
        )


@dataclass(frozen=True)
class StillJoint:
    """A joint that does not move."""

    name: str
    travel: float = number("rad or m")
    noise: float = number("rad or m")
    position: float = number("rad or m")
    """Where it stands."""
    cause = "the joint was locked, or left out of the motion"

    @property
    def evidence(self) -> str:
        return f"q moves by {self.travel:.3g} rad or m in all, its noise is {self.noise:.2g}"

    @property
    def fix(self) -> str:
        return f"move it in the next log, or lock it: {self.name} = {self.position:.6g}"


def find_rest(look: Look) -> Look:
    """Rest of all joints for much of the log, or of one joint all the time."""
    view = look.signals
    findings = []
    share = float(np.mean(view.still.all(axis=1)))
    if share > MUCH_REST:
        severity = Severity.WARNING if share > MOST_REST else Severity.INFO
        rest = Standstill(share, share * view.log.duration)
        findings.append(Finding(code="standstill", severity=severity, measured=rest))
    for j in np.flatnonzero(~view.moves):
        q, name = view.log.q[:, j], view.names[j]
        measured = StillJoint(name, float(np.ptp(q)), float(view.q_noise[j]), float(np.median(q)))
        findings.append(Finding(code="still-joint", severity=Severity.WARNING, joint=name, measured=measured))
    return look.found(findings)


@dataclass(frozen=True)
class OneWay:
    """A joint that hardly ever reverses."""

    share: float = number("1", normal=(0.5, 1.0 - ONE_WAY))
    """Of the moving time in the more frequent direction."""
    cause = "the motion never reverses this joint"
    fix = "log a motion that goes both ways: Coulomb friction and offset cannot be told apart"

    @property
    def evidence(self) -> str:
        return f"it moves one way for {in_percent(self.share)} of its moving time; half is best"


def find_one_way(look: Look) -> Look:
    """Joints that hardly ever reverse."""
    view = look.signals
    findings = []
    for j in np.flatnonzero(view.moves):
        v = view.velocity[:, j]
        least = max(0.05 * float(view.fast[j]), 4.0 * float(view.speed_noise[j]))
        forward, backward = float(np.mean(v > least)), float(np.mean(v < -least))
        rarer = min(forward, backward) / max(forward + backward, 1e-12)
        if rarer < ONE_WAY and forward + backward > 0.0:
            measured = OneWay(1.0 - rarer)
            findings.append(Finding(code="one-way", severity=Severity.WARNING, joint=view.names[j], measured=measured))
    return look.found(findings)


@dataclass(frozen=True)
class ShortLog:
    """Too little motion for the filters or the parameters."""

    n_samples: int
    duration: float = number("s")
    cycles: float = number("1", normal=(FEWEST_CYCLES, np.inf))
    """Periods of the fastest motion."""
    margin: float = number("s")
    """What the low-pass uses up at both ends."""
    cause = "the log was cut off, or the motion is too short"
    fix = LOG_LONGER

    @property
    def evidence(self) -> str:
        periods = np.floor(100.0 * self.cycles) / 100.0  # cut off rather than rounded: 1.999 is not two
        return (
            f"{self.n_samples} samples, {self.duration:.3g} s, {periods:.2f} periods of the fastest motion "
            f"(at least {FEWEST_CYCLES:g} are needed); the low-pass uses up {min(self.margin, 1e9):.3g} s"
        )


@dataclass(frozen=True)
class SlowMotion:
    """Motion so slow that inertias do not show."""

    fastest_joint: str
    used: float = number("1", normal=(SLOW, np.inf))
    """Speed over the limit of that joint."""
    limit: float = number("rad/s or m/s")
    cause = "a slow motion: torque is gravity and friction, and hardly any inertia"
    fix = "log a faster motion, or expect only gravity and friction parameters"

    @property
    def evidence(self) -> str:
        return (
            f"the fastest joint, {self.fastest_joint}, uses {in_percent(self.used, 2)} of its speed "
            f"of {self.limit:.3g} rad/s or m/s; above {in_percent(SLOW)} inertias show"
        )


@dataclass(frozen=True)
class LowRate:
    """Few samples in a period of the motion."""

    rate_hz: float = number("Hz")
    bandwidth_hz: float = number("Hz")
    per_cycle: float = number("1", normal=(SAMPLES_PER_CYCLE, np.inf))
    """Samples in a period of the fastest motion."""
    cause = "the log is sampled too slowly for this motion"
    fix = "log at a higher rate, or move more slowly"

    @property
    def evidence(self) -> str:
        return (
            f"{self.rate_hz:.3g} samples a second for motion up to {self.bandwidth_hz:.3g} Hz: "
            f"{self.per_cycle:.2g} a period, at least {SAMPLES_PER_CYCLE:.0f} are needed"
        )


def find_too_little_motion(look: Look) -> Look:
    """Logs that are too short, too slow, or sampled too slowly."""
    view = look.signals
    return look.found((*_short(view), *_slow(view), *(() if look.codes() & EDGES else _low_rate(view))))


def _short(view: SignalView) -> Iterator[Finding]:
    log, cycles = view.log, view.bandwidth_hz * view.log.duration
    n_numbers, n_unknown = log.n_samples * log.n_dof, PARAMETERS_PER_JOINT * log.n_dof
    margin = 0.0
    if cycles < MANY_CYCLES or log.duration < LONG:
        try:
            margin = 2.0 * Conditioning().plan(log).margin
        except RecordingError:
            margin = np.inf
    if margin >= USED_UP * log.duration or n_numbers < ROWS_PER_PARAMETER * n_unknown or cycles < FEWEST_CYCLES:
        severity = Severity.ERROR if margin >= log.duration else Severity.WARNING
        measured = ShortLog(log.n_samples, log.duration, cycles, margin)
        yield Finding(code="short", severity=severity, measured=measured)


def _slow(view: SignalView) -> Iterator[Finding]:
    fast = np.percentile(np.abs(view.velocity), 98.0, axis=0)
    known = np.array([0.0 < joint.limits.velocity < np.inf for joint in view.robot.joints])
    limits = np.where(known, 1.0, ORDINARY) * speed_limits(view.robot)
    used = fast / limits
    best = int(np.argmax(used))
    if used[best] < SLOW:
        measured = SlowMotion(view.names[best], float(used[best]), float(limits[best]))
        yield Finding(code="slow", severity=Severity.WARNING, measured=measured)


def _low_rate(view: SignalView) -> Iterator[Finding]:
    per_cycle = 1.0 / max(view.period * view.bandwidth_hz, 1e-12)
    if per_cycle < SAMPLES_PER_CYCLE:
        measured = LowRate(1.0 / view.period, view.bandwidth_hz, per_cycle)
        yield Finding(code="low-rate", severity=Severity.WARNING, measured=measured)


@dataclass(frozen=True)
class OutsideLimits:
    """Positions outside the limits of the robot file."""

    lowest: float = number("rad or m")
    highest: float = number("rad or m")
    lower: float = number("rad or m")
    """Limits of the robot file."""
    upper: float = number("rad or m")
    share: float = number("1", normal=(0.0, SPIKES))
    cause = "another zero position than the robot file's, another joint, or wrong limits"
    fix = "compare the zero position of the joint with the robot file: an offset changes every parameter"

    @property
    def evidence(self) -> str:
        return (
            f"q goes from {self.lowest:.4g} to {self.highest:.4g}, the limits are {self.lower:.4g} to "
            f"{self.upper:.4g} rad or m; outside in {in_percent(self.share, 2)} of the samples"
        )


@dataclass(frozen=True)
class OverSpeed:
    """Motion faster than the limit of the robot file."""

    speed: float = number("rad/s or m/s")
    limit: float = number("rad/s or m/s")
    cause = "a wrong unit of positions or of time, or limits that are not the arm's"
    fix = "check the unit of q and the time stamps"

    @property
    def evidence(self) -> str:
        return (
            f"q moves at up to {self.speed:.3g} a second, {self.speed / self.limit:.2g} times the limit "
            f"of {self.limit:.3g} rad/s or m/s"
        )


def find_broken_limits(look: Look) -> Look:
    """Positions and speeds beyond the limits of the robot file."""
    view = look.signals
    findings = []
    fast = np.percentile(np.abs(view.velocity), 99.0, axis=0)
    for j, joint in enumerate(view.robot.joints):
        limits, q = joint.limits, view.log.q[:, j]
        if limits.upper > limits.lower:
            width = limits.upper - limits.lower
            slack = 6.0 * view.q_noise[j] + (OUTSIDE * width if np.isfinite(width) else 0.0)
            share = float(np.mean((q < limits.lower - slack) | (q > limits.upper + slack)))
            if share > SPIKES:
                outside = OutsideLimits(float(q.min()), float(q.max()), limits.lower, limits.upper, share)
                finding = Finding(code="outside-limits", severity=Severity.WARNING, joint=joint.name, measured=outside)
                findings.append(finding)
        if 0.0 < limits.velocity < np.inf and fast[j] > OVER_SPEED * limits.velocity + 6.0 * view.speed_noise[j]:
            over = OverSpeed(float(fast[j]), limits.velocity)
            findings.append(Finding(code="over-speed", severity=Severity.WARNING, joint=joint.name, measured=over))
    return look.found(findings)
