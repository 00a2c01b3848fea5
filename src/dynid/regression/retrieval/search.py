"""Two ways to search full parameters: Algorithm 1 of the paper, and many starts with exact derivatives."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.optimize import dual_annealing

from dynid.arrays import Array, Float
from dynid.errors import ParameterError
from dynid.regression.retrieval.body_factors import BodyFactors
from dynid.regression.retrieval.lagrangian import Lagrangian, RetrievalProblem, RetrievalRun, TimeUp, Watch, search_span

__all__ = ["MultiStart", "SearchEngine", "SimulatedAnnealing"]

_WEIGHT = 100.0
"""Relative errors of a few percent become cost of order one, like violations of order one."""
_NO_PENALTY = 1e-12
"""Stands for ξ = 0 in the local solver, which divides by it."""
_LAST_PASSES = 10
_PATIENCE = 4
"""Passes in a row without progress towards constraints that are not met, after which a run gives up."""
_HOPELESS = 0.9
"""Ratio of violations above which a pass made no progress."""
_SETTLED = 1e-3
"""Relative change of the objective between two passes below which it has settled."""


@runtime_checkable
class SearchEngine(Protocol):
    """A search from one random start."""

    @property
    def name(self) -> str:
        """What commands call it."""
        ...

    def run(self, problem: RetrievalProblem, index: int, seed: np.random.SeedSequence, deadline: float) -> RetrievalRun:
        """The answer of start number `index`; `deadline` is a time of day in s (`time.time()`)."""
        ...


@dataclass(frozen=True, kw_only=True)
class SimulatedAnnealing:
    r"""Algorithm 1 of [Gaz2019]_: simulated annealing and a local solver, κ times, with a growing penalty.

    .. math::

        \min_{LB \le p \le UB} \; \varphi(p) + \xi_k \sum_\ell g(h_\ell(p)), \qquad \xi_1 = 0, \quad \xi_{k+1} = 10 k

    from a random start between the bounds, each step from the answer of the one before; g is the violation itself, in
    SI. Where φ is not ‖π(p) − π̂‖², an error of one percent costs 1. The annealer is SciPy's `dual_annealing` without
    its own local search; the local solver is SciPy's `least_squares` with exact derivatives, in coordinates in which
    the triangle inequality holds: in p the penalty has kinks in which smooth solvers stall. What the last penalty
    leaves of violations is removed by the local solver alone.
    """

    steps: int = 10
    """κ."""
    iterations: int = 20
    """Of the annealer in every step; each takes two evaluations a parameter."""
    local_evaluations: int = 60
    """Of the local solver in every step."""

    def __post_init__(self) -> None:
        if min(self.steps, self.iterations, self.local_evaluations) < 1:
            raise ParameterError(f"annealing needs at least one step and one iteration, got {self}")

    @property
    def name(self) -> str:
        """What commands call it."""
        return "annealing"

    def run(self, problem: RetrievalProblem, index: int, seed: np.random.SeedSequence, deadline: float) -> RetrievalRun:
        """The answer of start number `index`; `deadline` is a time of day in s."""
        started, rng = time.perf_counter(), np.random.default_rng(seed)
        lower, upper = search_span(problem)
        p = lower + (upper - lower) * rng.uniform(size=len(lower))
        local = Lagrangian(problem, weight=1.0 / np.sqrt(problem.unit))
        watch, finished = Watch(deadline, at=p), True
        try:
            for k in range(self.steps):
                xi = 10.0 * k
                p = self._annealed(problem, p, xi, (lower, upper), rng, watch)
                polished = self._polished(local, p, xi, watch)
                if _penalised(problem, polished, xi) <= _penalised(problem, p, xi):
                    p = polished
            watch.at = p
            p = self._finished(problem, local, _mended(problem, p), watch)
        except (TimeUp, KeyboardInterrupt):
            finished, p = False, watch.at
        p = _mended(problem, p)
        seconds = time.perf_counter() - started
        found = problem.objective(p), problem.violation(p)
        return RetrievalRun(index, p, *found, watch.evaluations, seconds, finished)

    def _annealed(
        self,
        problem: RetrievalProblem,
        start: Float[Array, " n_params"],
        xi: float,
        limits: tuple[Float[Array, " n_params"], Float[Array, " n_params"]],
        rng: np.random.Generator,
        watch: Watch,
    ) -> Float[Array, " n_params"]:
        free = limits[1] > limits[0]
        lower, width = limits[0][free], (limits[1] - limits[0])[free]
        watch.best = np.inf

        def whole(u: Float[Array, " n_free"]) -> Float[Array, " n_params"]:
            p = start.copy()
            p[free] = lower + width * u
            return p

        def cost(u: Float[Array, " n_free"]) -> float:
            p = whole(u)
            value = _penalised(problem, p, xi)
            watch.saw(p, value)
            return value

        u = np.clip((start[free] - lower) / width, 0.0, 1.0)
        unit = [(0.0, 1.0)] * len(u)
        return whole(dual_annealing(cost, unit, x0=u, maxiter=self.iterations, no_local_search=True, rng=rng).x)

    def _polished(
        self, local: Lagrangian, p: Float[Array, " n_params"], xi: float, watch: Watch
    ) -> Float[Array, " n_params"]:
        local.press(max(xi, _NO_PENALTY))
        x = local.minimise(local.bodies.x(p), self.local_evaluations, Watch(watch.deadline))
        if xi > 0.0:
            local.update(x)
        return local.p(x)

    def _finished(
        self, problem: RetrievalProblem, local: Lagrangian, p: Float[Array, " n_params"], watch: Watch
    ) -> Float[Array, " n_params"]:
        """p (SI) without what the last penalty left of violations: the local solver alone, with larger penalties."""
        best = p
        for _ in range(_LAST_PASSES):
            if problem.violation(best) <= 1.0:
                break
            x = local.minimise(local.bodies.x(p), self.local_evaluations, Watch(watch.deadline))
            local.update(x)
            p = local.p(x)
            best = min(best, p, key=problem.violation)
        return best


def _penalised(problem: RetrievalProblem, p: Float[Array, " n_params"], xi: float) -> float:
    value = problem.objective(p) / problem.unit
    if xi == 0.0:
        return value
    for rows in problem.constraints.all_rows:
        g = rows.at(p)
        value += xi * float(np.sum(np.where(rows.equal, np.abs(g), np.maximum(g, 0.0))))
    return value


def _mended(problem: RetrievalProblem, p: Float[Array, " n_params"]) -> Float[Array, " n_params"]:
    """p (SI) inside its bounds and with consistent links: what a penalty leaves is a hair, and this cuts it."""
    known = problem.constraints
    bodies = BodyFactors(known.n_links, known.body.floor, known.body.triangle)
    mended = np.clip(bodies.p(bodies.x(p)), known.lower, known.upper)
    return mended if problem.violation(mended) <= problem.violation(p) else p


@dataclass(frozen=True, kw_only=True)
class MultiStart:
    """Least squares with exact derivatives, constraints by an augmented Lagrangian, links consistent by construction.

    The unknowns are those of `BodyFactors`, so the triangle inequality costs nothing. Bounds of masses, centres of
    mass and joint terms are bounds of SciPy's trust-region solver; all other constraints are extra residuals
    :math:`\\sqrt\\mu\\,\\max(0, h + \\lambda/\\mu)` whose multipliers λ are updated between passes.
    """

    passes: int = 15
    evaluations: int = 100
    """At most, of residuals and their derivatives in every pass."""

    def __post_init__(self) -> None:
        if self.passes < 1 or self.evaluations < 1:
            raise ParameterError(
                f"a search needs at least one pass and evaluation, not {self.passes}, {self.evaluations}"
            )

    @property
    def name(self) -> str:
        """What commands call it."""
        return "multistart"

    def run(self, problem: RetrievalProblem, index: int, seed: np.random.SeedSequence, deadline: float) -> RetrievalRun:
        """The answer of start number `index`; `deadline` is a time of day in s."""
        started = time.perf_counter()
        work = Lagrangian(problem, weight=_WEIGHT / np.sqrt(problem.size))
        x, watch = work.start(np.random.default_rng(seed)), Watch(deadline)
        stuck = 0
        best, settled, finished = RetrievalRun(index, work.p(x), np.inf, np.inf, 0, 0.0, False), np.inf, True
        try:
            for _ in range(self.passes):
                watch.best = np.inf
                x = work.minimise(x, self.evaluations, watch)
                p = work.p(x)
                here = RetrievalRun(index, p, problem.objective(p), problem.violation(p), 0, 0.0, True)
                stuck = stuck + 1 if not here.met and here.violation > _HOPELESS * best.violation else 0
                best = min(best, here, key=lambda run: run.rank)
                change = abs(settled - here.objective)
                if here.met and change <= _SETTLED * here.objective + 1e-14 * problem.size:
                    break
                if stuck == _PATIENCE:
                    break
                settled = here.objective
                work.update(x)
        except (TimeUp, KeyboardInterrupt):
            p = work.p(watch.at) if len(watch.at) else work.p(x)
            here = RetrievalRun(index, p, problem.objective(p), problem.violation(p), 0, 0.0, False)
            best = min(best, here, key=lambda run: run.rank)
            finished = False
        seconds = time.perf_counter() - started
        return RetrievalRun(index, best.p, best.objective, best.violation, watch.evaluations, seconds, finished)
