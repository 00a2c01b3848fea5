r"""Gauge coordinates: every point is a motion inside the joint limits, and every direction can be searched.

The coefficients of a joint give only the *shape* of its motion. What is moved is that shape divided by its gauge, the
largest share of any limit that it would use:

.. math::

    y = x / g(x), \qquad g(x) = \max\Big(\frac{\max q - \min q}{q_{max} - q_{min}},
        \frac{\max|\dot q|}{\dot q_{max}}, \frac{\max|\ddot q|}{\ddot q_{max}},
        \frac{\max|\dddot q|}{\dddot q_{max}}\Big)

so that each joint touches its tightest limit and crosses none, at any time. One more coordinate w makes the motion
smaller, by :math:`1/\sqrt{1 + w^2}`, for where limits of all joints together ask for it; a last one, u, places it
inside what is left of the range, as sin u.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.excitation.curves.curve import Basis, CurveBounds
from dynid.excitation.limits.motion_limits import ROUNDING, MotionLimits

__all__ = ["Gauge", "Placement"]

_TINY = 1e-200
"""Keeps a divisor above zero where a joint does not move at all."""


@dataclass(frozen=True, eq=False)
class Placement:
    """A motion inside the joint limits, and what its derivative needs."""

    coefficients: Float[Array, "n_free n_dof"]
    centre: Float[Array, " n_dof"]
    """rad or m."""
    w: Float[Array, " n_dof"]
    u: Float[Array, " n_dof"]
    gauge: Float[Array, " n_dof"]
    """What the shape was divided by, w included."""
    slack: Float[Array, " n_dof"]
    """Half of the range that the motion leaves free, rad or m."""
    slope: Float[Array, "n_dof n_free"]
    """Derivative of the gauge by the shape."""
    highest: Int[Array, " n_dof"]
    lowest: Int[Array, " n_dof"]
    """Rows of the bounds at which the position is largest and smallest."""


@dataclass(frozen=True, eq=False)
class Gauge:
    """The map from free coordinates (n_free + 2, n_dof) to motions inside the joint limits, and its derivative."""

    basis: Basis
    limits: MotionLimits
    density: int = 16
    """Rows of bounds per coefficient; the more, the closer the motion comes to its limits."""

    @cached_property
    def _bounds(self) -> CurveBounds:
        return self.basis.bounds(self.density)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the coordinates: coefficients, size and place, by joint."""
        return self.basis.n_free + 2, len(self.limits.lower)

    def random(self, rng: np.random.Generator) -> Float[Array, "n_coordinates n_dof"]:
        """A random point: any shape, almost as large as the limits allow, anywhere (dimensionless)."""
        x = rng.normal(size=self.shape)
        x[-2] *= 0.3
        return x

    def place(self, x: Float[Array, "n_coordinates n_dof"]) -> Placement:
        """The motion of a point."""
        rows, factor = self._bounds
        shape, w, u = x[:-2], x[-2], x[-1]
        joints = np.arange(x.shape[1])
        span = self.limits.upper - self.limits.lower
        caps = (self.limits.velocity, self.limits.acceleration, self.limits.jerk)
        position = rows[0] @ shape
        highest, lowest = position.argmax(axis=0), position.argmin(axis=0)
        width = factor * (position[highest, joints] - position[lowest, joints])
        gauge = width / span
        slope = factor * (rows[0][highest] - rows[0][lowest]) / span[:, None]
        for row, cap in zip(rows[1:], caps, strict=True):
            if np.all(np.isinf(cap)):
                continue
            values = row @ shape
            peak = np.abs(values).argmax(axis=0)
            used = factor * np.abs(values[peak, joints]) / cap
            tighter = used > gauge
            sign = np.sign(values[peak, joints])
            slope[tighter] = (factor * sign[:, None] * row[peak] / cap[:, None])[tighter]
            gauge = np.where(tighter, used, gauge)
        gauge = np.maximum(gauge * (1.0 + ROUNDING), _TINY) * np.sqrt(1.0 + w**2)
        middle = 0.5 * (position[highest, joints] + position[lowest, joints]) / gauge
        slack = np.maximum(0.5 * (span * (1.0 - ROUNDING) - width / gauge), 0.0)
        centre = self.limits.middle - middle + slack * np.sin(u)
        return Placement(shape / gauge, centre, w, u, gauge, slack, slope, highest, lowest)

    def pull(
        self,
        placement: Placement,
        coefficients_bar: Float[Array, "n_free n_dof"],
        centre_bar: Float[Array, " n_dof"],
    ) -> Float[Array, "n_coordinates n_dof"]:
        """The derivative by the coordinates of what has these derivatives by coefficients and centre (any unit)."""
        rows, factor = self._bounds
        high, low = rows[0][placement.highest].T, rows[0][placement.lowest].T
        along = np.sin(placement.u) * centre_bar
        direct = coefficients_bar - 0.5 * (high + low) * centre_bar - 0.5 * factor * (high - low) * along
        gauge_bar = -np.sum(direct * placement.coefficients, axis=0) / placement.gauge
        size = np.sqrt(1.0 + placement.w**2)
        shape_bar = direct / placement.gauge + placement.slope.T * (size * gauge_bar)
        size_bar = gauge_bar * placement.gauge * placement.w / size**2
        place_bar = centre_bar * placement.slack * np.cos(placement.u)
        return np.concatenate([shape_bar, size_bar[None], place_bar[None]])
