"""What every check of the doctor looks at: a log with its rate, its velocities and its noise, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Bool, Float
from dynid.chain.robot import Robot
from dynid.recording.filters import motion_bandwidth_hz
from dynid.recording.raw import RawLog
from dynid.recording.recording import Recording

__all__ = ["MAD_TO_STD", "UNIT_OF", "SignalView", "Slopes", "runs", "white_noise"]

MAD_TO_STD = 1.4826
"""Median absolute deviation to standard deviation, for Gaussian noise."""
BANDWIDTH_SAMPLES = 16_384
"""Samples of the spectrum that tells the bandwidth; more would only cost time."""
UNIT_OF = {"q": "rad or m", "dq": "rad/s or m/s", "tau": "N·m or N", "current": "A"}
"""What the signals of a log are in."""
FEWEST_VALUES = 50
"""Samples below which repeated values say nothing."""
MIN_WINDOWS = 12
"""Windows over which velocities are compared with positions, at least."""
STILL = 0.02
"""Speed of a joint at rest, relative to its own fast speed (the 95th percentile)."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """Velocities against positions: what the integral of dq over short windows is to the change of q."""

    correlation: Float[Array, "n_dof n_dof"]
    """Of dq of the joint of the row with the slopes of q of the joint of the column."""
    ratio: Float[Array, "n_dof n_dof"]
    """dq of the row in units of the slope of q of the column."""
    sure: Bool[Array, " n_dof"]
    """Joints whose positions and velocities both stand out of their noise."""
    mismatch: Float[Array, "n_dof n_dof"]
    """RMS difference of dq of the row from the slope of q of the column, over that of the slope: tells joints that move
    alike apart, by sign and size."""


@dataclass(frozen=True, eq=False)
class SignalView:
    """A log without the rows that no recording could hold."""

    robot: Robot
    log: Recording
    raw: RawLog
    """The log with those rows: tells the names of its columns."""
    seconds: float = 1.0
    """Seconds in one unit of the raw log's stamps."""
    _noise: dict[str, Float[Array, " n_dof"]] = field(default_factory=dict, init=False, repr=False)

    @property
    def is_long(self) -> bool:
        """Whether there are samples enough to look for plateaus and repetitions."""
        return self.log.n_samples >= FEWEST_VALUES

    @property
    def names(self) -> tuple[str, ...]:
        """The joints."""
        return self.log.joint_names

    @cached_property
    def period(self) -> float:
        """Median time between samples in s; nan where there is only one."""
        return self.log.jitter.median

    @cached_property
    def stamps(self) -> Float[Array, " n_stamps"]:
        """Every time in s that the file tells, in order and once, also of rows that are not whole."""
        if self.raw.n_samples == self.log.n_samples:
            return self.log.t
        return np.unique(self.raw.t[np.isfinite(self.raw.t)]) * self.seconds

    @cached_property
    def bandwidth_hz(self) -> float:
        """Frequency in Hz below which the motion of the fastest joint lies."""
        q = self.log.q[:BANDWIDTH_SAMPLES]
        return motion_bandwidth_hz(q, 1.0 / self.period) if len(q) > 8 else 0.0

    @cached_property
    def half_window(self) -> int:
        """Samples to each side over which a slope is taken: short to the motion, long to the steps of the encoder."""
        wanted = 1.0 / max(40.0 * self.bandwidth_hz * self.period, 1e-9)
        short = np.clip(wanted, 1, max(1, self.log.n_samples // 200))
        return int(np.clip(3.0 * self.samples_per_change, short, max(short, self.log.n_samples // 50)))

    @cached_property
    def samples_per_change(self) -> float:
        """Samples from one change of a position to the next: more than one where it is coarse or held."""
        found = [1.0]
        for column in self.log.q.T:
            changes = np.flatnonzero(np.diff(column))
            if len(changes) > 8:
                found.append(float(np.percentile(np.diff(changes), 75.0)))
        return float(np.max(found)) if len(found) > 1 else 1.0

    @cached_property
    def velocity(self) -> Float[Array, "n_samples n_dof"]:
        """Velocity from positions alone, rad/s or m/s, over a window that is short to the motion."""
        m, t, q = self.half_window, self.log.t, self.log.q
        if len(t) <= 2 * m:
            return np.zeros_like(q)
        inner = (q[2 * m :] - q[: -2 * m]) / (t[2 * m :] - t[: -2 * m])[:, None]
        return np.concatenate([np.repeat(inner[:1], m, axis=0), inner, np.repeat(inner[-1:], m, axis=0)])

    @cached_property
    def speed_noise(self) -> Float[Array, " n_dof"]:
        """Standard deviation of `velocity` by the noise of the positions, rad/s or m/s."""
        return self.q_noise * np.sqrt(2.0) / (2.0 * self.half_window * self.period)

    @cached_property
    def fast(self) -> Float[Array, " n_dof"]:
        """Speed that a joint exceeds in 5 % of the time, rad/s or m/s."""
        return np.percentile(np.abs(self.velocity), 95.0, axis=0)

    @cached_property
    def moves(self) -> Bool[Array, " n_dof"]:
        """Joints whose motion stands out of the noise of their positions."""
        return (np.ptp(self.log.q, axis=0) > 20.0 * self.q_noise) & (self.fast > 5.0 * self.speed_noise)

    @cached_property
    def still(self) -> Bool[Array, "n_samples n_dof"]:
        """Where a joint rests: slower than 2 % of its own fast speed, or than the noise can tell."""
        least = np.maximum(STILL * self.fast, 3.0 * self.speed_noise)
        return (np.abs(self.velocity) <= least) | ~self.moves

    @cached_property
    def rows_repeat(self) -> Bool[Array, " n_steps"]:
        """Rows that repeat every value of the row before."""
        same = np.full(self.log.n_samples - 1, True)
        for signal in ("q", "dq", "tau", "current"):
            values = getattr(self.log, signal)
            if values is not None:
                same &= (values[1:] == values[:-1]).all(axis=1)
        return same

    @cached_property
    def slopes(self) -> Slopes | None:
        """Velocities against positions (ratios, dimensionless); None without velocities, or with too few samples."""
        return _slopes_of(self)

    def without_velocities(self) -> SignalView:
        """The same log as if it had no velocities."""
        return replace(self, log=replace(self.log, dq=None))

    @property
    def q_noise(self) -> Float[Array, " n_dof"]:
        """Standard deviation of the noise of the positions, rad or m."""
        return self.noise_of("q")

    def noise_of(self, signal: str) -> Float[Array, " n_dof"]:
        """Standard deviation of the noise of a signal of the log, in its own unit."""
        if signal not in self._noise:
            self._noise[signal] = white_noise(getattr(self.log, signal))
        return self._noise[signal]

    def numbers(self, places: Sequence[int]) -> list[int]:
        """Where samples of `log` stand in the file, for logs whose rows were all good."""
        kept = self.raw.places
        return [int(kept[k]) if len(kept) == self.log.n_samples else int(k) for k in places]


def white_noise(values: Float[Array, "n_samples n_columns"]) -> Float[Array, " n_columns"]:
    """Standard deviation of white noise on smooth signals, from their third differences."""
    if len(values) < 8:
        return np.zeros(values.shape[1])
    third = np.diff(values, n=3, axis=0)
    return MAD_TO_STD * np.median(np.abs(third), axis=0) / np.sqrt(20.0)


def runs(mask: Bool[Array, " n_samples"], shortest: int = 1) -> list[tuple[int, int]]:
    """Start and end (exclusive) of every segment of at least so many samples in which a mask holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    starts, stops = edges[::2], edges[1::2]
    long = stops - starts >= shortest
    return list(zip(starts[long].tolist(), stops[long].tolist(), strict=True))


def _slopes_of(view: SignalView) -> Slopes | None:
    dq, q, t = view.log.dq, view.log.q, view.log.t
    window = max(4 * view.half_window, 4)
    if dq is None or len(t) < MIN_WINDOWS * window:
        return None
    slices = 0.5 * (dq[1:] + dq[:-1]) * np.diff(t)[:, None]
    area = np.concatenate([np.zeros((1, q.shape[1])), np.cumsum(slices, axis=0)])
    ends = np.arange(0, len(t), window)
    moved, told = np.diff(q[ends], axis=0), np.diff(area[ends], axis=0)
    spans = np.diff(t[ends])
    # Windows across a gap say nothing about the velocities inside it.
    kept = spans < 1.5 * np.median(spans)
    moved, told = moved[kept], told[kept]
    # A window with a spike or a leap must not decide.
    moved, told = _without_spikes(moved), _without_spikes(told)
    power_q, power_dq = np.sqrt(np.mean(moved**2, axis=0)), np.sqrt(np.mean(told**2, axis=0))
    blur = view.noise_of("dq") * np.sqrt(window) * view.period
    sure = (power_q > 10.0 * view.q_noise) & (power_dq > 10.0 * blur) & view.moves
    cross = told.T @ moved / len(moved)
    floor_q, floor_dq = np.maximum(power_q, 1e-300), np.maximum(power_dq, 1e-300)
    correlation = cross / floor_dq[:, None] / floor_q
    ratio = np.sign(cross) * np.outer(floor_dq, 1.0 / floor_q)
    for k in range(q.shape[1]):
        # The median over windows of middling speed does not mind peaks of one of the two that were cut off.
        size = np.abs(moved[:, k])
        busy = size > 0.2 * np.percentile(size, 90.0)
        for i in np.flatnonzero(sure) if sure[k] else ():
            middling = busy & (np.abs(told[:, i]) < 0.7 * np.percentile(np.abs(told[:, i]), 99.0))
            if np.sum(middling) >= MIN_WINDOWS // 2:
                ratio[i, k] = np.sign(cross[i, k]) * np.median(np.abs(told[middling, i]) / size[middling])
    squares = power_dq[:, None] ** 2 + power_q**2 - 2.0 * cross
    mismatch = np.sqrt(np.maximum(squares, 0.0)) / floor_q
    return Slopes(correlation, ratio, sure, mismatch)


def _without_spikes(values: Float[Array, "n_windows n_dof"]) -> Float[Array, "n_windows n_dof"]:
    most = 2.0 * np.percentile(np.abs(values), 90.0, axis=0)
    return np.clip(values, -most, most)
