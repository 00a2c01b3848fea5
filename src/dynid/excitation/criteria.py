"""How exciting a motion is: condition numbers and D-optimality of the base regressor, smooth or exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import ExcitationError
from dynid.excitation.curves.curve import PerJoint
from dynid.prose import counted

__all__ = ["ConditionNumber", "DOptimality", "DesignCriterion", "ExcitationReport", "assess", "check_noise"]

_FLOOR = 1e-15
"""Relative to the largest eigenvalue: smaller ones are rounding."""


@runtime_checkable
class DesignCriterion(Protocol):
    """What a design makes small, as a function of the mean Gram matrix :math:`G = Y_b^T W Y_b / n` of a motion."""

    def row_weights(self, n_dof: int) -> Float[Array, " n_dof"]:
        """The weight of every joint's rows, relative or in 1/(N·m)²."""
        ...

    def smooth(self, G: Float[Array, "n_base n_base"], sharpness: float) -> tuple[float, Float[Array, "n_base n_base"]]:
        """A differentiable stand-in (dimensionless) and its derivative by G; the sharper, the closer to `exact`."""
        ...

    def exact(self, G: Float[Array, "n_base n_base"]) -> float:
        """The criterion itself, dimensionless; always finite."""
        ...


@dataclass(frozen=True)
class ConditionNumber:
    r"""The ratio of the largest to the smallest singular value of the base regressor.

    Its smooth stand-in takes p-norms of the spectrum,
    :math:`\log \|\sigma\|_p + \log \|\sigma^{-1}\|_p`, which tends to :math:`\log\kappa` as p grows.
    """

    scaled: bool = False
    """Whether columns are scaled to unit length first, so that units do not matter."""

    def row_weights(self, n_dof: int) -> Float[Array, " n_dof"]:
        """Equal, dimensionless."""
        return np.ones(n_dof)

    def smooth(self, G: Float[Array, "n_base n_base"], sharpness: float) -> tuple[float, Float[Array, "n_base n_base"]]:
        """Logarithm of the condition number (a ratio) by p-norms, p = `sharpness`, and its derivative by G."""
        if not self.scaled:
            return _spectrum_ratio(G, sharpness)
        diagonal = np.diag(G)
        floor = np.maximum(diagonal, _FLOOR * np.max(diagonal))
        length = np.sqrt(floor)
        unit = G / np.outer(length, length)
        value, slope = _spectrum_ratio(unit, sharpness)
        slope = slope / np.outer(length, length)
        slope[np.diag_indices_from(slope)] -= np.sum(slope * G, axis=1) / floor
        return value, slope

    def exact(self, G: Float[Array, "n_base n_base"]) -> float:
        """The condition number, a ratio."""
        if self.scaled:
            length = np.sqrt(np.maximum(np.diag(G), _FLOOR * np.max(np.diag(G))))
            G = G / np.outer(length, length)
        spectrum = np.linalg.eigvalsh(G)
        return float(np.sqrt(spectrum[-1] / max(spectrum[0], _FLOOR * spectrum[-1])))


def _spectrum_ratio(G: Float[Array, "n n"], p: float) -> tuple[float, Float[Array, "n n"]]:
    spectrum, Q = np.linalg.eigh(G)
    lam = np.maximum(spectrum, _FLOOR * spectrum[-1])
    large, small = (lam / lam[-1]) ** (0.5 * p), (lam[0] / lam) ** (0.5 * p)
    value = 0.5 * np.log(lam[-1] / lam[0]) + (np.log(large.sum()) + np.log(small.sum())) / p
    weight = 0.5 * (large / large.sum() - small / small.sum()) / lam
    return float(value), (Q * weight) @ Q.T


@dataclass(frozen=True, eq=False)
class DOptimality:
    r"""Smallest volume of the confidence ellipsoid: :math:`-\tfrac1p \log\det(I_0 + n\,Y_b^T \Sigma^{-1} Y_b / n)`."""

    noise_std: tuple[float, ...] = (1.0,)
    """Standard deviation of each joint's torque sensor, N·m or N; one number serves all joints."""
    prior: Float[Array, "n_known n_known"] | None = None
    """Information that earlier logs hold (1/unit²), None where there are none."""
    n_samples: float = 1000.0
    """Number of samples that the motion will be measured at, against which `prior` counts; dimensionless."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        check_noise(self.noise_std, len(self.noise_std))

    def row_weights(self, n_dof: int) -> Float[Array, " n_dof"]:
        """One over the noise variance, 1/(N·m)² or 1/N²."""
        return 1.0 / check_noise(self.noise_std, n_dof) ** 2

    def smooth(self, G: Float[Array, "n_base n_base"], sharpness: float) -> tuple[float, Float[Array, "n_base n_base"]]:
        """Negative mean log of the information (dimensionless), and its derivative by G."""
        information = self._information(G)
        spectrum, Q = np.linalg.eigh(information)
        lam = np.maximum(spectrum, _FLOOR * spectrum[-1])
        return float(-np.mean(np.log(lam))), -self.n_samples * ((Q / lam) @ Q.T) / len(lam)

    def exact(self, G: Float[Array, "n_base n_base"]) -> float:
        """Negative mean log of the information, dimensionless."""
        spectrum = np.linalg.eigvalsh(self._information(G))
        return float(-np.mean(np.log(np.maximum(spectrum, _FLOOR * spectrum[-1]))))

    def _information(self, G: Float[Array, "n_base n_base"]) -> Float[Array, "n_base n_base"]:
        if self.prior is None:
            return self.n_samples * G
        if self.prior.shape != G.shape:
            raise ExcitationError(
                f"prior information is about {len(self.prior)} base parameters, the model has {len(G)}; use one model"
            )
        return self.prior + self.n_samples * G


def check_noise(noise_std: PerJoint, n_dof: int) -> Float[Array, " n_dof"]:
    """Noise of every joint, N·m or N; one number serves all.

    Raises:
        ExcitationError: not positive, or the wrong number of them.
    """
    values = np.atleast_1d(np.asarray(noise_std, dtype=float))
    if values.shape not in ((1,), (n_dof,)):
        raise ExcitationError(f"noise of {values.size} joints given, but there are {n_dof}; give one number or {n_dof}")
    if not np.all(np.isfinite(values) & (values > 0.0)):
        raise ExcitationError("the standard deviation of the noise must be positive for every joint")
    return np.broadcast_to(values, (n_dof,)).copy()


@dataclass(frozen=True)
class ExcitationReport:
    """How well one motion shows the base parameters."""

    condition_number: float
    """Of the base regressor as it is, a ratio; infinite where a parameter does not show."""
    scaled_condition_number: float
    """Of the base regressor with columns of unit length, a ratio."""
    log_det: float
    """Log of the determinant of the information, noise-weighted; relative between motions of one robot."""
    n_base: int
    n_samples: int

    def __repr__(self) -> str:
        numbers = f"condition number {self.condition_number:.4g}, scaled {self.scaled_condition_number:.4g}"
        return f"ExcitationReport({self.n_base} base parameters, {counted(self.n_samples, 'sample')}: {numbers})"


def assess(
    model: TorqueModel, motion: Motion, *, base: BaseParameters | None = None, noise_std: PerJoint = 1.0
) -> ExcitationReport:
    """Condition numbers and D-optimality of any motion.

    Args:
        model: with the friction and rotor columns that will be fitted.
        motion: planned or measured.
        base: its base parameters, found when None.
        noise_std: of every joint's torque, N·m or N.
    """
    chosen = base_parameters(model) if base is None else base
    weights = 1.0 / check_noise(noise_std, model.n_dof)
    Y = chosen.reduce(model.regressor(motion))
    plain = _triangle(Y.reshape(-1, chosen.n_base))
    whitened = _triangle((Y * weights[:, None]).reshape(-1, chosen.n_base))
    length = np.linalg.norm(plain, axis=0)
    diagonal = np.abs(np.diag(whitened)) if len(whitened) == chosen.n_base else np.zeros(1)
    return ExcitationReport(
        condition_number=_ratio(plain),
        scaled_condition_number=_ratio(plain / np.where(length > 0.0, length, 1.0)),
        log_det=float(2.0 * np.sum(np.log(diagonal))) if np.all(diagonal > 0.0) else -np.inf,
        n_base=chosen.n_base,
        n_samples=motion.n_samples,
    )


def _triangle(rows: Float[Array, "n_rows n_base"]) -> Float[Array, "n_kept n_base"]:
    return np.asarray(np.linalg.qr(rows, mode="r"))


def _ratio(R: Float[Array, "n_rows n_base"]) -> float:
    sigma = np.linalg.svd(R, compute_uv=False)
    enough = len(sigma) == R.shape[1] and sigma[-1] > 0.0
    return float(sigma[0] / sigma[-1]) if enough else np.inf
