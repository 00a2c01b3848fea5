"""Finite Fourier series with exact derivatives, and what they can reach between two samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.errors import ExcitationError
from dynid.excitation.curves.curve import CurveBounds, States

__all__ = ["FourierBasis", "FourierSeries"]


@dataclass(frozen=True, eq=False)
class FourierSeries:
    r"""A periodic motion, the finite Fourier series of [Swevers1997]_.

    .. math::

        q_j(t) = c_j + \sum_{l=1}^{H} \frac{a_{lj}}{\omega l} \sin \omega l t - \frac{b_{lj}}{\omega l} \cos \omega l t
    """

    base_frequency_hz: float
    """ω / 2π in Hz: one over the period."""
    a: Float[Array, "n_harmonics n_dof"]
    """Velocity amplitudes of the cosines, rad/s or m/s."""
    b: Float[Array, "n_harmonics n_dof"]
    """Velocity amplitudes of the sines, rad/s or m/s."""
    centre: Float[Array, " n_dof"]
    """Mean position, rad or m."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        FourierBasis(len(self.a), self.base_frequency_hz)
        if self.a.shape != self.b.shape or self.centre.shape != self.a.shape[1:]:
            raise ExcitationError(
                f"coefficients a {self.a.shape}, b {self.b.shape} and centre {self.centre.shape} do not fit together; "
                "a and b are (n_harmonics, n_dof)"
            )
        if not all(np.all(np.isfinite(values)) for values in (self.a, self.b, self.centre)):
            raise ExcitationError("a Fourier coefficient is not finite")

    @property
    def n_dof(self) -> int:
        """Number of joints."""
        return int(self.a.shape[1])

    @property
    def n_harmonics(self) -> int:
        """Number of harmonics."""
        return len(self.a)

    @property
    def length(self) -> float:
        """The period in s."""
        return 1.0 / self.base_frequency_hz

    @property
    def bandwidth_hz(self) -> float:
        """Frequency of the highest harmonic, Hz."""
        return self.n_harmonics * self.base_frequency_hz

    def at(self, t: Float[Array, " n_samples"]) -> States:
        """Position and its three derivatives at times `t` (s)."""
        basis = FourierBasis(self.n_harmonics, self.base_frequency_hz)
        stacked = np.concatenate([self.a, self.b])
        q, dq, ddq, dddq = (matrix @ stacked for matrix in basis.matrices(t))
        return States(q + self.centre, dq, ddq, dddq)


@dataclass(frozen=True)
class FourierBasis:
    """All Fourier series with so many harmonics of one base frequency."""

    harmonics: int
    base_frequency_hz: float
    """One over the period, Hz."""

    def __post_init__(self) -> None:
        if self.harmonics < 1:
            raise ExcitationError(f"{self.harmonics} harmonics make no motion; give at least 1")
        if not (np.isfinite(self.base_frequency_hz) and self.base_frequency_hz > 0.0):
            raise ExcitationError(f"base frequency {self.base_frequency_hz} Hz; it must be positive")

    @property
    def n_free(self) -> int:
        """Coefficients per joint: a sine and a cosine a harmonic."""
        return 2 * self.harmonics

    @property
    def length(self) -> float:
        """The period in s."""
        return 1.0 / self.base_frequency_hz

    @property
    def bandwidth_hz(self) -> float:
        """Frequency of the highest harmonic, Hz."""
        return self.harmonics * self.base_frequency_hz

    @property
    def at_rest(self) -> bool:
        """Never: a series is in motion all the time and needs ramps."""
        return False

    @cached_property
    def _omega(self) -> Float[Array, " n_harmonics"]:
        return 2.0 * np.pi * self.base_frequency_hz * np.arange(1, self.harmonics + 1)

    def matrices(self, t: Float[Array, " n_samples"]) -> tuple[Float[Array, "n_samples n_free"], ...]:
        """Position (rad or m) and its three derivatives (per s, s², s³) per unit of a, then b, at times `t` (s)."""
        omega = self._omega
        c, s = np.cos(np.outer(t, omega)), np.sin(np.outer(t, omega))
        return (
            np.hstack([s / omega, -c / omega]),
            np.hstack([c, s]),
            np.hstack([-s * omega, c * omega]),
            np.hstack([-c * omega**2, -s * omega**2]),
        )

    def bounds(self, density: int) -> CurveBounds:
        r"""Samples of one period (SI), and the factor by which they bound the series at all times.

        A trigonometric polynomial of degree H that peaks at :math:`t_0` satisfies
        :math:`|p(t)| \ge \|p\| \cos(H\omega(t - t_0))` nearby (M. Riesz), so with N equidistant samples
        :math:`\|p\| \le \max_k |p(t_k)| / \cos(\pi H / N)`.
        """
        n_rows = max(density, 4) * self.n_free
        factor = 1.0 / np.cos(np.pi * self.harmonics / n_rows)
        t = np.arange(n_rows) * self.length / n_rows
        return CurveBounds(self.matrices(t), float(factor))

    def curve(self, coefficients: Float[Array, "n_free n_dof"], centre: Float[Array, " n_dof"]) -> FourierSeries:
        """The series of these velocity amplitudes (rad/s or m/s; a, then b) about a centre (rad or m)."""
        return FourierSeries(
            self.base_frequency_hz, coefficients[: self.harmonics], coefficients[self.harmonics :], centre
        )
