"""What sensors and loggers do to a signal: noise, quantisation, delay, jitter, loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import JointType
from dynid.errors import RecordingError

__all__ = ["EXACT", "Clock", "Level", "SensorModel", "VelocitySource"]

VelocitySource = Literal["measured", "differentiated", "none"]
"""Where the velocity of a log comes from: a sensor, differences of the positions, or it has none."""

LARGEST_JITTER = 0.2
"""Standard deviation of jitter, relative to the time between samples, up to which stamps keep their order."""
FARTHEST = 0.49
"""Farthest a jittered stamp goes, relative to the time between samples."""

PerJoint = float | tuple[float, ...]
"""One number for every joint, or one for each."""


def per_joint(what: str, values: PerJoint, n_dof: int) -> Float[Array, " n_dof"]:
    """The number of each joint, in its own unit.

    Raises:
        RecordingError: for another number of them than joints.
    """
    numbers = np.atleast_1d(np.asarray(values, dtype=float))
    if len(numbers) not in (1, n_dof):
        raise RecordingError(f"{len(numbers)} values of {what} for {n_dof} joints; give one, or one for each joint")
    return np.broadcast_to(numbers, (n_dof,))


def _check_not_negative(name: str, values: PerJoint) -> None:
    for value in np.atleast_1d(np.asarray(values, dtype=float)):
        if not (np.isfinite(value) and value >= 0.0):
            raise RecordingError(f"{name} is {value:g}; it must be finite and not negative")


def _rounded(values: Float[Array, "n_samples n_dof"], step: Float[Array, " n_dof"]) -> Float[Array, "n_samples n_dof"]:
    return np.round(values / step) * step


@dataclass(frozen=True, kw_only=True)
class Level:
    """Standard deviation of white Gaussian noise: the two parts add in squares."""

    absolute: PerJoint = 0.0
    """In the unit of the signal (SI)."""
    relative: PerJoint = 0.0
    """Relative to the RMS of the joint's exact signal."""

    def __post_init__(self) -> None:
        for name in ("absolute", "relative"):
            _check_not_negative(f"{name} noise", getattr(self, name))

    def std(self, exact: Float[Array, "n_samples n_dof"]) -> Float[Array, " n_dof"]:
        """Standard deviation for each joint, in the unit of the signal (SI)."""
        n_dof = exact.shape[1]
        rms = np.sqrt(np.mean(exact**2, axis=0))
        return np.hypot(per_joint("noise", self.absolute, n_dof), per_joint("noise", self.relative, n_dof) * rms)


class Clock(NamedTuple):
    """When samples are taken, and what the log says."""

    taken: Float[Array, " n_kept"]
    """Times of the samples in s."""
    stamps: Float[Array, " n_kept"]
    """Their time stamps in s."""


@dataclass(frozen=True, kw_only=True)
class SensorModel:
    """Errors between what an arm does and what its log says; the default is a perfect log."""

    q_noise: Level = Level()
    """rad or m."""
    dq_noise: Level = Level()
    """rad/s or m/s; of measured velocities only."""
    tau_noise: Level = Level()
    """N·m or N."""
    encoder_counts: float | int | None = None
    """Counts in a revolution (2π rad) or a metre; positions are rounded to whole ones. None is no quantisation."""
    tau_step: float = 0.0
    """Torque of the last bit in N·m or N; 0 is no quantisation."""
    tau_offset: PerJoint = 0.0
    """Constant added to the torque, N·m or N."""
    delay: float = 0.0
    """Time in s by which the torque lags behind the position; negative where it leads."""
    jitter: float = 0.0
    """Standard deviation in s of the sampling times about a uniform grid; the stamps tell the true times."""
    stamp_noise: float = 0.0
    """Standard deviation in s of stamps about the true times."""
    dropout: float = 0.0
    """Samples lost at random, as a fraction of all."""
    velocity: VelocitySource = "measured"
    drive_gains: tuple[float, ...] | None = None
    """N·m/A (or N/A) of each drive: the log holds currents in place of torques. None is a log of torques."""

    def __post_init__(self) -> None:
        for name in ("tau_step", "jitter", "stamp_noise", "dropout"):
            _check_not_negative(name, getattr(self, name))
        if self.dropout >= 1.0:
            raise RecordingError(f"dropout is {self.dropout}: nothing would be left; give a fraction below 1")
        if not np.isfinite(self.delay):
            raise RecordingError(f"delay is {self.delay}; give seconds")
        if self.encoder_counts is not None and not (np.isfinite(self.encoder_counts) and self.encoder_counts > 0.0):
            raise RecordingError(f"encoder counts are {self.encoder_counts}; give a positive number, or none")
        if self.drive_gains is not None and not all(np.isfinite(gain) and gain != 0.0 for gain in self.drive_gains):
            raise RecordingError(f"drive gains {self.drive_gains}: each must be finite and not zero")

    def clock(self, t: Float[Array, " n_samples"], rng: np.random.Generator) -> Clock:
        """Times and stamps (s) of the samples that a logger asked for the times `t` keeps.

        Raises:
            RecordingError: for jitter so large that samples would change places.
        """
        period = float(np.min(np.diff(t))) if len(t) > 1 else np.inf
        taken = np.clip(t + self._shifts("jitter", period, len(t), rng), t[0], t[-1])
        gap = float(np.min(np.diff(taken))) if len(t) > 1 else np.inf
        stamps = taken + self._shifts("stamp_noise", gap if self.jitter == 0.0 else period, len(t), rng, farthest=gap)
        kept = rng.random(len(t)) >= self.dropout if self.dropout > 0.0 else np.full(len(t), True)
        kept[0] = True
        return Clock(taken[kept], stamps[kept])

    def _shifts(
        self, name: str, period: float, n_samples: int, rng: np.random.Generator, *, farthest: float = np.inf
    ) -> Float[Array, " n_samples"]:
        std = getattr(self, name)
        if std == 0.0:
            return np.zeros(n_samples)
        if std > LARGEST_JITTER * period:
            raise RecordingError(
                f"{name} is {std:g} s, more than {LARGEST_JITTER:.0%} of the {period:g} s between samples; "
                "lower it or the rate"
            )
        most = FARTHEST * min(period, farthest)
        return np.clip(rng.normal(0.0, std, n_samples), -most, most)

    def measured_q(
        self, q: Float[Array, "n_samples n_dof"], types: tuple[JointType, ...], rng: np.random.Generator
    ) -> Float[Array, "n_samples n_dof"]:
        """Positions (rad or m) as the encoders tell them."""
        noisy = q + rng.normal(size=q.shape) * self.q_noise.std(q)
        if self.encoder_counts is None:
            return noisy
        turn = np.array([2.0 * np.pi if joint_type == "revolute" else 1.0 for joint_type in types])
        return _rounded(noisy, turn / self.encoder_counts)

    def measured_dq(
        self,
        stamps: Float[Array, " n_samples"],
        q: Float[Array, "n_samples n_dof"],
        dq: Float[Array, "n_samples n_dof"],
        rng: np.random.Generator,
    ) -> Float[Array, "n_samples n_dof"] | None:
        """Velocities (per s) in the log: of exact `dq`, or from its own stamps (s) and measured `q`, or none."""
        if self.velocity == "none":
            return None
        if self.velocity == "differentiated":
            return np.gradient(q, stamps, axis=0)
        return dq + rng.normal(size=dq.shape) * self.dq_noise.std(dq)

    def measured_tau(
        self, tau: Float[Array, "n_samples n_dof"], rng: np.random.Generator
    ) -> Float[Array, "n_samples n_dof"]:
        """Torques (N·m or N) as the sensors tell them."""
        offset = per_joint("torque offset", self.tau_offset, tau.shape[1])
        noisy = tau + rng.normal(size=tau.shape) * self.tau_noise.std(tau) + offset
        return noisy if self.tau_step == 0.0 else _rounded(noisy, np.full(tau.shape[1], self.tau_step))


EXACT = SensorModel()
"""A perfect log."""
