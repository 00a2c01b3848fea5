"""What a motion must keep: limits of joints and torque, the workspace, self-collision."""

MODULES = (
    "motion_limits",
    "certificate",
    "workspace",
    "outlines",
    "capsules",
    "distances",
    "hulls",
    "clearance",
    "collision",
)
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
