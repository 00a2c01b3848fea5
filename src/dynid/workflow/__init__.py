"""The jobs people do: plain functions from robots, logs and models to frozen results that print as a person reads."""

from dynid.workflow.examine import LogReview, examine
from dynid.workflow.identification import Comparison, Identification, IdentifiedLink, Quantity
from dynid.workflow.identify import LogsRefused, identify
from dynid.workflow.prediction import Prediction, predict
from dynid.workflow.validate import ModelValidation, validate

MODULES = (
    "progress",
    "doors",
    "logs",
    "provenance",
    "workers",
    "contract",
    "prediction",
    "fit_options",
    "examine",
    "identify_job",
    "manifest",
    "identification",
    "other_fits",
    "identify",
    "validate",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "Comparison",
    "Identification",
    "IdentifiedLink",
    "LogReview",
    "LogsRefused",
    "ModelValidation",
    "Prediction",
    "Quantity",
    "examine",
    "identify",
    "predict",
    "validate",
]
