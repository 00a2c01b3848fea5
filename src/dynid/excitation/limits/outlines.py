"""What the links of a robot look like, as far as its file and its meshes say: solids by link, the base first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float, Transform, freeze_arrays
from dynid.chain.formats.assembly import read_bodies
from dynid.chain.formats.bodies import Body, BodyTree
from dynid.chain.formats.body_shapes import BodyShape
from dynid.chain.formats.mesh_mass import read_triangles
from dynid.chain.robot import BASE, Joint, JointType, Link, Robot
from dynid.errors import RobotFileError

__all__ = ["LinkOutline", "OutlineSolid", "read_outlines"]

PACKAGE = "package://"


@dataclass(frozen=True, eq=False)
class OutlineSolid:
    """The convex hull of points, or the surface of triangles, grown by a radius."""

    points: Float[Array, "n_points 3"]
    """In the link frame, m."""
    triangles: Float[Array, "n_faces 3 3"]
    """The faces of a mesh in the link frame, m; none where the solid is the hull of its points."""
    radius: float = 0.0
    """m"""

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class LinkOutline:
    """What one link, or the base, looks like."""

    solids: tuple[OutlineSolid, ...]
    frames: Float[Array, "n_frames 3"]
    """Origins of the bodies that are fixed to it in the link frame, m: a tool, a flange."""
    missing: tuple[str, ...] = ()
    """Meshes that could not be read."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


def read_outlines(robot: Robot, packages: Sequence[Path] = ()) -> tuple[LinkOutline, ...] | None:
    """The outlines of the base and of every link of a robot that came from a URDF or MJCF file (m), else None.

    Shapes for contact serve where a body has any, what is drawn of it otherwise. ``package://`` is looked for in
    `packages` and beside the robot file; nothing outside of these folders is opened.
    """
    source = Path(robot.source)
    if source.suffix.lower() == ".toml" or not source.is_file():
        return None
    try:
        tree = read_bodies(source)
    except RobotFileError:
        return None
    parts: list[list[tuple[Body, Transform]]] = [[] for _ in range(robot.n_dof + 1)]
    for carrier, body, T in _placed(robot, tree):
        parts[carrier + 1].append((body, T))
    if not all(parts[1:]):
        return None  # the robot is not that of the file any more
    return tuple(_outline(part, packages) for part in parts)


def _placed(robot: Robot, tree: BodyTree) -> Iterator[tuple[int, Body, Transform]]:
    """Every body, the joint (or `BASE`) that moves it, and its frame in the frame of that joint's link."""
    place: dict[str, tuple[int, Transform]] = {}
    for body in tree.bodies:
        if body.joint is None or body.parent is None:
            place[body.name] = (BASE, np.eye(4))
        elif body.parent in place:
            carrier, T_carrier_parent = place[body.parent]
            joint = body.joint
            if joint.name in robot.joint_names:
                place[body.name] = (robot.index(joint.name), np.eye(4))
            else:
                T = T_carrier_parent @ joint.T_parent_joint
                if body.moves:
                    kind: JointType = "prismatic" if joint.kind == "prismatic" else "revolute"
                    held = Joint(joint.name, kind, BASE, T, joint.axis, Link(body.name), joint.T_joint_body)
                    T = held.T_parent_link(robot.held.get(joint.name, joint.drawn))
                place[body.name] = (carrier, T)
        if body.name in place:
            yield place[body.name][0], body, place[body.name][1]


def _outline(part: Sequence[tuple[Body, Transform]], packages: Sequence[Path]) -> LinkOutline:
    solids: list[OutlineSolid] = []
    missing: list[str] = []
    for body, T in part:
        meant = [shape for shape in body.shapes if shape.collides]
        for shape in meant or body.shapes:
            solid = _solid(shape, T, packages)
            if solid is None:
                missing.append(shape.mesh)
            else:
                solids.append(solid)
    frames = np.array([T[:3, 3] for body, T in part if not body.virtual]).reshape(-1, 3)
    return LinkOutline(tuple(solids), frames, tuple(dict.fromkeys(missing)))


def _solid(shape: BodyShape, T_link_body: Transform, packages: Sequence[Path]) -> OutlineSolid | None:
    if not shape.mesh:
        return OutlineSolid(_moved(shape.points, T_link_body), np.zeros((0, 3, 3)), shape.radius)
    for path in _candidates(shape, packages):
        triangles = read_triangles(path)
        if triangles is not None:
            T = T_link_body @ shape.T_body_mesh
            moved = _moved((triangles * shape.mesh_scale).reshape(-1, 3), T)
            return OutlineSolid(np.unique(moved, axis=0), moved.reshape(-1, 3, 3))
    return None


def _moved(points: Float[Array, "n_points 3"], T: Transform) -> Float[Array, "n_points 3"]:
    return points @ T[:3, :3].T + T[:3, 3]


def _candidates(shape: BodyShape, packages: Sequence[Path]) -> Iterator[Path]:
    """Where a mesh may be; only what lies in the folder it is looked for in."""
    name = shape.mesh.removeprefix("file://")
    if "\0" in name:
        return
    folders = [*(folder.resolve() for folder in packages), shape.mesh_folder]
    if name.startswith(PACKAGE):
        whole = name.removeprefix(PACKAGE)
        names = [whole, whole.partition("/")[2]]
    else:
        names = [name]
    for folder in folders:
        for one in names:
            path = (folder / one).resolve()
            if one and path.is_relative_to(folder) and path.is_file():
                yield path
