"""The doctor: what is wrong with a log, how we know, what to do; from signals, then from the arm's equations."""

from dynid.review.examination import examine
from dynid.review.findings import Finding, Severity

MODULES = (
    "findings",
    "rows",
    "fit",
    "explain",
    "side_effects",
    "contact",
    "gravity",
    "search",
    "time",
    "nominal",
    "words",
    "units",
    "model",
    "view",
    "stamps",
    "slopes",
    "values",
    "motion",
    "signals",
    "overlap",
    "examination",
)
"""The order of this folder: a module imports only those before it."""

__all__ = ["Finding", "Severity", "examine"]
