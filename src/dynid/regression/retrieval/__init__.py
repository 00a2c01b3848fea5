"""Full parameters under any constraint, by penalty-based global search [Gaz2019]_."""

MODULES = (
    "shapes",
    "link_meshes",
    "parametrisation",
    "constraints",
    "penalty_rows",
    "penalties",
    "config",
    "objective",
    "problem",
    "search",
    "retrieval",
)
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
