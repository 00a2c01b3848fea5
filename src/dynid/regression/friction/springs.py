"""Whether a joint has a spring: it must predict positions where the drive has not been, and by far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.formula import POSITION
from dynid.dynamics.friction.spring import Spring
from dynid.regression.friction.rows import N_FOLDS, FrictionRows
from dynid.regression.friction.search import Dictionary, leave_out

__all__ = ["Elsewhere", "holds_elsewhere", "is_sprung"]

HOW_OFTEN = 0.02
"""Share of joints with a spring or counterbalance that gravity of the links does not stand for."""
LOOKS = 7.0
"""Independent looks that logs are worth, however long they are: what a model leaves is misfit, which comes back."""
Elsewhere = Callable[[Sequence[int], Sequence[int]], bool]
"""Whether the second set of atoms of a drive predicts better than the first where the drive has not been."""


def is_sprung(book: Dictionary, atoms: Sequence[int]) -> bool:
    """Whether a torque of position is among these atoms."""
    models = [book.models[book.atoms[atom].model] for atom in atoms]
    return any(POSITION.name in term.column.inputs for model in models for term in model.terms)


def holds_elsewhere(
    rows: FrictionRows,
    j: int,
    book: Dictionary,
    shared: Sequence[Sequence[Float[Array, "_ _"]]],
    weight: float,
    before: Sequence[int],
    after: Sequence[int],
) -> bool:
    """Whether atoms `after` of drive j predict better than those `before` where the drive has not been.

    Segments of time come back to the same positions: they cannot tell how a spring goes on. So ranges of position
    (rad or m) are left out in turn, for a gain above its standard error; and the gain must make up for how rare
    springs are. Rows are weighted by `weight`, 1/(N·m); `shared` is what the drives say about the base parameters.
    """
    q = rows.columns(Spring())[j][:, 0]
    ranges = np.searchsorted(np.quantile(q, np.arange(1, N_FOLDS) / N_FOLDS), q)
    whole = tuple((factors[-1],) * (N_FOLDS + 1) for factors in shared)
    # Only the columns in question: normal equations of the whole dictionary cost a quarter of a search.
    used = np.unique([*book.columns(before), *book.columns(after)])
    parent = np.where(book.parent[used] < 0, book.parent[used], np.searchsorted(used, book.parent[used]))
    for fold in (rows.fold[j], ranges):
        there = replace(rows, fold=(*rows.fold[:j], fold, *rows.fold[j + 1 :]))
        problem = leave_out(there, j, book.D[j][:, used], parent, whole, weight)
        errors = [problem.left_out(np.searchsorted(used, book.columns(atoms)).tolist()) for atoms in (before, after)]
        gain = errors[0] - errors[1]
        told = 0.5 * LOOKS * np.log(max(float(errors[0].sum()), 1e-300) / max(float(errors[1].sum()), 1e-300))
        if gain.sum() < float(np.std(gain, ddof=1)) * np.sqrt(N_FOLDS) or told < -np.log(HOW_OFTEN):
            return False
    return True
