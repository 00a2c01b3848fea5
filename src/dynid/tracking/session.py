"""One run of tracking over a log or a live source: parameters or the load over time, events, and where it ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import TrackingError
from dynid.prose import counted
from dynid.recording.recording import Recording
from dynid.recording.repairs import LogRepair
from dynid.regression.model import BaseLink, IdentifiedModel
from dynid.tracking.arm_setup import arm_cutoff, arm_filter, arm_noise, check_units
from dynid.tracking.checkpoint import resume, save_checkpoint
from dynid.tracking.filter import Tracker
from dynid.tracking.health import Health, health
from dynid.tracking.kinematics import KinematicFilter, KinematicStream
from dynid.tracking.load import LoadEstimate, LoadEvent
from dynid.tracking.missing import MissingCounter, MissingValues
from dynid.tracking.periodic_noise import periodic_noise
from dynid.tracking.row_filter import rows_every
from dynid.tracking.samples import Sample, TrackedParameters
from dynid.tracking.setup import TrackingOptions, live_noise, load_watch, recorded_noise, recorded_rows
from dynid.tracking.sources.counts import StreamCounts
from dynid.tracking.sources.intake import UDP, SampleIntake, open_stream
from dynid.tracking.sources.replayed import replay, with_kinematics
from dynid.tracking.watch import LoadWatcher

__all__ = ["TrackedMoment", "TrackingResult", "TrackingSession"]

KEPT = 300
"""Samples of a replayed log whose estimate is kept: enough for a chart as wide as a page."""
KEPT_PER_SECOND = 10.0
"""Estimates of a live source that are kept each second, at first."""
MOST_KEPT, MOST_EVENTS = 3000, 10_000
"""Estimates and events that are kept at most: of a long run every second estimate is forgotten again and again."""


@dataclass(frozen=True)
class TrackedMoment:
    """The estimate after one sample that is kept, and what happened there."""

    t: float
    """Time in s."""
    parameters: TrackedParameters
    nis: float
    """Normalised innovation squared of the sample, dimensionless."""
    n_absorbed: int
    """Samples in the estimate."""
    events: tuple[LoadEvent, ...] = ()
    share: float | None = None
    """Fraction of the log that has been followed (dimensionless); None for a live source."""


@dataclass(frozen=True, eq=False)
class TrackingResult:
    """Where a run ended, and how it came there."""

    model: TorqueModel
    tracked: IdentifiedModel
    """The model as the filter has it after the last sample; as it was where only the load was followed."""
    parameters: TrackedParameters
    health: Health
    """How far the filter can be believed, with NIS and counts of samples."""
    nis_band: tuple[float, float]
    """Two-sided 95 % band of the NIS of one sample, dimensionless."""
    n_skipped: int
    """Samples left out: values not finite, or time that does not go on."""
    missing: MissingValues
    """Values that samples lacked, by joint."""
    repairs: tuple[LogRepair, ...] = ()
    """What was put right in the rows or stamps of the log before it was followed."""
    events: tuple[LoadEvent, ...] = ()
    load: LoadEstimate | None = None
    """What the arm carries; None where the parameters of the arm were followed."""
    trail: tuple[TrackedMoment, ...] = ()
    """The estimate over time."""
    counts: StreamCounts | None = None
    """What came from a live source, with what was lost, late or doubled; None where a log was replayed."""

    def __str__(self) -> str:
        robot, load = self.model.robot, self.load
        head = [
            ("robot", f"{robot.name}   {robot.n_dof} joints, {counted(len(self.parameters.symbols), 'state')}"),
            ("samples", f"{self.health.n_absorbed} absorbed, {self.n_skipped} skipped"),
            ("NIS", self.health.nis_sentence),
            *(("left out", sentence) for sentence in self.missing.sentences),
        ]
        tail = [("event", f"{event.t:.3f} s   {event.sentence}") for event in self.events]
        if load is not None:
            tail.append(("load", f"{load.mass:.3f} ± {load.mass_std:.3f} kg"))
            tail += [("", f"{vendor}: {line}") for vendor, line in load.settings().items()]
        above, below = ("\n".join(f"{label:<11}{text}" for label, text in lines) for lines in (head, tail))
        return f"{above}\n\n{self.parameters}\n\n{below}".rstrip()

    def __repr__(self) -> str:
        what = repr(self.load) if self.load is not None else counted(len(self.parameters.symbols), "state")
        counts = f"{counted(self.health.n_absorbed, 'sample')}, {counted(len(self.events), 'event')}"
        return f"TrackingResult({self.model.robot.name}: {what}, {counts}, NIS {self.health.nis_mean:.3g})"

    def _repr_html_(self) -> str:
        return self.parameters._repr_html_()


class TrackingSession:
    """A filter, or filter and contact observer, with the samples it follows; `follow` runs it."""

    def __init__(
        self, known: IdentifiedModel, source: Recording | SampleIntake | int, options: TrackingOptions | None = None
    ) -> None:
        """Set up a run.

        Args:
            known: the model to start from.
            source: a log to replay, a live source of `open_stream`, or the UDP port of this machine to listen at.
            options: what to follow, and how.

        Raises:
            TrackingError: options that make no sense, or a checkpoint of another filter.
            RecordingError: the log lacks what is to be measured.
        """
        self.known, self.options = known, options or TrackingOptions()
        self._n_samples = source.n_samples if isinstance(source, Recording) else 0
        self._repairs = source.repairs if isinstance(source, Recording) else ()
        if isinstance(source, Recording):
            noise = recorded_noise(source, self.options)
            self._every = max(1, source.n_samples // KEPT)
        elif isinstance(source, SampleIntake | int):
            noise = live_noise(known.model.robot, self.options)
            self._every = max(1, int(self.options.rate // KEPT_PER_SECOND))
        else:
            raise TrackingError(f"source: expected a Recording, a live source or a port, got {type(source).__name__}")
        if isinstance(source, int):
            source = open_stream(f"{UDP}{source}", known.model.robot, known.settings)
        self.intake = source if isinstance(source, SampleIntake) else None
        """The live source; None where a log is replayed."""
        if self.options.noise is not None and self.options.noise != "periodic":
            noise = self._given_noise(len(noise))
        rate = source.rate_hz if isinstance(source, Recording) else self.options.rate
        self.watcher = load_watch(known, noise, self.options, rate_hz=rate).start() if self.options.payload else None
        """Filters of the load and contact watch; None where the parameters of the arm are followed."""
        self.tracker: Tracker | LoadWatcher = (
            self._filter(noise, source if isinstance(source, Recording) else None, rate)
            if self.watcher is None
            else self.watcher
        )
        """What runs: the filter of the arm, or the watcher."""
        self._heard: list[LoadEvent] = []
        self._window: KinematicStream | None = None
        given = isinstance(source, Recording) and source.dq is not None and source.ddq is not None
        self._missing = MissingCounter(known.model.robot.joint_names, completed=not given)
        self._samples = (
            self._live(source) if isinstance(source, SampleIntake) else self._replayed(source, self.options.speed)
        )
        self._trail: list[TrackedMoment] = []
        self._thinned = 1
        self._events: deque[LoadEvent] = deque(maxlen=MOST_EVENTS)

    def _given_noise(self, n_rows: int) -> Float[Array, " n_rows"]:
        given = np.array(self.options.noise, dtype=float)
        if len(given) not in (1, n_rows):
            raise TrackingError(f"`noise` has {len(given)} numbers, but {n_rows} rows are measured; give one, or each")
        return np.array(np.broadcast_to(given, (n_rows,)))

    def _filter(self, noise: Float[Array, " n_rows"], recording: Recording | None, rate_hz: float) -> Tracker:
        if recording is not None:
            check_units(self.known, recording, self.options)
        cutoff, path = arm_cutoff(self.known, recording), self.options.checkpoint
        every = rows_every(cutoff, rate_hz)
        if self.options.noise is None:
            noise = arm_noise(self.known, noise, every / rate_hz)
        elif self.options.noise == "periodic":
            if recording is None:
                raise TrackingError("`noise` periodic needs a log; a live source has not shown its period yet")
            whole = recording.complete()
            rows = recorded_rows(whole, self.options)
            noise = periodic_noise(
                recording.source, whole.t, whole.q, rows, cutoff_hz=cutoff, rate_hz=rate_hz, every=every
            )
        options = arm_filter(self.known, noise, self.options, cutoff_hz=cutoff, rate_hz=rate_hz)
        if path is None or not path.exists():
            return options.start()
        tracker = resume(options, path)
        if recording is not None and not recording.t[0] > tracker.t:
            tracker.restart_clock()
        return tracker

    def _live(self, intake: SampleIntake) -> Iterator[Sample]:
        n_dof, options = self.known.model.n_dof, self.options
        kinematics = KinematicFilter.at_rate(options.rate, half_window=options.half_window)
        try:
            yield from self._completed(self._counted(intake.samples()), kinematics.start(n_dof))
        finally:
            intake.close()

    @property
    def unobservable(self) -> tuple[str, ...]:
        """States that nothing measured can show, by name; they stay where they start."""
        return self.tracker.options.unobservable if isinstance(self.tracker, Tracker) else ()

    @property
    def left_out(self) -> tuple[str, ...]:
        """Bounds without a convex form, which the filter of the arm does not keep."""
        cone = self.tracker.options.cone if isinstance(self.tracker, Tracker) else None
        return () if cone is None else cone.left_out

    def samples_of(self, recording: Recording) -> tuple[Motion, Float[Array, "n_samples n_dof"]]:
        """The samples of a log as the filter gets them, at full speed: motion (rad, s) and torque (N·m or N)."""
        samples = replay(recording)
        if recording.dq is None or recording.ddq is None:
            kinematics = KinematicFilter.at_rate(recording.rate_hz, half_window=self.options.half_window)
            samples = with_kinematics(samples, kinematics, recording.n_dof)
        kept = [s for s in samples if s.dq is not None and s.ddq is not None and np.isfinite([s.q, s.dq, s.ddq]).all()]
        t, q, dq, ddq, tau = (np.array([getattr(s, name) for s in kept]) for name in ("t", "q", "dq", "ddq", "tau"))
        return Motion(t, q, dq, ddq), tau

    def _counted(self, samples: Iterator[Sample]) -> Iterator[Sample]:
        """The same samples; what they lack is counted. One without torques where others had them lacks them all."""
        torque = None
        for given in samples:
            sample = given if given.tau is not None or torque is None else given._replace(tau=torque)
            torque = torque if sample.tau is None or torque is not None else np.full(len(sample.tau), np.nan)
            self._missing.hear(sample)
            yield sample

    def _completed(self, samples: Iterator[Sample], window: KinematicStream) -> Iterator[Sample]:
        """The same samples with their motion, half a window late; the contact watch hears them at once."""
        self._window = window
        for sample in samples:
            if self.watcher is not None and sample.dq is None:
                self.watcher.without_velocities()
            elif self.watcher is not None and sample.tau is not None:
                self._heard += self.watcher.hear(sample)
            found = window.step(sample)
            if found is not None:
                yield found

    def follow(self) -> Iterator[TrackedMoment]:
        """Absorb every sample; yield the estimate at those that are kept, and wherever something happened.

        Raises:
            TrackingError: sizes that betray a wrong unit, or a stream that cannot be read.
        """
        for number, sample in enumerate(self._samples, 1):
            if self.watcher is None:
                self.tracker.step(sample)
            else:
                self._heard += self.watcher.step(sample)
            events = tuple(self._heard)
            self._heard.clear()
            self._events += events
            if number % self._every and not events:
                continue
            share = number / self._n_samples if self._n_samples else None
            tracker = self.tracker
            moment = TrackedMoment(sample.t, tracker.parameters, tracker.nis, tracker.n_absorbed, events, share)
            if number % (self._every * self._thinned) == 0 or events:
                self._trail.append(moment)
            if len(self._trail) >= MOST_KEPT:
                del self._trail[::2]
                self._thinned *= 2
            yield moment
        if self.options.checkpoint is not None and isinstance(self.tracker, Tracker):
            save_checkpoint(self.tracker, self.options.checkpoint)

    def result(self) -> TrackingResult:
        """Where the run has come to so far."""
        tracker, watcher = self.tracker, self.watcher
        return TrackingResult(
            model=self.known.model,
            tracked=self._tracked(tracker) if isinstance(tracker, Tracker) else self.known,
            parameters=tracker.parameters,
            health=health(tracker) if isinstance(tracker, Tracker) else tracker.health,
            nis_band=tracker.band,
            n_skipped=tracker.n_skipped + (0 if self._window is None else self._window.n_skipped),
            missing=self._missing.values,
            repairs=self._repairs,
            events=tuple(self._events),
            load=None if watcher is None else watcher.estimate,
            trail=tuple(self._trail),
            counts=None if self.intake is None else self.intake.counts,
        )

    def _tracked(self, tracker: Tracker) -> IdentifiedModel:
        known = self.known
        theta = tracker.theta
        J, P, base = tracker.options.state.at(tracker.state.x).jacobian, tracker.covariance, tracker.base_link
        spread, below = known.base.K @ J[: known.model.n_params], J[known.model.n_params + 10 :]
        options, n_dof = tracker.options, known.model.n_dof
        echo = tracker.echo
        memory = -options.every / options.rate_hz / np.log(echo) if echo > 0.0 else 0.0
        measured = options.common_noise and "torque" in options.measure
        return replace(
            known,
            noise=tracker.noise[:n_dof] if measured else known.noise,
            noise_memory=np.full(n_dof, memory) if measured else known.noise_memory,
            estimator="track",
            beta=known.base.project(theta),
            covariance=spread @ P @ spread.T,
            theta=theta if known.theta is not None else None,
            base_link=known.base_link if base is None else BaseLink(base, below @ P @ below.T),
            rule="as the filter had it after the last sample",
        )

    def _replayed(self, recording: Recording, speed: float | None) -> Iterator[Sample]:
        samples = replay(recording, speed=speed)
        if recording.holes:
            samples = self._counted(samples)
        if recording.dq is not None and recording.ddq is not None:
            return samples
        kinematics = KinematicFilter.at_rate(recording.rate_hz, half_window=self.options.half_window)
        return self._completed(samples, kinematics.start(recording.q.shape[1]))
