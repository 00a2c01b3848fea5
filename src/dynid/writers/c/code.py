"""Arithmetic on numbers not yet known, as a graph that prints as C: zeros vanish, constants fold, nothing is twice."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dynid.arrays import Array
from dynid.errors import ExportError

__all__ = [
    "C_FUNCTIONS",
    "UNITY",
    "ZERO",
    "Code",
    "Scalar",
    "ScalarTriple",
    "c_comment",
    "c_name",
    "cross",
    "dot",
    "literal",
]

ROUND_OFF = 1e-15
"""Relative to 1: constants this close to 0 or ±1 come from cos(π/2) and their like, and are taken to be them."""


@dataclass(frozen=True)
class Scalar:
    """A constant, or a constant times a C expression that needs no brackets."""

    factor: float
    """Dimensionless multiple; the value itself for a constant."""
    atom: str | None = None
    """A variable or an array entry; None for a constant."""

    def __neg__(self) -> Scalar:
        return Scalar(-self.factor, self.atom) if self.factor else self

    @property
    def is_zero(self) -> bool:
        """Whether it is the constant 0."""
        return self.factor == 0.0

    @property
    def atoms(self) -> tuple[str, ...]:
        """The atom, if there is one."""
        return () if self.atom is None else (self.atom,)

    def __str__(self) -> str:
        if self.atom is None:
            return literal(self.factor)
        if abs(self.factor) == 1.0:
            return self.atom if self.factor > 0.0 else f"-{self.atom}"
        return f"{literal(self.factor)}*{self.atom}"

    def at(self, values: Mapping[str, Array]) -> Array:
        """Its value where the atoms have these values (SI)."""
        return np.asarray(self.factor if self.atom is None else self.factor * values[self.atom])


ZERO, UNITY = Scalar(0.0), Scalar(1.0)
"""The constants 0 and 1."""
ScalarTriple = tuple[Scalar, Scalar, Scalar]
"""A vector in space."""
Product = tuple[Scalar, ...]
"""Scalars to be multiplied."""
Functions = Mapping[str, Callable[[Array], Array]]
"""What functions of one number compute, by name."""
C_FUNCTIONS: Functions = {
    "cos": np.cos,
    "sin": np.sin,
    "tanh": np.tanh,
    "exp": np.exp,
    "fabs": np.abs,
}
"""What the functions of the C library that a header calls compute."""


def constant(value: float) -> Scalar:
    """A geometric constant (any unit), free of round-off."""
    for exact in (0.0, 1.0, -1.0):
        if abs(value - exact) < ROUND_OFF:
            return Scalar(exact)
    return Scalar(float(value))


def literal(value: float) -> str:
    """A number (any unit) as C writes a double, exact to the last bit."""
    if np.isinf(value):
        return "HUGE_VAL" if value > 0.0 else "-HUGE_VAL"
    return repr(float(value))


def cross(a: ScalarTriple, b: ScalarTriple) -> tuple[list[Product], list[Product], list[Product]]:
    """The products whose sums are the entries of a × b."""
    return (
        [(a[1], b[2]), (-a[2], b[1])],
        [(a[2], b[0]), (-a[0], b[2])],
        [(a[0], b[1]), (-a[1], b[0])],
    )


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Product]:
    """The products whose sum is a · b."""
    return list(zip(a, b, strict=True))


@dataclass(frozen=True)
class Sum:
    """A sum of products, the value of one variable."""

    terms: tuple[tuple[float, tuple[str, ...]], ...]
    """Factor and atoms of each product; the first factor is positive."""

    @property
    def atoms(self) -> tuple[str, ...]:
        """What it is computed from."""
        return tuple(atom for _, atoms in self.terms for atom in atoms)

    def __str__(self) -> str:
        text = ""
        for factor, atoms in self.terms:
            size = [] if abs(factor) == 1.0 and atoms else [literal(abs(factor))]
            word = "*".join((*size, *atoms))
            text += f" {'-' if factor < 0.0 else '+'} {word}" if text else word
        return text

    def at(self, values: Mapping[str, Array], functions: Functions) -> Array:
        """Its value where the atoms have these values (SI)."""
        total = np.zeros(())
        for factor, atoms in self.terms:
            total = total + math.prod((values[atom] for atom in atoms), start=np.asarray(factor))
        return np.asarray(total)


@dataclass(frozen=True)
class Call:
    """A function of one number, the value of one variable."""

    function: str
    argument: Scalar

    @property
    def atoms(self) -> tuple[str, ...]:
        """What it is computed from."""
        return self.argument.atoms

    def __str__(self) -> str:
        return f"{self.function}({self.argument})"

    def at(self, values: Mapping[str, Array], functions: Functions) -> Array:
        """Its value where the atoms have these values (SI)."""
        if self.function not in functions:
            raise ExportError(f"the C function {self.function} cannot be checked: nobody says what it computes")
        return np.asarray(functions[self.function](self.argument.at(values)))


@dataclass
class Code:
    """The body of one C function as a graph of expressions; what no output needs is not printed."""

    variables: dict[str, Sum | Call] = field(default_factory=dict)
    outputs: list[tuple[str, Scalar]] = field(default_factory=list)
    """Targets with their values, in order."""
    known: dict[Sum | Call, str] = field(default_factory=dict)
    """Expression to the variable that holds it."""

    def sum(self, *products: Product) -> Scalar:
        """The sum of products of scalars as a scalar; a new variable only where there is something to compute."""
        collected: dict[tuple[str, ...], float] = {}
        for product in products:
            factor = 1.0
            for scalar in product:
                factor *= scalar.factor
            if factor:
                key = tuple(sorted(scalar.atom for scalar in product if scalar.atom is not None))
                collected[key] = collected.get(key, 0.0) + factor
        terms = [(factor, atoms) for atoms, factor in collected.items() if factor]
        if not terms:
            return ZERO
        if len(terms) == 1:
            factor, atoms = terms[0]
            if not atoms:
                return Scalar(factor)
            return Scalar(factor, atoms[0] if len(atoms) == 1 else self._variable(Sum(((1.0, atoms),))))
        sign = -1.0 if all(factor < 0.0 for factor, _ in terms) else 1.0
        # A positive term first, so that no line starts with a minus sign.
        ordered = sorted(((sign * factor, atoms) for factor, atoms in terms), key=lambda term: term[0] < 0.0)
        return Scalar(sign, self._variable(Sum(tuple(ordered))))

    def call(self, function: str, argument: Scalar) -> Scalar:
        """A function of one number."""
        return Scalar(1.0, self._variable(Call(function, argument)))

    def put(self, target: str, value: Scalar) -> None:
        """Write a scalar to an output."""
        self.outputs.append((target, value))

    def _variable(self, expression: Sum | Call) -> str:
        if expression not in self.known:
            name = f"t{len(self.variables)}"
            self.known[expression] = name
            self.variables[name] = expression
        return self.known[expression]

    def needed(self) -> dict[str, Sum | Call]:
        """The variables that outputs need, in order."""
        found: set[str] = set()
        stack = [atom for _, value in self.outputs for atom in value.atoms]
        while stack:
            atom = stack.pop()
            if atom in self.variables and atom not in found:
                found.add(atom)
                stack += self.variables[atom].atoms
        return {name: expression for name, expression in self.variables.items() if name in found}

    def lines(self) -> Iterator[str]:
        """The statements that outputs need, in order, then the outputs."""
        for name, expression in self.needed().items():
            yield f"const double {name} = {expression};"
        for target, value in self.outputs:
            yield f"{target} = {value};"

    def evaluated(self, inputs: Mapping[str, Array], functions: Functions) -> dict[str, Array]:
        """What the outputs are (SI), computed in Python from the very graph that `lines` prints.

        Args:
            inputs: values of the atoms that are not variables, such as ``q[0]``.
            functions: what the functions compute, by the names they have in C.

        Raises:
            ExportError: a function that `functions` does not have.
        """
        values = dict(inputs)
        for name, expression in self.needed().items():
            values[name] = expression.at(values, functions)
        return {target: value.at(values) for target, value in self.outputs}


def c_name(text: str, *, otherwise: str = "robot") -> str:
    """A C identifier in lower case that reads like `text`."""
    plain = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if not plain:
        return otherwise
    return f"{otherwise}_{plain}" if plain[0].isdigit() else plain


def c_comment(text: str) -> str:
    """Text for the inside of a C comment, one line of ASCII that cannot end it or start another."""
    ascii_only = text.encode("ascii", "backslashreplace").decode("ascii")
    printable = "".join(letter if letter.isprintable() else " " for letter in ascii_only)
    # Trigraphs are alive in C99: ??/ would be a backslash.
    return re.sub(r"\?(?=\?)", "? ", re.sub(r"\*(?=/)|/(?=\*)", lambda m: m.group() + " ", printable))
