"""The load an arm carries: from a run with it, and a run or a model without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float, Matrix3, Transform, Vector3, freeze_arrays
from dynid.chain.inertia import INERTIAL_NAMES, INERTIAL_UNITS, InertialParameters
from dynid.chain.robot import BASE, Joint, Link, Robot
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import Column, TorqueModel
from dynid.errors import ParameterError, RegressionError
from dynid.prose import spread_percent, text_table
from dynid.recording.conditioning import Samples, Segment
from dynid.regression.constraints.constraints import Constraints
from dynid.regression.estimate import FitError
from dynid.regression.feasible.programme import solve
from dynid.regression.least_squares import joint_weights
from dynid.regression.problem import RANK_TOLERANCE, Factor, Regression
from dynid.regression.rows import JointRows, chunks_of, rows_of_segment, visible_columns
from dynid.regression.status import Status
from dynid.regression.triangle import triangular
from dynid.regression.uncertainty import uncertainty

__all__ = ["KnownArm", "Payload", "identify_payload", "load_transform", "loaded_regression"]

LOAD = "load"
"""Owner of the ten load parameters in tables."""
N_LOAD = len(INERTIAL_NAMES)
PASSES = 4
"""Fits with the load of gears taken from the fit before; each changes the mass ten times less than the one before."""
HIDDEN = 1e-3
"""Dimensionless part of an unseen direction from which on a number of the load counts as not seen."""
UNKNOWN = 1e12
"""Variance (SI) that stands for an infinite one while it is propagated."""
SAME = 1e-9
"""Largest relative difference of two logs that are the same one."""


@dataclass(frozen=True, eq=False)
class KnownArm:
    """What is known of the arm without load: base parameters and how sure they are."""

    beta: Float[Array, " n_base"]
    """Base parameters, in the units of their leading parameters."""
    covariance: Float[Array, "n_base n_base"]
    """Of β; infinite where a base parameter is not known."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


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

    def __post_init__(self) -> None:
        freeze_arrays(self)

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


def load_transform(T_link_flange: Transform) -> Float[Array, "10 10"]:
    """What turns ten numbers about the flange frame into ten about the link frame (SI)."""
    unit = [InertialParameters(e).moved(T_link_flange).pi for e in np.eye(N_LOAD)]
    return np.array(unit).T


def loaded_regression(
    model: TorqueModel,
    base: BaseParameters,
    loaded: Sequence[Samples],
    unloaded: Sequence[Samples] = (),
    *,
    carried: Float[Array, " 10"] | None = None,
    T_link_flange: Transform | None = None,
) -> Regression:
    """Rows (N·m or N) of runs with and without load; the ten numbers of the load are the last columns.

    Args:
        model: the arm with its friction.
        base: its base parameters.
        loaded: conditioned logs with the load.
        unloaded: conditioned logs without it.
        carried: the load (SI, link frame) that gears are taken to feel where friction depends on it.
        T_link_flange: flange frame in the last link's frame; the load is expressed in it.
    """
    to_link = load_transform(np.eye(4) if T_link_flange is None else T_link_flange)
    visible = visible_columns(model, base)
    last = model.n_dof - 1
    extended = _extended(base)
    load_columns = base.n_base + np.arange(N_LOAD)
    carriers = set(model.robot.path_to[last])
    blocks = []
    for logs, with_load in ((unloaded, False), (loaded, True)):
        feeling = model if not with_load or carried is None else _feeling(model, carried)
        for log in logs:
            for segment, extra in chunks_of(feeling, log):
                rows = rows_of_segment(feeling, base, segment, log.plan, visible, extra)
                load = _load_rows(feeling, segment, log, to_link) if with_load else None
                blocks.append(
                    tuple(_widened(r, load[j] if load is not None else None, j in carriers) for j, r in enumerate(rows))
                )
    everything = tuple(
        np.concatenate([columns, load_columns]) if j in carriers else columns for j, columns in enumerate(visible)
    )
    return Regression(model, extended, everything, tuple(tuple(Factor.of(rows) for rows in block) for block in blocks))


def _extended(base: BaseParameters) -> BaseParameters:
    n_params = len(base.columns)
    K = np.zeros((base.n_base + N_LOAD, n_params + N_LOAD))
    K[: base.n_base, :n_params] = base.K
    K[base.n_base :, n_params:] = np.eye(N_LOAD)
    columns = tuple(Column(LOAD, name, unit) for name, unit in zip(INERTIAL_NAMES, INERTIAL_UNITS, strict=True))
    symbols = tuple(f"load.{name}" for name in INERTIAL_NAMES)
    independent = np.concatenate([base.independent, n_params + np.arange(N_LOAD)])
    return BaseParameters((*base.columns, *columns), (*base.symbols, *symbols), independent, K, base.tolerance)


def _feeling(model: TorqueModel, carried: Float[Array, " 10"]) -> TorqueModel:
    """The model whose gears feel the load as well, where their friction depends on it."""
    models = []
    for joint_model in model.joint_models:
        links = joint_model.load_links(model.robot)
        if links is not None:
            loaded = np.array(links)
            loaded[-1] += carried
            joint_model = joint_model.referred(loaded)
        models.append(joint_model)
    return replace(model, joint_models=tuple(models))


def _load_rows(
    model: TorqueModel, segment: Segment, log: Samples, to_link: Float[Array, "10 10"]
) -> list[Float[Array, "n_rows 10"]]:
    """Columns of the ten load numbers for every joint, low-passed, at the rows that the regression keeps."""
    plan = log.plan
    Y = TorqueModel(model.robot).regressor(segment.motion)[:, :, -N_LOAD:] @ to_link
    found = []
    for j in range(model.n_dof):
        filtered = plan.low_pass.thinned(np.ascontiguousarray(Y[:, j]), plan.every)
        centres = plan.low_pass.half_length + plan.every * np.arange(len(filtered))
        found.append(filtered[np.abs(segment.motion.dq[centres, j]) >= plan.min_velocity])
    return found


def _widened(rows: JointRows, load: Float[Array, "n_rows 10"] | None, carries: bool) -> JointRows:
    if not carries:
        return rows
    return JointRows(np.hstack([rows.Y, np.zeros((len(rows.tau), N_LOAD)) if load is None else load]), rows.tau)


def identify_payload(
    model: TorqueModel,
    base: BaseParameters,
    loaded: Sequence[Samples],
    *,
    unloaded: Sequence[Samples] = (),
    known: KnownArm | None = None,
    T_link_flange: Transform | None = None,
    constraints: Constraints | None = None,
) -> Payload:
    r"""The load of a run, feasible by the programme that links are fitted with.

    Arm and load are fitted together, :math:`\tau = Y\beta + Y_L\pi_L`, with what a run without load or an identified
    model says about β; β is then projected out and the consistent :math:`\pi_L` that fits best is chosen.

    Args:
        model: the arm with its friction.
        base: its base parameters.
        loaded: conditioned logs with the load.
        unloaded: conditioned logs without it; may be empty where the arm is known.
        known: base parameters of the empty arm; may be None where there are logs without load.
        T_link_flange: flange frame in the last link's frame; the identity when None.
        constraints: asked of the load beside consistency.

    Raises:
        RegressionError: a log with load is the one without, or nothing is known of the empty arm.
    """
    if not unloaded and known is None:
        raise RegressionError("the load alone cannot be told from the arm: give a run without load, or its model")
    _check_different(loaded, unloaded)
    frame = np.eye(4) if T_link_flange is None else T_link_flange
    to_link = load_transform(frame)
    carried: Float[Array, " 10"] | None = None
    free = np.zeros(N_LOAD)
    depends = any(joint_model.needs_load for joint_model in model.joint_models)
    for _ in range(PASSES if depends else 1):
        regression = loaded_regression(model, base, loaded, unloaded, carried=carried, T_link_flange=frame)
        weights = joint_weights(regression)[0]
        stacked = regression.stacked(weights)
        R, rho = _with_known(stacked.R, stacked.rho, known, base.n_base)
        beta = np.linalg.lstsq(R, rho, rcond=1e-12)[0]
        free = beta[base.n_base :]
        carried = to_link @ free
    sure = uncertainty(regression, beta, weights)
    covariance = _covariance(R, weights, sure.inflation, regression, base.n_base)
    R_load, rho_load = R[-N_LOAD:, -N_LOAD:], rho[-N_LOAD:]
    body, body_base = _one_body()
    solution = solve(R_load, rho_load, body, body_base, constraints or Constraints())
    pi = solution.theta if np.all(np.isfinite(solution.theta)) else free
    return Payload(
        inertial=InertialParameters(pi),
        covariance=covariance,
        free=free,
        fit=_error(regression, loaded, beta),
        without=_error(regression, loaded, np.concatenate([beta[: base.n_base], np.zeros(N_LOAD)])),
        status=solution.status,
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


def _with_known(
    R: Float[Array, "n_all n_all"], rho: Float[Array, " n_all"], known: KnownArm | None, n_base: int
) -> tuple[Float[Array, "n_all n_all"], Float[Array, " n_all"]]:
    """The triangular problem with what is known of the arm as further rows."""
    if known is None:
        return R, rho
    if known.beta.shape != (n_base,):
        raise ParameterError(f"the model has {len(known.beta)} base parameters, not {n_base}")
    finite = np.isfinite(np.diag(known.covariance))
    values, vectors = np.linalg.eigh(known.covariance[np.ix_(finite, finite)])
    # Directions that the model knows exactly would drown the log; a part in 10⁶ of the largest is exact enough.
    rows = np.zeros((len(values), n_base + N_LOAD))
    rows[:, np.flatnonzero(finite)] = vectors.T / np.sqrt(np.maximum(values, 1e-12 * values[-1]))[:, None]
    whole = triangular(np.vstack([np.column_stack([R, rho]), np.column_stack([rows, rows[:, :n_base] @ known.beta])]))
    return whole[: n_base + N_LOAD, : n_base + N_LOAD], whole[: n_base + N_LOAD, -1]


def _covariance(
    R: Float[Array, "n_all n_all"],
    weights: Float[Array, " n_dof"],
    inflation: Float[Array, " n_dof"],
    regression: Regression,
    n_base: int,
) -> Float[Array, "10 10"]:
    """Covariance of the load: rows have unit noise once weighted; correlated residuals inflate each joint's part."""
    H_inv = np.linalg.pinv(R.T @ R, hermitian=True)
    middle = R.T @ R
    for j, (factor, columns) in enumerate(zip(regression.joints, regression.visible, strict=True)):
        part = weights[j] ** 2 * (factor.R.T @ factor.R)
        middle[np.ix_(columns, columns)] += (inflation[j] - 1.0) * part
    covariance = H_inv @ middle @ H_inv
    covariance = 0.5 * (covariance + covariance.T)[n_base:, n_base:]
    scale = np.linalg.norm(R, axis=0)
    _, values, directions = np.linalg.svd(R / np.where(scale > 0.0, scale, 1.0))
    null = directions[values <= RANK_TOLERANCE * max(values[0], 1e-300)]
    hidden = np.linalg.norm(null, axis=0)[n_base:] > HIDDEN
    covariance[hidden, hidden] = np.inf
    return covariance


def _one_body() -> tuple[TorqueModel, BaseParameters]:
    """A model of one free body: its ten numbers are its base parameters, so the programme can fit it."""
    joint = Joint("load", "revolute", BASE, np.eye(4), np.array([0.0, 0.0, 1.0]), Link(LOAD))
    model = TorqueModel(Robot(LOAD, (joint,)))
    return model, BaseParameters(model.columns, model.symbols, np.arange(N_LOAD), np.eye(N_LOAD))


def _error(regression: Regression, loaded: Sequence[Samples], beta: Float[Array, " n_all"]) -> FitError:
    """On the blocks of the runs with load, which are the last."""
    n_dof = regression.model.n_dof
    residual, power, rows = np.zeros(n_dof), np.zeros(n_dof), np.zeros(n_dof)
    count = sum(1 for log in loaded for _ in chunks_of(TorqueModel(regression.model.robot), log))
    for block in regression.blocks[-count:]:
        for j, (factor, columns) in enumerate(zip(block, regression.visible, strict=True)):
            residual[j] += factor.residual_power(beta[columns])
            power[j] += factor.power
            rows[j] += factor.n_rows
    return FitError.of(residual, power, rows)
