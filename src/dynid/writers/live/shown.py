"""What a page needs of a run: a `LiveRun` has it, and so has what stands for one in another process."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from dynid.regression.model import IdentifiedModel
from dynid.workflow.live_view import LiveSession, LiveView

__all__ = ["ShownRun"]


@runtime_checkable
class ShownRun(Protocol):
    """A live run as its page sees it."""

    @property
    def view(self) -> LiveView:
        """The latest."""
        ...

    def session(self) -> LiveSession:
        """What the run has come to."""
        ...

    def reset(self) -> None:
        """Forget the load and start again."""
        ...

    def tare(self) -> None:
        """What the arm carries now is part of it."""
        ...

    def mark(self, text: str = ...) -> None:
        """Put a mark into the list of events."""
        ...

    def record_anew(self) -> None:
        """Forget the samples kept so far."""
        ...

    def use(self, known: IdentifiedModel, why: str) -> None:
        """Go on with another model."""
        ...
