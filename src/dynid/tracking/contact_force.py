"""Where and how hard something touches the arm, as far as joint torques tell."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array, Float, Vector3
from dynid.chain.robot import Robot

__all__ = ["TOUCH_FORCE", "contact_force", "contact_torque", "link_lengths", "point_jacobian"]

TOUCH_FORCE = 50.0
"""Typical force of a contact, N: its torque at a joint is this times half the length of arm beyond it."""
SHORTEST_ARM = 0.1
"""Least length of arm beyond a joint, m."""

LEAST_JOINTS = 3
"""Joints before a contact below which its force has directions that no torque shows."""
LARGEST_RATIO = 1e-2
"""Least over largest singular value of the point's Jacobian below which a direction of the force is not seen."""


def link_lengths(robot: Robot) -> Float[Array, " n_dof"]:
    """Distance (m) from each joint to the next one, or to the tip."""
    steps = [float(np.linalg.norm(joint.T_parent_joint[:3, 3])) for joint in robot.joints[1:]]
    return np.maximum([*steps, SHORTEST_ARM], SHORTEST_ARM)


def contact_torque(robot: Robot) -> Float[Array, "n_dof n_dof"]:
    """Typical size (N·m or N) of the torque of a contact on each link (rows) at each joint."""
    n = robot.n_dof
    steps = [float(np.linalg.norm(joint.T_parent_joint[:3, 3])) for joint in robot.joints] + [SHORTEST_ARM]
    prismatic = np.array([joint.type == "prismatic" for joint in robot.joints])
    length = np.array([[max(sum(steps[j + 1 : link + 2]), SHORTEST_ARM) for j in range(n)] for link in range(n)])
    return TOUCH_FORCE * np.where(prismatic, 1.0, 0.5 * length)


def point_jacobian(robot: Robot, q: Float[Array, " n_dof"], link: int) -> Float[Array, "3 n_dof"]:
    """Velocity (m/s) of the far end of a link per joint velocity, in base axes.

    The far end is where the next joint sits, or the origin of the last link's frame.
    """
    T_world: list[Float[Array, "4 4"]] = []
    for i, joint in enumerate(robot.joints):
        parent = robot.path_to[i][-2] if len(robot.path_to[i]) > 1 else -1
        T_parent = np.eye(4) if parent < 0 else T_world[parent]
        T_world.append(T_parent @ joint.T_parent_link(float(q[i])))
    following = [k for k, path in enumerate(robot.path_to) if len(path) > 1 and path[-2] == link]
    point = T_world[link][:3, 3]
    if following:
        point = (T_world[link] @ robot.joints[following[0]].T_parent_joint)[:3, 3]
    J = np.zeros((3, robot.n_dof))
    for j in robot.path_to[link]:
        joint = robot.joints[j]
        T_joint = T_world[j] @ np.linalg.inv(joint.T_joint_link)
        axis = T_joint[:3, :3] @ joint.axis
        J[:, j] = axis if joint.type == "prismatic" else np.cross(axis, point - T_joint[:3, 3])
    return J


def contact_force(
    robot: Robot,
    q: Float[Array, " n_dof"],
    link: int,
    torque: Float[Array, " n_dof"],
    band: Float[Array, " n_dof"],
) -> Vector3 | None:
    """Force (N, base axes) at the far end of a link that gives the external torque best; None where it cannot be seen.

    Args:
        robot: the arm.
        q: joint positions, rad or m.
        link: index of the link in contact.
        torque: external torque, N·m or N.
        band: its standard deviation in free motion, N·m or N.
    """
    joints = list(robot.path_to[link])
    if len(joints) < LEAST_JOINTS:
        return None
    A = (point_jacobian(robot, q, link)[:, joints] / band[joints]).T
    sizes = np.linalg.svd(A, compute_uv=False)
    if sizes[-1] < LARGEST_RATIO * sizes[0]:
        return None
    return np.asarray(np.linalg.lstsq(A, torque[joints] / band[joints], rcond=None)[0])
