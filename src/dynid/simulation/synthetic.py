"""A recording with known truth: any robot, any motion, friction, noise, open or closed loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from dynid.arrays import Array, Float, freeze_arrays
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion, random_motion
from dynid.errors import MotionError, ParameterError, RecordingError, UnknownName
from dynid.recording.recording import Recording
from dynid.simulation.closed_loop import STEPPING, Controller, Stepping, tracked
from dynid.simulation.motions import QuinticPath
from dynid.simulation.sensors import EXACT, SensorModel

__all__ = ["Synthetic", "plausible_parameters", "synthesise", "with_values"]


@dataclass(frozen=True, eq=False)
class Synthetic:
    """A log and the truth behind it, at the samples of the log."""

    recording: Recording
    """What the log says."""
    model: TorqueModel
    """The true arm."""
    theta: Float[Array, " n_params"]
    """True parameters, order ``model.columns``, SI."""
    motion: Motion
    """What the arm did, exactly, when samples were taken."""
    tau: Float[Array, "n_samples n_dof"]
    """Exact torque of the drives at those times, N·m or N; not delayed."""
    commanded: Motion
    """What was asked for, at those times: open loop, the same as `motion`."""
    nominal: Float[Array, "n_links 10"] | None
    """Inertial parameters (SI) that the controller believed in; None in open loop."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __repr__(self) -> str:
        loop = "open loop" if self.nominal is None else "closed loop"
        return f"Synthetic({self.model.robot.name!r}, {loop}: {self.recording!r})"

    @property
    def tracking_error(self) -> Float[Array, " n_dof"]:
        """RMS of commanded minus actual position, rad or m; zero in open loop."""
        return np.sqrt(np.mean((self.commanded.q - self.motion.q) ** 2, axis=0))


def plausible_parameters(model: TorqueModel, *, values: Mapping[str, float] | None = None) -> Float[Array, " n_params"]:
    """Nominal inertias, and friction in proportion to the torques that the robot needs (SI).

    Every term makes its own `share` of the RMS torque of random motion where it acts (viscous friction 5 %, dry
    friction 10 %, rotor inertia none), of alternating sign where it may be negative. The same for every recording of a
    robot.

    Args:
        model: the arm with its friction.
        values: entries to be others, as in `with_values`.
    """
    theta = model.nominal()
    motion = random_motion(model.robot, 400, np.random.default_rng(0))
    rigid = np.sqrt(np.mean(TorqueModel(model.robot).torque(motion, theta[: model.n_inertial]) ** 2, axis=0))
    columns = model.joint_columns(motion)
    acting = np.count_nonzero(columns, axis=0)
    effect = np.sqrt(np.sum(columns**2, axis=0) / np.maximum(acting, 1))
    sign = np.where(np.arange(model.n_dof) % 2 == 0, 1.0, -1.0)
    for k, term in enumerate(model.terms):
        # Where the parameter is itself a torque it is the height of its curve, whatever part of that is reached.
        size = term.share * rigid / (1.0 if term.is_height else np.maximum(effect[:, k], 1e-12))
        theta[model.n_inertial + k :: len(model.terms)] = np.where(acting[:, k], size, 0.0) * (
            1.0 if term.nonnegative else sign
        )
    return with_values(model, theta, values or {})


def with_values(
    model: TorqueModel, theta: Float[Array, " n_params"], values: Mapping[str, float]
) -> Float[Array, " n_params"]:
    """θ with some entries changed (SI), by symbol: ``fv3``, ``m1``, or ``fv`` for all joints.

    Raises:
        UnknownName: offering the nearest symbol.
        ParameterError: for a value that is not finite, or negative where physics forbids it.
    """
    changed = np.array(theta)
    nonnegative = {term.symbol: term.nonnegative for term in model.terms}
    for name, value in values.items():
        symbols = [f"{name}{number}" for number in range(1, model.n_dof + 1)] if name in nonnegative else [name]
        if not np.isfinite(value):
            raise ParameterError(f"{name} is {value}; it must be finite")
        if value < 0.0 and nonnegative.get(name.rstrip("0123456789"), False):
            raise ParameterError(f"{name} is {value:g}; friction and rotor inertia cannot be negative")
        for symbol in symbols:
            if symbol not in model.symbols:
                raise UnknownName(name, known=(*nonnegative, *model.symbols), kind="parameter")
            changed[model.index(symbol)] = value
    return changed


def synthesise(
    model: TorqueModel,
    commanded: Motion,
    rng: np.random.Generator,
    *,
    theta: Float[Array, " n_params"] | None = None,
    sensors: SensorModel = EXACT,
    controller: Controller | None = None,
    stepping: Stepping = STEPPING,
    source: str = "simulated",
    progress: Callable[[float], None] | None = None,
) -> Synthetic:
    """A log of the arm on a commanded motion, with the truth behind it.

    Open loop the arm does exactly what is commanded, and the torque is the exact one of that motion. Closed loop the
    arm is simulated forward under a controller, so the motion is not the one asked for.

    Args:
        model: the true arm with its friction.
        commanded: the motion asked for, at uniform times.
        rng: the only source of randomness.
        theta: true parameters (SI), `plausible_parameters` where None.
        sensors: errors of the log.
        controller: None for open loop.
        stepping: how the closed loop advances.
        source: name of the log.
        progress: told the fraction of a closed loop that is done.

    Raises:
        MotionError: for a motion of another robot, or fewer than two samples.
        ParameterError: for parameters no arm can have, or a loop that runs away.
        RecordingError: for sensors that do not fit the motion.
    """
    if commanded.n_dof != model.n_dof:
        raise MotionError(
            f"the motion has {commanded.n_dof} joints but {model.robot.name} has {model.n_dof}: "
            f"{', '.join(model.robot.joint_names)}"
        )
    if sensors.drive_gains is not None and len(sensors.drive_gains) != model.n_dof:
        raise RecordingError(f"{len(sensors.drive_gains)} drive gains for {model.n_dof} joints; give one for each")
    truth = plausible_parameters(model) if theta is None else np.array(theta, dtype=float)
    if truth.shape != (model.n_params,):
        raise ParameterError(f"θ must have {model.n_params} entries (see columns), got shape {truth.shape}")
    path = QuinticPath.through(commanded)
    clock = sensors.clock(commanded.t, rng)
    asked = path.at(clock.taken)
    nominal = None
    if controller is None:
        motion, tau = asked, model.torque(asked, truth)
        # Evaluated at the earlier times, not interpolated: dry friction jumps between samples.
        late = tau if sensors.delay == 0.0 else model.torque(path.at(clock.taken - sensors.delay), truth)
    else:
        run = tracked(model, truth, commanded, controller, rng, stepping=stepping, progress=progress)
        nominal = run.nominal
        torque = CubicSpline(commanded.t, run.tau)
        motion, tau = QuinticPath.through(run.motion).at(clock.taken), torque(clock.taken)
        late = torque(np.clip(clock.taken - sensors.delay, commanded.t[0], commanded.t[-1]))
    recording = _logged(model, sensors, clock.stamps, motion, late, rng, source)
    return Synthetic(recording, model, truth, motion, tau, asked, nominal)


def _logged(
    model: TorqueModel,
    sensors: SensorModel,
    stamps: Float[Array, " n_samples"],
    motion: Motion,
    tau: Float[Array, "n_samples n_dof"],
    rng: np.random.Generator,
    source: str,
) -> Recording:
    q = sensors.measured_q(motion.q, tuple(joint.type for joint in model.robot.joints), rng)
    dq = sensors.measured_dq(stamps, q, motion.dq, rng)
    effort = sensors.measured_tau(tau, rng)
    gains = sensors.drive_gains
    return Recording(
        model.robot.joint_names,
        stamps,
        q,
        dq=dq,
        tau=effort if gains is None else None,
        current=None if gains is None else effort / np.array(gains),
        source=source,
    )
