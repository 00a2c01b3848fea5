"""What the robot is: links, joints, limits, and how to read them from a file."""

from typing import TYPE_CHECKING

from dynid.chain.consistency import consistency as consistency
from dynid.chain.lint import lint as lint
from dynid.lazy import exported_names, lazy_names

if TYPE_CHECKING:
    from dynid.chain.consistency import Box as Box
    from dynid.chain.consistency import Condition as Condition
    from dynid.chain.consistency import Consistency as Consistency
    from dynid.chain.consistency import Ellipsoid as Ellipsoid
    from dynid.chain.consistency import nearest_consistent as nearest_consistent
    from dynid.chain.inertia import INERTIAL_NAMES as INERTIAL_NAMES
    from dynid.chain.inertia import INERTIAL_UNITS as INERTIAL_UNITS
    from dynid.chain.inertia import InertialParameters as InertialParameters
    from dynid.chain.library import BUILT_IN as BUILT_IN
    from dynid.chain.library import load_robot as load_robot
    from dynid.chain.limits import Limits as Limits
    from dynid.chain.lint import LintReport as LintReport
    from dynid.chain.lint import repair as repair
    from dynid.chain.plausibility import LintFinding as LintFinding
    from dynid.chain.robot import BASE as BASE
    from dynid.chain.robot import Joint as Joint
    from dynid.chain.robot import Link as Link
    from dynid.chain.robot import Robot as Robot

MODULES = (
    "inertia",
    "consistency",
    "placement",
    "limits",
    "robot",
    "stand_ins",
    "denavit",
    "formats",
    "plausibility",
    "trust",
    "transmission",
    "library",
    "lint",
)
"""The order of this folder: a module imports only those before it."""

__all__ = exported_names(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__)
