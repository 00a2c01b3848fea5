"""How sure the numbers of a link are: posterior σ aware of active constraints, and the share of the data in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.inertia import InertialParameters
from dynid.regression.constraints.compiled import CompiledConstraints
from dynid.regression.constraints.cones import ConeBlock, slack
from dynid.regression.estimate import Estimate, LinkBelief
from dynid.regression.feasible.faces import Face, mean_from_face, near_faces, second_moment_from_face
from dynid.regression.problem import Regression

__all__ = ["PRIOR_ONLY", "LinkSpread", "LinkSpreads", "link_spreads", "off_the_boundary"]

PRIOR_ONLY = 0.05
"""Share of the data below which a number is nothing but prior: they took less than 2.5 % off its prior σ."""
_JOINT_LEASH = 1e-6
"""Information that joint terms have beside the data, relative to that of the data on each alone, at least."""
_SHARES = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)
"""Of the way from the mode to the mean of a posterior, tried in this order until every condition holds."""
_STEP = 1e-6
"""Relative step of the derivatives of a link's centre of mass and inertia."""


@dataclass(frozen=True, eq=False)
class LinkSpread:
    """Standard deviations of one link (SI), and where its numbers come from."""

    mass_std: float
    """kg."""
    com_std: Float[Array, " 3"]
    """m."""
    inertia_com_std: Float[Array, "3 3"]
    """kg·m², about the centre of mass, link axes."""
    data_share: float
    """Share of what is known of the whole link that came from the data, 0 to 1; the rest is prior."""
    mass_share: float
    """The same of its mass alone: how much of its prior variance the data took away."""
    com_share: Float[Array, " 3"]
    inertia_com_share: Float[Array, "3 3"]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def stored(self) -> dict[str, object]:
        """What a model file keeps of it (SI)."""
        return {f.name: np.asarray(getattr(self, f.name)).tolist() for f in fields(self)}

    @classmethod
    def restored(cls, content: Mapping[str, object]) -> LinkSpread:
        """From what a model file keeps (SI)."""
        parts = {f.name: np.array(content[f.name], dtype=float) for f in fields(cls)}
        for name, part in parts.items():
            shape = (3, 3) if name.startswith("inertia") else (3,) if name.startswith("com") else ()
            if part.shape != shape or not np.all(np.isfinite(part)):
                raise ValueError(f"{name} of a link is not finite, or of shape {part.shape} where {shape} belongs")
        return cls(
            mass_std=float(parts["mass_std"]),
            com_std=parts["com_std"],
            inertia_com_std=parts["inertia_com_std"],
            data_share=float(parts["data_share"]),
            mass_share=float(parts["mass_share"]),
            com_share=parts["com_share"],
            inertia_com_share=parts["inertia_com_share"],
        )


@dataclass(frozen=True, eq=False)
class LinkSpreads:
    """Standard deviations of all links of a robot, in its order."""

    links: tuple[LinkSpread, ...]
    total_mass_std: float
    """Of the mass of all links, kg."""

    def stored(self) -> dict[str, object]:
        """What a model file keeps of them (SI)."""
        return {"links": [link.stored() for link in self.links], "total_mass_std": self.total_mass_std}

    @classmethod
    def restored(cls, content: Mapping[str, object], n_links: int) -> LinkSpreads:
        """From what a model file keeps (SI) of so many links."""
        entries, total = content["links"], content["total_mass_std"]
        if not isinstance(entries, list) or len(entries) != n_links or not isinstance(total, int | float):
            raise ValueError(f"standard deviations of {n_links} links and of their mass belong here")
        return cls(tuple(LinkSpread.restored(entry) for entry in entries), float(total))

    def __repr__(self) -> str:
        shares = ", ".join(f"{100.0 * link.data_share:.0f} %" for link in self.links)
        return f"LinkSpreads({len(self.links)} links, from the data: {shares})"


def link_spreads(
    estimate: Estimate,
    regression: Regression,
    compiled: CompiledConstraints,
    covariance: Float[Array, "n_base n_base"] | None = None,
) -> LinkSpreads | None:
    r"""The spread of every link of a maximum a posteriori estimate (SI); None where links had no prior.

    With θ = θ₀ + Tz, z standard normal before the data, F = RKT and R in units of the noise, the posterior is
    about its mode

    .. math::

        M^{-1} + M^{-1} F^T (R \Sigma_\beta R^T - 1) F M^{-1}, \qquad M = F^T F + 1 + C,

    the sandwich that takes the covariance :math:`\Sigma_\beta` of base parameters as it is known. Conditions that hold
    the answer add the curvature C of the cone, and cut the normal off on their far side: what is given is the second
    moment about the mode of what is left.

    Args:
        estimate: with its belief.
        regression: the rows it was fitted to.
        compiled: the constraints of the fit.
        covariance: of the base parameters, in the units of their leading parameters; that of the estimate when None.
    """
    belief, theta, n = estimate.belief, estimate.theta, estimate.model.n_inertial
    if belief is None or theta is None:
        return None
    sigma = estimate.uncertainty.covariance if covariance is None else covariance
    _, cov, faces = _posterior(theta, regression, compiled, belief, sigma)
    # Physics holds what the data push against it, so that counts as theirs; bounds that somebody asked for do not.
    seen = cov
    for face in faces:
        cov = _cut(cov, face)
        seen = _cut(seen, face) if face.link >= 0 and face.bends else seen
    cov = _pinned(cov, compiled.pins)
    before = belief.factor @ belief.factor.T
    now, unheld = cov[:n, :n], seen[:n, :n]
    inner = np.linalg.solve(belief.factor, np.linalg.solve(belief.factor, unheld).T)
    shares = 1.0 - np.diag(inner).reshape(-1, 10).mean(axis=1)
    parts = [slice(i, i + 10) for i in range(0, n, 10)]
    links = tuple(
        _of_link(theta[p], now[p, p], unheld[p, p], before[p, p], float(share))
        for p, share in zip(parts, shares, strict=True)
    )
    return LinkSpreads(links, float(np.sqrt(max(np.sum(now[:n:10, :n:10]), 0.0))))


def off_the_boundary(
    theta: Float[Array, " n_params"], regression: Regression, compiled: CompiledConstraints, belief: LinkBelief
) -> Float[Array, " n_params"]:
    """θ (SI) moved from the mode to the mean of the posterior along the faces of links that hold it.

    On a face with multiplier λ the density falls as exp(−λs) away from it, so its mean lies inside: far where the data
    hardly push, near where they do. Where a condition would break, θ moves less.
    """
    # The covariance that goes with the weights of the fit: where to move is no matter of its own σ.
    _, cov, faces = _posterior(theta, regression, compiled, belief, None)
    for link in range(regression.model.n_dof):
        held = [face for face in faces if face.bends and face.link == link]
        if held:
            theta = _moved(theta, cov, held, compiled)
    return theta


def _moved(
    theta: Float[Array, " n_params"],
    cov: Float[Array, "n_params n_params"],
    held: Sequence[Face],
    compiled: CompiledConstraints,
) -> Float[Array, " n_params"]:
    """θ moved off the faces of one link at the least cost, as far as every condition allows."""
    normals = np.array([face.normal for face in held]).T
    variances = np.einsum("ik,ij,jk->k", normals, cov, normals)
    wanted = np.array([mean_from_face(f.room, f.push, v) - f.room for f, v in zip(held, variances, strict=True)])
    step = cov @ normals @ np.linalg.lstsq(normals.T @ cov @ normals, wanted, rcond=1e-9)[0]
    step -= _along_pins(step, compiled.pins)
    before = [slack(block, theta) for block in compiled.blocks]
    for share in _SHARES:
        moved = theta + share * step
        if all(slack(block, moved) >= min(0.0, room) for block, room in zip(compiled.blocks, before, strict=True)):
            return moved
    return theta


def _along_pins(step: Float[Array, " n_params"], pins: ConeBlock) -> Float[Array, " n_params"]:
    """The part of a step that would break the equalities."""
    return np.linalg.lstsq(pins.A, pins.A @ step, rcond=None)[0] if len(pins.b) else np.zeros_like(step)


def _posterior(
    theta: Float[Array, " n_params"],
    regression: Regression,
    compiled: CompiledConstraints,
    belief: LinkBelief,
    covariance: Float[Array, "n_base n_base"] | None,
) -> tuple[Float[Array, "n_params n_params"], Float[Array, "n_params n_params"], list[Face]]:
    """Covariance of θ without constraints, with the curvature of those that hold it, and the faces near θ (SI)."""
    stacked = regression.stacked(belief.weights)
    n = regression.model.n_inertial
    RK = stacked.R @ regression.base.K
    effect = np.linalg.norm(RK[:, n:], axis=0)
    T = np.zeros((len(theta), len(theta)))
    T[:n, :n] = belief.factor
    T[n:, n:] = np.diag(np.where(effect > 0.0, 1.0 / np.where(effect > 0.0, effect, 1.0), 1.0))
    F = RK @ T
    told = np.divide(1.0 / belief.joint_std, effect, out=np.ones(len(effect)), where=effect > 0.0) ** 2
    own = np.concatenate([np.ones(n), np.maximum(told, _JOINT_LEASH)])
    offset = theta - np.concatenate([belief.mean, np.zeros(len(theta) - n)])
    gradient = RK.T @ (RK @ theta - stacked.rho)
    gradient[:n] += np.linalg.solve(belief.factor.T, np.linalg.solve(belief.factor, offset[:n]))
    gradient[n:] += theta[n:] / belief.joint_std**2
    Q = _in_noise_units(stacked.R, covariance)
    free = T @ _covariance(F, own, [], Q) @ T.T
    faces = near_faces(compiled, theta, gradient, free, belief)
    held = _covariance(F, own, [T.T @ bend for face in faces for bend in face.bends], Q)
    return free, T @ held @ T.T, faces


def _in_noise_units(
    R: Float[Array, "n_base n_base"], covariance: Float[Array, "n_base n_base"] | None
) -> Float[Array, "n_base n_base"]:
    """R Σ Rᵀ: the identity where Σ is what R says (None); so it is taken where some base parameter was never seen."""
    if covariance is None or not np.all(np.isfinite(covariance)):
        return np.eye(len(R))
    Q = R @ covariance @ R.T
    return 0.5 * (Q + Q.T)


def _covariance(
    F: Float[Array, "n_base n_params"],
    own: Float[Array, " n_params"],
    bends: Sequence[Float[Array, " n_params"]],
    Q: Float[Array, "n_base n_base"],
) -> Float[Array, "n_params n_params"]:
    """The sandwich of `link_spreads`, over z; by a triangular factor, as the normal matrix would lose digits."""
    U = np.linalg.qr(np.vstack([F, np.diag(np.sqrt(own)), *(bend[None] for bend in bends)]), mode="r")
    inverse = np.linalg.solve(U, np.eye(len(U)))
    gain = inverse @ (inverse.T @ F.T)
    cov = inverse @ inverse.T + gain @ (Q - np.eye(len(Q))) @ gain.T
    return 0.5 * (cov + cov.T)


def _cut(cov: Float[Array, "n_params n_params"], face: Face) -> Float[Array, "n_params n_params"]:
    """The covariance (over θ, about the mode) once the far side of a face is cut off; exact for one face."""
    reach = cov @ face.normal
    variance = float(face.normal @ reach)
    if not variance > 0.0:
        return cov
    kept = second_moment_from_face(face.room, face.push, variance) / variance
    return cov - np.outer(reach, reach) * (max(1.0 - kept, 0.0) / variance)


def _pinned(cov: Float[Array, "n_params n_params"], pins: ConeBlock) -> Float[Array, "n_params n_params"]:
    """The covariance given the equalities."""
    if not len(pins.b):
        return cov
    reach = cov @ pins.A.T
    return cov - reach @ np.linalg.pinv(pins.A @ reach, hermitian=True, rcond=1e-10) @ reach.T


def _of_link(
    pi: Float[Array, " 10"],
    now: Float[Array, "10 10"],
    unheld: Float[Array, "10 10"],
    before: Float[Array, "10 10"],
    share: float,
) -> LinkSpread:
    """Spreads of mass, centre of mass and inertia about it, from those of the ten numbers (SI)."""
    D = _derivatives(pi)
    stds = np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", D, now, D), 0.0))
    seen, prior = (np.einsum("ki,ij,kj->k", D, V, D) for V in (unheld, before))
    shares = np.clip(1.0 - seen / prior, 0.0, 1.0)
    return LinkSpread(
        mass_std=float(stds[0]),
        com_std=stds[1:4],
        inertia_com_std=stds[4:].reshape(3, 3),
        data_share=float(np.clip(share, 0.0, 1.0)),
        mass_share=float(shares[0]),
        com_share=shares[1:4],
        inertia_com_share=shares[4:].reshape(3, 3),
    )


def _derivatives(pi: Float[Array, " 10"]) -> Float[Array, "13 10"]:
    """Of mass, centre of mass and inertia about it (rows) with respect to the ten numbers, by central differences."""

    def numbers(values: Float[Array, " 10"]) -> Float[Array, " 13"]:
        body = InertialParameters(values)
        return np.concatenate([[body.mass], body.com, body.inertia_com.ravel()])

    size = np.concatenate([[pi[0]], np.full(3, max(np.max(np.abs(pi[1:4])), pi[0] * 1e-3)), np.full(6, 1.0)])
    size[4:] = max(float(np.max(np.abs(pi[4:]))), 1e-9)
    steps = np.diag(_STEP * size)
    return np.array([(numbers(pi + s) - numbers(pi - s)) / (2.0 * s[k]) for k, s in enumerate(steps)]).T
