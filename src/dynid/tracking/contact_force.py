r"""Where and how hard something touches the arm, as far as joint torques tell.

A force :math:`F` at a point of link k turns the joints before it by :math:`J_k^T F`, and those beyond it not at all.
The link in contact is the one with the largest marginal likelihood of the external torque,

.. math::

    p(\tau \mid k) = \sum_{\text{point, size, plane, } \kappa}
        \mathcal N\bigl(0,\; \mathrm{diag}(\sigma^2) + A\, (s^2 J_k^T J_k)\, A^T\bigr), \qquad
    A = I + \kappa\, (M D^{-1} - I) ,

over points along the link, sizes s and planes of the force; people push across an arm, so in half of the cases the
force leaves one joint out. A knock also accelerates joints, and the torque with which the others answer is
compensated only as far as torque and velocity are measured at the same time: a share κ of the coupling by the inertia
matrix M with diagonal D stays. A long link is touched more often than a short one.
"""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array, Float, Vector3
from dynid.chain.robot import Robot

__all__ = ["TOUCH_FORCE", "contact_force", "contact_link", "contact_torque", "link_lengths", "point_jacobian"]

TOUCH_FORCE = 50.0
"""Typical force of a contact, N: its torque at a joint is this times half the length of arm beyond it."""
SHORTEST_ARM = 0.1
"""Least length of arm beyond a joint, m."""

POINTS = (1.0 / 3.0, 2.0 / 3.0, 1.0)
"""Where on a link it may be touched, over the way to the next joint."""
SIZES = (1.0, 3.0, 10.0)
"""Forces of a contact over the least one that can turn a joint as far."""
COUPLINGS = (-1.0, 0.0, 1.0)
"""Shares of the inertial coupling that a knock leaves in the external torque: torque may come early or late."""
RADIUS = 0.05
"""Distance of the surface of a link from the line between its joints, m."""
UNTURNED = 1e-4
"""Lever of a point about a joint below which no force at it turns the joint, m."""
PASSING = 0.5
"""Share of contacts whose force leaves one of the joints out."""

LEAST_JOINTS = 3
"""Joints before a contact below which its force has directions that no torque shows."""
LARGEST_RATIO = 1e-2
"""Least over largest singular value of the point's Jacobian below which a direction of the force is not seen."""


def link_lengths(robot: Robot) -> Float[Array, " n_dof"]:
    """Distance (m) from each joint to the next one, or to the tip."""
    steps = [float(np.linalg.norm(joint.T_parent_joint[:3, 3])) for joint in robot.joints[1:]]
    return np.maximum([*steps, SHORTEST_ARM], SHORTEST_ARM)


def contact_torque(robot: Robot) -> Float[Array, " n_dof"]:
    """Typical size (N·m or N) of the torque of a contact at each joint."""
    prismatic = np.array([joint.type == "prismatic" for joint in robot.joints])
    return TOUCH_FORCE * np.where(prismatic, 1.0, 0.5 * _arm_lengths(robot))


def _arm_lengths(robot: Robot) -> Float[Array, " n_dof"]:
    """Length (m) of arm beyond each joint."""
    steps = [float(np.linalg.norm(joint.T_parent_joint[:3, 3])) for joint in robot.joints] + [SHORTEST_ARM]
    return np.array([max(sum(steps[j + 1 :]), SHORTEST_ARM) for j in range(robot.n_dof)])


def _frames(robot: Robot, q: Float[Array, " n_dof"]) -> list[Float[Array, "4 4"]]:
    """Frame of every link in the base."""
    T_world: list[Float[Array, "4 4"]] = []
    for i, joint in enumerate(robot.joints):
        parent = robot.path_to[i][-2] if len(robot.path_to[i]) > 1 else -1
        T_parent = np.eye(4) if parent < 0 else T_world[parent]
        T_world.append(T_parent @ joint.T_parent_link(float(q[i])))
    return T_world


def _ends(robot: Robot, T_world: list[Float[Array, "4 4"]], link: int) -> tuple[Vector3, Vector3]:
    """Near and far end of a link in the base, m: its frame, and where the next joint sits."""
    near = T_world[link][:3, 3]
    following = [k for k, path in enumerate(robot.path_to) if len(path) > 1 and path[-2] == link]
    far = (T_world[link] @ robot.joints[following[0]].T_parent_joint)[:3, 3] if following else near
    return near, far


def _axes(robot: Robot, T_world: list[Float[Array, "4 4"]]) -> tuple[Float[Array, "n_dof 3"], Float[Array, "n_dof 3"]]:
    """Axis of every joint and a point (m) on it, in the base."""
    Ts = [T @ np.linalg.inv(joint.T_joint_link) for T, joint in zip(T_world, robot.joints, strict=True)]
    axes = [T[:3, :3] @ joint.axis for T, joint in zip(Ts, robot.joints, strict=True)]
    return np.array(axes), np.array([T[:3, 3] for T in Ts])


def _moved(
    robot: Robot, link: int, axes: Float[Array, "n_dof 3"], origins: Float[Array, "n_dof 3"], point: Vector3
) -> Float[Array, "3 n_dof"]:
    """Velocity (m/s) of a point of a link per joint velocity."""
    J = np.zeros((3, robot.n_dof))
    for j in robot.path_to[link]:
        prismatic = robot.joints[j].type == "prismatic"
        J[:, j] = axes[j] if prismatic else np.cross(axes[j], point - origins[j])
    return J


def point_jacobian(robot: Robot, q: Float[Array, " n_dof"], link: int) -> Float[Array, "3 n_dof"]:
    """Velocity (m/s) of the far end of a link per joint velocity, in base axes.

    The far end is where the next joint sits, or the origin of the last link's frame.
    """
    T_world = _frames(robot, q)
    return _moved(robot, link, *_axes(robot, T_world), _ends(robot, T_world, link)[1])


def contact_link(
    robot: Robot,
    M: Float[Array, "n_dof n_dof"],
    q: Float[Array, " n_dof"],
    torque: Float[Array, " n_dof"],
    band: Float[Array, " n_dof"],
) -> int:
    """Index of the link that is most likely touched.

    Args:
        robot: the arm.
        M: its inertia matrix, kg·m² or kg.
        q: joint positions, rad or m.
        torque: external torque, N·m or N.
        band: its standard deviation in free motion, N·m or N.
    """
    n = robot.n_dof
    T_world = _frames(robot, q)
    axes, origins = _axes(robot, T_world)
    prismatic = np.array([joint.type == "prismatic" for joint in robot.joints])
    least = float(np.max(np.abs(torque) / np.where(prismatic, 1.0, _arm_lengths(robot))))
    coupled = np.eye(n) + np.array(COUPLINGS)[:, None, None] * (M / np.diag(M) - np.eye(n))
    turned, weights, links = [], [], []
    for link in range(n):
        near, far = _ends(robot, T_world, link)
        around = np.zeros(n)
        around[list(robot.path_to[link])] = RADIUS**2
        around[prismatic] = 0.0
        for share in POINTS:
            J = _moved(robot, link, axes, origins, near + share * (far - near))
            planes, left_out = _planes(J)
            turned += [plane.T @ plane + np.diag(around) for plane in planes]
            weights += [1.0 - PASSING if left_out else 1.0, *[PASSING / max(1, left_out)] * left_out]
            links += [link] * len(planes)
    spread = coupled[:, None] @ np.array(turned) @ coupled[:, None].transpose(0, 1, 3, 2)
    sizes = (least * np.array(SIZES)) ** 2
    C = np.diag(band**2) + sizes[:, None, None, None, None] * spread
    L = np.linalg.cholesky(C)
    z = np.linalg.solve(L, np.broadcast_to(torque[:, None], (*L.shape[:-1], 1)))[..., 0]
    score = -0.5 * np.sum(z**2, axis=-1) - np.sum(np.log(np.diagonal(L, axis1=-2, axis2=-1)), axis=-1)
    best = float(np.max(score))
    likelihood = np.sum(np.exp(score - best), axis=(0, 1)) * np.array(weights)
    return int(np.argmax(np.bincount(links, likelihood, minlength=n) * link_lengths(robot)))


def _planes(J: Float[Array, "3 n_dof"]) -> tuple[list[Float[Array, "3 n_dof"]], int]:
    """The Jacobian for any force, then for forces in each plane that leaves one joint out, and how many those are."""
    squares = np.sum(J**2, axis=0)
    joints = np.flatnonzero(squares > UNTURNED**2)
    return [J, *(J - np.outer(J[:, j], J[:, j] @ J) / squares[j] for j in joints)], len(joints)


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
