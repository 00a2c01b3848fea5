"""Least squares over physically consistent robots: solver, prior, coordinates, the programme and certificates."""

MODULES = (
    "solver",
    "prior",
    "link_prior",
    "coordinates",
    "programme",
    "certificate",
    "mass_matrix",
    "faces",
    "link_spread",
    "feasible",
    "link_ranges",
)
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
