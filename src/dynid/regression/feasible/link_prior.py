"""What is known of the links before a log is seen: a body for each, and how far it may be off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Bool, Float, freeze_arrays
from dynid.chain.consistency import consistency
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.regression.constraints.constraints import Constraints
from dynid.regression.estimate import LinkBelief
from dynid.regression.feasible.prior import Prior, Reference, plain_bodies, reference_of
from dynid.regression.problem import RANK_TOLERANCE, column_scale

__all__ = ["LinkPrior", "base_prior_rows", "believed_base_rows", "link_prior"]

GEOMETRY_STD = 1.0
"""Least spread of a link that is known by its geometry alone, as `Prior.std`: masses guessed so are off by a factor of
two or three (a cobot has 30 kg per cubed metre of reach, a 300 kg-payload arm 70). The data may ask for more."""
_OPEN = 1e3
"""Spread of what the prior shall say nothing about, in units of its scale (dimensionless)."""


@dataclass(frozen=True, eq=False)
class LinkPrior:
    """A body for every link, and its spread."""

    reference: Reference
    """Coordinates in which the bodies are near the identity, and where they lie."""
    std: Float[Array, " n_links"]
    """Relative spread of each link (dimensionless), as `Prior.std`."""
    guessed: Bool[Array, " n_links"]
    """Which bodies are guessed from geometry, as the robot file has none that is physically consistent."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def pull(self) -> Float[Array, " n_params"]:
        """One over the spread of every coordinate (dimensionless): 0 for joint terms, which have no prior."""
        pull = np.zeros(len(self.reference.x_target))
        pull[: 10 * len(self.std)] = np.repeat(1.0 / self.std, 10)
        return pull

    def surprise(self, F: Float[Array, "n_base n_params"], theta: Float[Array, " n_params"]) -> float:
        r"""How much further guessed links of θ (SI) lie from their guess than its spread says, squared; 1 is as said.

        .. math::

            \frac{\|x\|^2}{\gamma}, \qquad \gamma = \sum_i \left(1 - [(I + L^T L)^{-1}]_{ii}\right)

        with x the distance in units of the spread and L the rows of the data in the same units, joint terms eliminated:
        of all coordinates, the data determine γ, and each of those is 1 in the mean. A spread for which this is 1
        maximises the evidence [MacKay1992]_.

        Args:
            F: rows of the data, in units of the noise per unit of θ.
            theta: the answer, with this prior.
        """
        n = 10 * len(self.std)
        own = np.repeat(self.guessed, 10)
        if not np.any(own):
            return 1.0
        A = F @ self.reference.S
        L, J = A[:, :n] / self.pull[:n], A[:, n:]
        if J.shape[1] > 0:
            U, values, _ = np.linalg.svd(J / column_scale(J), full_matrices=False)
            Q = U[:, values > RANK_TOLERANCE * max(values[0], 1.0)]
            L = L - Q @ (Q.T @ L)
        determined = float(np.sum(1.0 - np.diag(np.linalg.inv(np.eye(n) + L.T @ L))[own]))
        x = (self.pull * (self.reference.S_inverse @ theta - self.reference.x_target))[:n][own]
        return float(x @ x) / determined if determined > 0.0 else 1.0

    def found_over_guessed(self, theta: Float[Array, " n_params"]) -> float:
        """Mass in θ (SI) over the mass that was guessed, of the guessed links; 1 where there are none."""
        own = slice(0, 10 * len(self.std), 10)
        before = (self.reference.S @ self.reference.x_target)[own][self.guessed]
        return float(np.sum(theta[own][self.guessed]) / np.sum(before)) if np.any(self.guessed) else 1.0


def link_prior(
    model: TorqueModel,
    constraints: Constraints,
    prior: Prior,
    beta_size: Float[Array, " n_params"],
    heavier: float = 1.0,
    wider: float = 1.0,
) -> LinkPrior:
    """Nominal links where the robot file has physically consistent ones, plain bodies of its geometry for the others.

    Args:
        model: whose robot it is.
        constraints: bounds that plain bodies keep.
        prior: with the spread of nominal links.
        beta_size: rough θ (SI) from the data, for the mass of plain bodies.
        heavier: factor on the mass of plain bodies.
        wider: factor on their spread.
    """
    bodies = heavier * plain_bodies(model, constraints, beta_size, tapered=True)
    guessed = np.ones(model.n_dof, dtype=bool)
    for k, joint in enumerate(model.robot.joints):
        nominal = joint.link.nominal if joint.link.known else None
        if nominal is not None and consistency(nominal, triangle=constraints.triangle).holds:
            bodies[k], guessed[k] = nominal.pi, False
    n_guessed = int(np.count_nonzero(guessed))
    text = f"nominal links ± {100 * prior.std:g} %"
    plain = f"plain links of the arm's geometry ± {100 * GEOMETRY_STD * wider:.0f} %"
    if n_guessed:
        text = plain if n_guessed == model.n_dof else f"{text}; {n_guessed} of {model.n_dof} are {plain}"
    return LinkPrior(
        reference_of(model, bodies, bodies, "nominal", text, triangle=constraints.triangle),
        np.where(guessed, GEOMETRY_STD * wider, prior.std),
        guessed,
    )


def base_prior_rows(
    model: TorqueModel, base: BaseParameters, prior: Prior, independent: float = 1.0
) -> Float[Array, "n_base n_base_and_one"] | None:
    """The prior of nominal links as rows of a least-squares problem on β, torque last, in units of noise.

    None where every link is a guess: what a guess weighs depends on the fit itself.

    Args:
        model: whose columns β regroups.
        base: the regrouping.
        prior: with the spread of nominal links.
        independent: rows of the data that count as one independent row; the prior is weighed up accordingly.
    """
    known = link_prior(model, Constraints(), prior, np.zeros(model.n_params))
    if np.all(known.guessed):
        return None
    spread = np.full(len(known.reference.x_target), _OPEN)
    spread[: model.n_inertial] = np.repeat(np.where(known.guessed, _OPEN, known.std), 10)
    half = base.K @ (known.reference.S * spread)
    return np.sqrt(independent) * _rows(half, base.K @ (known.reference.S @ known.reference.x_target))


def believed_base_rows(
    model: TorqueModel, base: BaseParameters, belief: LinkBelief
) -> Float[Array, "n_base n_base_and_one"]:
    """What a fit believed of the links (SI), guesses included, as rows of a least-squares problem on β, torque last.

    Guesses have the mass and the spread that the fit gave them; of joint terms nothing is known.
    """
    n, bodies = model.n_inertial, belief.mean.reshape(-1, 10)
    joint = _OPEN * reference_of(model, bodies, bodies, "nominal", "", triangle=True).S[n:, n:]
    half = np.hstack([base.K[:, :n] @ belief.factor, base.K[:, n:] @ joint])
    return _rows(half, base.K[:, :n] @ belief.mean)


def _rows(
    half: Float[Array, "n_base n_params"], mean: Float[Array, " n_base"]
) -> Float[Array, "n_base n_base_and_one"]:
    """Rows L⁻¹(β − mean) of β ~ N(mean, half·halfᵀ), L being a triangular factor of half."""
    scale = np.linalg.norm(half, axis=1)
    scale = np.where(scale > 0.0, scale, 1.0)
    L = np.linalg.qr((half / scale[:, None]).T)[1].T
    return np.linalg.solve(L, np.column_stack([np.diag(1.0 / scale), mean / scale]))
