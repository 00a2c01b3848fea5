r"""Contact: the generalised-momentum observer on the identified model, external joint torque and collision flag.

With :math:`p = M(q)\dot q` the momentum obeys :math:`\dot p = \tau - \tau_f + C^T\dot q - g + \tau_{ext}`, so

.. math::

    r = K \left( p - p_0 - \int (\tau - \tau_f + C^T \dot q - g + r)\,dt \right)

is the external torque behind a first-order low-pass with time constant 1/K; no acceleration is needed [DeLuca2005]_.
One outward pass gives the velocities, one inward pass the momenta :math:`h_j` that each joint carries; then
:math:`p_j = S_j^T h_j` and :math:`(C^T \dot q)_j = \partial T/\partial q_j = h_j^T (v_j \times S_j)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, no_type_check

import numpy as np

from dynid.arrays import Array, Bool, Float, Transform, freeze_arrays
from dynid.dynamics.kernels.bound import run_kernel
from dynid.dynamics.kernels.stored import njit
from dynid.dynamics.model import TorqueModel
from dynid.errors import TrackingError
from dynid.tracking.bundles import WATCH
from dynid.tracking.rows import RowArrays, Work, _move, needs_columns, pass_on, place, row_arrays, work_for
from dynid.tracking.samples import Sample
from dynid.tracking.terms import JointTerms, add_joint_terms

SETTLED = 3.0
"""Time constants after which the observer has forgotten how it started."""
PAUSE = 5.0
"""Time between samples, over the time constant, after which the observer starts afresh."""

__all__ = ["ContactObserver", "ContactReading", "MomentumObserver", "inertia_matrix", "momentum"]


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def momentum(a, q, dq, theta, w, out):
    """Rows of out: p = M dq, C(q, dq)ᵀ dq and g(q) of the bodies alone, without joint terms."""
    parent, joint, column, Ss, gravity = a.parent, a.joint, a.column, a.S, a.gravity
    cos, sin, linear, constant = a.pose_cos, a.pose_sin, a.pose_linear, a.pose_constant
    Es, Vs, Xs, fs = w.E, w.V, w.X, w.f
    n_bodies = parent.shape[0]
    for i in range(n_bodies):
        j, c = joint[i], column[i]
        E, V, f = Es[i], Vs[i], fs[i]
        place(j >= 0, q[j] if j >= 0 else 0.0, cos[i], sin[i], linear[i], constant[i], E)
        if parent[i] < 0:
            for r in range(6):
                V[r] = 0.0
            for r in range(3):
                V[6 + r] = -(E[r] * gravity[0] + E[3 + r] * gravity[1] + E[6 + r] * gravity[2])
        else:
            up = Vs[parent[i]]
            _move(E, up, V, 0)
            for r in range(3):
                V[6 + r] = E[r] * up[6] + E[3 + r] * up[7] + E[6 + r] * up[8]
        if j >= 0:
            for r in range(6):
                V[r] += Ss[i, r] * dq[j]
        h = Xs[i]
        for r in range(6):
            f[r], h[r] = 0.0, 0.0
        if c >= 0:
            _momenta(theta[c : c + 10], V, h, f)
    for i in range(n_bodies - 1, -1, -1):
        j, S, V, h, f = joint[i], Ss[i], Vs[i], Xs[i], fs[i]
        if j >= 0:
            p, g = 0.0, 0.0
            for r in range(6):
                p += S[r] * h[r]
                g += S[r] * f[r]
            lift = h[0] * (V[4] * S[2] - V[5] * S[1] + V[1] * S[5] - V[2] * S[4])
            lift += h[1] * (V[5] * S[0] - V[3] * S[2] + V[2] * S[3] - V[0] * S[5])
            lift += h[2] * (V[3] * S[1] - V[4] * S[0] + V[0] * S[4] - V[1] * S[3])
            lift += h[3] * (V[4] * S[5] - V[5] * S[4])
            lift += h[4] * (V[5] * S[3] - V[3] * S[5])
            lift += h[5] * (V[3] * S[4] - V[4] * S[3])
            out[0, j], out[1, j], out[2, j] = p, lift, g
        if parent[i] >= 0:
            pass_on(Es[i], h, Xs[parent[i]])
            pass_on(Es[i], f, fs[parent[i]])


def inertia_matrix(
    a: RowArrays, q: Float[Array, " n_dof"], theta: Float[Array, " n_params"], w: Work
) -> Float[Array, "n_dof n_dof"]:
    """Inertia matrix of the bodies alone (kg·m² or kg), without rotors."""
    M, out = np.zeros((len(q), len(q))), np.zeros((3, len(q)))
    for i, unit in enumerate(np.eye(len(q))):
        run_kernel(WATCH, momentum, a, q, unit, theta, w, out)
        M[:, i] = out[0]
    return M


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _momenta(pi, V, h, f):
    """Linear and angular momentum of a body at velocity V[:6], and the wrench that holds it against V[6:9]."""
    m, l0, l1, l2 = pi[0], pi[1], pi[2], pi[3]
    v0, v1, v2, w0, w1, w2 = V[0], V[1], V[2], V[3], V[4], V[5]
    h[0] = m * v0 + w1 * l2 - w2 * l1
    h[1] = m * v1 + w2 * l0 - w0 * l2
    h[2] = m * v2 + w0 * l1 - w1 * l0
    h[3] = pi[4] * w0 + pi[5] * w1 + pi[7] * w2 + l1 * v2 - l2 * v1
    h[4] = pi[5] * w0 + pi[6] * w1 + pi[8] * w2 + l2 * v0 - l0 * v2
    h[5] = pi[7] * w0 + pi[8] * w1 + pi[9] * w2 + l0 * v1 - l1 * v0
    f[0], f[1], f[2] = m * V[6], m * V[7], m * V[8]
    f[3], f[4], f[5] = l1 * V[8] - l2 * V[7], l2 * V[6] - l0 * V[8], l0 * V[7] - l1 * V[6]


T_LAST, T_START, N_CALIBRATED = range(3)
"""Places of the running numbers: time now and at the start (s), samples in the calibration."""


class ObserverState(NamedTuple):
    """What the observer remembers, one number a joint."""

    out: Array
    """(3, n_dof) p, −τ_f + Cᵀdq − g, and scratch."""
    offset: Array
    integral: Array
    before: Array
    torque: Array
    squares: Array
    """Sum of the squared external torque while calibrating."""
    numbers: Array


@njit(cache=True, nogil=True)
@no_type_check
def drive_and_momentum(a, q, dq, theta, rotor, w, out):
    """Rows of out: p with the rotors, and −τ_f + Cᵀdq − g."""
    momentum(a, q, dq, theta, w, out)
    n_terms = rotor.shape[0]
    for j in range(q.shape[0]):
        w.z[j] = 0.0
    # A rotor's term multiplies the acceleration; its momentum is counted instead.
    add_joint_terms(a, dq, dq, theta, w)
    for j in range(q.shape[0]):
        friction = w.z[j]
        for k in range(n_terms):
            if rotor[k] > 0.0:
                for motor in range(q.shape[0]):
                    column = a.term_first + motor * n_terms + k
                    turning = theta[column] * w.Y[a.term_row[j], column]
                    friction -= turning
                    out[0, j] += turning
        out[1, j] += -friction - out[2, j]


@njit(cache=True, nogil=True)
@no_type_check
def observe(a, w, s, theta, rotor, settings, t, q, dq, tau):
    """One sample; False where a value is not finite or time does not go on."""
    n, good = q.shape[0], np.isfinite(t) and not t <= s.numbers[T_LAST]
    for j in range(n):
        good = good and np.isfinite(q[j]) and np.isfinite(dq[j]) and np.isfinite(tau[j])
    if not good:
        return False
    K, dt = settings[0], t - s.numbers[T_LAST]
    drive_and_momentum(a, q, dq, theta, rotor, w, s.out)
    fresh = np.isnan(s.numbers[T_START])
    if fresh:
        s.numbers[T_START] = t
    for j in range(n):
        drive = s.out[1, j] + tau[j]
        if fresh or dt > PAUSE / K:
            # A long pause says nothing about what happened in it: start afresh.
            s.offset[j], s.integral[j], s.torque[j] = s.out[0, j], 0.0, 0.0
        else:
            # Implicit in r, so that any sampling rate is stable.
            s.integral[j] += dt * 0.5 * (drive + s.before[j])
            s.torque[j] = K * (s.out[0, j] - s.offset[j] - s.integral[j]) / (1.0 + K * dt)
            s.integral[j] += dt * s.torque[j]
        s.before[j] = drive
    s.numbers[T_LAST] = t
    age = t - s.numbers[T_START]
    if SETTLED / K < age < settings[1]:
        s.numbers[N_CALIBRATED] += 1.0
        for j in range(n):
            s.squares[j] += s.torque[j] * s.torque[j]
    return True


@dataclass(frozen=True, eq=False)
class ContactReading:
    """What the observer sees at one sample."""

    t: float
    """Time in s."""
    torque: Float[Array, " n_dof"]
    """External joint torque, N·m or N."""
    beyond: Bool[Array, " n_dof"]
    """Joints whose external torque exceeds its threshold."""

    @property
    def collision(self) -> bool:
        """Whether any joint does."""
        return bool(np.any(self.beyond))

    def __repr__(self) -> str:
        largest = float(np.max(np.abs(self.torque), initial=0.0))
        touched = f"touched at joints {np.flatnonzero(self.beyond) + 1}" if self.collision else "free"
        return f"ContactReading({self.t:.3f} s, {touched}, external torque up to {largest:.3g} N·m)"


@dataclass(frozen=True, eq=False, kw_only=True)
class ContactObserver:
    """Options of the momentum observer."""

    model: TorqueModel
    noise: Float[Array, " n_dof"]
    """Standard deviation of the measured torque, N·m or N."""
    gain: float = 60.0
    """K in 1/s: the observer follows an external torque with time constant 1/K."""
    level: float = 8.0
    """Threshold over the standard deviation of the external torque in free motion (dimensionless)."""
    floor: float = 0.3
    """Smallest threshold in N·m or N, for what the model misses."""
    calibration: float = 1.0
    """Time in s of free motion at the start, over which that deviation is measured; 0 takes it from `noise`."""
    carrier: int = -1
    """Index of the link that carries the load."""
    T_carrier_load: Transform = field(default_factory=lambda: np.eye(4))
    """Load frame in that link's frame."""

    def __repr__(self) -> str:
        return f"ContactObserver({self.model.robot.name}, gain {self.gain:g} 1/s, level {self.level:g} σ)"

    def __post_init__(self) -> None:
        freeze_arrays(self)
        if not self.gain > 0.0 or not self.level > 0.0:
            raise TrackingError("gain and level of the contact observer must be above zero")
        if self.noise.shape != (self.model.n_dof,):
            raise TrackingError(f"{self.model.n_dof} joints but {len(self.noise)} torque noise levels")

    def start(self, theta: Float[Array, " n_params"], load: Float[Array, " 10"] | None = None) -> MomentumObserver:
        """A running observer for parameters θ and a load (SI)."""
        return MomentumObserver(self, np.concatenate([theta, np.zeros(10) if load is None else load]))

    def restarted(self, running: MomentumObserver, theta: Float[Array, " n_columns"]) -> MomentumObserver:
        """The same observer from zero with other parameters (SI, load included), thresholds kept."""
        fresh = MomentumObserver(self, theta)
        fresh.adopt(running)
        return fresh


class MomentumObserver:
    """The observer as it runs, one sample at a time; needs q, dq and torque."""

    def __init__(self, options: ContactObserver, theta: Float[Array, " n_columns"]) -> None:
        self.options, self.theta = options, np.array(theta)
        model, n = options.model, options.model.n_dof
        active = np.zeros(len(theta), dtype=bool)
        carrier = options.carrier % n
        self._rows = row_arrays(
            model, ("torque",), carrier=carrier, T_carrier_load=options.T_carrier_load, active_columns=active
        )
        self._work = work_for(self._rows, len(theta))
        self._terms = JointTerms(model)
        self._rotor = np.array([float(term.is_inertia) for term in model.terms])
        self._state = ObserverState(
            np.zeros((3, n)), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(3)
        )
        self._state.numbers[T_LAST], self._state.numbers[T_START] = -np.inf, np.nan
        self._q, self._dq, self._tau = np.zeros((3, n))

    def __repr__(self) -> str:
        return f"MomentumObserver({self._reading()!r})"

    @property
    def torque(self) -> Float[Array, " n_dof"]:
        """External torque now, N·m or N."""
        return self._state.torque.copy()

    @property
    def calibrating(self) -> bool:
        """Whether the free motion at the start is still being measured."""
        last, start = self._state.numbers[T_LAST], self._state.numbers[T_START]
        return bool(np.isnan(start) or last - start < self.options.calibration)

    @property
    def threshold(self) -> Float[Array, " n_dof"]:
        """External torque (N·m or N) beyond which a joint is touched."""
        count = self._state.numbers[N_CALIBRATED]
        std = np.sqrt(self._state.squares / count) if count else 0.3 * self.options.noise
        return np.maximum(self.options.level * std, self.options.floor)

    def adopt(self, other: MomentumObserver) -> None:
        """Take over the clock, the thresholds and the friction's memory of another observer."""
        self._terms = other._terms
        self._state.numbers[T_START:] = other._state.numbers[T_START:]
        self._state.squares[:] = other._state.squares

    def retune(self, theta: Float[Array, " n_columns"], sample: Sample) -> None:
        """Go on with other parameters (SI); the momentum they differ by is no contact."""
        if sample.dq is None or np.isnan(self._state.numbers[T_START]):
            self.theta[:] = theta
            return
        self._q[:], self._dq[:] = sample.q, sample.dq
        shift = np.zeros(len(self._q))
        for sign, values in ((-1.0, self.theta), (1.0, np.array(theta))):
            drive_and_momentum(self._rows, self._q, self._dq, values, self._rotor, self._work, self._state.out)
            shift += sign * self._state.out[0]
        self._state.offset[:] += shift
        self.theta[:] = theta

    def step(self, sample: Sample) -> ContactReading:
        """The external torque (N·m or N) after one sample; a sample with a value missing changes nothing.

        Raises:
            TrackingError: no velocity or torque is measured at all.
        """
        if sample.dq is None or sample.tau is None:
            raise TrackingError("the contact observer needs velocities and torques; log dq and tau")
        self._q[:], self._dq[:], self._tau[:] = sample.q, sample.dq, sample.tau
        self._fill_terms()
        observe(
            self._rows,
            self._work,
            self._state,
            self.theta,
            self._rotor,
            self._settings,
            float(sample.t),
            self._q,
            self._dq,
            self._tau,
        )
        return self._reading()

    @property
    def _settings(self) -> Float[Array, " 2"]:
        return np.array([self.options.gain, self.options.calibration])

    def _reading(self) -> ContactReading:
        torque = self.torque
        beyond = np.zeros(len(torque), dtype=bool) if self.calibrating else np.abs(torque) > self.threshold
        return ContactReading(float(self._state.numbers[T_LAST]), torque, beyond)

    def _fill_terms(self) -> None:
        if needs_columns(self._rows):
            terms = self._terms.at(self._q, self._dq, np.zeros(len(self._q)))
            if terms is not None:
                self._work.terms[:] = terms
