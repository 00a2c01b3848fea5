"""What an edit in place needs: does the robot file belong to the model, and which of its bodies gets which inertia."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.linalg import eigh

from dynid.chain.consistency import consistency
from dynid.chain.formats.angles import right_angles_written_out
from dynid.chain.formats.assembly import Carried, carried_bodies, read_bodies, robot_of_bodies
from dynid.chain.formats.bodies import Body, BodyTree
from dynid.chain.formats.edits import Edit
from dynid.chain.formats.includes import read_document
from dynid.chain.formats.locks import HeldJoints, held_joints
from dynid.chain.formats.mjcf_parts import read_compiler
from dynid.chain.formats.xml import Markup, parse_markup
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import Joint, Robot
from dynid.errors import ExportError, RobotError

__all__ = ["Share", "Template", "read_template"]

SAME_PLACE = 1e-9
"""m or dimensionless: joints of model and file that differ by more are not the same."""
SAFE_SHARE = 0.5
"""Fraction of the largest share of a link that the parts fixed to it can have."""


@dataclass(frozen=True, eq=False)
class Share:
    """What one body of the file gets of the inertia that was identified for all that moves as one."""

    body: Body
    inertial: InertialParameters
    """About the body frame (SI)."""
    changed: bool
    """Whether the file must say so, or says it already."""


@dataclass(frozen=True, eq=False)
class Template:
    """A robot file whose joints are those of the model."""

    document: Markup
    tree: BodyTree
    robot: Robot
    """As the file says, locked as the model's."""
    held: Mapping[str, float]
    """Positions of joints that move in the file and not in the model, rad or m."""
    groups: tuple[Carried, ...]
    right_angles: tuple[Edit, ...] = ()
    """What makes right angles exact that the file rounds, where those of the model are."""

    def shares(self, links: Sequence[InertialParameters]) -> tuple[list[Share], list[str]]:
        """The inertia of every body that moves (SI), and what a reader should know about it.

        Bodies fixed to a link keep what the file says of them, and the link gets the rest. Where that rest would not be
        physically consistent, the fixed ones are scaled down: torque shows the sum alone.
        """
        shares: list[Share] = []
        notices: list[str] = []
        for group, link in zip(self.groups, links, strict=True):
            fixed = [(body, T) for body, T in group.bodies[1:] if body.inertial is not None and body.inertial.mass]
            parts = [_of(body).moved(T) for body, T in fixed]
            others = sum(parts, InertialParameters.zero())
            scale = _scale(link, others)
            names = ", ".join(body.name for body, _ in fixed)
            if scale != 1.0:
                notices.append(
                    f"{names}: masses and inertias scaled by {scale:.3g}, since with those of the file "
                    f"{group.bodies[0][0].name} would not be physically consistent; only their sum is identified"
                )
            elif fixed:
                notices.append(f"{names}: kept as in the file; {group.bodies[0][0].name} has the rest of their sum")
            own = InertialParameters(link.pi - scale * others.pi)
            shares.append(Share(group.bodies[0][0], own, True))
            # What a mesh or a shape weighs is written out: a copy of the file may lie where its meshes do not.
            shares += [
                Share(body, InertialParameters(scale * _of(body).pi), scale != 1.0 or _of_shapes(body))
                for body, _ in fixed
            ]
        return shares, notices


def _of(body: Body) -> InertialParameters:
    assert body.inertial is not None
    return body.inertial.parameters


def _of_shapes(body: Body) -> bool:
    return body.inertial is not None and body.inertial.element is None


def _scale(link: InertialParameters, others: InertialParameters) -> float:
    """What the parts fixed to a link must be multiplied by so that the rest is physically consistent."""
    if not np.any(others.pi) or consistency(InertialParameters(link.pi - others.pi)).holds:
        return 1.0
    if not consistency(link).holds:
        # Written by force, so that there is no consistent rest to look for.
        return 1.0
    # The rest J − s·J' is positive definite up to one over the largest eigenvalue of J' against J.
    largest = float(eigh(others.pseudo_inertia, link.pseudo_inertia, eigvals_only=True)[-1])
    return min(1.0, SAFE_SHARE / largest)


def read_template(path: Path, robot: Robot, lock: Mapping[str, float], roots: tuple[str, ...]) -> Template:
    """A robot file to edit in place for a model of `robot`; joints that it does not move stood as `lock` says.

    Raises:
        ExportError: its joints are not those of the model; the message says which.
    """
    document = read_document(path)
    if document.root.tag not in roots:
        raise ExportError(f"{path}: starts with <{document.root.tag}>, wanted is <{'> or <'.join(roots)}>")
    return template_of(document, robot, lock)


def template_of(document: Markup, robot: Robot, lock: Mapping[str, float]) -> Template:
    """The template of an XML document (SI).

    Raises:
        ExportError: its joints are not those of the model.
    """
    tree = read_bodies(document)
    right_angles: tuple[Edit, ...] = ()
    try:
        found, held = _read_like(tree, robot, lock)
        if not _same_joints(robot, found):
            square = read_bodies(document, square=True)
            found, held = _read_like(square, robot, lock)
            radian = document.root.tag == "mujoco" and read_compiler(document).radian
            tree, right_angles = square, tuple(right_angles_written_out(document, radian=radian))
    except RobotError as error:
        raise ExportError(f"{document.source}: cannot be edited in place: {error}") from error
    for mine, theirs in zip(robot.joints, found.joints, strict=True):
        if mine.type != theirs.type or mine.parent != theirs.parent or not _same_place(mine, theirs):
            raise ExportError(
                f"{document.source}: joint {mine.name!r} sits elsewhere than in the model; this is not the file "
                "that the model was identified with"
            )
    groups = carried_bodies(tree, held)
    if not all(document.holds(body.element) for group in groups for body, _ in group.bodies):
        raise ExportError(f"{document.source}: parts of the robot are copies, or come from other files")
    return Template(document, tree, found, held, groups, right_angles)


def _read_like(tree: BodyTree, robot: Robot, lock: Mapping[str, float]) -> tuple[Robot, dict[str, float]]:
    """The robot of a file with the joints of the model, and where the others stand (rad or m).

    Raises:
        ExportError: its joints are not those of the model.
    """
    moving = [body.joint.name for body in tree.bodies if body.joint is not None and body.moves]
    if not set(robot.joint_names) <= set(moving):
        raise ExportError(
            f"{tree.source}: its joints are {', '.join(moving)}, those of the model "
            f"{', '.join(robot.joint_names)}; this is another robot"
        )
    stood = {name: position for name, position in {**robot.held, **lock}.items() if name in moving}
    held = held_joints(tree, {**stood, **{name: lock[name] for name in lock if name not in stood}})
    extra = [name for name in moving if name not in robot.joint_names and name not in held.positions]
    if extra:
        wanted = " ".join(f"`lock` {name}=VALUE" for name in extra)
        raise ExportError(
            f"{tree.source}: {', '.join(extra)} can move in the file but not in the model; say where: {wanted}"
        )
    # What the reader would hold by itself may be just what the model moves.
    positions = {name: position for name, position in held.positions.items() if name not in robot.joint_names}
    found = robot_of_bodies(tree, "keep", HeldJoints(positions))
    if found.joint_names != robot.joint_names:
        raise ExportError(
            f"{tree.source}: its joints are in another order than those of the model, "
            f"{', '.join(robot.joint_names)}; this is another robot"
        )
    return found, {name: value for name, value in positions.items() if name in moving}


def _same_joints(robot: Robot, found: Robot) -> bool:
    return all(_same_place(mine, theirs) for mine, theirs in zip(robot.joints, found.joints, strict=True))


def _same_place(mine: Joint, theirs: Joint) -> bool:
    """Whether both move their links alike, wherever their own frames are."""
    return all(
        bool(np.allclose(mine.T_parent_link(q), theirs.T_parent_link(q), rtol=0.0, atol=SAME_PLACE)) for q in (0.0, 1.0)
    )


def reread(data: bytes, source: str, robot: Robot, lock: Mapping[str, float]) -> Template:
    """The same file after the edit, read once more."""
    return template_of(parse_markup(data, source), robot, lock)
