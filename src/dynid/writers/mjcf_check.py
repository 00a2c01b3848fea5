"""The torque that others read from an MJCF file: MuJoCo, Pinocchio's parser, and dynid's own."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.writers.in_place import Template
from dynid.writers.urdf import pinocchio_torque

__all__ = ["mujoco_torque", "own_torque", "pinocchio_mjcf_torque"]

NOT_INSTALLED = "it is not installed"
"""Why MuJoCo, which dynid does not depend on, often says nothing."""
FAST = 1e9
"""1/s, damping of MuJoCo's soft friction constraint: at any speed it gives the full dry friction."""
HARD = 0.9999
"""Largest impedance that MuJoCo allows, dimensionless."""


def own_torque(template: Template, robot: Robot, motion: Motion) -> Float[Array, "n_samples n_dof"]:
    """Torque (N·m or N) of a file as dynid reads it, passive terms included, under the gravity of `robot`."""
    document = template.document
    joints = {body.joint.name: body.joint.element for body in template.tree.bodies if body.joint is not None}
    numbers = []
    for name in robot.joint_names:
        element = joints[name]
        assert element is not None, "joints of a file have elements"
        numbers.append([document.number(element, key, 0.0) for key in ("armature", "damping", "frictionloss")])
    armature, damping, friction = np.array(numbers).T
    read = template.robot.with_gravity(robot.gravity)
    tau = TorqueModel(read).torque(motion, read.nominal.ravel())
    return tau + armature * motion.ddq + damping * motion.dq + friction * np.sign(motion.dq)


def mujoco_torque(
    data: bytes, robot: Robot, motion: Motion, held: Mapping[str, float], *, gravity_of_file: bool
) -> Float[Array, "n_samples n_dof"] | str:
    """MuJoCo's inverse dynamics (N·m or N) of a file; a text says why there is none.

    Springs, limits, contacts and couplings are not part of the model and are switched off. MuJoCo's dry friction is
    soft; here it is made as hard as it allows.
    """
    try:
        import mujoco
    except ImportError:
        return NOT_INSTALLED
    try:
        model = mujoco.MjModel.from_xml_string(data.decode())
    except (ValueError, UnicodeDecodeError) as error:
        return " ".join(str(error).split())[:200]
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= int(off.mjDSBL_EQUALITY | off.mjDSBL_LIMIT | off.mjDSBL_CONTACT)
    model.jnt_stiffness[:] = 0.0
    model.body_gravcomp[:] = 0.0
    model.dof_solref[:] = (-1.0, -FAST)
    model.dof_solimp[:, :2] = HARD
    if not gravity_of_file:
        model.opt.gravity[:] = robot.gravity
    state = mujoco.MjData(model)
    joints = [model.joint(name) for name in robot.joint_names]
    at, rows = [int(joint.qposadr[0]) for joint in joints], [int(joint.dofadr[0]) for joint in joints]
    for name, position in held.items():
        state.qpos[int(model.joint(name).qposadr[0])] = position
    tau = np.empty_like(motion.q)
    for k in range(motion.n_samples):
        state.qpos[at], state.qvel[rows], state.qacc[rows] = motion.q[k], motion.dq[k], motion.ddq[k]
        mujoco.mj_inverse(model, state)
        tau[k] = state.qfrc_inverse[rows]
    return tau


def pinocchio_mjcf_torque(
    data: bytes, robot: Robot, motion: Motion, held: Mapping[str, float]
) -> Float[Array, "n_samples n_dof"] | str:
    """Torque (N·m or N) of a file as Pinocchio's MJCF parser reads it; a text says why there is none."""
    import pinocchio as pin

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.xml"
        path.write_bytes(data)
        try:
            model = pin.buildModelFromMJCF(str(path))
        except (ValueError, RuntimeError, IndexError) as error:
            return re.sub(r"\s+", " ", str(error).replace(folder, ""))[:200]
    if any(not model.existJointName(name) for name in robot.joint_names):
        return "it finds other joints"
    model.gravity.linear = robot.gravity.copy()
    return pinocchio_torque(model, robot, motion, held)
