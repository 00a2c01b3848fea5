"""URDF read link by link, every number checked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float, Transform
from dynid.chain.formats.bodies import (
    Body,
    BodyJoint,
    BodyTree,
    Inertial,
    Mimic,
    box_corners,
    depth_first,
    refuse_doubles,
)
from dynid.chain.formats.xml import Element, Markup
from dynid.chain.inertia import InertialParameters
from dynid.chain.placement import rotation_rpy, transform
from dynid.chain.robot import Limits
from dynid.errors import RobotFileError

__all__ = ["URDF_TENSOR", "read_urdf_bodies"]

URDF_TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
"""Attributes of `<inertia>`, kg·m², in the order of `InertialParameters.from_order(…, "urdf")`."""

_KINDS: dict[str, Literal["revolute", "prismatic", "fixed"]] = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
}


def read_urdf_bodies(document: Markup) -> BodyTree:
    """Every link of a URDF with the joint that carries it, SI.

    Raises:
        RobotFileError: naming file, line and element.
    """
    robot = document.root
    for element in robot.iterchildren("include"):
        raise document.fault(
            element, "URDF has no includes; expand the file first: xacro robot.urdf.xacro > robot.urdf"
        )
    links = [(document.text(link, "name"), link) for link in robot.iterchildren("link")]
    joints = [(document.text(joint, "name"), joint) for joint in robot.iterchildren("joint")]
    if not links:
        raise document.fault(robot, "there is no <link>; is this a URDF?")
    refuse_doubles(document, links, "link")
    refuse_doubles(document, joints, "joint")
    carried = _carried(document, {name for name, _ in links}, joints)
    bodies = []
    for name, link in links:
        parent, joint = carried.get(name, (None, None))
        bodies.append(Body(name, parent, joint, _inertial(document, link), _corners(document, link), link))
    fallback = Path(document.source).stem
    return BodyTree(robot.get("name") or fallback, document.source, depth_first(document, bodies), document=document)


def _carried(
    document: Markup, links: set[str], joints: list[tuple[str, Element]]
) -> dict[str, tuple[str | None, BodyJoint | None]]:
    """Child link to its parent link and joint."""
    carried: dict[str, tuple[str | None, BodyJoint | None]] = {}
    masters: set[str] = {name for name, _ in joints}
    for name, element in joints:
        ends = []
        for end in ("parent", "child"):
            reference = _child(document, element, end)
            link = document.text(reference, "link")
            if link not in links:
                raise document.fault(reference, f"joint {name!r} names the link {link!r}, which does not exist")
            ends.append(link)
        parent, child = ends
        if child in carried:
            other = carried[child][1]
            assert other is not None
            raise document.fault(
                element, f"link {child!r} is already carried by joint {other.name!r}; closed loops are not supported"
            )
        if parent == child:
            raise document.fault(element, f"link {child!r} cannot carry itself")
        joint = _joint(document, name, element)
        if joint.mimic is not None and joint.mimic.master not in masters:
            raise document.fault(element, f"mimics joint {joint.mimic.master!r}, which does not exist")
        carried[child] = (parent, joint)
    return carried


def _joint(document: Markup, name: str, element: Element) -> BodyJoint:
    kind = document.text(element, "type")
    if kind not in _KINDS:
        known = ", ".join(_KINDS)
        raise document.fault(
            element,
            f"joint type {kind!r} is not supported, only {known}; make it fixed, or split it into one-axis joints",
        )
    T_parent_joint = _origin(document, element)
    if kind == "fixed":
        return BodyJoint(name, "fixed", T_parent_joint, element=element)
    axis_element = element.find("axis")
    axis = np.array([1.0, 0.0, 0.0])
    if axis_element is not None:
        axis = document.numbers(axis_element, "xyz", 3)
        if not np.any(axis):
            raise document.fault(axis_element, f"the axis of joint {name!r} is zero; give it a direction")
    return BodyJoint(
        name,
        _KINDS[kind],
        T_parent_joint,
        axis,
        limits=_limits(document, element, bounded=kind != "continuous"),
        mimic=_mimic(document, element),
        element=element,
    )


def _limits(document: Markup, joint: Element, *, bounded: bool) -> Limits:
    element = joint.find("limit")
    if element is None:
        return Limits()
    lower, upper = -np.inf, np.inf
    # URDF's default for one missing bound is 0; with both missing the file says nothing about positions.
    if bounded and (element.get("lower") is not None or element.get("upper") is not None):
        lower, upper = document.number(element, "lower", 0.0), document.number(element, "upper", 0.0)
    rates = {name: document.number(element, name, np.inf) for name in ("velocity", "effort", "acceleration", "jerk")}
    return Limits(lower, upper, **rates)


def _mimic(document: Markup, joint: Element) -> Mimic | None:
    element = joint.find("mimic")
    if element is None:
        return None
    line = document.number(element, "offset", 0.0), document.number(element, "multiplier", 1.0)
    return Mimic(document.text(element, "joint"), line)


def _inertial(document: Markup, link: Element) -> Inertial | None:
    elements = link.findall("inertial")
    if not elements:
        return None
    if len(elements) > 1:
        raise document.fault(elements[1], f"link {link.get('name')!r} has two <inertial> elements; keep one")
    element = elements[0]
    mass = document.number(_child(document, element, "mass"), "value")
    inertia = _child(document, element, "inertia")
    numbers = [document.number(inertia, name) for name in URDF_TENSOR]
    tensor = InertialParameters.from_order([0.0, 0.0, 0.0, 0.0, *numbers], "urdf").inertia
    return Inertial(mass, _origin(document, element), tensor, element)


def _child(document: Markup, element: Element, tag: str) -> Element:
    child = element.find(tag)
    if child is None:
        above = element.getparent()
        owner = "" if above is None or element.get("name") else f" of {above.tag} {above.get('name')!r}"
        raise document.fault(element, f"<{tag}>{owner} is missing")
    return child


def _origin(document: Markup, element: Element) -> Transform:
    origin = element.find("origin")
    if origin is None:
        return np.eye(4)
    if origin.get("quat_xyzw") is not None:
        raise document.fault(origin, "quat_xyzw is not supported; write the rotation as rpy")
    zero = (0.0, 0.0, 0.0)
    roll, pitch, yaw = document.numbers(origin, "rpy", 3, zero)
    return transform(rotation_rpy(roll, pitch, yaw), document.numbers(origin, "xyz", 3, zero))


def _corners(document: Markup, link: Element) -> Float[Array, "n_corners 3"]:
    boxes = [
        corners
        for tag in ("visual", "collision")
        for element in link.iterchildren(tag)
        for corners in _primitives(document, element)
    ]
    return np.concatenate(boxes) if boxes else np.zeros((0, 3))


def _primitives(document: Markup, element: Element) -> Iterator[Float[Array, "8 3"]]:
    # Shapes only serve lint: one that cannot be read is no reason to refuse the robot.
    with contextlib.suppress(RobotFileError):
        T_link_shape = _origin(document, element)
        for box in element.iterfind("geometry/box"):
            yield box_corners(T_link_shape, document.numbers(box, "size", 3) / 2.0)
        for ball in element.iterfind("geometry/sphere"):
            yield box_corners(T_link_shape, np.full(3, document.number(ball, "radius")))
        for tag in ("cylinder", "capsule"):
            for rod in element.iterfind(f"geometry/{tag}"):
                radius, half = document.number(rod, "radius"), document.number(rod, "length") / 2.0
                cap = radius if tag == "capsule" else 0.0
                yield box_corners(T_link_shape, np.array([radius, radius, half + cap]))
