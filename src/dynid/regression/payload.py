"""The load an arm carries: from a run with it, and a run or a model without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from dynid.arrays import Array, Float, Matrix3, Transform, Vector3, freeze_arrays
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import BASE, Joint, Link, Robot
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import RegressionError
from dynid.prose import spread_percent, text_table
from dynid.recording.conditioning import Samples
from dynid.regression.constraints.constraints import Constraints
from dynid.regression.estimate import FitError
from dynid.regression.feasible.programme import solve
from dynid.regression.least_squares import joint_weights
from dynid.regression.load_fit import KnownArm, LoadProblem
from dynid.regression.load_rows import LOAD, N_LOAD, load_transform, loaded_regression
from dynid.regression.problem import Factor, Regression
from dynid.regression.residuals import ResidualStatistics
from dynid.regression.status import Status

__all__ = ["Payload", "identify_payload"]

PASSES = 4
"""Fits with the load of gears taken from the fit before; each changes the mass ten times less than the one before."""
UNKNOWN = 1e12
"""Variance (SI) that stands for an infinite one while it is propagated."""
SAME = 1e-9
"""Largest relative difference of two logs that are the same one."""


@dataclass(frozen=True, eq=False)
class Payload:
    """A load: ten numbers in the flange frame, how sure they are, and how the fit went."""

    inertial: InertialParameters
    """About the origin of the flange frame (SI); physically consistent."""
    covariance: Float[Array, "10 10"]
    """Of the ten numbers, before they were made consistent; autocorrelation-robust."""
    free: Float[Array, " 10"]
    """The ten numbers (SI) of the plain fit, consistent or not."""
    fit: FitError
    """On the torque of the run with load."""
    without: FitError
    """On the same torque when the arm is taken to be empty."""
    status: Status
    parts: Mapping[str, Float[Array, "10 10"]] = field(default_factory=dict)
    """The covariance by what it comes from: noise (of the run with load), arm, friction (its drift), gains."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def limits(self) -> dict[str, float]:
        """Share of the variance of the mass, in %, by what it comes from; they add up to 100."""
        total = sum(float(part[0, 0]) for part in self.parts.values())
        return {name: 100.0 * float(part[0, 0]) / total for name, part in self.parts.items()} if total > 0.0 else {}

    def __repr__(self) -> str:
        com = ", ".join(f"{value:.4f}" for value in self.com)
        error = f"{self.fit.relative_percent:.3g} % of the torque left unexplained"
        return f"Payload({self.mass:.4g} ± {self.mass_std:.2g} kg at ({com}) m of the flange, {error})"

    def __str__(self) -> str:
        axes = [(a, b) for a in range(3) for b in range(a, 3)]
        names = ["m", *(f"c{axis}" for axis in "xyz"), *(f"I{'xyz'[a]}{'xyz'[b]}" for a, b in axes)]
        values = [self.mass, *self.com, *(self.inertia_com[a, b] for a, b in axes)]
        stds = [self.mass_std, *self.com_std, *(self.inertia_com_std[a, b] for a, b in axes)]
        units = ["kg", *["m"] * 3, *["kg·m²"] * 6]
        rows = [
            (name, f"{value:.4e}", f"{std:.1e}", spread_percent(std, value), unit)
            for name, value, std, unit in zip(names, values, stds, units, strict=True)
        ]
        return f"{self!r}\n{text_table(('load', 'value', '± 1σ', 'σ / %', 'unit'), rows, numeric=(1, 2, 3))}"

    @property
    def mass(self) -> float:
        """kg"""
        return self.inertial.mass

    @property
    def com(self) -> Vector3:
        """Centre of mass in the flange frame, m."""
        return self.inertial.com

    @property
    def inertia_com(self) -> Matrix3:
        """Inertia about the centre of mass in axes of the flange frame, kg·m²."""
        return self.inertial.inertia_com

    @property
    def mass_std(self) -> float:
        """kg"""
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def com_std(self) -> Vector3:
        """m, by propagation through first moment over mass."""
        return np.sqrt(np.maximum(np.diag(self._propagated(lambda pi: pi[1:4] / pi[0])), 0.0))

    @property
    def inertia_com_std(self) -> Matrix3:
        """kg·m², by propagation through the shift to the centre of mass."""

        def about_com(pi: Float[Array, " 10"]) -> Float[Array, " 9"]:
            return InertialParameters(pi).inertia_com.ravel()

        return np.sqrt(np.maximum(np.diag(self._propagated(about_com)), 0.0)).reshape(3, 3)

    def _propagated(self, of: Callable[[Float[Array, " 10"]], Float[Array, " n_out"]]) -> Float[Array, "n_out n_out"]:
        pi = np.array(self.inertial.pi)
        steps = 1e-6 * np.maximum(np.abs(pi), 1e-3)
        J = np.column_stack(
            [(of(pi + step * e) - of(pi - step * e)) / (2.0 * step) for step, e in zip(steps, np.eye(10), strict=True)]
        )
        # Infinite variances would turn into nan on their way; this large they still are.
        spread = J @ np.minimum(self.covariance, UNKNOWN) @ J.T
        return np.where(np.abs(spread) > 1e-6 * UNKNOWN, np.inf, spread)


def identify_payload(
    model: TorqueModel,
    base: BaseParameters,
    loaded: Sequence[Samples],
    *,
    unloaded: Sequence[Samples] = (),
    known: KnownArm | None = None,
    T_link_flange: Transform | None = None,
    constraints: Constraints | None = None,
    noise: ResidualStatistics | None = None,
    scales: Float[Array, "n_dof n_dof"] | None = None,
) -> Payload:
    r"""The load of a run, feasible by the programme that links are fitted with.

    Arm, drift of friction, scale of the torques and load are fitted together (`LoadProblem`), with what a run without
    load or an identified model says about β; all else is then projected out and the consistent :math:`\pi_L` that fits
    best is chosen.

    Args:
        model: the arm with its friction.
        base: its base parameters.
        loaded: conditioned logs with the load.
        unloaded: conditioned logs without it; may be empty where the arm is known.
        known: base parameters of the empty arm; may be None where there are logs without load.
        T_link_flange: flange frame in the last link's frame; the identity when None.
        constraints: asked of the load beside consistency.
        noise: held-out residuals of the arm: colour of the noise and drift of friction; white rows of each joint's own
            noise and no drift when None.
        scales: relative covariance of the scale of each joint's torque; exact when None.

    Raises:
        RegressionError: a log with load is the one without, or nothing is known of the empty arm.
    """
    if not unloaded and known is None:
        raise RegressionError("the load alone cannot be told from the arm: give a run without load, or its model")
    _check_different(loaded, unloaded)
    frame = np.eye(4) if T_link_flange is None else T_link_flange
    to_link = load_transform(frame)
    sure = np.zeros((model.n_dof, model.n_dof)) if scales is None else scales
    drift = _drift_root(base, noise, 2.0 if unloaded else 1.0)
    depends = any(joint_model.needs_load for joint_model in model.joint_models)
    carried: Float[Array, " 10"] | None = None
    for _ in range(PASSES if depends else 1):
        rows = partial(loaded_regression, model, base, carried=carried, T_link_flange=frame, noise=noise)
        with_load, without = rows(loaded), rows((), unloaded) if unloaded else None
        if noise is None:
            with_load, without = _weighed(with_load, without)
        fit = LoadProblem(with_load, without, None if unloaded else known, drift, sure).solved()
        free = fit.load
        carried = to_link @ free
    body, body_base = _one_body()
    solution = solve(fit.R, fit.rho, body, body_base, constraints or Constraints())
    pi = solution.theta if np.all(np.isfinite(solution.theta)) else free
    plain = loaded_regression(model, base, loaded, carried=carried, T_link_flange=frame)
    arm = fit.beta + fit.deviation
    return Payload(
        inertial=InertialParameters(pi),
        covariance=fit.covariance,
        free=free,
        fit=FitError.on(plain, np.concatenate([arm, free])),
        without=FitError.on(plain, np.concatenate([arm, np.zeros(N_LOAD)])),
        status=solution.status,
        parts=fit.parts,
    )


def _check_different(loaded: Sequence[Samples], unloaded: Sequence[Samples]) -> None:
    for a in loaded:
        for b in unloaded:
            if len(a.segments) != len(b.segments):
                continue
            pairs = [(x.tau, y.tau) for x, y in zip(a.segments, b.segments, strict=True)]
            if all(x.shape == y.shape and np.max(np.abs(x - y)) <= SAME * np.max(np.abs(y)) for x, y in pairs):
                raise RegressionError(
                    f"{a.source} is the same log as {b.source}: with and without load must be two runs of the arm"
                )


def _weighed(with_load: Regression, without: Regression | None) -> tuple[Regression, Regression | None]:
    """Rows of unit noise, where nothing is known of the noise but what the fit leaves."""
    both = with_load if without is None else replace(with_load, blocks=(*without.blocks, *with_load.blocks))
    weights = joint_weights(both)[0]
    return _times(weights, with_load), None if without is None else _times(weights, without)


def _times(weights: Float[Array, " n_dof"], regression: Regression) -> Regression:
    blocks = tuple(
        tuple(Factor(weight * factor.triangle, factor.n_rows) for weight, factor in zip(weights, block, strict=True))
        for block in regression.blocks
    )
    return replace(regression, blocks=blocks)


def _drift_root(
    base: BaseParameters, noise: ResidualStatistics | None, times: float
) -> Float[Array, "n_base n_drifting"]:
    """L with LLᵀ the covariance of drift between runs as that of β, `times` over."""
    if noise is None or not np.any(noise.drift):
        return np.zeros((base.n_base, 0))
    values, vectors = np.linalg.eigh(times * noise.drift)
    kept = values > 1e-14 * values[-1]
    K = base.K[:, base.K.shape[1] - len(noise.drift) :]
    return K @ (vectors[:, kept] * np.sqrt(values[kept]))


def _one_body() -> tuple[TorqueModel, BaseParameters]:
    """A model of one free body: its ten numbers are its base parameters, so the programme can fit it."""
    joint = Joint("load", "revolute", BASE, np.eye(4), np.array([0.0, 0.0, 1.0]), Link(LOAD))
    model = TorqueModel(Robot(LOAD, (joint,)))
    return model, BaseParameters(model.columns, model.symbols, np.arange(N_LOAD), np.eye(N_LOAD))
