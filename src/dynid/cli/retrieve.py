"""``dynid retrieve``: full feasible parameters from coefficients, under any constraint."""

from __future__ import annotations

import json as json_format
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dynid.chain import Robot
from dynid.cli.console import emit_json, note, say, table, warn
from dynid.cli.options import JsonFlag, checked_seed, free_place
from dynid.cli.pipeline import links_json, provenance
from dynid.cli.progress import progress
from dynid.cli.retrieve_report import CHECK_HEADERS, LINK_HEADERS, check_rows, link_rows, retrieval_report, verdict
from dynid.cli.robot_urdf import urdf_content, warn_of_urdf
from dynid.cli.workers import Workers, WorkersOption
from dynid.disk import at_once, claimed, write_whole
from dynid.errors import ParameterError
from dynid.regression import (
    CodeNotAllowed,
    Constraints,
    IdentifiedModel,
    MultiStart,
    ParameterBounds,
    Retrieval,
    RetrievalObjective,
    RetrievalResult,
    SimulatedAnnealing,
    Status,
    load_model,
    read_bounds,
    read_constraints,
    save_model,
)
from dynid.writers.origin import write_urdf_like_its_origin

__all__ = ["retrieve"]

ForceFlag = Annotated[bool, Parameter(negative="")]
TIGHTEST = 8
"""Constraints that are printed, those nearest to failing."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """What is searched and how."""

    bounds: Annotated[Path | None, Parameter(help="CSV with parameter,lower,upper.")] = None
    total_mass: Annotated[
        tuple[float, float] | None, Parameter(negative="", help="Least and largest mass of all links, kg.")
    ] = None
    engine: Annotated[
        Literal["annealing", "multistart"],
        Parameter(help="multistart: exact derivatives, seconds; annealing: Algorithm 1 of the paper."),
    ] = "multistart"
    objective: Annotated[
        Literal["coefficients", "one-step"],
        Parameter(help="coefficients: nearest to those of MODEL; one-step: nearest to the log MODEL was fitted to."),
    ] = "coefficients"
    weighted: Annotated[bool, Parameter(negative="", help="Weigh coefficients by their covariance.")] = False
    runs: Annotated[int, Parameter(help="Independent random starts (Q).")] = 4
    steps: Annotated[int, Parameter(help="Steps of growing penalty (κ), annealing only.")] = 10
    config: Annotated[Path | None, Parameter(help="TOML with shapes, symmetries, ties, known values, functions.")] = (
        None
    )
    allow_code: Annotated[
        bool, Parameter(negative="", help="Import and run the functions that the configuration names.")
    ] = False
    time_budget: Annotated[float, Parameter(help="Seconds after which the best so far is returned.")] = math.inf
    seed: int = 0
    workers: WorkersOption = "1"

    def constraints(self, robot: Robot) -> Constraints:
        """All constraints (SI): the configuration file, then what the command line adds or replaces."""
        asked = Constraints()
        if self.config is not None:
            try:
                asked = read_constraints(self.config, allow_code=self.allow_code, robot_file=_robot_file(robot))
            except CodeNotAllowed as error:
                raise ParameterError(f"{error} (--allow-code)") from error
        if self.bounds is not None:
            asked = replace(asked, bounds=ParameterBounds((*read_bounds(self.bounds).entries, *asked.bounds.entries)))
        return asked if self.total_mass is None else replace(asked, total_mass=self.total_mass)

    def retrieval(self, robot: Robot) -> Retrieval:
        """The search."""
        return Retrieval(
            constraints=self.constraints(robot),
            engine=MultiStart() if self.engine == "multistart" else SimulatedAnnealing(steps=self.steps),
            runs=self.runs,
            seed=checked_seed(self.seed),
            time_budget=self.time_budget,
        )


def retrieve(
    model: Path,
    /,
    *,
    out: Path | None = None,
    search: SearchOptions | None = None,
    force: ForceFlag = False,
    json: JsonFlag = False,
) -> int:
    """Full, physically possible parameters whose coefficients (or torques) are those of a model.

    Example: dynid retrieve result/model.json --bounds bounds.csv --total-mass 16 20 --out full

    Parameters
    ----------
    model
        model.json of identify or reverse.
    out
        Folder for model.json, report.html, run.json and robot.urdf [default: full, or full-2, …].
    force
        Write the result although constraints are not met.
    """
    out = free_place(out, "full")
    search = search or SearchOptions()
    given = load_model(model)
    objective = _objective(given, search)
    with progress("searching") as step, Workers.of(search.workers).active():

        def told(done: int, of: int, best: float) -> None:
            step(f"searching: {done} of {of} runs, best {best:.6g}", done / of)

        found = search.retrieval(given.model.robot).solve(given.model, given.base, objective, progress=told)
    inputs = [path for path in (model, search.bounds, search.config) if path is not None]
    # Who did the work has no part in the result, so it has none in the record of it.
    asked = {name: str(value) for name, value in vars(search).items() if name != "workers"}
    origin = provenance("retrieve", inputs, asked)
    result = _identified(given, found, search, origin)
    content = _content(result, found, search)
    code = 0
    if not found.met:
        warn(f"constraints not met: {', '.join(found.violated[:6])}; widen one of them or allow more runs or time")
        code = 1
    files: dict[str, str] = {}
    if found.met or force:
        with claimed(out), at_once():
            files = _write(out, given, result, found)
    content["files"] = files
    if json:
        emit_json(content)
    else:
        _show(result, found, search, files)
    if found.status is Status.STOPPED_EARLY:
        warn(f"stopped after {len(found.runs)} of {search.runs} runs; this is the best so far")
    return code


def _robot_file(robot: Robot) -> Path | None:
    """The URDF file of a robot, where it still lies there."""
    path = Path(robot.source)
    return path if path.suffix.lower() == ".urdf" and path.is_file() else None


def _objective(given: IdentifiedModel, search: SearchOptions) -> RetrievalObjective:
    if search.objective == "coefficients":
        covariance = given.covariance if search.weighted else None
        return RetrievalObjective.coefficients(given.base, given.beta, covariance)
    if search.weighted:
        raise ParameterError("--weighted goes with --objective coefficients: the log carries its own weights")
    if given.problem is None:
        raise ParameterError("this model holds no log (its triangular factor); use --objective coefficients")
    problem = given.problem
    return RetrievalObjective.one_step(given.base, problem.R, problem.rho, problem.rest)


def _identified(
    given: IdentifiedModel, found: RetrievalResult, search: SearchOptions, origin: dict[str, object]
) -> IdentifiedModel:
    """The retrieved parameters (SI) as a model; what was measured stays with it."""
    return replace(
        given,
        estimator="retrieval",
        status=found.status.value,
        beta=found.beta,
        theta=found.theta,
        labels=found.labels,
        rule=f"best of {len(found.runs)} searches ({search.engine}, {search.objective})",
        results={
            **given.results,
            "objective": found.objective,
            "optimum": found.optimum,
            "gap": found.gap,
            "open": list(found.spread.open),
        },
        provenance={**origin, "of": dict(given.provenance)},
    )


def _content(result: IdentifiedModel, found: RetrievalResult, search: SearchOptions) -> dict[str, object]:
    spread = found.spread
    return {
        "robot": result.model.robot.name,
        "n_dof": result.model.n_dof,
        "n_parameters": result.model.n_params,
        "n_base": result.base.n_base,
        "estimator": "retrieval",
        "engine": search.engine,
        "status": found.status.name.lower(),
        "consistent": result.consistent,
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
            {"name": name, "value": float(value), "lowest": float(low), "highest": float(high), "agreed": bool(agreed)}
            for name, value, low, high, agreed in zip(
                spread.names, found.p, spread.lowest, spread.highest, spread.agreed, strict=True
            )
        ],
        "parameters": [
            {"label": label, "leading": leading, "value": float(value), "unit": column.unit}
            for label, leading, value, column in zip(
                result.base.labels(), result.base.leading, found.beta, result.base.leading_columns, strict=True
            )
        ],
        "links": links_json(result),
    }


def _write(out: Path, given: IdentifiedModel, result: IdentifiedModel, found: RetrievalResult) -> dict[str, str]:
    files = {"model": out / "model.json", "report": out / "report.html", "run": out / "run.json"}
    save_model(result, files["model"])
    retrieval_report(given, result, found).write(files["report"])
    write_whole(files["run"], json_format.dumps(dict(result.provenance), indent=1, default=str) + "\n")
    if result.consistent:
        files["urdf"] = out / "robot.urdf"
        done = write_urdf_like_its_origin(result, files["urdf"])
        warn_of_urdf({"urdf": urdf_content(done)})
    return {name: str(path) for name, path in files.items()}


def _show(result: IdentifiedModel, found: RetrievalResult, search: SearchOptions, files: dict[str, str]) -> None:
    model = result.model
    say("robot", f"{model.robot.name}   {model.n_dof} joints, {result.base.n_base} of {model.n_params} parameters seen")
    say("search", f"{search.engine}, {search.objective}")
    say("objective", f"{verdict(found)} in {found.seconds:.1f} s")
    if found.left_out:
        say("bound", f"does not know: {', '.join(found.left_out)}")
    note("")
    table(LINK_HEADERS, link_rows(result), numeric=range(1, len(LINK_HEADERS)))
    note("")
    table(CHECK_HEADERS, check_rows(found, TIGHTEST), numeric=(1,))
    note("")
    if found.spread.n_runs > 1:
        say("spread", f"{found.spread.n_runs} equally good runs; open: {', '.join(found.spread.open) or 'nothing'}")
    for path in files.values():
        say("wrote", path)
