"""The convex hull of a link from the meshes that its URDF file names, with all that is fixed to it."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import numpy as np

from dynid.arrays import Array, Float, Transform
from dynid.chain.formats.xml import Element, Markup, read_markup
from dynid.chain.placement import rotation_rpy, transform
from dynid.errors import ParameterError, RobotFileError, UnknownName
from dynid.regression.constraints.regions import Hull, mesh_vertices

__all__ = ["link_hull"]

READABLE = (".stl", ".obj")
"""Meshes that can be read."""
PACKAGE = "package://"
"""How robot files name a mesh in a ROS package."""
ZERO = (0.0, 0.0, 0.0)
"""What a URDF origin means where it says nothing."""


def link_hull(robot_file: Path, link: str) -> Hull:
    """The hull (m, link frame) of the meshes of a link and of the links fixed to it; collision meshes come first.

    ``package://`` names are looked for beside the URDF file and in the folders above it. Other names must lie beside
    the URDF file, below it, or in a neighbour of its folder (``../meshes``): a robot file opens nothing else.

    Raises:
        ParameterError: no URDF, no mesh, or a mesh that is not an STL or OBJ file.
        UnknownName: no such link.
    """
    try:
        document = read_markup(robot_file)
        names = [document.text(element, "name") for element in document.root.iterchildren("link")]
        if link not in names:
            raise UnknownName(link, known=names, kind="link", where=str(robot_file))
        points = _points(document, robot_file, link)
    except RobotFileError as error:
        raise ParameterError(f"{error}; the hull of a link needs a URDF file") from error
    if not len(points):
        raise ParameterError(
            f"{robot_file}: link {link!r} has no STL or OBJ mesh; give points, a mesh or another shape"
        )
    try:
        return Hull.of(points)
    except ParameterError as error:
        raise ParameterError(f"{robot_file}: link {link!r}: {error}") from error


def _points(document: Markup, robot_file: Path, link: str) -> Float[Array, "n_points 3"]:
    """Vertices (m) of a link and of all that is fixed to it, in the frame of the link."""
    found = [np.zeros((0, 3))]
    root = document.root
    waiting = [(link, np.eye(4))]
    seen: set[str] = set()
    while waiting:
        name, T_link_part = waiting.pop()
        element = next((element for element in root.iterchildren("link") if element.get("name") == name), None)
        if element is None or name in seen:
            continue
        seen.add(name)
        for kind in ("collision", "visual"):
            parts = [part for part in element.iterchildren(kind) if part.find("geometry/mesh") is not None]
            own = [_mesh(document, part, robot_file, T_link_part) for part in parts]
            if any(len(points) for points in own):
                found += own
                break
        for joint in root.iterchildren("joint"):
            parent, child = joint.find("parent"), joint.find("child")
            if joint.get("type") == "fixed" and parent is not None and child is not None and parent.get("link") == name:
                waiting.append((str(child.get("link")), T_link_part @ _origin(document, joint)))
    return np.concatenate(found)


def _mesh(document: Markup, part: Element, robot_file: Path, T_link_part: Transform) -> Float[Array, "n_points 3"]:
    mesh = part.find("geometry/mesh")
    if mesh is None or Path(mesh.get("filename", "")).suffix.lower() not in READABLE:
        return np.zeros((0, 3))
    scale = document.numbers(mesh, "scale", 3, (1.0, 1.0, 1.0))
    vertices = scale * mesh_vertices(_file(document, mesh, robot_file))
    T = T_link_part @ _origin(document, part)
    return vertices @ T[:3, :3].T + T[:3, 3]


def _origin(document: Markup, element: Element) -> Transform:
    origin = element.find("origin")
    if origin is None:
        return np.eye(4)
    roll, pitch, yaw = document.numbers(origin, "rpy", 3, ZERO)
    return transform(rotation_rpy(roll, pitch, yaw), document.numbers(origin, "xyz", 3, ZERO))


def _file(document: Markup, mesh: Element, robot_file: Path) -> Path:
    """Where a mesh lies: beside the URDF file, or in a package there or in a folder above it."""
    name = mesh.get("filename", "").removeprefix("file://")
    folder = robot_file.resolve().parent
    if not name.startswith(PACKAGE):
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.parent):
            raise document.fault(
                mesh, f"the mesh {name!r} lies elsewhere; a robot file may only name meshes beside it or in ../"
            )
        return path
    inside = PurePosixPath(name.removeprefix(PACKAGE))
    if ".." in inside.parts or inside.is_absolute():
        raise document.fault(mesh, f"the mesh {name!r} leads out of its package; write the way inside it")
    below = PurePosixPath(*inside.parts[1:])
    tried = [parent / tail for parent in (folder, *folder.parents) for tail in (inside, below)]
    return next((path for path in tried if path.is_file()), folder / inside)
