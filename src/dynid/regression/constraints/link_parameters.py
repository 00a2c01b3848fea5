"""Masses, centres of mass and inertias about them, p: their names, their map to θ with its derivative, and links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, Matrix3, Vector3, freeze_arrays
from dynid.chain.inertia import INERTIAL_NAMES
from dynid.dynamics.model import TorqueModel

__all__ = [
    "Links",
    "RetrievedLink",
    "names_of_p",
    "six",
    "tensors",
    "theta_from_p",
    "theta_of",
    "times_blocks",
]

_ROWS = np.array(["xyz".index(name[1]) for name in INERTIAL_NAMES[4:]])
_COLUMNS = np.array(["xyz".index(name[2]) for name in INERTIAL_NAMES[4:]])
_DIAGONAL = _ROWS == _COLUMNS
_MOMENTS = 4 + np.flatnonzero(_DIAGONAL)


def names_of_p(model: TorqueModel) -> tuple[str, ...]:
    """Names of the entries of p (SI), as bounds files write them: m1, c1x, …, I1xx, I1xy, …, then joint terms."""
    names: list[str] = []
    for i in range(1, model.n_dof + 1):
        names += [f"m{i}", f"c{i}x", f"c{i}y", f"c{i}z", *(f"I{i}{name[1:]}" for name in INERTIAL_NAMES[4:])]
    return (*names, *model.symbols[model.n_inertial :])


def theta_from_p(
    p: Float[Array, " n_params"], n_links: int
) -> tuple[Float[Array, " n_params"], Float[Array, "n_links 10 10"]]:
    r"""θ (SI) and the blocks of ∂θ/∂p, by the parallel-axis theorem; joint terms are the same in both.

    .. math::

        \theta_k = \bigl(m,\; m c,\; I + m\,(c^T c\,1 - c\,c^T)\bigr)
    """
    link = p[: 10 * n_links].reshape(n_links, 10)
    m, c = link[:, 0], link[:, 1:4]
    square = np.where(_DIAGONAL, np.sum(c**2, axis=1)[:, None], 0.0) - c[:, _ROWS] * c[:, _COLUMNS]
    D = np.zeros((n_links, 10, 10))
    D[:, range(10), range(10)] = 1.0
    D[:, 1:4, 0] = c
    D[:, range(1, 4), range(1, 4)] = m[:, None]
    D[:, 4:, 0] = square
    unit = np.eye(3)
    for axis in range(3):
        change = np.where(_DIAGONAL, 2.0 * c[:, axis][:, None], 0.0)
        change = change - unit[axis, _ROWS] * c[:, _COLUMNS] - unit[axis, _COLUMNS] * c[:, _ROWS]
        D[:, 4:, 1 + axis] = m[:, None] * change
    return theta_of(p, n_links), D


def theta_of(p: Float[Array, " n_params"], n_links: int) -> Float[Array, " n_params"]:
    """θ (SI) alone, for searches that evaluate it a million times."""
    theta = p.copy()
    own = theta[: 10 * n_links].reshape(n_links, 10)
    c = p[: 10 * n_links].reshape(n_links, 10)[:, 1:4]
    moment = own[:, :1] * c
    products = moment[:, _ROWS] * c[:, _COLUMNS]
    own[:, 1:4] = moment
    own[:, 4:] -= products
    own[:, _MOMENTS] += np.sum(moment * c, axis=1)[:, None]
    return theta


def times_blocks(
    A: Float[Array, "n_rows n_params"], blocks: Float[Array, "n_links n n"]
) -> Float[Array, "n_rows n_params"]:
    """A times the block-diagonal matrix of 10×10 `blocks`, identity for joint terms (units of both)."""
    n_links = len(blocks)
    product = A.copy()
    parts = A[:, : 10 * n_links].reshape(len(A), n_links, 10)
    product[:, : 10 * n_links] = np.einsum("rlk,lkj->rlj", parts, blocks).reshape(len(A), -1)
    return product


def tensors(p: Float[Array, " n_params"], n_links: int) -> Float[Array, "n_links 3 3"]:
    """Inertia tensors about the centres of mass, kg·m²."""
    own = p[: 10 * n_links].reshape(n_links, 10)[:, 4:]
    tensor = np.zeros((n_links, 3, 3))
    tensor[:, _ROWS, _COLUMNS] = tensor[:, _COLUMNS, _ROWS] = own
    return tensor


def six(tensor: Float[Array, "n_links 3 3"]) -> Float[Array, "n_links 6"]:
    """The six numbers of symmetric tensors (kg·m²), in the order of `INERTIAL_NAMES`."""
    return tensor[:, _ROWS, _COLUMNS]


@dataclass(frozen=True, eq=False)
class RetrievedLink:
    """One link as a constraint written in Python sees it."""

    name: str
    mass: float
    """kg."""
    com: Vector3
    """Centre of mass in the link frame, m."""
    inertia_com: Matrix3
    """Inertia about the centre of mass, link axes, kg·m²."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class Links:
    """The links that a constraint written in Python gets: by number from 0, by name, or one after the other."""

    links: tuple[RetrievedLink, ...]

    @classmethod
    def of(cls, p: Float[Array, " n_params"], names: tuple[str, ...]) -> Links:
        """The links of p (SI)."""
        tensor = tensors(p, len(names))
        rows = p[: 10 * len(names)].reshape(-1, 10)
        return cls(
            tuple(
                RetrievedLink(name, float(row[0]), row[1:4], inertia)
                for name, row, inertia in zip(names, rows, tensor, strict=True)
            )
        )

    @property
    def total_mass(self) -> float:
        """Mass of all links, kg."""
        return sum(link.mass for link in self.links)

    def __getitem__(self, key: int | str) -> RetrievedLink:
        if isinstance(key, int):
            return self.links[key]
        for link in self.links:
            if link.name == key:
                return link
        raise KeyError(f"no link {key!r}; known: {', '.join(link.name for link in self.links)}")

    def __len__(self) -> int:
        return len(self.links)

    def __str__(self) -> str:
        return "; ".join(
            f"{link.name}: m = {link.mass:.6g} kg, c = ({', '.join(f'{v:.4g}' for v in link.com)}) m, "
            f"I = ({', '.join(f'{v:.4g}' for v in six(link.inertia_com[None])[0])}) kg·m²"
            for link in self.links
        )
