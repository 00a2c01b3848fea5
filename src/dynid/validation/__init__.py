"""Whether the model holds on data it has not seen."""

from dynid.validation.band import TorqueBand, torque_band
from dynid.validation.validate import Contributions, Validation, contributions, validate

MODULES = ("band", "validate")
"""The order of this folder: a module imports only those before it."""

__all__ = ["Contributions", "TorqueBand", "Validation", "contributions", "torque_band", "validate"]
