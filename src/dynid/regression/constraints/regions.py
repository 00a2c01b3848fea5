"""Regions that must hold a centre of mass: how far outside a point lies, in which direction, and their convex form."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array, ArrayLike, Float, Vector3, freeze_arrays
from dynid.chain.consistency import Box, Ellipsoid
from dynid.chain.placement import MAX_LENGTH
from dynid.errors import ParameterError

__all__ = [
    "ConvexPart",
    "Frustum",
    "Hull",
    "Region",
    "RegionUnion",
    "Solid",
    "Sphere",
    "convex_parts",
    "mesh_vertices",
    "outside",
    "region_word",
    "span",
]


MAX_MESH_BYTES = 512 * 2**20
"""Largest mesh that is read: some ten million facets."""
MAX_FACES = 500
"""Faces of a hull that take part in a semidefinite programme one by one; beyond, its box does, in milliseconds."""


class ConvexPart(NamedTuple):
    """Points c (m) with Gc + h in a cone; times the mass of a link it is a condition on its first moment."""

    kind: Literal["nonnegative", "second order"]
    G: Float[Array, "n_rows 3"]
    h: Float[Array, " n_rows"]


@runtime_checkable
class Solid(Protocol):
    """A solid in the link frame, m."""

    @property
    def word(self) -> str:
        """What messages and files call it."""
        ...

    def outside(self, point: Vector3) -> tuple[float, Vector3]:
        """How far (m) `point` is outside, negative inside, and its gradient (dimensionless)."""
        ...

    def span(self) -> tuple[Vector3, Vector3]:
        """Smallest and largest coordinates, m."""
        ...

    def convex_parts(self) -> tuple[ConvexPart, ...]:
        """What together describes the solid exactly (m); empty where it is not convex."""
        ...


Region = Solid | Box | Ellipsoid
"""Anything that can hold a centre of mass; `Box` and `Ellipsoid` are those of `dynid.chain`."""


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball."""

    centre: Vector3
    """Centre in m."""
    radius: float
    """Radius in m, positive."""
    word: ClassVar[str] = "sphere"

    def __post_init__(self) -> None:
        freeze_arrays(self)
        _positive(self.radius, "radius of a sphere")

    def outside(self, point: Vector3) -> tuple[float, Vector3]:
        """Distance (m) to the surface, negative inside, and its gradient."""
        away = point - self.centre
        distance = float(np.linalg.norm(away))
        return distance - self.radius, away / distance if distance > 0.0 else np.array([1.0, 0.0, 0.0])

    def span(self) -> tuple[Vector3, Vector3]:
        """Smallest and largest coordinates, m."""
        return self.centre - self.radius, self.centre + self.radius

    def convex_parts(self) -> tuple[ConvexPart, ...]:
        """‖c − centre‖ ≤ radius, m."""
        return (_ball(self.centre, np.full(3, self.radius)),)


@dataclass(frozen=True, eq=False)
class Frustum:
    """A cylinder (both radii alike), a cone (one radius zero) or anything between, round its axis."""

    start: Vector3
    """Centre of one end in m."""
    end: Vector3
    """Centre of the other end in m."""
    start_radius: float
    """Radius there in m; zero for the tip of a cone."""
    end_radius: float
    """Radius there in m; zero for the tip of a cone."""
    word: ClassVar[str] = "frustum"

    def __post_init__(self) -> None:
        freeze_arrays(self)
        if not float(np.linalg.norm(self.end - self.start)) > 0.0:
            raise ParameterError(f"a cylinder or cone needs two different ends, both are {self.start.tolist()} m")
        if not (min(self.start_radius, self.end_radius) >= 0.0 and self.start_radius + self.end_radius > 0.0):
            raise ParameterError(
                f"radii of a cone frustum must not be negative, one must be positive: "
                f"{self.start_radius} m and {self.end_radius} m"
            )

    @classmethod
    def cylinder(cls, start: ArrayLike, end: ArrayLike, radius: float) -> Frustum:
        """A cylinder of a radius in m between the centres of its ends in m."""
        return cls(np.asarray(start, dtype=float), np.asarray(end, dtype=float), radius, radius)

    @property
    def _frame(self) -> tuple[Vector3, float]:
        axis = self.end - self.start
        length = float(np.linalg.norm(axis))
        return axis / length, length

    def outside(self, point: Vector3) -> tuple[float, Vector3]:
        """The largest of the distances (m) to both ends and to the mantle, negative inside, and its gradient."""
        axis, length = self._frame
        away = point - self.start
        along = float(away @ axis)
        radial = away - along * axis
        radius = float(np.linalg.norm(radial))
        outward = radial / radius if radius > 0.0 else _across(axis)
        slope = (self.end_radius - self.start_radius) / length
        size = float(np.hypot(1.0, slope))
        mantle = (radius - self.start_radius - slope * along) / size
        faces = (
            (-along, -axis),
            (along - length, axis),
            (mantle, (outward - slope * axis) / size),
        )
        return max(faces, key=lambda face: face[0])

    def span(self) -> tuple[Vector3, Vector3]:
        """Smallest and largest coordinates, m."""
        axis, _ = self._frame
        reach = np.sqrt(np.maximum(0.0, 1.0 - axis**2))
        lower = np.minimum(self.start - reach * self.start_radius, self.end - reach * self.end_radius)
        upper = np.maximum(self.start + reach * self.start_radius, self.end + reach * self.end_radius)
        return lower, upper

    def convex_parts(self) -> tuple[ConvexPart, ...]:
        """Between both ends, and no further from the axis than the radius there; m."""
        axis, length = self._frame
        slope = (self.end_radius - self.start_radius) / length
        first = _across(axis)
        G = np.stack([slope * axis, first, np.cross(axis, first)])
        ends = ConvexPart(
            "nonnegative", np.stack([axis, -axis]), np.array([0.0, length]) - [axis @ self.start, -axis @ self.start]
        )
        return ends, ConvexPart("second order", G, np.array([self.start_radius, 0.0, 0.0]) - G @ self.start)


@dataclass(frozen=True, eq=False)
class RegionUnion:
    """Several solids, of which one must hold the point; they may overlap or not."""

    parts: tuple[Region, ...]
    word: ClassVar[str] = "union"

    def __post_init__(self) -> None:
        if not self.parts:
            raise ParameterError("a union needs at least one shape")

    def outside(self, point: Vector3) -> tuple[float, Vector3]:
        """How far (m) the point is outside the nearest part, negative inside, and its gradient."""
        return min((outside(part, point) for part in self.parts), key=lambda found: found[0])

    def span(self) -> tuple[Vector3, Vector3]:
        """Smallest and largest coordinates, m."""
        spans = [span(part) for part in self.parts]
        return np.min([low for low, _ in spans], axis=0), np.max([high for _, high in spans], axis=0)

    def convex_parts(self) -> tuple[ConvexPart, ...]:
        """None: a union is not convex, m or not."""
        return ()


@dataclass(frozen=True, eq=False)
class Hull:
    """The convex hull of points, or of a link's mesh."""

    points: Float[Array, "n_points 3"]
    """Corners in the link frame, m."""
    planes: Float[Array, "n_planes 4"]
    """Outward unit normal and offset (m) of every face; n·x + d ≤ 0 inside."""
    word: ClassVar[str] = "hull"

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(cls, points: ArrayLike) -> Hull:
        """The hull of points in the link frame, m.

        Raises:
            ParameterError: for points that span no volume.
        """
        corners = np.asarray(points, dtype=float)
        if corners.ndim != 2 or corners.shape[1] != 3 or not np.all(np.abs(corners) <= MAX_LENGTH):
            raise ParameterError(
                f"a convex hull needs points (n_points, 3), below {MAX_LENGTH:g} m, got shape {corners.shape}"
            )
        from scipy.spatial import ConvexHull, QhullError

        try:
            hull = ConvexHull(corners)
        except (QhullError, ValueError) as error:
            raise ParameterError(f"the {len(corners)} points of a convex hull span no volume") from error
        return cls(corners[hull.vertices], np.unique(np.round(hull.equations, 12), axis=0))

    @classmethod
    def of_mesh(cls, path: Path, *, scale: float = 1.0, offset: ArrayLike = (0.0, 0.0, 0.0)) -> Hull:
        """The hull of an STL or OBJ mesh.

        Args:
            path: the file.
            scale: m per unit of the file.
            offset: of the mesh in the link frame, m.
        """
        vertices = scale * mesh_vertices(path) + np.asarray(offset, dtype=float)
        try:
            return cls.of(vertices)
        except ParameterError as error:
            raise ParameterError(f"{path}: {error}") from error

    def outside(self, point: Vector3) -> tuple[float, Vector3]:
        """The largest distance (m) beyond any face, negative inside, and its gradient."""
        beyond = self.planes[:, :3] @ point + self.planes[:, 3]
        k = int(np.argmax(beyond))
        return float(beyond[k]), self.planes[k, :3].copy()

    def span(self) -> tuple[Vector3, Vector3]:
        """Smallest and largest coordinates, m."""
        return np.min(self.points, axis=0), np.max(self.points, axis=0)

    def convex_parts(self) -> tuple[ConvexPart, ...]:
        """On the inner side of every face (m); none where there are more than `MAX_FACES`."""
        few = len(self.planes) <= MAX_FACES
        return (ConvexPart("nonnegative", -self.planes[:, :3], -self.planes[:, 3]),) if few else ()


def outside(region: Region, point: Vector3) -> tuple[float, Vector3]:
    """How far (m) `point` is outside a region of any kind, negative inside, and its gradient (dimensionless)."""
    if isinstance(region, Box):
        return _outside_box(region, point)
    if isinstance(region, Ellipsoid):
        scaled = (point - region.centre) / region.semi_axes
        radius = float(np.linalg.norm(scaled))
        smallest = float(np.min(region.semi_axes))
        direction = scaled / radius if radius > 0.0 else np.array([1.0, 0.0, 0.0])
        return smallest * (radius - 1.0), smallest * direction / region.semi_axes
    return region.outside(point)


def span(region: Region) -> tuple[Vector3, Vector3]:
    """Smallest and largest coordinates (m) of a region of any kind."""
    if isinstance(region, Box):
        return region.lower, region.upper
    if isinstance(region, Ellipsoid):
        return region.centre - region.semi_axes, region.centre + region.semi_axes
    return region.span()


def convex_parts(region: Region) -> tuple[ConvexPart, ...]:
    """What together describes a region of any kind exactly (m); empty where it is not convex, or a box."""
    if isinstance(region, Ellipsoid):
        return (_ball(region.centre, region.semi_axes),)
    return () if isinstance(region, Box) else region.convex_parts()


def region_word(region: Region) -> str:
    """What messages and files call a region (no unit)."""
    return type(region).__name__.lower() if isinstance(region, Box | Ellipsoid) else region.word


def _ball(centre: Vector3, semi_axes: Vector3) -> ConvexPart:
    G = np.vstack([np.zeros(3), np.diag(1.0 / semi_axes)])
    return ConvexPart("second order", G, np.concatenate([[1.0], -centre / semi_axes]))


def _outside_box(box: Box, point: Vector3) -> tuple[float, Vector3]:
    centre, half = 0.5 * (box.lower + box.upper), 0.5 * (box.upper - box.lower)
    sign = np.where(point >= centre, 1.0, -1.0)
    beyond = np.abs(point - centre) - half
    over = np.maximum(beyond, 0.0)
    distance = float(np.linalg.norm(over))
    if distance > 0.0:
        return distance, sign * over / distance
    k = int(np.argmax(beyond))
    return float(beyond[k]), sign * np.eye(3)[k]


def _across(axis: Vector3) -> Vector3:
    """Any unit vector across `axis`."""
    across = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    return across / np.linalg.norm(across)


def _positive(value: float, what: str) -> None:
    if not (np.isfinite(value) and value > 0.0):
        raise ParameterError(f"{what} must be positive, got {value} m")


def mesh_vertices(path: Path) -> Float[Array, "n_points 3"]:
    """Vertices (n_points, 3) of an STL (text or binary) or OBJ file, in its own unit."""
    try:
        if path.exists() and not path.is_file():
            raise ParameterError(f"{path}: the mesh cannot be read (not a file)")
        with path.open("rb") as file:
            data = file.read(MAX_MESH_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"{path}: the mesh cannot be read ({getattr(error, 'strerror', None) or error})"
        ) from error
    if len(data) > MAX_MESH_BYTES:
        raise ParameterError(f"{path}: the mesh is larger than {MAX_MESH_BYTES // 2**20} MB; simplify it")
    suffix = path.suffix.lower()
    try:
        if suffix == ".obj":
            rows = [line.split()[1:4] for line in data.decode().splitlines() if line.startswith("v ")]
        elif suffix == ".stl" and len(data) >= 84 and len(data) == 84 + 50 * struct.unpack("<I", data[80:84])[0]:
            facet = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
            return np.frombuffer(data, facet, offset=84)["corners"].reshape(-1, 3).astype(float)
        elif suffix == ".stl":
            lines = (line.split() for line in data.decode().splitlines())
            rows = [words[1:4] for words in lines if words[:1] == ["vertex"]]
        else:
            raise ParameterError(f"{path}: a mesh must be an STL or OBJ file")
        return np.array(rows, dtype=float).reshape(-1, 3)
    except (UnicodeDecodeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        # The reason would quote the file, which may be another than the mesh it pretends to be.
        raise ParameterError(f"{path}: is not a valid mesh: not three numbers a vertex, or not text") from error
