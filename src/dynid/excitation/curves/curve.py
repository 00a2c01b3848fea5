"""Curves in joint space: what every parametrisation of a motion can be asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array, Float

__all__ = ["Basis", "Curve", "CurveBounds", "PerJoint", "States"]

PerJoint = float | Sequence[float] | Float[Array, "..."]
"""One number for all joints, or one a joint; its unit is said where it is used."""


class States(NamedTuple):
    """Joint states at several times."""

    q: Float[Array, "n_samples n_dof"]
    """Positions in rad or m."""
    dq: Float[Array, "n_samples n_dof"]
    """Velocities, per s."""
    ddq: Float[Array, "n_samples n_dof"]
    """Accelerations, per s²."""
    dddq: Float[Array, "n_samples n_dof"]
    """Jerks, per s³."""

    @classmethod
    def at_rest(cls, poses: Float[Array, "n_samples n_dof"]) -> States:
        """Poses (rad or m) without motion."""
        still = np.zeros_like(poses)
        return cls(poses, still, still, still)


class CurveBounds(NamedTuple):
    """Rows that bound a curve everywhere: it stays within `factor` times the range of ``rows @ coefficients``.

    The range is widened about its middle.
    """

    rows: tuple[Float[Array, "n_rows n_free"], ...]
    """For the position (rad or m) and its three derivatives (per s, s², s³)."""
    factor: float
    """A ratio, at least 1."""


@runtime_checkable
class Curve(Protocol):
    """A smooth motion with exact derivatives."""

    @property
    def n_dof(self) -> int:
        """Number of joints."""
        ...

    @property
    def length(self) -> float:
        """Time in s after which it repeats or ends."""
        ...

    @property
    def bandwidth_hz(self) -> float:
        """Highest frequency in Hz that it holds, about."""
        ...

    def at(self, t: Float[Array, " n_samples"]) -> States:
        """Position and its three derivatives at times `t` (s)."""
        ...


@runtime_checkable
class Basis(Protocol):
    """A family of curves that is linear in its coefficients, the same family for every joint."""

    @property
    def n_free(self) -> int:
        """Coefficients per joint, the centre not counted."""
        ...

    @property
    def length(self) -> float:
        """Time in s after which a curve repeats or ends."""
        ...

    @property
    def bandwidth_hz(self) -> float:
        """Highest frequency in Hz that a curve holds, about."""
        ...

    @property
    def at_rest(self) -> bool:
        """Whether every curve starts and ends at rest, so that it needs no ramps."""
        ...

    def matrices(self, t: Float[Array, " n_samples"]) -> tuple[Float[Array, "n_samples n_free"], ...]:
        """Position (rad or m) and its three derivatives (per s, s², s³) per unit of each coefficient; `t` in s."""
        ...

    def bounds(self, density: int) -> CurveBounds:
        """What a curve and its derivatives can reach at *any* time; `density` rows a coefficient, about."""
        ...

    def curve(self, coefficients: Float[Array, "n_free n_dof"], centre: Float[Array, " n_dof"]) -> Curve:
        """The curve of these coefficients about a centre (rad or m)."""
        ...
