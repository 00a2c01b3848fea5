"""The doctor: what is wrong with a log, how we know, what to do; from signals, then from the arm's equations."""

from dynid.recording.doctor.examination import examine

MODULES = (
    "rows",
    "fit",
    "explain",
    "extra",
    "burst",
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

__all__ = ["examine"]
