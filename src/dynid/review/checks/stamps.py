"""Rows and time stamps: what no recording could hold, wrong units of time, jitter and gaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.recording.column_map import UNITS, ColumnMap
from dynid.recording.raw import RawLog
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look
from dynid.review.phrases import enumerated, in_percent
from dynid.review.signal_view import MAD_TO_STD, SignalView, runs, white_noise

__all__ = ["find_bad_rows", "find_time_unit", "find_uneven_stamps", "speed_limits"]

TIME_UNITS = ("ms", "us", "ns")
"""Units of stamps that are read as seconds by mistake."""
SLOWEST = 0.2
"""Time between samples in s from which on a unit other than seconds is considered: no arm is identified at 5 Hz."""
RATES_HZ = (20.0, 20_000.0)
"""Rates of logs; the three decades hold exactly one of ms, µs and ns."""
FASTEST = {"revolute": 10.0, "prismatic": 5.0}
"""Speed in rad/s or m/s that hardly any joint of an arm reaches, where the robot file gives no limit."""
UNEVEN = 0.12
"""Standard deviation of time steps, relative to their median, that is reported as jitter."""
HARMLESS = 0.03
"""Standard deviation of time steps, relative to their median, that does no harm even where the stamps are wrong: it
moves a sample by less than the delay of any drive."""
MOVED = 0.01
"""Error of wrong stamps (standard deviation) times the angular frequency of the motion, rad: below it a sample moves by
less than a hundredth of what it oscillates by, and filters average even that."""
WRONG_STAMPS = 4.0
"""How much smoother positions must be on an even grid than on their stamps for the stamps to be wrong."""
GAP_STEPS = 2.5
"""Length of a gap in periods, on an even grid: at least one sample is lost."""
LONG_GAP_STEPS = 10.0
"""Length of a gap in periods from which on the conditioning ends a segment there."""
BY_RATE = "replace the stamps by a rate if the log is sampled evenly"
CLEAN = ColumnMap(drop_bad_rows=True)
"""The repair of rows that no recording holds."""


def find_bad_rows(look: Look) -> Look:
    """Rows that a recording refuses: values that are not finite, times that do not go on."""
    look = look.found((*_not_finite(look.raw), *_not_increasing(look.raw)))
    # Rates and velocities need stamps of their own for most samples.
    return replace(look, view=None) if "coarse-stamps" in look.codes() else look


@dataclass(frozen=True)
class NotFinite:
    """Cells of a column without a finite number."""

    signal: str
    samples: tuple[int, ...]
    n_rows: int
    share: float = number("1", normal=(0.0, 0.0))
    cause = "the logger wrote nan, inf or an empty cell where a message was missing or a division failed"

    @property
    def mostly(self) -> bool:
        """Whether most of the column is missing."""
        return len(self.samples) > self.n_rows // 2

    @property
    def evidence(self) -> str:
        return (
            f"{self.signal} is not a finite number in {len(self.samples)} of {self.n_rows} rows "
            f"({in_percent(self.share, 2)}), samples {enumerated(self.samples)}; it should be in none"
        )

    @property
    def fix(self) -> str:
        if self.mostly:
            return f"log {self.signal} again, or leave the column out: most of its values are missing"
        return "leave these rows out"


def _not_finite(raw: RawLog) -> Iterator[Finding]:
    for name in ("t", *raw.signals):
        bad = ~np.isfinite(getattr(raw, name).reshape(raw.n_samples, -1))
        for j in np.flatnonzero(bad.any(axis=0)):
            samples = tuple(raw.places[bad[:, j]].tolist())
            measured = NotFinite(name, samples, raw.n_samples, len(samples) / raw.n_samples)
            yield Finding(
                code="not-finite",
                severity=Severity.ERROR,
                joint=None if name == "t" else raw.joint_names[j],
                measured=measured,
                repair=None if measured.mostly else CLEAN,
            )


@dataclass(frozen=True)
class CoarseStamps:
    """Time steps of zero, so many that stamps tell no rate."""

    n_zero: int
    n_steps: int
    rate_hz: float = number("Hz")
    cause = "stamps were rounded to less than the period of the log, or written as float32"

    @property
    def evidence(self) -> str:
        return f"{self.n_zero} of {self.n_steps} time steps are zero; every sample needs its own time"

    @property
    def fix(self) -> str:
        return BY_RATE if self.rate_hz else "write stamps with more digits"


@dataclass(frozen=True)
class RepeatedStamps:
    """Stamps equal to the one before."""

    samples: tuple[int, ...]
    cause = "rows were written twice, or two messages came within the resolution of the clock"
    fix = "leave the repeated rows out"

    @property
    def evidence(self) -> str:
        where = enumerated(self.samples)
        return f"{len(self.samples)} stamps are those of the row before, samples {where}; none should be"


@dataclass(frozen=True)
class BackwardStamps:
    """Stamps before the one before."""

    samples: tuple[int, ...]
    largest: float = number("s", normal=(0.0, 0.0))
    cause = "rows out of order, several logs joined, or a clock that was set while logging"
    fix = "sort the rows by time, or leave the late ones out"

    @property
    def evidence(self) -> str:
        return (
            f"time runs backwards {len(self.samples)} times, by up to {self.largest:.3g} s, "
            f"at samples {enumerated(self.samples)}; it never should"
        )


def _not_increasing(raw: RawLog) -> Iterator[Finding]:
    finite = np.isfinite(raw.t)
    t, numbers = raw.t[finite], raw.places[finite]
    steps = np.diff(t)
    if not len(steps) or steps.min() > 0.0:
        return
    repeated, backward = np.flatnonzero(steps == 0.0), np.flatnonzero(steps < 0.0)
    error = Severity.ERROR
    if len(repeated) > len(steps) // 3:
        span = float(t.max() - t.min())
        rate = _rounded((len(t) - 1) / span) if span > 0.0 else 0.0
        repair = ColumnMap(rate_hz=rate) if rate else None
        coarse = CoarseStamps(len(repeated), len(steps), rate)
        yield Finding(code="coarse-stamps", severity=error, measured=coarse, repair=repair)
        return
    if len(repeated):
        again = RepeatedStamps(tuple(numbers[repeated + 1].tolist()))
        yield Finding(code="repeated-stamps", severity=error, measured=again, repair=CLEAN)
    if len(backward):
        back = BackwardStamps(tuple(numbers[backward + 1].tolist()), float(-steps.min()))
        yield Finding(code="backward-stamps", severity=error, measured=back, repair=CLEAN)


def _rounded(rate_hz: float) -> float:
    """A rate in Hz with the digits that stamps carry."""
    return float(f"{rate_hz:.8g}")


def speed_limits(robot: Robot) -> Float[Array, " n_dof"]:
    """Speed that a joint cannot reach, rad/s or m/s: its limit, or what no arm does."""
    return np.array([j.limits.velocity if 0.0 < j.limits.velocity < np.inf else FASTEST[j.type] for j in robot.joints])


@dataclass(frozen=True)
class TimeUnit:
    """Stamps in another unit than seconds."""

    unit: str
    period: float = number("s", normal=(0.0, SLOWEST))
    rate_hz: float = number("Hz", normal=RATES_HZ)
    fix = ""

    @property
    def evidence(self) -> str:
        return (
            f"samples are {self.period:.4g} s apart, {1.0 / self.period:.3g} Hz; in {self.unit} the rate is "
            f"{self.rate_hz:.4g} Hz, and the velocities are those of an arm"
        )

    @property
    def cause(self) -> str:
        return f"time stamps in {self.unit}, read as seconds"


def find_time_unit(look: Look) -> Look:
    """Stamps in ms, µs or ns; later checks read them in s."""
    view = look.signals
    if not view.period > SLOWEST:
        return look
    for unit in TIME_UNITS:
        factor = UNITS["t"][unit]
        rate = 1.0 / (factor * view.period)
        if RATES_HZ[0] <= rate < RATES_HZ[1] and _speeds_fit(view, factor):
            measured = TimeUnit(unit, view.period, rate)
            repair = ColumnMap.model_validate({"units": {"t": unit}})
            look = look.found([Finding(code="time-unit", severity=Severity.ERROR, measured=measured, repair=repair)])
            in_seconds = replace(view.log, t=view.log.t * factor)
            return replace(look, view=SignalView(view.robot, in_seconds, view.raw, factor))
    return look


def _speeds_fit(view: SignalView, factor: float) -> bool:
    """Whether the velocities are those of an arm if a stamp counts `factor` s."""
    speed = np.percentile(np.abs(view.velocity), 99.0, axis=0) / factor
    dq = view.log.dq
    if dq is None:
        return bool(np.all(speed < 3.0 * speed_limits(view.robot)))
    told = np.percentile(np.abs(dq), 99.0, axis=0)
    return bool(np.median(told / np.maximum(speed, 1e-12)) > np.sqrt(factor))


def find_uneven_stamps(look: Look) -> Look:
    """Jitter and gaps of time stamps that go on; later checks see even stamps where the log's are wrong."""
    view = look.signals
    steps, period = np.diff(view.stamps), view.period
    if len(steps) < 8:
        return look
    # A gap is many times longer than what the other steps scatter by.
    scatter = MAD_TO_STD * float(np.median(np.abs(steps - period)))
    is_gap = steps > max(GAP_STEPS * period, period + 8.0 * scatter)
    if np.any(is_gap):
        look = look.found([_gaps(view, steps, np.flatnonzero(is_gap))])
    even = steps[~is_gap]
    uneven, rough = float(np.std(even) / period), _roughness(view)
    wrong = rough >= WRONG_STAMPS
    if uneven <= (HARMLESS if wrong else UNEVEN):
        return look
    moved = 2.0 * np.pi * view.bandwidth_hz * uneven * period
    rate, has_gaps = _rounded(len(steps) / (view.stamps[-1] - view.stamps[0])), bool(np.any(is_gap))
    finding = Finding(
        code="jitter",
        severity=Severity.WARNING if wrong and moved > MOVED else Severity.INFO,
        measured=Jitter(wrong, has_gaps, uneven, rough, period, float(even.min()), float(even.max()), rate),
        repair=ColumnMap(rate_hz=rate) if wrong and not has_gaps else None,
    )
    look = look.found([finding])
    if finding.repair is None:
        return look
    grid = np.linspace(view.log.t[0], view.log.t[-1], view.log.n_samples)
    return replace(look, view=replace(view, log=replace(view.log, t=grid)))


@dataclass(frozen=True)
class Jitter:
    """Time steps that scatter."""

    wrong: bool
    """Whether the stamps are, rather than the times of the samples."""
    has_gaps: bool
    """Whether samples are lost, so that no rate can stand in for the stamps."""
    uneven: float = number("1", normal=(0.0, UNEVEN))
    """Standard deviation of the steps over their median."""
    rough: float = number("1", normal=(0.0, WRONG_STAMPS))
    """How many times smoother the positions are on an even grid."""
    period: float = number("s")
    shortest: float = number("s")
    longest: float = number("s")
    rate_hz: float = number("Hz")

    @property
    def evidence(self) -> str:
        normal = in_percent(HARMLESS if self.wrong else UNEVEN)
        text = (
            f"time steps scatter by {in_percent(self.uneven, 2)} of their median of {1e3 * self.period:.4g} ms "
            f"(normal: below {normal}), from {1e3 * self.shortest:.4g} to {1e3 * self.longest:.4g} ms"
        )
        smoother = f"; positions are {self.rough:.2g} times smoother on an even grid than on these stamps"
        return text + (smoother if self.wrong else "")

    @property
    def cause(self) -> str:
        if self.wrong:
            return "stamps are taken when messages arrive, not when values are measured"
        return "the samples are taken at uneven times; positions agree with the stamps"

    @property
    def fix(self) -> str:
        if self.wrong:
            return "stamp samples when they are measured" if self.has_gaps else BY_RATE
        return "nothing: samples are interpolated to even times"


@dataclass(frozen=True)
class Gaps:
    """Time steps of several periods."""

    places: tuple[tuple[int, float], ...]
    """Sample before each gap, and its time in s."""
    n_lost: int
    longest: float = number("s")
    period: float = number("s")
    cause = "the logger lost messages, or parts of the log were cut out"

    @property
    def long(self) -> bool:
        """Whether one is too long to be interpolated."""
        return self.longest > LONG_GAP_STEPS * self.period

    @property
    def evidence(self) -> str:
        where = enumerated(f"{sample} ({time:.3f} s)" for sample, time in self.places)
        return (
            f"{len(self.places)} gaps, the longest {1e3 * self.longest:.4g} ms where {1e3 * self.period:.4g} ms are "
            f"normal, about {self.n_lost} samples lost; after samples {where}"
        )

    @property
    def fix(self) -> str:
        if self.long:
            return "segments between long gaps are used one by one; log again if they are short"
        return "nothing: single samples are interpolated"


def _gaps(view: SignalView, steps: Float[Array, " n_steps"], places: np.ndarray) -> Finding:
    lost = int(np.sum(np.round(steps[places] / view.period) - 1.0))
    where = zip(view.numbers(places.tolist()), view.stamps[places].tolist(), strict=True)
    measured = Gaps(tuple(where), lost, float(steps[places].max()), view.period)
    return Finding(code="gaps", severity=Severity.WARNING if measured.long else Severity.INFO, measured=measured)


def _roughness(view: SignalView) -> float:
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
    return np.median(np.abs(np.diff(off, axis=0)), axis=0) + 1e-3 * white_noise(q)
