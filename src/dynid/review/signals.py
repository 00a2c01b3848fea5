"""What can be told from the signals of a log alone, without the dynamics of the robot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.chain.robot import Robot
from dynid.errors import RecordingError
from dynid.recording.raw import RawLog
from dynid.recording.recording import Recording
from dynid.review.findings import Finding, Severity
from dynid.review.motion import motion_findings
from dynid.review.slopes import position_unit_findings, slopes_of, velocity_findings
from dynid.review.stamps import row_findings, stamp_findings, time_factor
from dynid.review.values import value_findings
from dynid.review.view import View

__all__ = ["Diagnosis", "signal_findings"]

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
WRONG_VELOCITY = (
    "flipped-velocity",
    "foreign-velocity",
    "motor-velocity",
    "permuted-velocity",
    "velocity-scale",
    "velocity-unit",
)
"""Findings after which the velocities of the log are not used."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What the signals show, and what is left to look at."""

    findings: tuple[Finding, ...]
    log: Recording | None
    """The rows that a recording can hold, without velocities that are wrong; None where there are none."""

    @property
    def blocking(self) -> tuple[str, ...]:
        """Codes of the errors that leave nothing to compare a torque with."""
        errors = {finding.code for finding in self.findings if finding.severity is Severity.ERROR}
        return tuple(code for code in MEANINGLESS if code in errors)


def signal_findings(robot: Robot, raw: RawLog) -> Diagnosis:
    """Every finding that needs no model of the dynamics.

    What a unit would cure is looked at as if it were cured, so that one fault does not show as many.
    """
    found = list(row_findings(raw))
    try:
        log = raw.good_rows()
    except RecordingError:
        return Diagnosis(tuple(found), None)
    if log.n_samples < 8:
        found.append(
            Finding(
                code="short",
                severity=Severity.ERROR,
                evidence=f"{log.n_samples} usable samples",
                cause="the log was cut off, or hardly any row is complete",
                fix="log for longer: ten periods of the motion, or 10 s, are a good start",
            )
        )
        return Diagnosis(tuple(found), log)
    coarse = any(finding.code == "coarse-stamps" for finding in found)
    found += [] if coarse else _on_even_rows(View(robot, log, raw))
    if any(finding.code in WRONG_VELOCITY for finding in found):
        log = replace(log, dq=None)
    return Diagnosis(tuple(_once(found)), log)


def _on_even_rows(view: View) -> list[Finding]:
    factor, found = time_factor(view)
    if factor != 1.0:
        view = View(view.robot, replace(view.log, t=view.log.t * factor), view.raw, factor)
    stamps = list(stamp_findings(view))
    found += stamps
    if any(finding.code == "jitter" and finding.mapping for finding in stamps):
        even = np.linspace(view.log.t[0], view.log.t[-1], view.log.n_samples)
        view = replace(view, log=replace(view.log, t=even))
    slopes = slopes_of(view)
    units, positions = position_unit_findings(view, slopes)
    found += positions
    if np.any(units != 1.0):
        view = replace(view, log=replace(view.log, q=view.log.q * units))
        slopes = slopes_of(view)
    velocities = list(velocity_findings(view, slopes))
    found += velocities
    if velocities:
        # Wrong velocities would show again in everything that is compared with them.
        view = replace(view, log=replace(view.log, dq=None))
    values = list(value_findings(view))
    found += values
    # The edges of a held or coarse position look like fast motion.
    edges = any(finding.code in ("held", "quantisation", "repeated-rows", "jump") for finding in values)
    found += [finding for finding in motion_findings(view) if not (edges and finding.code == "low-rate")]
    frozen = {finding.joint for finding in values if finding.code == "frozen"}
    return [finding for finding in found if not (finding.code == "jump" and finding.joint in frozen)]


def _once(findings: list[Finding]) -> Iterator[Finding]:
    """Each finding once for a joint and a signal, the gravest first met."""
    seen = set()
    for finding in findings:
        mark = (finding.code, finding.joint, finding.evidence.partition(" ")[0] if finding.joint else finding.evidence)
        if mark not in seen:
            seen.add(mark)
            yield finding
