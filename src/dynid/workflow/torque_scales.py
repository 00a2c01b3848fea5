"""How sure the scale of torques is: of drive gains that were typed or identified, and of torque sensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import RecordingError
from dynid.recording.gains_file import is_gains_file, read_gains
from dynid.recording.log_settings import LogSettings
from dynid.regression.coloured import gain_directions, scale_distortion
from dynid.regression.estimate import Estimate
from dynid.regression.model import IdentifiedModel
from dynid.regression.problem import Regression
from dynid.regression.residuals import ResidualStatistics
from dynid.workflow.doors import as_gains

__all__ = ["GainStd", "as_gain_settings", "with_scales", "with_stated_scales"]

GainStd = str | float | Sequence[float] | Array
"""Relative σ of drive gains or torque sensors: one number, or one for each joint."""


def as_gain_settings(
    gains: str | PathLike[str] | Sequence[float] | Array | None, gain_std: GainStd | None
) -> LogSettings:
    """Drive gains in N·m/A and how sure they are, as log settings.

    Args:
        gains: numbers, a text ``K1,K2,…``, or the file that `payload` with a known mass wrote, with their covariance.
        gain_std: relative σ of gains or torque sensors, one number or one for each joint; None for that of the file.

    Raises:
        RecordingError: for what are no numbers, or no such file.
    """
    stated = _relative(gain_std)
    source = "" if stated is None else "as stated"
    if is_gains_file(gains) and stated is None:
        found, covariance = read_gains(gains)
        return LogSettings(gains=found, gain_covariance=covariance, gain_source=f"identified, {Path(gains).name}")
    return LogSettings(gains=as_gains(gains), gain_covariance=stated, gain_source=source)


def with_scales(
    estimate: Estimate, regression: Regression, residuals: ResidualStatistics, settings: LogSettings
) -> ResidualStatistics:
    """Statistics with the scales (relative) of torques, and what they do to β."""
    covariance, source = settings.scales(regression.model.n_dof)
    directions = gain_directions(regression, estimate.beta, estimate.weights)
    distortion = scale_distortion(regression, estimate.beta, directions, covariance)
    found = residuals.with_scales(covariance, source).explained_by_scales(distortion)
    return replace(found, gain_directions=directions)


def with_stated_scales(model: IdentifiedModel, settings: LogSettings) -> IdentifiedModel:
    """The model with the scales (relative) of torques that `settings` state, where they are not its own.

    The covariance of its base parameters follows.
    """
    known = model.residuals
    if known is None:
        return model
    covariance, source = settings.scales(model.model.n_dof)
    if np.array_equal(covariance, known.scale_covariance):
        return model
    changed = known.with_scales(covariance, source)
    return replace(model, residuals=changed, covariance=model.covariance - known.of_scales + changed.of_scales)


def _relative(gain_std: str | float | Sequence[float] | Array | None) -> tuple[tuple[float, ...], ...] | None:
    if gain_std is None:
        return None
    words: Sequence[object] | Array = (
        gain_std.replace(",", " ").split()
        if isinstance(gain_std, str)
        else [gain_std]
        if isinstance(gain_std, int | float)
        else gain_std
    )
    try:
        found = [float(str(word)) for word in words]
    except ValueError as error:
        raise RecordingError(
            f"`gain_std` {gain_std}: {error}; give a relative σ such as 0.02, or one a joint"
        ) from error
    if not found or not all(0.0 <= value < 1.0 for value in found):
        raise RecordingError(
            f"`gain_std` {gain_std}: give a relative σ from 0 to below 1, such as 0.02, or one a joint"
        )
    return tuple(tuple(value**2 if j == k else 0.0 for k in range(len(found))) for j, value in enumerate(found))
