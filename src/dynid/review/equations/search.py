"""The reading of a log that its torques make most probable, among those that occur in practice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.review.equations.evidence import UNITS_OF_SCALE, Evidence, LogEvidence, is_round, probabilities
from dynid.review.equations.gravity_direction import (
    GravityDirection,
    gravity_direction,
    gravity_step,
    gravity_torque_columns,
)
from dynid.review.equations.hypothesis import (
    Hypothesis,
    HypothesisFit,
    best_order,
    fit_hypothesis,
    with_best_scales,
)
from dynid.review.equations.rows import Arm, ThinRows
from dynid.review.equations.torque_scales import AGREED

__all__ = ["CERTAIN", "LIKELY", "Searched", "search_reading", "suspicious"]

CERTAIN = 0.99
"""Probability from which on a reading is taken for right: one false alarm in a hundred logs that are read otherwise."""
LIKELY = 0.95
"""Probability from which on a reading is worth a warning: one in twenty is a false alarm."""
PROBABLE = 0.5
"""Probability below which a reading is not worth a word."""
NOISY = 0.1
"""What is left of a joint's torque, relative to its swing, above which every reading is weighed."""
CONTRADICTS = -1.0
"""Logarithm of the odds of a segment, as the others predict it, below which it speaks against a reading."""
MAX_ROUNDS = 3
"""Rounds, each of which changes one thing: more faults at once are not told apart."""
MANY = 10
"""Joints up to which every one is suspected; of more, the few whose torque is explained worst."""
SUSPECTS = 8
"""How many those few are."""
NEAR = 1.3
"""Factor by which an estimated scale may miss that of a unit: friction and payloads change a torque by less."""
LEVEL = 0.026
"""rad: tilts below one and a half degrees are levelling, not a fault."""
TILT_SIGMAS = 6.0
"""Standard deviations of a tilt that counts; those of the blocks of a log scatter more than Gaussian noise."""


@dataclass(frozen=True, eq=False)
class Searched:
    """The log as logged and as it is most probably to be read; the same where nothing speaks for another reading."""

    plain: HypothesisFit
    best: HypothesisFit
    tilt: GravityDirection | None = None
    rivals: tuple[Hypothesis, ...] = ()
    """Other readings that are about as probable."""
    probability: float = 1.0
    """Of the reading and its rivals together, against the log as logged; from 0 to 1."""
    contradicted: bool = False
    """Whether a segment of the log, as the others predict it, speaks against the reading."""

    @property
    def changed(self) -> bool:
        """Whether anything is to be read differently."""
        return self.best is not self.plain

    @property
    def decisive(self) -> bool:
        """Whether the evidence for the reading leaves no doubt."""
        return self.changed and self.probability >= CERTAIN and not self.contradicted

    @property
    def likely(self) -> bool:
        """Whether the evidence is good, and every value and angle one that occurs in practice."""
        told = self.changed and self.probability >= LIKELY and not self.contradicted
        return told and self.is_round and self.tilt is None

    @property
    def is_round(self) -> bool:
        """Whether every factor is a sign or a unit: values that make sense."""
        return all(is_round(float(scale)) for scale in self.best.hypothesis.tau_scale)

    @property
    def reading(self) -> HypothesisFit:
        """How later checks read the log."""
        return self.best if self.decisive else self.plain


def suspicious(fitted: HypothesisFit) -> bool:
    """Whether the equations hold badly enough to look for a reason."""
    return bool(np.max(fitted.noise) > NOISY or fitted.ratio > AGREED or np.any(fitted.sign < 0.0))


def search_reading(arm: Arm, rows: ThinRows, beside: Sequence[ThinRows] = ()) -> Searched:
    """The most probable reading of the rows; logs of the same robot `beside` have to agree with it."""
    weigher = LogEvidence(arm, rows)
    plain = fit_hypothesis(arm, rows, Hypothesis.as_logged(arm.n_dof))
    coarse = fit_hypothesis(arm, weigher.rows, plain.hypothesis)
    weighed = [weigher.of(plain.hypothesis)]
    best, fitted = weighed[0], plain
    for number in range(MAX_ROUNDS):
        readings = [*_torque_readings(arm, coarse), *_motion_readings(arm, coarse)]
        readings += _gravities(arm, coarse) if number == 0 else ()
        found = _weigh(weigher, readings, weighed)
        leading = max(found, key=lambda evidence: evidence.total, default=best)
        weighed += found
        if leading.total <= best.total:
            break
        best = leading
        fitted = fit_hypothesis(arm, rows, best.hypothesis)
        coarse = fit_hypothesis(arm, weigher.rows, best.hypothesis)
        if not suspicious(fitted):
            break
    tilt = _tilt(arm, rows, plain, fitted, weigher, best)
    if tilt is not None:
        leading = weigher.of(tilt.fitted.hypothesis)
        if leading.total > best.total:
            best, fitted = leading, tilt.fitted
            weighed.append(leading)
    if best is weighed[0]:
        return Searched(plain, plain)
    is_tilt = tilt is not None and fitted is tilt.fitted
    judged = _judged(weigher, weighed, best, Searched(plain, fitted, tilt if is_tilt else None))
    gain = best.told - weighed[0].told
    gains = [gain, *(_gain(LogEvidence(arm, other), best.hypothesis, plain.hypothesis) for other in beside)]
    probability = _moved(judged.probability, float(np.mean(gains)) - gain)
    return replace(judged, probability=probability) if probability > PROBABLE else Searched(plain, plain)


def _gain(log: LogEvidence, reading: Hypothesis, as_logged: Hypothesis) -> float:
    return log.of(reading).told - log.of(as_logged).told


def _moved(probability: float, gain: float) -> float:
    """A probability (0 to 1) after further evidence: the logarithm of its odds grows by `gain`.

    Misfit comes back in every log of a robot, so all of them together count as one: what they tell is averaged.
    """
    odds = np.log(max(probability, 1e-300)) - np.log(max(1.0 - probability, 1e-300)) + gain
    return float(1.0 / (1.0 + np.exp(-np.clip(odds, -600.0, 600.0))))


def _weigh(weigher: LogEvidence, readings: Iterable[Hypothesis], known: Sequence[Evidence]) -> list[Evidence]:
    """The evidence for readings that were not weighed before: each counts once."""
    seen = {one.hypothesis.key for one in known}
    leading = max(one.told for one in known)
    found = []
    for reading in readings:
        if reading.key not in seen:
            seen.add(reading.key)
            found.append(weigher.of(reading, rival=leading))
    return found


def _judged(weigher: LogEvidence, weighed: list[Evidence], best: Evidence, found: Searched) -> Searched:
    """The reading with its probability, its rivals, and what the segments of the log say of it."""
    share = probabilities(weighed)
    own = max(float(share[k]) for k, one in enumerate(weighed) if one is best)
    rivals = [
        one.hypothesis
        for k, one in enumerate(weighed)
        if one is not best and k > 0 and share[k] > 0.02 * own and _differs(one.hypothesis, best.hypothesis)
    ]
    as_logged, as_read = (weigher.of(one.hypothesis, segments=True) for one in (weighed[0], best))
    contradicted = bool(np.min(as_read.segments - as_logged.segments) < CONTRADICTS)
    return replace(found, rivals=tuple(rivals), probability=1.0 - float(share[0]), contradicted=contradicted)


def _torque_readings(arm: Arm, base: HypothesisFit) -> Iterator[Hypothesis]:
    """Readings that differ from `base` in signs, order or units of torques."""
    start = base.hypothesis
    yield replace(start, tau_scale=-start.tau_scale)
    for unit in UNITS_OF_SCALE:
        yield replace(start, tau_scale=start.tau_scale * unit)
    suspects = _suspects(base)
    for j in suspects:
        yield replace(start, tau_scale=_changed(start.tau_scale, j, -1.0))
        for unit in UNITS_OF_SCALE:
            yield replace(start, tau_scale=_changed(start.tau_scale, j, unit))
    for a, b in combinations(suspects, 2):
        yield replace(start, tau_order=_exchanged(start.tau_order, a, b))
    yield replace(start, tau_order=best_order(base.logged_fits, base.logged.tau))
    proposal = with_best_scales(arm, base).hypothesis
    yield proposal
    yield replace(proposal, tau_scale=_snapped(proposal.tau_scale))


def _motion_readings(arm: Arm, base: HypothesisFit) -> Iterator[Hypothesis]:
    """Readings that differ from `base` in signs or order of positions, or of all signals of a joint."""
    start, suspects = base.hypothesis, _suspects(base)
    for j in suspects:
        turned = replace(start, q_sign=_changed(start.q_sign, j, -1.0))
        yield turned
        yield replace(turned, tau_scale=_changed(start.tau_scale, j, -1.0))
    for a, b in combinations(suspects, 2):
        moved = replace(start, q_order=_exchanged(start.q_order, a, b))
        yield moved
        yield replace(moved, tau_order=_exchanged(start.tau_order, a, b))
    n_dof = arm.n_dof
    by_name = np.argsort(np.array(arm.robot.joint_names), kind="stable").astype(np.int64)
    for order in (np.arange(n_dof)[::-1].copy(), by_name, np.argsort(by_name)):
        if np.any(order != np.arange(n_dof)):
            yield replace(start, q_order=order)
            yield replace(start, q_order=order, tau_order=order)
            yield replace(start, tau_order=order)


def _gravities(arm: Arm, base: HypothesisFit) -> Iterator[Hypothesis]:
    """Walls and ceilings, and torques without gravity."""
    own = arm.robot.gravity
    size = float(np.linalg.norm(own))
    if size == 0.0:
        return
    yield replace(base.hypothesis, gravity=np.zeros(3))
    for axis in (*np.eye(3), *-np.eye(3)):
        if axis @ own < (1.0 - 1e-9) * size:
            yield replace(base.hypothesis, gravity=size * axis)


def _tilt(
    arm: Arm, rows: ThinRows, plain: HypothesisFit, fitted: HypothesisFit, weigher: LogEvidence, best: Evidence
) -> GravityDirection | None:
    """A base at an angle that no wall or ceiling has, where the log tells it from a level one."""
    if not np.any(arm.robot.gravity) or (best.hypothesis.gravity is not None and not np.any(best.hypothesis.gravity)):
        return None
    level = best.hypothesis.gravity is None
    if fitted is plain and not suspicious(plain):
        _, covariance, step = gravity_step(arm, plain, gravity_torque_columns(arm, rows))
        error = float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))
        if np.linalg.norm(step) < max(0.5 * LEVEL, 0.5 * TILT_SIGMAS * error):
            return None
    tilt = gravity_direction(arm, rows, fitted, far=fitted is plain and suspicious(plain))
    if tilt is None or tilt.z < TILT_SIGMAS:
        return None
    moved = tilt.angle if level else _angle(tilt.gravity, best.hypothesis.gravity)
    return tilt if moved > LEVEL else None


def _angle(one: Float[Array, " 3"], other: Float[Array, " 3"] | None) -> float:
    if other is None:
        return 0.0
    cosine = float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
    return float(np.arccos(np.clip(cosine, -1.0, 1.0)))


def _suspects(fitted: HypothesisFit) -> list[int]:
    """Joints that may be in another place or negated."""
    n_dof = len(fitted.noise)
    return sorted(np.argsort(-fitted.noise, kind="stable")[: n_dof if n_dof <= MANY else SUSPECTS].tolist())


def _changed(values: Float[Array, " n_dof"], j: int, factor: float) -> Float[Array, " n_dof"]:
    changed = np.array(values)
    changed[j] *= factor
    return changed


def _exchanged(order: Int[Array, " n_dof"], a: int, b: int) -> Int[Array, " n_dof"]:
    exchanged = np.array(order)
    exchanged[[a, b]] = exchanged[[b, a]]
    return exchanged


def _snapped(scale: Array) -> Float[Array, " n_dof"]:
    """Factors that are near one or that of a unit, as that."""
    snapped = np.array(scale, dtype=float)
    for j, value in enumerate(scale):
        for unit in (1.0, *UNITS_OF_SCALE):
            if abs(np.log(abs(float(value)) / unit)) < np.log(NEAR):
                snapped[j] = np.sign(value) * unit
    return snapped


def _differs(one: Hypothesis, other: Hypothesis) -> bool:
    return not (
        np.array_equal(one.q_order, other.q_order)
        and np.array_equal(one.q_sign, other.q_sign)
        and np.array_equal(one.tau_order, other.tau_order)
        and np.array_equal(np.sign(one.tau_scale), np.sign(other.tau_scale))
    )
