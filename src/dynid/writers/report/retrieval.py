"""The page of a retrieval: links, constraints, forces in the joints, and what the runs agree on."""

from __future__ import annotations

import math

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.dynamics.motion import Motion
from dynid.regression.retrieval.retrieval import RetrievalResult
from dynid.workflow.retrieve import ModelRetrieval
from dynid.writers.report.drawing import curve, line, panel
from dynid.writers.report.link_charts import links_figure
from dynid.writers.report.page import Figure, Report, Section, Table
from dynid.writers.report.tables import provenance_tables

__all__ = ["retrieval_report"]

STYLES = (("@c3", "solid"), ("@c0", "dash"), ("@c2", "dot"))
"""Colour and dash of the retrieved set, that of the robot file, and the base parameters alone."""
SPREAD_HEADERS = ("parameter", "value", "lowest", "highest", "runs")


def _spread_rows(found: RetrievalResult) -> list[tuple[str, ...]]:
    spread = found.spread
    values = zip(spread.names, found.p, spread.lowest, spread.highest, spread.agreed, strict=True)
    return [
        (name, f"{value:.5g}", f"{low:.5g}", f"{high:.5g}", "agree" if agreed else "leave it open")
        for name, value, low, high, agreed in values
    ]


def retrieval_report(result: ModelRetrieval) -> Report:
    """The whole page (SI) as a value."""
    found, links, checks = result.found, result.links(), result.constraints()
    left = f"The semidefinite programme leaves out: {', '.join(found.left_out)}." if found.left_out else ""
    many = f"{found.spread.n_runs} of {len(found.runs)} runs are equally good."
    sections = (
        Section("Links", (), (Table(links.headers, links.rows),), _picture(result)),
        Section("Constraints", (left,) if left else (), (Table(checks.headers, checks.rows, badges=(2,)),)),
        _forces(result),
        Section("What the runs agree on", (many,), (Table(SPREAD_HEADERS, tuple(_spread_rows(found))),)),
        Section("Where it comes from", (), provenance_tables(result.model.provenance)),
    )
    title = f"Full parameters of {result.model.robot.name}"
    return Report(title, f"Objective {result.verdict}.", sections, "Written by dynid.")


def _picture(result: ModelRetrieval) -> tuple[Figure, ...]:
    """The links in the middle of the joints' ranges."""
    robot, links = result.model.robot, result.model.links
    if not links:
        return ()
    return (links_figure(robot, links, np.mean(_motion(robot).q, axis=0), pose="in the middle of its ranges"),)


def _forces(result: ModelRetrieval) -> Section:
    """Forces in the joints: torque does not show them, and only a physically consistent robot has them right."""
    model, given = result.model.model, result.given
    motion = _motion(model.robot)
    sets: list[tuple[str, Float[Array, " n_params"]]] = [("retrieved", result.model.parameters)]
    if model.robot.has_nominal:
        sets.append(("robot file", model.nominal()))
    sets.append(("base parameters alone, not physically consistent", given.base.lift(given.beta)))
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
        "base parameters have the same torques, but what a gripper's sensor or a bearing feels is right only for a "
        "set that is physically consistent."
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
