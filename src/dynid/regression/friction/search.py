"""Search of friction curves by variable projection: only shape numbers are tried, the rest follows linearly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Bool, Float, Int
from dynid.dynamics.joint_model import JointModel, ShapeNumbers
from dynid.regression.friction.rows import N_FOLDS, FrictionRows
from dynid.regression.triangle import triangular

__all__ = [
    "Atom",
    "Dictionary",
    "LeaveOut",
    "dictionary",
    "leave_out",
    "projector",
    "scaled_shape",
    "shared_information",
    "solved",
]

RANK = 1e-8
"""Singular value over the largest, columns scaled to unit length, below which a rigid direction was not excited."""
MAX_ATOMS = 160
"""Combinations of shape numbers on the first grid of one model at most."""
MIN_GAIN = 0.02
"""Share of the left-out squared error that every further number must take away: 1 % of the error."""
SILENT_TORQUE = 1e-30
"""(N·m)² or N²: power of a torque that is nothing but rounding."""
RIDGE = 1e-10
"""Relative to the diagonal: keeps two columns that are nearly the same apart."""


@dataclass(frozen=True)
class Atom:
    """One friction model with one set of shape numbers."""

    model: int
    """Which of the candidate models."""
    relative: tuple[float, ...]
    """Shape numbers relative to the scales of each drive; empty for a model without."""
    columns: tuple[int, ...]
    """Its columns in the dictionary: one for each term, then one for each shape number, the way to its next value."""


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Columns of all candidate models at all shape numbers of the first grid, for every drive."""

    models: tuple[JointModel, ...]
    atoms: tuple[Atom, ...]
    parent: Int[Array, " n_columns"]
    """`HELD` for the column of a term that physics keeps from being negative, `FREE` for one that it does not; else the
    column whose curve this one bends: it may take no more than that column's own value, or it would leave the grid."""
    D: tuple[Float[Array, "_ _"], ...]
    """Columns (SI) of each drive at its rows."""

    def of(self, model: int) -> tuple[int, ...]:
        """Atoms of one model."""
        return self._by_model[model]

    @cached_property
    def _by_model(self) -> dict[int, tuple[int, ...]]:
        numbers = range(len(self.models))
        return {m: tuple(k for k, atom in enumerate(self.atoms) if atom.model == m) for m in numbers}

    def columns(self, atoms: Sequence[int]) -> list[int]:
        """Columns of some atoms."""
        return [column for atom in atoms for column in self.atoms[atom].columns]


def scaled_shape(rows: FrictionRows, model: JointModel, relative: Float[Array, "n_shapes n_dof"]) -> ShapeNumbers:
    """Shape numbers (SI) of every drive from numbers relative to its scales."""
    sizes = [shape.size(rows.speed, rows.travel) for shape in model.shapes]
    return tuple(tuple((row * size).tolist()) for row, size in zip(relative, sizes, strict=True))


def dictionary(rows: FrictionRows, models: Sequence[JointModel], earlier: Dictionary | None = None) -> Dictionary:
    """The columns (SI) of candidate models, shaped ones on a grid of their shape numbers.

    Between two points of the grid a curve is nearly F + d·(F₊ − F₋)/2, so that a coarse grid hides no good curve.
    Models that are the same as in an `earlier` dictionary of the same rows keep its columns.
    """
    atoms: list[Atom] = []
    parent: list[int] = []
    parts: list[list[Float[Array, "_ _"]]] = [[] for _ in range(rows.n_dof)]
    for number, model in enumerate(models):
        if earlier is not None and earlier.models[number] is model:
            kept = [earlier.atoms[k] for k in earlier.of(number)]
            start, stop = kept[0].columns[0], kept[-1].columns[-1] + 1
            shift = len(parent) - start
            parent += [p if p < 0 else p + shift for p in earlier.parent[start:stop].tolist()]
            atoms += [replace(atom, columns=tuple(c + shift for c in atom.columns)) for atom in kept]
            for part, D in zip(parts, earlier.D, strict=True):
                part.append(D[:, start:stop])
            continue
        grids = _grids(model)
        table = {place: _at(rows, model, grids, place) for place in np.ndindex(*(len(grid) for grid in grids))}
        for place, columns in table.items():
            relative = tuple(float(grid[k]) for grid, k in zip(grids, place, strict=True))
            if model.interchangeable and list(relative) != sorted(set(relative)):
                continue
            first, bent = len(parent), [parameter.term for parameter in model.shapes]
            parent += [HELD if term.nonnegative else FREE for term in model.terms]
            parent += [first + term for term in bent]
            slopes = [_slope(table, place, axis, len(grids[axis]), term) for axis, term in enumerate(bent)]
            for j, part in enumerate(parts):
                part.append(np.column_stack([columns[j], *(slope[j] for slope in slopes)]))
            atoms.append(Atom(number, relative, tuple(range(first, len(parent)))))
    whole = tuple(np.hstack(part) if part else np.zeros((len(rows.tau[j]), 0)) for j, part in enumerate(parts))
    return Dictionary(tuple(models), tuple(atoms), np.array(parent, dtype=np.int64), whole)


HELD, FREE = -1, -2
"""In place of the number of a parent: columns of terms that cannot be negative, and of terms that can."""
_Place = tuple[int, ...]
_Columns = tuple[Float[Array, "_ _"], ...]


def _grids(model: JointModel) -> list[Float[Array, " _"]]:
    room = max(int(MAX_ATOMS ** (1.0 / max(len(model.shapes), 1))), 4)
    return [np.asarray(shape.grid()[:: max(1, -(-shape.n_tried // room))]) for shape in model.shapes]


def _at(rows: FrictionRows, model: JointModel, grids: Sequence[Float[Array, " _"]], place: _Place) -> _Columns:
    if not grids:
        return rows.columns(model)
    relative = np.array([np.full(rows.n_dof, grid[k]) for grid, k in zip(grids, place, strict=True)])
    return rows.columns(model.reshaped(scaled_shape(rows, model, relative)))


def _slope(
    table: Mapping[_Place, _Columns], place: _Place, axis: int, length: int, term: int
) -> list[Float[Array, " _"]]:
    def beside(step: int) -> _Columns:
        return table[(*place[:axis], min(max(place[axis] + step, 0), length - 1), *place[axis + 1 :])]

    return [0.5 * (up[:, term] - down[:, term]) for up, down in zip(beside(1), beside(-1), strict=True)]


@dataclass(frozen=True, eq=False)
class _Normal:
    """Normal equations of the friction columns with the rigid ones projected out, for several sets of rows."""

    G: Float[Array, "n_sets n_columns n_columns"]
    c: Float[Array, "n_sets n_columns"]
    s: Float[Array, " n_sets"]

    @classmethod
    def stacked(cls, matrices: Sequence[Float[Array, "_ n_all"]], size: Float[Array, " n_columns"] | float) -> _Normal:
        """Of matrices whose last column is the torque; `size` is the sum of squares of each column before."""
        whole = np.array([A.T @ A for A in matrices])
        # What projection leaves of a column that lies among the rigid ones, as a first joint's rotor does, is rounding.
        place = np.arange(whole.shape[1] - 1)
        whole[:, place, place] += RIDGE * size
        return cls(whole[:, :-1, :-1], whole[:, :-1, -1], whole[:, -1, -1])


@dataclass(frozen=True, eq=False)
class LeaveOut:
    """How well columns of one drive fit all rows, and predict each fold when fitted without it."""

    parent: Int[Array, " n_columns"]
    """As in `Dictionary`."""
    whole: _Normal
    within: _Normal
    beyond: _Normal
    power: float
    """Sum of squared measured torques, in units of the drive's noise."""

    def costs(self, sets: Int[Array, "n_sets n_chosen"]) -> Float[Array, " n_sets"]:
        """Sum of squared residuals on all rows for each set of columns, in units of the noise."""
        G, c = self.whole.G[0][sets[:, :, None], sets[:, None, :]], self.whole.c[0][sets]
        phi = _bent(G, c, self._places(sets))
        return float(self.whole.s[0]) + _quadratic(G, c, phi)

    def left_out(self, columns: Sequence[int]) -> Float[Array, " n_folds"]:
        """Squared error in each fold, predicted from the others, over the power of all torque (dimensionless)."""
        index = np.array(columns, dtype=np.int64)
        block = np.ix_(np.arange(N_FOLDS), index, index)
        places = np.repeat(self._places(index[None]), N_FOLDS, axis=0)
        phi = _bent(self.within.G[block], self.within.c[:, index], places)
        errors = self.beyond.s + _quadratic(self.beyond.G[block], self.beyond.c[:, index], phi)
        return np.maximum(errors, 0.0) / self.power

    def values(self, columns: Sequence[int]) -> Float[Array, " n_chosen"]:
        """What columns (SI) are multiplied by when they are fitted to all rows."""
        index = np.array(columns, dtype=np.int64)[None]
        G, c = self.whole.G[0][index[:, :, None], index[:, None, :]], self.whole.c[0][index]
        return _bent(G, c, self._places(index))[0]

    def _places(self, sets: Int[Array, "n_sets n_chosen"]) -> Int[Array, "n_sets n_chosen"]:
        """`parent` of the chosen columns, counted inside each set."""
        own = self.parent[sets]
        inside = np.argmax(sets[:, None, :] == own[:, :, None], axis=2) if sets.shape[1] else own
        return np.where(own >= 0, inside, own)


def _quadratic(
    G: Float[Array, "n_sets n_chosen n_chosen"],
    c: Float[Array, "n_sets n_chosen"],
    phi: Float[Array, "n_sets n_chosen"],
) -> Float[Array, " n_sets"]:
    return np.einsum("ni,nij,nj->n", phi, G, phi) - 2.0 * np.einsum("ni,ni->n", phi, c)


def _bent(
    G: Float[Array, "n_sets n_chosen n_chosen"],
    c: Float[Array, "n_sets n_chosen"],
    places: Int[Array, "n_sets n_chosen"],
) -> Float[Array, "n_sets n_chosen"]:
    """Least squares on columns of a dictionary (SI), curves bent no farther than to the next on the grid."""
    n_chosen = c.shape[1]
    if not n_chosen:
        return c
    scale = np.sqrt(np.maximum(np.einsum("nii->ni", G), 1e-300))
    A = G / (scale[:, :, None] * scale[:, None, :]) + RIDGE * np.eye(n_chosen)
    phi = _nonnegative(A, c / scale, places == HELD) / scale
    most = np.where(places >= 0, np.abs(np.take_along_axis(phi, np.maximum(places, 0), axis=1)), np.inf)
    return np.clip(phi, -most, most)


def _nonnegative(
    A: Float[Array, "n_sets n_chosen n_chosen"],
    b: Float[Array, "n_sets n_chosen"],
    held: Bool[Array, "n_sets n_chosen"],
) -> Float[Array, "n_sets n_chosen"]:
    """Solutions of many small normal equations, `held` entries not negative: the most negative one goes, in turn.

    Columns that went do not come back, which `solved` would allow; that matters to no choice and saves much time.
    """
    phi = np.linalg.solve(A, b[:, :, None])[:, :, 0]
    active = np.ones(b.shape, dtype=bool)
    open_sets = np.arange(len(b))
    for _ in range(b.shape[1]):
        negative = np.where(held[open_sets] & active[open_sets], phi[open_sets], 0.0)
        worst = np.argmin(negative, axis=1)
        bad = np.take_along_axis(negative, worst[:, None], axis=1)[:, 0] < 0.0
        open_sets, worst = open_sets[bad], worst[bad]
        if not len(open_sets):
            break
        active[open_sets, worst] = False
        keep = active[open_sets]
        inner = np.where(keep[:, :, None] & keep[:, None, :], A[open_sets], 0.0) + _diagonal(~keep)
        phi[open_sets] = np.linalg.solve(inner, np.where(keep, b[open_sets], 0.0)[:, :, None])[:, :, 0]
    return phi


def _diagonal(which: Bool[Array, "n_sets n_chosen"]) -> Float[Array, "n_sets n_chosen n_chosen"]:
    return np.where(which, 1.0, 0.0)[:, :, None] * np.eye(which.shape[1])


def solved(
    G: Float[Array, "n_columns n_columns"],
    c: Float[Array, " n_columns"],
    index: Int[Array, " n_chosen"],
    free: Bool[Array, " n_columns"],
) -> Float[Array, " n_chosen"]:
    """Least squares on chosen columns from their normal equations (SI), nonnegative where physics asks for it."""
    if not len(index):
        return np.zeros(0)
    A, b = G[np.ix_(index, index)], c[index]
    scale = np.sqrt(np.maximum(np.diag(A), 1e-300))
    A, b = A / np.outer(scale, scale) + RIDGE * np.eye(len(index)), b / scale
    phi = np.linalg.solve(A, b)
    may = free[index]
    if np.any(phi[~may] < 0.0):
        signs = np.concatenate([np.eye(len(index)), -np.eye(len(index))[:, may]], axis=1)
        from scipy.optimize import nnls

        L = np.linalg.cholesky(A)
        phi = signs @ nnls(L.T @ signs, np.linalg.solve(L, b))[0]
    return phi / scale


def shared_information(
    rows: FrictionRows, chosen: Sequence[Float[Array, "_ _"]], weights: Float[Array, " n_dof"]
) -> tuple[tuple[Float[Array, "_ _"], ...], ...]:
    """What each drive says about the base parameters when its friction is left open.

    For every drive one triangular factor without each fold, and as last one with all; the torque is its last column.
    After the drives comes what was known before.

    Args:
        rows: the rows.
        chosen: friction columns (SI) of each drive.
        weights: 1/(N·m), one over the noise of each drive.
    """
    factors = []
    for j in range(rows.n_dof):
        n_own = chosen[j].shape[1]
        whole = np.column_stack([chosen[j], rows.Y[j], rows.tau[j]]) * weights[j]
        pieces = [triangular(whole[rows.fold[j] == f]) for f in range(N_FOLDS)]
        sets = [[p for f, p in enumerate(pieces) if f != left] for left in range(N_FOLDS)]
        factors.append(tuple(triangular(np.vstack(kept))[n_own:, n_own:] for kept in [*sets, pieces]))
    if rows.prior is not None:
        factors.append((rows.prior,) * (N_FOLDS + 1))
    return tuple(factors)


def leave_out(
    rows: FrictionRows,
    j: int,
    D: Float[Array, "n_rows n_columns"],
    parent: Int[Array, " n_columns"],
    shared: Sequence[Sequence[Float[Array, "_ _"]]],
    weight: float,
) -> LeaveOut:
    """Normal equations of the columns `D` (SI) of drive j, on all rows and without each fold.

    Rows are weighted by `weight`, 1/(N·m); `shared` is what the drives say about the base parameters.
    """
    n_base = rows.Y[j].shape[1]
    whole = np.column_stack([rows.Y[j], D, rows.tau[j]]) * weight
    pieces = [triangular(whole[rows.fold[j] == f]) for f in range(N_FOLDS)]
    within, beyond = [], []
    for left in range(N_FOLDS + 1):
        others = [_padded(factors[left], n_base, D.shape[1]) for k, factors in enumerate(shared) if k != j and n_base]
        A = np.vstack([*(p for f, p in enumerate(pieces) if f != left), *others])
        rigid, rest = A[:, :n_base], A[:, n_base:]
        U, solve = projector(rigid)
        within.append(rest - U @ (U.T @ rest))
        if left < N_FOLDS:
            out = pieces[left]
            beyond.append(out[:, n_base:] - out[:, :n_base] @ (solve @ (U.T @ rest)))
    power = max(float(rows.power[j]), SILENT_TORQUE) * len(rows.tau[j]) * weight**2
    size = np.sum((D * weight) ** 2, axis=0)
    every, inner = (_Normal.stacked(part, size) for part in (within[-1:], within[:-1]))
    outer = _Normal.stacked(beyond, 0.0)
    return LeaveOut(parent, every, inner, outer, power)


def _padded(factor: Float[Array, "n_kept n_shared"], n_base: int, n_columns: int) -> Float[Array, "n_kept n_all"]:
    out = np.zeros((len(factor), n_base + n_columns + 1))
    out[:, :n_base] = factor[:, :n_base]
    out[:, -1] = factor[:, -1]
    return out


def projector(
    A: Float[Array, "n_rows n_base"],
) -> tuple[Float[Array, "n_rows n_rank"], Float[Array, "n_base n_rank"]]:
    """Orthonormal basis of the columns, and what turns coordinates in it into base parameters."""
    if not A.shape[1]:
        return np.zeros((len(A), 0)), np.zeros((0, 0))
    scale = np.linalg.norm(A, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    U, values, Vt = np.linalg.svd(A / scale, full_matrices=False)
    rank = int(np.count_nonzero(values > RANK * max(values[0], 1e-300)))
    return U[:, :rank], (Vt[:rank].T / values[:rank]) / scale[:, None]
