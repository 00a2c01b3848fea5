"""Options of ``dynid excite``: the shape of the motion, what is sought, and what must be kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from cyclopts import Parameter

from dynid.chain import Robot
from dynid.cli.console import warn
from dynid.dynamics import BaseParameters, TorqueModel
from dynid.errors import ExcitationError
from dynid.excitation import (
    ConditionNumber,
    DesignCriterion,
    DOptimality,
    FourierBasis,
    Information,
    MotionLimits,
    PathLimit,
    SplineBasis,
    Workspace,
    WorkspaceLimit,
    read_coefficients,
    self_collision,
)

__all__ = ["Kind", "LimitOptions", "SearchOptions", "ShapeOptions"]

Kind = Literal["fourier", "spline", "random", "sinusoids", "point-to-point", "reverse-poses", "gravity-poses"]
CriterionName = Literal["condition", "scaled", "d-optimal"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """What the motion must keep, beyond the limits of the robot file."""

    margin: Annotated[float, Parameter(help="Fraction of ranges, velocities, accelerations and jerks left unused.")] = (
        0.0
    )
    effort_margin: Annotated[float, Parameter(help="Fraction of the effort limits left unused.")] = 0.1
    velocity: Annotated[float, Parameter(help="Limit for all joints, rad/s or m/s.")] = np.inf
    acceleration: Annotated[float, Parameter(help="Limit for all joints, rad/s² or m/s².")] = np.inf
    jerk: Annotated[float, Parameter(help="Limit for all joints, rad/s³ or m/s³.")] = np.inf
    floor: Annotated[float | None, Parameter(help="Height that no link may go below, m in the base frame.")] = None
    box: Annotated[
        tuple[float, float, float, float, float, float] | None,
        Parameter(help="Box to stay in: xmin ymin zmin xmax ymax zmax, m in the base frame."),
    ] = None
    clearance: Annotated[float, Parameter(help="Distance to floor, box and itself, m.")] = 0.02
    self_collision: Annotated[bool, Parameter(help="Check collision geometry where the robot file has any.")] = True
    packages: Annotated[tuple[Path, ...], Parameter(help="Folders of package:// meshes.")] = ()

    def motion(self, robot: Robot) -> MotionLimits:
        """Limits of the joints."""
        return MotionLimits.of(
            robot,
            velocity=self.velocity,
            acceleration=self.acceleration,
            jerk=self.jerk,
            margin=self.margin,
            effort_margin=self.effort_margin,
        )

    def paths(self, robot: Robot, limits: MotionLimits, held: Mapping[str, float]) -> tuple[PathLimit, ...]:
        """Limits of all joints together; `held` are the positions of locked joints, rad or m."""
        found: list[PathLimit] = []
        if self.floor is not None or self.box is not None:
            corners = np.array(self.box or (-np.inf,) * 3 + (np.inf,) * 3)
            lower = np.maximum(corners[:3], [-np.inf, -np.inf, -np.inf if self.floor is None else self.floor])
            space = Workspace(lower=lower, upper=corners[3:], clearance=self.clearance)
            found.append(WorkspaceLimit(robot, space))
        if self.self_collision:
            try:
                limit = self_collision(
                    robot, limits.middle, clearance=self.clearance, held=held, package_dirs=self.packages
                )
            except ExcitationError as error:
                warn(f"self-collision is not checked: {error}")
            else:
                found += [limit] if limit is not None else []
        return tuple(found)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ShapeOptions:
    """What kind of motion."""

    kind: Annotated[
        Kind,
        Parameter(
            help="fourier and spline are optimised; random, sinusoids, point-to-point are for validation; "
            "reverse-poses and gravity-poses are static."
        ),
    ] = "fourier"
    poses: Annotated[int, Parameter(help="Number of static poses, for reverse-poses and gravity-poses.")] = 40
    harmonics: Annotated[int, Parameter(help="Of the Fourier series; a spline gets three control points for each.")] = 5
    base_frequency: Annotated[
        float | None, Parameter(help="Hz, one over the period [default: 0.1, or one over the duration].")
    ] = None
    duration: Annotated[
        float | None,
        Parameter(help="Seconds at full speed, rounded up to whole periods [default: one period]."),
    ] = None

    def basis(self, rate: float) -> tuple[FourierBasis | SplineBasis, int]:
        """The family of curves and how often one is run; `rate` in Hz must be able to carry it."""
        for name, value in (("--base-frequency", self.base_frequency), ("--duration", self.duration)):
            if value is not None and not (np.isfinite(value) and value > 0.0):
                raise ExcitationError(f"{name} {value:g}: it must be positive")
        frequency = self.base_frequency or (1.0 / self.duration if self.duration else 0.1)
        if self.kind == "spline":
            family: FourierBasis | SplineBasis = SplineBasis(3 * self.harmonics, self.duration or 1.0 / frequency)
            repeats = 1
        else:
            family = FourierBasis(self.harmonics, frequency)
            repeats = max(1, int(np.ceil((self.duration or 0.0) * frequency - 1e-9)))
        if rate <= 2.0 * family.bandwidth_hz:
            raise ExcitationError(
                f"{self.harmonics} harmonics of {1.0 / family.length:g} Hz reach {family.bandwidth_hz:g} Hz, more than "
                f"a rate of {rate:g} Hz can carry; use fewer harmonics, a lower base frequency or a higher rate"
            )
        return family, repeats


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """What is sought, and for how long."""

    criterion: Annotated[CriterionName, Parameter(help="What the search makes small; d-optimal weighs by --noise.")] = (
        "condition"
    )
    noise: Annotated[
        str, Parameter(help="Standard deviation of the torque, N·m or N: one number, or S1,S2,… one a joint.")
    ] = "1"
    after: Annotated[
        tuple[Path, ...],
        Parameter(help="Coefficients (.toml) of trajectories that were run already: the new one adds most to them."),
    ] = ()
    start: Annotated[
        str, Parameter(help="Pose to start and stop at, Q1,Q2,… in rad or m.", allow_leading_hyphen=True)
    ] = ""
    restarts: Annotated[int, Parameter(help="Random points to start the search from.")] = 8
    time_budget: Annotated[
        float, Parameter(help="Seconds after which the best so far is returned; so does Ctrl-C.")
    ] = 30.0
    workers: Annotated[int | None, Parameter(help="Threads [default: processors].")] = None
    seed: Annotated[int, Parameter(help="Of the random points.")] = 0

    @property
    def noise_std(self) -> tuple[float, ...]:
        """N·m or N, one or one a joint."""
        return _numbers("--noise", self.noise)

    @property
    def start_pose(self) -> tuple[float, ...] | None:
        """rad or m; None where none is asked for."""
        return _numbers("--start", self.start) if self.start else None

    def known(self, model: TorqueModel, base: BaseParameters, rate: float) -> Information | None:
        """What the earlier trajectories told when measured at `rate` (Hz)."""
        known: Information | None = None
        for path in self.after:
            trajectory = read_coefficients(path)
            if trajectory.joint_names != model.robot.joint_names:
                raise ExcitationError(f"{path}: is for joints {', '.join(trajectory.joint_names)}, not this robot's")
            told = Information.of(model, trajectory.motion(rate), noise_std=self.noise_std, base=base)
            known = told if known is None else known + told
        return known

    def wanted(self, known: Information | None, n_samples: float) -> DesignCriterion:
        """The criterion of the search, for a run measured at so many samples."""
        if known is not None:
            return known.criterion(noise_std=self.noise_std, n_samples=n_samples)
        if self.criterion == "d-optimal":
            return DOptimality(noise_std=self.noise_std, n_samples=n_samples)
        return ConditionNumber(scaled=self.criterion == "scaled")


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise ExcitationError(f"{option} {text}: write numbers joined by commas") from error
