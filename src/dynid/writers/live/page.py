"""LivePage: the page of a live run, in a process of its own so that the filter never waits for it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from dynid.errors import ConfigError, DynidError
from dynid.workflow.live_run import VIEWS_PER_SECOND, LiveRun
from dynid.workflow.live_view import LiveSession
from dynid.writers.live.guard import PageGuard
from dynid.writers.live.meshes import LinkMesh
from dynid.writers.live.messages import Answer, Ask, PageState, Pipes, Setup

__all__ = ["LivePage"]

START_SECONDS = 120.0
"""Time in s that the process of a page may take to start, on a machine that is busy."""
SENT_EVENTS = 20
"""Latest events that go to the page with every view."""
SCRIPT = "from dynid.writers.live.process import serve_page; serve_page()"
"""What the process runs."""


class LivePage:
    """A page of this machine that shows a run, until it is stopped."""

    def __init__(self, run: LiveRun, *, guard: PageGuard, port: int, meshes: list[LinkMesh], out: Path) -> None:
        """Start the page.

        Args:
            run: what to show.
            guard: who may see it.
            port: where to listen; the next free one where it is taken.
            meshes: of the links, where they are not to be capsules.
            out: folder in which Save makes a numbered one each time.

        Raises:
            ConfigError: viser is not installed, or the page cannot be served.
        """
        if importlib.util.find_spec("viser") is None:
            raise ConfigError('the live page needs viser: pip install "dynid[live]"')
        self.run, self.guard = run, guard
        self.n_updates = 0
        """Times the page was renewed."""
        self._stop, self._started, self._trouble = threading.Event(), threading.Event(), ""
        self._process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._pipes = Pipes(self._process.stdout, self._process.stdin)  # type: ignore[arg-type]
        self._pipes.send(Setup(run.known.robot, run.view, guard.host, port, guard.token, tuple(meshes), out.absolute()))
        self._hearer = threading.Thread(target=self._hear, name="dynid page answers", daemon=True)
        self._hearer.start()
        self._sender = threading.Thread(target=self._send, name="dynid page", daemon=True)
        if not self._started.wait(START_SECONDS) or self._trouble:
            self.stop()
            raise ConfigError(f"the live page cannot be served: {self._trouble or 'its process does not start'}")

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.guard.port

    @property
    def address(self) -> str:
        """What to open in a browser."""
        host = f"[{self.guard.host}]" if ":" in self.guard.host else self.guard.host
        token = "" if self.guard.token is None else f"?token={self.guard.token}"
        return f"http://{host}:{self.port}/{token}"

    @property
    def running(self) -> bool:
        """Whether it can be opened."""
        return self._process.poll() is None

    def start(self) -> None:
        """Show the run as it goes."""
        self._sender.start()

    def stop(self) -> None:
        """Close the page."""
        self._stop.set()
        if self._sender.is_alive():
            self._sender.join(timeout=5.0)
        self._pipes.close()
        try:
            self._process.wait(timeout=10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=10.0)
        self._hearer.join(timeout=5.0)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def session(self) -> LiveSession:
        """What the run has come to.

        Raises:
            RecordingError: nothing has come yet.
        """
        return self.run.session()

    def _send(self) -> None:
        before = None
        while not self._stop.is_set():
            began, view = time.monotonic(), self.run.view
            if view is not before:
                # Charts grow by one point a view; the page keeps the others.
                short = replace(view, mass=view.mass[-1:], torque=view.torque[-1:], events=view.events[-SENT_EVENTS:])
                if not self._pipes.send(short):
                    return
                before = view
            self._stop.wait(max(0.001, 1.0 / VIEWS_PER_SECOND - (time.monotonic() - began)))

    def _hear(self) -> None:
        asked: dict[str, Callable[..., object]] = {
            "session": self.run.session,
            "reset": self.run.reset,
            "tare": self.run.tare,
            "mark": self.run.mark,
            "record_anew": self.run.record_anew,
            "use": self.run.use,
        }
        while (message := self._pipes.receive()) is not None:
            if isinstance(message, PageState):
                self.guard.port, self.n_updates, self._trouble = message.port, message.n_updates, message.trouble
                self._started.set()
            elif isinstance(message, Ask) and message.method in asked:
                self._answer(message, asked[message.method])
        self._trouble = self._trouble or "its process ended"
        self._started.set()

    def _answer(self, message: Ask, method: Callable[..., object]) -> None:
        try:
            answer = Answer(message.number, method(*message.given))
        except DynidError as error:
            answer = Answer(message.number, None, str(error))
        if message.number:
            self._pipes.send(answer)
