"""`predict`: the torque of a motion by an identified model, and how far it may be off."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, ArrayLike, Float, freeze_arrays
from dynid.dynamics.motion import Motion
from dynid.errors import ParameterError
from dynid.prose import Grid, PrintsAsTable
from dynid.recording.conditioning import Samples
from dynid.regression.model import IdentifiedModel
from dynid.validation.band import WITHIN_95, NextRun, next_run_band
from dynid.validation.torque import Validation, compare_torque
from dynid.workflow.doors import ModelLike, as_model

__all__ = ["Prediction", "band_statements", "predict", "predicted"]


@dataclass(frozen=True, eq=False)
class Prediction(PrintsAsTable):
    """Predicted torque of a motion, and its standard deviation."""

    joint_names: tuple[str, ...]
    tau: Float[Array, "n_samples n_dof"]
    """Torque at the joints, N·m or N."""
    std: Float[Array, "n_samples n_dof"]
    """σ of the predicted torque from that of the base parameters, N·m or N; infinite where they were never seen."""
    noise: Float[Array, " n_dof"]
    """Standard deviation of each joint's residual, of held-out runs where they are known, N·m or N; else nan."""

    next_run: Float[Array, "n_samples n_dof"] | None = None
    """Standard deviation of a torque that the same drives will measure, low-passed as in the fit, about the predicted
    one: with noise, drift of friction and standstill, N·m or N; None where held-out residuals are not known."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def measured_std(self) -> Float[Array, "n_samples n_dof"]:
        """Standard deviation of a measured torque about the predicted one, N·m or N."""
        return np.hypot(self.std, self.noise) if self.next_run is None else self.next_run

    @property
    def lower(self) -> Float[Array, "n_samples n_dof"]:
        """Lower end of the band in which 95 % of measured torques are expected, N·m or N."""
        return self.tau - WITHIN_95 * self.measured_std

    @property
    def upper(self) -> Float[Array, "n_samples n_dof"]:
        """Upper end of that band, N·m or N."""
        return self.tau + WITHIN_95 * self.measured_std

    def _table(self) -> Grid:
        rows = [
            (name, f"{tau.min():.4g}", f"{tau.max():.4g}", f"{np.sqrt(np.mean(std**2)):.2g}", f"{noise:.2g}")
            for name, tau, std, noise in zip(self.joint_names, self.tau.T, self.std.T, self.noise, strict=True)
        ]
        return Grid(("joint", "least", "largest", "± 1σ", "noise / N·m or N"), rows, (1, 2, 3, 4))

    def __repr__(self) -> str:
        return f"Prediction({len(self.tau)} samples of {len(self.joint_names)} joints)"


def predict(model: ModelLike, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Prediction:
    """The torque that a motion needs, by an identified model (SI).

    Args:
        model: model.json or `IdentifiedModel`.
        q: positions, rad or m, (n_samples, n_dof) or (n_dof,) for a single state.
        dq: velocities, rad/s or m/s, of the same shape.
        ddq: accelerations, rad/s² or m/s², of the same shape.

    Raises:
        ParameterError: for shapes that do not fit the robot.
    """
    known = as_model(model)
    states = [np.atleast_2d(np.asarray(values, dtype=float)) for values in (q, dq, ddq)]
    n_dof = known.model.n_dof
    if any(values.shape != states[0].shape or values.shape[1] != n_dof for values in states):
        shapes = ", ".join(str(values.shape) for values in states)
        raise ParameterError(f"q, dq, ddq: expected three arrays of shape (n_samples, {n_dof}), got {shapes}")
    motion = Motion(np.arange(float(len(states[0]))), *states)
    Y = known.model.regressor(motion)[:, :, known.base.independent]
    covariance = known.covariance
    seen = np.isfinite(np.diag(covariance))
    finite = np.where(np.outer(seen, seen), covariance, 0.0)
    variance = np.einsum("kji,il,kjl->kj", Y, finite, Y)
    unseen = np.any(Y[:, :, ~seen] != 0.0, axis=2)
    std = np.where(unseen, np.inf, np.sqrt(np.maximum(variance, 0.0)))
    noise = np.full(n_dof, np.nan) if known.noise is None else known.noise
    coming = NextRun.of(known)
    measured = None
    if coming is not None and known.residuals is not None:
        noise = known.residuals.row_std
        each = [coming.std(j, Y[:, j], motion.dq[:, j]) for j in range(n_dof)]
        measured = np.where(unseen, np.inf, np.column_stack(each))
    return Prediction(known.robot.joint_names, known.model.torque(motion, known.parameters), std, noise, measured)


def band_statements(model: IdentifiedModel) -> tuple[str, ...]:
    """What the band about predicted torques (N·m or N) rests on, a sentence each."""
    known = model.residuals
    if known is None:
        return ("of the fit's own residuals: held-out ones are not known, and the next run may lie outside more often",)
    scale = "scale of the torques ± " + ", ".join(f"{100.0 * value:.2g}" for value in _distinct(known.gain_std))
    statement = (known.statement,) if known.statement else ()
    return (f"from held-out residuals of {known.source}", *statement, f"{scale} % ({known.gain_source})")


def _distinct(values: Float[Array, " n_dof"]) -> list[float]:
    """One value where all are alike."""
    return values[:1].tolist() if np.ptp(values) <= 1e-9 else values.tolist()


def predicted(model: IdentifiedModel, samples: Samples, *, raw: bool = False, same_drives: bool = True) -> Validation:
    """Predicted and measured torque (N·m or N) of conditioned samples, with the band about the prediction.

    Raw torque has no band, for its noise is not known.
    """
    found = compare_torque(model.model, model.parameters, samples, raw=raw)
    if raw:
        return found
    return replace(found, band=next_run_band(model, samples, same_drives=same_drives))
