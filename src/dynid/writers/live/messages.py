"""What a run and its page in another process say to each other: pickled values over the two pipes between them."""

from __future__ import annotations

import contextlib
import pickle
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from dynid.chain.robot import Robot
from dynid.workflow.live_view import LiveView
from dynid.writers.live.meshes import LinkMesh

__all__ = ["Answer", "Ask", "PageState", "Pipes", "Setup"]


@dataclass(frozen=True, eq=False)
class Setup:
    """What a page is built from, said first."""

    robot: Robot
    view: LiveView
    host: str
    port: int
    token: str | None
    meshes: tuple[LinkMesh, ...]
    out: Path
    """Where Save writes its numbered folders."""


class PageState(NamedTuple):
    """Of a page: where it listens, how often it was renewed, and what kept it from starting."""

    port: int
    n_updates: int = 0
    trouble: str = ""


class Ask(NamedTuple):
    """A method of the run that the page wants called."""

    method: str
    given: tuple[object, ...] = ()
    number: int = 0
    """Of the answer that is waited for; 0 where none is."""


class Answer(NamedTuple):
    """What a method of the run returned, or why it did not."""

    number: int
    value: object
    trouble: str = ""


class Pipes:
    """Values in both directions; any thread may send."""

    def __init__(self, read: BinaryIO, write: BinaryIO) -> None:
        """Both ends stay open until `close`."""
        self._read, self._write, self._sending = read, write, threading.Lock()

    def send(self, value: object) -> bool:
        """Whether the other side is still there."""
        data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        try:
            with self._sending:
                self._write.write(data)
                self._write.flush()
        except (OSError, ValueError):
            return False
        return True

    def receive(self) -> object:
        """The next value; None where the other side is gone."""
        try:
            return pickle.load(self._read)  # from a process that this one started, or was started by
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            return None

    def close(self) -> None:
        """Say that nothing follows."""
        with contextlib.suppress(OSError):
            self._write.close()
