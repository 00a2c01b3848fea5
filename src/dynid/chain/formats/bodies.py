"""A robot file body by body, before fixed links are lumped: what `assembly` lumps and `lint` examines."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float, Matrix3, Transform, Vector3, freeze_arrays
from dynid.chain.formats.body_shapes import BodyShape
from dynid.chain.formats.xml import Element, Markup
from dynid.chain.inertia import InertialParameters
from dynid.chain.limits import Limits
from dynid.chain.robot import STANDARD_GRAVITY
from dynid.errors import RobotFileError

__all__ = ["Body", "BodyJoint", "BodyTree", "Inertial", "Mimic", "box_corners", "depth_first", "refuse_doubles"]


@dataclass(frozen=True, eq=False)
class Inertial:
    """Mass, centre of mass and inertia of one body in the axes in which its file writes them."""

    mass: float
    """kg"""
    T_body_inertial: Transform
    """Centre of mass (m) and axes of the tensor in the body frame."""
    tensor: Matrix3
    """About the centre of mass, inertial axes, kg·m²."""
    element: Element | None = None
    """The element that says so; None when computed from geometry or not from a file."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def com(self) -> Vector3:
        """Centre of mass in the body frame, m."""
        return self.T_body_inertial[:3, 3]

    @property
    def parameters(self) -> InertialParameters:
        """The ten numbers about the body frame (SI)."""
        R = self.T_body_inertial[:3, :3]
        return InertialParameters.from_com(self.mass, self.com, R @ self.tensor @ R.T)


@dataclass(frozen=True)
class Mimic:
    """A joint whose position is a polynomial of its master's."""

    master: str | None
    """None: the joint is held at a constant position."""
    coefficients: tuple[float, ...]
    """Of powers 0, 1, … of the master position minus `master_zero`, rad or m."""
    master_zero: float = 0.0
    """rad or m"""

    def position(self, master_position: float) -> float:
        """The position (rad or m) that the master's dictates."""
        return float(np.polynomial.polynomial.polyval(master_position - self.master_zero, self.coefficients))


@dataclass(frozen=True, eq=False)
class BodyJoint:
    """The joint that connects a body to its parent, limits as written (even reversed ones)."""

    name: str
    kind: Literal["revolute", "prismatic", "fixed"]
    T_parent_joint: Transform
    """Joint frame in the parent body frame."""
    axis: Vector3 = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    """In the joint frame; any length but zero."""
    T_joint_body: Transform = field(default_factory=lambda: np.eye(4))
    """Body frame in the moved joint frame; the identity for a fixed joint."""
    limits: Limits = field(default_factory=Limits)
    mimic: Mimic | None = None
    element: Element | None = None
    rotor_inertia: float = 0.0
    """Of rotor and gear at the joint (MJCF `armature`), kg·m² or kg."""
    drawn: float = 0.0
    """Position in which the file draws it (MJCF `ref`), rad or m: where it stays when nothing else is known."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class Body:
    """One `<link>` or `<body>`, or a `virtual` one: the world, or what separates two joints of an MJCF body."""

    name: str
    parent: str | None
    """None for the root."""
    joint: BodyJoint | None
    """None for the root."""
    inertial: Inertial | None
    """None where the file says nothing that can be read without meshes."""
    corners: Float[Array, "n_corners 3"] = field(default_factory=lambda: np.zeros((0, 3)))
    """Corners of the boxes around its primitive shapes, body frame, m."""
    element: Element | None = None
    virtual: bool = False
    shapes: tuple[BodyShape, ...] = ()
    """What the file draws it as, and what it means for contact."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def moves(self) -> bool:
        """Whether its own joint moves it."""
        return self.joint is not None and self.joint.kind != "fixed"


@dataclass(frozen=True, eq=False)
class BodyTree:
    """All bodies of a robot, parents before children."""

    name: str
    source: str
    bodies: tuple[Body, ...]
    gravity: Vector3 = field(default_factory=lambda: np.array([0.0, 0.0, -STANDARD_GRAVITY]))
    """In base axes, m/s²."""
    document: Markup | None = None
    """None for a robot that does not come from XML."""
    loops: tuple[tuple[str, str], ...] = ()
    """Pairs of bodies that a constraint ties together, so that the joints between them form a closed loop."""
    notes: tuple[str, ...] = ()
    """What the reader passed over or decided by itself, a sentence each."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def describe(self, element: Element | None, fallback: str) -> str:
        """Where in the file `element` is, or source and `fallback` without one."""
        if self.document is None or element is None:
            return f"{self.source}: {fallback}"
        return self.document.describe(element)

    def fault(self, part: Body | BodyJoint, problem: str) -> RobotFileError:
        """The error that blames a body or joint by file, line and name."""
        return RobotFileError(f"{self.describe(part.element, part.name)}: {problem}")


def depth_first(document: Markup, bodies: Sequence[Body]) -> tuple[tuple[Body, ...], tuple[str, ...]]:
    """The bodies in depth-first order, siblings as in the file, and what was left out.

    Of several roots the one that carries most moving joints is taken, the first of equals.

    Raises:
        RobotFileError: a loop of joints that nothing connects to a root, naming a body.
    """
    children: dict[str, list[Body]] = {}
    for body in bodies:
        if body.parent is not None:
            children.setdefault(body.parent, []).append(body)
    trees: list[list[Body]] = []
    for root in (body for body in bodies if body.parent is None):
        ordered: list[Body] = []
        stack = [root]
        while stack:
            body = stack.pop()
            ordered.append(body)
            stack += reversed(children.get(body.name, []))
        trees.append(ordered)
    reached = {body.name for tree in trees for body in tree}
    loop = next((body for body in bodies if body.name not in reached), None)
    if loop is not None:
        what = f"link {loop.name!r} is part of a loop of joints, so nothing connects it to the base"
        raise RobotFileError(f"{document.source}: {what}; remove the joint that closes the loop")
    chosen = max(trees, key=lambda tree: sum(body.moves for body in tree))
    others = [tree[0].name for tree in trees if tree is not chosen]
    notes = (
        f"several links have no parent: {chosen[0].name} is taken for the base, and what hangs on {', '.join(others)} "
        "is left out",
    )
    return tuple(chosen), notes if others else ()


def refuse_doubles(document: Markup, elements: Sequence[tuple[str, Element]], kind: str) -> None:
    """Refuse a name that two elements share.

    Raises:
        RobotFileError: at the second one.
    """
    seen: set[str] = set()
    for name, element in elements:
        if name in seen:
            raise document.fault(element, f"{kind} name {name!r} is used twice; names must be unique")
        seen.add(name)


def box_corners(T_body_shape: Transform, half_sizes: Vector3) -> Float[Array, "8 3"]:
    """The corners (body frame, m) of a box with the given half sizes (m) centred on the shape frame."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    return (signs * half_sizes) @ T_body_shape[:3, :3].T + T_body_shape[:3, 3]
