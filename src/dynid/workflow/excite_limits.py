"""What a motion of `excite` must keep: its keywords, and the limits they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal, TypedDict

import numpy as np

from dynid.chain.robot import Robot
from dynid.errors import ConfigError
from dynid.excitation.limits.capsules import capsules_of
from dynid.excitation.limits.clearance import Clearance, Surroundings, clearance_limit
from dynid.excitation.limits.motion_limits import MotionLimits
from dynid.excitation.limits.workspace import KeepOut
from dynid.excitation.trajectory_files import MotionFile

__all__ = ["ExciteLimits", "KeepOutLike", "LimitKeywords"]

KeepOutLike = KeepOut | Sequence[float]
"""A `KeepOut`, or xmin ymin zmin xmax ymax zmax in m in the base frame."""


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
    floor: float | str | None
    """Height that no link may go below, m in the base frame, or none; the mounting plane, 0, by default."""
    box: tuple[float, float, float, float, float, float] | None
    """Box to stay in: xmin ymin zmin xmax ymax zmax, m in the base frame."""
    keep_out: Sequence[KeepOutLike]
    """Boxes that no link may enter, each xmin ymin zmin xmax ymax zmax, m in the base frame."""
    clearance: float
    """Distance to floor, boxes and itself, m; 0.02."""
    thickness: float | None
    """Radius of links whose shape the robot file does not tell, m; None is 6 % of the length of the arm."""
    self_collision: bool
    """Whether links must stay clear of one another; yes by default."""
    packages: Sequence[str | PathLike[str]]
    """Folders of package:// meshes."""


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
    surroundings: Surroundings
    """Floor, boxes and the robot itself, and the distance to them."""
    thickness: float | None
    """Radius of links whose shape is not known, m; None is a part of the length of the arm."""
    packages: tuple[Path, ...]
    """Folders of package:// meshes."""

    @classmethod
    def of(cls, keywords: LimitKeywords, file: MotionFile | None = None) -> ExciteLimits:
        """From the keywords of a call (SI) and a motion file; keywords win, boxes of both count.

        Raises:
            ConfigError: for a value of another type.
        """
        said = None if file is None else file.floor
        typed = keywords.get("floor", 0.0 if said is None else said)
        box = keywords.get("box") or (-np.inf,) * 3 + (np.inf,) * 3
        boxes = tuple(_keep_out(one) for one in keywords.get("keep_out", ()))
        clearance = keywords.get("clearance", 0.02)
        if not (np.isfinite(clearance) and clearance >= 0.0):
            raise ConfigError(f"`clearance` {clearance}: give a distance in m that is not negative")
        return cls(
            margin=keywords.get("margin", 0.0),
            effort_margin=keywords.get("effort_margin", 0.1),
            velocity=keywords.get("velocity", np.inf),
            acceleration=keywords.get("acceleration", np.inf),
            jerk=keywords.get("jerk", np.inf),
            surroundings=Surroundings(
                floor=_floor(typed),
                floor_asked="floor" in keywords or said is not None,
                lower=box[:3],
                upper=box[3:],
                keep_out=(*boxes, *(() if file is None else file.keep_out)),
                itself=keywords.get("self_collision", True),
                clearance=clearance,
            ),
            thickness=keywords.get("thickness"),
            packages=tuple(Path(folder) for folder in keywords.get("packages", ())),
        )

    @property
    def floor_said(self) -> float | Literal["none"] | None:
        """The floor for a motion file, m; None where nobody asked for one."""
        around = self.surroundings
        return None if not around.floor_asked else "none" if around.floor is None else around.floor

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

    def clear(self, robot: Robot, limits: MotionLimits) -> Clearance:
        """What the links keep clear of, each link as capsules (m)."""
        around = self.surroundings
        # Nothing to keep clear of needs no shapes, and reads no meshes.
        shapes = around.itself or bool(around.walls()) or bool(around.keep_out)
        capsules = capsules_of(robot, packages=self.packages, thickness=self.thickness, shapes=shapes)
        return clearance_limit(robot, capsules, around, limits)


def _floor(value: float | str | None) -> float | None:
    if value is None or value == "none":
        return None
    try:
        height = float(value)
    except (TypeError, ValueError):
        height = np.nan
    if not np.isfinite(height):
        raise ConfigError(f"`floor` {value}: give a height in m in the base frame, or none")
    return height


def _keep_out(box: object) -> KeepOut:
    if isinstance(box, KeepOut):
        return box
    try:
        corners = np.array(box, dtype=float)
    except (TypeError, ValueError):
        corners = np.zeros(0)
    if corners.shape != (6,) or not np.all(np.isfinite(corners)):
        raise ConfigError(f"`keep_out` {box}: each box is six numbers, xmin ymin zmin xmax ymax zmax in m")
    return KeepOut(corners[:3], corners[3:])
