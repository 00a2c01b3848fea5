"""What `excite` seeks, and what the motion must keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import ConfigError, ExcitationError
from dynid.excitation.criteria import ConditionNumber, DesignCriterion, DOptimality
from dynid.excitation.curves.bspline import SplineBasis
from dynid.excitation.curves.fourier import FourierBasis
from dynid.excitation.limits.collision import self_collision
from dynid.excitation.limits.motion_limits import MotionLimits, PathLimit
from dynid.excitation.limits.workspace import Workspace, WorkspaceLimit
from dynid.excitation.sequential import Information
from dynid.excitation.trajectory import Trajectory

__all__ = ["CriterionName", "ExciteLimits", "ExciteSearch", "MotionFamily"]

MotionFamily = Literal["fourier", "spline", "random", "sinusoids", "point-to-point", "reverse-poses", "gravity-poses"]
"""fourier and spline are optimised; random, sinusoids, point-to-point are for validation; poses are static."""
CriterionName = Literal["condition", "scaled", "d-optimal"]
"""What the search makes small."""


@dataclass(frozen=True, kw_only=True)
class ExciteLimits:
    """What a motion must keep, beyond the limits of the robot file."""

    margin: float
    """Fraction of ranges, velocities, accelerations and jerks left unused."""
    effort_margin: float
    """Fraction of the effort limits left unused."""
    velocity: float
    """For all joints, rad/s or m/s."""
    acceleration: float
    """For all joints, rad/s² or m/s²."""
    jerk: float
    """For all joints, rad/s³ or m/s³."""
    floor: float | None
    """Height that no link may go below, m in the base frame."""
    box: tuple[float, float, float, float, float, float] | None
    """Box to stay in: xmin ymin zmin xmax ymax zmax, m in the base frame."""
    clearance: float
    """Distance to floor, box and itself, m."""
    self_collision: bool
    """Whether collision geometry is checked where the robot file has any."""
    packages: tuple[Path, ...]
    """Folders of package:// meshes."""

    def motion(self, robot: Robot) -> MotionLimits:
        """Limits of the joints (SI)."""
        return MotionLimits.of(
            robot,
            velocity=self.velocity,
            acceleration=self.acceleration,
            jerk=self.jerk,
            margin=self.margin,
            effort_margin=self.effort_margin,
        )

    def paths(
        self, robot: Robot, limits: MotionLimits, held: Mapping[str, float]
    ) -> tuple[tuple[PathLimit, ...], tuple[str, ...]]:
        """Limits of all joints together, and what is not checked; `held` are positions of locked joints, rad or m."""
        found: list[PathLimit] = []
        if self.floor is not None or self.box is not None:
            corners = np.array(self.box or (-np.inf,) * 3 + (np.inf,) * 3)
            lower = np.maximum(corners[:3], [-np.inf, -np.inf, -np.inf if self.floor is None else self.floor])
            space = Workspace(lower=lower, upper=corners[3:], clearance=self.clearance)
            found.append(WorkspaceLimit(robot, space))
        if not self.self_collision:
            return tuple(found), ()
        try:
            limit = self_collision(
                robot, limits.middle, clearance=self.clearance, held=held, package_dirs=self.packages
            )
        except ExcitationError as error:
            return tuple(found), (f"self-collision is not checked: {error}",)
        return (*found, *(() if limit is None else (limit,))), ()


@dataclass(frozen=True, kw_only=True, eq=False)
class ExciteSearch:
    """The shape of the motion, and what is sought for how long."""

    kind: MotionFamily
    poses: int
    """Number of static poses."""
    harmonics: int
    """Of the Fourier series; a spline gets three control points for each."""
    base_frequency: float | None
    """Hz, one over the period; None is 0.1, or one over the duration."""
    duration: float | None
    """Seconds at full speed; None is one period."""
    rate: float
    """Of the measurement, Hz."""
    criterion: CriterionName
    noise: tuple[float, ...]
    """Standard deviation of the torque, N·m or N, one or one a joint."""
    after: tuple[Trajectory, ...]
    """Motions that were run already."""
    start: tuple[float, ...] | None
    """Pose to start and stop at, rad or m; None for any."""
    restarts: int
    time_budget: float
    """Seconds after which the best so far is returned."""
    workers: int | None
    """Threads; None is one a processor."""
    seed: int

    def __post_init__(self) -> None:
        for name, known in (("kind", MotionFamily), ("criterion", CriterionName)):
            if getattr(self, name) not in get_args(known):
                raise ConfigError(f"{name}: no {getattr(self, name)!r}; known: {', '.join(get_args(known))}")

    @property
    def is_searched(self) -> bool:
        """Whether the motion is optimised."""
        return self.kind in ("fourier", "spline")

    @property
    def is_static(self) -> bool:
        """Whether poses are wanted, not a motion."""
        return self.kind in ("reverse-poses", "gravity-poses")

    def basis(self) -> tuple[FourierBasis | SplineBasis, int]:
        """The family of curves and how often one is run; the rate must be able to carry it.

        Raises:
            ExcitationError: for a frequency or a duration that is not positive, or too low a rate.
        """
        for name, value in (("base_frequency", self.base_frequency), ("duration", self.duration)):
            if value is not None and not (np.isfinite(value) and value > 0.0):
                raise ExcitationError(f"`{name}` {value:g}: it must be positive")
        frequency = self.base_frequency or (1.0 / self.duration if self.duration else 0.1)
        if self.kind == "spline":
            family: FourierBasis | SplineBasis = SplineBasis(3 * self.harmonics, self.duration or 1.0 / frequency)
            repeats = 1
        else:
            family = FourierBasis(self.harmonics, frequency)
            repeats = max(1, int(np.ceil((self.duration or 0.0) * frequency - 1e-9)))
        if self.rate <= 2.0 * family.bandwidth_hz:
            raise ExcitationError(
                f"{self.harmonics} harmonics of {1.0 / family.length:g} Hz reach {family.bandwidth_hz:g} Hz, more than "
                f"a rate of {self.rate:g} Hz can carry; use fewer `harmonics`, a lower `base_frequency` "
                "or a higher `rate`"
            )
        return family, repeats

    def known(self, model: TorqueModel, base: BaseParameters) -> Information | None:
        """What the earlier motions told when measured at the rate; None where there were none."""
        known: Information | None = None
        for trajectory in self.after:
            if trajectory.joint_names != model.robot.joint_names:
                names = ", ".join(trajectory.joint_names)
                raise ExcitationError(f"`after`: an earlier motion is for joints {names}, not this robot's")
            told = Information.of(model, trajectory.motion(self.rate), noise_std=self.noise, base=base)
            known = told if known is None else known + told
        return known

    def sought(self, known: Information | None, n_samples: float) -> DesignCriterion:
        """The criterion of the search, for a run measured at so many samples."""
        if known is not None:
            return known.criterion(noise_std=self.noise, n_samples=n_samples)
        if self.criterion == "d-optimal":
            return DOptimality(noise_std=self.noise, n_samples=n_samples)
        return ConditionNumber(scaled=self.criterion == "scaled")
