"""A constant torque beside friction."""

from dataclasses import dataclass

from dynid.dynamics.formula import fixed_number
from dynid.dynamics.joint_model import JointModel, Term

__all__ = ["Offset"]


@dataclass(frozen=True)
class Offset(JointModel):
    """A constant torque: sensor bias or asymmetric dry friction."""

    name = "offset"
    description = "constant torque"
    kinds = ("constant",)
    terms = (Term("Fo", "fo", ("N·m", "N"), fixed_number(1.0), nonnegative=False, share=0.02),)


MODEL = Offset()
