"""The doctor: what is wrong with a log, how we know, what to do; from signals, then from the arm's equations."""

from typing import TYPE_CHECKING

from dynid.lazy import lazy_names

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

# A stage is imported for a few of its modules; the others would only cost time.
_HOMES = {
    "dynid.review.checks.overlap": ("overlap_findings",),
    "dynid.review.checks.table": ("CHECKS",),
    "dynid.review.examination": ("review_log",),
    "dynid.review.findings": ("Finding", "Measured", "Quantity", "Severity", "number", "repaired_map"),
    "dynid.review.look": ("Check", "Look", "Needs"),
}
__all__ = sorted(name for names in _HOMES.values() for name in names)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__, _HOMES)
