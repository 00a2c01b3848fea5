"""Velocities against positions: signs, order of columns, units, gears, scales."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Bool, Float, Int
from dynid.recording.column_map import UNITS, ColumnMap
from dynid.review.assignment import assignment
from dynid.review.checks.position_units import AGREES, SAME_UNIT, unit_of_joints
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look
from dynid.review.signal_view import SignalView, Slopes

__all__ = ["find_wrong_velocities"]

OFF = 0.15
"""Relative difference of a ratio from one that is reported."""
GEARS = (1.5, 400.0)
"""Gear ratios of robot joints: from belts to harmonic drives behind a further stage."""
SAME_VALUES = 0.2
"""RMS difference of a velocity from the slope of its position, relative: filters make a few percent."""
WITHOUT = "leave the velocities out of the log (they are then taken from the positions)"


def find_wrong_velocities(look: Look) -> Look:
    """Velocities in another unit, before the gear, of the other sign, or in another order than the positions.

    Later checks do without velocities that are wrong: they would show again in everything compared with them.
    """
    view = look.signals
    findings = () if view.slopes is None else tuple(_velocity_findings(view, view.slopes))
    if not findings:
        return look
    log = None if look.log is None else replace(look.log, dq=None)
    return replace(look.found(findings), view=view.without_velocities(), log=log)


@dataclass(frozen=True)
class FlippedVelocity:
    """A velocity of the other sign."""

    correlation: float = number("1", normal=(AGREES, 1.0))
    cause = "the velocity is counted the other way round than the position"
    fix = ""

    @property
    def evidence(self) -> str:
        return f"dq and the slope of q have a correlation of {self.correlation:.3f}; it should be near 1"


@dataclass(frozen=True)
class ForeignVelocity:
    """A velocity that follows no position."""

    correlation: float = number("1", normal=(AGREES, 1.0))
    cause = "the column is not the velocity of this joint"
    fix = f"{WITHOUT}, or log them again"

    @property
    def evidence(self) -> str:
        return f"dq and the slope of q have a correlation of {self.correlation:.2f}; it should be near 1"


@dataclass(frozen=True)
class PermutedVelocities:
    """Velocities that follow the positions of other joints."""

    pairs: tuple[tuple[str, str], ...]
    """Joint of the velocity, joint of the position that it follows."""
    weakest: float = number("1")
    """Least correlation of these pairs."""
    own: float = number("1", normal=(AGREES, 1.0))
    """Largest correlation of these velocities with the position of their own joint."""
    cause = "the columns of dq are in another order than those of q (or q in another than dq)"
    fix = "if q is in the right order, exchange the columns of dq"

    @property
    def evidence(self) -> str:
        pairs = ", ".join(f"dq of {source} follows q of {target}" for source, target in self.pairs)
        return f"{pairs} (correlation at least {self.weakest:.3f}, with its own joint at most {self.own:.2f})"


@dataclass(frozen=True)
class VelocityUnit:
    """Velocities in another unit."""

    unit: str
    joints: tuple[str, ...]
    """Joints in that unit; empty for all."""
    ratio: float = number("1", normal=(1.0 - OFF, 1.0 + OFF))
    """dq over the slope of q."""
    expected: float = number("1")
    """The same for `unit`."""
    fix = ""

    @property
    def evidence(self) -> str:
        return (
            f"dq is {self.ratio:.4g} times the slope of q (it should be once); {self.unit} gives "
            f"{self.expected:.4g} times"
        )

    @property
    def cause(self) -> str:
        return f"velocities{' of ' + ', '.join(self.joints) if self.joints else ''} in {self.unit}"


@dataclass(frozen=True)
class MotorVelocity:
    """Velocities of the motors."""

    ratios: tuple[tuple[str, float], ...]
    """dq over the slope of q (dimensionless) of each joint."""
    cause = "velocities of the motors, before the gear"
    fix = "take the exact ratios from the data sheet"

    @property
    def evidence(self) -> str:
        told = ", ".join(f"{ratio:.4g} times for {joint}" for joint, ratio in self.ratios)
        return f"dq is many times the slope of q: {told}; it should be once"


@dataclass(frozen=True)
class VelocityScale:
    """A velocity by a factor that is that of no unit and no gear."""

    ratio: float = number("1", normal=(1.0 - OFF, 1.0 + OFF))
    """dq over the slope of q."""
    cause = "a wrong scale of the velocity or of the time stamps"
    fix = f"correct the scale, or {WITHOUT}"

    @property
    def evidence(self) -> str:
        return f"dq is {self.ratio:.4g} times the slope of q; it should be once"


def _velocity_findings(view: SignalView, slopes: Slopes) -> Iterator[Finding]:
    n_dof, names = view.log.n_dof, view.names
    strength = np.abs(slopes.correlation)
    own = np.diagonal(strength)
    place = _partners(slopes)
    if np.any(place != np.arange(n_dof)):
        yield _permuted(view, strength, place)
    correlation = slopes.correlation[place, np.arange(n_dof)]
    ratio = slopes.ratio[place, np.arange(n_dof)]
    good = slopes.sure & (np.abs(correlation) > AGREES)
    for j in np.flatnonzero(good & (ratio < 0.0)):
        yield Finding(
            code="flipped-velocity",
            severity=Severity.ERROR,
            joint=names[j],
            measured=FlippedVelocity(float(correlation[j])),
            repair=ColumnMap(signs={names[j]: {"dq": -1}}),
        )
    yield from _velocity_units(view, np.abs(ratio), good)
    for j in np.flatnonzero(slopes.sure & ~good & (place == np.arange(n_dof)) & (own < 0.5)):
        measured = ForeignVelocity(float(slopes.correlation[j, j]))
        yield Finding(code="foreign-velocity", severity=Severity.ERROR, joint=names[j], measured=measured)


def _partners(slopes: Slopes) -> Int[Array, " n_dof"]:
    """For each position the velocity that follows it: its own unless others follow far better.

    Told by the values where they are in one unit, so that joints that move alike are told apart; else by correlation.
    """
    strength = np.abs(slopes.correlation)
    moved = _exchanged(slopes.mismatch, slopes.sure, SAME_VALUES)
    if not len(moved):
        moved = _exchanged(np.sqrt(np.maximum(1.0 - strength**2, 0.0)), slopes.sure, np.sqrt(1.0 - AGREES**2))
    place = np.arange(len(strength))
    for target, source in moved.items():
        place[target] = source
    return place


def _exchanged(cost: Float[Array, "n_dof n_dof"], sure: Bool[Array, " n_dof"], most: float) -> dict[int, int]:
    """Positions that velocities of other joints follow far better than their own, and those joints; both the same."""
    # Only joints that move can be told apart.
    partners = np.flatnonzero(sure)
    columns = assignment(np.minimum(cost[np.ix_(partners, partners)], 2.0))
    assigned = dict(zip(partners[columns].tolist(), partners.tolist(), strict=True))
    astray = {
        target: source
        for target, source in assigned.items()
        if cost[target, target] > 3.0 * cost[source, target] + 0.1 and cost[source, target] < most
    }
    return astray if len(astray) > 1 and sorted(astray) == sorted(astray.values()) else {}


def _permuted(view: SignalView, strength: Float[Array, "n_dof n_dof"], place: Int[Array, " n_dof"]) -> Finding:
    moved = [j for j in range(len(place)) if place[j] != j]
    names = view.names
    columns = {names[j]: view.raw.column("dq", names[place[j]]) for j in moved}
    measured = PermutedVelocities(
        tuple((names[place[j]], names[j]) for j in moved),
        min(float(strength[place[j], j]) for j in moved),
        max(float(strength[j, j]) for j in moved),
    )
    return Finding(
        code="permuted-velocity",
        severity=Severity.ERROR,
        joint=names[moved[0]] if len(moved) == 1 else None,
        measured=measured,
        repair=ColumnMap.model_validate({"columns": {"dq": columns}}),
    )


def _velocity_units(view: SignalView, ratio: Float[Array, " n_dof"], good: Bool[Array, " n_dof"]) -> Iterator[Finding]:
    wrong = [int(j) for j in np.flatnonzero(good & (np.abs(ratio - 1.0) > OFF))]
    unit_of = {j: _velocity_unit(float(ratio[j]), view.robot.joints[j].type == "revolute") for j in wrong}
    for unit in sorted(set(unit_of.values()) - {""}):
        joints = [j for j in wrong if unit_of[j] == unit]
        names = tuple(view.names[j] for j in joints)
        some = () if len(joints) == view.log.n_dof else names
        yield Finding(
            code="velocity-unit",
            severity=Severity.ERROR,
            joint=names[0] if len(names) == 1 else None,
            measured=VelocityUnit(unit, some, float(np.median(ratio[joints])), 1.0 / UNITS["dq"][unit]),
            repair=ColumnMap.model_validate({"units": {"dq": unit_of_joints(some, unit)}}),
        )
    rest = [j for j in wrong if not unit_of[j]]
    geared = [j for j in rest if GEARS[0] <= ratio[j] <= GEARS[1]]
    if geared:
        yield _geared(view, ratio, geared)
    for j in rest:
        if j not in geared:
            measured = VelocityScale(float(ratio[j]))
            yield Finding(code="velocity-scale", severity=Severity.ERROR, joint=view.names[j], measured=measured)


def _velocity_unit(ratio: float, revolute: bool) -> str:
    """The unit of dq where it is `ratio` times the slope of q; empty for that of none."""
    units = ("deg/s", "rpm", "rev/s", "mrad/s") if revolute else ("mm/s",)
    return next((unit for unit in units if abs(ratio * UNITS["dq"][unit] - 1.0) < SAME_UNIT), "")


def _geared(view: SignalView, ratio: Float[Array, " n_dof"], geared: list[int]) -> Finding:
    gear = {name: float(f"{ratio[j]:.6g}") if j in geared else 1.0 for j, name in enumerate(view.names)}
    return Finding(
        code="motor-velocity",
        severity=Severity.ERROR,
        joint=view.names[geared[0]] if len(geared) == 1 else None,
        measured=MotorVelocity(tuple((view.names[j], float(ratio[j])) for j in geared)),
        repair=ColumnMap.model_validate({"motor_side": {"signals": ["dq"]}, "gear": gear}),
    )
