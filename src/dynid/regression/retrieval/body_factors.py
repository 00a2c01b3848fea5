"""Unknowns of the search in which every link is physically consistent by construction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, Matrix3
from dynid.regression.constraints.link_parameters import six, tensors

__all__ = ["BodyFactors"]

_LOWER = (np.array([0, 1, 1, 2, 2, 2]), np.array([0, 0, 1, 0, 1, 2]))
"""Rows and columns of a lower triangle, row by row."""


@dataclass(frozen=True, eq=False)
class BodyFactors:
    r"""Unknowns x in which every link is physically consistent by construction.

    Masses, centres of mass and joint terms are those of p. The six numbers of the inertia are a lower triangular
    factor L of the second moments about the centre of mass (m·√kg),

    .. math::

        \Sigma = L L^T + f\,1, \qquad I = \mathrm{tr}(\Sigma)\,1 - \Sigma ,

    so the triangle inequality holds with a margin of at least f, on the boundary too: a flat link has a singular L,
    where a log-Cholesky factor would run to infinity.
    """

    n_links: int
    floor: float
    """Smallest second moment f (or, without the triangle condition, moment of inertia), kg·m²."""
    triangle: bool = True
    """False asks only for positive moments of inertia, :math:`I = L L^T + f\\,1`."""

    def p(self, x: Float[Array, " n_params"]) -> Float[Array, " n_params"]:
        """p (SI) of unknowns x."""
        p = x.copy()
        L = self._factors(x)
        S = L @ np.swapaxes(L, 1, 2) + self.floor * np.eye(3)
        p[: 10 * self.n_links].reshape(-1, 10)[:, 4:] = six(self._turned(S))
        return p

    def x(self, p: Float[Array, " n_params"]) -> Float[Array, " n_params"]:
        """Unknowns of p (SI); second moments below the floor are raised to it."""
        x = p.copy()
        moments, axes = np.linalg.eigh(self._turned(tensors(p, self.n_links), back=True))
        root = axes * np.sqrt(np.maximum(moments - self.floor, 0.0))[:, None, :]
        # A factor of QR is a Cholesky factor that also exists where the matrix is singular.
        upper: list[Matrix3] = [np.asarray(np.linalg.qr(part.T, mode="r")) for part in root]
        L = np.swapaxes(np.array(upper).reshape(-1, 3, 3), 1, 2)
        x[: 10 * self.n_links].reshape(-1, 10)[:, 4:] = L[:, _LOWER[0], _LOWER[1]]
        return x

    def derivative(self, x: Float[Array, " n_params"]) -> Float[Array, "n_links 6 6"]:
        """The blocks of ∂I/∂L (m·√kg); all other entries of p and x are the same."""
        L = self._factors(x)
        rows, columns = _LOWER
        D = np.zeros((self.n_links, 6, 3, 3))
        for k, (a, b) in enumerate(zip(rows, columns, strict=True)):
            D[:, k, a, :] += L[:, :, b]
            D[:, k, :, a] += L[:, :, b]
        turned = self._turned(D.reshape(-1, 3, 3))
        return np.swapaxes(six(turned).reshape(self.n_links, 6, 6), 1, 2)

    def _factors(self, x: Float[Array, " n_params"]) -> Float[Array, "n_links 3 3"]:
        L = np.zeros((self.n_links, 3, 3))
        L[:, _LOWER[0], _LOWER[1]] = x[: 10 * self.n_links].reshape(-1, 10)[:, 4:]
        return L

    def _turned(self, S: Float[Array, "n 3 3"], *, back: bool = False) -> Float[Array, "n 3 3"]:
        """From second moments to inertia (kg·m²), or back."""
        if not self.triangle:
            return S
        trace = np.trace(S, axis1=1, axis2=2)[:, None, None]
        return (0.5 * trace if back else trace) * np.eye(3) - S
