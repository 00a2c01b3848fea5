"""A spring or counterbalance: torque of the joint's own position. No friction, but chosen and typed beside it."""

from dataclasses import dataclass

from dynid.dynamics.formula import POSITION, fixed_number
from dynid.dynamics.friction.offset import Offset
from dynid.dynamics.joint_model import JointModel, Term

__all__ = ["Spring"]


@dataclass(frozen=True)
class Spring(JointModel):
    r"""Spring, gas cylinder or hose packet, :math:`K_s q + K_o`; negative stiffness is a counterbalance.

    What a counterbalance makes of :math:`\sin q` and :math:`\cos q` is like gravity, and is part of the links' first
    moments. The constant is an offset, which it stands in the place of.
    """

    name = "spring"
    description = "spring or counterbalance"
    is_friction = False
    kinds = ("constant",)
    contains = (Offset.name,)
    terms = (
        Term("Ks", "ks", ("N·m/rad", "N/m"), POSITION, nonnegative=False, share=0.1),
        Term("Ko", "ko", ("N·m", "N"), fixed_number(1.0), nonnegative=False, share=0.02),
    )


MODEL = Spring()
