"""Constraints as cone blocks over θ: what is convex as it stands, and what is after fixing a centre of mass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, Matrix3, Vector3
from dynid.chain.consistency import Box
from dynid.chain.inertia import INERTIAL_NAMES, InertialParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import ContradictoryBounds, ParameterError, UnknownName
from dynid.regression.feasible.cones import PSEUDO_INERTIA, SPATIAL_INERTIA, Block
from dynid.regression.feasible.constraints import Bound, Constraints, Target, find_target

__all__ = ["Conditions", "InertiaBound", "clashing", "conditions"]

_LENGTH = 0.1
"""m; makes mass and second moment alike in size where one cone holds both. Any positive value is exact."""
_CLASH = 1e-5
"""Multipliers below this fraction of the largest take no part in a contradiction."""


@dataclass(frozen=True)
class InertiaBound:
    r"""A bound (kg·m²) on one entry of a link's inertia about its centre of mass.

    .. math::

        I_{xx} - \frac{(mc_y)^2 + (mc_z)^2}{m}, \qquad I_{xy} + \frac{mc_x\,mc_y}{m}

    The first is concave in θ, so its lower bound is convex and its upper bound is not; the second is neither.
    """

    bound: Bound
    link: int
    position: int
    """Which of `INERTIAL_NAMES`."""

    @property
    def axes(self) -> tuple[int, int]:
        """Row and column of the tensor."""
        name = INERTIAL_NAMES[self.position]
        return "xyz".index(name[1]), "xyz".index(name[2])

    def excess(self, inertia_com: Matrix3) -> float:
        """By how much (kg·m²) the bound is exceeded by the link's inertia about its centre; negative when it is met."""
        value = float(inertia_com[self.axes])
        return max(self.bound.lower - value, value - self.bound.upper)

    def restricted(self, com: Vector3, n_params: int) -> tuple[Block, ...]:
        r"""Convex conditions that imply this bound and are exact for the centre of mass `com` (m).

        About any fixed point the moment of inertia is linear in θ and never smaller than about the centre of mass;
        a product of inertia is split as :math:`xy = \tfrac14 (x+y)^2 - \tfrac14 (x-y)^2`, and the square that would
        not be convex is replaced by its tangent.
        """
        a, b = self.axes
        name = self.bound.name
        if a == b:
            if not math.isfinite(self.bound.upper):
                return ()
            row = np.zeros(n_params)
            others = [axis for axis in range(3) if axis != a]
            row[10 * self.link] = sum(com[axis] ** 2 for axis in others)
            for axis in others:
                row[10 * self.link + 1 + axis] = -2.0 * com[axis]
            row[10 * self.link + self.position] = 1.0
            upper = self.bound.upper
            return (Block("nonnegative", -row[None], np.array([upper]), (f"{name} ≤ {upper:g}",)),)
        blocks = []
        for sign, limit in ((1.0, self.bound.upper), (-1.0, self.bound.lower)):
            if math.isfinite(limit):
                blocks.append(self._product(com, n_params, sign, limit))
        return tuple(blocks)

    def _product(self, com: Vector3, n_params: int, sign: float, limit: float) -> Block:
        """One side of a product of inertia: `sign` 1 for ≤ limit, −1 for ≥ limit."""
        a, b = self.axes
        mass, first, second = (np.eye(n_params)[10 * self.link + k] for k in (0, 1 + a, 1 + b))
        entry = np.eye(n_params)[10 * self.link + self.position]
        centre = com[a] - sign * com[b]
        # s ≥ (x ± y)²/(4m), with s what the bound leaves after the tangent of the other square
        s = -sign * entry + 0.25 * (2.0 * centre * (first - sign * second) - centre**2 * mass)
        m = _LENGTH**2 * mass
        A = np.stack([s + m, s - m, _LENGTH * (first + sign * second)])
        side = "≤" if sign > 0 else "≥"
        return Block(
            "second order", A, np.array([sign * limit, sign * limit, 0.0]), (f"{self.bound.name} {side} {limit:g}",)
        )


@dataclass(frozen=True, eq=False)
class Conditions:
    """All conditions on θ of one model."""

    blocks: tuple[Block, ...]
    """Convex conditions, inequalities only."""
    pins: Block
    """Equalities for known parameters; may have no row."""
    inertia_bounds: tuple[InertiaBound, ...]
    """Bounds that are not convex; see `InertiaBound.restricted`."""
    column_of_row: tuple[int, ...]
    """For every linear row of `blocks`, in order, the entry of θ it bounds; −1 where it bounds a sum."""
    pinned: tuple[int, ...]
    """Entries of θ that pins determine."""


class _Rows:
    """Linear rows a·θ + b ≥ 0 (or = 0) as they are collected."""

    def __init__(self, n_params: int) -> None:
        self.n_params = n_params
        self.A: list[Float[Array, " n_params"]] = []
        self.b: list[float] = []
        self.names: list[str] = []
        self.columns: list[int] = []

    def add(self, weights: dict[int, float], constant: float, name: str, column: int) -> None:
        row = np.zeros(self.n_params)
        for k, weight in weights.items():
            row[k] = weight
        self.A.append(row)
        self.b.append(constant)
        self.names.append(name)
        self.columns.append(column)

    def block(self, kind: str, *, strict: bool = False) -> Block:
        A = np.array(self.A).reshape(-1, self.n_params)
        return Block("zero" if kind == "zero" else "nonnegative", A, np.array(self.b), tuple(self.names), strict=strict)


def conditions(model: TorqueModel, constraints: Constraints) -> Conditions:
    """The blocks of `constraints` over θ (SI).

    Raises:
        UnknownName: for a bound, region or pinned value of a parameter or link that does not exist.
        ContradictoryBounds: for values pinned below what physics allows.
    """
    pins, linear = _Rows(model.n_params), _Rows(model.n_params)
    inertia_bounds: list[InertiaBound] = []
    cones: list[Block] = []
    known = _pins(model, constraints)
    for known_target, value, name in known:
        _check_mass(model, constraints, known_target, value, f"{name} = {value:g}")
        _pin(pins, known_target, value, name, known)
    joint_terms = _joint_terms(model, constraints, {t.index: value for t, value, _ in known if t.kind == "column"})
    for bound in constraints.bounds.entries if constraints.bounds else ():
        target = find_target(bound.name, model, where=bound.where)
        if target is None or bound.lower == bound.upper:
            continue
        _check_mass(model, constraints, target, bound.upper, f"{bound.name} ≤ {bound.upper:g}")
        if target.kind != "inertia":
            _bound_rows(linear, target, bound)
            continue
        inertia_bounds.append(InertiaBound(bound, target.link, target.index))
        if bound.lower > 0.0 and inertia_bounds[-1].axes[0] == inertia_bounds[-1].axes[1]:
            cones.append(_moment_floor(inertia_bounds[-1], model.n_params))
    for link, region in constraints.com_regions.items():
        if link not in model.robot.link_names:
            raise UnknownName(link, known=model.robot.link_names, kind="link")
        index = model.robot.link_names.index(link)
        if isinstance(region, Box):
            for axis, letter in enumerate("xyz"):
                side = Bound(f"{link}.com.{letter}", float(region.lower[axis]), float(region.upper[axis]))
                coordinate = Target("com", axis, index)
                if side.lower == side.upper:
                    _pin(pins, coordinate, side.lower, side.name, known)
                else:
                    _bound_rows(linear, coordinate, side)
        else:
            A = np.zeros((4, model.n_params))
            A[0, 10 * index] = 1.0
            A[1:, 10 * index] = -region.centre / region.semi_axes
            A[range(1, 4), range(10 * index + 1, 10 * index + 4)] = 1.0 / region.semi_axes
            cones.append(Block("second order", A, np.zeros(4), (f"centre of mass of {link} in its ellipsoid",)))
    if constraints.total_mass is not None:
        lower, upper = constraints.total_mass
        masses = dict.fromkeys(range(0, model.n_inertial, 10), 1.0)
        if lower == upper:
            pins.add(masses, -lower, f"total mass = {lower:g}", -1)
        else:
            linear.add(masses, -lower if math.isfinite(lower) else 0.0, f"total mass ≥ {lower:g}", -1)
            if math.isfinite(upper):
                linear.add(dict.fromkeys(masses, -1.0), upper, f"total mass ≤ {upper:g}", -1)
    parts = (*_links(model, constraints), joint_terms.block("nonnegative", strict=True), linear.block("nonnegative"))
    return Conditions(
        blocks=tuple(block for block in (*parts, *cones) if len(block.b)),
        pins=pins.block("zero"),
        inertia_bounds=tuple(inertia_bounds),
        column_of_row=(*joint_terms.columns, *linear.columns),
        pinned=tuple(sorted({column for column in pins.columns if column >= 0})),
    )


def _link_name(link: str, constraints: Constraints) -> str:
    what = "pseudo-inertia" if constraints.triangle else "6×6 inertia"
    return f"{what} of {link} ≥ {constraints.margin:g}"


def _check_mass(model: TorqueModel, constraints: Constraints, target: Target, largest: float, name: str) -> None:
    """Refuse a mass that cannot reach the margin: the difference is too small for a solver to see."""
    is_mass = target.kind == "column" and target.link >= 0 and target.index == 10 * target.link
    if is_mass and (largest <= 0.0 or largest < constraints.margin):
        raise ContradictoryBounds((name, _link_name(model.robot.link_names[target.link], constraints)))


def _links(model: TorqueModel, constraints: Constraints) -> list[Block]:
    operator = PSEUDO_INERTIA if constraints.triangle else SPATIAL_INERTIA
    blocks = []
    for i, link in enumerate(model.robot.link_names):
        A = np.zeros((len(operator), model.n_params))
        A[:, 10 * i : 10 * i + 10] = operator
        name = _link_name(link, constraints)
        block = Block("psd", A, np.zeros(len(A)), (name,), strict=True, link=i)
        blocks.append(Block("psd", A, -constraints.margin * block.identity, (name,), strict=True, link=i))
    return blocks


def _joint_terms(model: TorqueModel, constraints: Constraints, pinned: dict[int, float]) -> _Rows:
    rows = _Rows(model.n_params)
    if not constraints.nonnegative_joint_terms:
        return rows
    for j in range(model.n_dof):
        for k, term in enumerate(model.terms):
            column = model.n_inertial + j * len(model.terms) + k
            if not term.nonnegative:
                continue
            symbol = model.symbols[column]
            if pinned.get(column, 0.0) < 0.0:
                raise ContradictoryBounds((f"{symbol} = {pinned[column]:g}", f"{symbol} ≥ 0"))
            if column not in pinned:
                rows.add({column: 1.0}, -constraints.margin, f"{symbol} ≥ {constraints.margin:g}", column)
    return rows


def _pins(model: TorqueModel, constraints: Constraints) -> list[tuple[Target, float, str]]:
    """Pinned values, and bounds that leave a single one."""
    known = []
    for name, value in constraints.pinned.items():
        target = find_target(name, model)
        if target is not None:
            known.append((target, float(value), name))
    for bound in constraints.bounds.entries if constraints.bounds else ():
        target = find_target(bound.name, model, where=bound.where)
        if target is not None and bound.lower == bound.upper:
            known.append((target, bound.lower, bound.name))
    return known


def _pin(rows: _Rows, target: Target, value: float, name: str, known: Sequence[tuple[Target, float, str]]) -> None:
    text = f"{name} = {value:g}"
    if target.kind == "column":
        rows.add({target.index: 1.0}, -value, text, target.index)
    elif target.kind == "com":
        column = 10 * target.link + 1 + target.index
        rows.add({column: 1.0, 10 * target.link: -value}, 0.0, text, column)
    else:
        values = {(other.kind, other.index): v for other, v, _ in known if other.link == target.link}
        needed = [("column", 10 * target.link), *(("com", axis) for axis in range(3))]
        if any(key not in values for key in needed):
            raise ParameterError(
                f"{name} is about the centre of mass: pin the mass and the centre of mass of that link as well, "
                "or pin the inertia about the link frame (J instead of I)"
            )
        mass, *com = (values[key] for key in needed)  # type: ignore[index]
        point = InertialParameters.from_com(mass, com, np.zeros((3, 3)))
        column = 10 * target.link + target.index
        rows.add({column: 1.0}, -value - float(point.pi[target.index]), text, column)


def _bound_rows(rows: _Rows, target: Target, bound: Bound) -> None:
    """Both sides of a bound on an entry of θ, or on a centre of mass as lower·m ≤ mc ≤ upper·m."""
    column = target.index if target.kind == "column" else 10 * target.link + 1 + target.index
    for sign, limit, side in ((1.0, bound.lower, "≥"), (-1.0, bound.upper, "≤")):
        if not math.isfinite(limit):
            continue
        name = f"{bound.name} {side} {limit:g}"
        if target.kind == "column":
            rows.add({column: sign}, -sign * limit, name, column)
        else:
            rows.add({column: sign, 10 * target.link: -sign * limit}, 0.0, name, column)


def _moment_floor(inertia: InertiaBound, n_params: int) -> Block:
    """A lower bound on a moment of inertia about the centre of mass: (mc_y² + mc_z²) ≤ (I_xx − lower) m."""
    axis = inertia.axes[0]
    unit = np.eye(n_params)
    mass = _LENGTH**2 * unit[10 * inertia.link]
    moment = unit[10 * inertia.link + inertia.position]
    others = [2.0 * _LENGTH * unit[10 * inertia.link + 1 + k] for k in range(3) if k != axis]
    lower = inertia.bound.lower
    return Block(
        "second order",
        np.stack([moment + mass, moment - mass, *others]),
        np.array([-lower, -lower, 0.0, 0.0]),
        (f"{inertia.bound.name} ≥ {lower:g}",),
    )


def clashing(blocks: Sequence[Block], multipliers: Sequence[Float[Array, " _"]]) -> tuple[str, ...]:
    """Names of the conditions that take part in a contradiction, from a Farkas certificate (dimensionless weights)."""
    weights: list[tuple[str, float]] = []
    for block, multiplier in zip(blocks, multipliers, strict=True):
        if len(block.names) == len(block.b):
            weights += [(name, float(abs(value))) for name, value in zip(block.names, multiplier, strict=True)]
        elif block.names:
            weights.append((block.names[0], float(np.linalg.norm(multiplier))))
    largest = max((weight for _, weight in weights), default=0.0)
    return tuple(name for name, weight in weights if weight > _CLASH * largest)
