"""Estimate: what a fit found, how sure it is, and what the data left open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import solve_triangular

from dynid.arrays import Array, Bool, Float, freeze_arrays
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.regression.problem import RANK_TOLERANCE, Regression, column_scale
from dynid.regression.status import Status

__all__ = [
    "UNRELIABLE",
    "Estimate",
    "FitError",
    "Origin",
    "Trust",
    "Uncertainty",
    "full_estimate",
    "uncertainty",
    "unseen_columns",
]

UNRELIABLE = 0.3
"""A coefficient whose standard deviation exceeds this share of its value is not reliable [Gaz2019]_."""
INFLATION_FLOOR = 0.5
_SHARE = 1e-3
"""Part of a coefficient in a direction that was not excited, relative, above which it counts as not seen."""

Trust = Literal["identified", "unreliable", "unseen"]
Origin = Literal["identified", "combination", "prior", "bound", "open", "unreliable"]


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
        """Of coefficients on the rows of a regression."""
        rows = regression.rows_per_joint().astype(float)
        return cls.of(regression.residual_power(beta), regression.power(), rows)


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Covariance of the coefficients, as papers compute it and as correlated residuals demand."""

    covariance: Float[Array, "n_base n_base"]
    """Honest: residuals may be correlated in time (filtering, what the model misses)."""
    white_std: Float[Array, " n_base"]
    """As in the papers: every row counted as independent."""
    noise: Float[Array, " n_dof"]
    """Standard deviation of the residual of each joint, N·m or N."""
    inflation: Float[Array, " n_dof"]
    """Variance of the coefficients over what independent rows would give, from each joint's residuals."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def std(self) -> Float[Array, " n_base"]:
        """Honest standard deviations, in the units of the coefficients."""
        return np.sqrt(np.diag(self.covariance))


def uncertainty(
    regression: Regression, beta: Float[Array, " n_base"], weights: Float[Array, " n_dof"] | None = None
) -> Uncertainty:
    r"""How sure coefficients are that were fitted with rows weighted by joint (1/(N·m), one when None).

    With :math:`H_j = Y_j^T Y_j`, noise :math:`\sigma_j` and :math:`H = \sum_j w_j^2 H_j`, independent rows would give
    :math:`H^{-1} (\sum_j w_j^4 \sigma_j^2 H_j) H^{-1}`. Correlated residuals inflate the middle term by

    .. math::

        f_j = \frac{\sum_b g_{bj}^T G g_{bj}}{\sum_b \mathrm{tr}\, G(\sigma_j^2 H_{bj} - H_{bj} G H_{bj})}, \qquad
        g_{bj} = Y_{bj}^T (\tau_{bj} - Y_{bj}\beta)

    over blocks b of time that are long against the memory of the noise; the denominator is what independent rows of
    the same blocks would give on average, parameters fitted.
    """
    stacked = regression.stacked(weights)
    n_dof, n_base = regression.model.n_dof, regression.base.n_base
    ones = np.ones(n_dof) if weights is None else weights
    scale = column_scale(stacked.R)
    inverse = _inverse(stacked.R / scale)
    residual = regression.residual_power(beta)
    rows = regression.rows_per_joint()
    noise = np.zeros(n_dof)
    grams = []
    for j, (factor, columns) in enumerate(zip(regression.joints, regression.visible, strict=True)):
        R = factor.R / scale[columns]
        grams.append(R.T @ R)
        used = ones[j] ** 2 * float(np.sum((R @ inverse[columns]) ** 2))
        noise[j] = np.sqrt(residual[j] / max(rows[j] - used, 1.0))
    G = _whitened_inverse(regression, grams, noise, n_base)
    inflation = np.array([_inflation(regression, j, beta, noise[j], G, scale) for j in range(n_dof)])
    middle, white = np.zeros((n_base, n_base)), np.zeros((n_base, n_base))
    for j, columns in enumerate(regression.visible):
        part = ones[j] ** 4 * noise[j] ** 2 * grams[j]
        white[np.ix_(columns, columns)] += part
        middle[np.ix_(columns, columns)] += inflation[j] * part
    H_inv = inverse @ inverse.T
    covariance = H_inv @ middle @ H_inv / np.outer(scale, scale)
    # A variance that rounding has made negative is one that nobody knows.
    hidden = unseen_columns(regression) | (np.diag(covariance) < 0.0)
    covariance[hidden, hidden] = np.inf
    white_std = np.sqrt(np.maximum(np.diag(H_inv @ white @ H_inv), 0.0)) / scale
    return Uncertainty(0.5 * (covariance + covariance.T), white_std, noise, inflation)


def unseen_columns(regression: Regression) -> Bool[Array, " n_base"]:
    """Which coefficients the motion of these logs does not show, alone or apart from others."""
    R = regression.stacked().R
    _, values, rows = np.linalg.svd(R / column_scale(R))
    null = rows[values <= RANK_TOLERANCE * max(values[0], 1e-300)]
    return np.linalg.norm(null, axis=0) > _SHARE if len(null) else np.zeros(R.shape[1], dtype=bool)


def _inverse(R: Float[Array, "n_base n_base"]) -> Float[Array, "n_base n_base"]:
    """R⁻¹ of a triangular factor, directions that were not excited left out."""
    diagonal = np.abs(np.diag(R))
    if np.min(diagonal) > 1e-12 * np.max(diagonal):
        return solve_triangular(R, np.eye(len(R)))
    return np.linalg.pinv(R, rcond=1e-10)


def _whitened_inverse(
    regression: Regression, grams: list[Float[Array, ...]], noise: Float[Array, " n_dof"], n_base: int
) -> Float[Array, "n_base n_base"]:
    H = np.zeros((n_base, n_base))
    least = 1e-12 * float(np.max(noise)) or 1.0  # where a joint, or every one, leaves no residual at all
    for gram, sigma, columns in zip(grams, noise, regression.visible, strict=True):
        H[np.ix_(columns, columns)] += gram / max(sigma, least) ** 2
    values, vectors = np.linalg.eigh(H)
    kept = values > 1e-12 * values[-1]
    return (vectors[:, kept] / values[kept]) @ vectors[:, kept].T


def _inflation(
    regression: Regression,
    joint: int,
    beta: Float[Array, " n_base"],
    noise: float,
    G: Float[Array, "n_base n_base"],
    scale: Float[Array, " n_base"],
) -> float:
    columns = regression.visible[joint]
    metric = G[np.ix_(columns, columns)]
    seen, expected = 0.0, 0.0
    for block in regression.blocks:
        factor = block[joint]
        g = factor.score(beta[columns]) / scale[columns] / noise**2 if noise > 0.0 else np.zeros(len(columns))
        R = factor.R / scale[columns] / noise if noise > 0.0 else np.zeros_like(factor.R)
        RG = R @ metric
        seen += float(g @ metric @ g)
        expected += float(np.sum(RG * R) - np.sum((RG @ R.T) ** 2))
    return max(seen / expected, INFLATION_FLOOR) if expected > 0.0 else 1.0


@dataclass(frozen=True, eq=False)
class Estimate:
    """Coefficients with their uncertainty, and the full parameters where the estimator gives them."""

    estimator: str
    model: TorqueModel
    base: BaseParameters
    beta: Float[Array, " n_base"]
    """Base coefficients, in the units of their leading parameters."""
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
    """Full parameters (SI), when the estimator finds a physically possible set."""
    labels: tuple[str, ...] = ()
    """For every entry of θ how it came about: identified, combination, prior, bound."""
    rule: str = ""
    """How θ was chosen among those that fit equally well."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def std(self) -> Float[Array, " n_base"]:
        """Honest standard deviations, in the units of the coefficients."""
        return self.uncertainty.std

    @property
    def trust(self) -> tuple[Trust, ...]:
        """A word for every coefficient (no unit): is it identified, unreliable (σ above 30 %), or unseen?"""
        return tuple(
            "unseen" if not np.isfinite(std) else "identified" if std <= UNRELIABLE * abs(value) else "unreliable"
            for value, std in zip(self.beta, self.std, strict=True)
        )

    @property
    def origins(self) -> tuple[Origin, ...]:
        """A word for every coefficient (no unit): what its value came from.

        Identified by the data; only in combination, where the data would fix it if the others were known (its
        conditional σ is below 30 %); at a bound; not excited, and so chosen by the prior, or left open by estimators
        without one; else unreliable, mostly noise.
        """
        known = np.isfinite(self.std) & (self.std > 0.0)
        given_others = np.full(len(self.beta), np.inf)
        inner = np.linalg.pinv(self.correlation[np.ix_(known, known)], hermitian=True, rcond=1e-12)
        given_others[known] = self.std[known] / np.sqrt(np.maximum(np.diag(inner), 1.0))
        at_bound = self._at_bound
        words: list[Origin] = []
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
        """A word for every entry of θ (no unit): its label, and that of its coefficient where it shows by itself."""
        words = list(self.labels)
        alone = set(self.base.alone)
        for k, word in zip(self.base.independent, self.origins, strict=True):
            if words and self.base.symbols[k] in alone and words[k] == "identified":
                words[k] = word
        return tuple(words)

    @property
    def _at_bound(self) -> list[bool]:
        """Which coefficients consist of nothing but parameters that ended at a bound."""
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
        """Correlation matrix of the coefficients, dimensionless; zero where one was not excited."""
        known = np.isfinite(self.std) & (self.std > 0.0)
        scale = np.where(known, self.std, 1.0)
        covariance = np.where(np.outer(known, known), self.uncertainty.covariance, 0.0)
        return covariance / np.outer(scale, scale)


def full_estimate(
    estimator: str,
    regression: Regression,
    theta: Float[Array, " n_params"],
    *,
    weights: Float[Array, " n_dof"],
    status: Status,
    labels: tuple[str, ...],
    rule: str,
    iterations: int = 1,
) -> Estimate:
    """The estimate of full parameters θ (SI) that were fitted to rows weighted by joint (1/(N·m)).

    Where the solver failed and θ is nan, the coefficients are those of least squares and there is no full set.
    """
    known = bool(np.all(np.isfinite(theta)))
    beta = regression.base.project(theta) if known else _least_squares(regression, weights)
    condition, rank = regression.stacked().condition()
    if status is Status.CONVERGED and rank < regression.base.n_base:
        status = Status.RANK_DEFICIENT
    return Estimate(
        estimator=estimator,
        model=regression.model,
        base=regression.base,
        beta=beta,
        uncertainty=uncertainty(regression, beta, weights),
        condition_number=condition,
        rank=rank,
        n_rows=regression.n_rows,
        fit=FitError.on(regression, beta),
        status=status,
        iterations=iterations,
        weights=weights,
        theta=theta if known else None,
        labels=labels if known else (),
        rule=rule if known else "",
    )


def _least_squares(regression: Regression, weights: Float[Array, " n_dof"]) -> Float[Array, " n_base"]:
    stacked = regression.stacked(weights)
    scale = column_scale(stacked.R)
    return np.linalg.lstsq(stacked.R / scale, stacked.rho, rcond=RANK_TOLERANCE)[0] / scale
