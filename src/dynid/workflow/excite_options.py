"""What `excite` seeks: its keywords, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal, TypedDict, get_args

import numpy as np

from dynid.arrays import Array
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import ConfigError, ExcitationError
from dynid.excitation.criteria import ConditionNumber, DesignCriterion, DOptimality
from dynid.excitation.curves.bspline import SplineBasis
from dynid.excitation.curves.fourier import FourierBasis
from dynid.excitation.sequential import Information
from dynid.excitation.trajectory import Trajectory
from dynid.excitation.trajectory_files import MotionFile, read_coefficients, read_motion_file
from dynid.workflow.doors import RobotKeywords, as_numbers, as_seed
from dynid.workflow.excite_limits import LimitKeywords

__all__ = [
    "CriterionName",
    "ExciteKeywords",
    "ExciteSearch",
    "MotionFamily",
    "SearchKeywords",
    "ShapeKeywords",
    "TrajectoryLike",
    "earlier_motions",
    "given_motion",
]

MotionFamily = Literal["fourier", "spline", "random", "sinusoids", "point-to-point", "reverse-poses", "gravity-poses"]
"""fourier and spline are optimised; random, sinusoids, point-to-point are for validation; poses are static."""
CriterionName = Literal["condition", "scaled", "d-optimal"]
"""What the search makes small."""
TrajectoryLike = str | PathLike[str] | Trajectory
"""A file of coefficients, or a `Trajectory`."""


MAX_NUMBERS = 2e7
"""Numbers of a regressor from which a prediction is made; more would take long and tell the same."""


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
    motion: TrajectoryLike | None
    """Motion file, or `Trajectory`: run this motion again; a file without one tells floor and keep-out boxes."""
    scale: float
    """Rehearsal: also write the same motion at this part of its speed; 1 is none."""


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


class ExciteKeywords(ShapeKeywords, SearchKeywords, LimitKeywords, RobotKeywords, total=False):
    """All that `dynid.excite` takes beyond its own arguments (SI): the shape, the search, limits and the robot."""


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
    scale: float
    """Part of its speed at which the motion is rehearsed, a ratio; 1 for no rehearsal."""
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
        if not 0.0 < self.scale <= 1.0:
            raise ConfigError(f"`scale` {self.scale}: a rehearsal runs at a part of the speed, above 0 and at most 1")

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
            scale=keywords.get("scale", 1.0),
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
            told = self.told(model, trajectory, base)
            known = told if known is None else known + told
        return known

    def told(self, model: TorqueModel, trajectory: Trajectory, base: BaseParameters) -> Information:
        """What a motion tells when it is measured at the rate; of many joints, fewer samples stand for all."""
        numbers = trajectory.duration * self.rate * model.n_dof * model.n_params
        thin = max(1.0, min(numbers / MAX_NUMBERS, self.rate / (20.0 * trajectory.bandwidth_hz + 20.0)))
        few = Information.of(model, trajectory.motion(self.rate / thin), noise_std=self.noise, base=base)
        return few if thin == 1.0 else replace(few.repeated(thin), seconds=few.seconds)

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


def given_motion(keywords: ShapeKeywords) -> MotionFile | None:
    """What `motion` names: a motion to run again, or surroundings to find one in; None where nothing is given."""
    given = keywords.get("motion")
    if given is None:
        return None
    if isinstance(given, Trajectory):
        return MotionFile(given)
    if not isinstance(given, str | PathLike):
        raise ConfigError(f"motion: expected a motion file or a Trajectory, got {type(given).__name__}")
    return read_motion_file(Path(given))


def _trajectory(one: TrajectoryLike) -> Trajectory:
    if isinstance(one, Trajectory):
        return one
    if not isinstance(one, str | PathLike):
        raise ConfigError(f"after: expected a file of coefficients or a Trajectory, got {type(one).__name__}")
    return read_coefficients(Path(one))
