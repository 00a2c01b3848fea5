"""What a run and its page in another process say to each other: values over the two pipes between them."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
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
    """Values in both directions, as processes of one program pass them; any thread may send.

    Nobody else can write into these pipes: one process made them and started the other with them.
    """

    def __init__(self, read: BinaryIO, write: BinaryIO) -> None:
        """Both ends stay open until `close`; `write` is closed, and a copy of it goes on."""
        self._read = Connection(os.dup(read.fileno()), writable=False)
        self._write = Connection(os.dup(write.fileno()), readable=False)
        self._sending = threading.Lock()
        write.close()

    def send(self, value: object) -> bool:
        """Whether the other side is still there."""
        try:
            with self._sending:
                self._write.send(value)
        except OSError:
            return False
        return True

    def receive(self) -> object:
        """The next value; None where the other side is gone."""
        try:
            return self._read.recv()
        except (EOFError, OSError):
            return None

    def close(self) -> None:
        """Say that nothing follows."""
        with contextlib.suppress(OSError), self._sending:
            self._write.close()
