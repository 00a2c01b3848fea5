"""`identify`: from a robot and logs to a model, with findings, verdict and predictions of held-out logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Literal

from dynid.arrays import Array, Float
from dynid.chain.transmission import TransmissionLike
from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.drives import RotorInertia
from dynid.dynamics.friction.table import AUTO
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import DynidError, RecordingError, RegressionError
from dynid.recording.column_map import ColumnMap
from dynid.recording.conditioning import Samples
from dynid.regression.bootstrap import Bootstrap
from dynid.regression.bootstrap import bootstrap as resample
from dynid.regression.coloured import coloured_estimate
from dynid.regression.estimate import Estimate, Estimator, FitError
from dynid.regression.friction.rows import never_reversing
from dynid.regression.least_squares import unexcited
from dynid.regression.model import IdentifiedModel
from dynid.regression.problem import Regression
from dynid.regression.recast import logged_motion
from dynid.regression.residuals import ResidualStatistics
from dynid.regression.rows import SampleRows
from dynid.regression.run_variation import LeftOut, left_out_runs
from dynid.regression.status import Status
from dynid.review.checks.overlap import overlap_findings
from dynid.review.examination import review_log
from dynid.review.findings import Finding, Severity
from dynid.simulation.joint_controller import JointController
from dynid.validation.left_out import left_out_error
from dynid.validation.torque import compare_torque
from dynid.validation.verdict import judge
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.contract import ChosenJson, findings_json
from dynid.workflow.doors import LogLike, RobotLike, RobotOptions, as_logs, as_seed
from dynid.workflow.fit_options import ConditionChoice, FitOptions, PriorRule, Purpose
from dynid.workflow.fitting import (
    FittedRows,
    fitted_rows,
    quick_fit,
    refits_itself,
    with_likeliest_links,
    with_link_numbers,
)
from dynid.workflow.identification import Identification
from dynid.workflow.identify_job import IdentifyJob, LogOptions, picture_notes
from dynid.workflow.logs import Log
from dynid.workflow.other_fits import compared_with_others, rotor_hint
from dynid.workflow.prediction import predicted
from dynid.workflow.progress import Progress, silent
from dynid.workflow.provenance import provenance, texts_of
from dynid.workflow.reduction import reduce_model
from dynid.workflow.refine import driven_logs, for_simulator, refined_estimate, simulated_logs
from dynid.workflow.torque_scales import GainStd, with_scales
from dynid.workflow.workers import Workers

__all__ = ["LogsRefused", "identify", "run_identify"]


class LogsRefused(RecordingError):
    """Logs in which the review found errors.

    Attributes:
        findings: all that was found.
        logs: the names of the logs, for messages.
    """

    def __init__(self, findings: Sequence[Finding], logs: Sequence[Log]) -> None:
        self.findings = tuple(findings)
        self.logs = ", ".join(log.name for log in logs[:3]) + (f" and {len(logs) - 3} more" if len(logs) > 3 else "")
        errors = [f"{f.code}{f' ({f.joint})' if f.joint else ''}" for f in findings if f.severity is Severity.ERROR]
        super().__init__(f"errors were found in {self.logs}, and nothing was fitted: {', '.join(errors)}")


@checked_arguments
def identify(
    robot: RobotLike,
    logs: LogLike | Sequence[LogLike],
    *,
    validate: LogLike | Sequence[LogLike] = (),
    estimator: str | Estimator = "feasible",
    friction: str = AUTO,
    rotor_inertia: bool | None = None,
    bounds: str | PathLike[str] | None = None,
    total_mass: tuple[float, float] | None = None,
    condition: ConditionChoice = "triangle",
    prior: PriorRule = "map",
    prior_std: float | None = None,
    ranges: bool = False,
    reduce: bool = False,
    delay: float | Literal["auto"] | str | None = None,
    min_velocity: float | Literal["auto"] | str = "0",
    refine: Literal["rollout", "none"] | None = None,
    purpose: Purpose | None = None,
    controller: str | PathLike[str] | JointController | None = None,
    reference: LogLike | None = None,
    from_: float | None = None,
    until: float | None = None,
    columns: str | PathLike[str] | ColumnMap | None = None,
    gains: str | PathLike[str] | Sequence[float] | Array | None = None,
    gain_std: GainStd | None = None,
    lowpass: float | None = None,
    lock: Iterable[str] | Mapping[str, float] = (),
    gravity: tuple[float, float, float] | None = None,
    mount: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ignore_inertials: bool = False,
    tip: str | None = None,
    transmission: TransmissionLike | None = None,
    bootstrap: int = 0,
    raw: bool = False,
    force: bool = False,
    seed: int = 0,
    workers: int | str = 1,
    progress: Progress = silent,
) -> Identification:
    """The model of a robot from logs of its motion and torque: what the command ``dynid identify`` does (SI).

    Args:
        robot: built-in name, robot file (URDF, MJCF, TOML) or `Robot`.
        logs, validate: training logs, and held-out ones: files, `Recording` values, or arrays by name (t, q, dq, tau).
        estimator: ols, wls, robust, feasible or retrieval (the last two give links), or an `Estimator`.
        friction: none, names joined by +, or auto: what predicts best, joint by joint.
        rotor_inertia: add a rotor inertia to every joint; None chooses with friction auto, and adds none otherwise.
        bounds, total_mass: CSV with parameter,lower,upper, or TOML of constraints; mass of all links, kg.
        condition, prior: triangle, or inertia for a weaker 6×6; map counts what is known of links, others choose alike.
        prior_std, ranges: spread of links about nominal ones, None: as logs ask; find what ranges of links fit alike.
        delay: seconds by which torque lags behind position, or auto; None chooses with friction auto, else it is 0.
        refine, purpose: rollout: Gauss–Newton on simulated motions; simulator: the same, and rollouts make the verdict.
        controller, reference: ctrl.toml or `JointController` of logs without torque; a log of what it was asked for.
        min_velocity, from_, until: mask rows slower than this, rad/s, or auto; the part of the training logs to use, s.
        columns, lowpass: mapping file or `ColumnMap`; low-pass in Hz, None for ten times the bandwidth of the motion.
        gains, gain_std: of drives in N·m/A, or the file that `payload` wrote; relative σ, None: the file's, or 0.5–2 %.
        lock, gravity, mount: joints to freeze, JOINT=VALUE; m/s² in world axes; roll, pitch, yaw of the base, rad.
        ignore_inertials, tip, transmission: no inertias of the file; last link of the arm; file or matrix of drives.
        reduce, bootstrap: find essential parameters, that predict as well; number of refits, for 95 % intervals.
        raw, force: compare with the unfiltered torque; go on although the review of the logs found errors.
        seed, workers, progress: of retrieval and bootstrap; processes or a dask scheduler; hears what is being done.

    Raises:
        LogsRefused: the review found errors, and `force` is not set.
        DynidError: any other wrong input, naming file, joint, sample and remedy.
    """
    job = IdentifyJob(
        robot=robot,
        logs=as_logs(logs),
        validate_on=as_logs(validate, "validate"),
        raw=raw, force=force, seed=as_seed(seed), bootstrap=bootstrap,
        fit=FitOptions.of(
            estimator, friction, rotor_inertia, bounds, total_mass, condition, prior, prior_std, delay, min_velocity
        ).with_links(ranges=ranges, reduce=reduce, refine=refine, purpose=purpose),
        controller=Path(controller) if isinstance(controller, str | PathLike) else controller,
        reference=None if reference is None else as_logs(reference, "reference")[0],
        log=LogOptions.of(from_, until, columns, gains, lowpass, gain_std),
        options=RobotOptions.of(lock, gravity, mount, ignore_inertials, tip, transmission),
    )  # fmt: skip
    return run_identify(job, progress, workers=Workers.of(workers))


def run_identify(job: IdentifyJob, progress: Progress = silent, *, workers: Workers | None = None) -> Identification:
    """Do a whole identification (SI); nothing is printed or written. Bootstrap refits go to `workers`.

    Raises:
        LogsRefused: the review found errors, and the job is not forced.
    """
    with one_blas_thread(), workers.active() if job.bootstrap and workers is not None else nullcontext():
        return _identified(job, progress)


def _identified(job: IdentifyJob, progress: Progress) -> Identification:
    progress("looking at the logs")
    if not job.logs:
        raise RecordingError("no training log given")
    settings = job.log.settings()
    robot, columns = job.options.load_for(job.robot, job.logs[0], settings.columns)
    settings = replace(settings, columns=columns)
    logs = tuple(Log.of(source, robot, settings, job.log.from_, job.log.until) for source in job.logs)
    held_out = tuple(Log.of(source, robot, settings) for source in job.validate_on)
    driven = driven_logs(job, logs, held_out)
    logs, held_out = driven.logs, driven.held_out
    job = for_simulator(job, robot)
    model = job.fit.torque_model(robot)
    base = base_parameters(model)
    findings = _reviewed(job, base, logs, held_out)
    job, fit = with_likeliest_links(job, fitted_rows(job, model, base, logs, progress))
    progress(f"fitting ({job.fit.made_estimator(job.seed).name})")
    estimate = job.fit.fit(fit.regression, job.seed)
    estimate, gained = refined_estimate(job, estimate, fit, driven, progress)
    resampled = _resampled(job, fit.regression, progress)
    progress("leaving out runs in turn")
    without = _left_out_runs(job, estimate, fit)
    statistics = None if without is None else with_scales(estimate, fit.regression, without.statistics, settings)
    if statistics is not None:
        estimate = coloured_estimate(estimate, fit.regression, fit.runs, statistics)
    progress("predicting")
    made = _model(job, estimate, fit, (*logs, *held_out), findings, statistics, gained)
    result = with_link_numbers(job, made, estimate, fit, progress)
    train = predicted(result, fit.samples, raw=job.raw)
    unseen = tuple(result.settings.condition(log.first_piece()) for log in held_out)
    validation = tuple(predicted(result, samples, raw=job.raw) for samples in unseen)
    reduced = None
    if job.fit.reduce:
        progress("looking for essential parameters")
        reduced = reduce_model(result, estimate, fit.regression, unseen, raw=job.raw)
    if reduced is not None:
        result = replace(result, results={**result.results, "reduced": reduced.json()})
    rollouts = simulated_logs(job, result, driven, progress)
    progress("comparing with other fits")
    return Identification(
        model=result,
        estimate=estimate,
        regression=fit.regression,
        samples=fit.samples,
        train=train,
        validation=validation,
        findings=findings,
        verdict=judge(
            result,
            estimate,
            train,
            validation,
            findings,
            left_out=_left_out(job, fit.regression, logs, held_out, without),
            rate_hz=fit.samples.plan.low_pass.rate_hz,
            rollouts=[found.error(seen=not held_out) for found in rollouts],
        ),
        rollouts=rollouts,
        comparisons=compared_with_others(result, estimate, fit.regression, unseen, raw=job.raw),
        bootstrap=resampled,
        reduced=reduced,
        notes=picture_notes(job, logs),
        warnings=(
            *robot.notes,
            *_warnings(result, estimate, fit.regression),
            *filter(None, (fit.encoders[1], rotor_hint(fit.model, fit.runs[:1], train.error))),
        ),
    )


def _reviewed(
    job: IdentifyJob, base: BaseParameters, logs: Sequence[Log], held_out: Sequence[Log]
) -> tuple[Finding, ...]:
    """What is wrong with the training logs, and whether logs hold the same samples.

    Raises:
        LogsRefused: one of the findings is an error, and the job is not to be forced.
        BadRows: a log that cannot be read as it stands.
    """
    findings: list[Finding] = []
    for number, log in enumerate(logs):
        good = log.recording
        before = [other.recording for other in logs[:number]]
        beside = [other.good_rows for other in logs if other is not log]
        found = [
            *review_log(log.robot, log.raw, beside=beside, friction=job.fit.first_friction, base=base),
            *overlap_findings(good, before, severity=Severity.WARNING),
        ]
        findings += [replace(finding, log=log.name) for finding in found]
    for log in held_out:
        # The fit is none the worse for it; what its prediction proves is the verdict's business.
        seen = [other.recording for other in logs]
        findings += overlap_findings(log.good_rows, seen, severity=Severity.WARNING)
    # What is too short to be conditioned is refused there, as wrong input.
    grave = [f for f in findings if f.severity is Severity.ERROR and f.code != "short"]
    if grave and not job.force:
        raise LogsRefused(findings, (*logs, *held_out))
    return tuple(findings)


def _left_out(
    job: IdentifyJob, regression: Regression, logs: Sequence[Log], held_out: Sequence[Log], without: LeftOut | None
) -> FitError | None:
    """Error on segments left out in turn, where no held-out log tells more."""
    estimator = job.fit.made_estimator(job.seed)
    if held_out or estimator.needs_rows:
        return None
    if without is not None and len(logs) == 1 and not logs[0].is_long and refits_itself(estimator):
        return without.error
    return left_out_error(regression, partial(job.fit.fit, seed=job.seed))


def _resampled(job: IdentifyJob, regression: Regression, progress: Progress) -> Bootstrap | None:
    if not job.bootstrap:
        return None
    estimator = job.fit.made_estimator(job.seed).name
    if job.fit.made_estimator(job.seed).needs_rows:
        raise RegressionError(
            f"`bootstrap`: {estimator} weighs single rows and cannot be resampled; use `estimator` wls"
        )
    progress(f"refitting {job.bootstrap} resampled logs")
    return resample(regression, partial(job.fit.fit, seed=job.seed), n_draws=job.bootstrap, seed=job.seed)


def _model(
    job: IdentifyJob,
    estimate: Estimate,
    fit: FittedRows,
    logs: Sequence[Log],
    findings: Sequence[Finding],
    residuals: ResidualStatistics | None,
    gained: Sequence[ChosenJson],
) -> IdentifiedModel:
    """The estimate with all that later jobs need of it."""
    plan = fit.samples.plan
    memory = [log.source for log in logs if not isinstance(log.source, Path)]
    origin = provenance(
        "identify",
        [*job.files, *memory],
        {
            "seed": job.seed,
            "bootstrap": job.bootstrap,
            "fit": {
                **texts_of(job.fit),
                "estimator": estimate.estimator,
                "rotor_inertia": any(joint_model.name == RotorInertia.name for joint_model in fit.model.joint_models),
                "delay": "0" if job.fit.delay is None else job.fit.delay,
            },
            "log": texts_of(job.log),
            "robot": texts_of(job.options),
        },
    )
    origin["findings"] = findings_json(findings)
    origin["logs"] = [str(source) for source in job.logs if isinstance(source, Path)]
    # Parts that a column map leaves out are those of one log, and no business of the next one.
    columns = logs[0].settings.columns
    known = None if columns is None else columns.model_copy(update={"exclude": ()})
    cutoff_hz = float(plan.low_pass.cutoff_hz)
    settings = replace(logs[0].settings, columns=known, cutoff_hz=cutoff_hz, delay=plan.delay)
    made = IdentifiedModel.of(
        estimate,
        fit.regression,
        settings=settings,
        row_period=plan.every / plan.low_pass.rate_hz,
        sample_noise=_sample_noise(estimate, fit.samples),
        residuals=residuals,
        results={
            "condition_number": estimate.condition_number,
            "relative_error_percent": estimate.fit.relative_percent,
            "n_rows": estimate.n_rows,
            "noise": estimate.uncertainty.noise.tolist(),
            "conditioning": list(plan.choices),
            "friction": [] if fit.choice is None else list(fit.choice.reasons),
            "chosen": [dict(choice) for choice in (*fit.chosen, *gained)],
        },
        provenance=origin,
    )
    return replace(made, motion=logged_motion(made.model, made.parameters, fit.samples))


def _left_out_runs(job: IdentifyJob, estimate: Estimate, fit: FittedRows) -> LeftOut | None:
    """What the model leaves of runs, or segments, that are left out of the fit in turn."""
    estimator = job.fit.made_estimator(job.seed)
    return left_out_runs(fit.model, fit.base, fit.runs, quick_fit(estimator), estimate)


def _sample_noise(estimate: Estimate, samples: Samples) -> Float[Array, " n_dof"]:
    """Standard deviation of the residual of single samples, before the low-pass, by joint, N·m or N."""
    theta = estimate.base.lift(estimate.beta) if estimate.theta is None else estimate.theta
    return compare_torque(estimate.model, theta, samples, raw=True).error.rmse


def _warnings(model: IdentifiedModel, estimate: Estimate, regression: Regression) -> tuple[str, ...]:
    """What is weak about a fit.

    Raises:
        DynidError: a fit that ended well gave links that are not physically consistent.
    """
    told = []
    weak = [symbol for symbol, word in zip(estimate.base.leading, estimate.trust, strict=True) if word == "unreliable"]
    if weak:
        n_base = len(estimate.beta)
        told.append(f"{len(weak)} of {n_base} base parameters have σ above 30 % of their value: {', '.join(weak)}")
    still = never_reversing(regression.source.samples) if isinstance(regression.source, SampleRows) else ()
    kinds = {kind for joint_model in regression.model.joint_models for kind in joint_model.kinds}
    if still and "dry" in kinds:
        told.append(f"{', '.join(still)} never reverses: Coulomb friction and offset cannot be told apart there")
    if estimate.status is Status.RANK_DEFICIENT:
        told += [f"not excited by this motion: {', '.join(names)}" for names in [unexcited(regression)] if names]
    if estimate.status is not Status.CONVERGED:
        told.append(estimate.status.value)
    elif model.links and not model.consistent:
        raise DynidError("the links found are not physically consistent; this should not happen, please report it")
    return tuple(told)
