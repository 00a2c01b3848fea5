"""The best fit among physically consistent robots, and one robot among those that fit equally well."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.consistency import consistency
from dynid.chain.inertia import InertialParameters
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import ParameterError
from dynid.regression.constraints.compiled import CompiledConstraints
from dynid.regression.constraints.cones import ConeBlock
from dynid.regression.constraints.constraints import Constraints
from dynid.regression.feasible.coordinates import SEEN_TOLERANCE, ScaledProgramme, scaled_programme
from dynid.regression.feasible.link_prior import LinkPrior, link_prior
from dynid.regression.feasible.prior import Prior, Reference, nominal_reference, plain_reference
from dynid.regression.feasible.solver import ConeOutcome, ConeSolution, SolverSettings
from dynid.regression.status import Status

__all__ = ["EQUAL_FIT", "FeasibleSolution", "choose_reference", "solve"]

EQUAL_FIT = 1e-3
"""Relative: fits whose squared error differs by less than this fraction are equal (0.05 % of the error norm).

The very best fit often lies at absurd masses or at infinity: on the Panda log 0.9245 % of error with a link of 270 kg,
0.9250 % with ordinary ones.
"""
_WIDER_FITS = (1e-5, 1e-4, 1e-3)
"""Relative: what else counts as equal where the solver cannot work in the set of equal fits, one after the other."""
_EXACT = 1e-7
"""Relative to ‖ρ‖: rounding of a fit."""
_TRY_EXACT = 1e-4
"""Relative to ‖ρ‖: a constrained fit this close to the unconstrained one may be that one."""
_FIT_GAP = 1e-6
"""Relative duality gap at which a stalled fit is still a fit."""
_CHOICE_GAP = 1e-3
"""Relative duality gap at which a stalled choice among equal fits is still good enough."""
_ACTIVE = 1e-6
"""Relative to the scale of a parameter: closer to its bound it is at the bound."""
_ALONE = 1e-6
"""Dimensionless share of unseen directions below which a parameter is fixed by the data."""
_FAR = 100.0
"""Dimensionless; where data are further than this from the nominal model its coordinates may be to blame."""
_TOO_FAR = 1e4
"""Dimensionless; data further than this from the nominal model are not measured in its coordinates."""
_RESIZINGS = 8
"""Times that links are given the spread, and bodies guessed from geometry the mass, that were found with them."""
_SAME = 1.1
"""Factor of mass, and of spread, within which a guess stands."""
_SAME_NOMINAL = 1.25
"""Factor within which the spread of a nominal link stands: the answer hardly depends on it."""
_MAX_RESTRICTIONS = 10
"""Programmes solved in turn for bounds that are not convex, each about the centre of mass of the one before."""
_EXCESS = 1e-9
"""kg·m²; a bound on inertia exceeded by less is met to rounding."""


@dataclass(frozen=True, eq=False)
class FeasibleSolution:
    """A physically consistent parameter set that fits as well as any, and how it was found."""

    theta: Float[Array, " n_params"]
    """All parameters, SI; nan when no consistent set was found (see `status`)."""
    beta: Float[Array, " n_base"]
    """Kθ, in the units of the leading parameters."""
    objective: float
    """‖RKθ − ρ‖² of this θ, (N·m)²."""
    best_objective: float
    """The smallest ‖RKθ − ρ‖² that any physically consistent robot reaches, (N·m)²; equal fits lie just above."""
    status: Status
    link_margins: Float[Array, " n_links"]
    """Smallest eigenvalue (SI) of each link's pseudo-inertia, or of its 6×6 matrix when the triangle is not asked."""
    labels: tuple[str, ...]
    """Per entry of θ: ``identified`` by the data alone, ``combination`` (the data fix only a sum it is part of),
    ``prior`` (not seen at all), ``bound`` (at a bound, or pinned)."""
    rule: str
    """How one θ was chosen among equal fits."""
    restricted: tuple[str, ...]
    """Bounds that are not convex and were met by a convex restriction: the fit is the best near this answer only."""
    violated: tuple[str, ...]
    """Bounds that are not convex and are not met."""
    left_out: tuple[str, ...]
    """Constraints without an exact convex form that took no part, or only by their box."""
    seconds: float
    """Wall time in s."""
    known: LinkPrior | None = None
    """What was known of the links beside the data, with the rule ``map``."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


def solve(
    R: Float[Array, "n_base n_base"],
    rho: Float[Array, " n_base"],
    model: TorqueModel,
    base: BaseParameters,
    constraints: Constraints | None = None,
    *,
    prior: Prior | None = None,
    residual: float = 0.0,
    equal_fit: float = EQUAL_FIT,
    solver: SolverSettings | None = None,
    relaxed: bool = False,
    joint_std: Float[Array, " n_joint_terms"] | None = None,
) -> FeasibleSolution:
    r"""The physically consistent robot that explains the torque best.

    .. math::

        \min_\theta \; \|R K \theta - \rho\| \quad \text{subject to the constraints}

    first, then the θ nearest to the reference of `prior` among equal fits. With a `prior.weight` w there is one
    programme, :math:`\|RK\theta - \rho\|^2 + w\,d^2`; with the rule ``map`` likewise, the distance being that of the
    links alone in units of their spread: the maximum a posteriori, if R and ρ are in units of the noise.

    Args:
        R: triangular factor of the regression, torque (N·m) per unit of each base parameter.
        rho: the torque in the same coordinates, N·m.
        model: whose columns θ has.
        base: regrouping matrix K.
        constraints: what is asked of θ; only physical consistency when None.
        prior: how to choose among equal fits.
        residual: squared error (N·m)² that no β explains, ‖τ‖² − ‖ρ‖²; it counts when fits are compared.
        equal_fit: relative; see `EQUAL_FIT`.
        solver: when the conic solver stops.
        relaxed: True leaves out what is not convex instead of refusing or restricting it: the optimum is then a bound
            below that of the whole problem, or the same where nothing is left out and nothing violated.
        joint_std: spread of every joint term about zero (SI), with the rule ``map``.

    Raises:
        ParameterError: constraints without a convex form, where not `relaxed`.
        ContradictoryBounds: naming constraints that exclude each other.
        UnknownName: for bounds of parameters that do not exist.
    """
    started = time.perf_counter()
    asked, prior, solver = constraints or Constraints(), prior or Prior(), solver or SolverSettings()
    if not (np.all(np.isfinite(R)) and np.all(np.isfinite(rho))):
        raise ParameterError("R and ρ must be finite; repair or mask the samples they come from")
    compiled = asked.compile(model)
    if not relaxed:
        compiled.require_convex()
    limit = 1 if relaxed else _MAX_RESTRICTIONS
    F, rough = R @ sparse.csr_array(base.K), base.lift(np.linalg.lstsq(R, rho, rcond=None)[0])
    known = link_prior(model, asked, prior, rough, joint_std=joint_std) if prior.rule == "map" else None
    reference = choose_reference(model, asked, prior, rough) if known is None else known.reference
    answer = partial(_restricted, F, rho, compiled, prior, residual, equal_fit, solver, limit)
    found = answer(reference, known)
    if known is not None:
        known, found = _resized(model, asked, prior, rough, F, known, found, answer)
    elif found.programme.distance_of_data > (_FAR if found.status is Status.STOPPED_EARLY else _TOO_FAR):
        reference = choose_reference(model, asked, prior, rough, own_coordinates=False)
        found = answer(reference)
    beta, status = base.project(found.theta), found.status
    if status is Status.CONVERGED and len(found.programme.seen[0]) < base.n_base:
        status = Status.RANK_DEFICIENT
    return FeasibleSolution(
        theta=found.theta,
        beta=beta,
        objective=float(np.sum((R @ beta - rho) ** 2)),
        best_objective=found.best**2 * float(rho @ rho),
        status=status,
        link_margins=_margins(model, asked, found.theta),
        labels=_labels(found.programme, compiled, found.theta),
        rule=_rule(reference if known is None else known.reference, prior),
        restricted=found.restricted,
        violated=_violated(compiled, found.theta),
        left_out=compiled.left_out,
        seconds=time.perf_counter() - started,
        known=known,
    )


@dataclass(frozen=True, eq=False)
class _Found:
    programme: ScaledProgramme
    theta: Float[Array, " n_params"]
    best: float
    status: Status
    restricted: tuple[str, ...]


def _restricted(
    F: Float[Array, "n_base n_params"],
    rho: Float[Array, " n_base"],
    compiled: CompiledConstraints,
    prior: Prior,
    residual: float,
    equal_fit: float,
    solver: SolverSettings,
    limit: int,
    reference: Reference,
    known: LinkPrior | None = None,
) -> _Found:
    """The answer in one set of coordinates; bounds that are not convex are restricted where it exceeds them.

    After `limit` programmes the answer stands as it is.
    """
    extra: dict[str, tuple[ConeBlock, ...]] = {}
    power = float(rho @ rho) or 1.0
    relative = replace(prior, weight=prior.weight / power)
    for _ in range(limit):
        restrictions = [block for blocks in extra.values() for block in blocks]
        programme = scaled_programme(F, rho, compiled, reference, solver, restrictions)
        if known is None:
            theta, best, status = _solved(programme, relative, residual / power, equal_fit)
        else:
            theta, best, status = _pulled(programme, known.pull / np.sqrt(power))
        violated = _violated(compiled, theta)
        if not violated or status is not Status.CONVERGED:
            return _Found(programme, theta, best, status, tuple(extra))
        if limit == 1:
            return _Found(programme, theta, best, status, ())
        for bound in compiled.inertia_bounds:
            if bound.name in violated or bound.name in extra:
                own = InertialParameters(theta[10 * bound.link : 10 * bound.link + 10])
                extra[bound.name] = bound.restricted(own.com, len(theta))
    return _Found(programme, theta, best, Status.BOUNDS_NOT_MET, tuple(extra))


def choose_reference(
    model: TorqueModel,
    constraints: Constraints,
    prior: Prior,
    rough: Float[Array, " n_params"],
    *,
    own_coordinates: bool = True,
) -> Reference:
    """The reference of a prior, with ``auto`` decided; `rough` is any θ (SI) of the size the data suggest.

    `own_coordinates` is that of `nominal_reference`.

    Raises:
        ParameterError: for a rule that the robot or the constraints do not allow.
    """
    rule = prior.rule
    if rule == "auto":
        robot = model.robot
        consistent = robot.has_nominal and all(
            consistency(InertialParameters(pi), triangle=constraints.triangle).holds for pi in robot.nominal
        )
        rule = "nominal" if consistent else "centred"
    if rule == "entropic" and not constraints.triangle:
        raise ParameterError("the entropic divergence needs a positive pseudo-inertia: ask for triangle=True")
    if rule == "centred":
        return plain_reference(model, constraints, rough)
    return nominal_reference(model, constraints, replace(prior, rule=rule), rough, own_coordinates=own_coordinates)


def _resized(
    model: TorqueModel,
    constraints: Constraints,
    prior: Prior,
    rough: Float[Array, " n_params"],
    F: Float[Array, "n_base n_params"],
    known: LinkPrior,
    found: _Found,
    answer: Callable[[Reference, LinkPrior | None], _Found],
) -> tuple[LinkPrior, _Found]:
    """The answer with links given the spread, and guessed bodies the mass (θ in SI), that the data ask for."""
    heavier = 1.0
    for _ in range(_RESIZINGS):
        ratio, asked = known.found_over_guessed(found.theta), known.likeliest_std(F, found.theta)
        if not (0.0 < ratio < np.inf and np.all(np.isfinite(asked))):
            break
        same = np.log(np.where(known.guessed, _SAME, _SAME_NOMINAL))
        if abs(np.log(ratio)) < np.log(_SAME) and np.all(np.abs(np.log(asked / known.std)) < same):
            break
        heavier *= ratio
        known = link_prior(model, constraints, prior, rough, heavier, asked, known.joint_std)
        found = answer(known.reference, known)
    return known, found


def _pulled(
    programme: ScaledProgramme, pull: Float[Array, " n_params"]
) -> tuple[Float[Array, " n_params"], float, Status]:
    """θ (SI) of data and prior together, its error relative to ‖ρ‖, and how it ended."""
    found = programme.fit(pull)
    theta, status = _safe(programme, found.x[: programme.n_params], stopped=not _good(found, _FIT_GAP))
    return theta, programme.error(programme.reference.S_inverse @ theta), status


def _solved(
    programme: ScaledProgramme, prior: Prior, residual: float, equal_fit: float
) -> tuple[Float[Array, " n_params"], float, Status]:
    """θ (SI), the smallest error relative to ‖ρ‖, and how it ended; `residual` is relative to ‖ρ‖²."""
    if prior.weight > 0.0:
        found = programme.regularised(prior.weight)
        theta, status = _safe(programme, found.x[: programme.n_params], stopped=not _good(found, _FIT_GAP))
        return theta, programme.error(programme.reference.S_inverse @ theta), status
    x = programme.unconstrained()
    free = programme.error(x)
    if programme.reference.rule == "nominal" and programme.holds(programme.theta(x)) and not len(programme.pins.b):
        return programme.theta(x), free, Status.CONVERGED
    found = programme.fit()
    x = found.x[: programme.n_params]
    best = programme.error(x)
    if not _good(found, _FIT_GAP):
        theta, status = _safe(programme, x, stopped=True)
        return theta, best, status
    # Where equal fits leave the solver too thin a set to work in, the next wider notion of equal is tried.
    wider = [step for step in _WIDER_FITS if step > equal_fit]
    errors = [float(np.sqrt(best**2 + step * (best**2 + residual))) + _EXACT for step in (equal_fit, *wider)]
    for error in (0.0, *errors) if best <= free + _TRY_EXACT else errors:
        chosen = programme.choose(error)
        if _good(chosen, _CHOICE_GAP):
            theta, status = _safe(programme, chosen.x[: programme.n_params], stopped=False)
            reached = programme.error(programme.reference.S_inverse @ theta)
            if status is Status.CONVERGED and reached <= (error or free) + _EXACT:
                return theta, min(best, reached), status
        if chosen.outcome is ConeOutcome.STOPPED:
            break
    theta, status = _safe(programme, x, stopped=True)
    return theta, best, status


def _good(found: ConeSolution, gap: float) -> bool:
    """Solved, or stalled so near the optimum (relative `gap`) that it does not matter; feasibility is checked apart."""
    return found.outcome is ConeOutcome.SOLVED or (found.outcome is ConeOutcome.STALLED and found.gap <= gap)


def _safe(
    programme: ScaledProgramme, x: Float[Array, " n_params"], *, stopped: bool
) -> tuple[Float[Array, " n_params"], Status]:
    """θ (SI) that meets every condition, or nan: an unfinished answer is moved as far inside as it takes."""
    theta = programme.inside(x)
    if theta is not None:
        return theta, Status.STOPPED_EARLY if stopped else Status.CONVERGED
    theta = programme.inside(x, shares=(1e-3, 1e-2, 0.1, 0.5, 1.0)) if np.all(np.isfinite(x)) else None
    if theta is None:
        theta = np.full(programme.n_params, np.nan)
    return theta, Status.STOPPED_EARLY


def _violated(compiled: CompiledConstraints, theta: Float[Array, " n_params"]) -> tuple[str, ...]:
    if not np.all(np.isfinite(theta)):
        return ()
    links = {bound.link for bound in compiled.inertia_bounds}
    inertias = {link: InertialParameters(theta[10 * link : 10 * link + 10]).inertia_com for link in links}
    return tuple(bound.name for bound in compiled.inertia_bounds if bound.excess(inertias[bound.link]) > _EXCESS)


def _margins(
    model: TorqueModel, constraints: Constraints, theta: Float[Array, " n_params"]
) -> Float[Array, " n_links"]:
    if not np.all(np.isfinite(theta)):
        return np.full(model.n_dof, np.nan)
    links = [InertialParameters(pi) for pi in theta[: model.n_inertial].reshape(-1, 10)]
    matrices = [link.pseudo_inertia if constraints.triangle else link.spatial_inertia for link in links]
    return np.linalg.eigvalsh(np.array(matrices))[:, 0]


def _labels(
    programme: ScaledProgramme, compiled: CompiledConstraints, theta: Float[Array, " n_params"]
) -> tuple[str, ...]:
    """Trust per entry of θ, from the directions that the data see, in units of each parameter's own scale."""
    directions, _ = programme.seen
    scale = np.linalg.norm(programme.reference.S, axis=1)
    # e_k·S maps x to the parameter: what of it lies outside the seen directions is chosen, not measured.
    seen = np.sum((programme.reference.sparse @ directions.T) ** 2, axis=1) / scale**2
    unseen = np.sqrt(np.maximum(0.0, 1.0 - seen))
    effect = np.linalg.norm(programme.F @ programme.reference.S_inverse, axis=0) * scale
    alone = np.where(unseen < _ALONE, "identified", "combination")
    labels = np.where(effect < SEEN_TOLERANCE * np.max(effect), "prior", alone)
    labels[list(compiled.pinned)] = "bound"
    linear = [block for block in compiled.blocks if block.kind == "nonnegative"]
    values = np.concatenate([block.at(theta) for block in linear]) if linear else np.zeros(0)
    for column, value in zip(compiled.column_of_row, values, strict=True):
        if column >= 0 and value < _ACTIVE * scale[column]:
            labels[column] = "bound"
    return tuple(str(label) for label in labels)


def _rule(reference: Reference, prior: Prior) -> str:
    if prior.rule == "map":
        return f"maximum a posteriori: {reference.text}"
    if prior.weight > 0.0:
        return f"fit and prior together, weight {prior.weight:g}: {reference.text}"
    return f"{reference.text}, among equal fits"
