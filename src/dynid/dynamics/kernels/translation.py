"""Compiled functions as LLVM's intermediate code, with an entry that reads its arguments from a table of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm
from numba import njit

from dynid.dynamics.kernels.stored import ready_for_numba

__all__ = ["intermediate_code", "kernel_module"]

ONE_MACHINE_ONLY = r"(?m)^(; ModuleID|source_filename|target (triple|datalayout)).*\n"
ONE_LLVM_ONLY = r" captures\(none\)| range\([^)]*\)"
"""Attributes that older versions of LLVM cannot read."""


def kernel_module(function: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    """A function that numba compiles, for arguments of these types, as a module of LLVM with an entry of that name."""
    ready_for_numba(function.py_func)
    compiled = njit(
        nogil=True,
        fastmath=function.targetoptions.get("fastmath", False),
        error_model="numpy",
        _nrt=False,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(function.py_func)
    compiled.compile(arguments)
    (found,) = compiled.overloads.values()
    inside = f"{name}.numba"
    text = found.library.get_llvm_str().replace(found.fndesc.llvm_func_name, inside)
    numbers = [str(argument.type) for argument in llvm.parse_assembly(text).get_function(inside).arguments]
    gives = str(found.signature.return_type) != "none"
    return llvm.parse_assembly(f"{text}\n{_entry(name, inside, numbers[2:], gives=gives)}")


def intermediate_code(modules: Iterable[Any], names: Iterable[str]) -> str:
    """The text of all modules linked, for any processor; only the entries are seen from outside."""
    whole = llvm.parse_assembly("")
    for module in modules:
        whole.link_in(module)
    known = set(names)
    for value in (*whole.functions, *whole.global_variables):
        if not value.is_declaration and value.name not in known:
            value.linkage = "internal"
    whole.verify()
    text = re.sub(ONE_LLVM_ONLY, "", re.sub(ONE_MACHINE_ONLY, "", str(whole)))
    return re.sub(r"(?m)^(attributes #\d+ =) .*$", r"\1 { nounwind }", text)


def _entry(name: str, inside: str, numbers: list[str], *, gives: bool) -> str:
    """A function that reads the arguments of a kernel, of these types, from a table with eight bytes for each.

    numba's convention has two more in front, for a result and for an error. What the kernel gives comes behind the
    arguments.
    """
    lines = [f"define i32 @{name}(ptr %table) {{", "  %given = alloca i64", "  store i64 0, ptr %given"]
    lines += ["  %error = alloca ptr", "  store ptr null, ptr %error"]
    for k, kind in enumerate(numbers):
        lines += [f"  %p{k} = getelementptr i64, ptr %table, i64 {k}", f"  %a{k} = load {kind}, ptr %p{k}"]
    taken = ", ".join(["ptr %given", "ptr %error", *(f"{kind} %a{k}" for k, kind in enumerate(numbers))])
    lines.append(f"  %status = call i32 @{inside}({taken})")
    if gives:
        lines += [f"  %last = getelementptr i64, ptr %table, i64 {len(numbers)}"]
        lines += ["  %result = load i64, ptr %given", "  store i64 %result, ptr %last"]
    return "\n".join([*lines, "  ret i32 %status", "}"])
