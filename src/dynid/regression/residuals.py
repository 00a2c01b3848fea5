"""What a model leaves of torques it was not fitted to: noise, its memory, standstill, drift, scale of the torque."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.regression.noise_colour import RowColour

__all__ = ["ONE_LOG", "UNSEEN_DRIFT", "ResidualStatistics"]

ONE_LOG = "segments of one log"
"""Source of statistics that a single run gave."""
UNSEEN_DRIFT = "one run cannot show how friction drifts from run to run; bands hold for runs like it"
"""What is to be said of them."""


LEAST_NOISE = 0.1
"""Part of the power that a run's own friction leaves which counts as noise of its rows at least."""
WHITE_FLOOR = 1e-3
"""Part of the power of residuals that counts as white at least: no noise is all memory."""
TINY = 1e-30
"""Variance, (N·m)² or N², of a row that was fitted exactly."""


@dataclass(frozen=True, eq=False)
class ResidualStatistics:
    r"""Statistics of held-out residuals (N·m or N): what stands between a predicted torque and the next measured one.

    .. math::

        \tau_{kj} - \hat\tau_{kj} = \underbrace{w_{kj}}_{\text{white}} + \underbrace{s_{kj}}_{\text{slow}}
        + \underbrace{h_{kj}}_{\text{standstill}} + \underbrace{y^f_{kj}\,\delta_r}_{\text{drift}}
        + \underbrace{\gamma_j \tau_{kj}}_{\text{scale}}

    :math:`s` is an Ornstein–Uhlenbeck process, :math:`E[s(t)s(t+\ell)] = \sigma_s^2 e^{-\ell/T}`, and
    :math:`\delta_r \sim N(0, D)` what the joint terms of run r differ from their mean.
    """

    white_std: Float[Array, " n_dof"]
    """σ of the part of single samples, before the low-pass, that has no memory, N·m or N."""
    slow_std: Float[Array, " n_dof"]
    """Stationary σ of the part with memory, N·m or N."""
    memory: Float[Array, " n_dof"]
    """T: time constant of the slow part, s."""
    row_std: Float[Array, " n_dof"]
    """σ of a row behind the low-pass, drift and standstill apart, N·m or N."""
    standstill_std: Float[Array, " n_dof"]
    """σ that rows have in addition where stiction holds the joint, N·m or N."""
    standstill_speed: Float[Array, " n_dof"]
    """Speed below which it does, rad/s or m/s."""
    drift: Float[Array, "n_terms n_terms"]
    """D: covariance (SI) of the joint terms of θ, joint after joint, between runs; zero for rotor inertias."""
    gain_std: Float[Array, " n_dof"]
    """Relative σ of the scale of each joint's torque: of its drive gain, or of its sensor."""
    gain_directions: Float[Array, "n_dof n_base"]
    """Change of β per relative change of each joint's scale, in the units of β; the rows add up to β."""
    rate_hz: float
    """Samples per second they were measured at, Hz."""
    n_runs: int
    """Logs, or segments of one, that were left out in turn."""
    source: str
    """``4 logs``, or `ONE_LOG`."""
    gain_source: str
    """Where `gain_std` comes from."""
    band_white_std: Float[Array, " n_dof"] | None = None
    """σ of the white part as the frequencies that the low-pass keeps show it, N·m or N a sample; None for `white_std`,
    which holds faster noise as well."""

    gain_covariance: Float[Array, "n_dof n_dof"] | None = None
    """Relative covariance of the scales; None where they are independent, as `gain_std` has them."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_logs(self) -> int:
        """Runs behind the mean of what drifts: logs, or the one whose segments were compared."""
        return 1 if self.source == ONE_LOG else self.n_runs

    @property
    def scale_covariance(self) -> Float[Array, "n_dof n_dof"]:
        """Relative covariance of the scales of all joints' torques."""
        return np.diag(self.gain_std**2) if self.gain_covariance is None else self.gain_covariance

    @property
    def of_scales(self) -> Float[Array, "n_base n_base"]:
        """What uncertain scales add to the covariance of β (in its units)."""
        return self.gain_directions.T @ self.scale_covariance @ self.gain_directions

    def explained_by_scales(self, distortion: Float[Array, " n_dof"]) -> ResidualStatistics:
        """The same where the scales' mean `distortion` of rows ((N·m)² or N²) is part of what held-out rows show."""
        rows = np.maximum(self.row_std**2 - distortion, LEAST_NOISE * self.row_std**2)
        resting = np.sqrt(np.maximum(self.standstill_std**2 + self.row_std**2 - rows, 0.0))
        return replace(self, row_std=np.sqrt(rows), standstill_std=resting)

    def with_scales(self, covariance: Float[Array, "n_dof n_dof"], source: str) -> ResidualStatistics:
        """The same with another relative covariance of the scales."""
        return replace(self, gain_std=np.sqrt(np.diag(covariance)), gain_covariance=covariance, gain_source=source)

    @property
    def statement(self) -> str:
        """What is to be said of them; empty where several runs were compared."""
        return UNSEEN_DRIFT if self.source == ONE_LOG else ""

    def row_colour(self, every: int, rate_hz: float) -> RowColour:
        """The noise of rows, one in `every` samples at `rate_hz`, behind the low-pass."""
        white = self.white_std if self.band_white_std is None else self.band_white_std
        # As dense in frequency as the samples they are made of, so that slow columns meet the noise they meet there.
        floor = WHITE_FLOOR * (white**2 + self.slow_std**2)
        v = np.maximum(white**2, floor) * (rate_hz / self.rate_hz) / every
        return RowColour(np.maximum(v, TINY), self.slow_std**2, np.exp(-every / (rate_hz * self.memory)))

    def __repr__(self) -> str:
        return f"ResidualStatistics({self.source}: rows ± {_listed(self.row_std)} N·m or N)"

    def __str__(self) -> str:
        return "\n".join(
            [
                f"residuals of {self.source}",
                f"white       {_listed(self.white_std)} N·m or N at {self.rate_hz:.4g} Hz",
                f"slow        {_listed(self.slow_std)} N·m or N, memory {_listed(self.memory)} s",
                f"standstill  {_listed(self.standstill_std)} N·m or N below {_listed(self.standstill_speed)} rad/s",
                f"scale       {_listed(100.0 * self.gain_std)} %: {self.gain_source}",
                *([self.statement] if self.statement else []),
            ]
        )

    def stored(self) -> dict[str, object]:
        """The statistics as JSON holds them (SI); `restored` reads them back."""
        return {
            **{name: getattr(self, name).tolist() for name in (*_VECTORS, "drift", "gain_directions")},
            "rate_hz": self.rate_hz,
            "n_runs": self.n_runs,
            "source": self.source,
            "gain_source": self.gain_source,
            "band_white_std": None if self.band_white_std is None else self.band_white_std.tolist(),
            "gain_covariance": None if self.gain_covariance is None else self.gain_covariance.tolist(),
        }

    @classmethod
    def restored(cls, content: Mapping[str, object], n_dof: int, n_terms: int, n_base: int) -> ResidualStatistics:
        """The statistics (SI) of what `stored` gave.

        Raises:
            ValueError: naming what is wrong.
        """
        rate_hz, n_runs = content.get("rate_hz"), content.get("n_runs")
        if isinstance(rate_hz, bool) or not isinstance(rate_hz, int | float) or not rate_hz > 0.0:
            raise ValueError(f"residuals.rate_hz is {rate_hz!r}")
        if isinstance(n_runs, bool) or not isinstance(n_runs, int):
            raise ValueError(f"residuals.n_runs is {n_runs!r}")

        def of(name: str, *shape: int) -> Float[Array, ...]:
            return _array(content.get(name), shape or (n_dof,), f"residuals.{name}")

        return cls(
            white_std=of("white_std"),
            slow_std=of("slow_std"),
            memory=of("memory"),
            row_std=of("row_std"),
            standstill_std=of("standstill_std"),
            standstill_speed=of("standstill_speed"),
            drift=of("drift", n_terms, n_terms),
            gain_std=of("gain_std"),
            gain_directions=of("gain_directions", n_dof, n_base),
            rate_hz=float(rate_hz),
            n_runs=n_runs,
            source=str(content.get("source", "")),
            gain_source=str(content.get("gain_source", "")),
            band_white_std=None if content.get("band_white_std") is None else of("band_white_std"),
            gain_covariance=None if content.get("gain_covariance") is None else of("gain_covariance", n_dof, n_dof),
        )


_VECTORS = ("white_std", "slow_std", "memory", "row_std", "standstill_std", "standstill_speed", "gain_std")


def _array(value: object, shape: tuple[int, ...], what: str) -> Float[Array, ...]:
    try:
        found = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} holds no numbers") from error
    if found.shape != shape and found.size != int(np.prod(shape)):
        raise ValueError(f"{what} has shape {found.shape}, where {shape} belongs")
    if not np.all(np.isfinite(found)):
        raise ValueError(f"{what} is not finite")
    return found.reshape(shape)


def _listed(values: Float[Array, " n"]) -> str:
    return "(" + ", ".join(f"{value:.3g}" for value in values) + ")"
