"""What ``dynid retrieve`` reports: links, constraints, forces in the joints, and what the runs agree on."""

from __future__ import annotations

import math

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain import Robot
from dynid.dynamics import Motion
from dynid.regression import IdentifiedModel, RetrievalResult
from dynid.writers import Figure, Report, Section, Table
from dynid.writers.report.drawing import curve, line, panel
from dynid.writers.report.link_charts import links_figure
from dynid.writers.report.tables import provenance_tables

__all__ = ["CHECK_HEADERS", "LINK_HEADERS", "check_rows", "link_rows", "retrieval_report", "verdict"]

STYLES = (("@c3", "solid"), ("@c0", "dash"), ("@c2", "dot"))


def verdict(found: RetrievalResult) -> str:
    """The outcome in one line (units of the objective)."""
    kind = "the optimum" if found.convex else "a bound below the optimum"
    best = f"{found.objective:.6g}" + (
        f" ({found.relative_percent:.3f} %)" if found.objective_kind == "one-step" else ""
    )
    gap = (
        f", {100 * max(0.0, found.gap):.3g} % above {kind} {found.optimum:.6g}" if math.isfinite(found.optimum) else ""
    )
    met = "all constraints met" if found.met else f"{len(found.violated)} constraints not met"
    return f"{best}{gap}; {met}; {len(found.runs)} runs"


def link_rows(result: IdentifiedModel) -> list[tuple[str, ...]]:
    """Mass (kg), centre of mass (m) and inertia about it (kg·m²) of every link."""
    return [
        (
            name,
            f"{link.mass:.5g}",
            *(f"{value:.5g}" for value in link.com),
            *(f"{link.inertia_com[a, b]:.5g}" for a, b in PAIRS),
        )
        for name, link in zip(result.model.robot.link_names, result.links, strict=True)
    ]


PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
LINK_HEADERS = (
    "link",
    "m / kg",
    "cx / m",
    "cy / m",
    "cz / m",
    *(f"I{n} / kg·m²" for n in ("xx", "xy", "xz", "yy", "yz", "zz")),
)
CHECK_HEADERS = ("constraint", "margin", "met")
SPREAD_HEADERS = ("parameter", "value", "lowest", "highest", "runs")


def check_rows(found: RetrievalResult, count: int | None = None) -> list[tuple[str, ...]]:
    """Constraints with their margins (own units), those nearest to failing first."""
    nearest = sorted(found.checks, key=lambda check: check.margin)[:count]
    return [(check.name, f"{check.margin:.3g}", "yes" if check.holds else "NO") for check in nearest]


def _spread_rows(found: RetrievalResult) -> list[tuple[str, ...]]:
    spread = found.spread
    values = zip(spread.names, found.p, spread.lowest, spread.highest, spread.agreed, strict=True)
    return [
        (name, f"{value:.5g}", f"{low:.5g}", f"{high:.5g}", "agree" if agreed else "leave it open")
        for name, value, low, high, agreed in values
    ]


def retrieval_report(given: IdentifiedModel, result: IdentifiedModel, found: RetrievalResult) -> Report:
    """The report: links, constraints, forces in the joints, and what the runs agree on (SI)."""
    left = f"The semidefinite programme leaves out: {', '.join(found.left_out)}." if found.left_out else ""
    many = f"{found.spread.n_runs} of {len(found.runs)} runs are equally good."
    sections = (
        Section("Links", (), (Table(LINK_HEADERS, tuple(link_rows(result))),), _picture(result)),
        Section("Constraints", (left,) if left else (), (Table(CHECK_HEADERS, tuple(check_rows(found)), badges=(2,)),)),
        _forces(given, result),
        Section("What the runs agree on", (many,), (Table(SPREAD_HEADERS, tuple(_spread_rows(found))),)),
        Section("Where it comes from", (), provenance_tables(result.provenance)),
    )
    title = f"Full parameters of {result.model.robot.name}"
    return Report(title, f"Objective {verdict(found)}.", sections, "Written by dynid retrieve.")


def _picture(result: IdentifiedModel) -> tuple[Figure, ...]:
    """The links in the middle of the joints' ranges."""
    if not result.links:
        return ()
    robot = result.model.robot
    return (links_figure(robot, result.links, np.mean(_motion(robot).q, axis=0), pose="in the middle of its ranges"),)


def _forces(given: IdentifiedModel, result: IdentifiedModel) -> Section:
    """Forces in the joints: the torque does not show them, and only a possible robot has them right."""
    model = result.model
    motion = _motion(model.robot)
    sets: list[tuple[str, Float[Array, " n_params"]]] = [("retrieved", result.parameters)]
    if model.robot.has_nominal:
        sets.append(("robot file", model.nominal()))
    sets.append(("coefficients alone, no possible robot", given.base.lift(given.beta)))
    t = motion.t
    sizes = [np.linalg.norm(model.joint_wrenches(motion, theta)[..., :3], axis=2) for _, theta in sets]
    figures = tuple(
        panel(
            [
                {**line(label, colour, dash=dash), **curve(t, size[:, j])}
                for (label, _), size, (colour, dash) in zip(sets, sizes, STYLES, strict=False)
            ],
            "time / s",
            "force / N",
            title=joint,
            link="time",
        )
        for j, joint in enumerate(model.robot.joint_names)
    )
    text = (
        "Size of the force that each joint passes on, on a motion of slow sinusoids. Parameter sets with the same "
        "coefficients have the same torques, but what a gripper's sensor or a bearing feels is right only for a set "
        "that is physically possible."
    )
    return Section("Forces in the joints", (text,), figures=figures)


def _motion(robot: Robot) -> Motion:
    """Sinusoids of different periods, up to 1 rad or 0.1 m about the middle of each range."""
    t = np.arange(0.0, 10.0, 0.05)
    parts = []
    for j, joint in enumerate(robot.joints):
        low, high = joint.limits.lower, joint.limits.upper
        finite = math.isfinite(low) and math.isfinite(high)
        largest = 1.0 if joint.type == "revolute" else 0.1
        reach = min(largest, 0.4 * (high - low)) if finite else largest
        omega = 2.0 * np.pi * 0.1 * (2 + j)
        wave = omega * t
        middle = 0.5 * (low + high) if finite else 0.0
        parts.append((middle + reach * np.sin(wave), reach * omega * np.cos(wave), -reach * omega**2 * np.sin(wave)))
    q, dq, ddq = (np.stack([part[k] for part in parts], axis=1) for k in range(3))
    return Motion(t, q, dq, ddq)
