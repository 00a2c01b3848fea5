"""Least squares for the checks of a log: every joint on its own, then all joints with the parameters they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from dynid.arrays import Array, Float, Int
from dynid.dynamics.motion import Motion
from dynid.regression.triangle import triangular
from dynid.review.equations.rows import Arm, ThinRows

__all__ = ["FLOOR", "RIDGE", "ArmFit", "OwnFit", "columns_of", "fit_arm", "gravity_columns", "own_fits", "own_noise"]

RIDGE = 1e-5
"""Weight of the pull towards zero, relative to the length of a column: directions that no torque shows stay finite."""
FLOOR = 3e-3
"""Noise assumed at least, relative to the RMS torque of a joint: filters and friction are never exact."""


def rigid_columns(
    arm: Arm, motion: Motion, gravity: Float[Array, " 3"] | None = None
) -> Float[Array, "n n_dof n_base"]:
    """Base columns of every joint (SI), under the robot's own gravity (m/s²) or another."""
    Y = arm.model.regressor(motion)[:, :, arm.base.independent]
    if gravity is None:
        return Y
    change = gravity - arm.robot.gravity
    for k in np.flatnonzero(change):
        Y = Y + change[k] * gravity_columns(arm, motion, int(k))
    return Y


def gravity_columns(arm: Arm, motion: Motion, axis: int) -> Float[Array, "n n_dof n_base"]:
    """Base columns of 1 m/s² of gravity along a base axis (SI)."""
    return arm.gravity_columns[axis].regressor(Motion.at_rest(motion.q))[:, :, arm.base.independent]


def columns_of(
    arm: Arm, rows: ThinRows, gravity: Float[Array, " 3"] | None = None
) -> tuple[list[Float[Array, "n_rows n_visible"]], list[Float[Array, "n_rows n_own"]]]:
    """For every joint its rigid columns (SI) and the columns of its own friction, offset and rotor."""
    Y = rigid_columns(arm, rows.motion, gravity)
    ones = np.ones((rows.n_rows, 1))
    rigid = [np.ascontiguousarray(Y[:, j, arm.visible[j]]) for j in range(arm.n_dof)]
    own = [np.column_stack([rows.friction[:, j], ones, rows.ddq[:, j]]) for j in range(arm.n_dof)]
    return rigid, own


@dataclass(frozen=True, eq=False)
class OwnFit:
    """The fit of one joint's rows by itself: says nothing of sign or scale, and is not misled by other joints."""

    R: Float[Array, "n_rank n_rank"]
    """Triangular factor of the columns over `scale`, ridge included."""
    scale: Float[Array, " n_rank"]
    """What each column was divided by."""
    n_rigid: int
    """Columns of the rigid body; friction, offset and rotor follow."""
    n_rows: int
    along: Float[Array, "n_rank n_dof"]
    """Qᵀτ for the torque of every joint: what the columns of this joint explain of it."""
    left: Float[Array, "n_dof n_dof"]
    """Products of what is left of every joint's torque at this joint's rows."""

    @cached_property
    def beside_friction(self) -> tuple[Float[Array, "n_rank n_rigid"], Float[Array, "n_rigid n_rigid"]]:
        """Triangular factor of the rigid columns (SI) beside the joint's own ones, and the rotation to it."""
        order = np.r_[self.n_rigid : self.R.shape[1], 0 : self.n_rigid]
        n_own = self.R.shape[1] - self.n_rigid
        Q, R = np.linalg.qr((self.R * self.scale)[:, order])
        return Q[:, n_own:], R[n_own:, n_own:]

    @property
    def degrees(self) -> int:
        """Degrees of freedom left, at least a few."""
        return max(4, self.n_rows - len(self.scale))

    def reordered(self, order: Int[Array, " n_dof"], scale: Float[Array, " n_dof"]) -> OwnFit:
        """The same fit of torques in another order, multiplied by `scale` (dimensionless)."""
        if np.all(scale == 1.0) and np.array_equal(order, np.arange(len(order))):
            return self
        left = self.left[np.ix_(order, order)] * np.outer(scale, scale)
        return replace(self, along=self.along[:, order] * scale, left=left)

    def noise(self, joint: int) -> float:
        """Standard deviation (N·m or N) of what is left of the torque of one joint."""
        return float(np.sqrt(max(self.left[joint, joint], 0.0) / self.degrees))


def own_fits(
    rigid: Sequence[Float[Array, "n_rows _"]],
    own: Sequence[Float[Array, "n_rows _"]],
    tau: Float[Array, "n_rows n_dof"],
) -> list[OwnFit]:
    """Every joint on its own, for the torques (N·m or N) of all joints at once."""
    fits = []
    for A, B in zip(rigid, own, strict=True):
        n, n_rows = A.shape[1] + B.shape[1], len(A)
        stack = np.zeros((n_rows + n, n + tau.shape[1]))
        stack[:n_rows, :n] = np.column_stack([A, B])
        scale = np.linalg.norm(stack[:n_rows, :n], axis=0)
        scale[scale == 0.0] = 1.0
        stack[:n_rows, :n] /= scale
        stack[n_rows:, :n] = RIDGE * np.eye(n)
        stack[:n_rows, n:] = tau
        factor = triangular(stack)
        R, along, rest = factor[:n, :n], factor[:n, n:], factor[n:, n:]
        pull = RIDGE * solve_triangular(R, along)  # what the ridge adds to the squares
        fits.append(OwnFit(R, scale, A.shape[1], n_rows, along, rest.T @ rest - pull.T @ pull))
    return fits


def own_noise(fits: Sequence[OwnFit], tau: Float[Array, "n_rows n_dof"]) -> Float[Array, " n_dof"]:
    """What each joint's own fit leaves of its torque, relative to the swing of that torque."""
    return np.array([f.noise(j) for j, f in enumerate(fits)]) / np.maximum(np.std(tau, axis=0), 1e-300)


@dataclass(frozen=True, eq=False)
class ArmFit:
    """All joints with the parameters they share; rows weighted by the noise of each joint's own fit."""

    sigma: Float[Array, " n_dof"]
    """Noise of each joint's own fit, N·m or N."""
    beta: Float[Array, " n_params"]
    """Rigid base parameters, then the friction, offset and rotor of every joint (SI)."""
    residual: Float[Array, "n_rows n_dof"]
    """N·m or N."""
    spread: Float[Array, "n_params n_params"]
    """Inverse of the triangular factor: β has the covariance spread spreadᵀ for unit noise."""


def fit_arm(
    rigid: Sequence[Float[Array, "n_rows _"]],
    own: Sequence[Float[Array, "n_rows _"]],
    tau: Float[Array, "n_rows n_dof"],
    arm: Arm,
    fits: Sequence[OwnFit],
) -> ArmFit:
    """The fit of all joints (SI), from the triangular factors of each."""
    n_dof, n_own, n_base = len(rigid), own[0].shape[1], arm.base.n_base
    n_params = n_base + n_dof * n_own
    rms = np.sqrt(np.mean(tau**2, axis=0))
    sigma = np.array([f.noise(j) for j, f in enumerate(fits)])
    sigma = np.maximum(np.maximum(sigma, FLOOR * rms), 1e-12 * max(float(np.max(rms)), 1e-12))
    n_stacked = sum(len(f.R) for f in fits)
    stack = np.zeros((n_stacked + n_params, n_params + 1))
    row = 0
    for j, f in enumerate(fits):
        here, first = slice(row, row + len(f.R)), n_base + j * n_own
        R = f.R * f.scale / sigma[j]
        stack[here, arm.visible[j]] = R[:, : f.n_rigid]
        stack[here, first : first + n_own] = R[:, f.n_rigid :]
        stack[here, n_params] = f.along[:, j] / sigma[j]
        row += len(f.R)
    length = np.linalg.norm(stack[:n_stacked, :n_params], axis=0)
    length[length == 0.0] = 1.0
    stack[:n_stacked, :n_params] /= length
    stack[n_stacked:, :n_params] = RIDGE * np.eye(n_params)
    factor = triangular(stack)
    R = factor[:n_params, :n_params]
    beta = solve_triangular(R, factor[:n_params, n_params]) / length
    residual = np.empty_like(tau)
    for j in range(n_dof):
        first = n_base + j * n_own
        residual[:, j] = tau[:, j] - rigid[j] @ beta[arm.visible[j]] - own[j] @ beta[first : first + n_own]
    return ArmFit(sigma, beta, residual, solve_triangular(R, np.eye(n_params)) / length[:, None])
