"""Whether ten numbers are physically consistent, by what margin, which condition fails, and the smallest repair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Vector3, freeze_arrays
from dynid.chain.inertia import InertialParameters
from dynid.errors import ParameterError

__all__ = ["Box", "Condition", "Consistency", "Ellipsoid", "consistency", "nearest_consistent"]

ConditionName = Literal["mass", "inertia", "triangle", "com"]


@dataclass(frozen=True, eq=False)
class Box:
    """An axis-aligned box in the link frame that must hold the centre of mass."""

    lower: Vector3
    """Smallest x, y, z in m."""
    upper: Vector3
    """Largest x, y, z in m."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        if not np.all(self.lower <= self.upper):
            raise ParameterError(f"box upside down: lower {self.lower.tolist()} m above upper {self.upper.tolist()} m")

    def margin(self, point: Vector3) -> float:
        """Distance in m from `point` to the nearest face, negative outside."""
        return float(np.min([point - self.lower, self.upper - point]))


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """A solid ellipsoid along the link axes that must hold the centre of mass."""

    centre: Vector3
    """Centre in the link frame, m."""
    semi_axes: Vector3
    """Half lengths along x, y, z in m, all positive."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        if not np.all(self.semi_axes > 0.0):
            raise ParameterError(f"ellipsoid half lengths must be positive, got {self.semi_axes.tolist()} m")

    def margin(self, point: Vector3) -> float:
        """Positive inside: the smallest half length (m) times one minus the scaled radius of `point`."""
        radius = float(np.linalg.norm((point - self.centre) / self.semi_axes))
        return float(np.min(self.semi_axes)) * (1.0 - radius)


@dataclass(frozen=True)
class Condition:
    """One condition of physical consistency and how far it is from failing."""

    name: ConditionName
    """``mass`` positive, ``inertia`` (6×6 matrix positive definite), ``triangle`` (4×4 pseudo-inertia), ``com``."""
    margin: float
    """Distance to failure: kg for mass, m for com, smallest eigenvalue (SI) for the two matrices; negative fails."""
    holds: bool
    """Whether the margin is at least what was asked."""

    def __str__(self) -> str:
        unit = {"mass": " kg", "com": " m"}.get(self.name, "")
        return f"{self.name} margin {self.margin:.3g}{unit}"


@dataclass(frozen=True)
class Consistency:
    """The verdict on one link: every condition with its margin (kg, m or eigenvalue, SI)."""

    conditions: tuple[Condition, ...]

    @property
    def holds(self) -> bool:
        """Whether every condition holds."""
        return all(condition.holds for condition in self.conditions)

    @property
    def failing(self) -> tuple[ConditionName, ...]:
        """Names of the conditions that fail."""
        return tuple(condition.name for condition in self.conditions if not condition.holds)

    @property
    def margin(self) -> float:
        """Smallest of the margins (SI; eigenvalues for the matrix conditions), negative when one fails."""
        return min(condition.margin for condition in self.conditions)

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else f"{' and '.join(self.failing)} not physically consistent"
        return f"Consistency({verdict}: {', '.join(str(condition) for condition in self.conditions)})"

    def __getitem__(self, name: ConditionName) -> Condition:
        return next(condition for condition in self.conditions if condition.name == name)


def consistency(
    link: InertialParameters,
    *,
    com_region: Box | Ellipsoid | None = None,
    triangle: bool = True,
    at_least: float = 0.0,
) -> Consistency:
    r"""Test mass > 0, the 6×6 condition of [Sousa2013]_, and the 4×4 one of [Wensing2018]_ (the triangle inequality).

    Args:
        link: ten numbers, SI.
        com_region: where the centre of mass must lie, link frame, m.
        triangle: False leaves only the papers' weaker 6×6 condition.
        at_least: the margin (SI) each condition needs; 0 accepts links on the boundary only if exactly there.
    """
    margins: list[tuple[ConditionName, float]] = [
        ("mass", link.mass),
        ("inertia", float(np.linalg.eigvalsh(link.spatial_inertia)[0])),
    ]
    if triangle:
        margins.append(("triangle", float(np.linalg.eigvalsh(link.pseudo_inertia)[0])))
    if com_region is not None:
        com_margin = com_region.margin(link.com) if link.mass > 0.0 else -np.inf
        margins.append(("com", com_margin))
    strictly = at_least if at_least > 0.0 else 0.0
    return Consistency(
        tuple(
            Condition(name, margin, margin >= strictly and (margin > 0.0 or name == "com")) for name, margin in margins
        )
    )


MIN_MASS = 1e-3
"""kg; what `nearest_consistent` raises a mass to that is not positive: such a file does not know the true one."""
RELATIVE_FLOOR = 1e-3
"""Smallest over largest second moment that `nearest_consistent` leaves, so that the repair is not on the edge."""

BALL_RADIUS = 0.01
"""m; a link with mass but no inertia is given that of a ball of this radius."""


def nearest_consistent(link: InertialParameters, *, relative_floor: float = RELATIVE_FLOOR) -> InertialParameters:
    r"""The consistent link whose mass, centre of mass and inertia about it differ least from the given ones.

    Mass and centre of mass stay unless the mass is not positive. The inertia about the centre of mass keeps its
    principal axes; its principal moments move to the nearest :math:`\lambda = (d_2+d_3, d_1+d_3, d_1+d_2)` with
    second moments :math:`d_i \ge f \max|\lambda|`, which is the Frobenius projection because the set is
    rotation-invariant. `relative_floor` is f; a link without inertia gets that of a small ball.
    """
    if consistency(link).holds:
        return link
    mass = link.mass if link.mass > 0.0 else MIN_MASS
    com = link.com if link.mass > 0.0 else np.zeros(3)
    tensor = link.inertia_com if link.mass > 0.0 else link.inertia
    moments, axes = np.linalg.eigh(tensor)
    largest, rounding = float(np.max(np.abs(moments))), 1e-9 * mass * float(com @ com)
    if largest <= rounding:
        moments, largest = np.full(3, 0.4 * mass * BALL_RADIUS**2), 0.4 * mass * BALL_RADIUS**2
    floor = max(relative_floor * largest, rounding)
    projected = _project_moments(moments, floor)
    return InertialParameters.from_com(mass, com, axes @ np.diag(projected) @ axes.T)


def _project_moments(moments: Vector3, floor: float) -> Vector3:
    """The nearest principal moments with every second moment at least `floor` (kg·m²)."""
    from scipy.optimize import nnls

    pairs = np.ones((3, 3)) - np.eye(3)
    shifted, _ = nnls(pairs, moments - 2.0 * floor)
    return pairs @ (shifted + floor)
