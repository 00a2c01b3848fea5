"""Rows of a log of any length, read and conditioned piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import RecordingError
from dynid.recording.conditioning import Plan, Samples
from dynid.recording.recording import Recording
from dynid.regression.rows import JointRows, Result, SampleRows

__all__ = ["StreamedRows"]


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """Rows of one log that is never held as a whole; pieces overlap by what the low-pass uses up."""

    model: TorqueModel
    base: BaseParameters
    read: Callable[[], Iterator[Recording]]
    """Starts reading the log again, piece after piece."""
    plan: Plan

    def samples(self) -> Iterator[Samples]:
        """Conditioned pieces (N·m or N) that together cover the log once."""
        tail: Recording | None = None
        found = False
        for piece in self.read():
            whole = piece if tail is None else Recording.concatenated([tail, piece])
            if whole.duration > 4.0 * self.plan.margin or tail is None:
                try:
                    yield self.plan.apply(whole)
                    found = True
                except RecordingError:
                    # A piece may be all gap; only a log without any usable segment is an error.
                    tail = whole
                    continue
                start = whole.t[-1] - 2.0 * self.plan.margin
                tail = whole.part(float(start)) if start > whole.t[0] else whole
            else:
                tail = whole
        if not found and tail is not None:
            yield self.plan.apply(tail)

    def blocks(self) -> Iterator[tuple[JointRows, ...]]:
        """Rows (N·m or N) block by block."""
        return self.mapped(lambda block: block)

    def mapped(self, use: Callable[[tuple[JointRows, ...]], Result]) -> Iterator[Result]:
        """What `use` makes of each block (N·m or N), in the thread that computed it."""
        for samples in self.samples():
            yield from SampleRows(self.model, self.base, (samples,)).mapped(use)
