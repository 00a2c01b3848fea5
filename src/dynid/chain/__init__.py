"""What the robot is: links, joints, limits, and how to read them from a file."""

from dynid.chain.consistency import Box, Condition, Consistency, Ellipsoid, consistency, nearest_consistent
from dynid.chain.inertia import INERTIAL_NAMES, INERTIAL_UNITS, InertialParameters
from dynid.chain.library import BUILT_IN, load_robot
from dynid.chain.lint import LintReport, lint, repair
from dynid.chain.plausibility import LintFinding
from dynid.chain.robot import BASE, Joint, Limits, Link, Robot

MODULES = ("inertia", "consistency", "placement", "robot", "denavit", "formats", "plausibility", "library", "lint")
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "BASE",
    "BUILT_IN",
    "INERTIAL_NAMES",
    "INERTIAL_UNITS",
    "Box",
    "Condition",
    "Consistency",
    "Ellipsoid",
    "InertialParameters",
    "Joint",
    "Limits",
    "Link",
    "LintFinding",
    "LintReport",
    "Robot",
    "consistency",
    "lint",
    "load_robot",
    "nearest_consistent",
    "repair",
]
