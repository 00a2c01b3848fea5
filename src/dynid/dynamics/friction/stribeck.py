"""Stribeck's peak of dry friction near standstill."""

from dataclasses import dataclass

from dynid.dynamics.formula import DQ, exp, shape_number, sign
from dynid.dynamics.joint_model import JointModel, ShapeNumbers, ShapeParameter, Term

__all__ = ["Stribeck"]

_RATIO = DQ / shape_number(0)


@dataclass(frozen=True)
class Stribeck(JointModel):
    r"""The peak of dry friction near standstill, :math:`F_s\,e^{-(\dot q/v)^2}\,\mathrm{sign}(\dot q)`.

    What static friction exceeds Coulomb friction by; join it with ``coulomb`` (or ``presliding``) for the whole curve.
    """

    shape: ShapeNumbers = ((0.1,),)
    """The velocity v at which 37 % of the peak are left, rad/s or m/s."""
    name = "stribeck"
    description = "Stribeck friction"
    terms = (Term("Fs", "fs", ("N·m", "N"), exp(-(_RATIO * _RATIO)) * sign(DQ), share=0.04),)
    shapes = (ShapeParameter("velocity", ("rad/s", "m/s"), "speed", 5e-3, 0.5, 20),)


MODEL = Stribeck()
