"""``dynid identify``: from a robot and logs to a model, a report and a robot file."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dynid.cli.console import emit_json
from dynid.cli.doctor import findings_json, show_findings
from dynid.cli.fit_options import FitOptions
from dynid.cli.identify_doctor import LogsRefused, examined_logs, tell_refusal
from dynid.cli.identify_job import IdentifyJob, Outcome
from dynid.cli.identify_output import outcome_json, show_outcome, verdict, write_outcome
from dynid.cli.identify_report import compared, data_notes
from dynid.cli.options import JsonFlag, RobotName, RobotOptions, checked_seed, free_place
from dynid.cli.pipeline import LogOptions, provenance, with_band
from dynid.cli.progress import Step, progress
from dynid.cli.robot_urdf import say_of_urdf, warn_of_urdf
from dynid.cli.searching import searched_friction
from dynid.cli.workers import Workers, WorkersOption
from dynid.disk import at_once, claimed
from dynid.dynamics import BaseParameters, TorqueModel, base_parameters
from dynid.errors import RecordingError, RegressionError
from dynid.recording import Recording, Samples
from dynid.regression import (
    Bootstrap,
    Compressed,
    Estimate,
    FrictionChoice,
    IdentifiedModel,
    Regression,
    SampleRows,
    StreamedRows,
    compress,
    estimated_delay,
    needs_search,
    velocity_threshold,
)
from dynid.regression import bootstrap as bootstrapped
from dynid.review import Severity
from dynid.validation import validate
from dynid.writers import identification_report

__all__ = ["identified", "identified_model", "identify", "verdict"]


def identify(
    robot: RobotName,
    logs: Annotated[tuple[Path, ...], Parameter(negative="")] = (),
    /,
    *,
    out: Path | None = None,
    validate_on: Annotated[tuple[Path, ...], Parameter(name="--validate", negative="")] = (),
    raw: Annotated[bool, Parameter(negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
    seed: int = 0,
    bootstrap: int = 0,
    workers: WorkersOption = "1",
    fit: FitOptions | None = None,
    log: LogOptions | None = None,
    options: RobotOptions | None = None,
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
        One or more logs: CSV (also .gz), NPZ, Parquet, HDF5, MAT, ROS bag or MCAP.
    out
        Folder for the results [default: result, or result-2, … where that holds another run].
    validate_on
        Log to predict and compare with, not used in the fit.
    raw
        Compare with the unfiltered torque.
    force
        Go on although the doctor found errors, or the fit is not good enough.
    seed
        Of the starts of the retrieval estimator and of the bootstrap; nothing else draws random numbers.
    bootstrap
        Fit so many logs resampled in blocks of time, for 95 % intervals beside the standard deviations.
    """
    job = IdentifyJob(
        robot=robot,
        logs=logs,
        validate_on=validate_on,
        raw=raw,
        force=force,
        seed=checked_seed(seed),
        bootstrap=bootstrap,
        fit=fit or FitOptions(),
        log=log or LogOptions(),
        options=options or RobotOptions(),
    )
    helpers, out = Workers.of(workers), free_place(out, "result")
    if not logs:
        from dynid.cli.campaign import campaign, is_manifest

        if is_manifest(robot):
            return campaign(Path(robot), job, out, helpers, json=json)
        raise RecordingError("no log given; dynid identify ROBOT LOG --out DIR, or dynid identify MANIFEST --out DIR")
    try:
        with progress("looking at the logs") as step, helpers.active():
            outcome = identified(job, out, step)
    except LogsRefused as refused:
        return tell_refusal(refused, json)
    show_findings([finding for finding in outcome.findings if finding.severity is not Severity.INFO], stderr=True)
    warn_of_urdf(outcome.content)
    if json:
        emit_json(outcome.content)
    else:
        show_outcome(outcome)
        say_of_urdf(outcome.content)
    return verdict(outcome, force)


def identified(job: IdentifyJob, out: Path, step: Step) -> Outcome:
    """Do a whole identification and write its files into `out`; nothing is printed, `step` hears what is being done."""
    fit, log, logs = job.fit, job.log, job.logs
    loaded = job.options.load(job.robot)
    findings = examined_logs(job, loaded)
    model = fit.torque_model(loaded)
    step("base parameters")
    base = base_parameters(model)
    step("reading and compressing the logs")
    regression, samples = _regression(model, base, logs, log, fit, step)
    choice: FrictionChoice | None = None
    if needs_search(fit.friction):
        step("searching friction curves")
        choice = searched_friction(fit.friction, loaded, fit.drives, regression, samples)
        model = fit.torque_model(loaded, choice)
        base = base_parameters(model)
        regression, samples = _regression(model, base, logs, log, fit, step)
    step(f"fitting ({fit.estimator})")
    estimate = fit.fit(regression, job.seed)
    resampled: Bootstrap | None = None
    if job.bootstrap:
        step(f"fitting {job.bootstrap} resampled logs")
        resampled = _resampled(job, regression)
    step("predicting")
    origin = provenance(
        "identify",
        _inputs(job.robot, logs, fit),
        {
            "seed": job.seed,
            "bootstrap": job.bootstrap,
            "fit": _texts(fit),
            "log": _texts(log),
            "robot": _texts(job.options),
        },
    )
    origin["findings"] = findings_json(findings)
    result = identified_model(estimate, regression, samples, origin, choice)
    train = with_band(validate(model, result.parameters, samples, raw=job.raw), result, samples)
    unseen = [_conditioned(path, result, log, samples) for path in job.validate_on]
    held_out = [with_band(validate(model, result.parameters, s, raw=job.raw), result, s) for s in unseen]
    step("writing")
    content = outcome_json(result, estimate, train, held_out, resampled, findings)
    beside = compared(result, estimate, regression, unseen, raw=job.raw, content=content)
    notes = data_notes(logs, log, job.raw)
    report = identification_report(
        result, estimate, samples, train, held_out, beside, regression=regression, notes=notes, findings=findings
    )
    with claimed(out), at_once():
        content["files"] = write_outcome(out, result, report, content)
    return Outcome(model, regression, samples, estimate, result, train, held_out, resampled, findings, content)


def _resampled(job: IdentifyJob, regression: Regression) -> Bootstrap:
    if job.fit.estimator == "robust":
        raise RegressionError("--bootstrap: robust fitting weighs single rows and cannot be resampled; use wls")
    return bootstrapped(regression, partial(job.fit.fit, seed=job.seed), n_draws=job.bootstrap, seed=job.seed)


def _texts(options: FitOptions | LogOptions | RobotOptions) -> dict[str, object]:
    plain = (int, float, str, bool, type(None))
    return {
        key: value if isinstance(value, plain) else list(value) if key == "lock" else str(value)
        for key, value in asdict(options).items()
    }


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
    model: TorqueModel, base: BaseParameters, logs: tuple[Path, ...], log: LogOptions, fit: FitOptions, step: Step
) -> tuple[Regression, Samples]:
    delay, slow = _number_or_auto("delay", fit.delay), _number_or_auto("min-velocity", fit.min_velocity)
    regressions: list[Regression] = []
    held: list[Samples] = []
    first: Samples | None = None
    for number, path in enumerate(logs):
        if len(logs) > 1:
            step(f"reading: {path.name}", number / len(logs))
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
            regressions.append(compress(StreamedRows(model, base, partial(log.stream, path, model.robot, step), plan)))
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
            "noise": estimate.uncertainty.noise.tolist(),
            "conditioning": list(samples.plan.choices),
            "friction": [] if choice is None else list(choice.reasons),
        },
        provenance=origin,
    )


def _conditioned(path: Path, result: IdentifiedModel, log: LogOptions, samples: Samples) -> Samples:
    recording: Recording = LogOptions(columns=log.columns, gains=log.gains).read(path, result.model.robot)
    plan = LogOptions(lowpass=samples.plan.low_pass.cutoff_hz).plan(recording, delay=samples.plan.delay)
    return plan.apply(recording)
