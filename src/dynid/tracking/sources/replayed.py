"""Samples that are at hand: a log replayed, a motion, and what completes samples on their way to a filter."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.motion import Motion
from dynid.errors import TrackingError
from dynid.recording.recording import Recording
from dynid.tracking.kinematics import KinematicFilter
from dynid.tracking.samples import Sample
from dynid.tracking.sources.feeds import Arrived
from dynid.tracking.sources.messages import StreamMessage

__all__ = ["ReplayFeed", "TorqueDelay", "replay", "samples_of_motion", "with_kinematics"]

_SIGNALS = ("q", "dq", "ddq", "tau", "base_wrench", "tool_wrench")
"""Keys of a sample beside its time."""
AT_ONCE = 500
"""Samples of a replay at full speed that are handed over in one call."""


def replay(recording: Recording, *, speed: float | None = None) -> Iterator[Sample]:
    """The samples of a log (SI), at `speed` times real time (1.0 is real time) or, where None, at full speed."""
    feed = ReplayFeed(recording, speed=speed)
    while not feed.ended:
        for message, _ in feed.receive(1.0):
            assert isinstance(message, StreamMessage)
            yield message.sample


class ReplayFeed:
    """A log as a source: its samples come when they came, `speed` times as fast, or all at once."""

    def __init__(self, recording: Recording, *, speed: float | None = None) -> None:
        """Start at the first sample.

        Raises:
            TrackingError: a speed that is not above zero.
        """
        if speed is not None and not speed > 0.0:
            raise TrackingError(f"a replay at {speed:g} times real time never ends; choose a speed above zero")
        self.label = "replay" if speed is None else f"replay at {speed:g} times real time"
        self.real_time = False
        self._t = recording.t
        self._fields = [getattr(recording, name) for name in _SIGNALS]
        self._speed, self._next = speed, 0
        self._started: float | None = None

    @property
    def ended(self) -> bool:
        """Whether the log is over."""
        return self._next >= len(self._t)

    @property
    def share(self) -> float:
        """Fraction of the log that has been handed over, dimensionless."""
        return self._next / len(self._t)

    def receive(self, wait: float) -> list[Arrived]:
        """The samples that are due; waits up to `wait` (s) for the next one."""
        now = time.monotonic()
        if self._started is None:
            self._started = now
        due = self._due(now)
        if due <= self._next and not self.ended:
            assert self._speed is not None
            ahead = (float(self._t[self._next] - self._t[0])) / self._speed - (now - self._started)
            time.sleep(max(0.0, min(wait, ahead)))
            now = time.monotonic()
            due = self._due(now)
        found = [(StreamMessage(self._sample(k), k), now) for k in range(self._next, due)]
        self._next = max(due, self._next)
        return list(found)

    def _due(self, now: float) -> int:
        """Samples before the first one that is not due yet."""
        if self._speed is None:
            return min(self._next + AT_ONCE, len(self._t))
        assert self._started is not None
        until = self._t[0] + (now - self._started) * self._speed
        return min(int(np.searchsorted(self._t, until, side="right")), self._next + AT_ONCE)

    def _sample(self, k: int) -> Sample:
        q, *others = (None if field is None else field[k] for field in self._fields)
        assert q is not None
        return Sample(float(self._t[k]), q, *others)

    def close(self) -> None:
        """Nothing was opened."""


def samples_of_motion(motion: Motion, tau: Float[Array, "n_samples n_dof"]) -> Iterator[Sample]:
    """The samples of a motion with its torque (N·m or N)."""
    for k in range(motion.n_samples):
        yield Sample(float(motion.t[k]), motion.q[k], motion.dq[k], motion.ddq[k], tau[k])


def with_kinematics(samples: Iterable[Sample], kinematics: KinematicFilter, n_dof: int) -> Iterator[Sample]:
    """The same samples with velocities and accelerations (rad, s) filled in, half a window late."""
    window = kinematics.start(n_dof)
    for sample in samples:
        completed = window.step(sample)
        if completed is not None:
            yield completed


class TorqueDelay:
    """Undoes the delay of a torque signal: each motion is held until the torque that belongs to it has come."""

    def __init__(self, delay: float) -> None:
        """`delay` in s: by which the torque stamps lag behind the position stamps; negative where they lead."""
        self.delay = delay
        self._held: deque[Sample] = deque()
        self._torques: deque[tuple[float, Float[Array, " n_dof"]]] = deque()

    def step(self, sample: Sample) -> list[Sample]:
        """The earlier samples (SI) that this one completes, their torque interpolated at their own time."""
        if not self.delay or sample.tau is None:
            return [sample]
        if self._torques and sample.t <= self._torques[-1][0]:
            self._held.clear()
            self._torques.clear()
        self._held.append(sample)
        self._torques.append((sample.t, sample.tau))
        found: list[Sample] = []
        while self._held and self._held[0].t + self.delay <= sample.t:
            first = self._held.popleft()
            at = first.t + self.delay
            if at < self._torques[0][0]:
                continue  # before the first torque that was heard of
            while len(self._torques) > 2 and self._torques[1][0] <= at:
                self._torques.popleft()
            (t0, tau0), (t1, tau1) = self._torques[0], self._torques[min(1, len(self._torques) - 1)]
            share = 0.0 if t1 <= t0 else (at - t0) / (t1 - t0)
            found.append(first._replace(tau=(1.0 - share) * tau0 + share * tau1))
        return found
