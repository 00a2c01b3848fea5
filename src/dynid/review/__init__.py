"""The doctor: what is wrong with a log, how we know, what to do; from signals, then from the arm's equations."""

from dynid.review.checks.overlap import overlap_findings
from dynid.review.checks.table import CHECKS
from dynid.review.examination import review_log
from dynid.review.findings import Finding, Measured, Quantity, Severity, number, repaired_map
from dynid.review.look import Check, Look, Needs

MODULES = (
    "phrases",
    "findings",
    "signal_view",
    "equations",
    "look",
    "checks",
    "examination",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "CHECKS",
    "Check",
    "Finding",
    "Look",
    "Measured",
    "Needs",
    "Quantity",
    "Severity",
    "number",
    "overlap_findings",
    "repaired_map",
    "review_log",
]
