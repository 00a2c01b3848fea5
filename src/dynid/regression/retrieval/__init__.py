"""Full parameters under any constraint, by penalty-based global search [Gaz2019]_."""

MODULES = ("body_factors", "objective", "lagrangian", "search", "retrieval")
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
