"""An identified robot as URDF, fresh or into its own file; it must re-predict the torque it came from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from dynid.arrays import Array, Float, Matrix3, Transform, Vector3
from dynid.chain.formats.edits import Edit, InsertChild, NewElement, SetAttribute, edited
from dynid.chain.formats.urdf import URDF_TENSOR
from dynid.chain.formats.xml import Element
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import BASE, STANDARD_GRAVITY, Joint, Robot
from dynid.disk import write_whole
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import ExportError
from dynid.regression.model import IdentifiedModel
from dynid.writers.exported import DEFAULTS, Exported, ExportOptions, export_motion, relative_error, require_agreement
from dynid.writers.in_place import Share, Template, read_template
from dynid.writers.joint_terms import PassiveTerms
from dynid.writers.robot_file import UNLIMITED, exact_number, exact_numbers, robot_content

__all__ = ["urdf_text", "write_urdf"]

TILT = 0.02
"""m/s² by which gravity may differ from straight down before a reader of the URDF is told."""


def write_urdf(model: IdentifiedModel, path: Path, options: ExportOptions = DEFAULTS) -> Exported:
    """Write an identified model (SI) as URDF, after Pinocchio has read it back and agreed on the torque.

    Args:
        model: what to write.
        path: the file.
        options: a `template` changes in inertias, damping and friction (and armature) only, every other byte stays.

    Raises:
        ExportError: no full or no physically consistent parameters, another robot's template, or a torque that differs.
    """
    content, robot = robot_content(model, path, options, file="URDF", rotors=False), model.model.robot
    left_out, notices = (*content.passive.left_out, *_unsaid(robot)), (*content.problems, *content.passive.told)
    held: Mapping[str, float] = {}
    if options.template is None:
        data = content.fresh(
            lambda comments: urdf_text(robot, content.links, content.passive, comments=comments), left_out
        )
        text = data.decode()
    else:
        found = read_template(options.template, robot, options.lock, ("robot",))
        shares, told = found.shares(content.links)
        data = content.signed(edited(found.document, [*_edits(found, shares), *_joint_edits(found, content.passive)]))
        text = data.decode(found.document.encoding)
        notices, held = (*notices, *told), found.held
    motion = export_motion(TorqueModel(robot))
    theirs = _read_back(text, robot, motion, held, path)
    error = require_agreement(path, [("torque", relative_error(content.torque(motion), theirs))])
    write_whole(path, data)
    return Exported(
        path, "urdf", error, motion.n_samples, "Pinocchio", left_out, notices, not content.problems, robot.name
    )


def _unsaid(robot: Robot) -> tuple[str, ...]:
    g = robot.gravity
    if np.linalg.norm(g - [0.0, 0.0, -STANDARD_GRAVITY]) <= TILT:
        return ()
    axes = ", ".join(f"{x:.5g}" for x in g)
    return (f"URDF has no gravity: the model was identified under [{axes}] m/s² in axes of the base",)


def _edits(template: Template, shares: Sequence[Share]) -> list[Edit]:
    edits: list[Edit] = [*template.right_angles]
    for share in shares:
        body, own = share.body, share.inertial
        if not share.changed or body.element is None:
            continue
        element = None if body.inertial is None else body.inertial.element
        if body.inertial is None or element is None:
            entries = dict(zip(URDF_TENSOR, map(exact_number, own.to_order("urdf")[4:].tolist()), strict=True))
            parts = (
                NewElement("origin", {"xyz": exact_numbers(own.com), "rpy": "0 0 0"}),
                NewElement("mass", {"value": exact_number(own.mass)}),
                NewElement("inertia", entries),
            )
            edits.append(InsertChild(body.element, NewElement("inertial", {}, parts)))
            continue
        # The axes of the tensor stay as the file has them.
        R = body.inertial.T_body_inertial[:3, :3]
        tensor = R.T @ own.inertia_com @ R
        if not np.array_equal(own.com, body.inertial.com):
            edits.append(_attribute(element, "origin", {"xyz": exact_numbers(own.com)}))
        edits.append(_attribute(element, "mass", {"value": exact_number(own.mass)}))
        cells = {name: ("xyz".index(name[1]), "xyz".index(name[2])) for name in URDF_TENSOR}
        values = {name: exact_number(float(tensor[cell])) for name, cell in cells.items()}
        inertia = element.find("inertia")
        if inertia is None:
            edits.append(InsertChild(element, NewElement("inertia", values)))
        else:
            edits += [SetAttribute(inertia, name, value) for name, value in values.items()]
    return edits


def _attribute(parent: Element, tag: str, values: Mapping[str, str]) -> Edit:
    """One attribute of a child, which is made where it is missing."""
    child = parent.find(tag)
    if child is None:
        return InsertChild(parent, NewElement(tag, values))
    [(name, value)] = values.items()
    return SetAttribute(child, name, value)


def _joint_edits(template: Template, passive: PassiveTerms) -> list[Edit]:
    joints = {body.joint.name: body.joint for body in template.tree.bodies if body.joint is not None}
    edits: list[Edit] = []
    for j, name in enumerate(template.robot.joint_names):
        element = joints[name].element
        assert element is not None, "joints of a file have elements"
        values = {"damping": float(passive.damping[j]), "friction": float(passive.friction[j])}
        dynamics = element.find("dynamics")
        if dynamics is None:
            if any(values.values()):
                texts = {key: exact_number(value) for key, value in values.items()}
                edits.append(InsertChild(element, NewElement("dynamics", texts)))
            continue
        for key, value in values.items():
            if template.document.number(dynamics, key, 0.0) != value:
                edits.append(SetAttribute(dynamics, key, exact_number(value)))
    return edits


def urdf_text(
    robot: Robot,
    links: Sequence[InertialParameters],
    passive: PassiveTerms | None = None,
    *,
    comments: Sequence[str] = (),
) -> str:
    """The robot with these links (SI) as a URDF document; link frames are the joint frames, as URDF wants them.

    Args:
        robot: joints and limits.
        links: what they carry.
        passive: their damping and dry friction; none where None.
        comments: text for the top of the file.
    """
    root = etree.Element("robot", name=robot.name)
    etree.SubElement(root, "link", name=_free_name("base", robot))
    for joint, link in zip(robot.joints, links, strict=True):
        _add_link(root, joint, link.moved(joint.T_joint_link))
    for j, joint in enumerate(robot.joints):
        friction = (0.0, 0.0) if passive is None else (float(passive.damping[j]), float(passive.friction[j]))
        _add_joint(root, robot, joint, friction)
    for text in reversed(comments):
        root.insert(0, etree.Comment(text))
    etree.indent(root)
    return '<?xml version="1.0"?>\n' + etree.tostring(root, encoding="unicode") + "\n"


def _free_name(name: str, robot: Robot) -> str:
    while name in robot.link_names:
        name += "_"
    return name


def _add_link(root: etree._Element, joint: Joint, link: InertialParameters) -> None:
    element = etree.SubElement(root, "link", name=joint.link.name)
    inertial = etree.SubElement(element, "inertial")
    etree.SubElement(inertial, "origin", xyz=exact_numbers(link.com), rpy="0 0 0")
    etree.SubElement(inertial, "mass", value=exact_number(link.mass))
    values = link.to_order("urdf")[4:].tolist()
    etree.SubElement(inertial, "inertia", {k: exact_number(v) for k, v in zip(URDF_TENSOR, values, strict=True)})


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
    etree.SubElement(element, "origin", xyz=exact_numbers(T[:3, 3]), rpy=exact_numbers(rpy))
    etree.SubElement(element, "axis", xyz=exact_numbers(joint.axis))
    bounds = {"effort": _limit(limits.effort), "velocity": _limit(limits.velocity)}
    if not endless:
        bounds |= {"lower": _limit(limits.lower), "upper": _limit(limits.upper)}
    bounds |= {name: _limit(value) for name in ("acceleration", "jerk") if np.isfinite(value := getattr(limits, name))}
    etree.SubElement(element, "limit", bounds)
    etree.SubElement(element, "dynamics", damping=exact_number(friction[0]), friction=exact_number(friction[1]))


def _rpy(R: Matrix3) -> Vector3:
    """URDF's roll, pitch, yaw in rad; roll takes all of the turn where the pitch is a quarter turn."""
    pitch = float(np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])))
    if np.hypot(R[0, 0], R[1, 0]) < 1e-9:
        return np.array([np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def _limit(value: float) -> str:
    return repr(float(np.clip(value, -UNLIMITED, UNLIMITED)))


def _read_back(
    text: str, robot: Robot, motion: Motion, held: Mapping[str, float], path: Path
) -> Float[Array, "n_samples n_dof"]:
    """Torque, damping and dry friction included, as Pinocchio reads them from a URDF."""
    import pinocchio as pin

    # The text is Unicode by now, whatever encoding its declaration names.
    plain = re.sub(r"^\ufeff?\s*<\?xml.*?\?>", "", text, count=1, flags=re.DOTALL)
    try:
        model = pin.buildModelFromXML(plain)
    except (ValueError, RuntimeError) as error:
        raise ExportError(f"{path}: not written, the file cannot be read back: {error}") from error
    missing = [name for name in robot.joint_names if not model.existJointName(name)]
    if missing:
        raise ExportError(f"{path}: not written, read back the file lacks the joints {', '.join(missing)}")
    model.gravity.linear = robot.gravity.copy()
    return pinocchio_torque(model, robot, motion, held)


def pinocchio_torque(
    model: Any, robot: Robot, motion: Motion, held: Mapping[str, float]
) -> Float[Array, "n_samples n_dof"]:
    """Torque (N·m or N) of a Pinocchio model with its damping and dry friction; other joints stand still as `held`."""
    import pinocchio as pin

    data = model.createData()
    joints = [model.joints[model.getJointId(name)] for name in robot.joint_names]
    start = pin.neutral(model)
    for name, position in held.items():
        if model.existJointName(name):
            _place(start, model.joints[model.getJointId(name)], position)
    rows = [joint.idx_v for joint in joints]
    damping, friction = np.array(model.damping)[rows], np.array(model.friction)[rows]
    tau = np.empty_like(motion.q)
    for k in range(motion.n_samples):
        q, v, a = start.copy(), np.zeros(model.nv), np.zeros(model.nv)
        for j, joint in enumerate(joints):
            _place(q, joint, float(motion.q[k, j]))
        v[rows], a[rows] = motion.dq[k], motion.ddq[k]
        tau[k] = pin.rnea(model, data, q, v, a)[rows]
    return tau + damping * motion.dq + friction * np.sign(motion.dq)


def _place(q: Float[Array, " n_q"], joint: Any, position: float) -> None:
    """Write a joint position (rad or m) into Pinocchio's vector, where an endless joint is a cosine and a sine."""
    q[joint.idx_q : joint.idx_q + joint.nq] = position if joint.nq == 1 else (np.cos(position), np.sin(position))
