"""Which nominal inertias of a robot file are to be believed: the rule of `lint`, applied by the loader."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynid.chain.formats.bodies import Body, BodyJoint, BodyTree, Inertial
from dynid.chain.placement import transform
from dynid.chain.plausibility import LintFinding, implausibilities, is_token
from dynid.chain.robot import BASE, SLIGHT, Joint, Robot

__all__ = ["bodies_of", "trusting_only_bodies"]

NOT_BODIES = (
    "mass-not-positive",
    "inertia-not-positive",
    "triangle-violated",
    "inertia-too-large",
    "lighter-than-air",
)
"""Findings about an inertia that describes no body: the loader does not trust it."""
MAX_LISTED = 8
"""Links that a note lists before it counts the rest."""


def trusting_only_bodies(robot: Robot, tree: BodyTree) -> Robot:
    """The robot of a file with the inertias marked that describe no body, and a note that names their links.

    What is fixed to a link and weighs next to nothing beside it does not count: an empty frame spoils no link.
    """
    why: dict[str, LintFinding] = {}
    for finding in implausibilities(tree):
        if finding.code in NOT_BODIES:
            why.setdefault(finding.link, finding)
    masses = {body.name: abs(body.inertial.mass) for body in tree.bodies if body.inertial is not None}
    tokens = {body.name for body in tree.bodies if body.inertial is not None and is_token(body.inertial)}
    joints: list[Joint] = []
    reasons: list[LintFinding] = []
    for joint in robot.joints:
        link = joint.link
        names = [name for name in (link.name, *link.includes) if name in why or name in tokens]
        doubtful = sum(masses.get(name, 0.0) for name in names)
        trusted = link.nominal is None or not names or doubtful < SLIGHT * link.nominal.mass
        joints.append(joint if trusted else replace(joint, link=replace(link, trusted=False)))
        reasons += [] if trusted else [why[name] for name in names if name in why][:1]
    missing = [joint.link.name for joint in joints if joint.link.nominal is None]
    notes = list(robot.notes)
    if missing:
        notes.append(f"links without inertia in the file, taken for unknown: {_some(missing)}")
    if reasons:
        said = _some([f"{finding.link} ({finding.evidence})" for finding in reasons])
        mended = any(finding.severity == "impossible" for finding in reasons)
        remedy = "; `repair()` makes them physically consistent" if mended else ""
        notes.append(f"inertias that no body of this size has, taken for unknown: {said}{remedy}")
    return replace(robot, joints=tuple(joints), notes=tuple(notes))


def _some(names: list[str]) -> str:
    return ", ".join(names[:MAX_LISTED]) + (f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else "")


def bodies_of(robot: Robot) -> BodyTree:
    """The links of a robot that comes from no XML file, one by one (SI)."""
    bodies = [Body("base", None, None, None, virtual=True)]
    for joint in robot.joints:
        parent = "base" if joint.parent == BASE else robot.joints[joint.parent].link.name
        nominal = joint.link.nominal
        inertial = None
        if nominal is not None:
            # Without mass there is no centre of mass; the first moment then says nothing either.
            com = nominal.com if nominal.mass != 0.0 else np.zeros(3)
            tensor = nominal.inertia_com if nominal.mass != 0.0 else nominal.inertia
            inertial = Inertial(nominal.mass, transform(translation=com), tensor)
        carried = BodyJoint(joint.name, joint.type, joint.T_parent_joint, joint.axis, joint.T_joint_link, joint.limits)
        bodies.append(Body(joint.link.name, parent, carried, inertial))
    return BodyTree(robot.name, robot.source, tuple(bodies), robot.gravity)
