"""The torque a robot needs, linear in its parameters, and what that torque can reveal."""

from typing import TYPE_CHECKING

from dynid.dynamics.base_parameters import base_parameters as base_parameters
from dynid.lazy import exported_names, lazy_names

if TYPE_CHECKING:
    from dynid.dynamics.base_parameters import BaseParameters as BaseParameters
    from dynid.dynamics.drives import Drives as Drives
    from dynid.dynamics.drives import RotorInertia as RotorInertia
    from dynid.dynamics.drives import joint_models as joint_models
    from dynid.dynamics.friction.asymmetric import Asymmetric as Asymmetric
    from dynid.dynamics.friction.coulomb import Coulomb as Coulomb
    from dynid.dynamics.friction.load import LoadCoulomb as LoadCoulomb
    from dynid.dynamics.friction.offset import Offset as Offset
    from dynid.dynamics.friction.presliding import Presliding as Presliding
    from dynid.dynamics.friction.sigmoid import Sigmoid as Sigmoid
    from dynid.dynamics.friction.stribeck import Stribeck as Stribeck
    from dynid.dynamics.friction.table import FRICTION as FRICTION
    from dynid.dynamics.friction.table import friction_models as friction_models
    from dynid.dynamics.friction.table import needs_search as needs_search
    from dynid.dynamics.friction.tanh import Tanh as Tanh
    from dynid.dynamics.friction.viscous import Viscous as Viscous
    from dynid.dynamics.joint_model import JointModel as JointModel
    from dynid.dynamics.joint_model import ShapeParameter as ShapeParameter
    from dynid.dynamics.joint_model import Term as Term
    from dynid.dynamics.lagrangian import LagrangianModel as LagrangianModel
    from dynid.dynamics.model import Column as Column
    from dynid.dynamics.model import TorqueModel as TorqueModel
    from dynid.dynamics.motion import Motion as Motion
    from dynid.dynamics.motion import random_motion as random_motion

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

__all__ = exported_names(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__)
