"""The triangular factor of tall matrices: blocked, slab by slab, without holding the interpreter lock."""

from __future__ import annotations

import ctypes

import numpy as np
from scipy.linalg import cython_lapack

from dynid.arrays import Array, Float

__all__ = ["triangular"]

SLAB = 1536
"""Rows factorised at a time: a tall factorisation that leaves the cache takes twice as long."""
PANEL = 8
"""Columns that LAPACK factorises recursively before it updates the rest."""

# LAPACK's dgeqrf does not block matrices as narrow as ours and takes nearly twice as long. SciPy's wrapper of dgeqrt
# keeps the interpreter lock; ctypes releases it.
_capsule = cython_lapack.__pyx_capi__["dgeqrt"]
_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_dgeqrt = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 9)(_address_of(_capsule, _name_of(_capsule)))


def triangular(
    rows: Float[Array, "n_rows n_columns"], last: Float[Array, " n_rows"] | None = None
) -> Float[Array, "n_kept n_wide"]:
    """The triangular factor of a QR factorisation, SI; what is fewer than triangular stays as it is.

    `last` is a further column.
    """
    n_rows, n_columns = len(rows), rows.shape[1] + (last is not None)
    if n_rows <= 1 or n_columns == 0:
        return rows if last is None else np.column_stack([rows, last])
    n_kept = 0
    stack = np.empty((min(SLAB, n_rows) + n_columns, n_columns), order="F")
    for start in range(0, n_rows, SLAB):
        stop = min(start + SLAB, n_rows)
        n_stacked = n_kept + stop - start
        stack[n_kept:n_stacked, : rows.shape[1]] = rows[start:stop]
        if last is not None:
            stack[n_kept:n_stacked, -1] = last[start:stop]
        _factorise(stack, n_stacked)
        n_kept = min(n_stacked, n_columns)
        stack[:n_kept] = np.triu(stack[:n_kept])
    return np.ascontiguousarray(stack[:n_kept])


def _factorise(stack: Float[Array, "n_stacked n_columns"], n_rows: int) -> None:
    """Overwrite the first rows of a matrix stored by columns by their factor, below it the reflections."""
    n_columns = stack.shape[1]
    panel = min(PANEL, n_rows, n_columns)
    T, work = np.empty((n_columns, panel)), np.empty(n_columns * panel)
    sizes = [ctypes.c_int(value) for value in (n_rows, n_columns, panel, len(stack), panel, 0)]
    m, n, nb, lda, ldt, info = (ctypes.byref(value) for value in sizes)
    _dgeqrt(m, n, nb, stack.ctypes.data, lda, T.ctypes.data, ldt, work.ctypes.data, info)
    assert sizes[-1].value == 0, sizes[-1].value
