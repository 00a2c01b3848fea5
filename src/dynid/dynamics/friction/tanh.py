"""Dry friction without the jump."""

from dataclasses import dataclass

from dynid.dynamics.formula import DQ, shape_number, tanh
from dynid.dynamics.joint_model import JointModel, ShapeNumbers, ShapeParameter, Term

__all__ = ["Tanh"]


@dataclass(frozen=True)
class Tanh(JointModel):
    r"""Dry friction without the jump, :math:`F_t \tanh(\dot q / v)`."""

    shape: ShapeNumbers = ((0.02,),)
    """The velocity v at which three quarters of the friction are reached, rad/s or m/s."""
    name = "tanh"
    description = "smoothed Coulomb friction"
    kinds = ("dry",)
    terms = (Term("Ft", "ft", ("N·m", "N"), tanh(DQ / shape_number(0))),)
    # Searched where the curve levels off within the speeds of a log: a slower one passes for viscous friction there,
    # and goes wrong beyond.
    shapes = (ShapeParameter("velocity", ("rad/s", "m/s"), "speed", 2e-3, 0.4, 24),)


MODEL = Tanh()
