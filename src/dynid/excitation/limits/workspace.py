"""Where the links may be: inside a box, above a floor, outside other boxes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Bool, Float, Vector3, freeze_arrays
from dynid.chain.robot import Robot
from dynid.dynamics.kernels.chains import ChainArrays, chain_arrays
from dynid.errors import ExcitationError
from dynid.excitation.curves.curve import States

__all__ = ["KeepOut", "Workspace", "WorkspaceLimit", "link_frames", "link_origins"]

_ALONG = (0.25, 0.5, 0.75, 1.0)
"""Where points are taken on the straight line from one link origin to the next."""


@dataclass(frozen=True, eq=False)
class KeepOut:
    """A box with edges along the base axes that no point of the robot may enter."""

    lower: Vector3
    """Its smallest corner in m, in the base frame."""
    upper: Vector3
    """Its largest corner in m, in the base frame."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        if not np.all(self.lower < self.upper):
            raise ExcitationError(f"keep-out box from {self.lower} to {self.upper} m is empty; swap its corners")


@dataclass(frozen=True, eq=False, kw_only=True)
class Workspace:
    """Where the robot may be: the lines between its link origins, and a tool point."""

    lower: Vector3 = field(default_factory=lambda: np.full(3, -np.inf))
    """Smallest corner of the box to stay in, m in the base frame; its z is the floor."""
    upper: Vector3 = field(default_factory=lambda: np.full(3, np.inf))
    """Largest corner of the box to stay in, m in the base frame."""
    keep_out: tuple[KeepOut, ...] = ()
    tool: Vector3 = field(default_factory=lambda: np.zeros(3))
    """A point of the last link in its frame, m."""
    clearance: float = 0.0
    """Distance in m that points keep from all boundaries; about the radius of the links."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        if not np.all(self.lower + self.clearance < self.upper - self.clearance):
            raise ExcitationError(f"workspace from {self.lower} to {self.upper} m is empty; swap its corners")

    @classmethod
    def above(cls, floor: float, *, clearance: float = 0.0) -> Workspace:
        """Everything above a floor at this height of the base frame, m."""
        return cls(lower=np.array([-np.inf, -np.inf, floor]), clearance=clearance)


def link_origins(
    robot: Robot, q: Float[Array, "n_samples n_dof"], tool: Vector3 | None = None
) -> Float[Array, "n_samples n_points 3"]:
    """Origin of every link frame in the base frame, m; then a point of the last link, when given."""
    return _origins(chain_arrays(robot), q, tool)


def link_frames(
    chain: ChainArrays, q: Float[Array, "n_samples n_dof"]
) -> tuple[Float[Array, "n_dof n_samples 3 3"], Float[Array, "n_dof n_samples 3"]]:
    """Rotation and origin (m) of every link in the base frame, at positions `q` (rad or m)."""
    n_samples, n_dof = q.shape
    R, p = np.empty((n_dof, n_samples, 3, 3)), np.empty((n_dof, n_samples, 3))
    for i in range(n_dof):
        x = q[:, i, None]
        turned = np.cos(x) * chain.pose_cos[i] + np.sin(x) * chain.pose_sin[i]
        E = turned + x * chain.pose_linear[i] + chain.pose_constant[i]
        R[i], p[i] = E[:, :9].reshape(-1, 3, 3), E[:, 9:]
        up = chain.parent[i]
        if up >= 0:
            p[i] = p[up] + np.einsum("nij,nj->ni", R[up], p[i])
            R[i] = R[up] @ R[i]
    return R, p


def _origins(
    chain: ChainArrays, q: Float[Array, "n_samples n_dof"], tool: Vector3 | None
) -> Float[Array, "n_samples n_points 3"]:
    R, p = link_frames(chain, q)
    points = np.moveaxis(p, 0, 1)
    if tool is None:
        return points
    return np.concatenate([points, (points[:, -1] + R[-1] @ tool)[:, None]], axis=1)


@dataclass(frozen=True, eq=False)
class WorkspaceLimit:
    """A workspace as a limit along the path."""

    robot: Robot
    workspace: Workspace
    rate_hz: float = 500.0
    """Samples a second at which it is checked, Hz."""

    @property
    def name(self) -> str:
        """Workspace."""
        return "workspace"

    @cached_property
    def _chain(self) -> ChainArrays:
        return chain_arrays(self.robot)

    @cached_property
    def _moving(self) -> Bool[Array, " n_points"]:
        """Points that stay where they are (the foot of the robot) may touch the floor."""
        q = np.random.default_rng(0).uniform(-1.0, 1.0, (20, self.robot.n_dof))
        points = self._points(q)
        return np.ptp(points, axis=0).max(axis=1) > 1e-9

    def _points(self, q: Float[Array, "n_samples n_dof"]) -> Float[Array, "n_samples n_points 3"]:
        origins = _origins(self._chain, q, self.workspace.tool)
        foot = np.zeros((len(q), 1, 3))
        before = [*self.robot.parents, self.robot.n_dof - 1]
        starts = np.concatenate([foot, origins], axis=1)[:, np.array(before) + 1]
        along = [starts + share * (origins - starts) for share in _ALONG]
        return np.concatenate(along, axis=1)

    @cached_property
    def _sides(self) -> tuple[Bool[Array, " 3"], Bool[Array, " 3"]]:
        return np.isfinite(self.workspace.lower), np.isfinite(self.workspace.upper)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The wall or box that each column of `excess` belongs to."""
        low, high = self._sides
        axes = np.array(["x", "y", "z"])
        walls = [f"lower {axis}" for axis in axes[low]] + [f"upper {axis}" for axis in axes[high]]
        return (*walls, *(f"keep-out {k + 1}" for k in range(len(self.workspace.keep_out))))

    def excess(self, states: States) -> Float[Array, "n_samples n_columns"]:
        """How far the outermost point is beyond each wall, or inside each box, m."""
        space, points = self.workspace, self._points(states.q)[:, self._moving]
        low, high = self._sides
        columns = [
            (space.lower - points).max(axis=1)[:, low] + space.clearance,
            (points - space.upper).max(axis=1)[:, high] + space.clearance,
        ]
        for box in space.keep_out:
            outside = np.maximum(box.lower - points, points - box.upper).max(axis=2)
            columns.append((space.clearance - outside).max(axis=1, keepdims=True))
        return np.concatenate(columns, axis=1)
