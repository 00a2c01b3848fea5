"""Friction: one file a model, and the table of all by name."""

MODULES = (
    "viscous",
    "coulomb",
    "offset",
    "asymmetric",
    "tanh",
    "sigmoid",
    "stribeck",
    "load",
    "presliding",
    "spring",
    "mujoco",
    "table",
)
"""The friction models, each a module that calls its model ``MODEL``, then what makes a table of them.

The order of this folder: a module imports only those before it."""

__all__: list[str] = []
