"""URDF and MJCF files as a `Robot`: fixed links lumped, mimic joints folded, inconsistent inertias refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from dynid.arrays import Transform
from dynid.chain.formats.bodies import Body, BodyJoint, BodyTree, Mimic
from dynid.chain.formats.urdf import read_urdf_bodies
from dynid.chain.formats.xml import Markup, read_markup
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import BASE, Joint, Link, Robot
from dynid.errors import RobotError

__all__ = [
    "Carried",
    "InertialsPolicy",
    "carried_bodies",
    "frozen_joints",
    "read_bodies",
    "read_robot_file",
    "robot_of_bodies",
]

InertialsPolicy = Literal["check", "ignore", "keep"]
"""What to do with the inertias of a file: refuse those no body has, drop all, or keep whatever is finite."""

_ADVICE = (
    "`repair()` writes the nearest physically consistent one, `inertials='ignore'` loads the robot without nominal "
    "inertias"
)


def _mjcf_bodies(document: Markup) -> BodyTree:
    from dynid.chain.formats.mjcf import read_mjcf_bodies

    return read_mjcf_bodies(document)


BODY_READERS: Mapping[str, tuple[str, Callable[[Markup], BodyTree]]] = {
    "robot": ("URDF", read_urdf_bodies),
    "mujoco": ("MJCF", _mjcf_bodies),
}
"""XML formats of robot files by their root element: what they are called, and what reads their bodies."""


def read_robot_file(
    path: str | Path, *, inertials: InertialsPolicy = "check", lock: Mapping[str, float] | None = None
) -> Robot:
    """The robot of a URDF or MJCF file, told apart by the root element; meshes are never opened.

    Joints come depth first, siblings as in the file. A link has nominal parameters when it, or a link fixed to it,
    has inertia in the file; a moving link without any has None. MJCF `armature` is the nominal rotor inertia of its
    joint.

    Args:
        path: the file.
        inertials: ``check`` refuses inertias that no moving link has, ``ignore`` drops them all, ``keep``
            keeps whatever is finite.
        lock: joints to freeze, with their positions in rad or m; joints that mimic them freeze with them.

    Raises:
        RobotFileError: the file cannot be used; the message names file, line, element and remedy.
        UnknownJoint: a joint to lock that does not exist.
    """
    return robot_of_bodies(read_bodies(Path(path)), inertials, lock or {})


def read_bodies(source: Path | Markup) -> BodyTree:
    """The bodies of a URDF or MJCF file one by one (SI), before anything is lumped or refused."""
    document = read_markup(source) if isinstance(source, Path) else source
    tag = document.root.tag
    if tag not in BODY_READERS:
        wanted = " or ".join(f"<{root}> ({name})" for root, (name, _) in BODY_READERS.items())
        raise document.fault(document.root, f"a robot file starts with {wanted}, not with <{tag}>")
    return BODY_READERS[tag][1](document)


@dataclass(frozen=True, eq=False)
class Carried:
    """The bodies that one joint moves as one, each with its frame's place in the frame of the first."""

    joint: BodyJoint
    """The joint that moves them."""
    parent: int
    """Index of the group that carries this one, or `BASE`."""
    T_parent_joint: Transform
    """Joint frame in the frame of the first body of the parent group."""
    bodies: tuple[tuple[Body, Transform], ...]


def carried_bodies(tree: BodyTree, frozen: Mapping[str, float]) -> tuple[Carried, ...]:
    """What every joint that is neither fixed nor frozen (rad or m) carries, in the order of joints."""
    place: dict[str, tuple[int, Transform]] = {}
    found: list[tuple[BodyJoint, int, Transform, list[tuple[Body, Transform]]]] = []
    for body in tree.bodies:
        if body.joint is None or body.parent is None:
            place[body.name] = (BASE, np.eye(4))
            continue
        carrier, T_carrier_parent = place[body.parent]
        T_carrier_joint = T_carrier_parent @ body.joint.T_parent_joint
        if body.moves and body.joint.name not in frozen:
            place[body.name] = (len(found), np.eye(4))
            found.append((body.joint, carrier, T_carrier_joint, [(body, np.eye(4))]))
            continue
        T_carrier_body = T_carrier_joint
        if body.moves:
            held = _joint(tree, body.joint, BASE, T_carrier_joint, Link(body.name))
            T_carrier_body = held.T_parent_link(frozen[body.joint.name])
        place[body.name] = (carrier, T_carrier_body)
        if carrier != BASE:
            found[carrier][3].append((body, T_carrier_body))
    return tuple(Carried(joint, parent, T, tuple(bodies)) for joint, parent, T, bodies in found)


def robot_of_bodies(tree: BodyTree, inertials: InertialsPolicy, lock: Mapping[str, float]) -> Robot:
    """The robot of a body tree (SI), fixed and locked links lumped; arguments and errors as `read_robot_file`."""
    frozen = frozen_joints(tree, lock)
    groups = carried_bodies(tree, {})
    if inertials == "check":
        for group in groups:
            for body, _ in group.bodies:
                _check_inertial(tree, body)
    joints = tuple(
        _joint(tree, group.joint, group.parent, group.T_parent_joint, _link(group, known=inertials != "ignore"))
        for group in groups
    )
    return Robot(tree.name, joints, gravity=tree.gravity, source=tree.source).locked(frozen)


def _joint(tree: BodyTree, joint: BodyJoint, parent: int, T_parent_joint: Transform, link: Link) -> Joint:
    kind: Literal["revolute", "prismatic"] = "prismatic" if joint.kind == "prismatic" else "revolute"
    try:
        return Joint(
            joint.name,
            kind,
            parent,
            T_parent_joint,
            joint.axis,
            link,
            joint.T_joint_body,
            joint.limits,
            joint.rotor_inertia,
        )
    except RobotError as error:
        raise tree.fault(joint, str(error)) from error


def _link(group: Carried, *, known: bool) -> Link:
    """The first body of the group with everything that is fixed to it."""
    said = [body.inertial.parameters.moved(T) for body, T in group.bodies if body.inertial is not None]
    nominal = sum(said, InertialParameters.zero()) if said and known else None
    names = [body.name for body, _ in group.bodies]
    return Link(names[0], nominal, tuple(names[1:]))


def _check_inertial(tree: BodyTree, body: Body) -> None:
    """Refuse what no body can have; a fixed frame that is written with mass 0 and inertia 0 is fine."""
    inertial = body.inertial
    if inertial is None or body.virtual:
        return
    problem = None
    smallest = float(np.linalg.eigvalsh(inertial.tensor)[0])
    if inertial.mass <= 0.0:
        if not body.moves and inertial.mass == 0.0 and not np.any(inertial.tensor):
            return
        problem = f"the mass is {inertial.mass:g} kg, which no body has"
    elif not np.any(inertial.tensor):
        problem = f"the inertia is zero although the mass is {inertial.mass:g} kg"
    elif smallest <= 0.0:
        problem = f"the inertia about the centre of mass is not positive: a principal moment is {smallest:.4g} kg·m²"
    if problem is not None:
        raise tree.fault(body, f"{problem}; {_ADVICE}")


def frozen_joints(tree: BodyTree, lock: Mapping[str, float]) -> dict[str, float]:
    """The joints to freeze (rad or m), completed by those that mimic them.

    Raises:
        RobotFileError: a joint mimics one that moves; the message says which to lock.
    """
    frozen = dict(lock)
    joints = {body.joint.name: body.joint for body in tree.bodies if body.joint is not None}
    still = {name: 0.0 for name, joint in joints.items() if joint.kind == "fixed"}
    waiting = {name: joint.mimic for name, joint in joints.items() if joint.mimic is not None and name not in frozen}
    progress = True
    while progress:
        progress = False
        for name, mimic in list(waiting.items()):
            known = {**still, **frozen}
            if mimic.master is None or mimic.master in known:
                frozen[name] = mimic.position(known.get(mimic.master or "", 0.0))
                del waiting[name]
                progress = True
    for name, mimic in waiting.items():
        masters = _leaders(waiting.values(), set(waiting)) or [name]
        raise tree.fault(
            joints[name],
            f"joint {name!r} mimics {mimic.master!r}, and coupled joints are not supported; freeze them with "
            f"lock={dict.fromkeys(masters, 0)} (joints that mimic a frozen one follow it)",
        )
    return frozen


def _leaders(mimics: Iterable[Mimic], followers: set[str]) -> list[str]:
    """The joints that are mimicked and follow none themselves, each once, in order."""
    return list(dict.fromkeys(m.master for m in mimics if m.master is not None and m.master not in followers))
