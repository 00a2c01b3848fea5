"""Regression: rows compressed to small triangular factors, one a joint and block of time; constant memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Float, Int, freeze_arrays
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import RegressionError
from dynid.regression.rows import JointRows, ParallelRows, RowSource, in_order, visible_columns
from dynid.regression.triangle import triangular

__all__ = ["Factor", "Regression", "Stacked", "compress"]

MAX_BLOCKS = 64
"""Blocks kept; beyond them neighbours are merged in pairs, so memory does not grow with the log."""


@dataclass(frozen=True, eq=False)
class Factor:
    r"""Rows :math:`[Y\;\tau]` of one joint as their triangular factor: same normal equations, no rows.

    .. math::

        [Y\;\tau] = Q \begin{pmatrix} R & \rho \\ 0 & s \end{pmatrix}
    """

    triangle: Float[Array, "n_kept n_columns"]
    """Upper triangular or trapezoidal, the torque (N·m or N) as last column."""
    n_rows: int
    """Rows that went in."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(cls, rows: JointRows) -> Factor:
        """The factor of some rows (N·m or N)."""
        return cls(triangular(rows.Y, rows.tau), len(rows.tau))

    def merged(self, other: Factor) -> Factor:
        """The factor of both sets of rows."""
        return Factor(triangular(np.vstack([self.triangle, other.triangle])), self.n_rows + other.n_rows)

    @property
    def R(self) -> Float[Array, "n_kept n_visible"]:
        """Columns of the parameters."""
        return self.triangle[:, :-1]

    @property
    def rho(self) -> Float[Array, " n_kept"]:
        """Column of the torque, N·m or N."""
        return self.triangle[:, -1]

    @property
    def power(self) -> float:
        """Sum of the squared torques, (N·m)² or N²."""
        return float(self.rho @ self.rho)

    def residual_power(self, beta: Float[Array, " n_visible"]) -> float:
        """Sum of the squared residuals τ − Yβ over the rows, (N·m)² or N²."""
        rest = self.rho - self.R @ beta
        return float(rest @ rest)

    def score(self, beta: Float[Array, " n_visible"]) -> Float[Array, " n_visible"]:
        """Yᵀ(τ − Yβ) over the rows, in units of torque² per parameter."""
        return self.R.T @ (self.rho - self.R @ beta)


@dataclass(frozen=True, eq=False)
class Stacked:
    """All joints as one triangular least-squares problem, rows weighted by joint."""

    R: Float[Array, "n_base n_base"]
    rho: Float[Array, " n_base"]
    rest: float
    """Weighted sum of squares ((N·m)² with unit weights) that no parameters can explain."""
    n_rows: int

    def solution(self) -> Float[Array, " n_base"]:
        """The β of least squares, in the units of the leading parameters; directions that were not excited are zero."""
        scale = column_scale(self.R)
        return np.linalg.lstsq(self.R / scale, self.rho, rcond=RANK_TOLERANCE)[0] / scale

    def condition(self) -> tuple[float, int]:
        """Condition number of R as it stands, and its rank with columns scaled to unit length."""
        values = np.linalg.svd(self.R, compute_uv=False)
        singular = np.linalg.svd(self.R / column_scale(self.R), compute_uv=False)
        rank = int(np.count_nonzero(singular > RANK_TOLERANCE * singular[0])) if singular[0] > 0.0 else 0
        return (float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf), rank


SILENT_COLUMN = 1e-10
"""Length of a column over the longest below which it holds nothing but rounding."""


def column_scale(R: Float[Array, "n_rows n_base"]) -> Float[Array, " n_base"]:
    """Lengths of the columns to divide them by; infinite for those that hold nothing but rounding."""
    lengths = np.linalg.norm(R, axis=0)
    return np.where(lengths > SILENT_COLUMN * np.max(lengths, initial=0.0), lengths, np.inf)


RANK_TOLERANCE = 1e-7
"""Singular value over the largest, columns scaled to unit length, below which a direction was not excited."""


@dataclass(frozen=True, eq=False)
class Regression:
    """Everything a log says about the parameters: triangular factors per block of time and joint.

    Several logs add up with ``+``. The stacked matrix is never formed.
    """

    model: TorqueModel
    base: BaseParameters
    visible: tuple[Int[Array, " ..."], ...]
    """For every joint the base columns its rows have."""
    blocks: tuple[tuple[Factor, ...], ...]
    """A factor per joint for every block of time."""
    source: RowSource | None = None
    """Where the rows came from, for estimators that weigh single rows."""

    @cached_property
    def joints(self) -> tuple[Factor, ...]:
        """One factor per joint over all blocks (N·m or N)."""
        return tuple(
            Factor(
                triangular(np.vstack([block[j].triangle for block in self.blocks])),
                sum(b[j].n_rows for b in self.blocks),
            )
            for j in range(self.model.n_dof)
        )

    @property
    def n_rows(self) -> int:
        """Rows over all joints."""
        return sum(factor.n_rows for factor in self.joints)

    def stacked(self, weights: Float[Array, " n_dof"] | None = None) -> Stacked:
        """One triangular problem, rows of joint j times ``weights[j]`` (1/(N·m), one when None)."""
        n_base = self.base.n_base
        pieces = []
        for j, (factor, columns) in enumerate(zip(self.joints, self.visible, strict=True)):
            piece = np.zeros((len(factor.triangle), n_base + 1))
            piece[:, columns] = factor.R
            piece[:, -1] = factor.rho
            pieces.append(piece if weights is None else piece * weights[j])
        whole = triangular(np.vstack([*pieces, np.zeros((n_base + 1, n_base + 1))]))
        rest = float(whole[n_base, n_base] ** 2)
        return Stacked(whole[:n_base, :n_base], whole[:n_base, -1], rest, self.n_rows)

    def residual_power(self, beta: Float[Array, " n_base"]) -> Float[Array, " n_dof"]:
        """Sum of squared residuals of each joint, (N·m)² or N²."""
        pairs = zip(self.joints, self.visible, strict=True)
        return np.array([factor.residual_power(beta[columns]) for factor, columns in pairs])

    def power(self) -> Float[Array, " n_dof"]:
        """Sum of squared torques of each joint, (N·m)² or N²."""
        return np.array([factor.power for factor in self.joints])

    def rows_per_joint(self) -> Int[Array, " n_dof"]:
        """Rows of each joint."""
        return np.array([factor.n_rows for factor in self.joints], dtype=np.int64)

    def __add__(self, other: Regression) -> Regression:
        if not np.array_equal(self.base.independent, other.base.independent) or self.base.symbols != other.base.symbols:
            raise RegressionError("logs add up only for one robot with one friction model")
        return replace(self, blocks=_limited([*self.blocks, *other.blocks]), source=None)


def compress(source: RowSource) -> Regression:
    """The regression of a source of rows, streamed block by block.

    Raises:
        RegressionError: no rows are left, or a joint's torque never changes.
    """
    blocks: list[tuple[Factor, ...]] = []
    factored = source.mapped(_factors) if isinstance(source, ParallelRows) else in_order(_factors, source.blocks())
    for factors in factored:
        blocks.append(factors)
        if len(blocks) > 2 * MAX_BLOCKS:
            blocks = list(_limited(blocks))
    if not blocks:
        raise RegressionError("no rows left to fit: every sample is masked or too close to an end of the log")
    visible = visible_columns(source.model, source.base)
    regression = Regression(source.model, source.base, visible, _limited(blocks), source)
    empty = [source.model.robot.joint_names[j] for j, n in enumerate(regression.rows_per_joint()) if n == 0]
    if empty:
        raise RegressionError(
            f"no rows left for {', '.join(empty)}: it never moves faster than the velocity threshold; lower it"
        )
    return regression


def _factors(block: tuple[JointRows, ...]) -> tuple[Factor, ...]:
    return tuple(Factor.of(rows) for rows in block)


def _limited(blocks: Iterable[tuple[Factor, ...]]) -> tuple[tuple[Factor, ...], ...]:
    kept = list(blocks)
    while len(kept) > MAX_BLOCKS:
        pairs = [kept[k : k + 2] for k in range(0, len(kept), 2)]
        kept = [
            pair[0] if len(pair) == 1 else tuple(a.merged(b) for a, b in zip(pair[0], pair[1], strict=True))
            for pair in pairs
        ]
    return tuple(kept)
