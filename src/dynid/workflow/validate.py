"""`validate`: predicted against measured torque, one model or several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TypedDict

import numpy as np

from dynid.arrays import Array
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ConfigError, ModelFileError, RecordingError
from dynid.prose import Document, Grid, Line, PrintsAsDocument, counted
from dynid.recording.column_map import ColumnMap
from dynid.recording.gains_file import is_gains_file
from dynid.regression.model import IdentifiedModel
from dynid.validation.torque import Validation
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.contract import ValidationJson, validation_json
from dynid.workflow.doors import LogLike, ModelLike, as_logs, as_map, as_model, model_name
from dynid.workflow.logs import Log
from dynid.workflow.prediction import band_statements, predicted
from dynid.workflow.progress import Progress, silent
from dynid.workflow.provenance import hashed
from dynid.workflow.torque_scales import GainStd, as_gain_settings, with_stated_scales

__all__ = ["ModelValidation", "ValidatedModel", "models_of_one_robot", "validate"]


class AgainstJson(TypedDict):
    """Another model on the same logs."""

    model: str
    validation: list[ValidationJson]


class ModelValidationJson(TypedDict):
    """All that `validate` tells."""

    robot: str
    n_dof: int
    n_base: int
    estimator: str
    consistent: bool
    validation: list[ValidationJson]
    against: list[AgainstJson]


@dataclass(frozen=True, eq=False)
class ValidatedModel:
    """A model and its predictions, one a log."""

    name: str
    """Its file, or what it is called."""
    model: IdentifiedModel
    validation: tuple[Validation, ...]


@dataclass(frozen=True, eq=False)
class ModelValidation(PrintsAsDocument):
    """The result of `dynid.validate`: predictions of one model, and of those beside it."""

    models: tuple[ValidatedModel, ...]
    """The model in question first."""
    warnings: tuple[str, ...] = ()
    """Sentences such as that a log was used in the fit."""

    @property
    def validation(self) -> tuple[Validation, ...]:
        """Predictions of the model in question, one a log."""
        return self.models[0].validation

    def json(self) -> ModelValidationJson:
        """What scripts read of it (%, N·m or N)."""
        first, *others = self.models
        return {
            "robot": first.model.robot.name,
            "n_dof": first.model.model.n_dof,
            "n_base": first.model.base.n_base,
            "estimator": first.model.estimator,
            "consistent": first.model.consistent,
            "validation": [validation_json(v, details=True) for v in first.validation],
            "against": [
                {"model": other.name, "validation": [validation_json(v, details=True) for v in other.validation]}
                for other in others
            ],
        }

    def document(self) -> Document:
        """The comparison from top to bottom, as the terminal shows it."""
        model = self.models[0].model
        robot = model.robot
        units = ["N·m" if joint.type == "revolute" else "N" for joint in robot.joints]
        pairs = [(known.name, v) for known in self.models for v in known.validation]
        errors = [
            (name, v.log, f"{v.error.relative_percent:.2f}", *(f"{x:.2f}" for x in v.error.relative_percent_joint))
            for name, v in pairs
        ]
        rmse = [
            (name, v.log, *(f"{x:.4g} {unit}" for x, unit in zip(v.error.rmse, units, strict=True)))
            for name, v in pairs
        ]
        headers = ("model", "log", "error / %", *(f"{name} / %" for name in robot.joint_names))
        rmse_headers = ("model", "log", *(f"RMSE {name}" for name in robot.joint_names))
        parts: list[Line | Grid] = [
            Line("robot", f"{robot.name}   {counted(robot.n_dof, 'joint')}, estimator {model.estimator}"),
            Grid(headers, tuple(errors), tuple(range(2, len(headers)))),
            Grid(rmse_headers, tuple(rmse), tuple(range(2, len(rmse_headers)))),
        ]
        inside = np.array([v.coverage for _, v in pairs])
        if np.any(np.isfinite(inside)):
            share = f"{100.0 * np.nanmean(inside):.1f} %"
            parts.append(Line("band", f"{share} of the measured torques are inside their 95 % prediction band"))
            parts += [Line("", sentence) for sentence in band_statements(model)]
        colour = max(float(np.nanmax(np.abs(v.whiteness))) for _, v in pairs)
        told = f"largest correlation of neighbouring residuals {colour:.2f} (0 white, 1 a missing effect)"
        return (*parts, Line("residual", told))

    def __repr__(self) -> str:
        errors = ", ".join(f"{Path(v.log).name} {v.error.relative_percent:.2f} %" for v in self.validation)
        return f"ModelValidation({self.models[0].model.robot.name!r}: {errors})"


@checked_arguments
@one_blas_thread()
def validate(
    model: ModelLike,
    logs: LogLike | Sequence[LogLike],
    *,
    against: ModelLike | Sequence[ModelLike] = (),
    raw: bool = False,
    from_: float | None = None,
    until: float | None = None,
    columns: str | PathLike[str] | ColumnMap | None = None,
    gains: str | PathLike[str] | Sequence[float] | Array | None = None,
    gain_std: GainStd | None = None,
    lowpass: float | None = None,
    progress: Progress = silent,
) -> ModelValidation:
    """Predict logs with a model and compare, per joint (SI); with `against`, several models side by side.

    The logs are read and conditioned as those of the first model's fit were: its column map, gains, low-pass and delay
    hold unless given here.

    Args:
        model: model.json or `IdentifiedModel`.
        logs: one or more logs to predict.
        against: other models to set beside.
        raw: compare with the unfiltered torque.
        from_: start of the part to use, s.
        until: end of the part to use, s.
        columns: mapping file or `ColumnMap`.
        gains: drive gains in N·m/A, for logs of motor current.
        gain_std: relative σ of gains or torque sensors, one number or one a joint; None: as in the model.
        lowpass: low-pass in Hz.
        progress: hears what is being done.

    Raises:
        ModelFileError: models of robots with other joints.
    """
    others = [against] if isinstance(against, str) or not isinstance(against, Sequence) else against
    known = models_of_one_robot([model, *others])
    first = known[0][1]
    typed = replace(as_gain_settings(gains, gain_std), columns=as_map(columns), cutoff_hz=lowpass)
    settings = typed.over(first.settings)
    if gain_std is not None or is_gains_file(gains):
        known = [(name, with_stated_scales(one, settings)) for name, one in known]
    opened = [Log.of(source, first.robot, settings, from_, until) for source in as_logs(logs)]
    if not opened:
        raise RecordingError("no log given to predict")
    progress("predicting")
    samples = [log.condition() for log in opened]
    same = settings.gains == first.settings.gains
    of = partial(predicted, raw=raw, same_drives=same)
    results = tuple(ValidatedModel(name, one, tuple(of(one, part) for part in samples)) for name, one in known)
    warnings = tuple(
        f"{log.name} is a log the model was fitted to: this shows the fit, not how it predicts"
        for log in opened
        if _was_fitted_to(first, log)
    )
    return ModelValidation(results, warnings)


def _was_fitted_to(model: IdentifiedModel, log: Log) -> bool:
    """Whether a log, or a part of it that is asked for, is among those of the fit."""
    found, options = model.provenance.get("inputs", {}), model.provenance.get("options", {})
    inputs = found if isinstance(found, dict) else {}
    # Held-out log files are inputs too; `logs` names the training logs among the files.
    training = model.provenance.get("logs") if isinstance(log.source, Path) else None
    known = {inputs.get(name) for name in training} if isinstance(training, list) else set(inputs.values())
    fitted = options.get("log", {}) if isinstance(options, dict) else {}
    start, end = _edge(fitted.get("from_"), -np.inf), _edge(fitted.get("until"), np.inf)
    if _edge(log.t_from, -np.inf) >= end or _edge(log.t_until, np.inf) <= start:
        return False
    if isinstance(log.source, Path):
        return log.source.exists() and hashed(log.source) in known
    return hashed(log.source) in known


def _edge(value: object, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) else otherwise


def models_of_one_robot(models: Sequence[ModelLike] | ModelLike) -> list[tuple[str, IdentifiedModel]]:
    """One or more models of robots with the same joints, each with its name.

    Raises:
        ModelFileError: for a file that is no model, and for robots with other joints.
        ConfigError: for another type, or none at all.
    """
    given = models if isinstance(models, Sequence) and not isinstance(models, str) else [models]
    known = [(model_name(one, f"model {k}"), as_model(one)) for k, one in enumerate(given, start=1)]
    if not known:
        raise ConfigError("model: expected at least one model.json or IdentifiedModel")
    for name, other in known:
        if other.robot.joint_names != known[0][1].robot.joint_names:
            raise ModelFileError(f"{name}: is of a robot with other joints than {known[0][0]}")
    return known
