"""Whether the model holds on data it has not seen."""

from dynid.validation.validate import Contributions, Validation, contributions, validate

MODULES = ("validate",)
"""The order of this folder: a module imports only those before it."""

__all__ = ["Contributions", "Validation", "contributions", "validate"]
