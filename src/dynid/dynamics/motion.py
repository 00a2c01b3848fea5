"""A motion: positions, velocities and accelerations at common times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import Robot
from dynid.errors import MotionError
from dynid.prose import counted

__all__ = ["Motion", "random_motion"]


@dataclass(frozen=True, eq=False)
class Motion:
    """Joint positions, velocities and accelerations of a robot, sample by sample."""

    t: Float[Array, " n_samples"]
    """Time in s."""
    q: Float[Array, "n_samples n_dof"]
    """Positions in rad or m."""
    dq: Float[Array, "n_samples n_dof"]
    """Velocities in rad/s or m/s."""
    ddq: Float[Array, "n_samples n_dof"]
    """Accelerations in rad/s² or m/s²."""

    def __post_init__(self) -> None:
        shape = np.shape(self.q)
        if len(shape) != 2 or np.shape(self.dq) != shape or np.shape(self.ddq) != shape:
            raise MotionError(
                f"q, dq and ddq must share one shape (n_samples, n_dof), got {shape}, {np.shape(self.dq)}, "
                f"{np.shape(self.ddq)}"
            )
        if np.shape(self.t) != shape[:1]:
            raise MotionError(f"{shape[0]} samples but {np.shape(self.t)} time stamps")
        freeze_arrays(self)
        for name in ("t", "q", "dq", "ddq"):
            values = getattr(self, name)
            if not np.all(np.isfinite(values)):
                where = np.argwhere(~np.isfinite(values))[0]
                joint = f", joint {where[1] + 1}" if len(where) > 1 else ""
                raise MotionError(
                    f"{name} is not finite at sample {where[0]}{joint} ({values[tuple(where)]}); "
                    "repair or mask the sample before it gets here"
                )

    def __repr__(self) -> str:
        span = f"{self.t[0]:.4g} s to {self.t[-1]:.4g} s" if self.n_samples else "no time"
        return f"Motion({counted(self.n_samples, 'sample')}, {counted(self.n_dof, 'joint')}, {span})"

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.t)

    @property
    def n_dof(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    def part(self, start: int, stop: int) -> Motion:
        """Samples `start` to `stop` (exclusive); a view, since what is frozen and checked stays so."""
        piece = object.__new__(Motion)
        for name in ("t", "q", "dq", "ddq"):
            object.__setattr__(piece, name, getattr(self, name)[start:stop])
        return piece

    @classmethod
    def at_rest(cls, q: Float[Array, "n_samples n_dof"]) -> Motion:
        """Still postures (rad or m), one a second."""
        zeros = np.zeros_like(q)
        return cls(np.arange(len(q), dtype=float), q, zeros, zeros)


def random_motion(
    robot: Robot, n_samples: int, rng: np.random.Generator, *, speed: float = 1.0, within_limits: bool = True
) -> Motion:
    """Independent random states, positions inside the limits (±π rad or ±1 m where there are none).

    Args:
        robot: whose joints move.
        n_samples: number of states.
        rng: the only source of randomness.
        speed: scale of velocities (per s) and, squared, accelerations (per s²).
        within_limits: False draws positions from ±π rad or ±1 m whatever the limits.
    """
    q = np.empty((n_samples, robot.n_dof))
    for j, joint in enumerate(robot.joints):
        lower, upper = (-np.pi, np.pi) if joint.type == "revolute" else (-1.0, 1.0)
        if within_limits:
            lower = joint.limits.lower if np.isfinite(joint.limits.lower) else min(lower, joint.limits.upper)
            upper = joint.limits.upper if np.isfinite(joint.limits.upper) else max(upper, joint.limits.lower)
        q[:, j] = rng.uniform(lower, upper, n_samples)
    dq = rng.uniform(-speed, speed, q.shape)
    ddq = rng.uniform(-(speed**2), speed**2, q.shape)
    return Motion(np.arange(n_samples, dtype=float), q, dq, ddq)
