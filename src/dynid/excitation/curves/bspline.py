"""B-splines that start and end at rest: a motion that does not repeat, behind the same interface as the series."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import BSpline

from dynid.arrays import Array, Float, freeze_arrays
from dynid.errors import ExcitationError
from dynid.excitation.curves.curve import CurveBounds, States

__all__ = ["DEGREE", "SplineBasis", "SplineCurve"]

DEGREE = 5
"""Jerk is continuous."""
_STILL = 3
"""Equal control points at either end: velocity and acceleration are zero there."""


def _knots(n_control: int, length: float) -> Float[Array, " n_knots"]:
    inner = np.linspace(0.0, length, n_control - DEGREE + 1)
    return np.concatenate([np.zeros(DEGREE), inner, np.full(DEGREE, length)])


@dataclass(frozen=True, eq=False)
class SplineCurve:
    """A quintic B-spline over uniform knots; constant before its start and after its end."""

    length: float
    """Time from start to end, in s."""
    control: Float[Array, "n_control n_dof"]
    """Control points, rad or m; the curve lies within their range."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        if len(self.control) < 2 * _STILL + 1 or not self.length > 0.0 or not np.all(np.isfinite(self.control)):
            raise ExcitationError("a spline needs at least 7 finite control points and a positive length")

    @property
    def n_dof(self) -> int:
        """Number of joints."""
        return int(self.control.shape[1])

    @property
    def bandwidth_hz(self) -> float:
        """Half the control points a second, Hz."""
        return 0.5 * (len(self.control) - DEGREE) / self.length

    def at(self, t: Float[Array, " n_samples"]) -> States:
        """Position and its three derivatives at times `t` (s)."""
        spline = BSpline(_knots(len(self.control), self.length), self.control, DEGREE)
        inside = np.clip(t, 0.0, self.length)
        return States(*(spline(inside, nu=order) for order in range(4)))


@dataclass(frozen=True)
class SplineBasis:
    """All splines with so many free control points over one length."""

    free_points: int
    """Control points per joint that may differ; three more repeat the first and two more the last."""
    length: float
    """Time from start to end, in s."""

    def __post_init__(self) -> None:
        if self.free_points < 3:
            raise ExcitationError(f"{self.free_points} free control points make no motion; give at least 3")
        if not (np.isfinite(self.length) and self.length > 0.0):
            raise ExcitationError(f"a spline of {self.length} s; its length must be positive")

    @property
    def n_free(self) -> int:
        """Coefficients per joint: the free control points."""
        return self.free_points

    @property
    def bandwidth_hz(self) -> float:
        """Half the control points a second, Hz."""
        return 0.5 * (self._n_control - DEGREE) / self.length

    @property
    def at_rest(self) -> bool:
        """Always: velocity and acceleration vanish at both ends."""
        return True

    @property
    def _n_control(self) -> int:
        return self.free_points + 2 * (_STILL - 1)

    @cached_property
    def _spread(self) -> Float[Array, "n_control n_free"]:
        ends = _STILL - 1
        which = np.clip(np.arange(self._n_control) - ends, 0, self.free_points - 1)
        return np.eye(self.free_points)[which]

    def matrices(self, t: Float[Array, " n_samples"]) -> tuple[Float[Array, "n_samples n_free"], ...]:
        """Position (rad or m) and its three derivatives (per s, s², s³) per unit of each point, at times `t` (s)."""
        spline = BSpline(_knots(self._n_control, self.length), self._spread, DEGREE)
        inside = np.clip(t, 0.0, self.length)
        return tuple(spline(inside, nu=order) for order in range(4))

    def bounds(self, density: int) -> CurveBounds:
        """Control points of the curve and its derivatives over finer knots (SI): a spline lies within their range."""
        spline = BSpline(_knots(self._n_control, self.length), self._spread, DEGREE)
        pieces = (self._n_control - DEGREE) * max(1, density // 2)
        rows = []
        for order in range(4):
            degree = DEGREE - order
            inner = np.linspace(0.0, self.length, pieces + 1)
            knots = np.concatenate([np.zeros(degree), inner, np.full(degree, self.length)])
            n_fine = len(knots) - degree - 1
            places = np.array([np.mean(knots[k + 1 : k + degree + 1]) for k in range(n_fine)])
            values = BSpline.design_matrix(np.clip(places, 0.0, self.length), knots, degree).toarray()
            rows.append(np.linalg.solve(values, spline(places, nu=order)))
        return CurveBounds(tuple(rows), 1.0)

    def curve(self, coefficients: Float[Array, "n_free n_dof"], centre: Float[Array, " n_dof"]) -> SplineCurve:
        """The spline of these control points about a centre (rad or m)."""
        return SplineCurve(self.length, self._spread @ coefficients + centre)
