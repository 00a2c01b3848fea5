"""An identified arm that can be simulated forward: from given torques, or under a joint controller."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.dynamics.kernels.bound import run_kernel
from dynid.dynamics.model import TorqueModel
from dynid.errors import ParameterError
from dynid.simulation.friction_step import Resistance
from dynid.simulation.resistance import JointTables, joint_tables
from dynid.simulation.roll_kernels import FINE, RUN, Feedback, StepTrace, new_trace, run_arm, run_work

__all__ = ["LONGEST_STEP", "Coasting", "SimulatedArm", "SimulatedRun", "no_feedback"]

LONGEST_STEP = 1e-3
"""Longest step in s: at 1 kHz the error of a step is far below what encoders see."""


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """What a simulated arm did, from its start on."""

    q: Float[Array, "n_steps_1 n_dof"]
    """Positions at the start and after every step, rad or m; nan from where it ran away."""
    dq: Float[Array, "n_steps_1 n_dof"]
    """Velocities, per s."""
    tau: Float[Array, "n_steps n_dof"]
    """Torque of every step, N·m or N."""
    n_steps: int
    """Steps before it ran away; all of them where it did not."""
    trace: StepTrace | None = None
    """Every part of every step, where derivatives are wanted."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class SimulatedArm:
    """An arm with parameters, ready for the compiled steps."""

    model: TorqueModel
    theta: Float[Array, " n_params"]
    """Full parameters, or any that have the same base parameters (SI)."""
    tables: JointTables

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(cls, model: TorqueModel, theta: Float[Array, " n_params"], fastest: float) -> SimulatedArm:
        """An arm whose motion is about as fast as `fastest` (rad/s or m/s).

        Raises:
            ParameterError: for friction that the simulation does not know.
        """
        return cls(model, theta, joint_tables(model, fastest))

    def with_theta(self, theta: Float[Array, " n_params"]) -> SimulatedArm:
        """The same arm with other parameters (SI)."""
        return SimulatedArm(self.model, theta, self.tables)

    @cached_property
    def resistance(self) -> Resistance:
        """Its friction (SI)."""
        return self.tables.resistance(self.theta)

    def run(
        self,
        q: Float[Array, " n_dof"],
        dq: Float[Array, " n_dof"],
        tau: Float[Array, "n_steps n_dof"],
        step: float,
        *,
        feedback: Feedback | None = None,
        n_steps: int | None = None,
        z: Float[Array, "n_dof n_lengths"] | None = None,
        traced: bool = False,
    ) -> SimulatedRun:
        """Simulate from a state, under the torque of every step (N·m or N) or under a controller.

        Args:
            q: where it starts, rad or m.
            dq: how fast, per s.
            tau: torque of every step; empty with `feedback`.
            step: length of a step in s.
            feedback: a controller.
            n_steps: with `feedback`, how many steps.
            z: what presliding friction remembers at the start, dimensionless; at rest where None.
            traced: keep every part of every step, for derivatives.

        Raises:
            ParameterError: where the mass matrix is not positive definite.
        """
        n_dof = self.model.n_dof
        count = len(tau) if n_steps is None else n_steps
        q_out, dq_out = np.full((2, count + 1, n_dof), np.nan)
        tau_out = np.zeros((count, n_dof))
        trace = new_trace(count + count // 2 + 64 * FINE if traced else 0, n_dof, self.tables.n_lengths)
        state = np.zeros((n_dof, self.tables.n_lengths)) if z is None else np.array(z)
        n_ticks = 0 if feedback is None else count // max(feedback.steps, 1) + 1
        end = run_kernel(
            RUN,
            run_arm,
            self.model.chain,
            np.array(self.theta[: self.model.n_inertial]).reshape(n_dof, 10),
            self.tables.rotor(self.theta),
            self.resistance,
            float(step),
            np.array(q, dtype=float),
            np.array(dq, dtype=float),
            state,
            np.ascontiguousarray(tau, dtype=float).reshape(-1, n_dof),
            no_feedback(n_dof) if feedback is None else feedback,
            FINE,
            run_work(n_dof, self.tables.n_lengths, n_ticks),
            q_out,
            dq_out,
            tau_out,
            trace,
        )
        if end < 0:
            raise ParameterError(
                f"{self.model.robot.name}: the mass matrix is not positive definite {-(end + 1) * step:.3f} s after "
                "the start; these parameters are not physically consistent, fit with estimator feasible"
            )
        done = count if end == 0 else end - 1
        q_out[done + 1 :], dq_out[done + 1 :] = np.nan, np.nan
        return SimulatedRun(q_out, dq_out, tau_out, done, trace if traced else None)


@dataclass(frozen=True)
class Coasting:
    """No model at all: every joint goes on as fast as it started, whatever the torque."""

    def run(
        self,
        q: Float[Array, " n_dof"],
        dq: Float[Array, " n_dof"],
        tau: Float[Array, "n_steps n_dof"],
        step: float,
        *,
        feedback: Feedback | None = None,
        n_steps: int | None = None,
        z: Float[Array, "n_dof n_lengths"] | None = None,
    ) -> SimulatedRun:
        """Positions and velocities (SI) of that, as `SimulatedArm.run` gives them; no controller or memory counts."""
        count = len(tau) if n_steps is None else n_steps
        t = step * np.arange(count + 1)
        return SimulatedRun(q + t[:, None] * dq, np.tile(dq, (count + 1, 1)), np.zeros((count, len(q))), count)


def no_feedback(n_dof: int) -> Feedback:
    """No controller: the torque is given."""
    none, zero = np.zeros((0, n_dof)), np.zeros(n_dof)
    return Feedback(none, none, none, zero, zero, zero, zero, 1.0, 0.0, 1)
