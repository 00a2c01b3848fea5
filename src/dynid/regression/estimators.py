"""The table of estimators: adding one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dynid.errors import UnknownName
from dynid.regression.constraints.constraints import Constraints
from dynid.regression.estimate import Estimator
from dynid.regression.feasible.feasible import Feasible
from dynid.regression.feasible.prior import Prior
from dynid.regression.least_squares import OLS, WLS, Robust

__all__ = ["ESTIMATORS", "EstimatorOptions", "make_estimator"]


@dataclass(frozen=True, kw_only=True, eq=False)
class EstimatorOptions:
    """What every command lets a user ask of an estimator; each takes what concerns it."""

    constraints: Constraints = field(default_factory=Constraints)
    """Of the full parameters."""
    prior: Prior = field(default_factory=Prior)
    """How to choose among parameters that fit alike."""
    seed: int = 0
    """Of random starts."""


def _retrieval(options: EstimatorOptions) -> Estimator:
    # Its search is imported where it is asked for: it takes as long as a whole fit of the others.
    from dynid.regression.retrieval.retrieval import Retrieval

    return Retrieval(constraints=options.constraints, seed=options.seed)


ESTIMATORS: dict[str, Callable[[EstimatorOptions], Estimator]] = {
    "ols": lambda options: OLS(),
    "wls": lambda options: WLS(),
    "robust": lambda options: Robust(),
    "feasible": lambda options: Feasible(constraints=options.constraints, prior=options.prior),
    "retrieval": _retrieval,
}
"""By name, what makes an estimator from the options of a command."""


def make_estimator(name: str, options: EstimatorOptions | None = None) -> Estimator:
    """The estimator of that name.

    Raises:
        UnknownName: offering the nearest.
    """
    if name not in ESTIMATORS:
        raise UnknownName(name, known=ESTIMATORS, kind="estimator")
    return ESTIMATORS[name](options or EstimatorOptions())
