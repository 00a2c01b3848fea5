"""Physically inconsistent or suspicious inertias, and the smallest repair that leaves the rest of the file alone."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TypedDict, get_args

import numpy as np

from dynid.arrays import Matrix3
from dynid.chain.consistency import nearest_consistent
from dynid.chain.denavit import read_denavit
from dynid.chain.formats.assembly import read_bodies
from dynid.chain.formats.bodies import BodyTree, Inertial
from dynid.chain.formats.edits import Edit, InsertChild, NewElement, SetAttribute, edited
from dynid.chain.formats.includes import read_document
from dynid.chain.formats.urdf import URDF_TENSOR
from dynid.chain.formats.xml import Element, Markup, parse_markup
from dynid.chain.inertia import InertialParameters
from dynid.chain.library import BUILT_IN, load_robot
from dynid.chain.plausibility import LintFinding, LintSeverity, implausibilities
from dynid.chain.robot import Robot
from dynid.chain.trust import bodies_of
from dynid.disk import write_whole
from dynid.errors import RobotError, RobotFileError, WrongType
from dynid.prose import Document, Grid, Line, PrintsAsDocument, counted

__all__ = ["LintReport", "Repair", "RepairedLink", "lint", "repair"]

CHANGED = 1e-12
"""Relative to the largest entry of the tensor: entries that differ by less keep their bytes in the file."""


class LintFindingJson(TypedDict):
    """One thing that is wrong or odd."""

    link: str
    code: str
    severity: str
    evidence: str
    fix: str


class RepairedJson(TypedDict):
    """One link that was repaired."""

    link: str
    note: str


class LintJson(TypedDict):
    """All that `lint` and `repair` tell."""

    robot: str
    n_links: int
    possible: bool
    findings: list[LintFindingJson]
    repaired: list[RepairedJson]


@dataclass(frozen=True)
class LintReport(PrintsAsDocument):
    """What `lint` found about one robot."""

    source: str
    n_links: int
    """Links that were looked at, fixed ones included."""
    findings: tuple[LintFinding, ...]
    """Impossible ones first, then in the order of the links."""

    def of(self, severity: LintSeverity) -> tuple[LintFinding, ...]:
        """The findings of one severity (no unit)."""
        return tuple(finding for finding in self.findings if finding.severity == severity)

    @property
    def consistent(self) -> bool:
        """Whether every inertia is physically consistent."""
        return not self.of("impossible")

    def json(self) -> LintJson:
        """What scripts read of it (SI)."""
        return {
            "robot": self.source,
            "n_links": self.n_links,
            "possible": self.consistent,
            "findings": [
                {"link": f.link, "code": f.code, "severity": f.severity, "evidence": f.evidence, "fix": f.fix}
                for f in self.findings
            ],
            "repaired": [],
        }

    def document(self) -> Document:
        """The findings from top to bottom, as the terminal shows them."""
        head = Line("robot", f"{self.source}   {self.n_links} links looked at")
        if not self.findings:
            return head, Line("verdict", "nothing impossible, nothing suspicious")
        rows = tuple((f.severity, f.link, f.code, f.evidence, f.fix) for f in self.findings)
        told = f"{len(self.of('impossible'))} impossible, {len(self.of('suspicious'))} suspicious"
        return head, Grid(("severity", "link", "code", "evidence", "what to do"), rows), Line("verdict", told)

    def __repr__(self) -> str:
        counts = [f"{len(self.of(severity))} {severity}" for severity in get_args(LintSeverity) if self.of(severity)]
        return f"LintReport({self.source}: {counted(self.n_links, 'link')}, {', '.join(counts) or 'no findings'})"


@dataclass(frozen=True)
class RepairedLink:
    """The inertia of one link before and after the repair, in the axes of the file."""

    link: str
    mass: tuple[float, float]
    """kg; when they differ the second is a token: what the link weighs cannot be known from the file."""
    moments: tuple[tuple[float, float, float], tuple[float, float, float]]
    """Principal moments in rising order, kg·m²."""

    @property
    def note(self) -> str:
        """What changed, for a person (kg, kg·m²)."""
        before, after = (", ".join(f"{moment:.4g}" for moment in moments) for moments in self.moments)
        text = f"principal moments {before} -> {after} kg·m²"
        if self.mass[0] != self.mass[1]:
            text += f"; mass {self.mass[0]:g} -> {self.mass[1]:g} kg is a token, the true mass cannot be known"
        return text


@dataclass(frozen=True)
class Repair:
    """What `repair` wrote."""

    path: Path
    """The file written."""
    links: tuple[RepairedLink, ...]
    before: LintReport
    """Of the file that was repaired."""
    report: LintReport
    """Of the repaired file; every inertia in it is physically consistent."""

    def json(self) -> LintJson:
        """What scripts read of it (SI): the findings before, and what was done about them."""
        return {**self.before.json(), "repaired": [{"link": link.link, "note": link.note} for link in self.links]}

    def document(self) -> Document:
        """The findings before, and what was done about them."""
        done = (Line("repaired", f"{link.link}: {link.note}") for link in self.links)
        return *self.before.document(), *done, Line("wrote", str(self.path))

    def __repr__(self) -> str:
        return f"Repair({str(self.path)!r}: {counted(len(self.links), 'link')} repaired)"


def lint(robot: Robot | str | PathLike[str]) -> LintReport:
    """Look at every link of a robot, or of a URDF, MJCF or TOML file before its fixed links are lumped (SI).

    Args:
        robot: built-in name, robot file or `Robot`.

    Raises:
        UnknownRobot: neither built in nor a file.
        RobotFileError: the file cannot be read at all; the message names file and element.
    """
    return _report(_tree(robot))


def repair(path: str | PathLike[str], out: str | PathLike[str]) -> Repair:
    """Write a copy of a URDF or MJCF file with inconsistent inertias replaced by the nearest consistent ones.

    Only the numbers of those inertias change (kg, kg·m², in the axes the file uses); every other byte stays. `out` is
    written whole or not at all, and may be `path` itself.

    Raises:
        RobotFileError: the file cannot be read or `out` cannot be written.
        RobotError: an inconsistent inertia would remain, so nothing was written.
    """
    for name, given in (("path", path), ("out", out)):
        if not isinstance(given, str | PathLike):
            raise WrongType(name, "the path of a robot file", given)
    if fspath(path) in BUILT_IN or Path(path).suffix.lower() == ".toml":
        raise RobotFileError(f"{path}: URDF and MJCF files can be repaired; change a table by hand")
    document = read_document(Path(path))
    tree = read_bodies(document)
    found = _report(tree)
    impossible = {finding.link for finding in found.of("impossible")}
    edits: list[Edit] = []
    links: list[RepairedLink] = []
    for body in tree.bodies:
        before = body.inertial
        if body.name not in impossible or before is None or before.element is None:
            continue
        # In the inertial frame the centre of mass is the origin and the axes are those of the file.
        # Where the mass is not known, the tensor that stands beside it says nothing either.
        known = before.tensor if before.mass > 0.0 else np.zeros((3, 3))
        after = nearest_consistent(InertialParameters.from_com(before.mass, np.zeros(3), known))
        edits += _edits(document, before.element, before, after.mass, after.inertia_com)
        moments = [tuple(np.linalg.eigvalsh(tensor).tolist()) for tensor in (before.tensor, after.inertia_com)]
        links.append(RepairedLink(body.name, (before.mass, after.mass), (moments[0], moments[1])))
    data = edited(document, edits)
    report = _report(read_bodies(parse_markup(data, str(out))))
    if not report.consistent:
        left = "; ".join(f"{finding.link}: {finding.evidence}" for finding in report.of("impossible"))
        raise RobotError(f"{path}: cannot be repaired, nothing written: {left}")
    write_whole(Path(out), data)
    return Repair(Path(out), tuple(links), found, report)


def _report(tree: BodyTree) -> LintReport:
    return LintReport(tree.source, sum(not body.virtual for body in tree.bodies), implausibilities(tree))


def _edits(document: Markup, element: Element, before: Inertial, mass: float, tensor: Matrix3) -> list[Edit]:
    """The edits that say a mass (kg) and tensor (kg·m², file axes), of what differs from `before` only."""
    changed = np.abs(tensor - before.tensor) > CHANGED * np.max(np.abs(tensor))
    edits: list[Edit] = []
    if document.root.tag == "robot":
        weight, inertia = element.find("mass"), element.find("inertia")
        if weight is None:
            edits.append(InsertChild(element, NewElement("mass", {"value": repr(mass)})))
        elif mass != before.mass or weight.get("value") is None:
            edits.append(SetAttribute(weight, "value", repr(mass)))
        cells = {name: ("xyz".index(name[1]), "xyz".index(name[2])) for name in URDF_TENSOR}
        values = {name: repr(float(tensor[cell])) for name, cell in cells.items()}
        if inertia is None:
            return [*edits, InsertChild(element, NewElement("inertia", values))]
        for name, cell in cells.items():
            if changed[cell] or inertia.get(name) is None:
                edits.append(SetAttribute(inertia, name, values[name]))
        return edits
    if mass != before.mass:
        edits.append(SetAttribute(element, "mass", repr(mass)))
    if np.any(changed):
        if element.get("diaginertia") is not None:
            name, numbers = "diaginertia", np.diag(tensor).tolist()
        else:
            name, numbers = "fullinertia", InertialParameters.from_com(0.0, np.zeros(3), tensor).to_order("mjcf")[4:]
        edits.append(SetAttribute(element, name, " ".join(repr(float(number)) for number in numbers)))
    return edits


def _tree(robot: Robot | str | PathLike[str]) -> BodyTree:
    if not isinstance(robot, Robot):
        if not isinstance(robot, str | PathLike):
            raise RobotError(f"robot: expected a built-in name, a robot file or a Robot, got {type(robot).__name__}")
        path = Path(robot)
        named = fspath(robot) in BUILT_IN or not path.exists()
        if not named and path.suffix.lower() != ".toml":
            return read_bodies(path)
        robot = load_robot(fspath(robot)) if named else read_denavit(path)
    return bodies_of(robot)
