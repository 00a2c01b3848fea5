"""Drives that are coupled: a motor that turns with two joints leaves the same trace in the residuals of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import BASE
from dynid.review.equations.evidence import LOOKS
from dynid.review.equations.hypothesis import HypothesisFit
from dynid.review.equations.products import SEGMENTS
from dynid.review.equations.rows import Arm

__all__ = ["Coupling", "find_coupling"]

PROBABLE = 0.5
"""Probability below which a coupling is not worth a word."""
HOW_OFTEN = 0.02
"""Share of arms with a coupled wrist whose robot file does not say so."""
SHARPNESS = 0.05
"""Speed over which dry friction reverses, over the largest of the motor: rows are too far apart to see it sharper."""
MOST = 2.0
"""Largest ratio that is looked for: bevel gears of wrists have about one."""
ROUND = 0.03
"""Deviation from a ratio of ±1 that is none."""
ODD = np.log(0.05)
"""Logarithm of how often a ratio is another than ±1."""
STEPS = (0.25, 0.05, 0.01)
"""Steps of the grids on which a ratio is looked for, each about the best of the one before."""
WORTH = 0.2
"""Fall of the residual of a motor, relative, below which nothing is weighed: any column gains a few per cent."""


@dataclass(frozen=True)
class Coupling:
    """A motor that turns with the joint before its own as well."""

    joint: int
    """The joint before."""
    motor: int
    """The joint whose motor it is."""
    ratio: float
    """Turns of the motor, behind its gear, per turn of the joint before."""
    motor_torques: bool
    """Whether the logged torques are those of the motors; otherwise they are those of the joints."""
    before: float
    """What the equations leave of the torque of the joints that it shows at, on segments left out (dimensionless)."""
    after: float
    """The same with the coupling."""
    probability: float
    """From 0 to 1."""


def find_coupling(arm: Arm, fitted: HypothesisFit) -> Coupling | None:
    """The coupling of two neighbouring joints that explains most of what is left of their torques; None for none."""
    if arm.robot.transmission is not None:
        return None
    joints = [_Joint.of(fitted, j) for j in range(arm.n_dof)]
    pairs = [(joint.parent, k) for k, joint in enumerate(arm.robot.joints) if joint.parent != BASE]
    found = [coupling for j, k in pairs for coupling in _couplings(fitted, joints, j, k, len(pairs))]
    best = max(found, key=lambda coupling: coupling.probability, default=None)
    return best if best is not None and best.probability > PROBABLE else None


@dataclass(frozen=True, eq=False)
class _Joint:
    Q: Float[Array, "n_rows n_rank"]
    """Orthonormal basis of the joint's columns."""
    tau: Float[Array, " n_rows"]
    """Torque over its swing."""
    swing: float
    """N·m or N."""

    @classmethod
    def of(cls, fitted: HypothesisFit, j: int) -> _Joint:
        columns = np.column_stack([fitted.rigid[j], fitted.own[j]])
        U, values, _ = np.linalg.svd(columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300), full_matrices=False)
        tau = fitted.rows.tau[:, j]
        swing = max(float(np.std(tau)), 1e-300)
        return cls(U[:, values > 1e-4 * values[0]], tau / swing, swing)

    def left(
        self,
        further: Float[Array, "n_rows n_further"] | None = None,
        spared: Float[Array, " n_rows"] | float = 0.0,
    ) -> float:
        """RMS of what the columns, and further ones, leave of the torque of segments left out, over its swing.

        Torque that is `spared` (N·m or N) is none of the joint's.
        """
        B = self.Q if further is None else np.column_stack([self.Q, self.beside(further)])
        tau = self.tau - spared / self.swing
        edges = np.linspace(0, len(B), SEGMENTS + 1).astype(np.int64)
        gram, along = B.T @ B, B.T @ tau
        squares = 0.0
        for a, b in pairwise(edges):
            part = B[a:b]
            rest = gram - part.T @ part
            rest[np.diag_indices(len(rest))] += 1e-3
            x = np.linalg.solve(rest, along - part.T @ tau[a:b])
            squares += float(np.sum((tau[a:b] - part @ x) ** 2))
        return float(np.sqrt(squares / len(B)))

    def beside(self, further: Float[Array, "n_rows n_further"]) -> Float[Array, "n_rows n_further"]:
        """Further columns beside the joint's own, of unit length."""
        rest = further - self.Q @ (self.Q.T @ further)
        return rest / np.maximum(np.linalg.norm(rest, axis=0), 1e-9 * np.linalg.norm(further, axis=0) + 1e-300)

    def explained(self, further: Float[Array, "n_rows n_further"]) -> Float[Array, " n_rows"]:
        """Torque (N·m or N) that further columns explain beside the joint's own ones."""
        B = np.column_stack([self.Q, further])
        x = np.linalg.lstsq(B, self.tau, rcond=1e-9)[0]
        return np.asarray(further @ x[self.Q.shape[1] :] * self.swing)

    def gain(self, further: Float[Array, "n_rows n_further"]) -> float:
        """Share by which further columns lower what is left of all rows: a bound on what they do for others."""
        rest = self.tau - self.Q @ (self.Q.T @ self.tau)
        B = self.beside(further)
        better = rest - B @ np.linalg.lstsq(B, rest, rcond=1e-9)[0]
        return 1.0 - float(np.linalg.norm(better)) / max(float(np.linalg.norm(rest)), 1e-300)


def _couplings(fitted: HypothesisFit, joints: list[_Joint], j: int, k: int, n_pairs: int) -> Iterator[Coupling]:
    """The motor of joint k turning with joint j: torques of joints have its friction twice, those of motors once."""
    rows, ratio = fitted.rows, _ratio(fitted, joints[k], j, k)
    trace = _trace(fitted, j, k, ratio)
    if joints[k].gain(trace) < WORTH:
        return
    friction = joints[k].explained(trace)
    before, prior = [joints[j].left(), joints[k].left()], np.log(HOW_OFTEN / n_pairs / 2.0)
    prior += ODD if abs(ratio) != 1.0 else 0.0
    own = joints[k].left(trace)
    for motors in (False, True):
        shared = ratio * (friction if not motors else friction - rows.tau[:, k])
        after = [joints[j].left(spared=shared), own]
        yield Coupling(
            j,
            k,
            ratio,
            motors,
            float(np.sqrt(np.mean(np.square(before)))),
            float(np.sqrt(np.mean(np.square(after)))),
            _probability(prior, list(zip(before, after, strict=True))),
        )


def _trace(fitted: HypothesisFit, j: int, k: int, ratio: float) -> Float[Array, "n_rows 2"]:
    """Friction of the motor of joint k that turns with joint j as well: viscous, and dry."""
    speed = fitted.rows.dq[:, k] + ratio * fitted.rows.dq[:, j]
    return np.column_stack([speed, np.tanh(speed / max(SHARPNESS * float(np.max(np.abs(speed))), 1e-300))])


def _ratio(fitted: HypothesisFit, motor: _Joint, j: int, k: int) -> float:
    """The ratio at which friction of the motor explains most of its torque; ±1 where it is about that."""
    best, reach = 0.0, MOST
    for step in STEPS:
        tried = best + np.arange(-reach, reach + 0.5 * step, step)
        tried = tried[np.abs(tried) > 0.5 * step]
        best, reach = float(max(tried, key=lambda c: motor.gain(_trace(fitted, j, k, float(c))))), step
    return float(np.sign(best)) if abs(abs(best) - 1.0) < ROUND else best


def _probability(log_prior: float, both: list[tuple[float, float]]) -> float:
    """Of a coupling (0 to 1), by what it leaves of torques on segments left out, before and after."""
    gain = sum(LOOKS * np.log(max(before, 1e-4) / max(after, 1e-4)) for before, after in both)
    return float(1.0 / (1.0 + np.exp(-np.clip(gain + log_prior, -600.0, 600.0))))
