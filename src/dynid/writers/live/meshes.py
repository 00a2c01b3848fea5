"""Visual meshes of a URDF file, where they lie beside it and can be read: binary STL and OBJ."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.formats.mesh_mass import read_triangles
from dynid.chain.formats.xml import Element, Markup, read_markup
from dynid.chain.placement import rotation_rpy, transform
from dynid.chain.robot import Robot
from dynid.errors import RobotFileError

__all__ = ["LinkMesh", "robot_meshes"]

MAX_FACES = 200_000
"""Faces of all meshes together above which capsules are drawn: a browser without a graphics card must follow."""


@dataclass(frozen=True, eq=False)
class LinkMesh:
    """Triangles in the frame of a link, m."""

    link: int
    """Index of the link."""
    triangles: Float[Array, "n_faces 3 3"]

    def __post_init__(self) -> None:
        freeze_arrays(self)


def robot_meshes(robot: Robot, path: Path) -> list[LinkMesh]:
    """The meshes (m) of the links of a robot by its URDF file; empty where there are none, or they are too large.

    Raises:
        RobotFileError: the file is no URDF.
    """
    document = read_markup(path)
    found: list[LinkMesh] = []
    for element in document.root.iterchildren("link"):
        name = element.get("name")
        if name not in robot.link_names:
            continue
        index = robot.link_names.index(name)
        # The URDF's link frame is the moved joint frame.
        T_link_urdf = np.linalg.inv(robot.joints[index].T_joint_link)
        for visual in element.iterchildren("visual"):
            triangles = _triangles(document, visual, path)
            if triangles is not None:
                T = T_link_urdf @ _origin(document, visual)
                found.append(LinkMesh(index, triangles @ T[:3, :3].T + T[:3, 3]))
    n_faces = sum(len(mesh.triangles) for mesh in found)
    return found if n_faces <= MAX_FACES else []


def _origin(document: Markup, visual: Element) -> Float[Array, "4 4"]:
    origin = visual.find("origin")
    if origin is None:
        return np.eye(4)
    zero = (0.0, 0.0, 0.0)
    roll, pitch, yaw = document.numbers(origin, "rpy", 3, zero)
    return transform(rotation_rpy(roll, pitch, yaw), document.numbers(origin, "xyz", 3, zero))


def _triangles(document: Markup, visual: Element, path: Path) -> Float[Array, "n_faces 3 3"] | None:
    mesh = visual.find("geometry/mesh")
    file = None if mesh is None else _beside(path, mesh.get("filename", ""))
    if mesh is None or file is None:
        return None
    triangles = read_triangles(file)
    try:
        scale = document.numbers(mesh, "scale", 3, (1.0, 1.0, 1.0))
    except RobotFileError:
        return None
    return None if triangles is None else triangles * np.asarray(scale)


def _beside(path: Path, name: str) -> Path | None:
    """A mesh in the folder of the robot file or below, or in the package around it; nothing else is opened."""
    parts = name.removeprefix("package://").removeprefix("file://").split("/")
    folders = [path.resolve().parent, *path.resolve().parents[1:3]]
    for folder in folders:
        for skipped in range(min(2, len(parts))):
            candidate = folder.joinpath(*parts[skipped:]).resolve()
            if (
                candidate.is_relative_to(folder)
                and candidate.suffix.lower() in (".stl", ".obj")
                and candidate.is_file()
            ):
                return candidate
    return None
