"""Curves in joint space: finite Fourier series and B-splines behind one interface."""

MODULES = ("curve", "fourier", "bspline")
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
