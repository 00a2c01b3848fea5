"""Compiled functions of Python as C: the same loops over the same numbers, with every size written out.

The functions of `dynid.tracking` that numba compiles keep to a small language: numbers, arrays of fixed size, named
tuples of them, loops, conditions, and each other. Here they are read as they stand and written as C for the sizes of
one robot. What runs in a controller is so what was tested in Python, and not a second version of it.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dynid.writers.c.c_types import BOOL, DOUBLE, INT, CArray, CScalar, CStruct, CType
from dynid.writers.c.kernel_body import TAKEN, KernelBody, KernelFunction

__all__ = ["KernelTranslator"]


class KernelTranslator:
    """Collects functions for their argument types, and everything they call."""

    def __init__(self, prefix: str, written: Mapping[Callable[..., Any], Sequence[str]] | None = None) -> None:
        """Translate all but what is `written` already: lines of C for functions that give back one number."""
        self.prefix = prefix
        self._written = {_plain(function): list(lines) for function, lines in (written or {}).items()}
        self._done: dict[tuple[str, tuple[CType, ...]], KernelFunction] = {}
        self.functions: list[KernelFunction] = []
        """In the order in which C must see them."""

    def add(self, function: Callable[..., Any], types: Sequence[CType]) -> KernelFunction:
        """Translate a compiled function for these argument types; the same one again is found."""
        plain = _plain(function)
        key = (f"{plain.__module__}.{plain.__qualname__}", tuple(types))
        if key in self._done:
            return self._done[key]
        node = ast.parse(textwrap.dedent(inspect.getsource(plain))).body[0]
        assert isinstance(node, ast.FunctionDef)
        _rename(node)
        names = [argument.arg for argument in node.args.args]
        n_same = sum(other.node.name == node.name for other in self._done.values())
        name = f"{self.prefix}_{node.name.strip('_')}" + (f"_{n_same + 1}" if n_same else "")
        made = KernelFunction(name, node, plain.__globals__, dict(zip(names, types, strict=True)))
        self._done[key] = made
        if plain in self._written:
            made.body, made.returns = self._written[plain], (DOUBLE,)
        else:
            KernelBody(self.prefix, self.add, made).translate()
        self.functions.append(made)
        return made

    def code(self) -> str:
        """All functions as static C."""
        return "\n\n".join(_definition(function, self.prefix) for function in self.functions)

    def structs(self, types: Sequence[CType]) -> str:
        """Definitions of all structs among these types."""
        seen: dict[str, str] = {}
        for kind in types:
            _collect(kind, seen)
        return "\n\n".join(seen.values())


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return inspect.unwrap(getattr(function, "py_func", function))


def _rename(node: ast.FunctionDef) -> None:
    """Give another name to arguments and variables that are words of C."""
    own = {argument.arg for argument in node.args.args}
    own |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in own & TAKEN:
            part.id += "_"
        elif isinstance(part, ast.arg) and part.arg in TAKEN:
            part.arg += "_"


def _collect(kind: CType, seen: dict[str, str]) -> None:
    if not isinstance(kind, CStruct) or kind.name in seen:
        return
    lines = []
    for name, part in kind.fields:
        _collect(part, seen)
        if isinstance(part, CArray):
            lines.append(f"    {part.item} {name}[{part.size}];")
        else:
            lines.append(f"    {part.name} {name};")
    seen[kind.name] = f"typedef struct {{\n{chr(10).join(lines)}\n}} {kind.name};"


def _declared(name: str, kind: CType, *, constant: bool, mark: str = "") -> str:
    if isinstance(kind, CScalar):
        return f"{kind.name} {name}"
    inner = kind.item if isinstance(kind, CArray) else kind.name
    return f"{'const ' if constant else ''}{inner} *{mark}{name}"


def _definition(function: KernelFunction, prefix: str) -> str:
    # The compiler keeps numbers in registers only where it knows that no other argument reaches them.
    mark = "" if function.overlapping else f"{prefix.upper()}_RESTRICT "
    parameters = [
        _declared(name, kind, constant=name not in function.written, mark=mark)
        for name, kind in function.parameters.items()
    ]
    single = len(function.returns) == 1
    if len(function.returns) > 1:
        parameters += [f"{kind.name} *returned{k}" for k, kind in enumerate(function.returns)]
    result = function.returns[0].name if single else "void"
    lines = [f"static {result} {function.name}({', '.join(parameters)})", "{"]
    for name, kind in function.local.items():
        constant = function.roots.get(name, "") not in function.written
        if isinstance(kind, CScalar):
            zero = "false" if kind == BOOL else "0" if kind == INT else "0.0"
            lines.append(f"    {kind.name} {name} = {zero};")
        else:
            lines.append(f"    {_declared(name, kind, constant=constant)} = 0;")
    lines += [f"    (void){name};" for name in (*function.parameters, *function.local)]
    lines += [f"    {line}" for line in function.body]
    return "\n".join([*lines, "}"])
