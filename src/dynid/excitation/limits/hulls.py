"""Links as the convex hulls of their shapes: for the final check of what capsules are too coarse to tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dynid.arrays import Array, Bool, Float
from dynid.chain.robot import Robot
from dynid.dynamics.kernels.chains import ChainArrays, chain_arrays
from dynid.excitation.curves.curve import States
from dynid.excitation.limits.outlines import LinkOutline
from dynid.excitation.limits.workspace import link_frames

__all__ = ["HullLimit", "hull_limit"]

_N_POSES = 100
"""Random poses to find out which hulls always overlap."""
_ALWAYS, _ROOM = 0.95, 0.01
"""Hulls that get no farther apart than this (m) in this share of random poses overlap by construction."""


@dataclass(frozen=True, eq=False)
class HullLimit:
    """Pairs of shapes whose convex hulls must not overlap, as a limit along the path."""

    robot: Robot
    outlines: tuple[LinkOutline, ...]
    """What the base and every link look like."""
    pairs: tuple[tuple[tuple[int, int], tuple[int, int]], ...]
    """Two shapes each: the link, or `BASE`, and the number of the shape on it."""
    rate_hz: float = 100.0
    """Samples a second at which it is checked, Hz."""

    @property
    def name(self) -> str:
        """Convex hulls."""
        return "convex hulls"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The two links of every pair."""
        names = ("base", *self.robot.link_names)
        return tuple(f"{names[one[0] + 1]} – {names[two[0] + 1]}" for one, two in self.pairs)

    @cached_property
    def _chain(self) -> ChainArrays:
        return chain_arrays(self.robot)

    @cached_property
    def _hulls(self) -> dict[tuple[int, int], Any]:
        return {shape: self._hull(*shape) for pair in self.pairs for shape in pair}

    def _hull(self, link: int, number: int) -> Any:
        import coal  # type: ignore[import-untyped]

        solid = self.outlines[link + 1].solids[number]
        if len(solid.points) <= 2:
            # A ball or a capsule: its radius is taken off the distance.
            return coal.Capsule(1e-9, float(np.linalg.norm(solid.points[-1] - solid.points[0])))
        # The hull by SciPy: coal's own ends the program where points lie in a plane.
        from scipy.spatial import ConvexHull

        found = ConvexHull(solid.points, qhull_options="QJ")
        place = {int(vertex): k for k, vertex in enumerate(found.vertices)}
        corners, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for vertex in found.vertices:
            corners.append(solid.points[vertex])
        for face in found.simplices:
            faces.append(coal.Triangle(*(place[int(vertex)] for vertex in face)))
        return coal.Convex(corners, faces)

    def _place(self, shape: tuple[int, int], R: Float[Array, "3 3"], p: Float[Array, " 3"]) -> Any:
        import coal

        solid = self.outlines[shape[0] + 1].solids[shape[1]]
        if len(solid.points) <= 2:
            way = solid.points[-1] - solid.points[0]
            turn = np.linalg.svd(way[None])[2][[1, 2, 0]].T if np.any(way) else np.eye(3)
            turn[:, 0] *= np.sign(np.linalg.det(turn))
            return coal.Transform3s(R @ turn, R @ solid.points.mean(axis=0) + p)
        return coal.Transform3s(R, p)

    def excess(self, states: States) -> Float[Array, "n_samples n_columns"]:
        """How far the hulls of every pair overlap, m; negative where they are apart."""
        import coal

        R, p = link_frames(self._chain, states.q)
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        out = np.empty((len(states.q), len(self.pairs)))
        for n in range(len(out)):
            places = {
                shape: self._place(shape, np.eye(3), np.zeros(3))
                if shape[0] < 0
                else self._place(shape, R[shape[0], n], p[shape[0], n])
                for shape in self._hulls
            }
            for k, (one, two) in enumerate(self.pairs):
                result.clear()
                gap = coal.distance(self._hulls[one], places[one], self._hulls[two], places[two], request, result)
                radii = [self.outlines[link + 1].solids[number].radius for link, number in (one, two)]
                out[n, k] = sum(radii) - gap
        return out


def hull_limit(
    robot: Robot,
    outlines: tuple[LinkOutline, ...],
    links: Sequence[tuple[int, int]],
    poses: Float[Array, "n_poses n_dof"],
) -> HullLimit | None:
    """The limit that keeps the convex hulls of pairs of links apart; None where there is nothing to check.

    Only links all of whose shapes are known count; shapes that overlap in nearly all of the random `poses` (rad or m)
    do so by construction and are left out.
    """
    pairs = [
        ((one, i), (two, j))
        for one, two in links
        if not (outlines[one + 1].missing or outlines[two + 1].missing)
        for i in range(len(outlines[one + 1].solids))
        for j in range(len(outlines[two + 1].solids))
    ]
    if not pairs:
        return None
    every = HullLimit(robot, outlines, tuple(pairs))
    excess = every.excess(States.at_rest(poses[:_N_POSES]))
    overlap: Bool[Array, " n_pairs"] = np.mean(excess > -_ROOM, axis=0) >= _ALWAYS
    # Links overlap by construction where any of their shapes do: the others say nothing more.
    built = {label for label, always in zip(every.labels, overlap, strict=True) if always}
    kept = tuple(pair for pair, label in zip(pairs, every.labels, strict=True) if label not in built)
    return HullLimit(robot, outlines, kept) if kept else None
