"""Least squares for the checks of a log: every joint on its own, then all joints with the parameters they share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from dynid.arrays import Array, Float
from dynid.dynamics.motion import Motion
from dynid.review.rows import Arm, Rows

__all__ = ["FLOOR", "Fit", "Own", "columns_of", "fit", "joint_ratio", "own_fits", "relative_scales"]

RIDGE = 1e-5
"""Weight of the pull towards zero, relative to the length of a column: directions no torque shows stay finite."""
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
    arm: Arm, rows: Rows, gravity: Float[Array, " 3"] | None = None
) -> tuple[list[Float[Array, "n_rows n_visible"]], list[Float[Array, "n_rows n_own"]]]:
    """For every joint its rigid columns and the columns of its own friction, offset and rotor."""
    Y = rigid_columns(arm, rows.motion, gravity)
    ones = np.ones((rows.n_rows, 1))
    rigid = [np.ascontiguousarray(Y[:, j, arm.visible(j)]) for j in range(arm.n_dof)]
    own = [np.column_stack([rows.friction[:, j], ones, rows.ddq[:, j]]) for j in range(arm.n_dof)]
    return rigid, own


@dataclass(frozen=True, eq=False)
class Own:
    """The fit of one joint's rows by itself: says nothing of sign or scale, and is not misled by other joints."""

    basis: Float[Array, "n_rows n_rank"]
    """Orthonormal columns that span what the model can explain at this joint."""
    R: Float[Array, "n_rank n_rank"]
    scale: Float[Array, " n_rank"]
    """What each column was divided by."""
    n_rigid: int
    left: Float[Array, "n_dof n_dof"]
    """Products of what is left of every joint's torque at this joint's rows."""

    @cached_property
    def beside_friction(self) -> tuple[Float[Array, "n_rank n_rigid"], Float[Array, "n_rigid n_rigid"]]:
        """Triangular factor of the rigid columns (SI) beside the joint's own ones, and the turn that leads to it."""
        order = np.r_[self.n_rigid : self.R.shape[1], 0 : self.n_rigid]
        n_own = self.R.shape[1] - self.n_rigid
        Q, R = np.linalg.qr((self.R * self.scale)[:, order])
        return Q[:, n_own:], R[n_own:, n_own:]

    def degrees(self) -> int:
        """Degrees of freedom left, at least a few."""
        return max(4, len(self.basis) - self.basis.shape[1])


def own_fits(
    rigid: list[Float[Array, "n_rows _"]], own: list[Float[Array, "n_rows _"]], tau: Float[Array, "n_rows n_dof"]
) -> list[Own]:
    """Every joint on its own."""
    fits = []
    for A, B in zip(rigid, own, strict=True):
        W = np.column_stack([A, B])
        scale = np.linalg.norm(W, axis=0)
        scale[scale == 0.0] = 1.0
        n = W.shape[1]
        Q, R = np.linalg.qr(np.vstack([W / scale, RIDGE * np.eye(n)]))
        Q = Q[: len(W)]
        rest = tau - Q @ (Q.T @ tau)
        fits.append(Own(Q, R, scale, A.shape[1], rest.T @ rest))
    return fits


@dataclass(frozen=True, eq=False)
class Fit:
    """All joints with the parameters they share; rows weighted by the noise of each joint's own fit."""

    sigma: Float[Array, " n_dof"]
    """Noise of each joint's own fit, N·m or N."""
    degrees: int
    """Rows less parameters."""
    ratio: float
    """RMS residual over what the joints have on their own, about 1 when they agree."""
    relative: Float[Array, " n_dof"]
    """Noise of each joint's own fit over the RMS of its torque about its mean."""
    beta: Float[Array, " n_params"]
    """Rigid base parameters, then the friction, offset and rotor of every joint (SI)."""
    residual: Float[Array, "n_rows n_dof"]
    """N·m or N."""
    spread: Float[Array, "n_params n_params"]
    """Inverse of the triangular factor: β has the covariance spread spreadᵀ for unit noise."""


def fit(
    rigid: list[Float[Array, "n_rows _"]],
    own: list[Float[Array, "n_rows _"]],
    tau: Float[Array, "n_rows n_dof"],
    visible: list[Array],
    n_base: int,
    fits: list[Own] | None = None,
) -> Fit:
    """The fit of all joints (SI)."""
    fits = own_fits(rigid, own, tau) if fits is None else fits
    n_dof, n_own = len(rigid), own[0].shape[1]
    n_params = n_base + n_dof * n_own
    rms = np.sqrt(np.mean(tau**2, axis=0))
    swing = np.maximum(np.std(tau, axis=0), 1e-300)
    sigma = np.array([np.sqrt(max(f.left[j, j], 0.0) / f.degrees()) for j, f in enumerate(fits)])
    relative = sigma / swing
    sigma = np.maximum(np.maximum(sigma, FLOOR * rms), 1e-12 * max(float(np.max(rms)), 1e-12))
    stack = np.zeros((sum(f.R.shape[0] for f in fits), n_params + n_dof))
    row = 0
    for j, f in enumerate(fits):
        here = slice(row, row + len(f.R))
        R = f.R * f.scale / sigma[j]
        stack[here, visible[j]] = R[:, : f.n_rigid]
        first = n_base + j * n_own
        stack[here, first : first + n_own] = R[:, f.n_rigid :]
        stack[here, n_params + j] = f.basis.T @ tau[:, j] / sigma[j]
        row += len(f.R)
    length = np.linalg.norm(stack[:, :n_params], axis=0)
    length[length == 0.0] = 1.0
    system = np.vstack([stack[:, :n_params] / length, RIDGE * np.eye(n_params)])
    right = np.vstack([stack[:, n_params:], np.zeros((n_params, n_dof))])
    Q, R = np.linalg.qr(system)
    c = Q.T @ right
    beta = solve_triangular(R, c.sum(axis=1)) / length
    residual = np.empty_like(tau)
    for j in range(n_dof):
        first = n_base + j * n_own
        residual[:, j] = tau[:, j] - rigid[j] @ beta[visible[j]] - own[j] @ beta[first : first + n_own]
    degrees = max(10, tau.size - n_params)
    ratio = float(np.sqrt(np.sum((residual / sigma) ** 2) / degrees))
    spread = solve_triangular(R, np.eye(n_params)) / length[:, None]
    return Fit(sigma, degrees, max(ratio, 1e-3), relative, beta, residual, spread)


AGREED = 1.6
"""RMS residual of all joints over what they have on their own, below which they agree."""
OFF = 1.6
"""Factor on a torque below which it is not a matter of units."""


def joint_ratio(
    fits: list[Own],
    tau: Float[Array, "n_rows n_dof"],
    visible: list[Array],
    n_base: int,
    scale: Float[Array, " n_dof"],
) -> float:
    """RMS residual over noise if the torque of every joint were multiplied by `scale` (dimensionless)."""
    return _jointly(fits, tau, visible, n_base, scale)[0]


def _jointly(
    fits: list[Own],
    tau: Float[Array, "n_rows n_dof"],
    visible: list[Array],
    n_base: int,
    scale: Float[Array, " n_dof"],
) -> tuple[float, Float[Array, "n_dof n_dof"]]:
    """The ratio, and the squares of the residual as a form in further factors on the torques.

    Each joint's friction is its own, so only what its own columns cannot explain has to agree with the others.
    """
    n_dof, n_rows = len(fits), len(tau)
    rms = np.sqrt(np.mean(tau**2, axis=0))
    blocks, right, left = [], [], np.zeros(n_dof)
    for j, f in enumerate(fits):
        sigma = max(np.sqrt(max(f.left[j, j], 0.0) / f.degrees()), FLOOR * rms[j], 1e-300)
        Q, R = f.beside_friction
        block = np.zeros((f.n_rigid, n_base))
        block[:, visible[j]] = R / (sigma * abs(scale[j]))
        target = np.zeros((f.n_rigid, n_dof))
        target[:, j] = np.sign(scale[j]) * (Q.T @ (f.basis.T @ tau[:, j])) / sigma
        blocks.append(block)
        right.append(target)
        left[j] = f.left[j, j] / sigma**2
    W, T = np.vstack(blocks), np.vstack(right)
    length = np.linalg.norm(W, axis=0)
    length[length == 0.0] = 1.0
    Q, _ = np.linalg.qr(np.vstack([W / length, RIDGE * np.eye(n_base)]))
    Q = Q[: len(W)]
    rest = T - Q @ (Q.T @ T)
    form = rest.T @ rest + np.diag(left)
    degrees = max(10, n_rows * n_dof - n_base - sum(f.R.shape[1] - f.n_rigid for f in fits))
    return float(np.sqrt(np.sum(form) / degrees)), form / degrees * n_dof


def relative_scales(
    fits: list[Own],
    tau: Float[Array, "n_rows n_dof"],
    visible: list[Array],
    n_base: int,
    expected: Float[Array, " n_dof"],
    sign: Float[Array, " n_dof"],
) -> tuple[Float[Array, " n_dof"], float]:
    """Factors on the torques (dimensionless) that make the joints agree, as few as do it, and the ratio they reach."""
    n_dof = len(fits)
    ones = np.ones(n_dof)
    plain = joint_ratio(fits, tau, visible, n_base, ones)
    by_sign = np.where(sign < 0.0, -1.0, 1.0)
    if plain < AGREED and np.all(by_sign > 0.0):
        return ones, plain
    rms = np.maximum(np.sqrt(np.mean(tau**2, axis=0)), 1e-300)
    starts = [ones, by_sign, np.maximum(expected, 1e-9 * np.max(expected)) / rms * by_sign]
    best, reached = ones, plain
    for start in starts:
        scale = np.array(start)
        for _ in range(4):
            ratio, form = _jointly(fits, tau, visible, n_base, scale)
            if ratio < reached / 1.05 or (
                ratio < 1.05 * reached and np.sum(scale * sign < 0) < np.sum(best * sign < 0)
            ):
                best, reached = scale, ratio
            if ratio < 0.5 * AGREED:
                break
            factor = np.linalg.eigh(form)[1][:, 0]
            factor = factor / factor[np.argmax(np.abs(factor))]
            if np.min(np.abs(factor)) < 1e-3:
                break
            scale = scale * factor
    return _fewest(fits, tau, visible, n_base, best, sign)


def _fewest(
    fits: list[Own],
    tau: Float[Array, "n_rows n_dof"],
    visible: list[Array],
    n_base: int,
    scale: Float[Array, " n_dof"],
    sign: Float[Array, " n_dof"],
) -> tuple[Float[Array, " n_dof"], float]:
    """The same factors relative to what most joints agree on, and one wherever that is as good."""
    size = np.log(np.abs(scale))
    crowd = np.sum(np.abs(size[:, None] - size[None, :]) < np.log(1.35), axis=0)
    together = np.abs(size - size[np.argmax(crowd)]) < np.log(1.35)
    level = float(np.exp(np.median(size[together])))
    agreeing = np.sum(np.sign(scale) * sign)
    turned = -1.0 if agreeing < 0.0 or (agreeing == 0.0 and np.sum(np.sign(scale)) < 0.0) else 1.0
    scale = scale / level * turned
    exact = joint_ratio(fits, tau, visible, n_base, scale)
    near = np.abs(np.log(np.abs(scale))) < np.log(OFF)
    snapped = np.where(near, np.sign(scale), scale)
    reached = joint_ratio(fits, tau, visible, n_base, snapped)
    if reached > max(1.1 * exact, AGREED):
        return scale, exact
    scale = snapped
    for j in np.argsort(-np.abs(np.log(np.abs(scale)))):
        for other in (1.0, -1.0) if sign[j] == 0.0 else (sign[j],):
            if scale[j] == other:
                break
            tried = np.array(scale)
            tried[j] = other
            ratio = joint_ratio(fits, tau, visible, n_base, tried)
            if ratio < max(1.1 * reached, 1.0):
                scale, reached = tried, min(ratio, reached)
                break
    return scale, joint_ratio(fits, tau, visible, n_base, scale)
