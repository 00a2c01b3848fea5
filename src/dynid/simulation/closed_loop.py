"""An arm simulated forward under computed-torque control, as the one that [Sousa2013]_ was recorded on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from numba import njit

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.inertia import InertialParameters
from dynid.dynamics.kernels.batch import chain_arrays, newton_euler
from dynid.dynamics.kernels.forward import cholesky, cholesky_solve, mass_and_bias
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import ParameterError
from dynid.simulation.motions import QuinticPath

__all__ = ["STEPPING", "Controller", "Stepping", "Tracked", "released", "tracked", "wrong_links"]

N_NODES = 4001
"""Velocities at which the smooth part of friction is tabulated; odd, so that zero is one of them."""
TABLE_SPAN = 4.0
"""Range of that table, relative to the largest speed commanded; the curve goes on straight outside."""
RUNAWAY = 1e4
"""A velocity (rad/s or m/s) that no arm reaches: the loop is unstable."""
NEWTON_STEPS = 60
BISECTIONS = 60
SETTLED = 1e-13
"""Step of the dry-friction solver at which it stops, relative to the velocities."""

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
    r"""Inertial parameters (SI) with an error, still physically possible where `links` are.

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
    """The motion of the true arm under a controller that follows `commanded`, at the same instants.

    Dry friction is set-valued at standstill and would chatter. Here it is ``Fc·clip(dq / slip_speed, −1, 1)`` and
    solved implicitly in every step (a convex problem), so joints come to rest, stay there and break loose without
    oscillation, whatever the step. Torque, motion and θ agree exactly where a joint is faster than the slip speed.

    Args:
        model: the true arm; its joint models may depend on velocity and acceleration only.
        theta: true parameters, SI, physically possible.
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
        end = _simulate(
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
            "no arm has these parameters, see consistency()"
        )
    if end > 0:
        raise ParameterError(
            f"{model.robot.name}: the controlled arm runs away at {commanded.t[end - 1]:.4f} s; lower the natural "
            "frequency or give the controller a better model"
        )
    return Tracked(Motion(commanded.t, q, dq, ddq), tau, nominal)


def released(
    model: TorqueModel,
    theta: Float[Array, " n_params"],
    t: Float[Array, " n_samples"],
    q_start: Float[Array, " n_dof"],
    dq_start: Float[Array, " n_dof"],
    *,
    stepping: Stepping = STEPPING,
) -> Motion:
    """The motion of the arm left to itself, without any drive torque, from a state in rad or m and per s."""
    still = np.repeat(q_start[None], len(t), axis=0)
    nothing = Controller(nominal=np.zeros((model.n_dof, 10)))
    unmoved = Motion(t, still, np.zeros_like(still), np.zeros_like(still))
    rng = np.random.default_rng(0)
    free = tracked(model, theta, unmoved, nothing, rng, stepping=stepping, q_start=q_start, dq_start=dq_start)
    return free.motion


@njit(cache=True, nogil=True)
@no_type_check
def _command(chain, nominal, stiffness, damping, c, s, q, dq, tau):
    """Torque of the controller at time s into an interval whose reference is the quintic c."""
    n_dof = q.shape[0]
    rows, wrench = np.empty((4, 1, n_dof)), np.empty((1, n_dof, 6))
    for j in range(n_dof):
        reference = ((((c[5, j] * s + c[4, j]) * s + c[3, j]) * s + c[2, j]) * s + c[1, j]) * s + c[0, j]
        speed = (((5.0 * c[5, j] * s + 4.0 * c[4, j]) * s + 3.0 * c[3, j]) * s + 2.0 * c[2, j]) * s + c[1, j]
        push = ((20.0 * c[5, j] * s + 12.0 * c[4, j]) * s + 6.0 * c[3, j]) * s + 2.0 * c[2, j]
        rows[0, 0, j], rows[1, 0, j] = q[j], dq[j]
        rows[2, 0, j] = push + damping * (speed - dq[j]) + stiffness * (reference - q[j])
    newton_euler(chain, rows[0], rows[1], rows[2], nominal, 0, 1, rows[3], wrench)
    for j in range(n_dof):
        tau[j] = rows[3, 0, j]


@njit(cache=True, nogil=True)
@no_type_check
def _smooth(node, smooth, v):
    """The smooth part of friction at velocity v, linear between the nodes of the table and beyond its ends."""
    half = (smooth.shape[0] - 1) // 2
    place = v / node + half
    k = min(max(int(np.floor(place)), 0), smooth.shape[0] - 2)
    return smooth[k] + (place - k) * (smooth[k + 1] - smooth[k])


@njit(cache=True, nogil=True)
@no_type_check
def _push(resistance, tau, bias, dq, force):
    """Force that accelerates the arm, dry friction left out."""
    _, _, node, smooth, _ = resistance
    for j in range(dq.shape[0]):
        force[j] = tau[j] - bias[j] - _smooth(node, smooth[j], dq[j])


@njit(cache=True, nogil=True)
@no_type_check
def _share(rest, Mstep, v, step, h, dry, slip):
    """The share of a step, at most 1, at which the convex function of `_rub` is least along it."""
    low, high, share = 0.0, 1.0, 1.0
    for _ in range(BISECTIONS):
        slope, size = 0.0, 0.0
        for i in range(v.shape[0]):
            friction = h * dry[i] * min(max((v[i] + share * step[i]) / slip, -1.0), 1.0)
            slope += step[i] * (rest[i] + share * Mstep[i] + friction)
            size += abs(step[i]) * (abs(rest[i]) + abs(Mstep[i]) + abs(friction))
        if abs(slope) <= SETTLED * size or (share == 1.0 and slope < 0.0):
            break
        if slope < 0.0:
            low = share
        else:
            high = share
        share = 0.5 * (low + high)
    return share


@njit(cache=True, nogil=True)
@no_type_check
def _rub(M, free, h, dry, slip, v):
    """Velocity after dry friction: minimise ½(v − free)ᵀM(v − free) + h Σ Φ(v), Φ' = dry·clip(v / slip, −1, 1).

    Newton's method with exact line search on a strongly convex, piecewise quadratic function; v holds the start and
    becomes the solution.
    """
    n = v.shape[0]
    if np.max(dry) == 0.0:
        v[:] = free
        return
    H, step, rest, Mstep = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n)
    for _ in range(NEWTON_STEPS):
        H[:] = M
        for i in range(n):
            rest[i] = 0.0
            for j in range(n):
                rest[i] += M[i, j] * (v[j] - free[j])
            step[i] = -rest[i] - h * dry[i] * min(max(v[i] / slip, -1.0), 1.0)
            if abs(v[i]) < slip:
                H[i, i] += h * dry[i] / slip
        cholesky(H)
        cholesky_solve(H, step)
        for i in range(n):
            Mstep[i] = 0.0
            for j in range(n):
                Mstep[i] += M[i, j] * step[j]
        share = _share(rest, Mstep, v, step, h, dry, slip)
        for i in range(n):
            v[i] += share * step[i]
        if share * np.max(np.abs(step)) <= SETTLED * (slip + np.max(np.abs(v))):
            return


@njit(cache=True, nogil=True)
@no_type_check
def _simulate(
    chain, links, resistance, nominal, stiffness, damping, t, coefficients, n_steps, q_out, dq_out, ddq_out, tau_out
):
    """Fill the motion from its first row on; 0 where all went well, k + 1 for a runaway and −k − 1 for no mass at k."""
    rotor, dry, _, _, slip = resistance
    n_samples, n_dof = q_out.shape
    M0, M1 = np.empty((n_dof, n_dof)), np.empty((n_dof, n_dof))
    factor, bias, tau = np.empty((n_dof, n_dof)), np.empty(n_dof), np.empty(n_dof)
    a0, a1 = np.empty(n_dof), np.empty(n_dof)
    q, dq = q_out[0].copy(), dq_out[0].copy()
    q1, v1 = np.empty(n_dof), np.empty(n_dof)
    for k in range(n_samples):
        last = k == n_samples - 1
        c = coefficients[min(k, n_samples - 2)]
        h = (t[min(k, n_samples - 2) + 1] - t[min(k, n_samples - 2)]) / n_steps
        for step in range(1 if last else n_steps):
            _command(chain, nominal, stiffness, damping, c, (n_steps if last else step) * h, q, dq, tau)
            mass_and_bias(chain, q, dq, links, rotor, M0, bias)
            _push(resistance, tau, bias, dq, a0)
            factor[:] = M0
            if not cholesky(factor):
                return -k - 1
            if step == 0:
                for j in range(n_dof):
                    a1[j] = a0[j] - dry[j] * min(max(dq[j] / slip, -1.0), 1.0)
                cholesky_solve(factor, a1)
                q_out[k], dq_out[k], ddq_out[k], tau_out[k] = q, dq, a1, tau
            if last:
                break
            cholesky_solve(factor, a0)
            v1[:] = dq
            _rub(M0, dq + h * a0, h, dry, slip, v1)
            q1[:] = q + 0.5 * h * (dq + v1)
            _command(chain, nominal, stiffness, damping, c, (step + 1) * h, q1, v1, tau)
            mass_and_bias(chain, q1, v1, links, rotor, M1, bias)
            _push(resistance, tau, bias, v1, a1)
            factor[:] = M1
            if not cholesky(factor):
                return -k - 1
            cholesky_solve(factor, a1)
            _rub(0.5 * (M0 + M1), dq + 0.5 * h * (a0 + a1), h, dry, slip, v1)
            q += 0.5 * h * (dq + v1)
            dq[:] = v1
            if not np.max(np.abs(dq)) < RUNAWAY:
                return k + 1
    return 0
