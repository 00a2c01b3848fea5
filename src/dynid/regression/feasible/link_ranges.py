"""Between which values a number of a link may lie without a worse fit: two semidefinite programmes each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.inertia import InertialParameters
from dynid.regression.constraints.cones import ConeBlock
from dynid.regression.constraints.constraints import Constraints
from dynid.regression.estimate import Estimate
from dynid.regression.feasible.coordinates import ScaledProgramme, scaled_programme
from dynid.regression.feasible.prior import Prior, Reference, reference_of
from dynid.regression.feasible.programme import EQUAL_FIT, choose_reference
from dynid.regression.feasible.solver import ConeOutcome, SolverSettings, solve_cones
from dynid.regression.problem import Regression

__all__ = ["LinkRange", "link_ranges"]

_GAP = 1e-3
"""Relative duality gap at which an end of a range that rounding stopped is still its end."""
_CAPPED = 0.9
"""Share of the cap from which an end is the cap's."""
_VANISHING = 1e-3
"""Share of its mass below which a link may vanish among equal fits: then nothing bounds its centre of mass."""
_FAR = 100.0
"""A number this many times the size of the link found is bounded by nothing that matters."""
_END_TEXTS: dict[str, object] = {"inf": "inf", "-inf": "-inf", "nan": "nan"}
"""JSON has no such numbers; ``float`` reads the texts."""
_SETTINGS = SolverSettings(tolerance=1e-7, loose_tolerance=1e-5)


@dataclass(frozen=True, eq=False)
class LinkRange:
    """Smallest and largest values (SI) of one link among physically consistent robots that fit equally well.

    An end is infinite where nothing bounds the number, and nan where the solver did not find it.
    """

    mass: Float[Array, " 2"]
    """kg."""
    com: Float[Array, "3 2"]
    """m, link frame."""
    inertia: Float[Array, "6 2"]
    """Ixx Ixy Iyy Ixz Iyz Izz about the origin of the link frame, kg·m²; about the centre of mass no exact range is
    known, as it is not convex."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def stored(self) -> dict[str, object]:
        """What a model file keeps of it (SI); ends that are not finite as texts."""

        def ends(values: Float[Array, "... 2"]) -> list[object]:
            return [[_END_TEXTS.get(str(float(v)), float(v)) for v in pair] for pair in np.atleast_2d(values)]

        return {"mass": ends(self.mass)[0], "com": ends(self.com), "inertia": ends(self.inertia)}

    @classmethod
    def restored(cls, content: Mapping[str, object]) -> LinkRange:
        """From what a model file keeps (SI)."""
        parts = {name: np.array(content[name], dtype=float) for name in ("mass", "com", "inertia")}
        for part, shape in zip(parts.values(), ((2,), (3, 2), (6, 2)), strict=True):
            if part.shape != shape:
                raise ValueError(f"a range of a link has shape {part.shape} where {shape} belongs")
        return cls(**parts)


def link_ranges(
    estimate: Estimate,
    regression: Regression,
    constraints: Constraints,
    *,
    equal_fit: float = EQUAL_FIT,
    solver: SolverSettings = _SETTINGS,
) -> tuple[LinkRange, ...] | None:
    r"""The range of every link (SI) among equal fits; None where the estimate has no links.

    Equal are fits whose weighted squared error is at most `equal_fit` (relative) above that of the estimate. Mass
    and inertia are linear in θ. A centre of mass is a ratio: with :math:`\theta' = \theta/m`, :math:`t = 1/m`
    [CharnesCooper1962]_ it is linear again, and every condition :math:`A\theta' + bt` stays a cone.

    Args:
        estimate: of the links.
        regression: the rows it was fitted to.
        constraints: of the fit; what is not convex takes no part.
        equal_fit: relative, see `EQUAL_FIT`.
        solver: when a programme stops.
    """
    theta = estimate.theta
    if theta is None:
        return None
    model = estimate.model
    stacked = regression.stacked(estimate.weights)
    F = stacked.R @ estimate.base.K
    compiled = constraints.compile(model)
    programme = scaled_programme(F, stacked.rho, compiled, _reference(estimate, constraints), solver)
    excess = float(np.sum((F @ theta - stacked.rho) ** 2))
    power = float(stacked.rho @ stacked.rho) or 1.0
    error = float(np.sqrt((excess + equal_fit * (excess + stacked.rest)) / power))
    plain, ratio = _equal_fits(programme, error), _homogeneous(programme, error)
    S = programme.reference.S
    found = []
    for link in range(model.n_dof):
        rows = S[10 * link : 10 * link + 10]
        own = InertialParameters(theta[10 * link : 10 * link + 10])
        gyration = np.sqrt(np.trace(own.pseudo_inertia[:3, :3]) / own.mass)
        mass = np.maximum(_ends(rows[0], own.mass, plain, solver), 0.0)
        inertia = np.array([_ends(row, own.mass * gyration**2, plain, solver) for row in rows[4:]])
        unit = ConeBlock("zero", np.append(rows[0], 0.0)[None], -np.ones(1), ())
        com = np.array([_ends(np.append(row, 0.0), gyration, [*ratio, unit], solver) for row in rows[1:4]])
        if mass[0] < _VANISHING * own.mass:
            com = np.where(np.abs(com) < 10.0 * gyration, com, np.array([-np.inf, np.inf]))
        found.append(LinkRange(mass, com, inertia))
    return tuple(found)


def _reference(estimate: Estimate, constraints: Constraints) -> Reference:
    """Coordinates of the links found, where they are bodies; else those of the robot."""
    assert estimate.theta is not None
    n = estimate.model.n_inertial
    if constraints.triangle:
        bodies = estimate.theta[:n].reshape(-1, 10)
        return reference_of(estimate.model, bodies, bodies, "nominal", "", triangle=True)
    return choose_reference(estimate.model, constraints, Prior("centred"), estimate.theta)


def _equal_fits(programme: ScaledProgramme, error: float) -> list[ConeBlock]:
    """All conditions over x, and an error of at most `error` (relative to ‖ρ‖)."""
    A = np.vstack([np.zeros(programme.n_params), programme.F / error])
    fit = ConeBlock("second order", A, np.concatenate([[1.0], -programme.y / error]), ())
    pins = [programme.pins] if len(programme.pins.b) else []
    return [*programme.blocks, *pins, fit]


def _homogeneous(programme: ScaledProgramme, error: float) -> list[ConeBlock]:
    """The same over (x', t): every constant is multiplied by t ≥ 0."""
    blocks = [
        ConeBlock(b.kind, np.column_stack([b.A, b.b]), np.zeros(len(b.b)), ()) for b in _equal_fits(programme, error)
    ]
    n = programme.n_params
    return [*blocks, ConeBlock("nonnegative", np.eye(n + 1)[n:], np.zeros(1), ())]


def _ends(row: Float[Array, " n"], usual: float, blocks: list[ConeBlock], solver: SolverSettings) -> Float[Array, " 2"]:
    """Smallest and largest row·x, infinite beyond `_FAR` times what is `usual` (in its unit)."""
    size = float(np.linalg.norm(row)) or 1.0
    ends = []
    for sign in (1.0, -1.0):
        # A cap keeps what nothing bounds from ending in rounding errors.
        cap = ConeBlock("nonnegative", sign * row[None] / (_FAR * usual), np.ones(1), ())
        found = solve_cones(sign * row / size, [*blocks, cap], solver)
        value = float(row @ found.x) if np.all(np.isfinite(found.x)) else np.nan
        if found.outcome is ConeOutcome.UNBOUNDED or -sign * value > _CAPPED * _FAR * usual:
            value = -sign * np.inf
        elif not (found.outcome is ConeOutcome.SOLVED or (found.outcome is ConeOutcome.STALLED and found.gap <= _GAP)):
            value = np.nan
        ends.append(value)
    return np.array(ends)
