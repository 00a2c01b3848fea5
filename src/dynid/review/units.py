"""Torques in other units than N·m, as far as only an expectation can tell: the robot file, effort limits, a guess."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.review.explain import Judged, expected_torque
from dynid.review.findings import MAP, Finding, Severity
from dynid.review.nominal import nominal_scales
from dynid.review.rows import Arm
from dynid.review.words import scale_lines

__all__ = ["unit_findings"]

FAR_OFF = 6.0
"""Factor between measured and nominal torque that no wrong inertia makes."""
GUESS_OFF = (0.012, 20.0)
"""Measured torque over that of a guessed arm, relative: outside this range no arm is."""
LIMIT_OFF = (0.01, 3.0)
"""Largest torque over the effort limit, relative: outside this range it is not in N·m."""


def unit_findings(arm: Arm, judged: Judged) -> list[Finding]:
    """All torques by one factor, or a joint that shares nothing with others: only expectation tells."""
    robot = arm.robot
    ratio, error = nominal_scales(arm, judged)
    known = np.isfinite(ratio) & (np.abs(ratio) > 3.0 * error)
    if robot.has_nominal:
        if not np.any(known):
            return []
        weight = np.std(expected_torque(arm, judged.rows.motion), axis=0)
        middle = _weighted_median(np.abs(ratio[known]), weight[known])
        if not 1.0 / FAR_OFF < middle < FAR_OFF:
            evidence = f"torques are {middle:.3g} times those of the robot file's inertias; between 0.5 and 2 is normal"
            scale = np.where(
                known & (np.abs(ratio / middle) < 10.0) & (np.abs(ratio / middle) > 0.1), 1.0 / middle, np.nan
            )
            return [_all_units(robot, evidence, np.where(np.isfinite(scale), scale, 1.0 / middle))]
        off = np.flatnonzero(known & ((np.abs(ratio) < 0.1) & (np.abs(ratio) > 10.0 * error)))
        return [_one_unit(robot, int(j), float(ratio[j])) for j in off if np.abs(ratio[j]) < 0.1 * middle]
    limits = np.array([joint.limits.effort for joint in robot.joints])
    used = np.max(np.abs(judged.rows.tau), axis=0) / np.where(np.isfinite(limits) & (limits > 0.0), limits, np.nan)
    if np.any(np.isfinite(used)) and not LIMIT_OFF[0] < np.nanmedian(used) < LIMIT_OFF[1]:
        evidence = (
            f"the largest torques are {np.nanmedian(used):.3g} times the effort limits (median); 0.05 to 1 is normal"
        )
        return [_all_units(robot, evidence, _unit_guess(robot, float(np.nanmedian(used)), 0.3))]
    if np.any(known):
        middle = _weighted_median(np.abs(ratio[known]), np.ones(np.count_nonzero(known)))
        if not GUESS_OFF[0] < middle < GUESS_OFF[1]:
            evidence = (
                f"torques are {middle:.3g} times those of an arm of this size with links of 3 kg; 0.05 to 5 is normal"
            )
            return [_all_units(robot, evidence, _unit_guess(robot, middle, 0.4))]
    return []


def _unit_guess(robot: Robot, size: float, usual: float) -> Float[Array, " n_dof"]:
    factor = 1e-3 if size > usual else 100.0
    return np.full(robot.n_dof, factor)


def _weighted_median(values: Float[Array, " n"], weight: Float[Array, " n"]) -> float:
    order = np.argsort(values)
    running = np.cumsum(weight[order]) / np.sum(weight)
    return float(values[order][np.searchsorted(running, 0.5)])


def _all_units(robot: Robot, evidence: str, scale: Float[Array, " n_dof"]) -> Finding:
    return Finding(
        code="torque-units",
        severity=Severity.ERROR,
        evidence=evidence,
        cause="torques in N·mm, in percent of the rated torque, in amperes, or of the motors before their gears",
        fix=f"{MAP}\n{scale_lines(robot, np.abs(scale))}\n# the factors are estimates: prefer those of the "
        "data sheet; currents belong into i1…in, with --gains",
    )


def _one_unit(robot: Robot, joint: int, ratio: float) -> Finding:
    name = robot.joint_names[joint]
    scale = np.ones(robot.n_dof)
    scale[joint] = 1.0 / abs(ratio)
    return Finding(
        code="torque-units",
        severity=Severity.WARNING,
        joint=name,
        evidence=f"the torque of {name} beside its friction is {ratio:.2g} times that of the robot file's inertias; "
        "those of the other joints agree with it",
        cause="torque of this joint in percent of the rated torque, in amperes, or of the motor before the gear; or "
        "its inertias in the robot file are far too large",
        fix=f"{MAP}\n{scale_lines(robot, scale)}\n# the factor is an estimate: prefer that of the data sheet",
    )
