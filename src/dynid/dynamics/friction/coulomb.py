"""Coulomb's dry friction: of one size, against the motion."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dynid.dynamics.formula import DQ, shape_number, sign, tanh
from dynid.dynamics.joint_model import JointModel, ShapeNumbers, ShapeParameter, Term

__all__ = ["Coulomb", "SmoothCoulomb"]


@dataclass(frozen=True)
class Coulomb(JointModel):
    r"""Dry friction, :math:`F_c\,\mathrm{sign}(\dot q)`, zero at rest."""

    name = "coulomb"
    description = "Coulomb friction"
    kinds = ("dry",)
    terms = (Term("Fc", "fc", ("N·m", "N"), sign(DQ), simulator="frictionloss"),)

    def softened(self, width: tuple[float, ...]) -> JointModel:
        """The sign smoothed over `width` (rad/s or m/s): the true one hides where velocity turns."""
        return SmoothCoulomb((width,), joints=self.joints)


@dataclass(frozen=True)
class SmoothCoulomb(JointModel):
    """The parameter of `Coulomb` with a smooth curve, for searches that need derivatives."""

    shape: ShapeNumbers = ((0.02,),)
    """Width of the turn, rad/s or m/s."""
    name = Coulomb.name
    description = Coulomb.description
    kinds = Coulomb.kinds
    terms = tuple(replace(term, column=tanh(DQ / shape_number(0))) for term in Coulomb.terms)
    shapes = (ShapeParameter("width", ("rad/s", "m/s"), "speed", 2e-3, 0.4, 24),)


MODEL = Coulomb()
