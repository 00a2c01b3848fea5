"""What torque is normal for an arm: by its nominal inertias, by its reach where it has none, by its effort limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.chain.robot import Robot
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.review.equations.rows import Arm, ThinRows

__all__ = ["Expectation", "TorqueSizes", "expected_torque", "torque_sizes"]

DENSITY = 12.0
"""kg/m³: mass of an arm over the cube of its reach. 4 to 40 in 14 public robot files of 0.6 to 50 kg, 260 for a KUKA
KR 300 of 1.1 t."""
PLACEHOLDERS = (0.0, 1.0, 100.0, 200.0, 300.0, 500.0, 1000.0, 2000.0, 1e4, 1e5, 1e6)
"""Effort limits that robot files hold where nobody knew any better."""
ALIKE = 0.5
"""Correlation of a torque with the nominal one beside friction, below which their ratio says nothing."""
ANYTHING = 3.0
"""Standard deviation of the logarithm of the torque over what such a file expects."""


class Expectation(NamedTuple):
    """What a torque is compared with."""

    words: str
    centre: float
    """Logarithm of measured over expected torque, on average."""
    spread: float
    """Its standard deviation."""
    meaningless: float = 0.003
    """Share of robot files whose inertias, reach or limits tell nothing about the torque: those can be off by e³."""

    def log_density(self, value: float) -> float:
        """Logarithm of the probability density of a logarithmic ratio."""
        away = value - self.centre
        near = (1.0 - self.meaningless) / self.spread * np.exp(-0.5 * (away / self.spread) ** 2)
        return float(np.log(near + self.meaningless / ANYTHING * np.exp(-0.5 * (away / ANYTHING) ** 2)))

    @property
    def normal(self) -> tuple[float, float]:
        """The range of 95 % of logs, dimensionless."""
        return float(np.exp(self.centre - 2.0 * self.spread)), float(np.exp(self.centre + 2.0 * self.spread))


BY_INERTIAS = Expectation("those of the robot file's inertias", 0.0, 0.4)
"""Friction and payloads make the torque beside friction differ by less than half from the nominal one."""
BY_REACH = Expectation("those of an arm of this reach", 0.0, 1.3)
"""Arms of one reach differ tenfold in mass; see `DENSITY`."""
ONE_JOINT = Expectation("the others", 0.0, 1.2)
"""A joint's torque over that of an arm of this reach, against the same of the whole arm: −2.3 to 1.7 (logarithm) in the
logs of seven robots. Inertias of robot files say less: those of a wrist are off by e⁷ in one of them."""
ONE_LIMIT = Expectation("the others, by the effort limits", 0.0, 1.0)
"""Peak torque over the effort limit of one joint, against the median of all: −1.9 to 2.4 in the same logs."""
LIGHT, LIGHT_BY_REACH = 0.02, 0.1
"""Expected torque of a joint over the largest of the arm at which it tells half of what a heavy joint tells: below it
payload, cables and misfit decide what the torque looks like; by inertias of the file, and by reach alone."""
STRANGE = 0.05
"""Share of joints whose torque does not look like that of the expected arm, as where motors balance a forearm."""
PEAK = 6.0
"""Exponent of the density of the correlation of a torque with the expected one: its mean is 0.75. Set on the seven arms
of `python -m benchmarks real-faults` together; none was left out."""
BY_LIMITS = Expectation("the effort limits where they are largest (median)", np.log(0.25), 0.8)
"""Peak torque over the effort limit of a log: 5 to 100 %."""


@dataclass(frozen=True, eq=False)
class TorqueSizes:
    """How large every logged torque is against what is expected of every joint, for one way to read the positions."""

    by: Expectation
    log_ratio: Float[Array, "n_dof n_dof"]
    """Logarithm of the logged torque of the column over the expected one of the row's joint, both beside friction; nan
    where the two have nothing to do with each other."""
    log_guess: Float[Array, "n_dof n_dof"]
    """The same for an arm of this reach, whatever its inertias; nan for joints that it does not load."""
    alike: Float[Array, "n_dof n_dof"]
    """Correlation of the logged torque of the column with the expected one of the row's joint, beside friction."""
    weight: Float[Array, " n_dof"]
    """Of a joint in the median of the arm."""
    log_used: Float[Array, "n_dof n_dof"]
    """Logarithm of the largest logged torque of the column over the effort limit of the row's joint; nan where that is
    a placeholder."""

    def log_evidence(self, order: Int[Array, " n_dof"], scale: Float[Array, " n_dof"]) -> float:
        """Logarithm of the likelihood of the sizes of torques in this order, multiplied by `scale` (dimensionless)."""
        ratio, used = self._read(order, scale)
        known, found = np.isfinite(ratio), 0.0
        if np.any(known):
            middle = _weighted_median(ratio[known], self.weight[known])
            found += self.by.log_density(middle)
        guess = self.log_guess[np.arange(len(order)), order] + np.log(np.abs(scale))
        guess = guess[np.isfinite(guess)]
        if len(guess):
            found += sum(ONE_JOINT.log_density(float(value - np.median(guess))) for value in guess)
        used = used[np.isfinite(used)]
        if len(used):
            found += BY_LIMITS.log_density(float(np.median(used)))
            found += sum(ONE_LIMIT.log_density(float(value - np.median(used))) for value in used)
        return found

    def log_alike(self, order: Int[Array, " n_dof"], sign: Float[Array, " n_dof"]) -> float:
        """Logarithm of the likelihood of torques that look like the expected ones, relative to any that do not."""
        r = self.alike[np.arange(len(order)), order] * sign
        heavy = self.weight / max(float(np.max(self.weight, initial=0.0)), 1e-300)
        light = LIGHT if self.by is BY_INERTIAS else LIGHT_BY_REACH
        told = (1.0 - STRANGE) * heavy**2 / (heavy**2 + light**2)
        of_arm = float(np.sum(np.log(told * (PEAK + 1.0) * (0.5 + 0.5 * r) ** PEAK + 1.0 - told)))
        return float(np.logaddexp(np.log1p(-self.by.meaningless) + of_arm, np.log(self.by.meaningless)))

    def _read(
        self, order: Int[Array, " n_dof"], scale: Float[Array, " n_dof"]
    ) -> tuple[Float[Array, " n_dof"], Float[Array, " n_dof"]]:
        joints, size = np.arange(len(order)), np.log(np.abs(scale))
        return self.log_ratio[joints, order] + size, self.log_used[joints, order] + size

    def largest_surprise(self) -> tuple[Expectation, float]:
        """What all torques as logged differ from most, and their ratio to it (dimensionless)."""
        ratio, used = (np.diagonal(values) for values in (self.log_ratio, self.log_used))
        told: list[tuple[Expectation, float]] = []
        known = np.isfinite(ratio)
        if np.any(known):
            told.append((self.by, _weighted_median(ratio[known], self.weight[known])))
        if np.any(np.isfinite(used)):
            told.append((BY_LIMITS, float(np.nanmedian(used))))
        if not told:
            return self.by, 1.0
        by, value = max(told, key=lambda one: abs(one[1] - one[0].centre) / one[0].spread)
        return by, float(np.exp(value))


def torque_sizes(arm: Arm, rows: ThinRows, gravity: Float[Array, " 3"] | None = None) -> TorqueSizes:
    """How large the torques of rows (N·m or N) are against what the robot file lets expect under a gravity (m/s²)."""
    robot = arm.robot
    expected = expected_torque(arm, rows.motion, gravity)
    guess = guessed_torque(arm, rows.motion, gravity) if robot.has_nominal else expected
    n_dof = arm.n_dof
    ratio, by_reach, alike = (np.full((n_dof, n_dof), value) for value in (np.nan, np.nan, 0.0))
    weight = np.zeros(n_dof)
    for j in range(n_dof):
        own = np.column_stack([rows.friction[:, j], np.ones(rows.n_rows)])
        Q = np.linalg.qr(own / np.maximum(np.linalg.norm(own, axis=0), 1e-300))[0]
        column, guessed, tau = (v - Q @ (Q.T @ v) for v in (expected[:, j], guess[:, j], rows.tau))
        size, length = float(np.linalg.norm(column)), np.maximum(np.linalg.norm(tau, axis=0), 1e-300)
        if np.linalg.norm(guessed) > 1e-9 * np.max(np.abs(guess), initial=1e-300):
            by_reach[j] = np.log(length / np.linalg.norm(guessed))
        if size <= 1e-9 * max(float(np.max(np.abs(expected))), 1e-300):
            continue
        weight[j] = size
        alike[j] = column @ tau / length / size
        if robot.has_nominal:
            telling = np.abs(alike[j]) > ALIKE
            ratio[j] = np.where(telling, np.log(np.maximum(np.abs(alike[j]), ALIKE) * length / size), np.nan)
        else:
            ratio[j] = np.log(length / size)
    limits = np.array([joint.limits.effort for joint in robot.joints])
    real = np.isfinite(limits) & ~np.isin(limits, PLACEHOLDERS)
    peak = np.log(np.maximum(np.max(np.abs(rows.tau), axis=0), 1e-300))
    used = np.where(real[:, None], peak[None, :] - np.log(np.where(real, limits, 1.0))[:, None], np.nan)
    by = BY_INERTIAS if robot.has_nominal else BY_REACH
    return TorqueSizes(by, ratio, by_reach, alike, weight, used)


def _weighted_median(values: Float[Array, " n"], weight: Float[Array, " n"]) -> float:
    order = np.argsort(values)
    running = np.cumsum(weight[order]) / np.sum(weight)
    return float(values[order][np.searchsorted(running, 0.5)])


def expected_torque(
    arm: Arm, motion: Motion, gravity: Float[Array, " 3"] | None = None
) -> Float[Array, "n_rows n_dof"]:
    """The rigid torque (N·m or N) of the nominal arm, or of one of its reach where the robot file has no inertias.

    Gravity (m/s² in base axes) is the robot's unless another one is given.
    """
    if not arm.robot.has_nominal:
        return guessed_torque(arm, motion, gravity)
    return _under(arm, gravity).torque(motion, arm.robot.nominal.ravel())


def guessed_torque(arm: Arm, motion: Motion, gravity: Float[Array, " 3"] | None = None) -> Float[Array, "n_rows n_dof"]:
    """The rigid torque (N·m or N) of an arm of this reach, whatever the inertias of the robot file; m/s²."""
    return _under(arm, gravity).torque(motion, guessed_links(arm.robot).ravel())


def _under(arm: Arm, gravity: Float[Array, " 3"] | None) -> TorqueModel:
    return arm.model if gravity is None else TorqueModel(arm.robot.with_gravity(gravity))


def guessed_links(robot: Robot) -> Float[Array, "n_links 10"]:
    """Links that reach to the next joint (SI), together as heavy as arms of this reach are."""
    lengths = [float(np.linalg.norm(joint.T_parent_joint[:3, 3])) for joint in robot.joints]
    reach = max(sum(lengths[k] for k in path[1:]) for path in robot.path_to)
    mass = DENSITY * max(reach, 0.1) ** 3 / robot.n_dof
    links = np.zeros((robot.n_dof, 10))
    for i in range(robot.n_dof):
        ends = [np.zeros(3), *(child.T_parent_joint[:3, 3] for child in robot.joints if child.parent == i)]
        end = max(ends, key=lambda point: float(np.linalg.norm(point)))
        # A link without length still has a flange off its axis.
        com = 0.5 * end if np.linalg.norm(end) > 0.02 * reach else 0.03 * reach * np.array([1.0, 1.0, 2.0])
        size = 0.05 * reach + 0.3 * float(np.linalg.norm(end))
        inertia = mass * (size**2 * np.eye(3) + (com @ com) * np.eye(3) - np.outer(com, com))
        upper = (inertia[0, 0], inertia[0, 1], inertia[1, 1], inertia[0, 2], inertia[1, 2], inertia[2, 2])
        links[i] = (mass, *(mass * com), *upper)
    return links
