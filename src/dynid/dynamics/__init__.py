"""The torque a robot needs, linear in its parameters, and what that torque can reveal."""

from dynid.dynamics.drives import RotorInertia
from dynid.dynamics.friction import FRICTION, Coulomb, JointModel, Offset, Term, Viscous, friction_models
from dynid.dynamics.lagrangian import LagrangianModel
from dynid.dynamics.motion import Motion, random_motion
from dynid.dynamics.regressor import Column, TorqueModel
from dynid.dynamics.regrouping import BaseParameters, base_parameters

MODULES = ("motion", "kernels", "forward", "adjoint", "friction", "drives", "regressor", "regrouping", "lagrangian")
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "FRICTION",
    "BaseParameters",
    "Column",
    "Coulomb",
    "JointModel",
    "LagrangianModel",
    "Motion",
    "Offset",
    "RotorInertia",
    "Term",
    "TorqueModel",
    "Viscous",
    "base_parameters",
    "friction_models",
    "random_motion",
]
