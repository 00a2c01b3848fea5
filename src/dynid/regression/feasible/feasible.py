"""Feasible least squares: the best fit among physically consistent robots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dynid.arrays import Array, Float
from dynid.regression.constraints.constraints import Constraints
from dynid.regression.estimate import Estimate, LinkBelief, full_estimate
from dynid.regression.feasible.link_prior import LinkPrior
from dynid.regression.feasible.link_spread import off_the_boundary
from dynid.regression.feasible.prior import Prior
from dynid.regression.feasible.programme import solve
from dynid.regression.feasible.solver import SolverSettings
from dynid.regression.least_squares import joint_weights
from dynid.regression.problem import RANK_TOLERANCE, Regression, column_scale
from dynid.regression.status import Status
from dynid.regression.uncertainty import uncertainty

__all__ = ["Feasible"]

_FEWEST_LEFT = 0.2
"""Share of the rows that is left for the noise at least, however many parameters a short log is fitted with."""


@dataclass(frozen=True, kw_only=True)
class Feasible:
    """Least squares as a semidefinite programme, and one full parameter set among equal fits [Sousa2013]_.

    For arms of grams to hundreds of tonnes: the margin by which links are consistent is absolute (1e-8 kg·m², see
    `Constraints`), and friction below a billionth of the torque counts as not seen.
    """

    constraints: Constraints = field(default_factory=Constraints)
    prior: Prior = field(default_factory=Prior)
    weighted: bool = True
    """Weigh the rows of each joint by its own noise, as WLS does; False fits the plain torque error."""
    solver: SolverSettings = field(default_factory=SolverSettings)
    """When the conic solver stops."""
    name: ClassVar[str] = "feasible"
    label: ClassVar[str] = "feasible least squares"
    gives_links: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = False

    def fit(self, regression: Regression) -> Estimate:
        """The physically consistent parameters (SI) whose torque is closest to the measured."""
        weights = joint_weights(regression)[0] if self.weighted else np.ones(regression.model.n_dof)
        counted = self._counted(regression, weights)
        stacked = regression.stacked(counted)
        solution = solve(
            stacked.R,
            stacked.rho,
            regression.model,
            regression.base,
            self.constraints,
            prior=self.prior,
            residual=stacked.rest,
            solver=self.solver,
            joint_std=_joint_std(regression, counted) if self.prior.rule == "map" and self.weighted else None,
        )
        theta, belief = solution.theta, None if solution.known is None else _belief(solution.known, counted)
        if belief is not None and solution.status is not Status.STOPPED_EARLY and np.all(np.isfinite(theta)):
            theta = off_the_boundary(theta, regression, self.constraints.compile(regression.model), belief)
        return full_estimate(
            self,
            regression,
            theta,
            weights=weights,
            status=solution.status,
            labels=solution.labels,
            rule=solution.rule,
            belief=belief,
        )

    def _counted(self, regression: Regression, weights: Float[Array, " n_dof"]) -> Float[Array, " n_dof"]:
        """The weights (1/(N·m)) that let data and prior count as they should: fewer rows tell than there are.

        Residuals have a memory; what the prior is weighed against is the number of independent rows. Each parameter
        that is fitted takes one of these from the noise, f of those that there are.
        """
        if self.prior.rule != "map" or not self.weighted:
            return weights
        beta = regression.stacked(weights).solution()
        inflation = np.maximum(uncertainty(regression, beta, weights).inflation, 1.0)
        counted = weights / np.sqrt(inflation)
        used, rows = _used(regression, counted), regression.rows_per_joint().astype(float)
        left = np.maximum(rows - inflation * used, _FEWEST_LEFT * rows) / np.maximum(rows - used, 1.0)
        return counted * np.sqrt(np.minimum(left, 1.0))


def _used(regression: Regression, weights: Float[Array, " n_dof"]) -> Float[Array, " n_dof"]:
    """How many parameters the rows of each joint determine; they add up to the rank."""
    R = regression.stacked(weights).R
    scale = column_scale(R)
    inverse = np.linalg.pinv(R / scale, rcond=RANK_TOLERANCE)
    parts = zip(weights, regression.joints, regression.visible, strict=True)
    return np.array([w**2 * np.sum((j.R / scale[columns] @ inverse[columns]) ** 2) for w, j, columns in parts])


def _belief(known: LinkPrior, weights: Float[Array, " n_dof"]) -> LinkBelief:
    """The prior of a programme in SI, with the row weights (1/(N·m)) it was weighed against."""
    n, reference = 10 * len(known.std), known.reference
    mean = reference.S[:n, :n] @ reference.x_target[:n]
    factor = reference.S[:n, :n] * np.repeat(known.std, 10)
    return LinkBelief(mean, factor, weights, known.std, known.guessed, known.joint_std)


def _joint_std(regression: Regression, weights: Float[Array, " n_dof"]) -> Float[Array, " n_joint_terms"]:
    """Spread of every joint term (SI): alone it makes as much torque as there is at the joints that feel it.

    Rotor, spring and friction of a motion at one frequency look alike but for their sign: without it they cancel at
    many times the torque of a joint, and another motion tells.
    """
    n = regression.model.n_inertial
    effect, torque = np.zeros((2, regression.model.n_params - n))
    for w, factor, columns in zip(weights, regression.joints, regression.visible, strict=True):
        own = np.sum((factor.R @ regression.base.K[columns, n:]) ** 2, axis=0)
        effect += w**2 * own
        torque += np.where(own > 0.0, w**2 * factor.power, 0.0)
    told = (effect > 0.0) & (torque > 0.0)
    return np.sqrt(np.divide(torque, effect, out=np.full(len(effect), np.inf), where=told))
