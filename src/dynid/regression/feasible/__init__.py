"""Least squares over physically consistent robots: constraints, cones, the programme, prior and certificate."""

MODULES = ("constraints", "cones", "cone_blocks", "prior", "coordinates", "programme", "certificate", "feasible")
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
