"""How a fit ended: a status whose value is the advice."""

from __future__ import annotations

import enum

__all__ = ["Status"]


class Status(enum.Enum):
    """How a fit ended; the value is what to do about it, empty when there is nothing to do."""

    CONVERGED = ""
    RANK_DEFICIENT = (
        "some base parameters are not excited; add a motion that excites them, or leave out their friction terms"
    )
    NOT_CONVERGED = "the iteration reached max_iterations before it settled; raise it, or look for outliers"
    STOPPED_EARLY = (
        "the solver stopped before it reached its accuracy; raise max_iterations of its SolverSettings, the runs or "
        "time_budget of a Retrieval, or widen the bounds"
    )
    INFEASIBLE_CONSTRAINTS = (
        "the constraints seem to contradict each other; widen the bounds, or lower the margin of Constraints"
    )
    BOUNDS_NOT_MET = (
        "bounds on inertia about the centre of mass are not convex and could not all be met; "
        "widen them, or bound the first moments as well"
    )
