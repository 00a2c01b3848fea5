"""Torques in other units than N·m, as far as only an expectation can tell: the robot file, effort limits, a guess."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.recording.column_map import ColumnMap
from dynid.review.equations.expectation import nominal_scales
from dynid.review.equations.hypothesis import HypothesisFit, expected_torque
from dynid.review.equations.rows import Arm
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look

__all__ = ["DATA_SHEET", "find_torque_units", "torque_scale_repair"]

FAR_OFF = 6.0
"""Factor between measured and nominal torque that no wrong inertia makes."""
GUESS_OFF = (0.012, 20.0)
"""Measured torque over that of a guessed arm, relative: outside this range no arm is."""
LIMIT_OFF = (0.01, 3.0)
"""Largest torque over the effort limit, relative: outside this range it is not in N·m."""
ONE_OFF = 0.1
"""Measured over nominal torque of one joint below which it is in another unit than the others."""
USUAL_OF_LIMIT, USUAL_OF_GUESS = 0.3, 0.4
"""Torque over the effort limit, and over that of a guessed arm, in an ordinary log: the unit is above or below it."""
UNITS_OF_SCALE = {1e-3: "N·mm", 1e-2: "N·cm", 1e3: "kN·m"}
"""Units of torque by what turns them into N·m."""
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
    ratio: float = number("1")
    """Torque over what it is compared with."""
    cause = "torques in N·mm, in percent of the rated torque, in amperes, or of the motors before their gears"
    fix = f"{DATA_SHEET}; currents belong into i1…in, with drive gains"

    @property
    def evidence(self) -> str:
        low, high = self.usual
        return f"torques are {self.ratio:.3g} times {self.compared_with}; {low:g} to {high:g} is normal"


@dataclass(frozen=True)
class OneTorqueSize:
    """The torque of one joint that is far too small."""

    name: str
    ratio: float = number("1", normal=(ONE_OFF, 1.0 / ONE_OFF))
    """Torque beside friction over that of the robot file's inertias."""
    cause = (
        "torque of this joint in percent of the rated torque, in amperes, or of the motor before the gear; or its "
        "inertias in the robot file are far too large"
    )
    fix = DATA_SHEET

    @property
    def evidence(self) -> str:
        return (
            f"the torque of {self.name} beside its friction is {self.ratio:.2g} times that of the robot file's "
            "inertias; those of the other joints agree with it"
        )


def find_torque_units(look: Look) -> Look:
    """All torques by one factor, or a joint that shares nothing with others: only expectation tells."""
    arm, fitted = look.torque.arm, look.torque.fitted
    if fitted.hypothesis.gravity is not None or "torque-units" in look.codes():
        return look
    return look.found(_by_robot_file(arm, fitted) if arm.robot.has_nominal else _by_size(arm, fitted))


def _by_robot_file(arm: Arm, fitted: HypothesisFit) -> list[Finding]:
    ratio, error = nominal_scales(arm, fitted)
    known = np.isfinite(ratio) & (np.abs(ratio) > 3.0 * error)
    if not np.any(known):
        return []
    weight = np.std(expected_torque(arm, fitted.rows.motion), axis=0)
    middle = _weighted_median(np.abs(ratio[known]), weight[known])
    if not 1.0 / FAR_OFF < middle < FAR_OFF:
        measured = TorqueSize("those of the robot file's inertias", (0.5, 2.0), middle)
        return [_all_torques(arm.robot, measured, 1.0 / middle)]
    off = np.flatnonzero(known & ((np.abs(ratio) < ONE_OFF) & (np.abs(ratio) > 10.0 * error)))
    return [_one_torque(arm.robot, int(j), float(ratio[j])) for j in off if np.abs(ratio[j]) < ONE_OFF * middle]


def _by_size(arm: Arm, fitted: HypothesisFit) -> list[Finding]:
    """By the effort limits, or else by a guessed arm."""
    robot = arm.robot
    limits = np.array([joint.limits.effort for joint in robot.joints])
    used = np.max(np.abs(fitted.rows.tau), axis=0) / np.where(np.isfinite(limits) & (limits > 0.0), limits, np.nan)
    if np.any(np.isfinite(used)) and not LIMIT_OFF[0] < np.nanmedian(used) < LIMIT_OFF[1]:
        size = float(np.nanmedian(used))
        measured = TorqueSize("the effort limits where they are largest (median)", (0.05, 1.0), size)
        return [_all_torques(robot, measured, 1e-3 if size > USUAL_OF_LIMIT else 100.0)]
    ratio, error = nominal_scales(arm, fitted)
    known = np.isfinite(ratio) & (np.abs(ratio) > 3.0 * error)
    if np.any(known):
        middle = _weighted_median(np.abs(ratio[known]), np.ones(np.count_nonzero(known)))
        if not GUESS_OFF[0] < middle < GUESS_OFF[1]:
            measured = TorqueSize("those of an arm of this size with links of 3 kg", (0.05, 5.0), middle)
            return [_all_torques(robot, measured, 1e-3 if middle > USUAL_OF_GUESS else 100.0)]
    return []


def _weighted_median(values: Float[Array, " n"], weight: Float[Array, " n"]) -> float:
    order = np.argsort(values)
    running = np.cumsum(weight[order]) / np.sum(weight)
    return float(values[order][np.searchsorted(running, 0.5)])


def _all_torques(robot: Robot, measured: TorqueSize, factor: float) -> Finding:
    repair = torque_scale_repair(robot, np.full(robot.n_dof, factor))
    return Finding(code="torque-units", severity=Severity.ERROR, measured=measured, repair=repair)


def _one_torque(robot: Robot, joint: int, ratio: float) -> Finding:
    scale = np.ones(robot.n_dof)
    scale[joint] = 1.0 / abs(ratio)
    name = robot.joint_names[joint]
    return Finding(
        code="torque-units",
        severity=Severity.WARNING,
        joint=name,
        measured=OneTorqueSize(name, ratio),
        repair=torque_scale_repair(robot, scale),
    )
