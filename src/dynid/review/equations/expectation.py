"""A log against the inertias of the robot file, and against what its motion can show at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.friction.table import friction_models
from dynid.dynamics.model import TorqueModel
from dynid.review.equations.changes import tip_columns
from dynid.review.equations.hypothesis import HypothesisFit
from dynid.review.equations.rows import DRY, Arm, ThinRows

__all__ = ["TipLoad", "Unexcited", "moving_alike", "tip_load", "unexcited_parameters"]

HIDDEN = 0.5
"""A parameter is not excited where one standard deviation of it would make this share of a joint's torque."""
ALIKE = 0.98
"""Correlation of two speeds from which on joints move alike: one tells a fifth of what two would."""
STILL = 0.01
"""rad or m: a joint that travels less does not move."""
PLAIN_FRICTION = ("viscous", "coulomb", "offset")
"""Friction whose parameters are named: linear ones that do not depend on the shape of others."""


def _unit(columns: Float[Array, "n_rows n_columns"]) -> Float[Array, "n_rows n_columns"]:
    length = np.linalg.norm(columns, axis=0)
    return columns / np.where(length > 0.0, length, 1.0)


@dataclass(frozen=True, eq=False)
class TipLoad:
    """A load at the tip that the robot file does not have."""

    mass: float
    """kg."""
    error: float
    """kg."""
    share: float
    """Part of the squares by which the log differs from the robot file that the load explains."""
    before: float
    """What the robot file with the best friction leaves of the torque, relative."""
    after: float
    """The same with the load."""
    heavy_share: float
    """As `share`, of the torque in N·m (or N): the wrist's counts little."""


def tip_load(arm: Arm, fitted: HypothesisFit) -> TipLoad | None:
    """The load that brings the robot file's torque closest to the log; None without nominal inertias."""
    if not arm.robot.has_nominal:
        return None
    rows = fitted.rows
    gravity = fitted.hypothesis.gravity
    robot = arm.robot if gravity is None else arm.robot.with_gravity(gravity)
    missing = rows.tau - TorqueModel(robot).torque(rows.motion, robot.nominal.ravel())
    load = tip_columns(arm, fitted, 10)
    swing = np.maximum(np.std(rows.tau, axis=0), 1e-300)
    left, columns = np.empty_like(missing), np.empty_like(load)
    for j in range(arm.n_dof):
        Q = np.linalg.qr(_unit(fitted.own[j]))[0]
        left[:, j] = (missing[:, j] - Q @ (Q.T @ missing[:, j])) / swing[j]
        columns[:, j] = (load[:, j] - Q @ (Q.T @ load[:, j])) / swing[j]
    A, b = columns.reshape(-1, load.shape[2]), left.ravel()
    length = np.linalg.norm(A, axis=0)
    length[length == 0.0] = 1.0
    inverse = np.linalg.pinv((A / length).T @ (A / length), rcond=1e-8)
    value = inverse @ ((A / length).T @ b)
    rest = b - (A / length) @ value
    total = float(b @ b)
    # Misfit of the file is no noise: errors count as if a few dozen independent rows had made it.
    error = np.sqrt(np.diag(inverse) * float(rest @ rest) / len(b) * rows.n_rows / 40.0) / length
    share = 1.0 - float(rest @ rest) / max(total, 1e-300)
    root = np.sqrt(len(b))
    weight = swing / np.max(swing)
    heavy = 1.0 - float(np.sum((rest.reshape(left.shape) * weight) ** 2) / max(np.sum((left * weight) ** 2), 1e-300))
    return TipLoad(
        float(value[0] / length[0]),
        float(error[0]),
        share,
        float(np.sqrt(total)) / root,
        float(np.linalg.norm(rest)) / root,
        heavy,
    )


@dataclass(frozen=True, eq=False)
class Unexcited:
    """Parameters that the motion of a log does not show."""

    symbols: tuple[str, ...]
    """Worst known first."""
    shares: tuple[float, ...]
    """What one standard deviation of each makes of the torque of the joint that feels it most (dimensionless)."""
    still: tuple[int, ...]
    """Joints that do not move."""
    n_base: int


def unexcited_parameters(
    arm: Arm, fitted: HypothesisFit, friction: str, base: BaseParameters | None = None
) -> Unexcited:
    """Base parameters whose error alone could make a good part of a joint's torque, or that have no column at all.

    `base` are those of the model with `friction`, where they are known already.
    """
    rows, n_dof = fitted.rows, arm.n_dof
    names = [name for name in PLAIN_FRICTION if name in friction.replace(" ", "").split("+")]
    names = names or ([] if friction.strip() == "none" else list(PLAIN_FRICTION))
    model = TorqueModel(arm.robot, friction_models("+".join(names)) if names else ())
    base = base if base is not None and base.columns == model.columns else base_parameters(model)
    Y = model.regressor(rows.motion)
    for k, name in enumerate(names):
        if name == "coulomb":
            for j in range(n_dof):
                Y[:, j, model.n_inertial + j * len(names) + k] = rows.friction[:, j, DRY]
    swing = np.maximum(np.std(rows.tau, axis=0), 1e-300)
    noise = np.maximum(fitted.noise, 1e-3) * swing * max(fitted.ratio, 1.0)
    effect, gram = np.zeros(base.n_base), np.zeros((base.n_base, base.n_base))
    for j in range(n_dof):
        W = Y[:, j, base.independent]
        effect = np.maximum(effect, np.sqrt(np.mean(W**2, axis=0)) / swing[j])
        gram += W.T @ W / noise[j] ** 2
    length = np.sqrt(np.diag(gram))
    hidden = length <= 1e-9 * np.max(length)
    length[hidden] = 1.0
    # The Gram matrix cannot tell rank, but what it cannot invert is far beyond being excited.
    values, vectors = np.linalg.eigh(gram / np.outer(length, length))
    spread = vectors / np.sqrt(np.maximum(values, 1e-14))
    share = np.where(hidden, np.inf, effect * np.linalg.norm(spread, axis=1) / length)
    hidden |= share > HIDDEN
    travel = np.ptp(rows.q, axis=0)
    still = tuple(int(j) for j in np.flatnonzero(travel < STILL))
    symbols = np.array(base.leading)
    for j in still:
        unmoved = np.isin(base.independent, model.n_inertial + j * len(names) + np.arange(len(names)))
        hidden |= unmoved
        share = np.where(unmoved, np.inf, share)
    order = [int(k) for k in np.argsort(-share, kind="stable") if hidden[k]]
    named, worth = tuple(str(symbols[k]) for k in order), tuple(float(share[k]) for k in order)
    return Unexcited(named, worth, still, base.n_base)


def moving_alike(rows: ThinRows) -> tuple[tuple[int, ...], ...]:
    """Groups of joints whose speeds are multiples of each other all along: they share one frequency and one phase."""
    speed = rows.dq / np.maximum(np.linalg.norm(rows.dq, axis=0), 1e-300)
    moving = np.ptp(rows.q, axis=0) > STILL
    alike = np.abs(speed.T @ speed) > ALIKE
    left, groups = [int(j) for j in np.flatnonzero(moving)], []
    while left:
        group = tuple(j for j in left if alike[left[0], j])
        left = [j for j in left if j not in group]
        if len(group) > 1:
            groups.append(group)
    return tuple(groups)
