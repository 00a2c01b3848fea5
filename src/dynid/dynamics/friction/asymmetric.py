"""Friction that differs by direction."""

from dataclasses import dataclass

from dynid.dynamics.formula import DQ, positive, step
from dynid.dynamics.friction.coulomb import Coulomb
from dynid.dynamics.friction.offset import Offset
from dynid.dynamics.friction.viscous import Viscous
from dynid.dynamics.joint_model import JointModel, Term

__all__ = ["Asymmetric"]


@dataclass(frozen=True)
class Asymmetric(JointModel):
    """Coulomb and viscous friction with values of their own for each direction; instead of those, not beside them."""

    name = "asymmetric"
    description = "friction that differs by direction"
    kinds = ("viscous", "dry", "constant")
    contains = (Viscous.name, Coulomb.name, Offset.name)
    terms = (
        Term("Fv+", "fvp", ("N·m·s/rad", "N·s/m"), positive(DQ), share=0.06),
        Term("Fv-", "fvn", ("N·m·s/rad", "N·s/m"), -positive(-DQ), share=0.05),
        Term("Fc+", "fcp", ("N·m", "N"), step(DQ), share=0.12),
        Term("Fc-", "fcn", ("N·m", "N"), -step(-DQ), share=0.1),
    )


MODEL = Asymmetric()
