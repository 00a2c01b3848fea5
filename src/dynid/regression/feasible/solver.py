"""Clarabel behind one function: minimise over conic blocks, and say how it ended."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse

from dynid.arrays import Array, Float
from dynid.regression.constraints.cones import ConeBlock

__all__ = ["ConeOutcome", "ConeSolution", "SolverSettings", "nonnegative_least_squares", "solve_cones"]


_ZERO = 1e-6
"""Relative to the largest: an entry of a nonnegative answer that is zero but for the tolerance of the solver."""


class ConeOutcome(enum.Enum):
    """How the conic solver ended."""

    SOLVED = "solved"
    INFEASIBLE = "no point meets all conditions, proven by the multipliers"
    UNBOUNDED = "the objective falls without end"
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

    outcome: ConeOutcome
    x: Float[Array, " n_variables"]
    multipliers: tuple[Float[Array, " _"], ...]
    """In the dual cones; for an infeasible programme a Farkas certificate. Units: objective over condition."""
    gap: float
    """Relative difference of primal and dual objective."""


def solve_cones(
    linear: Float[Array, " n_variables"],
    blocks: Sequence[ConeBlock],
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
    outcome = _OUTCOMES.get(str(solution.status), ConeOutcome.STALLED)
    return ConeSolution(outcome, np.array(solution.x), multipliers, gap if math.isfinite(gap) else math.inf)


def nonnegative_least_squares(
    A: Float[Array, "n_rows n_columns"], b: Float[Array, " n_rows"]
) -> Float[Array, " n_columns"]:
    """x ≥ 0 with the least ‖Ax − b‖, in the unit of b over that of A; importing SciPy's takes longer than a fit."""
    whole = np.asarray(np.linalg.qr(np.column_stack([A, b]), mode="r"), dtype=float)
    n_rows, n_columns = len(whole), A.shape[1]
    lengths, size = np.linalg.norm(A, axis=0), float(np.linalg.norm(b)) or 1.0
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    rest = np.hstack([whole[:, :-1] / lengths, -np.eye(n_rows)])
    blocks = [
        ConeBlock("zero", rest, -whole[:, -1] / size, ("rest",) * n_rows),
        ConeBlock("nonnegative", np.eye(n_columns, n_columns + n_rows), np.zeros(n_columns), ("x",) * n_columns),
    ]
    squares = np.concatenate([np.zeros(n_columns), np.ones(n_rows)])
    found = solve_cones(np.zeros(n_columns + n_rows), blocks, SolverSettings(), quadratic=squares)
    x = found.x[:n_columns]
    # What the solver leaves at its own tolerance is zero.
    return size / lengths * np.where(x > _ZERO * np.max(x, initial=0.0), x, 0.0)


_OUTCOMES = {
    "Solved": ConeOutcome.SOLVED,
    "AlmostSolved": ConeOutcome.SOLVED,
    "PrimalInfeasible": ConeOutcome.INFEASIBLE,
    "DualInfeasible": ConeOutcome.UNBOUNDED,
    "MaxIterations": ConeOutcome.STOPPED,
    "MaxTime": ConeOutcome.STOPPED,
}


def _cones(block: ConeBlock) -> list[object]:
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
