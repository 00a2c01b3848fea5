"""``dynid info``: what a robot is and what its torque can reveal."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

import dynid
from dynid.cli.console import emit_json, show, warn
from dynid.cli.options import FrictionName, JsonFlag, RobotName, RobotOptions
from dynid.cli.options import keywords as typed

__all__ = ["info"]


def info(
    robot: RobotName,
    *,
    friction: FrictionName = "viscous+coulomb+offset",
    rotor_inertia: Annotated[bool, Parameter(negative="")] = False,
    options: RobotOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Joints, limits, base parameters with their labels, and which parameters can never be seen.

    Example: dynid info panda --friction viscous+coulomb

    Parameters
    ----------
    robot
        Built-in name (panda, wam7, planar2r, spatial2r) or a URDF, MJCF or TOML file.
    friction
        Friction columns: none, or names joined by +.
    rotor_inertia
        Add a rotor inertia to every joint.
    """
    result = dynid.info(robot, friction=friction, rotor_inertia=rotor_inertia, **typed(options))
    if json:
        emit_json(result.json())
    else:
        show(result.document())
    for sentence in result.warnings:
        warn(sentence if sentence in result.robot.notes else f"{sentence}; see: dynid lint {robot}")
    return 0
