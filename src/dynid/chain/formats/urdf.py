"""URDF read link by link, every number checked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
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
from dynid.chain.formats.body_shapes import BodyShape, urdf_solids
from dynid.chain.formats.xml import RUN_XACRO, Element, Markup
from dynid.chain.inertia import InertialParameters
from dynid.chain.limits import Limits
from dynid.chain.placement import WORTH_SAYING, exact_right_angle, rotation_rpy, squared_note, transform
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
_FREE = ("floating", "planar", "ball", "spherical", "universal", "screw", "revolute2", "gearbox")
"""Joints of more than one degree of freedom, or that are none: what they carry is held where the file draws it."""


def read_urdf_bodies(document: Markup, *, square: bool = False) -> BodyTree:
    """Every link of a URDF with the joint that carries it, SI; `square` makes rounded right angles exact.

    Raises:
        RobotFileError: naming file, line and element.
    """
    return _Reader(document, square=square).tree()


class _Reader:
    """The walk through one `<robot>`; gathers what it had to decide by itself."""

    def __init__(self, document: Markup, *, square: bool) -> None:
        self.document = document
        self.square = square
        self.notes: list[str] = []
        self.held: dict[str, str] = {}
        self.partial: list[str] = []
        self.n_squared = 0

    def tree(self) -> BodyTree:
        document, robot = self.document, self.document.root
        links = [(document.text(link, "name"), link) for link in robot.iterchildren("link")]
        joints = [(document.text(joint, "name"), joint) for joint in robot.iterchildren("joint")]
        self._refuse_unexpanded(links)
        if not links:
            raise document.fault(robot, "there is no <link>; is this a URDF?")
        refuse_doubles(document, links, "link")
        refuse_doubles(document, joints, "joint")
        names = {name for name, _ in links}
        carried = self._carried(names, joints)
        absent = dict.fromkeys(parent for parent, _ in carried.values() if parent not in names)
        if absent:
            self.notes.append(f"links that joints name but the file lacks: {', '.join(absent)}; taken for empty frames")
        bodies = [Body(name, None, None, None, element=robot, virtual=True) for name in absent]
        for name, link in links:
            parent, joint = carried.get(name, (None, None))
            inertial, corners = self._inertial(name, link), _corners(document, link)
            bodies.append(Body(name, parent, joint, inertial, corners, link, shapes=_shapes(document, link)))
        ordered, told = depth_first(document, bodies)
        if self.held:
            listed = ", ".join(f"{name} ({kind})" for name, kind in self.held.items())
            self.notes.append(f"joints that no single axis describes are held where the file draws them: {listed}")
        if self.partial:
            self.notes.append(f"inertias without mass, or without all six moments: {', '.join(self.partial)}")
        if self.n_squared:
            self.notes.append(squared_note(self.n_squared))
        name = robot.get("name") or Path(document.source).stem
        return BodyTree(name, document.source, ordered, document=document, notes=(*self.notes, *told))

    def _refuse_unexpanded(self, links: list[tuple[str, Element]]) -> None:
        """Macros that say something of the robot cannot be passed over; what is left over once they ran can."""
        document = self.document
        for element in document.root.iterchildren("include"):
            raise document.fault(element, f"URDF has no includes; {RUN_XACRO}")
        if not document.macros:
            return
        if not links:
            raise RobotFileError(f"{document.source}, {document.macros[0]}: unexpanded macro; {RUN_XACRO}")
        more = f" and {len(document.macros) - 1} more" if len(document.macros) > 1 else ""
        self.notes.append(f"leftovers of xacro are passed over: {document.macros[0]}{more}")

    def _carried(self, links: set[str], joints: list[tuple[str, Element]]) -> dict[str, tuple[str, BodyJoint]]:
        """Child link to its parent link and joint."""
        document = self.document
        carried: dict[str, tuple[str, BodyJoint]] = {}
        masters = {name for name, _ in joints}
        for name, element in joints:
            parent, child = (document.text(_child(document, element, end), "link") for end in ("parent", "child"))
            if child not in links:
                self.notes.append(f"joint {name} is left out: its link {child} is not in the file")
                continue
            if parent == child:
                raise document.fault(element, f"link {child!r} cannot carry itself")
            if child in carried:
                self.notes.append(
                    f"joint {name} is left out: it would close a loop, since {carried[child][1].name} carries {child}"
                )
                continue
            joint = self._joint(name, element)
            if joint.mimic is not None and joint.mimic.master not in masters:
                self.notes.append(f"joint {name} mimics {joint.mimic.master}, which is not in the file; it is held")
                joint = replace(joint, mimic=Mimic(None, joint.mimic.coefficients[:1]))
            carried[child] = (parent, joint)
        return carried

    def _joint(self, name: str, element: Element) -> BodyJoint:
        document, kind = self.document, self.document.text(element, "type").strip().lower()
        T_parent_joint = self._placed(element)
        if kind in _FREE:
            self.held[name] = kind
            kind = "fixed"
        if kind not in _KINDS:
            raise document.fault(
                element,
                f"joint type {kind!r} is not supported, only {', '.join(_KINDS)}; make it fixed, or split it into "
                "one-axis joints",
            )
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

    def _placed(self, element: Element) -> Transform:
        """The joint frame in the parent's; with `square` right angles that the file rounds are exact."""
        origin = element.find("origin")
        words = "" if origin is None else origin.get("rpy", "")
        T = _origin(self.document, element)
        if not self.square or not words:
            return T
        angles = [exact_right_angle(word) for word in words.split()]
        change = max(abs(angle - float(word)) for angle, word in zip(angles, words.split(), strict=True))
        self.n_squared += change > WORTH_SAYING
        return transform(rotation_rpy(*angles), T[:3, 3])

    def _inertial(self, name: str, link: Element) -> Inertial | None:
        """What the first `<inertial>` says; a tensor that is not complete is none, as for Pinocchio."""
        document, element = self.document, link.find("inertial")
        if element is None:
            return None
        weight, inertia = element.find("mass"), element.find("inertia")
        weighed = weight is not None and weight.get("value") is not None
        mass = document.number(weight, "value") if weight is not None and weighed else 0.0
        numbers = [0.0] * 6
        if weighed and inertia is not None and all(inertia.get(key) is not None for key in URDF_TENSOR):
            numbers = [document.number(inertia, key) for key in URDF_TENSOR]
        else:
            self.partial.append(name)
        T_body_inertial = _origin(document, element)
        tensor = InertialParameters.from_order([0.0, 0.0, 0.0, 0.0, *numbers], "urdf").inertia
        return Inertial(mass, T_body_inertial, tensor, element)


def _limits(document: Markup, joint: Element, *, bounded: bool) -> Limits:
    """Limits as written; what is not a number is unknown."""
    element = joint.find("limit")
    if element is None:
        return Limits()
    lower, upper = -np.inf, np.inf
    # URDF's default for one missing bound is 0; with both missing the file says nothing about positions.
    if bounded and (element.get("lower") or element.get("upper")):
        lower, upper = _limit(document, element, "lower", 0.0), _limit(document, element, "upper", 0.0)
        lower, upper = (-np.inf if np.isnan(lower) else lower), (np.inf if np.isnan(upper) else upper)
    rates = {name: _limit(document, element, name, np.inf) for name in ("velocity", "effort", "acceleration", "jerk")}
    return Limits(lower, upper, **{name: np.inf if np.isnan(value) else value for name, value in rates.items()})


def _limit(document: Markup, element: Element, name: str, default: float) -> float:
    """A limit (SI); nan where it is no finite number."""
    try:
        return document.number(element, name, default) if element.get(name) else default
    except RobotFileError:
        return np.nan


def _mimic(document: Markup, joint: Element) -> Mimic | None:
    element = joint.find("mimic")
    if element is None:
        return None
    line = document.number(element, "offset", 0.0), document.number(element, "multiplier", 1.0)
    return Mimic(document.text(element, "joint"), line)


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
    roll, pitch, yaw = document.numbers(origin, "rpy", 3, zero) if origin.get("rpy", "").strip() else zero
    xyz = document.numbers(origin, "xyz", 3, zero) if origin.get("xyz", "").strip() else zero
    return transform(rotation_rpy(roll, pitch, yaw), xyz)


def _corners(document: Markup, link: Element) -> Float[Array, "n_corners 3"]:
    boxes = [
        corners
        for tag in ("visual", "collision")
        for element in link.iterchildren(tag)
        for corners in _primitives(document, element)
    ]
    return np.concatenate(boxes) if boxes else np.zeros((0, 3))


def _shapes(document: Markup, link: Element) -> tuple[BodyShape, ...]:
    found: list[BodyShape] = []
    for tag in ("collision", "visual"):
        for element in link.iterchildren(tag):
            with contextlib.suppress(RobotFileError):
                solids = urdf_solids(document, element, _origin(document, element), collides=tag == "collision")
                found += [shape for shape in solids if shape is not None]
    return tuple(found)


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
