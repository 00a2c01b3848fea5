"""A simulated arm beside the real one: open loop in windows from measured states, closed loop under the controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import BASE, Robot
from dynid.dynamics.model import TorqueModel
from dynid.recording.conditioning import Samples, Segment
from dynid.recording.recording import Recording
from dynid.simulation.arm import LONGEST_STEP, SimulatedRun
from dynid.simulation.joint_controller import JointController
from dynid.simulation.roll_kernels import Feedback

__all__ = [
    "ClosedLoop",
    "OpenLoop",
    "Rollable",
    "Windows",
    "closed_loop",
    "noisier",
    "open_loop",
    "tool_points",
    "window_starts",
]

SPACING = 0.25
"""Time in s between the starts of windows."""
MOST_WINDOWS = 240
"""Windows simulated at most, spread evenly over a log."""
LONGEST_RUN = 5.0
"""Time in s after which a run that is still close is taken for one that does not diverge."""
MOST_RUNS = 12
"""Runs from which the time until divergence is taken."""
DIVERGED = 0.1
"""Error of a joint, relative to the range it travels in the log, beyond which a run has diverged."""
NEAR_REVERSAL = 0.1
"""Time in s after a joint turns that counts as near its reversal."""


@runtime_checkable
class Rollable(Protocol):
    """What can be simulated forward: dynid's own arm, or a file in MuJoCo."""

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
        """Simulate from a state (SI)."""
        ...


@dataclass(frozen=True)
class Windows:
    """Where windows of a log start."""

    starts: tuple[tuple[int, int], ...]
    """Segment and sample."""
    n_samples: int
    """Samples of the longest horizon."""


@dataclass(frozen=True, eq=False)
class OpenLoop:
    """Simulated beside measured positions, in windows that start from measured states and take the measured torque."""

    joint_names: tuple[str, ...]
    t: Float[Array, " n_samples"]
    """Time since the start of a window, s."""
    starts: Float[Array, " n_windows"]
    """When the windows start, s on the clock of the log."""
    measured: Float[Array, "n_windows n_samples n_dof"]
    """rad or m."""
    simulated: Float[Array, "n_windows n_samples n_dof"]
    """rad or m; nan after the arm ran away."""
    floor: Float[Array, "n_samples n_dof"]
    """RMS error that the noise of the log alone makes in a window, rad or m."""
    tool: Float[Array, " n_samples"]
    """RMS error of the tool point over all windows, m."""
    divergence: float
    """Median time in s until a joint is off by a tenth of the range it travels; infinite where most never are."""
    near_reversal: Float[Array, "2 n_dof"]
    """RMS error of velocity within 0.1 s after the joint turns, and elsewhere, per s."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def error(self) -> Float[Array, "n_windows n_samples n_dof"]:
        """Simulated minus measured, rad or m; infinite after the arm ran away."""
        return np.where(np.isfinite(self.simulated), self.simulated - self.measured, np.inf)

    @property
    def growth(self) -> Float[Array, "n_samples n_dof"]:
        """RMS error over all windows at every time since their start, rad or m."""
        return np.sqrt(np.mean(self.error**2, axis=0))

    def _last(self, seconds: float) -> int:
        return int(np.searchsorted(self.t, seconds - 1e-9))

    def rms(self, seconds: float) -> Float[Array, " n_dof"]:
        """RMS error over windows of this length (s), rad or m."""
        return np.sqrt(np.mean(self.growth[: self._last(seconds) + 1] ** 2, axis=0))

    def end(self, seconds: float) -> Float[Array, " n_dof"]:
        """RMS error at the end of windows of this length (s), rad or m."""
        return self.growth[self._last(seconds)]

    def noise(self, seconds: float) -> Float[Array, " n_dof"]:
        """What noise explains of `rms` over this length (s), rad or m."""
        return np.sqrt(np.mean(self.floor[: self._last(seconds) + 1] ** 2, axis=0))

    def tool_end(self, seconds: float) -> float:
        """RMS error of the tool point at the end of windows of this length (s), m."""
        return float(self.tool[self._last(seconds)])


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """The simulated arm under the real one's controller and reference, beside what the real one did."""

    joint_names: tuple[str, ...]
    t: Float[Array, " n_samples"]
    """s on the clock of the log."""
    measured: Float[Array, "n_samples n_dof"]
    """rad or m."""
    simulated: Float[Array, "n_samples n_dof"]
    """rad or m."""
    reference: Float[Array, "n_samples n_dof"]
    """rad or m."""
    tool: float
    """RMS error of the tool point, m."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def rms(self) -> Float[Array, " n_dof"]:
        """RMS of simulated minus measured, rad or m; infinite where the arm ran away."""
        error = np.where(np.isfinite(self.simulated), self.simulated - self.measured, np.inf)
        return np.sqrt(np.mean(error**2, axis=0))

    @property
    def tracking(self) -> Float[Array, " n_dof"]:
        """RMS of reference minus measured, rad or m."""
        return np.sqrt(np.mean((self.reference - self.measured) ** 2, axis=0))

    @property
    def share_percent(self) -> float:
        """Error over the real tracking error, all joints together, %."""
        real = float(np.linalg.norm(self.tracking))
        return 100.0 * float(np.linalg.norm(self.rms)) / real if real > 0.0 else np.nan


def window_starts(samples: Samples, longest: float) -> Windows:
    """Windows of `longest` seconds (or of the longest segment, where that is shorter) all over a log."""
    rate = samples.plan.low_pass.rate_hz
    most = max(segment.motion.n_samples for segment in samples.segments) - 1
    n_samples = min(round(longest * rate), most)
    apart = max(1, round(SPACING * rate))
    starts = [
        (s, k)
        for s, segment in enumerate(samples.segments)
        for k in range(0, segment.motion.n_samples - n_samples, apart)
    ]
    chosen = np.unique(np.linspace(0, len(starts) - 1, min(len(starts), MOST_WINDOWS)).round().astype(int))
    return Windows(tuple(starts[i] for i in chosen), n_samples)


def noisier(recording: Recording, samples: Samples, *, seed: int = 0) -> Samples:
    """The log (SI) with as much white noise again as it has, conditioned alike: what its noise does to a rollout."""
    rng = np.random.default_rng(seed)
    noisy = {
        name: values + rng.normal(size=values.shape) * _white(values)
        for name in ("q", "dq", "tau")
        if (values := getattr(recording, name)) is not None
    }
    return samples.plan.apply(replace(recording, **noisy))


def _white(values: Float[Array, "n_samples n_dof"]) -> Float[Array, " n_dof"]:
    """Standard deviation of what changes from sample to sample: fourth differences of white noise are √70 of it."""
    if len(values) < 6:
        return np.zeros(values.shape[1])
    return np.sqrt(np.mean(np.diff(values, 4, axis=0) ** 2, axis=0) / 70.0)


def _step(segment: Segment) -> tuple[float, int]:
    """Length of a simulation step in s, and steps from sample to sample."""
    period = float(segment.motion.t[1] - segment.motion.t[0])
    n_steps = max(1, int(np.ceil(period / LONGEST_STEP - 1e-6)))
    return period / n_steps, n_steps


def _rolled(
    arm: Rollable,
    segment: Segment,
    start: int,
    n_samples: int,
    states: Float[Array, "n_all n_dof n_states"] | None,
) -> tuple[Float[Array, "n_samples_1 n_dof"], Float[Array, "n_samples_1 n_dof"]]:
    """Positions and velocities from the measured state of a sample on, under the measured torque."""
    step, n_steps = _step(segment)
    tau = segment.tau[start : start + n_samples + 1]
    share = (np.arange(n_steps) + 0.5) / n_steps
    fine = tau[:-1, None] + share[None, :, None] * (tau[1:] - tau[:-1])[:, None]
    z = None if states is None or not states.shape[2] else states[start]
    run = arm.run(segment.motion.q[start], segment.motion.dq[start], fine.reshape(-1, tau.shape[1]), step, z=z)
    return run.q[::n_steps], run.dq[::n_steps]


def open_loop(
    arm: Rollable,
    model: TorqueModel,
    samples: Samples,
    windows: Windows,
    *,
    noisy: Samples | None = None,
    diverging: bool = True,
) -> OpenLoop:
    """Roll an arm out in windows of a log (SI).

    Args:
        arm: what is simulated.
        model: its robot and friction, for what presliding remembers at the starts.
        samples: the conditioned log, with torque.
        windows: where to start.
        noisy: `noisier` samples, for the floor; without them there is none.
        diverging: whether to find out when it diverges; nan otherwise.
    """
    rate = samples.plan.low_pass.rate_hz
    states = [model.joint_states(s.motion) if model.has_memory else None for s in samples.segments]
    n = windows.n_samples
    found = [_rolled(arm, samples.segments[s], k, n, states[s]) for s, k in windows.starts]
    simulated, speed = np.array([q for q, _ in found]), np.array([dq for _, dq in found])
    measured, true_speed, starts = _measured(samples, windows)
    floor = np.zeros(measured.shape[1:])
    if noisy is not None:
        again = np.array([_rolled(arm, noisy.segments[s], k, n, states[s])[0] for s, k in windows.starts])
        moved = (again - _measured(noisy, windows)[0]) - (simulated - measured)
        floor = np.sqrt(np.nanmean(np.where(np.isfinite(moved), moved, np.nan) ** 2, axis=0))
    robot = model.robot
    apart = tool_points(robot, simulated.reshape(-1, robot.n_dof)) - tool_points(
        robot, measured.reshape(-1, robot.n_dof)
    )
    tool = np.sqrt(np.mean(np.sum(apart.reshape(*simulated.shape[:2], 3) ** 2, axis=2), axis=0))
    return OpenLoop(
        robot.joint_names,
        np.arange(n + 1) / rate,
        starts,
        measured,
        simulated,
        floor,
        np.where(np.isfinite(tool), tool, np.inf),
        _divergence(arm, samples, states) if diverging else np.nan,
        _at_reversals(speed - true_speed, true_speed, rate),
    )


def _measured(
    samples: Samples, windows: Windows
) -> tuple[
    Float[Array, "n_windows n_samples n_dof"], Float[Array, "n_windows n_samples n_dof"], Float[Array, " n_windows"]
]:
    """Positions and velocities of every window, and its time (s)."""
    q, dq, t = [], [], []
    for s, k in windows.starts:
        motion = samples.segments[s].motion
        rows = slice(k, k + windows.n_samples + 1)
        q.append(motion.q[rows])
        dq.append(motion.dq[rows])
        t.append(motion.t[k])
    return np.array(q), np.array(dq), np.array(t)


def _divergence(
    arm: Rollable, samples: Samples, states: Sequence[Float[Array, "n_all n_dof n_states"] | None]
) -> float:
    """Median time in s until a joint is off by `DIVERGED` of the range it travels."""
    rate = samples.plan.low_pass.rate_hz
    longest = max(range(len(samples.segments)), key=lambda s: samples.segments[s].motion.n_samples)
    segment = samples.segments[longest]
    n = min(round(LONGEST_RUN * rate), (segment.motion.n_samples - 1))
    starts = np.unique(np.linspace(0, segment.motion.n_samples - 1 - n, MOST_RUNS).astype(int))
    allowed = DIVERGED * np.ptp(segment.motion.q, axis=0)
    moving = allowed > 0.0
    times = []
    for start in starts.tolist():
        q, _ = _rolled(arm, segment, start, n, states[longest])
        error = np.abs(q - segment.motion.q[start : start + n + 1])
        off = np.any(~(error <= allowed)[:, moving], axis=1)
        times.append(float(np.argmax(off)) / rate if np.any(off) else np.inf)
    return float(np.median(times))


def _at_reversals(
    error: Float[Array, "n_windows n_samples n_dof"], speed: Float[Array, "n_windows n_samples n_dof"], rate: float
) -> Float[Array, "2 n_dof"]:
    """RMS of a velocity error shortly after the joint turns, and elsewhere (per s), in the first quarter second."""
    n = min(error.shape[1], max(2, round(SPACING * rate)) + 1)
    turned = np.zeros((error.shape[0], n, error.shape[2]), dtype=bool)
    turned[:, 1:] = speed[:, 1:n] * speed[:, : n - 1] < 0.0
    near, width = turned.copy(), max(1, round(NEAR_REVERSAL * rate))
    for shift in range(1, min(width, n)):
        near[:, shift:] |= turned[:, : n - shift]
    size = np.where(np.isfinite(error[:, :n]), error[:, :n], np.nan) ** 2
    out = np.full((2, error.shape[2]), np.nan)
    for row, mask in enumerate((near, ~near)):
        counted = np.sum(mask & np.isfinite(size), axis=(0, 1))
        total = np.sum(np.where(mask & np.isfinite(size), size, 0.0), axis=(0, 1))
        out[row] = np.sqrt(np.divide(total, counted, out=np.full(len(total), np.nan), where=counted > 0))
    return out


def closed_loop(
    arm: Rollable,
    robot: Robot,
    controller: JointController,
    samples: Samples,
    reference: Recording,
    *,
    states: Float[Array, "n_dof n_lengths"] | None = None,
    bias: Float[Array, " n_dof"] | None = None,
) -> ClosedLoop:
    """Simulate the longest segment of a log under its controller and reference (SI).

    Args:
        arm: what is simulated.
        robot: whose joints and tool.
        controller: of the real robot.
        samples: the conditioned log; its torque does not matter.
        reference: what the controller was asked for, at its own times.
        states: what presliding remembers at the start; at rest where None.
        bias: what the encoders say beyond the position, rad or m.
    """
    segment = max(samples.segments, key=lambda s: s.motion.n_samples)
    motion = segment.motion
    rate = samples.plan.low_pass.rate_hz
    period, steps = controller.ticks(rate, LONGEST_STEP)
    # Commands fall on samples of the reference, not between them.
    first = float(reference.t[min(int(np.searchsorted(reference.t, motion.t[0] - 1e-9)), reference.n_samples - 1)])
    start = int(np.searchsorted(motion.t, first - 1e-9))
    offset = np.zeros(robot.n_dof) if bias is None else bias
    n_ticks = int(np.floor((motion.t[-1] - first) / period + 1e-9))
    feedback = controller.feedback(robot, reference.t, reference.q, first, n_ticks + 1, period, steps, bias)
    at_first = [np.interp(first, motion.t, x) for x in motion.q.T], [np.interp(first, motion.t, x) for x in motion.dq.T]
    run = arm.run(
        np.array(at_first[0]) - offset,
        np.array(at_first[1]),
        np.zeros((0, robot.n_dof)),
        period / steps,
        feedback=feedback,
        n_steps=n_ticks * steps,
        z=states,
    )
    times = first + period / steps * np.arange(n_ticks * steps + 1)
    rows = slice(start, int(np.searchsorted(motion.t, times[-1] + 1e-9)))
    t, q = motion.t[rows], motion.q[rows]
    simulated = np.column_stack([np.interp(t, times, x) for x in run.q.T]) + offset
    asked = np.column_stack([np.interp(t, reference.t, x) for x in reference.q.T])
    apart = tool_points(robot, simulated) - tool_points(robot, q)
    tool = float(np.sqrt(np.mean(np.sum(apart**2, axis=1))))
    return ClosedLoop(robot.joint_names, t, q, simulated, asked, tool if np.isfinite(tool) else np.inf)


def tool_points(robot: Robot, q: Float[Array, "n_samples n_dof"]) -> Float[Array, "n_samples 3"]:
    """Origin of the outermost link in base axes at positions q (rad or m), m."""
    last = max(range(robot.n_dof), key=lambda j: len(robot.path_to[j]))
    point = np.zeros((len(q), 3))
    j = last
    while j != BASE:
        joint = robot.joints[j]
        point = point @ joint.T_joint_link[:3, :3].T + joint.T_joint_link[:3, 3]
        if joint.type == "revolute":
            axis, angle = joint.axis, q[:, j, None]
            along = (point @ axis)[:, None] * axis
            point = along + np.cos(angle) * (point - along) + np.sin(angle) * np.cross(axis, point)
        else:
            point = point + q[:, j, None] * joint.axis
        point = point @ joint.T_parent_joint[:3, :3].T + joint.T_parent_joint[:3, 3]
        j = joint.parent
    return point
