"""Public data sets by name: where they come from, how to tell they are whole, how they become logs."""

MODULES = ("conversion", "entries", "real_arms", "published", "fetched", "fetch")
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
