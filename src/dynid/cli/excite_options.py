"""Options of ``dynid excite``: the shape of the motion, what is sought, and what must be kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dynid.workflow.excite_options import CriterionName, MotionFamily

__all__ = ["LimitOptions", "SearchOptions", "ShapeOptions"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """What the motion must keep, beyond the limits of the robot file."""

    margin: Annotated[
        float | None,
        Parameter(help="Fraction of ranges, velocities, accelerations and jerks left unused [default: 0]."),
    ] = None
    effort_margin: Annotated[
        float | None, Parameter(help="Fraction of the effort limits left unused [default: 0.1].")
    ] = None
    velocity: Annotated[float | None, Parameter(help="Limit for all joints, rad/s or m/s [default: inf].")] = None
    acceleration: Annotated[float | None, Parameter(help="Limit for all joints, rad/s² or m/s² [default: inf].")] = None
    jerk: Annotated[float | None, Parameter(help="Limit for all joints, rad/s³ or m/s³ [default: inf].")] = None
    floor: Annotated[
        str | None,
        Parameter(
            help="Height that no link may go below, m in the base frame, or none [default: 0, the mounting plane].",
            allow_leading_hyphen=True,
        ),
    ] = None
    box: Annotated[
        tuple[float, float, float, float, float, float] | None,
        Parameter(help="Box to stay in: xmin ymin zmin xmax ymax zmax, m in the base frame."),
    ] = None
    clearance: Annotated[float | None, Parameter(help="Distance to floor, boxes and itself, m [default: 0.02].")] = None
    thickness: Annotated[
        float | None,
        Parameter(help="Radius of links whose shape the file does not tell, m [default: 6 % of the arm's length]."),
    ] = None
    packages: Annotated[tuple[Path, ...], Parameter(help="Folders of package:// meshes.")] = ()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ShapeOptions:
    """What kind of motion."""

    kind: Annotated[
        MotionFamily | None,
        Parameter(
            help="fourier and spline are optimised; random, sinusoids, point-to-point are for validation; "
            "reverse-poses and gravity-poses are static [default: fourier]."
        ),
    ] = None
    poses: Annotated[
        int | None, Parameter(help="Number of static poses, for reverse-poses and gravity-poses [default: 40].")
    ] = None
    harmonics: Annotated[
        int | None,
        Parameter(help="Of the Fourier series; a spline gets three control points for each [default: 5]."),
    ] = None
    base_frequency: Annotated[
        float | None, Parameter(help="Hz, one over the period [default: 0.1, or one over the duration].")
    ] = None
    duration: Annotated[
        float | None,
        Parameter(help="Seconds at full speed, rounded up to whole periods [default: one period]."),
    ] = None
    motion: Annotated[
        Path | None,
        Parameter(
            help="Motion file (.toml): write this motion again, checked; one without a motion tells floor and "
            "keep-out boxes to search in."
        ),
    ] = None
    scale: Annotated[
        float | None,
        Parameter(help="Also write a rehearsal: the same motion at this part of its speed, as 0.2 [default: none]."),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """What is sought, and for how long."""

    criterion: Annotated[
        CriterionName | None,
        Parameter(help="What the search makes small; d-optimal weighs by --noise [default: condition]."),
    ] = None
    noise: Annotated[
        str | None,
        Parameter(help="Standard deviation of the torque, N·m or N: one number, or S1,S2,… one a joint [default: 1]."),
    ] = None
    after: Annotated[
        tuple[Path, ...],
        Parameter(help="Coefficients (.toml) of trajectories that were run already: the new one adds most to them."),
    ] = ()
    start: Annotated[
        str | None, Parameter(help="Pose to start and stop at, Q1,Q2,… in rad or m.", allow_leading_hyphen=True)
    ] = None
    restarts: Annotated[int | None, Parameter(help="Random points to start the search from [default: 8].")] = None
    time_budget: Annotated[
        float | None, Parameter(help="Seconds after which the best so far is returned; so does Ctrl-C [default: 30].")
    ] = None
    workers: Annotated[int | None, Parameter(help="Threads [default: processors].")] = None
    seed: Annotated[int | None, Parameter(help="Of the random points [default: 0].")] = None
