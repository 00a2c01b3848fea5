"""Faces of constraints near an answer: what holds it, how hard, and what is left of a normal that they cut off."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.inertia import InertialParameters
from dynid.regression.constraints.compiled import CompiledConstraints
from dynid.regression.constraints.cones import PSEUDO_INERTIA, ConeBlock, smat, svec
from dynid.regression.estimate import LinkBelief
from dynid.regression.feasible.solver import nonnegative_least_squares

__all__ = ["Face", "mean_from_face", "near_faces", "second_moment_from_face"]

_PUSHED = 0.1
"""In units of σ: a condition whose multiplier pushes the answer by less does not hold it."""
_TAIL = 6.0
"""In units of σ: a normal cut off further out than this is an exponential."""


@dataclass(frozen=True, eq=False)
class Face:
    """A condition a·θ + b ≥ 0 that holds, or may hold, the answer."""

    normal: Float[Array, " n_params"]
    """a, over θ."""
    room: float
    """a·θ + b at the answer, ≥ 0."""
    push: float
    """Its multiplier, ≥ 0: how fast log density falls away from it."""
    bends: tuple[Float[Array, " n_params"], ...] = ()
    """Rows over θ whose squares the curvature of the cone adds to the information; none where it holds nothing."""
    link: int = -1
    """Index of the link whose matrix it belongs to; −1 for other conditions."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


def near_faces(
    compiled: CompiledConstraints,
    theta: Float[Array, " n_params"],
    gradient: Float[Array, " n_params"],
    cov: Float[Array, "n_params n_params"],
    belief: LinkBelief,
) -> list[Face]:
    """The conditions near the answer with their multipliers; matrices as one face an eigenvector."""
    flat = [(a, max(room, 0.0)) for block in compiled.blocks for a, room in _flat(block, theta)]
    near = [(a, room) for a, room in flat if room < np.sqrt(max(float(a @ cov @ a), 0.0))]
    faces: list[Face] = []
    left = gradient
    matrices = [block for block in compiled.blocks if block.kind == "psd" and block.link >= 0 and len(block.b) == 10]
    if near:
        # Each condition is scaled by its own σ, so that kilograms and metres weigh alike.
        rough = [a for block in matrices for a in _rank_ones(block.link, theta, None, belief)[0]]
        normals = np.array([*(a for a, _ in near), *rough]).T
        sizes = np.sqrt(np.maximum(np.einsum("ik,ij,jk->k", normals, cov, normals), np.finfo(float).tiny))
        scale = np.sqrt(np.maximum(np.diag(cov), np.finfo(float).tiny))
        pushes = nonnegative_least_squares(normals / sizes * scale[:, None], gradient * scale) / sizes
        faces += [Face(a, room, float(push)) for (a, room), push in zip(near, pushes, strict=False)]
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
) -> tuple[list[Float[Array, " n_params"]], Float[Array, " 4"], Float[Array, " 4"], Float[Array, "4 4 n_params"]]:
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
) -> list[Face]:
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
        faces.append(Face(normals[i], max(float(values[i]), 0.0), float(pushes[i]), bends, link))
    return faces


def mean_from_face(room: float, push: float, variance: float) -> float:
    """Of the density exp(−push·s − (s − room)²/2·variance) on s ≥ 0."""
    std = math.sqrt(variance)
    alpha = push * std - room / std
    if alpha > _TAIL:
        return std / alpha
    return room - push * variance + std * _hazard(alpha)


def _hazard(alpha: float) -> float:
    """Density over upper tail of the standard normal."""
    return math.exp(-0.5 * alpha**2) / (math.sqrt(2.0 * math.pi) * 0.5 * math.erfc(alpha / math.sqrt(2.0)))


def second_moment_from_face(room: float, push: float, variance: float) -> float:
    """About s = room, of the density exp(−push·s − (s − room)²/2·variance) on s ≥ 0."""
    std = np.sqrt(variance)
    mean = room - push * variance
    alpha = -mean / std
    if alpha > _TAIL:
        rate = alpha / std
        return float(2.0 / rate**2 - 2.0 * room / rate + room**2)
    hazard = _hazard(alpha)
    middle = mean + std * hazard
    return float(variance * max(1.0 + alpha * hazard - hazard**2, 0.0) + (middle - room) ** 2)
