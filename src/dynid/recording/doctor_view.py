"""What every check of the doctor looks at: a log with its rate, its velocities and its noise, computed once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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

    @property
    def names(self) -> tuple[str, ...]:
        """The joints."""
        return self.log.joint_names

    @cached_property
    def period(self) -> float:
        """Median time between samples in s; nan where there is only one."""
        return self.log.jitter.median

    @cached_property
    def bandwidth_hz(self) -> float:
        """Frequency in Hz below which the motion of the fastest joint lies."""
        q = self.log.q[:BANDWIDTH_SAMPLES]
        return motion_bandwidth_hz(q, 1.0 / self.period) if len(q) > 8 else 0.0

    @cached_property
    def half_window(self) -> int:
        """Samples to each side over which a slope is taken: a twentieth of the motion's period, at most a hundredth of the log."""
        wanted = 1.0 / max(40.0 * self.bandwidth_hz * self.period, 1e-9)
        return int(np.clip(wanted, 1, max(1, self.log.n_samples // 200)))

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
        return noise(self.log.q) * np.sqrt(2.0) / (2.0 * self.half_window * self.period)

    @cached_property
    def fast(self) -> Float[Array, " n_dof"]:
        """Speed that a joint exceeds in 5 % of the time, rad/s or m/s."""
        return np.percentile(np.abs(self.velocity), 95.0, axis=0)

    @cached_property
    def moves(self) -> Bool[Array, " n_dof"]:
        """Joints whose motion stands out of the noise of their positions."""
        return (np.ptp(self.log.q, axis=0) > 20.0 * noise(self.log.q)) & (self.fast > 5.0 * self.speed_noise)

    @cached_property
    def still(self) -> Bool[Array, "n_samples n_dof"]:
        """Where a joint rests: slower than 2 % of its own fast speed, or than the noise can tell."""
        least = np.maximum(STILL * self.fast, 3.0 * self.speed_noise)
        return (np.abs(self.velocity) <= least) | ~self.moves

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


def runs(mask: Bool[Array, " n_samples"]) -> list[tuple[int, int]]:
    """Start and end (exclusive) of every stretch in which a mask holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


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
