"""Arithmetic on numbers not yet known, written down as C: zeros vanish, constants fold, nothing is done twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

__all__ = ["ONE", "ZERO", "Code", "Scalar", "Triple", "c_comment", "c_name", "cross", "dot", "literal"]

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


ZERO, ONE = Scalar(0.0), Scalar(1.0)
Triple = tuple[Scalar, Scalar, Scalar]
Product = tuple[Scalar, ...]


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


def cross(a: Triple, b: Triple) -> tuple[list[Product], list[Product], list[Product]]:
    """The products whose sums are the entries of a × b."""
    return (
        [(a[1], b[2]), (-a[2], b[1])],
        [(a[2], b[0]), (-a[0], b[2])],
        [(a[0], b[1]), (-a[1], b[0])],
    )


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Product]:
    """The products whose sum is a · b."""
    return list(zip(a, b, strict=True))


@dataclass
class Code:
    """The body of one C function, grown statement by statement; what no output needs is not printed."""

    statements: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """Variable to its expression and the atoms that this uses."""
    outputs: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
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
        terms = [(atoms, factor) for atoms, factor in collected.items() if factor]
        if not terms:
            return ZERO
        if len(terms) == 1:
            atoms, factor = terms[0]
            if not atoms:
                return Scalar(factor)
            return Scalar(factor, atoms[0] if len(atoms) == 1 else self._variable("*".join(atoms), atoms))
        sign = -1.0 if all(factor < 0.0 for _, factor in terms) else 1.0
        # A positive term first, so that no line starts with a minus sign.
        terms.sort(key=lambda term: sign * term[1] < 0.0)
        text = ""
        for atoms, factor in terms:
            value = sign * factor
            word = "*".join((*([] if abs(value) == 1.0 and atoms else [literal(abs(value))]), *atoms))
            text += f" {'-' if value < 0.0 else '+'} {word}" if text else word
        return Scalar(sign, self._variable(text, tuple(atom for atoms, _ in terms for atom in atoms)))

    def call(self, function: str, argument: Scalar) -> Scalar:
        """A function of one number."""
        if argument.atom is None:
            return Scalar(1.0, self._variable(f"{function}({literal(argument.factor)})", ()))
        return Scalar(1.0, self._variable(f"{function}({_text(argument)})", (argument.atom,)))

    def put(self, target: str, value: Scalar) -> None:
        """Write a scalar to an output."""
        self.outputs.append((target, _text(value), () if value.atom is None else (value.atom,)))

    def _variable(self, expression: str, atoms: tuple[str, ...]) -> str:
        if expression not in self.known:
            name = f"t{len(self.statements)}"
            self.known[expression] = name
            self.statements[name] = (expression, atoms)
        return self.known[expression]

    def lines(self) -> Iterator[str]:
        """The statements that outputs need, in order, then the outputs."""
        needed: set[str] = set()
        stack = [atom for _, _, atoms in self.outputs for atom in atoms]
        while stack:
            atom = stack.pop()
            if atom in self.statements and atom not in needed:
                needed.add(atom)
                stack += self.statements[atom][1]
        for name, (expression, _) in self.statements.items():
            if name in needed:
                yield f"const double {name} = {expression};"
        for target, expression, _ in self.outputs:
            yield f"{target} = {expression};"


def _text(value: Scalar) -> str:
    if value.atom is None:
        return literal(value.factor)
    if abs(value.factor) == 1.0:
        return value.atom if value.factor > 0.0 else f"-{value.atom}"
    return f"{literal(value.factor)}*{value.atom}"


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
