"""The parts of MJCF that hide numbers: default classes, compiler settings, orientations, shapes with density."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float, Matrix3, Transform
from dynid.chain.formats.bodies import Inertial
from dynid.chain.formats.body_shapes import BodyShape, mesh_shape, solid_shape
from dynid.chain.formats.mesh_mass import MeshAssets
from dynid.chain.formats.xml import Element, Markup
from dynid.chain.inertia import InertialParameters
from dynid.chain.placement import exact_right_angle, rotation_about, transform

__all__ = ["ACTUATORS", "Compiler", "GeomShape", "drawn_shape", "inherit_defaults", "read_compiler", "read_shape"]

ACTUATORS = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion")
"""Tags of actuators; MuJoCo keeps one set of defaults for all of them."""
ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
_MASSLESS = ("plane", "hfield")
_INHERITING = ("joint", "geom", "mesh", "equality", *ACTUATORS)


@dataclass(frozen=True)
class Compiler:
    """The `<compiler>` settings that change what numbers in the file mean."""

    radian: bool = False
    eulerseq: str = "xyz"
    autolimits: bool = True
    inertia_from_geometry: str = "auto"
    """``true``, ``false`` or ``auto``: only where `<inertial>` is missing."""
    inertia_groups: tuple[int, int] = (0, 5)
    """First and last geom group that has mass."""
    least_mass: float = 0.0
    """kg, `boundmass`: what every body weighs at least."""
    least_moment: float = 0.0
    """kg·m², `boundinertia`: what every principal moment is at least."""
    balanced: bool = False
    """`balanceinertia`: principal moments that break the triangle inequality are replaced by their mean."""
    total_mass: float = 0.0
    """kg, `settotalmass`: what all bodies weigh together; 0 where nothing is asked."""
    mesh_folder: str = ""
    """Folder of meshes, `meshdir` or `assetdir`."""
    strip_path: bool = False
    """Whether folders in the names of meshes do not count."""
    square: bool = False
    """Whether right angles that the file gives with few digits are exact."""

    def angle(self, value: float) -> float:
        """An angle of the file in rad."""
        return value if self.radian else float(np.deg2rad(value))

    def rotation(self, document: Markup, element: Element) -> Matrix3:
        """The orientation of an element from whichever of the five notations it uses.

        Raises:
            RobotFileError: several notations at once, or a direction of length zero.
        """
        given = [name for name in ORIENTATIONS if element.get(name) is not None]
        if not given:
            return np.eye(3)
        if len(given) > 1:
            raise document.fault(element, f"orientation given twice: {' and '.join(given)}; keep one")
        numbers = document.numbers(element, given[0], {"quat": 4, "axisangle": 4, "xyaxes": 6}.get(given[0], 3))
        if self.square and self.radian and given[0] in ("euler", "axisangle"):
            words = str(element.get(given[0])).split()
            numbers[-1 if given[0] == "axisangle" else 0 :] = [
                exact_right_angle(word) for word in words[-1 if given[0] == "axisangle" else 0 :]
            ]
        if given[0] == "euler":
            return self.turned(numbers)
        length = np.linalg.norm(numbers[:3] if given[0] != "quat" else numbers)
        if length == 0.0:
            raise document.fault(element, f"attribute {given[0]!r} is zero; give it a direction")
        if given[0] == "quat":
            return _rotation_quat(numbers / length)
        if given[0] == "axisangle":
            return rotation_about(numbers[:3] / length, self.angle(numbers[3]))
        if given[0] == "zaxis":
            return rotation_to(numbers / length)
        x = numbers[:3] / length
        y = numbers[3:] - (x @ numbers[3:]) * x
        if np.linalg.norm(y) < 1e-12 * np.linalg.norm(numbers[3:]) or not np.any(numbers[3:]):
            raise document.fault(element, "the two directions of 'xyaxes' are parallel or zero")
        y /= np.linalg.norm(y)
        return np.column_stack([x, y, np.cross(x, y)])

    def bounded(self, inertial: Inertial | None, T_parent_body: Transform) -> Inertial | None:
        """An inertia (SI) as MuJoCo raises and balances it before it is used; a body at T (m) may have had none."""
        if not (self.least_mass or self.least_moment or self.balanced):
            return inertial
        if inertial is None:
            # MuJoCo puts it as far from the body's frame as that is from the parent's.
            inertial = Inertial(0.0, T_parent_body, np.zeros((3, 3)))
        moments, axes = np.linalg.eigh(inertial.tensor)
        raised = np.maximum(moments, self.least_moment)
        if self.balanced and raised[0] + raised[1] < raised[2]:
            raised = np.full(3, np.mean(raised))
        mass = max(inertial.mass, self.least_mass)
        if mass == inertial.mass and np.array_equal(raised, moments):
            return inertial
        return replace(inertial, mass=mass, tensor=axes @ np.diag(raised) @ axes.T)

    def turned(self, angles: Float[Array, " 3"]) -> Matrix3:
        """The rotation of three Euler angles (as in the file); letters turn about moving axes, capitals about fixed."""
        R = np.eye(3)
        for letter, angle in zip(self.eulerseq, angles, strict=True):
            turn = rotation_about(np.eye(3)["xyz".index(letter.lower())], self.angle(angle))
            R = R @ turn if letter.islower() else turn @ R
        return R


def read_compiler(document: Markup, *, square: bool = False) -> Compiler:
    """The settings of all `<compiler>` elements; later ones win. `square` makes rounded right angles exact.

    Raises:
        RobotFileError: a setting that cannot be followed.
    """
    merged: dict[str, str] = {}
    bounds = {"boundmass": 0.0, "boundinertia": 0.0, "settotalmass": -1.0}
    for element in document.root.iterchildren("compiler"):
        merged.update({str(name): str(value) for name, value in element.attrib.items()})
        if merged.get("coordinate", "local") != "local":
            raise document.fault(element, "global coordinates are not supported (nor are they in MuJoCo since 2.3.4)")
        bounds |= {name: document.number(element, name, bounds[name]) for name in bounds}
        if element.get("inertiagrouprange") is not None:
            document.numbers(element, "inertiagrouprange", 2)
        sequence = merged.get("eulerseq", "xyz")
        if len(sequence) != 3 or not set(sequence) <= set("xyzXYZ"):
            raise document.fault(element, f"eulerseq {sequence!r} is not three letters of xyzXYZ")
    first, last = (int(float(word)) for word in merged.get("inertiagrouprange", "0 5").split())
    return Compiler(
        radian=merged.get("angle", "degree") == "radian",
        eulerseq=merged.get("eulerseq", "xyz"),
        autolimits=merged.get("autolimits", "true") == "true",
        inertia_from_geometry=merged.get("inertiafromgeom", "auto"),
        inertia_groups=(first, last),
        least_mass=max(bounds["boundmass"], 0.0),
        least_moment=max(bounds["boundinertia"], 0.0),
        balanced=merged.get("balanceinertia") == "true",
        total_mass=max(bounds["settotalmass"], 0.0),
        mesh_folder=merged.get("meshdir", merged.get("assetdir", "")),
        strip_path=merged.get("strippath") == "true",
        square=square,
    )


def _rotation_quat(quat: Float[Array, " 4"]) -> Matrix3:
    """The rotation of a unit quaternion, real part first."""
    w, x, y, z = quat
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def rotation_to(direction: Float[Array, " 3"]) -> Matrix3:
    """The smallest rotation that takes z to a unit direction; a half turn about x for −z."""
    axis = np.cross([0.0, 0.0, 1.0], direction)
    sine = float(np.linalg.norm(axis))
    if sine < 1e-12:
        return np.eye(3) if direction[2] > 0.0 else np.diag([1.0, -1.0, -1.0])
    return rotation_about(axis / sine, float(np.arctan2(sine, direction[2])))


def inherit_defaults(document: Markup) -> None:
    """Write into every joint, geom, equality and actuator the attributes that its default class gives it.

    Only the parsed tree changes, never the document's bytes.

    Raises:
        RobotFileError: a class that no `<default>` defines.
    """
    classes = _default_classes(document)
    stack: list[tuple[Element, str]] = [(child, "main") for child in document.root if child.tag != "default"]
    while stack:
        element, inherited = stack.pop()
        if not isinstance(element.tag, str):
            continue
        here = element.get("childclass") or inherited
        stack += [(child, here) for child in element]
        tag = "equality" if _tag_of_parent(element) == "equality" else element.tag
        in_actuator = _tag_of_parent(element) == "actuator"
        if tag not in _INHERITING or (tag in ACTUATORS and not in_actuator):
            continue
        name = element.get("class") or (inherited if tag in ("joint", "geom") else "main")
        if name not in classes:
            raise document.fault(element, f"default class {name!r} does not exist; known: {', '.join(classes)}")
        _fill(element, classes[name].get("actuator" if in_actuator else tag, {}))


def _default_classes(document: Markup) -> dict[str, dict[str, dict[str, str]]]:
    """Class name to tag to attributes, those of the enclosing classes included."""
    classes: dict[str, dict[str, dict[str, str]]] = {"main": {}}
    stack: list[tuple[Element, str | None]] = [(default, None) for default in document.root.iterchildren("default")]
    stack.reverse()
    while stack:
        element, above = stack.pop()
        if above is not None and element.get("class") is None:
            raise document.fault(element, "a nested <default> needs the attribute 'class'")
        name = element.get("class") or "main"
        if above is None and name != "main":
            raise document.fault(element, f"the outermost class is called 'main', not {name!r}; drop the attribute")
        content = classes.setdefault(name, {})
        if above is not None:
            content.update({tag: dict(attributes) for tag, attributes in classes[above].items()})
        nested = []
        for child in element.iterchildren("*"):
            if child.tag == "default":
                nested.append(child)
                continue
            tag = "actuator" if child.tag in ACTUATORS else child.tag
            content.setdefault(tag, {}).update({str(key): str(value) for key, value in child.attrib.items()})
        stack += [(child, name) for child in reversed(nested)]
    return classes


def _fill(element: Element, inherited: Mapping[str, str]) -> None:
    oriented = any(element.get(name) is not None for name in ORIENTATIONS)
    for name, value in inherited.items():
        own = element.get(name)
        if own is None and not (oriented and name in ORIENTATIONS):
            element.set(name, value)
        elif own is not None and name == "size":
            # MuJoCo overwrites only as many sizes as the element gives.
            words = own.split()
            element.set(name, " ".join(words + value.split()[len(words) :]))


def _tag_of_parent(element: Element) -> str:
    parent = element.getparent()
    return "" if parent is None else parent.tag


@dataclass(frozen=True, eq=False)
class GeomShape:
    """A geom: the box around it and, when its mass can be known without a mesh, its inertia."""

    half_sizes: tuple[float, float, float] | None
    """Of the surrounding box, m; None for planes and meshes."""
    T_body_shape: Transform
    inertial: Inertial | None
    """None for a mesh with mass, whose inertia only the mesh knows."""


def read_shape(
    document: Markup, compiler: Compiler, geom: Element, T_body_frame: Transform, meshes: MeshAssets | None = None
) -> GeomShape:
    """A geom in its body's frame, SI; weightless outside the compiler's inertia groups."""
    kind = geom.get("type", "sphere" if geom.get("mesh") is None else "mesh")
    first, last = compiler.inertia_groups
    density = document.number(geom, "density", 1000.0)
    weightless = (
        kind in _MASSLESS
        or not first <= document.number(geom, "group", 0.0) <= last
        or document.number(geom, "mass", 1.0) == 0.0
        or (geom.get("mass") is None and density == 0.0)
    )
    T_frame_shape = transform(compiler.rotation(document, geom), document.numbers(geom, "pos", 3, (0.0, 0.0, 0.0)))
    nothing = Inertial(0.0, np.eye(4), np.zeros((3, 3)))
    if kind in _MASSLESS or kind in ("mesh", "sdf") or geom.get("mesh") is not None:
        solid = _of_mesh(document, geom, density, T_body_frame @ T_frame_shape, meshes) if kind == "mesh" else None
        return GeomShape(None, T_body_frame @ T_frame_shape, nothing if weightless else solid)
    sizes = list(document.numbers(geom, "size", None))
    if geom.get("fromto") is not None:
        ends = document.numbers(geom, "fromto", 6)
        length = float(np.linalg.norm(ends[:3] - ends[3:]))
        if length == 0.0:
            raise document.fault(geom, "the two points of 'fromto' are the same")
        T_frame_shape = transform(rotation_to((ends[:3] - ends[3:]) / length), (ends[:3] + ends[3:]) / 2.0)
        sizes = [sizes[0], *([sizes[0]] if kind in ("box", "ellipsoid") else []), length / 2.0]
    volume, half_sizes, per_mass = _solid(document, geom, kind, sizes)
    T_body_shape = T_body_frame @ T_frame_shape
    mass = document.number(geom, "mass", density * volume)
    if geom.get("shellinertia") == "true" and not weightless:
        return GeomShape(half_sizes, T_body_shape, None)
    solid = nothing if weightless else Inertial(mass, T_body_shape, mass * np.diag(per_mass))
    return GeomShape(half_sizes, T_body_shape, solid)


def drawn_shape(document: Markup, compiler: Compiler, geom: Element, read: GeomShape) -> Iterator[BodyShape]:
    """What a geom looks like (m), by what `read_shape` found: nothing for planes and meshes it cannot place."""
    kind = geom.get("type", "sphere" if geom.get("mesh") is None else "mesh")
    collides = any(document.number(geom, name, 1.0) != 0.0 for name in ("contype", "conaffinity"))
    if read.half_sizes is not None:
        solid = solid_shape(kind, np.array(read.half_sizes), read.T_body_shape, collides=collides)
        yield from () if solid is None else (solid,)
        return
    assets = [mesh for group in document.root.iterchildren("asset") for mesh in group.iterchildren("mesh")]
    named = (mesh for mesh in assets if (mesh.get("name") or Path(mesh.get("file", "")).stem) == geom.get("mesh"))
    asset = next(named, None)
    if kind != "mesh" or asset is None or asset.get("refpos") or asset.get("refquat") or not asset.get("file"):
        return
    file = asset.get("file", "")
    scale = document.numbers(asset, "scale", 3, (1.0, 1.0, 1.0))
    name = Path(file).name if compiler.strip_path else file
    yield mesh_shape(document, name, scale, read.T_body_shape, collides=collides, folder=compiler.mesh_folder)


def _of_mesh(
    document: Markup, geom: Element, density: float, T_body_mesh: Transform, meshes: MeshAssets | None
) -> Inertial | None:
    """What a geom with a mesh weighs (SI); None where the mesh cannot be read."""
    solid = None if meshes is None else meshes.solid(geom.get("mesh", ""))
    if solid is None or geom.get("shellinertia") == "true":
        return None
    mass = document.number(geom, "mass", density * solid.volume)
    return Inertial(mass, T_body_mesh @ transform(translation=solid.centre), mass * solid.moments)


def _solid(
    document: Markup, geom: Element, kind: str, sizes: list[float]
) -> tuple[float, tuple[float, float, float], Float[Array, " 3"]]:
    """Volume (m³), half sizes (m) and principal moments per mass (m²) of a homogeneous solid."""
    n_sizes = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}.get(kind)
    if n_sizes is None:
        raise document.fault(geom, f"geom type {kind!r} is unknown")
    if len(sizes) < n_sizes or min(sizes[:n_sizes]) <= 0.0:
        raise document.fault(geom, f"a {kind} needs {n_sizes} positive number(s) in 'size'")
    a = float(sizes[0])
    if kind == "sphere":
        return 4.0 / 3.0 * np.pi * a**3, (a, a, a), np.full(3, 0.4 * a**2)
    b = float(sizes[1])
    if kind == "cylinder":
        across = a**2 / 4.0 + b**2 / 3.0
        return 2.0 * np.pi * a**2 * b, (a, a, b), np.array([across, across, a**2 / 2.0])
    if kind == "capsule":
        tube, ball = 2.0 * b, 4.0 / 3.0 * a  # volumes over π a²
        share = tube / (tube + ball)
        # Each half ball has its centre of mass 3/8 of the radius beyond the end of the tube.
        across = share * (a**2 / 4.0 + b**2 / 3.0) + (1.0 - share) * (0.4 * a**2 + b**2 + 0.75 * a * b)
        along = share * a**2 / 2.0 + (1.0 - share) * 0.4 * a**2
        return np.pi * a**2 * (tube + ball), (a, a, a + b), np.array([across, across, along])
    c = float(sizes[2])
    squares = np.array([b**2 + c**2, a**2 + c**2, a**2 + b**2])
    if kind == "box":
        return 8.0 * a * b * c, (a, b, c), squares / 3.0
    return 4.0 / 3.0 * np.pi * a * b * c, (a, b, c), squares / 5.0


def welded(parts: list[Inertial]) -> Inertial:
    """Several homogeneous shapes as one body in the body frame's axes (SI)."""
    total = sum((part.parameters for part in parts), InertialParameters.zero())
    return Inertial(total.mass, transform(translation=total.com), total.inertia_com)
