"""Whether the model holds on data it was not fitted to."""

from dynid.validation.band import TorqueBand, torque_band
from dynid.validation.torque import Contributions, Validation, compare_torque, contributions
from dynid.validation.verdict import Criterion, Mark, Verdict, judge

MODULES = ("band", "torque", "verdict")
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "Contributions",
    "Criterion",
    "Mark",
    "TorqueBand",
    "Validation",
    "Verdict",
    "compare_torque",
    "contributions",
    "judge",
    "torque_band",
]
