"""The array types of dynid: shapes are written in annotations, and checked where the import hook of jaxtyping is on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int
else:  # importing it takes as long as reading a log, and its shapes are for those who check them

    class Float:
        """The array itself, whatever shape an annotation gives it."""

        def __class_getitem__(cls, shaped: tuple[Any, ...]) -> Any:
            return shaped[0]

    Bool = Int = Float

Array = np.ndarray
"""A NumPy array; used as ``Float[Array, "n_samples n_dof"]``."""

ArrayLike = Array | Sequence[float | int] | Sequence[Sequence[float | int]]
"""Numbers that become an array: one of NumPy's, or a plain (nested) sequence."""

Vector3 = Float[Array, " 3"]
Matrix3 = Float[Array, "3 3"]
Transform = Float[Array, "4 4"]
"""A homogeneous transform ``T_target_source``: rotation, translation in m, and the row (0, 0, 0, 1)."""

__all__ = [
    "Array",
    "ArrayLike",
    "Bool",
    "Float",
    "Int",
    "Matrix3",
    "Transform",
    "Vector3",
    "freeze_arrays",
    "readonly",
    "skew",
]


def readonly(values: ArrayLike) -> Float[Array, ...]:
    """A read-only float64 copy of `values`, contiguous in memory; any shape, any unit."""
    array = np.array(values, dtype=np.float64, order="C", copy=True)
    array.setflags(write=False)
    return array


def freeze_arrays(value: Any) -> None:
    """Replace every array field of a frozen dataclass by a read-only float64 (or boolean, integer) copy."""
    for field in fields(value):
        content = getattr(value, field.name)
        if isinstance(content, np.ndarray):
            dtype = content.dtype if content.dtype.kind in "bi" else np.dtype(np.float64)
            array = np.array(content, dtype=dtype, order="C", copy=True)
            array.setflags(write=False)
            object.__setattr__(value, field.name, array)


def skew(vector: Vector3) -> Matrix3:
    """The matrix of the cross product, ``skew(a) @ b == a × b``."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
