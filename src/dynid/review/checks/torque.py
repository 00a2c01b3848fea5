"""Torque that is there at all, and that the motion explains; opens the log for the checks by the arm's equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.errors import RecordingError
from dynid.review.equations.changes import load_step_of
from dynid.review.equations.hypothesis import HypothesisFit
from dynid.review.equations.rows import Arm, ThinRows, thin_rows
from dynid.review.equations.search import Searched, search_reading, suspicious
from dynid.review.equations.sizes import expected_torque
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Equations, Look

__all__ = [
    "LOG_MEASURED_TORQUE",
    "SURE",
    "NoTorque",
    "find_missing_torque",
    "find_unexplained_torque",
    "is_read_rightly",
]

MEANINGLESS = (
    "not-finite",
    "coarse-stamps",
    "repeated-stamps",
    "backward-stamps",
    "time-unit",
    "degrees",
    "position-unit",
    "no-motion",
    "short",
)
"""Errors after which positions or times say nothing about the torque."""
MISREAD = frozenset(
    {
        "flipped-joint",
        "flipped-position",
        "flipped-torque",
        "permuted-joints",
        "permuted-positions",
        "permuted-torques",
        "tilted-base",
        "torque-units",
        "torque-without-gravity",
    }
)
"""Findings that say how the columns have to be read."""
MIN_ROWS = 60
"""Rows below which a fit of all parameters says nothing: an arm of seven joints has about that many."""
LEAST_TRAVEL = 1e-3
"""rad or m: a log in which no joint moves farther shows no dynamics."""
UNEXPLAINED = 0.6
"""What the equations leave of the torque, relative, above which it is not the torque that moves the arm."""
LOAD_EXPLAINS = 0.5
"""Part of the residual that a change of load must explain for the columns to be right after all."""
SURE = 5.0
"""Standard deviations of a delay, a drift or a load that count."""
LOG_MEASURED_TORQUE = (
    "log the measured joint torque (Franka: tau_J; KUKA: measured) and name its columns in the column map (columns.tau)"
)


def is_read_rightly(look: Look) -> bool:
    """Whether the log, as it is read now, can tell of delays, contacts and loads."""
    return not look.codes(Severity.ERROR) & MISREAD or not suspicious(look.torque.fitted)


@dataclass(frozen=True)
class NoTorque:
    """A log without torque."""

    has_currents: bool
    cause = "nothing to compare the equations of the arm with: checks of the torque are left out"

    @property
    def evidence(self) -> str:
        return f"the log has {'currents and no drive gains' if self.has_currents else 'no torque and no current'}"

    @property
    def fix(self) -> str:
        if self.has_currents:
            return "give drive gains in N·m/A"
        return (
            "log tau1…taun, or currents i1…in and give drive gains, or say what the log calls them: "
            'columns.tau = "moment_{n}" in the column map'
        )


@dataclass(frozen=True)
class NotCompared:
    """Torque that was not looked at."""

    blocking: tuple[str, ...]
    """Codes of the findings that come first."""
    cause = "a motion that is read wrongly explains no torque: checks of the torque are left out"
    fix = "repair what is named above, and ask again"

    @property
    def evidence(self) -> str:
        return f"{', '.join(self.blocking)} come first"


@dataclass(frozen=True)
class ConstantTorque:
    """A torque that never changes."""

    name: str
    cause = "the controller does not report the torque of this joint, or the wrong column was read"
    fix = "name the right column in the column map (columns.tau), or log it"

    @property
    def evidence(self) -> str:
        return f"the torque of {self.name} does not change at all while the arm moves"


def find_missing_torque(look: Look) -> Look:
    """Logs without torque, or with a torque that never changes; all others are opened for the arm's equations."""
    log = look.log
    if log is None:
        return look
    if log.tau is None:
        no_torque = NoTorque(log.current is not None)
        return look.found([Finding(code="no-torque", severity=Severity.INFO, measured=no_torque)])
    errors = look.codes(Severity.ERROR)
    blocking = tuple(code for code in MEANINGLESS if code in errors)
    if blocking:
        return look.found([Finding(code="not-compared", severity=Severity.INFO, measured=NotCompared(blocking))])
    try:
        rows = thin_rows(log)
    except RecordingError:
        return look  # too short to be filtered: whoever conditions it says so
    if rows.n_rows < MIN_ROWS or np.max(np.ptp(rows.q, axis=0)) < LEAST_TRAVEL:
        return look
    swing = np.std(rows.tau, axis=0)
    dead = np.flatnonzero(swing <= 1e-9 * max(np.max(swing), np.max(np.abs(rows.tau))))
    if not len(dead):
        return replace(look, equations=_opened(Arm.of(look.robot), rows, _rows_beside(look)))
    names = [look.robot.joint_names[int(j)] for j in dead]
    return look.found(
        Finding(code="torque-missing", severity=Severity.ERROR, joint=name, measured=ConstantTorque(name))
        for name in names
    )


def _rows_beside(look: Look) -> list[ThinRows]:
    """Rows of the other logs of the robot, those that have torque and are long enough to be filtered."""
    found = []
    for log in look.beside:
        if log.tau is None:
            continue
        try:
            rows = thin_rows(log)
        except RecordingError:
            continue  # too short: it tells nothing here
        if rows.n_rows >= MIN_ROWS:
            found.append(rows)
    return found


def _opened(arm: Arm, rows: ThinRows, beside: Sequence[ThinRows]) -> Equations:
    """The log as it is read best; as logged where a change of load explains what no reading of its columns does."""
    found = search_reading(arm, rows, beside)
    if found.changed and suspicious(found.best):
        step = load_step_of(arm, found.plain, found.plain.arm_fit(arm), np.full(rows.n_rows, True))
        if step is not None and step.effect.share > LOAD_EXPLAINS and abs(step.mass) > SURE * step.error:
            found = Searched(found.plain, found.plain)
    return Equations(arm, found, found.reading)


@dataclass(frozen=True)
class UnexplainedTorque:
    """Torque that the motion does not explain, however the log is read."""

    swing: float | None
    """Over that of the robot file's inertias (dimensionless); None without them."""
    explained: float = number("1", normal=(0.9, 1.0))
    """Part of the squares of the torque that the equations explain, median of the joints."""
    cause = "an estimate of external torque, a control error or noise was logged in place of the joint torque"
    fix = LOG_MEASURED_TORQUE

    @property
    def evidence(self) -> str:
        said = (
            f"the equations with friction explain {100.0 * self.explained:.0f} % of the torque (median of the joints)"
        )
        beside = "" if self.swing is None else f"; it swings {self.swing:.2g} times as far as the robot file expects"
        return f"{said}; more than 90 % is normal{beside}"


def find_unexplained_torque(look: Look) -> Look:
    """Torques that the motion does not explain; later checks do without them."""
    arm, best = look.torque.arm, look.torque.fitted
    noise = float(np.median(best.noise))
    if noise < UNEXPLAINED or _load_explains(arm, best):
        return look
    swing = None
    if arm.robot.has_nominal:
        rows = look.torque.searched.plain.rows
        ratio = np.std(rows.tau, axis=0) / np.maximum(np.std(expected_torque(arm, rows.motion), axis=0), 1e-12)
        swing = float(np.median(ratio))
    measured = UnexplainedTorque(swing, 1.0 - min(1.0, noise**2))
    finding = Finding(code="external-torque", severity=Severity.ERROR, measured=measured)
    return replace(look.found([finding]), equations=None)


def _load_explains(arm: Arm, fitted: HypothesisFit) -> bool:
    """Whether it is a light wrist that picks up a heavy load."""
    step = load_step_of(arm, fitted, fitted.arm_fit(arm), np.full(fitted.rows.n_rows, True))
    return step is not None and step.effect.share > LOAD_EXPLAINS
