"""Predict a run, compare with what was measured, and say which effect makes up which part of the torque."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, ArrayLike, Float, freeze_arrays
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.recording.conditioning import Samples
from dynid.regression.estimate import FitError
from dynid.validation.band import TorqueBand

__all__ = ["Contributions", "Validation", "compare_torque", "contributions"]


@dataclass(frozen=True, eq=False)
class Validation:
    """Measured and predicted torque of one log, conditioned alike, and how far they are apart."""

    log: str
    joint_names: tuple[str, ...]
    t: Float[Array, " n_rows"]
    """s, on the clock of the log."""
    measured: Float[Array, "n_rows n_dof"]
    """N·m or N, low-passed unless raw."""
    predicted: Float[Array, "n_rows n_dof"]
    """N·m or N, low-passed unless raw."""
    raw: bool
    """Whether the measured torque is the unfiltered one."""
    band: TorqueBand | None = None
    """How far the predicted torque may be off (N·m or N), where the covariance of the base parameters is known."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def residual(self) -> Float[Array, "n_rows n_dof"]:
        """Measured minus predicted, N·m or N."""
        return self.measured - self.predicted

    @property
    def error(self) -> FitError:
        """Relative error in percent and RMSE in N·m or N, in total and per joint."""
        rows = np.full(self.measured.shape[1], float(len(self.t)))
        return FitError.of(np.sum(self.residual**2, axis=0), np.sum(self.measured**2, axis=0), rows)

    @property
    def r_squared(self) -> Float[Array, " n_dof"]:
        """Share of each joint's torque variance that the model explains; nan where the torque never changes."""
        spread = np.sum((self.measured - self.measured.mean(axis=0)) ** 2, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(spread > 0.0, 1.0 - np.sum(self.residual**2, axis=0) / spread, np.nan)

    @property
    def coverage(self) -> Float[Array, " n_dof"]:
        """Share of each joint's measured torque inside the 95 % prediction band, as a fraction; nan without a band."""
        unknown = np.full(len(self.joint_names), np.nan)
        return unknown if self.band is None else self.band.coverage(self.residual)

    @property
    def coverage_at_rest(self) -> float:
        """The same share (a fraction) of rows at standstill, of all joints; nan where there are none."""
        return np.nan if self.band is None else self.band.coverage_at_rest(self.residual)

    @property
    def whiteness(self) -> Float[Array, " n_dof"]:
        """Correlation of neighbouring residuals of each joint, dimensionless: 0 is white, 1 is a missing effect."""
        centred = self.residual - self.residual.mean(axis=0)
        power = np.sum(centred**2, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(power > 0.0, np.sum(centred[1:] * centred[:-1], axis=0) / power, np.nan)


def compare_torque(model: TorqueModel, theta: ArrayLike, samples: Samples, *, raw: bool = False) -> Validation:
    """Predict the torque (N·m or N) of conditioned samples with parameters θ (SI) and compare.

    Args:
        model: the columns of θ.
        theta: full parameters, or a lifted set of base parameters.
        samples: the conditioned log.
        raw: compare with the unfiltered torque at every sample instead.
    """
    low_pass, every = samples.plan.low_pass, samples.plan.every
    times, measured, predicted = [], [], []
    for segment in samples.segments:
        tau = model.torque(segment.motion, theta)
        lost = low_pass.half_length
        if raw:
            times.append(segment.motion.t)
            measured.append(segment.tau)
            predicted.append(tau)
            continue
        thin = low_pass.thinned(segment.tau, every)
        times.append(segment.motion.t[lost + every * np.arange(len(thin))])
        measured.append(thin)
        predicted.append(low_pass.thinned(tau, every))
    return Validation(
        samples.source,
        samples.joint_names,
        np.concatenate(times),
        np.concatenate(measured),
        np.concatenate(predicted),
        raw,
    )


@dataclass(frozen=True, eq=False)
class Contributions:
    """The parts of a predicted torque, N·m or N; they add up to it."""

    inertia: Float[Array, "n_samples n_dof"]
    coriolis: Float[Array, "n_samples n_dof"]
    gravity: Float[Array, "n_samples n_dof"]
    joint_terms: Float[Array, "n_samples n_dof"]
    """Friction and rotor inertia."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


def contributions(model: TorqueModel, theta: ArrayLike, motion: Motion) -> Contributions:
    """Split the torque (N·m or N) of a motion into what inertia, velocity, gravity and the joints themselves need."""
    values = np.asarray(theta, dtype=float)
    rigid = TorqueModel(model.robot)
    inertial = values[: rigid.n_params]
    zeros = np.zeros_like(motion.q)
    gravity = rigid.torque(Motion(motion.t, motion.q, zeros, zeros), inertial)
    inertia = rigid.torque(Motion(motion.t, motion.q, zeros, motion.ddq), inertial) - gravity
    coriolis = rigid.torque(Motion(motion.t, motion.q, motion.dq, zeros), inertial) - gravity
    return Contributions(inertia, coriolis, gravity, model.joint_torque(motion, values))
