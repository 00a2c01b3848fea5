"""Datagrams on a port of this machine, each one sample: JSON or the binary layout."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator

from dynid.errors import TrackingError
from dynid.tracking.samples import Sample
from dynid.tracking.sources.feeds import Arrived
from dynid.tracking.sources.messages import StreamMessages

__all__ = ["LOOPBACK", "UdpFeed", "udp_samples"]

LOOPBACK = "127.0.0.1"
"""Where datagrams are listened for unless told otherwise: no other machine can reach it."""
MAX_DATAGRAM = 65535
"""Bytes."""
BUFFER = 1 << 22
"""Bytes that the system is asked to keep while nobody reads; it may give less."""
AT_ONCE = 256
"""Datagrams taken in one call at most, so that nothing else starves under a flood."""


WAITING = 100_000
"""Datagrams that are kept while nobody takes them; of more the oldest are lost."""


class UdpFeed:
    """Datagrams of a bound socket; ``{"end": true}`` says that nothing follows."""

    def __init__(
        self,
        port: int,
        messages: StreamMessages,
        *,
        host: str = LOOPBACK,
        ready: socket.socket | None = None,
        patient: bool = False,
    ) -> None:
        """Listen.

        Args:
            port: where; 0 lets the system choose, and `port` says which.
            messages: decodes them.
            host: address to listen at; by default only this machine can send.
            ready: a bound socket to use instead; it is left open.
            patient: take datagrams in a thread of its own, so that none is lost while nobody asks for them: the system
                itself keeps only some hundred.

        Raises:
            TrackingError: the port cannot be opened.
        """
        self._own = ready is None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM) if ready is None else ready
        if self._own:
            try:
                self._socket.bind((host, port))
            except (OSError, OverflowError) as error:
                self._socket.close()
                raise TrackingError(f"udp {host}:{port}: cannot listen: {error}; choose another port") from error
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        self._socket.setblocking(False)
        self.port = int(self._socket.getsockname()[1])
        """Where it listens."""
        self.label, self.real_time = f"udp:{self.port}", True
        self._waiting: deque[tuple[bytes, float]] = deque(maxlen=WAITING)
        self._some, self._closed = threading.Event(), threading.Event()
        self._listener = threading.Thread(target=self._listen, name="dynid udp", daemon=True) if patient else None
        self._messages, self._n_datagrams, self._ended, self._interrupted = messages, 0, False, False

    @property
    def ended(self) -> bool:
        """Whether the sender said so."""
        return self._ended

    def receive(self, wait: float) -> list[Arrived]:
        """The messages that have come; waits up to `wait` (s)."""
        found: list[Arrived] = []
        if self._listener is not None:
            return self._taken(wait)
        if self._interrupted:
            raise KeyboardInterrupt
        while not self._ended and len(found) < AT_ONCE:
            try:
                data = self._socket.recv(MAX_DATAGRAM)
            except KeyboardInterrupt:
                if not found:
                    raise
                self._interrupted = True  # what has come is handed over first
                break
            except BlockingIOError:
                if found or not select.select([self._socket], [], [], wait)[0]:
                    break
                wait = 0.0
                continue
            found += self._decoded(data, time.monotonic())
        return found

    def _listen(self) -> None:
        while not self._closed.is_set():
            if not select.select([self._socket], [], [], 0.1)[0]:
                continue
            try:
                while not self._closed.is_set():
                    self._waiting.append((self._socket.recv(MAX_DATAGRAM), time.monotonic()))
            except OSError:
                self._some.set()

    def _taken(self, wait: float) -> list[Arrived]:
        found: list[Arrived] = []
        if self._listener is not None and not self._listener.is_alive() and not self._closed.is_set():
            self._listener.start()
        if not self._waiting:
            self._some.clear()
            # What came between the two lines above is there; what comes now wakes us up.
            if not self._waiting:
                self._some.wait(wait)
        while self._waiting and not self._ended and len(found) < AT_ONCE:
            found += self._decoded(*self._waiting.popleft())
        return found

    def _decoded(self, data: bytes, now: float) -> list[Arrived]:
        where = f"datagram {self._n_datagrams}"
        self._n_datagrams += 1
        try:
            message = self._messages.of_bytes(data, where)
        except TrackingError as error:
            return [(error, now)]
        self._ended = message.end
        return [] if message.end else [(message, now)]

    def close(self) -> None:
        """Stop listening."""
        self._closed.set()
        if self._listener is not None and self._listener.is_alive():
            self._listener.join(timeout=1.0)
        if self._own:
            self._socket.close()


def udp_samples(
    port: int, n_dof: int, *, host: str = LOOPBACK, timeout: float = 5.0, ready: socket.socket | None = None
) -> Iterator[Sample]:
    """Samples from datagrams, binary or JSON objects with the keys of `samples_of`; ends on ``{"end": true}``.

    Every datagram must be a sample, and each is handed on as it comes; `SampleIntake` counts and goes on instead.
    Ctrl-C while it waits ends it as well, so that what has been learnt is kept, unless nothing has come yet.

    Args:
        port: where to listen; 0 lets the system choose (give `ready` then, to know it).
        n_dof: joints of the robot.
        host: only this machine can send by default.
        timeout: seconds of silence after which the stream ends.
        ready: a bound socket to use instead; it is left open.

    Raises:
        TrackingError: the port cannot be opened, or a datagram is not a sample.
    """
    feed = UdpFeed(port, StreamMessages(n_dof), host=host, ready=ready)
    anything = False
    try:
        while True:
            try:
                arrived = feed.receive(timeout)
            except KeyboardInterrupt:
                if not anything:
                    raise
                return
            for message, _ in arrived:
                if isinstance(message, TrackingError):
                    raise message
                anything = True
                yield message.sample
            if feed.ended or not arrived:
                return
    finally:
        feed.close()
