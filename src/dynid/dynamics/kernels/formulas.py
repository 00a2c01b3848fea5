"""Formulas as compiled code runs them, one sample of one joint at a time: a small stack machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import no_type_check

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.dynamics.formula import Formula
from dynid.dynamics.kernels.stored import njit

__all__ = ["GIVEN", "OPERATIONS", "follow_states", "formula_value", "programs"]

GIVEN = -1
"""The whole program of a formula that depends on more than the motion of the sample: it is computed outside."""
_END, _NUMBER, _DQ, _DDQ, _PATH, _STATE, _ADD, _MULTIPLY, _DIVIDE = range(9)
_SIGN, _ABS, _EXP, _TANH, _LOGISTIC, _POSITIVE, _STEP = range(9, 16)
OPERATIONS = {
    "number": _NUMBER,
    "shape": _NUMBER,
    "dq": _DQ,
    "ddq": _DDQ,
    "path": _PATH,
    "state": _STATE,
    "+": _ADD,
    "*": _MULTIPLY,
    "/": _DIVIDE,
    "sign": _SIGN,
    "abs": _ABS,
    "exp": _EXP,
    "tanh": _TANH,
    "logistic": _LOGISTIC,
    "positive": _POSITIVE,
    "step": _STEP,
}
"""Operations by the names of formulas; a number and a shape number are the same to compiled code."""


def programs(
    formulas: Sequence[Formula],
    shape: Sequence[Float[Array, " n_dof"]],
    n_dof: int,
    mask: Float[Array, " n_dof"] | None = None,
) -> tuple[Int[Array, "n_formulas length"], Float[Array, "n_formulas n_dof length"]]:
    """Operations of each formula, and the numbers (SI) that go with them joint by joint, both padded with zeros.

    Args:
        formulas: what to compute.
        shape: shape numbers (SI) of every joint.
        n_dof: number of joints.
        mask: 0 for joints where the formulas are 0; with it, formulas of position, load or state are `GIVEN`.
    """
    whole = [list(formula.postfix()) for formula in formulas]
    length = max(map(len, whole), default=0) + 2
    code, numbers = np.zeros((len(whole), length), dtype=np.int64), np.zeros((len(whole), n_dof, length))
    for row, nodes in enumerate(whole):
        if mask is not None and not formulas[row].inputs <= {"dq", "ddq", "shape"}:
            code[row, 0] = GIVEN
            continue
        for k, node in enumerate(nodes):
            code[row, k] = OPERATIONS[node.name]
            numbers[row, :, k] = shape[node.index] if node.name == "shape" else node.value or node.index
        if mask is not None and not np.all(mask):
            code[row, len(nodes) : len(nodes) + 2] = _NUMBER, _MULTIPLY
            numbers[row, :, len(nodes)] = mask
    return code, numbers


@njit(cache=True, nogil=True)
@no_type_check
def formula_value(code, numbers, dq, ddq, path, states, stack):
    """The value (SI) of a formula at one sample of one joint; `stack` has room for a number an operation."""
    top = -1
    for k in range(code.shape[0]):
        operation = code[k]
        if operation == _END:
            break
        if operation <= _STATE:
            top += 1
            if operation == _NUMBER:
                stack[top] = numbers[k]
            elif operation == _DQ:
                stack[top] = dq
            elif operation == _DDQ:
                stack[top] = ddq
            elif operation == _PATH:
                stack[top] = path
            else:
                stack[top] = states[int(numbers[k])]
        elif operation <= _DIVIDE:
            top -= 1
            if operation == _ADD:
                stack[top] += stack[top + 1]
            elif operation == _MULTIPLY:
                stack[top] *= stack[top + 1]
            else:
                stack[top] /= stack[top + 1]
        else:
            stack[top] = _function(operation, stack[top])
    return stack[0]


@njit(cache=True, nogil=True)
@no_type_check
def _function(operation, x):
    if operation == _SIGN:
        return np.sign(x)
    if operation == _ABS:
        return abs(x)
    if operation == _EXP:
        return np.exp(x)
    if operation == _TANH:
        return np.tanh(x)
    if operation == _LOGISTIC:
        return 1.0 / (1.0 + np.exp(-x))
    if operation == _POSITIVE:
        return max(x, 0.0)
    return 1.0 if x > 0.0 else 0.0


@njit(cache=True, nogil=True)
@no_type_check
def follow_states(code, numbers, q, stack, z):
    """Fill z (n_samples, n_dof, n_states) from its first sample on, along the path q (rad or m)."""
    for k in range(1, q.shape[0]):
        for j in range(q.shape[1]):
            path = q[k, j] - q[k - 1, j]
            for s in range(z.shape[2]):
                z[k, j, s] = formula_value(code[s], numbers[s, j], 0.0, 0.0, path, z[k - 1, j], stack)
