"""Robots that the test batteries run over, and the same robots as MuJoCo models (the independent oracle)."""

from __future__ import annotations

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from dynid.arrays import Array
from dynid.chain import BUILT_IN, InertialParameters, Joint, Link, Robot, load_robot

N_RANDOM = 8


def random_link(rng: np.random.Generator, *, scale: float = 0.3) -> InertialParameters:
    """A body made of four point masses: always possible, never special."""
    points = rng.normal(size=(4, 3)) * scale
    masses = rng.uniform(0.1, 2.0, 4)
    J = np.zeros((4, 4))
    for mass, point in zip(masses, points, strict=True):
        homogeneous = np.append(point, 1.0)
        J += mass * np.outer(homogeneous, homogeneous)
    return InertialParameters.from_pseudo_inertia(J)


def random_placement(rng: np.random.Generator) -> Array:
    T = np.eye(4)
    T[:3, :3] = Rotation.random(rng=rng).as_matrix()
    T[:3, 3] = rng.normal(size=3) * 0.4
    return T


def random_robot(rng: np.random.Generator, n_dof: int) -> Robot:
    """Revolute and prismatic joints, branching, arbitrary axes, offset link frames, any gravity."""
    joints: list[Joint] = []
    path = [-1]
    for i in range(n_dof):
        while len(path) > 1 and rng.random() < 0.25:
            path.pop()
        joints.append(
            Joint(
                name=f"j{i}",
                type="revolute" if rng.random() < 0.7 else "prismatic",
                parent=path[-1],
                T_parent_joint=random_placement(rng),
                axis=rng.normal(size=3),
                link=Link(f"body{i}", random_link(rng)),
                T_joint_link=random_placement(rng) if rng.random() < 0.5 else np.eye(4),
            )
        )
        path.append(i)
    return Robot(f"random{n_dof}", tuple(joints), gravity=rng.normal(size=3) * 9.81)


def battery() -> list[Robot]:
    """Built-in robots and random ones with 1 to 9 joints."""
    rng = np.random.default_rng(20190704)
    built_in = [load_robot(name) for name in BUILT_IN]
    return [*built_in, *(random_robot(rng, n_dof) for n_dof in (1, 2, 3, 4, 5, 6, 7, 9))]


BATTERY = battery()


def as_mujoco(robot: Robot) -> mujoco.MjModel:
    """The same robot built through MuJoCo's own specification: our loaders and kernels are not involved."""
    spec = mujoco.MjSpec()
    spec.option.gravity = robot.gravity
    spec.compiler.boundmass = 0.0
    spec.compiler.boundinertia = 0.0
    bodies: list[mujoco.MjsBody] = []
    for joint in robot.joints:
        parent = spec.worldbody if joint.parent < 0 else bodies[joint.parent]
        # MuJoCo's body frame is our link frame at zero position; its joint axis is given in that frame.
        T = joint.T_parent_link(0.0)
        body = parent.add_body(name=joint.link.name, pos=T[:3, 3], quat=_wxyz(T[:3, :3]))
        R, p = joint.T_joint_link[:3, :3], joint.T_joint_link[:3, 3]
        kind = mujoco.mjtJoint.mjJNT_HINGE if joint.type == "revolute" else mujoco.mjtJoint.mjJNT_SLIDE
        body.add_joint(name=joint.name, type=kind, axis=R.T @ joint.axis, pos=-R.T @ p)
        nominal = joint.link.nominal
        assert nominal is not None
        body.mass = nominal.mass
        body.ipos = nominal.com
        I = nominal.inertia_com  # noqa: E741
        body.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        body.explicitinertial = True
        bodies.append(body)
    return spec.compile()


def _wxyz(R: Array) -> Array:
    x, y, z, w = Rotation.from_matrix(R).as_quat()
    return np.array([w, x, y, z])
