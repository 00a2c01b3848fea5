"""A copy to memory that leaves the cache alone, for results too large to stay in it.

An ordinary store first reads the line of memory it is about to overwrite. A large regressor is bound by memory, so
that reading costs more than all its arithmetic; stores marked as non-temporal do without it.
"""

from __future__ import annotations

from typing import no_type_check

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["LARGE", "copy_uncached"]

LARGE = 1 << 25
"""Bytes from which a result does not stay in any cache until it is used."""


@intrinsic
@no_type_check
def _store(typing_context, array, index, value):
    """``array[index] = value`` for float64, written past the cache."""

    def generate(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(view.data, [arguments[1]]), ir.IntType(64).as_pointer())
        # As an integer: processors have an uncached store for single ones, not for single floating-point numbers.
        store = builder.store(builder.bitcast(arguments[2], ir.IntType(64)), address, align=8)
        store.set_metadata("nontemporal", builder.module.add_metadata([cgutils.int32_t(1)]))
        return context.get_dummy_value()

    return types.void(array, types.intp, types.float64), generate


@intrinsic
@no_type_check
def _finish(typing_context):
    """Wait until uncached stores are visible to other threads."""

    def generate(context, builder, signature, arguments):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


@njit(cache=True, nogil=True)
@no_type_check
def copy_uncached(source, target):
    """Copy one contiguous float64 vector into another as long, past the cache."""
    for k in range(source.shape[0]):
        _store(target, k, source[k])
    _finish()
