"""The page in a process of its own: its work, and that of saving and calibrating, never keeps the filter waiting."""

from __future__ import annotations

import itertools
import os
import queue
import signal
import sys
from dataclasses import replace

from dynid.errors import DynidError, TrackingError
from dynid.regression.model import IdentifiedModel
from dynid.workflow.live_buffers import ChartLines
from dynid.workflow.live_run import CHART_LENGTH
from dynid.workflow.live_view import LiveSession, LiveView
from dynid.writers.live.guard import PageGuard
from dynid.writers.live.messages import Answer, Ask, PageState, Pipes, Setup
from dynid.writers.live.server import PageServer

__all__ = ["RemoteRun", "serve_page"]

PATIENCE = 60.0
"""Time in s that an answer may take: a log of ten minutes goes through a pipe in less than one."""
LESS_URGENT = 5
"""What is added to the niceness of the process: on a busy machine the filter comes first."""


class RemoteRun:
    """A live run in the process that started this one, as its page sees it."""

    def __init__(self, pipes: Pipes, first: LiveView) -> None:
        self._pipes, self._latest = pipes, first
        self._mass, self._torque = (ChartLines(CHART_LENGTH, rows.shape[1] - 1) for rows in (first.mass, first.torque))
        self._numbers = itertools.count(1)
        self._answers: dict[int, queue.Queue[Answer]] = {}

    def heard(self, message: object) -> None:
        """Take what the run says: a view with the latest point of its charts, or an answer."""
        if isinstance(message, LiveView):
            for lines, rows in ((self._mass, message.mass), (self._torque, message.torque)):
                if len(rows) and rows[-1, 0] != lines.latest:
                    lines.add(rows[-1, 0], rows[-1, 1:])
            self._latest = message
        elif isinstance(message, Answer) and message.number in self._answers:
            self._answers.pop(message.number).put(message)

    @property
    def view(self) -> LiveView:
        """The latest, with its charts."""
        return replace(self._latest, mass=self._mass.rows(), torque=self._torque.rows())

    def session(self) -> LiveSession:
        """What the run has come to."""
        found = self._answer("session")
        assert isinstance(found, LiveSession)
        return found

    def reset(self) -> None:
        """Forget the load and start again."""
        self._pipes.send(Ask("reset"))

    def tare(self) -> None:
        """What the arm carries now is part of it."""
        self._pipes.send(Ask("tare"))

    def mark(self, text: str = "mark") -> None:
        """Put a mark into the list of events."""
        self._pipes.send(Ask("mark", (text,)))

    def record_anew(self) -> None:
        """Forget the samples kept so far."""
        self._pipes.send(Ask("record_anew"))

    def use(self, known: IdentifiedModel, why: str) -> None:
        """Go on with another model."""
        self._pipes.send(Ask("use", (known, why)))

    def _answer(self, method: str, *given: object) -> object:
        number = next(self._numbers)
        waiting: queue.Queue[Answer] = queue.Queue()
        self._answers[number] = waiting
        self._pipes.send(Ask(method, given, number))
        try:
            answer = waiting.get(timeout=PATIENCE)
        except queue.Empty:
            raise TrackingError("the run does not answer; it may have ended") from None
        if answer.trouble:
            raise TrackingError(answer.trouble)
        return answer.value


def serve_page() -> None:
    """Serve the page of the run that started this process, until it closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which then closes the pipe
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get between the messages
    os.nice(LESS_URGENT)
    pipes = Pipes(sys.stdin.buffer, out)
    setup = pipes.receive()
    assert isinstance(setup, Setup)
    run = RemoteRun(pipes, setup.view)
    try:
        page = PageServer(
            run,
            setup.robot,
            guard=PageGuard(setup.host, setup.token),
            port=setup.port,
            meshes=list(setup.meshes),
            out=setup.out,
            shown=lambda page: pipes.send(PageState(page.port, page.n_updates)),
        )
    except (DynidError, OSError) as error:
        pipes.send(PageState(0, trouble=str(error)))
        return
    pipes.send(PageState(page.port))
    page.start()
    while (message := pipes.receive()) is not None:
        run.heard(message)
    page.stop()
