"""An identified robot as MJCF, fresh or into its own file; it must re-predict the torque it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

from dynid.arrays import Array, Float, Matrix3, Vector3
from dynid.chain.formats.edits import Edit, InsertChild, NewElement, RemoveAttribute, SetAttribute, edited
from dynid.chain.formats.mjcf_parts import ORIENTATIONS, read_compiler, read_shape
from dynid.chain.formats.xml import Element, Markup
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import BASE, Joint, Robot
from dynid.disk import write_whole
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import ExportError
from dynid.regression.model import IdentifiedModel
from dynid.simulation.mujoco_arm import DELAY_NAME
from dynid.writers.exported import (
    AGREEMENT,
    DEFAULTS,
    Exported,
    ExportOptions,
    export_motion,
    relative_error,
    require_agreement,
)
from dynid.writers.in_place import Share, Template, read_template, reread
from dynid.writers.joint_terms import PassiveTerms
from dynid.writers.likeness import asset_edits, compilable, require_likeness
from dynid.writers.mjcf_check import NOT_INSTALLED, mujoco_torque, own_torque, pinocchio_mjcf_torque
from dynid.writers.refitting import FRESH_STEP, chosen_log, mujoco_softness
from dynid.writers.robot_file import UNLIMITED, RobotContent, exact_number, exact_numbers, robot_content

__all__ = ["mjcf_text", "write_mjcf"]

DIAGONAL = 1e-13
"""Relative to the largest moment: products of inertia below this are round-off."""
PASSIVE = ("armature", "damping", "frictionloss")
"""Attributes of a joint that hold rotor inertia, damping and dry friction."""


def write_mjcf(model: IdentifiedModel, path: Path, options: ExportOptions = DEFAULTS) -> Exported:
    """Write an identified model (SI) as MJCF, after it has been read back and the torque agreed.

    MuJoCo reads it back where it is installed; otherwise Pinocchio's and dynid's own parser do.

    Args:
        model: what to write.
        path: the file.
        options: a `template` changes in inertias, damping and friction (and armature) only, every other byte stays.

    Raises:
        ExportError: no full or no physically consistent parameters, another robot's template, or a torque that differs.
    """
    content, robot = robot_content(model, path, options, file="MJCF", rotors=True, soft=True), model.model.robot
    left_out, notices = content.passive.left_out, (*content.problems, *content.passive.told)
    softness = mujoco_softness(model, content.passive)
    samples = chosen_log(model, options)
    delay = samples.plan.delay if samples is not None and model.settings.delay else None
    held: Mapping[str, float] = {}
    if options.template is None:
        left_out = (*left_out, *_unsaid(robot))
        data = content.fresh(
            lambda comments: mjcf_text(robot, content.links, content.passive, softness, delay=delay, comments=comments),
            left_out,
        )
    else:
        found = read_template(options.template, robot, options.lock, ("mujoco",))
        extra, where = asset_edits(found.document, options.template, path)
        if delay is not None:
            number = NewElement("numeric", {"name": DELAY_NAME, "data": exact_number(delay)})
            extra.append(InsertChild(found.document.root, NewElement("custom", {}, (number,))))
        data, told = _edited(found, content.links, content.passive, softness, extra)
        told += where
        data = content.signed(data)
        notices, held = (*notices, *told, *_other_gravity(found.tree.gravity, robot)), found.held
    motion = export_motion(TorqueModel(robot))
    errors, by, doubts = _read_back(data, content, motion, held, fresh=options.template is None)
    error = require_agreement(path, errors)
    notices = (*notices, *require_likeness(model, data, samples, path, options))
    write_whole(path, data)
    return Exported(
        path,
        "mjcf",
        error,
        motion.n_samples,
        by,
        left_out,
        (*notices, *doubts),
        not content.problems,
        robot.name,
    )


def _read_back(
    data: bytes, content: RobotContent, motion: Motion, held: Mapping[str, float], *, fresh: bool
) -> tuple[list[tuple[str, float]], str, tuple[str, ...]]:
    """Relative errors by reader, who read the file, and what could not be asked."""
    robot, mine = content.model.model.robot, content.torque(motion)
    own = own_torque(reread(data, str(content.path), robot, held), robot, motion)
    errors = [("torque (dynid's reader)", relative_error(mine, own))]
    readers, doubts = [], []
    theirs = mujoco_torque(compilable(data, content.path), robot, motion, held, gravity_of_file=fresh)
    if isinstance(theirs, str):
        if theirs != NOT_INSTALLED and fresh and not content.problems:
            # A fresh file needs no meshes, so there is no excuse.
            raise ExportError(f"{content.path}: not written, MuJoCo refuses it: {theirs}")
        if theirs != NOT_INSTALLED:
            doubts.append(f"MuJoCo did not read it back: {theirs}")
    else:
        errors.append(("torque (MuJoCo)", relative_error(mine, theirs)))
        readers.append("MuJoCo")
    other = pinocchio_mjcf_torque(data, robot, motion, held)
    if not isinstance(other, str) and (fresh or relative_error(mine, other) < AGREEMENT):
        errors.append(("torque (Pinocchio)", relative_error(mine, other)))
        readers.append("Pinocchio")
    elif not readers:
        what = other if isinstance(other, str) else "its MJCF parser reads this file otherwise"
        doubts.append(f"Pinocchio did not read it back: {what}")
    return errors, " and ".join(readers) or "dynid's own reader", tuple(doubts)


def _other_gravity(of_file: Vector3, robot: Robot) -> tuple[str, ...]:
    if np.allclose(of_file, robot.gravity, rtol=0.0, atol=1e-9):
        return ()
    file, mine = (", ".join(f"{x:.5g}" for x in g) for g in (of_file, robot.gravity))
    return (f"gravity of the file stays [{file}] m/s²; the model was identified under [{mine}]",)


def _unsaid(robot: Robot) -> tuple[str, ...]:
    rates = [
        name
        for name in ("velocity", "acceleration", "jerk")
        for j in robot.joints
        if np.isfinite(getattr(j.limits, name))
    ]
    return (f"MJCF has no place for limits of {', '.join(dict.fromkeys(rates))}",) if rates else ()


def mjcf_text(
    robot: Robot,
    links: Sequence[InertialParameters],
    passive: PassiveTerms,
    softness: Sequence[Mapping[str, str]] = (),
    *,
    delay: float | None = None,
    comments: Sequence[str] = (),
) -> str:
    """The robot with these links (SI) as an MJCF document with a motor at every joint; body frames are link frames.

    Args:
        robot: joints and limits.
        links: what they carry.
        passive: damping, dry friction and rotors.
        softness: solver settings of the dry friction, a set for each joint.
        delay: time in s by which the torque of the log lagged, kept for rollouts; None where that is not known.
        comments: text for the top of the file.
    """
    root = etree.Element("mujoco", model=robot.name)
    for text in comments:
        root.append(etree.Comment(text))
    etree.SubElement(root, "compiler", angle="radian", autolimits="true")
    # Short steps, and damping implicit: what is lost between model and simulator is then friction at reversals alone.
    step = exact_number(FRESH_STEP)
    etree.SubElement(root, "option", gravity=exact_numbers(robot.gravity), timestep=step, integrator="implicitfast")
    bodies: list[etree._Element] = []
    world = etree.SubElement(root, "worldbody")
    for j, (joint, link) in enumerate(zip(robot.joints, links, strict=True)):
        T = joint.T_parent_link(0.0)
        above = world if joint.parent == BASE else bodies[joint.parent]
        place = {"pos": exact_numbers(T[:3, 3]), "quat": exact_numbers(_quaternion(T[:3, :3]))}
        body = etree.SubElement(above, "body", {"name": _body_name(joint.link.name), **place})
        ten = link.to_order("mjcf")
        etree.SubElement(
            body,
            "inertial",
            pos=exact_numbers(ten[1:4]),
            mass=exact_number(link.mass),
            fullinertia=exact_numbers(ten[4:]),
        )
        own = dict(softness[j]) if softness else {}
        etree.SubElement(body, "joint", _joint_attributes(joint, passive, j) | own)
        bodies.append(body)
    motors = etree.SubElement(root, "actuator")
    for j, joint in enumerate(robot.joints):
        effort = joint.limits.effort
        limit = {"ctrlrange": f"{exact_number(-effort)} {exact_number(effort)}"} if 0.0 < effort < np.inf else {}
        constant = 0.0 if passive.offset is None else float(passive.offset[j])
        kind = "general" if constant else "motor"
        # A constant torque beside friction is a motor whose zero is off.
        off = {"biastype": "affine", "biasprm": f"{exact_number(-constant)} 0 0"} if constant else {}
        etree.SubElement(motors, kind, {"name": joint.name, "joint": joint.name, **limit, **off})
    if delay is not None:
        custom = etree.SubElement(root, "custom")
        etree.SubElement(custom, "numeric", name=DELAY_NAME, data=exact_number(delay))
    etree.indent(root)
    return etree.tostring(root, encoding="unicode") + "\n"


def _body_name(name: str) -> str:
    # MuJoCo keeps this name for itself.
    return "world_" if name == "world" else name


def _joint_attributes(joint: Joint, passive: PassiveTerms, j: int) -> dict[str, str]:
    R, p = joint.T_joint_link[:3, :3], joint.T_joint_link[:3, 3]
    attributes = {
        "name": joint.name,
        "type": "hinge" if joint.type == "revolute" else "slide",
        "axis": exact_numbers(R.T @ joint.axis),
        "pos": exact_numbers(-R.T @ p),
    }
    lower, upper = joint.limits.lower, joint.limits.upper
    if (np.isfinite(lower) or np.isfinite(upper)) and lower < upper:
        attributes["range"] = f"{exact_number(max(lower, -UNLIMITED))} {exact_number(min(upper, UNLIMITED))}"
    values = (passive.rotor[j], passive.damping[j], passive.friction[j])
    return attributes | {name: exact_number(float(value)) for name, value in zip(PASSIVE, values, strict=True) if value}


def _quaternion(R: Matrix3) -> Float[Array, " 4"]:
    x, y, z, w = Rotation.from_matrix(R).as_quat()
    return np.array([w, x, y, z])


def _edited(
    template: Template,
    links: Sequence[InertialParameters],
    passive: PassiveTerms,
    softness: Sequence[Mapping[str, str]],
    extra: Sequence[Edit],
) -> tuple[bytes, list[str]]:
    """The bytes of the template with new numbers, and what a reader should know."""
    document = template.document
    compiler = read_compiler(document)
    if compiler.inertia_from_geometry == "true":
        raise ExportError(
            f'{document.source}: <compiler inertiafromgeom="true"> ignores <inertial>; set it to auto, or export '
            "a fresh file, without `template`"
        )
    shares, notices = template.shares(links)
    edits: list[Edit] = [*template.right_angles]
    for share in shares:
        if share.body.virtual:
            if np.any(share.inertial.pi):
                raise ExportError(
                    f"{document.source}: {share.body.name} has several joints, and the inertia identified between them "
                    "has no place in one body; export a fresh file, without `template`"
                )
        elif share.changed:
            edits += _inertial_edits(document, share)
    for group in template.groups:
        for body, _ in group.bodies[1:]:
            if body.inertial is None and body.element is not None and _has_mesh_mass(document, body.element):
                nothing = {"pos": "0 0 0", "mass": "0", "diaginertia": "0 0 0"}
                edits.append(InsertChild(body.element, NewElement("inertial", nothing)))
                notices.append(
                    f"{body.name}: its mesh no longer gives it mass; {group.bodies[0][0].name} has all of it"
                )
    edits += _joint_edits(template, passive, softness, notices)
    return edited(document, [*edits, *extra]), notices


def _has_mesh_mass(document: Markup, body: Element) -> bool:
    compiler = read_compiler(document)
    geoms = [g for g in body.iter("geom") if next(g.iterancestors("body")) is body]
    return any(read_shape(document, compiler, geom, np.eye(4)).inertial is None for geom in geoms)


def _inertial_edits(document: Markup, share: Share) -> list[Edit]:
    body, own = share.body, share.inertial
    assert body.element is not None, "only virtual bodies have none"
    ten = own.to_order("mjcf")
    element = None if body.inertial is None else body.inertial.element
    if element is None or body.inertial is None:
        values = {"pos": exact_numbers(ten[1:4]), "mass": exact_number(own.mass), "fullinertia": exact_numbers(ten[4:])}
        return [InsertChild(body.element, NewElement("inertial", values))]
    if element.getparent() is not body.element:
        raise document.fault(element, "inside a <frame>; export a fresh file, without `template`")
    edits: list[Edit] = [SetAttribute(element, "mass", exact_number(own.mass))]
    if not np.array_equal(own.com, body.inertial.com):
        edits.append(SetAttribute(element, "pos", exact_numbers(own.com)))
    if element.get("fullinertia") is not None:
        return [*edits, SetAttribute(element, "fullinertia", exact_numbers(ten[4:]))]
    R = body.inertial.T_body_inertial[:3, :3]
    tensor = R.T @ own.inertia_com @ R
    moments = np.diag(tensor)
    if np.max(np.abs(tensor - np.diag(moments))) > DIAGONAL * np.max(np.abs(tensor)):
        moments, R = np.linalg.eigh(own.inertia_com)
        R = R * np.sign(np.linalg.det(R))
        edits += [RemoveAttribute(element, name) for name in ORIENTATIONS if name != "quat" and element.get(name)]
        edits.append(SetAttribute(element, "quat", exact_numbers(_quaternion(R))))
    return [*edits, SetAttribute(element, "diaginertia", exact_numbers(moments))]


def _joint_edits(
    template: Template, passive: PassiveTerms, softness: Sequence[Mapping[str, str]], notices: list[str]
) -> list[Edit]:
    document = template.document
    joints = {body.joint.name: body.joint for body in template.tree.bodies if body.joint is not None}
    edits: list[Edit] = []
    for j, name in enumerate(template.robot.joint_names):
        element = joints[name].element
        assert element is not None, "joints of a file have elements"
        values = (passive.rotor[j], passive.damping[j], passive.friction[j])
        # Inherited defaults count as the element's own here; what it says itself overrides them.
        for attribute, value in zip(PASSIVE, values, strict=True):
            if document.number(element, attribute, 0.0) != value:
                edits.append(SetAttribute(element, attribute, exact_number(float(value))))
                if value == 0.0:
                    notices.append(f"{name}: {attribute} of the file set to 0, since the model has none")
        edits += [SetAttribute(element, key, value) for key, value in softness[j].items()]
        if document.number(element, "stiffness", 0.0) != 0.0:
            notices.append(f"{name}: the spring of the file stays, and is not part of the model")
    return edits
