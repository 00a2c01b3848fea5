"""The explanation of a log under which the arm's equations hold best, searched for only where they do not hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from dynid.arrays import Array, Int
from dynid.review.explain import Explanation, Judged, judge
from dynid.review.fit import AGREED
from dynid.review.gravity import Tilt, gravity_torque_columns, tilt_of, tilt_step
from dynid.review.rows import Arm, Rows, thin

__all__ = ["Searched", "search"]

NOISY = 0.1
"""What is left of a joint's torque, relative to its swing, above which an explanation is searched for."""
COARSE_ROWS = 200
FINALISTS = 4
MAX_ROUNDS = 4
MANY = 10
"""Joints up to which every one is suspected; of more, the few whose torque is explained worst."""
SUSPECTS = 8
WORTH = 3.0
"""Fall of the cost that an explanation must bring: as if one joint's residual fell to a fifth, or two to half."""
BRAKES = 0.8
"""The same where it turns a joint round whose friction or inertia was negative: no arm has that."""
PRICE = 0.4
"""Of each thing assumed to be wrong, in units of the cost."""
TILTED = 0.026
"""rad: tilts below one and a half degrees are levelling, not a fault."""
CERTAIN = 6.0
"""Standard deviations of a tilt that counts."""


@dataclass(frozen=True, eq=False)
class Searched:
    """The log as it is and as it is explained best; the same where nothing is wrong."""

    plain: Judged
    best: Judged
    tilt: Tilt | None = None
    rivals: tuple[Judged, ...] = ()
    """Other explanations that do as well."""

    @property
    def changed(self) -> bool:
        """Whether anything has to be read differently."""
        return self.best is not self.plain


def suspicious(judged: Judged) -> bool:
    """Whether the equations hold badly enough to look for a reason."""
    return bool(np.max(judged.noise) > NOISY or judged.ratio > AGREED or np.any(judged.sign < 0.0))


def price(judged: Judged) -> float:
    """Cost with a small price on every assumption (relative, logarithmic)."""
    return judged.cost + PRICE * judged.explanation.n_changes


def search(arm: Arm, rows: Rows) -> Searched:
    """The best explanation of the rows."""
    plain = judge(arm, rows, Explanation.as_logged(arm.n_dof))
    if not suspicious(plain):
        return _levelled(arm, rows, plain)
    coarse = thin(rows, COARSE_ROWS)
    best = judge(arm, coarse, plain.explanation)
    start = price(best)
    finals: list[Judged] = [best]
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
        tilt = tilt_of(arm, rows, plain, far=True)
        finals.append(judge(arm, coarse, replace(plain.explanation, gravity=np.zeros(3))))
        if tilt is not None:
            finals.append(judge(arm, coarse, tilt.judged.explanation))
    finals.sort(key=price)
    found = finals[0]
    if start - price(found) < _worth(plain, found):
        return _levelled(arm, rows, plain)
    whole = judge(arm, rows, found.explanation)
    if plain.cost - whole.cost < _worth(plain, whole):
        return _levelled(arm, rows, plain)
    is_tilt = tilt is not None and found.explanation.gravity is tilt.judged.explanation.gravity
    rivals = [f for f in finals[1:] if f.cost < found.cost + PRICE and _differs(f.explanation, found.explanation)]
    return Searched(plain, whole, tilt if is_tilt else None, tuple(rivals))


def _worth(plain: Judged, found: Judged) -> float:
    """Fall of the cost that is asked for: less where friction that drives the motion brakes it again."""
    cured = np.count_nonzero(plain.sign < 0.0) - np.count_nonzero(found.sign < 0.0)
    return BRAKES if cured > 0 else WORTH


def _levelled(arm: Arm, rows: Rows, plain: Judged) -> Searched:
    """A log without other faults, with its tilt if it has one."""
    if not np.any(arm.robot.gravity):
        return Searched(plain, plain)
    _, covariance, step = tilt_step(arm, plain, gravity_torque_columns(arm, rows))
    error = float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))
    if np.linalg.norm(step) < max(0.5 * TILTED, 0.5 * CERTAIN * error):
        return Searched(plain, plain)
    tilt = tilt_of(arm, rows, plain, far=False)
    if tilt is None or tilt.angle < TILTED or tilt.z < CERTAIN or plain.cost - tilt.judged.cost < WORTH / 2.0:
        return Searched(plain, plain)
    return Searched(plain, tilt.judged, tilt)


def _round(arm: Arm, rows: Rows, base: Judged) -> list[Judged]:
    """Explanations one step from `base`, best first; the promising ones with the best signs and scales of torques."""
    start = base.explanation
    cheap = [judge(arm, rows, start, orders=True)]
    suspects = _suspects(base)
    for order in _orders(arm, start.q_order, suspects):
        moved = replace(start, q_order=order, tau_order=order, tau_scale=np.ones(arm.n_dof))
        cheap.append(judge(arm, rows, moved, orders=True))
    for j in suspects:
        sign = np.array(start.q_sign)
        sign[j] = -sign[j]
        cheap.append(judge(arm, rows, replace(start, q_sign=sign)))
    cheap.sort(key=lambda judged: float(np.sum(np.log(np.maximum(judged.noise, 3e-3)))))
    flips = [judged for judged in cheap if not np.array_equal(judged.explanation.q_sign, start.q_sign)]
    tried = [judge(arm, rows, start, scales=True)]
    for judged in {id(judged): judged for judged in (*cheap[:FINALISTS], *flips)}.values():
        tried.append(judge(arm, rows, judged.explanation, scales=True))
        tried.append(judged)
    tried.extend(judge(arm, rows, judged.explanation) for judged in _both_turned(suspects, base))
    tried.sort(key=price)
    return tried


def _suspects(judged: Judged) -> list[int]:
    """Joints that may be in another place or turned round: trying them all takes the fifth power of their number."""
    n_dof = len(judged.noise)
    return sorted(np.argsort(-judged.noise, kind="stable")[: n_dof if n_dof <= MANY else SUSPECTS].tolist())


def _both_turned(suspects: list[int], base: Judged) -> Iterator[Judged]:
    """Joints whose every signal has the other sign."""
    start = base.explanation
    for j in suspects:
        sign, scale = np.array(start.q_sign), np.array(start.tau_scale)
        sign[j], scale[j] = -sign[j], -scale[j]
        yield replace(base, explanation=replace(start, q_sign=sign, tau_scale=scale))


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


def _differs(one: Explanation, other: Explanation) -> bool:
    return not (
        np.array_equal(one.q_order, other.q_order)
        and np.array_equal(one.q_sign, other.q_sign)
        and np.array_equal(one.tau_order, other.tau_order)
        and np.array_equal(np.sign(one.tau_scale), np.sign(other.tau_scale))
    )
