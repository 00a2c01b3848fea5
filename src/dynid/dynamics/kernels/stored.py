"""How kernels are compiled by numba: at the first call that needs it, once on a machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType
from typing import Any

__all__ = ["LazyKernel", "called_kernel", "kernel", "njit", "ready_for_numba"]

_LOCK = threading.RLock()


class LazyKernel:
    """A function for `numba.njit`, which is imported at the first call: most jobs run on code that is compiled already.

    Kernels that it calls are compiled with it.
    """

    def __init__(self, py_func: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func, self.targetoptions = py_func, options
        self.__name__, self.__doc__, self.__module__ = py_func.__name__, py_func.__doc__, py_func.__module__
        self.__wrapped__ = py_func
        self._dispatcher: Any = None

    def __repr__(self) -> str:
        return f"LazyKernel({self.__module__}.{self.__name__})"

    @property
    def dispatcher(self) -> Any:
        """What numba makes of the function."""
        with _LOCK:
            if self._dispatcher is None:
                import numba

                ready_for_numba(self.py_func)
                self._dispatcher = numba.njit(**self.targetoptions)(self.py_func)
            return self._dispatcher

    def __call__(self, *arguments: object) -> Any:
        """Compile if need be, and run."""
        return (self._dispatcher or self.dispatcher)(*arguments)


def ready_for_numba(function: Callable[..., Any]) -> None:
    """Put what numba makes of them in the place of the kernels that a function calls."""
    known: dict[str, Any] = function.__globals__
    for name in _names(function.__code__):
        if isinstance(known.get(name), LazyKernel):
            known[name] = known[name].dispatcher


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As `numba.njit`, but numba is imported when the function is called, not when it is defined."""
    return partial(_lazy, options)


def _lazy(options: dict[str, Any], py_func: Callable[..., Any]) -> Any:
    return LazyKernel(py_func, options)


kernel: Any = njit(cache=True, nogil=True, fastmath={"contract"})
"""Compiles a function over samples; it releases the interpreter lock."""
called_kernel: Any = njit(cache=True, nogil=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Compiles what only compiled code calls, on arrays that its caller keeps: no wrappers and no counting of references.

With dozens of arrays in an argument, these are most of what there is to compile. Such a function makes no arrays, and
called from Python it ends the process.
"""
