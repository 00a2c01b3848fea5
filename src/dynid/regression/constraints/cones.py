"""Conic conditions Aθ + b ∈ C as named blocks, and how far a point is inside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.inertia import InertialParameters

__all__ = [
    "PSEUDO_INERTIA",
    "SPATIAL_INERTIA",
    "ConeBlock",
    "clashing",
    "slack",
    "smat",
    "svec",
]

ConeKind = Literal["zero", "nonnegative", "second order", "psd", "exponential"]

_ROOT2 = math.sqrt(2.0)
_CLASH = 1e-5
"""Multipliers below this fraction of the largest take no part in a contradiction."""


def svec(matrix: Float[Array, "*stack n n"]) -> Float[Array, "*stack n_entries"]:
    """Upper triangle column by column with √2 off the diagonal, so that inner products are kept (clarabel's order)."""
    rows, columns, weights = _upper(matrix.shape[-1])
    return matrix[..., rows, columns] * weights


def smat(vector: Float[Array, " n_entries"]) -> Float[Array, "n n"]:
    """The symmetric matrix of `svec`."""
    n = (math.isqrt(8 * len(vector) + 1) - 1) // 2
    rows, columns, weights = _upper(n)
    matrix = np.zeros((n, n))
    matrix[rows, columns] = vector / weights
    matrix[columns, rows] = matrix[rows, columns]
    return matrix


@lru_cache
def _upper(n: int) -> tuple[Array, Array, Array]:
    columns, rows = np.tril_indices(n)
    return rows, columns, np.where(rows == columns, 1.0, _ROOT2)


def _operator(name: Literal["pseudo_inertia", "spatial_inertia"]) -> Float[Array, "n_entries 10"]:
    return np.column_stack([svec(getattr(InertialParameters(unit), name)) for unit in np.eye(10)])


PSEUDO_INERTIA = _operator("pseudo_inertia")
"""The (10, 10) matrix from ten inertial numbers to `svec` of the 4×4 pseudo-inertia."""
SPATIAL_INERTIA = _operator("spatial_inertia")
"""The (21, 10) matrix from ten inertial numbers to `svec` of the 6×6 spatial inertia."""


@dataclass(frozen=True, eq=False)
class ConeBlock:
    """Rows Aθ + b that together lie in one cone."""

    kind: ConeKind
    A: Float[Array, "n_rows n_variables"]
    b: Float[Array, " n_rows"]
    names: tuple[str, ...]
    """What is asked, as a reader would say it: one name a row for linear rows, else one for the block."""
    strict: bool = False
    """Whether the condition is physics (a positive matrix, friction) and must hold without rounding error."""
    link: int = -1
    """Index of the link whose matrix this is; −1 for other conditions."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def at(self, x: Float[Array, " n_variables"]) -> Float[Array, " n_rows"]:
        """Aθ + b, in the unit of the condition."""
        return self.A @ x + self.b

    @property
    def identity(self) -> Float[Array, " n_rows"]:
        """The centre of the cone: ones, (1, 0, …) or the identity matrix; dimensionless."""
        return _identity(self.kind, len(self.b))


def _identity(kind: ConeKind, n_rows: int) -> Float[Array, " n_rows"]:
    if kind == "nonnegative":
        return np.ones(n_rows)
    if kind == "second order":
        return np.eye(n_rows)[0]
    if kind == "psd":
        return svec(np.eye((math.isqrt(8 * n_rows + 1) - 1) // 2))
    return np.zeros(n_rows)


def slack(block: ConeBlock, x: Float[Array, " n_variables"]) -> float:
    """The largest t with Aθ + b − t·identity in the cone: smallest entry or eigenvalue, in the condition's unit."""
    values = block.at(x)
    if not len(values):
        return math.inf
    if block.kind == "nonnegative":
        return float(np.min(values))
    if block.kind == "second order":
        return float(values[0] - np.linalg.norm(values[1:]))
    if block.kind == "psd":
        return float(np.linalg.eigvalsh(smat(values))[0])
    return -float(np.max(np.abs(values)))


def clashing(blocks: Sequence[ConeBlock], multipliers: Sequence[Float[Array, " _"]]) -> tuple[str, ...]:
    """Names of the conditions that take part in a contradiction, from a Farkas certificate (dimensionless weights)."""
    weights: list[tuple[str, float]] = []
    for block, multiplier in zip(blocks, multipliers, strict=True):
        if len(block.names) == len(block.b):
            weights += [(name, float(abs(value))) for name, value in zip(block.names, multiplier, strict=True)]
        elif block.names:
            weights.append((block.names[0], float(np.linalg.norm(multiplier))))
    largest = max((weight for _, weight in weights), default=0.0)
    return tuple(name for name, weight in weights if weight > _CLASH * largest)
