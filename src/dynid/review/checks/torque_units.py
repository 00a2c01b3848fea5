"""Torques in other units than N·m: what the size of all of them says, and the lines of a column map that repair it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.recording.column_map import ColumnMap
from dynid.review.equations.evidence import UNITS_OF_SCALE
from dynid.review.findings import number

__all__ = ["DATA_SHEET", "TorqueSize", "torque_scale_repair"]

NEAR = 1.3
"""Factor by which an estimated scale may miss a unit."""
DATA_SHEET = "prefer the factors of the data sheet to these estimates"


def torque_scale_repair(robot: Robot, scale: Float[Array, " n_dof"]) -> ColumnMap:
    """The column map that multiplies torques by positive factors (dimensionless): as units where one is near."""
    units: dict[str, str] = {}
    gears: dict[str, float] = {}
    for joint, factor in zip(robot.joints, scale, strict=True):
        near = [unit for size, unit in UNITS_OF_SCALE.items() if abs(np.log(factor / size)) < np.log(NEAR)]
        if near and (joint.type == "revolute" or near[0] == "kN·m"):
            units[joint.name] = near[0] if joint.type == "revolute" else "kN"
        gears[joint.name] = 1.0 if joint.name in units else float(f"{factor:.4g}")
    content: dict[str, object] = {"units": {"tau": units}} if units else {}
    if any(gear != 1.0 for gear in gears.values()):
        content |= {"gear": gears, "motor_side": {"signals": ["tau"]}}
    return ColumnMap.model_validate(content)


@dataclass(frozen=True)
class TorqueSize:
    """Torques of all joints that are far too large or too small."""

    compared_with: str
    """What they are compared with."""
    usual: tuple[float, float]
    """The ratio that logs have, dimensionless."""
    factor: float = number("1")
    """What turns them into N·m."""
    ratio: float = number("1")
    """Torque over what it is compared with."""
    cause = "torques in N·mm, in percent of the rated torque, in amperes, or of the motors before their gears"
    fix = f"{DATA_SHEET}; currents belong into i1…in, with drive gains"

    @property
    def evidence(self) -> str:
        low, high = self.usual
        return (
            f"torques are {self.ratio:.3g} times {self.compared_with}; {low:.2g} to {high:.2g} is normal, and "
            f"multiplied by {self.factor:g} they are"
        )
