"""IdentifiedModel: a robot with its parameters, how they were found, and how its logs are treated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.consistency import consistency
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.model import TorqueModel
from dynid.recording.log_settings import LogSettings
from dynid.regression.estimate import Estimate
from dynid.regression.feasible.link_ranges import LinkRange
from dynid.regression.feasible.link_spread import LinkSpreads
from dynid.regression.problem import Regression
from dynid.regression.recast import LoggedMotion
from dynid.regression.residuals import ResidualStatistics

if TYPE_CHECKING:
    from dynid.regression.friction.fit import FrictionFit
    from dynid.regression.retrieval.retrieval import RetrievalResult
    from dynid.regression.reverse import ReverseEstimate

__all__ = ["BaseLink", "Compressed", "IdentifiedModel", "Json"]

Json = Mapping[str, "object"]
"""An object of a JSON file."""


@dataclass(frozen=True, eq=False)
class Compressed:
    """The log as a triangular least-squares problem ‖Rβ − ρ‖² (weights applied), for whoever fits again."""

    R: Float[Array, "n_base n_base"]
    rho: Float[Array, " n_base"]
    rest: float
    """Weighted sum of squares that no base parameters explain."""
    n_rows: int

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class BaseLink:
    """What a wrench sensor under the base feels beside the moving links: the base link, and the sensor's offset."""

    pi: Float[Array, " 10"]
    """Ten inertial parameters about the base frame, SI."""
    covariance: Float[Array, "10 10"]
    """Of these, SI; what no measurement shows is as uncertain as before."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def stored(self) -> dict[str, object]:
        """As JSON, SI."""
        return {"pi": self.pi.tolist(), "covariance": self.covariance.tolist()}


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
    sample_noise: Float[Array, " n_dof"] | None = None
    """The same of single samples before the low-pass, N·m or N: what a filter meets that follows them."""
    noise_memory: Float[Array, " n_dof"] | None = None
    """Time in s over which each joint's residual is correlated, one exponential's time constant; None likewise."""
    spreads: LinkSpreads | None = None
    """Standard deviations of the links, and the share that the data had; None where links had no prior."""
    ranges: tuple[LinkRange, ...] | None = None
    """Between which values the links may lie without a worse fit, where that was asked for."""
    residuals: ResidualStatistics | None = None
    """What held-out residuals look like (SI): noise, its memory, standstill, drift between runs, scale of the torque;
    None where they were not measured, as in files of version 0.1."""
    motion: LoggedMotion | None = None
    """How the joints moved in the training log, and what friction and rotors took: for exports that must refit them."""
    base_link: BaseLink | None = None
    """The link under the arm, where a base wrench has shown it; None where none was measured."""
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
        sample_noise: Float[Array, " n_dof"] | None = None,
        residuals: ResidualStatistics | None = None,
    ) -> IdentifiedModel:
        """An estimate with all that later stages need of it (SI).

        Args:
            estimate: what was fitted.
            regression: the rows it was fitted to.
            settings: how these rows came from their logs.
            results: what a report says of the fit.
            provenance: inputs with hashes, versions, options.
            row_period: time in s between neighbouring rows, for the memory of the noise.
            sample_noise: standard deviation of the residual of single samples, by joint, N·m or N.
            residuals: statistics of held-out residuals (SI).
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
            sample_noise=sample_noise,
            noise_memory=memory if np.isfinite(row_period) else None,
            residuals=residuals,
            results=results,
            provenance=provenance,
        )

    @classmethod
    def of_reverse(cls, found: ReverseEstimate, *, provenance: Json) -> IdentifiedModel:
        """Base parameters (SI) of the model inside a controller; no log was fitted, so there are no log settings."""
        estimate, stacked = found.estimate, found.stacked
        return cls(
            model=estimate.model,
            base=estimate.base,
            estimator=estimate.estimator,
            status=estimate.status.value,
            beta=estimate.beta,
            covariance=estimate.uncertainty.covariance,
            problem=Compressed(stacked.R, stacked.rho, stacked.rest, stacked.n_rows),
            results={
                "condition_number": estimate.condition_number,
                "relative_error_percent": estimate.fit.relative_percent,
            },
            provenance=provenance,
        )

    def retrieved(self, found: RetrievalResult, *, engine: str, provenance: Json) -> IdentifiedModel:
        """The same measurements with the full parameters (SI) that a search by `engine` found for them."""
        return replace(
            self,
            estimator="retrieval",
            status=found.status.value,
            beta=found.beta,
            theta=found.theta,
            labels=found.labels,
            spreads=None,
            ranges=None,
            rule=f"best of {len(found.runs)} searches ({engine}, {found.objective_kind})",
            results={
                **self.results,
                "objective": found.objective,
                "optimum": found.optimum,
                "gap": found.gap,
                "open": list(found.spread.open),
            },
            provenance={**provenance, "of": dict(self.provenance)},
        )

    def with_friction(
        self, found: FrictionFit, *, settings: LogSettings, results: Json, provenance: Json
    ) -> IdentifiedModel:
        """The same links and rotors with another friction (SI).

        Args:
            found: the friction, fitted to what the links of this model do not explain.
            settings: how the logs of that fit were read and conditioned.
            results: what a report says of it.
            provenance: inputs with hashes, versions, options.
        """
        base = base_parameters(found.model)
        labels = dict(zip(self.model.symbols, self.labels, strict=False))
        return replace(
            self,
            model=found.model,
            base=base,
            estimator=f"{self.estimator}, friction refitted",
            beta=base.project(found.theta),
            covariance=_with_friction_covariance(self, found, base),
            theta=None if self.theta is None else found.theta,
            labels=()
            if self.theta is None
            else tuple(labels.get(symbol, "identified") for symbol in found.model.symbols),
            # The triangular factor is that of other columns.
            problem=None,
            settings=settings,
            noise=found.fit.rmse,
            # Those of another friction.
            residuals=None,
            results=results,
            provenance={**provenance, "of": dict(self.provenance)},
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


def _with_friction_covariance(
    known: IdentifiedModel, found: FrictionFit, base: BaseParameters
) -> Float[Array, "n_base n_base"]:
    """Of the base parameters: those of the links as they were, friction from its own fit."""
    covariance = np.zeros((base.n_base, base.n_base))
    shared = [(k, known.base.leading.index(s)) for k, s in enumerate(base.leading) if s in known.base.leading]
    new, old = [k for k, _ in shared], [k for _, k in shared]
    covariance[np.ix_(new, new)] = known.covariance[np.ix_(old, old)]
    std = {
        f"{joint.joint} {name}": value
        for joint in found.joints
        for name, value in zip(joint.names, joint.std, strict=True)
    }
    for k, column in enumerate(base.leading_columns):
        if str(column) in std:
            covariance[k], covariance[:, k] = 0.0, 0.0
            covariance[k, k] = std[str(column)] ** 2
    return covariance
