"""Hypotheses about a log: how its columns have to be read for the arm's equations to hold, and how well they do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from dynid.arrays import Array, Float, Int
from dynid.review.assignment import assignment
from dynid.review.equations.joint_fits import FLOOR, ArmFit, OwnFit, columns_of, fit_arm, own_fits, own_noise
from dynid.review.equations.products import N_POSES, mean_inertia
from dynid.review.equations.rows import Arm, ThinRows
from dynid.review.equations.sizes import expected_torque
from dynid.review.equations.torque_scales import Agreement

__all__ = ["Hypothesis", "HypothesisFit", "best_order", "fit_hypothesis", "with_best_scales"]

SURE = 5.0
"""Standard deviations at which the sign of friction or inertia counts."""
SMALL = 0.01
"""Share of a joint's torque below which its friction or inertia says nothing about the sign."""
WRONG_SIGN = 1.4
"""What each joint whose friction drives it adds to the cost: 2 ln 2, as if its residual were twice as large."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """How to read the columns of a log: order and sign of positions, order, sign and scale of torques, gravity."""

    q_order: Int[Array, " n_dof"]
    """Which column of the log is the position of each joint."""
    q_sign: Float[Array, " n_dof"]
    tau_order: Int[Array, " n_dof"]
    """Which column of the log is the torque of each joint."""
    tau_scale: Float[Array, " n_dof"]
    """What to multiply the torque of each joint by, sign included, dimensionless."""
    gravity: Float[Array, " 3"] | None = None
    """m/s² in base axes where it is not the robot's."""

    @classmethod
    def as_logged(cls, n_dof: int) -> Hypothesis:
        """Everything is what it says."""
        return cls(np.arange(n_dof), np.ones(n_dof), np.arange(n_dof), np.ones(n_dof))

    @property
    def key(self) -> tuple[bytes, ...]:
        """The same for two hypotheses that are the same."""
        gravity = b"" if self.gravity is None else np.round(self.gravity, 9).tobytes()
        numbers = (self.q_order.astype(np.int64), self.q_sign, self.tau_order.astype(np.int64), self.tau_scale)
        return (*(np.asarray(values).tobytes() for values in numbers), gravity)


@dataclass(frozen=True, eq=False)
class HypothesisFit:
    """A hypothesis, and how well the arm's equations hold with it."""

    hypothesis: Hypothesis
    logged: ThinRows
    """Positions as the hypothesis reads them, torques as logged."""
    rigid: list[Float[Array, "n_rows _"]]
    """Rigid columns that each joint sees (SI)."""
    own: list[Float[Array, "n_rows _"]]
    """Columns of each joint's own friction, offset and rotor (SI)."""
    logged_fits: list[OwnFit]
    """Each joint's own fit of the torques as logged."""
    noise: Float[Array, " n_dof"]
    """What each joint's own fit leaves of its torque, relative to the swing of the torque."""
    ratio: float
    """RMS residual of all joints together over what they have on their own."""
    sign: Float[Array, " n_dof"]
    """1 where friction brakes and inertia is positive, −1 where it is the other way round, 0 where neither shows."""

    @cached_property
    def rows(self) -> ThinRows:
        """The rows as the hypothesis reads them."""
        return self.logged.loaded(self.hypothesis.tau_scale, self.hypothesis.tau_order)

    @cached_property
    def fits(self) -> list[OwnFit]:
        """Each joint's own fit of the torques as the hypothesis reads them."""
        return [f.reordered(self.hypothesis.tau_order, self.hypothesis.tau_scale) for f in self.logged_fits]

    @property
    def cost(self) -> float:
        """Sum of the logarithms of residual variances, with a price for what physics forbids."""
        return float(
            np.sum(2.0 * np.log(np.maximum(self.noise, FLOOR)))
            + 2.0 * len(self.noise) * np.log(max(self.ratio, 1.0))
            + WRONG_SIGN * np.count_nonzero(self.sign < 0.0)
        )

    def arm_fit(self, arm: Arm) -> ArmFit:
        """The fit of all joints."""
        return fit_arm(self.rigid, self.own, self.rows.tau, arm, self.fits)

    def beside(self, further: list[list[Array]]) -> HypothesisFit:
        """The same with further columns of each joint's own (SI), after those it has."""
        own = [np.column_stack([columns, *more]) for columns, more in zip(self.own, further, strict=True)]
        fits = own_fits(self.rigid, own, self.logged.tau)
        wider = replace(self, own=own, logged_fits=fits)
        return replace(wider, noise=own_noise(wider.fits, wider.rows.tau))


def fit_hypothesis(arm: Arm, rows: ThinRows, hypothesis: Hypothesis) -> HypothesisFit:
    """How well a hypothesis does."""
    logged = rows.turned(hypothesis.q_sign, hypothesis.q_order)
    rigid, own = columns_of(arm, logged, hypothesis.gravity)
    fits = own_fits(rigid, own, rows.tau)
    n_dof = arm.n_dof
    found = HypothesisFit(hypothesis, logged, rigid, own, fits, np.ones(n_dof), 1.0, np.zeros(n_dof))
    tau = found.rows.tau
    noise = own_noise(found.fits, tau)
    sign = own_signs(arm, logged, found.fits, tau, noise)
    return replace(found, noise=noise, ratio=Agreement(arm, found.fits, tau).ratio(), sign=sign)


def with_best_scales(arm: Arm, fitted: HypothesisFit) -> HypothesisFit:
    """The same with the signs and scales of the torques under which the joints agree best."""
    expected = np.sqrt(np.mean(expected_torque(arm, fitted.logged.motion) ** 2, axis=0))
    scale, ratio = Agreement(arm, fitted.fits, fitted.rows.tau).best_scales(expected, fitted.sign)
    hypothesis = replace(fitted.hypothesis, tau_scale=fitted.hypothesis.tau_scale * scale)
    return replace(fitted, hypothesis=hypothesis, ratio=ratio, sign=fitted.sign * np.sign(scale))


def best_order(fits: list[OwnFit], tau: Float[Array, "n_rows n_dof"]) -> Int[Array, " n_dof"]:
    """The order of the torque columns that the joints' own fits explain best."""
    swing = np.maximum(np.var(tau, axis=0), 1e-300)
    degrees = np.array([f.degrees for f in fits])
    share = np.array([np.diag(f.left) for f in fits]) / degrees[:, None] / swing
    return assignment(np.log(np.maximum(share, FLOOR**2)))


def own_signs(
    arm: Arm,
    rows: ThinRows,
    fits: list[OwnFit],
    tau: Float[Array, "n_rows n_dof"],
    noise: Float[Array, " n_dof"],
) -> Float[Array, " n_dof"]:
    """Whether friction takes energy and inertia is positive at every joint: 1, −1, or 0 where neither shows."""
    inertia = mean_inertia(arm, rows.q[np.linspace(0, rows.n_rows - 1, N_POSES).astype(int)])
    signs = np.zeros(arm.n_dof)
    for j, f in enumerate(fits):
        n_shapes = rows.friction.shape[2]
        functional = np.zeros((2, len(f.scale)))
        functional[0, f.n_rigid : f.n_rigid + n_shapes] = np.mean(rows.dq[:, j : j + 1] * rows.friction[:, j], axis=0)
        functional[1, : f.n_rigid] = inertia[j, arm.visible[j]]
        functional[1, -1] = 1.0
        back = solve_triangular(f.R, (functional / f.scale).T, trans="T").T
        value = back @ f.along[:, j]
        # Neighbouring rows share their noise, and friction is never quite the model's.
        error = 2.0 * np.linalg.norm(back, axis=1) * noise[j] * np.std(tau[:, j])
        size = np.array([np.sqrt(np.mean(rows.dq[:, j] ** 2)), 1.0 / max(np.sqrt(np.mean(rows.ddq[:, j] ** 2)), 1e-12)])
        telling = (np.abs(value) > SURE * error) & (np.abs(value) > SMALL * np.std(tau[:, j]) * size)
        z = np.where(telling, value / np.maximum(error, 1e-300), 0.0)
        if np.any(z):
            signs[j] = np.sign(z[np.argmax(np.abs(z))])
    return signs
