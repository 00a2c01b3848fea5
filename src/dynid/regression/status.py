"""How a fit ended: a status whose value is the advice."""

from __future__ import annotations

import enum

__all__ = ["Status"]


class Status(enum.Enum):
    """How a fit ended; the value is what to do about it, empty when there is nothing to do."""

    CONVERGED = ""
    RANK_DEFICIENT = "some base parameters are not excited; excite more or drop them"
    NOT_CONVERGED = "the iteration reached its limit before it settled; allow more iterations or look for outliers"
    STOPPED_EARLY = (
        "the solver stopped before it reached its accuracy; allow more iterations or time, or loosen the bounds"
    )
    INFEASIBLE_CONSTRAINTS = "the constraints seem to contradict each other; widen the bounds or lower the margin"
    BOUNDS_NOT_MET = (
        "bounds on inertia about the centre of mass are not convex and could not all be met; "
        "widen them, or bound the first moments as well"
    )
