"""Checks of rows and time stamps: what no recording could hold, wrong units of time, jitter and gaps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.recording.raw import RawLog
from dynid.review.findings import MAP, Finding, Severity
from dynid.review.view import MAD_TO_STD, View, listed, noise, runs

__all__ = ["row_findings", "stamp_findings", "time_factor"]

TIME_UNITS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}
SLOWEST = 0.2
"""Time between samples in s from which on a unit other than seconds is considered: no arm is identified at 5 Hz."""
RATES_HZ = (20.0, 20_000.0)
"""Rates of logs; the three decades hold exactly one of ms, µs and ns."""
FASTEST = {"revolute": 10.0, "prismatic": 5.0}
"""Speed in rad/s or m/s that hardly any joint of an arm reaches, where the robot file gives no limit."""
UNEVEN = 0.12
"""Standard deviation of time steps, relative to their median, that is reported as jitter."""
WRONG_STAMPS = 4.0
"""How much smoother positions must be on an even grid than on their stamps for the stamps to be wrong."""
GAP_STEPS = 2.5
"""Length of a gap in periods, on an even grid."""
LONG_GAP_STEPS = 10.0
"""Length of a gap in periods from which on a stretch ends there."""


def row_findings(raw: RawLog) -> Iterator[Finding]:
    """Rows that a recording refuses: values that are not finite, times that do not go on."""
    places = raw.places
    clean = "drop_bad_rows = true"
    for name in ("t", *raw.signals):
        values = getattr(raw, name)
        bad = ~np.isfinite(values.reshape(raw.n_samples, -1))
        for j in np.flatnonzero(bad.any(axis=0)):
            samples = places[bad[:, j]].tolist()
            joint = None if name == "t" else raw.joint_names[j]
            share = 100.0 * len(samples) / raw.n_samples
            everywhere = len(samples) > raw.n_samples // 2
            yield Finding(
                code="not-finite",
                severity=Severity.ERROR,
                joint=joint,
                evidence=f"{name} is not a finite number in {len(samples)} of {raw.n_samples} rows ({share:.2g} %), "
                f"{listed(samples, 'samples ')}; it should be in none",
                cause="the logger wrote nan, inf or an empty cell where a message was missing or a division failed",
                fix=f"log {name} again, or leave the column out: most of its values are missing"
                if everywhere
                else f"leave these rows out; {MAP}\n{clean}",
            )
    t = raw.t[np.isfinite(raw.t)]
    numbers = places[np.isfinite(raw.t)]
    steps = np.diff(t)
    if not len(steps) or steps.min() > 0.0:
        return
    repeated, backward = np.flatnonzero(steps == 0.0), np.flatnonzero(steps < 0.0)
    if len(repeated) > len(steps) // 3:
        span = float(t.max() - t.min())
        rate = (len(t) - 1) / span if span > 0.0 else 0.0
        line = f"rate_hz = {rate:.8g}"
        yield Finding(
            code="coarse-stamps",
            severity=Severity.ERROR,
            evidence=f"{len(repeated)} of {len(steps)} time steps are zero; every sample needs its own time",
            cause="stamps were rounded to less than the period of the log, or written as float32",
            fix=f"where the log is sampled evenly, {MAP}\n{line}" if rate else "write stamps with more digits",
        )
        return
    if len(repeated):
        yield Finding(
            code="repeated-stamps",
            severity=Severity.ERROR,
            evidence=f"{len(repeated)} stamps are those of the row before, "
            f"{listed(numbers[repeated + 1], 'samples ')}; none should be",
            cause="rows were written twice, or two messages came within the resolution of the clock",
            fix=f"leave the repeated rows out; {MAP}\n{clean}",
        )
    if len(backward):
        worst = float(-steps.min())
        yield Finding(
            code="backward-stamps",
            severity=Severity.ERROR,
            evidence=f"time runs backwards {len(backward)} times, by up to {worst:.3g} s, "
            f"{listed(numbers[backward + 1], 'at samples ')}; it never should",
            cause="rows out of order, several logs joined, or a clock that was set while logging",
            fix=f"sort the rows by time, or leave the late ones out; {MAP}\n{clean}",
        )


def speed_limits(robot: Robot) -> Float[Array, " n_dof"]:
    """Speed that a joint cannot reach, rad/s or m/s: its limit, or what no arm does."""
    return np.array([j.limits.velocity if 0.0 < j.limits.velocity < np.inf else FASTEST[j.type] for j in robot.joints])


def time_factor(view: View) -> tuple[float, list[Finding]]:
    """Seconds in one unit of the stamps, and the finding where that is not one."""
    period = view.period
    if not period > SLOWEST:
        return 1.0, []
    for unit, factor in TIME_UNITS.items():
        rate = 1.0 / (factor * period)
        if not RATES_HZ[0] <= rate < RATES_HZ[1]:
            continue
        speed = np.percentile(np.abs(view.velocity), 99.0, axis=0) / factor
        dq = view.log.dq
        if dq is not None:
            told = np.percentile(np.abs(dq), 99.0, axis=0)
            believed = bool(np.median(told / np.maximum(speed, 1e-12)) > np.sqrt(factor))
        else:
            believed = bool(np.all(speed < 3.0 * speed_limits(view.robot)))
        if believed:
            line = f'units.t = "{unit}"'
            return factor, [
                Finding(
                    code="time-unit",
                    severity=Severity.ERROR,
                    evidence=f"samples are {period:.4g} s apart, {1.0 / period:.3g} Hz; in {unit} the rate is "
                    f"{rate:.4g} Hz, and the velocities are those of an arm",
                    cause=f"time stamps in {unit}, read as seconds",
                    fix=f"{MAP}\n{line}",
                )
            ]
    return 1.0, []


def stamp_findings(view: View) -> Iterator[Finding]:
    """Jitter and gaps of time stamps that go on."""
    steps, period = np.diff(view.stamps), view.period
    if len(steps) < 8:
        return
    # A gap is many times longer than what the other steps scatter by.
    scatter = MAD_TO_STD * float(np.median(np.abs(steps - period)))
    is_gap = steps > max(GAP_STEPS * period, period + 8.0 * scatter)
    if np.any(is_gap):
        yield _gaps(view, steps, is_gap)
    even = steps[~is_gap]
    uneven = float(np.std(even) / period)
    rough = _roughness(view)
    if uneven <= UNEVEN and rough < WRONG_STAMPS:
        return
    wrong = rough >= WRONG_STAMPS
    line = f"rate_hz = {len(steps) / (view.stamps[-1] - view.stamps[0]):.8g}" if wrong and not np.any(is_gap) else ""
    cure = f"where the log is sampled evenly, {MAP}\n{line}" if line else "stamp when values are measured"
    yield Finding(
        code="jitter",
        severity=Severity.WARNING if wrong else Severity.INFO,
        evidence=f"time steps scatter by {100.0 * uneven:.2g} % of their median of {1e3 * period:.4g} ms "
        f"(normal: below {100 * UNEVEN:.0f} %), from {1e3 * even.min():.4g} to {1e3 * even.max():.4g} ms"
        + (f"; positions are {rough:.2g} times smoother on an even grid than on these stamps" if wrong else ""),
        cause="stamps are taken when messages arrive, not when values are measured"
        if wrong
        else "the samples are taken at uneven times; positions agree with the stamps",
        fix=cure if wrong else "nothing: samples are interpolated to even times",
    )


def _gaps(view: View, steps: Float[Array, " n_steps"], is_gap: np.ndarray) -> Finding:
    places = np.flatnonzero(is_gap)
    lost = int(np.sum(np.round(steps[places] / view.period) - 1.0))
    longest = float(steps[places].max())
    long = longest > LONG_GAP_STEPS * view.period
    where = [f"{n} ({view.stamps[k]:.3f} s)" for k, n in zip(places, view.numbers(places.tolist()), strict=True)]
    return Finding(
        code="gaps",
        severity=Severity.WARNING if long else Severity.INFO,
        evidence=f"{len(places)} gaps, the longest {1e3 * longest:.4g} ms where {1e3 * view.period:.4g} ms are normal, "
        f"about {lost} samples lost; {listed(where, 'after samples ')}",
        cause="the logger lost messages, or parts of the log were cut out",
        fix="the stretches between long gaps are used one by one; log again where little is left between them"
        if long
        else "nothing: single samples are interpolated",
    )


def _roughness(view: View) -> float:
    """How many times smoother the positions are on an even grid than on their stamps; 1 where they are alike.

    A wrong stamp moves a sample along the curve by speed × error, which an even grid does not show.
    """
    ratios = []
    steps = np.diff(view.log.t)
    for start, stop in runs(steps <= GAP_STEPS * view.period):
        t, q = view.log.t[start : stop + 1], view.log.q[start : stop + 1]
        if len(t) < 64 or len(t) < view.log.n_samples // 4:
            continue
        even = np.linspace(t[0], t[-1], len(t))
        # Below the last bit of an encoder nothing is smooth.
        changes = np.abs(np.diff(q, axis=0))
        bit = 0.5 * np.min(np.where(changes > 0.0, changes, np.inf), axis=0)
        on_stamps = _second_slopes(t, q) + bit
        on_grid = _second_slopes(even, q) + bit
        moving = np.flatnonzero(view.moves)
        if len(moving):
            ratios.append(float(np.median(on_stamps[moving] / np.maximum(on_grid[moving], 1e-300))))
    return max(ratios, default=1.0)


def _second_slopes(t: Float[Array, " n_samples"], q: Float[Array, "n_samples n_dof"]) -> Float[Array, " n_dof"]:
    """Typical deviation of a sample from the line through its neighbours, less the curve of the motion."""
    weight = ((t[1:-1] - t[:-2]) / (t[2:] - t[:-2]))[:, None]
    off = q[1:-1] - (q[:-2] * (1.0 - weight) + q[2:] * weight)
    return np.median(np.abs(np.diff(off, axis=0)), axis=0) + 1e-3 * noise(q)
