"""``dynid validate``: predicted against measured torque, one model or several side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter

from dynid.cli.console import emit_json, note, say, table, warn
from dynid.cli.options import JsonFlag
from dynid.cli.pipeline import LogOptions, band_json, error_json, hashed, with_band
from dynid.cli.progress import progress
from dynid.errors import ModelFileError
from dynid.regression import IdentifiedModel, load_model
from dynid.validation import Validation
from dynid.validation import validate as compare
from dynid.writers import Report, Section
from dynid.writers.report.charts import torque_figures, torque_units

__all__ = ["validate"]


def validate(
    model: Path,
    logs: Annotated[tuple[Path, ...], Parameter(negative="")],
    /,
    *,
    against: Annotated[tuple[Path, ...], Parameter(negative="")] = (),
    raw: Annotated[bool, Parameter(negative="")] = False,
    report: Path | None = None,
    log: LogOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Predict logs with a model and compare, per joint; with --against, several models side by side.

    The torque is conditioned as in the fit of the first model, unless --lowpass or --raw says otherwise.

    Example: dynid validate result/model.json other.csv

    Parameters
    ----------
    model
        The model.json of identify.
    logs
        Logs to predict.
    against
        Another model to set beside.
    raw
        Compare with the unfiltered torque.
    report
        Write an HTML page with the curves.
    """
    log = log or LogOptions()
    paths = [model, *against]
    models = [load_model(path) for path in paths]
    for path, other in zip(paths[1:], models[1:], strict=True):
        if other.model.robot.joint_names != models[0].model.robot.joint_names:
            raise ModelFileError(f"{path}: is of a robot with other joints than {model}")
    with progress("predicting"):
        results = [[_compared(m, path, log, models[0], raw) for path in logs] for m in models]
    _warn_of_training_logs(models[0], logs, log)
    if report is not None:
        sections = tuple(
            Section(
                f"{path}: {v.log}",
                (f"Relative error {v.error.relative_percent:.2f} %",),
                figures=torque_figures(v, torque_units(models[0].model.robot), link=f"{k}"),
            )
            for path, row in zip(paths, results, strict=True)
            for k, v in enumerate(row)
        )
        verdict = "; ".join(f"{v.log}: {v.error.relative_percent:.2f} %" for v in results[0])
        Report(f"Validation of {model}", f"Relative torque error, {verdict}.", sections).write(report)
    if json:
        emit_json(_content(models[0], paths, results, report))
        return 0
    _show(models[0], paths, results)
    if report is not None:
        say("wrote", str(report))
    return 0


def _compared(model: IdentifiedModel, path: Path, log: LogOptions, reference: IdentifiedModel, raw: bool) -> Validation:
    recording = log.read(path, model.model.robot)
    # A model that came from no log (reverse) brings no low-pass: it is chosen from the log at hand.
    fitted = reference.cutoff_hz if np.isfinite(reference.cutoff_hz) else None
    cutoff = log.lowpass if log.lowpass is not None else fitted
    plan = LogOptions(lowpass=cutoff).plan(recording)
    samples = plan.apply(recording)
    return with_band(compare(model.model, model.parameters, samples, raw=raw), model, samples)


def _warn_of_training_logs(model: IdentifiedModel, logs: tuple[Path, ...], log: LogOptions) -> None:
    inputs, options = model.provenance.get("inputs", {}), model.provenance.get("options", {})
    known = set(inputs.values()) if isinstance(inputs, dict) else set()
    fitted = options.get("log", {}) if isinstance(options, dict) else {}
    start, end = _edge(fitted.get("from_"), -np.inf), _edge(fitted.get("until"), np.inf)
    apart = _edge(log.from_, -np.inf) >= end or _edge(log.until, np.inf) <= start
    for path in logs:
        if not apart and path.exists() and hashed(path) in known:
            warn(f"{path} is a log the model was fitted to: this shows the fit, not how it predicts")


def _edge(value: object, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) else otherwise


def _content(
    model: IdentifiedModel, paths: list[Path], results: list[list[Validation]], report: Path | None
) -> dict[str, object]:
    def entries(row: list[Validation]) -> list[dict[str, object]]:
        return [
            {
                "log": v.log,
                **error_json(v.error),
                "r_squared": v.r_squared,
                "whiteness": v.whiteness,
                "raw": v.raw,
                **band_json(v),
            }
            for v in row
        ]

    return {
        "robot": model.model.robot.name,
        "n_dof": model.model.n_dof,
        "n_base": model.base.n_base,
        "estimator": model.estimator,
        "consistent": model.consistent,
        "validation": entries(results[0]),
        "against": [
            {"model": str(path), "validation": entries(row)} for path, row in zip(paths[1:], results[1:], strict=True)
        ],
        "files": {} if report is None else {"report": str(report)},
    }


def _show(model: IdentifiedModel, paths: list[Path], results: list[list[Validation]]) -> None:
    names = model.model.robot.joint_names
    say("robot", f"{model.model.robot.name}   {model.model.n_dof} joints, estimator {model.estimator}")
    note("")
    headers = ("model", "log", "error / %", *(f"{name} / %" for name in names))
    rows = [
        (str(path), v.log, f"{v.error.relative_percent:.2f}", *(f"{x:.2f}" for x in v.error.relative_percent_joint))
        for path, row in zip(paths, results, strict=True)
        for v in row
    ]
    table(headers, rows, numeric=range(2, len(headers)))
    note("")
    units = [f"{'N·m' if joint.type == 'revolute' else 'N'}" for joint in model.model.robot.joints]
    rmse = [
        (str(path), v.log, *(f"{x:.4g} {unit}" for x, unit in zip(v.error.rmse, units, strict=True)))
        for path, row in zip(paths, results, strict=True)
        for v in row
    ]
    table(("model", "log", *(f"RMSE {name}" for name in names)), rmse, numeric=range(2, len(names) + 2))
    inside = np.array([v.coverage for row in results for v in row])
    if np.any(np.isfinite(inside)):
        say("band", f"{100.0 * np.nanmean(inside):.1f} % of the measured torques are inside their 95 % prediction band")
    colour = max(float(np.nanmax(np.abs(v.whiteness))) for row in results for v in row)
    say("residual", f"largest correlation of neighbouring residuals {colour:.2f} (0 white, 1 a missing effect)")
