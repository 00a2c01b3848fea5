"""Whether base parameters belong to a physically consistent robot: decided with a proof, and the nearest that do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import ParameterError
from dynid.regression.constraints.cones import ConeBlock, slack, smat, svec
from dynid.regression.constraints.constraints import Constraints
from dynid.regression.feasible.solver import ConeOutcome, SolverSettings, solve_cones

__all__ = [
    "InfeasibilityCertificate",
    "ProvenFeasible",
    "ProvenInfeasible",
    "Undecided",
    "Verification",
    "is_feasible",
    "margin",
]

SIZE_LIMIT = 1e6
"""SI; a certificate counts as proof when it excludes every robot of at most this size (see `Verification`)."""
_MAX_MARGIN = 1e3
"""SI; where nothing bounds the margin it ends here."""
_SETTINGS = SolverSettings(tolerance=1e-9)
_PROJECTIONS = 60
"""Times the multipliers are projected in turn onto their cones and onto the equality."""


@dataclass(frozen=True)
class Verification:
    """What a certificate proves when checked again from scratch."""

    value: float
    """λ·β + Σ⟨Y, b⟩, SI; below zero there is a contradiction."""
    smallest_eigenvalue: float
    """Smallest eigenvalue (or entry) of all multipliers, relative to their total trace; exactly, it is not negative."""
    residual: float
    """Largest entry of Kᵀλ − D*(Y), relative to the total trace; exactly, it is zero."""
    excludes_below: float
    """Every robot is excluded whose size (SI: Σ|θ| plus the traces of its matrices) is below this."""

    @property
    def proves(self) -> bool:
        """Whether no robot of any sensible size has these base parameters."""
        return self.value < 0.0 and self.excludes_below > SIZE_LIMIT


@dataclass(frozen=True, eq=False)
class InfeasibilityCertificate:
    r"""A proof that no physically consistent robot has base parameters β (Farkas).

    Multipliers λ of :math:`K\theta = \beta` and positive semidefinite :math:`Y_k`, one a condition
    :math:`D_k(\theta) + b_k \succeq 0`, with

    .. math::

        K^T \lambda = \sum_k D_k^*(Y_k), \qquad \lambda^T \beta + \sum_k \langle Y_k, b_k \rangle < 0 .

    For a consistent θ the left side of the second would be :math:`\sum_k \langle Y_k, D_k(\theta) + b_k\rangle \ge 0`.
    Scaled so that the traces of all Y add to one, the value is the largest margin any θ can have.
    """

    lam: Float[Array, " n_base"]
    """λ, one a base parameter; SI of margin over base parameter."""
    multipliers: tuple[Float[Array, " _"], ...]
    """Y of every block of `constraints.compile(model)`, as `svec`, then those of pinned values; dimensionless."""
    constraints: Constraints
    """What was asked of the robot."""

    def __repr__(self) -> str:
        return f"InfeasibilityCertificate({len(self.lam)} base parameters, {len(self.multipliers)} multipliers)"

    def matrices(self, model: TorqueModel) -> Float[Array, "n_links n n"]:
        """Y of each link's matrix (4×4, or 6×6 without the triangle condition); dimensionless."""
        blocks = self.constraints.compile(model).blocks
        return np.array([smat(Y) for block, Y in zip(blocks, self.multipliers, strict=False) if block.link >= 0])

    def verify(self, model: TorqueModel, base: BaseParameters, beta: Float[Array, " n_base"]) -> Verification:
        """Check the proof again: one eigenvalue computation a link and two matrix products."""
        compiled = self.constraints.compile(model)
        blocks = (*compiled.blocks, compiled.pins)
        value, reach, smallest, total = float(self.lam @ beta), -base.K.T @ self.lam, 0.0, 0.0
        for block, Y in zip(blocks, self.multipliers, strict=True):
            value += float(Y @ block.b)
            reach = reach + block.A.T @ Y
            total += float(block.identity @ Y)
            smallest = min(smallest, _smallest(block, Y))
        total = total or 1.0
        worst = max(-smallest, float(np.max(np.abs(reach))), np.finfo(float).tiny)
        return Verification(value, smallest / total, float(np.max(np.abs(reach))) / total, -value / worst)


@dataclass(frozen=True, eq=False)
class ProvenFeasible:
    """A full parameter set as proof that the base parameters are physically consistent."""

    theta: Float[Array, " n_params"]
    """SI; Kθ = β and every condition holds."""
    margin: float
    """Smallest eigenvalue (SI) above what was asked, over all conditions; the largest that any θ has."""

    def __repr__(self) -> str:
        return f"ProvenFeasible(margin {self.margin:.3g} SI, by a full set of {len(self.theta)} parameters)"

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class ProvenInfeasible:
    """No physically consistent robot has these base parameters."""

    certificate: InfeasibilityCertificate
    margin: float
    """The largest that any θ reaches of the smallest eigenvalue (SI); negative."""
    verification: Verification

    def __repr__(self) -> str:
        size = f"every robot of size below {self.verification.excludes_below:.2g} SI excluded"
        return f"ProvenInfeasible(margin {self.margin:.3g} SI at most, {size})"


@dataclass(frozen=True)
class Undecided:
    """So close to the boundary that rounding hides the answer, or the solver stopped early."""

    margin: float
    """Best estimate of the margin (SI)."""
    advice: str = "the base parameters lie on the boundary to rounding; try again with a slightly smaller margin"


def is_feasible(
    model: TorqueModel,
    base: BaseParameters,
    beta: Float[Array, " n_base"],
    constraints: Constraints | None = None,
    *,
    solver: SolverSettings = _SETTINGS,
) -> ProvenFeasible | ProvenInfeasible | Undecided:
    r"""Whether some physically consistent θ has Kθ = β, by the semidefinite programme of the largest margin.

    .. math::

        \max_{\theta, t} \; t \quad \text{subject to} \quad K\theta = \beta, \quad D_k(\theta) + b_k \succeq t\,1

    β in the units of the leading parameters. Bounds on inertia about the centre of mass take part only as far as
    they are convex.
    """
    asked = constraints or Constraints()
    values = _checked(base, beta)
    compiled = asked.compile(model)
    compiled.require_convex()
    blocks = (*compiled.blocks, compiled.pins, ConeBlock("zero", base.K, -values, base.leading))
    n = model.n_params
    # In SI units as they stand: the margin is an SI eigenvalue, and any other scaling would put it out of scale.
    relaxed = [ConeBlock(b.kind, np.column_stack([b.A, -b.identity]), b.b, b.names) for b in blocks]
    cap = ConeBlock("nonnegative", -np.eye(n + 1)[n:], np.array([_MAX_MARGIN]), ())
    found = solve_cones(-np.eye(n + 1)[n], [*relaxed, cap], solver)
    if found.outcome is not ConeOutcome.INFEASIBLE and np.all(np.isfinite(found.x)):
        theta = _exactly(found.x[:n], blocks[-2:])
        room = min(slack(block, theta) for block in compiled.blocks)
        if room >= 0.0:
            return ProvenFeasible(theta, room)
    if not all(np.all(np.isfinite(y)) for y in found.multipliers):
        return Undecided(float("nan"), "the solver failed and gave no numbers; scale the robot to usual units")
    Y = _repaired(blocks, found.multipliers[:-1])
    total = sum(float(block.identity @ y) for block, y in zip(blocks, Y, strict=True)) or 1.0
    certificate = InfeasibilityCertificate(-Y[-1] / total, tuple(y / total for y in Y[:-1]), asked)
    verification = certificate.verify(model, base, values)
    if verification.proves:
        return ProvenInfeasible(certificate, verification.value, verification)
    if found.outcome is ConeOutcome.STOPPED:
        return Undecided(
            float("nan"), "the solver stopped early; raise max_iterations or time_limit_s of SolverSettings"
        )
    return Undecided(float(found.x[n]))


def margin(
    model: TorqueModel,
    base: BaseParameters,
    beta: Float[Array, " n_base"],
    constraints: Constraints | None = None,
    *,
    solver: SolverSettings = _SETTINGS,
) -> float:
    """The largest smallest eigenvalue (SI) that the matrices and nonnegative joint terms of any θ with Kθ = β have.

    Negative where no physically consistent robot has these base parameters (in the units of the leading parameters).
    """
    return is_feasible(model, base, beta, replace(constraints or Constraints(), margin=0.0), solver=solver).margin


def _checked(base: BaseParameters, beta: Float[Array, " n_base"]) -> Float[Array, " n_base"]:
    values = np.asarray(beta, dtype=float)
    if values.shape != (base.n_base,) or not np.all(np.isfinite(values)):
        raise ParameterError(f"β must be {base.n_base} finite numbers (see labels()), got shape {values.shape}")
    return values


def _exactly(theta: Float[Array, " n_params"], equalities: Sequence[ConeBlock]) -> Float[Array, " n_params"]:
    """θ (SI) moved the least so that the equalities hold to rounding."""
    A = np.concatenate([block.A for block in equalities])
    b = np.concatenate([block.b for block in equalities])
    return theta - np.linalg.lstsq(A, A @ theta + b, rcond=None)[0]


def _repaired(blocks: Sequence[ConeBlock], multipliers: Sequence[Float[Array, " _"]]) -> list[Float[Array, " _"]]:
    """Multipliers moved so that Σ AᵀY = 0 to rounding, and as far into their cones as projections bring them."""
    A = np.concatenate([block.A for block in blocks])
    ends = np.cumsum([len(block.b) for block in blocks])[:-1]
    Q, _ = np.linalg.qr(A)
    Y = np.concatenate(multipliers)
    Y = Y - Q @ (Q.T @ Y)
    for _ in range(_PROJECTIONS):
        parts = zip(blocks, np.split(Y, ends), strict=True)
        inside = np.concatenate([_projected(block, part) for block, part in parts])
        Y = inside - Q @ (Q.T @ inside)
    return np.split(Y, ends)


def _smallest(block: ConeBlock, Y: Float[Array, " n_rows"]) -> float:
    """Smallest entry or eigenvalue of a multiplier (dimensionless); zero where its sign is free."""
    if block.kind == "zero" or not len(Y):
        return 0.0
    return slack(ConeBlock(block.kind, np.zeros((len(Y), 1)), Y, ()), np.zeros(1))


def _projected(block: ConeBlock, Y: Float[Array, " n_rows"]) -> Float[Array, " n_rows"]:
    """The nearest point of the cone (dimensionless)."""
    if block.kind == "nonnegative":
        return np.maximum(Y, 0.0)
    if block.kind == "psd":
        values, vectors = np.linalg.eigh(smat(Y))
        return svec((vectors * np.maximum(values, 0.0)) @ vectors.T)
    if block.kind == "second order":
        radius = float(np.linalg.norm(Y[1:]))
        if Y[0] >= radius:
            return Y
        size = max(0.0, 0.5 * (Y[0] + radius))
        return np.concatenate([[size], size * Y[1:] / radius]) if radius > 0.0 else np.zeros_like(Y)
    return Y
