"""The arm's equations on a few hundred rows of a log: fits of each joint, of all joints, of ways to read it."""

MODULES = (
    "rows",
    "joint_fits",
    "torque_scales",
    "products",
    "sizes",
    "hypothesis",
    "evidence",
    "coupling",
    "effects",
    "bursts",
    "gravity_direction",
    "search",
    "changes",
    "expectation",
)
"""The order of this folder: a module imports only those before it."""
