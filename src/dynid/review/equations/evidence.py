"""The evidence for a way to read a log: the one place where the doctor weighs what it was told against what it sees.

A way to read a log (`Hypothesis`) is judged by the probability of the logged torques under it. The model is linear in
its parameters, so the parameters integrate out in closed form [Bishop2006]_, ch. 3.5: a reading that only has more
freedom, or that absorbs friction the model lacks, gains nothing. Beside the torques count what physics demands
(friction brakes, inertia is positive), how large torques of such an arm are, and how often each fault happens.

What the equations leave of a measured torque is misfit rather than noise: it has a memory, and it comes back whenever
the arm makes the same motion. A log is therefore worth few independent looks, however long it is (`LOOKS`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri, dtrtrs

from dynid.arrays import Array, Float
from dynid.review.equations.hypothesis import Hypothesis
from dynid.review.equations.joint_fits import FLOOR
from dynid.review.equations.products import SEGMENTS, Products, ReadColumns, read_columns
from dynid.review.equations.rows import Arm, ThinRows
from dynid.review.equations.sizes import TorqueSizes, torque_sizes

__all__ = ["UNITS_OF_SCALE", "Evidence", "LogEvidence", "is_round", "log_prior", "probabilities"]

LOOKS = 7.0
"""Independent looks that a log is worth at most. Calibrated on measured logs: with more, clean logs of the LWR 4 whose
wrist the model explains badly would be misread; `python -m benchmarks real-faults` shows both sides."""
MEMORY = 0.3
"""s over which what the equations leave of a torque remembers itself: 0.1 to 0.9 in measured logs. Rows of a low-pass
remember two of them."""
ROWS = 300
"""Rows that are weighed: many times the looks."""
ROUNDING = 1e-9
"""Relative; what sums of squares over a log are known to, with room to spare."""
STEPS = 4
"""Steps of expectation maximisation for the residual of each joint; the third changes the evidence by less than one."""
SHARE, FRICTION, OFFSET = 1.0, 0.5, 100.0
"""Standard deviation of what a parameter of the arm, one of friction, and an offset make of a joint's torque, over the
swing of that torque: what is known of an arm before its log is read."""
HOPELESS = 40.0
"""Logarithm of odds that nominal inertias do not make up for: they tell 2 to 20 on measured logs."""
UNITS_OF_SCALE = {1e-3: "N·mm", 1e-2: "N·cm", 1e3: "kN·m"}
"""Units of torque by what turns them into N·m."""
UNIT_SHARES = {1e-3: 0.8, 1e-2: 0.1, 1e3: 0.1}
"""How often each of them is the unit of a log that is not in N·m."""
ONE_SIGN, ALL_SIGNS, JOINT, ORDER, SWAP, MOUNT, UNIT, FREE_SCALE, ANY_TILT, WEIGHTLESS = (
    log(share) for share in (0.05, 0.03, 0.01, 0.003, 0.0003, 0.05, 0.02, 0.001, 0.002, 0.003)
)
"""How often logs have each fault, as the practice of the field goes: a torque or a position of one joint counted the
other way round, every torque, all signals of one joint, joints sorted by name or reversed, any two columns exchanged, a
wall or ceiling, a unit, a factor that is that of no unit, a base at any angle, and torques without gravity."""
OUTSIDE = log(0.02)
"""Share of joints outside the limits of the robot file though they are read rightly: zeros differ."""
SLACK = 0.05
"""Width of the limits, relative, by which positions may lie outside them."""
FACTOR_PRICE = 2.5
"""Price of a factor that is that of no unit: of a range of e⁵ (gears and rated currents) e^2.5 is told by chance."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What speaks for a hypothesis; logarithms of probabilities up to a constant of the log."""

    hypothesis: Hypothesis
    likelihood: float
    """Of the torques as logged, parameters integrated out."""
    physics: float
    """Of frictions that brake and inertias that are positive."""
    size: float
    """Of torques of this size."""
    alike: float
    """Of torques that look like those of the expected arm."""
    place: float
    """Of positions inside the limits of the robot file."""
    prior: float
    """How often this happens."""
    segments: Float[Array, " n_segments"]
    """Of each segment of the log as the others predict it."""
    residual: Float[Array, " n_dof"]
    """What the equations leave of each joint's torque, over its swing (dimensionless)."""

    @property
    def told(self) -> float:
        """What the log tells: logarithm of a likelihood up to a constant."""
        return self.likelihood + self.physics + self.size + self.alike + self.place

    @property
    def total(self) -> float:
        """Logarithm of the posterior probability up to a constant."""
        return self.told + self.prior


def probabilities(weighed: Sequence[Evidence]) -> Float[Array, " n_hypotheses"]:
    """Posterior probability of each hypothesis among these, each counted once."""
    totals = np.array([evidence.total for evidence in weighed])
    shares = np.exp(totals - np.max(totals))
    return shares / np.sum(shares)


class LogEvidence:
    """Weighs hypotheses about one log; its columns are kept while only the torques are read otherwise."""

    def __init__(self, arm: Arm, rows: ThinRows) -> None:
        self.arm = arm
        self.rows = rows.thinned(ROWS)
        self.nominal = arm.base.project(arm.robot.nominal.ravel()) if arm.robot.has_nominal else None
        self._kept: tuple[tuple[bytes, ...], ReadColumns, TorqueSizes] | None = None
        steps = np.diff(self.rows.t)
        memory = max(MEMORY, 2.0 * rows.period)
        self.looks = float(np.clip(np.sum(steps) / memory, SEGMENTS, self.rows.n_rows))

    @property
    def temperature(self) -> float:
        """By what logarithms of likelihoods are divided, dimensionless."""
        return max(1.0, self.looks / LOOKS)

    def columns(self, hypothesis: Hypothesis) -> tuple[ReadColumns, TorqueSizes]:
        """The columns (SI) and the sizes of torques for the motion of a hypothesis."""
        gravity = b"" if hypothesis.gravity is None else np.asarray(hypothesis.gravity).tobytes()
        key = (hypothesis.q_order.tobytes(), hypothesis.q_sign.tobytes(), gravity)
        if self._kept is None or self._kept[0] != key:
            found = read_columns(self.arm, self.rows, hypothesis.q_sign, hypothesis.q_order, hypothesis.gravity)
            self._kept = (key, found, torque_sizes(self.arm, found.rows, hypothesis.gravity))
        return self._kept[1:]

    def log_place(self, q: Float[Array, "n_rows n_dof"]) -> float:
        """Logarithm of the likelihood that positions (rad or m) are where they are, by the limits of the robot file."""
        limits = [joint.limits for joint in self.arm.robot.joints]
        lower, upper = (np.array([getattr(limit, side) for limit in limits]) for side in ("lower", "upper"))
        slack = np.where(np.isfinite(upper - lower), SLACK * (upper - lower), 0.0)
        outside = (np.min(q, axis=0) < lower - slack) | (np.max(q, axis=0) > upper + slack)
        return OUTSIDE * int(np.count_nonzero(outside))

    def of(self, hypothesis: Hypothesis, *, segments: bool = False, rival: float = -np.inf) -> Evidence:
        """The evidence for a hypothesis; segment by segment where asked, and coarse where far below a `rival` total."""
        columns, sizes = self.columns(hypothesis)
        heat, robot = self.temperature, self.arm.robot
        fits = [_Fit(columns, hypothesis, None, self.looks)]
        if self.nominal is not None and fits[0].log_likelihood() / heat + fits[0].physics(heat) > rival - HOPELESS:
            fits.append(_Fit(columns, hypothesis, self.nominal, self.looks))
        told = np.array([[fit.log_likelihood() / heat, fit.physics(heat)] for fit in fits])
        best = int(np.argmax(np.sum(told, axis=1)))
        return Evidence(
            hypothesis,
            # Nominal inertias or none: either may be right, so their likelihoods are averaged.
            likelihood=float(np.logaddexp.reduce(told[:, 0]) - np.log(len(told))),
            physics=float(told[best, 1]),
            size=sizes.log_evidence(hypothesis.tau_order, hypothesis.tau_scale),
            alike=sizes.log_alike(hypothesis.tau_order, np.sign(hypothesis.tau_scale)),
            place=self.log_place(columns.rows.q),
            prior=log_prior(hypothesis, robot.joint_names, robot.gravity),
            segments=fits[best].segments() / heat if segments else np.zeros(SEGMENTS),
            residual=np.sqrt(fits[best].variance) / fits[best].swing,
        )


class _Fit:
    """All joints with the parameters they share, as a Gaussian posterior; residuals by expectation maximisation."""

    def __init__(
        self,
        columns: ReadColumns,
        hypothesis: Hypothesis,
        nominal: Float[Array, " n_base"] | None,
        looks: float,
    ) -> None:
        self.columns, self.hypothesis, self.looks = columns, hypothesis, looks
        self.tau = columns.rows.tau[:, hypothesis.tau_order] * hypothesis.tau_scale
        self.swing = np.maximum(np.std(self.tau, axis=0), 1e-300)
        n_base, n_params, n_dof = columns.n_base, columns.n_params, len(columns.places)
        # What is known of the arm does not depend on how one torque is read: only on the level of all of them.
        level = np.std(columns.rows.tau, axis=0)[hypothesis.tau_order] * np.median(np.abs(hypothesis.tau_scale))
        size = np.max(columns.swing / self.swing[:, None], axis=0)
        size[:n_base] = np.max(columns.swing[:, :n_base] / np.maximum(level, 1e-300)[:, None], axis=0)
        self.unit = 1.0 / np.where(size > 0.0, size, 1.0)
        spread = np.full(columns.n_own, FRICTION)
        spread[-2] = OFFSET
        self.precision = np.concatenate([np.full(n_base, SHARE), np.tile(spread, n_dof)]) ** -2.0
        self.mean = np.zeros(n_params)
        if nominal is not None:
            self.mean[:n_base] = nominal / self.unit[:n_base]
        self.variance = (0.1 * self.swing) ** 2
        whole = columns.products
        for _ in range(STEPS):
            x, R = self._solve(whole)
            spread_of = dtrtri(R)[0] * self.unit[:, None]
            theta = x * self.unit
            moment = spread_of @ spread_of.T + np.outer(theta, theta)
            scale, order = hypothesis.tau_scale, hypothesis.tau_order
            cross = whole.along[np.arange(n_dof), order] @ theta * scale
            expected = whole.gram @ moment.ravel() - 2.0 * cross + whole.square[order] * scale**2
            self.variance = np.maximum(expected / whole.n_rows, 0.0) + (FLOOR * self.swing) ** 2
        self.x, self.R = self._solve(whole)

    def _weights(self) -> Float[Array, " n_dof"]:
        return self.looks / self.columns.rows.n_rows / self.variance

    def _solve(self, part: Products) -> tuple[Float[Array, " n_params"], Float[Array, "n_params n_params"]]:
        """Mean of the parameters in their units, and the triangular factor of their precision."""
        n_params, weight = len(self.unit), self._weights()
        A = (weight @ part.gram).reshape(n_params, n_params) * np.outer(self.unit, self.unit)
        A[np.diag_indices(n_params)] += self.precision
        R, failed = dpotrf(A, clean=1)
        if failed:
            # Two columns that the log cannot tell apart, and no noise to speak of: rounding decides their difference.
            A[np.diag_indices(n_params)] *= 1.0 + ROUNDING
            R = dpotrf(A, clean=1)[0]
        return dpotrs(R, self._right_side(part))[0], R

    def _right_side(self, part: Products) -> Float[Array, " n_params"]:
        weight, hypothesis = self._weights(), self.hypothesis
        along = part.along[np.arange(len(weight)), hypothesis.tau_order]
        return (weight * hypothesis.tau_scale) @ along * self.unit + self.precision * self.mean

    def log_likelihood(self, part: Products | None = None) -> float:
        """Logarithm of the probability density of the logged torques of a part (N·m or N)."""
        whole = part is None
        part = self.columns.products if part is None else part
        x, R = (self.x, self.R) if whole else self._solve(part)
        looks = self.looks * part.n_rows / self.columns.rows.n_rows
        hypothesis = self.hypothesis
        found = 0.5 * x @ self._right_side(part) - 0.5 * np.sum(self.precision * self.mean**2)
        found += 0.5 * np.sum(np.log(self.precision)) - np.sum(np.log(np.diag(R)))
        squares = part.square[hypothesis.tau_order] * hypothesis.tau_scale**2
        found -= 0.5 * np.sum(looks * np.log(self.variance) + self._weights() * squares)
        # Of the torques as logged, not as they are read.
        return float(found + looks * np.sum(np.log(np.abs(hypothesis.tau_scale))))

    def segments(self) -> Float[Array, " n_segments"]:
        """Logarithm of the probability density of each segment once the others are known."""
        whole, every = self.log_likelihood(), self.columns.products
        others = [
            Products(
                every.gram - one.gram, every.along - one.along, every.square - one.square, every.n_rows - one.n_rows
            )
            for one in self.columns.segments
        ]
        return np.array([whole - self.log_likelihood(rest) for rest in others])

    def physics(self, heat: float) -> float:
        """Logarithm of the probability that friction brakes and inertia is positive, relative to even odds."""
        F = self.columns.signs * self.unit[:, None]
        error = np.linalg.norm(dtrtrs(self.R, F, trans=1)[0], axis=0)
        z = F.T @ self.x / np.maximum(error, 1e-300) / np.sqrt(heat)
        return float(np.sum(np.log(2.0 * _student_4(z))))


def _student_4(z: Float[Array, " n"]) -> Float[Array, " n"]:
    """Distribution function of Student's t with four degrees of freedom: as many as segments are left of five.

    In closed form, for importing SciPy's takes longer than all of this; the far tail as the first term of its series.
    """
    x = 1.0 + 0.25 * np.minimum(z**2, 1e12)
    inner = 0.5 + 0.375 * np.clip(z, -1e6, 1e6) / np.sqrt(x) * (1.0 - np.minimum(z**2, 1e12) / x / 12.0)
    return np.where(z < -1e3, 3.0 / np.maximum(np.abs(z), 1e3) ** 4, inner)


def is_round(scale: float) -> bool:
    """Whether a factor on a torque is a sign, or that of a unit."""
    return any(abs(abs(scale) / unit - 1.0) < 1e-9 for unit in (1.0, *UNITS_OF_SCALE))


def log_prior(hypothesis: Hypothesis, names: Sequence[str], gravity: Float[Array, " 3"]) -> float:
    """Logarithm of how often a log has to be read this way, each kind shared among the ways there are (m/s²)."""
    n = len(names)
    found = _order_prior(hypothesis, names)
    turned, loaded = hypothesis.q_sign < 0.0, hypothesis.tau_scale < 0.0
    if np.all(loaded) and n > 1:
        found += ALL_SIGNS
        loaded = ~loaded
    found += np.count_nonzero(turned != loaded) * (ONE_SIGN - log(2 * n))
    found += np.count_nonzero(turned & loaded) * (JOINT - log(n))
    size = np.abs(hypothesis.tau_scale)
    off = size != 1.0
    if np.any(off):
        together = bool(np.all(size == size[0]))
        if all(is_round(float(value)) for value in size):
            shares = {round(log(unit)): log(share) for unit, share in UNIT_SHARES.items()}
            found += UNIT + (shares[round(log(size[0]))] if together else 0.0)
            found += 0.0 if together else sum(shares[round(log(value))] - log(2 * n) for value in size[off])
        else:
            found += FREE_SCALE - FACTOR_PRICE * (1 if together else np.count_nonzero(off))
    if hypothesis.gravity is not None:
        found += _gravity_prior(hypothesis.gravity, gravity)
    return float(found)


def _order_prior(hypothesis: Hypothesis, names: Sequence[str]) -> float:
    straight = np.arange(len(names))
    sorted_names = np.argsort(np.argsort(np.array(names)))
    known = (straight[::-1], sorted_names, np.argsort(sorted_names))
    found = 0.0
    orders = [hypothesis.q_order, hypothesis.tau_order]
    if np.array_equal(orders[0], orders[1]):
        orders = orders[:1]
    for order in orders:
        moved = int(np.count_nonzero(order != straight))
        if not moved:
            continue
        if any(np.array_equal(order, one) for one in known):
            found += ORDER
        elif moved == 2:
            found += SWAP - log(len(names) * (len(names) - 1) / 2)
        else:
            found += 2.0 * SWAP - lgamma(moved + 1)
    return found


def _gravity_prior(gravity: Float[Array, " 3"], own: Float[Array, " 3"]) -> float:
    size = float(np.linalg.norm(own))
    if not np.any(gravity):
        return WEIGHTLESS
    along = np.sort(np.abs(gravity)) / size
    return MOUNT - log(5) if along[1] < 1e-6 else ANY_TILT
