"""A fresh URDF of an identified robot; it must re-predict the torque it came from, or it is not written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from lxml import etree

from dynid.arrays import Array, Float, Matrix3, Transform, Vector3
from dynid.chain.consistency import consistency
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import BASE, Joint, Robot
from dynid.disk import write_whole
from dynid.dynamics.motion import Motion, random_motion
from dynid.dynamics.regressor import TorqueModel
from dynid.errors import ExportError
from dynid.writers.model_file import IdentifiedModel

__all__ = ["urdf_text", "write_urdf"]

N_STATES = 50
TOLERANCE = 1e-8
"""Largest torque difference over the largest torque, dimensionless."""
UNLIMITED = 1e6
"""Written where URDF demands a limit and the robot has none; rad, m, per s, N·m or N."""


def write_urdf(model: IdentifiedModel, path: Path) -> None:
    """Write the links of an identified model (SI) as URDF, after Pinocchio has read it back and agreed on the torque.

    Raises:
        ExportError: no full or no possible parameter set, or the file would not re-predict the torque.
    """
    if not model.links:
        raise ExportError(f"{path}: the estimator {model.estimator} gives no link parameters; use --estimator feasible")
    impossible = [
        name
        for name, link in zip(model.model.robot.link_names, model.links, strict=True)
        if not consistency(link).holds
    ]
    if impossible:
        raise ExportError(f"{path}: not written, physically impossible: {', '.join(impossible)}")
    terms = _terms(model)
    text = urdf_text(model.model.robot, model.links, terms)
    error = _prediction_error(text, model.model.robot, model.links)
    if not error <= TOLERANCE:
        raise ExportError(f"{path}: not written, the file would predict torques that are off by {error:.1e}")
    write_whole(path, text)


def _terms(model: IdentifiedModel) -> dict[str, tuple[float, float]]:
    """Viscous and Coulomb friction of every joint, N·m·s/rad and N·m."""
    columns, values = model.model.columns, model.parameters
    found = {(column.owner, column.name): float(value) for column, value in zip(columns, values, strict=True)}
    return {
        name: (found.get((name, "Fv"), 0.0), found.get((name, "Fc"), 0.0)) for name in model.model.robot.joint_names
    }


def urdf_text(
    robot: Robot, links: tuple[InertialParameters, ...], friction: dict[str, tuple[float, float]] | None = None
) -> str:
    """The robot with these links (SI) as a URDF document; link frames are the joint frames, as URDF wants them."""
    root = etree.Element("robot", name=robot.name)
    etree.SubElement(root, "link", name=_free_name("base", robot))
    for joint, link in zip(robot.joints, links, strict=True):
        _add_link(root, joint, link.moved(joint.T_joint_link))
    for joint in robot.joints:
        _add_joint(root, robot, joint, (friction or {}).get(joint.name, (0.0, 0.0)))
    etree.indent(root)
    return '<?xml version="1.0"?>\n' + etree.tostring(root, encoding="unicode") + "\n"


def _free_name(name: str, robot: Robot) -> str:
    while name in robot.link_names:
        name += "_"
    return name


def _add_link(root: etree._Element, joint: Joint, link: InertialParameters) -> None:
    element = etree.SubElement(root, "link", name=joint.link.name)
    inertial = etree.SubElement(element, "inertial")
    etree.SubElement(inertial, "origin", xyz=_text(link.com), rpy="0 0 0")
    etree.SubElement(inertial, "mass", value=repr(link.mass))
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    values = link.to_order("urdf")[4:]
    etree.SubElement(inertial, "inertia", {k: repr(float(v)) for k, v in zip(names, values, strict=True)})


def _add_joint(root: etree._Element, robot: Robot, joint: Joint, friction: tuple[float, float]) -> None:
    limits = joint.limits
    endless = joint.type == "revolute" and not (np.isfinite(limits.lower) and np.isfinite(limits.upper))
    element = etree.SubElement(root, "joint", name=joint.name, type="continuous" if endless else joint.type)
    parent = _free_name("base", robot) if joint.parent == BASE else robot.joints[joint.parent].link.name
    etree.SubElement(element, "parent", link=parent)
    etree.SubElement(element, "child", link=joint.link.name)
    T_carrier: Transform = np.eye(4) if joint.parent == BASE else robot.joints[joint.parent].T_joint_link
    T = T_carrier @ joint.T_parent_joint
    rpy = _rpy(T[:3, :3])
    etree.SubElement(element, "origin", xyz=_text(T[:3, 3]), rpy=_text(rpy))
    etree.SubElement(element, "axis", xyz=_text(joint.axis))
    bounds = {"effort": _limit(limits.effort), "velocity": _limit(limits.velocity)}
    if not endless:
        bounds |= {"lower": _limit(limits.lower), "upper": _limit(limits.upper)}
    etree.SubElement(element, "limit", bounds)
    etree.SubElement(element, "dynamics", damping=repr(friction[0]), friction=repr(friction[1]))


def _rpy(R: Matrix3) -> Vector3:
    """URDF's roll, pitch, yaw in rad; roll takes all of the turn where the pitch is a quarter turn."""
    pitch = float(np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])))
    if np.hypot(R[0, 0], R[1, 0]) < 1e-9:
        return np.array([np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def _limit(value: float) -> str:
    return repr(float(np.clip(value, -UNLIMITED, UNLIMITED)))


def _text(values: Float[Array, " 3"]) -> str:
    return " ".join(repr(float(value)) for value in values)


def _prediction_error(text: str, robot: Robot, links: tuple[InertialParameters, ...]) -> float:
    """Largest torque difference over the largest torque, Pinocchio's reading of the text against our own model."""
    import pinocchio as pin

    try:
        model = pin.buildModelFromXML(text)
    except (ValueError, RuntimeError) as error:
        raise ExportError(f"the exported robot cannot be read back: {error}") from error
    model.gravity.linear = robot.gravity.copy()
    motion = random_motion(robot, N_STATES, np.random.default_rng(0))
    mine = TorqueModel(robot).torque(motion, np.concatenate([link.pi for link in links]))
    theirs = _pinocchio_torque(pin, model, robot, motion)
    return float(np.max(np.abs(mine - theirs)) / max(float(np.max(np.abs(mine))), 1e-300))


def _pinocchio_torque(pin: object, model: object, robot: Robot, motion: Motion) -> Float[Array, "n_samples n_dof"]:
    data = model.createData()  # type: ignore[attr-defined]
    ids = [model.getJointId(name) for name in robot.joint_names]  # type: ignore[attr-defined]
    tau = np.empty_like(motion.q)
    for k in range(motion.n_samples):
        q = pin.neutral(model)  # type: ignore[attr-defined]
        v, a = np.zeros(robot.n_dof), np.zeros(robot.n_dof)
        for j, index in enumerate(ids):
            joint = model.joints[index]  # type: ignore[attr-defined]
            angle = motion.q[k, j]
            q[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
            v[joint.idx_v], a[joint.idx_v] = motion.dq[k, j], motion.ddq[k, j]
        found = pin.rnea(model, data, q, v, a)  # type: ignore[attr-defined]
        tau[k] = [found[model.joints[index].idx_v] for index in ids]  # type: ignore[attr-defined]
    return tau
