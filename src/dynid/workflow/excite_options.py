"""What `excite` seeks, and what the motion must keep: its keywords, and what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal, TypedDict, get_args

import numpy as np

from dynid.arrays import Array
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
from dynid.excitation.trajectory_files import read_coefficients
from dynid.workflow.doors import RobotKeywords, as_numbers, as_seed

__all__ = [
    "CriterionName",
    "ExciteKeywords",
    "ExciteLimits",
    "ExciteSearch",
    "LimitKeywords",
    "MotionFamily",
    "SearchKeywords",
    "ShapeKeywords",
    "TrajectoryLike",
    "earlier_motions",
]

MotionFamily = Literal["fourier", "spline", "random", "sinusoids", "point-to-point", "reverse-poses", "gravity-poses"]
"""fourier and spline are optimised; random, sinusoids, point-to-point are for validation; poses are static."""
CriterionName = Literal["condition", "scaled", "d-optimal"]
"""What the search makes small."""
TrajectoryLike = str | PathLike[str] | Trajectory
"""A file of coefficients, or a `Trajectory`."""


class ShapeKeywords(TypedDict, total=False):
    """What kind of motion."""

    kind: MotionFamily
    """fourier (the default) and spline are optimised; random, sinusoids, point-to-point are for validation;
    reverse-poses and gravity-poses are static."""
    poses: int
    """Number of static poses; 40."""
    harmonics: int
    """Of the Fourier series, 5; a spline gets three control points for each."""
    base_frequency: float | None
    """Hz, one over the period; None is 0.1, or one over the duration."""
    duration: float | None
    """Seconds at full speed, rounded up to whole periods; None is one period."""


class SearchKeywords(TypedDict, total=False):
    """What is sought, and for how long."""

    criterion: CriterionName
    """What the search makes small, condition by default; d-optimal weighs by `noise`."""
    noise: str | float | Sequence[float] | Array
    """Standard deviation of the torque, N·m or N: one number, or one a joint; 1."""
    after: TrajectoryLike | list[TrajectoryLike] | tuple[TrajectoryLike, ...]
    """Trajectories that were run already, or their coefficient files: the new one adds most to them."""
    start: str | Sequence[float] | Array | None
    """Pose to start and stop at, rad or m; None is any."""
    restarts: int
    """Random points to start the search from; 8."""
    time_budget: float
    """Seconds after which the best so far is returned; 30."""
    workers: int | None
    """Threads; None is one a processor."""
    seed: int
    """Of the random points; 0."""


class LimitKeywords(TypedDict, total=False):
    """What the motion must keep, beyond the limits of the robot file."""

    margin: float
    """Fraction of ranges, velocities, accelerations and jerks left unused; 0."""
    effort_margin: float
    """Fraction of the effort limits left unused; 0.1."""
    velocity: float
    """Limit for all joints, rad/s or m/s; none by default."""
    acceleration: float
    """Limit for all joints, rad/s² or m/s²; none by default."""
    jerk: float
    """Limit for all joints, rad/s³ or m/s³; none by default."""
    floor: float | None
    """Height that no link may go below, m in the base frame."""
    box: tuple[float, float, float, float, float, float] | None
    """Box to stay in: xmin ymin zmin xmax ymax zmax, m in the base frame."""
    clearance: float
    """Distance to floor, box and itself, m; 0.02."""
    self_collision: bool
    """Check collision geometry where the robot file has any; yes by default."""
    packages: Sequence[str | PathLike[str]]
    """Folders of package:// meshes."""


class ExciteKeywords(ShapeKeywords, SearchKeywords, LimitKeywords, RobotKeywords, total=False):
    """All that `dynid.excite` takes beyond its own arguments (SI): the shape, the search, limits and the robot."""


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

    @classmethod
    def of(cls, keywords: LimitKeywords) -> ExciteLimits:
        """From the keywords of a call (SI)."""
        return cls(
            margin=keywords.get("margin", 0.0),
            effort_margin=keywords.get("effort_margin", 0.1),
            velocity=keywords.get("velocity", np.inf),
            acceleration=keywords.get("acceleration", np.inf),
            jerk=keywords.get("jerk", np.inf),
            floor=keywords.get("floor"),
            box=keywords.get("box"),
            clearance=keywords.get("clearance", 0.02),
            self_collision=keywords.get("self_collision", True),
            packages=tuple(Path(folder) for folder in keywords.get("packages", ())),
        )

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

    @classmethod
    def of(cls, rate: float, keywords: ExciteKeywords) -> ExciteSearch:
        """From the keywords of a call, for a measurement at a rate in Hz.

        Raises:
            ConfigError: for a value of another type, or a name that does not exist.
        """
        start = keywords.get("start")
        return cls(
            kind=keywords.get("kind", "fourier"),
            poses=keywords.get("poses", 40),
            harmonics=keywords.get("harmonics", 5),
            base_frequency=keywords.get("base_frequency"),
            duration=keywords.get("duration"),
            rate=rate,
            criterion=keywords.get("criterion", "condition"),
            noise=as_numbers("noise", keywords.get("noise", 1.0)),
            after=tuple(_trajectory(one) for one in earlier_motions(keywords)),
            start=None if start is None else as_numbers("start", start),
            restarts=keywords.get("restarts", 8),
            time_budget=keywords.get("time_budget", 30.0),
            workers=keywords.get("workers"),
            seed=as_seed(keywords.get("seed", 0)),
        )

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


def earlier_motions(keywords: SearchKeywords) -> Sequence[TrajectoryLike]:
    """What `after` names: motions that were run already."""
    after = keywords.get("after", ())
    return tuple(after) if isinstance(after, list | tuple) else (after,)


def _trajectory(one: TrajectoryLike) -> Trajectory:
    if isinstance(one, Trajectory):
        return one
    if not isinstance(one, str | PathLike):
        raise ConfigError(f"after: expected a file of coefficients or a Trajectory, got {type(one).__name__}")
    return read_coefficients(Path(one))
