"""What is asked of the full parameters beside a good fit: consistency, bounds, regions, known values."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from dynid.chain.consistency import Box, Ellipsoid
from dynid.chain.inertia import INERTIAL_NAMES
from dynid.disk import read_text
from dynid.dynamics.drives import joint_models
from dynid.dynamics.model import TorqueModel
from dynid.errors import ContradictoryBounds, ParameterError, UnknownName

__all__ = ["MARGIN", "Bound", "Bounds", "Constraints", "Target", "read_bounds", "targets"]

MARGIN = 1e-8
"""Smallest eigenvalue (SI) asked of every link by default.

The smallest second moment of a 15 g gripper finger is about 4e-7 kg·m², of a WAM wrist link 2e-5: 1e-8 forbids no
real link, yet keeps every link far enough inside for a Cholesky factor in double precision. The papers use 1e-6.
"""


@dataclass(frozen=True)
class Bound:
    """Between which values one parameter must lie, in its own unit (kg, m, kg·m², N·m, …)."""

    name: str
    """``m1, c1x, I1xx, fv1`` by joint number, ``link3.mass, link3.com.x, link3.inertia.xx, joint2.Fv`` by name."""
    lower: float = -math.inf
    """Smallest value (SI); minus infinity for none."""
    upper: float = math.inf
    """Largest value (SI); infinity for none."""
    where: str = ""
    """File and line it came from; empty when written in code."""

    def __post_init__(self) -> None:
        if math.isnan(self.lower) or math.isnan(self.upper):
            raise ParameterError(f"{self._place}bound of {self.name} is not a number; leave it empty where unknown")
        if self.lower > self.upper:
            raise ContradictoryBounds(
                (f"{self.name} ≥ {self.lower:g}", f"{self.name} ≤ {self.upper:g}"), where=self.where
            )

    @property
    def _place(self) -> str:
        return f"{self.where}: " if self.where else ""


@dataclass(frozen=True)
class Bounds:
    """Bounds of any number of parameters; ``I`` names are about the centre of mass, as in the papers' files."""

    entries: tuple[Bound, ...]

    def __post_init__(self) -> None:
        seen: dict[str, Bound] = {}
        for bound in self.entries:
            if bound.name in seen:
                raise ParameterError(f"{bound._place}{bound.name} is bounded twice; keep one of the two")
            seen[bound.name] = bound

    @classmethod
    def of(cls, bounds: Mapping[str, tuple[float, float]]) -> Bounds:
        """From names and (lower, upper) pairs in SI units."""
        return cls(tuple(Bound(name, float(lower), float(upper)) for name, (lower, upper) in bounds.items()))


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraints:
    """Everything asked of θ (SI); all conditions are optional and combine."""

    triangle: bool = True
    """True asks for a positive 4×4 pseudo-inertia of every link; False for the papers' weaker 6×6 condition."""
    margin: float = MARGIN
    """Smallest eigenvalue (SI) asked of every link's matrix, and smallest value of nonnegative joint terms."""
    nonnegative_joint_terms: bool = True
    """Whether viscous and Coulomb friction and rotor inertia must not be negative."""
    bounds: Bounds | None = None
    total_mass: tuple[float, float] | None = None
    """Smallest and largest sum of all link masses in kg."""
    com_regions: Mapping[str, Box | Ellipsoid] = field(default_factory=dict)
    """Where the centre of mass of a link, by name, must lie; link frame, m."""
    pinned: Mapping[str, float] = field(default_factory=dict)
    """Known parameters (SI) by any name that bounds accept, or by symbol of θ (``mc3x``, ``J3xx``)."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.margin) and self.margin >= 0.0):
            raise ParameterError(f"margin must be a finite eigenvalue ≥ 0 (SI), got {self.margin}")
        if self.total_mass is not None:
            lower, upper = self.total_mass
            if math.isnan(lower) or math.isnan(upper) or upper <= 0.0:
                raise ParameterError(
                    f"total mass must be two numbers in kg, the larger positive, not {self.total_mass}"
                )
            if lower > upper:
                raise ContradictoryBounds((f"total mass ≥ {lower:g} kg", f"total mass ≤ {upper:g} kg"))
        wrong = [name for name, value in self.pinned.items() if not math.isfinite(value)]
        if wrong:
            raise ParameterError(f"pinned values must be finite, but {', '.join(wrong)} is not")


TargetKind = Literal["column", "com", "inertia"]


@dataclass(frozen=True)
class Target:
    """What a name in a bounds file points at."""

    kind: TargetKind
    """``column``: an entry of θ; ``com``: a coordinate of a link's centre of mass; ``inertia``: about that centre."""
    index: int
    """Entry of θ, coordinate 0…2, or position in `INERTIAL_NAMES`."""
    link: int = -1
    """Index of the link for ``com`` and ``inertia``."""


def targets(model: TorqueModel) -> Mapping[str, Target | None]:
    """Every name that bounds and pinned values may use; None for joint terms this model does not have.

    One bounds file can so serve the rigid model and the one with friction.
    """
    return _targets(model)


@lru_cache(maxsize=16)
def _targets(model: TorqueModel) -> Mapping[str, Target | None]:
    names: dict[str, Target | None] = {}
    pairs = [name[1:] for name in INERTIAL_NAMES[4:]]
    known_terms = [term for joint_model in joint_models().values() for term in joint_model.terms]
    for j, joint in enumerate(model.robot.joint_names):
        for term in known_terms:
            names[f"{term.symbol}{j + 1}"] = names[f"{joint}.{term.name}"] = None
    for i, link in enumerate(model.robot.link_names):
        names[f"m{i + 1}"] = names[f"{link}.mass"] = Target("column", 10 * i, i)
        for axis, letter in enumerate("xyz"):
            names[f"c{i + 1}{letter}"] = names[f"{link}.com.{letter}"] = Target("com", axis, i)
        for position, pair in enumerate(pairs, start=4):
            names[f"I{i + 1}{pair}"] = names[f"{link}.inertia.{pair}"] = Target("inertia", position, i)
    for k, (symbol, column) in enumerate(zip(model.symbols, model.columns, strict=True)):
        owner = k // 10 if k < model.n_inertial else -1
        names[symbol] = names[f"{column.owner}.{column.name}"] = Target("column", k, owner)
    return names


def find_target(name: str, model: TorqueModel, *, where: str = "") -> Target | None:
    """What `name` points at.

    Raises:
        UnknownName: offering the nearest.
    """
    known = targets(model)
    if name not in known:
        raise UnknownName(name, known=known, kind="parameter", where=where)
    return known[name]


def read_bounds(path: str | Path, model: TorqueModel | None = None) -> Bounds:
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
            find_target(bound.name, model, where=bound.where)
    return Bounds(entries)


def _bound(cells: Iterable[str], where: str) -> Bound:
    values = list(cells)
    if len(values) != 3:
        raise ParameterError(f"{where}: {len(values)} cells instead of three (parameter,lower,upper)")
    return Bound(values[0], _number(values[1], -math.inf, where), _number(values[2], math.inf, where), where)


def _number(text: str, empty: float, where: str) -> float:
    if not text:
        return empty
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(f"{where}: {text!r} is not a number; leave the cell empty for no bound") from error
