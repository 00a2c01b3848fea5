"""A raw log: what a file holds, with values that are not finite and times in any order, for the doctor to look at."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from dynid.arrays import Array, Bool, Float, Int, readonly
from dynid.errors import RecordingError
from dynid.prose import counted
from dynid.recording.recording import Recording, check_part, measurable, part_error
from dynid.recording.repairs import LogRepair
from dynid.recording.spelling import STEMS

__all__ = ["RAW_SIGNALS", "RawLog", "increasing"]

RAW_SIGNALS = ("q", "dq", "tau", "current")
"""Signals of the joints that the doctor looks at."""
CARRIED = ("ddq", "base_wrench", "tool_wrench")
"""Signals that are carried along for tracking; nobody looks at them."""


@dataclass(frozen=True, eq=False)
class RawLog:
    """Joint measurements as a file has them, in SI units as far as its units are known; nothing is checked."""

    joint_names: tuple[str, ...]
    """The joints of the columns, in the robot's order."""
    t: Float[Array, " n_samples"]
    """Time stamps in s, in the order of the file."""
    q: Float[Array, "n_samples n_dof"]
    """Positions in rad or m."""
    dq: Float[Array, "n_samples n_dof"] | None = None
    """Velocities in rad/s or m/s; None where the log has none."""
    tau: Float[Array, "n_samples n_dof"] | None = None
    """Efforts at the joint in N·m or N; None where the log has none."""
    current: Float[Array, "n_samples n_dof"] | None = None
    """Motor currents in A; None where the log has none."""
    source: str = "memory"
    """The file the samples come from."""
    numbers: Int[Array, " n_samples"] | None = None
    """Where each sample stands in the file, counted from 0; None where they follow one another."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the file calls the columns of each signal, in the robot's order."""
    whole: bool = True
    """Whether the file ends here; False if only its first part was read."""
    repairs: tuple[LogRepair, ...] = ()
    """What was wrong with its rows, names or stamps, and was put right while it was read."""
    ddq: Float[Array, "n_samples n_dof"] | None = None
    """Accelerations in rad/s² or m/s²; None where the log has none."""
    base_wrench: Float[Array, "n_samples 6"] | None = None
    """Force in N and moment in N·m under the base; None where the log has none."""
    tool_wrench: Float[Array, "n_samples 6"] | None = None
    """Force in N and moment in N·m at the tool; None where the log has none."""

    def __post_init__(self) -> None:
        for name in ("t", *self.signals, *self.carried):
            object.__setattr__(self, name, readonly(getattr(self, name)))

    def __repr__(self) -> str:
        part = "" if self.whole else " of a longer file"
        signals = f"{', '.join(self.signals)} of {counted(len(self.joint_names), 'joint')}"
        return f"RawLog({self.source!r}: {counted(self.n_samples, 'sample')}{part}, unchecked; {signals})"

    @classmethod
    def of(cls, recording: Recording) -> RawLog:
        """The raw log of a recording that was read already."""
        return cls(
            recording.joint_names,
            recording.t,
            recording.q,
            dq=recording.dq,
            tau=recording.tau,
            current=recording.current,
            source=recording.source,
            numbers=recording.first_sample + np.arange(recording.n_samples),
            ddq=recording.ddq,
            base_wrench=recording.base_wrench,
            tool_wrench=recording.tool_wrench,
        )

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.t)

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that this log has."""
        return tuple(name for name in RAW_SIGNALS if getattr(self, name) is not None)

    @property
    def carried(self) -> tuple[str, ...]:
        """The signals beside them that this log has."""
        return tuple(name for name in CARRIED if getattr(self, name) is not None)

    def column(self, signal: str, joint: str) -> str:
        """What the file calls the column of a signal of a joint."""
        place = self.joint_names.index(joint)
        names = self.columns.get(signal)
        return f"{STEMS[signal][0]}{place + 1}" if names is None else names[place]

    def rows(self, kept: Bool[Array, " n_samples"] | Int[Array, " n_kept"]) -> RawLog:
        """Some of the rows: those of a mask, or by place."""
        cut = {name: getattr(self, name)[kept] for name in ("t", *self.signals, *self.carried)}
        return replace(self, **cut, numbers=self.places[kept])

    @property
    def places(self) -> Int[Array, " n_samples"]:
        """Where each sample stands in the file, counted from 0."""
        return np.arange(self.n_samples) if self.numbers is None else self.numbers

    def part(self, t_from: float | None = None, t_until: float | None = None) -> RawLog:
        """The rows with ``t_from <= t < t_until``, s; rows without a time stay.

        Raises:
            RecordingError: where no row is left.
        """
        if t_from is None and t_until is None:
            return self
        check_part(t_from, t_until)
        low, high = -np.inf if t_from is None else t_from, np.inf if t_until is None else t_until
        kept = ~((self.t < low) | (self.t >= high))
        if not np.any(kept):
            raise part_error(self.source, t_from, t_until, float(np.nanmin(self.t)), float(np.nanmax(self.t)))
        return self.rows(kept)

    @property
    def finite(self) -> Bool[Array, " n_samples"]:
        """Rows in which every number is finite."""
        good = measurable(self.t)
        for name in self.signals:
            good &= measurable(getattr(self, name)).all(axis=1)
        return good

    def good_rows(self) -> Recording:
        """What is left as a recording without the rows that it would refuse.

        Raises:
            RecordingError: where no row is left.
        """
        log = self.rows(self.finite)
        if log.n_samples == 0:
            raise RecordingError(f"{self.source}: no row in which every number is finite; check the columns of the log")
        if log.n_samples > 1 and np.diff(log.t).min() <= 0.0:
            log = log.rows(increasing(log.t))
        return log.recording()

    def recording(self) -> Recording:
        """The same as a recording.

        Raises:
            RecordingError: for rows that no recording holds, naming the first.
        """
        return Recording(
            self.joint_names, self.t, self.q, dq=self.dq, tau=self.tau, current=self.current, source=self.source
        )


def increasing(t: Float[Array, " n_samples"], after: float = -np.inf) -> Int[Array, " n_kept"]:
    """Places of the longest strictly increasing sequence of times (s), all beyond `after`: the fewest rows are lost."""
    ends: list[float] = []
    last: list[int] = []
    before = np.full(len(t), -1)
    for k, value in enumerate(t.tolist()):
        if not value > after:
            continue
        place = bisect_left(ends, value)
        before[k] = last[place - 1] if place else -1
        if place == len(ends):
            ends.append(value)
            last.append(k)
        elif value < ends[place]:
            ends[place], last[place] = value, k
    kept = np.empty(len(ends), dtype=np.int64)
    k = last[-1] if last else -1
    for place in range(len(ends) - 1, -1, -1):
        kept[place] = k
        k = int(before[k])
    return kept
