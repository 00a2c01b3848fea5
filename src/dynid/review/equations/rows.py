"""The rows that the checks by the arm's equations work on: a few hundred, with friction that fits any gear.

They are not the rows of `dynid.regression`, for a measured reason. The search for a misread column fits a log some
hundred times, each time with another motion. On the Panda log of 20 544 samples each takes `dynid.regression.compress`
0.07 s of a core and these 0.009 s: columns are evaluated at the rows alone rather than at every sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.recording.conditioning import Conditioning, Samples
from dynid.recording.recording import Recording
from dynid.regression.rows import visible_columns

__all__ = ["DRY", "Arm", "ThinRows", "thin_rows"]

MAX_ROWS = 900
"""Rows kept of a log, however long it is: ten times the parameters of an arm of seven joints."""
SLOW = (0.02, 0.1)
"""Speeds over which dry friction may reverse, relative to the largest speed of the joint: stiff and soft gears."""
DRY = 2
"""Place of dry friction, the filtered sign of the velocity, among the friction columns."""
AGREES = (0.7, 1.4)
"""Logged over differentiated velocity, relative: outside this range the logged one is not used. Wide enough for
velocities that were filtered, too narrow for any unit or gear."""


@dataclass(frozen=True, eq=False)
class Arm:
    """A robot with its rigid-body columns, those that some torque shows."""

    model: TorqueModel
    base: BaseParameters
    gravity_columns: tuple[TorqueModel, ...]
    """The same arm under one m/s² along each base axis; their difference to weightless is linear in gravity."""

    @classmethod
    def of(cls, robot: Robot) -> Arm:
        """The arm of a robot; base parameters under a gravity of general direction, so that a tilt shows."""
        general = np.array([0.61, -0.48, -0.63]) * max(1.0, float(np.linalg.norm(robot.gravity)))
        model = TorqueModel(robot)
        return cls(
            model,
            base_parameters(TorqueModel(robot.with_gravity(general))),
            tuple(TorqueModel(robot.with_gravity(axis)) for axis in np.eye(3)),
        )

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.model.robot

    @property
    def n_dof(self) -> int:
        """Number of joints."""
        return self.model.n_dof

    @cached_property
    def visible(self) -> tuple[Int[Array, " n_visible"], ...]:
        """For every joint the base columns that can act on it."""
        return visible_columns(self.model, self.base)


@dataclass(frozen=True, eq=False)
class ThinRows:
    """Motion and torque of a log at a few hundred samples; torque and friction columns passed one low-pass."""

    t: Float[Array, " n_rows"]
    """s."""
    q: Float[Array, "n_rows n_dof"]
    """rad or m."""
    dq: Float[Array, "n_rows n_dof"]
    """rad/s or m/s."""
    ddq: Float[Array, "n_rows n_dof"]
    """rad/s² or m/s²."""
    tau: Float[Array, "n_rows n_dof"]
    """N·m or N."""
    friction: Float[Array, "n_rows n_dof n_shapes"]
    """Columns of each joint's friction, odd in its velocity (SI)."""
    t_fine: Float[Array, " n_fine"]
    """Times of `tau_fine`, s."""
    tau_fine: Float[Array, "n_fine n_dof"]
    """Filtered torque between the rows, for shifts in time, N·m or N."""
    period: float
    """Time in s that neighbouring rows are apart; the low-pass smears about twice that."""
    sample_time: float
    """Time in s between samples of the log."""
    cutoff_hz: float
    """Of the low-pass, Hz."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.t)

    @property
    def n_dof(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    @property
    def motion(self) -> Motion:
        """The motion of the rows (SI)."""
        return Motion(self.t, self.q, self.dq, self.ddq)

    def turned(self, signs: Float[Array, " n_dof"], order: Int[Array, " n_dof"] | None = None) -> ThinRows:
        """The rows with positions in another order (joint k from column ``order[k]``) and of other signs."""
        picked = np.arange(self.n_dof) if order is None else order
        return replace(
            self,
            q=self.q[:, picked] * signs,
            dq=self.dq[:, picked] * signs,
            ddq=self.ddq[:, picked] * signs,
            friction=self.friction[:, picked] * signs[None, :, None],
        )

    def loaded(self, scale: Float[Array, " n_dof"], order: Int[Array, " n_dof"] | None = None) -> ThinRows:
        """The rows with torque columns in another order and multiplied by `scale` (dimensionless)."""
        picked = np.arange(self.n_dof) if order is None else order
        if np.all(scale == 1.0) and np.array_equal(picked, np.arange(self.n_dof)):
            return self
        return replace(self, tau=self.tau[:, picked] * scale, tau_fine=self.tau_fine[:, picked] * scale)

    def shifted(self, delay: float) -> ThinRows:
        """The rows with the torque logged `delay` s later taken for that of each row; those without one go."""
        times = self.t + delay
        tau = np.column_stack([np.interp(times, self.t_fine, column) for column in self.tau_fine.T])
        return replace(self, tau=tau).some((times >= self.t_fine[0]) & (times <= self.t_fine[-1]))

    def thinned(self, n_rows: int) -> ThinRows:
        """At most about `n_rows` of the rows, evenly."""
        return self.some(np.arange(0, self.n_rows, max(1, self.n_rows // n_rows)))

    def some(self, keep: Array) -> ThinRows:
        """The rows of a mask or of indices."""
        return replace(
            self,
            t=self.t[keep],
            q=self.q[keep],
            dq=self.dq[keep],
            ddq=self.ddq[keep],
            tau=self.tau[keep],
            friction=self.friction[keep],
        )


def thin_rows(recording: Recording) -> ThinRows:
    """The rows of a log with torque.

    Raises:
        RecordingError: the log is too short to be filtered.
    """
    plan = Conditioning().plan(recording)
    usable = recording if _velocity_agrees(recording) else replace(recording, dq=None)
    samples = plan.apply(usable)
    every = plan.every * max(1, int(np.ceil(samples.n_samples / plan.every / MAX_ROWS)))
    parts = _parts(samples, every)
    t, q, dq, ddq, tau, friction, t_fine, tau_fine = (np.concatenate(kind) for kind in zip(*parts, strict=True))
    return ThinRows(
        t,
        q,
        dq,
        ddq,
        tau,
        friction,
        t_fine,
        tau_fine,
        period=every / plan.low_pass.rate_hz,
        sample_time=1.0 / plan.low_pass.rate_hz,
        cutoff_hz=float(plan.low_pass.cutoff_hz),
    )


def _parts(samples: Samples, every: int) -> list[tuple[Array, ...]]:
    low_pass = samples.plan.low_pass
    lost = low_pass.half_length
    fastest = np.max([np.max(np.abs(segment.motion.dq), axis=0) for segment in samples.segments], axis=0)
    fastest = np.maximum(fastest, 1e-9 * np.max(fastest, initial=1e-9))
    # Between rows the filtered torque is needed only as densely as the low-pass lets it change.
    step = max(1, min(every, int(low_pass.rate_hz / (16.0 * low_pass.cutoff_hz)))) if low_pass.active else 1
    parts: list[tuple[Array, ...]] = []
    for segment in samples.segments:
        motion = segment.motion
        dry = [np.sign(motion.dq), *(np.tanh(motion.dq / (share * fastest)) for share in SLOW)]
        thinned = [low_pass.thinned(columns, every) for columns in dry]
        fine = low_pass.thinned(segment.tau, step)
        n_rows = len(thinned[0])
        if n_rows == 0:
            continue
        at = lost + every * np.arange(n_rows)
        dq = motion.dq[at]
        # Dry friction of real gears reverses late: to first order its time derivative beside it.
        late = np.gradient(thinned[0], every / low_pass.rate_hz, axis=0) if n_rows > 1 else np.zeros_like(dq)
        friction = np.stack([dq, dq * np.abs(dq), *thinned, late], axis=2)
        tau = low_pass.thinned(segment.tau, every)
        t_fine = motion.t[lost + step * np.arange(len(fine))]
        parts.append((motion.t[at], motion.q[at], dq, motion.ddq[at], tau, friction, t_fine, fine))
    return parts


def _velocity_agrees(recording: Recording) -> bool:
    """Whether the logged velocities are those of the positions, in sign and unit."""
    if recording.dq is None:
        return False
    step = max(1, recording.n_samples // 2000)
    middle = recording.dq[: len(recording.t) - step : step]
    h = recording.t[step::step][: len(middle)] - recording.t[:-step:step][: len(middle)]
    middle = middle[: len(h)]
    slope = (recording.q[step::step][: len(h)] - recording.q[:-step:step][: len(h)]) / h[:, None]
    after = recording.dq[step::step][: len(h)]
    mean = 0.5 * (middle + after)
    size = np.sum(slope * slope, axis=0)
    ratio = np.sum(mean * slope, axis=0) / np.maximum(size, 1e-300)
    moving = size > 1e-6 * np.max(size, initial=0.0)
    return bool(np.all((ratio[moving] > AGREES[0]) & (ratio[moving] < AGREES[1])))
