"""Bounds on inertia about the centre of mass: which side is convex, and what is once the centre is fixed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Matrix3, Vector3
from dynid.chain.inertia import INERTIAL_NAMES
from dynid.regression.constraints.cones import ConeBlock

__all__ = ["InertiaBound"]

_LENGTH = 0.1
"""m; makes mass and second moment alike in size where one cone holds both. Any positive value is exact."""


@dataclass(frozen=True)
class InertiaBound:
    r"""A bound (kg·m²) on one entry of a link's inertia about its centre of mass.

    .. math::

        I_{xx} - \frac{(mc_y)^2 + (mc_z)^2}{m}, \qquad I_{xy} + \frac{mc_x\,mc_y}{m}

    The first is concave in θ, so its lower bound is convex and its upper bound is not; the second is neither.
    """

    name: str
    lower: float
    """kg·m²; minus infinity for none."""
    upper: float
    """kg·m²; infinity for none."""
    index: int
    """Entry of θ that holds the same inertia about the link frame."""

    @property
    def link(self) -> int:
        """Index of the link."""
        return self.index // 10

    @property
    def axes(self) -> tuple[int, int]:
        """Row and column of the tensor."""
        name = INERTIAL_NAMES[self.index % 10]
        return "xyz".index(name[1]), "xyz".index(name[2])

    def excess(self, inertia_com: Matrix3) -> float:
        """By how much (kg·m²) the bound is exceeded by the link's inertia about its centre; negative when it is met."""
        value = float(inertia_com[self.axes])
        return max(self.lower - value, value - self.upper)

    def floor(self, n_params: int) -> tuple[ConeBlock, ...]:
        """What of the bound is convex as it stands: (mc_y² + mc_z²) ≤ (I_xx − lower) m, for a lower above 0 kg·m²."""
        a, b = self.axes
        if a != b or self.lower <= 0.0:
            return ()
        unit, first = np.eye(n_params), 10 * self.link
        mass, moment = _LENGTH**2 * unit[first], unit[self.index]
        others = [2.0 * _LENGTH * unit[first + 1 + axis] for axis in range(3) if axis != a]
        A = np.stack([moment + mass, moment - mass, *others])
        limits = np.array([-self.lower, -self.lower, 0.0, 0.0])
        return (ConeBlock("second order", A, limits, (f"{self.name} ≥ {self.lower:g}",)),)

    def restricted(self, com: Vector3, n_params: int) -> tuple[ConeBlock, ...]:
        r"""Convex conditions that imply this bound and are exact for the centre of mass `com` (m).

        About any fixed point the moment of inertia is linear in θ and never smaller than about the centre of mass;
        a product of inertia is split as :math:`xy = \tfrac14 (x+y)^2 - \tfrac14 (x-y)^2`, and the square that would
        not be convex is replaced by its tangent.
        """
        a, b = self.axes
        if a != b:
            limits = ((1.0, self.upper), (-1.0, self.lower))
            return tuple(self._product(com, n_params, sign, limit) for sign, limit in limits if math.isfinite(limit))
        if not math.isfinite(self.upper):
            return ()
        row, first = np.zeros(n_params), 10 * self.link
        for axis in (axis for axis in range(3) if axis != a):
            row[first] += com[axis] ** 2
            row[first + 1 + axis] = -2.0 * com[axis]
        row[self.index] = 1.0
        return (ConeBlock("nonnegative", -row[None], np.array([self.upper]), (f"{self.name} ≤ {self.upper:g}",)),)

    def _product(self, com: Vector3, n_params: int, sign: float, limit: float) -> ConeBlock:
        """One side of a product of inertia: `sign` 1 for ≤ limit, −1 for ≥ limit."""
        a, b = self.axes
        unit, mass_at = np.eye(n_params), 10 * self.link
        mass, first, second = (unit[mass_at + k] for k in (0, 1 + a, 1 + b))
        centre = com[a] - sign * com[b]
        # s ≥ (x ± y)²/(4m), with s what the bound leaves after the tangent of the other square
        s = -sign * unit[self.index] + 0.25 * (2.0 * centre * (first - sign * second) - centre**2 * mass)
        m = _LENGTH**2 * mass
        A = np.stack([s + m, s - m, _LENGTH * (first + sign * second)])
        side = "≤" if sign > 0 else "≥"
        limits = np.array([sign * limit, sign * limit, 0.0])
        return ConeBlock("second order", A, limits, (f"{self.name} {side} {limit:g}",))
