"""``dynid identify``: from a robot and logs to a model, a report and a robot file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

import dynid
from dynid.cli.console import complain, emit_json, tell, warn
from dynid.cli.doctor import show_findings
from dynid.cli.options import (
    FrictionName,
    JsonFlag,
    LogOptions,
    RobotName,
    RobotOptions,
    ScaleOptions,
    WorkersOption,
    free_place,
)
from dynid.cli.options import keywords as typed
from dynid.cli.progress import progress
from dynid.disk import refuse_replacing
from dynid.errors import RecordingError
from dynid.regression.estimators import ESTIMATORS
from dynid.review.findings import Severity
from dynid.workflow.contract import findings_json
from dynid.workflow.fit_options import ConditionChoice, PriorRule, Purpose
from dynid.workflow.identify import LogsRefused
from dynid.workflow.logs import BadRows
from dynid.writers.savers.saved import folder_files

__all__ = ["identify"]

if TYPE_CHECKING:
    EstimatorName = str
else:
    EstimatorName = Literal[tuple(ESTIMATORS)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """What to fit and how."""

    estimator: Annotated[
        EstimatorName | None,
        Parameter(help="feasible gives full, physically consistent parameters [default: feasible]."),
    ] = None
    friction: Annotated[
        FrictionName | None,
        Parameter(
            help="none, names joined by +, or auto: what predicts best, joint by joint; auto also chooses rotor "
            "inertias and delay where they are not typed [default: auto]."
        ),
    ] = None
    rotor_inertia: Annotated[
        bool | None,
        Parameter(help="A rotor inertia at every joint, or none [default: chosen, or none where friction is typed]."),
    ] = None
    bounds: Annotated[
        Path | None,
        Parameter(help="CSV with parameter,lower,upper; or TOML with shapes, densities, symmetries, known values."),
    ] = None
    total_mass: Annotated[
        tuple[float, float] | None, Parameter(negative="", help="Least and largest mass of all links, kg.")
    ] = None
    condition: Annotated[
        ConditionChoice | None,
        Parameter(help="triangle: full consistency; inertia: the papers' weaker 6×6 [default: triangle]."),
    ] = None
    prior: Annotated[
        PriorRule | None,
        Parameter(
            help="map: what is known of the links counts beside the data; the others choose among parameters that fit "
            "alike [default: map]."
        ),
    ] = None
    prior_std: Annotated[
        float | None,
        Parameter(
            help="Spread of links about their nominal ones, relative, for map [default: 0.3, more where the logs "
            "contradict the robot file]."
        ),
    ] = None
    ranges: Annotated[
        bool,
        Parameter(
            negative="",
            help="Also find between which values each link's mass, centre of mass and inertia may lie without a worse "
            "fit (semidefinite programmes, about a second).",
        ),
    ] = False
    reduce: Annotated[
        bool,
        Parameter(
            negative="",
            help="Also find the essential parameters: the smallest set of base parameters that predicts as well.",
        ),
    ] = False
    delay: Annotated[
        str | None,
        Parameter(
            help="Seconds by which torque lags behind position, or auto [default: chosen, or 0 where friction is "
            "typed]."
        ),
    ] = None
    min_velocity: Annotated[str | None, Parameter(help="Mask rows slower than this, rad/s, or auto [default: 0].")] = (
        None
    )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RefineOptions:
    """What to judge it by, and how to refine it in simulation."""

    refine: Annotated[
        Literal["rollout", "none"] | None,
        Parameter(
            help="rollout: Gauss–Newton on simulated motions after the linear fit, taken only if held-out ones improve "
            "[default: rollout with --purpose simulator, otherwise none]."
        ),
    ] = None
    purpose: Annotated[
        Purpose | None,
        Parameter(
            help="simulator: refine on rollouts, judge the model by those of the held-out log beside noise, robot file "
            "and constant velocity, and report them [default: torque, or simulator with --refine rollout]."
        ),
    ] = None
    controller: Annotated[
        Path | None,
        Parameter(help="Controller file (ctrl.toml) of logs without torque; its command stands for the torque."),
    ] = None
    reference: Annotated[
        Path | None, Parameter(help="Log with t and q that the controller was asked for [default: columns of the log].")
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How to go about it."""

    raw: Annotated[bool, Parameter(negative="", help="Compare with the unfiltered torque.")] = False
    force: Annotated[
        bool,
        Parameter(negative="", help="Go on although the doctor found errors, or the fit is not good enough."),
    ] = False
    seed: Annotated[
        int | None, Parameter(help="Seed of the retrieval estimator and of the bootstrap [default: 0].")
    ] = None
    bootstrap: Annotated[
        int | None, Parameter(help="Number of bootstrap refits, for 95 % intervals beside σ [default: 0].")
    ] = None


def identify(
    robot: RobotName,
    logs: Annotated[tuple[Path, ...], Parameter(negative="")] = (),
    /,
    *,
    out: Path | None = None,
    validate_on: Annotated[tuple[Path, ...], Parameter(name="--validate", negative="", consume_multiple=1)] = (),
    workers: WorkersOption = "1",
    run: RunOptions | None = None,
    fit: FitOptions | None = None,
    refinement: RefineOptions | None = None,
    log: LogOptions | None = None,
    options: RobotOptions | None = None,
    scale: ScaleOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Identify a robot from logs of motion and torque; writes model.json, report.html and run.json.

    Example: dynid identify panda run1.csv --out result --validate run2.csv

    With a manifest (.toml or .csv with many robots and logs) in place of ROBOT and LOGS, each run gets a folder in OUT.

    Parameters
    ----------
    robot
        Built-in name (panda, wam7, planar2r, spatial2r) or a URDF, MJCF or TOML file; or a manifest, without logs.
    logs
        One or more training logs: CSV (also .gz), NPZ, Parquet, HDF5, MAT, ROS bag or MCAP.
    out
        Folder for the results [default: result, or result-2, … where that holds another run].
    validate_on
        Held-out logs to predict and compare with; put the training logs before it.
    """
    place, asked = free_place(out, "result"), typed(run, fit, refinement, log, options, scale)
    if not logs:
        from dynid.workflow.manifest import is_manifest

        if not validate_on and is_manifest(robot):
            from dynid.cli.campaign import run_campaign

            return run_campaign(Path(robot), asked, place, workers, json=json)
        raise RecordingError(
            "no training log given; dynid identify ROBOT LOG… --validate LOG… --out DIR, or dynid identify MANIFEST"
        )
    typed_files = [
        asked[name] for name in ("bounds", "columns", "transmission", "controller", "reference") if name in asked
    ]
    refuse_replacing([Path(robot), *logs, *validate_on, *typed_files], (), unasked=folder_files(place))
    try:
        with progress("looking at the logs") as step:
            result = dynid.identify(robot, logs, validate=validate_on, workers=workers, progress=step, **asked)
            step("writing")
            saved = dynid.save(result, place)
    except LogsRefused as refused:
        return _tell_refusal(refused, robot, json)
    except BadRows as bad:
        complain(
            str(bad), hint=f"dynid doctor {robot} {bad.log} --write-map map.toml lists them all and leaves them out"
        )
        return 2
    told = [finding for finding in result.findings if finding.severity is not Severity.INFO]
    show_findings(told, robot, stderr=True)
    for sentence in (*saved.warnings, *result.warnings):
        warn(sentence)
    tell(result, saved, json=json)
    if result.verdict.good_enough:
        return 0
    warn(f"not good enough: {'; '.join(str(criterion) for criterion in result.verdict.failed)}")
    return 0 if asked.get("force") else 1


def _tell_refusal(refused: LogsRefused, robot: str, json: bool) -> int:
    """Say what the doctor found; the exit code."""
    if json:
        emit_json({"status": "refused", "findings": findings_json(refused.findings), "files": {}})
    else:
        show_findings(refused.findings, robot, stderr=True)
    complain(
        f"the doctor found errors in {refused.logs}, and nothing was written",
        hint="repair what it names (dynid doctor ROBOT LOG --write-map map.toml), or go on with --force",
    )
    return 1
