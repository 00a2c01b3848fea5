"""Columns that are misread: torques, positions or joints of the other sign, in another order, or by a factor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dynid.arrays import Array, Int
from dynid.recording.column_map import EVERY, ColumnMap
from dynid.review.checks.torque_units import DATA_SHEET, TorqueSize, torque_scale_repair
from dynid.review.equations.hypothesis import Hypothesis, HypothesisFit
from dynid.review.equations.search import CERTAIN, LIKELY, Searched
from dynid.review.equations.sizes import torque_sizes
from dynid.review.findings import Finding, Measured, Severity, number
from dynid.review.look import Look
from dynid.review.phrases import in_percent, said_probability

__all__ = ["MisreadColumns", "find_misread_columns"]

DISAGREE = 1.5
"""RMS residual of all joints over what they have on their own that is worth telling; 1 is normal."""
OFF = 1.3
"""Factor on a torque from which on it is told; the search snaps smaller ones to 1."""
NOT_CERTAIN = "likely but not certain: compare signs, units and order of the columns with the controller's"
DOUBTFUL = "not certain enough to change anything: compare signs, units and order of the columns with the controller's"


CAUSES = {
    "negate": "a drive, an encoder or the robot file counts this joint the other way round",
    "negate all": "the log holds the torque of the load on the drives, not of the drives on the joints",
    "exchange": "the columns of these signals come in another order than those of the others",
    "reorder": "the log lists the joints in another order than the robot file (ROS sorts them by name)",
    "scale": "torque in N·mm, in percent of the rated torque, in amperes, or of the motor before the gear",
}
"""What makes columns need each change."""


@dataclass(frozen=True, kw_only=True)
class MisreadColumns:
    """A way to read columns otherwise, and what it does to the residual of the arm's equations."""

    change: Literal["negate", "negate all", "exchange", "reorder", "scale"]
    joints: tuple[str, ...]
    """The joints whose columns are misread."""
    signals: tuple[str, ...] = ()
    """Signals that are misread; empty for all."""
    factors: tuple[float, ...] = ()
    """What to multiply the torque of each of `joints` by (dimensionless), where that is the change."""
    twin: tuple[str, ...] = ()
    """Signals whose negation does as well; empty where the log tells them apart."""
    driven: tuple[str, ...] = ()
    """Joints whose friction drives the motion, or whose inertia is negative, as logged."""
    before: float = number("1", normal=(0.0, 0.1))
    """What the equations leave of the torque as logged."""
    after: float = number("1", normal=(0.0, 0.1))
    """The same with every change that was found."""
    disagreement: float = number("1", normal=(0.0, DISAGREE))
    """RMS residual as logged of all joints together over what they have on their own."""
    disagreement_after: float = number("1", normal=(0.0, DISAGREE))
    probability: float = number("1", normal=(0.0, CERTAIN))
    """That the log has to be read this way, or one of the other ways that are named."""
    rivals: tuple[str, ...] = ()
    """Other readings that are about as probable, in words."""

    @property
    def evidence(self) -> str:
        if self.change == "negate all":
            # Equations with free parameters hold with either sign; what physics says of the parameters tells.
            text = "with every torque negated friction brakes and inertias are positive, and the equations hold as well"
        else:
            verb = "cuts" if self.after < self.before else "changes"
            text = f"{self._changing} {verb} the residual of the rigid-body equations with friction from "
            text += f"{in_percent(self.before)} to {in_percent(self.after)} of the torque"
        if self.twin:
            text += f" (negating {self._columns(self.twin)} does as well)"
        if self.disagreement > DISAGREE and self.disagreement > DISAGREE * self.disagreement_after:
            text += f"; as logged the joints disagree about shared parameters by {self.disagreement:.3g} times their "
            text += "noise, normal is 1"
        if self.driven:
            text += f"; as logged friction drives the motion or inertia is negative at {', '.join(self.driven)}"
        if self.rivals:
            text += f"; {' or '.join(self.rivals)} would do about as well"
        return f"{text}; probability {said_probability(self.probability)}"

    @property
    def cause(self) -> str:
        return CAUSES[self.change]

    @property
    def fix(self) -> str:
        if self.probability < CERTAIN:
            return NOT_CERTAIN if self.probability >= LIKELY else DOUBTFUL
        if self.change == "scale":
            return DATA_SHEET
        if not self.twin:
            return ""
        instead = " and ".join(f"signs.{self.joints[0]}.{signal} = -1" for signal in self.twin)
        return f"the log does not tell the two apart; if it is the other one: {instead} instead"

    @property
    def _changing(self) -> str:
        names = ", ".join(self.joints)
        if self.change == "negate":
            return f"negating {self._columns(self.signals) if self.signals else f'every signal of {names}'}"
        if self.change == "scale":
            pairs = zip(self.joints, self.factors, strict=True)
            return "multiplying " + ", ".join(f"tau.{name} by {factor:.3g}" for name, factor in pairs)
        return {
            "negate all": "negating every torque",
            "exchange": f"exchanging the columns {self._columns(self.signals)}",
            "reorder": f"reading the joints {names} in another order",
        }[self.change]

    def _columns(self, signals: tuple[str, ...]) -> str:
        columns = [f"{signal}.{name}" for signal in signals for name in self.joints]
        return " and ".join(columns) if len(columns) < 3 else ", ".join(columns)


def find_misread_columns(look: Look) -> Look:
    """How the columns of the log have to be read for the arm's equations to hold."""
    found = look.torque.searched
    return look.found((*_orders(look, found), *_signs(look, found), *_factors(look, found)))


def _residual(fitted: HypothesisFit) -> float:
    return float(np.sqrt(np.mean(fitted.noise**2))) * max(fitted.ratio, 1.0)


def _effect(look: Look, found: Searched) -> dict[str, Any]:
    """What all changes together do, as fields of `MisreadColumns`."""
    names = look.robot.joint_names
    return {
        "driven": tuple(names[int(j)] for j in np.flatnonzero(found.plain.sign < 0.0)),
        "before": _residual(found.plain),
        "after": _residual(found.best),
        "disagreement": found.plain.ratio,
        "disagreement_after": found.best.ratio,
        "probability": found.probability,
    }


def _finding(found: Searched, code: str, measured: Measured, repair: ColumnMap, joint: str | None = None) -> Finding:
    """An error where the evidence is decisive and every value makes sense; a warning, or information, otherwise."""
    severity = Severity.ERROR if found.is_round and found.decisive else Severity.WARNING
    told = found.decisive or found.likely
    return Finding(
        code=code,
        severity=severity if told else Severity.INFO,
        joint=joint,
        measured=measured,
        probability=found.probability,
        repair=repair if told else None,
    )


def _factors(look: Look, found: Searched) -> Iterator[Finding]:
    size = np.abs(found.best.hypothesis.tau_scale)
    off = np.flatnonzero(np.abs(np.log(size)) > np.log(OFF))
    if not len(off):
        return
    repair = torque_scale_repair(look.robot, size)
    if np.all(size == size[0]) and len(size) > 1:
        by, ratio = torque_sizes(look.torque.arm, found.plain.rows).largest_surprise()
        yield _finding(found, "torque-units", TorqueSize(by.words, by.normal, float(size[0]), ratio), repair)
        return
    names = tuple(look.robot.joint_names[int(j)] for j in off)
    factors = tuple(float(size[j]) for j in off)
    effect = _effect(look, found)
    measured = MisreadColumns(change="scale", joints=names, signals=("tau",), factors=factors, **effect)
    yield _finding(found, "torque-units", measured, repair, names[0] if len(off) == 1 else None)


def _orders(look: Look, found: Searched) -> Iterator[Finding]:
    e, names = found.best.hypothesis, look.robot.joint_names
    straight = np.arange(len(names))
    effect = _effect(look, found)
    moved = tuple(names[int(j)] for j in np.flatnonzero(e.q_order != straight))
    if moved and np.array_equal(e.q_order, e.tau_order):
        repair = ColumnMap(order=tuple(names[int(j)] for j in np.argsort(e.q_order)))
        yield _finding(found, "permuted-joints", MisreadColumns(change="reorder", joints=moved, **effect), repair)
        return
    for wanted, what, order in ((("q", "dq"), "positions", e.q_order), (("tau",), "torques", e.tau_order)):
        moved = tuple(names[int(j)] for j in np.flatnonzero(order != straight))
        if moved:
            signals = tuple(signal for signal in wanted if signal in look.raw.signals)
            measured = MisreadColumns(change="exchange", joints=moved, signals=signals, **effect)
            yield _finding(found, f"permuted-{what}", measured, _exchanged(look, signals, order))


def _exchanged(look: Look, signals: Sequence[str], order: Int[Array, " n_dof"]) -> ColumnMap:
    names, raw = look.robot.joint_names, look.raw
    moved = np.flatnonzero(order != np.arange(len(names)))
    columns = {signal: {names[int(j)]: raw.column(signal, names[int(order[j])]) for j in moved} for signal in signals}
    return ColumnMap.model_validate({"columns": columns})


def _signs(look: Look, found: Searched) -> Iterator[Finding]:
    e, names = found.best.hypothesis, look.robot.joint_names
    turned, loaded = e.q_sign < 0.0, e.tau_scale < 0.0
    if np.all(loaded) and not np.any(turned) and len(names) > 1:
        measured = MisreadColumns(change="negate all", joints=names, signals=("tau",), **_effect(look, found))
        yield _finding(found, "flipped-torque", measured, ColumnMap(signs={name: {"tau": -1} for name in names}))
        return
    moving = tuple(signal for signal in ("q", "dq") if signal in look.raw.signals)
    for j in np.flatnonzero(turned | loaded).tolist():
        if turned[j] and loaded[j]:
            yield _flipped(look, found, "flipped-joint", j, (), ())
        elif turned[j]:
            yield _flipped(look, found, "flipped-position", j, moving, ("tau",))
        else:
            yield _flipped(look, found, "flipped-torque", j, ("tau",), moving)


def _flipped(
    look: Look, found: Searched, code: str, j: int, signals: tuple[str, ...], others: tuple[str, ...]
) -> Finding:
    """A finding that negates `signals` of joint j (all if empty); negating `others` in their place may do as well."""
    name = look.robot.joint_names[j]
    twin = others if others and any(_is_twin(rival, found.best.hypothesis, j) for rival in found.rivals) else ()
    effect = _effect(look, found)
    measured = MisreadColumns(change="negate", joints=(name,), signals=signals, twin=twin, **effect)
    repair = ColumnMap.model_validate({"signs": {name: dict.fromkeys(signals or (EVERY,), -1)}})
    return _finding(found, code, measured, repair, name)


def _is_twin(rival: Hypothesis, best: Hypothesis, joint: int) -> bool:
    """Whether a rival negates the other one of a joint's position and torque."""
    turned = np.flatnonzero(rival.q_sign != best.q_sign)
    loaded = np.flatnonzero(np.sign(rival.tau_scale) != np.sign(best.tau_scale))
    return np.array_equal(turned, [joint]) and np.array_equal(loaded, [joint])
