"""The arm as shapes to draw: a capsule from each joint to the next, the load as an ellipsoid, contacts as arrows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, Transform, Vector3, freeze_arrays
from dynid.chain.robot import BASE, Robot
from dynid.tracking.load import LoadEstimate
from dynid.workflow.live_view import LiveContact

__all__ = ["DrawnCapsule", "LoadShape", "arm_capsules", "contact_arrow", "link_poses", "load_shape", "quaternion"]

THICKNESS = 0.09
"""Diameter of the first link over the length of the arm, dimensionless."""
TAPER = 0.55
"""Diameter of the last link over that of the first, dimensionless."""
DENSITY = 2700.0
"""Of a load whose inertia does not show, kg/m³: aluminium."""
SHOWN_MASS = 0.05
"""Mass in kg below which no load is drawn."""
NEWTONS_PER_METRE = 100.0
"""Length of the arrow of a contact: 1 m for this force, N."""
SHORTEST_FORCE = 2.0
"""Force in N below which no arrow is drawn."""
LONGEST_ARROW = 0.8
"""Length in m that the arrow of a very large force has."""
STILL_SEEN = 0.02
"""Smallest half axis of the ellipsoid, m, so that a dense load is still seen."""


@dataclass(frozen=True, eq=False)
class DrawnCapsule:
    """A rod with round ends in the frame of the link that it belongs to."""

    link: int
    """Index of the link, or `BASE`."""
    start: Vector3
    """m"""
    end: Vector3
    """m"""
    radius: float
    """m"""

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class LoadShape:
    """The homogeneous ellipsoid that has a load's mass and inertia, in the frame of the last link."""

    centre: Vector3
    """m"""
    axes: Float[Array, "3 3"]
    """Principal axes, a column each."""
    halves: Vector3
    """Half axes, m."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


def arm_capsules(robot: Robot) -> list[DrawnCapsule]:
    """A capsule on each link to every joint that it carries; the last link has a stub along its axis."""
    steps = [joint.T_parent_joint[:3, 3] for joint in robot.joints]
    length = max(sum(float(np.linalg.norm(step)) for step in steps), 0.1)
    n = robot.n_dof

    def radius(link: int) -> float:
        return THICKNESS * length * (1.0 + (TAPER - 1.0) * (link + 1) / n) / 2.0

    found = []
    for joint, step in zip(robot.joints, steps, strict=True):
        r, size = radius(joint.parent), float(np.linalg.norm(step))
        # What stands on the floor does not reach into it.
        foot = step * min(1.0, r / size) if joint.parent == BASE and size > 0.0 else np.zeros(3)
        found.append(DrawnCapsule(joint.parent, foot, step, r))
    for index, joint in enumerate(robot.joints):
        if all(other.parent != index for other in robot.joints):
            stub = joint.T_joint_link[:3, :3].T @ joint.axis * radius(index)
            found.append(DrawnCapsule(index, np.zeros(3), stub, radius(index)))
    return found


def link_poses(robot: Robot, q: Float[Array, " n_dof"]) -> list[Transform]:
    """Every link frame in the base frame at positions `q` (rad or m)."""
    poses: list[Transform] = []
    for joint, position in zip(robot.joints, q, strict=True):
        T_base_parent = np.eye(4) if joint.parent == BASE else poses[joint.parent]
        poses.append(T_base_parent @ joint.T_parent_link(float(position)))
    return poses


def load_shape(load: LoadEstimate) -> LoadShape | None:
    r"""The ellipsoid of a load, or None where there is nothing to see.

    Half axes follow from the principal second moments, :math:`a_i^2 = 5 (\mathrm{tr} I / 2 - I_i) / m`.
    """
    if load.mass < max(SHOWN_MASS, 2.0 * load.mass_std):
        return None
    moments, axes = np.linalg.eigh(load.inertia_com)
    squares = 5.0 * (0.5 * np.sum(moments) - moments) / load.mass
    ball = (3.0 * load.mass / (4.0 * np.pi * DENSITY)) ** (1.0 / 3.0)
    # An inertia that has not shown yet is that of a ball of metal.
    halves = np.sqrt(np.maximum(squares, 0.0)) if np.all(squares > 0.1 * ball**2) else np.full(3, ball)
    if np.linalg.det(axes) < 0.0:
        axes = axes * np.array([1.0, 1.0, -1.0])
    return LoadShape(load.com, axes, np.maximum(np.minimum(halves, 10.0 * ball), STILL_SEEN))


def contact_arrow(robot: Robot, q: Float[Array, " n_dof"], contact: LiveContact) -> Float[Array, "2 3"] | None:
    """Start and end (m, base frame) of the arrow of a contact at positions `q`, or None where the force is small.

    It ends where the force attacks: at the far end of the link.
    """
    size = contact.size
    if size < SHORTEST_FORCE:
        return None
    T_base_link = link_poses(robot, q)[contact.link]
    steps = [joint.T_parent_joint[:, 3] for joint in robot.joints if joint.parent == contact.link]
    point = (T_base_link @ (steps[0] if steps else np.array([0.0, 0.0, 0.0, 1.0])))[:3]
    length = min(size / NEWTONS_PER_METRE, LONGEST_ARROW)
    return np.stack([point - length / size * contact.force, point])


def quaternion(R: Float[Array, "3 3"]) -> tuple[float, float, float, float]:
    """w, x, y, z of a rotation."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(R).as_quat()
    return float(w), float(x), float(y), float(z)
