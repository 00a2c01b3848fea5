"""Feasible least squares: the best fit among the robots that can exist."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dynid.regression.constraints import Constraints
from dynid.regression.estimate import Estimate, FitError, uncertainty
from dynid.regression.least_squares import joint_weights
from dynid.regression.problem import Regression
from dynid.regression.programme import solve
from dynid.regression.reference import Prior
from dynid.regression.status import Status

__all__ = ["Feasible"]


@dataclass(frozen=True, kw_only=True)
class Feasible:
    """Least squares as a semidefinite programme, and one full parameter set among equal fits [Sousa2013]_."""

    constraints: Constraints = field(default_factory=Constraints)
    prior: Prior = field(default_factory=Prior)
    weighted: bool = True
    """Weigh the rows of each joint by its own noise, as WLS does; False fits the plain torque error."""

    def fit(self, regression: Regression) -> Estimate:
        """The physically possible parameters (SI) whose torque is closest to the measured."""
        weights = joint_weights(regression)[0] if self.weighted else np.ones(regression.model.n_dof)
        stacked = regression.stacked(weights)
        solution = solve(
            stacked.R,
            stacked.rho,
            regression.model,
            regression.base,
            self.constraints,
            prior=self.prior,
            residual=stacked.rest,
        )
        condition, rank = regression.stacked().condition()
        status = solution.status
        if status is Status.CONVERGED and rank < regression.base.n_base:
            status = Status.RANK_DEFICIENT
        return Estimate(
            estimator="feasible",
            model=regression.model,
            base=regression.base,
            beta=solution.beta,
            uncertainty=uncertainty(regression, solution.beta, weights),
            condition_number=condition,
            rank=rank,
            n_rows=regression.n_rows,
            fit=FitError.on(regression, solution.beta),
            status=status,
            weights=weights,
            theta=solution.theta,
            labels=solution.labels,
            rule=solution.rule,
        )
