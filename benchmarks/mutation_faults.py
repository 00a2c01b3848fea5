"""The faults of a mutation run: which Cosmic Ray can make, and which of them are none, by rule.

What is left out, because no test could or should notice it; everything else counts, tolerances and limits too:

- *no operator*: the tool takes the star before arguments for a product; what it writes instead is mostly not Python.
- *annotation*: a bar between types becomes another operator; types are for readers and checkers.
- *type checker only*: the condition ``if TYPE_CHECKING``, and the removal of a decorator for type checkers alone.
- *speed only*: the removal of a decorator that compiles or caches; the result is the same by design.
- *guard of zip*: ``strict=True`` becomes False; it is an assertion, which can fail only where something else is wrong.
- *same for constants*: ``==`` becomes ``is``, or the reverse, next to None, a number, a string, a member of an
  enumeration: there is one object of each value, or the interpreter itself warns.
- *length below zero*: ``== 0`` becomes ``<= 0``, or ``> 0`` becomes ``!= 0``, for a count, which is never negative.
"""

from __future__ import annotations

import ast
import sqlite3
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any

TYPES_ONLY = {"no_type_check", "override", "final", "overload"}
SPEED_ONLY = {"njit", "cache", "lru_cache"}
SAME_IF_CONSTANT = {"Eq_Is", "NotEq_IsNot", "Is_Eq", "IsNot_NotEq"}
SAME_IF_COUNT = {"Eq_LtE", "LtE_Eq", "Gt_NotEq", "NotEq_Gt"}
COUNTS = {"size", "ndim"}

Position = tuple[int, int]


@dataclass(frozen=True)
class Fault:
    """A change of one place in the source; lines count from 1, columns from 0."""

    module: str
    operator: str
    occurrence: int
    begin: Position
    end: Position
    function: str

    @property
    def folder(self) -> str:
        """The room of dynid that it is in."""
        return Path(self.module).parts[2]

    def __str__(self) -> str:
        return f"{self.module}:{self.begin[0]} {self.function or ''} {self.operator.removeprefix('core/')}"


class Source:
    """The syntax tree of a module, for questions about places in it."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        nodes = list(ast.walk(ast.parse(text)))
        self.nodes: list[Any] = [node for node in nodes if hasattr(node, "lineno")]
        notes = [getattr(node, kind, None) for node in nodes for kind in ("annotation", "returns")]
        self.annotations = [note for note in notes if isinstance(note, ast.expr)]
        self.decorators = [made for node in nodes for made in getattr(node, "decorator_list", [])]

    def place(self, fault: Fault) -> tuple[Position, Position]:
        """Where it is as syntax trees count: columns in bytes, not in letters."""
        begin, end = ((line, len(self.lines[line - 1][:column].encode())) for line, column in (fault.begin, fault.end))
        return begin, end

    def around(self, fault: Fault, kinds: type[ast.AST] | UnionType) -> list[Any]:
        """The nodes of these kinds that a place lies in, the innermost last."""
        place = self.place(fault)
        nodes = [node for node in self.nodes if isinstance(node, kinds) and _holds(node, place)]
        return sorted(nodes, key=lambda node: (node.lineno, node.col_offset, -node.end_lineno, -node.end_col_offset))

    def at_import(self, fault: Fault) -> bool:
        """Whether importing the module executes the place: it is in the body of no function."""
        functions = self.around(fault, ast.FunctionDef | ast.Lambda)
        bodies = [node.body if isinstance(node.body, list) else [node.body] for node in functions]
        return not any(_holds(statement, self.place(fault)) for body in bodies for statement in body)

    def lines_of(self, fault: Fault) -> range:
        """The lines of the statement that the place is in, but not of what it contains: one of them is executed."""
        around = self.around(fault, ast.stmt)
        body = getattr(around[-1], "body", None) if around else None
        if not around or (body and fault.end[0] >= body[0].lineno):
            return range(fault.begin[0], fault.end[0] + 1)  # a decorator, or what stands on one line with its body
        return range(around[-1].lineno, (body[0].lineno if body else around[-1].end_lineno + 1))

    def exempt(self, fault: Fault) -> str:
        """The rule by which this is no fault; empty if it is one."""
        change = fault.operator.removeprefix("core/").rpartition("Operator_")[2]
        if change.startswith(("Mul_", "Pow_")) and not self._is_operator(fault):
            return "no operator"
        if change.startswith("BitOr_"):
            place = self.place(fault)
            return "annotation" if any(_holds(note, place) for note in self.annotations) else ""
        if change == "RemoveDecorator":
            names = {_named(made) for made in self.decorators if made.lineno == fault.begin[0]}
            return "type checker only" if names & TYPES_ONLY else "speed only" if names & SPEED_ONLY else ""
        if change == "AddNot":
            tests = [_named(node.test) for node in self.around(fault, ast.If)]
            return "type checker only" if tests[-1:] == ["TYPE_CHECKING"] else ""
        if change == "ReplaceTrueWithFalse":
            inner = self.around(fault, ast.Call | ast.keyword)[-2:]
            words = [getattr(node, "arg", _named(node)) for node in inner]
            return "guard of zip" if words == ["zip", "strict"] else ""
        if change in SAME_IF_CONSTANT | SAME_IF_COUNT:
            return self._same(fault, change)
        return ""

    def _is_operator(self, fault: Fault) -> bool:
        """Whether the place is between the two sides of an operation."""
        begin, end = self.place(fault)
        sides = [(node.left, node.right) for node in self.around(fault, ast.BinOp)]
        sides += [(node.target, node.value) for node in self.around(fault, ast.AugAssign)]
        return any(
            (left.end_lineno, left.end_col_offset) <= begin and end <= (right.lineno, right.col_offset)
            for left, right in sides
        )

    def _same(self, fault: Fault, change: str) -> str:
        compared = self.around(fault, ast.Compare)[-1]
        if len(compared.ops) > 1:
            return ""
        sides = [compared.left, compared.comparators[0]]
        if change in SAME_IF_CONSTANT and any(_constant(side) for side in sides):
            return "same for constants"
        zero = isinstance(sides[1], ast.Constant) and sides[1].value == 0
        return "length below zero" if change in SAME_IF_COUNT and _count(sides[0]) and zero else ""


def _holds(node: Any, place: tuple[Position, Position]) -> bool:
    first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return first <= place[0] and place[1] <= last


def _named(node: ast.AST) -> str:
    """The last part of a name, as of ``functools.cache`` or ``njit(...)``."""
    if isinstance(node, ast.Call):
        return _named(node.func)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _constant(node: ast.AST) -> bool:
    """Whether a name says that there is only one such object: None, a literal, Kind.REVOLUTE."""
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, float)
    return isinstance(node, ast.Attribute) and node.attr.isupper() and _named(node.value)[:1].isupper()


def _count(node: ast.AST) -> bool:
    return (isinstance(node, ast.Call) and _named(node) == "len") or getattr(node, "attr", "") in COUNTS


def sources(copy: Path, modules: set[str]) -> dict[str, Source]:
    """The syntax tree of every module."""
    return {module: Source((copy / module).read_text(encoding="utf-8")) for module in modules}


def listed(tool: str, copy: Path, modules: list[str]) -> tuple[list[Fault], Counter[str]]:
    """All faults that the tool can make in these modules, in a fixed order, and how many each rule left out."""
    session = copy / "session.sqlite"
    paths = ", ".join(f'"{module}"' for module in modules)
    (copy / "mutation.toml").write_text(
        f"[cosmic-ray]\nmodule-path = [{paths}]\ntimeout = 1.0\nexcluded-modules = []\n"
        'test-command = "false"\n[cosmic-ray.distributor]\nname = "local"\n',
        encoding="utf-8",
    )
    subprocess.run([tool, "init", "mutation.toml", str(session)], cwd=copy, check=True, stdout=subprocess.DEVNULL)
    rows = sqlite3.connect(session).execute(
        "select module_path, operator_name, occurrence, start_pos_row, start_pos_col, end_pos_row, end_pos_col,"
        " definition_name from mutation_specs"
    )
    found = [Fault(r[0], r[1], r[2], (r[3], r[4]), (r[5], r[6]), r[7]) for r in rows]
    trees = sources(copy, {fault.module for fault in found})
    rules = {fault: trees[fault.module].exempt(fault) for fault in found}
    kept = [fault for fault in found if not rules[fault]]
    kept.sort(key=lambda fault: (fault.module, fault.operator, fault.occurrence))
    return kept, Counter(rule for rule in rules.values() if rule)
