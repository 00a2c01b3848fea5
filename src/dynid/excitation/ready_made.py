"""Ready-made motions for validation: sinusoids per joint, random Fourier series, point to point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import Robot
from dynid.errors import ExcitationError
from dynid.excitation.assembly import Assembly, assemble, limits_move, safe_pose
from dynid.excitation.curves.curve import Basis, PerJoint, States
from dynid.excitation.curves.fourier import FourierBasis
from dynid.excitation.gauge import Gauge
from dynid.excitation.limits.certificate import certify
from dynid.excitation.limits.motion_limits import ROUNDING, MotionLimits, PathLimit, with_effort
from dynid.excitation.trajectory import Hold, MotionPiece, Move, Trajectory

__all__ = ["Sinusoids", "point_to_point", "random_fourier", "sinusoids"]

_SLOWEST, _FASTEST = 5.0, 1.5
"""Periods in s of the first and the last joint, where none are given: base joints are slower."""


@dataclass(frozen=True, eq=False)
class Sinusoids:
    r"""Each joint swings on its own, :math:`\dot q_i = A_i \sin(2\pi t / T_i)` ([Gaz2019]_ eq. 31)."""

    amplitude: Float[Array, " n_dof"]
    """Of the velocity, rad/s or m/s."""
    period: Float[Array, " n_dof"]
    """Its time in s."""
    centre: Float[Array, " n_dof"]
    """Middle of the swing, rad or m."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        if not self.amplitude.shape == self.period.shape == self.centre.shape:
            raise ExcitationError("sinusoids need one amplitude, one period and one centre a joint")
        if not (np.all(np.isfinite(self.amplitude)) and np.all(self.period > 0.0)):
            raise ExcitationError("sinusoids need finite amplitudes and positive periods, one a joint")

    @property
    def n_dof(self) -> int:
        """Number of joints."""
        return len(self.amplitude)

    @property
    def length(self) -> float:
        """Infinite, in s: the periods need not have a common multiple."""
        return np.inf

    @property
    def bandwidth_hz(self) -> float:
        """Frequency of the fastest joint, Hz."""
        return float(1.0 / np.min(self.period))

    def at(self, t: Float[Array, " n_samples"]) -> States:
        """Position and its three derivatives at times `t` (s)."""
        omega = 2.0 * np.pi / self.period
        c, s = np.cos(np.outer(t, omega)), np.sin(np.outer(t, omega))
        A = self.amplitude
        return States(self.centre - A / omega * c, A * s, A * omega * c, -A * omega**2 * s)


def sinusoids(
    robot: Robot,
    *,
    amplitude: PerJoint | None = None,
    period: PerJoint | None = None,
    duration: float = 20.0,
    limits: MotionLimits | None = None,
    path_limits: Sequence[PathLimit] = (),
    seed: int = 0,
) -> Assembly:
    """Sinusoids per joint ([Gaz2019]_ eq. 31), from rest to rest and inside every limit.

    Args:
        robot: that will run it.
        amplitude: of each joint's velocity, rad/s or m/s; None, and whatever a limit forbids, is what the limits allow.
        period: of each joint in s; from 5 s at the base to 1.5 s at the tip when None.
        duration: seconds at full amplitude.
        limits: of the joints; those of the robot when None.
        path_limits: workspace or self-collision; effort is added.
        seed: of the search for a safe pose.
    """
    kept, paths, unchecked, anchor = _prepared(robot, limits, path_limits, seed)
    n_dof = robot.n_dof
    ladder = _SLOWEST * (_FASTEST / _SLOWEST) ** (np.arange(n_dof) / max(1, n_dof - 1))
    T = _per_joint(ladder if period is None else period, n_dof, "periods")
    if np.any(~(T > 0.0)) or not duration > 0.0:
        raise ExcitationError("periods and duration must be positive seconds")
    omega = 2.0 * np.pi / T
    span = kept.upper - kept.lower
    caps = (kept.velocity, kept.acceleration / omega, kept.jerk / omega**2, 0.5 * span * omega)
    largest = np.min(caps, axis=0) * (1.0 - 1e-3)
    wanted = largest if amplitude is None else _per_joint(amplitude, n_dof, "amplitudes")
    A = np.clip(wanted, -largest, largest)
    reach = np.abs(A) / omega
    centre = np.clip(anchor, kept.lower + reach, kept.upper - reach)
    assembly, _ = assemble(
        lambda scale: Sinusoids(scale * A, T, anchor + scale * (centre - anchor)),
        ramps=True,
        cruise=duration,
        limits=kept,
        path_limits=paths,
        unchecked=unchecked,
    )
    return assembly


def random_fourier(
    robot: Robot,
    *,
    basis: Basis | None = None,
    repeats: int = 1,
    limits: MotionLimits | None = None,
    path_limits: Sequence[PathLimit] = (),
    seed: int = 0,
) -> Assembly:
    """A random curve inside every limit: a motion that no fit has seen.

    Args:
        robot: that will run it.
        basis: family of curves; a Fourier series of 5 harmonics of 0.1 Hz when None.
        repeats: how often the curve is run.
        limits: of the joints; those of the robot when None.
        path_limits: workspace or self-collision; effort is added.
        seed: of the random numbers.
    """
    kept, paths, unchecked, anchor = _prepared(robot, limits, path_limits, seed)
    family = FourierBasis(5, 0.1) if basis is None else basis
    gauge = Gauge(family, kept, density=200)
    placed = gauge.place(gauge.random(np.random.default_rng(seed)))
    assembly, _ = assemble(
        lambda scale: family.curve(scale * placed.coefficients, anchor + scale * (placed.centre - anchor)),
        ramps=not family.at_rest,
        cruise=repeats * family.length,
        limits=kept,
        path_limits=paths,
        unchecked=unchecked,
    )
    return assembly


def point_to_point(
    robot: Robot,
    *,
    n_poses: int = 10,
    pause: float = 0.5,
    limits: MotionLimits | None = None,
    path_limits: Sequence[PathLimit] = (),
    seed: int = 0,
) -> Assembly:
    """Straight moves between random poses with pauses at each, as robots in production do.

    Args:
        robot: that will run it.
        n_poses: number of poses to visit.
        pause: seconds at each.
        limits: of the joints; those of the robot when None.
        path_limits: workspace or self-collision; effort is added.
        seed: of the random poses.
    """
    if n_poses < 1 or not pause > 0.0:
        raise ExcitationError("point to point needs at least one pose and a positive pause in s")
    kept, paths, unchecked, anchor = _prepared(robot, limits, path_limits, seed)
    rng = np.random.default_rng(seed)
    pieces: list[MotionPiece] = [Hold(anchor, pause)]
    here = anchor
    span = kept.upper - kept.lower
    for _ in range(n_poses):
        target = kept.lower + span * (ROUNDING + (1.0 - 2.0 * ROUNDING) * rng.random(robot.n_dof))
        move = _kept_move(here, target, anchor, kept, paths)
        pieces += [move, Hold(move.stop, pause)]
        here = move.stop
    trajectory = Trajectory(robot.joint_names, tuple(pieces))
    return Assembly(trajectory, certify(trajectory, kept, paths, unchecked=unchecked))


def _kept_move(
    here: Float[Array, " n_dof"],
    target: Float[Array, " n_dof"],
    anchor: Float[Array, " n_dof"],
    limits: MotionLimits,
    paths: Sequence[PathLimit],
) -> Move:
    """A move that keeps all limits: slower where the target asks for too much, nearer where that does not help.

    The last resort is to stay: the present pose was certified as the end of the move to it.
    """
    for share in (1.0, 0.7, 0.4, 0.2, 0.1, 0.0):
        goal = anchor + share * (target - anchor) if share else here
        quickest = limits_move(here, goal, limits)
        for slower in (1.0, 2.0, 5.0):
            move = Move(here, goal, slower * quickest.duration)
            if certify(Trajectory(limits.joint_names, (move, Hold(goal, 0.1))), limits, paths).holds:
                return move
    return Move(here, here, 0.1)


def _prepared(
    robot: Robot, limits: MotionLimits | None, given: Sequence[PathLimit], seed: int
) -> tuple[MotionLimits, tuple[PathLimit, ...], tuple[str, ...], Float[Array, " n_dof"]]:
    kept = MotionLimits.of(robot) if limits is None else limits
    paths, unchecked = with_effort(robot, kept, given)
    return kept, paths, unchecked, safe_pose(kept, paths, np.random.default_rng(seed))


def _per_joint(values: PerJoint, n_dof: int, what: str) -> Float[Array, " n_dof"]:
    array = np.asarray(values, dtype=float)
    if array.shape not in ((), (n_dof,)) or not np.all(np.isfinite(array)):
        raise ExcitationError(f"{what}: give one finite number, or {n_dof}, one a joint")
    return np.broadcast_to(array, (n_dof,)).copy()
