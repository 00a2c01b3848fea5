"""Static poses: for base parameters from a controller's M(q) and g(q), or from gravity torque alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Array, Bool, Float, freeze_arrays
from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import TOLERANCE, base_parameters, independent_columns
from dynid.dynamics.model import TorqueModel
from dynid.errors import ExcitationError
from dynid.excitation.assembly import safe_pose
from dynid.excitation.criteria import ConditionNumber, DesignCriterion, DOptimality
from dynid.excitation.curves.curve import States
from dynid.excitation.limits.motion_limits import MotionLimits, PathLimit, with_effort
from dynid.prose import Grid, PrintsAsTable, counted

__all__ = ["PoseDesign", "PoseKind", "design_poses"]

POSE_TOLERANCE = 1e3 * TOLERANCE
"""As `TOLERANCE`, wider: poses inside the limits show less than states over the whole circle."""
SMALLEST = 1e-300
"""Keeps a threshold above zero where no pose causes any torque."""

PoseKind = Literal["reverse", "gravity"]
"""Whether M(q) and g(q) are read from a controller, or only the torque that holds the pose."""


@dataclass(frozen=True, eq=False)
class PoseDesign(PrintsAsTable):
    """Poses that show the base parameters well, and how well."""

    joint_names: tuple[str, ...]
    poses: Float[Array, "n_poses n_dof"]
    """rad or m, in an order that keeps moves short."""
    condition_number: float
    """Of the stacked rows over the base parameters they can show, a ratio."""
    labels: tuple[str, ...]
    """The base parameters that these rows can show."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __repr__(self) -> str:
        shown = f"{len(self.labels)} base parameters, condition number {self.condition_number:.4g}"
        return f"PoseDesign({counted(len(self.poses), 'pose')} of {counted(len(self.joint_names), 'joint')}: {shown})"

    def _table(self) -> Grid:
        rows = [(str(k + 1), *(f"{value:.4f}" for value in pose)) for k, pose in enumerate(self.poses)]
        return Grid(("pose", *self.joint_names), rows, range(1 + len(self.joint_names)))


def design_poses(
    robot: Robot,
    n_poses: int = 40,
    *,
    kind: PoseKind = "reverse",
    limits: MotionLimits | None = None,
    path_limits: Sequence[PathLimit] = (),
    criterion: DesignCriterion | None = None,
    n_candidates: int = 600,
    exchanges: int = 3000,
    seed: int = 0,
) -> PoseDesign:
    """Poses inside every limit, chosen among random ones so that together they show most.

    Poses are added one by one where they add most information, then exchanged while that lowers the criterion.

    Args:
        robot: whose base parameters are wanted.
        n_poses: how many to visit.
        kind: ``reverse`` stacks the lower triangle of M(q) and g(q); ``gravity`` takes the holding torque alone.
        limits: of the joints; those of the robot when None.
        path_limits: workspace or self-collision; effort at rest is added where the robot has nominal inertias.
        criterion: what to make small; the unscaled condition number when None.
        n_candidates: random poses to choose from.
        exchanges: attempts to replace a pose.
        seed: of the random poses.

    Raises:
        ExcitationError: too few poses for the base parameters, or no pose inside the limits.
    """
    kept = MotionLimits.of(robot) if limits is None else limits
    paths, _ = with_effort(robot, kept, path_limits)
    rng = np.random.default_rng(seed)
    candidates = _candidates(kept, paths, rng, n_candidates)
    rows, labels = _rows(robot, candidates, kind)
    n_rows, n_base = rows.shape[1:]
    if n_base == 0:
        raise ExcitationError(f"{robot.source}: gravity causes no torque in any pose, so poses at rest show nothing")
    if n_poses * n_rows < n_base:
        have = n_poses * n_rows
        raise ExcitationError(f"{n_poses} poses give {have} equations for {n_base} base parameters; ask for more")
    grams = np.einsum("crb,crd->cbd", rows, rows)
    chosen = _greedy(rows, grams, min(n_poses, len(candidates)))
    chosen = _exchanged(grams, chosen, ConditionNumber() if criterion is None else criterion, exchanges, rng)
    sigma = np.linalg.svd(rows[chosen].reshape(-1, n_base), compute_uv=False)
    ratio = float(sigma[0] / sigma[-1]) if sigma[-1] > 0.0 else np.inf
    ordered = _short_tour(candidates[chosen], kept.middle)
    return PoseDesign(robot.joint_names, candidates[chosen][ordered], ratio, labels)


def _candidates(
    limits: MotionLimits, paths: Sequence[PathLimit], rng: np.random.Generator, n_candidates: int
) -> Float[Array, "n_candidates n_dof"]:
    safe = safe_pose(limits, paths, rng)
    span = limits.upper - limits.lower
    poses = limits.lower + span * rng.random((n_candidates, len(span)))
    # Extremes of the ranges show most: put a third of the coordinates there.
    extreme = rng.random(poses.shape)
    poses = np.where(extreme < 1 / 6, limits.lower, np.where(extreme > 5 / 6, limits.upper, poses))
    good = _allowed(poses, paths)
    # What is not allowed moves towards the safe pose until it is.
    for share in (0.8, 0.6, 0.4, 0.2, 0.0):
        if good.all():
            break
        nearer = safe + share * (poses - safe)
        take = ~good & _allowed(nearer, paths)
        poses[take] = nearer[take]
        good |= take
    return poses[good]


def _allowed(poses: Float[Array, "n_poses n_dof"], paths: Sequence[PathLimit]) -> Bool[Array, " n_poses"]:
    good = np.full(len(poses), True)
    for path in paths:
        good &= path.excess(States.at_rest(poses)).max(axis=1) <= 0.0
    return good


def _rows(
    robot: Robot, poses: Float[Array, "n_poses n_dof"], kind: PoseKind
) -> tuple[Float[Array, "n_poses n_rows n_base"], tuple[str, ...]]:
    model = TorqueModel(robot)
    base = base_parameters(model)
    gravity = base.reduce(model.gravity_rows(poses))
    stack = gravity if kind == "gravity" else np.concatenate([base.reduce(model.inertia_rows(poses)), gravity], axis=1)
    W = stack.reshape(-1, base.n_base)
    lengths = np.linalg.norm(W, axis=0)
    shown = np.flatnonzero(lengths > TOLERANCE * max(float(lengths.max()), SMALLEST))
    picked = independent_columns(W, shown.tolist(), POSE_TOLERANCE)
    return stack[:, :, picked], tuple(base.labels()[k] for k in picked)


def _greedy(
    rows: Float[Array, "n_candidates n_rows n_base"], grams: Float[Array, "n_candidates n_base n_base"], n_poses: int
) -> list[int]:
    """Add the pose that adds most to log det, starting from a little information about everything."""
    mean = grams.mean(axis=0)
    information = 1e-6 * (mean + 1e-6 * np.eye(len(mean)) * np.trace(mean) / len(mean))
    chosen: list[int] = []
    free = np.full(len(grams), True)
    eye = np.eye(rows.shape[1])
    for _ in range(n_poses):
        factor = np.linalg.cholesky(information)
        spread = np.linalg.solve(factor, rows.reshape(-1, len(mean)).T).T.reshape(rows.shape)
        gain = np.linalg.slogdet(eye + spread @ spread.transpose(0, 2, 1))[1]
        gain[~free] = -np.inf
        best = int(np.argmax(gain))
        chosen.append(best)
        free[best] = False
        information = information + grams[best]
    return chosen


def _exchanged(
    grams: Float[Array, "n_candidates n_base n_base"],
    chosen: list[int],
    criterion: DesignCriterion,
    exchanges: int,
    rng: np.random.Generator,
) -> list[int]:
    if isinstance(criterion, DOptimality) and len(set(criterion.noise_std)) > 1:
        raise ExcitationError("poses are judged with the same noise on every row; give DOptimality one noise_std")
    current = list(chosen)
    total = grams[current].sum(axis=0)
    score = criterion.exact(total)
    for _ in range(exchanges):
        out, new = int(rng.integers(len(current))), int(rng.integers(len(grams)))
        if new in current:
            continue
        trial = total - grams[current[out]] + grams[new]
        value = criterion.exact(trial)
        if value < score:
            score, total = value, trial
            current[out] = new
    return current


def _short_tour(poses: Float[Array, "n_poses n_dof"], start: Float[Array, " n_dof"]) -> list[int]:
    """Visit the nearest pose next."""
    left = list(range(len(poses)))
    order: list[int] = []
    here = start
    while left:
        nearest = min(left, key=lambda k: (float(np.max(np.abs(poses[k] - here))), k))
        left.remove(nearest)
        order.append(nearest)
        here = poses[nearest]
    return order
