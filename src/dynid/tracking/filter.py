r"""The constrained extended Kalman filter: parameters inside their bounds, from torques and wrenches, sample by sample.

The state is mapped to parameters by sigmoids or log-Cholesky numbers, the parameters enter the measurement linearly,
so the regressor times the slope of the map is the measurement Jacobian (eq. 16 of [Joukov2015]_):

.. math::

    z_t = Y(q_t, \dot q_t, \ddot q_t)\,\theta(x_t) + v_t, \qquad x_{t+1} = x_t + w_t, \quad w_t \sim N(0, k_t 1)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import stats

from dynid.arrays import Array, Bool, Float, Transform, freeze_arrays
from dynid.dynamics.kernels.bound import BoundKernel, run_kernel
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion, random_motion
from dynid.errors import MotionError, TrackingError
from dynid.prose import counted
from dynid.tracking import core, factors
from dynid.tracking.arm_cone import ArmCone
from dynid.tracking.bundles import ARM
from dynid.tracking.factors import absorb_row, add_noise, state_std, triangular_factors, upper_triangle
from dynid.tracking.row_filter import low_pass_weights, rows_every
from dynid.tracking.rows import MEASUREMENTS, Measurement, RowArrays, needs_columns, row_arrays
from dynid.tracking.samples import (
    CHECKED_SAMPLES,
    History,
    ProcessNoise,
    Sample,
    SampleOutcome,
    TrackedParameters,
    refuse_wrong_sizes,
)
from dynid.tracking.state_kernels import evaluate_map
from dynid.tracking.state_map import StateMap
from dynid.tracking.terms import JointTerms
from dynid.tracking.visibility import unseen_states

__all__ = ["ConstrainedFilter", "Tracker"]

NIS_WINDOW = 500
"""Samples over which the health of the filter is judged."""
LARGEST_ECHO = 0.99
"""Largest correlation of neighbouring innovations that is believed: beyond it a log holds no independent samples."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ConstrainedFilter:
    """What is estimated from what; `start` makes the filter that runs."""

    model: TorqueModel
    state: StateMap
    noise: Float[Array, " n_rows"]
    """Standard deviation of every measured row, N·m or N: torques, then base wrench, then tool wrench."""
    measure: tuple[Measurement, ...] = ("torque",)
    """Any of `MEASUREMENTS`, stacked in that order; wrenches as `TorqueModel.base_wrench` defines them."""
    process_noise: ProcessNoise = field(default_factory=ProcessNoise)
    carry: Literal["parameters", "state"] = "parameters"
    """Whose covariance stays when a sigmoid's slope changes. ``parameters``: what was measured stays true, as the
    measurement is linear in them; the better steady state. ``state``: as in the paper; quicker away from a bound."""
    initial_std: float = 1.0
    """Of every state (dimensionless); P₀ = I in the paper."""
    correlation: Float[Array, "n_state n_state"] | None = None
    """Correlations of the states at the start (dimensionless); None for none."""
    learnt: Float[Array, "n_learnt n_state"] | None = None
    """Rows of unit noise (dimensionless) that the initial state fulfils: what an earlier run has measured."""
    noise_memory: float = 0.0
    """Number of samples (dimensionless) over which the noise is estimated, starting at `noise`; 0 keeps it as given."""
    common_noise: bool = False
    """Whether one factor on all variances is estimated, not the noise of each row: rows keep their weights, as in least
    squares, so a joint that stands still for a while does not outweigh all that comes after."""
    cone: ArmCone | None = None
    """Conditions that the reported parameters meet; None where the bounds of the states are all there is."""
    cutoff_hz: float | None = None
    """Low-pass of the rows, Hz: regressor and measurement pass the same filter. None, or too wide, for none."""
    rate_hz: float = 1000.0
    """Samples per second, for the low-pass."""
    gap: float = 0.5
    """Time between samples in s beyond which time has jumped."""
    carrier: int = -1
    """Index of the link that carries the load."""
    T_carrier_load: Transform = field(default_factory=lambda: np.eye(4))
    """Frame of load and tool wrench in that link's frame."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        object.__setattr__(self, "measure", tuple(m for m in MEASUREMENTS if m in self.measure))
        if not self.measure:
            raise TrackingError(f"nothing is measured; choose among {', '.join(MEASUREMENTS)}")
        if self.noise.shape != (self.n_rows,):
            raise TrackingError(
                f"{', '.join(self.measure)} have {self.n_rows} rows, but there are {len(self.noise)} noise levels"
            )
        if not np.all(np.isfinite(self.noise)) or np.min(self.noise) <= 0.0:
            raise TrackingError("every measured row needs a noise level above zero: the filter divides by it")
        if len(self.unobservable) == self.state.n_state:
            raise TrackingError(
                f"nothing measured can observe any of {', '.join(self.state.symbols)}; measure more or estimate others"
            )

    def __repr__(self) -> str:
        return f"ConstrainedFilter({self.model.robot.name}: {self.state!r} from {', '.join(self.measure)})"

    @property
    def n_rows(self) -> int:
        """Rows of one sample."""
        return (self.model.n_dof if "torque" in self.measure else 0) + 6 * sum("wrench" in m for m in self.measure)

    @cached_property
    def low_pass(self) -> Float[Array, " n_weights"]:
        """Weights of the low-pass of the rows; none where it is off."""
        return low_pass_weights(self.cutoff_hz, self.rate_hz)

    @property
    def every(self) -> int:
        """One sample in so many is absorbed; between them only the low-pass hears."""
        return rows_every(self.cutoff_hz, self.rate_hz)

    @cached_property
    def rows(self) -> RowArrays:
        """The robot with its base and its load as arrays of the compiled core, SI."""
        return row_arrays(
            self.model,
            self.measure,
            carrier=self.carrier % self.model.n_dof,
            T_carrier_load=self.T_carrier_load,
            active_columns=self.state.active_columns(),
        )

    @cached_property
    def unobservable(self) -> tuple[str, ...]:
        """States that no motion shows in what is measured, by name; they will stay where they are."""
        motion = random_motion(self.model.robot, 200, np.random.default_rng(0), speed=2.0, within_limits=False)
        return unseen_states(self.state, self.rows, self.noise, motion, self.joint_terms(motion))

    def joint_terms(self, motion: Motion) -> Float[Array, "n_samples n_dof n_terms"] | None:
        """Columns of friction models (SI) that the compiled core does not know; None where it knows them all."""
        return self.model.joint_columns(motion) if needs_columns(self.rows) else None

    def measured(self, sample: Sample, out: Float[Array, " n_rows"]) -> None:
        """Stack what was measured (N·m and N) into `out`; what is missing becomes nan, which the filter skips."""
        parts = {"torque": sample.tau, "base-wrench": sample.base_wrench, "tool-wrench": sample.tool_wrench}
        place = 0
        for kind in self.measure:
            part, size = parts[kind], self.model.n_dof if kind == "torque" else 6
            out[place : place + size] = np.nan if part is None else part
            place += size

    def start(self) -> Tracker:
        """A filter at its initial parameters."""
        return Tracker(self)


class Tracker:
    """A running filter: holds the state, takes one sample at a time or a whole block, in bounded time."""

    def __init__(self, options: ConstrainedFilter) -> None:
        self.options = options
        n = options.state.n_state
        self.constants = core.Constants(
            options.rows,
            options.state.arrays,
            options.process_noise.start,
            options.process_noise.samples,
            options.process_noise.floor,
            options.gap,
            float(options.noise_memory),
            np.array(stats.chi2.ppf([0.025, 0.975], options.n_rows)),
            options.carry == "parameters",
            options.common_noise,
            options.low_pass,
            options.every,
        )
        smooth = len(options.low_pass) > 0
        numbers = np.zeros(core.N_NUMBERS)
        numbers[core.LAST_T], numbers[core.SCALE] = -np.inf, 1.0
        U, D = triangular_factors(n, options.initial_std, options.correlation)
        self.state = core.State(
            np.array(options.state.x0),
            U,
            D,
            np.array(options.noise) ** 2,
            np.zeros(n),
            np.zeros(7, dtype=np.int64),
            numbers,
            np.full(NIS_WINDOW, np.nan),
            np.zeros(options.n_rows),
            np.zeros((2, options.n_rows, len(options.state.columns)) if smooth else (2, 0, 0)),
            np.zeros((2, options.n_rows) if smooth else (2, 0)),
        )
        for row in () if options.learnt is None else np.array(options.learnt):
            run_kernel(ARM, absorb_row, U, D, row, 0, 1.0, np.zeros(n))
        self.memory = core.memory_for(options.rows, n, len(options.state.columns), smooth=smooth)
        self.terms = JointTerms(options.model)
        # Samples are copied in, so that the core is compiled for one kind of array, whatever callers hand over.
        self._q, self._dq, self._ddq = np.zeros((3, options.model.n_dof))
        self._z = np.zeros(options.n_rows)
        parts = self.constants, self.state, self.memory
        self._step = BoundKernel(ARM, core.filter_step, *parts, np.nan, self._q, self._dq, self._ddq, self._z)
        self._theta, self._theta_at = np.zeros(0) if options.cone is None else options.cone.start, -1

    def step(self, sample: Sample) -> SampleOutcome:
        """Absorb one sample, or skip and count it where a value is missing or not finite or time does not go on.

        Raises:
            TrackingError: velocities or accelerations are missing, or sizes betray a wrong unit.
        """
        if sample.dq is None or sample.ddq is None:
            raise TrackingError(
                "a sample without dq or ddq; run it through KinematicFilter first, which works from positions alone"
            )
        self._q[:], self._dq[:], self._ddq[:] = sample.q, sample.dq, sample.ddq
        self.options.measured(sample, self._z)
        if needs_columns(self.constants.rows):
            terms = self.terms.at(self._q, self._dq, self._ddq)
            if terms is not None:
                self.memory.work.terms[:] = terms
        self._step.set_float(3, sample.t)
        outcome = self._step()
        if self.n_absorbed == CHECKED_SAMPLES:
            refuse_wrong_sizes(self.state.numbers, self.n_absorbed)
        return SampleOutcome(outcome)

    def run(self, motion: Motion, measured: Float[Array, "n_samples n_rows"], *, every: int = 1) -> History:
        """Absorb a whole block (N·m and N) in compiled code and return the estimate after every `every`-th sample.

        What friction remembers starts at rest in every block; `step` goes on from where a block ended.

        Raises:
            MotionError: a motion of another robot.
            TrackingError: rows that do not fit, or sizes that betray a wrong unit.
        """
        n_samples, n = motion.n_samples, self.options.state.n_state
        if motion.n_dof != self.options.model.n_dof:
            raise MotionError(f"the motion has {motion.n_dof} joints, the robot {self.options.model.n_dof}")
        if measured.shape != (n_samples, self.options.n_rows):
            raise TrackingError(f"measured must be {(n_samples, self.options.n_rows)}, got {measured.shape}")
        terms = self.options.joint_terms(motion)
        extra = np.zeros((0, 1, 1)) if terms is None else np.array(terms)
        n_kept = n_samples // every
        x, std, nis = np.zeros((n_kept, n)), np.zeros((n_kept, n)), np.zeros(n_samples)
        # A spike later on is no wrong unit: sizes are compared once.
        unchecked = self.n_absorbed < CHECKED_SAMPLES
        first = min(n_samples, max(0, CHECKED_SAMPLES - self.n_absorbed)) // every * every
        for start, stop in ((0, first), (first, n_samples)):
            part = slice(start, stop)
            run_kernel(
                ARM,
                core.filter_steps,
                self.constants,
                self.state,
                self.memory,
                np.array(motion.t[part]),
                np.array(motion.q[part]),
                np.array(motion.dq[part]),
                np.array(motion.ddq[part]),
                np.array(measured[part], order="C"),
                extra[part] if terms is not None else extra,
                every,
                x[start // every :],
                std[start // every :],
                nis[part],
            )
            if unchecked:
                refuse_wrong_sizes(self.state.numbers, self.n_absorbed)
        if terms is not None and n_samples:
            self.terms.resume(motion)
        values, lower, upper = (self.options.state.values_at(x + shift * std) for shift in (0.0, -2.0, 2.0))
        kept = motion.t[every - 1 :: every][:n_kept]
        names = self.options.state
        return History(names.symbols, names.units, kept, values, lower, upper, motion.t, nis, self.band)

    def __repr__(self) -> str:
        counts = f"{counted(self.n_absorbed, 'sample')} absorbed, {self.n_skipped} skipped"
        return f"Tracker({counted(self.options.state.n_state, 'state')}, {counts}, NIS {self.nis:.3g})"

    @property
    def band(self) -> tuple[float, float]:
        """Two-sided 95 % band of the NIS, dimensionless."""
        return float(self.constants.band[0]), float(self.constants.band[1])

    @property
    def n_absorbed(self) -> int:
        """Samples in the estimate."""
        return int(self.state.counters[core.N_STEPS])

    @property
    def n_skipped(self) -> int:
        """Samples left out: values not finite, or time that does not go on."""
        return int(self.state.counters[core.N_NOT_FINITE] + self.state.counters[core.N_BACKWARDS])

    @property
    def nis(self) -> float:
        """Normalised innovation squared of the latest sample, dimensionless."""
        return float(self.state.numbers[core.NIS])

    @property
    def t(self) -> float:
        """Time of the latest sample, s; minus infinity before the first."""
        return float(self.state.numbers[core.LAST_T])

    def restart_clock(self) -> None:
        """Take the next sample whatever its time: another log, or a clock that was set back."""
        self.state.numbers[core.LAST_T] = -np.inf

    @property
    def noise(self) -> Float[Array, " n_rows"]:
        """Standard deviation of the measured rows, N·m or N, as given or as estimated so far."""
        return np.sqrt(self.state.R * self.state.numbers[core.SCALE])

    @property
    def inflation(self) -> float:
        r"""Variance over that of white noise as given (dimensionless): size and memory of the innovations.

        Neighbouring innovations with correlation ρ tell as much as :math:`(1-\rho)/(1+\rho)` of as many independent
        ones (Bartlett); 1 where the noise is not estimated as a whole.
        """
        if not (self.options.common_noise and self.options.noise_memory > 0.0):
            return 1.0
        rho = self.echo
        return max(float(self.state.numbers[core.SCALE]), core.TINY) * (1.0 + rho) / (1.0 - rho)

    @property
    def echo(self) -> float:
        """Correlation of neighbouring innovations, dimensionless; what is below zero counts as none."""
        numbers = self.state.numbers
        return float(np.clip(numbers[core.ECHO] / max(numbers[core.SCALE], core.TINY), 0.0, LARGEST_ECHO))

    @property
    def covariance(self) -> Float[Array, "n_state n_state"]:
        """P of the state, dimensionless."""
        half = upper_triangle(self.state.U) * np.sqrt(self.state.D)
        return self.inflation * half @ half.T

    @property
    def parameters(self) -> TrackedParameters:
        """The estimate now."""
        mapping, x = self.options.state, self.state.x
        std = np.zeros(len(x))
        run_kernel(ARM, state_std, self.state.U, self.state.D, std)
        std *= np.sqrt(self.inflation)
        if self.options.cone is not None:
            values = self._reported()[[mapping.columns.index(symbol) for symbol in mapping.symbols]]
            spread = mapping.arrays.scale * std
            band = 2.0 * spread
            return TrackedParameters(mapping.symbols, mapping.units, values, spread, values - band, values + band)
        here = mapping.at(x)
        lower, upper = mapping.values_at(x - 2.0 * std), mapping.values_at(x + 2.0 * std)
        return TrackedParameters(mapping.symbols, mapping.units, here.values, here.rate * std, lower, upper)

    @property
    def columns(self) -> Float[Array, " n_columns"]:
        """Parameters of the model, then of the load, then of the base link where it is estimated, SI."""
        m = self.memory
        run_kernel(ARM, evaluate_map, self.options.state.arrays, self.state.x, m.theta, m.G, m.p, m.rate)
        return m.theta.copy()

    @property
    def theta(self) -> Float[Array, " n_params"]:
        """Parameters of the model (SI), the load not among them: the most probable ones that meet all conditions."""
        return self._reported()[: self.options.model.n_params]

    def _reported(self) -> Float[Array, " n_columns"]:
        """`columns` (SI) that meet all conditions; with a cone, whose states are columns in their order."""
        found, cone, mapping = self.columns, self.options.cone, self.options.state
        if cone is None:
            return found
        if self.n_absorbed != self._theta_at:
            factor = factors.information_factor(self.state.U, self.state.D, mapping.arrays.scale)
            self._theta, self._theta_at = (
                cone.nearest(found[mapping.arrays.first], factor, self._theta),
                self.n_absorbed,
            )
        found[mapping.arrays.first] = self._theta
        return found

    @property
    def load(self) -> Float[Array, " 10"]:
        """The ten inertial parameters of the load about its frame, SI."""
        return self.columns[self.options.model.n_params :][:10]

    @property
    def base_link(self) -> Float[Array, " 10"] | None:
        """The ten inertial parameters of the base link about the base frame, SI; None where it is not estimated."""
        found = self._reported()[self.options.model.n_params + 10 :]
        return found if len(found) else None

    def widen(self, states: Bool[Array, " n_state"], variance: float) -> None:
        """Add `variance` (dimensionless, as states) to some states, when they are known to have changed."""
        for s in np.flatnonzero(states):
            run_kernel(ARM, add_noise, self.state.U, self.state.D, int(s), float(variance), self.memory.b)
