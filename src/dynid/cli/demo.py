"""``dynid demo``: the whole job on an embedded robot, as far as dynid goes today."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dynid.chain import InertialParameters, Robot, consistency, load_robot
from dynid.cli.console import emit_json, note, say
from dynid.cli.options import JsonFlag
from dynid.dynamics import BaseParameters, TorqueModel, base_parameters, friction_models, random_motion
from dynid.writers import Figure, Report, Section, Table

__all__ = ["demo"]


def demo(*, out: Path = Path("demo"), json: JsonFlag = False) -> int:
    """The whole job on an embedded robot, ending in a report to open.

    Example: dynid demo --out demo

    Parameters
    ----------
    out
        Folder for the report.
    """
    robot = load_robot("panda")
    model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
    base = base_parameters(model)
    report = Report(
        title="What the torque of a Franka Panda can reveal",
        verdict=(
            f"Of {model.n_params} parameters, torque fixes {base.n_base} combinations: {len(base.alone)} parameters "
            f"show alone, {len(base.combined)} only together with others, and {len(base.unseen)} never."
        ),
        sections=(_links(robot), _share(robot, model, base), _combinations(base)),
        footer="Written by dynid demo.",
    )
    path = out / "report.html"
    report.write(path)
    if json:
        emit_json({"robot": robot.name, "n_dof": robot.n_dof, "n_base": base.n_base, "files": {"report": str(path)}})
        return 0
    say("robot", f"{robot.name}   {robot.n_dof} joints, {base.n_base} base parameters of {model.n_params}")
    say("wrote", str(path))
    note("")
    note(f"Open {path} in a browser. Then try:  dynid info panda   ·   dynid lint YOUR.urdf")
    return 0


def _links(robot: Robot) -> Section:
    rows = []
    for joint in robot.joints:
        link = joint.link.nominal or InertialParameters.zero()
        verdict = consistency(link)
        com = ", ".join(f"{value:.4f}" for value in link.com)
        rows.append(
            (
                joint.link.name,
                f"{link.mass:.4f}",
                com,
                f"{verdict.margin:.2e}",
                "possible" if verdict.holds else "impossible",
            )
        )
    headers = ("link", "mass / kg", "centre of mass / m", "margin", "physically")
    return Section(
        "Links", ("Nominal parameters and how far they are from being impossible.",), (Table(headers, tuple(rows)),)
    )


def _share(robot: Robot, model: TorqueModel, base: BaseParameters) -> Section:
    motion = random_motion(robot, 400, np.random.default_rng(0))
    Y = model.regressor(motion)
    theta = model.nominal()
    trace: list[dict[str, object]] = []
    for number in range(robot.n_dof):
        part = np.zeros_like(theta)
        part[10 * number : 10 * number + 10] = theta[10 * number : 10 * number + 10]
        size = np.sqrt(np.mean((Y @ part) ** 2, axis=0))
        trace.append(
            {"type": "bar", "name": robot.link_names[number], "x": list(robot.joint_names), "y": size.tolist()}
        )
    layout: dict[str, object] = {"barmode": "stack", "yaxis": {"title": {"text": "RMS torque / N·m"}}}
    return Section(
        "Whose torque a joint feels",
        ("A joint feels only the links it carries: random motion, nominal parameters.",),
        figures=(Figure(tuple(trace), layout),),
    )


def _combinations(base: BaseParameters) -> Section:
    rows = tuple(
        (str(k), label, column.unit)
        for k, (label, column) in enumerate(zip(base.labels(), base.leading_columns, strict=True), 1)
    )
    return Section(
        "Base parameters", (f"Never seen: {', '.join(base.unseen)}.",), (Table(("", "combination", "unit"), rows),)
    )
