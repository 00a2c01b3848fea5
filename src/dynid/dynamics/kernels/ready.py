"""The kernels of every job, ready at the first call: machine code of `batch` and `paths`, or numba where there is none.

Both run the same operations in the same order; results are the same but for rounding.
"""

from __future__ import annotations

import ctypes
import threading
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.dynamics.kernels.chains import ChainArrays, lane_shapes
from dynid.dynamics.kernels.machine_code import BATCH, array_fields, machine_kernel

__all__ = ["fill_columns", "fill_regressor", "fill_torques", "follow_dahl"]

MOST_TABLES = 64
"""Tables of arguments that a thread keeps; a job has a few robots, and three kernels for each."""


def fill_regressor(
    chain: ChainArrays,
    q: Float[Array, "n_samples n_dof"],
    dq: Float[Array, "n_samples n_dof"],
    ddq: Float[Array, "n_samples n_dof"],
    start: int,
    stop: int,
    out: Float[Array, "n_samples n_dof n_params"],
) -> None:
    """Write samples `start` to `stop` of the inertial regressor (SI) into out[sample, joint, 10·link + parameter].

    Entries of links that a joint does not carry are left as they are: zero.
    """
    q, dq, ddq = np.ascontiguousarray(q), np.ascontiguousarray(dq), np.ascontiguousarray(ddq)
    if not _ran("regressor_kernel", chain, q, dq, ddq, start, stop, _written(out)):
        from dynid.dynamics.kernels.batch import compiled_regressor

        compiled_regressor(chain, q, dq, ddq, start, stop, out)


def fill_columns(
    chain: ChainArrays,
    q: Float[Array, "n_samples n_dof"],
    dq: Float[Array, "n_samples n_dof"],
    ddq: Float[Array, "n_samples n_dof"],
    place: Int[Array, "n_dof n_params"],
    out: Float[Array, "n_columns n_samples"],
) -> None:
    """Write entry (joint, column) of the inertial regressor (SI) over all samples into out[place[joint, column]].

    Where `place` is negative nothing is written.
    """
    q, dq, ddq = np.ascontiguousarray(q), np.ascontiguousarray(dq), np.ascontiguousarray(ddq)
    place, flat = np.ascontiguousarray(place, dtype=np.int64), _written(out).reshape(-1)
    if not _ran("columns_kernel", chain, q, dq, ddq, place, flat):
        from dynid.dynamics.kernels.batch import compiled_columns

        compiled_columns(chain, q, dq, ddq, place, flat)


def fill_torques(
    chain: ChainArrays,
    q: Float[Array, "n_samples n_dof"],
    dq: Float[Array, "n_samples n_dof"],
    ddq: Float[Array, "n_samples n_dof"],
    links: Float[Array, "n_dof 10"],
    start: int,
    stop: int,
    tau: Float[Array, "n_samples n_dof"],
    wrench: Float[Array, "n_samples n_dof 6"],
) -> None:
    """Write the torque of every joint (N·m or N), and the wrench it passes on (N, N·m), of samples `start` to `stop`.

    Wrenches are in link axes about the link origin, force first.
    """
    q, dq, ddq = np.ascontiguousarray(q), np.ascontiguousarray(dq), np.ascontiguousarray(ddq)
    links = np.ascontiguousarray(links)
    if not _ran("torque_kernel", chain, q, dq, ddq, links, start, stop, _written(tau), _written(wrench)):
        from dynid.dynamics.kernels.batch import newton_euler

        newton_euler(chain, q, dq, ddq, links, start, stop, tau, wrench)


def follow_dahl(
    q: Float[Array, "n_samples n_dof"], length: Float[Array, " n_dof"], z: Float[Array, "n_samples n_dof"]
) -> None:
    """Fill Dahl's state z of every joint from its first sample on, along the path q (rad or m)."""
    q, length = np.ascontiguousarray(q), np.ascontiguousarray(length)
    called = machine_kernel(BATCH, "compiled_dahl")
    if called is None:
        from dynid.dynamics.kernels.paths import compiled_dahl

        compiled_dahl(q, length, z)
        return
    numbers = (*array_fields(q), *array_fields(length), *array_fields(z))
    called((ctypes.c_int64 * len(numbers))(*numbers))


class _Table(NamedTuple):
    """The arguments of a kernel for one robot; those between `first` and `last` are new at every call."""

    numbers: ctypes.Array[ctypes.c_int64]
    first: int
    last: int
    chain: ChainArrays
    work: tuple[Array, ...]
    """Arrays that the kernel works in; both are kept because their addresses stand in the table."""


class _Tables(threading.local):
    """Tables of this thread, which no other works in, by kernel and robot."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, int], _Table] = {}


_TABLES = _Tables()


def _ran(name: str, chain: ChainArrays, *arguments: Array | int) -> bool:
    """Whether there is machine code of a kernel, which then has run."""
    called = machine_kernel(BATCH, name)
    if called is None:
        return False
    numbers: list[ctypes.c_int64 | int] = []
    for argument in arguments:
        if isinstance(argument, int):
            numbers.append(argument)
        else:
            numbers.extend(array_fields(argument))
    # The table keeps the robot alive, so that no other one gets its identity.
    table = _TABLES.known.get((name, id(chain))) or _new_table(name, chain, len(numbers))
    table.numbers[table.first : table.last] = numbers
    called(table.numbers)
    return True


def _new_table(name: str, chain: ChainArrays, n_arguments: int) -> _Table:
    work = tuple(map(np.empty, lane_shapes(len(chain.parent))))
    before = [number for array in chain for number in array_fields(array)]
    after = [number for array in work for number in array_fields(array)]
    numbers = [*before, *[0] * n_arguments, *after]
    table = (ctypes.c_int64 * len(numbers))(*numbers)
    if len(_TABLES.known) >= MOST_TABLES:
        _TABLES.known.clear()
    found = _Table(table, len(before), len(before) + n_arguments, chain, work)
    _TABLES.known[name, id(chain)] = found
    return found


def _written(out: Array) -> Array:
    assert out.flags.c_contiguous, "kernels write into contiguous arrays only"
    return out
