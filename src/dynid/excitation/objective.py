"""The criterion of a point in gauge coordinates with its exact gradient, by the adjoint of the compiled regressor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from dynid.arrays import Array, Float, Int
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.kernels.adjoint import pull_back
from dynid.dynamics.kernels.chains import ChainArrays, chain_arrays
from dynid.dynamics.kernels.ready import fill_regressor
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.excitation.criteria import DesignCriterion
from dynid.excitation.curves.curve import States
from dynid.excitation.gauge import Gauge
from dynid.excitation.limits.motion_limits import EffortLimit, PathLimit, SlopedLimit, path_unit

__all__ = ["Objective", "Smoothing", "largest_scale"]

_STEP = 1e-6
"""Of central differences, SI: friction columns and path limits have no adjoint."""


_SAG_MOTIONS, _SAG_SHARE = 8, 0.99
"""Random motions to see how much can happen between samples, and the share of samples that it must cover."""
_SCALE_STEP = 1e-7
"""Relative to the whole motion: how closely the scale at which a path limit is touched is found."""


class Smoothing(NamedTuple):
    """How much of the true, cornered problem is rounded off."""

    sharpness: float
    """Of the criterion, see `DesignCriterion.smooth`; dimensionless."""
    model: TorqueModel
    """With dry friction smoothed."""
    temperature: float
    """By which path limits are rounded off, always to the safe side; in units of their excess."""


@dataclass(frozen=True, eq=False)
class Objective:
    """The criterion over gauge coordinates; a point is always a motion inside all limits."""

    model: TorqueModel
    base: BaseParameters
    gauge: Gauge
    criterion: DesignCriterion
    path_limits: tuple[PathLimit, ...]
    anchor: Float[Array, " n_dof"]
    """A pose in rad or m that keeps all path limits: motions that break one shrink towards it."""
    n_samples: int
    """Number of samples at which motions are judged."""

    @cached_property
    def _t(self) -> Float[Array, " n_samples"]:
        length = self.gauge.basis.length
        return np.arange(self.n_samples) * length / self.n_samples

    @cached_property
    def _matrices(self) -> tuple[Float[Array, "n_samples n_free"], ...]:
        return self.gauge.basis.matrices(self._t)

    @cached_property
    def _chain(self) -> ChainArrays:
        return chain_arrays(self.model.robot)

    @cached_property
    def _inertial(self) -> tuple[Int[Array, " n_picked"], Int[Array, " n_picked"]]:
        """Places in β and in θ of the base columns that belong to links."""
        places = np.flatnonzero(self.base.independent < self.model.n_inertial)
        return places, self.base.independent[places]

    @cached_property
    def _own(self) -> tuple[Int[Array, " n_own"], Int[Array, " n_own"], Int[Array, " n_own"]]:
        """Places in β, joints and terms of the base columns that belong to joints."""
        places = np.flatnonzero(self.base.independent >= self.model.n_inertial)
        joint, term = np.divmod(self.base.independent[places] - self.model.n_inertial, max(1, len(self.model.terms)))
        return places, joint, term

    @cached_property
    def speed(self) -> Float[Array, " n_dof"]:
        """About the largest speed of every joint, rad/s or m/s."""
        limits = self.gauge.limits
        reach = 0.5 * (limits.upper - limits.lower) * 2.0 * np.pi * self.gauge.basis.bandwidth_hz
        return np.minimum(limits.velocity, reach)

    def smoothing(self, sharpness: float, softness: float) -> Smoothing:
        """Rounded-off corners; `softness` is the fraction of the largest speed over which dry friction turns."""
        width = tuple((softness * self.speed).tolist())
        models = tuple(model.softened(width) for model in self.model.joint_models)
        temperature = 0.4 * softness
        if self.path_limits:
            # The sum of all exponentials must leave room at rest in the safe pose.
            excess = self._excess(States.at_rest(self.anchor[None]))
            room = -float(excess.max()) / np.log(10.0 * excess.size * self.n_samples)
            temperature = min(temperature, max(room, 1e-12))
        return Smoothing(sharpness, replace(self.model, joint_models=models), temperature)

    def coefficients(
        self, x: Float[Array, "n_coordinates n_dof"], *, gauge: Gauge | None = None
    ) -> tuple[Float[Array, "n_free n_dof"], Float[Array, " n_dof"]]:
        """Coefficients and centre (SI) of a point, shrunk until the path limits hold at the samples."""
        placed = (gauge or self.gauge).place(x)
        scale = self._scale(self._states(placed.coefficients, placed.centre))
        return scale * placed.coefficients, self.anchor + scale * (placed.centre - self.anchor)

    def gram(self, states: States, model: TorqueModel) -> Float[Array, "n_base n_base"]:
        """Mean weighted Gram matrix of the base regressor (units of the criterion)."""
        Y = self._regressor(states, model)[0]
        rows = (Y * np.sqrt(self.criterion.row_weights(self.model.n_dof))[:, None]).reshape(-1, self.base.n_base)
        return rows.T @ rows / len(Y)

    def smooth(
        self, x: Float[Array, "n_coordinates n_dof"], smoothing: Smoothing, near: float = 1.0
    ) -> tuple[float, Float[Array, "n_coordinates n_dof"], float]:
        """The smoothed criterion (dimensionless) of a point, its gradient, and the scale at which limits hold.

        `near` is a guess of that scale, a ratio.
        """
        placed = self.gauge.place(x)
        full = self._states(placed.coefficients, placed.centre)
        scale = self._scale(full, smoothing.temperature, near)
        states = self._scaled(full, scale)
        Y, motion = self._regressor(states, smoothing.model)
        weights = self.criterion.row_weights(self.model.n_dof)[:, None]
        rows = Y.reshape(-1, self.base.n_base)
        G = (Y * weights).reshape(rows.shape).T @ rows / self.n_samples
        value, slope = self.criterion.smooth(G, smoothing.sharpness)
        Y_bar = (2.0 / self.n_samples) * weights * (rows @ slope).reshape(Y.shape)
        q_bar, dq_bar, ddq_bar = self._pull_regressor(motion, Y_bar, smoothing.model)
        if scale < 1.0:
            shrink_bar = sum(
                float(np.sum(bar * moved))
                for bar, moved in zip((q_bar, dq_bar, ddq_bar), self._offsets(full), strict=True)
            )
            pushes = self._scale_slope(full, scale, smoothing.temperature)
            q_bar, dq_bar, ddq_bar = (
                scale * bar + shrink_bar * push for bar, push in zip((q_bar, dq_bar, ddq_bar), pushes, strict=True)
            )
        P0, P1, P2, _ = self._matrices
        coefficients_bar = P0.T @ q_bar + P1.T @ dq_bar + P2.T @ ddq_bar
        return value, self.gauge.pull(placed, coefficients_bar, q_bar.sum(axis=0)), scale

    def _states(self, coefficients: Float[Array, "n_free n_dof"], centre: Float[Array, " n_dof"]) -> States:
        q, dq, ddq, dddq = (matrix @ coefficients for matrix in self._matrices)
        return States(q + centre, dq, ddq, dddq)

    def _offsets(self, full: States) -> tuple[Float[Array, "n_samples n_dof"], ...]:
        return full.q - self.anchor, full.dq, full.ddq

    def _scaled(self, full: States, scale: float) -> States:
        if scale == 1.0:
            return full
        q, dq, ddq = self._offsets(full)
        return States(self.anchor + scale * q, scale * dq, scale * ddq, scale * full.dddq)

    def _excess(self, states: States) -> Float[Array, "n_samples n_columns"]:
        parts = [
            path.excess(states) / path_unit(path) + sag for path, sag in zip(self.path_limits, self.sags, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    @cached_property
    def sags(self) -> tuple[float, ...]:
        """What each path limit must leave for what happens between the samples, in its unit.

        A parabola rises an eighth of its second difference above its samples; those of random motions tell its size.
        Efforts have a margin of their own.
        """
        found = []
        for path in self.path_limits:
            if isinstance(path, EffortLimit) or not isinstance(path, SlopedLimit):
                found.append(0.0)
                continue
            rng, bends = np.random.default_rng(0), [np.zeros(1)]
            for _ in range(_SAG_MOTIONS):
                placed = self.gauge.place(self.gauge.random(rng))
                excess = path.excess(self._states(placed.coefficients, placed.centre)) / path.unit
                bends.append(-np.diff(excess, 2, axis=0)[excess[1:-1] > -1.0] / 8.0)
            room = -float(path.excess(States.at_rest(self.anchor[None])).max()) / path.unit
            sag = float(np.quantile(np.maximum(np.concatenate(bends), 0.0), _SAG_SHARE))
            found.append(min(sag, 0.25 * max(room, 0.0)))
        return tuple(found)

    def _scale(self, full: States, temperature: float = 0.0, near: float = 1.0) -> float:
        """The largest scale at which the path limits hold at the samples, with a rounded maximum where it is warm."""
        if not self.path_limits:
            return 1.0

        def highest(scale: float) -> float:
            excess = self._excess(self._scaled(full, scale))
            top = float(excess.max())
            return top + temperature * float(np.log(np.sum(np.exp((excess - top) / max(temperature, 1e-300)))))

        return largest_scale(highest, near)

    def _scale_slope(
        self, full: States, scale: float, temperature: float
    ) -> tuple[Float[Array, "n_samples n_dof"], ...]:
        """Derivative of the scale by q, dq and ddq of the unscaled motion, from the limits that are nearly touched."""
        states = self._scaled(full, scale)
        excess = self._excess(states)
        weight = np.exp((excess - excess.max()) / temperature)
        weight /= weight.sum()
        near = np.flatnonzero(weight.sum(axis=1) > 1e-4)
        slope = self._pull_excess(States(*(values[near] for values in states)), weight[near])
        by_scale = float(np.sum(slope * np.concatenate([values[near] for values in self._offsets(full)], axis=1)))
        pushes = tuple(np.zeros_like(full.q) for _ in range(3))
        if by_scale > 0.0:
            for push, part in zip(pushes, np.split(slope, 3, axis=1), strict=True):
                push[near] = -scale * part / by_scale
        return pushes

    def _pull_excess(self, near: States, weight: Float[Array, "n_near n_columns"]) -> Float[Array, "n_near n_values"]:
        """Derivative by q, dq and ddq, side by side, of the sum of all excesses, each times its weight."""
        total = np.zeros((len(near.q), 3 * near.q.shape[1]))
        begin = 0
        for path in self.path_limits:
            mine = weight[:, begin : begin + len(path.labels)] / path_unit(path)
            begin += len(path.labels)
            if isinstance(path, SlopedLimit):
                total += np.concatenate(path.slope(near, mine), axis=1)
                continue
            here = np.concatenate(near[:3], axis=1)
            n_near, n_values = here.shape
            steps = _STEP * np.concatenate([np.eye(n_values), -np.eye(n_values)])
            q, dq, ddq = np.split((here[:, None] + steps).reshape(-1, n_values), 3, axis=1)
            moved = path.excess(States(q, dq, ddq, np.zeros_like(q))).reshape(n_near, 2, n_values, -1)
            total += np.einsum("svc,sc->sv", moved[:, 0] - moved[:, 1], mine) / (2.0 * _STEP)
        return total

    def _regressor(self, states: States, model: TorqueModel) -> tuple[Float[Array, "n_samples n_dof n_base"], Motion]:
        n_samples = len(states.q)
        motion = Motion(np.arange(n_samples, dtype=float), states.q, states.dq, states.ddq)
        Y = np.zeros((n_samples, self.model.n_dof, self.model.n_inertial))
        fill_regressor(self._chain, motion.q, motion.dq, motion.ddq, 0, n_samples, Y)
        reduced = np.zeros((n_samples, self.model.n_dof, self.base.n_base))
        places, columns = self._inertial
        reduced[:, :, places] = Y[:, :, columns]
        if len(self._own[0]):
            reduced[:, :, self._own[0]] = self._own_columns(motion, model)
        return reduced, motion

    def _own_columns(self, motion: Motion, model: TorqueModel) -> Float[Array, "n_samples n_dof n_own"]:
        """The base columns that belong to joints: friction and rotors."""
        places, joint, term = self._own
        if not self._alone:
            return model.regressor(motion)[:, :, self.base.independent[places]]
        columns = np.zeros((motion.n_samples, model.n_dof, len(places)))
        columns[:, joint, np.arange(len(places))] = model.joint_columns(motion)[:, joint, term]
        return columns

    def _pull_regressor(
        self, motion: Motion, Y_bar: Float[Array, "n_samples n_dof n_base"], soft: TorqueModel
    ) -> tuple[Float[Array, "n_samples n_dof"], ...]:
        full = np.zeros((motion.n_samples, self.model.n_dof, self.model.n_inertial))
        places, columns = self._inertial
        full[:, :, columns] = Y_bar[:, :, places]
        bars = tuple(np.empty_like(motion.q) for _ in range(3))
        pull_back(self._chain, motion.q, motion.dq, motion.ddq, full, 0, len(full), *bars)
        own_bar = Y_bar[:, :, self._own[0]]
        # Where every joint's terms see that joint alone, all joints can be moved at once.
        groups = [slice(None)] if self._alone else [slice(j, j + 1) for j in range(self.model.n_dof)]
        for k in self._own_depends:
            for group in groups:
                sides = []
                for step in (_STEP, -_STEP):
                    values = [motion.q, motion.dq, motion.ddq]
                    values[k] = values[k].copy()
                    values[k][:, group] += step
                    sides.append(self._own_columns(Motion(motion.t, *values), soft))
                effect = np.sum((sides[0] - sides[1]) * own_bar, axis=2) / (2.0 * _STEP)
                bars[k][:, group] += effect if self._alone else effect.sum(axis=1, keepdims=True)
        return bars

    @cached_property
    def _alone(self) -> bool:
        """Whether the terms of each joint act on that joint and depend on its own motion only."""
        rng, n_dof, n_terms = np.random.default_rng(0), self.model.n_dof, len(self.model.terms)
        values = [rng.normal(size=(8, n_dof)) for _ in range(3)]
        motion = Motion(np.arange(8.0), *values)
        own = self.model.joint_columns(motion)
        apart = np.zeros((8, n_dof, n_dof, n_terms))
        apart[:, np.arange(n_dof), np.arange(n_dof)] = own
        rows = self.model.regressor(motion)[:, :, self.model.n_inertial :]
        if not np.allclose(rows, apart.reshape(rows.shape)):
            return False
        first = [value + np.eye(n_dof)[0] for value in values]
        moved = self.model.joint_columns(Motion(np.arange(8.0), *first))
        return bool(np.allclose(moved[:, 1:], own[:, 1:]))

    @cached_property
    def _own_depends(self) -> tuple[int, ...]:
        """Which of q, dq, ddq the columns of the joints depend on."""
        if not len(self._own[0]):
            return ()
        soft, rng = self.smoothing(1.0, 1.0).model, np.random.default_rng(0)
        values = [rng.normal(size=(8, self.model.n_dof)) for _ in range(3)]
        plain = soft.joint_columns(Motion(np.arange(8.0), *values))
        found = []
        for k in range(3):
            moved = [*values[:k], values[k] + rng.normal(size=values[k].shape), *values[k + 1 :]]
            if np.any(soft.joint_columns(Motion(np.arange(8.0), *moved)) != plain):
                found.append(k)
        return tuple(found)


def largest_scale(excess: Callable[[float], float], near: float = 1.0) -> float:
    """A scale in (0, 1], as large as can be found, at which `excess` (any unit) is not positive.

    The excess must be negative near scale 0; it need not grow evenly. The search begins at `near`, a ratio: a guess
    saves time, and keeps a motion on its side of an obstacle.
    """
    if excess(near) <= 0.0:
        if near == 1.0:
            return 1.0
        inside, outside, step = near, near, 1.01
        while outside == inside:
            trial = min(step * inside, 1.0)
            if excess(trial) <= 0.0:
                inside = outside = trial
                if trial == 1.0:
                    return 1.0
            else:
                outside = trial
            step *= step
    else:
        # Small steps first: motions around a corner are free at nearly full size, and again only where they are small.
        outside, inside, step = near, 0.99 * near, 0.97
        while excess(inside) > 0.0:
            outside, inside, step = inside, step * inside, max(0.96 * step, 0.85)
            if inside < 1e-9:
                return inside
    root = float(brentq(excess, inside, outside, xtol=_SCALE_STEP, rtol=_SCALE_STEP))
    while excess(root) > 0.0:
        root = root - _SCALE_STEP if root - _SCALE_STEP > inside else inside
        if root == inside:
            break
    return root
