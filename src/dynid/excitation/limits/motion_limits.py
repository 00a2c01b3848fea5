"""What a motion must keep: limits of the joints, and limits along the path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import Robot
from dynid.dynamics.kernels.adjoint import pull_back
from dynid.dynamics.kernels.chains import ChainArrays, chain_arrays
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import ExcitationError
from dynid.excitation.curves.curve import PerJoint, States

__all__ = [
    "EffortLimit",
    "MotionLimits",
    "PathLimit",
    "SlopedLimit",
    "path_unit",
    "with_effort",
]

FREE_RANGE = {"revolute": np.pi, "prismatic": 0.5}
"""How far a joint without position limits is moved to either side, rad or m."""
ROUNDING = 1e-9
"""Relative: designs stay this much inside every limit, so that rounding cannot take them out."""


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
        # Files write 0 for an effort limit that nobody knows: no joint could hold itself.
        found["effort"] = np.where(found["effort"] > 0.0, found["effort"], np.inf)
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


@runtime_checkable
class SlopedLimit(PathLimit, Protocol):
    """A path limit that knows its own derivative."""

    @property
    def unit(self) -> float:
        """Excess that weighs as much as the whole of an effort limit, in the unit of the excess."""
        ...

    def slope(
        self, states: States, weight: Float[Array, "n_samples n_columns"]
    ) -> tuple[Float[Array, "n_samples n_dof"], ...]:
        """Derivative by q, dq and ddq (SI) of the sum of all excesses, each times its weight."""
        ...


def path_unit(path: PathLimit) -> float:
    """What excesses of a path limit are divided by (their unit), so that those of different limits compare."""
    return path.unit if isinstance(path, SlopedLimit) else 1.0


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

    @property
    def unit(self) -> float:
        """The limit itself, a ratio."""
        return 1.0

    def slope(
        self, states: States, weight: Float[Array, "n_samples n_columns"]
    ) -> tuple[Float[Array, "n_samples n_dof"], ...]:
        """Derivative by q, dq and ddq (SI) of the sum of all excesses, each times its weight."""
        limited = np.isfinite(self.effort)
        up, down = np.split(weight, 2, axis=1)
        tau_bar = np.zeros_like(states.q)
        tau_bar[:, limited] = (up - down) / self.effort[limited]
        Y_bar = tau_bar[:, :, None] * self._nominal
        bars = tuple(np.empty_like(states.q) for _ in range(3))
        pull_back(self._chain, states.q, states.dq, states.ddq, Y_bar, 0, len(Y_bar), *bars)
        return bars

    @cached_property
    def _chain(self) -> ChainArrays:
        return chain_arrays(self.robot)

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
