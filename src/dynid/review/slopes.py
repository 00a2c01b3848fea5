"""Checks of positions against limits and of velocities against positions: units, signs, order, gears."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from dynid.arrays import Array, Bool, Float, Int
from dynid.recording.column_map import UNITS
from dynid.review.findings import MAP, Finding, Severity
from dynid.review.stamps import speed_limits
from dynid.review.view import View, key

__all__ = ["Slopes", "position_unit_findings", "slopes_of", "velocity_findings"]

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
SAME = 0.04
"""Relative difference between a ratio and that of a unit."""
OFF = 0.15
"""Relative difference of a ratio from one that is reported."""
GEARS = (1.5, 400.0)
"""Gear ratios of robot joints."""
MIN_WINDOWS = 12


@dataclass(frozen=True, eq=False)
class Slopes:
    """Velocities against positions: what the integral of dq over short windows is to the change of q."""

    correlation: Float[Array, "n_dof n_dof"]
    """Of dq of the joint of the row with the slopes of q of the joint of the column."""
    ratio: Float[Array, "n_dof n_dof"]
    """dq of the row in units of the slope of q of the column."""
    sure: Bool[Array, " n_dof"]
    """Joints whose positions and velocities both stand out of their noise."""


def slopes_of(view: View) -> Slopes | None:
    """Velocities against positions; None where the log has no velocities, or too few samples."""
    dq, q, t = view.log.dq, view.log.q, view.log.t
    window = max(4 * view.half_window, 4)
    if dq is None or len(t) < MIN_WINDOWS * window:
        return None
    slices = 0.5 * (dq[1:] + dq[:-1]) * np.diff(t)[:, None]
    area = np.concatenate([np.zeros((1, q.shape[1])), np.cumsum(slices, axis=0)])
    ends = np.arange(0, len(t), window)
    moved, told = np.diff(q[ends], axis=0), np.diff(area[ends], axis=0)
    spans = np.diff(t[ends])
    # Windows across a gap say nothing about the velocities inside it.
    kept = spans < 1.5 * np.median(spans)
    moved, told = moved[kept], told[kept]
    # A window with a spike or a leap must not decide.
    moved, told = _without_spikes(moved), _without_spikes(told)
    power_q, power_dq = np.sqrt(np.mean(moved**2, axis=0)), np.sqrt(np.mean(told**2, axis=0))
    blur = view.noise_of("dq") * np.sqrt(window) * view.period
    sure = (power_q > 10.0 * view.q_noise) & (power_dq > 10.0 * blur) & view.moves
    cross = told.T @ moved / len(moved)
    floor_q, floor_dq = np.maximum(power_q, 1e-300), np.maximum(power_dq, 1e-300)
    correlation = cross / floor_dq[:, None] / floor_q
    ratio = np.sign(cross) * np.outer(floor_dq, 1.0 / floor_q)
    for k in range(q.shape[1]):
        # The median over windows of middling speed does not mind peaks of one of the two that were cut off.
        size = np.abs(moved[:, k])
        busy = size > 0.2 * np.percentile(size, 90.0)
        for i in np.flatnonzero(sure) if sure[k] else ():
            middling = busy & (np.abs(told[:, i]) < 0.7 * np.percentile(np.abs(told[:, i]), 99.0))
            if np.sum(middling) >= MIN_WINDOWS // 2:
                ratio[i, k] = np.sign(cross[i, k]) * np.median(np.abs(told[middling, i]) / size[middling])
    return Slopes(correlation, ratio, sure)


def _without_spikes(values: Float[Array, "n_windows n_dof"]) -> Float[Array, "n_windows n_dof"]:
    most = 2.0 * np.percentile(np.abs(values), 90.0, axis=0)
    return np.clip(values, -most, most)


def position_unit_findings(view: View, slopes: Slopes | None) -> tuple[Float[Array, " n_dof"], list[Finding]]:
    """Factors that turn positions into rad or m, and the findings where they are not one."""
    factor = np.ones(view.log.n_dof)
    revolute = np.array([joint.type == "revolute" for joint in view.robot.joints])
    unit_of: dict[int, str] = {}
    evidence: dict[int, str] = {}
    if slopes is not None:
        told = np.abs(np.diagonal(slopes.ratio))
        good = slopes.sure & (np.abs(np.diagonal(slopes.correlation)) > AGREES)
        for j in np.flatnonzero(good).tolist():
            unit = _position_unit(float(told[j]), bool(revolute[j]))
            if unit:
                unit_of[j] = unit
                evidence[j] = f"the slope of q is {1.0 / told[j]:.4g} times dq"
    if not unit_of:
        for j in _degrees_by_limits(view, revolute, slopes).tolist():
            unit_of[j] = "deg"
            evidence[j] = _beyond_text(view, j)
    findings = []
    for unit in sorted(set(unit_of.values())):
        joints = [j for j in sorted(unit_of) if unit_of[j] == unit]
        for j in joints:
            factor[j] = UNITS["q"][unit]
        findings.append(_position_finding(view, unit, joints, evidence, revolute))
    return factor, findings


def _position_unit(ratio: float, revolute: bool) -> str:
    """The unit of q where dq is `ratio` times its slope, empty where q is in rad or m, or dq is what is wrong."""
    units = ("deg", "mrad", "rev") if revolute else ("mm",)
    return next((unit for unit in units if abs(ratio / UNITS["q"][unit] - 1.0) < SAME), "")


def _degrees_by_limits(view: View, revolute: Bool[Array, " n_dof"], slopes: Slopes | None) -> Int[Array, " n_found"]:
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
    moved, to = linear_sum_assignment(~inside)
    if np.all(reach[found] < FAR * wide[found]) and np.all(inside[moved, to]):
        return np.empty(0, dtype=np.int64)
    # The others of the log have the same unit, unless degrees would leave them with hardly any motion.
    used = (high - low) / np.where(np.isfinite(upper - lower), upper - lower, 2.0 * np.pi)
    alike = revolute & fits & (used > 0.05 * np.median(used[found]))
    if slopes is not None:
        alike &= np.abs(np.diagonal(slopes.correlation)) > 0.0
    return np.flatnonzero(found | alike)


def _position_limits(view: View) -> tuple[Float[Array, " n_dof"], Float[Array, " n_dof"]]:
    lower = np.array([joint.limits.lower for joint in view.robot.joints])
    upper = np.array([joint.limits.upper for joint in view.robot.joints])
    # A file without limits often writes zeros.
    empty = ~(upper > lower)
    return np.where(empty, -np.inf, lower), np.where(empty, np.inf, upper)


def _beyond_text(view: View, j: int) -> str:
    limits, q = view.robot.joints[j].limits, view.log.q[:, j]
    speed = np.percentile(np.abs(view.velocity[:, j]), 99.0)
    said = f"q goes from {q.min():.4g} to {q.max():.4g} at up to {speed:.3g} a second"
    if np.isfinite(limits.lower) and np.isfinite(limits.upper):
        said += f", the robot's limits are {limits.lower:.4g} to {limits.upper:.4g} rad"
    elif np.isfinite(limits.velocity):
        said += f", the robot's limit is {limits.velocity:.3g} rad/s"
    return said


def _position_finding(
    view: View, unit: str, joints: list[int], evidence: dict[int, str], revolute: Bool[Array, " n_dof"]
) -> Finding:
    every = len(joints) == view.log.n_dof
    names = [view.names[j] for j in joints]
    lines = [f'units.q = "{unit}"'] if every else [f'{key("units", "q", name)} = "{unit}"' for name in names]
    which = "" if every else f" of {', '.join(names)}"
    first = max(joints, key=lambda j: np.ptp(view.log.q[:, j]))
    return Finding(
        code="degrees" if unit == "deg" else "position-unit",
        severity=Severity.ERROR,
        joint=names[0] if len(names) == 1 else None,
        evidence=f"{view.names[first]}: {evidence[first]}; in {unit} it fits",
        cause=f"positions{which} are in {unit}, read as {'rad' if revolute[first] else 'm'}",
        fix="\n".join([MAP, *lines]),
    )


def velocity_findings(view: View, slopes: Slopes | None) -> Iterator[Finding]:
    """Velocities in another unit, before the gear, of the other sign, or in another order than the positions."""
    if slopes is None:
        return
    n_dof = view.log.n_dof
    strength = np.abs(slopes.correlation)
    own = np.diagonal(strength)
    place = np.arange(n_dof)
    # Only joints that move can be told apart.
    partners = np.flatnonzero(slopes.sure)
    rows, columns = linear_sum_assignment(-strength[np.ix_(partners, partners)])
    assigned = dict(zip(partners[columns].tolist(), partners[rows].tolist(), strict=True))
    best = {target: strength[source, target] for target, source in assigned.items()}
    astray = [target for target in assigned if 1.0 - own[target] ** 2 > 10.0 * (1.0 - best[target] ** 2) + 0.01]
    if len(astray) > 1 and all(best[target] > AGREES for target in astray):
        for target, source in assigned.items():
            place[target] = source
    if np.any(place != np.arange(n_dof)):
        yield _permuted(view, strength, place)
    correlation = slopes.correlation[place, np.arange(n_dof)]
    ratio = slopes.ratio[place, np.arange(n_dof)]
    good = slopes.sure & (np.abs(correlation) > AGREES)
    flipped = [j for j in np.flatnonzero(good) if ratio[j] < 0.0]
    for j in flipped:
        line = f"{key('signs', view.names[j], 'dq')} = -1"
        yield Finding(
            code="flipped-velocity",
            severity=Severity.ERROR,
            joint=view.names[j],
            evidence=f"dq and the slope of q have a correlation of {correlation[j]:.3f}; it should be near 1",
            cause="the velocity is counted the other way round than the position",
            fix=f"{MAP}\n{line}",
        )
    yield from _velocity_units(view, np.abs(ratio), good)
    lost = [j for j in np.flatnonzero(slopes.sure & ~good) if place[j] == j and own[j] < 0.5]
    for j in lost:
        yield Finding(
            code="foreign-velocity",
            severity=Severity.ERROR,
            joint=view.names[j],
            evidence=f"dq and the slope of q have a correlation of {slopes.correlation[j, j]:.2f}; it should be near 1",
            cause="the column is not the velocity of this joint",
            fix="leave the velocities out of the log (they are then taken from the positions), or log them again",
        )


def _permuted(view: View, strength: Float[Array, "n_dof n_dof"], place: Int[Array, " n_dof"]) -> Finding:
    moved = [j for j in range(len(place)) if place[j] != j]
    lines = [f'{key("columns", "dq", view.names[j])} = "{view.raw.column("dq", view.names[place[j]])}"' for j in moved]
    pairs = ", ".join(f"dq of {view.names[place[j]]} follows q of {view.names[j]}" for j in moved)
    weakest = min(float(strength[place[j], j]) for j in moved)
    own = max(float(strength[j, j]) for j in moved)
    return Finding(
        code="permuted-velocity",
        severity=Severity.ERROR,
        joint=view.names[moved[0]] if len(moved) == 1 else None,
        evidence=f"{pairs} (correlation at least {weakest:.3f}, with its own joint at most {own:.2f})",
        cause="the columns of dq are in another order than those of q (or q in another than dq)",
        fix="\n".join([f"where q is in the right order, {MAP}", *lines]),
    )


def _velocity_units(view: View, ratio: Float[Array, " n_dof"], good: Bool[Array, " n_dof"]) -> Iterator[Finding]:
    revolute = np.array([joint.type == "revolute" for joint in view.robot.joints])
    wrong = [int(j) for j in np.flatnonzero(good & (np.abs(ratio - 1.0) > OFF))]
    if not wrong:
        return
    unit_of: dict[int, str] = {}
    for j in wrong:
        units = ("deg/s", "rpm", "rev/s", "mrad/s") if revolute[j] else ("mm/s",)
        near = [unit for unit in units if abs(ratio[j] * UNITS["dq"][unit] - 1.0) < SAME]
        if near:
            unit_of[j] = near[0]
    for unit in sorted(set(unit_of.values())):
        joints = [j for j in wrong if unit_of.get(j) == unit]
        every = len(joints) == view.log.n_dof
        names = [view.names[j] for j in joints]
        lines = [f'units.dq = "{unit}"'] if every else [f'{key("units", "dq", name)} = "{unit}"' for name in names]
        told = float(np.median(ratio[joints]))
        yield Finding(
            code="velocity-unit",
            severity=Severity.ERROR,
            joint=names[0] if len(names) == 1 else None,
            evidence=f"dq is {told:.4g} times the slope of q (it should be once); {unit} gives "
            f"{1.0 / UNITS['dq'][unit]:.4g} times",
            cause=f"velocities{'' if every else ' of ' + ', '.join(names)} in {unit}",
            fix="\n".join([MAP, *lines]),
        )
    geared = [j for j in wrong if j not in unit_of and GEARS[0] <= ratio[j] <= GEARS[1]]
    if geared:
        yield _geared(view, ratio, geared)
    rest = [j for j in wrong if j not in unit_of and j not in geared]
    for j in rest:
        yield Finding(
            code="velocity-scale",
            severity=Severity.ERROR,
            joint=view.names[j],
            evidence=f"dq is {ratio[j]:.4g} times the slope of q; it should be once",
            cause="a wrong scale of the velocity or of the time stamps",
            fix="correct the scale, or leave the velocities out of the log (they are then taken from the positions)",
        )


def _geared(view: View, ratio: Float[Array, " n_dof"], geared: list[int]) -> Finding:
    lines = ['motor_side.signals = ["dq"]']
    for j, name in enumerate(view.names):
        lines.append(f"{key('gear', name)} = {ratio[j] if j in geared else 1.0:.6g}")
    told = ", ".join(f"{ratio[j]:.4g} times for {view.names[j]}" for j in geared)
    return Finding(
        code="motor-velocity",
        severity=Severity.ERROR,
        joint=view.names[geared[0]] if len(geared) == 1 else None,
        evidence=f"dq is many times the slope of q: {told}; it should be once",
        cause="velocities of the motors, before the gear",
        fix="\n".join([f"take the exact ratios from the data sheet; {MAP}", *lines]),
    )
