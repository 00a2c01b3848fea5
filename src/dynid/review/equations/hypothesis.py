"""Hypotheses about a log: how its columns have to be read for the arm's equations to hold, and how well they do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from dynid.arrays import Array, Float, Int
from dynid.chain.robot import Robot
from dynid.dynamics.motion import Motion
from dynid.review.assignment import assignment
from dynid.review.equations.joint_fits import FLOOR, ArmFit, OwnFit, columns_of, fit_arm, own_fits, own_noise
from dynid.review.equations.rows import Arm, ThinRows
from dynid.review.equations.torque_scales import Agreement

__all__ = ["Hypothesis", "HypothesisFit", "expected_torque", "fit_hypothesis", "with_best_scales"]

SURE = 5.0
"""Standard deviations at which the sign of friction or inertia counts."""
N_POSES = 6
"""Poses over which the inertia that a joint feels is averaged; it changes by less than its sign."""
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
    def n_changes(self) -> float:
        """How much is assumed to be wrong: the simplest hypothesis is preferred."""
        moved = np.count_nonzero(self.q_order != np.arange(len(self.q_order)))
        loads = np.count_nonzero(self.tau_order != np.arange(len(self.tau_order)))
        same = moved and np.array_equal(self.q_order, self.tau_order)
        turned, scaled = np.count_nonzero(self.q_sign < 0.0), float(np.count_nonzero(self.tau_scale != 1.0))
        if scaled and np.all(self.tau_scale == self.tau_scale[0]):
            scaled = 1.0
        return float(moved + (0 if same else loads) + turned + scaled + (self.gravity is not None))


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


def fit_hypothesis(arm: Arm, rows: ThinRows, hypothesis: Hypothesis, *, best_order: bool = False) -> HypothesisFit:
    """How well a hypothesis does; where asked, with the best order of the torques."""
    logged = rows.turned(hypothesis.q_sign, hypothesis.q_order)
    rigid, own = columns_of(arm, logged, hypothesis.gravity)
    fits = own_fits(rigid, own, rows.tau)
    if best_order:
        hypothesis = replace(hypothesis, tau_order=_best_order(fits, rows.tau))
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


def _best_order(fits: list[OwnFit], tau: Float[Array, "n_rows n_dof"]) -> Int[Array, " n_dof"]:
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
    inertia = _mean_inertia(arm, rows.q[np.linspace(0, rows.n_rows - 1, N_POSES).astype(int)])
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


def _mean_inertia(arm: Arm, poses: Float[Array, "n_poses n_dof"]) -> Float[Array, "n_dof n_base"]:
    """What each base parameter adds to the inertia that each joint feels, mean over poses (SI)."""
    n_poses, n_dof = poses.shape
    ddq = np.zeros((n_dof + 1, n_poses, n_dof))
    for j in range(n_dof):
        ddq[j + 1, :, j] = 1.0
    q = np.tile(poses, (n_dof + 1, 1))
    motion = Motion(np.arange(len(q), dtype=float), q, np.zeros_like(q), ddq.reshape(-1, n_dof))
    Y = arm.model.regressor(motion)[:, :, arm.base.independent].reshape(n_dof + 1, n_poses, n_dof, -1).mean(axis=1)
    return np.stack([Y[j + 1, j] - Y[0, j] for j in range(n_dof)])


def expected_torque(arm: Arm, motion: Motion) -> Float[Array, "n_rows n_dof"]:
    """The rigid torque (N·m or N) of the nominal arm, or of a guess where the robot file has no inertias."""
    robot = arm.robot
    links = robot.nominal if robot.has_nominal else guessed_links(robot)
    return arm.model.torque(motion, links.ravel())


def guessed_links(robot: Robot) -> Float[Array, "n_links 10"]:
    """Links of 3 kg reaching to the next joint, SI: right in order of magnitude for an arm that a person can lift."""
    links = np.zeros((robot.n_dof, 10))
    for i in range(robot.n_dof):
        ends = [np.zeros(3), *(child.T_parent_joint[:3, 3] for child in robot.joints if child.parent == i)]
        end = max(ends, key=lambda point: float(np.linalg.norm(point)))
        com = 0.5 * end if np.linalg.norm(end) > 0.02 else np.array([0.02, 0.02, 0.05])
        mass, size = 3.0, 0.05 + 0.3 * float(np.linalg.norm(end))
        inertia = mass * (size**2 * np.eye(3) + (com @ com) * np.eye(3) - np.outer(com, com))
        upper = (inertia[0, 0], inertia[0, 1], inertia[1, 1], inertia[0, 2], inertia[1, 2], inertia[2, 2])
        links[i] = (mass, *(mass * com), *upper)
    return links
