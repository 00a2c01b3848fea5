"""``dynid retrieve``: full, physically consistent parameters from base parameters or a log, under any constraint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import dynid
from dynid.cli.console import tell, warn
from dynid.cli.options import ForceFlag, JsonFlag, WorkersOption, free_place
from dynid.cli.options import keywords as typed
from dynid.cli.progress import progress
from dynid.disk import refuse_replacing
from dynid.regression.retrieval.objective import ObjectiveKind
from dynid.workflow.retrieve import EngineName
from dynid.writers.savers.saved import Saved, folder_files

__all__ = ["retrieve"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """What is searched and how."""

    bounds: Annotated[Path | None, Parameter(help="CSV with parameter,lower,upper.")] = None
    total_mass: Annotated[
        tuple[float, float] | None, Parameter(negative="", help="Least and largest mass of all links, kg.")
    ] = None
    engine: Annotated[
        EngineName | None,
        Parameter(
            help="multistart: exact derivatives, seconds; annealing: Algorithm 1 of the paper [default: multistart]."
        ),
    ] = None
    objective: Annotated[
        ObjectiveKind | None,
        Parameter(
            help="coefficients: base parameters nearest to those of MODEL; one-step: torques nearest to the log MODEL "
            "was fitted to [default: coefficients]."
        ),
    ] = None
    weighted: Annotated[bool, Parameter(negative="", help="Weigh base parameters by their covariance.")] = False
    runs: Annotated[int | None, Parameter(help="Independent random starts (Q) [default: 4].")] = None
    steps: Annotated[int | None, Parameter(help="Steps of growing penalty (κ), annealing only [default: 10].")] = None
    config: Annotated[Path | None, Parameter(help="TOML with shapes, symmetries, ties, known values, functions.")] = (
        None
    )
    allow_code: Annotated[
        bool, Parameter(negative="", help="Import and run the functions that the configuration names.")
    ] = False
    time_budget: Annotated[
        float | None, Parameter(help="Seconds after which the best so far is returned [default: no limit].")
    ] = None
    seed: Annotated[int | None, Parameter(help="Seed of the random starts [default: 0].")] = None


def retrieve(
    model: Path,
    /,
    *,
    out: Path | None = None,
    search: SearchOptions | None = None,
    workers: WorkersOption = "1",
    force: ForceFlag = False,
    json: JsonFlag = False,
) -> int:
    """Full, physically consistent parameters whose base parameters (or torques) are those of a model.

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
    place, asked = free_place(out, "full"), typed(search)
    typed_files = [path for path in (asked.get("bounds"), asked.get("config")) if path is not None]
    refuse_replacing([model, *typed_files], (), unasked=folder_files(place))
    with progress("searching") as step:
        result = dynid.retrieve(model, workers=workers, progress=step, **asked)
        saved = dynid.save(result, place) if result.met or force else Saved({})
    for sentence in (*saved.warnings, *result.warnings):
        warn(sentence)
    tell(result, saved, json=json)
    return 0 if result.met else 1
