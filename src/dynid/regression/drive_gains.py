"""Drive gains from a run with a load of known mass and a run without it: the error stands on the current."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import base_parameters
from dynid.dynamics.friction.table import friction_models, needs_search
from dynid.dynamics.joint_model import JointModel
from dynid.dynamics.model import TorqueModel
from dynid.errors import RecordingError, RegressionError
from dynid.prose import spread_percent, text_table
from dynid.recording.conditioning import Conditioning, Samples
from dynid.recording.recording import Recording
from dynid.regression.friction.choice import START, choose_friction
from dynid.regression.friction.rows import friction_rows
from dynid.regression.load_rows import N_LOAD, loaded_regression
from dynid.regression.problem import Factor, Regression
from dynid.regression.status import Status
from dynid.regression.uncertainty import uncertainty

__all__ = ["DriveGains", "identify_gains"]

PASSES = 3
"""Fits with the load of gears taken from the fit before."""
MAX_STEPS = 60
"""Of Gauss–Newton; a load that shows needs about ten."""
SETTLED = 1e-9
"""Largest relative change of a gain at which Gauss–Newton ends."""
LARGEST_STEP = 0.5
"""Relative: a gain changes by no more than this in one step."""


@dataclass(frozen=True, eq=False)
class DriveGains:
    """Torque per current of every drive, behind its gear."""

    joint_names: tuple[str, ...]
    gains: Float[Array, " n_dof"]
    """N·m/A, or N/A."""
    std: Float[Array, " n_dof"]
    """Standard deviations, N·m/A or N/A; residuals may be correlated in time."""
    covariance: Float[Array, "n_dof n_dof"]
    """Of the gains, (N·m/A)² or (N/A)²."""
    load: Float[Array, " 10"]
    """The load in the last link's frame (SI); its mass is the known one."""
    friction: tuple[JointModel, ...]
    status: Status

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def relative_covariance(self) -> Float[Array, "n_dof n_dof"]:
        """Covariance of the gains over their values, dimensionless."""
        return self.covariance / np.outer(self.gains, self.gains)

    def __repr__(self) -> str:
        gains = ", ".join(
            f"{name} {gain:.4g} ± {std:.2g}"
            for name, gain, std in zip(self.joint_names, self.gains, self.std, strict=True)
        )
        return f"DriveGains({gains}; N·m/A or N/A)"

    def __str__(self) -> str:
        rows = [
            (name, f"{gain:.4e}", f"{std:.1e}", spread_percent(std, gain))
            for name, gain, std in zip(self.joint_names, self.gains, self.std, strict=True)
        ]
        return text_table(("drive", "gain / (N·m/A)", "± 1σ", "σ / %"), rows, numeric=(1, 2, 3))


def identify_gains(
    robot: Robot,
    loaded: Recording,
    unloaded: Recording,
    mass: float,
    *,
    drives: Sequence[JointModel] = (),
    friction: str = "auto",
    conditioning: Conditioning | None = None,
) -> DriveGains:
    r"""Gains from currents alone; a load of known mass sets the scale.

    .. math::

        i_j = \frac{1}{k_j}\bigl(Y_j \beta + Y_{Lj} \pi_L\bigr) + e_j, \qquad \pi_{L,m} = m

    Arm, friction, the rest of the load and all gains are fitted together by Gauss–Newton. With the noisy current on
    the left it is not a regressor, so gains are not biased low, and no bound is needed.

    Args:
        robot: the arm.
        loaded: a log of currents with the load.
        unloaded: a log of currents without it.
        mass: of the load, kg.
        drives: rotor inertia, when it is to be fitted.
        friction: names, or ``auto``.
        conditioning: of both logs; chosen from the unloaded one when None.

    Raises:
        RecordingError: a log has no currents, or both currents and torques.
        RegressionError: the mass is not positive, or some gain does not show.
    """
    if not (np.isfinite(mass) and mass > 0.0):
        raise RegressionError(f"the mass of the load is {mass:g} kg; it must be positive to set the scale of the gains")
    if robot.transmission is not None:
        raise RegressionError("gains of coupled drives cannot be found one by one; give them, or uncouple the wrist")
    samples = _conditioned(loaded, unloaded, conditioning or Conditioning())
    gains = np.ones(robot.n_dof)
    models: tuple[JointModel, ...] = friction_models(START)
    carried: Float[Array, " 10"] | None = None
    rigid = TorqueModel(robot, tuple(drives))
    rigid_base = base_parameters(rigid)
    for number in range(PASSES):
        if number == 1 and (needs_search(friction) or friction != START):
            rows = friction_rows(rigid, rigid_base, (_times(samples[1], gains),))
            models = choose_friction(rows, friction).models if needs_search(friction) else friction_models(friction)
        model = TorqueModel(robot, (*drives, *models))
        base = base_parameters(model)
        # Unit gains: the regression is that of currents.
        regression = loaded_regression(model, base, samples[:1], samples[1:], carried=carried)
        fit = _GaussNewton(regression, base.n_base, mass).run(gains)
        gains, carried = fit.gains, fit.z[base.n_base :]
        links = base.lift(fit.z[: base.n_base])[: model.n_inertial].reshape(-1, 10)
        models = tuple(joint_model.referred(links) for joint_model in models)
    wrong = [name for name, gain in zip(robot.joint_names, gains, strict=True) if not np.isfinite(gain) or gain <= 0.0]
    if wrong:
        raise RegressionError(
            f"the load does not show in the current of {', '.join(wrong)}; move it more, or load more"
        )
    std = np.sqrt(np.diag(fit.covariance))
    return DriveGains(robot.joint_names, gains, std, fit.covariance, fit.z[-N_LOAD:], models, fit.status)


def _conditioned(loaded: Recording, unloaded: Recording, conditioning: Conditioning) -> tuple[Samples, Samples]:
    """Samples of both logs with current (A) in the place of torque."""
    for log in (loaded, unloaded):
        if log.current is None:
            raise RecordingError(f"{log.source}: has no motor currents, so there are no drive gains to find")
        if log.tau is not None:
            raise RecordingError(f"{log.source}: has torques and currents; map one of them away")
    plan = conditioning.plan(unloaded)
    other = replace(conditioning, cutoff_hz=plan.low_pass.cutoff_hz).plan(loaded)
    return (
        other.apply(replace(loaded, tau=loaded.current, current=None)),
        plan.apply(replace(unloaded, tau=unloaded.current, current=None)),
    )


def _times(samples: Samples, gains: Float[Array, " n_dof"]) -> Samples:
    return replace(samples, segments=tuple(replace(s, tau=s.tau * gains) for s in samples.segments))


@dataclass(frozen=True, eq=False)
class _Fit:
    gains: Float[Array, " n_dof"]
    covariance: Float[Array, "n_dof n_dof"]
    z: Float[Array, " n_all"]
    status: Status


@dataclass(frozen=True, eq=False)
class _GaussNewton:
    """Residuals w_j (i_j − κ_j A_j z) on triangular factors; z are arm, friction and load, κ one over the gains."""

    regression: Regression
    n_base: int
    mass: float

    def run(self, gains: Float[Array, " n_dof"]) -> _Fit:
        """From a first guess of the gains, N·m/A."""
        factors = self.regression.joints
        kappa = 1.0 / gains
        weights = 1.0 / np.sqrt(np.maximum(self.regression.power() / self.regression.rows_per_joint(), 1e-30))
        z = self._linear(kappa, weights)
        status = Status.NOT_CONVERGED
        for _ in range(MAX_STEPS):
            A, b = self._jacobian(kappa, z, weights)
            scale = np.linalg.norm(A, axis=0)
            scale = np.where(scale > 0.0, scale, 1.0)
            step = (np.linalg.lstsq(A / scale, b, rcond=1e-11)[0] / scale)[-len(kappa) :]
            largest = float(np.max(np.abs(step / kappa)))
            kappa = kappa + step * min(1.0, LARGEST_STEP / largest)
            z = self._linear(kappa, weights)
            residual = [
                f.rho - kappa[j] * (f.R @ z[c])
                for j, (f, c) in enumerate(zip(factors, self.regression.visible, strict=True))
            ]
            noise = np.array([np.sqrt(r @ r / f.n_rows) for r, f in zip(residual, factors, strict=True)])
            weights = 1.0 / np.maximum(noise, 1e-9 * np.max(noise))
            if largest < SETTLED:
                status = Status.CONVERGED
                break
        return _Fit(1.0 / kappa, self._covariance(kappa, z, weights), z, status)

    def _linear(self, kappa: Float[Array, " n_dof"], weights: Float[Array, " n_dof"]) -> Float[Array, " n_all"]:
        """Arm, friction and load for given gains, the mass of the load known."""
        n_all = self.n_base + N_LOAD
        pieces, targets = [], []
        for j, (factor, columns) in enumerate(zip(self.regression.joints, self.regression.visible, strict=True)):
            piece = np.zeros((len(factor.rho), n_all))
            piece[:, columns] = factor.R * kappa[j] * weights[j]
            pieces.append(piece)
            targets.append(factor.rho * weights[j])
        A, b = np.vstack(pieces), np.concatenate(targets)
        b = b - A[:, self.n_base] * self.mass
        A = np.delete(A, self.n_base, axis=1)
        scale = np.linalg.norm(A, axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        return np.insert(np.linalg.lstsq(A / scale, b, rcond=1e-10)[0] / scale, self.n_base, self.mass)

    def _jacobian(
        self, kappa: Float[Array, " n_dof"], z: Float[Array, " n_all"], weights: Float[Array, " n_dof"]
    ) -> tuple[Float[Array, "n_rows n_unknown"], Float[Array, " n_rows"]]:
        n_all, n_dof = self.n_base + N_LOAD, len(kappa)
        pieces, targets = [], []
        for j, (factor, columns) in enumerate(zip(self.regression.joints, self.regression.visible, strict=True)):
            predicted = factor.R @ z[columns]
            piece = np.zeros((len(factor.rho), n_all + n_dof))
            piece[:, columns] = factor.R * kappa[j]
            piece[:, n_all + j] = predicted
            pieces.append(piece * weights[j])
            targets.append((factor.rho - kappa[j] * predicted) * weights[j])
        return np.delete(np.vstack(pieces), self.n_base, axis=1), np.concatenate(targets)

    def _covariance(
        self, kappa: Float[Array, " n_dof"], z: Float[Array, " n_all"], weights: Float[Array, " n_dof"]
    ) -> Float[Array, "n_dof n_dof"]:
        """Covariance of the gains, (N·m/A)², inflated as the residuals of the joint fit are correlated."""
        torque = replace(
            self.regression,
            blocks=tuple(
                tuple(_scaled(factor, 1.0 / kappa[j]) for j, factor in enumerate(block))
                for block in self.regression.blocks
            ),
        )
        inflation = uncertainty(torque, z, weights * kappa).inflation
        rows = self.regression.joints
        A = self._jacobian(kappa, z, weights)[0]
        each = np.repeat(inflation, [len(factor.rho) for factor in rows])
        scale = np.linalg.norm(A, axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        inverse = np.linalg.pinv(A / scale, rcond=1e-11)
        covariance = (inverse * each) @ inverse.T / np.outer(scale, scale)
        own = covariance[-len(kappa) :, -len(kappa) :]
        return own / np.outer(kappa**2, kappa**2)


def _scaled(factor: Factor, gain: float) -> Factor:
    """The factor with its last column, the current, turned into torque."""
    triangle = np.array(factor.triangle)
    triangle[:, -1] *= gain
    return Factor(triangle, factor.n_rows)
