"""Positions in degrees, turns, mrad or mm: told by the velocities, or by the limits of the robot file."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Bool, Float, Int
from dynid.recording.column_map import EVERY, UNITS, ColumnMap
from dynid.review.assignment import assignment
from dynid.review.checks.stamps import speed_limits
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look
from dynid.review.signal_view import SignalView

__all__ = ["AGREES", "SAME_UNIT", "find_position_units", "unit_of_joints"]

DEGREE = np.pi / 180.0
"""rad"""
BEYOND = 1.3
"""Positions or speeds, relative to their limits, that a unit must explain."""
FAR = 3.0
"""Positions, relative to the limit farther from zero, that no shifted zero and no other order of joints explain."""
CREEP = 0.01
"""Speed of a joint, relative to its limit, at which no log is taken."""
AGREES = 0.9
"""Correlation of velocities with the slopes of positions from which on they are of the same joint."""
SAME_UNIT = 0.04
"""Relative difference between a ratio and that of a unit: deg/s and rpm, the closest, differ by a factor of six."""


@dataclass(frozen=True)
class SlopeOfUnit:
    """Positions whose slope is that of another unit."""

    unit: str
    joints: tuple[str, ...]
    """Joints in that unit; empty for all."""
    shown_by: str
    """The joint whose number this is."""
    si: str
    """What positions were read as, rad or m."""
    slope_over_velocity: float = number("1", normal=(1.0, 1.0))
    fix = ""

    @property
    def evidence(self) -> str:
        return f"{self.shown_by}: the slope of q is {self.slope_over_velocity:.4g} times dq; in {self.unit} it fits"

    @property
    def cause(self) -> str:
        which = f" of {', '.join(self.joints)}" if self.joints else ""
        return f"positions{which} are in {self.unit}, read as {self.si}"


@dataclass(frozen=True)
class BeyondLimits:
    """Positions beyond the limits of the robot file that degrees bring inside."""

    unit: str
    joints: tuple[str, ...]
    """Joints in that unit; empty for all."""
    shown_by: str
    """The joint whose numbers these are."""
    si: str
    """What positions were read as."""
    lowest: float = number("rad")
    highest: float = number("rad")
    speed: float = number("rad/s")
    """Exceeded in one percent of the time."""
    lower: float = number("rad")
    """Position limits of the robot file."""
    upper: float = number("rad")
    speed_limit: float = number("rad/s")
    fix = ""

    @property
    def evidence(self) -> str:
        said = (
            f"{self.shown_by}: q goes from {self.lowest:.4g} to {self.highest:.4g} at up to {self.speed:.3g} a second"
        )
        if np.isfinite(self.lower) and np.isfinite(self.upper):
            said += f", the robot's limits are {self.lower:.4g} to {self.upper:.4g} rad"
        elif np.isfinite(self.speed_limit):
            said += f", the robot's limit is {self.speed_limit:.3g} rad/s"
        return f"{said}; in {self.unit} it fits"

    @property
    def cause(self) -> str:
        which = f" of {', '.join(self.joints)}" if self.joints else ""
        return f"positions{which} are in {self.unit}, read as {self.si}"


def find_position_units(look: Look) -> Look:
    """Positions in another unit than rad or m; later checks read them in SI."""
    view = look.signals
    revolute = np.array([joint.type == "revolute" for joint in view.robot.joints])
    unit_of, told = _units_by_velocity(view, revolute), view.slopes
    by_velocity = bool(unit_of)
    if not unit_of:
        unit_of = dict.fromkeys(_degrees_by_limits(view, revolute).tolist(), "deg")
    factor = np.ones(view.log.n_dof)
    findings = []
    for unit in sorted(set(unit_of.values())):
        joints = [j for j in sorted(unit_of) if unit_of[j] == unit]
        factor[joints] = UNITS["q"][unit]
        names = tuple(view.names[j] for j in joints)
        some = () if len(joints) == view.log.n_dof else names
        first = max(joints, key=lambda j: np.ptp(view.log.q[:, j]))
        si = "rad" if revolute[first] else "m"
        measured: SlopeOfUnit | BeyondLimits
        if by_velocity and told is not None:
            measured = SlopeOfUnit(unit, some, view.names[first], si, 1.0 / abs(float(told.ratio[first, first])))
        else:
            measured = _beyond(view, first, unit, some, si)
        findings.append(
            Finding(
                code="degrees" if unit == "deg" else "position-unit",
                severity=Severity.ERROR,
                joint=names[0] if len(names) == 1 else None,
                measured=measured,
                repair=ColumnMap.model_validate({"units": {"q": unit_of_joints(some, unit)}}),
            )
        )
    look = look.found(findings)
    if np.all(factor == 1.0):
        return look
    return replace(look, view=replace(view, log=replace(view.log, q=view.log.q * factor)))


def unit_of_joints(joints: tuple[str, ...], value: str) -> dict[str, str]:
    """A value of some joints, or of every joint where none is named, as a column map holds it."""
    return dict.fromkeys(joints, value) if joints else {EVERY: value}


def _units_by_velocity(view: SignalView, revolute: Bool[Array, " n_dof"]) -> dict[int, str]:
    """The unit of q of the joints whose slope is that of a unit; joints in rad or m are left out."""
    slopes = view.slopes
    if slopes is None:
        return {}
    ratio = np.abs(np.diagonal(slopes.ratio))
    good = slopes.sure & (np.abs(np.diagonal(slopes.correlation)) > AGREES)
    found = {int(j): _position_unit(float(ratio[j]), bool(revolute[j])) for j in np.flatnonzero(good)}
    return {j: unit for j, unit in found.items() if unit}


def _position_unit(ratio: float, revolute: bool) -> str:
    """The unit of q where dq is `ratio` times its slope, empty where q is in rad or m, or dq is what is wrong."""
    units = ("deg", "mrad", "rev") if revolute else ("mm",)
    return next((unit for unit in units if abs(ratio / UNITS["q"][unit] - 1.0) < SAME_UNIT), "")


def _degrees_by_limits(view: SignalView, revolute: Bool[Array, " n_dof"]) -> Int[Array, " n_found"]:
    """Revolute joints in degrees, told by the limits: as they are they break them, in degrees they do not."""
    lower, upper = _position_limits(view)
    low, high = np.percentile(view.log.q, [1.0, 99.0], axis=0)
    slack = 0.1 * (upper - lower)
    reach = np.maximum(np.abs(low), np.abs(high))
    wide = np.maximum(np.abs(lower), np.abs(upper))
    speed = np.percentile(np.abs(view.velocity), 99.0, axis=0)
    limit = speed_limits(view.robot)
    # A shifted zero breaks the limits as well, but not by this much.
    far = (reach > FAR * wide) | (high - low > BEYOND * (upper - lower))
    # Speed alone counts where positions have no limits to break.
    far |= (speed > 3.0 * limit) & (speed > 10.0 * view.speed_noise) & ~np.isfinite(upper - lower)
    fits = (low * DEGREE > lower - slack) & (high * DEGREE < upper + slack) & (speed * DEGREE < BEYOND * limit)
    # A joint that turns round and round breaks its limits too, at a speed that would be none in degrees.
    turning = (speed < limit) & (speed * DEGREE < CREEP * limit) & (reach < 10.0 * wide)
    found = revolute & far & fits & ~turning
    if not np.any(found):
        return np.empty(0, dtype=np.int64)
    # Joints in another order break limits too, but by less, and not in their own order.
    inside = (low[:, None] > lower - slack) & (high[:, None] < upper + slack)
    to = assignment(np.where(inside, 0.0, 1.0))
    if np.all(reach[found] < FAR * wide[found]) and np.all(inside[np.arange(len(to)), to]):
        return np.empty(0, dtype=np.int64)
    # The others of the log have the same unit, unless degrees would leave them with hardly any motion.
    used = (high - low) / np.where(np.isfinite(upper - lower), upper - lower, 2.0 * np.pi)
    alike = revolute & fits & (used > 0.05 * np.median(used[found]))
    if view.slopes is not None:
        alike &= np.abs(np.diagonal(view.slopes.correlation)) > 0.0
    return np.flatnonzero(found | alike)


def _position_limits(view: SignalView) -> tuple[Float[Array, " n_dof"], Float[Array, " n_dof"]]:
    lower = np.array([joint.limits.lower for joint in view.robot.joints])
    upper = np.array([joint.limits.upper for joint in view.robot.joints])
    # A file without limits often writes zeros.
    empty = ~(upper > lower)
    return np.where(empty, -np.inf, lower), np.where(empty, np.inf, upper)


def _beyond(view: SignalView, j: int, unit: str, joints: tuple[str, ...], si: str) -> BeyondLimits:
    limits, q = view.robot.joints[j].limits, view.log.q[:, j]
    speed = float(np.percentile(np.abs(view.velocity[:, j]), 99.0))
    reached = (float(q.min()), float(q.max()), speed)
    return BeyondLimits(unit, joints, view.names[j], si, *reached, limits.lower, limits.upper, limits.velocity)
