"""The ten inertial numbers of a link, and the forms in which others write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Array, ArrayLike, Float, Matrix3, Transform, Vector3, freeze_arrays, skew
from dynid.errors import ParameterError
from dynid.prose import Grid, PrintsAsTable

__all__ = ["INERTIAL_NAMES", "INERTIAL_UNITS", "InertialParameters", "ParameterOrder"]

INERTIAL_NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Names of the ten numbers in dynid's (and Pinocchio's) order, about the link frame origin."""

INERTIAL_UNITS = ("kg", *("kg·m",) * 3, *("kg·m²",) * 6)
"""Units of `INERTIAL_NAMES`."""

ParameterOrder = Literal["dynid", "urdf", "mjcf", "khalil"]
"""Whose order a plain vector of ten numbers is in; see `InertialParameters.to_order`."""

_ROWS, _COLUMNS = np.array([0, 0, 1, 0, 1, 2]), np.array([0, 1, 1, 2, 2, 2])
"""Where Ixx Ixy Iyy Ixz Iyz Izz stand in the 3×3 tensor."""
_KHALIL = np.array([4, 5, 7, 6, 8, 9, 1, 2, 3, 0])
"""Where Khalil's XX XY XZ YY YZ ZZ MX MY MZ M stand in `INERTIAL_NAMES`."""


@dataclass(frozen=True, eq=False)
class InertialParameters(PrintsAsTable):
    """Mass, first moment and inertia of one rigid link about the origin and axes of its frame.

    The torque is linear in these ten numbers, which is why they and not the centre of mass are stored.
    They need not be physically consistent: ask `dynid.chain.consistency`.
    """

    pi: Float[Array, " 10"]
    """m (kg), mx my mz (kg·m), Ixx Ixy Iyy Ixz Iyz Izz (kg·m²) about the link frame origin."""

    def __post_init__(self) -> None:
        if np.shape(self.pi) != (10,):
            raise ParameterError(f"a link has ten inertial numbers {INERTIAL_NAMES}, got shape {np.shape(self.pi)}")
        freeze_arrays(self)
        if not np.all(np.isfinite(self.pi)):
            bad = [name for name, value in zip(INERTIAL_NAMES, self.pi, strict=True) if not np.isfinite(value)]
            raise ParameterError(f"inertial parameters must be finite, but {', '.join(bad)} is not")

    def __repr__(self) -> str:
        com = ", ".join(f"{value:.4g}" for value in self.com)
        moments = ", ".join(f"{value:.4g}" for value in np.diag(self.inertia_com))
        return f"InertialParameters({self.mass:.4g} kg, com [{com}] m, Ixx Iyy Izz [{moments}] kg·m² about it)"

    def _table(self) -> Grid:
        entries = zip(INERTIAL_NAMES, self.pi, INERTIAL_UNITS, strict=True)
        rows = [(name, f"{value:.6g}", unit) for name, value, unit in entries]
        return Grid(("parameter", "value", "unit"), rows, (1,))

    @property
    def mass(self) -> float:
        """Mass in kg."""
        return float(self.pi[0])

    @property
    def first_moment(self) -> Vector3:
        """Mass times centre of mass in kg·m."""
        return self.pi[1:4]

    @property
    def com(self) -> Vector3:
        """Centre of mass in the link frame, m; the origin for a massless link without first moment, else nan."""
        if self.mass == 0.0:
            return np.zeros(3) if not self.first_moment.any() else np.full(3, np.nan)
        return self.first_moment / self.mass

    @property
    def inertia(self) -> Matrix3:
        """Inertia tensor about the link frame origin in kg·m²."""
        tensor = np.zeros((3, 3))
        tensor[_ROWS, _COLUMNS] = self.pi[4:]
        tensor[_COLUMNS, _ROWS] = self.pi[4:]
        return tensor

    @property
    def inertia_com(self) -> Matrix3:
        r"""Inertia tensor about the centre of mass, link axes, in kg·m²: :math:`I - m\,S(c)^T S(c)`."""
        S = skew(self.com)
        return self.inertia - self.mass * S.T @ S

    @property
    def pseudo_inertia(self) -> Float[Array, "4 4"]:
        r"""The 4×4 second-moment matrix of the mass distribution [Wensing2018]_.

        .. math::

            J = \begin{pmatrix} \tfrac12 \mathrm{tr}(I)\,1 - I & mc \\ (mc)^T & m \end{pmatrix}

        Positive definite exactly when some distribution of positive mass has these ten numbers.
        """
        J = np.zeros((4, 4))
        J[:3, :3] = 0.5 * np.trace(self.inertia) * np.eye(3) - self.inertia
        J[:3, 3] = J[3, :3] = self.first_moment
        J[3, 3] = self.mass
        return J

    @property
    def spatial_inertia(self) -> Float[Array, "6 6"]:
        r"""The 6×6 matrix of kinetic energy in (ω, v), the positive-definiteness condition of [Sousa2013]_.

        .. math::

            D = \begin{pmatrix} I & S(mc) \\ S(mc)^T & m\,1 \end{pmatrix}

        The paper writes the off-diagonal blocks with the other sign; the eigenvalues are the same.
        """
        S = skew(self.first_moment)
        return np.block([[self.inertia, S], [S.T, self.mass * np.eye(3)]])

    @classmethod
    def from_com(cls, mass: float, com: ArrayLike, inertia_com: ArrayLike) -> InertialParameters:
        r"""From mass (kg), centre of mass (m) and inertia about it (kg·m², 3×3) by the parallel-axis theorem."""
        c = np.asarray(com, dtype=float)
        S = skew(c)
        tensor = np.asarray(inertia_com, dtype=float) + mass * S.T @ S
        return cls(np.concatenate([[mass], mass * c, tensor[_ROWS, _COLUMNS]]))

    @classmethod
    def from_pseudo_inertia(cls, J: Float[Array, "4 4"]) -> InertialParameters:
        r"""From the 4×4 second-moment matrix: :math:`I = \mathrm{tr}(\Sigma)\,1 - \Sigma` with its upper block Σ."""
        tensor = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
        return cls(np.concatenate([[J[3, 3]], J[:3, 3], tensor[_ROWS, _COLUMNS]]))

    @classmethod
    def zero(cls) -> InertialParameters:
        """A link without mass or inertia (all ten numbers 0)."""
        return cls(np.zeros(10))

    @property
    def log_cholesky(self) -> Float[Array, " 10"]:
        r"""The ten free numbers (α, d1, d2, d3, s12, s23, s13, t1, t2, t3) of [Rucker2022]_, dimensionless or m.

        .. math::

            J = U U^T, \quad U = e^{\alpha} \begin{pmatrix}
              e^{d_1} & s_{12} & s_{13} & t_1 \\ & e^{d_2} & s_{23} & t_2 \\ & & e^{d_3} & t_3 \\ & & & 1 \end{pmatrix}

        Raises:
            ParameterError: when the link is not strictly physically consistent, so that no such numbers exist.
        """
        # An upper factor U of J = U Uᵀ is the lower factor of J with both axes reversed, reversed back.
        try:
            lower = np.linalg.cholesky(self.pseudo_inertia[::-1, ::-1])
        except np.linalg.LinAlgError as error:
            raise ParameterError(
                "log-Cholesky exists only for a physically consistent link, and this pseudo-inertia is not positive "
                "definite; see consistency() for the condition that fails"
            ) from error
        U = lower[::-1, ::-1]
        scaled = U / U[3, 3]
        return np.array(
            [
                np.log(U[3, 3]),
                *np.log(np.diag(scaled)[:3]),
                scaled[0, 1],
                scaled[1, 2],
                scaled[0, 2],
                *scaled[:3, 3],
            ]
        )

    @classmethod
    def from_log_cholesky(cls, numbers: ArrayLike) -> InertialParameters:
        """The physically consistent link of ten free numbers (dimensionless or m), the inverse of `log_cholesky`."""
        alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = np.asarray(numbers, dtype=float)
        U = np.array(
            [[np.exp(d1), s12, s13, t1], [0.0, np.exp(d2), s23, t2], [0.0, 0.0, np.exp(d3), t3], [0.0, 0.0, 0.0, 1.0]]
        ) * np.exp(alpha)
        return cls.from_pseudo_inertia(U @ U.T)

    def to_order(self, order: ParameterOrder) -> Float[Array, " 10"]:
        """The link as ten plain numbers in another tool's order.

        Args:
            order: ``dynid`` (m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the frame origin, as Pinocchio);
                ``khalil`` (XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M about the frame origin);
                ``urdf`` (mass, com x y z, ixx, ixy, ixz, iyy, iyz, izz about the centre of mass);
                ``mjcf`` (mass, com x y z, and fullinertia xx, yy, zz, xy, xz, yz about the centre of mass).
                SI units; tensor components carry the minus sign of the products of inertia.
        """
        if order == "dynid":
            return self.pi.copy()
        if order == "khalil":
            return self.pi[_KHALIL]
        rows, columns = _COM_ORDERS[order]
        return np.concatenate([[self.mass], self.com, self.inertia_com[rows, columns]])

    @classmethod
    def from_order(cls, numbers: ArrayLike, order: ParameterOrder) -> InertialParameters:
        """The link of ten plain numbers (SI) written in another tool's `order`, the inverse of `to_order`."""
        vector = np.asarray(numbers, dtype=float)
        if vector.shape != (10,):
            raise ParameterError(f"order {order!r} has ten numbers, got shape {vector.shape}")
        if order == "dynid":
            return cls(vector)
        if order == "khalil":
            pi = np.empty(10)
            pi[_KHALIL] = vector
            return cls(pi)
        rows, columns = _COM_ORDERS[order]
        tensor = np.zeros((3, 3))
        tensor[rows, columns] = tensor[columns, rows] = vector[4:]
        return cls.from_com(vector[0], vector[1:4], tensor)

    def moved(self, T_target_link: Transform) -> InertialParameters:
        r"""The same body described in another frame: :math:`J' = T J T^T`."""
        return InertialParameters.from_pseudo_inertia(T_target_link @ self.pseudo_inertia @ T_target_link.T)

    def __add__(self, other: InertialParameters) -> InertialParameters:
        """Two bodies welded together, both in the same frame."""
        return InertialParameters(self.pi + other.pi)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InertialParameters) and bool(np.array_equal(self.pi, other.pi))

    def __hash__(self) -> int:
        return hash(self.pi.tobytes())


def _pairs(*names: str) -> tuple[Sequence[int], Sequence[int]]:
    return ["xyz".index(name[0]) for name in names], ["xyz".index(name[1]) for name in names]


_COM_ORDERS = {
    "urdf": _pairs("xx", "xy", "xz", "yy", "yz", "zz"),
    "mjcf": _pairs("xx", "yy", "zz", "xy", "xz", "yz"),
}
