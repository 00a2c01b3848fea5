"""Demands of a retrieval from a TOML file; code is named there, and run only where the caller allows it."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dynid.chain.consistency import Box, Ellipsoid
from dynid.disk import read_toml
from dynid.errors import ContradictoryBounds, ParameterError
from dynid.regression.feasible.constraints import MARGIN, Bounds, Constraints
from dynid.regression.retrieval.constraints import Plane, RetrievalConstraints, Symmetry, Tie, UserFunction
from dynid.regression.retrieval.link_meshes import link_hull
from dynid.regression.retrieval.parametrisation import Links
from dynid.regression.retrieval.shapes import Frustum, Hull, Region, Sphere, Union

__all__ = ["NamedFunction", "read_retrieval"]

Metres = Annotated[float, Field(ge=-1e6, le=1e6)]
"""A length or a coordinate in m; more than 1e6 is a mistake, and its square would lose all digits."""
Point = tuple[Metres, Metres, Metres]


@dataclass(frozen=True)
class _Place:
    """Where files are looked for."""

    folder: Path
    robot_file: Path | None


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _BoxEntry(_Entry):
    type: Literal["box"]
    lower: Point
    upper: Point

    def region(self, link: str, place: _Place) -> Region:
        return Box(np.array(self.lower), np.array(self.upper))


class _SphereEntry(_Entry):
    type: Literal["sphere"]
    centre: Point
    radius: Metres

    def region(self, link: str, place: _Place) -> Region:
        return Sphere(np.array(self.centre), self.radius)


class _EllipsoidEntry(_Entry):
    type: Literal["ellipsoid"]
    centre: Point
    semi_axes: Point

    def region(self, link: str, place: _Place) -> Region:
        return Ellipsoid(np.array(self.centre), np.array(self.semi_axes))


class _CylinderEntry(_Entry):
    type: Literal["cylinder"]
    start: Point
    end: Point
    radius: Metres

    def region(self, link: str, place: _Place) -> Region:
        return Frustum.cylinder(self.start, self.end, self.radius)


class _FrustumEntry(_Entry):
    type: Literal["frustum"]
    start: Point
    end: Point
    start_radius: Metres
    end_radius: Metres

    def region(self, link: str, place: _Place) -> Region:
        return Frustum(np.array(self.start), np.array(self.end), self.start_radius, self.end_radius)


class _HullEntry(_Entry):
    type: Literal["hull"]
    points: tuple[Point, ...] = ()
    mesh: str = ""
    scale: Metres = 1.0
    offset: Point = (0.0, 0.0, 0.0)

    def region(self, link: str, place: _Place) -> Region:
        if self.points and self.mesh:
            raise ParameterError(f"the hull of {link} has points and a mesh; keep one of them")
        if self.mesh:
            return Hull.of_mesh(place.folder / self.mesh, scale=self.scale, offset=self.offset)
        if self.points:
            return Hull.of(self.points)
        if place.robot_file is None:
            raise ParameterError(
                f"the hull of {link} needs points, a mesh, or robot = the URDF file that names its mesh"
            )
        return link_hull(place.robot_file, link)


class _UnionEntry(_Entry):
    type: Literal["union"]
    of: tuple[_Shape, ...]

    def region(self, link: str, place: _Place) -> Region:
        return Union(tuple(part.region(link, place) for part in self.of))


_Shape = Annotated[
    _BoxEntry | _SphereEntry | _EllipsoidEntry | _CylinderEntry | _FrustumEntry | _HullEntry | _UnionEntry,
    Field(discriminator="type"),
]


class _TieEntry(_Entry):
    parameter: str
    equals: str
    factor: float = 1.0
    offset: float = 0.0


class _SymmetryEntry(_Entry):
    link: str
    plane: Plane | None = None
    axis: Literal["x", "y", "z"] | None = None


class _File(_Entry):
    robot: str = ""
    triangle: bool = True
    margin: float = MARGIN
    total_mass: tuple[float, float] | None = None
    known: dict[str, float] = Field(default_factory=dict)
    bounds: dict[str, tuple[float, float]] = Field(default_factory=dict)
    shape: dict[str, _Shape] = Field(default_factory=dict)
    symmetry: tuple[_SymmetryEntry, ...] = ()
    tie: tuple[_TieEntry, ...] = ()
    functions: tuple[str, ...] = ()


@dataclass(frozen=True)
class NamedFunction:
    """A constraint ``module:function``, imported where it runs, so that other processes can run it too."""

    reference: str
    folder: Path
    """Where the module may lie beside the installed ones."""

    def load(self) -> object:
        """The function itself.

        Raises:
            ParameterError: the module or function does not exist or cannot be imported.
        """
        module, _, name = self.reference.partition(":")
        if str(self.folder) not in sys.path:
            sys.path.insert(0, str(self.folder))
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, SyntaxError, NameError, TypeError, ValueError, OSError) as error:
            raise ParameterError(f"constraint {self.reference!r} cannot be imported: {error}") from error
        if not callable(found):
            raise ParameterError(f"constraint {self.reference!r} is not a function")
        return found

    def __call__(self, links: Links) -> float:
        """The violation (in the function's own unit)."""
        function = self.load()
        return function(links)  # type: ignore[operator]


def read_retrieval(path: Path, *, allow_code: bool = False, robot_file: Path | None = None) -> RetrievalConstraints:
    """Demands (SI) of a TOML file; see the how-to page for its keys.

    Args:
        path: the file; meshes and modules in it are looked for beside it.
        allow_code: whether ``functions = ["module:function"]`` may be imported and run.
        robot_file: URDF whose meshes ``type = "hull"`` means, where the file itself names none.

    Raises:
        ParameterError: naming the file and the key.
    """
    content = read_toml(path, ParameterError)
    try:
        entries = _File.model_validate(content)
    except ValidationError as error:
        lines = [f"{'.'.join(str(part) for part in e['loc'])}: {e['msg'].lower()}" for e in error.errors()]
        raise ParameterError(f"{path}: " + "; ".join(lines)) from error
    try:
        return _demands(entries, path.resolve().parent, robot_file, allow_code=allow_code)
    except ContradictoryBounds as error:
        raise ContradictoryBounds(error.clashing, where=str(path)) from error
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from error


def _demands(entries: _File, folder: Path, robot_file: Path | None, *, allow_code: bool) -> RetrievalConstraints:
    if entries.functions and not allow_code:
        raise ParameterError(
            f"names code to run ({', '.join(entries.functions)}); read it, then allow it with --allow-code"
        )
    place = _Place(folder, folder / entries.robot if entries.robot else robot_file)
    functions = []
    for reference in entries.functions:
        module, _, name = reference.partition(":")
        if not module or not name:
            raise ParameterError(f"functions: {reference!r} must be module:function")
        named = NamedFunction(reference, folder)
        named.load()
        functions.append(UserFunction(reference, named))
    return RetrievalConstraints(
        convex=Constraints(
            triangle=entries.triangle,
            margin=entries.margin,
            total_mass=entries.total_mass,
            pinned=entries.known,
            bounds=Bounds.of(entries.bounds) if entries.bounds else None,
        ),
        shapes={link: shape.region(link, place) for link, shape in entries.shape.items()},
        symmetries=tuple(Symmetry(entry.link, entry.plane, entry.axis) for entry in entries.symmetry),
        ties=tuple(Tie(entry.parameter, entry.equals, entry.factor, entry.offset) for entry in entries.tie),
        functions=tuple(functions),
    )
