"""IdentifiedModel: a robot with its parameters, how they were found, and how its logs are treated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.consistency import consistency
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.recording.log_settings import LogSettings
from dynid.regression.estimate import Estimate
from dynid.regression.problem import Regression

__all__ = ["Compressed", "IdentifiedModel", "Json"]

Json = Mapping[str, "object"]
"""An object of a JSON file."""


@dataclass(frozen=True, eq=False)
class Compressed:
    """The log as a triangular least-squares problem ‖Rβ − ρ‖² (weights applied), for whoever fits again."""

    R: Float[Array, "n_base n_base"]
    rho: Float[Array, " n_base"]
    rest: float
    """Weighted sum of squares that no coefficients explain."""
    n_rows: int

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class IdentifiedModel:
    """A robot with identified parameters: what is saved, exported, validated and tracked with."""

    model: TorqueModel
    base: BaseParameters
    estimator: str
    status: str
    """Empty when the fit ended well, else advice."""
    beta: Float[Array, " n_base"]
    """Base parameters in the units of their leading parameters."""
    covariance: Float[Array, "n_base n_base"]
    """Of β, autocorrelation-robust."""
    theta: Float[Array, " n_params"] | None = None
    """Full parameters (SI), where the estimator gave a physically consistent set."""
    labels: tuple[str, ...] = ()
    """For every entry of θ: identified, combination, prior or bound."""
    rule: str = ""
    """How θ was chosen among equal fits."""
    problem: Compressed | None = None
    settings: LogSettings = field(default_factory=LogSettings)
    """How the logs of the fit were read and conditioned; later logs are treated alike unless told otherwise."""
    noise: Float[Array, " n_dof"] | None = None
    """Standard deviation of each joint's residual in the fit, N·m or N; None where no log was fitted."""
    noise_memory: Float[Array, " n_dof"] | None = None
    """Time in s over which each joint's residual is correlated, one exponential's time constant; None likewise."""
    results: Json = field(default_factory=dict)
    """What the commands printed: condition number, errors, logs."""
    provenance: Json = field(default_factory=dict)
    """Inputs with hashes, versions, options, seed."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(
        cls,
        estimate: Estimate,
        regression: Regression,
        *,
        settings: LogSettings,
        results: Json,
        provenance: Json,
        row_period: float = np.nan,
    ) -> IdentifiedModel:
        """An estimate with all that later stages need of it (SI).

        Args:
            estimate: what was fitted.
            regression: the rows it was fitted to.
            settings: how these rows came from their logs.
            results: what a report says of the fit.
            provenance: inputs with hashes, versions, options.
            row_period: time in s between neighbouring rows, for the memory of the noise.
        """
        stacked = regression.stacked(estimate.weights)
        # Rows that forget after a time T long against their period inflate a variance by 2 T over that period.
        memory = 0.5 * estimate.uncertainty.inflation * row_period
        return cls(
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
            settings=settings,
            noise=estimate.uncertainty.noise,
            noise_memory=memory if np.isfinite(row_period) else None,
            results=results,
            provenance=provenance,
        )

    @property
    def cutoff_hz(self) -> float:
        """Low-pass of the fit, Hz; infinite where there was none."""
        return np.inf if self.settings.cutoff_hz is None else self.settings.cutoff_hz

    @property
    def robot(self) -> Robot:
        """The robot (SI), as its file has it."""
        return self.model.robot

    def __repr__(self) -> str:
        total = f", {sum(link.mass for link in self.links):.3g} kg" if self.links else ""
        return (
            f"IdentifiedModel({self.robot.name!r}: {self.model.n_dof} joints, {self.base.n_base} base parameters "
            f"by {self.estimator}{total}{', physically consistent' if self.consistent else ''})"
        )

    @property
    def parameters(self) -> Float[Array, " n_params"]:
        """θ (SI) to predict with: the full set, or the simplest that has the base parameters."""
        return self.base.lift(self.beta) if self.theta is None else self.theta

    @property
    def links(self) -> tuple[InertialParameters, ...]:
        """Identified inertial parameters of every link; empty without a full set (SI)."""
        if self.theta is None:
            return ()
        rows = self.theta[: self.model.n_inertial].reshape(-1, 10)
        return tuple(InertialParameters(row) for row in rows)

    @property
    def consistent(self) -> bool:
        """Whether there is a full set and every link of it is physically consistent."""
        return bool(self.links) and all(consistency(link).holds for link in self.links)
