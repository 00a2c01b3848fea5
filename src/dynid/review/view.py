"""What every check of the doctor looks at: a log with its rate, its velocities and its noise, computed once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Bool, Float
from dynid.chain.robot import Robot
from dynid.recording.filters import motion_bandwidth_hz
from dynid.recording.raw import RawLog
from dynid.recording.recording import Recording

__all__ = ["View", "key", "listed", "noise", "runs"]

MAX_LISTED = 5
"""Places of a log that the evidence of a finding lists."""
MAD_TO_STD = 1.4826
"""Median absolute deviation to standard deviation, for Gaussian noise."""
BANDWIDTH_SAMPLES = 16_384
"""Samples of the spectrum that tells the bandwidth; more would only cost time."""
STILL = 0.02
"""Speed of a joint at rest, relative to its own fast speed (the 95th percentile)."""


@dataclass(frozen=True, eq=False)
class View:
    """A log without the rows that no recording could hold."""

    robot: Robot
    log: Recording
    raw: RawLog
    """The log with those rows: tells the names of its columns."""
    seconds: float = 1.0
    """Seconds in one unit of the raw log's stamps."""
    _noise: dict[str, Float[Array, " n_dof"]] = field(default_factory=dict, init=False, repr=False)

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

    @property
    def q_noise(self) -> Float[Array, " n_dof"]:
        """Standard deviation of the noise of the positions, rad or m."""
        return self.noise_of("q")

    def noise_of(self, signal: str) -> Float[Array, " n_dof"]:
        """Standard deviation of the noise of a signal of the log, in its own unit."""
        if signal not in self._noise:
            self._noise[signal] = noise(getattr(self.log, signal))
        return self._noise[signal]

    def numbers(self, places: Sequence[int]) -> list[int]:
        """Where samples of `log` stand in the file, for logs whose rows were all good."""
        kept = self.raw.places
        return [int(kept[k]) if len(kept) == self.log.n_samples else int(k) for k in places]


def noise(values: Float[Array, "n_samples n_columns"]) -> Float[Array, " n_columns"]:
    """Standard deviation of white noise on smooth signals, from their third differences."""
    if len(values) < 8:
        return np.zeros(values.shape[1])
    third = np.diff(values, n=3, axis=0)
    return MAD_TO_STD * np.median(np.abs(third), axis=0) / np.sqrt(20.0)


def runs(mask: Bool[Array, " n_samples"], shortest: int = 1) -> list[tuple[int, int]]:
    """Start and end (exclusive) of every stretch of at least so many samples in which a mask holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    starts, stops = edges[::2], edges[1::2]
    long = stops - starts >= shortest
    return list(zip(starts[long].tolist(), stops[long].tolist(), strict=True))


def listed(items: Iterable[object], what: str = "") -> str:
    """The first few of many places, and how many more there are."""
    found = [str(item) for item in items]
    more = f" and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
    return f"{what}{', '.join(found[:MAX_LISTED])}{more}"


def key(*parts: str) -> str:
    """A dotted key of TOML; parts that are no bare words are quoted."""
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else _quoted(part) for part in parts)


def _quoted(text: str) -> str:
    escaped = "".join(c if c >= " " and c not in '"\\\x7f' else f"\\u{ord(c):04x}" for c in text)
    return f'"{escaped}"'
