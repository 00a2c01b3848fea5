"""The order of a stream: samples that come late, twice or not at all are counted, and clocks that jump are followed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dynid.prose import counted
from dynid.tracking.samples import Sample
from dynid.tracking.sources.messages import StreamMessage

__all__ = ["StreamCounts", "StreamOrder"]

REMEMBERED = 4096
"""Samples whose number or time is remembered, to tell one that comes twice from one that comes late."""
RESTART = 10
"""Samples in a row that are older than the newest, in order among themselves: their sender has started again. They are
kept until then."""
JUMP = 2.0
"""Time in s by which stamps and arrivals may differ from one sample to the next before the clock is said to jump."""
FAR = 1000
"""Messages that cannot all have been lost since the one before, unless the source was quiet."""
QUIET = 0.5
"""Time in s without a sample after which an older one is no straggler: its sender has started again."""
PAUSE = 1.0
"""Time in s without a sample after which the source had stopped, and the samples of that time were never sent."""
N_PERIODS = 101
"""Latest intervals whose median is the period of the source."""
MISSED = 1.5
"""Interval over the period beyond which samples are missing, where messages are not numbered."""


@dataclass(frozen=True)
class StreamCounts:
    """What has come from a source so far."""

    n_samples: int = 0
    """Samples handed on."""
    n_lost: int = 0
    """Numbers that never came; where messages carry none, periods without a sample."""
    n_late: int = 0
    """Samples that came after a newer one, and were left out."""
    n_doubled: int = 0
    """Samples that came again, and were left out."""
    n_garbage: int = 0
    """Messages that were no sample of this robot."""
    n_jumps: int = 0
    """Times the clock of the source jumped, or its sender started again; time goes on from where it was."""
    n_stops: int = 0
    """Times the source stopped for longer than a second and came back."""
    complaint: str = ""
    """What was wrong with the latest message that was no sample."""

    def __str__(self) -> str:
        numbers = {
            "lost": self.n_lost,
            "late": self.n_late,
            "doubled": self.n_doubled,
            "garbage": self.n_garbage,
        }
        told = [f"{count} {name}" for name, count in numbers.items()]
        jumps = [f"{self.n_jumps} clock jumps"] if self.n_jumps else []
        stops = [f"{self.n_stops} stops"] if self.n_stops else []
        return ", ".join([counted(self.n_samples, "sample"), *told, *jumps, *stops])


class _Older(NamedTuple):
    """A sample older than the newest, left out for now."""

    message: StreamMessage
    arrival: float
    key: float | int
    doubled: bool
    n_found: int
    """Samples counted as lost that it turned out to be."""


class StreamOrder:
    """Puts samples in order as they arrive: only newer ones are handed on, on a clock that never runs back."""

    def __init__(self, *, real_time: bool = True) -> None:
        """Start at the first sample; `real_time` says that samples arrive when they are measured."""
        self.real_time = real_time
        self.period = float("nan")
        """Of the source, s; nan until it is known."""
        self.n_samples = self.n_lost = self.n_late = self.n_doubled = self.n_jumps = self.n_stops = 0
        self._newest: StreamMessage | None = None
        self._arrival = 0.0
        self._shift = 0.0
        self._seen: deque[float | int] = deque()
        self._known: set[float | int] = set()
        self._intervals: deque[float] = deque(maxlen=N_PERIODS)
        self._older: list[_Older] = []
        self._doubtful: tuple[StreamMessage, float] | None = None

    def accept(self, message: StreamMessage, arrival: float) -> list[Sample]:
        """The samples to hand on, their time (s) on a clock that goes on; none where it is late or came before.

        One whose number or clock is far off is held until the next one: if that goes on from there, a clock was set or
        a sender started again, and both are handed on; else it was damaged on the way, and is left out. Older ones are
        left out, but kept for a while: if `RESTART` of them come in a row, their sender has started again, and all are
        handed on.

        Args:
            message: the next one, in the order of arrival.
            arrival: when it came, s on the clock of this machine.
        """
        if self._newest is None:
            return [self._hand_on(message, arrival)]
        found: list[Sample] = []
        if self._doubtful is not None:
            held, when = self._doubtful
            self._doubtful = None
            if _goes_on(held, message):
                found += self._take(self._newest, held, when)
            else:
                self.n_late += 1
        if self.real_time and not message.fresh and self._is_far_off(self._newest, message, arrival):
            self._doubtful = (message, arrival)
            return found
        return found + self._take(self._newest, message, arrival)

    def _is_far_off(self, newest: StreamMessage, message: StreamMessage, arrival: float) -> bool:
        waited = arrival - self._arrival
        if waited > QUIET:
            return False
        leap = 0 if message.number is None or newest.number is None else message.number - newest.number
        return leap > FAR or abs(message.sample.t - newest.sample.t - waited) > JUMP

    def _take(self, newest: StreamMessage, message: StreamMessage, arrival: float) -> list[Sample]:
        numbered = message.number is not None and newest.number is not None
        key, last = (message.number, newest.number) if numbered else (message.sample.t, newest.sample.t)
        assert key is not None
        assert last is not None
        ahead = key - last
        step, waited = message.sample.t - newest.sample.t, arrival - self._arrival
        if message.fresh:
            self._jump(newest, message, waited)
        elif ahead <= 0:
            self._leave_out(message, arrival, key)
            if not (-step > JUMP or len(self._older) >= RESTART or (self.real_time and waited > QUIET)):
                return []
            return self._started_again()
        elif step <= 0.0 or (self.real_time and abs(step - waited) > JUMP):
            # The number goes on, the clock does not: it was set, or ran away.
            self._jump(newest, message, waited)
        elif numbered:
            self.n_lost += int(ahead) - 1
        elif waited < PAUSE or not self.real_time:
            self._count_missing(step)
        self._older.clear()
        if self.real_time and waited > PAUSE:
            self.n_stops += 1
        elif step > 0.0:
            self._measure_period(step)
        return [self._hand_on(message, arrival)]

    def _hand_on(self, message: StreamMessage, arrival: float) -> Sample:
        self._newest, self._arrival = message, arrival
        self.n_samples += 1
        self._remember(message.sample.t if message.number is None else message.number)
        sample = message.sample
        return sample._replace(t=sample.t + self._shift) if self._shift else sample

    def _remember(self, key: float | int) -> None:
        if len(self._seen) >= REMEMBERED:
            self._known.discard(self._seen.popleft())
        self._seen.append(key)
        self._known.add(key)

    def _leave_out(self, message: StreamMessage, arrival: float, key: float | int) -> None:
        """Count an older sample, and keep it with those before it that are in order with it."""
        doubled = key in self._known
        n_found = 0 if doubled else min(1, self.n_lost)
        self.n_doubled += doubled
        self.n_late += not doubled
        self.n_lost -= n_found
        if not doubled:
            self._remember(key)
        while self._older and key <= self._older[-1].key:
            self._older.pop()  # a straggler, or one that comes twice
        self._older.append(_Older(message, arrival, key, doubled, n_found))

    def _started_again(self) -> list[Sample]:
        """The older samples that were left out, which are the first ones of a sender that has started again."""
        held, found = self._older, list[Sample]()
        self._older = []
        for k, older in enumerate(held):
            self.n_doubled -= older.doubled
            self.n_late -= not older.doubled
            self.n_lost += older.n_found
            assert self._newest is not None
            message = older.message._replace(fresh=True) if k == 0 else older.message
            found += self._take(self._newest, message, older.arrival)
        return found

    def _jump(self, newest: StreamMessage, message: StreamMessage, waited: float) -> None:
        period = self.period if self.period == self.period else 0.0
        gone = max(waited, period, 1e-6) if self.real_time else max(period, 1e-6)
        self._shift += newest.sample.t + gone - message.sample.t
        self.n_jumps += 1
        self._seen.clear()
        self._known.clear()

    def _count_missing(self, step: float) -> None:
        if self.period == self.period and MISSED * self.period < step < PAUSE:
            self.n_lost += round(step / self.period) - 1

    def _measure_period(self, step: float) -> None:
        self._intervals.append(step)
        # The median changes slowly: now and then is often enough.
        if len(self._intervals) >= 5 and (self.period != self.period or self.n_samples % N_PERIODS == 0):
            self.period = float(np.median(self._intervals))


def _goes_on(first: StreamMessage, then: StreamMessage) -> bool:
    """Whether a message comes soon after another by its number and by its clock."""
    if first.number is not None and then.number is not None and not 0 < then.number - first.number <= FAR:
        return False
    return 0.0 < then.sample.t - first.sample.t <= JUMP
