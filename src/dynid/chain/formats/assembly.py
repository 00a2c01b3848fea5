"""URDF and MJCF files as a `Robot`: fixed links lumped, grippers held, limits that are none left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from dynid.arrays import Transform
from dynid.chain.formats.bodies import Body, BodyJoint, BodyTree
from dynid.chain.formats.includes import read_document
from dynid.chain.formats.locks import HeldJoints
from dynid.chain.formats.urdf import read_urdf_bodies
from dynid.chain.formats.xml import Markup
from dynid.chain.inertia import InertialParameters
from dynid.chain.limits import believable
from dynid.chain.robot import BASE, Joint, Link, Robot
from dynid.errors import RobotError

__all__ = [
    "Carried",
    "InertialsPolicy",
    "carried_bodies",
    "read_bodies",
    "robot_of_bodies",
]

InertialsPolicy = Literal["check", "ignore", "keep"]
"""What to do with the inertias of a file: distrust those no body has, drop all, or keep and trust them as they are."""


class _BodyReader(Protocol):
    def __call__(self, document: Markup, *, square: bool = False) -> BodyTree: ...


def _mjcf_bodies(document: Markup, *, square: bool = False) -> BodyTree:
    from dynid.chain.formats.mjcf import read_mjcf_bodies

    return read_mjcf_bodies(document, square=square)


BODY_READERS: Mapping[str, tuple[str, _BodyReader]] = {
    "robot": ("URDF", read_urdf_bodies),
    "mujoco": ("MJCF", _mjcf_bodies),
}
"""XML formats of robot files by their root element: what they are called, and what reads their bodies."""


def read_bodies(source: Path | Markup, *, square: bool = False) -> BodyTree:
    """The bodies of a URDF or MJCF file one by one (SI), before anything is lumped or held.

    With `square` right angles that the file gives with few digits (3.1416) are exact.
    """
    document = read_document(source) if isinstance(source, Path) else source
    tag = document.root.tag
    if tag not in BODY_READERS:
        wanted = " or ".join(f"<{root}> ({name})" for root, (name, _) in BODY_READERS.items())
        raise document.fault(document.root, f"a robot file starts with {wanted}, not with <{tag}>")
    return BODY_READERS[tag][1](document, square=square)


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
    return _placed_bodies(tree, frozen)[0]


def _placed_bodies(
    tree: BodyTree, frozen: Mapping[str, float]
) -> tuple[tuple[Carried, ...], tuple[tuple[Body, Transform], ...]]:
    """What every joint carries, and what does not move, in the base frame."""
    place: dict[str, tuple[int, Transform]] = {}
    still: list[tuple[Body, Transform]] = []
    found: list[tuple[BodyJoint, int, Transform, list[tuple[Body, Transform]]]] = []
    for body in tree.bodies:
        if body.joint is None or body.parent is None:
            place[body.name] = (BASE, np.eye(4))
            still.append((body, np.eye(4)))
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
        (still if carrier == BASE else found[carrier][3]).append((body, T_carrier_body))
    return tuple(Carried(joint, parent, T, tuple(bodies)) for joint, parent, T, bodies in found), tuple(still)


def robot_of_bodies(tree: BodyTree, inertials: InertialsPolicy, held: HeldJoints) -> Robot:
    """The robot of a body tree (SI), fixed and held links lumped; inertias are kept or, with ``ignore``, dropped."""
    groups, still = _placed_bodies(tree, held.positions)
    known = inertials != "ignore"
    joints = tuple(
        _joint(tree, group.joint, group.parent, group.T_parent_joint, _link(group.bodies, known=known))
        for group in groups
    )
    notes = (*tree.notes, *held.notes)
    if not joints:
        said = "; ".join(("the robot has no movable joint, so there is no torque to explain", *notes))
        raise RobotError(f"{tree.source}: {said}")
    # Without the world, and frames without a body.
    fixed = tuple((body, T) for body, T in still if body.inertial is not None and not body.virtual)
    return Robot(
        tree.name,
        joints,
        gravity=tree.gravity,
        source=tree.source,
        held=held.positions,
        notes=notes,
        base=_link(fixed, known=True) if fixed and known else None,
    )


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
            believable(joint.limits),
            joint.rotor_inertia,
        )
    except RobotError as error:
        raise tree.fault(joint, str(error)) from error


def _link(bodies: tuple[tuple[Body, Transform], ...], *, known: bool) -> Link:
    """The first of some bodies with all others, which are fixed to it; each with its place in the first one's frame."""
    said = [body.inertial.parameters.moved(T) for body, T in bodies if body.inertial is not None]
    nominal = sum(said, InertialParameters.zero()) if said and known else None
    names = [body.name for body, _ in bodies]
    return Link(names[0], nominal, tuple(names[1:]))
