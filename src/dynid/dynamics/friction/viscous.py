"""Viscous friction: proportional to velocity."""

from dataclasses import dataclass

from dynid.dynamics.formula import DQ
from dynid.dynamics.joint_model import JointModel, Term

__all__ = ["Viscous"]


@dataclass(frozen=True)
class Viscous(JointModel):
    r"""Friction proportional to velocity, :math:`F_v \dot q`."""

    name = "viscous"
    description = "viscous friction"
    kinds = ("viscous",)
    terms = (Term("Fv", "fv", ("N·m·s/rad", "N·s/m"), DQ, share=0.05, simulator="damping"),)


MODEL = Viscous()
