"""Which joints of a robot file move: those asked for, of a tip, or of a log; grippers are held by themselves."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dynid.chain.formats.bodies import BodyJoint, BodyTree
from dynid.errors import RobotError, UnknownJoint, UnknownName

__all__ = ["HeldJoints", "Lineage", "held_joints"]

MAX_LISTED = 6
"""Names that a note lists before it counts the rest."""


@dataclass(frozen=True)
class HeldJoints:
    """The joints that stand still, and why."""

    positions: Mapping[str, float]
    """Of every joint that is held, rad or m."""
    notes: tuple[str, ...] = ()
    """What was decided without being asked, a sentence each."""


@dataclass(frozen=True, eq=False)
class Lineage:
    """The joints that move in a file, and which carries which."""

    tree: BodyTree

    @cached_property
    def joints(self) -> Mapping[str, BodyJoint]:
        """Joints that move, by name, in the order of the file."""
        return {body.joint.name: body.joint for body in self.tree.bodies if body.joint is not None and body.moves}

    @cached_property
    def above(self) -> Mapping[str, tuple[str, ...]]:
        """For every body the joints from the base to it, its own included."""
        paths: dict[str, tuple[str, ...]] = {}
        for body in self.tree.bodies:
            before = paths[body.parent] if body.parent is not None else ()
            paths[body.name] = (*before, body.joint.name) if body.joint is not None and body.moves else before
        return paths

    @cached_property
    def path_to(self) -> Mapping[str, tuple[str, ...]]:
        """For every joint the joints from the base to it, itself included."""
        return {path[-1]: path for path in self.above.values() if path}

    @cached_property
    def longest(self) -> tuple[str, ...]:
        """The longest chain of joints that mimic nothing, the first of equals; where there is none, of any joints."""
        paths = [path for path in self.path_to.values() if not any(self.joints[name].mimic for name in path)]
        return max(paths or self.path_to.values(), key=len, default=())

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Joints that mimic one another, directly or not: the one that leads comes first."""
        leader: dict[str, str] = {}
        for name in self.joints:
            seen, at = {name}, name
            while (mimic := self.joints[at].mimic) is not None and mimic.master is not None:
                if mimic.master in seen or mimic.master not in self.joints:
                    break
                at = mimic.master
                seen.add(at)
            leader[name] = at
        members: dict[str, list[str]] = {}
        for name, at in leader.items():
            members.setdefault(at, [at])
            members[at] += [name] if name != at else []
        return tuple(tuple(group) for group in members.values() if len(group) > 1)

    def between(self, loop: tuple[str, str]) -> tuple[str, ...]:
        """The joints of a closed loop: those on the way from one body to the other."""
        one, other = (self.above.get(name, ()) for name in loop)
        return tuple(name for name in (*one, *other) if (name in one) != (name in other))

    def carried_by(self, names: Collection[str]) -> tuple[str, ...]:
        """Other joints that any of these carries."""
        return tuple(name for name, path in self.path_to.items() if name not in names and set(path) & set(names))

    def is_gripper(self, group: Sequence[str], tied: Collection[str]) -> bool:
        """Whether joints that move as one are a gripper: an arm carries them, and they carry nothing but fingers.

        `tied` are all joints that mimic others or are part of loops. Two coupled joints in series at the end of a
        plain arm are its own (a palletiser keeps its flange level so), not fingers.
        """
        if any(name not in tied for name in self.carried_by(group)):
            return False
        if not any(name not in tied for member in group for name in self.path_to[member]):
            return False
        in_series = any(set(group) <= set(path) for path in self.path_to.values())
        return not in_series or not set(group) & set(self.longest)


def held_joints(
    tree: BodyTree, lock: Mapping[str, float], *, tip: str | None = None, moving: Collection[str] | None = None
) -> HeldJoints:
    """The joints to freeze: those of `lock` (rad or m), and what nothing moves.

    Joints that mimic a frozen one follow it. With `tip` all joints off the way to that link are held, with `moving`
    (the joints that a log has) all others. Without either, grippers are: coupled fingers, and the joints of closed
    loops, when an arm carries them. A joint that mimics an axis of the arm itself is held alone, and said.

    Raises:
        UnknownJoint: a joint of `lock` that does not exist.
        UnknownName: no link is called `tip`.
        RobotError: `moving` names no joint of the file.
    """
    lineage = Lineage(tree)
    joints = lineage.joints
    for name, position in lock.items():
        if name not in joints:
            raise UnknownJoint(name, known=tuple(joints), where=tree.source)
        if not math.isfinite(position):
            raise RobotError(f"{tree.source}: joint {name!r} cannot be locked at {position}")
    positions = dict(lock)
    notes: list[str] = []
    wanted = _wanted(lineage, tip, moving)
    if wanted is not None:
        others = [name for name in joints if name not in wanted and name not in positions]
        why = f"off the way to {tip}" if moving is None else "not in the log"
        _follow(joints, positions, others)
        if others:
            notes.append(f"joints {why} are held: {_listed(others, positions)}")
    _follow_locked(joints, positions)
    tied = {name for group in lineage.groups for name in group}
    tied |= {name for loop in tree.loops for name in lineage.between(loop)}
    for group in lineage.groups:
        rest = [name for name in group if name not in positions]
        if moving is not None or not rest or group[0] in positions:
            continue
        if tip is None and lineage.is_gripper(group, tied):
            _follow(joints, positions, rest)
            notes.append(f"coupled joints of a gripper are held: {_listed(rest, positions)}")
        elif rest[1:]:
            _follow(joints, positions, rest[1:])
            notes.append(
                f"joints that mimic {group[0]}, which stays free, are held: {_listed(rest[1:], positions)}; the torque "
                "that moving them takes is not modelled"
            )
    if wanted is None:
        notes += _held_loops(lineage, positions, tied)
    return HeldJoints(positions, tuple(notes))


def _wanted(lineage: Lineage, tip: str | None, moving: Collection[str] | None) -> Collection[str] | None:
    """The joints that may move, None for all."""
    if tip is not None:
        if tip not in lineage.above:
            raise UnknownName(tip, known=tuple(lineage.above), kind="link", where=lineage.tree.source)
        if not lineage.above[tip]:
            raise RobotError(f"{lineage.tree.source}: no joint moves link {tip!r}; name the last link of an arm")
    on_way = None if tip is None else lineage.above[tip]
    if moving is None:
        return on_way
    known = [name for name in moving if name in lineage.joints and (on_way is None or name in on_way)]
    if not known:
        raise RobotError(f"{lineage.tree.source}: none of {', '.join(moving)} is a joint of the file")
    return known


def _held_loops(lineage: Lineage, positions: dict[str, float], tied: Collection[str]) -> list[str]:
    """Hold the joints of closed loops, all but those of the longest chain; a loop that ties the arm itself is cut."""
    held: list[str] = []
    cut: list[str] = []
    for loop in lineage.tree.loops:
        members = lineage.between(loop)
        if members and all(body in lineage.above for body in loop) and lineage.is_gripper(members, tied):
            held += [name for name in members if name not in positions]
        else:
            held += [name for name in members if name not in lineage.longest and name not in positions]
            cut += [" and ".join(loop)] if set(members) & set(lineage.longest) else []
    free = [name for name in lineage.joints if name not in positions and name not in held]
    if not free:
        # Nothing but loops: they are cut open, so that there is something to move.
        cut, held = [" and ".join(loop) for loop in lineage.tree.loops], []
    held = list(dict.fromkeys(held))
    _follow(lineage.joints, positions, held)
    notes = [f"joints of closed loops are held: {_listed(held, positions)}"] if held else []
    return notes + [f"what ties {text} together is not modelled" for text in dict.fromkeys(cut)]


def _follow(joints: Mapping[str, BodyJoint], positions: dict[str, float], names: Iterable[str]) -> None:
    """Hold joints where the file draws them, or where the joint they mimic puts them."""
    waiting = list(names)
    while waiting:
        later = []
        for name in waiting:
            mimic = joints[name].mimic
            if mimic is not None and mimic.master in waiting and mimic.master != name:
                later.append(name)
                continue
            positions[name] = joints[name].drawn
            if mimic is not None:
                master = mimic.master or ""
                stands = positions.get(master, joints[master].drawn if master in joints else 0.0)
                positions[name] = mimic.position(stands)
        if len(later) == len(waiting):  # a ring of joints that mimic one another
            positions |= {name: joints[name].drawn for name in later}
            return
        waiting = later


def _follow_locked(joints: Mapping[str, BodyJoint], positions: dict[str, float]) -> None:
    """Hold the joints that mimic one that is fixed, held, or none at all."""
    progress = True
    while progress:
        progress = False
        for name, joint in joints.items():
            mimic = joint.mimic
            if mimic is None or name in positions:
                continue
            if mimic.master is None or mimic.master not in joints or mimic.master in positions:
                positions[name] = mimic.position(positions.get(mimic.master or "", 0.0))
                progress = True


def _listed(names: Sequence[str], positions: Mapping[str, float]) -> str:
    shown = [f"{name} at {positions[name]:.4g}" if positions[name] else name for name in names[:MAX_LISTED]]
    return ", ".join(shown) + (f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else "")
