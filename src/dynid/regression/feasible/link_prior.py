"""What is known of the links before a log is seen: a body for each, and how far it may be off."""

from __future__ import annotations

from collections.abc import Sequence
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
_FREEDOM = 3.0
"""Degrees of freedom of the deviation of a link from its nominal one: one link of a file may be far off."""
_WIDEST = 10.0
"""Largest spread of bodies guessed from geometry: beyond it they hardly say anything (dimensionless)."""
_ROUNDS = 60
"""Times that the spread common to all nominal links is found anew from the spread of each."""
_SAME_TOLD = 0.25
"""Relative: spreads that differ by less are told as one."""
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
    open: Bool[Array, " n_links"]
    """Whose spread the data choose; the others' was given."""
    least: float
    """Least relative spread of nominal links."""
    joint_std: Float[Array, " n_joint_terms"]
    """Spread of every joint term about zero, SI; infinite where nothing is known."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def pull(self) -> Float[Array, " n_params"]:
        """One over the spread of every coordinate (dimensionless); 0 for joint terms of which nothing is known."""
        scales = np.diag(self.reference.S)[10 * len(self.std) :]
        return np.concatenate([np.repeat(1.0 / self.std, 10), scales / self.joint_std])

    def likeliest_std(
        self, F: Float[Array, "n_base n_params"], theta: Float[Array, " n_params"]
    ) -> Float[Array, " n_links"]:
        r"""The spread of each link that maximises the evidence of θ (SI), where it may be chosen [MacKay1992]_.

        .. math::

            s_k^2 = \frac{\nu c^2 + d_k^2}{\nu + \gamma_k}, \qquad
            \gamma_k = \sum_{i \in k} \left(1 - [(I + L^T L)^{-1}]_{ii}\right), \qquad
            \frac{1}{c^2} = \Big\langle \frac{1}{s_k^2} \Big\rangle_k

        with :math:`d_k` the distance of link k and L the rows of the data in units of the present spread, joint terms
        eliminated: of the ten coordinates of a link the data determine :math:`\gamma_k`. Deviations from nominal links
        are Student's t with ν degrees of freedom about a spread c common to all, so that one link that is far off does
        not loosen the others, and one of which the data say nothing is as far off as the file as a whole. Guessed links
        share one spread, :math:`\sum d_k^2 / \sum \gamma_k`. No spread is below that before any data, and no nominal
        link is less known than a guessed one.

        Args:
            F: rows of the data, in units of the noise per unit of θ.
            theta: the answer, with this prior.
        """
        n, own = 10 * len(self.std), self.guessed
        if not np.any(self.open):
            return self.std
        A = F @ self.reference.S
        L, J = A[:, :n] / self.pull[:n], A[:, n:]
        if J.shape[1] > 0:
            U, values, _ = np.linalg.svd(J / column_scale(J), full_matrices=False)
            Q = U[:, values > RANK_TOLERANCE * max(values[0], 1.0)]
            L = L - Q @ (Q.T @ L)
        # By singular values: torques that are all zero have rows without noise, and a normal matrix of any size.
        _, sizes, ways = np.linalg.svd(L, full_matrices=False)
        shares = 1.0 / (1.0 + np.maximum(sizes, 1e-150) ** -2.0)
        determined = np.sum((shares @ ways**2).reshape(-1, 10), axis=1)
        away = np.sum((self.reference.S_inverse @ theta - self.reference.x_target)[:n].reshape(-1, 10) ** 2, axis=1)
        asked = self.std**2
        if np.sum(determined[own]) > 0.0:
            asked[own] = np.clip(np.sum(away[own]) / np.sum(determined[own]), GEOMETRY_STD**2, _WIDEST**2)
        if np.any(self.open & ~own):
            found = _heavy_tailed(away[~own], determined[~own], self.least**2)
            asked[~own] = np.clip(found, self.least**2, max(GEOMETRY_STD, self.least) ** 2)
        return np.sqrt(asked)

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
    std: Float[Array, " n_links"] | None = None,
    joint_std: Float[Array, " n_joint_terms"] | None = None,
) -> LinkPrior:
    """Nominal links where the robot file has physically consistent ones, plain bodies of its geometry for the others.

    Args:
        model: whose robot it is.
        constraints: bounds that plain bodies keep.
        prior: with the spread of nominal links, where it is given.
        beta_size: rough θ (SI) from the data, for the mass of plain bodies.
        heavier: factor on the mass of plain bodies.
        std: relative spread of each link; that before any data when None.
        joint_std: spread of every joint term about zero (SI); nothing is known of them when None.
    """
    bodies = heavier * plain_bodies(model, constraints, beta_size, tapered=True)
    guessed = np.ones(model.n_dof, dtype=bool)
    for k, joint in enumerate(model.robot.joints):
        nominal = joint.link.nominal if joint.link.known else None
        if nominal is not None and consistency(nominal, triangle=constraints.triangle).holds:
            bodies[k], guessed[k] = nominal.pi, False
    if std is None:
        std = np.where(guessed, GEOMETRY_STD, prior.std)
    text = _told(model.robot.link_names, std, guessed)
    return LinkPrior(
        reference_of(model, bodies, bodies, "nominal", text, triangle=constraints.triangle),
        std,
        guessed,
        guessed | prior.widened,
        prior.std,
        np.full(model.n_params - model.n_inertial, np.inf) if joint_std is None else joint_std,
    )


def _told(names: Sequence[str], std: Float[Array, " n_links"], guessed: Bool[Array, " n_links"]) -> str:
    """Bodies and their spreads (%) in words; nominal links that are further off than the others by name."""
    n_guessed = int(np.count_nonzero(guessed))
    plain = f"plain links of the arm's geometry ± {100 * np.max(std[guessed], initial=0.0):.0f} %"
    if n_guessed == len(names):
        return plain
    least = np.min(std[~guessed])
    further = [k for k in range(len(names)) if not guessed[k] and std[k] >= (1.0 + _SAME_TOLD) * least]
    text = f"nominal links ± {_percent(least)}"
    text += "".join(f", {names[k]} ± {_percent(std[k])}" for k in further)
    return f"{text}; {n_guessed} of {len(names)} are {plain}" if n_guessed else text


def _percent(share: float) -> str:
    return f"{100.0 * share:.{0 if share >= 0.1 else 1}f} %"


def _heavy_tailed(
    away: Float[Array, " n_links"], determined: Float[Array, " n_links"], least: float
) -> Float[Array, " n_links"]:
    """Squared spread of each nominal link from its squared distance and the coordinates that the data determine."""
    common = least
    for _ in range(_ROUNDS):
        each = (_FREEDOM * common + away) / (_FREEDOM + determined)
        common = max(1.0 / float(np.mean(1.0 / each)), least)
    return (_FREEDOM * common + away) / (_FREEDOM + determined)


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
