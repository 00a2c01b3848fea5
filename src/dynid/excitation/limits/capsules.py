"""Every link as capsules: around its shapes where they are known, else along its length with a thickness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array, Float, Int, Vector3, freeze_arrays
from dynid.chain.robot import BASE, Robot
from dynid.errors import ExcitationError
from dynid.excitation.limits.outlines import LinkOutline, OutlineSolid, read_outlines
from dynid.prose import counted

__all__ = ["Capsule", "Capsules", "capsules_around", "capsules_of", "enclosing_capsule"]

THICKNESS = 0.06
"""Radius of links without a known shape over the length of the arm.

Five arms whose files hold shapes have medians of 0.038 to 0.090, 0.052 in the middle; an arm that is thicker than it is
taken for is the worse mistake.
"""
_SPLIT_GAIN = 0.7
"""A shape is split where two capsules hold less than this part of the volume of one."""
_MAX_SPLITS = 2
"""How often a shape is halved: up to four capsules."""
_MAX_POINTS = 400
"""Points of a hull that a capsule is fitted to; the more of a finely drawn mesh are thinned, and still enclosed."""
_CIRCLE_STEPS = 30
"""Steps towards the centre of a circle: its radius comes within a few per cent of the smallest."""
_TURNS = (0.2, 0.05)
"""rad; by which the axis of a capsule is turned to see whether it becomes smaller."""
_WIDER = (1.0, 1.05, 1.15)
"""Radii to try, over the smallest: a wider capsule may be shorter."""


class Capsule(NamedTuple):
    """All points within `radius` of a line."""

    start: Vector3
    """One end of the line, m."""
    stop: Vector3
    """Its other end, m."""
    radius: float
    """Half the thickness, m."""

    @property
    def volume(self) -> float:
        """m³"""
        length = float(np.linalg.norm(self.stop - self.start))
        return float(np.pi * self.radius**2 * (length + 4.0 / 3.0 * self.radius))


@dataclass(frozen=True, eq=False)
class Capsules:
    """A robot as capsules that its links carry."""

    names: tuple[str, ...]
    """Of the base, then of every link in the order of joints."""
    link: Int[Array, " n_capsules"]
    """Joint that carries each, or `BASE`."""
    ends: Float[Array, "n_capsules 2 3"]
    """Both ends of each axis in the frame of its link, m; the first is nearer to the joint."""
    radius: Float[Array, " n_capsules"]
    """m"""
    told: str = ""
    """Where the shapes come from, in words."""
    outlines: tuple[LinkOutline, ...] | None = None
    """The shapes of the base and of every link that they were made around; None where none are known."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __repr__(self) -> str:
        counts = f"{counted(len(self.radius), 'capsule')} on {counted(len(set(self.link.tolist())), 'body', 'bodies')}"
        return f"Capsules({counts}, {self.told})"

    def name(self, capsule: int) -> str:
        """The link, or the base, that a capsule belongs to."""
        return self.names[int(self.link[capsule]) + 1]


def capsules_of(
    robot: Robot, *, packages: Sequence[Path] = (), thickness: float | None = None, shapes: bool = True
) -> Capsules:
    """The capsules of a robot.

    Args:
        robot: of any source; shapes are read from the URDF or MJCF file that it came from.
        packages: folders of ``package://`` meshes.
        thickness: radius in m of links whose shape is not known; a part of the length of the arm when None.
        shapes: whether to look for shapes at all.

    Raises:
        ExcitationError: a thickness that is not positive.
    """
    if thickness is not None and not (np.isfinite(thickness) and thickness > 0.0):
        raise ExcitationError(f"`thickness` {thickness:g}: it must be a positive radius in m")
    outlines = read_outlines(robot, packages) if shapes else None
    along = _skeleton(robot, outlines)
    radius = THICKNESS * _reach(robot, along) if thickness is None else thickness
    link: list[int] = []
    capsules: list[Capsule] = []
    guessed: list[str] = []
    names = ("base", *robot.link_names)
    for index in range(BASE, robot.n_dof):
        outline = None if outlines is None else outlines[index + 1]
        known = [] if outline is None else [c for solid in outline.solids for c in capsules_around(solid)]
        if known and outline is not None and not outline.missing:
            found = [_turned(capsule, _origin(robot, index)) for capsule in known]
        else:
            found = [*known, *(Capsule(start, stop, radius) for start, stop in along[index + 1])]
            guessed += [names[index + 1]] if along[index + 1] and index != BASE else []
        link += [index] * len(found)
        capsules += found
    return Capsules(
        names,
        np.array(link, dtype=np.int64),
        np.array([[c.start, c.stop] for c in capsules]).reshape(-1, 2, 3),
        np.array([c.radius for c in capsules]),
        _told(robot, outlines, guessed, radius),
        outlines,
    )


def _told(robot: Robot, outlines: Sequence[LinkOutline] | None, guessed: Sequence[str], radius: float) -> str:
    lengths = f"link lengths, {1e3 * radius:.0f} mm in radius"
    if len(guessed) == robot.n_dof:
        lost = outlines is not None and any(outline.missing for outline in outlines)
        return f"from {lengths}" + (" (their meshes cannot be read)" if lost else "")
    if guessed:
        return f"from the shapes of the robot file, and for {', '.join(guessed)} from {lengths}"
    return "from the shapes of the robot file"


def _origin(robot: Robot, index: int) -> Vector3:
    """Where the joint of a link is, in the frame of the link, m."""
    return np.zeros(3) if index == BASE else np.linalg.inv(robot.joints[index].T_joint_link)[:3, 3]


def _turned(capsule: Capsule, joint: Vector3) -> Capsule:
    """The same capsule, its first end nearer to the joint (m)."""
    if np.linalg.norm(capsule.start - joint) <= np.linalg.norm(capsule.stop - joint):
        return capsule
    return Capsule(capsule.stop, capsule.start, capsule.radius)


def _skeleton(robot: Robot, outlines: Sequence[LinkOutline] | None) -> list[list[tuple[Vector3, Vector3]]]:
    """The lines from the joint of every link to the joints it carries, in its frame (m); the base first."""
    lines = []
    for index in range(BASE, robot.n_dof):
        start = _origin(robot, index)
        ends = [joint.T_parent_joint[:3, 3] for joint in robot.joints if joint.parent == index]
        if not ends:
            ends = [*_tips(robot, index, outlines)]
        # Nothing is known of a base whose first joint sits in its origin.
        lines.append([(start, end) for end in ends if index != BASE or np.any(end != start)])
    return lines


def _tips(robot: Robot, index: int, outlines: Sequence[LinkOutline] | None) -> Iterator[Vector3]:
    """Where the last link of a chain ends, m: at the farthest frame fixed to it, or twice as far as its mass lies."""
    start = _origin(robot, index)
    frames = np.zeros((0, 3)) if outlines is None else outlines[index + 1].frames
    far = frames[np.argmax(np.linalg.norm(frames - start, axis=1))] if len(frames) else start
    nominal = robot.joints[index].link.nominal
    if np.linalg.norm(far - start) > 0.0:
        yield far
    elif nominal is not None and robot.joints[index].link.known and nominal.mass > 0.0:
        yield start + 2.0 * (nominal.com - start)
    else:
        yield start


def _reach(robot: Robot, along: Sequence[Sequence[tuple[Vector3, Vector3]]]) -> float:
    """Length of the longest chain of links, m; 1 where nothing has a length."""
    longest = 0.0
    for path in robot.path_to:
        lengths = [max((float(np.linalg.norm(b - a)) for a, b in along[k + 1]), default=0.0) for k in path]
        longest = max(longest, sum(lengths))
    return longest or 1.0


def capsules_around(solid: OutlineSolid) -> list[Capsule]:
    """A few capsules that hold a solid, m: one, or up to four where that is much tighter."""
    if len(solid.points) <= 2:
        ends = solid.points[[0, -1]]
        return [Capsule(ends[0], ends[1], solid.radius)] if len(solid.points) else []
    triangles = solid.triangles if len(solid.triangles) else _hull_faces(solid.points)
    parts = _halved(_hull_points(solid.points), triangles, _MAX_SPLITS)[0]
    found = [enclosing_capsule(part) for part in parts]
    return [Capsule(start, stop, radius + solid.radius) for start, stop, radius in found]


def _halved(
    points: Float[Array, "n_points 3"], triangles: Float[Array, "n_faces 3 3"], splits: int
) -> tuple[list[Float[Array, "_ 3"]], float]:
    """The points of the parts that a surface is best cut into, and the volume of the capsules around them, m³."""
    whole = _roughly(points).volume
    best, volume = [points], whole
    if splits == 0 or not len(triangles):
        return best, volume
    for axis in _axes(points)[:2]:
        height = points @ axis
        cut = 0.5 * float(height.min() + height.max())
        halves = [_side(triangles, axis, cut, sign) for sign in (1.0, -1.0)]
        if min(len(half) for half in halves) == 0:
            continue
        sides = [_halved(_hull_points(half.reshape(-1, 3)), half, splits - 1) for half in halves]
        total = sum(part for _, part in sides)
        if total < min(volume, _SPLIT_GAIN * whole):
            best, volume = [part for parts, _ in sides for part in parts], total
    return best, volume


def _roughly(points: Float[Array, "n_points 3"]) -> Capsule:
    """A capsule around points (m) along one of their main axes."""
    few = points[:: max(1, len(points) // _MAX_POINTS)]
    return min((_along(few, axis) for axis in _axes(few)), key=lambda c: c.volume)


def _side(triangles: Float[Array, "n_faces 3 3"], axis: Vector3, cut: float, sign: float) -> Float[Array, "n_kept 3 3"]:
    """What of the faces lies on one side of a plane (m): those that it cuts lose the corners beyond."""
    height = sign * (triangles @ axis - cut)
    kept = triangles[np.all(height >= 0.0, axis=1)]
    crossing = ~np.all(height >= 0.0, axis=1) & ~np.all(height <= 0.0, axis=1)
    if not np.any(crossing):
        return kept
    faces, above = triangles[crossing], height[crossing]
    rows = []
    for one, two in ((0, 1), (1, 2), (2, 0)):
        span = above[:, one] - above[:, two]
        share = np.clip(above[:, one] / np.where(span == 0.0, 1.0, span), 0.0, 1.0)[:, None]
        cross = faces[:, one] + share * (faces[:, two] - faces[:, one])
        through = (above[:, one] > 0.0) != (above[:, two] > 0.0)
        inside = np.where((above[:, one] >= 0.0)[:, None], faces[:, one], faces[:, two])
        rows.append(np.stack([inside, cross, cross], axis=1)[through])
    return np.concatenate([kept, *rows])


def _hull_faces(points: Float[Array, "n_points 3"]) -> Float[Array, "n_faces 3 3"]:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[ConvexHull(points).simplices]
    except QhullError:
        return np.zeros((0, 3, 3))


def _axes(points: Float[Array, "n_points 3"]) -> Float[Array, "6 3"]:
    centred = points - points.mean(axis=0)
    return np.vstack([np.linalg.svd(centred, full_matrices=False)[2][:3], np.eye(3)])


def enclosing_capsule(points: Float[Array, "n_points 3"]) -> Capsule:
    """A small capsule that holds all points, m."""
    hull = _hull_points(points)
    few = hull[:: max(1, len(hull) // _MAX_POINTS)]
    best = _roughly(hull)
    for turn in _TURNS:
        improved = True
        while improved:
            axis = _direction(best, few)
            tilts = np.linalg.svd(axis[None])[2][1:]
            tries = [_along(few, axis + sign * turn * tilt) for tilt in tilts for sign in (-1.0, 1.0)]
            better = min(tries, key=lambda c: c.volume)
            improved = better.volume < best.volume * (1.0 - 1e-3)
            best = better if improved else best
    # Thinned points, and rounding, must not leave any outside.
    way = best.stop - best.start
    share = np.clip((hull - best.start) @ way / max(float(way @ way), 1e-300), 0.0, 1.0)
    radius = np.linalg.norm(hull - best.start - share[:, None] * way, axis=1).max(initial=0.0)
    return Capsule(best.start, best.stop, float(radius))


def _hull_points(points: Float[Array, "n_points 3"]) -> Float[Array, "n_hull 3"]:
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 25:
        return points
    try:
        return points[ConvexHull(points).vertices]
    except QhullError:
        return points


def _direction(capsule: Capsule, points: Float[Array, "n_points 3"]) -> Vector3:
    way = capsule.stop - capsule.start
    length = float(np.linalg.norm(way))
    return way / length if length > 1e-9 else _axes(points)[0]


def _along(points: Float[Array, "n_points 3"], direction: Vector3) -> Capsule:
    """The smallest of a few capsules with this axis that hold all points (m)."""
    axis = direction / np.linalg.norm(direction)
    height = points @ axis
    flat = points - height[:, None] * axis
    centre = _circle_centre(flat)
    away = np.linalg.norm(flat - centre, axis=1)
    found = []
    for wider in _WIDER:
        radius = wider * float(away.max())
        reach = np.sqrt(np.maximum(radius**2 - away**2, 0.0))
        low, high = float((height + reach).min()), float((height - reach).max())
        if low > high:
            low = high = 0.5 * (low + high)
            radius = float(np.sqrt((height - low) ** 2 + away**2).max())
        found.append(Capsule(centre + low * axis, centre + high * axis, radius))
    return min(found, key=lambda c: c.volume)


def _circle_centre(flat: Float[Array, "n_points 3"]) -> Vector3:
    """About the centre of the smallest circle around points of a plane (m) [Badoiu2003]_."""
    centre = 0.5 * (flat.min(axis=0) + flat.max(axis=0))
    for k in range(1, _CIRCLE_STEPS):
        farthest = flat[np.argmax(np.sum((flat - centre) ** 2, axis=1))]
        centre = centre + (farthest - centre) / (k + 1.0)
    return centre
