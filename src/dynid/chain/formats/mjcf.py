"""MJCF read body by body as MuJoCo compiles it, every number checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Transform, Vector3
from dynid.chain.formats.bodies import Body, BodyJoint, BodyTree, Inertial, Mimic, box_corners, refuse_doubles
from dynid.chain.formats.mjcf_parts import (
    ACTUATORS,
    Compiler,
    GeomShape,
    inherit_defaults,
    read_compiler,
    read_shape,
    welded,
)
from dynid.chain.formats.xml import Element, Markup
from dynid.chain.inertia import InertialParameters
from dynid.chain.placement import rotation_about, transform, unit
from dynid.chain.robot import Limits

__all__ = ["MUJOCO_GRAVITY", "read_mjcf_bodies"]

MUJOCO_GRAVITY = (0.0, 0.0, -9.81)
"""What MuJoCo takes when `<option>` says nothing, m/s²."""

_GENERATORS = ("composite", "flexcomp", "replicate", "attach")
_WORLD = "world"


@dataclass(frozen=True, eq=False)
class _Place:
    """A body element, where it is, and what it is called."""

    name: str
    element: Element
    parent: str
    T_parent_body: Transform


def read_mjcf_bodies(document: Markup) -> BodyTree:
    """Every body of an MJCF with the joint that carries it, SI, in MuJoCo's order.

    Several joints of one body become a chain of bodies without mass.

    Raises:
        RobotFileError: naming file, line and element.
    """
    for element in document.elements:
        if element.tag == "include":
            raise document.fault(element, "other files are not followed; save the expanded model as one file first")
    compiler = read_compiler(document)
    inherit_defaults(document)
    reader = _Reader(document, compiler)
    bodies = [Body(_WORLD, None, None, None, element=document.root, virtual=True), *reader.bodies()]
    gravity = np.array(MUJOCO_GRAVITY)
    for option in document.root.iterchildren("option"):
        gravity = document.numbers(option, "gravity", 3, gravity.tolist())
    return BodyTree(document.root.get("model") or "robot", document.source, tuple(bodies), gravity, document)


class _Reader:
    """The walk through one `<worldbody>`; holds what applies to the whole file."""

    def __init__(self, document: Markup, compiler: Compiler) -> None:
        self.document = document
        self.compiler = compiler
        self.joint_names = self._names("joint")
        self.efforts = self._actuator_efforts()
        self.mimics = self._equalities()

    def bodies(self) -> Iterator[Body]:
        body_names = self._names("body")
        worlds = list(self.document.root.iterchildren("worldbody"))
        if not worlds:
            raise self.document.fault(self.document.root, "there is no <worldbody>; is this MJCF?")
        stack: list[_Place] = []
        for world in reversed(worlds):
            stack += reversed(self._children(world, _WORLD, body_names))
        while stack:
            place = stack.pop()
            yield from self._read(place)
            stack += reversed(self._children(place.element, place.name, body_names))

    def _names(self, tag: str) -> dict[Element, str]:
        """A name for every joint or body, made up for those without one as `joint1`, `body1`, …"""
        found = [
            element
            for world in self.document.root.iterchildren("worldbody")
            for element in world.iter(tag, *(["freejoint"] if tag == "joint" else []))
        ]
        given = [(name, element) for element in found if (name := element.get("name")) is not None]
        refuse_doubles(self.document, given, tag)
        taken = {name for name, _ in given} | ({_WORLD} if tag == "body" else set())
        names = {}
        for number, element in enumerate(found, start=1):
            made_up = f"{tag}{number}"
            while made_up in taken:
                made_up += "_"
            names[element] = element.get("name") or made_up
            taken.add(names[element])
        return names

    def _contents(self, body: Element) -> Iterator[tuple[Element, Transform]]:
        """The children of a body in order, those inside `<frame>`s with the frame's place in the body."""
        stack = [(child, np.eye(4)) for child in reversed(list(body.iterchildren("*")))]
        while stack:
            element, T_body_frame = stack.pop()
            if element.tag in _GENERATORS:
                raise self.document.fault(
                    element, f"<{element.tag}> generates bodies and is not supported; write the bodies themselves"
                )
            if element.tag != "frame":
                yield element, T_body_frame
                continue
            inner = T_body_frame @ self._pose(element)
            stack += [(child, inner) for child in reversed(list(element.iterchildren("*")))]

    def _pose(self, element: Element) -> Transform:
        position = self.document.numbers(element, "pos", 3, (0.0, 0.0, 0.0))
        return transform(self.compiler.rotation(self.document, element), position)

    def _children(self, element: Element, name: str, names: dict[Element, str]) -> list[_Place]:
        return [
            _Place(names[child], child, name, T_body_frame @ self._pose(child))
            for child, T_body_frame in self._contents(element)
            if child.tag == "body"
        ]

    def _read(self, place: _Place) -> Iterator[Body]:
        joints, shapes, inertial = [], [], None
        for element, T_body_frame in self._contents(place.element):
            if element.tag in ("joint", "freejoint"):
                joints.append((element, T_body_frame))
            elif element.tag == "geom":
                shapes.append(read_shape(self.document, self.compiler, element, T_body_frame))
            elif element.tag == "inertial":
                inertial = self._inertial(element, T_body_frame)
        corners = [box_corners(shape.T_body_shape, np.array(shape.half_sizes)) for shape in shapes if shape.half_sizes]
        outline = np.concatenate(corners) if corners else np.zeros((0, 3))
        chosen = self._choose(inertial, shapes)
        if not joints:
            weld = BodyJoint(f"{place.name} weld", "fixed", place.T_parent_body, element=place.element)
            yield Body(place.name, place.parent, weld, chosen, outline, place.element)
            return
        parent, T_parent_body = place.parent, place.T_parent_body
        massless = Inertial(0.0, np.eye(4), np.zeros((3, 3)))
        for element, T_body_frame in joints[:-1]:
            joint = self._joint(element, T_parent_body, T_body_frame)
            name = f"{place.name}.{joint.name}"
            yield Body(name, parent, joint, massless, element=place.element, virtual=True)
            parent, T_parent_body = name, np.eye(4)
        joint = self._joint(joints[-1][0], T_parent_body, joints[-1][1])
        yield Body(place.name, parent, joint, chosen, outline, place.element)

    def _choose(self, inertial: Inertial | None, shapes: list[GeomShape]) -> Inertial | None:
        policy = self.compiler.inertia_from_geometry
        if policy == "false" or (policy != "true" and inertial is not None):
            return inertial
        parts = [shape.inertial for shape in shapes if shape.inertial is not None]
        if len(parts) < len(shapes):
            # A mesh with mass: only the mesh knows, and meshes are never read.
            return None
        total = welded(parts)
        return total if total.mass > 0.0 else None

    def _inertial(self, element: Element, T_body_frame: Transform) -> Inertial:
        mass = self.document.number(element, "mass")
        self.document.text(element, "pos")
        if (element.get("fullinertia") is None) == (element.get("diaginertia") is None):
            raise self.document.fault(
                element, "needs either 'diaginertia' or 'fullinertia'; without them MuJoCo knows no inertia either"
            )
        T_body_inertial = T_body_frame @ self._pose(element)
        if element.get("diaginertia") is not None:
            return Inertial(mass, T_body_inertial, np.diag(self.document.numbers(element, "diaginertia", 3)), element)
        numbers = self.document.numbers(element, "fullinertia", 6)
        tensor = InertialParameters.from_order([0.0, 0.0, 0.0, 0.0, *numbers], "mjcf").inertia
        return Inertial(mass, T_body_inertial, tensor, element)

    def _joint(self, element: Element, T_parent_body: Transform, T_body_frame: Transform) -> BodyJoint:
        r"""A hinge or slide; MuJoCo turns the body about the anchor p, at q = ref as drawn.

        .. math::

            T_{parent,body}(q) = T_{parent,body}(ref) \; T(p) \; J(axis, q - ref) \; T(-p)
        """
        name = self.joint_names[element]
        kind = "free" if element.tag == "freejoint" else element.get("type", "hinge")
        if kind not in ("hinge", "slide"):
            raise self.document.fault(
                element,
                f"joint {name!r} of type {kind!r} is not supported, only hinge and slide; delete it for a fixed base, "
                "or split it into hinges and slides",
            )
        direction = self.document.numbers(element, "axis", 3, (0.0, 0.0, 1.0))
        if not np.any(direction):
            raise self.document.fault(element, f"the axis of joint {name!r} is zero; give it a direction")
        axis = T_body_frame[:3, :3] @ unit(direction)
        anchor = (T_body_frame @ [*self.document.numbers(element, "pos", 3, (0.0, 0.0, 0.0)), 1.0])[:3]
        reference = self._reference(element)
        revolute: Literal["revolute", "prismatic"] = "revolute" if kind == "hinge" else "prismatic"
        return BodyJoint(
            name,
            revolute,
            T_parent_body @ transform(translation=anchor),
            axis,
            _moved(revolute, axis, -reference) @ transform(translation=-anchor),
            self._limits(element, name),
            self.mimics.get(name),
            element,
            self.document.number(element, "armature", 0.0),
        )

    def _reference(self, joint: Element) -> float:
        value = self.document.number(joint, "ref", 0.0)
        return self.compiler.angle(value) if joint.get("type", "hinge") == "hinge" else value

    def _limits(self, element: Element, name: str) -> Limits:
        lower, upper = self._range(element, "range", "limited") or (-np.inf, np.inf)
        if element.get("type", "hinge") == "hinge":
            lower, upper = self.compiler.angle(lower), self.compiler.angle(upper)
        effort = self.efforts.get(name, np.inf)
        own = self._range(element, "actuatorfrcrange", "actuatorfrclimited")
        if own is not None:
            effort = min(effort, max(abs(own[0]), abs(own[1])))
        return Limits(lower, upper, effort=effort)

    def _range(self, element: Element, attribute: str, switch: str) -> tuple[float, float] | None:
        """The two numbers of a range that is switched on."""
        limited = element.get(switch, "auto")
        on = limited == "true" or (limited == "auto" and self.compiler.autolimits)
        if not on or element.get(attribute) is None:
            return None
        lower, upper = self.document.numbers(element, attribute, 2)
        return float(lower), float(upper)

    def _actuator_efforts(self) -> dict[str, float]:
        """Largest torque (N·m or N) of the actuators on each joint, where all of them have a limit."""
        efforts: dict[str, float] = {}
        for group in self.document.root.iterchildren("actuator"):
            for element in group.iterchildren(*ACTUATORS):
                joint = element.get("joint")
                if joint is None:
                    continue
                limit = self._range(element, "forcerange", "forcelimited")
                if limit is None and element.tag == "motor":
                    limit = self._range(element, "ctrlrange", "ctrllimited")
                gear = abs(float(self.document.numbers(element, "gear", None, (1.0,))[0]))
                largest = np.inf if limit is None else gear * max(abs(limit[0]), abs(limit[1]))
                efforts[joint] = efforts.get(joint, 0.0) + largest
        return efforts

    def _equalities(self) -> dict[str, Mimic]:
        """Joint couplings by the joint they drive; anything that closes a loop is refused."""
        mimics: dict[str, Mimic] = {}
        by_name = {name: element for element, name in self.joint_names.items()}
        for group in self.document.root.iterchildren("equality"):
            for element in group.iterchildren("*"):
                if element.get("active") == "false":
                    continue
                if element.tag != "joint":
                    raise self.document.fault(
                        element,
                        f"the constraint <{element.tag}> closes a loop, which is not supported; delete it or switch "
                        'it off with active="false"',
                    )
                names = [name for key in ("joint1", "joint2") if (name := element.get(key)) is not None]
                for name in names:
                    if name not in by_name:
                        raise self.document.fault(element, f"couples joint {name!r}, which does not exist")
                driven = self.document.text(element, "joint1")
                master = element.get("joint2")
                constant, *slopes = self.document.numbers(element, "polycoef", None, (0.0, 1.0))
                mimics[driven] = Mimic(
                    master,
                    (self._reference(by_name[driven]) + constant, *(slopes if master is not None else ())),
                    0.0 if master is None else self._reference(by_name[master]),
                )
        return mimics


def _moved(kind: Literal["revolute", "prismatic"], axis: Vector3, position: float) -> Transform:
    if kind == "revolute":
        return transform(rotation_about(axis, position))
    return transform(translation=axis * position)
