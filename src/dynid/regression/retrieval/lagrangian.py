"""The problem of a retrieval, its random starts, and its augmented Lagrangian with exact derivatives."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import least_squares

from dynid.arrays import Array, Bool, Float, freeze_arrays
from dynid.regression.constraints.compiled import MET, CompiledConstraints, bound_sides
from dynid.regression.constraints.link_parameters import theta_from_p, theta_of, times_blocks
from dynid.regression.constraints.parameter_names import SCALES
from dynid.regression.constraints.penalty_rows import AffineRows, PenaltyRows, RegionRows
from dynid.regression.constraints.regions import span
from dynid.regression.retrieval.body_factors import BodyFactors

__all__ = ["Lagrangian", "RetrievalProblem", "RetrievalRun", "TimeUp", "Watch", "clash", "search_span"]

_AIM = 3.0 * MET
"""Relative to the scale of a row: how far inside inequalities the search stays, safe from rounding."""
_FIRST_PENALTY = 10.0
_GROWTH = 10.0
_LARGEST_PENALTY = 1e9
_CLASH_EVALUATIONS = 200
_CLASH_TOLERANCE = 100.0
"""Violation over tolerance (dimensionless) from which on constraints exclude each other, rather than nearly."""
_PROGRESS = 0.25
"""A violation that one pass does not bring below this fraction of itself gets a larger penalty."""
_GUESS: dict[str, tuple[float, float]] = {
    "mass": (0.0, 20.0),
    "com": (-0.5, 0.5),
    "moment": (0.0, 1.0),
    "product": (-1.0, 1.0),
    "joint": (-100.0, 100.0),
}
"""Where a search looks for parameters without bounds; kg, m, kg·m², SI."""


@dataclass(frozen=True, eq=False)
class RetrievalProblem:
    r"""Minimise :math:`\varphi(p) = \|A\,\theta(p) - b\|^2` under constraints; it travels to other processes."""

    A: Float[Array, "n_rows n_params"]
    """Weighted K, or RK: error per unit of θ."""
    b: Float[Array, " n_rows"]
    constraints: CompiledConstraints
    unit: float = 1.0
    """What Algorithm 1 divides φ by, in the units of b squared; 1 for plain base parameters, as in the paper."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def objective(self, p: Float[Array, " n_params"]) -> float:
        """φ(p), in the units of b squared."""
        rest = self.A @ theta_of(p, self.constraints.n_links) - self.b
        return float(rest @ rest)

    def violation(self, p: Float[Array, " n_params"]) -> float:
        """The largest violation over what counts as met, dimensionless; at most 1 where all constraints are met."""
        return max(check.excess for check in self.constraints.check(p))

    @property
    def size(self) -> float:
        """‖b‖², or 1 where b is zero; in the units of b squared."""
        return float(self.b @ self.b) or 1.0


@dataclass(frozen=True, eq=False)
class RetrievalRun:
    """What one start ended with."""

    index: int
    p: Float[Array, " n_params"]
    """m, c, I about c link after link, then joint terms; SI."""
    objective: float
    """φ(p), in the units of the objective."""
    violation: float
    """Largest violation over what counts as met, dimensionless; at most 1 where all constraints are met."""
    evaluations: int
    seconds: float
    """Wall time in s."""
    finished: bool
    """False when time or patience ended first."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def met(self) -> bool:
        """Whether all constraints are met."""
        return self.violation <= 1.0

    @property
    def rank(self) -> tuple[bool, float]:
        """What runs are compared by: constraints first, then the objective (or, unmet, the violation), in its units."""
        return (not self.met, self.objective if self.met else self.violation)


class TimeUp(RuntimeError):
    """The deadline has passed."""


@dataclass(eq=False)
class Watch:
    """The best point so far, for when time or patience ends."""

    deadline: float
    evaluations: int = 0
    best: float = np.inf
    at: Float[Array, " n_params"] = field(default_factory=lambda: np.zeros(0))

    def saw(self, point: Float[Array, " n_params"], cost: float) -> None:
        self.evaluations += 1
        if cost < self.best:
            self.best = cost
            self.at = point.copy()
        if time.time() > self.deadline:
            raise TimeUp


def search_span(problem: RetrievalProblem) -> tuple[Float[Array, " n_params"], Float[Array, " n_params"]]:
    """Finite lower and upper p (SI): the bounds, the box of a shape, or a plain guess where nothing is known."""
    known = problem.constraints
    lower, upper = known.lower.copy(), known.upper.copy()
    for rows in known.rows:
        for region, link in zip(rows.regions, rows.links, strict=True) if isinstance(rows, RegionRows) else ():
            c = slice(10 * link + 1, 10 * link + 4)
            low, high = span(region)
            # A shape beyond the bounds leaves nothing; the search says so later, by name.
            lower[c] = np.where(low <= upper[c], np.maximum(lower[c], low), lower[c])
            upper[c] = np.where(high >= lower[c], np.minimum(upper[c], high), upper[c])
    for k in range(len(lower)):
        position = k % 10
        diagonal = position in (4, 6, 9)
        kind = "mass" if position == 0 else "com" if position < 4 else "moment" if diagonal else "product"
        least, most = _GUESS["joint" if k >= 10 * known.n_links else kind]
        if not np.isfinite(lower[k]):
            lower[k] = min(least, upper[k] - (most - least))
        if not np.isfinite(upper[k]):
            upper[k] = max(most, lower[k] + (most - least))
    return lower, upper


class Lagrangian:
    """The augmented Lagrangian over x of a problem, with its multipliers (dimensionless) between passes.

    Bounds of inertias sleep until a pass ends beyond them: most never matter, and each costs time.
    """

    def __init__(self, problem: RetrievalProblem, *, weight: float) -> None:
        known = problem.constraints
        self.problem = problem
        self.weight = weight
        self.bodies = BodyFactors(known.n_links, known.body.floor, known.body.triangle)
        inertia = _is_inertia(len(known.lower), known.n_links)
        self.lower = np.where(inertia, -np.inf, known.lower)
        self.upper = np.where(inertia, np.inf, known.upper)
        self.free = self.upper > self.lower
        self.fixed = np.where(self.free, 0.0, self.lower)
        self.scale = np.where(inertia, 0.1, known.sizes)[self.free]
        self.rows: tuple[PenaltyRows, ...] = ()
        self.equal = np.zeros(0, dtype=bool)
        self.multipliers = self.penalty = self.before = np.zeros(0)
        for rows in known.rows:
            self._wake(rows)
        self.sleeping = _inertia_rows(known)
        self.wake(self.sleeping.equal)

    def wake(self, chosen: Bool[Array, " n_sleeping"]) -> None:
        """Let sleeping rows take part from now on."""
        if np.any(chosen):
            self._wake(self.sleeping.part(chosen))
            self.sleeping = self.sleeping.part(~chosen)

    def _wake(self, rows: PenaltyRows) -> None:
        n = len(rows.names)
        self.rows = (*self.rows, rows)
        self.equal = np.concatenate([self.equal, rows.equal])
        self.multipliers = np.concatenate([self.multipliers, np.zeros(n)])
        self.penalty = np.concatenate([self.penalty, np.full(n, _FIRST_PENALTY)])
        self.before = np.concatenate([self.before, np.full(n, np.inf)])

    def press(self, penalty: float) -> None:
        """The same penalty (dimensionless) on all rows, multipliers as they stand."""
        self.penalty = np.full(len(self.equal), penalty)

    def start(self, rng: np.random.Generator) -> Float[Array, " n_params"]:
        """A random x between the bounds, with round bodies of some ten centimetres."""
        lower, upper = search_span(self.problem)
        n_links = self.problem.constraints.n_links
        u = rng.uniform(size=len(lower))
        # Friction is a few N·m whatever its bounds say.
        x = np.where(np.arange(len(u)) < 10 * n_links, lower + (upper - lower) * u, u)
        links = x[: 10 * n_links].reshape(-1, 10)
        links[:, 4:] = 0.1 * np.sqrt(np.maximum(links[:, :1], 0.0)) * rng.normal(size=(n_links, 6))
        return np.where(self.free, np.clip(x, self.lower, self.upper), self.fixed)

    def p(self, x: Float[Array, " n_params"]) -> Float[Array, " n_params"]:
        """p (SI)."""
        return self.bodies.p(x)

    def violations(self, p: Float[Array, " n_params"]) -> Float[Array, " n_constraints"]:
        """Scaled violations (dimensionless) of all rows, aimed a hair inside."""
        parts = [rows.at(p) / rows.scale + np.where(rows.equal, 0.0, _AIM) for rows in self.rows]
        return np.concatenate([np.zeros(0), *parts])

    def minimise(self, x: Float[Array, " n_params"], evaluations: int, watch: Watch) -> Float[Array, " n_params"]:
        """The x (SI of `BodyFactors`) of least cost, multipliers as they stand."""

        best = [(np.inf, x)]

        def whole(free: Float[Array, " n_free"]) -> Float[Array, " n_params"]:
            full = self.fixed.copy()
            full[self.free] = free
            return full

        def cost(free: Float[Array, " n_free"]) -> Float[Array, " n_residuals"]:
            full = whole(free)
            rest = self._residual(full)
            size = float(rest @ rest)
            best[:] = [min(*best, (size, full), key=lambda one: one[0])]
            watch.saw(full, size)
            return rest

        def slopes(free: Float[Array, " n_free"]) -> Float[Array, "n_residuals n_free"]:
            return self._slopes(whole(free))[:, self.free]

        limits = (self.lower[self.free], self.upper[self.free])
        inside = np.clip(x[self.free], limits[0], limits[1])
        try:
            found = least_squares(
                cost,
                inside,
                slopes,
                bounds=limits,
                x_scale=self.scale,
                max_nfev=evaluations,
                ftol=1e-8,
                xtol=1e-10,
                gtol=1e-10,
            )
        except np.linalg.LinAlgError:  # rarely, LAPACK's quick SVD does not converge: the best point so far stands
            return best[0][1]
        return whole(found.x)

    def update(self, x: Float[Array, " n_params"]) -> None:
        """New multipliers, and larger penalties where the last pass did not help enough."""
        h = self.violations(self.p(x))
        wrong = np.where(self.equal, np.abs(h), np.maximum(h, 0.0))
        lam = self.multipliers + self.penalty * h
        self.multipliers = np.where(self.equal, lam, np.maximum(lam, 0.0))
        slow = (wrong > _PROGRESS * self.before) & (wrong > 0.1 * _AIM)
        self.penalty = np.where(slow, np.minimum(_GROWTH * self.penalty, _LARGEST_PENALTY), self.penalty)
        self.before = wrong
        self.wake(self.sleeping.at(self.p(x)) > 0.0)

    def scaled_slopes(self, x: Float[Array, " n_params"]) -> Float[Array, "n_constraints n_params"]:
        """Derivatives of the scaled violations by x."""
        p = self.p(x)
        D_p = np.tile(np.eye(10), (self.bodies.n_links, 1, 1))
        D_p[:, 4:, 4:] = self.bodies.derivative(x)
        none = np.zeros((0, len(x)))
        slopes = np.concatenate([none, *(rows.slopes(p) / rows.scale[:, None] for rows in self.rows)])
        return times_blocks(slopes, D_p)

    def _residual(self, x: Float[Array, " n_params"]) -> Float[Array, " n_residuals"]:
        p = self.p(x)
        theta = theta_of(p, self.bodies.n_links)
        shifted = self.violations(p) + self.multipliers / self.penalty
        active = np.where(self.equal, shifted, np.maximum(shifted, 0.0))
        return np.concatenate([self.weight * (self.problem.A @ theta - self.problem.b), np.sqrt(self.penalty) * active])

    def _slopes(self, x: Float[Array, " n_params"]) -> Float[Array, "n_residuals n_params"]:
        p = self.p(x)
        D = theta_from_p(p, self.bodies.n_links)[1]
        D[:, :, 4:] = D[:, :, 4:] @ self.bodies.derivative(x)
        parts = [self.weight * times_blocks(self.problem.A, D)]
        if self.rows:
            shifted = self.violations(p) + self.multipliers / self.penalty
            on = np.where(self.equal | (shifted > 0.0), np.sqrt(self.penalty), 0.0)
            parts.append(on[:, None] * self.scaled_slopes(x))
        return np.concatenate(parts)


def _is_inertia(n_params: int, n_links: int) -> Bool[Array, " n_params"]:
    k = np.arange(n_params)
    return (k < 10 * n_links) & (k % 10 >= 4)


def _inertia_rows(known: CompiledConstraints) -> AffineRows:
    """Bounds on inertias as rows: in x they are not bounds of single unknowns."""
    names, A, b, equal = [], [], [], []
    n = len(known.lower)
    for k in np.flatnonzero(_is_inertia(n, known.n_links)):
        always = k % 10 in (4, 6, 9) and known.lower[k] <= 0.0
        for side in bound_sides(known.names_p[k], float(known.lower[k]), float(known.upper[k])):
            if always and side.sign > 0.0 and not side.equal:
                continue
            sign = side.sign if side.equal else -side.sign
            names.append(side.text)
            A.append(sign * np.eye(n)[k])
            b.append(-sign * side.limit)
            equal.append(side.equal)
    scale = np.full(len(names), SCALES["inertia"])
    zero = np.zeros((len(names), n))
    rows = np.array(A).reshape(-1, n)
    return AffineRows(tuple(names), scale, np.array(equal, dtype=bool), rows, zero, np.array(b), known.n_links)


def clash(problem: RetrievalProblem, p: Float[Array, " n_params"], *, starts: int = 8) -> tuple[str, ...]:
    """Names of constraints that exclude each other; empty where some p (SI) meets them all.

    At the p of least total violation the slopes of what is violated are held up by each other and by bounds: these
    are the constraints that clash.
    """
    silent = RetrievalProblem(np.zeros((1, len(p))), np.zeros(1), problem.constraints)
    work = Lagrangian(silent, weight=0.0)
    work.wake(np.ones_like(work.sleeping.equal))
    work.press(1.0)
    rng = np.random.default_rng(0)
    best, at = np.inf, work.bodies.x(p)
    for first in (at, *(work.start(rng) for _ in range(starts))):
        x = work.minimise(first, _CLASH_EVALUATIONS, Watch(np.inf))
        h = work.violations(work.p(x))
        wrong = float(np.sum(np.where(work.equal, np.abs(h), np.maximum(h, 0.0)) ** 2))
        if wrong < best:
            best, at = wrong, x
    if silent.violation(work.p(at)) <= _CLASH_TOLERANCE:
        return ()
    h = work.violations(work.p(at))
    wrong_rows = np.where(work.equal, np.abs(h), np.maximum(h, 0.0))
    names = [name for rows in work.rows for name in rows.names]
    found = [name for name, size in zip(names, wrong_rows, strict=True) if size > 1e-2 * np.max(wrong_rows)]
    slope = 2.0 * np.where(work.equal | (h > 0.0), h, 0.0) @ work.scaled_slopes(at)
    known = problem.constraints
    strong = np.abs(slope) * np.where(work.free, 1.0, 0.0) > 1e-2 * np.max(np.abs(slope), initial=1e-300)
    near = 1e-4 * known.sizes
    for k in np.flatnonzero(strong | ~work.free):
        if slope[k] > 0.0 and at[k] - work.lower[k] <= near[k]:
            found.append(f"{known.names_p[k]} ≥ {work.lower[k]:g}")
        elif slope[k] < 0.0 and work.upper[k] - at[k] <= near[k]:
            found.append(f"{known.names_p[k]} ≤ {work.upper[k]:g}")
    return tuple(found)
