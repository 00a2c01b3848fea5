"""A load at the tip that the robot file does not have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.review.checks.torque import is_read_rightly
from dynid.review.equations.expectation import tip_load
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look
from dynid.review.phrases import in_percent

__all__ = ["CarriedLoad", "find_payload"]

SHARE = 0.93
"""Part of the difference to the robot file that a load must explain: wrong inertias look otherwise."""
HEAVY_SHARE = 0.85
"""The same in N·m (or N), where the misfit of the robot file at the base weighs more."""
LEFT = 0.08
"""What robot file and load may leave of the torque, relative."""
LEAST_MASS = 0.012
"""Mass of a load over that of the arm below which it is an inaccuracy of the robot file."""
SURE_MASS = 10.0
"""Standard deviations of the mass that count; the robot file's misfit is no noise."""
CONFUSED = frozenset({"load-change", "torque-units", "torque-without-gravity"})
"""Findings that a load would be taken for."""


@dataclass(frozen=True)
class CarriedLoad:
    """A load at the tip, and what it explains."""

    mass: float = number("kg")
    error: float = number("kg")
    """Standard deviation."""
    share: float = number("1", normal=(0.0, SHARE))
    """Part of the difference between the log and the robot file that the load explains."""
    before: float = number("1")
    """What the robot file with the best friction leaves of the torque."""
    after: float = number("1")
    """The same with the load."""
    cause = "a tool or workpiece that the robot file does not have (or its last link is too light there)"
    fix = "nothing if the model shall contain it; otherwise fit a log without it, then identify the payload on this one"

    @property
    def evidence(self) -> str:
        return (
            f"a load of {self.mass:.3g} ± {self.error:.2g} kg at the tip is {in_percent(self.share)} of the difference "
            f"between the log and the inertias of the robot file: it cuts their residual from "
            f"{in_percent(self.before, 2)} to {in_percent(self.after, 2)} of the torque"
        )


def find_payload(look: Look) -> Look:
    """A load at the last link that explains how the log differs from the robot file."""
    if not is_read_rightly(look) or look.codes() & CONFUSED:
        return look
    arm = look.torque.arm
    load = tip_load(arm, look.torque.fitted)
    if load is None:
        return look
    explained = load.share > SHARE and load.heavy_share > HEAVY_SHARE and load.after < LEFT
    if not explained or load.mass < max(LEAST_MASS * float(np.sum(arm.robot.nominal[:, 0])), SURE_MASS * load.error):
        return look
    measured = CarriedLoad(load.mass, load.error, load.share, load.before, load.after)
    return look.found([Finding(code="payload", severity=Severity.INFO, measured=measured)])
