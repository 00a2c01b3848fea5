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
    NOT_CONVERGED = (
        "the weights of the joints did not settle: contacts or spikes do that; leave them out (`until`, `from_`), "
        "or raise max_iterations of the estimator in Python"
    )
    STOPPED_EARLY = (
        "the solver stopped before it reached its accuracy; widen `bounds` or `total_mass`, give a search a longer "
        "`time_budget`, or raise max_iterations of SolverSettings in Python"
    )
    INFEASIBLE_CONSTRAINTS = (
        "the constraints seem to contradict each other; widen the bounds, or lower the margin of Constraints"
    )
    BOUNDS_NOT_MET = (
        "bounds on inertia about the centre of mass are not convex and could not all be met; "
        "widen them, or bound the first moments as well"
    )
