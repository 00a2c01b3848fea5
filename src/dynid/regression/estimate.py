"""Estimate: what a fit found, how sure it is, and what the data left open; and the protocol of estimators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array, Bool, Float, freeze_arrays
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.prose import Grid, PrintsAsTable, spread_percent
from dynid.regression.problem import Regression
from dynid.regression.status import Status
from dynid.regression.uncertainty import Uncertainty, uncertainty

__all__ = [
    "UNRELIABLE",
    "BaseOrigin",
    "Estimate",
    "Estimator",
    "FitError",
    "LinkBelief",
    "Trust",
    "estimate_of",
    "full_estimate",
]

UNRELIABLE = 0.3
"""A base parameter whose standard deviation exceeds this share of its value is not reliable [Gaz2019]_."""

Trust = Literal["identified", "unreliable", "unseen"]
BaseOrigin = Literal["identified", "combination", "prior", "bound", "open", "unreliable"]


@dataclass(frozen=True, eq=False)
class FitError:
    """How far predicted and measured torques are apart, on rows conditioned alike."""

    relative_percent: float
    """100·‖τ − τ̂‖/‖τ‖ over all joints, in %."""
    rmse: Float[Array, " n_dof"]
    """N·m or N."""
    relative_percent_joint: Float[Array, " n_dof"]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(
        cls, residual: Float[Array, " n_dof"], power: Float[Array, " n_dof"], n_rows: Float[Array, " n_dof"]
    ) -> FitError:
        """From sums of squares per joint ((N·m)² or N²) and numbers of rows."""
        with np.errstate(divide="ignore", invalid="ignore"):
            joint = 100.0 * np.sqrt(residual / power)
            rmse = np.sqrt(residual / n_rows)
        total = float(power.sum())
        relative = 100.0 * float(np.sqrt(residual.sum() / total)) if total > 0.0 else np.nan
        return cls(relative, rmse, joint)

    @classmethod
    def on(cls, regression: Regression, beta: Float[Array, " n_base"]) -> FitError:
        """Of base parameters on the rows of a regression."""
        rows = regression.rows_per_joint().astype(float)
        return cls.of(regression.residual_power(beta), regression.power(), rows)


@dataclass(frozen=True, eq=False)
class LinkBelief:
    """What was known of the links before the data: a normal distribution of their numbers."""

    mean: Float[Array, " n_inertial"]
    """The ten numbers of every link one after the other, SI."""
    factor: Float[Array, "n_inertial n_inertial"]
    """Times its transpose it is the covariance (SI)."""
    weights: Float[Array, " n_dof"]
    """Row weight of each joint (1/(N·m)) with which the data counted beside it."""
    std: Float[Array, " n_links"]
    """Relative spread of each link, as `Prior.std`."""
    guessed: Bool[Array, " n_links"]
    """Which links had no body but one guessed from geometry."""
    joint_std: Float[Array, " n_joint_terms"]
    """Spread of every joint term about zero, SI; infinite where nothing was known."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class Estimate(PrintsAsTable):
    """Base parameters with their uncertainty, and the full parameters where the estimator gives them."""

    estimator: str
    """Name of the estimator, as in `ESTIMATORS`."""
    model: TorqueModel
    base: BaseParameters
    beta: Float[Array, " n_base"]
    """Base parameters, in the units of their leading parameters."""
    uncertainty: Uncertainty
    condition_number: float
    """Of the base regressor as it stands, dimensionless."""
    rank: int
    n_rows: int
    fit: FitError
    status: Status = Status.CONVERGED
    iterations: int = 1
    weights: Float[Array, " n_dof"] | None = None
    """Row weight of each joint, 1/(N·m); None for equal weights."""
    theta: Float[Array, " n_params"] | None = None
    """Full parameters (SI), when the estimator found a physically consistent set."""
    labels: tuple[str, ...] = ()
    """For every entry of θ how it came about: identified, combination, prior, bound."""
    rule: str = ""
    """How θ was chosen among those that fit equally well."""
    gives_links: bool = False
    """Whether the estimator is one that looks for full parameters; without θ it then found none."""
    belief: LinkBelief | None = None
    """What was known of the links before the data and counted beside them; None where nothing did."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def full(self) -> bool:
        """Whether there is a full parameter set, and so links."""
        return self.theta is not None

    @property
    def std(self) -> Float[Array, " n_base"]:
        """Autocorrelation-robust standard deviations, in the units of the base parameters."""
        return self.uncertainty.std

    @property
    def trust(self) -> tuple[Trust, ...]:
        """A word for every base parameter (no unit): is it identified, unreliable (σ above 30 %), or unseen?"""
        return tuple(
            "unseen" if not np.isfinite(std) else "identified" if std <= UNRELIABLE * abs(value) else "unreliable"
            for value, std in zip(self.beta, self.std, strict=True)
        )

    @property
    def origins(self) -> tuple[BaseOrigin, ...]:
        """A word for every base parameter (no unit): what its value came from.

        Identified by the data; only in combination, where the data would fix it if the others were known (its
        conditional σ is below 30 %); at a bound; not excited, and so chosen by the prior, or left open by estimators
        without one; else unreliable, mostly noise.
        """
        known = np.isfinite(self.std) & (self.std > 0.0)
        given_others = np.full(len(self.beta), np.inf)
        inner = np.linalg.pinv(self.correlation[np.ix_(known, known)], hermitian=True, rcond=1e-12)
        given_others[known] = self.std[known] / np.sqrt(np.maximum(np.diag(inner), 1.0))
        at_bound = self._at_bound
        words: list[BaseOrigin] = []
        for k, (word, value) in enumerate(zip(self.trust, self.beta, strict=True)):
            if at_bound[k]:
                words.append("bound")
            elif word == "unseen":
                words.append("open" if self.theta is None else "prior")
            elif word == "unreliable" and given_others[k] <= UNRELIABLE * abs(value):
                words.append("combination")
            else:
                words.append(word)
        return tuple(words)

    @property
    def full_origins(self) -> tuple[str, ...]:
        """A word for every entry of θ (no unit): its label, and that of its base parameter where it shows by itself."""
        words = list(self.labels)
        alone = set(self.base.alone)
        for k, word in zip(self.base.independent, self.origins, strict=True):
            if words and self.base.symbols[k] in alone and words[k] == "identified":
                words[k] = word
        return tuple(words)

    @property
    def _at_bound(self) -> list[bool]:
        """Which base parameters consist of nothing but parameters that ended at a bound."""
        if not self.labels:
            return [False] * len(self.beta)
        bound = np.array([label == "bound" for label in self.labels])
        return [bool(np.all(bound[row != 0.0])) for row in self.base.K]

    @property
    def full_std(self) -> Float[Array, " n_params"]:
        """Standard deviation (SI) of every parameter that shows by itself, nan for the others."""
        std = np.full(len(self.base.columns), np.nan)
        alone = set(self.base.alone)
        for k, value in zip(self.base.independent, self.std, strict=True):
            if self.base.symbols[k] in alone and np.isfinite(value):
                std[k] = value
        return std

    @property
    def correlation(self) -> Float[Array, "n_base n_base"]:
        """Correlation matrix of the base parameters, dimensionless; zero where one was not excited."""
        known = np.isfinite(self.std) & (self.std > 0.0)
        scale = np.where(known, self.std, 1.0)
        covariance = np.where(np.outer(known, known), self.uncertainty.covariance, 0.0)
        return covariance / np.outer(scale, scale)

    def base_table(self) -> Grid:
        """The base parameters with σ, in the units of their leading parameters."""
        columns = zip(self.base.labels(), self.beta, self.std, self.base.leading_columns, self.trust, strict=True)
        rows = [
            (label, f"{value:.4e}", f"{std:.1e}", spread_percent(std, value), column.unit, trust)
            for label, value, std, column, trust in columns
        ]
        return Grid(("base parameter", "value", "± 1σ", "σ / %", "unit", "trust"), rows, (1, 2, 3))

    def _table(self) -> Grid:
        return self.base_table()

    def __repr__(self) -> str:
        return (
            f"Estimate({self.estimator} estimate of {self.model.robot.name}: {self.base.n_base} base parameters from "
            f"{self.n_rows} rows, rank {self.rank}, condition number {self.condition_number:.4g}, "
            f"{self.fit.relative_percent:.3g} % of the torque left unexplained"
            + (f"; {self.status.value})" if self.status.value else ")")
        )


@runtime_checkable
class Estimator(Protocol):
    """A frozen value whose fields are its options; see the recipe in the documentation."""

    @property
    def name(self) -> str:
        """What files, commands and `ESTIMATORS` call it."""
        ...

    @property
    def label(self) -> str:
        """What reports call it."""
        ...

    @property
    def gives_links(self) -> bool:
        """Whether it looks for physically consistent full parameters, and not for base parameters alone."""
        ...

    @property
    def needs_rows(self) -> bool:
        """Whether it weighs single rows, so that triangular factors are not enough and it cannot be resampled."""
        ...

    def fit(self, regression: Regression) -> Estimate:
        """The estimate (SI); a fit that ends badly has a `Status`, and raises nothing."""
        ...


def estimate_of(
    estimator: Estimator,
    regression: Regression,
    beta: Float[Array, " n_base"],
    *,
    weights: Float[Array, " n_dof"] | None = None,
    sure: Uncertainty | None = None,
    status: Status = Status.CONVERGED,
    iterations: int = 1,
) -> Estimate:
    """The estimate of base parameters β that an estimator found; what every estimator ends with.

    Args:
        estimator: who found them.
        regression: the rows they were fitted to.
        beta: in the units of their leading parameters.
        weights: of the rows of each joint, 1/(N·m); None for equal weights.
        sure: their uncertainty; that of least squares with these weights when None.
        status: how the fit ended; rank deficiency explains a fit that did not converge.
        iterations: of the fit.
    """
    condition, rank = regression.stacked().condition()
    if status in (Status.CONVERGED, Status.NOT_CONVERGED) and rank < regression.base.n_base:
        status = Status.RANK_DEFICIENT
    return Estimate(
        estimator=estimator.name,
        model=regression.model,
        base=regression.base,
        beta=beta,
        uncertainty=uncertainty(regression, beta, weights) if sure is None else sure,
        condition_number=condition,
        rank=rank,
        n_rows=regression.n_rows,
        fit=FitError.on(regression, beta),
        status=status,
        iterations=iterations,
        weights=weights,
        gives_links=estimator.gives_links,
    )


def full_estimate(
    estimator: Estimator,
    regression: Regression,
    theta: Float[Array, " n_params"],
    *,
    weights: Float[Array, " n_dof"],
    status: Status,
    labels: tuple[str, ...],
    rule: str,
    iterations: int = 1,
    belief: LinkBelief | None = None,
) -> Estimate:
    """The estimate of full parameters θ (SI) that were fitted to rows weighted by joint (1/(N·m)).

    Where the solver failed and θ is nan, the base parameters are those of least squares and there is no full set.
    """
    known = bool(np.all(np.isfinite(theta)))
    beta = regression.base.project(theta) if known else regression.stacked(weights).solution()
    found = estimate_of(estimator, regression, beta, weights=weights, status=status, iterations=iterations)
    return replace(found, theta=theta, labels=labels, rule=rule, belief=belief) if known else found
