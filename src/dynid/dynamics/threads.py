"""How many threads work at once: decided here, for every pool; what they find never depends on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dynid.errors import ConfigError

__all__ = ["VARIABLE", "n_threads", "one_blas_thread", "with_threads"]

VARIABLE = "DYNID_THREADS"
"""The environment variable that sets the number of threads."""
_asked: ContextVar[int | None] = ContextVar("dynid_threads", default=None)


def n_threads() -> int:
    """What `with_threads` or ``DYNID_THREADS`` asks for, else one for each processor that this process may use.

    Raises:
        ConfigError: ``DYNID_THREADS`` is not a whole number of at least 1.
    """
    asked = _asked.get()
    if asked is not None:
        return asked
    text = os.environ.get(VARIABLE, "")
    if not text:
        usable = getattr(os, "sched_getaffinity", None)
        return max(1, len(usable(0)) if usable is not None else os.cpu_count() or 1)
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"{VARIABLE} is {text!r}: give a whole number of at least 1, or leave it unset")
    return int(text)


@contextmanager
def with_threads(count: int) -> Iterator[None]:
    """At most `count` threads for what the block calls; for processes that share a machine with others."""
    token = _asked.set(max(1, count))
    try:
        yield
    finally:
        _asked.reset(token)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread inside BLAS for what the block calls, as many as before behind it.

    Our own threads work on many small factorisations at once; threads inside BLAS would only get in their way, and the
    last bits of a result would depend on how many there are.
    """
    # SciPy brings a BLAS of its own, and only what is loaded can be limited.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
