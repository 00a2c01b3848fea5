"""Inertias that no body has, and odd ones, body by body; limits that no motion keeps; each with its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float, Matrix3, Vector3, skew
from dynid.chain.consistency import BALL_RADIUS, MIN_MASS
from dynid.chain.formats.bodies import Body, BodyJoint, BodyTree, Inertial

__all__ = ["LintFinding", "LintSeverity", "implausibilities", "is_token"]

LintSeverity = Literal["impossible", "suspicious"]
"""``impossible``: not physically consistent; ``suspicious``: consistent but probably a mistake."""

ROUNDING = 1e-9
"""Relative to the largest principal moment: a triangle inequality missed by less is only rounding in the file."""
FLAT_MARGIN = 1e-6
"""Relative to the largest principal moment: with less to spare all mass lies in one plane."""
MAX_GYRATION = 1.5
"""m; no link of an arm is wider."""
SIZE_FACTOR = 3.0
"""A radius of gyration beyond so many extents of the link is too large."""
SMALL_FACTOR = 1.0 / 50.0
"""A radius of gyration below this part of the extent is too small: even a ball at one end has more."""
MIN_GYRATION = 5e-4
"""m; a radius of gyration below half a millimetre is a point."""
ORIGIN_SHARE = 0.6
"""Part of the largest moment that the offset must explain before the tensor looks taken about the frame origin."""
ORIGIN_GYRATION = 0.4
"""Part of the extent; a smaller radius of gyration is plausible as it stands (a rod has 0.29)."""
TOTAL_MASS_RANGE = (0.01, 2000.0)
"""kg"""
MASS_RATIO = 1e4
"""Largest over smallest link mass that is still believable."""
AIR_DENSITY = 1.2
"""kg/m³; a light moving link that weighs less than the air in a cube as wide as the link is no body."""
SLIGHT_RATIO = 1e3
"""Heaviest link over one that is light; fingers are that light, but small."""
CONSISTENT_MASS = 0.01
"""Relative difference below which two masses count as equal."""


@dataclass(frozen=True)
class LintFinding:
    """One thing that is wrong or odd, how we know, and what to do."""

    link: str
    """The link, or the robot's name for a finding about the whole."""
    code: str
    severity: LintSeverity
    evidence: str
    """With the number and its unit."""
    fix: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.link} {self.code}: {self.evidence}; {self.fix}"


@dataclass(frozen=True, eq=False)
class _Subject:
    """A body with explicit inertia and what is known of its size."""

    body: Body
    inertial: Inertial
    moments: Vector3
    """Principal moments in rising order, kg·m²."""
    axes: Matrix3
    """Principal axes in the inertial frame, as columns."""
    extent: float | None
    """Diagonal of the box around shapes and joints, m; None when nothing tells."""
    outline: Float[Array, "n_points 3"]
    """Shapes and joints in the body frame, m."""

    @property
    def gyration(self) -> float:
        """Largest radius of gyration about the centre of mass, m."""
        return float(np.sqrt(self.moments[2] / self.inertial.mass))

    def finding(self, code: str, severity: LintSeverity, evidence: str, fix: str) -> LintFinding:
        return LintFinding(self.body.name, code, severity, evidence, fix)


def implausibilities(tree: BodyTree) -> tuple[LintFinding, ...]:
    """Every finding about the bodies and joints of a robot, impossible ones first."""
    subjects = _subjects(tree)
    findings = [finding for subject in subjects for finding in _impossible(subject)]
    broken = {finding.link for finding in findings}
    sound = [subject for subject in subjects if subject.body.name not in broken]
    for subject in sound:
        findings += _odd_size(subject)
        findings += _lighter_than_air(subject, max(one.inertial.mass for one in subjects))
        findings += _odd_centre(subject)
        findings += _odd_shape(subject)
    findings += _placeholders(subjects)
    findings += _missing(tree)
    findings += _masses(tree, [subject for subject in subjects if subject.inertial.mass > 0.0])
    for body in tree.bodies:
        if body.joint is not None and body.moves:
            findings += _limits(body, body.joint)
    order = {body.name: index for index, body in enumerate(tree.bodies)}
    return tuple(
        sorted(findings, key=lambda finding: (finding.severity != "impossible", order.get(finding.link, len(order))))
    )


def _subjects(tree: BodyTree) -> list[_Subject]:
    outlines = {body.name: _own_points(body.joint) for body in tree.bodies if body.joint is not None}
    for body in tree.bodies:
        if body.joint is not None and body.parent in outlines:
            outlines[body.parent].append(body.joint.T_parent_joint[:3, 3])
    spans = {name: _diagonal(np.array(points)) for name, points in outlines.items()}
    longest = max(spans.values(), default=0.0)
    subjects = []
    for body in tree.bodies:
        # Inertia computed from shapes is consistent by construction and as plausible as the shapes.
        computed = tree.document is not None and body.inertial is not None and body.inertial.element is None
        if body.inertial is None or body.virtual or computed:
            continue
        points = np.array([*outlines.get(body.name, [np.zeros(3)]), *body.corners])
        # Joints alone understate a link whose two axes meet: its body is taken to be half as long as the longest link.
        extent = _diagonal(points) if len(body.corners) else max(_diagonal(points), 0.5 * longest)
        moments, axes = np.linalg.eigh(body.inertial.tensor)
        subjects.append(_Subject(body, body.inertial, moments, axes, extent or None, points))
    return subjects


def _own_points(joint: BodyJoint) -> list[Vector3]:
    """Where a body is known to be, body frame, m: its origin, its joint, and its axis level with the parent's origin.

    The last because a body may fill its axis: DH tables put the length `d` of a column before the joint.
    """
    T_body_joint = np.linalg.inv(joint.T_joint_body)
    axis = joint.axis / np.max(np.abs(joint.axis))  # squares of tiny numbers are zero
    axis = axis / np.linalg.norm(axis)
    parent = np.linalg.inv(joint.T_parent_joint)[:3, 3]
    return [np.zeros(3), T_body_joint[:3, 3], T_body_joint[:3, :3] @ (axis * (axis @ parent)) + T_body_joint[:3, 3]]


def _diagonal(points: Float[Array, "n_points 3"]) -> float:
    return float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))


def _impossible(subject: _Subject) -> Iterator[LintFinding]:
    mass, moments = subject.inertial.mass, subject.moments
    bare = not np.any(subject.inertial.tensor)
    if mass == 0.0 and bare and not subject.body.moves:
        return  # a fixed frame without a body
    if mass <= 0.0:
        yield subject.finding(
            "mass-not-positive",
            "impossible",
            f"mass is {mass:g} kg",
            "weigh the link or take its mass from CAD: the file does not know it, so a repair writes a token gram",
        )
    if moments[0] <= 0.0:
        axis = np.array2string(subject.axes[:, 0], precision=2, suppress_small=True)
        yield subject.finding(
            "inertia-not-positive",
            "impossible",
            f"smallest principal moment is {moments[0]:.4g} kg·m², about the axis {axis} of the inertial frame"
            if not bare
            else f"all moments of inertia are 0 kg·m² with a mass of {mass:g} kg",
            "raise it to a small positive number, as a repair does, or take the tensor from CAD",
        )
        return
    margin = moments[0] + moments[1] - moments[2]
    if margin < -ROUNDING * moments[2]:
        axis = np.array2string(subject.axes[:, 2], precision=2, suppress_small=True)
        yield subject.finding(
            "triangle-violated",
            "impossible",
            f"the largest principal moment {moments[2]:.4g} kg·m² (about the axis {axis} of the inertial frame) "
            f"exceeds the sum of the other two, {moments[0]:.4g} + {moments[1]:.4g}, by {-margin:.3g} kg·m²",
            "no mass distribution has such moments: a repair writes the nearest physically consistent ones",
        )


def _odd_size(subject: _Subject) -> Iterator[LintFinding]:
    if subject.inertial.mass <= 0.0:
        return
    gyration, extent = subject.gyration, subject.extent
    spread = f"radius of gyration is {gyration:.3g} m ({subject.moments[2]:.4g} kg·m² at {subject.inertial.mass:g} kg)"
    size = "" if extent is None else f"; the link spans {extent:.3g} m"
    if gyration > MAX_GYRATION or (extent is not None and gyration > SIZE_FACTOR * extent):
        yield subject.finding(
            "inertia-too-large",
            "suspicious",
            spread + size,
            "check the unit of the tensor, which is kg·m²: multiply by 1e-6 if it is in kg·mm², 1e-9 if in g·mm²",
        )
    elif gyration < MIN_GYRATION or (extent is not None and gyration < SMALL_FACTOR * extent):
        yield subject.finding(
            "inertia-too-small",
            "suspicious",
            spread + size,
            "check the unit of tensor (kg·m²) and mass (kg), or whether this is a placeholder for a point mass",
        )


def _lighter_than_air(subject: _Subject, heaviest: float) -> Iterator[LintFinding]:
    """Of links that are next to nothing beside the heaviest (kg), those that are next to nothing for their size."""
    mass, extent = subject.inertial.mass, _diagonal(subject.outline)
    light = mass < heaviest / SLIGHT_RATIO and mass < AIR_DENSITY * extent**3
    if light and subject.body.moves and not is_token(subject.inertial):
        yield subject.finding(
            "lighter-than-air",
            "suspicious",
            f"{mass:g} kg; the link spans {extent:.3g} m, and the air there weighs {AIR_DENSITY * extent**3:.2g} kg",
            "a placeholder: weigh the link, or lump it into its parent with a fixed joint",
        )


def _odd_centre(subject: _Subject) -> Iterator[LintFinding]:
    com, mass = subject.inertial.com, subject.inertial.mass
    if mass <= 0.0:
        return
    distance = float(np.linalg.norm(com))
    if subject.extent is not None:
        nearest = np.clip(com, subject.outline.min(axis=0), subject.outline.max(axis=0))
        outside = float(np.linalg.norm(com - nearest))
        if outside > (0.5 if len(subject.body.corners) else 1.0) * subject.extent:
            yield subject.finding(
                "com-outside",
                "suspicious",
                f"the centre of mass lies {outside:.3g} m outside the link, which spans {subject.extent:.3g} m",
                "check the unit (m, not mm) and the frame of the centre of mass: it is the link's own",
            )
    R = subject.inertial.T_body_inertial[:3, :3]
    S = skew(com)
    about_origin = mass * S.T @ S
    reduced = np.linalg.eigvalsh(R @ subject.inertial.tensor @ R.T - about_origin)
    consistent = reduced[0] + reduced[1] > reduced[2]  # and so all are positive
    wide = subject.extent is None or subject.gyration > ORIGIN_GYRATION * subject.extent
    if consistent and wide and mass * distance**2 > ORIGIN_SHARE * subject.moments[2]:
        yield subject.finding(
            "inertia-about-origin",
            "suspicious",
            f"the offset of the centre of mass, {distance:.3g} m, explains {mass * distance**2:.3g} of the "
            f"{subject.moments[2]:.3g} kg·m²: the tensor seems to be taken about the link frame",
            "write the tensor about the centre of mass: subtract m·(|c|²·1 − c·cᵀ)",
        )


def _odd_shape(subject: _Subject) -> Iterator[LintFinding]:
    moments = subject.moments
    if moments[2] <= 0.0:
        return
    margin = (moments[0] + moments[1] - moments[2]) / moments[2]
    if margin < FLAT_MARGIN:
        yield subject.finding(
            "flat-inertia",
            "suspicious",
            f"the two smaller principal moments exceed the largest by only {margin:.1e} of it "
            f"({moments[2]:.4g} kg·m²): all mass in one plane",
            "give the link its thickness, or solvers that need a strictly consistent inertia will refuse it",
        )


def _placeholders(subjects: list[_Subject]) -> Iterator[LintFinding]:
    groups: dict[bytes, list[_Subject]] = {}
    for subject in subjects:
        if np.any(subject.inertial.tensor):
            groups.setdefault(subject.inertial.tensor.tobytes(), []).append(subject)
    for group in groups.values():
        tensor, masses = group[0].inertial.tensor, [subject.inertial.mass for subject in group]
        value = float(tensor[0, 0])
        round_number = value > 0.0 and np.array_equal(tensor, value * np.eye(3)) and np.log10(value) % 1.0 == 0.0
        differ = max(masses) - min(masses) > CONSISTENT_MASS * max(abs(mass) for mass in masses)
        others = f" on {len(group)} links" if len(group) > 1 else ""
        for subject in group:
            if round_number and (value == 1.0 or len(group) > 1):
                yield subject.finding(
                    "placeholder-inertia",
                    "suspicious",
                    f"the inertia is {value:g} kg·m² about every axis{others}",
                    "a placeholder: take the tensor from CAD, or load without inertias (`inertials='ignore'`)",
                )
            elif differ:
                yield subject.finding(
                    "copied-inertia",
                    "suspicious",
                    f"the same tensor (largest moment {subject.moments[2]:.4g} kg·m²) stands on {len(group)} links of "
                    f"{min(masses):g} to {max(masses):g} kg",
                    "links of different mass have different inertia: take the tensors from CAD",
                )


def _missing(tree: BodyTree) -> Iterator[LintFinding]:
    weighed = {body.name for body in tree.bodies if body.inertial is not None}
    # A moving frame whose body hangs on a fixed joint is a habit, not a mistake.
    covered = {body.parent for body in reversed(tree.bodies) if body.joint and not body.moves and body.name in weighed}
    for body in tree.bodies:
        if body.moves and body.inertial is None and body.name not in covered:
            yield LintFinding(
                body.name,
                "missing-inertial",
                "suspicious",
                "a moving link without inertia that can be read (0 kg in most simulators; meshes are not opened)",
                "add its mass, centre of mass and inertia; identification works without them",
            )


def _masses(tree: BodyTree, subjects: list[_Subject]) -> Iterator[LintFinding]:
    if not subjects:
        return
    total = sum(subject.inertial.mass for subject in subjects)
    lower, upper = TOTAL_MASS_RANGE
    if not lower <= total <= upper:
        yield LintFinding(
            tree.name,
            "total-mass",
            "suspicious",
            f"the robot weighs {total:.4g} kg",
            f"check the unit of the masses (kg): arms weigh {lower:g} to {upper:g} kg",
        )
    heaviest = max(subjects, key=lambda subject: subject.inertial.mass)
    for subject in subjects:
        mass = subject.inertial.mass
        if heaviest.inertial.mass > MASS_RATIO * mass and not is_token(subject.inertial):
            yield LintFinding(
                subject.body.name,
                "mass-spread",
                "suspicious",
                f"{mass:g} kg beside {heaviest.inertial.mass:g} kg of {heaviest.body.name!r}",
                "check the unit of both masses, or lump the light link into its parent with a fixed joint",
            )


def is_token(inertial: Inertial) -> bool:
    """Whether a repair wrote it where the file did not know the mass, which was said then."""
    ball = 0.4 * MIN_MASS * BALL_RADIUS**2
    return inertial.mass == MIN_MASS and bool(np.allclose(inertial.tensor, ball * np.eye(3), rtol=1e-6, atol=0.0))


def _limits(body: Body, joint: BodyJoint) -> Iterator[LintFinding]:
    limits = joint.limits
    unit = "m" if joint.kind == "prismatic" else "rad"
    positions = f"joint {joint.name!r} has lower {limits.lower:g} {unit} and upper {limits.upper:g} {unit}"
    if limits.lower > limits.upper:
        yield LintFinding(body.name, "limits-reversed", "suspicious", positions, "swap them: no motion keeps both")
    elif limits.lower == limits.upper:
        fix = "give it its range, or make the joint fixed"
        yield LintFinding(body.name, "limits-empty", "suspicious", positions, fix)
    for code, value, rate in (
        ("effort-zero", limits.effort, "N" if joint.kind == "prismatic" else "N·m"),
        ("velocity-zero", limits.velocity, f"{unit}/s"),
    ):
        if value <= 0.0:
            what = code.removesuffix("-zero")
            yield LintFinding(
                body.name,
                code,
                "suspicious",
                f"joint {joint.name!r} has {what} limit {value:g} {rate}",
                "write the true limit, or leave the attribute out where it is unknown",
            )
