"""Shapes that robot files fix to their bodies: hulls of points with a thickness, and meshes by file name."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float, Transform, Vector3, freeze_arrays
from dynid.chain.formats.xml import Element, Markup
from dynid.errors import RobotFileError

__all__ = ["BodyShape", "mesh_shape", "solid_shape", "urdf_solids"]

N_RIM = 12
"""Corners of the polygon around the rim of a cylinder."""
MAX_SIZE = 1e3
"""m; a shape beyond is a mistake of the file, and no part of an arm."""


@dataclass(frozen=True, eq=False)
class BodyShape:
    """One shape of a body: the convex hull of `points` grown by `radius`, or the mesh of a file."""

    points: Float[Array, "n_points 3"]
    """In the body frame, m; none for a mesh, whose file was not opened."""
    radius: float = 0.0
    """m"""
    collides: bool = True
    """Whether the file means it for contact; False for what is only drawn."""
    mesh: str = ""
    """File of the mesh as the robot file names it; a path beside it, or ``package://…``."""
    mesh_folder: Path = Path()
    """Folder of the robot file: a name that is no ``package://`` is relative to it, and lies in it or below."""
    mesh_scale: Vector3 = field(default_factory=lambda: np.ones(3))
    """Size of the file's unit, m."""
    T_body_mesh: Transform = field(default_factory=lambda: np.eye(4))

    def __post_init__(self) -> None:
        freeze_arrays(self)


def solid_shape(kind: str, half_sizes: Vector3, T_body_shape: Transform, *, collides: bool = True) -> BodyShape | None:
    """A box, sphere, capsule, cylinder or ellipsoid of half sizes in m, long side along z; None for anything else.

    A cylinder is the prism around it, an ellipsoid the box around it: both a little larger than they are.
    """
    if not (np.all(np.isfinite(half_sizes)) and np.all(half_sizes >= 0.0) and np.max(half_sizes) < MAX_SIZE):
        return None
    a, b, c = half_sizes.tolist()
    radius = 0.0
    if kind == "sphere":
        points, radius = np.zeros((1, 3)), a
    elif kind == "capsule":
        points, radius = np.array([[0.0, 0.0, -(c - a)], [0.0, 0.0, c - a]]), a
    elif kind == "cylinder":
        angles = 2.0 * np.pi * np.arange(N_RIM) / N_RIM
        rim = np.column_stack([np.cos(angles), np.sin(angles)]) * np.array([a, b]) / np.cos(np.pi / N_RIM)
        points = np.vstack([np.column_stack([rim, np.full(N_RIM, z)]) for z in (-c, c)])
    elif kind in ("box", "ellipsoid"):
        points = np.array(list(itertools.product((-a, a), (-b, b), (-c, c))))
    else:
        return None
    return BodyShape(points @ T_body_shape[:3, :3].T + T_body_shape[:3, 3], radius, collides)


def mesh_shape(
    document: Markup, file: str, scale: Vector3, T_body_mesh: Transform, *, collides: bool, folder: str = ""
) -> BodyShape:
    """The mesh of a file that a robot file names (scale in m); it is not opened here."""
    name = str(Path(folder) / file) if folder else file
    beside = Path(document.source).resolve().parent
    return BodyShape(np.zeros((0, 3)), 0.0, collides, name, beside, scale, T_body_mesh)


def urdf_solids(
    document: Markup, element: Element, T_body_shape: Transform, *, collides: bool
) -> Iterator[BodyShape | None]:
    """The shapes of one `<visual>` or `<collision>` of a URDF (m); None for one that is no solid."""
    # Shapes keep a motion out of things: one that cannot be read is no reason to refuse the robot.
    with contextlib.suppress(RobotFileError):
        for box in element.iterfind("geometry/box"):
            yield solid_shape("box", document.numbers(box, "size", 3) / 2.0, T_body_shape, collides=collides)
        for ball in element.iterfind("geometry/sphere"):
            half = np.full(3, document.number(ball, "radius"))
            yield solid_shape("sphere", half, T_body_shape, collides=collides)
        for kind in ("cylinder", "capsule"):
            for rod in element.iterfind(f"geometry/{kind}"):
                radius, half_length = document.number(rod, "radius"), document.number(rod, "length") / 2.0
                half = np.array([radius, radius, half_length + (radius if kind == "capsule" else 0.0)])
                yield solid_shape(kind, half, T_body_shape, collides=collides)
        for mesh in element.iterfind("geometry/mesh"):
            scale = document.numbers(mesh, "scale", 3, (1.0, 1.0, 1.0))
            yield mesh_shape(document, document.text(mesh, "filename"), scale, T_body_shape, collides=collides)
