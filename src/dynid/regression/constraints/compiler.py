"""The compiler of constraints: what each says of itself becomes cones over θ, and bounds and rows over p."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.consistency import Box
from dynid.chain.inertia import InertialParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import ContradictoryBounds, UnknownName
from dynid.regression.constraints.compiled import CompiledConstraints, NotConvex, bound_sides
from dynid.regression.constraints.cones import PSEUDO_INERTIA, SPATIAL_INERTIA, ConeBlock, svec
from dynid.regression.constraints.density import density_quadrics
from dynid.regression.constraints.inertia_bounds import InertiaBound
from dynid.regression.constraints.link_parameters import names_of_p
from dynid.regression.constraints.parameter_names import SCALES, NamedParameter, find_parameter, scale_in_p
from dynid.regression.constraints.penalty_rows import AffineRows, FunctionRows, PenaltyRows, RegionRows, TriangleRows
from dynid.regression.constraints.regions import Region, convex_parts, region_word, span
from dynid.regression.constraints.user_functions import UserFunction

__all__ = ["ConstraintCompiler"]

MASS_FLOOR = 1e-6
"""kg; a link of a retrieved robot weighs at least this, unless a smaller mass is pinned."""
FLOOR_FACTOR = 4.0
"""Second moments about the centre of mass at this many times the margin of `Constraints` keep the smallest
eigenvalue of the 4×4 pseudo-inertia above the margin, for centres of mass up to 1.2 m from the frame."""
_STEP = 1e-6
"""Relative to `SCALES`: step of the finite differences of a user's function."""


class _ThetaRow(NamedTuple):
    """A row a·θ + b ≥ 0, or = 0."""

    weights: Mapping[int, float]
    constant: float
    name: str
    column: int = -1
    """The entry of θ that it bounds; −1 for a sum."""


class _PRow(NamedTuple):
    """A row A p + B θ(p) + b; violated where it is positive, or not zero where `equal`."""

    name: str
    scale: float
    equal: bool
    in_p: Mapping[int, float]
    in_theta: Mapping[int, float]
    b: float


def _matrix(rows: Sequence[Mapping[int, float]], n_params: int) -> Float[Array, "n_rows n_params"]:
    matrix = np.zeros((len(rows), n_params))
    for row, weights in zip(matrix, rows, strict=True):
        row[list(weights)] = list(weights.values())
    return matrix


class ConstraintCompiler:
    """Collects what each constraint says of itself, in both views; `finished` is the result.

    Args:
        model: whose parameters are constrained.
        triangle: see `Constraints.triangle`.
        margin: see `Constraints.margin`.
        known: parameters with one possible value (SI).
    """

    def __init__(
        self, model: TorqueModel, *, triangle: bool, margin: float, known: Mapping[NamedParameter, float]
    ) -> None:
        n = model.n_params
        self.model, self.triangle, self.margin, self.known = model, triangle, margin, known
        self.names = names_of_p(model)
        self.lower, self.upper = np.full(n, -np.inf), np.full(n, np.inf)
        self.equalities: list[_ThetaRow] = []
        self.physics: list[_ThetaRow] = []
        self.linear_rows: list[_ThetaRow] = []
        self.cones: list[ConeBlock] = []
        self.inertia_bounds: list[InertiaBound] = []
        self.p_rows: list[_PRow] = []
        self.regions: dict[int, Region] = {}
        self.functions: tuple[UserFunction, ...] = ()
        self.not_convex: list[NotConvex] = []
        for i in range(model.n_dof):
            self.lower[10 * i] = min(MASS_FLOOR, known.get(NamedParameter("shared", 10 * i, i), math.inf))

    def find(self, name: str, where: str = "") -> NamedParameter | None:
        """What a name points at; None for joint terms this model does not have."""
        return find_parameter(name, self.model, where=where)

    def link_index(self, link: str) -> int:
        """Where a link stands.

        Raises:
            UnknownName: offering the nearest.
        """
        if link not in self.model.robot.link_names:
            raise UnknownName(link, known=self.model.robot.link_names, kind="link")
        return self.model.robot.link_names.index(link)

    def nonnegative_joint_terms(self) -> None:
        """Friction and rotor inertia that must not be negative: at least the margin, or the known value."""
        n_terms = len(self.model.terms)
        for column in range(self.model.n_inertial, self.model.n_params):
            if not self.model.terms[(column - self.model.n_inertial) % n_terms].nonnegative:
                continue
            symbol, value = self.model.symbols[column], self.known.get(NamedParameter("shared", column))
            if value is None:
                self.physics.append(_ThetaRow({column: 1.0}, -self.margin, f"{symbol} ≥ {self.margin:g}", column))
            elif value < 0.0:
                raise ContradictoryBounds((f"{symbol} = {value:g}", f"{symbol} ≥ 0"))
            self.lower[column] = self.margin if value is None else min(self.margin, value)

    def limit(self, name: str, parameter: NamedParameter, lower: float, upper: float, where: str = "") -> None:
        """lower ≤ parameter ≤ upper, in its own unit."""
        if parameter.kind == "moment":
            for side in bound_sides(name, lower, upper):
                self.linear(side.text, {parameter: side.sign}, -side.sign * side.limit, equal=side.equal)
            return
        self._tighten(parameter.index, lower, upper, where)
        if parameter.is_mass:
            self._check_mass(name, parameter.link, lower, upper)
        if parameter.kind == "inertia":
            self._limit_inertia(name, parameter, lower, upper)
        else:
            self._limit_theta(name, parameter, lower, upper)

    def linear(
        self,
        text: str,
        weights: Mapping[NamedParameter, float],
        constant: float,
        *,
        equal: bool,
        about_frame: bool = False,
    ) -> None:
        """Σ weight·parameter + constant ≥ 0, or = 0 (SI).

        Args:
            text: the constraint as a reader would say it.
            weights: SI; the first parameter sets the scale of violations.
            constant: SI.
            equal: whether it is an equation.
            about_frame: the same holds for first moments and inertias about the link frame, so it is linear in θ.
        """
        sign = 1.0 if equal else -1.0
        in_p = {named.index: sign * w for named, w in weights.items() if named.kind != "moment"}
        in_theta = {named.index: sign * w for named, w in weights.items() if named.kind == "moment"}
        self.p_rows.append(_PRow(text, next(iter(weights)).scale, equal, in_p, in_theta, sign * constant))
        if about_frame or all(named.linear for named in weights):
            column = next(iter(weights)).index if len(weights) == 1 else -1
            rows = self.equalities if equal else self.linear_rows
            rows.append(_ThetaRow({named.index: w for named, w in weights.items()}, constant, text, column))
        else:
            why = "relates centres of mass or inertias about them, which is not convex; use Retrieval, or leave it out"
            self.leave_out(text, f"{text} {why}")

    def region(self, link: str, region: Region) -> None:
        """The centre of mass of a link inside a region (m)."""
        index = self.link_index(link)
        self.regions[index] = region
        parts, word = convex_parts(region), region_word(region)
        if not parts:
            box = region if isinstance(region, Box) else Box(*span(region))
            for axis, letter in enumerate("xyz"):
                parameter = NamedParameter("com", 10 * index + 1 + axis, index)
                self._limit_theta(f"{link}.com.{letter}", parameter, float(box.lower[axis]), float(box.upper[axis]))
            if not isinstance(region, Box):
                why = f"the {word} of {link} is not convex or has too many faces; give a convex solid, or use Retrieval"
                self.leave_out(f"{word} of {link} (its box counts)", why)
        for part in parts:
            A = np.zeros((len(part.h), self.model.n_params))
            A[:, 10 * index], A[:, 10 * index + 1 : 10 * index + 4] = part.h, part.G
            self.cones.append(ConeBlock(part.kind, A, np.zeros(len(part.h)), (self._region_text(index),)))

    def density(self, link: str, region: Region) -> None:
        """All mass of a link inside a region (m): linear in its second moments."""
        index = self.link_index(link)
        text = f"mass of {link} inside its {region_word(region)}"
        for Q in density_quadrics(region):
            row = svec(Q) @ PSEUDO_INERTIA
            # As a length squared times a mass, every row is of the size of an inertia.
            row = row / max(float(np.max(np.abs(row))), np.finfo(float).tiny)
            weights = {10 * index + k: float(value) for k, value in enumerate(row) if value}
            self.linear_rows.append(_ThetaRow(weights, 0.0, text))
            self.p_rows.append(
                _PRow(text, SCALES["inertia"], False, {}, {k: -value for k, value in weights.items()}, 0.0)
            )

    def leave_out(self, name: str, why: str) -> None:
        """Note a constraint that the semidefinite programme cannot take."""
        self.not_convex.append(NotConvex(name, why))

    def finished(self) -> CompiledConstraints:
        """Everything collected so far (SI)."""
        model = self.model
        links = [self._link_block(i, name) for i, name in enumerate(model.robot.link_names)]
        faces = [block for block in self.cones if block.kind == "nonnegative"]
        others = [block for block in self.cones if block.kind != "nonnegative"]
        physics, linear = self._block(self.physics, strict=True), self._block(self.linear_rows)
        parts = (*links, physics, linear, *faces, *others)
        free = [-1] * sum(len(block.b) for block in faces)
        sizes = np.array([scale_in_p(k, k >= model.n_inertial) for k in range(model.n_params)])
        return CompiledConstraints(
            blocks=tuple(block for block in parts if len(block.b)),
            pins=self._block(self.equalities, kind="zero"),
            inertia_bounds=tuple(self.inertia_bounds),
            column_of_row=(*(row.column for row in (*self.physics, *self.linear_rows)), *free),
            pinned=tuple(sorted({row.column for row in self.equalities if row.column >= 0})),
            not_convex=tuple(self.not_convex),
            names_p=self.names,
            link_names=model.robot.link_names,
            lower=self.lower,
            upper=self.upper,
            sizes=sizes,
            body=self._body(),
            rows=tuple(self._penalty_rows(sizes)),
        )

    def _penalty_rows(self, sizes: Float[Array, " n_params"]) -> list[PenaltyRows]:
        rows: list[PenaltyRows] = []
        if self.p_rows:
            A = _matrix([row.in_p for row in self.p_rows], self.model.n_params)
            B = _matrix([row.in_theta for row in self.p_rows], self.model.n_params)
            names = tuple(row.name for row in self.p_rows)
            scale, b = np.array([(row.scale, row.b) for row in self.p_rows]).T
            equal = np.array([row.equal for row in self.p_rows])
            rows.append(AffineRows(names, scale, equal, A, B, b, self.model.n_dof))
        if self.regions:
            n, texts = len(self.regions), tuple(self._region_text(index) for index in self.regions)
            scale, free = np.full(n, SCALES["com"]), np.zeros(n, dtype=bool)
            rows.append(RegionRows(texts, scale, free, tuple(self.regions.values()), tuple(self.regions)))
        if self.functions:
            n, texts = len(self.functions), tuple(f"{function.name}(links) ≤ 0" for function in self.functions)
            scale, free = np.full(n, SCALES["function"]), np.zeros(n, dtype=bool)
            rows.append(FunctionRows(texts, scale, free, self.functions, self.model.robot.link_names, _STEP * sizes))
        return rows

    def _block(
        self, rows: Sequence[_ThetaRow], *, kind: Literal["zero", "nonnegative"] = "nonnegative", strict: bool = False
    ) -> ConeBlock:
        A = _matrix([row.weights for row in rows], self.model.n_params)
        return ConeBlock(
            kind, A, np.array([row.constant for row in rows]), tuple(row.name for row in rows), strict=strict
        )

    def _body(self) -> TriangleRows:
        what = "triangle inequality" if self.triangle else "positive inertia"
        n = self.model.n_dof
        return TriangleRows(
            tuple(f"{what} of {link}" for link in self.model.robot.link_names),
            np.full(n, SCALES["inertia"]),
            np.zeros(n, dtype=bool),
            FLOOR_FACTOR * self.margin,
            self.triangle,
        )

    def _link_block(self, index: int, link: str) -> ConeBlock:
        operator = PSEUDO_INERTIA if self.triangle else SPATIAL_INERTIA
        A = np.zeros((len(operator), self.model.n_params))
        A[:, 10 * index : 10 * index + 10] = operator
        block = ConeBlock("psd", A, np.zeros(len(A)), (self._link_text(link),), strict=True, link=index)
        return ConeBlock("psd", A, -self.margin * block.identity, block.names, strict=True, link=index)

    def _link_text(self, link: str) -> str:
        return f"{'pseudo-inertia' if self.triangle else '6×6 inertia'} of {link} ≥ {self.margin:g}"

    def _region_text(self, index: int) -> str:
        return f"centre of mass of {self.model.robot.link_names[index]} in its {region_word(self.regions[index])}"

    def _tighten(self, index: int, low: float, high: float, where: str) -> None:
        # Friction bounded by zero above, say: what is asked and what physics asks may leave nothing.
        if low > self.upper[index] or high < self.lower[index]:
            texts = (f"{max(low, self.lower[index]):g}", f"{min(high, self.upper[index]):g}")
            name = self.names[index]
            raise ContradictoryBounds((f"{name} ≥ {texts[0]}", f"{name} ≤ {texts[1]}"), where=where)
        self.lower[index], self.upper[index] = max(low, self.lower[index]), min(high, self.upper[index])

    def _check_mass(self, name: str, link: int, lower: float, upper: float) -> None:
        """Refuse a mass that cannot reach the margin: the difference is too small for a solver to see."""
        if upper <= 0.0 or upper < self.margin:
            text = bound_sides(name, lower, upper)[-1].text
            raise ContradictoryBounds((text, self._link_text(self.model.robot.link_names[link])))

    def _limit_theta(self, name: str, parameter: NamedParameter, lower: float, upper: float) -> None:
        """A bound on an entry of θ, or on a centre of mass as lower·m ≤ mc ≤ upper·m."""
        column = parameter.index
        for side in bound_sides(name, lower, upper):
            rows = self.equalities if side.equal else self.linear_rows
            if parameter.kind == "com":
                weights = {column: side.sign, 10 * parameter.link: -side.sign * side.limit}
                rows.append(_ThetaRow(weights, 0.0, side.text, column))
            else:
                rows.append(_ThetaRow({column: side.sign}, -side.sign * side.limit, side.text, column))

    def _limit_inertia(self, name: str, parameter: NamedParameter, lower: float, upper: float) -> None:
        if lower < upper:
            bound = InertiaBound(name, lower, upper, parameter.index)
            self.inertia_bounds.append(bound)
            self.cones += bound.floor(self.model.n_params)
            return
        link, text = parameter.link, f"{name} = {lower:g}"
        mass = self.known.get(NamedParameter("shared", 10 * link, link))
        com = [self.known.get(NamedParameter("com", 10 * link + 1 + axis, link), math.nan) for axis in range(3)]
        if mass is None or any(math.isnan(value) for value in com):
            why = (
                f"{name} is about the centre of mass: pin the mass and the centre of mass of that link as well, "
                "or pin the inertia about the link frame (J instead of I)"
            )
            self.leave_out(text, why)
            return
        about_frame = lower + float(InertialParameters.from_com(mass, com, np.zeros((3, 3))).pi[parameter.index % 10])
        self.equalities.append(_ThetaRow({parameter.index: 1.0}, -about_frame, text, parameter.index))
