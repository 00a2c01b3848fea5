"""Conic conditions Aθ + b ∈ C as named blocks, and clarabel behind one function."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import clarabel
import numpy as np
from scipy import sparse

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.inertia import InertialParameters

__all__ = [
    "PSEUDO_INERTIA",
    "SPATIAL_INERTIA",
    "Block",
    "ConeSolution",
    "Outcome",
    "SolverSettings",
    "slack",
    "smat",
    "solve_cones",
    "svec",
]

ConeKind = Literal["zero", "nonnegative", "second order", "psd", "exponential"]

_ROOT2 = math.sqrt(2.0)


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
class Block:
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


def slack(block: Block, x: Float[Array, " n_variables"]) -> float:
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


class Outcome(enum.Enum):
    """How the conic solver ended."""

    SOLVED = "solved"
    INFEASIBLE = "no point meets all conditions, proven by the multipliers"
    STALLED = "rounding ended it near the accuracy asked; check the answer before use"
    STOPPED = "stopped by the limit on iterations or time"


@dataclass(frozen=True, kw_only=True)
class SolverSettings:
    """When the conic solver stops."""

    max_iterations: int = 200
    time_limit_s: float = math.inf
    """Wall time in s for one programme."""
    tolerance: float = 1e-9
    """Relative: duality gap and infeasibility at which it is content."""
    loose_tolerance: float = 1e-6
    """Relative: what it may fall back to when rounding stops it."""


@dataclass(frozen=True, eq=False)
class ConeSolution:
    """Where the conic solver ended, and its multipliers block by block."""

    outcome: Outcome
    x: Float[Array, " n_variables"]
    multipliers: tuple[Float[Array, " _"], ...]
    """In the dual cones; for an infeasible programme a Farkas certificate. Units: objective over condition."""
    gap: float
    """Relative difference of primal and dual objective."""


def solve_cones(
    linear: Float[Array, " n_variables"],
    blocks: Sequence[Block],
    settings: SolverSettings,
    *,
    quadratic: Float[Array, " n_variables"] | None = None,
) -> ConeSolution:
    r"""Minimise :math:`\tfrac12 x^T \mathrm{diag}(p)\,x + q^T x` subject to every block, with clarabel.

    Args:
        linear: q, in the unit of the objective per variable.
        blocks: conditions on x.
        settings: when to stop.
        quadratic: p ≥ 0 (shape of `linear`); zero when None.
    """
    n = len(linear)
    P = sparse.diags_array(quadratic if quadratic is not None else np.zeros(n)).tocsc()
    if blocks:
        A = sparse.csc_matrix(-np.concatenate([block.A for block in blocks]))
        b = np.concatenate([block.b for block in blocks])
    else:
        A, b = sparse.csc_matrix((0, n)), np.zeros(0)
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.max_iter = settings.max_iterations
    options.time_limit = settings.time_limit_s
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = settings.tolerance
    options.reduced_tol_gap_abs = options.reduced_tol_gap_rel = options.reduced_tol_feas = settings.loose_tolerance
    options.max_threads = 1
    # The blocks are small and dense: looking for chordal structure only costs time.
    options.chordal_decomposition_enable = False
    options.presolve_enable = False
    result = clarabel.DefaultSolver(P, linear, A, b, [cone for block in blocks for cone in _cones(block)], options)
    solution = result.solve()
    ends = np.cumsum([len(block.b) for block in blocks])[:-1]
    multipliers = tuple(np.split(np.array(solution.z), ends)) if blocks else ()
    gap = abs(solution.obj_val - solution.obj_val_dual) / max(1.0, abs(solution.obj_val))
    outcome = _OUTCOMES.get(str(solution.status), Outcome.STALLED)
    return ConeSolution(outcome, np.array(solution.x), multipliers, gap if math.isfinite(gap) else math.inf)


_OUTCOMES = {
    "Solved": Outcome.SOLVED,
    "AlmostSolved": Outcome.SOLVED,
    "PrimalInfeasible": Outcome.INFEASIBLE,
    "MaxIterations": Outcome.STOPPED,
    "MaxTime": Outcome.STOPPED,
}


def _cones(block: Block) -> list[object]:
    n = len(block.b)
    if block.kind == "zero":
        return [clarabel.ZeroConeT(n)]
    if block.kind == "nonnegative":
        return [clarabel.NonnegativeConeT(n)]
    if block.kind == "second order":
        return [clarabel.SecondOrderConeT(n)]
    if block.kind == "psd":
        return [clarabel.PSDTriangleConeT((math.isqrt(8 * n + 1) - 1) // 2)]
    return [clarabel.ExponentialConeT() for _ in range(n // 3)]
