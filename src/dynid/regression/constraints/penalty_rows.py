"""Constraints as rows over p that are violated where they are positive, with their derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array, Bool, Float
from dynid.regression.constraints.link_parameters import Links, tensors, theta_from_p, theta_of, times_blocks
from dynid.regression.constraints.regions import Region, outside
from dynid.regression.constraints.user_functions import UserFunction

__all__ = ["AffineRows", "FunctionRows", "PenaltyRows", "RegionRows", "TriangleRows"]


@runtime_checkable
class PenaltyRows(Protocol):
    """Constraints of one kind on p."""

    @property
    def names(self) -> tuple[str, ...]:
        """A sentence each, for messages."""
        ...

    @property
    def scale(self) -> Float[Array, " n_rows"]:
        """Sizes at which violations of different kinds weigh alike."""
        ...

    @property
    def equal(self) -> Bool[Array, " n_rows"]:
        """Which rows must be zero, rather than not positive."""
        ...

    def at(self, p: Float[Array, " n_params"]) -> Float[Array, " n_rows"]:
        """Violations in their own units, positive where violated (any sign where `equal`)."""
        ...

    def slopes(self, p: Float[Array, " n_params"]) -> Float[Array, "n_rows n_params"]:
        """Derivatives of `at`."""
        ...


@dataclass(frozen=True, eq=False)
class AffineRows:
    """A p + B θ(p) + b."""

    names: tuple[str, ...]
    scale: Float[Array, " n_rows"]
    equal: Bool[Array, " n_rows"]
    A: Float[Array, "n_rows n_params"]
    B: Float[Array, "n_rows n_params"]
    b: Float[Array, " n_rows"]
    n_links: int

    def part(self, chosen: Bool[Array, " n_rows"]) -> AffineRows:
        """Some of the rows, SI."""
        names = tuple(name for name, keep in zip(self.names, chosen, strict=True) if keep)
        scale, equal = self.scale[chosen], self.equal[chosen]
        return AffineRows(names, scale, equal, self.A[chosen], self.B[chosen], self.b[chosen], self.n_links)

    def at(self, p: Float[Array, " n_params"]) -> Float[Array, " n_rows"]:
        """Violations, SI."""
        inside = self.B @ theta_of(p, self.n_links) if self.B.any() else 0.0
        return self.A @ p + inside + self.b

    def slopes(self, p: Float[Array, " n_params"]) -> Float[Array, "n_rows n_params"]:
        """Derivatives by p, SI."""
        return self.A + times_blocks(self.B, theta_from_p(p, self.n_links)[1])


@dataclass(frozen=True, eq=False)
class TriangleRows:
    r"""The violation of [Gaz2019]_, :math:`\lambda_{max}(I) - \tfrac12\mathrm{tr}(I) + f`, a link each (kg·m²).

    Without the triangle condition :math:`f - \lambda_{min}(I)`.
    """

    names: tuple[str, ...]
    scale: Float[Array, " n_rows"]
    equal: Bool[Array, " n_rows"]
    floor: float
    triangle: bool

    def at(self, p: Float[Array, " n_params"]) -> Float[Array, " n_rows"]:
        """Violations, kg·m²."""
        tensor = tensors(p, len(self.names))
        values = np.linalg.eigvalsh(tensor)
        if not self.triangle:
            return self.floor - values[:, 0]
        return values[:, -1] - 0.5 * np.sum(values, axis=1) + self.floor

    def slopes(self, p: Float[Array, " n_params"]) -> Float[Array, "n_rows n_params"]:
        """Derivatives by p (dimensionless): of the eigenvalue, by its vector."""
        n = len(self.names)
        _, vectors = np.linalg.eigh(tensors(p, n))
        v = vectors[:, :, -1 if self.triangle else 0]
        M = v[:, :, None] * v[:, None, :]
        M = M - 0.5 * np.eye(3) if self.triangle else -M
        D = np.zeros((n, len(p)))
        for i in range(n):
            own = M[i]
            D[i, 10 * i + 4 : 10 * i + 10] = (
                own[0, 0], 2.0 * own[0, 1], own[1, 1], 2.0 * own[0, 2], 2.0 * own[1, 2], own[2, 2],
            )  # fmt: skip
        return D


@dataclass(frozen=True, eq=False)
class RegionRows:
    """How far each centre of mass lies outside its region, m."""

    names: tuple[str, ...]
    scale: Float[Array, " n_rows"]
    equal: Bool[Array, " n_rows"]
    regions: tuple[Region, ...]
    links: tuple[int, ...]

    def at(self, p: Float[Array, " n_params"]) -> Float[Array, " n_rows"]:
        """Violations, m."""
        pairs = zip(self.regions, self.links, strict=True)
        return np.array([outside(region, p[10 * i + 1 : 10 * i + 4])[0] for region, i in pairs])

    def slopes(self, p: Float[Array, " n_params"]) -> Float[Array, "n_rows n_params"]:
        """Derivatives by p (dimensionless)."""
        D = np.zeros((len(self.links), len(p)))
        for k, (region, i) in enumerate(zip(self.regions, self.links, strict=True)):
            D[k, 10 * i + 1 : 10 * i + 4] = outside(region, p[10 * i + 1 : 10 * i + 4])[1]
        return D


@dataclass(frozen=True, eq=False)
class FunctionRows:
    """Constraints written in Python; the only ones whose derivatives are finite differences."""

    names: tuple[str, ...]
    scale: Float[Array, " n_rows"]
    equal: Bool[Array, " n_rows"]
    functions: tuple[UserFunction, ...]
    link_names: tuple[str, ...]
    steps: Float[Array, " n_params"]

    def at(self, p: Float[Array, " n_params"]) -> Float[Array, " n_rows"]:
        """Violations, in the unit of each function."""
        links = Links.of(p, self.link_names)
        return np.array([function.violation(links) for function in self.functions])

    def slopes(self, p: Float[Array, " n_params"]) -> Float[Array, "n_rows n_params"]:
        """Forward differences by p."""
        here = self.at(p)
        D = np.zeros((len(self.functions), len(p)))
        for k in range(10 * len(self.link_names)):
            moved = p.copy()
            moved[k] += self.steps[k]
            D[:, k] = (self.at(moved) - here) / self.steps[k]
        return D
