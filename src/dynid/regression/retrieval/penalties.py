"""Demands compiled for one model: bounds of p, rows of violations, and what the semidefinite programme knows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.consistency import Box, Ellipsoid
from dynid.dynamics.model import TorqueModel
from dynid.errors import ContradictoryBounds, ParameterError, UnknownName
from dynid.regression.feasible.constraints import Bounds, Constraints, Target, find_target
from dynid.regression.retrieval.constraints import Demands, RetrievalConstraints, Symmetry, Tie
from dynid.regression.retrieval.parametrisation import names_of_p
from dynid.regression.retrieval.penalty_rows import AffineRows, FunctionRows, Rows, ShapeRows, TriangleRows
from dynid.regression.retrieval.shapes import Region, Sphere, span

__all__ = ["ConstraintCheck", "Penalties", "compile_demands"]

MASS_FLOOR = 1e-6
"""kg; a link of a retrieved robot weighs at least this, whatever the bounds."""
FLOOR_FACTOR = 4.0
"""Second moments about the centre of mass at this many times the margin of `Constraints` keep the smallest
eigenvalue of the 4×4 pseudo-inertia above the margin, for centres of mass up to 1.2 m from the frame."""
SCALES: Mapping[str, float] = {"mass": 1.0, "com": 0.1, "inertia": 0.01, "joint": 1.0, "function": 1.0}
"""Sizes (kg, m, kg·m², SI, whatever a function returns) at which violations of different kinds weigh alike."""
MET = 1e-7
"""Relative to `SCALES`: a constraint violated by less than this is met."""
FUNCTION_MET = 1e-6
"""A user's function that returns at most this is met; in the function's own unit."""
_STEP = 1e-6
"""Relative to `SCALES`: step of the finite differences of a user's function."""


@dataclass(frozen=True)
class ConstraintCheck:
    """One demand and how far the answer is from breaking it."""

    name: str
    margin: float
    """Distance to failure in the demand's own unit (kg, m, kg·m², or a function's), negative where it fails; minus
    the deviation for equalities."""
    tolerance: float
    """What counts as met, in the same unit."""
    holds: bool

    @property
    def excess(self) -> float:
        """Violation over tolerance, dimensionless; at most 1 where it holds."""
        return -self.margin / self.tolerance


@dataclass(frozen=True, eq=False)
class Penalties:
    """All demands on p of one model, ready to be evaluated; it travels to other processes as it is."""

    names_p: tuple[str, ...]
    link_names: tuple[str, ...]
    lower: Float[Array, " n_params"]
    """Smallest p, SI; minus infinity for none."""
    upper: Float[Array, " n_params"]
    """Largest p, SI; infinity for none."""
    sizes: Float[Array, " n_params"]
    """`SCALES` of every entry of p, SI."""
    body: TriangleRows
    rows: tuple[Rows, ...]
    """All that neither bounds p nor is the consistency of a link."""
    relaxed: Constraints
    """The demands that the semidefinite programme knows."""
    left_out: tuple[str, ...]
    """The demands that it does not know."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_links(self) -> int:
        """Number of links."""
        return len(self.link_names)

    @property
    def all_rows(self) -> tuple[Rows, ...]:
        """The consistency of the links, then `rows`."""
        return (self.body, *self.rows)

    def check(self, p: Float[Array, " n_params"]) -> tuple[ConstraintCheck, ...]:
        """Every demand with its margin at p (SI), whoever found p."""
        found = []
        for name, value, low, high, size in zip(self.names_p, p, self.lower, self.upper, self.sizes, strict=True):
            if low == high:
                found.append(_checked(f"{name} = {low:g}", -abs(float(value - low)), MET * size))
                continue
            if math.isfinite(low):
                found.append(_checked(f"{name} ≥ {low:g}", float(value - low), MET * size))
            if math.isfinite(high):
                found.append(_checked(f"{name} ≤ {high:g}", float(high - value), MET * size))
        for rows in self.all_rows:
            allowed = np.full(len(rows.names), FUNCTION_MET) if isinstance(rows, FunctionRows) else MET * rows.scale
            for name, value, equal, tolerance in zip(rows.names, rows.at(p), rows.equal, allowed, strict=True):
                found.append(_checked(name, -abs(float(value)) if equal else -float(value), float(tolerance)))
        return tuple(found)


def _checked(name: str, margin: float, tolerance: float) -> ConstraintCheck:
    return ConstraintCheck(name, float(margin), float(tolerance), bool(margin >= -tolerance))


class _Affine:
    """Affine rows as they are collected."""

    def __init__(self, model: TorqueModel) -> None:
        self.model = model
        self.rows: list[tuple[str, float, bool, dict[int, float], dict[int, float], float]] = []

    def quantity(self, name: str) -> tuple[dict[int, float], dict[int, float], float] | None:
        """Weights on p, weights on θ and scale of a named parameter; None where this model has no such term."""
        target = find_target(name, self.model)
        if target is None:
            return None
        index = index_in_p(target, self.model)
        if index >= 0:
            return {index: 1.0}, {}, size_in_p(index, self.model)
        return {}, {target.index: 1.0}, SCALES["com" if target.index % 10 < 4 else "inertia"]

    def add(
        self, name: str, scale: float, in_p: dict[int, float], in_theta: dict[int, float], b: float, *, equal: bool
    ) -> None:
        self.rows.append((name, scale, equal, in_p, in_theta, b))

    def block(self) -> AffineRows:
        n = self.model.n_params
        A, B = np.zeros((len(self.rows), n)), np.zeros((len(self.rows), n))
        for k, row in enumerate(self.rows):
            for matrix, weights in ((A, row[3]), (B, row[4])):
                for column, weight in weights.items():
                    matrix[k, column] += weight
        return AffineRows(
            tuple(row[0] for row in self.rows),
            np.array([row[1] for row in self.rows]),
            np.array([row[2] for row in self.rows], dtype=bool),
            A,
            B,
            np.array([row[5] for row in self.rows]),
            self.model.n_dof,
        )


def index_in_p(target: Target, model: TorqueModel) -> int:
    """Where a target stands in p; −1 for entries of θ that are products there (mc, J)."""
    if target.kind == "com":
        return 10 * target.link + 1 + target.index
    if target.kind == "inertia":
        return 10 * target.link + target.index
    return target.index if target.index >= model.n_inertial or target.index % 10 == 0 else -1


def size_in_p(index: int, model: TorqueModel) -> float:
    """The entry of `SCALES` (SI) for an entry of p."""
    if index >= model.n_inertial:
        return SCALES["joint"]
    return SCALES["mass" if index % 10 == 0 else "com" if index % 10 < 4 else "inertia"]


def compile_demands(model: TorqueModel, demands: Demands | None = None) -> Penalties:
    """Demands (SI) as rows over p, with everything checked that can be checked without looking at data.

    Raises:
        UnknownName: a parameter or link that does not exist, offering the nearest.
        ContradictoryBounds: bounds and known values that exclude each other.
    """
    asked = (
        demands if isinstance(demands, RetrievalConstraints) else RetrievalConstraints(convex=demands or Constraints())
    )
    convex = asked.convex
    names = names_of_p(model)
    lower, upper = np.full(model.n_params, -np.inf), np.full(model.n_params, np.inf)
    lower[: model.n_inertial : 10] = MASS_FLOOR
    for k, term in enumerate(model.terms):
        if convex.nonnegative_joint_terms and term.nonnegative:
            lower[model.n_inertial + k :: len(model.terms)] = convex.margin
    affine = _Affine(model)
    limits = [(b.name, b.lower, b.upper, b.where) for b in (convex.bounds.entries if convex.bounds else ())]
    limits += [(name, value, value, "") for name, value in convex.pinned.items()]
    for name, low, high, where in limits:
        target = find_target(name, model, where=where)
        if target is None:
            continue
        index = index_in_p(target, model)
        if index >= 0:
            _tighten(lower, upper, index, low, high, names[index], where)
        else:
            _product_rows(affine, name, low, high)
    if convex.total_mass is not None:
        _total_mass(affine, *convex.total_mass)
    regions = {**convex.com_regions, **asked.shapes}
    both = sorted(set(convex.com_regions) & set(asked.shapes))
    if both:
        raise ParameterError(f"two regions for the centre of mass of {', '.join(both)}; keep one of them")
    for link in (*regions, *(symmetry.link for symmetry in asked.symmetries)):
        if link not in model.robot.link_names:
            raise UnknownName(link, known=model.robot.link_names, kind="link")
    for symmetry in asked.symmetries:
        _symmetry(affine, symmetry, model.robot.link_names.index(symmetry.link) + 1)
    for tie in asked.ties:
        _tie(affine, tie)
    rows: list[Rows] = [affine.block()] if affine.rows else []
    if regions:
        rows.append(_shape_rows(model, regions))
    sizes = np.array([size_in_p(k, model) for k in range(model.n_params)])
    if asked.functions:
        n = len(asked.functions)
        titles = tuple(f"{function.name}(links) ≤ 0" for function in asked.functions)
        ones = np.full(n, SCALES["function"])
        rows.append(
            FunctionRows(titles, ones, np.zeros(n, dtype=bool), asked.functions, model.robot.link_names, _STEP * sizes)
        )
    relaxed, left_out = _relaxed(model, asked)
    return Penalties(
        names, model.robot.link_names, lower, upper, sizes, _body(model, convex), tuple(rows), relaxed, left_out
    )


def _body(model: TorqueModel, convex: Constraints) -> TriangleRows:
    what = "triangle inequality" if convex.triangle else "positive inertia"
    n = model.n_dof
    return TriangleRows(
        tuple(f"{what} of {link}" for link in model.robot.link_names),
        np.full(n, SCALES["inertia"]),
        np.zeros(n, dtype=bool),
        FLOOR_FACTOR * convex.margin,
        convex.triangle,
    )


def _tighten(
    lower: Float[Array, " n_params"],
    upper: Float[Array, " n_params"],
    index: int,
    low: float,
    high: float,
    name: str,
    where: str,
) -> None:
    # Friction bounded by zero above, say: what is asked and what physics asks may leave nothing.
    if low > upper[index] or high < lower[index]:
        clash = (f"{name} ≥ {max(low, lower[index]):g}", f"{name} ≤ {min(high, upper[index]):g}")
        raise ContradictoryBounds(clash, where=where)
    lower[index], upper[index] = max(low, lower[index]), min(high, upper[index])


def _product_rows(affine: _Affine, name: str, low: float, high: float) -> None:
    quantity = affine.quantity(name)
    if quantity is None:
        return
    _, in_theta, scale = quantity
    if low == high:
        affine.add(f"{name} = {low:g}", scale, {}, in_theta, -low, equal=True)
        return
    if math.isfinite(low):
        affine.add(f"{name} ≥ {low:g}", scale, {}, {k: -w for k, w in in_theta.items()}, low, equal=False)
    if math.isfinite(high):
        affine.add(f"{name} ≤ {high:g}", scale, {}, in_theta, -high, equal=False)


def _total_mass(affine: _Affine, low: float, high: float) -> None:
    masses = dict.fromkeys(range(0, affine.model.n_inertial, 10), 1.0)
    if low == high:
        affine.add(f"total mass = {low:g} kg", SCALES["mass"], masses, {}, -low, equal=True)
        return
    if math.isfinite(low):
        negative = dict.fromkeys(masses, -1.0)
        affine.add(f"total mass ≥ {low:g} kg", SCALES["mass"], negative, {}, low, equal=False)
    if math.isfinite(high):
        affine.add(f"total mass ≤ {high:g} kg", SCALES["mass"], masses, {}, -high, equal=False)


def _symmetry(affine: _Affine, symmetry: Symmetry, number: int) -> None:
    zeros, pair = symmetry.zeros()
    about = f"symmetry of {symmetry.link}"
    for short in zeros:
        quantity = affine.quantity(f"{short[0]}{number}{short[1:]}")
        if quantity is not None:
            affine.add(f"{about}: {short} = 0", quantity[2], quantity[0], {}, 0.0, equal=True)
    if pair is not None:
        first, second = (f"{short[0]}{number}{short[1:]}" for short in pair)
        _tie(affine, Tie(first, second), about=f"{about}: ")


def _tie(affine: _Affine, tie: Tie, *, about: str = "") -> None:
    if not (math.isfinite(tie.factor) and math.isfinite(tie.offset)):
        raise ParameterError(f"tie {tie}: factor and offset must be finite")
    left, right = affine.quantity(tie.parameter), affine.quantity(tie.equals)
    if left is None or right is None:
        raise ParameterError(f"tie {tie}: this model has no such joint term; identify with it first")
    in_p = {k: left[0].get(k, 0.0) - tie.factor * right[0].get(k, 0.0) for k in {*left[0], *right[0]}}
    in_theta = {k: left[1].get(k, 0.0) - tie.factor * right[1].get(k, 0.0) for k in {*left[1], *right[1]}}
    affine.add(f"{about}{tie}", left[2], in_p, in_theta, -tie.offset, equal=True)


def _shape_rows(model: TorqueModel, regions: Mapping[str, Region]) -> ShapeRows:
    n = len(regions)
    return ShapeRows(
        tuple(f"centre of mass of {link} in its {type(region).__name__.lower()}" for link, region in regions.items()),
        np.full(n, SCALES["com"]),
        np.zeros(n, dtype=bool),
        tuple(regions.values()),
        tuple(model.robot.link_names.index(link) for link in regions),
    )


def _relaxed(model: TorqueModel, asked: RetrievalConstraints) -> tuple[Constraints, tuple[str, ...]]:
    """What the semidefinite programme knows of the demands, and the names of what it does not."""
    convex, left_out = asked.convex, []
    regions = dict(convex.com_regions)
    for link, shape in asked.shapes.items():
        if isinstance(shape, Sphere):
            regions[link] = Ellipsoid(shape.centre, np.full(3, shape.radius))
        elif isinstance(shape, Box | Ellipsoid):
            regions[link] = shape
        else:
            regions[link] = Box(*span(shape))
            left_out.append(f"{type(shape).__name__.lower()} of {link} (its box counts)")
    pinned = {name: v for name, v in convex.pinned.items() if not _is_inertia(name, model)}
    left_out += [f"{name} = {value:g}" for name, value in convex.pinned.items() if name not in pinned]
    bounds = convex.bounds
    if bounds is not None:
        kept = tuple(b for b in bounds.entries if b.lower < b.upper or not _is_inertia(b.name, model))
        left_out += [f"{b.name} = {b.lower:g}" for b in bounds.entries if b not in kept]
        bounds = Bounds(kept)
    left_out += [f"symmetry of {symmetry.link}" for symmetry in asked.symmetries]
    left_out += [str(tie) for tie in asked.ties] + [function.name for function in asked.functions]
    return replace(convex, com_regions=regions, pinned=pinned, bounds=bounds), tuple(left_out)


def _is_inertia(name: str, model: TorqueModel) -> bool:
    target = find_target(name, model)
    return target is not None and target.kind == "inertia"
