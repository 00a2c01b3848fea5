"""Shape numbers of friction curves between the points of a grid, all drives at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Bool, Float
from dynid.dynamics.joint_model import JointModel
from dynid.regression.friction.rows import FrictionRows
from dynid.regression.friction.search import RIDGE, projector, scaled_shape, solved

__all__ = ["Picked", "Rigid", "picked_columns", "picked_models", "refined"]

GAUSS_NEWTON_STEPS = 8
"""Steps with all shape numbers at once."""
SLOPE_STEP = 1e-3
"""Change of a shape number, relative to its scale or to itself, for the derivative of its curve."""
GOLDEN_STEPS = 5
"""Steps of each line search; the interval shrinks to a tenth of itself."""
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class Picked:
    """The friction models of one drive."""

    models: tuple[int, ...]
    """Which of the candidates, ascending."""
    relative: tuple[tuple[float, ...], ...]
    """Shape numbers of each, relative to the scales of the drive."""
    error: float
    """Squared error on left-out folds over the power of the torque, dimensionless."""
    reason: str

    def of(self, model: int, row: int) -> float:
        """A shape number relative to its scale; nan for a model this drive does not have."""
        return self.relative[self.models.index(model)][row] if model in self.models else np.nan

    def moved(self, model: int, row: int, value: float) -> Picked:
        """The same with another shape number, relative to its scale."""
        if model not in self.models:
            return self
        place = self.models.index(model)
        numbers = list(self.relative[place])
        numbers[row] = value
        return replace(self, relative=(*self.relative[:place], tuple(numbers), *self.relative[place + 1 :]))

    def without(self, model: int) -> Picked:
        """The same without one model."""
        keep = [place for place, k in enumerate(self.models) if k != model]
        return replace(self, models=tuple(self.models[p] for p in keep), relative=tuple(self.relative[p] for p in keep))


@dataclass(frozen=True, eq=False)
class Rigid:
    """Rows of one drive with everything known about the base parameters projected out."""

    weight: float
    U: Float[Array, "n_rows n_rank"]
    """The drive's own rows of an orthonormal basis of all rows' rigid columns."""
    tau: Float[Array, " n_rows"]
    """Weighted torque, dimensionless."""
    along: Float[Array, " n_rank"]
    """Torque of all rows along the basis."""
    beyond: float
    """Squared torque of all rows outside the basis."""

    @classmethod
    def of(cls, rows: FrictionRows, j: int, shared: Sequence[Sequence[Float[Array, "_ _"]]], weight: float) -> Rigid:
        """Of drive j with rows weighted by `weight`, 1/(N·m)."""
        own, tau = rows.Y[j] * weight, rows.tau[j] * weight
        n_base = own.shape[1]
        others = [factors[-1] for k, factors in enumerate(shared) if k != j and n_base]
        A = np.vstack([own, *(factor[:, :-1] for factor in others)])
        b = np.concatenate([tau, *(factor[:, -1] for factor in others)])
        U = projector(A)[0]
        along = U.T @ b
        return cls(weight, U[: len(own)], tau, along, float(b @ b - along @ along))

    def normal(
        self, F: Float[Array, "n_rows n_columns"]
    ) -> tuple[Float[Array, "n_columns n_columns"], Float[Array, " n_columns"]]:
        """Normal equations of friction columns (SI)."""
        W = F * self.weight
        inside = self.U.T @ W
        # What projection leaves of a column that lies among the rigid ones is rounding.
        hair = RIDGE * np.diag(np.sum(W**2, axis=0))
        return W.T @ W - inside.T @ inside + hair, W.T @ self.tau - inside.T @ self.along

    def cost(self, F: Float[Array, "n_rows n_columns"], free: Bool[Array, " n_columns"]) -> float:
        """Sum of squared residuals with the best values of these columns, in units of the noise."""
        G, c = self.normal(F)
        phi = solved(G, c, np.arange(len(c)), free)
        return float(self.beyond - 2.0 * phi @ c + phi @ G @ phi)


def shaped(model: JointModel, k: int, picked: Sequence[Picked], rows: FrictionRows) -> JointModel:
    """Candidate k with the shape numbers (SI) of every drive; drives without it get those of the middle of the grid."""
    if not model.shapes:
        return model
    middle = [float(shape.grid()[shape.n_tried // 2]) for shape in model.shapes]
    relative = np.array(
        [[pick.of(k, row) if k in pick.models else middle[row] for pick in picked] for row in range(len(model.shapes))]
    )
    return model.reshaped(scaled_shape(rows, model, relative))


def picked_columns(
    rows: FrictionRows, models: Sequence[JointModel], picked: Sequence[Picked]
) -> list[Float[Array, "_ _"]]:
    """Friction columns (SI) of each drive as picked, models ascending."""
    own: list[list[Float[Array, "_ _"]]] = [[] for _ in picked]
    for k, model in enumerate(models):
        if not any(k in pick.models for pick in picked):
            continue
        found = rows.columns(shaped(model, k, picked, rows))
        for j, pick in enumerate(picked):
            if k in pick.models:
                own[j].append(found[j])
    return [np.hstack(parts) if parts else np.zeros((len(rows.tau[j]), 0)) for j, parts in enumerate(own)]


def picked_models(rows: FrictionRows, models: Sequence[JointModel], picked: Sequence[Picked]) -> tuple[JointModel, ...]:
    """The models for a `TorqueModel`: each with the shape numbers of all drives (SI), on the drives that have it."""
    chosen: list[JointModel] = []
    for k, model in enumerate(models):
        have = tuple(k in pick.models for pick in picked)
        if any(have):
            whole = shaped(model, k, picked, rows)
            chosen.append(whole if all(have) else whole.only_on(have))
    return tuple(chosen)


def refined(
    rows: FrictionRows,
    models: Sequence[JointModel],
    picked: Sequence[Picked],
    shared: Sequence[Sequence[Float[Array, "_ _"]]],
    weights: Float[Array, " n_dof"],
) -> list[Picked]:
    """Shape numbers off the grid: line searches in turn, rows of drive j weighted by ``weights[j]``, 1/(N·m)."""
    current = list(picked)
    places = [
        (k, row)
        for k, model in enumerate(models)
        if any(k in pick.models for pick in current)
        for row in range(len(model.shapes))
    ]
    if not places:
        return current
    fixed = [Rigid.of(rows, j, shared, weights[j]) for j in range(rows.n_dof)]
    for k, row in places:
        current = _line_search(rows, models, current, fixed, k, row)
    return _polished(rows, models, current, fixed, places)


def _polished(
    rows: FrictionRows,
    models: Sequence[JointModel],
    picked: list[Picked],
    fixed: Sequence[Rigid],
    places: Sequence[tuple[int, int]],
) -> list[Picked]:
    """Gauss–Newton on all shape numbers together; a step that worsens a drive is shortened."""
    current = picked
    costs = _costs(rows, models, current, fixed)
    damping = np.ones(rows.n_dof)
    for _ in range(GAUSS_NEWTON_STEPS):
        columns = picked_columns(rows, models, current)
        slopes = [_slope(rows, models, current, columns, fixed, k, row) for k, row in places]
        trial = []
        for j, pick in enumerate(current):
            own = [p for p, (k, _) in enumerate(places) if k in pick.models]
            G, c = fixed[j].normal(np.column_stack([columns[j], *(slopes[p][j] for p in own)]))
            scale = np.sqrt(np.maximum(np.diag(G), 1e-300))
            step = np.linalg.lstsq(G / np.outer(scale, scale), c / scale, rcond=1e-9)[0] / scale
            moved = pick
            for p, change in zip(own, step[columns[j].shape[1] :], strict=True):
                moved = _stepped(models, moved, *places[p], float(damping[j] * change))
            trial.append(moved)
        found = _costs(rows, models, trial, fixed)
        better = found < costs
        current = [new if ok else old for new, old, ok in zip(trial, current, better, strict=True)]
        gain = np.where(better, costs - found, 0.0)
        damping = np.where(better, 1.0, 0.4 * damping)
        costs = np.minimum(found, costs)
        if np.all(gain < 1e-9 * np.abs(costs)) and np.all(damping < 0.05):
            break
    return current


def _costs(
    rows: FrictionRows, models: Sequence[JointModel], picked: Sequence[Picked], fixed: Sequence[Rigid]
) -> Float[Array, " n_dof"]:
    columns = picked_columns(rows, models, picked)
    return np.array([fixed[j].cost(columns[j], _free(models, pick)) for j, pick in enumerate(picked)])


def _free(models: Sequence[JointModel], pick: Picked) -> Bool[Array, " n_columns"]:
    return np.array([not term.nonnegative for k in pick.models for term in models[k].terms], dtype=bool)


def _stepped(models: Sequence[JointModel], pick: Picked, k: int, row: int, change: float) -> Picked:
    """A shape number moved (its logarithm where it has no sign), inside the range that is searched."""
    shape, value = models[k].shapes[row], pick.of(k, row)
    moved = value + change if shape.signed else value * float(np.exp(np.clip(change, -1.0, 1.0)))
    return pick.moved(k, row, float(np.clip(moved, shape.lower, shape.upper)))


def _slope(
    rows: FrictionRows,
    models: Sequence[JointModel],
    picked: Sequence[Picked],
    columns: Sequence[Float[Array, "_ _"]],
    fixed: Sequence[Rigid],
    k: int,
    row: int,
) -> list[Float[Array, " _"]]:
    """How the friction torque of each drive (N·m or N) changes with a shape number or its logarithm."""
    model = models[k]
    sides = []
    for change in (SLOPE_STEP, -SLOPE_STEP):
        moved = [_stepped(models, pick, k, row, change) if k in pick.models else pick for pick in picked]
        sides.append(rows.columns(shaped(model, k, moved, rows)))
    slopes = []
    for j, pick in enumerate(picked):
        if k not in pick.models:
            slopes.append(np.zeros(len(columns[j])))
            continue
        G, c = fixed[j].normal(columns[j])
        phi = solved(G, c, np.arange(len(c)), _free(models, pick))
        first = sum(len(models[m].terms) for m in pick.models if m < k)
        own = phi[first : first + len(model.terms)]
        slopes.append((sides[0][j] - sides[1][j]) @ own / (2.0 * SLOPE_STEP))
    return slopes


def _line_search(
    rows: FrictionRows,
    models: Sequence[JointModel],
    picked: list[Picked],
    fixed: Sequence[Rigid],
    k: int,
    row: int,
) -> list[Picked]:
    """One shape number of candidate k, two grid steps to either side; golden sections for all drives in step."""
    model = models[k]
    shape = model.shapes[row]
    grid = shape.grid()
    step = 2.0 * float(grid[1] - grid[0] if shape.signed else np.log(grid[1] / grid[0]))
    centre = np.array([1.0 if k not in pick.models else pick.of(k, row) for pick in picked])
    place = centre if shape.signed else np.log(centre)
    rest = [pick.without(k) for pick in picked]
    others = picked_columns(rows, models, rest)
    frees = [
        np.array([not t.nonnegative for m in (*pick.models, k) for t in models[m].terms], dtype=bool) for pick in rest
    ]

    def at(values: Float[Array, " n_dof"]) -> list[Picked]:
        numbers = values if shape.signed else np.exp(values)
        return [pick.moved(k, row, float(value)) for pick, value in zip(picked, numbers, strict=True)]

    def costs(values: Float[Array, " n_dof"]) -> Float[Array, " n_dof"]:
        found = rows.columns(shaped(model, k, at(values), rows))
        return np.array(
            [
                fixed[j].cost(np.hstack([others[j], found[j]]), frees[j]) if k in picked[j].models else 0.0
                for j in range(len(picked))
            ]
        )

    best, least = place.copy(), costs(place)
    ends = np.array([shape.lower, shape.upper])
    ends = ends if shape.signed else np.log(ends)
    low, high = np.clip(place - step, *ends), np.clip(place + step, *ends)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = costs(left), costs(right)
    for _ in range(GOLDEN_STEPS):
        for point, cost in ((left, at_left), (right, at_right)):
            best, least = np.where(cost < least, point, best), np.minimum(cost, least)
        lower = at_left < at_right
        high, low = np.where(lower, right, high), np.where(lower, low, left)
        probe = np.where(lower, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        cost = costs(probe)
        left, right = np.where(lower, probe, right), np.where(lower, left, probe)
        at_left, at_right = np.where(lower, cost, at_right), np.where(lower, at_left, cost)
    return at(best)
