"""`retrieve`: full, physically consistent parameters whose base parameters (or torques) are those of a model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal, TypedDict, get_args

from dynid.chain.robot import Robot
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ConfigError, ParameterError
from dynid.prose import Document, Grid, Line, PrintsAsDocument, counted
from dynid.regression.constraints.constraints import Constraints, ParameterBounds
from dynid.regression.constraints.files import read_bounds, read_constraints
from dynid.regression.model import IdentifiedModel
from dynid.regression.retrieval.objective import ObjectiveKind, RetrievalObjective
from dynid.regression.retrieval.retrieval import Retrieval, RetrievalResult
from dynid.regression.retrieval.search import MultiStart, SearchEngine, SimulatedAnnealing
from dynid.regression.status import Status
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.contract import LinkJson, links_json
from dynid.workflow.doors import ModelLike, as_model, as_seed, model_files
from dynid.workflow.progress import Progress, silent
from dynid.workflow.provenance import provenance
from dynid.workflow.workers import Workers

__all__ = ["EngineName", "ModelRetrieval", "retrieve"]

EngineName = Literal["annealing", "multistart"]
TIGHTEST = 8
"""Constraints that are printed, those nearest to failing."""
MANY = 6
"""Unmet constraints that a warning names."""
_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Entries of an inertia, in the order xx, xy, xz, yy, yz, zz."""


class ConstraintJson(TypedDict):
    """One constraint, and how far the result is from breaking it (its own unit)."""

    name: str
    margin: float
    holds: bool


class SearchRunJson(TypedDict):
    """One search from a random start."""

    index: int
    objective: float
    met: bool
    evaluations: int
    seconds: float
    finished: bool


class SpreadJson(TypedDict):
    """One parameter over the equally good runs, SI."""

    name: str
    value: float
    lowest: float
    highest: float
    agreed: bool


class RetrievedParameterJson(TypedDict):
    """One base parameter of the result."""

    label: str
    leading: str
    value: float
    unit: str


class RetrievalJson(TypedDict):
    """All that `retrieve` tells."""

    robot: str
    n_dof: int
    n_parameters: int
    n_base: int
    estimator: str
    engine: str
    status: str
    consistent: bool
    objective: float
    objective_kind: str
    relative_error_percent: float
    optimum: float
    convex: bool
    gap: float
    left_out: list[str]
    met: bool
    violated: list[str]
    seconds: float
    constraints: list[ConstraintJson]
    runs: list[SearchRunJson]
    spread: list[SpreadJson]
    parameters: list[RetrievedParameterJson]
    links: list[LinkJson]


@dataclass(frozen=True, eq=False)
class ModelRetrieval(PrintsAsDocument):
    """The result of `dynid.retrieve`: print it to read it, `dynid.save` it for its files."""

    model: IdentifiedModel
    """With full parameters: what later jobs take."""
    found: RetrievalResult
    """The best search, every constraint checked, and all runs."""
    given: IdentifiedModel
    """The model whose base parameters or log were to be explained."""
    engine: EngineName
    warnings: tuple[str, ...] = ()
    """Sentences such as that constraints are not met."""

    @property
    def met(self) -> bool:
        """Whether every constraint holds."""
        return self.found.met

    @property
    def verdict(self) -> str:
        """The outcome in one line (units of the objective)."""
        found = self.found
        kind = "the optimum" if found.convex else "a bound below the optimum"
        one_step = found.objective_kind == "one-step"
        best = f"{found.objective:.6g}" + (f" ({found.relative_percent:.3f} %)" if one_step else "")
        gap = f", {100 * max(0.0, found.gap):.3g} % above {kind} {found.optimum:.6g}"
        met = "all constraints met" if found.met else f"{len(found.violated)} constraints not met"
        return f"{best}{gap if math.isfinite(found.optimum) else ''}; {met}; {len(found.runs)} runs"

    def json(self) -> RetrievalJson:
        """What scripts read of it (SI)."""
        model, found, spread = self.model, self.found, self.found.spread
        base = model.base
        return {
            "robot": model.robot.name,
            "n_dof": model.model.n_dof,
            "n_parameters": model.model.n_params,
            "n_base": base.n_base,
            "estimator": "retrieval",
            "engine": self.engine,
            "status": found.status.name.lower(),
            "consistent": model.consistent,
            "objective": found.objective,
            "objective_kind": found.objective_kind,
            "relative_error_percent": found.relative_percent,
            "optimum": found.optimum,
            "convex": found.convex,
            "gap": found.gap,
            "left_out": list(found.left_out),
            "met": found.met,
            "violated": list(found.violated),
            "seconds": found.seconds,
            "constraints": [{"name": c.name, "margin": c.margin, "holds": c.holds} for c in found.checks],
            "runs": [
                {
                    "index": run.index,
                    "objective": run.objective,
                    "met": run.met,
                    "evaluations": run.evaluations,
                    "seconds": run.seconds,
                    "finished": run.finished,
                }
                for run in found.runs
            ],
            "spread": [
                {"name": name, "value": float(x), "lowest": float(low), "highest": float(high), "agreed": bool(agreed)}
                for name, x, low, high, agreed in zip(
                    spread.names, found.p, spread.lowest, spread.highest, spread.agreed, strict=True
                )
            ],
            "parameters": [
                {"label": label, "leading": leading, "value": float(value), "unit": column.unit}
                for label, leading, value, column in zip(
                    base.labels(), base.leading, found.beta, base.leading_columns, strict=True
                )
            ],
            "links": links_json(model),
        }

    def document(self) -> Document:
        """The result from top to bottom, as the terminal shows it."""
        model, found, seen = self.model.model, self.found, self.model.base.n_base
        parts: list[Line | Grid] = [
            Line(
                "robot",
                f"{model.robot.name}   {counted(model.n_dof, 'joint')}, {seen} of {model.n_params} parameters seen",
            ),
            Line("search", f"{self.engine}, {found.objective_kind}"),
            Line("objective", f"{self.verdict} in {found.seconds:.1f} s"),
        ]
        if found.left_out:
            parts.append(Line("bound", f"does not know: {', '.join(found.left_out)}"))
        parts += [self.links(), self.constraints(TIGHTEST)]
        if found.spread.n_runs > 1:
            left_open = ", ".join(found.spread.open) or "nothing"
            parts.append(Line("spread", f"{found.spread.n_runs} equally good runs; open: {left_open}"))
        return tuple(parts)

    def links(self) -> Grid:
        """Mass (kg), centre of mass (m) and inertia about it (kg·m²) of every link."""
        rows = tuple(
            (
                name,
                f"{link.mass:.5g}",
                *(f"{value:.5g}" for value in link.com),
                *(f"{link.inertia_com[a, b]:.5g}" for a, b in _PAIRS),
            )
            for name, link in zip(self.model.robot.link_names, self.model.links, strict=True)
        )
        tensor = tuple(f"I{'xyz'[a]}{'xyz'[b]} / kg·m²" for a, b in _PAIRS)
        headers = ("link", "m / kg", "cx / m", "cy / m", "cz / m", *tensor)
        return Grid(headers, rows, tuple(range(1, len(headers))))

    def constraints(self, count: int | None = None) -> Grid:
        """Constraints with their margins (own units), those nearest to failing first; `count` of them."""
        nearest = sorted(self.found.checks, key=lambda check: check.margin)[:count]
        rows = tuple((check.name, f"{check.margin:.3g}", "yes" if check.holds else "NO") for check in nearest)
        return Grid(("constraint", "margin", "met"), rows, (1,))

    def __repr__(self) -> str:
        return f"ModelRetrieval({self.model.robot.name!r}: {self.engine}, objective {self.verdict})"


@checked_arguments
@one_blas_thread()
def retrieve(
    model: ModelLike,
    *,
    bounds: str | PathLike[str] | ParameterBounds | Mapping[str, tuple[float, float]] | None = None,
    total_mass: tuple[float, float] | None = None,
    engine: EngineName = "multistart",
    objective: ObjectiveKind = "coefficients",
    weighted: bool = False,
    runs: int = 4,
    steps: int = 10,
    config: str | PathLike[str] | Constraints | None = None,
    allow_code: bool = False,
    time_budget: float = math.inf,
    seed: int = 0,
    workers: int | str = 1,
    progress: Progress = silent,
) -> ModelRetrieval:
    """Full, physically consistent parameters (SI) whose base parameters (or torques) are those of a model.

    Args:
        model: model.json of identify or reverse, or `IdentifiedModel`.
        bounds: CSV with parameter,lower,upper, or (lower, upper) by parameter (SI).
        total_mass: least and largest mass of all links, kg.
        engine: multistart, with exact derivatives, in seconds; or annealing, Algorithm 1 of the paper.
        objective: coefficients, for the base parameters nearest to those of `model`; or one-step, for the torques
            nearest to the log that `model` was fitted to.
        weighted: weigh base parameters by their covariance.
        runs: independent random starts (Q).
        steps: steps of growing penalty (κ), annealing only.
        config: TOML with shapes, symmetries, ties, known values and functions, or constraints as a value.
        allow_code: import and run the functions that the configuration names.
        time_budget: seconds after which the best so far is returned.
        seed: of the random starts.
        workers: processes, or the address of a dask scheduler; results do not depend on it.
        progress: hears what is being done.

    Raises:
        ContradictoryBounds: constraints that exclude each other, by name.
        ParameterError: any other constraint that cannot be met or read, or an objective that the model cannot serve.
    """
    given = as_model(model)
    search = _engine(engine, steps)
    retrieval = Retrieval(
        constraints=_constraints(given.robot, config, bounds, total_mass, allow_code=allow_code),
        engine=search,
        runs=runs,
        seed=as_seed(seed),
        time_budget=time_budget,
    )
    goal = _objective(given, objective, weighted=weighted)

    def told(done: int, of: int, best: float) -> None:
        progress(f"searching: {done} of {of} runs, best {best:.6g}", done / of)

    progress("searching")
    with Workers.of(workers).active():
        found = retrieval.solve(given.model, given.base, goal, progress=told)
    files = [Path(path) for path in (bounds, config) if isinstance(path, str | PathLike)]
    # Who did the work has no part in the result, so it has none in the record of it.
    asked = {
        "bounds": _recorded(bounds),
        "total_mass": total_mass,
        "engine": engine,
        "objective": objective,
        "weighted": weighted,
        "runs": runs,
        "steps": steps,
        "config": _recorded(config),
        "allow_code": allow_code,
        "time_budget": float(time_budget),
        "seed": seed,
    }
    origin = provenance("retrieve", [*model_files(model), *files], {key: str(value) for key, value in asked.items()})
    return ModelRetrieval(
        model=given.retrieved(found, engine=engine, provenance=origin),
        found=found,
        given=given,
        engine=engine,
        warnings=_warnings(found, runs),
    )


def _engine(name: EngineName, steps: int) -> SearchEngine:
    if name not in get_args(EngineName):
        raise ConfigError(f"engine: no {name!r}; known: {', '.join(get_args(EngineName))}")
    return MultiStart() if name == "multistart" else SimulatedAnnealing(steps=steps)


def _constraints(
    robot: Robot,
    config: str | PathLike[str] | Constraints | None,
    bounds: str | PathLike[str] | ParameterBounds | Mapping[str, tuple[float, float]] | None,
    total_mass: tuple[float, float] | None,
    *,
    allow_code: bool,
) -> Constraints:
    """All constraints (SI): the configuration, then what is added or replaced."""
    if config is None or isinstance(config, Constraints):
        asked = config or Constraints()
    elif isinstance(config, str | PathLike):
        asked = read_constraints(Path(config), allow_code=allow_code, robot_file=_urdf_of(robot))
    else:
        raise ConfigError(f"config: expected a TOML file or Constraints, got {type(config).__name__}")
    if bounds is not None:
        asked = replace(asked, bounds=ParameterBounds((*_bounds(bounds).entries, *asked.bounds.entries)))
    return asked if total_mass is None else replace(asked, total_mass=total_mass)


def _bounds(bounds: str | PathLike[str] | ParameterBounds | Mapping[str, tuple[float, float]]) -> ParameterBounds:
    if isinstance(bounds, ParameterBounds):
        return bounds
    if isinstance(bounds, str | PathLike):
        return read_bounds(Path(bounds))
    if isinstance(bounds, Mapping):
        return ParameterBounds.of(bounds)
    raise ConfigError(f"bounds: expected a CSV file or (lower, upper) by parameter, got {type(bounds).__name__}")


def _urdf_of(robot: Robot) -> Path | None:
    """The URDF file of a robot, where it still lies there."""
    path = Path(robot.source)
    return path if path.suffix.lower() == ".urdf" and path.is_file() else None


def _objective(given: IdentifiedModel, kind: ObjectiveKind, *, weighted: bool) -> RetrievalObjective:
    if kind not in get_args(ObjectiveKind):
        raise ConfigError(f"objective: no {kind!r}; known: {', '.join(get_args(ObjectiveKind))}")
    if kind == "coefficients":
        return RetrievalObjective.coefficients(given.base, given.beta, given.covariance if weighted else None)
    if weighted:
        raise ParameterError("`weighted` goes with the `objective` coefficients: the log carries its own weights")
    if given.problem is None:
        raise ParameterError("this model holds no log (its triangular factor); use the `objective` coefficients")
    problem = given.problem
    return RetrievalObjective.one_step(given.base, problem.R, problem.rho, problem.rest)


def _recorded(value: object) -> object:
    """A file by its name; a value in memory only as that."""
    return value if value is None or isinstance(value, str | PathLike) else "memory"


def _warnings(found: RetrievalResult, runs: int) -> tuple[str, ...]:
    told = []
    if not found.met:
        names = ", ".join(found.violated[:MANY])
        told.append(f"constraints not met: {names}; widen one of them or allow more runs or time")
    if found.status is Status.STOPPED_EARLY:
        told.append(f"stopped after {len(found.runs)} of {runs} runs; this is the best so far")
    return tuple(told)
