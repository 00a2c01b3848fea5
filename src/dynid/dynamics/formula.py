"""Formulas: how a joint's torque depends on its motion, written once for NumPy, the compiled tracker and C."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array

__all__ = [
    "DDQ",
    "DQ",
    "FUNCTIONS",
    "GEAR_LOAD",
    "PATH",
    "POSITION",
    "Formula",
    "exp",
    "fixed_number",
    "logistic",
    "positive",
    "shape_number",
    "sign",
    "size",
    "state",
    "step",
    "tanh",
]


def _logistic(x: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(x))


FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "sign": np.sign,
    "abs": np.abs,
    "exp": np.exp,
    "tanh": np.tanh,
    "logistic": _logistic,
    "positive": lambda x: np.maximum(x, 0.0),
    "step": lambda x: np.where(x > 0.0, 1.0, 0.0),
}
"""Functions of one number that a formula may use, as NumPy computes them."""


@dataclass(frozen=True)
class Formula:
    """A number of every joint at every sample, from inputs (SI) by arithmetic and `FUNCTIONS`."""

    name: str
    """An input, ``number``, an operation (``+``, ``*``, ``/``) or a function."""
    parts: tuple[Formula, ...] = ()
    """What the operation or function is applied to."""
    value: float = 0.0
    """Of a ``number``."""
    index: int = 0
    """Which of the inputs of this name: shape numbers and states are counted."""

    def __add__(self, other: Formula | float) -> Formula:
        return Formula("+", (self, _formula(other)))

    def __sub__(self, other: Formula | float) -> Formula:
        return self + -_formula(other)

    def __mul__(self, other: Formula | float) -> Formula:
        return Formula("*", (self, _formula(other)))

    def __truediv__(self, other: Formula | float) -> Formula:
        return Formula("/", (self, _formula(other)))

    def __neg__(self) -> Formula:
        return Formula("*", (fixed_number(-1.0), self))

    def __radd__(self, other: float) -> Formula:
        return _formula(other) + self

    def __rsub__(self, other: float) -> Formula:
        return _formula(other) - self

    def __rmul__(self, other: float) -> Formula:
        return _formula(other) * self

    def __rtruediv__(self, other: float) -> Formula:
        return _formula(other) / self

    def __str__(self) -> str:
        match self.name:
            case "number":
                return f"{self.value:g}"
            case "+" | "*" | "/":
                return f"({f' {self.name} '.join(map(str, self.parts))})"
            case "shape" | "state":
                return f"{self.name}[{self.index}]"
        return f"{self.name}({self.parts[0]})" if self.parts else self.name

    def postfix(self) -> Iterator[Formula]:
        """Every node, operands before what is applied to them."""
        for part in self.parts:
            yield from part.postfix()
        yield self

    @property
    def inputs(self) -> frozenset[str]:
        """Names of the inputs it depends on: ``q``, ``dq``, ``ddq``, ``load``, ``path``, ``shape``, ``state``."""
        return frozenset(node.name for node in self.postfix() if not node.parts and node.name != "number")

    def at(self, inputs: Mapping[Formula, Array]) -> Array:
        """Its value where the inputs have these values (SI); arrays of any shapes that go together."""
        if not self.parts:
            return np.asarray(self.value) if self.name == "number" else inputs[self]
        a, *rest = (part.at(inputs) for part in self.parts)
        match self.name:
            case "+":
                return np.asarray(a + rest[0])
            case "*":
                return np.asarray(a * rest[0])
            case "/":
                return np.asarray(a / rest[0])
        return FUNCTIONS[self.name](a)


POSITION = Formula("q")
"""Position of the joint (of the motor where joints are coupled), rad or m."""
DQ = Formula("dq")
"""Velocity of the joint (of the motor where joints are coupled), rad/s or m/s."""
DDQ = Formula("ddq")
"""Acceleration, rad/s² or m/s²."""
GEAR_LOAD = Formula("load")
"""Torque that the links ask of the gear, N·m or N; signed."""
PATH = Formula("path")
"""Way since the sample before, rad or m; for the states of a model with memory."""


def fixed_number(value: float) -> Formula:
    """A constant, in the unit of what it is multiplied with or added to."""
    return Formula("number", value=float(value))


def shape_number(index: int) -> Formula:
    """A number that shapes the curve of this joint (SI): a row of `JointModel.shape`."""
    return Formula("shape", index=index)


def state(index: int) -> Formula:
    """What the joint remembers (dimensionless): an entry of `JointModel.next_states`."""
    return Formula("state", index=index)


def sign(x: Formula) -> Formula:
    """−1, 0 or 1."""
    return Formula("sign", (x,))


def size(x: Formula) -> Formula:
    """The absolute value, in the unit of x."""
    return Formula("abs", (x,))


def exp(x: Formula) -> Formula:
    """The exponential of a dimensionless number."""
    return Formula("exp", (x,))


def tanh(x: Formula) -> Formula:
    """The hyperbolic tangent of a dimensionless number."""
    return Formula("tanh", (x,))


def logistic(x: Formula) -> Formula:
    r""":math:`1/(1 + e^{-x})` of a dimensionless number."""
    return Formula("logistic", (x,))


def positive(x: Formula) -> Formula:
    """x where it is positive, else 0; in the unit of x."""
    return Formula("positive", (x,))


def step(x: Formula) -> Formula:
    """1 where x is positive, else 0."""
    return Formula("step", (x,))


def _formula(x: Formula | float) -> Formula:
    return x if isinstance(x, Formula) else fixed_number(x)
