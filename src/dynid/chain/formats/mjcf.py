"""MJCF read body by body as MuJoCo compiles it, every number checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from dynid.arrays import Transform, Vector3
from dynid.chain.formats.bodies import Body, BodyJoint, BodyTree, Inertial, box_corners, refuse_doubles
from dynid.chain.formats.body_shapes import BodyShape
from dynid.chain.formats.includes import MAX_DEPTH, neighbour, read_document
from dynid.chain.formats.mesh_mass import MeshAssets
from dynid.chain.formats.mjcf_parts import (
    ACTUATORS,
    Compiler,
    GeomShape,
    drawn_shape,
    inherit_defaults,
    read_compiler,
    read_shape,
    welded,
)
from dynid.chain.formats.mjcf_ties import grafted, joint_reference, read_ties
from dynid.chain.formats.replicas import write_out_replicas
from dynid.chain.formats.xml import Element, Markup
from dynid.chain.inertia import InertialParameters
from dynid.chain.limits import Limits
from dynid.chain.placement import rotation_about, transform, unit

__all__ = ["MUJOCO_GRAVITY", "read_mjcf_bodies"]

MUJOCO_GRAVITY = (0.0, 0.0, -9.81)
"""What MuJoCo takes when `<option>` says nothing, m/s²."""

_GENERATORS = ("composite", "flexcomp")
"""Cables, cloth and soft bodies: no part of an arm."""
_WORLD = "world"


@dataclass(frozen=True, eq=False)
class _Place:
    """A body element (or an `<attach>`), where it is, and what it is called."""

    name: str
    element: Element
    parent: str
    T_parent_body: Transform


def read_mjcf_bodies(document: Markup, *, square: bool = False, depth: int = 0) -> BodyTree:
    """Every body of an MJCF with the joint that carries it, SI, in MuJoCo's order.

    Several joints of one body become a chain of bodies without mass. Free and ball joints are held. `square` makes
    rounded right angles exact; `depth` counts the models that attach one another.

    Raises:
        RobotFileError: naming file, line and element.
    """
    compiler = read_compiler(document, square=square)
    write_out_replicas(document, compiler)
    inherit_defaults(document)
    reader = _Reader(document, compiler, depth)
    bodies = [Body(_WORLD, None, None, None, element=document.root, virtual=True), *reader.bodies()]
    gravity = np.array(MUJOCO_GRAVITY)
    for option in document.root.iterchildren("option"):
        gravity = document.numbers(option, "gravity", 3, gravity.tolist())
        if any(flag.get("gravity") == "disable" for flag in option.iterchildren("flag")):
            gravity = np.zeros(3)
    return BodyTree(
        document.root.get("model") or "robot",
        document.source,
        _with_total_mass(bodies, compiler.total_mass),
        gravity,
        document,
        loops=(*reader.ties.loops, *reader.loops),
        notes=(*reader.ties.notes, *reader.told()),
    )


def _with_total_mass(bodies: Sequence[Body], total_mass: float) -> tuple[Body, ...]:
    """The bodies with masses and inertias scaled to a sum in kg; 0 leaves them."""
    total = sum(body.inertial.mass for body in bodies if body.inertial is not None)
    if not total_mass or not total > 0.0:
        return tuple(bodies)
    scale = total_mass / total

    def scaled(inertial: Inertial) -> Inertial:
        return replace(inertial, mass=scale * inertial.mass, tensor=scale * inertial.tensor)

    return tuple(body if body.inertial is None else replace(body, inertial=scaled(body.inertial)) for body in bodies)


class _Reader:
    """The walk through one `<worldbody>`; holds what applies to the whole file."""

    def __init__(self, document: Markup, compiler: Compiler, depth: int) -> None:
        self.document = document
        self.compiler = compiler
        self.depth = depth
        self.joint_names = self._names("joint")
        self.body_names = self._names("body")
        self.efforts = self._actuator_efforts()
        self.ties = read_ties(document, compiler, self.joint_names, self.body_names)
        self.loops: list[tuple[str, str]] = []
        self.held: list[str] = []
        self.of_meshes: list[str] = []
        self.generated: list[str] = []
        self.of_models: list[str] = []
        self.moved: set[str] = set()
        self.meshes = MeshAssets(document, compiler.mesh_folder, strip_path=compiler.strip_path)

    def told(self) -> tuple[str, ...]:
        """What was decided on the way, a sentence each."""
        notes = [*self.of_models]
        if self.held:
            notes.append(f"free and ball joints are held where the file draws them: {', '.join(self.held)}")
        if self.of_meshes:
            notes.append(
                f"mass that only meshes know is missing, since these cannot be read: {', '.join(self.of_meshes)}"
            )
        if self.generated:
            notes.append(f"left out, since no arm has such parts: {', '.join(dict.fromkeys(self.generated))}")
        return tuple(notes)

    def bodies(self) -> Iterator[Body]:
        worlds = list(self.document.root.iterchildren("worldbody"))
        if not worlds:
            raise self.document.fault(
                self.document.root, "there is no <worldbody>; is this a part that other files include?"
            )
        stack: list[_Place] = []
        for world in reversed(worlds):
            stack += reversed(self._children(world, _WORLD))
        while stack:
            place = stack.pop()
            if place.element.tag == "attach":
                yield from self._attached(place)
                continue
            yield from self._read(place)
            stack += reversed(self._children(place.element, place.name))

    def _attached(self, place: _Place) -> Iterator[Body]:
        """The bodies of another model, their names with a prefix."""
        document, element = self.document, place.element
        name = document.text(element, "model")
        assets = [asset for group in document.root.iterchildren("asset") for asset in group.iterchildren("model")]
        file = next((a.get("file") for a in assets if (a.get("name") or Path(a.get("file", "")).stem) == name), None)
        if file is None:
            raise document.fault(element, f"attaches the model {name!r}, which no <asset> names")
        if self.depth >= MAX_DEPTH:
            raise document.fault(element, f"models attached more than {MAX_DEPTH} deep")
        folder = Path(document.source).resolve().parent
        other = read_document(neighbour(folder, file, document, element))
        tree = read_mjcf_bodies(other, square=self.compiler.square, depth=self.depth + 1)
        self.of_models += tree.notes
        prefix = element.get("prefix", "")
        self.loops += [(prefix + one, prefix + two) for one, two in tree.loops]
        yield from grafted(tree, element.get("body"), prefix, place.parent, place.T_parent_body)

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
                self.generated.append(f"<{element.tag}>")
                continue
            if element.tag != "frame":
                yield element, T_body_frame
                continue
            inner = T_body_frame @ self._pose(element)
            stack += [(child, inner) for child in reversed(list(element.iterchildren("*")))]

    def _pose(self, element: Element) -> Transform:
        position = self.document.numbers(element, "pos", 3, (0.0, 0.0, 0.0))
        return transform(self.compiler.rotation(self.document, element), position)

    def _children(self, element: Element, name: str) -> list[_Place]:
        places = []
        for child, T_body_frame in self._contents(element):
            if child.tag == "body":
                places.append(_Place(self.body_names[child], child, name, T_body_frame @ self._pose(child)))
            elif child.tag == "attach":
                places.append(_Place("", child, name, T_body_frame))
        return places

    def _read(self, place: _Place) -> Iterator[Body]:
        joints, shapes, inertial = [], [], None
        outline: list[BodyShape] = []
        for element, T_body_frame in self._contents(place.element):
            if element.tag in ("joint", "freejoint"):
                if element.tag == "joint" and element.get("type", "hinge") in ("hinge", "slide"):
                    joints.append((element, T_body_frame))
                else:
                    self.held.append(f"{self.joint_names[element]} of {place.name}")
            elif element.tag == "geom":
                shapes.append(read_shape(self.document, self.compiler, element, T_body_frame, self.meshes))
                outline += drawn_shape(self.document, self.compiler, element, shapes[-1])
            elif element.tag == "inertial":
                inertial = self._inertial(element, T_body_frame)
        if joints or place.parent in self.moved:
            self.moved.add(place.name)
        corners = [box_corners(shape.T_body_shape, np.array(shape.half_sizes)) for shape in shapes if shape.half_sizes]
        around = np.concatenate(corners) if corners else np.zeros((0, 3))
        chosen = self._choose(place, inertial, shapes)
        if not joints:
            weld = BodyJoint(f"{place.name} weld", "fixed", place.T_parent_body, element=place.element)
            yield Body(place.name, place.parent, weld, chosen, around, place.element, shapes=tuple(outline))
            return
        parent, T_parent_body = place.parent, place.T_parent_body
        massless = Inertial(0.0, np.eye(4), np.zeros((3, 3)))
        for element, T_body_frame in joints[:-1]:
            joint = self._joint(element, T_parent_body, T_body_frame)
            name = f"{place.name}.{joint.name}"
            yield Body(name, parent, joint, massless, element=place.element, virtual=True)
            parent, T_parent_body = name, np.eye(4)
        joint = self._joint(joints[-1][0], T_parent_body, joints[-1][1])
        yield Body(place.name, parent, joint, chosen, around, place.element, shapes=tuple(outline))

    def _choose(self, place: _Place, inertial: Inertial | None, shapes: list[GeomShape]) -> Inertial | None:
        policy = self.compiler.inertia_from_geometry
        if policy == "false" or (policy != "true" and inertial is not None):
            return self.compiler.bounded(inertial, place.T_parent_body)
        parts = [shape.inertial for shape in shapes if shape.inertial is not None]
        if len(parts) < len(shapes):
            # A mesh with mass: only the mesh knows. What the base weighs is no matter.
            self.of_meshes += [place.name] if place.name in self.moved else []
            return None
        total = welded(parts)
        return self.compiler.bounded(total if total.mass > 0.0 else None, place.T_parent_body)

    def _inertial(self, element: Element, T_body_frame: Transform) -> Inertial:
        document, mass = self.document, self.document.number(element, "mass")
        T_body_inertial = T_body_frame @ self._pose(element)
        if element.get("fullinertia") is None:
            moments = document.numbers(element, "diaginertia", 3, (0.0, 0.0, 0.0))
            return Inertial(mass, T_body_inertial, np.diag(moments), element)
        if element.get("diaginertia") is not None:
            raise document.fault(element, "needs either 'diaginertia' or 'fullinertia', not both")
        numbers = document.numbers(element, "fullinertia", 6)
        tensor = InertialParameters.from_order([0.0, 0.0, 0.0, 0.0, *numbers], "mjcf").inertia
        return Inertial(mass, T_body_inertial, tensor, element)

    def _joint(self, element: Element, T_parent_body: Transform, T_body_frame: Transform) -> BodyJoint:
        r"""A hinge or slide; MuJoCo turns the body about the anchor p, at q = ref as drawn.

        .. math::

            T_{parent,body}(q) = T_{parent,body}(ref) \; T(p) \; J(axis, q - ref) \; T(-p)
        """
        name = self.joint_names[element]
        direction = self.document.numbers(element, "axis", 3, (0.0, 0.0, 1.0))
        if not np.any(direction):
            raise self.document.fault(element, f"the axis of joint {name!r} is zero; give it a direction")
        axis = T_body_frame[:3, :3] @ unit(direction)
        anchor = (T_body_frame @ [*self.document.numbers(element, "pos", 3, (0.0, 0.0, 0.0)), 1.0])[:3]
        reference = joint_reference(self.document, self.compiler, element)
        revolute: Literal["revolute", "prismatic"] = (
            "revolute" if element.get("type", "hinge") == "hinge" else "prismatic"
        )
        return BodyJoint(
            name,
            revolute,
            T_parent_body @ transform(translation=anchor),
            axis,
            _moved(revolute, axis, -reference) @ transform(translation=-anchor),
            self._limits(element, name),
            self.ties.mimics.get(name),
            element,
            self.document.number(element, "armature", 0.0),
            reference,
        )

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

    def _is_torque_source(self, element: Element) -> bool:
        """Whether an actuator gives its control as torque, up to a constant; others feed positions back."""
        if element.tag != "general":
            return bool(element.tag == "motor")
        if element.get("gainprm") is not None or element.get("gaintype", "fixed") != "fixed":
            return False
        bias = self.document.numbers(element, "biasprm", None, (0.0,))
        return element.get("dyntype", "none") == "none" and not np.any(bias[1:])

    def _actuator_efforts(self) -> dict[str, float]:
        """Largest torque (N·m or N) of the actuators on each joint, where all of them have a limit."""
        efforts: dict[str, float] = {}
        for group in self.document.root.iterchildren("actuator"):
            for element in group.iterchildren(*ACTUATORS):
                joint = element.get("joint")
                if joint is None:
                    continue
                limit = self._range(element, "forcerange", "forcelimited")
                if limit is None and self._is_torque_source(element):
                    limit = self._range(element, "ctrlrange", "ctrllimited")
                gear = abs(float(self.document.numbers(element, "gear", None, (1.0,))[0]))
                largest = np.inf if limit is None else gear * max(abs(limit[0]), abs(limit[1]))
                efforts[joint] = efforts.get(joint, 0.0) + largest
        return efforts


def _moved(kind: Literal["revolute", "prismatic"], axis: Vector3, position: float) -> Transform:
    if kind == "revolute":
        return transform(rotation_about(axis, position))
    return transform(translation=axis * position)
