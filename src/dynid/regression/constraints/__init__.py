"""What is asked of the parameters beside a good fit: one vocabulary, compiled once for every estimator."""

MODULES = (
    "regions",
    "density",
    "meshes",
    "link_parameters",
    "user_functions",
    "parameter_names",
    "cones",
    "inertia_bounds",
    "penalty_rows",
    "compiled",
    "compiler",
    "constraints",
    "files",
)
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
