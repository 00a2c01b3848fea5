"""Write LLVM's intermediate code of the kernels that every job needs: ``make kernels``, after a change of their source.

numba translates them and LLVM inlines and vectorises, for processors with vectors of 256 bits; others run the result as
well. What is left for the machine of a user is the last step, from intermediate to machine code
(`dynid.dynamics.kernels.machine_code`).
"""

from __future__ import annotations

import gzip
import os
import re
from typing import Any

TUNED_FOR = "x86-64-v3"
"""Whose costs decide how wide loops are vectorised, whatever processor this runs on."""
os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = TUNED_FOR, ""  # read when numba is imported

import llvmlite.binding as llvm  # noqa: E402
from numba import njit, types  # noqa: E402

from dynid.dynamics.kernels import batch, paths  # noqa: E402
from dynid.dynamics.kernels.chains import ChainArrays, LaneArrays, lane_shapes  # noqa: E402
from dynid.dynamics.kernels.machine_code import INTERMEDIATE, sources_digest  # noqa: E402

ONE_MACHINE_ONLY = r"(?m)^(; ModuleID|source_filename|target (triple|datalayout)).*\n"
ONE_LLVM_ONLY = r" captures\(none\)| range\([^)]*\)"
"""Attributes that older versions of LLVM cannot read."""


def array(n_axes: int, item: Any = types.float64, layout: str = "C") -> Any:
    """The type of an array."""
    return types.Array(item, n_axes, layout)


def kernels() -> list[tuple[Any, set[str], tuple[Any, ...]]]:
    """Each kernel, what LLVM may do to its sums, and the types of its arguments."""
    number, table, cube = types.int64, array(2), array(3)
    chain = types.NamedTuple([array(1, number), *[table] * 5, array(1)], ChainArrays)
    work = types.NamedTuple([array(len(shape)) for shape in lane_shapes(1)], LaneArrays)
    motion = (table, table, table)
    return [
        (batch.regressor_kernel, {"contract"}, (chain, *motion, number, number, cube, work)),
        (batch.columns_kernel, {"contract"}, (chain, *motion, array(2, number), array(1), work)),
        (batch.torque_kernel, {"contract"}, (chain, *motion, table, number, number, table, cube, work)),
        (paths.compiled_dahl, set(), (table, array(1), array(2, layout="A"))),
    ]


def translated(function: Any, fastmath: set[str], arguments: tuple[Any, ...]) -> Any:
    """A kernel as a module of LLVM, with an `entry` of its name."""
    compiled = njit(
        nogil=True,
        fastmath=fastmath,
        error_model="numpy",
        _nrt=False,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(function.py_func)
    compiled.compile(arguments)
    (found,) = compiled.overloads.values()
    name, inside = function.__name__, f"{function.__name__}.numba"
    text = found.library.get_llvm_str().replace(found.fndesc.llvm_func_name, inside)
    numbers = [str(argument.type) for argument in llvm.parse_assembly(text).get_function(inside).arguments]
    return llvm.parse_assembly(f"{text}\n{entry(name, inside, numbers[2:])}")


def entry(name: str, inside: str, numbers: list[str]) -> str:
    """A function that reads the arguments of a kernel, of these types, from a table with eight bytes for each.

    numba's convention has two more in front, for a result and for an error; the kernels have neither.
    """
    lines = [f"define i32 @{name}(ptr %table) {{", "  %none = alloca ptr", "  store ptr null, ptr %none"]
    for k, kind in enumerate(numbers):
        lines += [f"  %p{k} = getelementptr i64, ptr %table, i64 {k}", f"  %a{k} = load {kind}, ptr %p{k}"]
    given = ", ".join(["ptr %none", "ptr %none", *(f"{kind} %a{k}" for k, kind in enumerate(numbers))])
    return "\n".join([*lines, f"  %status = call i32 @{inside}({given})", "  ret i32 %status", "}"])


def main() -> None:
    """Translate each, link all and write."""
    whole = llvm.parse_assembly("")
    for one in kernels():
        whole.link_in(translated(*one))
    names = {function.__name__ for function, _, _ in kernels()}
    for value in (*whole.functions, *whole.global_variables):
        if not value.is_declaration and value.name not in names:
            value.linkage = "internal"
    whole.verify()
    text = re.sub(ONE_LLVM_ONLY, "", re.sub(ONE_MACHINE_ONLY, "", str(whole)))
    text = re.sub(r"(?m)^(attributes #\d+ =) .*$", r"\1 { nounwind }", text)
    INTERMEDIATE.write_bytes(gzip.compress(f"; {sources_digest()}\n{text}\n".encode("ascii"), 9, mtime=0))
    print(f"{INTERMEDIATE.name}: {INTERMEDIATE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
