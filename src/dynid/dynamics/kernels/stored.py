"""How kernels are compiled by numba, once on a machine."""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["called_kernel", "kernel"]

kernel: Any = njit(cache=True, nogil=True, fastmath={"contract"})
"""Compiles a function over samples; it releases the interpreter lock."""
called_kernel: Any = njit(cache=True, nogil=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Compiles what only compiled code calls, on arrays that its caller keeps: no wrappers and no counting of references.

With dozens of arrays in an argument, these are most of what there is to compile. Such a function makes no arrays, and
called from Python it ends the process.
"""
