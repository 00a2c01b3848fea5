"""What a mesh weighs: volume, centre and second moments of STL and OBJ files, as MuJoCo integrates them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float, Int, Matrix3, Vector3, freeze_arrays
from dynid.chain.formats.includes import neighbour
from dynid.chain.formats.xml import Element, Markup
from dynid.errors import RobotFileError

__all__ = ["MeshAssets", "MeshSolid", "mesh_solid", "read_triangles"]

MAX_MESH_BYTES = 32 * 2**20
"""Largest mesh that is read, bytes; those of robots have some megabytes."""
_FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


@dataclass(frozen=True, eq=False)
class MeshSolid:
    """A homogeneous body in the shape of a mesh."""

    volume: float
    """m³"""
    centre: Vector3
    """Centre of mass in the frame of the mesh, m."""
    moments: Matrix3
    """Inertia tensor about the centre over the mass, m²."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


def read_triangles(path: Path) -> Float[Array, "n_faces 3 3"] | None:
    """The corners of a mesh in its own unit, single precision as MuJoCo keeps them; None for what is no such mesh."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_MESH_BYTES + 1)
    except OSError:
        return None
    if len(data) > MAX_MESH_BYTES:
        return None
    try:
        corners = _of_obj(data) if path.suffix.lower() == ".obj" else _of_stl(data)
    except (ValueError, IndexError):
        return None
    finite = corners is not None and len(corners) > 0 and bool(np.all(np.abs(corners) < 1e9))
    return corners.astype(np.float32).astype(float) if corners is not None and finite else None


def _of_stl(data: bytes) -> Float[Array, "n_faces 3 3"] | None:
    if len(data) < 84 or len(data) != 84 + 50 * struct.unpack("<I", data[80:84])[0]:
        return None  # MuJoCo reads binary files only
    return np.frombuffer(data, _FACET, offset=84)["corners"].astype(float)


def _of_obj(data: bytes) -> Float[Array, "n_faces 3 3"] | None:
    vertices: list[list[float]] = []
    faces: list[Int[Array, " 3"]] = []
    for line in data.decode("latin-1").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            vertices.append([float(word) for word in words[1:4]])
        elif words[:1] == ["f"]:
            numbers = [int(word.split("/")[0]) for word in words[1:]]
            corners = [number - 1 if number > 0 else len(vertices) + number for number in numbers]
            faces += [np.array([corners[0], corners[k], corners[k + 1]]) for k in range(1, len(corners) - 1)]
    if not faces or min(map(int, map(np.min, faces))) < 0:
        return None
    return np.array(vertices, dtype=float).reshape(-1, 3)[np.array(faces)]


def mesh_solid(triangles: Float[Array, "n_faces 3 3"], *, signed: bool) -> MeshSolid | None:
    """The solid (m, m³) between the faces and a point inside; None where it has no volume.

    Unless `signed`, every tetrahedron counts as positive, as MuJoCo does by default: meshes need not be closed then.
    """
    a, b, c = np.moveaxis(triangles, 1, 0)
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2.0
    if not areas.sum() > 0.0:
        return None
    apex = areas @ triangles.mean(axis=1) / areas.sum()
    volumes = _volumes(triangles - apex, signed=signed)
    volume = float(volumes.sum())
    if not volume > 0.0:
        return None
    centre = volumes @ ((a + b + c + apex) / 4.0) / volume
    local = triangles - centre
    weights = _volumes(local, signed=signed)
    total = local.sum(axis=1)
    # ∫ x xᵀ over a tetrahedron with one corner at the origin: V/20 (Σ pᵢ pᵢᵀ + s sᵀ), s the sum of its corners.
    second = np.einsum("n,nki,nkj->ij", weights, local, local) + np.einsum("n,ni,nj->ij", weights, total, total)
    volume = float(weights.sum())
    second /= 20.0 * volume
    return MeshSolid(volume, centre, np.trace(second) * np.eye(3) - second)


class MeshAssets:
    """The meshes of an MJCF document that give mass, each read once; nothing outside its folder is opened."""

    def __init__(self, document: Markup, folder: str, *, strip_path: bool) -> None:
        self.document = document
        self.folder = folder
        self.strip_path = strip_path
        self.known: dict[str, MeshSolid | None] = {}

    def solid(self, name: str) -> MeshSolid | None:
        """The solid (m, m³) of a mesh; None where its file is not here, is no STL or OBJ, or has no volume."""
        if name not in self.known:
            assets = [m for group in self.document.root.iterchildren("asset") for m in group.iterchildren("mesh")]
            found = (m for m in assets if (m.get("name") or Path(m.get("file", "")).stem) == name)
            element = next(found, None)
            self.known[name] = None if element is None else self._read(element)
        return self.known[name]

    def _read(self, element: Element) -> MeshSolid | None:
        rule, file = element.get("inertia", "legacy"), element.get("file")
        moved = element.get("refpos") is not None or element.get("refquat") is not None
        if file is None or moved or rule == "shell" or Path(file).suffix.lower() not in (".stl", ".obj"):
            return None
        base = Path(self.document.source).resolve().parent
        try:
            name = Path(file).name if self.strip_path else file
            path = neighbour(base, str(Path(self.folder) / name), self.document, element)
        except RobotFileError:
            return None
        triangles = read_triangles(path)
        if triangles is None:
            return None
        triangles = triangles * self.document.numbers(element, "scale", 3, (1.0, 1.0, 1.0))
        if rule == "convex":
            from scipy.spatial import ConvexHull, QhullError

            points = triangles.reshape(-1, 3)
            try:
                triangles = points[ConvexHull(points).simplices]
            except QhullError:
                return None
        return mesh_solid(triangles, signed=rule == "exact")


def _volumes(triangles: Float[Array, "n_faces 3 3"], *, signed: bool) -> Float[Array, " n_faces"]:
    volumes = np.linalg.det(triangles) / 6.0
    return volumes if signed else np.abs(volumes)
