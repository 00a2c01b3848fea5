"""What a retrieval should explain: base parameters, plain or weighted by their covariance, or the log itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.dynamics.base_parameters import BaseParameters
from dynid.errors import ParameterError, UnknownName

__all__ = ["ObjectiveKind", "RetrievalObjective"]

ObjectiveKind = Literal["coefficients", "one-step"]


@dataclass(frozen=True, eq=False)
class RetrievalObjective:
    r"""What the parameters should explain: :math:`\varphi(p) = \|W\,\pi(p) - y\|^2`."""

    kind: ObjectiveKind
    W: Float[Array, "n_base n_base"]
    """Identity, whitening of the base parameters' covariance, or the triangular factor R of a log."""
    y: Float[Array, " n_base"]
    """Wπ̂, or ρ (N·m)."""
    rest: float = 0.0
    """Sum of squares that no base parameters explain, (N·m)²; 0 where these are explained."""
    weighted: bool = False
    """Whether base parameters are weighted by their covariance."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        if not (np.all(np.isfinite(self.W)) and np.all(np.isfinite(self.y))):
            raise ParameterError("base parameters, covariance and triangular factor must be finite")

    @classmethod
    def coefficients(
        cls,
        base: BaseParameters,
        beta: Float[Array, " n_given"] | Mapping[str, float],
        covariance: Float[Array, "n_r n_c"] | None = None,
    ) -> RetrievalObjective:
        r""":math:`\|\pi(p) - \hat\pi\|^2`, or with a covariance :math:`\|\Sigma^{-1/2}(\pi(p) - \hat\pi)\|^2`.

        Args:
            base: of the robot.
            beta: π̂ in the order of `base`, or by leading parameter (``J1zz``); in the units of these.
            covariance: of π̂, its units squared; base parameters with infinite variance do not count.

        Raises:
            ParameterError: base parameters of another robot.
        """
        values = _in_order(base, beta) if isinstance(beta, Mapping) else np.asarray(beta, dtype=float)
        if values.shape != (base.n_base,):
            raise ParameterError(
                f"{values.size} base parameters for a robot with {base.n_base}: they belong to another robot, or to "
                f"this one with other friction; expected {', '.join(base.leading[:4])}, …"
            )
        if covariance is None:
            return cls("coefficients", np.eye(base.n_base), values)
        if np.shape(covariance) != (base.n_base, base.n_base):
            raise ParameterError(f"the covariance must be {base.n_base}×{base.n_base}, got {np.shape(covariance)}")
        W = _whitening(covariance)
        return cls("coefficients", W, W @ values, weighted=True)

    @classmethod
    def one_step(
        cls, base: BaseParameters, R: Float[Array, "n_r n_c"], rho: Float[Array, " n_r"], rest: float = 0.0
    ) -> RetrievalObjective:
        r""":math:`\|R\pi(p) - \rho\|^2`, which is ‖Yπ(p) − τ‖² less a constant `rest`, (N·m)², at any length of log.

        Raises:
            ParameterError: the factor of another robot.
        """
        if R.shape != (base.n_base, base.n_base) or rho.shape != (base.n_base,):
            raise ParameterError(
                f"a triangular factor {R.shape[0]}×{R.shape[1]} for {base.n_base} base parameters: it belongs to "
                "another robot or to other friction"
            )
        return cls("one-step", R, rho, rest)

    def relative_percent(self, objective: float) -> float:
        """100·√(φ + rest)/‖y‖ with the rest in ‖y‖ too, %: for a log the relative error of the torque."""
        power = float(self.y @ self.y) + self.rest
        return 100.0 * math.sqrt((objective + self.rest) / power) if power > 0.0 else math.nan


def _in_order(base: BaseParameters, given: Mapping[str, float]) -> Float[Array, " n_base"]:
    for name in given:
        if name not in base.leading:
            raise UnknownName(name, known=base.leading, kind="base parameter", where=f"robot with {base.n_base}")
    missing = [name for name in base.leading if name not in given]
    if missing:
        raise ParameterError(
            f"{len(given)} base parameters for a robot with {base.n_base}; missing {', '.join(missing[:6])}: they "
            "belong to another robot, or to this one with other friction"
        )
    return np.array([given[name] for name in base.leading])


def _whitening(covariance: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Σ^(−1/2), symmetric; rows and columns of infinite variance are zero."""
    known = np.isfinite(np.diag(covariance)) & (np.diag(covariance) > 0.0)
    if not np.any(known):
        raise ParameterError("the covariance has no finite positive variance; use the plain objective")
    inner = covariance[np.ix_(known, known)]
    std = np.sqrt(np.diag(inner))
    values, vectors = np.linalg.eigh(inner / np.outer(std, std))
    if values[0] < -1e-6 * values[-1]:
        raise ParameterError("the covariance is not positive semidefinite; use that of the fit they came from")
    root = (vectors / np.sqrt(np.maximum(values, 1e-10 * values[-1]))) @ vectors.T / std
    W = np.zeros_like(covariance)
    W[np.ix_(known, known)] = root
    return W
