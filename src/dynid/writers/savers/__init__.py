"""The files of each kind of result: one module a kind, and what they have in common."""

MODULES = (
    "saved",
    "model",
    "identification",
    "retrieval",
    "reverse",
    "friction",
    "payload",
    "tracking",
    "live",
    "simulation",
    "excitation",
    "conversion",
    "check",
)
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
