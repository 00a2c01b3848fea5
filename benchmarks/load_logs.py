"""Real logs with a load that comes and goes: spliced at matching poses, added from the regressor, touched, damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynid import InertialParameters, Motion, TorqueModel
from dynid.arrays import Array
from dynid.chain.robot import Robot
from dynid.recording import Recording
from dynid.regression.model import IdentifiedModel
from dynid.tracking import KinematicFilter, LoadEvent, LoadWatcher, Sample, TrackingOptions, load_watch
from dynid.tracking.contact_force import point_jacobian
from dynid.tracking.sources.replayed import replay
from dynid.workflow.logs import as_recording

NEAR, SLOW = 0.01, 0.05
"""Largest difference of positions (rad) and velocities (rad/s) at a splice."""


@dataclass(frozen=True, eq=False)
class Followed:
    """One log through the load watch."""

    watcher: LoadWatcher
    events: tuple[LoadEvent, ...]
    t: Array
    mass: Array
    std: Array
    nis: Array
    jumps: Array
    """(n_heard, 2, n_dof) jump of the external torque at every sample and its σ, N·m or N; empty unless asked for."""

    @property
    def inside(self) -> float:
        """Share of samples whose NIS is in its 95 % band."""
        low, high = self.watcher.band
        return float(np.mean((self.nis >= low) & (self.nis <= high)))

    @property
    def later(self) -> list[LoadEvent]:
        """Events after the first load is known."""
        return [event for event in self.events if event.kind != "initial load"]

    def at(self, t: float) -> tuple[float, float]:
        """Mass and σ (kg) at a time (s), or at the end."""
        k = min(int(np.searchsorted(self.t, t)), len(self.t) - 1)
        return float(self.mass[k]), float(self.std[k])


def read(known: IdentifiedModel, path: Path | Recording) -> Recording:
    """A log as the model's were read, with torques (N·m)."""
    recording = as_recording(path, known.robot, known.settings)
    return known.settings.aligned(known.settings.with_torque(recording, known.robot))


def follow(
    known: IdentifiedModel,
    log: Recording,
    *,
    max_mass: float = 5.0,
    samples: Iterator[Sample] | None = None,
    keep_jumps: bool = False,
    false_alarms_per_hour: float = 0.5,
) -> Followed:
    """The log sample by sample, as `dynid track --payload` does."""
    options = TrackingOptions(payload=True, max_mass=max_mass)
    assert log.tau is not None
    guess = 0.02 * np.nanmax(np.abs(log.tau), axis=0)
    watch = load_watch(known, guess, options, rate_hz=log.rate_hz)
    watcher = replace(watch, false_alarms_per_hour=false_alarms_per_hour).start()
    window = KinematicFilter.at_rate(log.rate_hz, half_window=options.half_window).start(known.model.n_dof)
    events: list[LoadEvent] = []
    rows, jumps = [], []
    for sample in replay(log) if samples is None else samples:
        if sample.dq is None:
            watcher.without_velocities()
        else:
            events += watcher.hear(sample)
            if keep_jumps:
                jumps.append(watcher.contact.jumps.value.copy())
        completed = window.step(sample)
        if completed is not None:
            events += watcher.step(completed)
            rows.append((sample.t, watcher.estimate.mass, watcher.estimate.mass_std, watcher.nis))
    t, mass, std, nis = np.array(rows).T
    return Followed(watcher, tuple(events), t, mass, std, nis, np.array(jumps))


def joined(first: Recording, then: Recording, k: int, n: int) -> Recording:
    """`first` up to sample k, then `then` from sample n on, blend-free; the clock goes on."""
    assert first.dq is not None
    assert then.dq is not None
    assert first.tau is not None
    assert then.tau is not None
    step = float(np.median(np.diff(first.t)))
    return replace(
        first,
        t=np.concatenate([first.t[:k], then.t[n:] - then.t[n] + first.t[k - 1] + step]),
        q=np.concatenate([first.q[:k], then.q[n:]]),
        dq=np.concatenate([first.dq[:k], then.dq[n:]]),
        tau=np.concatenate([first.tau[:k], then.tau[n:]]),
        current=None,
    )


def splices(
    first: Recording, then: Recording, *, start: float, stop: float, every: float
) -> Iterator[tuple[float, Recording]]:
    """Every good match of pose and velocity about every `every` s: the time of the splice (s) and the joined log."""
    assert first.dq is not None
    assert then.dq is not None
    for wanted in np.arange(start, stop, every):
        k = int(np.searchsorted(first.t, wanted))
        apart = np.maximum(
            np.max(np.abs(first.q[k] - then.q), axis=1) / NEAR, np.max(np.abs(first.dq[k] - then.dq), axis=1) / SLOW
        )
        n = int(np.argmin(apart))
        if apart[n] <= 1.0:
            yield float(first.t[k]), joined(first, then, k, n)


def _motion(log: Recording) -> Motion:
    """Motion of a log; accelerations from its velocities, smoothed over 0.1 s."""
    assert log.dq is not None
    ddq = np.gradient(log.dq, log.t, axis=0)
    window = max(3, round(0.1 * log.rate_hz)) | 1
    kernel = np.ones(window) / window
    return Motion(log.t, log.q, log.dq, np.apply_along_axis(lambda x: np.convolve(x, kernel, mode="same"), 0, ddq))


def loaded(
    known: IdentifiedModel, log: Recording, load: InertialParameters, t_pick: float, *, over: float = 0.0
) -> Recording:
    """A real log with the torque of a load (regressor of the flange) from `t_pick` on, s; filled in `over` s."""
    assert log.tau is not None
    Y = TorqueModel(known.robot).regressor(_motion(log))[:, :, -10:]
    share = np.clip((log.t - t_pick) / over, 0.0, 1.0) if over > 0.0 else np.where(log.t >= t_pick, 1.0, 0.0)
    return replace(log, tau=log.tau + share[:, None] * (Y @ load.pi))


def held(known: IdentifiedModel, log: Recording, t_pose: float) -> Recording:
    """An arm that holds the pose of a real log at `t_pose` (s): its weight, and what the model leaves of that log."""
    assert log.tau is not None
    left = log.tau - known.model.torque(_motion(log), known.parameters)
    q = np.tile(log.q[int(np.searchsorted(log.t, t_pose))], (len(log.t), 1))
    rigid = TorqueModel(known.robot)
    weight = rigid.torque(Motion(log.t, q, np.zeros_like(q), np.zeros_like(q)), known.parameters[: rigid.n_params])
    return replace(log, q=q, dq=np.zeros_like(q), tau=weight + left, current=None)


def pushed(
    robot: Robot,
    log: Recording,
    force: Array,
    t_push: float,
    *,
    rise: float,
    last: float,
    halfway: int | None = None,
) -> Recording:
    """A real log with a force (N, base axes) from `t_push` on, for `last` s, rising over `rise` s.

    It acts at the flange, or halfway along a link.
    """
    assert log.tau is not None
    tau = log.tau.copy()
    for k in np.flatnonzero((log.t >= t_push) & (log.t < t_push + last)):
        share = min(1.0, (log.t[k] - t_push) / rise)
        J = point_jacobian(robot, log.q[k], robot.n_dof - 1 if halfway is None else halfway)
        if halfway is not None:
            J = 0.5 * (J + (point_jacobian(robot, log.q[k], halfway - 1) if halfway else 0.0))
        tau[k] -= share * J.T @ force
    return replace(log, tau=tau)


def damaged(log: Recording, rng: np.random.Generator) -> Iterator[Sample]:
    """A real log as a bad network hands it on: jitter, lost, doubled and late samples, torques missing, a pause."""
    middle, late = log.t[len(log.t) // 2], None
    for sample in replay(log):
        if rng.random() < 0.05 or middle < sample.t < middle + 1.0:
            continue
        tau = np.where(rng.random(len(sample.q)) < 0.02, np.nan, sample.tau)
        moved = sample._replace(t=sample.t + 0.2 / log.rate_hz * rng.uniform(-1.0, 1.0), tau=tau)
        yield moved
        if rng.random() < 0.02:
            yield moved
        if late is not None and rng.random() < 0.02:
            yield late
        late = moved
