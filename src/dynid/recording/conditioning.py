"""Conditioning: from a recording to samples the regression can use; settings chosen from the data and reported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.dynamics.motion import Motion
from dynid.errors import RecordingError
from dynid.prose import counted
from dynid.recording.encoder import EncoderNoise, encoder_noise
from dynid.recording.filters import LowPass, motion_bandwidth_hz
from dynid.recording.recording import Recording
from dynid.recording.splines import hermite, spline

__all__ = ["MOST_KNOTS", "Conditioning", "Plan", "Samples"]

Differentiation = Literal["filter", "spline", "fourier"]
MOST_KNOTS = 2000
"""Samples that a smoothing spline has knots at; from twice as many on it leaves samples out."""

CUTOFF_OVER_BANDWIDTH = 10.0
"""Low-pass cut-off over motion bandwidth, as in [Sousa2013]_: ten times the highest harmonic."""
ROWS_PER_CUTOFF = 4.0
"""Rows kept per second over the cut-off frequency: a little more than the filtered torque can carry."""
MOTION_OVER_TORQUE = 2.0
"""Cut-off of the motion's low-pass over that of torque and regressor."""
MOTION_ATTENUATION_DB = 80.0
"""Of the motion's low-pass; its pass band is flat to 1e-4."""
MAX_RATE_HZ = 1e15
"""Samples faster than this, in Hz, are in no unit of time."""
MAX_FINER = 100.0
"""Samples on an even grid over those logged; with more, most time stamps come in bursts."""
MAX_DELAY_SHARE = 0.1
"""Longest delay of the torque as a share of the log; nothing was measured where it leads beyond the ends."""
MAX_VALUE = 1e100
"""Largest number (SI) of a log that is conditioned: the squares of larger ones overflow."""
SHORTEST_LEFT = 2.0
"""Length of a log over what its low-pass uses up, at least; a shorter one is not filtered."""
MIN_SAMPLES = 30
"""Fewer samples than this are not a log to identify anything from."""


@dataclass(frozen=True, kw_only=True)
class Conditioning:
    """What to do with a log; None means: choose from the data, and say so in the plan."""

    rate_hz: float | None = None
    """Uniform sampling rate, Hz."""
    cutoff_hz: float | None = None
    """Low-pass on motion, torque and every regressor column, Hz; infinite for none."""
    differentiation: Differentiation = "filter"
    """How accelerations (and velocities where the log has none) come about."""
    crop: float = 0.0
    """Time in s dropped at both ends of every segment beyond what the filter needs."""
    gap: float | None = None
    """A pause between stamps longer than this (s) splits the log into segments."""
    delay: float = 0.0
    """Time in s by which the torque stamps lag behind the position stamps."""
    min_velocity: float = 0.0
    """Rows of a joint slower than this (rad/s or m/s) are masked: dry friction is not defined there."""
    decimate: int | None = None
    """Keep every so many-th row."""
    base_frequency_hz: float | None = None
    """Fundamental of a periodic motion, Hz, for the Fourier differentiation."""

    def __repr__(self) -> str:
        said = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Conditioning({', '.join(said)})"

    def plan(self, recording: Recording) -> Plan:
        """The concrete settings for a log (or for its first part, if it is streamed).

        Raises:
            RecordingError: the log is too short, or a setting does not fit it.
        """
        if recording.n_samples < MIN_SAMPLES:
            raise RecordingError(
                f"{recording.source}: only {recording.n_samples} samples; identification needs at least {MIN_SAMPLES}, "
                "preferably thousands"
            )
        huge = [name for name in recording.signals if np.max(np.abs(getattr(recording, name))) > MAX_VALUE]
        if huge:
            raise RecordingError(
                f"{recording.source}: {', '.join(huge)} holds numbers beyond {MAX_VALUE:g}; the log is damaged"
            )
        rate = recording.rate_hz if self.rate_hz is None else self.rate_hz
        choices = [f"{rate:.6g} Hz " + ("asked for" if self.rate_hz else "from the median of the time stamps")]
        longest = _gapless(recording.t, max(20.0 / rate, 0.5))
        start, stop = max(longest, key=lambda piece: piece[1] - piece[0])
        lasts = float(recording.t[stop - 1] - recording.t[start])
        if not rate < MAX_RATE_HZ or lasts * rate > MAX_FINER * (stop - start):
            mean = (stop - start) / lasts if lasts > 0.0 else np.inf
            raise RecordingError(
                f"{recording.source}: samples at {rate:.4g} Hz for {lasts:.4g} s, where {stop - start} were logged; "
                "time stamps may be in another unit, or in bursts; "
                f"rate_hz = {mean:.4g} in a column map replaces them by even ones"
            )
        if not abs(self.delay) <= MAX_DELAY_SHARE * lasts:
            raise RecordingError(
                f"{recording.source}: a delay of {self.delay:g} s is too long for {lasts:.4g} s of log; shift the time "
                "stamps of the torque when you log instead"
            )
        grid = np.arange(recording.t[start], recording.t[stop - 1], 1.0 / rate)
        q = spline(recording.t[start:stop], recording.q[start:stop], grid)
        noise = encoder_noise(q, recording.q[start:stop], rate)
        bandwidth = motion_bandwidth_hz(q, rate, floor_std=noise.step / np.sqrt(12.0))
        cutoff = self.cutoff_hz
        if cutoff is None:
            cutoff = min(CUTOFF_OVER_BANDWIDTH * bandwidth, 0.4 * rate)
            choices.append(f"low-pass {cutoff:.3g} Hz, ten times the motion's bandwidth of {bandwidth:.3g} Hz")
        elif not cutoff > 0.0 or (np.isfinite(cutoff) and cutoff >= rate / 2.0):
            raise RecordingError(
                f"{recording.source}: a low-pass at {cutoff:g} Hz does not fit samples at {rate:.4g} Hz; "
                f"choose one between 0 and {rate / 2:.4g} Hz"
            )
        how = self.differentiation
        lost = 2.0 * (LowPass(cutoff, rate).half_length + _motion_pass(LowPass(cutoff, rate)).half_length) / rate
        if self.cutoff_hz is None and lasts < SHORTEST_LEFT * lost:
            # A slow or short log has no rows to spare for a filter.
            cutoff, how = np.inf, "spline" if how == "filter" else how
            choices[-1] = (
                f"no low-pass: one that suits {rate:.3g} Hz would use up {lost:.3g} of {lasts:.3g} s; accelerations "
                "come from a smoothing spline, and inertias will be uncertain"
            )
        widest = self._motion_cutoff(recording, noise, cutoff, lasts, choices) if how == "filter" else np.inf
        gap = self.gap if self.gap is not None else max(10.0 / rate, 0.125 / min(cutoff, 0.4 * rate))
        every = self.decimate
        if every is None:
            every = max(1, int(rate / (ROWS_PER_CUTOFF * cutoff))) if np.isfinite(cutoff) else 1
            choices.append(f"one row in {every}")
        return Plan(
            low_pass=LowPass(cutoff, rate),
            differentiation=how,
            crop=self.crop,
            gap=gap,
            delay=self.delay,
            min_velocity=self.min_velocity or (noise.unresolved if np.isfinite(widest) else 0.0),
            every=every,
            base_frequency_hz=self.base_frequency_hz,
            bandwidth_hz=bandwidth,
            choices=tuple(choices),
            motion_cutoff_hz=widest,
        )

    def _motion_cutoff(
        self, recording: Recording, noise: EncoderNoise, cutoff_hz: float, lasts: float, choices: list[str]
    ) -> float:
        """The motion's own cut-off (Hz) where encoders are too coarse for the usual one; infinite elsewhere."""
        if recording.dq is not None or not np.isfinite(cutoff_hz):
            return np.inf
        low_pass = LowPass(cutoff_hz, recording.rate_hz if self.rate_hz is None else self.rate_hz)
        usual = _motion_pass(low_pass).cutoff_hz
        if not noise.matters(cutoff_hz) or not noise.narrowest_hz < usual:
            return np.inf
        # As narrow as the motion allows; wider where the ends of a short log would go.
        tried = np.geomspace(noise.narrowest_hz, min(noise.widest_hz, usual), 8)
        lost = [low_pass.half_length + _motion_pass(low_pass, f).half_length for f in tried]
        kept = [f for f, n in zip(tried, lost, strict=True) if lasts >= SHORTEST_LEFT * 2.0 * n / low_pass.rate_hz]
        if not kept:
            return np.inf
        widest = float(kept[0])
        resolved = f"steps of {1e3 * np.max(noise.step):.3g} mrad or mm" if np.any(noise.step) else "their noise"
        choices.append(
            f"motion low-pass {widest:.3g} Hz: with the positions' {resolved}, one at {usual:.3g} Hz would take "
            f"{100.0 * noise.at(cutoff_hz):.2g} % off inertias, this takes {100.0 * noise.at(widest):.2g} %"
        )
        if not self.min_velocity:
            choices.append(
                f"rows slower than {noise.unresolved:.2g} rad/s or m/s masked: one step hides where joints turn"
            )
        return widest


@dataclass(frozen=True)
class Plan:
    """Concrete conditioning of one log; every number is in SI or Hz."""

    low_pass: LowPass
    differentiation: Differentiation
    crop: float
    gap: float
    delay: float
    min_velocity: float
    every: int
    """One row in this many is kept."""
    base_frequency_hz: float | None
    bandwidth_hz: float
    choices: tuple[str, ...]
    """What was chosen from the data, and why, for the report."""
    motion_cutoff_hz: float = np.inf
    """Cut-off of the motion's low-pass where encoders are coarse, Hz; infinite for twice that of the torque."""

    def __repr__(self) -> str:
        low_pass = f"low-pass {self.low_pass.cutoff_hz:.3g} Hz" if self.low_pass.active else "no low-pass"
        late = f", torque delayed by {1e3 * self.delay:.3g} ms" if self.delay else ""
        return f"Plan({self.low_pass.rate_hz:.6g} Hz, {low_pass}, one row in {self.every}{late})"

    def __str__(self) -> str:
        return "\n".join([repr(self), *self.choices])

    @cached_property
    def motion_pass(self) -> LowPass:
        """The low-pass of the motion: wider and flatter than that of torque and regressor, which comes after it.

        What it does to the motion is not done to the torque, so it must not touch the motion's own band.
        """
        return _motion_pass(self.low_pass, self.motion_cutoff_hz)

    @property
    def margin(self) -> float:
        """Time in s that a segment loses at each end."""
        return (self.low_pass.half_length + self.motion_pass.half_length) / self.low_pass.rate_hz + self.crop

    def with_delay(self, delay: float, why: str) -> Plan:
        """The same plan with another delay of the torque, s."""
        return replace(self, delay=delay, choices=(*self.choices, why))

    def with_min_velocity(self, min_velocity: float, why: str) -> Plan:
        """The same plan with another velocity threshold, rad/s or m/s."""
        return replace(self, min_velocity=min_velocity, choices=(*self.choices, why))

    def apply(self, recording: Recording) -> Samples:
        """Samples of a recording: uniform, filtered, differentiated; torque only resampled (its filter comes with Y's).

        Raises:
            RecordingError: no segment is long enough, or the log has no torque.
        """
        tau = recording.tau
        if tau is None:
            raise RecordingError(
                f"{recording.source}: no torque columns; log tau1…tau{recording.n_dof}, give `gains` with currents, or "
                'say in a column map what the log calls them, as in columns.tau = "moment_{n}"'
            )
        segments = []
        for start, stop in _gapless(recording.t, self.gap):
            piece = slice(start, stop)
            t = recording.t[piece]
            if t[-1] - t[0] <= 2.0 * self.margin + (self.every + 8) / self.low_pass.rate_hz:
                continue
            dq = None if recording.dq is None else recording.dq[piece]
            segments.append(self._segment(t, recording.q[piece], dq, tau[piece]))
        if not segments:
            raise RecordingError(
                f"{recording.source}: no segment without a gap is longer than the {2 * self.margin:.3g} s that the "
                f"low-pass at {self.low_pass.cutoff_hz:.3g} Hz uses up; log longer, or raise cutoff_hz"
            )
        return Samples(recording.joint_names, tuple(segments), self, recording.source)

    def _segment(
        self,
        t: Float[Array, " n_samples"],
        q: Float[Array, "n_samples n_dof"],
        dq: Float[Array, "n_samples n_dof"] | None,
        tau: Float[Array, "n_samples n_dof"],
    ) -> Segment:
        rate, lost = self.low_pass.rate_hz, self.motion_pass.half_length
        grid = t[0] + np.arange(int((t[-1] - t[0]) * rate + 1e-9) + 1) / rate
        torque = _linear(t - self.delay, tau, grid)
        inner = slice(lost, len(grid) - lost)
        if self.differentiation == "filter":
            # Cubic, so that a late stamp leaves no kink to be differentiated.
            position = spline(t, q, grid) if dq is None else hermite(t, q, dq, grid)
            smooth = self.motion_pass
            q_f = smooth.applied(position)
            if dq is None:
                dq_f, ddq_f = smooth.applied(position, 1), smooth.applied(position, 2)
            else:
                velocity = _linear(t, dq, grid)
                dq_f, ddq_f = smooth.applied(velocity), smooth.applied(velocity, 1)
        elif self.differentiation == "spline":
            q_f, dq_f, ddq_f = _splined(t, q, grid[inner])
        else:
            q_f, dq_f, ddq_f = _fourier(t, q, grid[inner], self.base_frequency_hz, self.bandwidth_hz)
        skip = round(self.crop * rate)
        keep = slice(skip, len(q_f) - skip)
        motion = Motion(grid[inner][keep], q_f[keep], dq_f[keep], ddq_f[keep])
        return Segment(motion, np.ascontiguousarray(torque[inner][keep]))


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of a log without gaps, on a uniform grid."""

    motion: Motion
    tau: Float[Array, "n_samples n_dof"]
    """Torque in N·m or N, resampled but not filtered: it passes the low-pass together with the regressor."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __repr__(self) -> str:
        return f"Segment({self.motion!r})"


@dataclass(frozen=True, eq=False)
class Samples:
    """Conditioned segments of one log; nothing is deleted, rows are masked."""

    joint_names: tuple[str, ...]
    segments: tuple[Segment, ...]
    plan: Plan
    source: str = "memory"

    def __repr__(self) -> str:
        size = f"{counted(self.n_samples, 'sample')} in {counted(len(self.segments), 'segment')}"
        return f"Samples({self.source!r}: {size}, {counted(len(self.joint_names), 'joint')}; {self.plan!r})"

    @property
    def n_samples(self) -> int:
        """Samples on the uniform grid."""
        return sum(segment.motion.n_samples for segment in self.segments)

    def chunks(self, n_samples: int) -> Iterator[Segment]:
        """Pieces of at most about `n_samples`, overlapping by what the low-pass needs, so that their rows join."""
        lost, every = self.plan.low_pass.half_length, self.plan.every
        step = max(1, n_samples // every) * every
        for segment in self.segments:
            total = segment.motion.n_samples
            for first in range(0, total - 2 * lost, step):
                last = min(first + step + 2 * lost, total)
                yield Segment(segment.motion.part(first, last), segment.tau[first:last])


def _motion_pass(low_pass: LowPass, widest_hz: float = np.inf) -> LowPass:
    rate = low_pass.rate_hz
    cutoff = min(MOTION_OVER_TORQUE * low_pass.cutoff_hz, 0.45 * rate, widest_hz) if low_pass.active else np.inf
    return LowPass(cutoff, rate, MOTION_ATTENUATION_DB)


def _gapless(t: Float[Array, " n_samples"], gap: float) -> list[tuple[int, int]]:
    breaks = np.flatnonzero(np.diff(t) > gap) + 1
    edges = [0, *breaks.tolist(), len(t)]
    return list(pairwise(edges))


def _linear(
    t: Float[Array, " n_samples"], values: Float[Array, "n_samples n_dof"], grid: Float[Array, " n_grid"]
) -> Float[Array, "n_grid n_dof"]:
    return np.column_stack([np.interp(grid, t, column) for column in values.T])


def _splined(
    t: Float[Array, " n_samples"], q: Float[Array, "n_samples n_dof"], grid: Float[Array, " n_grid"]
) -> tuple[Float[Array, "n_grid n_dof"], Float[Array, "n_grid n_dof"], Float[Array, "n_grid n_dof"]]:
    """Smoothing spline per joint, its smoothness chosen by generalised cross-validation."""
    from scipy.interpolate import make_smoothing_spline

    columns = []
    for values in q.T:
        # Cross-validation of many knots is slow.
        step = max(1, len(t) // MOST_KNOTS)
        spline = make_smoothing_spline(t[::step], values[::step])
        columns.append(np.array([spline(grid), spline.derivative(1)(grid), spline.derivative(2)(grid)]))
    stacked = np.array(columns)
    return stacked[:, 0].T.copy(), stacked[:, 1].T.copy(), stacked[:, 2].T.copy()


def _fourier(
    t: Float[Array, " n_samples"],
    q: Float[Array, "n_samples n_dof"],
    grid: Float[Array, " n_grid"],
    base_frequency_hz: float | None,
    bandwidth_hz: float,
) -> tuple[Float[Array, "n_grid n_dof"], Float[Array, "n_grid n_dof"], Float[Array, "n_grid n_dof"]]:
    """Least-squares Fourier series of a periodic motion, with exact derivatives [Swevers1997]_."""
    if base_frequency_hz is None:
        raise RecordingError("Fourier differentiation needs the base frequency of the periodic motion in Hz")
    n_harmonics = max(1, int(np.ceil(2.0 * bandwidth_hz / base_frequency_hz)))
    omega = 2.0 * np.pi * base_frequency_hz * np.arange(1, n_harmonics + 1)

    def basis(times: Float[Array, " n_times"], order: int) -> Float[Array, "n_times n_columns"]:
        phase = times[:, None] * omega + order * np.pi / 2.0
        constant = np.ones((len(times), 1)) if order == 0 else np.zeros((len(times), 1))
        return np.hstack([constant, np.sin(phase) * omega**order, np.cos(phase) * omega**order])

    if len(t) <= 2 * n_harmonics + 1:
        raise RecordingError(f"{len(t)} samples cannot carry {n_harmonics} harmonics; log longer")
    coefficients = np.linalg.lstsq(basis(t, 0), q, rcond=None)[0]
    return basis(grid, 0) @ coefficients, basis(grid, 1) @ coefficients, basis(grid, 2) @ coefficients
