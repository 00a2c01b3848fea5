"""What the report of ``dynid identify`` says beside the fit itself: other parameter sets, and what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float
from dynid.cli.pipeline import LogOptions
from dynid.recording import Samples
from dynid.regression import OLS, WLS, Estimate, Feasible, FitError, IdentifiedModel, Regression, Status
from dynid.validation import validate
from dynid.writers import Comparison

__all__ = ["compared", "data_notes"]


def compared(
    result: IdentifiedModel,
    estimate: Estimate,
    regression: Regression,
    unseen: Sequence[Samples],
    *,
    raw: bool,
    content: dict[str, object],
) -> list[Comparison]:
    """Errors (%) of the nominal robot and of other estimators on the same rows; `content` gets them as JSON."""
    sets: list[tuple[str, Float[Array, " n_base"], Float[Array, " n_params"]]] = []
    if result.model.robot.has_nominal:
        theta = result.model.nominal()
        sets.append(("nominal inertias of the robot file, no friction", result.base.project(theta), theta))
    for name, words, estimator in (
        ("ols", "ordinary least squares (not a possible robot)", OLS()),
        ("wls", "weighted least squares (not a possible robot)", WLS()),
        ("feasible", "feasible least squares", Feasible()),
    ):
        if estimate.estimator != name:
            other = estimator.fit(regression)
            if other.status in (Status.CONVERGED, Status.RANK_DEFICIENT):
                theta = result.base.lift(other.beta) if other.theta is None else other.theta
                sets.append((words, other.beta, theta))
    comparisons = []
    for words, beta, theta in sets:
        errors = [validate(result.model, theta, samples, raw=raw).error.relative_percent for samples in unseen]
        fitted = FitError.on(regression, beta).relative_percent
        comparisons.append(Comparison(words, fitted, max(errors, default=np.nan)))
    content["compared"] = [
        {
            "name": c.name,
            "relative_error_percent": c.relative_percent,
            "validation_relative_error_percent": c.held_out_percent,
        }
        for c in comparisons
    ]
    return comparisons


def data_notes(logs: Sequence[Path], log: LogOptions, raw: bool) -> list[str]:
    """What of the data the pictures show."""
    notes = []
    if log.is_long(logs[0]):
        notes.append(
            f"{logs[0].name} is long and was streamed: every row of it entered the fit, but the pictures, the table of "
            "joints and the error of the fitted motion are of its first stretch."
        )
    if len(logs) > 1:
        notes.append(
            f"{len(logs)} logs were fitted together; the pictures, the table of joints and the error of the fitted "
            f"motion are of the first, {logs[0].name}."
        )
    if raw:
        notes.append("Measured torque is shown unfiltered (--raw).")
    return notes
