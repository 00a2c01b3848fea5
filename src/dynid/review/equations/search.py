"""The hypothesis about a log under which the arm's equations hold best, searched for only where they do not hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from dynid.arrays import Array, Int
from dynid.review.equations.gravity_direction import (
    GravityDirection,
    gravity_direction,
    gravity_step,
    gravity_torque_columns,
)
from dynid.review.equations.hypothesis import Hypothesis, HypothesisFit, fit_hypothesis, with_best_scales
from dynid.review.equations.rows import Arm, ThinRows
from dynid.review.equations.torque_scales import AGREED

__all__ = ["Searched", "search_reading", "suspicious"]

NOISY = 0.1
"""What is left of a joint's torque, relative to its swing, above which an hypothesis is searched for."""
COARSE_ROWS = 200
"""Rows of the search: a column that is misread shows in a few dozen."""
FINALISTS = 4
"""Orders of a round that are tried with the best signs and scales of the torques; each takes ten times as long."""
MAX_ROUNDS = 4
"""Rounds, each of which changes one thing: more faults at once are not told apart."""
MANY = 10
"""Joints up to which every one is suspected; of more, the few whose torque is explained worst."""
SUSPECTS = 8
"""How many those few are."""
WORTH = 3.0
"""Fall of the cost that a hypothesis must bring: as if one joint's residual fell to a fifth, or two to half."""
BRAKES = 0.8
"""The same where it negates a joint whose friction or inertia was negative: no arm has that."""
PRICE = 0.4
"""Of each thing assumed to be wrong, in units of the cost."""
TILTED = 0.026
"""rad: tilts below one and a half degrees are levelling, not a fault."""
CERTAIN = 6.0
"""Standard deviations of a tilt that counts."""


@dataclass(frozen=True, eq=False)
class Searched:
    """The log as it is and as it is explained best; the same where nothing is wrong."""

    plain: HypothesisFit
    best: HypothesisFit
    tilt: GravityDirection | None = None
    rivals: tuple[HypothesisFit, ...] = ()
    """Other hypotheses that do as well."""

    @property
    def changed(self) -> bool:
        """Whether anything has to be read differently."""
        return self.best is not self.plain


def suspicious(fitted: HypothesisFit) -> bool:
    """Whether the equations hold badly enough to look for a reason."""
    return bool(np.max(fitted.noise) > NOISY or fitted.ratio > AGREED or np.any(fitted.sign < 0.0))


def price(fitted: HypothesisFit) -> float:
    """Cost with a small price on every assumption (relative, logarithmic)."""
    return fitted.cost + PRICE * fitted.hypothesis.n_changes


def search_reading(arm: Arm, rows: ThinRows) -> Searched:
    """The best hypothesis about the rows."""
    plain = fit_hypothesis(arm, rows, Hypothesis.as_logged(arm.n_dof))
    if not suspicious(plain):
        return _levelled(arm, rows, plain)
    coarse = rows.thinned(COARSE_ROWS)
    best = fit_hypothesis(arm, coarse, plain.hypothesis)
    start = price(best)
    finals: list[HypothesisFit] = [best]
    for _ in range(MAX_ROUNDS):
        tried = _round(arm, coarse, best)
        finals.extend(tried)
        if price(tried[0]) > price(best) - PRICE:
            break
        best = tried[0]
        if not suspicious(best):
            break
    tilt = None
    if suspicious(best) and np.any(arm.robot.gravity):
        tilt = gravity_direction(arm, rows, plain, far=True)
        finals.append(fit_hypothesis(arm, coarse, replace(plain.hypothesis, gravity=np.zeros(3))))
        if tilt is not None:
            finals.append(fit_hypothesis(arm, coarse, tilt.fitted.hypothesis))
    finals.sort(key=price)
    found = finals[0]
    if start - price(found) < _worth(plain, found):
        return _levelled(arm, rows, plain)
    whole = fit_hypothesis(arm, rows, found.hypothesis)
    if plain.cost - whole.cost < _worth(plain, whole):
        return _levelled(arm, rows, plain)
    is_tilt = tilt is not None and found.hypothesis.gravity is tilt.fitted.hypothesis.gravity
    rivals = [f for f in finals[1:] if f.cost < found.cost + PRICE and _differs(f.hypothesis, found.hypothesis)]
    return Searched(plain, whole, tilt if is_tilt else None, tuple(rivals))


def _worth(plain: HypothesisFit, found: HypothesisFit) -> float:
    """Fall of the cost that is asked for: less where friction that drives the motion brakes it again."""
    cured = np.count_nonzero(plain.sign < 0.0) - np.count_nonzero(found.sign < 0.0)
    return BRAKES if cured > 0 else WORTH


def _levelled(arm: Arm, rows: ThinRows, plain: HypothesisFit) -> Searched:
    """A log without other faults, with its tilt if it has one."""
    if not np.any(arm.robot.gravity):
        return Searched(plain, plain)
    _, covariance, step = gravity_step(arm, plain, gravity_torque_columns(arm, rows))
    error = float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))
    if np.linalg.norm(step) < max(0.5 * TILTED, 0.5 * CERTAIN * error):
        return Searched(plain, plain)
    tilt = gravity_direction(arm, rows, plain, far=False)
    if tilt is None or tilt.angle < TILTED or tilt.z < CERTAIN or plain.cost - tilt.fitted.cost < WORTH / 2.0:
        return Searched(plain, plain)
    return Searched(plain, tilt.fitted, tilt)


def _round(arm: Arm, rows: ThinRows, base: HypothesisFit) -> list[HypothesisFit]:
    """Hypotheses one step from `base`, best first; the promising ones with the best signs and scales of torques."""
    start = base.hypothesis
    cheap = [fit_hypothesis(arm, rows, start, best_order=True)]
    suspects = _suspects(base)
    for order in _orders(arm, start.q_order, suspects):
        moved = replace(start, q_order=order, tau_order=order, tau_scale=np.ones(arm.n_dof))
        cheap.append(fit_hypothesis(arm, rows, moved, best_order=True))
    for j in suspects:
        sign = np.array(start.q_sign)
        sign[j] = -sign[j]
        cheap.append(fit_hypothesis(arm, rows, replace(start, q_sign=sign)))
    cheap.sort(key=lambda fitted: float(np.sum(np.log(np.maximum(fitted.noise, 3e-3)))))
    flips = [fitted for fitted in cheap if not np.array_equal(fitted.hypothesis.q_sign, start.q_sign)]
    tried = [with_best_scales(arm, base)]
    for fitted in {id(fitted): fitted for fitted in (*cheap[:FINALISTS], *flips)}.values():
        tried.append(with_best_scales(arm, fitted))
        tried.append(fitted)
    tried.extend(fit_hypothesis(arm, rows, hypothesis) for hypothesis in _both_turned(suspects, start))
    tried.sort(key=price)
    return tried


def _suspects(fitted: HypothesisFit) -> list[int]:
    """Joints that may be in another place or negated: trying them all takes the fifth power of their number."""
    n_dof = len(fitted.noise)
    return sorted(np.argsort(-fitted.noise, kind="stable")[: n_dof if n_dof <= MANY else SUSPECTS].tolist())


def _both_turned(suspects: list[int], start: Hypothesis) -> Iterator[Hypothesis]:
    """Joints whose every signal has the other sign."""
    for j in suspects:
        sign, scale = np.array(start.q_sign), np.array(start.tau_scale)
        sign[j], scale[j] = -sign[j], -scale[j]
        yield replace(start, q_sign=sign, tau_scale=scale)


def _orders(arm: Arm, now: Int[Array, " n_dof"], suspects: list[int]) -> Iterator[Int[Array, " n_dof"]]:
    """Orders in which logs come: two joints swapped, all reversed, sorted by name."""
    n_dof = arm.n_dof
    for a, b in combinations(suspects, 2):
        order = np.array(now)
        order[[a, b]] = order[[b, a]]
        yield order
    yield np.arange(n_dof)[::-1].copy()
    by_name = sorted(range(n_dof), key=lambda k: arm.robot.joint_names[k])
    yield np.argsort(np.array(by_name, dtype=np.int64))


def _differs(one: Hypothesis, other: Hypothesis) -> bool:
    return not (
        np.array_equal(one.q_order, other.q_order)
        and np.array_equal(one.q_sign, other.q_sign)
        and np.array_equal(one.tau_order, other.tau_order)
        and np.array_equal(np.sign(one.tau_scale), np.sign(other.tau_scale))
    )
