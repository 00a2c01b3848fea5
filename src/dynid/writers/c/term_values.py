"""Programs of joint terms and states as C: one expression each, where compiled Python runs through its operations."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.formula import FUNCTIONS
from dynid.dynamics.kernels.formulas import OPERATIONS
from dynid.writers.c.c_types import c_literal

__all__ = ["program_lines"]

_NAMES = {code: name for name, code in OPERATIONS.items() if name != "shape"}
_BINARY = {"+": np.add, "*": np.multiply, "/": np.divide}
_WRITTEN = {
    "sign": "@P@_sign({0})", "abs": "fabs({0})", "exp": "exp({0})", "tanh": "tanh({0})",
    "logistic": "1.0 / (1.0 + exp(-({0})))", "positive": "@P@_maxd({0}, 0.0)", "step": "({0} > 0.0 ? 1.0 : 0.0)",
}  # fmt: skip
_INPUTS = {"dq": "speed", "ddq": "acceleration", "path": "path"}


def program_lines(code: Array, numbers: Float[Array, "n_programs n_dof length"], prefix: str) -> list[str]:
    """The body of a function of k, j and the inputs of programs: the value (SI) of program k at joint j."""
    tables: list[str] = []
    cases = [
        f"case {k}: return {_expression(row, values, tables)};"
        for k, (row, values) in enumerate(zip(code, numbers, strict=True))
    ]
    whole = [*tables, "switch (k) {", *cases, "default: return 0.0;", "}"]
    return [line.replace("@P@", prefix) for line in whole]


def _expression(code: Array, numbers: Float[Array, "n_dof length"], tables: list[str]) -> str:
    """One program as C; what does not change with the motion is computed here, joint by joint."""
    stack: list[Array | str] = []
    for k, operation in enumerate(code.tolist()):
        if operation == 0:
            break
        name = _NAMES[operation]
        if name == "number":
            stack.append(numbers[:, k])
        elif name == "state":
            stack.append(f"z[{int(numbers[0, k])}]")
        elif name in _INPUTS:
            stack.append(_INPUTS[name])
        elif name in _BINARY:
            b, a = stack.pop(), stack.pop()
            if isinstance(a, str) or isinstance(b, str):
                stack.append(f"({_written(a, tables)} {name} {_written(b, tables)})")
            else:
                stack.append(_BINARY[name](a, b))
        else:
            a = stack.pop()
            stack.append(_WRITTEN[name].format(a) if isinstance(a, str) else FUNCTIONS[name](a))
    return _written(stack[0], tables) if stack else "0.0"


def _written(value: Array | str, tables: list[str]) -> str:
    if isinstance(value, str):
        return value
    if np.all(value == value[0]):
        return f"({c_literal(float(value[0]))})"
    name = f"number{len(tables)}"
    tables.append(f"static const double {name}[{len(value)}] = {c_literal(value)};")
    return f"{name}[j]"
