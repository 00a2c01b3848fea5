"""The direction of gravity that a log shows: tilted bases, and torques without gravity."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float, Vector3
from dynid.chain.placement import rotation_about
from dynid.review.equations.effects import effect_of
from dynid.review.equations.hypothesis import HypothesisFit, fit_hypothesis
from dynid.review.equations.joint_fits import gravity_columns
from dynid.review.equations.rows import Arm, ThinRows

__all__ = ["GravityDirection", "gravity_direction", "gravity_seen", "gravity_step", "gravity_torque_columns"]

MAX_STEPS = 12
"""Gauss–Newton steps at most; near the solution each squares the error."""
SETTLED = 1e-4
"""Step in rad at which the direction is found."""
STARTS = (0.5, 1.1, 2.0, np.pi)
"""Tilts in rad from which a large one is searched for."""
COARSE_ROWS = 160
"""Rows on which the starts are compared: a tilt of 0.5 rad shows in far fewer."""


@dataclass(frozen=True, eq=False)
class GravityDirection:
    """A direction of gravity and how well it is known."""

    gravity: Vector3
    """m/s² in base axes."""
    angle: float
    """rad from the robot's own."""
    error: float
    """Standard deviation of the angle, rad."""
    z: float
    """Size of the tilt in standard deviations."""
    fitted: HypothesisFit


def _tangents(gravity: Vector3) -> Float[Array, "2 3"]:
    unit = gravity / np.linalg.norm(gravity)
    first = np.cross(unit, np.eye(3)[int(np.argmin(np.abs(unit)))])
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(unit, first)])


def gravity_torque_columns(arm: Arm, rows: ThinRows) -> Float[Array, "3 n_rows n_dof n_base"]:
    """Base columns of 1 m/s² along every base axis (SI)."""
    return np.stack([gravity_columns(arm, rows.motion, axis) for axis in range(3)])


def gravity_step(
    arm: Arm, fitted: HypothesisFit, columns: Float[Array, "3 n_rows n_dof n_base"]
) -> tuple[Vector3, Float[Array, "2 2"], Float[Array, " 2"]]:
    """One Gauss–Newton step on the sphere of gravity directions: m/s², and the step and its covariance in rad."""
    now = arm.robot.gravity if fitted.hypothesis.gravity is None else fitted.hypothesis.gravity
    size = float(np.linalg.norm(now))
    fit = fitted.arm_fit(arm)
    T = _tangents(now)
    torque = np.einsum("anjb,b->anj", columns, fit.beta[: arm.base.n_base])
    effect = effect_of(arm, fitted, fit, np.einsum("ka,anj->njk", T, torque) * size)
    moved = now / size + effect.value @ T
    return size * moved / np.linalg.norm(moved), effect.covariance, effect.value


def gravity_direction(arm: Arm, rows: ThinRows, start: HypothesisFit, *, far: bool) -> GravityDirection | None:
    """The direction of gravity that fits best; `far` also tries large tilts. None where gravity cannot show."""
    own = arm.robot.gravity
    size = float(np.linalg.norm(own))
    if size == 0.0:
        return None
    best = start
    if far:
        coarse = rows.thinned(COARSE_ROWS)
        T = _tangents(own)
        tried = [fit_hypothesis(arm, coarse, start.hypothesis)]
        for angle in STARTS:
            axes = [T[0], T[1], -T[0], -T[1]] if angle < 3.0 else [T[0]]
            for axis in axes:
                gravity = rotation_about(axis, angle) @ own
                tried.append(fit_hypothesis(arm, coarse, replace(start.hypothesis, gravity=gravity)))
        tried.sort(key=lambda fitted: fitted.cost)
        best = _descend(arm, coarse, tried[0])
        second = _descend(arm, coarse, tried[1])
        best = min(best, second, key=lambda fitted: fitted.cost)
        best = fit_hypothesis(arm, rows, best.hypothesis)
    columns = gravity_torque_columns(arm, rows)
    covariance, moved = np.eye(2), np.zeros(2)
    for _ in range(MAX_STEPS):
        gravity, covariance, moved = gravity_step(arm, best, columns)
        stepped = fit_hypothesis(arm, rows, replace(best.hypothesis, gravity=gravity))
        if stepped.cost > best.cost:
            break
        best = stepped
        if np.linalg.norm(moved) < SETTLED:
            break
    found = own if best.hypothesis.gravity is None else best.hypothesis.gravity
    angle = float(np.arccos(np.clip(found @ own / size**2, -1.0, 1.0)))
    error = float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))
    return GravityDirection(found, angle, error, angle / max(error, 1e-12), best)


def _descend(arm: Arm, rows: ThinRows, fitted: HypothesisFit) -> HypothesisFit:
    columns = gravity_torque_columns(arm, rows)
    for _ in range(MAX_STEPS):
        gravity, _, moved = gravity_step(arm, fitted, columns)
        stepped = fit_hypothesis(arm, rows, replace(fitted.hypothesis, gravity=gravity))
        if stepped.cost > fitted.cost - 1e-3:
            break
        fitted = stepped
        if np.linalg.norm(moved) < SETTLED:
            break
    return fitted


def gravity_seen(arm: Arm, rows: ThinRows, fitted: HypothesisFit) -> Float[Array, " n_dof"]:
    """RMS of the part of each joint's torque that gravity makes in the fit, about its mean, N·m or N."""
    fit = fitted.arm_fit(arm)
    columns = gravity_torque_columns(arm, rows)
    now = arm.robot.gravity if fitted.hypothesis.gravity is None else fitted.hypothesis.gravity
    torque = np.einsum("a,anjb,b->nj", now, columns, fit.beta[: arm.base.n_base])
    return np.std(torque, axis=0)
