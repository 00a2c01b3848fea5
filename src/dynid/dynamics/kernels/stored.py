"""How the batch kernels are compiled: once on a machine, and then read from disk without numba's compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

__all__ = ["called_kernel", "kernel"]

called_kernel: Any = njit(cache=True, nogil=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Compiles what only compiled code calls, on arrays that its caller keeps: no wrappers and no counting of references.

With dozens of arrays in an argument, these are most of what there is to compile. Such a function makes no arrays, and
called from Python it ends the process.
"""


class _Store(FunctionCache):  # type: ignore[misc]
    """Compiled functions on disk, read without getting the compiler ready, which takes longer than a whole fit."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The function as it was compiled for these types; None where it was not yet, and is now."""
        # Machine code that has been compiled needs numba's memory management and nothing else of it.
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


_KNOWN = all(hasattr(FunctionCache, name) for name in ("_load_overload", "_guard_against_spurious_io_errors"))
"""Whether numba's cache is made as it was when this was written; otherwise it is used as it comes."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function over samples; it releases the interpreter lock."""
    if not _KNOWN:
        return njit(cache=True, nogil=True, fastmath={"contract"})(function)
    compiled: Any = njit(nogil=True, fastmath={"contract"})(function)
    compiled._cache = _Store(function)
    return compiled
