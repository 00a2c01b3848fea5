"""How sure the numbers of a link are: posterior σ aware of active constraints, and the share of the data in it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.inertia import InertialParameters
from dynid.regression.constraints.compiled import CompiledConstraints
from dynid.regression.constraints.cones import PSEUDO_INERTIA, ConeBlock, smat, svec
from dynid.regression.estimate import Estimate, LinkBelief
from dynid.regression.problem import Regression

__all__ = ["PRIOR_ONLY", "LinkSpread", "LinkSpreads", "link_spreads"]

PRIOR_ONLY = 0.05
"""Share of the data below which a number is nothing but prior: they took less than 2.5 % off its prior σ."""
_JOINT_LEASH = 1e-6
"""Information that joint terms have beside the data, relative to that of the data on each alone: none to speak of."""
_PUSHED = 0.1
"""In units of σ: a condition whose multiplier pushes the answer by less does not hold it."""
_TAIL = 6.0
"""In units of σ: a normal cut off further out than this is an exponential."""
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
    belief, theta = estimate.belief, estimate.theta
    if belief is None or theta is None:
        return None
    stacked = regression.stacked(belief.weights)
    n = estimate.model.n_inertial
    RK = stacked.R @ estimate.base.K
    effect = np.linalg.norm(RK[:, n:], axis=0)
    T = np.zeros((len(theta), len(theta)))
    T[:n, :n] = belief.factor
    T[n:, n:] = np.diag(np.where(effect > 0.0, 1.0 / np.where(effect > 0.0, effect, 1.0), 1.0))
    F = RK @ T
    own = np.concatenate([np.ones(n), np.where(effect > 0.0, _JOINT_LEASH, 1.0)])
    offset = theta - np.concatenate([belief.mean, np.zeros(len(theta) - n)])
    gradient = RK.T @ (RK @ theta - stacked.rho)
    gradient[:n] += np.linalg.solve(belief.factor.T, np.linalg.solve(belief.factor, offset[:n]))
    Q = _in_noise_units(stacked.R, estimate.uncertainty.covariance if covariance is None else covariance)
    free = _covariance(F, own, [], Q)
    faces = _faces(compiled, theta, gradient, T @ free @ T.T, belief)
    held = _covariance(F, own, [T.T @ bend for face in faces for bend in face.bends], Q)
    cov = T @ held @ T.T
    for face in faces:
        cov = _cut(cov, face)
    cov = _pinned(cov, compiled.pins)
    before = belief.factor @ belief.factor.T
    shares = 1.0 - np.diag(free)[:n].reshape(-1, 10).mean(axis=1)
    now, unheld = cov[:n, :n], (T @ free @ T.T)[:n, :n]
    parts = [slice(i, i + 10) for i in range(0, n, 10)]
    links = tuple(
        _of_link(theta[p], now[p, p], unheld[p, p], before[p, p], float(share))
        for p, share in zip(parts, shares, strict=True)
    )
    return LinkSpreads(links, float(np.sqrt(max(np.sum(now[:n:10, :n:10]), 0.0))))


def _in_noise_units(
    R: Float[Array, "n_base n_base"], covariance: Float[Array, "n_base n_base"]
) -> Float[Array, "n_base n_base"]:
    """R Σ Rᵀ: the identity where Σ is what R says; so it is taken where some base parameter was never seen."""
    if not np.all(np.isfinite(covariance)):
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


@dataclass(frozen=True, eq=False)
class _Face:
    """A condition a·θ + b ≥ 0 that holds, or may hold, the answer."""

    normal: Float[Array, " n_params"]
    """a, over θ."""
    room: float
    """a·θ + b at the answer, ≥ 0."""
    push: float
    """Its multiplier, ≥ 0: how fast log density falls away from it."""
    bends: tuple[Float[Array, " n_params"], ...] = ()
    """Rows over θ whose squares the curvature of the cone adds to the information."""


def _faces(
    compiled: CompiledConstraints,
    theta: Float[Array, " n_params"],
    gradient: Float[Array, " n_params"],
    cov: Float[Array, "n_params n_params"],
    belief: LinkBelief,
) -> list[_Face]:
    """The conditions near the answer with their multipliers; matrices as one face an eigenvector."""
    flat = [(a, max(room, 0.0)) for block in compiled.blocks for a, room in _flat(block, theta)]
    near = [(a, room) for a, room in flat if room < np.sqrt(max(float(a @ cov @ a), 0.0))]
    faces: list[_Face] = []
    left = gradient
    matrices = [block for block in compiled.blocks if block.kind == "psd" and block.link >= 0 and len(block.b) == 10]
    if near:
        from scipy.optimize import nnls

        # Each condition is scaled by its own σ, so that kilograms and metres weigh alike.
        rough = [a for block in matrices for a in _rank_ones(block.link, theta, None, belief)[0]]
        normals = np.array([*(a for a, _ in near), *rough]).T
        sizes = np.sqrt(np.maximum(np.einsum("ik,ij,jk->k", normals, cov, normals), np.finfo(float).tiny))
        scale = np.sqrt(np.maximum(np.diag(cov), np.finfo(float).tiny))
        pushes = nnls(normals / sizes * scale[:, None], gradient * scale, maxiter=50 * normals.shape[1])[0] / sizes
        faces += [_Face(a, room, float(push)) for (a, room), push in zip(near, pushes, strict=False)]
        left = gradient - normals[:, : len(near)] @ pushes[: len(near)]
    for block in matrices:
        faces += _matrix_faces(block.link, theta, left, cov, belief)
    return faces


def _flat(block: ConeBlock, theta: Float[Array, " n_params"]) -> list[tuple[Float[Array, " n_params"], float]]:
    """The rows of a linear block, or the tangent plane of a second-order cone: normal and room."""
    values = block.at(theta)
    if block.kind == "nonnegative":
        return [(a, float(room)) for a, room in zip(block.A, values, strict=True)]
    if block.kind == "second order":
        size = float(np.linalg.norm(values[1:])) or 1.0
        return [(block.A[0] - values[1:] @ block.A[1:] / size, float(values[0] - size))]
    return []


def _rank_ones(
    link: int, theta: Float[Array, " n_params"], gradient: Float[Array, " n_params"] | None, belief: LinkBelief
) -> tuple[list[Float[Array, " n_params"]], Float[Array, " 4"], Float[Array, " 4"], Float[Array, "4 10 10"]]:
    """Eigenvectors of the pseudo-inertia X (the prior's body is 1): normals over θ, eigenvalues, multipliers, mixed.

    At an optimum X and its multiplier commute; their difference separates directions in which X alone vanishes.
    """
    own = slice(10 * link, 10 * link + 10)
    body = InertialParameters(belief.mean[own]).pseudo_inertia
    L = np.linalg.cholesky(body + np.diag([np.trace(body[:3, :3])] * 3 + [0.0]))
    inner = np.linalg.inv(L)
    X = inner @ smat(PSEUDO_INERTIA @ theta[own]) @ inner.T
    C = np.column_stack([svec(inner @ smat(column) @ inner.T) for column in PSEUDO_INERTIA.T])
    Y = np.zeros((4, 4)) if gradient is None else smat(np.linalg.solve(C.T, gradient[own]))
    vectors = np.linalg.eigh(X / np.trace(X) - Y / max(float(np.sum(np.abs(np.linalg.eigvalsh(Y)))), 1e-300))[1]
    entries = np.zeros((4, 4, len(theta)))
    for i in range(4):
        for j in range(4):
            product = np.outer(vectors[:, i], vectors[:, j])
            entries[i, j, own] = svec(0.5 * (product + product.T)) @ C
    values = np.einsum("ki,kl,li->i", vectors, X, vectors)
    pushes = np.einsum("ki,kl,li->i", vectors, Y, vectors)
    return [entries[i, i] for i in range(4)], values, pushes, entries


def _matrix_faces(
    link: int,
    theta: Float[Array, " n_params"],
    gradient: Float[Array, " n_params"],
    cov: Float[Array, "n_params n_params"],
    belief: LinkBelief,
) -> list[_Face]:
    r"""The faces of one link's pseudo-inertia.

    Where X₀₀ = 0 holds the answer with multiplier λ, positive X asks for :math:`X_{00} \ge X_{0j}^2 / X_{jj}`:
    moving X₀ⱼ costs :math:`\lambda X_{0j}^2 / X_{jj}`.
    """
    normals, values, pushes, entries = _rank_ones(link, theta, gradient, belief)
    pushes = np.maximum(pushes, 0.0)
    stds = np.sqrt([max(float(a @ cov @ a), np.finfo(float).tiny) for a in normals])
    holds = (pushes * stds > _PUSHED) & (values < stds)
    # An eigenvalue that is itself held is about as large as its multiplier lets it be.
    sizes = np.maximum(values, 0.0) + np.where(holds, 1.0 / np.where(holds, pushes, 1.0), 0.0)
    faces = []
    for i in range(4):
        bends = tuple(
            np.sqrt(2.0 * pushes[i] / max(sizes[j], np.finfo(float).tiny)) * entries[i, j]
            for j in range(4)
            if holds[i] and j != i
        )
        faces.append(_Face(normals[i], max(float(values[i]), 0.0), float(pushes[i]), bends))
    return faces


def _cut(cov: Float[Array, "n_params n_params"], face: _Face) -> Float[Array, "n_params n_params"]:
    """The covariance (over θ, about the mode) once the far side of a face is cut off; exact for one face."""
    reach = cov @ face.normal
    variance = float(face.normal @ reach)
    if not variance > 0.0:
        return cov
    kept = _second_moment(face.room, face.push, variance) / variance
    return cov - np.outer(reach, reach) * (max(1.0 - kept, 0.0) / variance)


def _second_moment(room: float, push: float, variance: float) -> float:
    """About s = room, of the density exp(−push·s − (s − room)²/2·variance) on s ≥ 0."""
    std = np.sqrt(variance)
    mean = room - push * variance
    alpha = -mean / std
    if alpha > _TAIL:
        rate = alpha / std
        return float(2.0 / rate**2 - 2.0 * room / rate + room**2)
    hazard = math.exp(-0.5 * alpha**2) / (math.sqrt(2.0 * math.pi) * 0.5 * math.erfc(alpha / math.sqrt(2.0)))
    middle = mean + std * hazard
    return float(variance * max(1.0 + alpha * hazard - hazard**2, 0.0) + (middle - room) ** 2)


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
