"""Friction curves: the curve of a model, rows, search by variable projection, choice by prediction, friction alone."""

MODULES = ("curve", "rows", "search", "refine", "springs", "rotors", "choice", "delay", "fit")
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
