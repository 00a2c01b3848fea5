"""Full parameters under any constraint a user can write: penalty-based global search [Gaz2019]_."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from dynid.arrays import Array, Bool, Float, freeze_arrays
from dynid.chain.inertia import InertialParameters
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import ContradictoryBounds, ParameterError, RegressionError
from dynid.prose import text_table
from dynid.regression.constraints.compiled import CompiledConstraints, ConstraintCheck
from dynid.regression.constraints.constraints import Constraints
from dynid.regression.constraints.link_parameters import theta_of
from dynid.regression.estimate import Estimate, full_estimate
from dynid.regression.feasible.programme import solve
from dynid.regression.least_squares import joint_weights
from dynid.regression.problem import Regression
from dynid.regression.retrieval.lagrangian import RetrievalProblem, RetrievalRun, clash
from dynid.regression.retrieval.objective import ObjectiveKind, RetrievalObjective
from dynid.regression.retrieval.search import MultiStart, SearchEngine
from dynid.regression.status import Status

__all__ = ["Retrieval", "RetrievalProgress", "RetrievalResult", "SolutionSpread"]

EQUAL = 1e-2
"""Relative: runs whose objective is within this fraction of the best one count as equally good."""
AGREE = 1e-2
"""Relative to its value or scale: a parameter that equally good runs leave in a narrower range is agreed on."""
ONE_PERCENT = 0.01
"""Relative error that costs 1 in Algorithm 1, where the objective is not ‖π(p) − π̂‖² itself."""
_NOTHING = 1e-10
"""Relative to ‖b‖²: an optimum below this is zero."""
_ROUNDING = 1e-16
"""Relative to ‖b‖²: objectives below this differ by rounding only, and the first such run is as good as any."""
_EXACT_FIT = 1e-6
"""Relative: how far above the optimum the semidefinite programme may choose among equal fits."""

RetrievalProgress = Callable[[int, int, float], None]
"""Called with the number of finished runs, of all runs, and the best objective so far (nan for none)."""


@dataclass(frozen=True, eq=False)
class SolutionSpread:
    """How far apart the equally good runs are: what they agree on, and what the data leaves open."""

    names: tuple[str, ...]
    """Entries of p: m1, c1x, …, I1xx, …, joint terms."""
    n_runs: int
    """Runs that count as equally good; with fewer than two nothing can be said."""
    lowest: Float[Array, " n_params"]
    highest: Float[Array, " n_params"]
    agreed: Bool[Array, " n_params"]
    """Whether the range is within one percent of the parameter's value (or of a tenth of its kind's scale)."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(cls, runs: tuple[RetrievalRun, ...], best: RetrievalRun, problem: RetrievalProblem) -> SolutionSpread:
        """Of the runs (SI) that meet all constraints and are as good as the best."""
        limit = (1.0 + EQUAL) * best.objective + _NOTHING * problem.size
        good = [run.p for run in runs if run.met and run.objective <= limit] or [best.p]
        lowest, highest = np.min(good, axis=0), np.max(good, axis=0)
        scale = np.maximum(np.abs(best.p), 0.1 * problem.constraints.sizes)
        agreed = (highest - lowest <= AGREE * scale) & (len(good) > 1)
        return cls(problem.constraints.names_p, len(good), lowest, highest, agreed)

    @property
    def open(self) -> tuple[str, ...]:
        """Names of what equally good runs do not agree on (no unit)."""
        return tuple(name for name, agreed in zip(self.names, self.agreed, strict=True) if not agreed)


@dataclass(frozen=True, eq=False)
class RetrievalResult:
    """The best parameters found, how far from the optimum, every constraint checked, and all runs."""

    objective_kind: ObjectiveKind
    p: Float[Array, " n_params"]
    """m (kg), c (m), I about c (kg·m²) link after link, then joint terms (SI)."""
    theta: Float[Array, " n_params"]
    """The same about the link frames, SI."""
    beta: Float[Array, " n_base"]
    """π(p), in the units of the leading parameters."""
    objective: float
    """φ(p): squared error of the base parameters (or whitened, dimensionless), or (N·m)²."""
    relative_percent: float
    """100·√φ over the size of what is explained, %; for a log the relative torque error."""
    optimum: float
    """The least φ of the semidefinite programme, in the units of φ; nan where it found none."""
    convex: bool
    """True: `optimum` is the global optimum of this problem; False: a bound below it, some constraints left out."""
    left_out: tuple[str, ...]
    """Constraints that the semidefinite programme does not know, or only in part."""
    checks: tuple[ConstraintCheck, ...]
    """Every constraint with its margin."""
    runs: tuple[RetrievalRun, ...]
    """In the order of their starts."""
    spread: SolutionSpread
    status: Status
    labels: tuple[str, ...]
    """For every entry of θ: identified, combination, prior or bound."""
    seconds: float
    """Wall time in s."""
    size: float = 1.0
    """‖y‖² of the objective, in the units of φ."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __repr__(self) -> str:
        above = f", {100.0 * max(0.0, self.gap):.3g} % above {self.optimum:.6g}" if math.isfinite(self.gap) else ""
        met = "all constraints met" if self.met else f"not met: {', '.join(self.violated)}"
        searched = f"{len(self.runs)} runs in {self.seconds:.1f} s"
        return f"RetrievalResult(objective {self.objective:.6g}{above}; {met}; {searched})"

    def __str__(self) -> str:
        pairs = [(a, b) for a in range(3) for b in range(a, 3)]
        moments = [f"I{'xyz'[a]}{'xyz'[b]} / kg·m²" for a, b in pairs]
        headers = ("link", "m / kg", "cx / m", "cy / m", "cz / m", *moments)
        rows = []
        for number, link in enumerate(self.links, start=1):
            values = (link.mass, *link.com, *(link.inertia_com[a, b] for a, b in pairs))
            rows.append((str(number), *(f"{value:.4g}" for value in values)))
        return f"{self!r}\n{text_table(headers, rows, numeric=range(1, len(headers)))}"

    @property
    def gap(self) -> float:
        """(φ − φ*)/φ*, relative; φ* counts as at least 1e-10 of what is explained."""
        return (self.objective - self.optimum) / max(self.optimum, _NOTHING * self.size)

    @property
    def met(self) -> bool:
        """Whether every constraint holds."""
        return all(check.holds for check in self.checks)

    @property
    def violated(self) -> tuple[str, ...]:
        """Names of the constraints that do not hold (no unit)."""
        return tuple(check.name for check in self.checks if not check.holds)

    @property
    def links(self) -> tuple[InertialParameters, ...]:
        """The links, SI."""
        n_links = sum(name.startswith("I") and name.endswith("xx") for name in self.spread.names)
        return tuple(InertialParameters(pi) for pi in self.theta[: 10 * n_links].reshape(-1, 10))


@dataclass(frozen=True, kw_only=True, eq=False)
class Retrieval:
    """Q searches from random starts, the best of which is checked and compared with the semidefinite optimum.

    Inside ``joblib.parallel_config(backend="dask")`` the same call runs on a dask cluster.
    """

    constraints: Constraints = field(default_factory=Constraints)
    engine: SearchEngine = field(default_factory=MultiStart)
    runs: int = 4
    """Q."""
    seed: int = 0
    """Every run draws from a stream of its own: the result does not depend on the number of workers."""
    workers: int | None = None
    """Processes; −1 for one a core, None for what joblib's configuration says (1 outside of any)."""
    time_budget: float = math.inf
    """Wall time in seconds; what has been found by then is returned."""
    name: ClassVar[str] = "retrieval"
    label: ClassVar[str] = "retrieval by global search"
    gives_links: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise ParameterError(f"a retrieval needs at least one run, got {self.runs}")
        if not self.time_budget > 0.0:
            raise ParameterError(f"the time budget must be positive, got {self.time_budget} s")
        if self.workers is not None and (self.workers == 0 or self.workers < -1):
            raise ParameterError(f"the number of workers must be positive, or −1 for one a core, got {self.workers}")

    def solve(
        self,
        model: TorqueModel,
        base: BaseParameters,
        objective: RetrievalObjective,
        *,
        progress: RetrievalProgress | None = None,
    ) -> RetrievalResult:
        """The best full parameters (SI); Ctrl-C and the time budget end the search with what has been found.

        Raises:
            ContradictoryBounds: constraints that exclude each other, by name.
            UserFunctionError: a constraint function that raised or returned no finite number.
            UnknownName: a parameter or link that does not exist.
        """
        started = time.perf_counter()
        deadline = time.time() + self.time_budget
        compiled = self.constraints.compile(model)
        plain = objective.kind == "coefficients" and not objective.weighted
        problem = RetrievalProblem(objective.W @ base.K, objective.y, compiled)
        problem = problem if plain else replace(problem, unit=problem.size * ONE_PERCENT**2)
        optimum, convex, left_out = _optimum(model, base, objective, self.constraints)
        found = sorted(self._searched(problem, deadline, progress or _silent), key=lambda run: run.index)
        best = min(found, key=lambda run: (run.rank[0], max(run.rank[1], _ROUNDING * problem.size), run.index))
        stopped = len(found) < self.runs or not all(run.finished for run in found)
        if not best.met and not stopped:
            names = clash(problem, best.p)
            if names:
                raise ContradictoryBounds(names)
        theta = theta_of(best.p, compiled.n_links)
        status = Status.INFEASIBLE_CONSTRAINTS if not best.met else Status.CONVERGED
        return RetrievalResult(
            objective_kind=objective.kind,
            p=best.p,
            theta=theta,
            beta=base.project(theta),
            objective=best.objective,
            relative_percent=objective.relative_percent(best.objective),
            optimum=optimum,
            convex=convex,
            left_out=left_out,
            checks=compiled.check(best.p),
            runs=tuple(found),
            spread=SolutionSpread.of(tuple(found), best, problem),
            status=Status.STOPPED_EARLY if stopped else status,
            labels=_labels(base, compiled, best.p),
            seconds=time.perf_counter() - started,
            size=problem.size,
        )

    def fit(self, regression: Regression) -> Estimate:
        """The one-step estimate (SI) from a log, rows of each joint weighted by its noise, as other estimators give."""
        weights = joint_weights(regression)[0]
        stacked = regression.stacked(weights)
        objective = RetrievalObjective.one_step(regression.base, stacked.R, stacked.rho, stacked.rest)
        found = self.solve(regression.model, regression.base, objective)
        return full_estimate(
            self,
            regression,
            found.theta,
            weights=weights,
            status=found.status,
            labels=found.labels,
            rule=f"best of {len(found.runs)} searches ({self.engine.name})",
            iterations=len(found.runs),
        )

    def _searched(self, problem: RetrievalProblem, deadline: float, progress: RetrievalProgress) -> list[RetrievalRun]:
        found: list[RetrievalRun] = []
        try:
            for run in self._parallel(problem, deadline):
                if run is not None:
                    found.append(run)
                    met = [other.objective for other in found if other.met]
                    progress(len(found), self.runs, min(met, default=math.nan))
                    if not run.finished and time.time() < deadline:
                        break  # Ctrl-C reached the search itself: no further starts
        except KeyboardInterrupt:
            if not found:
                raise
        except BrokenExecutor as error:
            if not found:
                raise RegressionError(
                    "a worker process ended before its search did: too little memory, or a constraint function that "
                    "crashed; try workers=1"
                ) from error
        return found

    def _parallel(self, problem: RetrievalProblem, deadline: float) -> Iterator[RetrievalRun | None]:
        from joblib import Parallel, delayed

        seeds = np.random.SeedSequence(self.seed).spawn(self.runs)
        jobs = (delayed(_one)(self.engine, problem, k, seed, deadline) for k, seed in enumerate(seeds))
        return Parallel(n_jobs=self.workers, return_as="generator_unordered")(jobs)


def _one(
    engine: SearchEngine, problem: RetrievalProblem, index: int, seed: np.random.SeedSequence, deadline: float
) -> RetrievalRun | None:
    """One run, or none where time is up; the first always starts, so that there is something to return."""
    return None if index and time.time() > deadline else engine.run(problem, index, seed, deadline)


def _silent(done: int, of: int, best: float) -> None:
    """No progress."""


def _optimum(
    model: TorqueModel, base: BaseParameters, objective: RetrievalObjective, constraints: Constraints
) -> tuple[float, bool, tuple[str, ...]]:
    """The semidefinite optimum, whether it is that of the whole problem, and what it leaves out."""
    found = solve(
        objective.W,
        objective.y,
        model,
        base,
        constraints,
        residual=objective.rest,
        equal_fit=_EXACT_FIT,
        relaxed=True,
    )
    # Where its answer meets the bounds that are not convex, the optimum without them is the optimum with them.
    left_out = (*found.left_out, *(["bounds of inertia about the centre of mass"] if found.violated else []))
    good = found.status in (Status.CONVERGED, Status.RANK_DEFICIENT)
    return (found.best_objective if good else math.nan), good and not left_out, left_out


def _labels(base: BaseParameters, compiled: CompiledConstraints, p: Float[Array, " n_params"]) -> tuple[str, ...]:
    """How each entry of θ came about: by the data, by a sum that they fix, not at all, or by a bound."""
    alone, unseen = set(base.alone), set(base.unseen)
    words = []
    for k, symbol in enumerate(base.symbols):
        same = k >= 10 * compiled.n_links or k % 10 == 0
        near = 1e-6 * compiled.sizes[k]
        at_bound = same and (p[k] - compiled.lower[k] < near or compiled.upper[k] - p[k] < near)
        words.append(
            "bound" if at_bound else "identified" if symbol in alone else "prior" if symbol in unseen else "combination"
        )
    return tuple(words)
