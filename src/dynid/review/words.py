"""What the model-based checks say: evidence, cause and the lines that repair the log."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.chain.robot import Robot
from dynid.review.explain import Explanation, Judged
from dynid.review.findings import MAP, Finding, Severity
from dynid.review.search import Searched

__all__ = ["key", "reading_findings", "scale_lines"]

UNITS = {1e-3: "N·mm", 1e-2: "N·cm", 1e3: "kN·m"}
"""Units of torque by what turns them into N·m."""
NEAR = 1.3
"""Factor by which an estimated scale may miss a unit."""


def key(name: str) -> str:
    """A joint name as a key of a TOML file."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def scale_lines(robot: Robot, scale: Float[Array, " n_dof"]) -> str:
    """Lines of a mapping file that multiply the torques by positive factors (dimensionless)."""
    units, gears = [], []
    for joint, factor in zip(robot.joints, scale, strict=True):
        near = [unit for size, unit in UNITS.items() if abs(np.log(factor / size)) < np.log(NEAR)]
        unit = near[0] if near and (joint.type == "revolute" or near[0] == "kN·m") else None
        if unit is not None:
            unit = unit if joint.type == "revolute" else "kN"
            units.append(f"tau.{key(joint.name)} = {json.dumps(unit, ensure_ascii=False)}")
        gears.append(1.0 if unit is not None else float(factor))
    lines = ["[units]", *units] if units else []
    if any(gear != 1.0 for gear in gears):
        lines += ["[gear]", *(f"{key(j.name)} = {g:.4g}" for j, g in zip(robot.joints, gears, strict=True))]
        lines += ["[motor_side]", 'signals = ["tau"]']
    return "\n".join(lines)


def _quality(judged: Judged) -> str:
    return f"{100.0 * float(np.sqrt(np.mean(judged.noise**2))) * max(judged.ratio, 1.0):.3g} %"


def _evidence(robot: Robot, found: Searched) -> str:
    """How badly the equations hold as logged, and how well when read otherwise."""
    plain, best = found.plain, found.best
    text = f"the rigid-body equations with friction leave {_quality(plain)} of the torque as logged"
    if plain.ratio > 1.5 and plain.ratio > 1.5 * best.ratio:
        text += (
            f" (joints disagree about the parameters they share by {plain.ratio:.3g} times their noise, normal is 1)"
        )
    wrong = np.flatnonzero(plain.sign < 0.0)
    if len(wrong):
        text += f"; friction drives the motion or inertia is negative at {_names(robot, wrong)}"
    return text + f", {_quality(best)} when read as below"


def _names(robot: Robot, joints: Sequence[int] | Int[Array, " n"]) -> str:
    return ", ".join(robot.joint_names[int(j)] for j in joints)


def reading_findings(robot: Robot, found: Searched) -> list[Finding]:
    """The findings that say how the columns of the log have to be read."""
    e = found.best.explanation
    evidence = _evidence(robot, found)
    findings = [*_order_findings(robot, e, evidence), *_sign_findings(robot, found, evidence)]
    size = np.abs(e.tau_scale)
    off = np.flatnonzero(np.abs(np.log(size)) > np.log(1.3))
    if len(off):
        many = len(off) > max(1, robot.n_dof // 2)
        text = ", ".join(f"{robot.joint_names[int(j)]} by {size[j]:.3g}" for j in off)
        findings.append(
            Finding(
                code="torque-units",
                severity=Severity.ERROR,
                joint=None if many or len(off) > 1 else robot.joint_names[int(off[0])],
                evidence=f"the joints agree when torques are multiplied: {text}; normal is 1. As it stands, {evidence}",
                cause="torque of these joints in N·mm, in percent of the rated torque, in amperes, or of the motor "
                "before the gear",
                fix=f"{MAP}\n{scale_lines(robot, size)}\n# the factors are estimates: prefer those of the data sheet",
            )
        )
    return findings


def _order_findings(robot: Robot, e: Explanation, evidence: str) -> list[Finding]:
    straight = np.arange(robot.n_dof)
    findings = []
    moved = np.flatnonzero(e.q_order != straight)
    if len(moved) and np.array_equal(e.q_order, e.tau_order):
        listed = [robot.joint_names[int(j)] for j in np.argsort(e.q_order)]
        findings.append(
            Finding(
                code="permuted-joints",
                severity=Severity.ERROR,
                evidence=f"with {_names(robot, moved)} in another order the equations hold: {evidence}",
                cause="the log lists the joints in another order than the robot file (ROS sorts them by name)",
                fix=f"{MAP}\norder = {json.dumps(listed, ensure_ascii=False)}",
            )
        )
        return findings
    for signals, code, order in (
        (("q", "dq"), "permuted-positions", e.q_order),
        (("tau",), "permuted-torques", e.tau_order),
    ):
        moved = np.flatnonzero(order != straight)
        if not len(moved):
            continue
        lines = [f'{s}.{key(robot.joint_names[int(j)])} = "{s}{order[j] + 1}"' for s in signals for j in moved]
        what = "positions" if code == "permuted-positions" else "torques"
        findings.append(
            Finding(
                code=code,
                severity=Severity.ERROR,
                evidence=f"with the {what} of {_names(robot, moved)} exchanged the equations hold: {evidence}",
                cause=f"the columns of the {what} come in another order than those of the other signals",
                fix=f"{MAP}\n[columns]\n" + "\n".join(lines) + "\n# leave out dq where the log has none"
                if "dq" in signals
                else f"{MAP}\n[columns]\n" + "\n".join(lines),
            )
        )
    return findings


def _sign_findings(robot: Robot, found: Searched, evidence: str) -> list[Finding]:
    e = found.best.explanation
    findings = []
    negative = e.tau_scale < 0.0
    if np.all(negative) and np.all(e.q_sign > 0.0) and robot.n_dof > 1:
        lines = "\n".join(f"{key(name)}.tau = -1" for name in robot.joint_names)
        return [
            Finding(
                code="flipped-torque",
                severity=Severity.ERROR,
                evidence=f"every joint's friction drives its motion instead of braking it: {evidence}",
                cause="the log holds the torque of the load on the drives, not of the drives on the joints",
                fix=f"{MAP}\n[signs]\n{lines}",
            )
        ]
    for j, name in enumerate(robot.joint_names):
        turned, loaded = e.q_sign[j] < 0.0, negative[j]
        if not turned and not loaded:
            continue
        code = "flipped-joint" if turned and loaded else "flipped-position" if turned else "flipped-torque"
        what = {"flipped-joint": "all signals", "flipped-position": "the position", "flipped-torque": "the torque"}[
            code
        ]
        either = loaded != turned and _either(found, j)
        rest = "torque" if turned else "position and velocity"
        other = f" (turning its {rest} round does as well)" if either else ""
        lines = {
            "flipped-joint": f"{key(name)} = -1",
            "flipped-position": f"{key(name)}.q = -1\n{key(name)}.dq = -1",
            "flipped-torque": f"{key(name)}.tau = -1",
        }[code]
        note = "\n# leave out dq where the velocity has the sign of the robot file" if turned and not loaded else ""
        if either:
            instead = f"{key(name)}.tau = -1" if turned else f"{key(name)}.q = -1 and {key(name)}.dq = -1"
            note += f"\n# the log does not tell the two apart; where it is the other one: {instead} instead"
        findings.append(
            Finding(
                code=code,
                severity=Severity.ERROR,
                joint=name,
                evidence=f"with {what} of {name} turned round{other} the equations hold: {evidence}",
                cause="a drive, an encoder or the robot file counts this joint the other way round",
                fix=f"{MAP}\n[signs]\n{lines}{note}",
            )
        )
    return findings


def _either(found: Searched, joint: int) -> bool:
    """Whether turning round the other one of a joint's position and torque does as well."""
    best = found.best.explanation
    for rival in found.rivals:
        e = rival.explanation
        turned = np.flatnonzero(e.q_sign != best.q_sign)
        loaded = np.flatnonzero(np.sign(e.tau_scale) != np.sign(best.tau_scale))
        if np.array_equal(turned, [joint]) and np.array_equal(loaded, [joint]):
            return True
    return False
