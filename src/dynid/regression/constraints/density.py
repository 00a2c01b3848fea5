"""Density realisability: what it means for second moments that all mass of a link lies inside a solid."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dynid.arrays import Array, Float, Vector3
from dynid.chain.consistency import Box, Ellipsoid
from dynid.regression.constraints.regions import Frustum, Hull, Region, Sphere, span

__all__ = ["density_quadrics"]

MAX_PAIRED_FACES = 40
"""Faces of a hull that are multiplied with each other; of more, those of its box and its ellipsoid are."""
_ROUNDS = 200
"""Steps of Khachiyan's algorithm for the smallest ellipsoid about points; it is inflated by what they leave."""


def density_quadrics(region: Region) -> Float[Array, "n_quadrics 4 4"]:
    r"""Matrices Q with :math:`\langle Q, J \rangle \ge 0` for the pseudo-inertia of any mass inside a region (m).

    Inside the region :math:`q(x) = (x, 1)\,Q\,(x, 1)^T \ge 0`, and :math:`\int q\,dm = \langle Q, J\rangle`.
    For an ellipsoid one Q and a positive J are necessary **and sufficient** [Wensing2018]_. A box has a slab for each
    axis and a product for each pair of its faces, a hull one for each pair of faces: necessary, and sharp in all that
    pairs of faces can see. Cylinders, cones and unions count by what encloses them.
    """
    if isinstance(region, Sphere):
        return np.array([_ellipsoid(region.centre, np.diag(np.full(3, region.radius**-2.0)))])
    if isinstance(region, Ellipsoid):
        return np.array([_ellipsoid(region.centre, np.diag(region.semi_axes**-2.0))])
    if isinstance(region, Frustum):
        return _cylinder(region)
    planes = _box_planes(*((region.lower, region.upper) if isinstance(region, Box) else span(region)))
    extra = []
    if isinstance(region, Hull):
        extra.append(_around(region.points))
        if len(region.planes) <= MAX_PAIRED_FACES:
            planes = -region.planes
    return np.array([*(_product(a, b) for a, b in combinations(planes, 2)), *extra])


def _ellipsoid(centre: Vector3, A: Float[Array, "3 3"]) -> Float[Array, "4 4"]:
    """1 − (x − c)ᵀA(x − c), A in 1/m²."""
    Q = np.empty((4, 4))
    Q[:3, :3], Q[:3, 3] = -A, A @ centre
    Q[3, :3], Q[3, 3] = Q[:3, 3], 1.0 - centre @ A @ centre
    return Q


def _product(a: Float[Array, " 4"], b: Float[Array, " 4"]) -> Float[Array, "4 4"]:
    """(a·(x, 1))(b·(x, 1)) of two half-spaces that are nonnegative inside."""
    return 0.5 * (np.outer(a, b) + np.outer(b, a))


def _box_planes(lower: Vector3, upper: Vector3) -> Float[Array, "6 4"]:
    return np.vstack([np.column_stack([np.eye(3), -lower]), np.column_stack([-np.eye(3), upper])])


def _cylinder(region: Frustum) -> Float[Array, "n_quadrics 4 4"]:
    """The slab between the ends, and r² − (distance to the axis)² for the larger radius."""
    axis = region.end - region.start
    axis = axis / np.linalg.norm(axis)
    start, end = float(axis @ region.start), float(axis @ region.end)
    slab = _product(np.append(axis, -start), np.append(-axis, end))
    across = (np.eye(3) - np.outer(axis, axis)) / max(region.start_radius, region.end_radius) ** 2
    return np.array([slab, _ellipsoid(region.start, across)])


def _around(points: Float[Array, "n_points 3"]) -> Float[Array, "4 4"]:
    """A small ellipsoid that holds all points, by Khachiyan's algorithm."""
    lifted = np.column_stack([points, np.ones(len(points))]).T
    weights = np.full(len(points), 1.0 / len(points))
    for _ in range(_ROUNDS):
        X = (lifted * weights) @ lifted.T
        reach = np.einsum("ik,ij,jk->k", lifted, np.linalg.inv(X), lifted)
        k = int(np.argmax(reach))
        step = (reach[k] - 4.0) / (4.0 * (reach[k] - 1.0))
        if step < 1e-6:
            break
        weights *= 1.0 - step
        weights[k] += step
    centre = points.T @ weights
    spread = (points.T * weights) @ points - np.outer(centre, centre)
    A = np.linalg.inv(3.0 * spread)
    away = points - centre
    return _ellipsoid(centre, A / float(np.max(np.einsum("ki,ij,kj->k", away, A, away))))
