"""Loads and contacts that follow one another faster than any arm takes them: the model does not fit."""

from __future__ import annotations

__all__ = ["HastyChanges"]

SETTLED, HASTY_EVENTS = 2.0, 5
"""Time (s) within which no arm takes two loads, and how often it may look so before the model is doubted."""
UNFIT = "the model does not fit this arm or motion; identify it with motions like these"
"""What is to be said then."""


class HastyChanges:
    """Counts loads and contacts as they are told."""

    def __init__(self) -> None:
        """Before the first."""
        self._n, self._n_hasty, self._last = 0, 0, -SETTLED

    def hear(self, t: float) -> None:
        """Count one at a time (s)."""
        self._n_hasty += self._n > 0 and t - self._last < SETTLED
        self._n, self._last = self._n + 1, t

    @property
    def sentences(self) -> tuple[str, ...]:
        """What there is to say: one sentence where most of them came too soon, else none."""
        if self._n_hasty < HASTY_EVENTS or 2 * self._n_hasty <= self._n:
            return ()
        return (f"{self._n} loads and contacts, most within {SETTLED:g} s of one another: {UNFIT}",)
