"""What is wrong with a log, judged by the arm's own equations: units, signs, order, gravity, delay, contact, load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynid.arrays import Array, Bool
from dynid.chain.robot import Robot
from dynid.errors import RecordingError
from dynid.recording.recording import Recording
from dynid.review.contact import Burst, burst_of, with_drift, with_load_friction
from dynid.review.explain import Judged, expected_torque, judge
from dynid.review.findings import Finding, Severity
from dynid.review.fit import Fit
from dynid.review.gravity import gravity_seen
from dynid.review.nominal import payload_of, unexcited_of
from dynid.review.rows import Arm, Rows, rows_of
from dynid.review.search import Searched, search, suspicious
from dynid.review.time import Drift, delay_of, drift_of, load_step_of
from dynid.review.units import unit_findings
from dynid.review.words import reading_findings

__all__ = ["model_findings"]

MIN_ROWS = 60
"""Instants below which a fit of all parameters says nothing."""
UNEXPLAINED = 0.6
"""What the equations leave of the torque, relative, above which it is not the torque that moves the arm."""
WEIGHTLESS = 0.05
"""Gravity torque seen over expected, below which the log has none."""
DELAYED = 1e-3
"""s: shorter delays change nothing."""
SURE = 5.0
"""Standard deviations of a delay, a drift or a load that count."""
DELAY_GAIN = 1.03
"""Residual without over residual with a delay, RMS, that makes it worth while; and above which it does harm."""
DELAY_HARM = 1.3
STANDS_OUT = 3.6
"""Times the usual residual of a contact."""
TOUCH = 0.04
"""Torque of a contact over the swing of its joint's, below which it is an inaccuracy of the model."""
DRIFTED = 0.12
"""Change of friction over a log, relative to the friction, that is more than noise."""
DRIFT_SHARE = 0.08
"""Part of the residual that a drift must explain."""
LOAD_SHARE = 0.3
"""Part of the residual that a change of load must explain."""
LOAD_EXPLAINS = 0.5
"""The same where the columns would otherwise be read as wrong."""
PAYLOAD_SHARE = 0.93
"""Part of the difference to the robot file that a load must explain: wrong inertias look otherwise."""
PAYLOAD_HEAVY = 0.85
"""The same in N·m (or N), where the misfit of the robot file at the base weighs more."""
PAYLOAD_LEFT = 0.08
"""What robot file and load may leave of the torque, relative."""
PAYLOAD_MASS = 0.012
"""Mass of a load over that of the arm below which it is an inaccuracy of the robot file."""


def model_findings(
    robot: Robot, recording: Recording, *, friction: str = "viscous+coulomb+offset"
) -> tuple[Finding, ...]:
    """What the equations of the arm tell about a log with torque (SI), the gravest first.

    Every hypothesis is a way to read the log; the one under which base parameters fitted to the log leave far less of
    the torque, and friction brakes, is reported [Gautier1990]_. Later checks read the log as repaired by earlier ones.

    Args:
        robot: the arm, with or without nominal inertias.
        recording: the log.
        friction: what will be fitted, for the names of unexcited parameters.
    """
    if recording.tau is None or recording.n_dof != robot.n_dof:
        return ()
    try:
        rows = rows_of(recording)
    except RecordingError:
        return ()  # too short to be filtered: whoever conditions it says so
    swing = np.std(rows.tau, axis=0)
    if rows.n_rows < MIN_ROWS or np.max(np.ptp(rows.q, axis=0)) < 1e-3:
        return ()
    dead = np.flatnonzero(swing <= 1e-9 * max(np.max(swing), np.max(np.abs(rows.tau))))
    if len(dead):
        return tuple(_constant(robot, int(j)) for j in dead)
    arm = Arm.of(robot)
    found = _with_load(arm, search(arm, rows))
    findings = _foreign(arm, found)
    if findings:
        return tuple(findings)
    findings += reading_findings(robot, found)
    findings += _gravity(arm, found)
    judged = found.best
    if judged.explanation.gravity is None and not any(finding.code == "torque-units" for finding in findings):
        findings += unit_findings(arm, judged)
    if not any(finding.severity is Severity.ERROR for finding in findings) or not suspicious(judged):
        more, judged = _delay(arm, judged)
        findings += more
        findings += _along(arm, judged)
        findings += _payload(arm, judged, findings)
    findings += _unexcited(arm, judged, friction)
    grave = [Severity.ERROR, Severity.WARNING, Severity.INFO]
    return tuple(sorted(findings, key=lambda finding: grave.index(finding.severity)))


def _with_load(arm: Arm, found: Searched) -> Searched:
    """The log as it is where a change of load explains what no reading of its columns does."""
    plain = found.plain
    if not found.changed or not suspicious(found.best):
        return found
    step = load_step_of(arm, plain, plain.joint_fit(arm), np.full(plain.rows.n_rows, True))
    loaded = step is not None and step.effect.share > LOAD_EXPLAINS and abs(step.mass) > SURE * step.error
    return Searched(plain, plain) if loaded else found


def _constant(robot: Robot, joint: int) -> Finding:
    name = robot.joint_names[joint]
    return Finding(
        code="torque-missing",
        severity=Severity.ERROR,
        joint=name,
        evidence=f"the torque of {name} does not change at all while the arm moves",
        cause="the controller does not report the torque of this joint, or the wrong column was read",
        fix="name the right column in the column map (--columns map.toml), as tau under [columns], or log it",
    )


def _foreign(arm: Arm, found: Searched) -> list[Finding]:
    """Torques that the motion does not explain, however the log is read."""
    noise = found.best.noise
    if np.median(noise) < UNEXPLAINED:
        return []
    best = found.best
    step = load_step_of(arm, best, best.joint_fit(arm), np.full(best.rows.n_rows, True))
    if step is not None and step.effect.share > LOAD_EXPLAINS:
        return []  # a light wrist that picks up a heavy load
    evidence = f"the equations with friction explain {100.0 * (1.0 - min(1.0, float(np.median(noise)) ** 2)):.0f} % of "
    evidence += "the torque (median of the joints); more than 90 % is normal"
    if arm.robot.has_nominal:
        ratio = np.std(found.plain.rows.tau, axis=0) / np.maximum(
            np.std(expected_torque(arm, found.plain.rows.motion), axis=0), 1e-12
        )
        evidence += f"; it swings {np.median(ratio):.2g} times as far as the robot file expects"
    return [
        Finding(
            code="external-torque",
            severity=Severity.ERROR,
            evidence=evidence,
            cause="an estimate of external torque, a control error or noise was logged in place of the joint torque",
            fix="log the measured joint torque (Franka: tau_J, not tau_ext_hat_filtered; KUKA: measured), "
            "and name its columns as tau under [columns] in the column map (--columns map.toml)",
        )
    ]


def _gravity(arm: Arm, found: Searched) -> list[Finding]:
    gravity = found.best.explanation.gravity
    if gravity is None:
        return _weightless(arm, found.best)
    if not np.any(gravity):
        return [_without_gravity(arm, found, Severity.ERROR)]
    tilt = found.tilt
    if tilt is None:
        return []
    axis = np.cross(arm.robot.gravity, tilt.gravity)
    axis = axis / max(float(np.linalg.norm(axis)), 1e-300)
    degrees, error = np.degrees(tilt.angle), np.degrees(tilt.error)
    value = " ".join(f"{component:.3f}" for component in tilt.gravity)
    return [
        Finding(
            code="tilted-base",
            severity=Severity.ERROR if degrees > 5.0 else Severity.WARNING,
            evidence=f"gravity in the torques is turned by {degrees:.2f} ± {error:.2f}° against the robot's, about the "
            f"base axis ({', '.join(f'{component:.2f}' for component in axis)}); normal is below 1.5°",
            cause="the base is mounted at an angle, on a wall or a ceiling, and the robot file does not say so",
            fix=f"give gravity in base axes: --gravity {value} (m/s², without --mount)",
        )
    ]


def _without_gravity(arm: Arm, found: Searched, severity: Severity) -> Finding:
    plain = f"{100.0 * float(np.sqrt(np.mean(found.plain.noise**2))):.3g} %"
    best = f"{100.0 * float(np.sqrt(np.mean(found.best.noise**2))):.3g} %"
    return Finding(
        code="torque-without-gravity",
        severity=severity,
        evidence=f"the equations leave {best} of the torque without gravity, {plain} with it, though the poses change",
        cause="a commanded or gravity-compensated torque was logged (Franka: tau_J_d; KUKA: commanded torque)",
        fix="log the measured joint torque and name its columns as tau under [columns] of a column map (--columns "
        "map.toml); if this torque is what you want to fit, give --gravity 0 0 0",
    )


def _weightless(arm: Arm, judged: Judged) -> list[Finding]:
    """Slow motion with little inertia: gravity is expected, and not seen."""
    robot = arm.robot
    if not np.any(robot.gravity):
        return []
    rows = judged.rows
    total = expected_torque(arm, rows.motion)
    still = replace(rows, dq=np.zeros_like(rows.dq), ddq=np.zeros_like(rows.ddq))
    heavy = np.std(expected_torque(arm, still.motion), axis=0)
    telling = heavy > 0.3 * np.std(total, axis=0)
    if not np.any(telling):
        return []
    seen = gravity_seen(arm, rows, judged)
    share = seen / np.maximum(np.std(rows.tau, axis=0), 1e-300)
    against = seen / np.maximum(heavy, 1e-300)
    if robot.has_nominal:
        lacking = np.max(share[telling]) < 4.0 * WEIGHTLESS and np.max(against[telling]) < WEIGHTLESS
    else:
        lacking = np.max(share[telling]) < 0.5 * WEIGHTLESS
    if not lacking:
        return []
    number = float(np.max(share[telling]))
    return [
        Finding(
            code="torque-without-gravity",
            severity=Severity.ERROR if robot.has_nominal else Severity.WARNING,
            evidence=f"gravity makes {100.0 * number:.2g} % of any joint's torque though poses change; for this arm "
            "more than 30 % is expected",
            cause="a commanded or gravity-compensated torque was logged (Franka: tau_J_d; KUKA: commanded torque), or "
            "the arm is balanced",
            fix="log the measured joint torque and name its columns as tau under [columns] of a column map (--columns "
            "map.toml); if this torque is what you want to fit, give --gravity 0 0 0",
        )
    ]


def _delay(arm: Arm, judged: Judged) -> tuple[list[Finding], Judged]:
    delay = delay_of(arm, judged)
    if abs(delay.seconds) < max(DELAYED, SURE * delay.error) or delay.gain < DELAY_GAIN:
        return [], judged
    way = "lags behind" if delay.seconds > 0.0 else "leads"
    finding = Finding(
        code="delay",
        severity=Severity.WARNING if delay.gain > DELAY_HARM else Severity.INFO,
        evidence=f"torque {way} position by {1e3 * abs(delay.seconds):.2f} ± {1e3 * delay.error:.2f} ms; so the "
        f"equations leave {delay.gain:.3g} times less of it; below 1 ms is normal",
        cause="torque and position are stamped by different devices, or the torque was filtered before it was logged",
        fix=f"--delay {delay.seconds:.5f}   (or --delay auto)",
    )
    rows = judged.rows.shifted(delay.seconds)
    straight = replace(
        judged.explanation,
        q_order=np.arange(arm.n_dof),
        q_sign=np.ones(arm.n_dof),
        tau_order=np.arange(arm.n_dof),
        tau_scale=np.ones(arm.n_dof),
    )
    return [finding], judge(arm, rows, straight)


def _along(arm: Arm, judged: Judged) -> list[Finding]:
    """What changes along the log: contact, load, friction."""
    judged = with_load_friction(arm, judged)
    fit = judged.joint_fit(arm)
    rows = judged.rows
    findings: list[Finding] = []
    burst = _touched(arm, judged, fit)
    keep = np.full(rows.n_rows, True) if burst is None else burst.keep
    step = load_step_of(arm, judged, fit, keep)
    drift = drift_of(arm, judged, fit, keep)
    changed = np.abs(drift.dry) / np.maximum(drift.level, 1e-300)
    moved = np.abs(drift.offset) / np.maximum(drift.level, 1e-300)
    dry, offset = _drifted(drift)
    if step is not None and step.effect.share > max(LOAD_SHARE, drift.share):
        if abs(step.mass) > SURE * step.error:
            return [_load_change(step.time, step.mass, step.error, step.effect.share)]
        return findings
    if burst is not None:
        findings.append(_contact(arm.robot, burst, rows))
    if np.any(dry) or np.any(offset):
        joint = int(np.argmax(np.where(dry, changed, 0.0) + np.where(offset, moved, 0.0)))
        what, value, error = "friction", drift.dry[joint], drift.dry_error[joint]
        if not dry[joint]:
            what, value, error = "the offset", drift.offset[joint], drift.offset_error[joint]
        count = np.count_nonzero(dry | offset)
        findings.append(
            Finding(
                code="drift",
                severity=Severity.WARNING,
                joint=arm.robot.joint_names[joint] if count == 1 else None,
                evidence=f"over the log {what} of {arm.robot.joint_names[joint]} changes by {value:.3g} ± {error:.2g} "
                f"(its friction is {drift.level[joint]:.3g}), and so at {count} of {arm.n_dof} joints; below "
                f"{100.0 * DRIFTED:.0f} % is normal",
                cause="gears and grease warm up, or a torque sensor drifts",
                fix="let the arm warm up before the log, or fit the part after it: --from S",
            )
        )
    return findings


def _touched(arm: Arm, judged: Judged, fit: Fit) -> Burst | None:
    """A stretch that stands out, also beside friction that changes along the log where it does."""
    burst = burst_of(arm, judged, fit)
    if burst is None or burst.times < STANDS_OUT or burst.size < TOUCH:
        return None
    if not np.any(_drifted(drift_of(arm, judged, fit, burst.keep))):
        return burst
    drifting = with_drift(arm, judged, fit)
    again = burst_of(arm, drifting, drifting.joint_fit(arm))
    return None if again is None or again.times < STANDS_OUT or again.size < TOUCH else again


def _drifted(drift: Drift) -> Bool[Array, "2 n_dof"]:
    """Where dry friction, and where the offset, change by more than noise and by a good part of the friction."""
    if drift.share < DRIFT_SHARE:
        return np.full((2, len(drift.level)), False)
    change, error = np.stack([drift.dry, drift.offset]), np.stack([drift.dry_error, drift.offset_error])
    return (np.abs(change) > DRIFTED * np.maximum(drift.level, 1e-300)) & (np.abs(change) > SURE * error)


def _load_change(time: float, mass: float, error: float, share: float) -> Finding:
    what = "picks up" if mass > 0.0 else "puts down"
    until = f"--until {time - 0.5:.2f} (before) or --from {time + 0.5:.2f} (after)"
    return Finding(
        code="load-change",
        severity=Severity.ERROR,
        evidence=f"at {time:.2f} s the arm {what} {abs(mass):.3g} ± {error:.2g} kg: a load at the tip before or after "
        f"explains {100.0 * share:.0f} % of what one set of parameters leaves of the torque; normal is below 10 %",
        cause="a tool or workpiece was picked up or put down during the log",
        fix=f"fit one part of the log: {until}",
    )


def _contact(robot: Robot, burst: Burst, rows: Rows) -> Finding:
    names = ", ".join(f"{robot.joint_names[j]} {burst.peak[j]:+.2g}" for j in burst.joints)
    start, stop = burst.start - rows.period, burst.stop + rows.period
    return Finding(
        code="contact",
        severity=Severity.WARNING,
        joint=robot.joint_names[burst.joints[0]] if len(burst.joints) == 1 else None,
        evidence=f"from {start:.2f} to {stop:.2f} s the torque differs from what the rest of the log predicts by "
        f"{burst.times:.2g} times what is usual ({names} N·m on average); below {STANDS_OUT:g} times is normal",
        cause="the arm touched something, was touched, or a cable pulled",
        fix=f"leave that stretch out: --until {start:.2f}, or --from {stop:.2f}",
    )


def _payload(arm: Arm, judged: Judged, findings: list[Finding]) -> list[Finding]:
    if any(finding.code in ("load-change", "torque-units", "torque-without-gravity") for finding in findings):
        return []
    load = payload_of(arm, judged)
    if load is None:
        return []
    least = PAYLOAD_MASS * float(np.sum(arm.robot.nominal[:, 0]))
    explained = load.share > PAYLOAD_SHARE and load.heavy_share > PAYLOAD_HEAVY and load.after < PAYLOAD_LEFT
    if not explained or load.mass < max(least, 10.0 * load.error):
        return []
    return [
        Finding(
            code="payload",
            severity=Severity.INFO,
            evidence=f"a load of {load.mass:.3g} ± {load.error:.2g} kg at the tip is {100.0 * load.share:.1f} % of the "
            f"difference between the log and the inertias of the robot file: with them and friction "
            f"{100.0 * load.before:.2g} % of the torque is left, with the load {100.0 * load.after:.2g} %",
            cause="a tool or workpiece that the robot file does not have (or its last link is too light there)",
            fix="nothing, if the model shall contain it; otherwise fit a log without it, then: dynid payload MODEL LOG",
        )
    ]


def _unexcited(arm: Arm, judged: Judged, friction: str) -> list[Finding]:
    found = unexcited_of(arm, judged, friction)
    if not found.symbols:
        return []
    names = ", ".join(found.symbols[:12]) + (f" and {len(found.symbols) - 12} more" if len(found.symbols) > 12 else "")
    still = ", ".join(arm.robot.joint_names[j] for j in found.still)
    many = len(found.symbols) > found.n_base // 4
    return [
        Finding(
            code="unexcited",
            severity=Severity.WARNING if many else Severity.INFO,
            evidence=f"{len(found.symbols)} of {found.n_base} base parameters are unknown (their error could make half "
            f"of a joint's torque): {names}; none is normal" + (f"; not moving: {still}" if still else ""),
            cause="the joints move too little, too slowly, or always together",
            fix="move every joint, several at once, over its range and fast: dynid excite ROBOT --out traj.csv",
        )
    ]
