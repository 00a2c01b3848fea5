"""Write LLVM's intermediate code of the kernels that come with dynid: ``make kernels``, after a change of their source.

numba translates them and LLVM inlines and vectorises, for processors with vectors of 256 bits; others run the result as
well. What is left for the machine of a user is the last step, from intermediate to machine code
(`dynid.dynamics.kernels.machine_code`). Bundles whose sources are as they were are left alone; ``--all`` writes all.
What numba keeps on disk is not used: it knows when the file of a kernel has changed, not when one that it calls has.
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

TUNED_FOR = "x86-64-v3"
"""Whose costs decide how wide loops are vectorised, whatever processor this runs on."""
FRESH = TemporaryDirectory()
os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = TUNED_FOR, ""  # read when numba is imported
os.environ["NUMBA_CACHE_DIR"] = FRESH.name

from numba import typeof, types  # noqa: E402

from dynid.dynamics.kernels import batch, bound, paths  # noqa: E402
from dynid.dynamics.kernels.chains import ChainArrays, LaneArrays, lane_shapes  # noqa: E402
from dynid.dynamics.kernels.machine_code import BATCH, Bundle, machine_kernel  # noqa: E402
from dynid.dynamics.kernels.translation import intermediate_code, kernel_module  # noqa: E402

Found = dict[str, tuple[Any, tuple[Any, ...]]]
"""Compiled functions and the types of their arguments, by the names of their entries."""


def array(n_axes: int, item: Any = types.float64, layout: str = "C") -> Any:
    """The type of an array."""
    return types.Array(item, n_axes, layout)


def batch_kernels() -> Found:
    """The kernels that every job needs."""
    number, table, cube = types.int64, array(2), array(3)
    chain = types.NamedTuple([array(1, number), *[table] * 5, array(1)], ChainArrays)
    work = types.NamedTuple([array(len(shape)) for shape in lane_shapes(1)], LaneArrays)
    motion = (table, table, table)
    found = [
        (batch.regressor_kernel, (chain, *motion, number, number, cube, work)),
        (batch.columns_kernel, (chain, *motion, array(2, number), array(1), work)),
        (batch.torque_kernel, (chain, *motion, table, number, number, table, cube, work)),
        (paths.compiled_dahl, (table, array(1), array(2, layout="A"))),
    ]
    return {function.__name__: (function, arguments) for function, arguments in found}


@contextmanager
def called_kernels() -> Iterator[dict[Bundle, Found]]:
    """Every kernel that is called with its arguments inside the block, by bundle."""
    found: dict[Bundle, Found] = {}
    usual = bound.BoundKernel.__call__

    def heard(kernel: bound.BoundKernel) -> int:
        types_now = tuple(typeof(argument) for argument in kernel.arguments)
        found.setdefault(kernel.bundle, {})[kernel.entry] = (kernel.function, types_now)
        return usual(kernel)

    bound.BoundKernel.__call__ = heard  # type: ignore[method-assign]
    try:
        yield found
    finally:
        bound.BoundKernel.__call__ = usual  # type: ignore[method-assign]


def write(bundle: Bundle, found: Found) -> None:
    """Translate the kernels of a bundle, link all and write."""
    modules = (kernel_module(function, name, arguments) for name, (function, arguments) in sorted(found.items()))
    text = intermediate_code(modules, found)
    bundle.file.write_bytes(gzip.compress(f"; {bundle.digest}\n{text}\n".encode("ascii"), 9, mtime=0))
    print(f"{bundle.file.name}: {len(found)} kernels, {bundle.file.stat().st_size} bytes", flush=True)


def main(options: Sequence[str]) -> None:
    """Write the bundles whose sources have changed, or all."""
    from kernel_jobs import run_jobs

    with called_kernels() as called:
        run_jobs()
    called[BATCH] = {**batch_kernels(), **called[BATCH]}
    for bundle, found in called.items():
        if "--all" in options or any(machine_kernel(bundle, name) is None for name in found):
            write(bundle, found)


if __name__ == "__main__":
    main(sys.argv[1:])
