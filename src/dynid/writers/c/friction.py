"""Friction and rotors as C: the formulas of joint models in terms of the motion of their motor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.dynamics.formula import FUNCTIONS, Formula
from dynid.dynamics.model import TorqueModel
from dynid.errors import ExportError
from dynid.writers.c.code import ZERO, Code, Product, Scalar, constant
from dynid.writers.joint_terms import JointTerm

__all__ = ["HELPERS", "JointCode", "formula_code", "gear_links", "motor_values", "term_inputs"]

HELPERS = {
    "sign": "return (double)((x > 0.0) - (x < 0.0));",
    "positive": "return x > 0.0 ? x : 0.0;",
    "step": "return x > 0.0 ? 1.0 : 0.0;",
    "logistic": "return 1.0/(1.0 + exp(-x));",
    "inverse": "return 1.0/x;",
}
"""Functions of one number that formulas need beyond the mathematical library, with their bodies in C."""
_LIBRARY = {"abs": "fabs", "exp": "exp", "tanh": "tanh"}
"""Functions of formulas that the mathematical library of C has, by its names."""


def motor_values(code: Code, robot: Robot, name: str) -> list[Scalar]:
    """Position, velocity or acceleration of every motor (SI), from an array of the joints'."""
    joints = [Scalar(1.0, f"{name}[{j}]") for j in range(robot.n_dof)]
    C = robot.transmission
    if C is None:
        return joints
    return [code.sum(*((constant(float(r)), x) for r, x in zip(row, joints, strict=True))) for row in C]


def gear_links(model: TorqueModel) -> Float[Array, "n_links 10"]:
    """Links (SI) whose torque loads the gears; none where no friction depends on it.

    Raises:
        ExportError: friction models whose loads are those of different links.
    """
    found = [one.load_links(model.robot) for one in model.joint_models if one.needs_load]
    if not found:
        return np.zeros((0, 10))
    links, *others = (np.zeros((model.n_dof, 10)) if known is None else known for known in found)
    if not all(np.array_equal(links, other) for other in others):
        raise ExportError("friction models with loads of different links cannot be written as one C header")
    return links


class JointCode:
    """Columns of the joint terms of one state; `load` is the rigid torque that gears feel, joint by joint."""

    def __init__(self, code: Code, robot: Robot, prefix: str, load: Sequence[Scalar] = ()) -> None:
        self.code = code
        self.prefix = prefix
        self.robot = robot
        self.q = motor_values(code, robot, "q")
        self.dq = motor_values(code, robot, "dq")
        self.ddq = motor_values(code, robot, "ddq")
        C = robot.transmission
        if C is None or not load:
            self.load = list(load)
        else:
            # τ = Cᵀ τ_motor; the matrix is constant, so its inverse is one, too.
            to_motor = np.linalg.inv(C.T)
            self.load = [
                code.sum(*((constant(float(x)), tau) for x, tau in zip(row, load, strict=True))) for row in to_motor
            ]

    def column(self, term: JointTerm) -> Scalar:
        """Torque of the motor per unit of the term."""
        motion = {"q": self.q[term.joint], "dq": self.dq[term.joint], "ddq": self.ddq[term.joint]}
        load = {"load": self.load[term.joint]} if self.load else {}
        return formula_code(self.code, self.prefix, term.formula, motion | load | term_inputs(term))

    def torque(self, terms: Sequence[JointTerm], values: Mapping[int, Scalar]) -> list[Scalar]:
        """What the terms add to the torque of every joint (N·m or N); `values` holds θ by column."""
        n_dof = self.robot.n_dof
        motors: list[list[Product]] = [[] for _ in range(n_dof)]
        for term in terms:
            value = values[term.column]
            if not value.is_zero:
                motors[term.joint].append((value, self.column(term)))
        C = np.eye(n_dof) if self.robot.transmission is None else self.robot.transmission
        sums = [self.code.sum(*products) if products else ZERO for products in motors]
        return [self.code.sum(*((constant(float(C[m, j])), sums[m]) for m in range(n_dof))) for j in range(n_dof)]


def term_inputs(term: JointTerm) -> dict[str, Scalar]:
    """Shape numbers (SI) and states of a term's formula, by the names of the inputs."""
    numbers = {f"shape[{k}]": Scalar(value) for k, value in enumerate(term.shape)}
    states = {f"state[{k}]": Scalar(1.0, f"state->z[{term.joint}][{place}]") for k, place in enumerate(term.states)}
    return numbers | states


def formula_code(code: Code, prefix: str, formula: Formula, inputs: Mapping[str, Scalar]) -> Scalar:
    """A formula as C, from its inputs by their names; what is constant is computed here."""
    if not formula.parts:
        return Scalar(formula.value) if formula.name == "number" else inputs[str(formula)]
    a, *rest = (formula_code(code, prefix, part, inputs) for part in formula.parts)
    match formula.name:
        case "+":
            return code.sum((a,), (rest[0],))
        case "*":
            return code.sum((a, rest[0]))
        case "/" if rest[0].atom is None:
            return code.sum((a, Scalar(1.0 / rest[0].factor)))
        case "/":
            return code.sum((a, code.call(f"{prefix}_inverse", rest[0])))
    if a.atom is None:
        return Scalar(float(FUNCTIONS[formula.name](np.array(a.factor))))
    return code.call(_LIBRARY.get(formula.name, f"{prefix}_{formula.name}"), a)
