"""``dynid info``: what a robot is and what its torque can reveal."""

from __future__ import annotations

import math
from typing import Annotated

from cyclopts import Parameter

from dynid.chain import InertialParameters, Robot, consistency
from dynid.cli.console import emit_json, note, say, table, warn
from dynid.cli.options import FrictionName, JsonFlag, RobotName, RobotOptions
from dynid.dynamics import BaseParameters, RotorInertia, TorqueModel, base_parameters, friction_models

__all__ = ["info"]


def info(
    robot: RobotName,
    *,
    friction: FrictionName = "viscous+coulomb+offset",
    rotor_inertia: Annotated[bool, Parameter(negative="")] = False,
    options: RobotOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Joints, limits, base parameters with their labels, and which parameters can never be seen.

    Example: dynid info panda --friction viscous+coulomb

    Parameters
    ----------
    robot
        Built-in name (panda, wam7, planar2r, spatial2r) or a URDF, MJCF or TOML file.
    friction
        Friction columns: none, or names joined by +.
    rotor_inertia
        Add a rotor inertia to every joint.
    """
    loaded = (options or RobotOptions()).load(robot)
    models = (*((RotorInertia(),) if rotor_inertia else ()), *friction_models(friction))
    model = TorqueModel(loaded, models)
    base = base_parameters(model)
    impossible = _impossible(loaded)
    if json:
        emit_json(_content(loaded, model, base, impossible))
    else:
        _show(loaded, model, base)
    if impossible:
        warn(f"nominal inertia of {', '.join(impossible)} is physically impossible; see: dynid lint {robot}")
    return 0


def _impossible(robot: Robot) -> list[str]:
    def holds(link: InertialParameters | None) -> bool:
        return link is None or consistency(link).holds

    return [joint.link.name for joint in robot.joints if not holds(joint.link.nominal)]


def _content(robot: Robot, model: TorqueModel, base: BaseParameters, impossible: list[str]) -> dict[str, object]:
    return {
        "robot": robot.name,
        "source": robot.source,
        "n_dof": robot.n_dof,
        "n_parameters": model.n_params,
        "n_base": base.n_base,
        "gravity": robot.gravity.tolist(),
        "joints": [
            {
                "name": joint.name,
                "type": joint.type,
                "link": joint.link.name,
                "parent": robot.joint_names[joint.parent] if joint.parent >= 0 else None,
                "includes": list(joint.link.includes),
                "position_limits": [joint.limits.lower, joint.limits.upper],
                "velocity_limit": joint.limits.velocity,
                "acceleration_limit": joint.limits.acceleration,
                "jerk_limit": joint.limits.jerk,
                "effort_limit": joint.limits.effort,
                "mass": None if joint.link.nominal is None else joint.link.nominal.mass,
                "rotor_inertia": joint.rotor_inertia,
            }
            for joint in robot.joints
        ],
        "columns": [
            {"owner": column.owner, "name": column.name, "unit": column.unit, "symbol": symbol}
            for column, symbol in zip(model.columns, model.symbols, strict=True)
        ],
        "base_parameters": [
            {"label": label, "leading": leading, "unit": column.unit}
            for label, leading, column in zip(base.labels(), base.leading, base.leading_columns, strict=True)
        ],
        "alone": list(base.alone),
        "only_in_combination": list(base.combined),
        "never_seen": list(base.unseen),
        "tolerance": base.tolerance,
        "impossible_nominal": impossible,
    }


def _show(robot: Robot, model: TorqueModel, base: BaseParameters) -> None:
    say("robot", f"{robot.name}   {robot.n_dof} joints, {base.n_base} base parameters of {model.n_params}")
    say("source", robot.source)
    say("gravity", "  ".join(f"{value:.5g}" for value in robot.gravity) + "  m/s² in base axes")
    note("")
    rows = []
    for number, joint in enumerate(robot.joints, 1):
        angle, force = ("rad", "N·m") if joint.type == "revolute" else ("m", "N")
        limits = joint.limits
        mass = "" if joint.link.nominal is None else f"{joint.link.nominal.mass:.4g} kg"
        position = (
            "free"
            if math.isinf(limits.lower) and math.isinf(limits.upper)
            else (f"{limits.lower:.4g} … {limits.upper:.4g} {angle}")
        )
        rows.append(
            (
                str(number),
                joint.name,
                joint.type,
                joint.link.name,
                position,
                _limit(limits.velocity, f"{angle}/s"),
                _limit(limits.acceleration, f"{angle}/s²"),
                _limit(limits.effort, force),
                mass,
            )
        )
    table(("", "joint", "type", "link", "position", "velocity", "acceleration", "effort", "nominal mass"), rows)
    rotors = [
        f"{joint.name} {joint.rotor_inertia:.4g} {'kg·m²' if joint.type == 'revolute' else 'kg'}"
        for joint in robot.joints
        if joint.rotor_inertia
    ]
    if rotors:
        say("rotors", f"{', '.join(rotors)} (armature of the file; --rotor-inertia fits it)")
    note("")
    rows_base = [
        (str(k), column.unit, label)
        for k, (label, column) in enumerate(zip(base.labels(), base.leading_columns, strict=True), 1)
    ]
    table(("", "unit", "base parameter: what torque can reveal"), rows_base, numeric=(0,))
    note("")
    say("alone", ", ".join(base.alone) or "none")
    say("combined", ", ".join(base.combined) or "none")
    say("never", ", ".join(base.unseen) or "none")


def _limit(value: float, unit: str) -> str:
    return "" if math.isinf(value) else f"{value:.4g} {unit}"
