"""Types and initialisers of C for the numbers, arrays and named tuples of compiled Python."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.errors import ExportError

__all__ = ["BOOL", "DOUBLE", "INT", "CArray", "CScalar", "CStruct", "CType", "c_literal", "c_type_of"]


@dataclass(frozen=True)
class CScalar:
    """A number: double, int or bool."""

    name: str


@dataclass(frozen=True)
class CArray:
    """Numbers one after the other, row by row."""

    item: str
    shape: tuple[int, ...]
    """A size of −1 is not known: a part cut out of a longer array."""

    @property
    def size(self) -> int:
        """Of all its numbers, at least one, because C has no empty arrays."""
        return max(1, int(np.prod(self.shape)))


@dataclass(frozen=True)
class CStruct:
    """A named tuple."""

    name: str
    fields: tuple[tuple[str, CType], ...]

    def field(self, name: str) -> CType:
        """The type of one of its fields."""
        return dict(self.fields)[name]


CType = CScalar | CArray | CStruct
DOUBLE, INT, BOOL = CScalar("double"), CScalar("int"), CScalar("bool")


def c_type_of(value: object, prefix: str) -> CType:
    """The type of a value; structs are called by the class of their named tuple."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = tuple((name, c_type_of(getattr(value, name), prefix)) for name in value._fields)
        return CStruct(f"{prefix}_{type(value).__name__.lower()}", fields)
    if isinstance(value, np.ndarray):
        item = {"f": "double", "i": "int", "u": "int", "b": "bool"}[value.dtype.kind]
        return CArray(item, value.shape)
    if isinstance(value, bool | np.bool_):
        return BOOL
    if isinstance(value, int | np.integer):
        return INT
    if isinstance(value, float | np.floating):
        return DOUBLE
    raise ExportError(f"no C type for {type(value).__name__}")


def c_literal(value: object) -> str:
    """A number, array or named tuple as an initialiser."""
    if isinstance(value, tuple):
        return "{" + ", ".join(c_literal(part) for part in value) + "}"
    if isinstance(value, np.ndarray):
        return "{" + (", ".join(c_literal(part) for part in value.ravel().tolist()) or "0") + "}"
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    number = float(str(value)) if not isinstance(value, float | np.floating) else float(value)
    if np.isnan(number):
        return "NAN"
    if np.isinf(number):
        return "INFINITY" if number > 0.0 else "-INFINITY"
    return repr(number)
