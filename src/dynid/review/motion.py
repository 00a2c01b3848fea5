"""Checks of the motion as a whole: rest, joints that never reverse, too short, too slow, outside limits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dynid.errors import RecordingError
from dynid.recording.conditioning import Conditioning
from dynid.review.findings import Finding, Severity
from dynid.review.stamps import speed_limits
from dynid.review.view import View

__all__ = ["motion_findings"]

MUCH_REST = 0.3
MOST_REST = 0.5
"""Share of the time at rest that is reported, and that is a warning."""
ONE_WAY = 0.02
"""Share of the moving time in the rarer direction, below which a joint does not reverse."""
SLOW = 0.1
"""Fast speed of every joint, relative to its limit, below which inertias hardly show."""
ORDINARY = 0.2
"""Speed of an ordinary joint without a limit in the robot file, relative to what no arm exceeds."""
FEWEST_CYCLES = 2.0
"""Periods of the fastest motion in a log, below which it is short."""
MANY_CYCLES = 10.0
LONG = 3.0
"""Periods and duration in s from which on the low-pass cannot use up a log."""
ROWS_PER_PARAMETER = 10
SAMPLES_PER_CYCLE = 10.0
"""Samples in a period of the fastest motion, below which the rate is low."""
OUTSIDE = 0.01
"""How far outside its limits a position may go, relative to their distance."""
SPIKES = 0.003
"""Share of samples that may lie anywhere."""
OVER_SPEED = 1.5


def motion_findings(view: View) -> Iterator[Finding]:
    """Everything that the motion shows."""
    if view.log.n_samples < 8 or not np.any(view.moves):
        yield Finding(
            code="no-motion",
            severity=Severity.ERROR,
            evidence=f"no joint moves beyond the noise of its position in {view.log.n_samples} samples",
            cause="the robot stood still, or the columns of q are constant",
            fix="log an exciting motion: dynid excite ROBOT --out trajectory.csv",
        )
        return
    yield from _rest(view)
    yield from _one_way(view)
    yield from _too_little(view)
    yield from _limits(view)


def _rest(view: View) -> Iterator[Finding]:
    share = float(np.mean(view.still.all(axis=1)))
    if share > MUCH_REST:
        seconds = share * view.log.duration
        yield Finding(
            code="standstill",
            severity=Severity.WARNING if share > MOST_REST else Severity.INFO,
            evidence=f"every joint rests in {100.0 * share:.3g} % of the samples ({seconds:.3g} s); below "
            f"{100.0 * MUCH_REST:.0f} % is normal",
            cause="the log starts long before or ends long after the motion, or waits between motions",
            fix="use the moving part (--from, --until), or mask slow rows (identify --min-velocity auto)",
        )
    for j in np.flatnonzero(~view.moves):
        yield Finding(
            code="still-joint",
            severity=Severity.WARNING,
            joint=view.names[j],
            evidence=f"q moves by {np.ptp(view.log.q[:, j]):.3g} rad or m in all, its noise is {view.q_noise[j]:.2g}",
            cause="the joint was locked, or left out of the motion",
            fix=f"move it in the next log, or freeze it: --lock {view.names[j]}={np.median(view.log.q[:, j]):.6g}",
        )


def _one_way(view: View) -> Iterator[Finding]:
    for j in np.flatnonzero(view.moves):
        v = view.velocity[:, j]
        least = max(0.05 * float(view.fast[j]), 4.0 * float(view.speed_noise[j]))
        forward, backward = float(np.mean(v > least)), float(np.mean(v < -least))
        rarer = min(forward, backward) / max(forward + backward, 1e-12)
        if rarer < ONE_WAY and forward + backward > 0.0:
            yield Finding(
                code="one-way",
                severity=Severity.WARNING,
                joint=view.names[j],
                evidence=f"it moves one way for {100.0 * (1.0 - rarer):.3g} % of its moving time; half is best",
                cause="the motion never reverses this joint",
                fix="log a motion that goes both ways: Coulomb friction and offset cannot be told apart",
            )


def _too_little(view: View) -> Iterator[Finding]:
    log, cycles = view.log, view.bandwidth_hz * view.log.duration
    n_numbers, n_unknown = log.n_samples * log.n_dof, 13 * log.n_dof
    margin = 0.0
    if cycles < MANY_CYCLES or log.duration < LONG:
        try:
            margin = 2.0 * Conditioning().plan(log).margin
        except RecordingError:
            margin = np.inf
    if margin >= 0.8 * log.duration or n_numbers < ROWS_PER_PARAMETER * n_unknown or cycles < FEWEST_CYCLES:
        used_up = margin >= log.duration
        yield Finding(
            code="short",
            severity=Severity.ERROR if used_up else Severity.WARNING,
            evidence=f"{log.n_samples} samples, {log.duration:.3g} s, {cycles:.2f} periods of the fastest motion "
            f"(at least {FEWEST_CYCLES:g} are needed); the low-pass uses up {min(margin, 1e9):.3g} s",
            cause="the log was cut off, or the motion is too short",
            fix="log for longer: ten periods of the motion, or 10 s, are a good start",
        )
    fast = np.percentile(np.abs(view.velocity), 98.0, axis=0)
    known = np.array([0.0 < joint.limits.velocity < np.inf for joint in view.robot.joints])
    limits = np.where(known, 1.0, ORDINARY) * speed_limits(view.robot)
    used = fast / limits
    best = int(np.argmax(used))
    if used[best] < SLOW:
        yield Finding(
            code="slow",
            severity=Severity.WARNING,
            evidence=f"the fastest joint, {view.names[best]}, uses {100.0 * used[best]:.2g} % of its speed "
            f"of {limits[best]:.3g} rad/s or m/s; above {100.0 * SLOW:.0f} % inertias show",
            cause="a slow motion: torque is gravity and friction, and hardly any inertia",
            fix="log a faster motion (dynid excite ROBOT), or expect only gravity and friction parameters",
        )
    per_cycle = 1.0 / max(view.period * view.bandwidth_hz, 1e-12)
    if per_cycle < SAMPLES_PER_CYCLE:
        yield Finding(
            code="low-rate",
            severity=Severity.WARNING,
            evidence=f"{1.0 / view.period:.3g} samples a second for motion up to {view.bandwidth_hz:.3g} Hz: "
            f"{per_cycle:.2g} a period, at least {SAMPLES_PER_CYCLE:.0f} are needed",
            cause="the log is sampled too slowly for this motion",
            fix="log at a higher rate, or move more slowly",
        )


def _limits(view: View) -> Iterator[Finding]:
    sigma = view.q_noise
    fast = np.percentile(np.abs(view.velocity), 99.0, axis=0)
    for j, joint in enumerate(view.robot.joints):
        limits, q = joint.limits, view.log.q[:, j]
        if limits.upper > limits.lower:
            width = limits.upper - limits.lower
            slack = 6.0 * sigma[j] + (OUTSIDE * width if np.isfinite(width) else 0.0)
            outside = (q < limits.lower - slack) | (q > limits.upper + slack)
            if np.mean(outside) > SPIKES:
                yield Finding(
                    code="outside-limits",
                    severity=Severity.WARNING,
                    joint=joint.name,
                    evidence=f"q goes from {q.min():.4g} to {q.max():.4g}, the limits are {limits.lower:.4g} to "
                    f"{limits.upper:.4g} rad or m; outside in {100.0 * np.mean(outside):.2g} % of the samples",
                    cause="another zero position than the robot file's, another joint, or wrong limits",
                    fix="compare the zero position of the joint with the robot file: an offset changes every parameter",
                )
        if 0.0 < limits.velocity < np.inf and fast[j] > OVER_SPEED * limits.velocity + 6.0 * view.speed_noise[j]:
            yield Finding(
                code="over-speed",
                severity=Severity.WARNING,
                joint=joint.name,
                evidence=f"q moves at up to {fast[j]:.3g} a second, {fast[j] / limits.velocity:.2g} times the limit "
                f"of {limits.velocity:.3g} rad/s or m/s",
                cause="a wrong unit of positions or of time, or limits that are not the arm's",
                fix="check the unit of q and the time stamps",
            )
