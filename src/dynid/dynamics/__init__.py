"""The torque a robot needs, linear in its parameters, and what that torque can reveal."""

from dynid.dynamics.curves import Sigmoid, Stribeck, Tanh
from dynid.dynamics.drives import Drives, RotorInertia
from dynid.dynamics.friction import FRICTION, Asymmetric, Coulomb, Offset, Viscous, friction_models
from dynid.dynamics.lagrangian import LagrangianModel
from dynid.dynamics.load import LoadCoulomb
from dynid.dynamics.motion import Motion, random_motion
from dynid.dynamics.presliding import Presliding
from dynid.dynamics.regressor import Column, TorqueModel
from dynid.dynamics.regrouping import BaseParameters, base_parameters
from dynid.dynamics.terms import JointModel, OnJoints, Shape, ShapedModel, Term

MODULES = (
    "threads",
    "motion",
    "kernels",
    "uncached",
    "forward",
    "adjoint",
    "terms",
    "curves",
    "presliding",
    "load",
    "friction",
    "drives",
    "regressor",
    "chosen",
    "regrouping",
    "lagrangian",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "FRICTION",
    "Asymmetric",
    "BaseParameters",
    "Column",
    "Coulomb",
    "Drives",
    "JointModel",
    "LagrangianModel",
    "LoadCoulomb",
    "Motion",
    "Offset",
    "OnJoints",
    "Presliding",
    "RotorInertia",
    "Shape",
    "ShapedModel",
    "Sigmoid",
    "Stribeck",
    "Tanh",
    "Term",
    "TorqueModel",
    "Viscous",
    "base_parameters",
    "friction_models",
    "random_motion",
]
