"""The torque a robot needs, linear in its parameters, and what that torque can reveal."""

from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.drives import Drives, RotorInertia, joint_models
from dynid.dynamics.friction.asymmetric import Asymmetric
from dynid.dynamics.friction.coulomb import Coulomb
from dynid.dynamics.friction.load import LoadCoulomb
from dynid.dynamics.friction.offset import Offset
from dynid.dynamics.friction.presliding import Presliding
from dynid.dynamics.friction.sigmoid import Sigmoid
from dynid.dynamics.friction.stribeck import Stribeck
from dynid.dynamics.friction.table import FRICTION, friction_models
from dynid.dynamics.friction.tanh import Tanh
from dynid.dynamics.friction.viscous import Viscous
from dynid.dynamics.joint_model import JointModel, ShapeParameter, Term
from dynid.dynamics.lagrangian import LagrangianModel
from dynid.dynamics.model import Column, TorqueModel
from dynid.dynamics.motion import Motion, random_motion

MODULES = (
    "threads",
    "motion",
    "formula",
    "kernels",
    "joint_model",
    "friction",
    "drives",
    "joint_group",
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
    "Presliding",
    "RotorInertia",
    "ShapeParameter",
    "Sigmoid",
    "Stribeck",
    "Tanh",
    "Term",
    "TorqueModel",
    "Viscous",
    "base_parameters",
    "friction_models",
    "joint_models",
    "random_motion",
]
