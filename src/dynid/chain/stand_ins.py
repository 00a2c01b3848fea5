"""Bodies of plausible size where a robot file knows no inertia, so that the robot can be simulated."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Vector3
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import Robot

__all__ = ["with_stand_ins"]

DENSITY = 1000.0
"""kg/m³ over the whole volume of a link: castings, motors and air together."""
SLENDERNESS = 0.15
"""Radius over length of a stand-in: an upper arm of 0.4 m is 0.12 m thick."""
LEAST_PART = 0.15
"""Part of the mean distance between joints that a link is long at least: hands and wrists have a size, too."""
LEAST_REACH = 0.1
"""m; what is taken for the mean distance where all axes meet in one point."""


def with_stand_ins(robot: Robot) -> tuple[Robot, tuple[str, ...]]:
    """The robot with a solid rod for every link whose inertia is not known, and the names of these links.

    A rod reaches from its joint to the farthest one it carries, or along the axis where it carries none.
    """
    ends = [_end(robot, index) for index in range(robot.n_dof)]
    lengths = [float(np.linalg.norm(end)) for end in ends]
    mean = max(float(np.mean(lengths)), LEAST_REACH)
    unknown = [index for index, joint in enumerate(robot.joints) if not joint.link.known]
    rods = {robot.link_names[index]: _rod(robot, index, ends[index], LEAST_PART * mean) for index in unknown}
    return (robot.with_nominal(rods) if rods else robot), tuple(rods)


def _end(robot: Robot, index: int) -> Vector3:
    """The farthest joint that a link carries, in its frame, m."""
    ends = [np.zeros(3), *(joint.T_parent_joint[:3, 3] for joint in robot.joints if joint.parent == index)]
    return max(ends, key=lambda end: float(np.linalg.norm(end)))


def _rod(robot: Robot, index: int, end: Vector3, least: float) -> InertialParameters:
    joint = robot.joints[index]
    if np.linalg.norm(end) < least:
        # Off its own axis, so that gravity and every axis are felt.
        across = np.cross(joint.axis, np.eye(3)[int(np.argmin(np.abs(joint.axis)))])
        direction = joint.axis + 0.5 * across / np.linalg.norm(across)
        end = joint.T_joint_link[:3, :3].T @ direction * least / np.linalg.norm(direction)
    length = float(np.linalg.norm(end))
    axis = end / length
    radius = SLENDERNESS * length
    mass = DENSITY * np.pi * radius**2 * length
    along, across_moment = mass * radius**2 / 2.0, mass * (radius**2 / 4.0 + length**2 / 12.0)
    tensor = across_moment * np.eye(3) + (along - across_moment) * np.outer(axis, axis)
    return InertialParameters.from_com(mass, end / 2.0, tensor)
