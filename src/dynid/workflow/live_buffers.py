"""What a live run remembers: the latest samples as a log, and the lines of its charts; memory does not grow."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array, Float
from dynid.errors import RecordingError
from dynid.recording.recording import Recording
from dynid.tracking.samples import Sample

__all__ = ["ChartLines", "LatestSamples"]

FIRST_ROOM = 4096
"""Samples that are made room for at first."""


class LatestSamples:
    """The samples of the last minutes, oldest first; older ones are overwritten."""

    def __init__(self, joint_names: tuple[str, ...], most_samples: int) -> None:
        """`most_samples` are kept at most."""
        self.joint_names, self._most = joint_names, most_samples
        n = len(joint_names)
        self._rows = np.zeros((min(FIRST_ROOM, most_samples), 1 + 3 * n))
        self._next = self._count = 0
        self.with_dq = self.with_tau = False
        """Whether velocities and torques are measured."""

    def __len__(self) -> int:
        return self._count

    def add(self, sample: Sample) -> None:
        """Remember one sample (SI)."""
        n = len(self.joint_names)
        if self._count == len(self._rows) < self._most:
            more = np.zeros((min(2 * len(self._rows), self._most), self._rows.shape[1]))
            more[: self._count] = self._rows
            self._rows, self._next = more, self._count
        row = self._rows[self._next]
        row[0] = sample.t
        row[1 : 1 + n] = sample.q
        self.with_dq, self.with_tau = self.with_dq or sample.dq is not None, self.with_tau or sample.tau is not None
        row[1 + n : 1 + 2 * n] = np.nan if sample.dq is None else sample.dq
        row[1 + 2 * n :] = np.nan if sample.tau is None else sample.tau
        self._next = (self._next + 1) % len(self._rows)
        self._count = min(self._count + 1, len(self._rows))

    def latest(self, n_samples: int) -> Float[Array, "n_samples n_columns"]:
        """The last rows of t, q, dq, tau (SI), oldest first."""
        count = min(n_samples, self._count)
        places = (self._next - count + np.arange(count)) % len(self._rows)
        return self._rows[places]

    def since(self, t: float) -> Float[Array, "n_samples n_columns"]:
        """The rows from time `t` (s) on."""
        rows = self.latest(self._count)
        return rows[rows[:, 0] >= t]

    def recording(self, since: float = -np.inf) -> Recording:
        """The samples from time `since` (s) on as a log.

        Raises:
            RecordingError: there are none.
        """
        rows, n = self.since(since), len(self.joint_names)
        rows = rows[np.isfinite(rows[:, : 1 + n]).all(axis=1)]
        if len(rows) < 2:
            raise RecordingError("live: nothing has been recorded yet; wait for samples")
        dq, tau = rows[:, 1 + n : 1 + 2 * n], rows[:, 1 + 2 * n :]
        held = rows[:, 1 + n if self.with_dq else 1 + 2 * n : None if self.with_tau else 1 + 2 * n]
        return Recording(
            self.joint_names,
            rows[:, 0],
            rows[:, 1 : 1 + n],
            dq=dq if self.with_dq else None,
            tau=tau if self.with_tau else None,
            source="live recording",
            holes=bool(np.isnan(held).any()),
        )

    def clear(self) -> None:
        """Forget all of them."""
        self._next = self._count = 0


class ChartLines:
    """Points of lines over time, the latest `n_points` of them."""

    def __init__(self, n_points: int, n_lines: int) -> None:
        self._rows = np.zeros((n_points, 1 + n_lines))
        self._count = 0

    def add(self, t: float, values: Float[Array, " n_lines"]) -> None:
        """A point of every line, in the units of the line, at time `t` in s."""
        row = self._rows[self._count % len(self._rows)]
        row[0], row[1:] = t, values
        self._count += 1

    @property
    def latest(self) -> float:
        """Time of the newest point, s; nan where there is none."""
        return float(self._rows[(self._count - 1) % len(self._rows), 0]) if self._count else float("nan")

    def rows(self) -> Float[Array, "n_points n_columns"]:
        """Time in s and the lines, oldest first."""
        n = len(self._rows)
        if self._count <= n:
            return self._rows[: self._count].copy()
        return np.roll(self._rows, -(self._count % n), axis=0)
