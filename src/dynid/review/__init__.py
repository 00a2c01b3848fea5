"""The doctor: what is wrong with a log, how we know, what to do; from signals, then from the arm's equations."""

from typing import TYPE_CHECKING

from dynid.lazy import exported_names, lazy_names

if TYPE_CHECKING:
    from dynid.review.checks.overlap import overlap_findings as overlap_findings
    from dynid.review.checks.table import CHECKS as CHECKS
    from dynid.review.examination import review_log as review_log
    from dynid.review.findings import Finding as Finding
    from dynid.review.findings import Measured as Measured
    from dynid.review.findings import Quantity as Quantity
    from dynid.review.findings import Severity as Severity
    from dynid.review.findings import number as number
    from dynid.review.findings import repaired_map as repaired_map
    from dynid.review.look import Check as Check
    from dynid.review.look import Look as Look
    from dynid.review.look import Needs as Needs

MODULES = (
    "phrases",
    "assignment",
    "findings",
    "signal_view",
    "equations",
    "look",
    "checks",
    "examination",
)
"""The order of this folder: a module imports only those before it."""

__all__ = exported_names(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__)
