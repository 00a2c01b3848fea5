"""NIS of a run, without the moments in which the filter could not know better: just after a load changed."""

from __future__ import annotations

import numpy as np

__all__ = ["NisTally"]

KEPT = 4096
"""Latest samples that can be taken back: four seconds at 1 kHz, longer than any decision takes."""


class NisTally:
    """Counts samples with their NIS while a filter runs; fixed in size."""

    def __init__(self, band: tuple[float, float]) -> None:
        """Count against the band of the NIS (dimensionless) of one sample."""
        self.n = 0
        """Samples that count."""
        self._band, self._sum, self._n_inside = band, 0.0, 0
        self._t, self._nis = np.full(KEPT, -np.inf), np.zeros(KEPT)
        self._next = 0

    def add(self, t: float, nis: float) -> None:
        """Count the sample of time `t` (s)."""
        self._t[self._next], self._nis[self._next] = t, nis
        self._next = (self._next + 1) % KEPT
        self.n += 1
        self._sum += nis
        self._n_inside += self._band[0] <= nis <= self._band[1]

    def take_back(self, since: float) -> None:
        """The samples from a time (s) on no longer count."""
        taken = self._t >= since
        nis = self._nis[taken]
        self._t[taken] = -np.inf
        self.n -= len(nis)
        self._sum -= float(np.sum(nis))
        self._n_inside -= int(np.count_nonzero((nis >= self._band[0]) & (nis <= self._band[1])))

    @property
    def mean(self) -> float:
        """Mean NIS, dimensionless; nan where no sample counts."""
        return self._sum / self.n if self.n else np.nan

    @property
    def share(self) -> float:
        """Share of the samples inside the band; nan where no sample counts."""
        return self._n_inside / self.n if self.n else np.nan
