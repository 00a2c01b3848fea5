"""``dynid identify``: from a robot and logs to a model, a report and a robot file."""

from __future__ import annotations

import json as json_format
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dynid.chain import Robot
from dynid.cli.console import complain, emit_json, note, say, table, warn
from dynid.cli.doctor import findings_json, has_errors, show_findings
from dynid.cli.fit_options import FitOptions
from dynid.cli.options import JsonFlag, RobotOptions
from dynid.cli.pipeline import LogOptions, error_json, links_json, parameters_json, provenance
from dynid.cli.progress import progress
from dynid.cli.searching import say_reasons, searched_friction, warn_of_one_way_joints
from dynid.disk import write_whole
from dynid.dynamics import BaseParameters, TorqueModel, base_parameters
from dynid.errors import DynidError, RecordingError
from dynid.recording import Finding, Recording, Samples, Severity, examine
from dynid.recording.doctor_overlap import overlap_findings
from dynid.regression import (
    OLS,
    Estimate,
    FitError,
    FrictionChoice,
    Regression,
    SampleRows,
    Status,
    StreamedRows,
    compress,
    estimated_delay,
    needs_search,
    unexcited,
    velocity_threshold,
)
from dynid.validation import Validation, validate
from dynid.writers import Comparison, Compressed, IdentifiedModel, identification_report, save_model, write_urdf

__all__ = ["identified_model", "identify"]


def identify(
    robot: str,
    logs: Annotated[tuple[Path, ...], Parameter(negative="")],
    /,
    *,
    out: Path,
    validate_on: Annotated[tuple[Path, ...], Parameter(name="--validate", negative="")] = (),
    raw: Annotated[bool, Parameter(negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
    seed: int = 0,
    fit: FitOptions | None = None,
    log: LogOptions | None = None,
    options: RobotOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Identify a robot from logs of motion and torque; writes model.json, report.html and run.json.

    Example: dynid identify panda run1.csv --out result --validate run2.csv

    Parameters
    ----------
    robot
        Built-in name (panda, wam7, planar2r, spatial2r) or a URDF, MJCF or TOML file.
    logs
        One or more logs: CSV (also .gz), NPZ, Parquet, HDF5, MAT, ROS bag or MCAP.
    out
        Folder for the results.
    validate_on
        Log to predict and compare with, not used in the fit.
    raw
        Compare with the unfiltered torque.
    force
        Go on although the doctor found errors, or the fit is not good enough.
    seed
        Of the starts of the retrieval estimator; the others draw no random numbers.
    """
    fit, log, options = fit or FitOptions(), log or LogOptions(), options or RobotOptions()
    if not logs:
        raise RecordingError("no log given; dynid identify ROBOT LOG --out DIR")
    loaded = options.load(robot)
    model = fit.torque_model(loaded)
    findings = _examined(loaded, logs, validate_on, log, fit)
    if _refuse(findings, force=force, json=json):
        return 1
    with progress("base parameters") as step:
        base = base_parameters(model)
        step("reading and compressing the logs")
        regression, samples = _regression(model, base, logs, log, fit)
        choice: FrictionChoice | None = None
        if needs_search(fit.friction):
            step("searching friction curves")
            choice = searched_friction(fit.friction, loaded, fit.drives, regression, samples)
            model = fit.torque_model(loaded, choice)
            base = base_parameters(model)
            regression, samples = _regression(model, base, logs, log, fit)
        step(f"fitting ({fit.estimator})")
        estimate = fit.fit(regression, seed)
        step("predicting")
        result = identified_model(
            estimate,
            regression,
            samples,
            provenance(
                "identify",
                _inputs(robot, logs, fit),
                {"seed": seed, "fit": _texts(fit), "log": _texts(log), "robot": _texts(options)},
            )
            | {"findings": findings_json(findings)},
            choice,
        )
        train = validate(model, result.parameters, samples, raw=raw)
        held_out = [_held_out(path, result, log, samples, raw) for path in validate_on]
        step("writing")
        content = _content(result, estimate, train, held_out)
        files = _write(out, result, estimate, samples, train, held_out, regression, content)
    content |= {"findings": findings_json(findings), "files": files}
    if json:
        emit_json(content)
    else:
        _show(result, estimate, samples, train, held_out, files)
    return _verdict(estimate, regression, result, force)


def _examined(
    robot: Robot, logs: tuple[Path, ...], validate_on: tuple[Path, ...], log: LogOptions, fit: FitOptions
) -> list[Finding]:
    """What the doctor finds in the logs of the fit, and whether logs hold the same samples."""
    friction = "viscous+coulomb+offset" if needs_search(fit.friction) else fit.friction
    findings: list[Finding] = []
    seen: list[Recording] = []
    for path in logs:
        with progress(f"looking at {path.name}"):
            raw = log.raw(path, robot)
            try:
                good = raw.recording()
            except RecordingError as error:
                hint = f"dynid doctor {robot.name} {path} --write-map map.toml lists them all and leaves them out"
                raise RecordingError(f"{error}; {hint}") from error
            found = (*examine(robot, raw, friction=friction), *overlap_findings(good, seen, severity=Severity.WARNING))
            seen.append(good)
        findings += [replace(f, evidence=f"{path}: {f.evidence}") if len(logs) > 1 else f for f in found]
    for path in validate_on:
        findings += overlap_findings(log.whole().raw(path, robot).good_rows(), seen)
    return findings


def _refuse(findings: list[Finding], *, force: bool, json: bool) -> bool:
    """Whether errors forbid to go on; says what was found."""
    # What is too short to be conditioned is refused there, as wrong input.
    if force or not has_errors([finding for finding in findings if finding.code != "short"]):
        show_findings([finding for finding in findings if finding.severity is not Severity.INFO], stderr=True)
        return False
    if json:
        emit_json({"status": "refused", "findings": findings_json(findings), "files": {}})
    else:
        show_findings(findings, stderr=True)
    complain(
        "the doctor found errors in the logs, and nothing was written",
        hint="repair what it names (dynid doctor ROBOT LOG --write-map map.toml), or go on with --force",
    )
    return True


def _texts(options: FitOptions | LogOptions | RobotOptions) -> dict[str, object]:
    plain = (int, float, str, bool, type(None))
    return {key: value if isinstance(value, plain) else str(value) for key, value in asdict(options).items()}


def _inputs(robot: str, logs: tuple[Path, ...], fit: FitOptions) -> list[Path]:
    files = [Path(robot)] if Path(robot).exists() else []
    return [*files, *logs, *([fit.bounds] if fit.bounds else [])]


def _number_or_auto(name: str, text: str) -> float | None:
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError as error:
        raise RecordingError(f"--{name} {text}: write a number or auto") from error


def _regression(
    model: TorqueModel, base: BaseParameters, logs: tuple[Path, ...], log: LogOptions, fit: FitOptions
) -> tuple[Regression, Samples]:
    delay, slow = _number_or_auto("delay", fit.delay), _number_or_auto("min-velocity", fit.min_velocity)
    regressions: list[Regression] = []
    held: list[Samples] = []
    first: Samples | None = None
    for path in logs:
        recording = next(log.stream(path, model.robot)) if log.is_long(path) else log.read(path, model.robot)
        plan = log.plan(recording, min_velocity=slow or 0.0, delay=delay or 0.0)
        if delay is None:
            found = estimated_delay(model, base, recording, plan)
            plan = plan.with_delay(found, f"torque lags by {1e3 * found:.2f} ms, where the full model fits best")
        samples = plan.apply(recording)
        if slow is None:
            choice = velocity_threshold(model, base, samples)
            plan = plan.with_min_velocity(choice.chosen, f"rows slower than {choice.chosen:.3g} rad/s masked")
            samples = plan.apply(recording)
        first = first or samples
        if log.is_long(path):
            regressions.append(compress(StreamedRows(model, base, partial(log.stream, path, model.robot), plan)))
        else:
            held.append(samples)
    if held:
        regressions.append(compress(SampleRows(model, base, tuple(held))))
    total = regressions[0]
    for other in regressions[1:]:
        total = total + other
    assert first is not None
    return total, first


def identified_model(
    estimate: Estimate,
    regression: Regression,
    samples: Samples,
    origin: dict[str, object],
    choice: FrictionChoice | None = None,
) -> IdentifiedModel:
    """An estimate with all that belongs into the model file (SI)."""
    stacked = regression.stacked(estimate.weights)
    return IdentifiedModel(
        model=estimate.model,
        base=estimate.base,
        estimator=estimate.estimator,
        status=estimate.status.value,
        beta=estimate.beta,
        covariance=estimate.uncertainty.covariance,
        theta=estimate.theta,
        labels=estimate.labels,
        rule=estimate.rule,
        problem=Compressed(stacked.R, stacked.rho, stacked.rest, stacked.n_rows),
        cutoff_hz=samples.plan.low_pass.cutoff_hz,
        results={
            "condition_number": estimate.condition_number,
            "relative_error_percent": estimate.fit.relative_percent,
            "n_rows": estimate.n_rows,
            "conditioning": list(samples.plan.choices),
            "friction": [] if choice is None else list(choice.reasons),
        },
        provenance=origin,
    )


def _held_out(path: Path, result: IdentifiedModel, log: LogOptions, samples: Samples, raw: bool) -> Validation:
    recording: Recording = LogOptions(columns=log.columns, gains=log.gains).read(path, result.model.robot)
    plan = LogOptions(lowpass=samples.plan.low_pass.cutoff_hz).plan(recording, delay=samples.plan.delay)
    return validate(result.model, result.parameters, plan.apply(recording), raw=raw)


def _content(
    result: IdentifiedModel, estimate: Estimate, train: Validation, held_out: list[Validation]
) -> dict[str, object]:
    return {
        "robot": result.model.robot.name,
        "n_dof": result.model.n_dof,
        "n_parameters": result.model.n_params,
        "n_base": result.base.n_base,
        "rank": estimate.rank,
        "n_rows": estimate.n_rows,
        "condition_number": estimate.condition_number,
        "estimator": estimate.estimator,
        "status": estimate.status.name.lower(),
        "advice": estimate.status.value,
        "consistent": result.consistent,
        "rule": estimate.rule,
        "conditioning": result.results["conditioning"],
        "friction": result.results["friction"],
        "train": {"log": train.log, **error_json(train.error)},
        "validation": [{"log": v.log, **error_json(v.error)} for v in held_out],
        "parameters": parameters_json(estimate),
        "full_parameters": _full(result),
        "links": links_json(result),
    }


def _full(result: IdentifiedModel) -> list[dict[str, object]]:
    if result.theta is None:
        return []
    columns = zip(result.model.symbols, result.theta, result.model.columns, result.labels, strict=True)
    return [
        {"symbol": symbol, "value": float(value), "unit": column.unit, "owner": column.owner, "origin": label}
        for symbol, value, column, label in columns
    ]


def _write(
    out: Path,
    result: IdentifiedModel,
    estimate: Estimate,
    samples: Samples,
    train: Validation,
    held_out: list[Validation],
    regression: Regression,
    content: dict[str, object],
) -> dict[str, str]:
    comparisons = []
    if result.model.robot.has_nominal:
        nominal = FitError.on(regression, result.base.project(result.model.nominal()))
        comparisons.append(Comparison("nominal inertias of the robot file, no friction", nominal.relative_percent))
    if estimate.estimator != "ols":
        free = OLS().fit(regression)
        comparisons.append(Comparison("ordinary least squares (not a possible robot)", free.fit.relative_percent))
    report = identification_report(result, estimate, samples, train, held_out, comparisons)
    save_model(result, out / "model.json")
    report.write(out / "report.html")
    write_whole(out / "run.json", json_format.dumps(dict(result.provenance), indent=1, default=str) + "\n")
    content["compared"] = [{"name": c.name, "relative_error_percent": c.relative_percent} for c in comparisons]
    files = {"model": str(out / "model.json"), "report": str(out / "report.html"), "run": str(out / "run.json")}
    if result.consistent:
        write_urdf(result, out / "robot.urdf")
        files["urdf"] = str(out / "robot.urdf")
    return files


def _show(
    result: IdentifiedModel,
    estimate: Estimate,
    samples: Samples,
    train: Validation,
    held_out: list[Validation],
    files: dict[str, str],
) -> None:
    model = result.model
    say("robot", f"{model.robot.name}   {model.n_dof} joints, {result.base.n_base} base parameters of {model.n_params}")
    say(
        "recording",
        f"{samples.source}   {samples.n_samples} samples, {estimate.n_rows} rows; {'; '.join(samples.plan.choices)}",
    )
    say(
        "fit",
        f"{estimate.estimator}   {estimate.iterations} iteration(s), condition number {estimate.condition_number:.4g}",
    )
    note("")
    rows = [
        (label, f"{value:.4e}", f"{std:.1e}", f"{100 * std / abs(value):.1f} %" if value else "", column.unit, trust)
        for label, value, std, column, trust in zip(
            estimate.base.labels(),
            estimate.beta,
            estimate.std,
            estimate.base.leading_columns,
            estimate.trust,
            strict=True,
        )
    ]
    table(("parameter", "value", "± 1σ", "σ/|v|", "unit", "trust"), rows, numeric=(1, 2, 3))
    say_reasons(result.results["friction"])
    if result.links:
        note("")
        links = [
            (name, f"{link.mass:.4f}", "  ".join(f"{x:.4f}" for x in link.com))
            for name, link in zip(model.robot.link_names, result.links, strict=True)
        ]
        table(("link", "mass / kg", "centre of mass / m"), links, numeric=(1,))
        say("rule", estimate.rule)
    note("")
    names = [("fit", train), *(("unseen", v) for v in held_out)]
    errors = [
        (kind, v.log, f"{v.error.relative_percent:.2f}", *(f"{x:.2f}" for x in v.error.relative_percent_joint))
        for kind, v in names
    ]
    headers = ("", "log", "error / %", *(f"{name} / %" for name in model.robot.joint_names))
    table(headers, errors, numeric=range(2, len(headers)))
    say("possible", "yes" if result.consistent else "no full parameter set" if not result.links else "NO")
    for path in files.values():
        say("wrote", path)


def _verdict(estimate: Estimate, regression: Regression, result: IdentifiedModel, force: bool) -> int:
    weak = [symbol for symbol, word in zip(estimate.base.leading, estimate.trust, strict=True) if word == "unreliable"]
    if weak:
        warn(f"{len(weak)} of {len(estimate.beta)} coefficients have σ above 30 % of their value: {', '.join(weak)}")
    warn_of_one_way_joints(regression)
    if estimate.status is Status.RANK_DEFICIENT:
        warn(f"not excited by this motion: {', '.join(unexcited(regression))}")
    if estimate.status is not Status.CONVERGED:
        warn(estimate.status.value)
        return 0 if force else 1
    if result.links and not result.consistent:
        raise DynidError("the parameters found are not physically possible; this should not happen, please report it")
    return 0
