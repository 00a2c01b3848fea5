"""Robot files as they are found: each loaded, its torque compared with that of others, the whole job done on it."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

import dynid
from dynid.arrays import Array, Float
from dynid.chain.formats.includes import read_document
from dynid.chain.formats.xml import Markup
from dynid.chain.robot import Robot
from dynid.dynamics import TorqueModel, random_motion
from dynid.dynamics.motion import Motion
from dynid.errors import DynidError
from dynid.writers.urdf import pinocchio_torque

N_STATES = 20
"""Random states at which torques are compared."""
NO_ROBOT = ("there is no <worldbody>", "no movable joint", "default class", "no <link>")
"""What is said of files that are parts of others: keyframes, actuators, a table, a floor."""


@dataclass(frozen=True)
class Outcome:
    """What became of one robot file."""

    file: str
    n_dof: int = 0
    """Joints that move; 0 where it did not load."""
    error: float = float("nan")
    """Largest difference to the torque of the other program, over the largest torque; nan without one."""
    by: str = ""
    """The program that computed the torque, or why there is none."""
    job: str = ""
    """How simulate → doctor → identify → export ended; empty where it was not tried."""
    is_part: bool = False
    """Whether the file holds no robot: it is a part that others include."""
    refusal: str = ""
    """Why it did not load."""


def robot_files(data: Path) -> list[Path]:
    """Every robot file of the data sets, parts of scenes included."""
    folder = data / "robots"
    return sorted([*folder.glob("urdf/**/*.urdf"), *folder.glob("mjcf/**/*.xml")])


def outcome(path: Path, *, job: bool) -> Outcome:
    """Load a file, compare its torque, and do the whole job on a simulated log where asked."""
    name = f"{path.parent.name}/{path.name}"
    try:
        robot = dynid.load_robot(path)
    except DynidError as refused:
        return Outcome(name, refusal=str(refused), is_part=any(text in str(refused) for text in NO_ROBOT))
    error, by = torque_error(path, robot)
    return Outcome(name, robot.n_dof, error, by, whole_job(path) if job else "")


def torque_error(path: Path, robot: Robot) -> tuple[float, str]:
    """How far the torque of a file is from that of Pinocchio (URDF) or MuJoCo (MJCF), relative to the largest."""
    motion = random_motion(robot, N_STATES, np.random.default_rng(7))
    nominal = [np.zeros(10) if joint.link.nominal is None else joint.link.nominal.pi for joint in robot.joints]
    mine = TorqueModel(robot).torque(motion, np.concatenate(nominal))
    mine = mine + np.array([joint.rotor_inertia for joint in robot.joints]) * motion.ddq
    is_urdf = read_document(path).root.tag == "robot"
    theirs = of_pinocchio(path, robot, motion) if is_urdf else of_mujoco(path, robot, motion)
    if isinstance(theirs, str):
        return float("nan"), theirs
    size = float(np.max(np.abs(theirs)))
    difference = float(np.max(np.abs(mine - theirs)))
    return difference / size if size else difference, "Pinocchio" if is_urdf else "MuJoCo"


def of_pinocchio(path: Path, robot: Robot, motion: Motion) -> Float[Array, "n_samples n_dof"] | str:
    """Torque (N·m or N) as Pinocchio reads a URDF; a text says why there is none."""
    import pinocchio as pin

    try:
        model = pin.buildModelFromUrdf(str(path))
    except (ValueError, RuntimeError):
        return "Pinocchio does not load it"
    model.damping = np.zeros(model.nv)
    model.friction = np.zeros(model.nv)
    model.gravity.linear = robot.gravity.copy()
    return pinocchio_torque(model, robot, motion, robot.held)


def of_mujoco(path: Path, robot: Robot, motion: Motion) -> Float[Array, "n_samples n_dof"] | str:
    """Torque (N·m or N) as MuJoCo reads an MJCF, armature included; a text says why there is none."""
    try:
        import mujoco
    except ImportError:
        return "MuJoCo is not installed"
    try:
        model = mujoco.MjModel.from_xml_string(without_meshes(read_document(path)))
    except ValueError as error:
        return f"MuJoCo does not load it: {' '.join(str(error).split())[:60]}"
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= int(off.mjDSBL_EQUALITY | off.mjDSBL_LIMIT | off.mjDSBL_CONTACT)
    for passive in (model.jnt_stiffness, model.dof_damping, model.dof_frictionloss, model.body_gravcomp):
        passive[:] = 0.0
    model.tendon_stiffness[:] = model.tendon_damping[:] = model.tendon_frictionloss[:] = 0.0
    model.opt.density = model.opt.viscosity = 0.0
    state = mujoco.MjData(model)
    names = {model.joint(j).name for j in range(model.njnt)}
    if not set(robot.joint_names) <= names:
        return "joints without names"
    joints = [model.joint(name) for name in robot.joint_names]
    at, rows = [int(joint.qposadr[0]) for joint in joints], [int(joint.dofadr[0]) for joint in joints]
    for name, position in robot.held.items():
        if name in names:
            state.qpos[int(model.joint(name).qposadr[0])] = position
    tau = np.empty_like(motion.q)
    for k in range(motion.n_samples):
        state.qpos[at], state.qvel[rows], state.qacc[rows] = motion.q[k], motion.dq[k], motion.ddq[k]
        mujoco.mj_inverse(model, state)
        tau[k] = state.qfrc_inverse[rows]
    return tau


def without_meshes(document: Markup) -> str:
    """An MJCF document without the meshes and textures that are not here; bodies weigh what `<inertial>` says."""
    root: Any = etree.fromstring(etree.tostring(document.root))
    for element in root.xpath("//geom[@mesh or @hfield] | //asset | //contact | //sensor | //keyframe | //deformable"):
        element.getparent().remove(element)
    for element in root.xpath("//*[@material]"):
        del element.attrib["material"]
    return str(etree.tostring(root, encoding="unicode"))


def whole_job(path: Path) -> str:
    """Simulate, doctor, identify, export on one robot: ``good`` and the like, or where it stopped and why."""
    with tempfile.TemporaryDirectory() as folder:
        log, step = Path(folder) / "log.csv", "simulate"
        try:
            dynid.save(dynid.simulate(path, duration=10.0, rate=100.0, noise_tau="0.1%"), log)
            step = "doctor"
            findings = dynid.examine(path, log).findings
            step = "identify"
            result = dynid.identify(path, log)
            dynid.save(result, Path(folder) / "out")
            step = "export"
            kind = "urdf" if path.suffix == ".urdf" else "mjcf"
            dynid.export(result.model, kind, Path(folder) / f"robot.{kind}")
        except DynidError as error:
            return f"{step}: {error}".replace(folder + os.sep, "")[:200]
    errors = [finding.code for finding in findings if finding.severity.value == "error"]
    return f"errors: {', '.join(errors)}" if errors else "well"
