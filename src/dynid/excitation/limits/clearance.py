"""Distances that the links keep: to the floor, to walls and boxes, and to one another, each link as capsules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Bool, Float, Int, readonly
from dynid.chain.robot import BASE, Robot
from dynid.dynamics.kernels.chains import ChainArrays, chain_arrays
from dynid.errors import ExcitationError
from dynid.excitation.curves.curve import States
from dynid.excitation.limits.capsules import Capsules
from dynid.excitation.limits.distances import CapsuleChecks, fill_excess, pull_excess
from dynid.excitation.limits.hulls import HullLimit, hull_limit
from dynid.excitation.limits.motion_limits import MotionLimits
from dynid.excitation.limits.workspace import KeepOut

__all__ = ["Clearance", "ClearanceLimit", "Surroundings", "clearance_limit"]

ALWAYS = 0.95
"""Share of random poses from which on two bodies count as always in contact, as MoveIt's setup assistant has it."""
N_POSES = 2000
"""Random poses to find out which bodies always touch."""
_NAMED = 4
"""Pairs that a sentence names before it counts the rest."""
ROOM = 0.01
"""m; bodies that never get farther apart than this beyond their clearance are in contact by construction."""
_BEYOND = 1.5
"""How far from the contact of two links the rest of the farther one begins to be watched, over both radii."""
_STEPS = 60
"""Steps towards a pose with room to all sides."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Surroundings:
    """What a robot must stay clear of, in its base frame."""

    floor: float | None = 0.0
    """Height of the floor, m; None for none."""
    floor_asked: bool = False
    """Whether the floor was asked for; one that was not is left out where links can only lie in it."""
    lower: tuple[float, float, float] = (-np.inf, -np.inf, -np.inf)
    """Smallest corner of a box to stay in, m."""
    upper: tuple[float, float, float] = (np.inf, np.inf, np.inf)
    """Largest corner of a box to stay in, m."""
    keep_out: tuple[KeepOut, ...] = ()
    itself: bool = True
    """Whether links must stay clear of one another and of the base."""
    clearance: float = 0.02
    """Distance in m to all of these."""

    def __post_init__(self) -> None:
        low, high = np.array(self.lower), np.array(self.upper)
        if not np.all(low + self.clearance < high - self.clearance):
            raise ExcitationError(f"workspace from {low} to {high} m is empty; swap its corners")

    def walls(self) -> list[tuple[str, Float[Array, " 4"], bool]]:
        """Name, plane (normal, height in m) and whether it was asked for, of every wall."""
        found = []
        if self.floor is not None:
            found.append(("floor", np.array([0.0, 0.0, 1.0, self.floor]), self.floor_asked))
        for k, axis in enumerate("xyz"):
            for name, sign, bound in (("lower", 1.0, self.lower[k]), ("upper", -1.0, self.upper[k])):
                if np.isfinite(bound):
                    found.append((f"{name} {axis}", np.array([*(sign * np.eye(3)[k]), sign * bound]), True))
        return found


@dataclass(frozen=True, eq=False)
class ClearanceLimit:
    """Capsules that must keep a distance, as a limit along the path."""

    robot: Robot
    checks: CapsuleChecks
    labels: tuple[str, ...]
    """The two things that each column of `excess` keeps apart."""
    rate_hz: float = 1000.0
    """Samples a second at which it is checked, Hz."""

    @property
    def name(self) -> str:
        """Clearance."""
        return "clearance"

    @property
    def unit(self) -> float:
        """Excess in m that counts as much as the whole of an effort limit."""
        return 0.1

    @cached_property
    def _chain(self) -> ChainArrays:
        return chain_arrays(self.robot)

    def excess(self, states: States) -> Float[Array, "n_samples n_columns"]:
        """Clearance less distance of every pair of things, m."""
        out = np.empty((len(states.q), len(self.labels)))
        fill_excess(self._chain, self.checks, np.ascontiguousarray(states.q), out)
        return out

    def slope(
        self, states: States, weight: Float[Array, "n_samples n_columns"]
    ) -> tuple[Float[Array, "n_samples n_dof"], ...]:
        """Derivative by q, dq and ddq of the sum of all excesses (m), each times its weight."""
        q_bar = np.zeros_like(states.q)
        pull_excess(self._chain, self.checks, np.ascontiguousarray(states.q), np.ascontiguousarray(weight), q_bar)
        return q_bar, np.zeros_like(q_bar), np.zeros_like(q_bar)

    def roomiest(
        self, limits: MotionLimits, rng: np.random.Generator
    ) -> tuple[Float[Array, " n_dof"], Float[Array, " n_columns"]]:
        """A pose (rad or m) with as much room to all sides as can be found, and its excess (m)."""
        span = limits.upper - limits.lower
        poses = np.vstack([limits.middle, limits.lower + span * rng.random((N_POSES, len(span)))])
        order = np.argsort(self.excess(States.at_rest(poses)).max(axis=1), kind="stable")
        here = poses[order[:8]]
        best, least = here[0], self.excess(States.at_rest(here))[0]
        for step in np.geomspace(0.1, 0.002, _STEPS):
            excess = self.excess(States.at_rest(here))
            top = excess.max(axis=1)
            if top.min() < least.max():
                best, least = here[int(top.argmin())], excess[int(top.argmin())]
            weight = np.exp((excess - top[:, None]) / (0.1 * self.unit))
            slope = self.slope(States.at_rest(here), weight)[0] * span
            size = np.linalg.norm(slope, axis=1, keepdims=True)
            here = np.clip(here - step * span * slope / np.maximum(size, 1e-12), limits.lower, limits.upper)
        return best, least


@dataclass(frozen=True, eq=False)
class Clearance:
    """What is kept clear of what, and what is not, in words."""

    limit: ClearanceLimit | None
    """None where nothing is left to check."""
    kept: str
    """What the motion stays clear of; empty for nothing."""
    unchecked: tuple[str, ...]
    """What is not checked and why, a phrase each."""
    capsules: Capsules
    surroundings: Surroundings
    hulls: HullLimit | None = None
    """Pairs of links whose capsules always touch, as the convex hulls of their shapes: for the final check."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """What is not checked, a phrase each that begins with ``clearance``."""
        return tuple(f"clearance: {text}" for text in self.unchecked)

    def __str__(self) -> str:
        kept = f"{1e3 * self.surroundings.clearance:.0f} mm, {self.kept}" if self.kept else "none"
        shapes = f"; links are capsules {self.capsules.told}" if self.kept else ""
        return kept + shapes + (f"; not checked: {'; '.join(self.unchecked)}" if self.unchecked else "")


@dataclass(eq=False)
class _Columns:
    """Checks one by one, as they are chosen."""

    capsules: Capsules
    walls: list[tuple[int, int, int]]
    """Capsule, end and number of the wall."""
    boxes: list[tuple[int, int]]
    """Capsule and number of the box."""
    pairs: list[tuple[int, int]]

    def checks(self, around: Surroundings, *, joined: bool) -> tuple[CapsuleChecks, tuple[str, ...]]:
        """The arrays of the checks with one column each, or `joined` by link; and the labels of the columns."""
        planes, body = around.walls(), self.capsules
        names = [f"{planes[wall][0]} – {body.name(k)}" for k, _, wall in self.walls]
        names += [f"keep-out {box + 1} – {body.name(k)}" for k, box in self.boxes]
        names += [f"{body.name(i)} – {body.name(j)}" for i, j in self.pairs]
        labels = tuple(dict.fromkeys(names)) if joined else tuple(names)
        place = {label: k for k, label in enumerate(labels)}
        column = np.array([place[name] for name in names] if joined else range(len(names)), dtype=np.int64)
        n_walls, n_boxes = len(self.walls), len(self.boxes)
        corners = [np.concatenate([around.keep_out[box].lower, around.keep_out[box].upper]) for _, box in self.boxes]
        checks = CapsuleChecks(
            _whole(body.link),
            readonly(body.ends),
            readonly(body.radius),
            _whole(np.array([(k, end) for k, end, _ in self.walls]).reshape(-1, 2)),
            readonly(np.array([planes[wall][1] for _, _, wall in self.walls]).reshape(-1, 4)),
            _whole(column[:n_walls]),
            _whole(np.array([k for k, _ in self.boxes])),
            readonly(np.array(corners).reshape(-1, 6)),
            _whole(column[n_walls : n_walls + n_boxes]),
            _whole(np.array(self.pairs).reshape(-1, 2)),
            _whole(column[n_walls + n_boxes :]),
            float(around.clearance),
            len(labels),
        )
        return checks, labels


def _whole(values: Int[Array, "..."] | Float[Array, "..."]) -> Int[Array, "..."]:
    numbers = np.array(values, dtype=np.int64)
    numbers.setflags(write=False)
    return numbers


def clearance_limit(
    robot: Robot, capsules: Capsules, around: Surroundings, limits: MotionLimits, *, seed: int = 0
) -> Clearance:
    """The limit that keeps a robot clear of its surroundings and of itself, and what it leaves out.

    Neighbours on the chain are not watched, nor what touches in all poses by construction: ends of links that stand on
    the floor, and links that a short one joins. Of these, the part beyond the contact is watched where it can be.
    """
    rng = np.random.default_rng(seed)
    span = limits.upper - limits.lower
    poses = limits.lower + span * rng.random((N_POSES, robot.n_dof))
    columns, unchecked, touching, joined = _chosen(robot, capsules, around, poses)
    dropped: list[str] = []
    while True:
        checks, labels = columns.checks(around, joined=True)
        limit = ClearanceLimit(robot, checks, labels) if labels else None
        if limit is None:
            break
        _, excess = limit.roomiest(limits, rng)
        fault = labels[int(excess.argmax())]
        if excess.max() < 0.0 or (fault.startswith(("lower", "upper", "keep-out")) or _asked(fault, around)):
            break
        dropped.append(fault)
        columns = _without(columns, fault, around)
    hulls = _hulls(robot, capsules, [*touching, *joined], poses)
    told = () if hulls is None else tuple(dict.fromkeys(hulls.labels))
    left = [label for label in touching if label not in told]
    unchecked += [f"{_listed(left)} (they always touch)"] if left else []
    if dropped:
        unchecked.append(f"{_listed(dropped)} (closer than {1e3 * around.clearance:.0f} mm in every pose found)")
    kept = _kept(columns, around) + (f", {_listed(told)} apart as convex hulls" if told else "")
    return Clearance(limit, kept, tuple(unchecked), capsules, around, hulls)


def _hulls(
    robot: Robot, capsules: Capsules, touching: Sequence[str], poses: Float[Array, "n_poses n_dof"]
) -> HullLimit | None:
    """What the shapes themselves tell of links (labels) of which some capsules always touch."""
    if capsules.outlines is None or not touching:
        return None
    place = {name: k - 1 for k, name in enumerate(capsules.names)}
    both = [label.split(" – ", 1) for label in touching]
    return hull_limit(robot, capsules.outlines, [(place[one], place[two]) for one, two in both], poses)


def _listed(labels: Sequence[str]) -> str:
    """The first few labels, and how many more there are."""
    more = f" and {len(labels) - _NAMED} more" if len(labels) > _NAMED else ""
    return ", ".join(labels[:_NAMED]) + more


def _asked(label: str, around: Surroundings) -> bool:
    return label.startswith("floor – ") and around.floor_asked


def _without(columns: _Columns, label: str, around: Surroundings) -> _Columns:
    """All checks but those of one label."""
    alone = columns.checks(around, joined=False)[1]
    keep = [name != label for name in alone]
    n_walls, n_boxes = len(columns.walls), len(columns.boxes)
    return _Columns(
        columns.capsules,
        [one for one, good in zip(columns.walls, keep, strict=False) if good],
        [one for one, good in zip(columns.boxes, keep[n_walls:], strict=False) if good],
        [one for one, good in zip(columns.pairs, keep[n_walls + n_boxes :], strict=True) if good],
    )


def _kept(columns: _Columns, around: Surroundings) -> str:
    parts = []
    if any(around.walls()[wall][0] == "floor" for _, _, wall in columns.walls):
        parts.append(f"above the floor z = {around.floor:g} m")
    if any(around.walls()[wall][0] != "floor" for _, _, wall in columns.walls):
        parts.append("inside the box")
    if columns.boxes:
        parts.append("out of the keep-out boxes")
    if columns.pairs:
        parts.append("out of itself")
    return ", ".join(parts)


def _chosen(
    robot: Robot, capsules: Capsules, around: Surroundings, poses: Float[Array, "n_poses n_dof"]
) -> tuple[_Columns, list[str], list[str], list[str]]:
    """The checks that can fail and can be kept, what is left out of the others, and links that always touch.

    The last two are pairs of links of which no capsule, and only some, are checked against each other.
    """
    moving = [k for k in range(len(capsules.radius)) if capsules.link[k] != BASE]
    planes = around.walls()
    walls = [(k, end, wall) for wall in range(len(planes)) for k in moving for end in (0, 1)]
    boxes = [(k, box) for box in range(len(around.keep_out)) for k in moving]
    pairs = _pairs(robot, capsules) if around.itself else []
    everything = _Columns(capsules, walls, boxes, pairs)
    excess = _excess(robot, everything, around, poses)
    touching = np.mean(excess > -ROOM, axis=0)
    still = np.ptp(excess, axis=0) < 1e-9
    n_walls, n_boxes = len(walls), len(boxes)
    stands = [
        bool(still[w]) and bool(touching[w] > 0.0) if planes[wall][2] else bool(touching[w] >= ALWAYS)
        for w, (_, _, wall) in enumerate(walls)
    ]
    # A wall that was asked for is no wall that every part may stand in.
    asked_in_vain = {
        wall
        for wall in range(len(planes))
        if planes[wall][2] and all(stands[w] for w in range(n_walls) if walls[w][2] == wall)
    }
    kept_walls = [one for one, foot in zip(walls, stands, strict=True) if not foot or one[2] in asked_in_vain]
    unchecked = [] if around.floor is not None else ["floor (turned off)"]
    unchecked += [] if around.itself else ["self-collision (turned off)"]
    for wall, (name, _, _) in enumerate(planes):
        watched = {int(capsules.link[k]) for k, _, w in kept_walls if w == wall}
        lost = {int(capsules.link[k]) for k in moving} - watched
        if lost == {int(capsules.link[k]) for k in moving}:
            unchecked.append(f"{name} (all links lie in it in every pose)")
        elif lost:
            unchecked.append(f"{name} – {', '.join(capsules.names[i + 1] for i in sorted(lost))} (they stand in it)")
    always = touching[n_walls + n_boxes :] >= ALWAYS
    longer, kept_pairs = _beyond_contact(robot, capsules, around, pairs, always, poses)
    apart = {frozenset((longer.name(i), longer.name(j))) for i, j in kept_pairs}
    contact = {
        f"{capsules.name(i)} – {capsules.name(j)}": frozenset((capsules.name(i), capsules.name(j)))
        for (i, j), touch in zip(pairs, always, strict=True)
        if touch
    }
    touch_only = [label for label, both in contact.items() if both not in apart]
    columns = _Columns(longer, kept_walls, boxes, kept_pairs)
    return columns, unchecked, touch_only, [label for label in contact if label not in touch_only]


def _excess(
    robot: Robot, columns: _Columns, around: Surroundings, poses: Float[Array, "n_poses n_dof"]
) -> Float[Array, "n_poses n_checks"]:
    checks, labels = columns.checks(around, joined=False)
    if not labels:
        return np.zeros((len(poses), 0))
    return ClearanceLimit(robot, checks, labels).excess(States.at_rest(poses))


def _pairs(robot: Robot, capsules: Capsules) -> list[tuple[int, int]]:
    """All capsules of links that are no neighbours; links without any shape between two do not keep them apart."""
    bodies = set(capsules.link.tolist())

    def above(link: int) -> int:
        up = BASE if link == BASE else robot.joints[link].parent
        while up != BASE and up not in bodies:
            up = robot.joints[up].parent
        return up

    found = []
    for i in range(len(capsules.radius)):
        for j in range(i + 1, len(capsules.radius)):
            one, two = int(capsules.link[i]), int(capsules.link[j])
            if one != two and above(one) != two and above(two) != one:
                found.append((i, j))
    return found


def _beyond_contact(
    robot: Robot,
    capsules: Capsules,
    around: Surroundings,
    pairs: Sequence[tuple[int, int]],
    always: Bool[Array, " n_pairs"],
    poses: Float[Array, "n_poses n_dof"],
) -> tuple[Capsules, list[tuple[int, int]]]:
    """Pairs to watch, of those that always touch the part beyond the contact, and the capsules with these parts."""
    kept = [pair for pair, touch in zip(pairs, always, strict=True) if not touch]
    link, ends, radius = list(capsules.link), list(capsules.ends), list(capsules.radius)
    shorter: list[tuple[int, int]] = []
    for (i, j), touch in zip(pairs, always, strict=True):
        one, two = int(capsules.link[i]), int(capsules.link[j])
        near, far = (i, j) if one == BASE or one in robot.path_to[two] else (j, i)
        carrier, carried = int(capsules.link[near]), int(capsules.link[far])
        way = capsules.ends[far, 1] - capsules.ends[far, 0]
        length = float(np.linalg.norm(way))
        cut = _BEYOND * float(capsules.radius[near] + capsules.radius[far]) + around.clearance
        if not touch or cut >= length or not (carrier == BASE or carrier in robot.path_to[carried]):
            continue
        shorter.append((near, len(link)))
        link.append(carried)
        ends.append(np.array([capsules.ends[far, 0] + cut / length * way, capsules.ends[far, 1]]))
        radius.append(capsules.radius[far])
    longer = replace(
        capsules, link=np.array(link, dtype=np.int64), ends=np.array(ends).reshape(-1, 2, 3), radius=np.array(radius)
    )
    if shorter:
        excess = _excess(robot, _Columns(longer, [], [], shorter), around, poses)
        kept += [pair for pair, share in zip(shorter, np.mean(excess > -ROOM, axis=0), strict=True) if share < ALWAYS]
    return longer, kept
