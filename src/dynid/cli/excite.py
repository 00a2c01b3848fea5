"""``dynid excite``: a motion that shows the parameters, inside every limit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import dynid
from dynid.cli.console import tell, warn
from dynid.cli.excite_options import LimitOptions, SearchOptions, ShapeOptions
from dynid.cli.options import FrictionName, JsonFlag, RobotName, RobotOptions, free_place
from dynid.cli.options import keywords as typed
from dynid.cli.progress import progress
from dynid.writers.savers.excitation import trajectory_files

__all__ = ["excite"]


def excite(
    robot: RobotName,
    *,
    out: Path | None = None,
    friction: FrictionName = "viscous+coulomb+offset",
    rotor_inertia: Annotated[bool, Parameter(negative="")] = False,
    rate: float = 1000.0,
    ros: Path | None = None,
    urscript: Path | None = None,
    franka: Path | None = None,
    picture: bool = True,
    self_collision: bool = True,
    shape: ShapeOptions | None = None,
    search: SearchOptions | None = None,
    keep: LimitOptions | None = None,
    options: RobotOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """An exciting trajectory inside all limits, its condition number, its coefficients and a picture.

    Example: dynid excite panda --out traj.csv --harmonics 5 --base-frequency 0.075

    Parameters
    ----------
    robot
        Built-in name (panda, wam7, planar2r, spatial2r) or a URDF, MJCF or TOML file.
    out
        CSV of t, q, dq, ddq; coefficients (.toml) and picture (.html) are written beside it [default: traj.csv, or
        traj-2.csv, …].
    friction
        Friction columns that will be fitted: none, or names joined by +.
    rotor_inertia
        Add a rotor inertia to every joint.
    rate
        Of the CSV and of the predicted measurement, Hz.
    ros
        Also write a ROS 2 JointTrajectory as YAML, at 100 Hz.
    urscript
        Also write a URScript program that goes to the start pose and streams the motion, for six joints.
    franka
        Also write libfranka's table of q, dq and ddq at 1 kHz, for seven joints.
    picture
        Write the picture.
    self_collision
        Keep links clear of one another.
    """
    place, asked = free_place(out, "traj.csv"), typed(shape, search, keep, options)
    # Before the search, which takes long; static poses are one file, and nothing beside it.
    if not str(asked.get("kind", "")).endswith("poses"):
        read = [Path(robot), *asked.get("after", ()), *filter(None, [asked.get("motion")])]
        others = {"ros": ros, "urscript": urscript, "franka": franka}
        trajectory_files(place, read, controllers=others, picture=picture, rehearsal=asked.get("scale", 1.0) != 1.0)
    with progress("searching", quiet=json) as step:
        result = dynid.excite(
            robot,
            friction=friction,
            rotor_inertia=rotor_inertia,
            rate=rate,
            ros=ros,
            urscript=urscript,
            franka=franka,
            picture=picture,
            self_collision=self_collision,
            progress=step,
            **asked,
        )
    saved = dynid.save(result, place)
    tell(result, saved, json=json)
    for sentence in result.warnings:
        warn(sentence)
    return 0
