"""Ctrl-C as a wish to finish: a search that hears it ends with what it has."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["finishing_on_interrupt"]


@contextlib.contextmanager
def finishing_on_interrupt(given: threading.Event | None = None) -> Iterator[threading.Event]:
    """An event that the first Ctrl-C inside the block sets; the second is a `KeyboardInterrupt` as ever.

    Outside the main thread, and where a program has a handler of its own, nothing is changed. Blocks may be nested when
    the inner one is `given` the event of the outer one.
    """
    asked = threading.Event() if given is None else given
    own = threading.current_thread() is threading.main_thread()
    if not own or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield asked
        return

    def first(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            signal.default_int_handler(number, frame)
        asked.set()

    signal.signal(signal.SIGINT, first)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
