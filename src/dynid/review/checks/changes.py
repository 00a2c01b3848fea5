"""What changes along a log: a contact, a load picked up or put down, friction that warms up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Bool
from dynid.review.checks.torque import SURE, is_read_rightly
from dynid.review.equations.bursts import Burst, burst_of, with_drift, with_load_friction
from dynid.review.equations.changes import Drift, LoadStep, drift_of, load_step_of
from dynid.review.equations.hypothesis import HypothesisFit
from dynid.review.equations.joint_fits import ArmFit
from dynid.review.equations.rows import Arm
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look
from dynid.review.phrases import in_percent

__all__ = ["Contact", "FrictionDrift", "LoadChange", "find_changes"]

STANDS_OUT = 3.6
"""Times the usual residual of a contact."""
SURELY = 12.0
"""Times the usual residual that the misfit of a good model never reaches: 8 in clean measured logs, 5 where all is
simulated. Below it a contact is information."""
TOUCH = 0.04
"""Torque of a contact over the swing of its joint's, below which it is an inaccuracy of the model."""
DRIFTED = 0.12
"""Change of friction over a log, relative to the friction, that is more than noise."""
VANISHED = 1.2
"""Change of friction over the friction itself that no gear shows: friction does not turn negative. Misfit does that."""
DRIFT_SHARE = 0.08
"""Part of the residual that a drift must explain."""
WARM_UP = 60.0
"""s: gears warm up within minutes. In a shorter log a drift is information: misfit looks like it."""
LOAD_SHARE = 0.3
"""Part of the residual that a change of load must explain."""
LOAD_DECIDES = 0.5
"""The same from which on it is an error: it explains more than everything else together."""
AROUND_LOAD = 0.5
"""Time in s on either side of a change of load that is left out: a gripper takes as long."""


@dataclass(frozen=True)
class Contact:
    """A segment whose torque the rest of the log does not predict."""

    torques: tuple[tuple[str, float], ...]
    """Joints where it shows, and the mean torque that lacks there, N·m or N."""
    start: float = number("s")
    stop: float = number("s")
    times: float = number("1", normal=(0.0, STANDS_OUT))
    """Difference over what is usual elsewhere in the log."""
    cause = "the arm touched something, was touched, or a cable pulled"

    @property
    def evidence(self) -> str:
        names = ", ".join(f"{joint} {torque:+.2g}" for joint, torque in self.torques)
        return (
            f"from {self.start:.2f} to {self.stop:.2f} s the torque differs from what the rest of the log predicts by "
            f"{self.times:.2g} times what is usual ({names} N·m on average); below {STANDS_OUT:g} times is normal"
        )

    @property
    def fix(self) -> str:
        return f"leave that segment out: use the log until {self.start:.2f} s, or from {self.stop:.2f} s on"


@dataclass(frozen=True)
class LoadChange:
    """A load that comes or goes during the log."""

    time: float = number("s")
    mass: float = number("kg", normal=(0.0, 0.0))
    """Negative where it is put down."""
    error: float = number("kg")
    """Standard deviation."""
    share: float = number("1", normal=(0.0, 0.1))
    """Part of the residual of one set of parameters that the load explains."""
    cause = "a tool or workpiece was picked up or put down during the log"

    @property
    def before(self) -> float:
        """s until which the load is the same."""
        return self.time - AROUND_LOAD

    @property
    def after(self) -> float:
        """s from which on it is."""
        return self.time + AROUND_LOAD

    @property
    def evidence(self) -> str:
        what = "picks up" if self.mass > 0.0 else "puts down"
        return (
            f"at {self.time:.2f} s the arm {what} {abs(self.mass):.3g} ± {self.error:.2g} kg: a load at the tip before "
            f"or after explains {100.0 * self.share:.0f} % of what one set of parameters leaves of the torque; "
            "normal is below 10 %"
        )

    @property
    def fix(self) -> str:
        return f"fit one part of the log: until {self.before:.2f} s, or from {self.after:.2f} s on"


@dataclass(frozen=True)
class FrictionDrift:
    """Friction or offsets that change along the log."""

    what: str
    """friction or the offset."""
    worst: str
    """The joint at which it changes most."""
    n_joints: int
    """Joints at which it changes."""
    n_dof: int
    change: float = number("N·m or N")
    error: float = number("N·m or N")
    """Standard deviation."""
    friction: float = number("N·m or N")
    """Of that joint, over the whole log."""
    cause = "gears and grease warm up, or a torque sensor drifts"
    fix = "let the arm warm up before the log, or fit the part of the log after it has"

    @property
    def evidence(self) -> str:
        return (
            f"over the log {self.what} of {self.worst} changes by {self.change:.3g} ± {self.error:.2g} "
            f"(its friction is {self.friction:.3g}), and so at {self.n_joints} of {self.n_dof} joints; below "
            f"{in_percent(DRIFTED)} is normal"
        )


def find_changes(look: Look) -> Look:
    """Contacts, loads and friction that changes along the log."""
    if not is_read_rightly(look):
        return look
    # What is usual in a log that mostly rests is not usual in its motion.
    surely = np.inf if "standstill" in look.codes() else SURELY
    return look.found(_changes(look.torque.arm, look.torque.fitted, surely))


def _changes(arm: Arm, fitted: HypothesisFit, surely: float) -> Iterator[Finding]:
    fitted = with_load_friction(arm, fitted)
    fit = fitted.arm_fit(arm)
    burst = _touched(arm, fitted, fit)
    keep = np.full(fitted.rows.n_rows, True) if burst is None else burst.keep
    step = load_step_of(arm, fitted, fit, keep)
    drift = drift_of(arm, fitted, fit, keep)
    if step is not None and step.effect.share > max(LOAD_SHARE, drift.share):
        yield from _loaded(step, moving=bool(np.isfinite(surely)))
        return
    if burst is not None:
        yield _contact(arm, burst, fitted.rows.period, surely)
    yield from _drifting(arm, drift, float(fitted.rows.t[-1] - fitted.rows.t[0]))


def _loaded(step: LoadStep, *, moving: bool) -> Iterator[Finding]:
    if abs(step.mass) > SURE * step.error:
        measured = LoadChange(step.time, step.mass, step.error, step.effect.share)
        # A load that explains less than all else that is left may be friction or misfit of one part of the log.
        less = Severity.WARNING if moving else Severity.INFO
        severity = Severity.ERROR if step.effect.share > LOAD_DECIDES else less
        yield Finding(code="load-change", severity=severity, measured=measured)


def _contact(arm: Arm, burst: Burst, period: float, surely: float) -> Finding:
    names = arm.robot.joint_names
    torques = tuple((names[j], float(burst.peak[j])) for j in burst.joints)
    return Finding(
        code="contact",
        severity=Severity.WARNING if burst.times > surely else Severity.INFO,
        joint=names[burst.joints[0]] if len(burst.joints) == 1 else None,
        measured=Contact(torques, burst.start - period, burst.stop + period, burst.times),
    )


def _drifting(arm: Arm, drift: Drift, seconds: float) -> Iterator[Finding]:
    dry, offset = _drifted(drift)
    if not np.any(dry) and not np.any(offset):
        return
    level = np.maximum(drift.level, 1e-300)
    changed, moved = np.abs(drift.dry) / level, np.abs(drift.offset) / level
    joint = int(np.argmax(np.where(dry, changed, 0.0) + np.where(offset, moved, 0.0)))
    name, count = arm.robot.joint_names[joint], int(np.count_nonzero(dry | offset))
    what, value, error = "friction", drift.dry[joint], drift.dry_error[joint]
    if not dry[joint]:
        what, value, error = "the offset", drift.offset[joint], drift.offset_error[joint]
    yield Finding(
        code="drift",
        severity=Severity.WARNING if seconds > WARM_UP else Severity.INFO,
        joint=name if count == 1 else None,
        measured=FrictionDrift(what, name, count, arm.n_dof, float(value), float(error), float(drift.level[joint])),
    )


def _touched(arm: Arm, fitted: HypothesisFit, fit: ArmFit) -> Burst | None:
    """A segment that stands out, also beside friction that changes along the log where it does."""
    burst = burst_of(arm, fitted, fit)
    if burst is None or burst.times < STANDS_OUT or burst.size < TOUCH:
        return None
    if not np.any(_drifted(drift_of(arm, fitted, fit, burst.keep))):
        return burst
    drifting = with_drift(arm, fitted, fit)
    again = burst_of(arm, drifting, drifting.arm_fit(arm))
    return None if again is None or again.times < STANDS_OUT or again.size < TOUCH else again


def _drifted(drift: Drift) -> Bool[Array, "2 n_dof"]:
    """Where dry friction, and where the offset, change by more than noise and by a good part of the friction."""
    if drift.share < DRIFT_SHARE:
        return np.full((2, len(drift.level)), False)
    change, error = np.stack([drift.dry, drift.offset]), np.stack([drift.dry_error, drift.offset_error])
    level = np.maximum(drift.level, 1e-300)
    possible = (np.abs(change) > DRIFTED * level) & (np.abs(change) < VANISHED * level)
    return possible & (np.abs(change) > SURE * error)
