"""From a curve to a trajectory a robot may run: a safe pose, ramps, approach, and the certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from dynid.arrays import Array, Float
from dynid.errors import ExcitationError
from dynid.excitation.curves.curve import Curve, States
from dynid.excitation.limits.certificate import LimitCertificate, certify
from dynid.excitation.limits.clearance import ClearanceLimit
from dynid.excitation.limits.motion_limits import MotionLimits, PathLimit, path_unit
from dynid.excitation.trajectory import Cruise, MotionPiece, Move, Trajectory

__all__ = ["Assembly", "assemble", "check_static", "limits_move", "safe_pose"]

_RAMPS = (0.04, 0.06, 0.09, 0.13, 0.19, 0.27, 0.4, 0.6, 0.9)
"""Lengths of ramps to try, as a fraction of the curve's length."""
_PHASES = 48
"""Places on the curve to start from."""
_TRIES = 6
"""Ramps that are checked in full before the motion is made smaller."""
_SHRINK = 0.98
"""By which a motion is made smaller, at first, that has no ramp inside the limits."""
_BOLD = 0.7
"""By which it is made smaller at most."""
_COMFORTABLE = -0.3
"""Excess of the middle pose below which it serves as the safe pose."""


@dataclass(frozen=True)
class Assembly:
    """A trajectory that a robot may run, and its certificate."""

    trajectory: Trajectory
    certificate: LimitCertificate


def _worst(path_limits: Sequence[PathLimit], pose: Float[Array, " n_dof"]) -> tuple[float, str]:
    """The largest excess at rest in a pose (rad or m), in units of its limit, and of what."""
    found = [(-np.inf, "")]
    for path in path_limits:
        excess = path.excess(States.at_rest(pose[None]))[0] / path_unit(path)
        found.append((float(excess.max()), f"{path.name} of {path.labels[int(excess.argmax())]}"))
    return max(found)


def check_static(path_limits: Sequence[PathLimit], pose: Float[Array, " n_dof"], what: str) -> None:
    """Refuse a pose (rad or m) that the robot cannot hold.

    Raises:
        ExcitationError: naming the limit, the joint and the pose.
    """
    excess, label = _worst(path_limits, pose)
    if excess > 0.0:
        amount = _amount(path_limits, excess, label)
        raise ExcitationError(f"{what} ({_text(pose)}): the {label} is beyond its limit at rest, by {amount}")


def _text(pose: Float[Array, " n_dof"]) -> str:
    return ", ".join(f"{value:.4g}" for value in pose)


def _amount(path_limits: Sequence[PathLimit], excess: float, label: str) -> str:
    unit = next((path_unit(path) for path in path_limits if label.startswith(path.name)), 1.0)
    return f"{100.0 * excess:.3g} %" if label.startswith("effort") else f"{excess * unit:.3g} m"


def safe_pose(
    limits: MotionLimits, path_limits: Sequence[PathLimit], rng: np.random.Generator, *, n_poses: int = 300
) -> Float[Array, " n_dof"]:
    """A pose (rad or m) that keeps every path limit at rest: the middle of the ranges, or the best that is found.

    Raises:
        ExcitationError: there is none; the message names the joint (or wall) and the pose that comes closest.
    """
    middle = limits.middle
    if not path_limits or _worst(path_limits, middle)[0] <= _COMFORTABLE:
        return middle
    span = limits.upper - limits.lower
    roomy = [path.roomiest(limits, rng)[0] for path in path_limits if isinstance(path, ClearanceLimit)]
    poses = np.vstack([middle, *roomy, limits.lower + span * rng.random((n_poses, len(span)))])
    excess = np.max([path.excess(States.at_rest(poses)).max(axis=1) / path_unit(path) for path in path_limits], axis=0)
    best = poses[int(excess.argmin())]
    polished = minimize(  # type: ignore[call-overload]  # the stubs know no Nelder–Mead with these options
        lambda share: _worst(path_limits, limits.lower + span * np.clip(share, 0.0, 1.0))[0],
        (best - limits.lower) / span,
        method="Nelder-Mead",
        options={"maxfev": 200 * len(span)},
        tol=1e-4,
    )
    best = limits.lower + span * np.clip(polished.x, 0.0, 1.0)
    # A pose at the edge of its range leaves no room to move to either side.
    for inward in (0.1, 0.03, 0.01, 0.0):
        pose = best + inward * (middle - best)
        if _worst(path_limits, pose)[0] < 0.0:
            return pose
    worst, label = _worst(path_limits, best)
    if label.startswith("effort"):
        raise ExcitationError(
            f"effort limit below gravity: no pose was found that every joint can hold; closest is {_text(best)}, where "
            f"the {label} is {_amount(path_limits, worst, label)} above its limit (margin included); raise the limit, "
            "lower the margin, or correct the nominal masses"
        )
    raise ExcitationError(
        f"no pose inside all limits: closest is {_text(best)}, where the {label} is beyond its limit by "
        f"{_amount(path_limits, worst, label)}; move the `floor`, the boxes or the `clearance`, or correct the limit"
    )


def assemble(
    curve_at: Callable[[float], Curve],
    *,
    ramps: bool,
    cruise: float,
    limits: MotionLimits,
    path_limits: Sequence[PathLimit],
    start: Float[Array, " n_dof"] | None = None,
    unchecked: tuple[str, ...] = (),
    hurried: Callable[[], bool] = lambda: False,
) -> tuple[Assembly, Curve]:
    """The certified trajectory of a curve that keeps the joint limits, and the curve as it is run.

    Where no ramp, or no path limit between samples, allows the whole motion, it shrinks until one does.

    Args:
        curve_at: the curve at a scale from 1 (as wanted) towards 0 (at rest in a pose that keeps all limits).
        ramps: whether the curve needs ramps; one that starts and ends at rest does not.
        cruise: seconds at full speed.
        limits: of the joints.
        path_limits: of all joints together.
        start: pose in rad or m where the robot starts and stops; None is wherever the curve's ramp starts.
        unchecked: limits that the certificate should name as not checked.
        hurried: whether time is up: the motion then shrinks in bolder steps, and fewer ramps are tried.
    """
    scale, shrink, fault = 1.0, _SHRINK, ""
    while scale > 1e-9:
        curve = curve_at(scale)
        for piece in _pieces(curve, limits, cruise) if ramps else (Cruise(curve, 0.0, cruise, 0.0),):
            pieces = _with_approach(piece, start, limits)
            trajectory = Trajectory(limits.joint_names, pieces)
            certificate = certify(trajectory, limits, path_limits, unchecked=unchecked)
            if certificate.holds:
                return Assembly(trajectory, certificate), curve
            fault = ", ".join(f"{use.quantity} of {use.label}" for use in certificate.violations[:3])
            if hurried():
                break
        # Each step is bolder than the last: a motion that has to become small gets there soon.
        scale, shrink = scale * (_BOLD if hurried() else shrink), max(shrink**1.5, _BOLD)
    raise ExcitationError(
        f"no trajectory keeps every limit ({fault}); with a start pose, the straight move from it to the motion must "
        "be free too: choose another, or none"
    )


def _pieces(curve: Curve, limits: MotionLimits, cruise: float) -> Iterator[Cruise]:
    """The curve from rest to rest, best ramps first."""
    span = min(curve.length, cruise)
    phases = np.arange(_PHASES) * span / _PHASES
    tries = 0
    for share in _RAMPS:
        used = _ramp_uses(Cruise(curve, 0.0, cruise, share * span), phases, limits)
        for k in np.argsort(used, kind="stable")[:2]:
            if used[k] < 1.0 - 1e-3 and tries < _TRIES:
                tries += 1
                yield Cruise(curve, float(phases[k]), cruise, share * span)


def _ramp_uses(piece: Cruise, phases: Float[Array, " n_phases"], limits: MotionLimits) -> Float[Array, " n_phases"]:
    """Largest share of acceleration and jerk limits that the two ramps use from each phase (s), a ratio."""
    t = np.linspace(0.0, piece.ramp, 61)
    _, _, ddq, dddq = piece.at(np.concatenate([t, piece.duration - t]), phases=phases)
    acceleration, jerk = np.abs(ddq) / limits.acceleration, np.abs(dddq) / limits.jerk
    return np.maximum(acceleration, jerk).reshape(len(phases), -1).max(axis=1)


def _with_approach(
    piece: Cruise, start: Float[Array, " n_dof"] | None, limits: MotionLimits
) -> tuple[MotionPiece, ...]:
    if start is None:
        return (piece,)
    ends = piece.at(np.array([0.0, piece.duration])).q
    return (limits_move(start, ends[0], limits), piece, limits_move(ends[1], start, limits))


def limits_move(start: Float[Array, " n_dof"], stop: Float[Array, " n_dof"], limits: MotionLimits) -> Move:
    """The quickest straight move between two poses (rad or m) inside the joint limits."""
    caps = (limits.velocity, limits.acceleration, limits.jerk)
    velocity, acceleration, jerk = (cap * (1.0 - 1e-3) for cap in caps)
    return Move.fastest(start, stop, velocity=velocity, acceleration=acceleration, jerk=jerk)
