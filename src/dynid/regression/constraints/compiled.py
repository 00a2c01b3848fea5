"""What compiled constraints are: cones over θ, bounds and rows with derivatives over p, and checks of any p."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.errors import ParameterError
from dynid.regression.constraints.cones import ConeBlock
from dynid.regression.constraints.inertia_bounds import InertiaBound
from dynid.regression.constraints.penalty_rows import FunctionRows, PenaltyRows, TriangleRows

__all__ = ["MET", "BoundSide", "CompiledConstraints", "ConstraintCheck", "NotConvex", "bound_sides"]

MET = 1e-7
"""Relative to `SCALES`: a constraint violated by less than this is met."""
FUNCTION_MET = 1e-6
"""A user's function that returns at most this is met; in the function's own unit."""


class BoundSide(NamedTuple):
    """One side of lower ≤ value ≤ upper as sign·(value − limit) ≥ 0, or = 0."""

    text: str
    sign: float
    limit: float
    equal: bool


def bound_sides(name: str, lower: float, upper: float, unit: str = "") -> list[BoundSide]:
    """The finite sides of a bound (in the unit of what is bounded), with the sentence that names each."""
    if lower == upper:
        return [BoundSide(f"{name} = {lower:g}{unit}", 1.0, lower, True)]
    found = [(1.0, lower, "≥"), (-1.0, upper, "≤")]
    return [
        BoundSide(f"{name} {word} {limit:g}{unit}", sign, limit, False)
        for sign, limit, word in found
        if math.isfinite(limit)
    ]


@dataclass(frozen=True)
class NotConvex:
    """A constraint without an exact convex form."""

    name: str
    why: str
    """A sentence: why, and what to do about it."""


@dataclass(frozen=True)
class ConstraintCheck:
    """One constraint and how far parameters are from breaking it."""

    name: str
    margin: float
    """Distance to failure in the constraint's own unit (kg, m, kg·m², or a function's), negative where it fails; minus
    the deviation for equalities."""
    tolerance: float
    """What counts as met, in the same unit."""

    @property
    def holds(self) -> bool:
        """Whether it is met."""
        return self.margin >= -self.tolerance

    @property
    def excess(self) -> float:
        """Violation over tolerance, dimensionless; at most 1 where it holds."""
        return -self.margin / self.tolerance


@dataclass(frozen=True, eq=False)
class CompiledConstraints:
    """All constraints of one model, ready for a semidefinite programme over θ and for a search over p.

    It travels to other processes as it is.
    """

    blocks: tuple[ConeBlock, ...]
    """Convex conditions on θ, inequalities only."""
    pins: ConeBlock
    """Equalities of θ; may have no row."""
    inertia_bounds: tuple[InertiaBound, ...]
    """Bounds that are not convex; see `InertiaBound.restricted`."""
    column_of_row: tuple[int, ...]
    """For every linear row of `blocks`, in order, the entry of θ it bounds; −1 where it bounds a sum."""
    pinned: tuple[int, ...]
    """Entries of θ that pins determine."""
    not_convex: tuple[NotConvex, ...]
    """What `blocks` and `pins` leave out, or take only in part."""
    names_p: tuple[str, ...]
    link_names: tuple[str, ...]
    lower: Float[Array, " n_params"]
    """Smallest p, SI; minus infinity for none."""
    upper: Float[Array, " n_params"]
    """Largest p, SI; infinity for none."""
    sizes: Float[Array, " n_params"]
    """`SCALES` of every entry of p, SI."""
    body: TriangleRows
    rows: tuple[PenaltyRows, ...]
    """All constraints on p that neither bound an entry of it nor are the consistency of a link."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_links(self) -> int:
        """Number of links."""
        return len(self.link_names)

    @property
    def all_rows(self) -> tuple[PenaltyRows, ...]:
        """The consistency of the links, then `rows`."""
        return (self.body, *self.rows)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of the constraints that the semidefinite programme does not know, or only in part (no unit)."""
        return tuple(entry.name for entry in self.not_convex)

    def require_convex(self) -> None:
        """Refuse constraints that a semidefinite programme would not meet.

        Raises:
            ParameterError: naming each, with what to do about it.
        """
        if self.not_convex:
            raise ParameterError("; ".join(entry.why for entry in self.not_convex))

    def check(self, p: Float[Array, " n_params"]) -> tuple[ConstraintCheck, ...]:
        """Every constraint with its margin at p (SI), whoever found p."""
        found = []
        for name, value, low, high, size in zip(self.names_p, p, self.lower, self.upper, self.sizes, strict=True):
            for side in bound_sides(name, float(low), float(high)):
                distance = side.sign * float(value - side.limit)
                found.append(ConstraintCheck(side.text, -abs(distance) if side.equal else distance, float(MET * size)))
        for rows in self.all_rows:
            allowed = np.full(len(rows.names), FUNCTION_MET) if isinstance(rows, FunctionRows) else MET * rows.scale
            for name, value, equal, tolerance in zip(rows.names, rows.at(p), rows.equal, allowed, strict=True):
                margin = -abs(float(value)) if equal else -float(value)
                found.append(ConstraintCheck(name, margin, float(tolerance)))
        return tuple(found)
