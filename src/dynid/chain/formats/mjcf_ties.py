"""What ties the bodies of MJCF files together beside their joints: couplings, closed loops, attached models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from dynid.arrays import Transform
from dynid.chain.formats.bodies import Body, BodyTree, Mimic
from dynid.chain.formats.mjcf_parts import Compiler
from dynid.chain.formats.xml import Element, Markup

__all__ = ["Ties", "grafted", "joint_reference", "read_ties"]


@dataclass(frozen=True)
class Ties:
    """What `<equality>` says: couplings of joints, and pairs of bodies that are tied together."""

    mimics: Mapping[str, Mimic] = field(default_factory=dict)
    """By the joint that is driven."""
    loops: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def joint_reference(document: Markup, compiler: Compiler, joint: Element) -> float:
    """The position (rad or m) in which the file draws a joint."""
    value = document.number(joint, "ref", 0.0)
    return compiler.angle(value) if joint.get("type", "hinge") == "hinge" else value


def read_ties(
    document: Markup, compiler: Compiler, joint_names: Mapping[Element, str], body_names: Mapping[Element, str]
) -> Ties:
    """The active `<equality>` constraints of a file.

    Raises:
        RobotFileError: a coupling that lacks its joint.
    """
    mimics: dict[str, Mimic] = {}
    loops: list[tuple[str, str]] = []
    others: list[str] = []
    joints = {name: element for element, name in joint_names.items()}
    for group in document.root.iterchildren("equality"):
        for element in group.iterchildren("*"):
            if element.get("active") == "false":
                continue
            if element.tag in ("connect", "weld"):
                ends = [_body(document, body_names, element, number) for number in ("1", "2")]
                named = [end for end in ends if end is not None]
                if len(named) == 2:
                    loops.append((named[0], named[1]))
                    continue
            driven, master = element.get("joint1"), element.get("joint2")
            if element.tag != "joint" or driven not in joints or (master is not None and master not in joints):
                others.append(f"<{element.tag}>{' ' + str(element.get('name')) if element.get('name') else ''}")
                continue
            constant, *slopes = document.numbers(element, "polycoef", None, (0.0, 1.0))
            mimics[driven] = Mimic(
                master,
                (
                    joint_reference(document, compiler, joints[driven]) + constant,
                    *(slopes if master is not None else ()),
                ),
                0.0 if master is None else joint_reference(document, compiler, joints[master]),
            )
    notes = (f"constraints that are not modelled: {', '.join(dict.fromkeys(others))}",) if others else ()
    return Ties(mimics, tuple(loops), notes)


def _body(document: Markup, names: Mapping[Element, str], constraint: Element, number: str) -> str | None:
    """The body that a constraint ties; None for the world, for what only users move (mocap), and for what is not there.

    What is tied to the world is held by the simulator, not by a part of the robot.
    """
    name = constraint.get(f"body{number}")
    if name is None and (site := constraint.get(f"site{number}")) is not None:
        found = (element for element in document.root.iter("site") if element.get("name") == site)
        owner = next((body for element in found for body in element.iterancestors("body")), None)
        return None if owner is None else names.get(owner)
    element = next((body for body, known in names.items() if known == name), None)
    return None if element is None or element.get("mocap") == "true" else name


def grafted(tree: BodyTree, body: str | None, prefix: str, parent: str, T_parent_frame: Transform) -> Iterator[Body]:
    """The bodies of a model (all, or one and what it carries) as they hang on `parent`, names with a prefix."""
    kept: set[str] = set()
    world = tree.bodies[0].name
    for one in tree.bodies[1:]:
        assert one.joint is not None, "only the world has none"
        is_root = one.name == body if body is not None else one.parent == world
        if not is_root and one.parent not in kept:
            continue
        kept.add(one.name)
        mimic = one.joint.mimic
        if mimic is not None and mimic.master is not None:
            mimic = replace(mimic, master=prefix + mimic.master)
        joint = replace(
            one.joint,
            name=prefix + one.joint.name,
            T_parent_joint=T_parent_frame @ one.joint.T_parent_joint if is_root else one.joint.T_parent_joint,
            mimic=mimic,
            element=None,
        )
        inertial = None if one.inertial is None else replace(one.inertial, element=None)
        above = parent if is_root else prefix + str(one.parent)
        yield replace(one, name=prefix + one.name, parent=above, joint=joint, inertial=inertial, element=None)
