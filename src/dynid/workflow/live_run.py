"""A live run without its page: samples in, the load, contacts, torques and the health of it all as one view."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.inertia import InertialParameters
from dynid.errors import DynidError, RecordingError
from dynid.recording.recording import Recording
from dynid.regression.model import IdentifiedModel
from dynid.tracking.load import LoadEstimate, LoadEvent
from dynid.tracking.samples import Sample
from dynid.tracking.session import TrackingSession
from dynid.tracking.setup import TrackingOptions, live_noise, load_watch
from dynid.tracking.sources.counts import StreamCounts
from dynid.tracking.sources.intake import SampleIntake
from dynid.tracking.watch import LoadWatcher
from dynid.validation.band import WITHIN_95
from dynid.workflow.live_buffers import ChartLines, LatestSamples
from dynid.workflow.live_torque import LiveTorque, live_contact
from dynid.workflow.live_view import LiveContact, LiveEvent, LiveSession, LiveView

__all__ = ["CHART_LENGTH", "VIEWS_PER_SECOND", "LiveRun"]

VIEWS_PER_SECOND = 30.0
"""How often the view is renewed."""
CHART_LENGTH = int(60.0 * VIEWS_PER_SECOND)
"""Views that the charts show: those of the last minute."""
KEPT_SECONDS, KEPT_SAMPLES = 600.0, 300_000
"""What is kept for a log: the last ten minutes, of a fast source fewer, so that memory stays where it is."""
KEPT_EVENTS = 200
"""Events in the list."""
RATE_SAMPLES, RATE_PATIENCE = 60, 2.0
"""Samples, or time in s, over which the rate of a source is measured before the filter starts."""
BEHIND = 0.3
"""Time in s from the arrival of a sample to its estimate beyond which the run is said to be behind."""
LINGER = 2.0
"""Time in s that a contact which is over stays in view: a knock takes a tenth of a second, a glance longer."""
BREATHER = 1.0
"""Time in s before the filter starts again after an error."""


class LiveRun:
    """A source followed in a thread of its own; `view` is always the latest."""

    def __init__(
        self,
        known: IdentifiedModel,
        intake: SampleIntake,
        options: TrackingOptions,
        *,
        measured_rate: bool = True,
        hears: Callable[[Sample], None] | None = None,
    ) -> None:
        """Set up a run.

        Args:
            known: the arm without load.
            intake: where samples come from.
            options: of the load watch.
            measured_rate: whether the rate of the source is measured first; `options` says it otherwise.
            hears: called with every sample, once it is in the estimate.
        """
        self.known = known
        self.intake = intake
        self.options = replace(options, payload=True)
        self._measured_rate, self._hears = measured_rate, hears
        n = known.model.n_dof
        self._n_dof = n
        self._samples = LatestSamples(known.robot.joint_names, KEPT_SAMPLES)
        self._mass = ChartLines(CHART_LENGTH, 2)
        self._torque = ChartLines(CHART_LENGTH, 3 * n)
        self._events: deque[LiveEvent] = deque(maxlen=KEPT_EVENTS)
        self._latencies: deque[float] = deque(maxlen=201)
        self._trouble = ""
        self._session: TrackingSession | None = None
        self._stop, self._again, self._lock = threading.Event(), threading.Event(), threading.RLock()
        self._asked: deque[Callable[[], None]] = deque()
        self._thread = threading.Thread(target=self._run, name="dynid live", daemon=True)
        self._next_view, self._cpu = 0.0, 0.0
        self._touched, self._seen_contact = "", -np.inf
        self._predicted = LiveTorque(known, 100, 1.0 / VIEWS_PER_SECOND)
        self.view = self._first_view()
        """The latest."""

    def start(self) -> None:
        """Follow the source."""
        self._thread.start()

    def stop(self) -> None:
        """End, and give the source back."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)
        self.intake.close()

    @property
    def running(self) -> bool:
        """Whether samples may still come."""
        return self._thread.is_alive() and self.intake.state != "ended"

    # What a person asks for; each is done between two samples.

    def reset(self) -> None:
        """Forget the load and start again."""
        self._asked.append(lambda: self._start_again("reset"))

    def tare(self) -> None:
        """What the arm carries now is part of it: the load starts from there."""
        self._asked.append(self._tare)

    def mark(self, text: str = "mark") -> None:
        """Put a mark into the list of events."""
        self._asked.append(lambda: self._note(text))

    def record_anew(self) -> None:
        """Forget the samples kept so far."""
        self._asked.append(self._samples.clear)

    def use(self, known: IdentifiedModel, why: str) -> None:
        """Go on with another model."""

        def change() -> None:
            self.known = known
            self._start_again(why)

        self._asked.append(change)

    def recording(self, since: float = -np.inf) -> Recording:
        """What was kept of the samples, from time `since` (s) on, as a log.

        Raises:
            RecordingError: nothing has come yet.
        """
        with self._lock:
            return self._samples.recording(since)

    def session(self) -> LiveSession:
        """What the run has come to.

        Raises:
            RecordingError: nothing has come yet.
        """
        with self._lock:
            log = self._samples.recording()
            if self._session is None:
                raise RecordingError("live: nothing has been followed yet; wait for samples")
            return LiveSession(self.known, self._session.result(), log, self.events())

    def cpu_seconds(self) -> float:
        """Time of a processor in s that following has taken so far."""
        return self._cpu

    def events(self) -> tuple[LiveEvent, ...]:
        """What happened so far, the oldest first."""
        return tuple(self._events)

    # The thread.

    def _run(self) -> None:
        self._trouble = "Preparing the filter."
        self._renew()
        self._trouble = compiled(self.known, self.options)
        held = self._measure_rate()
        while not self._stop.is_set():
            self._again.clear()
            intake = _LiveIntake(self, held)
            held = []
            try:
                session = TrackingSession(self.known, intake, self.options)
                half = max(4, round(self.options.half_window * self.options.rate))
                self._predicted = LiveTorque(self.known, half, 1.0 / VIEWS_PER_SECOND)
                self._session, self._trouble = session, ""
                for moment in session.follow():
                    for event in moment.events:
                        self._happened(event)
            except DynidError as error:
                self._trouble = str(error)
                self._renew()
                self._stop.wait(BREATHER)
            if self.intake.feed.ended:
                break
        while True:
            # What a person asks for is answered, also after the last sample.
            self._answer()
            self._renew()
            if self._stop.wait(0.05):
                return

    def _measure_rate(self) -> list[Sample]:
        """The first samples of a source, over which its rate is measured."""
        held: list[Sample] = []
        first = None
        while self._measured_rate and not self._stop.is_set() and not self.intake.feed.ended:
            held += self._read()
            self._renew()
            now = time.monotonic()
            first = now if held and first is None else first
            enough = len(held) >= RATE_SAMPLES or (first is not None and now - first > RATE_PATIENCE)
            if enough and self.intake.period == self.intake.period:
                break
        if self._measured_rate and self.intake.period == self.intake.period:
            self.options = replace(self.options, rate=1.0 / self.intake.period)
        return held

    def _read(self) -> list[Sample]:
        try:
            return self.intake.read(0.02)
        except DynidError as error:
            self._trouble = str(error)
            self._stop.wait(BREATHER)
            return []

    def samples(self, held: list[Sample]) -> Iterator[Sample]:
        """What the session takes: every sample, with views and answers in between."""
        while not self._stop.is_set():
            found, held = held or self._read(), []
            with self._lock:
                for sample in found:
                    self._samples.add(sample)
                    yield sample
                    if self._hears is not None:
                        self._hears(sample)
            if found:
                self._latencies.append(time.monotonic() - self.intake.arrival)
            self._answer()
            if self._again.is_set() or (self.intake.feed.ended and not found):
                return
            if time.monotonic() >= self._next_view:
                self._renew()

    def _answer(self) -> None:
        while self._asked:
            self._asked.popleft()()

    def _happened(self, event: LoadEvent) -> None:
        if event.link is None:
            detail = f"{event.mass:.2f} ± {WITHIN_95 * event.mass_std:.2f} kg"
        else:
            size = "" if event.force is None else f", {float(np.linalg.norm(event.force)):.0f} N"
            detail = f"{event.nature}, {event.link}{size}"
            self._touched = event.link
        self._events.append(LiveEvent(event.t, event.kind, event.mass, detail))

    def _contact(self, watcher: LoadWatcher, q: Float[Array, " n_dof"]) -> LiveContact | None:
        """What touches the arm; of what is over, for a while, what it was when it was strongest."""
        now, before = time.monotonic(), self.view.contact
        if watcher.in_contact:
            self._seen_contact = now
            found = live_contact(self.known.robot, q, self._touched, watcher.external_torque)
            weaker = before is not None and found is not None and before.name == found.name and before.size > found.size
            return before if weaker else found
        return before if now - self._seen_contact < LINGER else None

    def _note(self, kind: str) -> None:
        self._events.append(LiveEvent(self.view.t, kind, self.view.load.mass))

    def _start_again(self, why: str) -> None:
        self._note(why)
        self._again.set()

    def _tare(self) -> None:
        load, theta = self.view.load, np.array(self.known.parameters)
        body = InertialParameters.from_com(load.mass, load.com, load.inertia_com)
        carrier = slice(10 * (self._n_dof - 1), 10 * self._n_dof)
        theta[carrier] += body.pi
        full = None if self.known.theta is None else theta
        self.known = replace(self.known, theta=full, beta=self.known.base.project(theta))
        self._start_again(f"tare ({load.mass:.3f} kg)")

    # The view.

    def _first_view(self) -> LiveView:
        n = self._n_dof
        nothing = LoadEstimate(0.0, self.options.max_mass, np.zeros(3), np.zeros((3, 3)))
        return LiveView(
            t=0.0, q=np.zeros(n), load=nothing, contact=None, mass=np.zeros((0, 3)),
            torque=np.zeros((0, 1 + 3 * n)), events=(), counts=self.intake.counts, state="waiting",
            health=f"Waiting for samples from {self.intake.label}.", healthy=False, rate_hz=float("nan"),
            latency=float("nan"), n_recorded=0,
        )  # fmt: skip

    def _renew(self) -> None:
        self._next_view = time.monotonic() + 1.0 / VIEWS_PER_SECOND
        self._cpu = time.thread_time()
        session, rows = self._session, self._samples.latest(self._predicted.n_window)
        before = self.view
        if session is None or session.watcher is None or not len(rows):
            health, healthy = self._health()
            self.view = replace(before, counts=self.intake.counts, state=self.intake.state, health=health,
                                healthy=healthy, events=self.events())  # fmt: skip
            return
        t, load = float(rows[-1, 0]), session.watcher.estimate
        if t != before.t:
            self._mass.add(t, np.array([load.mass, load.mass_std]))
            watcher, with_dq = session.watcher, self._samples.with_dq
            point = self._predicted.point(rows, with_dq, watcher.load, watcher.covariance)
            if point is not None:
                self._torque.add(*point)
        health, healthy = self._health()
        self.view = LiveView(
            t=t,
            q=rows[-1, 1 : 1 + self._n_dof],
            load=load,
            contact=self._contact(session.watcher, rows[-1, 1 : 1 + self._n_dof]),
            mass=self._mass.rows(),
            torque=self._torque.rows(),
            events=self.events(),
            counts=self.intake.counts,
            state=self.intake.state,
            health=health,
            healthy=healthy,
            rate_hz=1.0 / self.intake.period if self.intake.period else float("nan"),
            latency=float(np.median(self._latencies)) if self._latencies else float("nan"),
            n_recorded=len(self._samples),
        )

    def _health(self) -> tuple[str, bool]:
        """One sentence about what matters most now, and whether all is well."""
        intake, label = self.intake, self.intake.label
        state, counts = intake.state, intake.counts
        if self._trouble:
            return self._trouble, False
        if state == "waiting":
            why = f" {counts.n_garbage} messages were no samples: {counts.complaint}" if counts.n_garbage else ""
            return f"Waiting for samples from {label}.{why}", False
        if state == "silent":
            return f"{label} is silent for {intake.silent_for:.0f} s; the estimate waits where it is.", False
        if state == "ended":
            return f"{label} has ended after {counts.n_samples} samples.", True
        if counts.n_garbage > 0.01 * counts.n_samples:
            return f"{counts.n_garbage} messages from {label} were no samples: {counts.complaint}", False
        if counts.n_lost > 0.01 * counts.n_samples:
            return f"{counts.n_lost} of {counts.n_samples} samples were lost on the way.", False
        if self._latencies and self._latencies[-1] > BEHIND and intake.feed.real_time:
            return f"The estimate is {self._latencies[-1]:.1f} s behind: this machine is too busy.", False
        load = self.view.load
        if load.mass_std > 0.2 * max(load.mass, 0.5):
            return "The load is not known well yet: move the arm, the wrist most of all.", True
        return f"Following {label}: {1.0 / intake.period:.0f} samples a second, none lost." if not counts.n_lost else (
            f"Following {label}: {1.0 / intake.period:.0f} samples a second, {counts.n_lost} lost."
        ), True  # fmt: skip


def compiled(known: IdentifiedModel, options: TrackingOptions) -> str:
    """Compile the load watch before the first sample comes; what went wrong, empty where nothing did."""
    try:
        noise = live_noise(known.model.robot, options)
        watcher = load_watch(known, noise, options, rate_hz=options.rate).start()
        for k in range(3):
            sample = Sample(k / options.rate, *np.zeros((4, known.model.n_dof)))
            watcher.hear(sample)
            watcher.step(sample)
    except DynidError as error:
        return str(error)
    return ""


class _LiveIntake(SampleIntake):
    """The intake of a run as its session takes it: the run reads, and closes it in the end."""

    def __init__(self, run: LiveRun, held: list[Sample]) -> None:
        super().__init__(run.intake.feed)
        self._run, self._held = run, held

    @property
    def counts(self) -> StreamCounts:
        """Of the whole run."""
        return self._run.intake.counts

    def samples(self, *, timeout: float = 5.0) -> Iterator[Sample]:
        """Until the run stops or starts again; silence of any length (s) is waited for."""
        del timeout
        return self._run.samples(self._held)

    def close(self) -> None:
        """Not yet: the run may start again."""
