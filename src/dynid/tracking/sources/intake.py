"""Where samples come from, by what a person types; late, lost and doubled ones are counted, silence is noticed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from dynid.chain.robot import Robot
from dynid.errors import TrackingError
from dynid.recording.log_settings import LogSettings
from dynid.recording.recording import Recording
from dynid.tracking.samples import Sample
from dynid.tracking.sources.counts import StreamCounts, StreamOrder
from dynid.tracking.sources.feeds import LineFeed, StreamFeed
from dynid.tracking.sources.growing import GrowingJson, GrowingTable
from dynid.tracking.sources.growing_bags import BAG_SUFFIXES, GrowingBag
from dynid.tracking.sources.messages import StreamMessages
from dynid.tracking.sources.replayed import ReplayFeed, TorqueDelay
from dynid.tracking.sources.udp import LOOPBACK, UdpFeed

__all__ = ["FOLLOW", "STDIN", "UDP", "SampleIntake", "is_stream", "open_stream"]

UDP, STDIN, FOLLOW = "udp:", "-", "follow:"
"""What a live source starts with, or is."""
SILENCE = 0.5
"""Time in s without a sample after which a source is silent."""
SLOW = 3.0
"""Periods of a slow source without a sample after which it is silent."""

StreamState = Literal["waiting", "flowing", "silent", "ended"]
"""Nothing has come yet; samples come; they have stopped and may come back; nothing will follow."""


def is_stream(source: str) -> bool:
    """Whether a text names a live source rather than a log."""
    return source == STDIN or source.startswith((UDP, FOLLOW))


def open_stream(source: str, robot: Robot, settings: LogSettings | None = None) -> SampleIntake:
    """A live source by its name.

    Args:
        source: ``udp:PORT`` or ``udp:ADDRESS:PORT`` for datagrams, ``-`` for lines of standard input,
            ``follow:FILE`` for a log (CSV, JSON lines, MCAP, ROS 2 bag or its folder) that is being written.
        robot: whose samples they are.
        settings: names, units, signs, drive gains and delay, as the model remembers them.

    Raises:
        TrackingError: no such kind of source, or a port that cannot be opened.
    """
    settings = settings or LogSettings()
    gains = None if settings.gains is None else np.array(settings.gains)
    messages = StreamMessages(robot.n_dof, robot.joint_names, gains, robot.transmission)
    return SampleIntake(_feed(source, messages, settings), delay=settings.delay or 0.0)


def _feed(source: str, messages: StreamMessages, settings: LogSettings) -> StreamFeed:
    if source == STDIN:
        return LineFeed(messages)
    if source.startswith(UDP):
        host, _, port = source.removeprefix(UDP).rpartition(":")
        if not (port.isascii() and port.isdigit()):
            raise TrackingError(f"{source}: the port is not a number; write udp:5005")
        return UdpFeed(int(port), messages, host=host or LOOPBACK, patient=True)
    if not source.startswith(FOLLOW):
        raise TrackingError(f"{source}: no live source; write udp:PORT, follow:FILE, or - for standard input")
    path = Path(source.removeprefix(FOLLOW))
    if source == FOLLOW:
        raise TrackingError(f"{source}: names no file; write follow:log.csv")
    # A recorder makes its folder when it starts, which may be later.
    if path.is_dir() or path.suffix in BAG_SUFFIXES or not (path.suffix or path.exists()):
        return GrowingBag(path, messages, settings.columns)
    if path.suffix in (".jsonl", ".ndjson", ".json"):
        return GrowingJson(path, messages)
    if path.suffix not in (".csv", ".tsv", ".txt"):
        raise TrackingError(
            f"{source}: cannot be followed while it grows; give a .csv, .tsv, .txt, .jsonl, .mcap or .db3 file, "
            "or the folder of a ROS 2 recorder"
        )
    return GrowingTable(path, messages, settings.columns)


class SampleIntake:
    """Samples of a source in order; goes on through garbage, silence and clocks that jump."""

    def __init__(self, feed: StreamFeed, *, delay: float = 0.0) -> None:
        """Take samples from `feed`, whose torque stamps lag behind those of the motion by `delay` s."""
        self.feed = feed
        self._order = StreamOrder(real_time=feed.real_time)
        self._delay = TorqueDelay(delay)
        self._n_garbage, self._complaint = 0, ""
        self._heard: float | None = None
        self.arrival = float("nan")
        """When the latest sample came, s on the clock of this machine; it may be handed on later."""

    @classmethod
    def of_log(cls, recording: Recording, *, speed: float | None = None) -> SampleIntake:
        """A log as a source, `speed` times as fast as real time (dimensionless), or as fast as can be."""
        return cls(ReplayFeed(recording, speed=speed))

    @property
    def label(self) -> str:
        """What a page or a terminal calls the source."""
        return self.feed.label

    @property
    def counts(self) -> StreamCounts:
        """What has come so far."""
        order = self._order
        return StreamCounts(
            n_samples=order.n_samples,
            n_lost=order.n_lost,
            n_late=order.n_late,
            n_doubled=order.n_doubled,
            n_garbage=self._n_garbage,
            n_jumps=order.n_jumps,
            n_stops=order.n_stops,
            complaint=self._complaint,
        )

    @property
    def period(self) -> float:
        """Time between samples, s; nan until it is known."""
        return self._order.period

    @property
    def silent_for(self) -> float:
        """Time in s since the last sample was handed on; infinite where none was."""
        return float("inf") if self._heard is None else time.monotonic() - self._heard

    @property
    def state(self) -> StreamState:
        """Whether samples come."""
        if self.feed.ended:
            return "ended"
        if self._heard is None:
            return "waiting"
        slow = SLOW * self.period if self.period == self.period else 0.0
        return "silent" if self.silent_for > max(SILENCE, slow) else "flowing"

    def read(self, wait: float) -> list[Sample]:
        """The samples (SI) that have come, in order; waits up to `wait` (s) where none has."""
        found: list[Sample] = []
        for message, arrival in self.feed.receive(wait):
            if isinstance(message, TrackingError):
                self._n_garbage += 1
                self._complaint = str(message)
                continue
            self._heard, self.arrival = time.monotonic(), arrival
            for sample in self._order.accept(message, arrival):
                found += self._delay.step(sample)
        return found

    def samples(self, *, timeout: float = 5.0) -> Iterator[Sample]:
        """Every sample until the source ends, or is silent for `timeout` (s).

        Ctrl-C while it waits ends it as well, so that what has been learnt is kept, unless nothing has come yet.
        """
        waited = time.monotonic()
        while not self.feed.ended:
            try:
                found = self.read(min(timeout, 1.0))
            except KeyboardInterrupt:
                if self._heard is None:
                    raise
                return
            if found:
                waited = time.monotonic()
                yield from found
            elif time.monotonic() - waited > timeout:
                return

    def close(self) -> None:
        """Give back what was opened."""
        self.feed.close()
