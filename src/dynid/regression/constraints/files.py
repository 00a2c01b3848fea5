"""Constraints from files: bounds in CSV, everything in TOML; code is named there, and run only where allowed."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dynid.chain.consistency import Box, Ellipsoid
from dynid.disk import read_text, read_toml
from dynid.dynamics.model import TorqueModel
from dynid.errors import ContradictoryBounds, ParameterError
from dynid.regression.constraints.constraints import (
    CONSISTENCY_MARGIN,
    Constraints,
    ParameterBound,
    ParameterBounds,
    Plane,
    Symmetry,
    Tie,
)
from dynid.regression.constraints.meshes import link_hull
from dynid.regression.constraints.parameter_names import find_parameter
from dynid.regression.constraints.regions import Frustum, Hull, Region, RegionUnion, Sphere
from dynid.regression.constraints.user_functions import CodeNotAllowed, ImportedFunction, UserFunction

__all__ = ["read_bounds", "read_constraints"]

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
        return RegionUnion(tuple(part.region(link, place) for part in self.of))


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
    margin: float = CONSISTENCY_MARGIN
    total_mass: tuple[float, float] | None = None
    known: dict[str, float] = Field(default_factory=dict)
    bounds: dict[str, tuple[float, float]] = Field(default_factory=dict)
    shape: dict[str, _Shape] = Field(default_factory=dict)
    density: dict[str, _Shape] = Field(default_factory=dict)
    symmetry: tuple[_SymmetryEntry, ...] = ()
    tie: tuple[_TieEntry, ...] = ()
    functions: tuple[str, ...] = ()


def read_constraints(path: Path, *, allow_code: bool = False, robot_file: Path | None = None) -> Constraints:
    """Constraints (SI) of a TOML file; see the how-to page for its keys.

    Args:
        path: the file; meshes and modules in it are looked for beside it.
        allow_code: whether ``functions = ["module:function"]`` may be imported and run.
        robot_file: URDF whose meshes ``type = "hull"`` means, where the file itself names none.

    Raises:
        ParameterError: naming the file and the key.
        CodeNotAllowed: it names functions, and `allow_code` is False.
    """
    content = read_toml(path, ParameterError)
    try:
        entries = _File.model_validate(content)
    except ValidationError as error:
        lines = [f"{'.'.join(str(part) for part in e['loc'])}: {e['msg'].lower()}" for e in error.errors()]
        raise ParameterError(f"{path}: " + "; ".join(lines)) from error
    try:
        return _constraints(entries, path.resolve().parent, robot_file, allow_code=allow_code)
    except ContradictoryBounds as error:
        raise ContradictoryBounds(error.clashing, where=str(path)) from error
    except ParameterError as error:
        kind = CodeNotAllowed if isinstance(error, CodeNotAllowed) else ParameterError
        raise kind(f"{path}: {error}") from error


def _constraints(entries: _File, folder: Path, robot_file: Path | None, *, allow_code: bool) -> Constraints:
    if entries.functions and not allow_code:
        raise CodeNotAllowed(f"names code to run ({', '.join(entries.functions)}); read it, then pass allow_code=True")
    place = _Place(folder, folder / entries.robot if entries.robot else robot_file)
    functions = [ImportedFunction(reference, folder) for reference in entries.functions]
    for function in functions:
        function.load()
    return Constraints(
        triangle=entries.triangle,
        margin=entries.margin,
        total_mass=entries.total_mass,
        pinned=entries.known,
        bounds=ParameterBounds.of(entries.bounds),
        com_regions={link: shape.region(link, place) for link, shape in entries.shape.items()},
        density_regions={link: shape.region(link, place) for link, shape in entries.density.items()},
        symmetries=tuple(Symmetry(entry.link, entry.plane, entry.axis) for entry in entries.symmetry),
        ties=tuple(Tie(entry.parameter, entry.equals, entry.factor, entry.offset) for entry in entries.tie),
        functions=tuple(UserFunction(function.reference, function) for function in functions),
    )


def read_bounds(path: str | Path, model: TorqueModel | None = None) -> ParameterBounds:
    """Bounds of a CSV file with the header ``parameter,lower,upper``, SI units; an empty cell is no bound.

    Args:
        path: the file.
        model: checks the names at once; without it they are checked when the bounds are used.

    Raises:
        ParameterError: naming file and line.
        UnknownName: naming file, line and the nearest name that exists.
    """
    file = Path(path)
    lines = read_text(file, ParameterError, "CSV file of bounds").splitlines()
    try:
        rows = [
            (number, [cell.strip() for cell in cells])
            for number, cells in enumerate(csv.reader(lines), start=1)
            if any(cell.strip() for cell in cells) and not cells[0].lstrip().startswith("#")
        ]
    except csv.Error as error:
        raise ParameterError(f"{file}: cannot be read as CSV: {error}") from error
    if not rows or [cell.lower() for cell in rows[0][1]] != ["parameter", "lower", "upper"]:
        raise ParameterError(f"{file}: the first line must be 'parameter,lower,upper'")
    entries = tuple(_bound(cells, f"{file}:{number}") for number, cells in rows[1:])
    if model is not None:
        for bound in entries:
            find_parameter(bound.name, model, where=bound.where)
    return ParameterBounds(entries)


def _bound(cells: Sequence[str], where: str) -> ParameterBound:
    if len(cells) != 3:
        raise ParameterError(f"{where}: {len(cells)} cells instead of three (parameter,lower,upper)")
    lower, upper = _number(cells[1], -math.inf, where), _number(cells[2], math.inf, where)
    return ParameterBound(cells[0], lower, upper, where)


def _number(text: str, empty: float, where: str) -> float:
    if not text:
        return empty
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(f"{where}: {text!r} is not a number; leave the cell empty for no bound") from error
