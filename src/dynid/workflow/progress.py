"""How long work says what it is doing: a call that a terminal turns into a bar, and others ignore."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

__all__ = ["Progress", "silent"]


@runtime_checkable
class Progress(Protocol):
    """Hears what is being done now, and how much of it is done."""

    def __call__(self, text: str, share: float | None = None) -> None:
        """Hear of `text`; `share` is between 0 and 1, None where nobody knows.

        What stands before a colon names the work: time left is reckoned anew when it changes.
        """


def silent(text: str, share: float | None = None) -> None:
    """Progress that nobody looks at (`share` is dimensionless)."""
