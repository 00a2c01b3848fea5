"""Products of the columns of a log over a few segments of time: all that the evidence of a way to read it needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.dynamics.motion import Motion
from dynid.review.equations.joint_fits import columns_of
from dynid.review.equations.rows import Arm, ThinRows

__all__ = ["N_POSES", "SEGMENTS", "Products", "ReadColumns", "mean_inertia", "read_columns"]

SEGMENTS = 5
"""Segments of a log that are left out in turn: with fewer a prediction would rest on half of a short log."""
N_POSES = 6
"""Poses over which the inertia that a joint feels is averaged; it changes by less than its sign."""


@dataclass(frozen=True, eq=False)
class Products:
    """Products of every joint's columns with each other and with every torque as logged, summed over rows (SI)."""

    gram: Float[Array, "n_dof n_square"]
    """Of the columns, one flat matrix of all parameters for each joint."""
    along: Float[Array, "n_dof n_dof n_params"]
    """Of the columns of a joint with the logged torque of each joint."""
    square: Float[Array, " n_dof"]
    """Of every logged torque with itself."""
    n_rows: int


@dataclass(frozen=True, eq=False)
class ReadColumns:
    """The columns of every joint for one way to read the positions of a log."""

    rows: ThinRows
    """Positions as they are read, torques as logged."""
    places: tuple[Int[Array, " _"], ...]
    """Parameters of each joint's columns: those of the arm, then the joint's own."""
    columns: tuple[Float[Array, "n_rows _"], ...]
    """Columns of each joint (SI)."""
    n_base: int
    signs: Float[Array, "n_params n_functionals"]
    """Functionals of the parameters that physics makes positive: power of friction and inertia of every joint (SI)."""

    @property
    def n_own(self) -> int:
        """Columns of a joint's own: friction shapes, offset, rotor."""
        return int(self.rows.friction.shape[2]) + 2

    @property
    def n_params(self) -> int:
        """Parameters of the arm and of all joints."""
        return self.n_base + len(self.places) * self.n_own

    @cached_property
    def swing(self) -> Float[Array, "n_dof n_params"]:
        """Standard deviation of each joint's columns (SI); of an offset its size; zero where it has no column."""
        found = np.zeros((len(self.places), self.n_params))
        for j, (place, W) in enumerate(zip(self.places, self.columns, strict=True)):
            found[j, place] = np.std(W, axis=0)
            found[j, place[-2]] = 1.0
        return found

    @cached_property
    def products(self) -> Products:
        """Of all rows."""
        return self.products_of(slice(None))

    @property
    def segments(self) -> list[Products]:
        """Of each segment of time."""
        edges = np.linspace(0, self.rows.n_rows, SEGMENTS + 1).astype(np.int64)
        return [self.products_of(slice(int(a), int(b))) for a, b in pairwise(edges)]

    def products_of(self, part: slice) -> Products:
        """Of the rows of a part."""
        tau, n_params, n_dof = self.rows.tau[part], self.n_params, len(self.places)
        gram = np.zeros((n_dof, n_params * n_params))
        along = np.zeros((n_dof, n_dof, n_params))
        for j, (place, columns) in enumerate(zip(self.places, self.columns, strict=True)):
            W = columns[part]
            gram[j].reshape(n_params, n_params)[place[:, None], place] = W.T @ W
            along[j][:, place] = tau.T @ W
        return Products(gram, along, np.sum(tau**2, axis=0), len(tau))


def read_columns(
    arm: Arm,
    rows: ThinRows,
    signs: Float[Array, " n_dof"] | None = None,
    order: Int[Array, " n_dof"] | None = None,
    gravity: Float[Array, " 3"] | None = None,
) -> ReadColumns:
    """The columns of a log (SI) with positions in another order, of other signs, or under another gravity (m/s²)."""
    n_dof, n_base = arm.n_dof, arm.base.n_base
    read = rows.turned(np.ones(n_dof) if signs is None else signs, order)
    rigid, own = columns_of(arm, read, gravity)
    n_own = own[0].shape[1]
    columns = tuple(np.column_stack([A, B]) for A, B in zip(rigid, own, strict=True))
    places = tuple(np.r_[arm.visible[j], n_base + j * n_own + np.arange(n_own)] for j in range(n_dof))
    functionals = np.zeros((n_base + n_dof * n_own, 2 * n_dof))
    inertia = mean_inertia(arm, read.q[np.linspace(0, rows.n_rows - 1, N_POSES).astype(int)])
    for j in range(n_dof):
        first = n_base + j * n_own
        shapes = read.friction[:, j]
        functionals[first : first + shapes.shape[1], 2 * j] = np.mean(read.dq[:, j : j + 1] * shapes, axis=0)
        functionals[:n_base, 2 * j + 1] = inertia[j]
        functionals[first + n_own - 1, 2 * j + 1] = 1.0
    return ReadColumns(read, places, columns, n_base, functionals)


def mean_inertia(arm: Arm, poses: Float[Array, "n_poses n_dof"]) -> Float[Array, "n_dof n_base"]:
    """What each base parameter adds to the inertia that each joint feels, mean over poses (rad or m; SI)."""
    n_poses, n_dof = poses.shape
    ddq = np.zeros((n_dof + 1, n_poses, n_dof))
    for j in range(n_dof):
        ddq[j + 1, :, j] = 1.0
    q = np.tile(poses, (n_dof + 1, 1))
    motion = Motion(np.arange(len(q), dtype=float), q, np.zeros_like(q), ddq.reshape(-1, n_dof))
    Y = arm.model.regressor(motion)[:, :, arm.base.independent].reshape(n_dof + 1, n_poses, n_dof, -1).mean(axis=1)
    return np.stack([Y[j + 1, j] - Y[0, j] for j in range(n_dof)])
