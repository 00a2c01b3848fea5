"""Explanations of a log: what its columns would have to be for the arm's equations to hold, and how well they do."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import linear_sum_assignment

from dynid.arrays import Array, Float, Int
from dynid.chain.robot import Robot
from dynid.dynamics.motion import Motion
from dynid.review.fit import FLOOR, Fit, Own, columns_of, fit, joint_ratio, own_fits, relative_scales
from dynid.review.rows import Arm, Rows

__all__ = ["Explanation", "Judged", "expected_torque", "judge"]

SURE = 5.0
"""Standard deviations at which the sign of friction or inertia counts."""
N_POSES = 6
"""Poses over which the inertia that a joint feels is averaged."""
SMALL = 0.01
"""Share of a joint's torque below which its friction or inertia says nothing about the sign."""
WRONG_SIGN = 1.4
"""What each joint that brakes backwards adds to the cost, as if its residual were twice as large."""


@dataclass(frozen=True, eq=False)
class Explanation:
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
    def as_logged(cls, n_dof: int) -> Explanation:
        """Everything is what it says."""
        return cls(np.arange(n_dof), np.ones(n_dof), np.arange(n_dof), np.ones(n_dof))

    def applied(self, rows: Rows) -> Rows:
        """The rows read this way."""
        return rows.turned(self.q_sign, self.q_order).loaded(self.tau_scale, self.tau_order)

    @property
    def n_changes(self) -> float:
        """How much is assumed to be wrong: the simplest explanation is preferred."""
        moved = np.count_nonzero(self.q_order != np.arange(len(self.q_order)))
        loads = np.count_nonzero(self.tau_order != np.arange(len(self.tau_order)))
        same = moved and np.array_equal(self.q_order, self.tau_order)
        turned, scaled = np.count_nonzero(self.q_sign < 0.0), float(np.count_nonzero(self.tau_scale != 1.0))
        if scaled and np.all(self.tau_scale == self.tau_scale[0]):
            scaled = 1.0
        return float(moved + (0 if same else loads) + turned + scaled + (self.gravity is not None))


@dataclass(frozen=True, eq=False)
class Judged:
    """An explanation, and how well the arm's equations hold with it."""

    explanation: Explanation
    rows: Rows
    rigid: list[Float[Array, "n_rows _"]]
    own: list[Float[Array, "n_rows _"]]
    fits: list[Own]
    noise: Float[Array, " n_dof"]
    """What each joint's own fit leaves of its torque, relative to the swing of the torque."""
    ratio: float
    """RMS residual of all joints together over what they have on their own."""
    sign: Float[Array, " n_dof"]
    """1 where friction brakes and inertia is positive, −1 where it is the other way round, 0 where neither shows."""

    @property
    def cost(self) -> float:
        """Sum of the logarithms of residual variances, with a price for what physics forbids."""
        return float(
            np.sum(2.0 * np.log(np.maximum(self.noise, FLOOR)))
            + 2.0 * len(self.noise) * np.log(max(self.ratio, 1.0))
            + WRONG_SIGN * np.count_nonzero(self.sign < 0.0)
        )

    def joint_fit(self, arm: Arm) -> Fit:
        """The fit of all joints."""
        visible = [arm.visible(j) for j in range(arm.n_dof)]
        return fit(self.rigid, self.own, self.rows.tau, visible, arm.base.n_base, self.fits)


def judge(arm: Arm, rows: Rows, explanation: Explanation, *, scales: bool = False, orders: bool = False) -> Judged:
    """How well an explanation does; where asked, with the best order and scale of the torques (dimensionless)."""
    turned = rows.turned(explanation.q_sign, explanation.q_order)
    rigid, own = columns_of(arm, turned, explanation.gravity)
    found = explanation
    if orders:
        fits = own_fits(rigid, own, rows.tau)
        found = replace(found, tau_order=_best_order(fits, rows.tau))
    read = turned.loaded(found.tau_scale, found.tau_order)
    fits = own_fits(rigid, own, read.tau)
    noise = own_noise(fits, read.tau)
    sign = own_signs(arm, turned, own, fits, read.tau, noise)
    visible = [arm.visible(j) for j in range(arm.n_dof)]
    ratio = joint_ratio(fits, read.tau, visible, arm.base.n_base, np.ones(arm.n_dof))
    if scales:
        expected = np.sqrt(np.mean(expected_torque(arm, turned.motion) ** 2, axis=0))
        scale, ratio = relative_scales(fits, read.tau, visible, arm.base.n_base, expected, sign)
        found = replace(found, tau_scale=found.tau_scale * scale)
        read = turned.loaded(found.tau_scale, found.tau_order)
        fits = own_fits(rigid, own, read.tau)
        sign = sign * np.sign(scale)
    return Judged(found, read, rigid, own, fits, noise, ratio, sign)


def own_noise(fits: list[Own], tau: Float[Array, "n_rows n_dof"]) -> Float[Array, " n_dof"]:
    """What each joint's own fit leaves of its torque, relative to the swing of that torque."""
    left = np.array([np.sqrt(max(f.left[j, j], 0.0) / f.degrees()) for j, f in enumerate(fits)])
    return left / np.maximum(np.std(tau, axis=0), 1e-300)


def _best_order(fits: list[Own], tau: Float[Array, "n_rows n_dof"]) -> Int[Array, " n_dof"]:
    """The order of the torque columns that the joints' own fits explain best."""
    swing = np.maximum(np.var(tau, axis=0), 1e-300)
    degrees = np.array([f.degrees() for f in fits])
    share = np.array([np.diag(f.left) for f in fits]) / degrees[:, None] / swing
    return np.asarray(linear_sum_assignment(np.log(np.maximum(share, FLOOR**2)))[1], dtype=np.int64)


def own_signs(
    arm: Arm,
    rows: Rows,
    own: list[Float[Array, "n_rows _"]],
    fits: list[Own],
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
        functional[1, : f.n_rigid] = inertia[j, arm.visible(j)]
        functional[1, -1] = 1.0
        back = solve_triangular(f.R, (functional / f.scale).T, trans="T").T
        value = back @ (f.basis.T @ tau[:, j])
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
