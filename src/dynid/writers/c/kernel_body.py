"""The statements and expressions of one compiled function of Python, as C."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dynid.errors import ExportError
from dynid.writers.c.c_types import BOOL, DOUBLE, INT, CArray, CScalar, CStruct, CType, c_literal, c_type_of

__all__ = ["TAKEN", "KernelBody", "KernelExpressions", "KernelFunction", "KernelValue"]

_FUNCTIONS = {name: name for name in ["isnan", "isfinite", "sqrt", "exp", "log", "sin", "cos", "tanh"]}
_WORDS = (
    "abs acos alignas asm asin atan auto bool break case catch ceil char class const continue cos default delete do "
    "double else enum erf exp explicit export extern fabs far float floor fmod for friend gamma goto hypot if "
    "inline int isfinite isnan jn log long main mutable namespace near new not operator or pow private protected "
    "public register remainder restrict return round short signed sin sizeof sqrt static struct switch tan tanh "
    "template this throw trunc try typedef typename union unsigned using virtual void volatile while xor yn "
)
TAKEN = frozenset(_WORDS.split())
"""Words that C, C++ or their libraries have a meaning for."""
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


@dataclass(frozen=True)
class KernelValue:
    """An expression of C."""

    code: str
    type: CType
    root: str = ""
    """The parameter whose memory it lies in."""
    pointer: bool = False
    """Whether a struct is reached by a pointer."""


@dataclass
class KernelFunction:
    """One function for one set of argument types."""

    name: str
    node: ast.FunctionDef
    scope: Mapping[str, Any]
    parameters: dict[str, CType]
    returns: tuple[CScalar, ...] = ()
    written: set[str] = field(default_factory=set)
    local: dict[str, CType] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)
    overlapping: bool = False
    """Whether some call hands it the same memory twice."""


Adds = Callable[[Callable[..., Any], Sequence[CType]], KernelFunction]
"""Translates a function for some argument types, or finds it translated."""


class KernelExpressions:
    """The expressions of one function."""

    def __init__(
        self,
        prefix: str,
        add: Callable[[Callable[..., Any], Sequence[CType]], KernelFunction],
        function: KernelFunction,
    ) -> None:
        """Translate `function`; what it calls is handed to `add`."""
        self.prefix, self._add, self.f = prefix, add, function

    def fault(self, node: ast.AST, what: str) -> ExportError:
        return ExportError(f"{self.f.node.name}, line {getattr(node, 'lineno', 0)}: {what} has no translation into C")

    def joined(self, a: CType, b: CType) -> Any:
        if a == b:
            return a
        if isinstance(a, CScalar) and isinstance(b, CScalar):
            return DOUBLE if DOUBLE in (a, b) else INT
        if isinstance(a, CArray) and isinstance(b, CArray) and a.item == b.item and len(a.shape) == len(b.shape):
            return CArray(a.item, tuple(x if x == y else -1 for x, y in zip(a.shape, b.shape, strict=True)))
        raise ExportError(f"{self.f.node.name}: one name stands for different kinds of values")

    def value(self, node: ast.expr) -> KernelValue:
        if isinstance(node, ast.Constant):
            return KernelValue(c_literal(node.value), c_type_of(node.value, self.prefix))
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.UnaryOp):
            inner = self.value(node.operand)
            if isinstance(node.op, ast.Not):
                return KernelValue(f"!({inner.code})", BOOL)
            return KernelValue(f"-({inner.code})", inner.type)
        if isinstance(node, ast.BoolOp):
            symbol = " && " if isinstance(node.op, ast.And) else " || "
            return KernelValue(symbol.join(f"({self.value(part).code})" for part in node.values), BOOL)
        if isinstance(node, ast.Compare):
            return self.compare(node)
        if isinstance(node, ast.IfExp):
            a, b = self.value(node.body), self.value(node.orelse)
            return KernelValue(f"(({self.value(node.test).code}) ? {a.code} : {b.code})", self.joined(a.type, b.type))
        if isinstance(node, ast.Call):
            return self.call(node)
        raise self.fault(node, type(node).__name__)

    def name(self, node: ast.Name) -> KernelValue:
        name = node.id
        if name in self.f.parameters:
            kind = self.f.parameters[name]
            return KernelValue(name, kind, name if not isinstance(kind, CScalar) else "", isinstance(kind, CStruct))
        if name in self.f.local:
            kind = self.f.local[name]
            return KernelValue(name, kind, self.f.roots.get(name, ""), isinstance(kind, CStruct))
        if name in self.f.scope and isinstance(self.f.scope[name], bool | int | float | np.number):
            number = self.f.scope[name]
            code = c_literal(number)
            return KernelValue(f"({code})" if code.startswith("-") else code, c_type_of(number, self.prefix))
        raise self.fault(node, f"the name {name!r}")

    def attribute(self, node: ast.Attribute) -> KernelValue:
        if isinstance(node.value, ast.Name) and node.value.id == "np":
            return KernelValue({"inf": "INFINITY", "nan": "NAN", "pi": repr(np.pi)}[node.attr], DOUBLE)
        owner = self.value(node.value)
        if not isinstance(owner.type, CStruct):
            raise self.fault(node, f"the attribute {node.attr!r}")
        mark = "->" if owner.pointer else "."
        return KernelValue(f"{owner.code}{mark}{node.attr}", owner.type.field(node.attr), owner.root)

    def subscript(self, node: ast.Subscript) -> KernelValue:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            whole = self.value(node.value.value).type
            assert isinstance(whole, CArray)
            assert isinstance(node.slice, ast.Constant)
            size = whole.shape[int(str(node.slice.value))]
            if size < 0:
                raise self.fault(node, "the size of a part of an array")
            return KernelValue(str(size), INT)
        array, kind = self.value(node.value), self.value(node.value).type
        if not isinstance(kind, CArray):
            raise self.fault(node, "an index of anything but an array")
        indices = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        cut = isinstance(indices[-1], ast.Slice)
        shape, terms = kind.shape, []
        for k, index in enumerate(indices):
            stride = int(np.prod(shape[k + 1 :]))
            part = index.lower if isinstance(index, ast.Slice) else index
            assert part is not None
            code = self.value(part).code
            terms.append(code if stride == 1 else f"({code}) * {stride}")
        place, rest = " + ".join(terms), shape[len(indices) :]
        if cut:
            return KernelValue(f"({array.code} + {place})", CArray(kind.item, (-1, *rest)), array.root)
        if rest:
            return KernelValue(f"({array.code} + {place})", CArray(kind.item, rest), array.root)
        return KernelValue(f"{array.code}[{place}]", CScalar(kind.item), array.root)

    def binary(self, node: ast.BinOp) -> KernelValue:
        a, b = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Pow):
            if isinstance(node.right, ast.Constant) and node.right.value == 2:
                return KernelValue(f"(({a.code}) * ({a.code}))", a.type)
            return KernelValue(f"pow({a.code}, {b.code})", DOUBLE)
        whole = a.type == INT and b.type == INT
        if isinstance(node.op, ast.Mod):
            return (
                KernelValue(f"(({a.code}) % ({b.code}))", INT)
                if whole
                else KernelValue(f"fmod({a.code}, {b.code})", DOUBLE)
            )
        if isinstance(node.op, ast.FloorDiv) and whole:
            return KernelValue(f"(({a.code}) / ({b.code}))", INT)
        symbol = _OPERATORS.get(type(node.op))
        if symbol is None:
            raise self.fault(node, type(node.op).__name__)
        left = f"(double)({a.code})" if symbol == "/" and whole else a.code
        kind = INT if whole and symbol != "/" else DOUBLE
        return KernelValue(f"({left} {symbol} {b.code})", kind)

    def compare(self, node: ast.Compare) -> KernelValue:
        parts = [self.value(part).code for part in (node.left, *node.comparators)]
        pairs = [
            f"({left} {_COMPARISONS[type(op)]} {right})"
            for left, op, right in zip(parts, node.ops, parts[1:], strict=False)
        ]
        return KernelValue(" && ".join(pairs) if len(pairs) == 1 else f"({' && '.join(pairs)})", BOOL)

    def call(self, node: ast.Call) -> KernelValue:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        numpy_call = isinstance(node.func, ast.Attribute)
        if numpy_call and name in _FUNCTIONS:
            kind = BOOL if name.startswith("is") else DOUBLE
            return KernelValue(f"{_FUNCTIONS[name]}({self.value(node.args[0]).code})", kind)
        if name in ("min", "max", "abs", "int", "float", "bool", "sign"):
            return self.builtin(name, [self.value(part) for part in node.args])
        function, arguments = self.called(node)
        kind = function.returns[0] if function.returns else DOUBLE
        return KernelValue(f"{function.name}({', '.join(arguments)})", kind)

    def builtin(self, name: str, parts: list[KernelValue]) -> KernelValue:
        codes = [part.code for part in parts]
        if name in ("min", "max"):
            kind = self.joined(parts[0].type, parts[1].type)
            mark = "i" if kind == INT else "d"
            return KernelValue(f"{self.prefix}_{name}{mark}({codes[0]}, {codes[1]})", kind)
        if name == "abs":
            return KernelValue(f"{'abs' if parts[0].type == INT else 'fabs'}({codes[0]})", parts[0].type)
        if name == "sign":
            return KernelValue(f"{self.prefix}_sign({codes[0]})", DOUBLE)
        kind = {"int": INT, "float": DOUBLE, "bool": BOOL}[name]
        return KernelValue(f"({kind.name})({codes[0]})", kind)

    def called(self, node: ast.Call) -> tuple[KernelFunction, list[str]]:
        if not isinstance(node.func, ast.Name) or node.func.id not in self.f.scope:
            raise self.fault(node, "this call")
        values = [self.value(part) for part in node.args]
        function = self._add(self.f.scope[node.func.id], [value.type for value in values])
        whole = {value.root for value in values if isinstance(value.type, CStruct) and value.code == value.root}
        pointers = [value for value in values if not isinstance(value.type, CScalar)]
        places = [value.root if value.root in whole else value.code for value in pointers]
        function.overlapping |= len(set(places)) < len(places)
        arguments = []
        for name, value in zip(function.parameters, values, strict=True):
            if name in function.written and value.root:
                self.f.written.add(value.root)
            address = "&" if isinstance(value.type, CStruct) and not value.pointer else ""
            arguments.append(f"{address}{value.code}")
        return function, arguments


class KernelBody(KernelExpressions):
    """The statements of one function."""

    def __init__(self, prefix: str, add: Adds, function: KernelFunction) -> None:
        """Translate `function`; what it calls is handed to `add`."""
        super().__init__(prefix, add, function)
        self.lines: list[str] = []
        self.depth = 0
        self._temporary = 0

    def translate(self) -> None:
        """Fill in the body; twice, because a number may turn out to be a double only later."""
        while True:
            before = dict(self.f.local)
            self.lines, self._temporary = [], 0
            self.block(self.f.node.body)
            if self.f.local == before:
                break
        self.f.body = self.lines

    def out(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Call):
                self.out(f"{self.value(node.value).code};")
        elif isinstance(node, ast.Assign):
            self.assign(node.targets[0], node.value)
        elif isinstance(node, ast.AugAssign):
            self.augment(node)
        elif isinstance(node, ast.If):
            self.condition(node)
        elif isinstance(node, ast.For):
            self.loop(node)
        elif isinstance(node, ast.While):
            self.out(f"while ({self.value(node.test).code}) {{")
            self.inner(node.body)
        elif isinstance(node, ast.Return):
            self.give_back(node)
        elif isinstance(node, ast.Continue | ast.Break):
            self.out("continue;" if isinstance(node, ast.Continue) else "break;")
        elif not isinstance(node, ast.Pass):
            raise self.fault(node, type(node).__name__)

    def inner(self, body: Sequence[ast.stmt]) -> None:
        self.depth += 1
        self.block(body)
        self.depth -= 1
        self.out("}")

    def condition(self, node: ast.If) -> None:
        self.out(f"if ({self.value(node.test).code}) {{")
        self.inner(node.body)
        if node.orelse:
            self.lines[-1] += " else {"
            self.inner(node.orelse)

    def loop(self, node: ast.For) -> None:
        call = node.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"):
            raise self.fault(node, "a loop over anything but a range")
        assert isinstance(node.target, ast.Name)
        parts = [self.value(part).code for part in call.args]
        first, last = ("0", parts[0]) if len(parts) == 1 else parts[:2]
        down = len(parts) == 3
        name = node.target.id
        self.declare(name, INT)
        test, step = (">", "--") if down else ("<", "++")
        self.out(f"for ({name} = {first}; {name} {test} {last}; {name}{step}) {{")
        self.inner(node.body)

    def give_back(self, node: ast.Return) -> None:
        if node.value is None:
            self.out("return;")
            return
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        found = [self.value(value) for value in values]
        kinds = tuple(value.type for value in found)
        known = self.f.returns or kinds
        self.f.returns = tuple(self.joined(a, b) for a, b in zip(known, kinds, strict=True))
        if len(found) == 1:
            self.out(f"return {found[0].code};")
            return
        for k, value in enumerate(found):
            self.out(f"*returned{k} = {value.code};")
        self.out("return;")

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if not isinstance(target, ast.Tuple):
            self.store(target, self.value(value))
            return
        if isinstance(value, ast.Call):
            self.assign_call(target, value)
            return
        assert isinstance(value, ast.Tuple)
        found = [self.value(part) for part in value.elts]
        held = []
        for part in found:
            if isinstance(part.type, CScalar) and not part.code.replace(".", "").isdigit():
                name = f"held{self._temporary}"
                self._temporary += 1
                self.declare(name, part.type)
                self.out(f"{name} = {part.code};")
                part = KernelValue(name, part.type)
            held.append(part)
        for place, part in zip(target.elts, held, strict=True):
            self.store(place, part)

    def assign_call(self, target: ast.Tuple, value: ast.Call) -> None:
        function, arguments = self.called(value)
        names = [place.id for place in target.elts if isinstance(place, ast.Name)]
        if len(names) != len(function.returns):
            raise self.fault(value, "this call")
        for name, kind in zip(names, function.returns, strict=True):
            self.declare(name, kind)
        self.out(f"{function.name}({', '.join([*arguments, *(f'&{name}' for name in names)])});")

    def store(self, target: ast.expr, value: KernelValue) -> None:
        if isinstance(target, ast.Name):
            self.declare(target.id, value.type, value.root)
            address = "&" if isinstance(value.type, CStruct) and not value.pointer else ""
            self.out(f"{target.id} = {address}{value.code};")
            return
        place = self.place(target)
        self.out(f"{place.code} = {self.fitted(value, place.type)};")

    def augment(self, node: ast.AugAssign) -> None:
        symbol = _OPERATORS.get(type(node.op))
        if symbol is None:
            raise self.fault(node, type(node.op).__name__)
        value = self.value(node.value)
        if isinstance(node.target, ast.Name):
            kind = self.f.local.get(node.target.id, value.type)
            self.declare(node.target.id, self.joined(kind, value.type))
            self.out(f"{node.target.id} {symbol}= {value.code};")
            return
        place = self.place(node.target)
        self.out(f"{place.code} {symbol}= {value.code};")

    def place(self, target: ast.expr) -> KernelValue:
        if not isinstance(target, ast.Subscript):
            raise self.fault(target, "this assignment")
        place = self.value(target)
        if place.root:
            self.f.written.add(place.root)
        return place

    def fitted(self, value: KernelValue, kind: CType) -> str:
        return f"(int)({value.code})" if kind == INT and value.type == DOUBLE else value.code

    def declare(self, name: str, kind: CType, root: str = "") -> None:
        if name in self.f.parameters:
            return
        self.f.local[name] = self.joined(self.f.local.get(name, kind), kind)
        if root:
            self.f.roots[name] = root
