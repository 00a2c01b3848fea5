"""An arm simulated forward under computed-torque control, as the one that [Sousa2013]_ was recorded on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.inertia import InertialParameters
from dynid.dynamics.kernels.chains import chain_arrays
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import ParameterError
from dynid.simulation.loop_kernels import simulate_loop
from dynid.simulation.motions import QuinticPath

__all__ = ["STEPPING", "Controller", "Stepping", "Tracked", "tracked", "wrong_links"]

N_NODES = 4001
"""Velocities at which the smooth part of friction is tabulated; odd, so that zero is one of them."""
TABLE_SPAN = 4.0
"""Range of that table, relative to the largest speed commanded; the curve goes on straight outside."""
PIECE = 2000
"""Samples simulated between two reports of progress."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Controller:
    r"""Feedback linearisation with a CAD model and proportional-derivative control, [Sousa2013]_ eq. (47).

    .. math::

        \tau_c = \tilde M(q)\,\alpha + \tilde c(q, \dot q) + \tilde g(q), \qquad
        \alpha = \ddot q_r + 2 \zeta \omega (\dot q_r - \dot q) + \omega^2 (q_r - q)

    It knows nothing of friction and rotor inertia. With the true model the error is a damped double integrator.
    """

    natural_frequency: float = 20.0
    """ω in rad/s; low gains keep high frequencies out of the torque."""
    damping_ratio: float = 1.0
    """ζ, dimensionless; 1 is critically damped."""
    nominal: Float[Array, "n_links 10"] | None = None
    """Inertial parameters it believes in, SI; None for the true ones with the error `wrong`."""
    wrong: float = 0.2
    """Error of masses, first moments and inertias where `nominal` is None, relative to the true ones, about."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        for name in ("natural_frequency", "damping_ratio", "wrong"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0.0):
                raise ParameterError(f"controller: {name} is {value}; it must be finite and not negative")
        if self.wrong >= 1.0:
            raise ParameterError(f"controller: wrong is {self.wrong}; below 1, or a mass could become negative")

    def belief(self, links: Float[Array, "n_links 10"], rng: np.random.Generator) -> Float[Array, "n_links 10"]:
        """The inertial parameters (SI) it computes torques with.

        Raises:
            ParameterError: for a `nominal` of another robot.
        """
        if self.nominal is None:
            return wrong_links(links, self.wrong, rng)
        if self.nominal.shape != links.shape:
            raise ParameterError(f"controller: nominal has shape {self.nominal.shape}, the arm {links.shape}")
        return np.array(self.nominal)


@dataclass(frozen=True, kw_only=True)
class Stepping:
    """How the simulation advances: Heun's method, second order, with dry friction implicit."""

    longest: float = 5e-4
    """Longest step in s; a whole number of them fits between two samples."""
    slip_speed: float = 1e-3
    """Speed in rad/s or m/s below which dry friction grows in proportion instead of being ±Fc."""

    def __post_init__(self) -> None:
        for name in ("longest", "slip_speed"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise ParameterError(f"stepping: {name} is {value}; it must be positive")


STEPPING = Stepping()
"""Steps that suit an arm."""


@dataclass(frozen=True, eq=False)
class Tracked:
    """What the arm did, and with which torque."""

    motion: Motion
    tau: Float[Array, "n_samples n_dof"]
    """Torque of the drives at the joints, N·m or N."""
    nominal: Float[Array, "n_links 10"]
    """Inertial parameters (SI) that the controller believed in."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


def wrong_links(
    links: Float[Array, "n_links 10"], relative: float, rng: np.random.Generator
) -> Float[Array, "n_links 10"]:
    r"""Inertial parameters (SI) with an error, still physically consistent where `links` are.

    Masses change by up to ±`relative`, and every body is stretched, sheared and shifted at random by as much of its
    own size: :math:`J' = (1 + \varepsilon)\, G J G^T` with the pseudo-inertia J and an affine map G.
    """
    changed = np.empty_like(links)
    for i, pi in enumerate(links):
        J = InertialParameters(pi).pseudo_inertia
        size = np.sqrt(max(np.trace(J[:3, :3]), 0.0) / J[3, 3]) if J[3, 3] > 0.0 else 0.0
        G = np.eye(4)
        G[:3, :3] += 0.25 * relative * rng.uniform(-1.0, 1.0, (3, 3))
        G[:3, 3] = 0.5 * relative * size * rng.uniform(-1.0, 1.0, 3)
        scale = 1.0 + relative * rng.uniform(-1.0, 1.0)
        changed[i] = InertialParameters.from_pseudo_inertia(scale * G @ J @ G.T).pi
    return changed


@dataclass(frozen=True, eq=False)
class _Resistance:
    """What joints add to rigid-body torque, split for the integrator."""

    rotor: Float[Array, " n_dof"]
    dry: Float[Array, " n_dof"]
    """Half the jump of the friction curve at zero velocity."""
    node: float
    """Distance of the table's velocities."""
    smooth: Float[Array, "n_dof n_nodes"]
    """The curve without its jump."""


def _resistance(model: TorqueModel, theta: Float[Array, " n_params"], fastest: float, slip_speed: float) -> _Resistance:
    """Split what the joint models add into rotor inertia, dry friction and a smooth curve over velocity.

    The jump at zero is read off the curve at ±s and ±2s, s the slip speed, extrapolated straight to zero.
    """
    own = theta[model.n_inertial :].reshape(model.n_dof, len(model.terms))

    def torque(position: float, velocity: Float[Array, " n_states"], push: float) -> Float[Array, "n_states n_dof"]:
        v = np.repeat(velocity[:, None], model.n_dof, axis=1)
        t = np.arange(len(v), dtype=float)
        columns = model.joint_columns(Motion(t, np.full_like(v, position), v, np.full_like(v, push)))
        return np.einsum("njt,jt->nj", columns, own)

    reach = max(TABLE_SPAN * fastest, N_NODES * slip_speed)
    v = np.linspace(-reach, reach, N_NODES)
    curve = torque(0.0, v, 0.0)
    rotor = (torque(0.0, v, 1.0) - curve)[N_NODES // 2]
    there = torque(1.0, v, 2.0)
    coupled = model.robot.transmission is not None
    if model.has_memory or coupled or not np.allclose(there, curve + 2.0 * rotor, rtol=1e-9, atol=1e-12):
        names = "+".join(joint_model.name for joint_model in model.joint_models)
        raise ParameterError(
            f"closed loop: {names} depends on more than velocity{' of its own joint' if coupled else ''}, which the "
            "forward simulation does not know; simulate open loop or choose other friction"
        )
    near = torque(0.0, slip_speed * np.array([-2.0, -1.0, 1.0, 2.0]), 0.0)
    dry = 0.5 * ((2.0 * near[2] - near[3]) - (2.0 * near[1] - near[0]))
    # Rounding leaves a jump of 1e-17 in smooth curves: not friction.
    dry = np.where(np.abs(dry) > 1e-12 * np.max(np.abs(curve), axis=0, initial=0.0), dry, 0.0)
    if np.min(dry, initial=0.0) < 0.0:
        joint = model.robot.joint_names[int(np.argmin(dry))]
        raise ParameterError(f"closed loop: dry friction of {joint} is negative and would drive the joint; make it ≥ 0")
    smooth = curve - np.clip(v / slip_speed, -1.0, 1.0)[:, None] * dry
    return _Resistance(rotor, dry, float(v[1] - v[0]), np.ascontiguousarray(smooth.T))


def tracked(
    model: TorqueModel,
    theta: Float[Array, " n_params"],
    commanded: Motion,
    controller: Controller,
    rng: np.random.Generator,
    *,
    stepping: Stepping = STEPPING,
    q_start: Float[Array, " n_dof"] | None = None,
    dq_start: Float[Array, " n_dof"] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Tracked:
    """The motion of the true arm under a controller that follows `commanded`, at the same times.

    Dry friction is set-valued at standstill and would chatter. Here it is ``Fc·clip(dq / slip_speed, −1, 1)`` and
    solved implicitly in every step (a convex problem), so joints come to rest, stay there and break loose without
    oscillation, whatever the step. Torque, motion and θ agree exactly where a joint is faster than the slip speed.

    Args:
        model: the true arm; its joint models may depend on velocity and acceleration only.
        theta: true parameters, SI, physically consistent.
        commanded: reference at uniform times.
        controller: gains and what it believes.
        rng: for the error of its belief.
        stepping: step and slip speed.
        q_start: where the arm starts, rad or m; on the reference where None.
        dq_start: how fast it starts, per s; as the reference where None.
        progress: told the fraction that is done, now and then.

    Raises:
        ParameterError: for an arm whose mass matrix is not positive definite, a loop that runs away, or friction
            that depends on more than velocity.
    """
    links = np.array(theta[: model.n_inertial]).reshape(model.n_dof, 10)
    nominal = controller.belief(links, rng)
    part = _resistance(model, theta, float(np.max(np.abs(commanded.dq), initial=0.0)), stepping.slip_speed)
    omega = controller.natural_frequency
    q, dq = np.empty_like(commanded.q), np.empty_like(commanded.q)
    ddq, tau = np.empty_like(q), np.empty_like(q)
    q[0] = commanded.q[0] if q_start is None else q_start
    dq[0] = commanded.dq[0] if dq_start is None else dq_start
    path = QuinticPath.through(commanded)
    n_steps = int(np.ceil(np.max(np.diff(commanded.t)) / stepping.longest - 1e-9))
    constant = (
        chain_arrays(model.robot), links, (part.rotor, part.dry, part.node, part.smooth, stepping.slip_speed),
        nominal, omega**2, 2.0 * controller.damping_ratio * omega,
    )  # fmt: skip
    end, last = 0, len(q) - 1
    for first in range(0, max(last, 1), PIECE):
        # Pieces share a row: the end of one is where the next starts, which writes it again.
        rows, spans = slice(first, first + PIECE + 1), slice(first, first + PIECE)
        end = simulate_loop(
            *constant, path.t[rows], path.coefficients[spans], n_steps, q[rows], dq[rows], ddq[rows], tau[rows]
        )
        if end:
            end += first if end > 0 else -first
            break
        if progress is not None:
            progress(min(first + PIECE, last) / max(last, 1))
    if end < 0:
        raise ParameterError(
            f"{model.robot.name}: the true mass matrix is not positive definite at {commanded.t[-end - 1]:.4f} s; "
            "these parameters are not physically consistent, see consistency()"
        )
    if end > 0:
        raise ParameterError(
            f"{model.robot.name}: the controlled arm runs away at {commanded.t[end - 1]:.4f} s; lower the natural "
            "frequency or give the controller a better model"
        )
    return Tracked(Motion(commanded.t, q, dq, ddq), tau, nominal)
