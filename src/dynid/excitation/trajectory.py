"""A motion a robot may run: pieces one after the other, from rest to rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.motion import Motion
from dynid.errors import ExcitationError
from dynid.excitation.curves.curve import Curve, States
from dynid.prose import counted

__all__ = ["Cruise", "Hold", "MotionPiece", "Move", "Slowed", "Trajectory"]

_MOVE_PEAKS = (1.0, 15.0 / 8.0, 10.0 / np.sqrt(3.0), 60.0)
"""Largest position, velocity, acceleration and jerk of the quintic step over unit distance and time."""


@runtime_checkable
class MotionPiece(Protocol):
    """A part of a trajectory that starts and ends at rest."""

    @property
    def duration(self) -> float:
        """Its time in s."""
        ...

    def at(self, t: Float[Array, " n_samples"]) -> States:
        """Joint states at times `t` in s from its start."""
        ...


@dataclass(frozen=True, eq=False)
class Hold:
    """A pause at a pose."""

    pose: Float[Array, " n_dof"]
    """rad or m."""
    duration: float
    """Its time in s."""

    def at(self, t: Float[Array, " n_samples"]) -> States:
        """The pose, at rest; `t` in s."""
        return States.at_rest(np.tile(self.pose, (len(t), 1)))


@dataclass(frozen=True, eq=False)
class Move:
    r"""From one pose to another along a straight line in joint space, :math:`10 u^3 - 15 u^4 + 6 u^5`."""

    start: Float[Array, " n_dof"]
    """rad or m."""
    stop: Float[Array, " n_dof"]
    """rad or m."""
    duration: float
    """Its time in s."""

    def at(self, t: Float[Array, " n_samples"]) -> States:
        """Joint states at times `t` (s)."""
        u, T = np.clip(t / self.duration, 0.0, 1.0)[:, None], self.duration
        way = self.stop - self.start
        return States(
            self.start + way * (u**3 * (10.0 - 15.0 * u + 6.0 * u**2)),
            way * (u**2 * (30.0 - 60.0 * u + 30.0 * u**2)) / T,
            way * (u * (60.0 - 180.0 * u + 120.0 * u**2)) / T**2,
            way * (60.0 - 360.0 * u + 360.0 * u**2) / T**3,
        )

    @classmethod
    def fastest(
        cls,
        start: Float[Array, " n_dof"],
        stop: Float[Array, " n_dof"],
        *,
        velocity: Float[Array, " n_dof"],
        acceleration: Float[Array, " n_dof"],
        jerk: Float[Array, " n_dof"],
        shortest: float = 0.1,
    ) -> Move:
        """The quickest move that keeps these limits (per s, s², s³), of at least `shortest` s."""
        way = np.abs(stop - start)
        times = [shortest]
        for order, limit in enumerate((velocity, acceleration, jerk), 1):
            times.append(float(np.max((_MOVE_PEAKS[order] * way / limit) ** (1.0 / order))))
        return cls(start, stop, max(times))


@dataclass(frozen=True, eq=False)
class Cruise:
    r"""Along a curve, started from rest and stopped again by stretching time.

    During the ramps the curve is followed at a rate :math:`\dot s` that rises from 0 to 1, so the robot is on the same
    path as at full speed and slower: positions and velocities stay within those of the curve.
    """

    curve: Curve
    phase: float
    """Time on the curve at which full speed is reached, s."""
    cruise: float
    """Time at full speed, in s."""
    ramp: float
    """Time of either ramp in s; 0 for a curve that is itself at rest at both ends."""

    @property
    def duration(self) -> float:
        """Its time in s, ramps included."""
        return self.cruise + 2.0 * self.ramp

    def at(self, t: Float[Array, " n_samples"], *, phases: Float[Array, " n_phases"] | None = None) -> States:
        """Joint states at times `t` (s) from the start of the first ramp.

        With `phases` (s), all states for the first of them in place of `phase`, then for the second, and so on.
        """
        s, rate, rate1, rate2 = self._warp(t)
        if phases is not None:
            s = (s - self.phase + phases[:, None]).ravel()
            rate, rate1, rate2 = (np.tile(values, len(phases)) for values in (rate, rate1, rate2))
        q, dq, ddq, dddq = self.curve.at(s)
        r, r1, r2 = rate[:, None], rate1[:, None], rate2[:, None]
        return States(q, dq * r, ddq * r**2 + dq * r1, dddq * r**3 + 3.0 * ddq * r * r1 + dq * r2)

    def _warp(self, t: Float[Array, " n_samples"]) -> tuple[Float[Array, " n_samples"], ...]:
        """Time on the curve and its three derivatives."""
        ramp = self.ramp
        if ramp == 0.0:
            ones = np.ones_like(t)
            return self.phase + t, ones, 0.0 * t, 0.0 * t
        from_end = t > 0.5 * self.duration
        side = np.where(from_end, -1.0, 1.0)
        u = np.where(from_end, self.duration - t, t)
        x = np.clip(u / ramp, 0.0, 1.0)
        covered = ramp * (2.5 * x**4 - 3.0 * x**5 + x**6) + np.maximum(u - ramp, 0.0)
        begin, end = self.phase - 0.5 * ramp, self.phase + self.cruise + 0.5 * ramp
        return (
            np.where(from_end, end - covered, begin + covered),
            10.0 * x**3 - 15.0 * x**4 + 6.0 * x**5,
            side * 30.0 * x**2 * (1.0 - x) ** 2 / ramp,
            60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / ramp**2,
        )


@dataclass(frozen=True, eq=False)
class Slowed:
    r"""A piece at a part of its speed: the same path, velocities times s, accelerations times s²."""

    piece: MotionPiece
    scale: float
    """s, a ratio above 0; 1 is the piece itself."""

    @property
    def duration(self) -> float:
        """Its time in s."""
        return self.piece.duration / self.scale

    def at(self, t: Float[Array, " n_samples"]) -> States:
        """Joint states at times `t` (s)."""
        q, dq, ddq, dddq = self.piece.at(np.clip(t * self.scale, 0.0, self.piece.duration))
        return States(q, self.scale * dq, self.scale**2 * ddq, self.scale**3 * dddq)


def _bandwidth(piece: MotionPiece) -> float:
    """Highest frequency in Hz of a piece; 0 where it follows no curve."""
    if isinstance(piece, Slowed):
        return piece.scale * _bandwidth(piece.piece)
    return piece.curve.bandwidth_hz if isinstance(piece, Cruise) else 0.0


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Pieces that a robot runs one after the other; at rest where they meet."""

    joint_names: tuple[str, ...]
    pieces: tuple[MotionPiece, ...]

    def __repr__(self) -> str:
        pieces = counted(len(self.pieces), "piece")
        return f"Trajectory({counted(self.n_dof, 'joint')}, {self.duration:.4g} s in {pieces}, from rest to rest)"

    def __post_init__(self) -> None:
        if not self.pieces:
            raise ExcitationError("a trajectory without pieces does not move")
        for index, piece in enumerate(self.pieces):
            n_dof = piece.at(np.zeros(1)).q.shape[1]
            if n_dof != self.n_dof:
                raise ExcitationError(f"piece {index} of the trajectory moves {n_dof} joints, not {self.n_dof}")
        for index, (before, after) in enumerate(zip(self.pieces, self.pieces[1:], strict=False)):
            gap = before.at(np.array([before.duration])).q - after.at(np.zeros(1)).q
            if np.max(np.abs(gap)) > 1e-9 * (1.0 + np.max(np.abs(after.at(np.zeros(1)).q))):
                raise ExcitationError(f"pieces {index} and {index + 1} of the trajectory do not meet")

    @property
    def n_dof(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @property
    def duration(self) -> float:
        """Its time in s."""
        return sum(piece.duration for piece in self.pieces)

    @property
    def bandwidth_hz(self) -> float:
        """Highest frequency in Hz that its curves hold; 0 where it has none."""
        return max(_bandwidth(piece) for piece in self.pieces)

    def slowed(self, scale: float) -> Trajectory:
        """The same path at a part of the speed (a ratio, above 0 and at most 1): a rehearsal.

        Raises:
            ExcitationError: for any other scale.
        """
        if not 0.0 < scale <= 1.0:
            raise ExcitationError(f"`scale` {scale:g}: a rehearsal runs at a part of the speed, above 0 and at most 1")
        return Trajectory(self.joint_names, tuple(Slowed(piece, scale) for piece in self.pieces))

    def at(self, t: Float[Array, " n_samples"]) -> States:
        """Joint states at times `t` in s from its start, sorted or not."""
        result = States(*(np.empty((len(t), self.n_dof)) for _ in range(4)))
        begin, last = 0.0, len(self.pieces) - 1
        for index, piece in enumerate(self.pieces):
            end = begin + piece.duration
            mine = (t >= begin if index else np.full(t.shape, True)) & (t < end if index < last else True)
            for whole, part in zip(result, piece.at(np.clip(t[mine] - begin, 0.0, piece.duration)), strict=True):
                whole[mine] = part
            begin = end
        return result

    def motion(self, rate_hz: float) -> Motion:
        """The trajectory sampled at `rate_hz` (Hz), from start to rest.

        Raises:
            ExcitationError: the rate is not above twice the highest frequency in it.
        """
        if not (np.isfinite(rate_hz) and rate_hz > 0.0):
            raise ExcitationError(f"a rate of {rate_hz} Hz; it must be positive")
        if rate_hz <= 2.0 * self.bandwidth_hz:
            raise ExcitationError(
                f"a rate of {rate_hz:g} Hz cannot carry {self.bandwidth_hz:g} Hz, the highest harmonic of this motion; "
                f"use fewer harmonics, a lower base frequency, or a rate above {2.0 * self.bandwidth_hz:g} Hz"
            )
        t = np.arange(int(np.ceil(self.duration * rate_hz - 1e-9)) + 1) / rate_hz
        q, dq, ddq, _ = self.at(np.minimum(t, self.duration))
        return Motion(t, q, dq, ddq)
