"""A kernel with its arguments: arrays, numbers, and named tuples of them, flattened once into a table."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from dynid.dynamics.kernels.machine_code import (
    Bundle,
    MachineKernel,
    array_fields,
    keep_machine_code,
    machine_kernel,
)

__all__ = ["BoundKernel", "run_kernel"]


class BoundKernel:
    """A compiled function and what it is called with; the arrays stay where they are, single numbers may change.

    Its machine code comes from a bundle of intermediate code, or, where that has none for these types, from numba.
    """

    def __init__(self, bundle: Bundle, function: Any, *arguments: object) -> None:
        self.bundle, self.function, self.arguments = bundle, function, arguments
        numbers: list[int] = []
        kinds: list[str] = []
        places = []
        for argument in arguments:
            places.append(len(numbers))
            for kind, fields in _leaves(argument):
                kinds.append(kind)
                numbers.extend(fields)
        self.entry = f"{function.__name__}_{hashlib.sha256(' '.join(kinds).encode()).hexdigest()[:8]}"
        """Name of the machine code: the function, and a digest of the types of its arguments."""
        self._places = tuple(places)
        # Behind the arguments there is room for the result.
        self._table = np.array([*numbers, 0], dtype=np.int64)
        self._floats = self._table.view(np.float64)
        self._address = self._table.ctypes.data
        self._called: MachineKernel | None = None

    def __repr__(self) -> str:
        return f"BoundKernel({self.entry})"

    def set_float(self, place: int, value: float) -> None:
        """Another value of the argument at this place, which is a single number."""
        self._floats[self._places[place]] = value

    def set_int(self, place: int, value: int) -> None:
        """Another value of the argument at this place, which is a whole number."""
        self._table[self._places[place]] = value

    def __call__(self) -> int:
        """Run it; what it gives: a whole number or a truth, 0 where nothing."""
        if self._called is None:
            self._called = machine_kernel(self.bundle, self.entry) or _translated(self)
        if self._called(self._address):
            raise ArithmeticError(f"{self.function.__name__} ended with an error")
        return int(self._table[-1])


def run_kernel(bundle: Bundle, function: Any, *arguments: object) -> int:
    """Call a compiled function once; for arguments that are others every time."""
    return BoundKernel(bundle, function, *arguments)()


def _leaves(value: object) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The kind of every number and array in an argument, and the numbers that compiled code takes for it."""
    if isinstance(value, tuple):
        for part in value:
            yield from _leaves(part)
    elif isinstance(value, np.ndarray):
        order = "C" if value.flags.c_contiguous else "A"
        yield f"{value.dtype.str}{value.ndim}{order}", array_fields(value)
    elif isinstance(value, bool | np.bool_):
        yield "bool", (int(value),)
    elif isinstance(value, int | np.integer):
        yield "int", (int(value),)
    elif isinstance(value, float):
        yield "float", struct.unpack("q", struct.pack("d", value))
    else:
        raise TypeError(f"kernels take arrays and numbers, not {type(value).__name__}")


def _translated(kernel: BoundKernel) -> MachineKernel:
    """By numba, from the sources beside this one; slow once on a machine."""
    import numba

    def text() -> str:
        from dynid.dynamics.kernels.translation import intermediate_code, kernel_module

        types = tuple(numba.typeof(argument) for argument in kernel.arguments)
        return intermediate_code([kernel_module(kernel.function, kernel.entry, types)], [kernel.entry])

    return keep_machine_code(kernel.entry, f"{numba.__version__} {kernel.bundle.digest} {kernel.entry}", text)
