"""Friction: one file a model, and the table of all by name."""

MODULES = ("curves", "presliding", "load", "table")
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
