"""Friction and rotors as C: every friction model in terms of the motion of its motor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.special import expit

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.dynamics.friction.load import LoadCoulomb
from dynid.dynamics.joint_model import OnJoints
from dynid.dynamics.model import TorqueModel
from dynid.errors import ExportError
from dynid.writers.c.code import ZERO, Code, Product, Scalar, constant
from dynid.writers.joint_terms import JointTerm

__all__ = ["JointCode", "gear_links", "load_reference", "motor_values"]

HELPERS = {
    "sign": "return (double)((x > 0.0) - (x < 0.0));",
    "ahead": "return x > 0.0 ? x : 0.0;",
    "step": "return x > 0.0 ? 1.0 : 0.0;",
    "logistic": "return 1.0/(1.0 + exp(-x));",
}
"""Functions of one number that friction needs beyond the mathematical library, with their bodies in C."""


def motor_values(code: Code, robot: Robot, name: str) -> list[Scalar]:
    """Position, velocity or acceleration of every motor (SI), from an array of the joints'."""
    joints = [Scalar(1.0, f"{name}[{j}]") for j in range(robot.n_dof)]
    C = robot.transmission
    if C is None:
        return joints
    return [code.sum(*((constant(float(r)), x) for r, x in zip(row, joints, strict=True))) for row in C]


def load_reference(model: TorqueModel) -> LoadCoulomb | None:
    """The load-dependent friction of a model, None without any."""
    inner = [m.model if isinstance(m, OnJoints) else m for m in model.joint_models]
    return next((m for m in inner if isinstance(m, LoadCoulomb)), None)


def gear_links(model: TorqueModel) -> Float[Array, "n_links 10"]:
    """Links (SI) whose torque loads the gears; none where no friction depends on it."""
    load = load_reference(model)
    if load is None:
        return np.zeros((0, 10))
    if load.reference is not None:
        return load.reference
    return model.robot.nominal if model.robot.has_nominal else np.zeros((model.n_dof, 10))


class JointCode:
    """Columns of the joint terms of one state; `load` is the rigid torque that gears feel, joint by joint."""

    def __init__(self, code: Code, robot: Robot, prefix: str, load: Sequence[Scalar] = ()) -> None:
        self.code = code
        self.prefix = prefix
        self.robot = robot
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
        """Torque of the motor per unit of the term.

        Raises:
            ExportError: for a friction model that has no C.
        """
        known: Mapping[str, Callable[[JointTerm], Scalar]] = {
            "viscous": lambda t: self.dq[t.joint],
            "coulomb": lambda t: self._call("sign", self.dq[t.joint]),
            "offset": lambda t: Scalar(1.0),
            "asymmetric": self._asymmetric,
            "tanh": lambda t: self.code.call("tanh", self.code.sum((Scalar(1.0 / t.shape[0]), self.dq[t.joint]))),
            "sigmoid": self._sigmoid,
            "stribeck": self._stribeck,
            "load": lambda t: self._product(
                self.code.call("fabs", self.load[t.joint]), self._call("sign", self.dq[t.joint])
            ),
            "presliding": lambda t: Scalar(1.0, f"state->z[{t.joint}][{t.order}]"),
            "rotor": lambda t: self.ddq[t.joint],
        }
        if term.model.name not in known:
            raise ExportError(f"friction model {term.model.name!r} cannot be written as C")
        return known[term.model.name](term)

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

    def _call(self, helper: str, argument: Scalar) -> Scalar:
        return self.code.call(f"{self.prefix}_{helper}", argument)

    def _product(self, *factors: Scalar) -> Scalar:
        return self.code.sum(factors)

    def _asymmetric(self, term: JointTerm) -> Scalar:
        dq = self.dq[term.joint]
        helper, forwards = (("ahead", True), ("ahead", False), ("step", True), ("step", False))[term.order]
        return self._call(helper, dq) if forwards else -self._call(helper, -dq)

    def _sigmoid(self, term: JointTerm) -> Scalar:
        steep, shift = term.shape
        rise = self.code.sum((Scalar(steep), self.dq[term.joint]), (Scalar(steep * shift),))
        return self.code.sum((self._call("logistic", rise),), (Scalar(-float(expit(steep * shift))),))

    def _stribeck(self, term: JointTerm) -> Scalar:
        dq = self.dq[term.joint]
        fall = self.code.sum((Scalar(-1.0 / term.shape[0] ** 2), dq, dq))
        return self._product(self.code.call("exp", fall), self._call("sign", dq))
