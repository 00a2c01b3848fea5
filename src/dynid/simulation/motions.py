"""Motions to command: a table of positions made continuous, and smooth motions inside a robot's limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.interpolate import make_interp_spline

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import Joint, Robot
from dynid.dynamics.motion import Motion
from dynid.errors import MotionError, RecordingError
from dynid.excitation.curves.fourier import FourierSeries
from dynid.recording.recording import Recording

__all__ = ["MotionKind", "QuinticPath", "motion_of", "smooth_motion", "uniform_times"]

MotionKind = Literal["fourier", "sinusoids"]
"""Motions that need no file: a random Fourier series, or one sine per joint."""

SPLINE_DEGREE = 5
"""Degree of the spline through positions: its acceleration is smooth."""
CONSISTENT = 0.2
"""Largest mismatch of dq with the differences of q (and of ddq with those of dq), relative to the signal itself."""
FAITHFUL = 0.01
"""Largest deviation that a lower rate may cause, relative to the range of a joint's motion."""
UNIFORM = 1e-6
"""Deviation of time steps that is rounding, not jitter, relative to the step."""
USED = 0.8
"""Share of every limit that `smooth_motion` uses."""
HARMONICS = 5
"""Of the random Fourier series: as many as a designed excitation has by default."""
FREE = {"revolute": (2.0, 2.0, 10.0), "prismatic": (0.5, 0.5, 2.5)}
"""Reach (rad or m), speed (per s) and acceleration (per s²) where a joint has no limits."""


@dataclass(frozen=True, eq=False)
class QuinticPath:
    r"""A motion between its samples: the quintic that keeps q, dq and ddq of both neighbours.

    .. math::

        q(t_k + s) = \sum_{r=0}^{5} c_{kr} s^r, \qquad 0 \le s \le t_{k+1} - t_k
    """

    t: Float[Array, " n_samples"]
    """Times of the samples in s."""
    coefficients: Float[Array, "n_intervals 6 n_dof"]
    """rad or m per s to the power of the second axis."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def through(cls, motion: Motion) -> QuinticPath:
        """The path through every sample of a motion.

        Raises:
            MotionError: for fewer than two samples, or time that does not increase.
        """
        if motion.n_samples < 2 or np.min(np.diff(motion.t)) <= 0.0:
            raise MotionError("a path needs at least two samples, at increasing times")
        h = np.diff(motion.t)[:, None]
        q, dq, ddq = motion.q[:-1], motion.dq[:-1], motion.ddq[:-1]
        d = motion.q[1:] - q - dq * h - 0.5 * ddq * h**2
        v = (motion.dq[1:] - dq - ddq * h) * h
        a = 0.5 * (motion.ddq[1:] - ddq) * h**2
        high = ((10.0 * d - 4.0 * v + a) / h**3, (-15.0 * d + 7.0 * v - 2.0 * a) / h**4, (6.0 * d - 3.0 * v + a) / h**5)
        return cls(motion.t, np.stack([q, dq, 0.5 * ddq, *high], axis=1))

    def at(self, t: Float[Array, " n_times"]) -> Motion:
        """The motion at any times (s); before its start and after its end the nearest sample holds."""
        inside = np.clip(t, self.t[0], self.t[-1])
        k = np.clip(np.searchsorted(self.t, inside, side="right") - 1, 0, len(self.t) - 2)
        s, c = (inside - self.t[k])[:, None], self.coefficients[k]
        q = np.zeros((len(inside), c.shape[2]))
        dq, ddq = np.zeros_like(q), np.zeros_like(q)
        for r in range(5, -1, -1):
            ddq = ddq * s + 2.0 * dq
            dq = dq * s + q
            q = q * s + c[:, r]
        return Motion(t, q, dq, ddq)


def uniform_times(start: float, stop: float, rate_hz: float) -> Float[Array, " n_times"]:
    """Times in s from `start` to at most `stop`, `rate_hz` a second."""
    return start + np.arange(int(np.floor((stop - start) * rate_hz + 1e-6)) + 1) / rate_hz


def motion_of(table: Recording, *, rate_hz: float | None = None, duration: float | None = None) -> Motion:
    """The motion of a trajectory table with q, and dq and ddq where it has them, at a uniform rate.

    What is missing comes from the quintic spline through what is there.

    Args:
        table: the trajectory, at increasing but not necessarily uniform times.
        rate_hz: samples a second; that of the table where None.
        duration: seconds from its start; all of it where None.

    Raises:
        RecordingError: for a table that is too short, whose dq is not the derivative of its q, or that a rate so low
            cannot carry.
    """
    if table.n_samples <= SPLINE_DEGREE:
        raise RecordingError(
            f"{table.source}: {table.n_samples} samples are too few for a trajectory; give at least {SPLINE_DEGREE + 1}"
        )
    given = _with_derivatives(table)
    rate = table.rate_hz if rate_hz is None else rate_hz
    if not (np.isfinite(rate) and rate > 0.0):
        raise RecordingError(f"{table.source}: a rate of {rate:g} Hz; it must be positive")
    stop = table.t[-1]
    if duration is not None:
        if not 0.0 < duration <= table.duration * (1.0 + 1e-9):
            raise RecordingError(
                f"{table.source}: {duration:g} s asked for, but the trajectory lasts {table.duration:g} s; "
                "ask for less or lengthen it"
            )
        stop = table.t[0] + duration
    if rate_hz is None and np.ptp(np.diff(table.t)) < UNIFORM / rate:
        return given.part(0, int(np.searchsorted(table.t, stop + UNIFORM / rate)))
    try:
        motion = QuinticPath.through(given).at(uniform_times(float(table.t[0]), float(stop), rate))
    except MotionError as error:
        raise RecordingError(f"{table.source}: numbers too large for a trajectory: {error}") from error
    if rate < 0.99 * table.rate_hz:
        _check_rate(table, motion, rate)
    return motion


def _with_derivatives(table: Recording) -> Motion:
    dq, ddq = table.dq, table.ddq
    if dq is None:
        spline = make_interp_spline(table.t, table.q, k=SPLINE_DEGREE)
        dq, ddq = spline.derivative()(table.t), spline.derivative(2)(table.t)
    else:
        _check_derivative(table, "q", "dq")
    if ddq is None:
        ddq = make_interp_spline(table.t, dq, k=SPLINE_DEGREE).derivative()(table.t)
    elif table.ddq is not None and table.dq is not None:
        _check_derivative(table, "dq", "ddq")
    return Motion(table.t, table.q, dq, ddq)


def _check_derivative(table: Recording, whole: str, slope: str) -> None:
    values, slopes = getattr(table, whole), getattr(table, slope)
    h = np.diff(table.t)[:, None]
    mismatch = np.diff(values, axis=0) / h - 0.5 * (slopes[1:] + slopes[:-1])
    size = np.sqrt(np.mean(slopes**2, axis=0))
    off = np.sqrt(np.mean(mismatch**2, axis=0))
    wrong = off > CONSISTENT * np.maximum(size, 1e-6 * np.max(size))
    if np.any(wrong) and np.max(size) > 0.0:
        names = ", ".join(name for name, bad in zip(table.joint_names, wrong, strict=True) if bad)
        raise RecordingError(
            f"{table.source}: {slope} is not the derivative of {whole} for {names}; check its unit, or leave the "
            f"columns of {slope} out"
        )


def _check_rate(table: Recording, motion: Motion, rate: float) -> None:
    """Refuse a rate at which the samples no longer tell what happens between them."""
    there = (table.t >= motion.t[0]) & (table.t <= motion.t[-1])
    if motion.n_samples > SPLINE_DEGREE:
        back = make_interp_spline(motion.t, motion.q, k=SPLINE_DEGREE)(table.t[there])
        lost = np.max(np.abs(back - table.q[there]), axis=0)
        span = np.ptp(table.q, axis=0)
        if np.all(lost <= FAITHFUL * np.maximum(span, 1e-12)):
            return
    raise RecordingError(
        f"{table.source}: a rate of {rate:g} Hz is too low for this trajectory, which has {table.rate_hz:g} Hz; "
        "its samples would not tell the motion between them"
    )


def smooth_motion(
    robot: Robot,
    rng: np.random.Generator,
    *,
    kind: MotionKind = "fourier",
    duration: float = 20.0,
    rate_hz: float = 500.0,
) -> Motion:
    """A smooth motion inside the position, velocity and acceleration limits, with exact derivatives.

    Args:
        robot: whose limits hold; joints without any move by at most 2 rad or 0.5 m, as fast per s.
        rng: the only source of randomness.
        kind: ``fourier`` for a random series of 5 harmonics with the period 10 s, or all of a shorter `duration`;
            ``sinusoids`` for one sine per joint, as [Gaz2019]_ validates with, at random periods of 1.5 to 5 s.
        duration: seconds.
        rate_hz: samples a second.

    Raises:
        RecordingError: for a duration or a rate that cannot carry the motion.
    """
    if not (np.isfinite(duration) and duration > 0.0):
        raise RecordingError(f"a motion of {duration:g} s; give a positive duration")
    highest_hz = 1.0 / 1.5 if kind == "sinusoids" else HARMONICS * max(0.1, 1.0 / duration)
    if not (np.isfinite(rate_hz) and rate_hz > 4.0 * highest_hz):
        raise RecordingError(
            f"a rate of {rate_hz:g} Hz is too low for this motion; give more than {4.0 * highest_hz:g} Hz"
        )
    t = uniform_times(0.0, duration, rate_hz)
    shape = _sines(robot, rng, t) if kind == "sinusoids" else _series(robot, rng, t, base_hz=max(0.1, 1.0 / duration))
    scale, centre = np.empty(robot.n_dof), np.empty(robot.n_dof)
    for j, joint in enumerate(robot.joints):
        middle, *limits = _room(joint)
        low, high = np.min(shape.q[:, j]), np.max(shape.q[:, j])
        peaks = (0.5 * (high - low), np.max(np.abs(shape.dq[:, j])), np.max(np.abs(shape.ddq[:, j])))
        scale[j] = USED * min(limit / max(peak, 1e-12) for limit, peak in zip(limits, peaks, strict=True))
        centre[j] = middle - scale[j] * 0.5 * (high + low)
    return Motion(t, shape.q * scale + centre, shape.dq * scale, shape.ddq * scale)


def _series(robot: Robot, rng: np.random.Generator, t: Float[Array, " n_samples"], *, base_hz: float) -> Motion:
    a, b = rng.normal(size=(2, HARMONICS, robot.n_dof))
    q, dq, ddq, _ = FourierSeries(base_hz, a, b, np.zeros(robot.n_dof)).at(t)
    return Motion(t, q, dq, ddq)


def _sines(robot: Robot, rng: np.random.Generator, t: Float[Array, " n_samples"]) -> Motion:
    omega = 2.0 * np.pi / rng.uniform(1.5, 5.0, robot.n_dof)
    phase = np.outer(t, omega)
    return Motion(t, -np.cos(phase) / omega, np.sin(phase), np.cos(phase) * omega)


def _room(joint: Joint) -> tuple[float, float, float, float]:
    """Middle of the range, and how far, how fast and with what acceleration the joint may go from it."""
    limits = joint.limits
    reach, speed, acceleration = FREE[joint.type]
    lower, upper = limits.lower, limits.upper
    if not np.isfinite(lower) and not np.isfinite(upper):
        lower, upper = -reach, reach
    lower = lower if np.isfinite(lower) else upper - 2.0 * reach
    upper = upper if np.isfinite(upper) else lower + 2.0 * reach
    return (
        0.5 * (lower + upper),
        0.5 * (upper - lower),
        limits.velocity if np.isfinite(limits.velocity) else speed,
        limits.acceleration if np.isfinite(limits.acceleration) else acceleration,
    )
