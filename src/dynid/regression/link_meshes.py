"""The convex hull of a link from the meshes that its URDF file names, with all that is fixed to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from lxml import etree

from dynid.arrays import Array, Float, Transform
from dynid.chain.robot import rotation_rpy
from dynid.errors import ParameterError, UnknownName
from dynid.regression.shapes import Hull, mesh_vertices

__all__ = ["link_hull"]

READABLE = (".stl", ".obj")


def link_hull(robot_file: Path, link: str) -> Hull:
    """The hull (m, link frame) of the meshes of a link and of the links fixed to it; collision meshes come first.

    ``package://`` names are looked for beside the URDF file and in the folders above it.

    Raises:
        ParameterError: no URDF, no mesh, or a mesh that is not an STL or OBJ file.
        UnknownName: no such link.
    """
    try:
        root = etree.parse(str(robot_file), etree.XMLParser(resolve_entities=False, no_network=True)).getroot()
    except (OSError, etree.XMLSyntaxError) as error:
        raise ParameterError(f"{robot_file}: cannot be read as URDF: {error}") from error
    names = [str(element.get("name")) for element in root.findall("link")]
    if link not in names:
        raise UnknownName(link, known=names, kind="link", where=str(robot_file))
    points = _points(root, robot_file, link, np.eye(4))
    if not len(points):
        raise ParameterError(
            f"{robot_file}: link {link!r} has no STL or OBJ mesh; give points, a mesh or another shape"
        )
    return Hull.of(points)


def _points(root: etree._Element, robot_file: Path, link: str, T_start_link: Transform) -> Float[Array, "n_points 3"]:
    """Vertices (m) of a link and of all that is fixed to it, in the frame of the link it started from."""
    found = [np.zeros((0, 3))]
    element = next(element for element in root.findall("link") if element.get("name") == link)
    for kind in ("collision", "visual"):
        parts = [part for part in element.findall(kind) if part.find("geometry/mesh") is not None]
        own = [_mesh(part, robot_file, T_start_link) for part in parts]
        if any(len(points) for points in own):
            found += own
            break
    for joint in root.findall("joint"):
        parent, child = joint.find("parent"), joint.find("child")
        if joint.get("type") == "fixed" and parent is not None and child is not None and parent.get("link") == link:
            found.append(_points(root, robot_file, str(child.get("link")), T_start_link @ _origin(joint)))
    return np.concatenate(found)


def _mesh(part: etree._Element, robot_file: Path, T_start_link: Transform) -> Float[Array, "n_points 3"]:
    mesh = part.find("geometry/mesh")
    name = "" if mesh is None else str(mesh.get("filename"))
    if mesh is None or Path(name).suffix.lower() not in READABLE:
        return np.zeros((0, 3))
    scale = np.array(mesh.get("scale", "1 1 1").split(), dtype=float)
    vertices = scale * mesh_vertices(_file(name, robot_file))
    T = T_start_link @ _origin(part)
    return vertices @ T[:3, :3].T + T[:3, 3]


def _origin(element: etree._Element) -> Transform:
    T = np.eye(4)
    origin = element.find("origin")
    if origin is not None:
        T[:3, 3] = np.array(origin.get("xyz", "0 0 0").split(), dtype=float)
        T[:3, :3] = rotation_rpy(*(float(word) for word in origin.get("rpy", "0 0 0").split()))
    return T


def _file(name: str, robot_file: Path) -> Path:
    """Where a mesh lies: a path as it stands, or one beside the URDF file or in a folder above it."""
    plain = name.removeprefix("file://")
    folder = robot_file.resolve().parent
    if not plain.startswith("package://"):
        return folder / plain
    inside = plain.removeprefix("package://")
    _, _, below = inside.partition("/")
    tried = [parent / tail for parent in (folder, *folder.parents) for tail in (inside, below)]
    return next((path for path in tried if path.is_file()), folder / inside)
