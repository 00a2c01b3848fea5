"""What is asked of the parameters beside a good fit; each constraint says of itself how it is compiled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dynid.dynamics.model import TorqueModel
from dynid.errors import ContradictoryBounds, ParameterError
from dynid.regression.constraints.compiled import CompiledConstraints, bound_sides
from dynid.regression.constraints.compiler import ConstraintCompiler
from dynid.regression.constraints.parameter_names import NamedParameter, find_parameter
from dynid.regression.constraints.regions import Region
from dynid.regression.constraints.user_functions import UserFunction

__all__ = ["CONSISTENCY_MARGIN", "Constraints", "ParameterBound", "ParameterBounds", "Plane", "Symmetry", "Tie"]

CONSISTENCY_MARGIN = 1e-8
"""Smallest eigenvalue (SI) asked of every link by default.

The smallest second moment of a 15 g gripper finger is about 4e-7 kg·m², of a WAM wrist link 2e-5: 1e-8 forbids no
real link, yet keeps every link far enough inside for a Cholesky factor in double precision. The papers use 1e-6.
"""
Plane = Literal["xy", "xz", "yz"]
"""A plane through the origin of a link frame."""


@dataclass(frozen=True)
class ParameterBound:
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
            raise ParameterError(f"{self.place}bound of {self.name} is not a number; leave it empty where unknown")
        if self.lower > self.upper:
            raise ContradictoryBounds(
                (f"{self.name} ≥ {self.lower:g}", f"{self.name} ≤ {self.upper:g}"), where=self.where
            )

    @property
    def place(self) -> str:
        """`where` as the start of a message."""
        return f"{self.where}: " if self.where else ""

    def compile(self, into: ConstraintCompiler) -> None:
        """Both sides, over p and over θ."""
        parameter = into.find(self.name, self.where)
        if parameter is not None:
            into.limit(self.name, parameter, self.lower, self.upper, self.where)


@dataclass(frozen=True)
class ParameterBounds:
    """Bounds of any number of parameters; ``I`` names are about the centre of mass, as in the papers' files."""

    entries: tuple[ParameterBound, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for bound in self.entries:
            if bound.name in seen:
                raise ParameterError(f"{bound.place}{bound.name} is bounded twice; keep one of the two")
            seen.add(bound.name)

    @classmethod
    def of(cls, bounds: Mapping[str, tuple[float, float]]) -> ParameterBounds:
        """From names and (lower, upper) pairs in SI units."""
        return cls(tuple(ParameterBound(name, float(lower), float(upper)) for name, (lower, upper) in bounds.items()))


@dataclass(frozen=True)
class Tie:
    """One parameter as a multiple of another, plus a constant (SI): ``m2 = factor · m3 + offset``."""

    parameter: str
    equals: str
    factor: float = 1.0
    """Ratio of the two, in the units of both."""
    offset: float = 0.0
    """In the unit of `parameter`."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.factor) and math.isfinite(self.offset)):
            raise ParameterError(f"tie {self}: factor and offset must be finite")

    def __str__(self) -> str:
        times = "" if self.factor == 1.0 else f"{self.factor:g}·"
        return f"{self.parameter} = {times}{self.equals}" + (f" + {self.offset:g}" if self.offset else "")

    def compile(self, into: ConstraintCompiler) -> None:
        """An equation over p; over θ as well where both parameters are entries of it."""
        left, right = into.find(self.parameter), into.find(self.equals)
        if left is None or right is None:
            raise ParameterError(f"tie {self}: this model has no such joint term; identify with it first")
        weights = {left: 1.0}
        weights[right] = weights.get(right, 0.0) - self.factor
        into.linear(str(self), weights, -self.offset, equal=True)


@dataclass(frozen=True)
class Symmetry:
    """A link that is its own mirror image in a plane through its frame, or round an axis of it."""

    link: str
    plane: Plane | None = None
    axis: Literal["x", "y", "z"] | None = None

    def __post_init__(self) -> None:
        if (self.plane is None) == (self.axis is None):
            raise ParameterError(
                f"symmetry of {self.link}: give a plane (xy, xz, yz) or an axis (x, y, z), one of them"
            )
        if self.plane not in (None, "xy", "xz", "yz") or self.axis not in (None, "x", "y", "z"):
            raise ParameterError(f"symmetry of {self.link}: planes are xy, xz, yz and axes x, y, z")

    def zeros(self) -> tuple[tuple[str, ...], tuple[str, str] | None]:
        """Which of ``c?`` and ``I??`` vanish, and which two moments of inertia are equal (no unit)."""
        if self.plane is not None:
            normal = next(letter for letter in "xyz" if letter not in self.plane)
            others = [letter for letter in "xyz" if letter != normal]
            return (f"c{normal}", *("I" + "".join(sorted(normal + other)) for other in others)), None
        across = [letter for letter in "xyz" if letter != self.axis]
        return (*(f"c{letter}" for letter in across), "Ixy", "Ixz", "Iyz"), (f"I{across[0] * 2}", f"I{across[1] * 2}")

    def compile(self, into: ConstraintCompiler) -> None:
        """Equations over p and over θ: what vanishes about the centre of mass vanishes about the link frame as well."""
        number = into.link_index(self.link) + 1
        zeros, pair = self.zeros()

        def named(short: str) -> NamedParameter:
            found = into.find(f"{short[0]}{number}{short[1:]}")
            assert found is not None, short
            return found

        for short in zeros:
            text = f"symmetry of {self.link}: {short} = 0"
            into.linear(text, {named(short): 1.0}, 0.0, equal=True, about_frame=True)
        if pair is not None:
            text = f"symmetry of {self.link}: I{number}{pair[0][1:]} = I{number}{pair[1][1:]}"
            into.linear(text, {named(pair[0]): 1.0, named(pair[1]): -1.0}, 0.0, equal=True, about_frame=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraints:
    """Everything asked of the parameters (SI); all constraints are optional and combine.

    A semidefinite programme knows what is convex: all but unions of solids, ties of centres of mass or of inertias
    about them, known inertias about unknown centres, and functions. It refuses these; a retrieval meets all.
    """

    triangle: bool = True
    """True asks for a positive 4×4 pseudo-inertia of every link; False for the papers' weaker 6×6 condition."""
    margin: float = CONSISTENCY_MARGIN
    """Smallest eigenvalue (SI) asked of every link's matrix, and smallest value of nonnegative joint terms."""
    nonnegative_joint_terms: bool = True
    """Whether viscous and Coulomb friction and rotor inertia must not be negative."""
    bounds: ParameterBounds = field(default_factory=ParameterBounds)
    total_mass: tuple[float, float] | None = None
    """Smallest and largest sum of all link masses in kg."""
    com_regions: Mapping[str, Region] = field(default_factory=dict)
    """Where the centre of mass of a link, by name, must lie; link frame, m."""
    density_regions: Mapping[str, Region] = field(default_factory=dict)
    """Solids (link frame, m) that hold all mass of a link, by name, not only its centre."""
    pinned: Mapping[str, float] = field(default_factory=dict)
    """Known parameters (SI) by any name that bounds accept, or by symbol of θ (``mc3x``, ``J3xx``)."""
    symmetries: tuple[Symmetry, ...] = ()
    ties: tuple[Tie, ...] = ()
    functions: tuple[UserFunction, ...] = ()

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

    def compile(self, model: TorqueModel) -> CompiledConstraints:
        """Both views for one model (SI), with everything checked that can be checked without looking at data.

        Raises:
            UnknownName: a parameter or link that does not exist, offering the nearest.
            ContradictoryBounds: bounds and known values that exclude each other or physics.
        """
        pins = [ParameterBound(name, float(value), float(value)) for name, value in self.pinned.items()]
        bounds = (*self.bounds.entries, *pins)
        into = ConstraintCompiler(model, triangle=self.triangle, margin=self.margin, known=_known(model, bounds))
        if self.nonnegative_joint_terms:
            into.nonnegative_joint_terms()
        for bound in bounds:
            bound.compile(into)
        for link, region in self.com_regions.items():
            into.region(link, region)
        for link, region in self.density_regions.items():
            into.density(link, region)
        if self.total_mass is not None:
            masses = [NamedParameter("shared", 10 * i, i) for i in range(model.n_dof)]
            for side in bound_sides("total mass", *self.total_mass, unit=" kg"):
                into.linear(side.text, dict.fromkeys(masses, side.sign), -side.sign * side.limit, equal=side.equal)
        for symmetry in self.symmetries:
            symmetry.compile(into)
        for tie in self.ties:
            tie.compile(into)
        into.functions = self.functions
        for function in self.functions:
            into.leave_out(function.name, f"the function {function.name} has no convex form; use Retrieval")
        return into.finished()


def _known(model: TorqueModel, bounds: tuple[ParameterBound, ...]) -> dict[NamedParameter, float]:
    """Parameters with one possible value (SI)."""
    found = ((find_parameter(b.name, model, where=b.where), b.lower) for b in bounds if b.lower == b.upper)
    return {parameter: value for parameter, value in found if parameter is not None}
