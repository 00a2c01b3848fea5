"""An exciting trajectory by SciPy's general optimisers: the usual way, to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, Literal

import numpy as np
from scipy import optimize

from dynid import Motion, TorqueModel, base_parameters
from dynid.arrays import Array
from dynid.excitation import FourierBasis, FourierSeries

Method = Literal["SLSQP", "COBYLA"]
N_SAMPLES = 200
"""Instants of a period at which the condition number and the limits are looked at."""
KEPT = 1e-3
"""Relative violation of a limit that still counts as kept: the optimisers return to it from both sides."""
START = 0.1
"""Amplitudes of the random start, as a share of the velocity limits: inside every limit."""


class _TimeUp(Exception):
    """The budget is spent."""


class _Problem:
    """Condition number and limits of a Fourier series, as functions of its coefficients, and the best so far."""

    def __init__(self, model: TorqueModel, shape: FourierBasis, budgets: Sequence[float]) -> None:
        self.model, self.shape, self.base = model, shape, base_parameters(model)
        self.budgets, self.best = budgets, [np.inf] * len(budgets)
        limits = [joint.limits for joint in model.robot.joints]
        self.lower, self.upper = (np.array([getattr(limit, side) for limit in limits]) for side in ("lower", "upper"))
        self.velocity, self.acceleration, self.effort = (
            np.array([getattr(limit, kind) for limit in limits]) for kind in ("velocity", "acceleration", "effort")
        )
        self.t = np.arange(N_SAMPLES) / (N_SAMPLES * shape.base_frequency_hz)
        self.started = perf_counter()

    def motion(self, x: Array) -> Motion:
        """The motion of coefficients scaled by the velocity limits, and of centres by the ranges."""
        n, H = self.model.n_dof, self.shape.harmonics
        a, b, centre = x[: H * n].reshape(H, n), x[H * n : 2 * H * n].reshape(H, n), x[2 * H * n :]
        middle, reach = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        series = FourierSeries(
            self.shape.base_frequency_hz, a * self.velocity, b * self.velocity, middle + reach * centre
        )
        q, dq, ddq = series.at(self.t)[:3]
        return Motion(self.t, q, dq, ddq)

    def cost(self, x: Array) -> float:
        """The logarithm of the condition number."""
        spent = perf_counter() - self.started
        if spent > self.budgets[-1]:
            raise _TimeUp
        motion = self.motion(x)
        R = np.linalg.qr(self.base.reduce(self.model.regressor(motion)).reshape(-1, self.base.n_base), mode="r")
        condition = float(np.linalg.cond(R))
        if np.min(self.room(x)) >= -KEPT:
            for k, budget in enumerate(self.budgets):
                self.best[k] = min(self.best[k], condition) if spent <= budget else self.best[k]
        return float(np.log(condition))

    def room(self, x: Array) -> Array:
        """What is left to every limit of every joint, relative; negative where it is broken."""
        motion = self.motion(x)
        reach = 0.5 * (self.upper - self.lower)
        tau = self.model.torque(motion, self.model.nominal())
        parts = [
            np.min(motion.q - self.lower, axis=0) / reach,
            np.min(self.upper - motion.q, axis=0) / reach,
        ]
        for values, limit in ((motion.dq, self.velocity), (motion.ddq, self.acceleration), (tau, self.effort)):
            bounded = np.isfinite(limit)
            parts.append(1.0 - np.max(np.abs(values[:, bounded]), axis=0) / limit[bounded])
        return np.concatenate(parts)


def scipy_search(model: TorqueModel, shape: FourierBasis, method: Method, budgets: Sequence[float]) -> list[float]:
    """The best condition number within the limits after each time (s), from random starts; inf where there is none."""
    problem, rng = _Problem(model, shape, budgets), np.random.default_rng(0)
    n_free = model.n_dof * (2 * shape.harmonics + 1)
    inside: Any = {"type": "ineq", "fun": problem.room}
    try:
        while True:
            start = START * rng.uniform(-1.0, 1.0, n_free)
            optimize.minimize(problem.cost, start, method=method, constraints=inside, options={"maxiter": 1000})
    except _TimeUp:
        # A better answer found early is also the best later.
        return list(np.minimum.accumulate(problem.best))
