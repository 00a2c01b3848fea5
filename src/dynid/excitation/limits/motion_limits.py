"""What a motion must keep: limits of the joints, limits along the path, and the check that they are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import Robot
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import ExcitationError
from dynid.excitation.curves.curve import PerJoint, States
from dynid.excitation.trajectory import Cruise, MotionPiece, Trajectory

__all__ = [
    "EffortLimit",
    "LimitCertificate",
    "LimitUse",
    "MotionLimits",
    "PathLimit",
    "certify",
    "highest_between",
    "with_effort",
]

FREE_RANGE = {"revolute": np.pi, "prismatic": 0.5}
"""How far a joint without position limits is moved to either side, rad or m."""
ROUNDING = 1e-9
"""Relative: designs stay this much inside every limit, so that rounding cannot take them out."""
_POINTS_PER_CYCLE = 1000
"""Samples of a certificate per period of the highest frequency."""


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of every joint as a motion must keep them, margins already taken off."""

    joint_names: tuple[str, ...]
    lower: Float[Array, " n_dof"]
    """rad or m."""
    upper: Float[Array, " n_dof"]
    """rad or m."""
    velocity: Float[Array, " n_dof"]
    """rad/s or m/s; infinite where there is none."""
    acceleration: Float[Array, " n_dof"]
    """rad/s² or m/s²; infinite where there is none."""
    jerk: Float[Array, " n_dof"]
    """rad/s³ or m/s³; infinite where there is none."""
    effort: Float[Array, " n_dof"]
    """N·m or N; infinite where there is none."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        for j, name in enumerate(self.joint_names):
            if not (np.isfinite(self.lower[j]) and np.isfinite(self.upper[j])):
                raise ExcitationError(f"joint {name!r}: a motion needs finite position limits; give them")
            if not self.lower[j] < self.upper[j]:
                raise ExcitationError(
                    f"joint {name!r}: contradictory limits, nothing lies between {self.lower[j]:g} and "
                    f"{self.upper[j]:g}; lock the joint if it must not move, or reduce the margin"
                )
            for kind in ("velocity", "acceleration", "jerk", "effort"):
                value = float(getattr(self, kind)[j])
                if not value > 0.0:
                    raise ExcitationError(
                        f"joint {name!r}: contradictory limits, {kind} limit {value:g} allows no motion; "
                        "lock the joint if it must not move"
                    )

    @classmethod
    def of(
        cls,
        robot: Robot,
        *,
        lower: PerJoint = -np.inf,
        upper: PerJoint = np.inf,
        velocity: PerJoint = np.inf,
        acceleration: PerJoint = np.inf,
        jerk: PerJoint = np.inf,
        margin: float = 0.0,
        effort_margin: float = 0.1,
    ) -> MotionLimits:
        """The limits of a robot file, or tighter ones.

        Args:
            robot: whose limits; a joint without position limits is kept within `FREE_RANGE` of zero (or of its limit).
            lower: positions in rad or m, a number or one a joint, that hold in addition.
            upper: likewise.
            velocity: per s, likewise.
            acceleration: per s², likewise.
            jerk: per s³, likewise.
            margin: fraction of range, velocity, acceleration and jerk that stays unused.
            effort_margin: fraction of the effort limit that stays unused, for what the nominal model does not know.
        """
        for text, value in (("margin", margin), ("effort margin", effort_margin)):
            if not 0.0 <= value < 1.0:
                raise ExcitationError(f"{text} {value:g}: it is a fraction of the limit, from 0 up to below 1")
        low, high = _ranges(robot)
        low, high = np.maximum(low, lower), np.minimum(high, upper)
        unused = 0.5 * margin * np.maximum(high - low, 0.0)
        found = {
            kind: np.array([getattr(joint.limits, kind) for joint in robot.joints])
            for kind in ("velocity", "acceleration", "jerk", "effort")
        }
        keep = 1.0 - margin
        return cls(
            robot.joint_names,
            lower=low + unused,
            upper=high - unused,
            velocity=keep * np.minimum(found["velocity"], velocity),
            acceleration=keep * np.minimum(found["acceleration"], acceleration),
            jerk=keep * np.minimum(found["jerk"], jerk),
            effort=(1.0 - effort_margin) * found["effort"],
        )

    @property
    def middle(self) -> Float[Array, " n_dof"]:
        """The pose in the middle of all ranges, rad or m."""
        return 0.5 * (self.lower + self.upper)

    def check_pose(self, pose: PerJoint, what: str) -> Float[Array, " n_dof"]:
        """The pose (rad or m) as an array, if it lies within the position limits.

        Raises:
            ExcitationError: naming the joint that does not.
        """
        values = np.asarray(pose, dtype=float)
        if values.shape != self.lower.shape or not np.all(np.isfinite(values)):
            raise ExcitationError(f"{what} must be {len(self.lower)} finite numbers, one a joint, got {values!r}")
        for j, name in enumerate(self.joint_names):
            if not self.lower[j] <= values[j] <= self.upper[j]:
                raise ExcitationError(
                    f"{what}: joint {name!r} at {values[j]:g} lies outside its limits "
                    f"{self.lower[j]:g} … {self.upper[j]:g}"
                )
        return values


def _ranges(robot: Robot) -> tuple[Float[Array, " n_dof"], Float[Array, " n_dof"]]:
    low, high = np.empty(robot.n_dof), np.empty(robot.n_dof)
    for j, joint in enumerate(robot.joints):
        free, limits = FREE_RANGE[joint.type], joint.limits
        low[j] = limits.lower if np.isfinite(limits.lower) else min(-free, limits.upper - 2.0 * free)
        high[j] = limits.upper if np.isfinite(limits.upper) else max(free, limits.lower + 2.0 * free)
    return low, high


@runtime_checkable
class PathLimit(Protocol):
    """A limit on the motion of all joints together: effort, workspace, collision."""

    @property
    def name(self) -> str:
        """What it limits."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """One for each column of `excess`: a joint, a point, a pair of bodies."""
        ...

    @property
    def rate_hz(self) -> float:
        """At how many Hz it is worth checking."""
        ...

    def excess(self, states: States) -> Float[Array, "n_samples n_columns"]:
        """How far each column is beyond its limit, in units of the limit or m; not positive where it is kept."""
        ...


@dataclass(frozen=True, eq=False)
class EffortLimit:
    """Joint torques of the nominal rigid model stay below the effort limits."""

    robot: Robot
    effort: Float[Array, " n_dof"]
    """N·m or N, margin taken off; infinite where there is none."""
    rate_hz: float = 1000.0
    """Samples a second at which it is checked, Hz."""

    @property
    def name(self) -> str:
        """Effort."""
        return "effort"

    @property
    def labels(self) -> tuple[str, ...]:
        """The joints with a limit, each once for either sign."""
        names = [name for name, limit in zip(self.robot.joint_names, self.effort, strict=True) if np.isfinite(limit)]
        return (*names, *names)

    def torque(self, states: States) -> Float[Array, "n_samples n_dof"]:
        """Torque of the nominal rigid model, N·m or N."""
        motion = Motion(np.arange(len(states.q), dtype=float), states.q, states.dq, states.ddq)
        return self._model.torque(motion, self._nominal)

    @cached_property
    def _model(self) -> TorqueModel:
        return TorqueModel(self.robot)

    @cached_property
    def _nominal(self) -> Float[Array, " n_params"]:
        return self._model.nominal()

    def excess(self, states: States) -> Float[Array, "n_samples n_columns"]:
        """Torque beyond the limit, as a fraction of the limit."""
        limited = np.isfinite(self.effort)
        used = self.torque(states)[:, limited] / self.effort[limited]
        return np.concatenate([used - 1.0, -used - 1.0], axis=1)


def with_effort(
    robot: Robot, limits: MotionLimits, given: Sequence[PathLimit]
) -> tuple[tuple[PathLimit, ...], tuple[str, ...]]:
    """The path limits given and that of effort (N·m or N), and a sentence for each limit that cannot be checked."""
    if not np.any(np.isfinite(limits.effort)) or any(isinstance(path, EffortLimit) for path in given):
        return tuple(given), ()
    if not robot.has_nominal:
        return tuple(given), ("effort: the robot has effort limits but no nominal inertias to predict efforts with",)
    return (*given, EffortLimit(robot, limits.effort)), ()


def highest_between(values: Float[Array, "n_samples n_columns"]) -> Float[Array, " n_columns"]:
    """The largest each column can be, also between its equidistant samples (same unit).

    Half the second difference is four times what a parabola rises above its samples, and twice what a corner does.
    """
    if len(values) < 3:
        return values.max(axis=0)
    bend = np.abs(np.diff(values, 2, axis=0))
    reach = np.zeros_like(values)
    for shift in (0, 1, 2):
        part = reach[shift : shift + len(bend)]
        np.maximum(part, bend, out=part)
    return (values + 0.5 * reach).max(axis=0)


@dataclass(frozen=True)
class LimitUse:
    """How much of one limit a motion uses, at any instant."""

    quantity: str
    """``position``, ``velocity``, ``acceleration``, ``jerk``, ``effort`` or the name of another path limit."""
    label: str
    """The joint, or the point or pair of bodies."""
    reached: float
    """The largest value (SI); for a path limit its excess, in units of the limit or m."""
    limit: float
    """What it may be, in the same unit; infinite where there is no limit."""

    @property
    def kept(self) -> bool:
        """Whether the limit holds."""
        return self.reached <= self.limit


@dataclass(frozen=True)
class LimitCertificate:
    """The check of a trajectory against every limit: dense samples, and an estimate of what happens between them."""

    uses: tuple[LimitUse, ...]
    rate_hz: float
    """Grid on which the joints were checked, Hz; what can happen between its points is included."""
    unchecked: tuple[str, ...] = ()
    """Limits that could not be checked, and why."""

    @property
    def holds(self) -> bool:
        """Whether every limit is kept."""
        return all(use.kept for use in self.uses)

    @property
    def violations(self) -> tuple[LimitUse, ...]:
        """The limits that are not kept."""
        return tuple(use for use in self.uses if not use.kept)


def certify(
    trajectory: Trajectory,
    limits: MotionLimits,
    path_limits: Sequence[PathLimit] = (),
    *,
    rate_hz: float = 0.0,
    unchecked: tuple[str, ...] = (),
) -> LimitCertificate:
    """Check a trajectory against every limit, on a dense grid with an allowance for what happens between its points.

    Args:
        trajectory: what the robot would run.
        limits: of the joints.
        path_limits: of all joints together.
        rate_hz: of the grid, Hz; at least 1000 Hz and 1000 points a period of the highest frequency whatever is given.
        unchecked: what the certificate should name as not checked.
    """
    rate = max(rate_hz, 1000.0, _POINTS_PER_CYCLE * trajectory.bandwidth_hz)
    n_dof = trajectory.n_dof
    top = np.full((5, n_dof), -np.inf)
    worst = [np.full(len(path.labels), -np.inf) for path in path_limits]
    for piece in trajectory.pieces:
        states = _sampled(piece, rate)
        sizes = (-states.q, states.q, np.abs(states.dq), np.abs(states.ddq), np.abs(states.dddq))
        for row, values in enumerate(sizes):
            top[row] = np.maximum(top[row], highest_between(values))
        for k, path in enumerate(path_limits):
            there = states if path.rate_hz >= rate else _sampled(piece, path.rate_hz)
            worst[k] = np.maximum(worst[k], highest_between(path.excess(there)))
    uses = [
        *_uses("position", trajectory.joint_names, top[1], limits.upper),
        *_uses("−position", trajectory.joint_names, top[0], -limits.lower),
        *_uses("velocity", trajectory.joint_names, top[2], limits.velocity),
        *_uses("acceleration", trajectory.joint_names, top[3], limits.acceleration),
        *_uses("jerk", trajectory.joint_names, top[4], limits.jerk),
    ]
    for path, values in zip(path_limits, worst, strict=True):
        uses += _uses(path.name, path.labels, values, np.zeros(len(values)))
    return LimitCertificate(tuple(uses), rate, unchecked)


def _uses(
    quantity: str, labels: Sequence[str], reached: Float[Array, " n_columns"], limit: Float[Array, " n_columns"]
) -> Iterator[LimitUse]:
    for label, value, bound in zip(labels, reached, limit, strict=True):
        yield LimitUse(quantity, label, float(value), float(bound))


def _sampled(piece: MotionPiece, rate_hz: float) -> States:
    """States of a piece on an even grid that holds both ends; whole repetitions of a curve are checked once."""
    if isinstance(piece, Cruise) and np.isfinite(piece.curve.length):
        repeats = int(piece.cruise / piece.curve.length * (1.0 + 1e-12))
        piece = replace(piece, cruise=piece.cruise - max(repeats - 1, 0) * piece.curve.length)
    n_samples = max(3, int(np.ceil(piece.duration * rate_hz)) + 1)
    return piece.at(np.linspace(0.0, piece.duration, n_samples))
