"""``dynid`` and ``python -m dynid``: the command line as a process of its own, which Ctrl-C ends with exit code 130."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from types import FrameType

__all__ = ["run"]

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended, as shells have it."""
TERMINATED = 143
"""Exit code of a command that was asked to end, by ``kill`` or a job scheduler."""
_asked: set[int] = set()
"""Signals that came."""
AGAIN_SECONDS = 0.05
"""How soon an interrupt that could not be raised, or was lost, is tried again, s."""
GARBAGE = 100_000
"""Objects that may pile up before cyclic garbage is looked for: imports make many, and hardly any are garbage."""
_REPEATS = hasattr(signal, "setitimer")  # not on Windows


def run() -> int:
    """Run the command that was typed; the exit code, see `dynid.cli.main`."""
    # Before anything loads BLAS: its threads would only get in the way of ours, of which DYNID_THREADS sets the number.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    gc.set_threshold(GARBAGE)
    signal.signal(signal.SIGINT, _interrupt)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        # Files that are being written vanish on the way out.
        signal.signal(signal.SIGTERM, _interrupt)
    if _REPEATS:
        signal.signal(signal.SIGALRM, _interrupt)
        sys.unraisablehook = _unraisable
    try:
        from dynid.cli import main

        code = main()
    except KeyboardInterrupt:  # before there was anybody else to say so
        sys.stderr.write("interrupted; nothing was left half-written\n")
        code = INTERRUPTED
    if code == INTERRUPTED and signal.SIGTERM in _asked:
        code = TERMINATED
    # What is done is done: an interrupt while the interpreter closes down must not change the exit code. Where one has
    # been heeded, a second one ends the process at once, should it hang.
    signal.signal(signal.SIGINT, signal.SIG_DFL if code in (INTERRUPTED, TERMINATED) else signal.SIG_IGN)
    if _REPEATS:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
    _leave(code)
    return code


def _leave(code: int) -> None:
    """End the process at once, all said and written; taking a thousand modules apart takes a tenth of a whole command.

    Where something could not be said, or threads and other processes may have to be told, it leaves that to Python.
    """
    if threading.active_count() > 1 or "joblib" in sys.modules:
        return
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # full, or closed at the other end
        return
    os._exit(code)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but not in the middle of an import or of generated code: then a moment later.

    Modules that try whether another can be imported swallow it, and Python remembers one that passes through ``exec``
    and ends itself by the signal, whatever the exit code.
    """
    _asked.add(number)
    while _REPEATS and frame is not None and frame.f_code.co_filename != __file__:
        if frame.f_code.co_filename.startswith(("<frozen importlib", "<string>")):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def _unraisable(lost: sys.UnraisableHookArgs) -> None:
    """Try again where KeyboardInterrupt was raised inside a finaliser, which cannot pass it on."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
    else:
        sys.__unraisablehook__(lost)


if __name__ == "__main__":
    raise SystemExit(run())
