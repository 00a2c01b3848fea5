"""Whether the model holds on data it has not seen."""

from dynid.validation.band import TorqueBand, torque_band
from dynid.validation.torque import Contributions, Validation, contributions, validate
from dynid.validation.verdict import Criterion, Mark, judge, verdict_json, worst

MODULES = ("band", "torque", "verdict")
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "Contributions",
    "Criterion",
    "Mark",
    "TorqueBand",
    "Validation",
    "contributions",
    "judge",
    "torque_band",
    "validate",
    "verdict_json",
    "worst",
]
