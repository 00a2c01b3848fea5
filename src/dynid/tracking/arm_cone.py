r"""An arm that is always possible: the most probable physically consistent parameters of a Gaussian over all of them.

Torque is linear in the parameters, so a Gaussian :math:`\mathcal N(\hat\theta, P)` holds all that was measured,
whatever the order of the samples and without linearisation. What is reported is the maximum a posteriori within the
constraints of the batch fit,

.. math::

    \min_\theta \tfrac12 (\theta-\hat\theta)^T P^{-1} (\theta-\hat\theta)
    - \mu \Bigl[\sum_k \log\det J_k(\theta) + \sum_i \log(a_i^T\theta + b_i)\Bigr]

over pseudo-inertias :math:`J_k \succ 0` [Wensing2018]_, friction that brakes and bounds that were asked for. The
problem is convex and its barrier self-concordant: Newton's method finds the answer from anywhere inside.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from dynid.arrays import Array, Float, Int, freeze_arrays
from dynid.chain.inertia import InertialParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import ParameterError, TrackingError
from dynid.regression.constraints.constraints import Constraints, ParameterBounds
from dynid.tracking.base_link import base_conditions, of_the_base

__all__ = ["ArmCone"]

BARRIER = 0.02
"""μ, the weight of the barrier at the answer, in units of log-likelihood: what a fiftieth of a nat may decide."""
FAR_BARRIER, NEAR_BARRIER = 1e3, 0.2
"""The same where the search starts: from the initial parameters, and from the last answer."""
SHRINK = 0.1
"""Factor from one barrier to the next."""
AT_REST = 1e-2
"""Newton decrement squared, over the barrier, at which the next one is due."""
MOST_STEPS = 30
"""Newton steps at one barrier; self-concordance asks for fewer."""
SHORTEST = 1e-6
"""Share of a Newton step below which rounding is all that is left."""
EDGE = 1e-12
"""Pivot of a pseudo-inertia over its diagonal below which rounding decides on which side of the edge it lies."""
CENTRED = 1e-3
"""Share of the way back to where the filter started that a search begins at."""
LIFTS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)
"""Added to the diagonal of a scaled Hessian, in turn, where it is singular to rounding; 100 rows round to 1e-14."""
INSIDE = 1e-3
"""Distance from a bound at which a search starts, over the typical size of the parameter."""
_UNITS = np.array([InertialParameters(unit).pseudo_inertia for unit in np.eye(10)])
"""(10, 4, 4) pseudo-inertia of each of the ten unit parameters."""


@dataclass(frozen=True, eq=False)
class ArmCone:
    """Conditions on all parameters of an arm, and a place inside them."""

    bodies: Int[Array, "n_bodies 10"]
    """Where the ten parameters of every body stand."""
    A: Float[Array, "n_rows n_params"]
    b: Float[Array, " n_rows"]
    """Linear conditions Aθ + b > 0."""
    start: Float[Array, " n_params"]
    """Parameters (SI) strictly inside."""
    left_out: tuple[str, ...] = ()
    """Bounds without a convex form, which are not kept."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(
        cls,
        model: TorqueModel,
        theta: Float[Array, " n_params"],
        scale: Float[Array, " n_params"],
        bounds: ParameterBounds | None = None,
        *,
        tared: bool = False,
    ) -> ArmCone:
        """Physical consistency, signs of friction and `bounds`, around initial parameters θ of some `scale` (SI).

        Ten parameters after the model's are those of the base link, which is no body where the sensor was `tared`.

        Raises:
            ParameterError: θ lies outside a bound.
            UnknownName: a bound of a parameter that does not exist.
        """
        n_params, based = model.n_params, len(theta) > model.n_params
        own, others = of_the_base(bounds) if based else (ParameterBounds(), bounds or ParameterBounds())
        compiled, (conditions, left_out) = Constraints(bounds=others).compile(model), base_conditions(own)
        blocks = [block for block in compiled.blocks if block.kind == "nonnegative"]
        A = np.vstack([np.zeros((0, n_params)), *(block.A for block in blocks)])
        b = np.concatenate([*(block.b for block in blocks), [condition.constant for condition in conditions]])
        names = [*(name for block in blocks for name in block.names), *(condition.text for condition in conditions)]
        if based:
            weights = np.array([condition.weights for condition in conditions]).reshape(-1, 10)
            A = np.block([[A, np.zeros((len(A), 10))], [np.zeros((len(weights), n_params)), weights]])
        start = np.array(theta)
        # Friction may start at zero, on the edge: a little inside is as good a start.
        single = np.count_nonzero(A, axis=1) == 1
        for row, limit in zip(A[single], b[single], strict=True):
            k = int(np.argmax(np.abs(row)))
            if model.n_inertial <= k < n_params:
                least = (INSIDE * abs(row[k]) * scale[k] - limit) / row[k]
                start[k] = max(start[k], least) if row[k] > 0.0 else min(start[k], least)
        outside = [name for name, room in zip(names, A @ start + b, strict=True) if not room > 0.0]
        if outside:
            raise ParameterError(
                f"the parameters start outside {', '.join(outside)}; widen the bound, or start from parameters within"
            )
        places = [*range(model.n_inertial), *range(n_params, n_params if tared else len(theta))]
        left_out = (*(bound.name for bound in compiled.inertia_bounds), *left_out)
        return cls(np.array(places).reshape(-1, 10), A, b, start, left_out)

    def nearest(
        self,
        mean: Float[Array, " n_params"],
        factor: Float[Array, "n_params n_params"],
        start: Float[Array, " n_params"],
    ) -> Float[Array, " n_params"]:
        """The most probable parameters (SI) inside, of a Gaussian with `mean` and P⁻¹ = factorᵀ factor.

        Args:
            mean: of the Gaussian, SI.
            factor: of its information, one over SI.
            start: any parameters inside; the last answer is the best.
        """
        if self._room(mean) is not None:
            return np.array(mean)
        W = factor.T @ factor
        # The last answer may lie on the edge to rounding; the set is convex, so between it and the start lies inside.
        theta = start + CENTRED * (self.start - start)
        barrier = FAR_BARRIER if start is self.start else NEAR_BARRIER
        while True:
            theta = self._centred(theta, mean, factor, W, barrier)
            if barrier <= BARRIER:
                return theta
            barrier = max(BARRIER, SHRINK * barrier)

    def _room(self, theta: Float[Array, " n_params"]) -> float | None:
        """Sum of the logarithms of all distances to the edge; None outside."""
        rows = self.A @ theta + self.b
        if not np.all(rows > 0.0):
            return None
        J = np.tensordot(theta[self.bodies], _UNITS, 1)
        try:
            pivots = np.diagonal(np.linalg.cholesky(J), axis1=1, axis2=2)
        except np.linalg.LinAlgError:
            return None
        if np.any(pivots**2 < EDGE * np.diagonal(J, axis1=1, axis2=2)):
            return None
        return float(np.sum(np.log(rows)) + 2.0 * np.sum(np.log(pivots)))

    def _centred(self, theta: Array, mean: Array, factor: Array, W: Array, barrier: float) -> Float[Array, " n_params"]:
        """Newton's method at one barrier."""
        value = self._value(theta, mean, factor, barrier)
        for _ in range(MOST_STEPS):
            inverse = np.linalg.inv(np.tensordot(theta[self.bodies], _UNITS, 1))
            moved = inverse[:, None] @ _UNITS
            rows = self.A / (self.A @ theta + self.b)[:, None]
            g = W @ (theta - mean) - barrier * np.sum(rows, axis=0)
            g[self.bodies] -= barrier * np.trace(moved, axis1=2, axis2=3)
            H = W + barrier * rows.T @ rows
            curvature = barrier * np.einsum("laij,lbji->lab", moved, moved)
            for body, block in zip(self.bodies, curvature, strict=True):
                H[np.ix_(body, body)] += block
            size = 1.0 / np.sqrt(np.diag(H))
            step = -size * _solved(H * size * size[:, None], size * g)
            decrement = float(-g @ step)
            share = 1.0
            while share > SHORTEST:
                reached = self._value(theta + share * step, mean, factor, barrier)
                if reached < value - 1e-4 * share * decrement:
                    break
                share *= 0.5
            else:
                return theta
            theta, value = theta + share * step, reached
            if decrement < AT_REST * barrier:
                break
        return theta

    def _value(self, theta: Array, mean: Array, factor: Array, barrier: float) -> float:
        room = self._room(theta)
        return np.inf if room is None else 0.5 * float(np.sum((factor @ (theta - mean)) ** 2)) - barrier * room


def _solved(H: Float[Array, "n n"], g: Float[Array, " n"]) -> Float[Array, " n"]:
    """H⁻¹ g of an H with ones on its diagonal, lifted as little as makes it positive definite beyond rounding."""
    for lift in LIFTS:
        with contextlib.suppress(np.linalg.LinAlgError):
            factor = linalg.cho_factor(H + lift * np.eye(len(H)), check_finite=False)
            return linalg.cho_solve(factor, g, check_finite=False)
    raise TrackingError("the filter has lost its covariance to rounding; start again, with bounds or a larger noise")
