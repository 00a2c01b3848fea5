"""The torque a robot needs, linear in its parameters, and what that torque can reveal."""

from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.drives import Drives, RotorInertia
from dynid.dynamics.friction.curves import Sigmoid, Stribeck, Tanh
from dynid.dynamics.friction.load import LoadCoulomb
from dynid.dynamics.friction.presliding import Presliding
from dynid.dynamics.friction.table import FRICTION, Asymmetric, Coulomb, Offset, Viscous, friction_models
from dynid.dynamics.joint_model import JointModel, OnJoints, Shape, ShapedModel, Term
from dynid.dynamics.lagrangian import LagrangianModel
from dynid.dynamics.model import Column, TorqueModel
from dynid.dynamics.motion import Motion, random_motion

MODULES = (
    "threads",
    "motion",
    "kernels",
    "joint_model",
    "friction",
    "drives",
    "model",
    "joint_columns",
    "base_parameters",
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
