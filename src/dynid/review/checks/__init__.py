"""The checks of the doctor: one file for each small family, and one line for each check in the table."""

MODULES = (
    "as_read",
    "stamps",
    "position_units",
    "velocities",
    "frozen",
    "clipping",
    "values",
    "filtered",
    "motion",
    "overlap",
    "torque",
    "torque_units",
    "columns",
    "gravity",
    "delay",
    "coupled",
    "changes",
    "payload",
    "excitation",
    "table",
)
"""The order of this folder: a module imports only those before it."""
