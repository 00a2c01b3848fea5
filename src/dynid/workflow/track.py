"""`track`: parameters, loads and contacts while the robot moves, replayed or live."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

import numpy as np

from dynid.arrays import Array
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import RecordingError
from dynid.prose import Document, Grid, Line, PrintsAsDocument
from dynid.recording.column_map import ColumnMap
from dynid.recording.log_settings import LogSettings
from dynid.recording.raw import RawLog
from dynid.recording.recording import Recording
from dynid.regression.model import IdentifiedModel
from dynid.tracking.load import LoadEvent
from dynid.tracking.session import TrackedMoment, TrackingResult, TrackingSession
from dynid.tracking.setup import TrackingOptions
from dynid.tracking.sources.counts import StreamCounts
from dynid.tracking.sources.intake import UDP, SampleIntake, is_stream, open_stream
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.contract import Numbers
from dynid.workflow.doors import LogLike, ModelLike, as_gains, as_map, as_model
from dynid.workflow.logs import as_recording
from dynid.workflow.progress import Progress, silent
from dynid.workflow.provenance import provenance

__all__ = ["ModelTracking", "counts_json", "events_json", "track", "tracked_source"]


class EventJson(TypedDict):
    """What happened to the load, or a contact."""

    kind: str
    t: float
    mass: float
    reaction: str
    std: NotRequired[float]
    delay: NotRequired[float]
    link: NotRequired[str]
    force: NotRequired[list[float]]
    nature: NotRequired[str]


class NisJson(TypedDict):
    """The normalised innovation squared, and where it should be."""

    mean: float
    band: tuple[float, float]
    share_inside: float


class TrackedJson(TypedDict):
    """One state at the end of a run."""

    label: str
    value: float
    std: float
    unit: str


class TrackedLoadJson(TypedDict):
    """The load at the end of a run."""

    mass: float
    com: Numbers
    inertia_com: Numbers
    std: dict[str, float]
    settings: dict[str, str]


class SourceJson(TypedDict):
    """What came from a live source."""

    samples: int
    lost: int
    late: int
    doubled: int
    garbage: int
    jumps: int
    stops: int


class ModelTrackingJson(TypedDict):
    """The last object that `track` tells."""

    robot: str
    n_dof: int
    estimator: str
    n_absorbed: int
    n_skipped: int
    nis: NisJson
    health: list[str]
    parameters: list[TrackedJson]
    events: list[EventJson]
    payload: NotRequired[TrackedLoadJson]
    source: NotRequired[SourceJson]


def events_json(events: Sequence[LoadEvent]) -> list[EventJson]:
    """Events as scripts and controllers read them: s, kg, N; what is not known is left out."""
    return [_event_json(event) for event in events]


def _event_json(event: LoadEvent) -> EventJson:
    content: EventJson = {"kind": event.kind, "t": event.t, "mass": event.mass, "reaction": event.reaction}
    if np.isfinite(event.mass_std):
        content["std"] = event.mass_std
    if np.isfinite(event.delay):
        content["delay"] = event.delay
    if event.link is not None and event.nature is not None:
        content["link"], content["nature"] = event.link, event.nature
    if event.force is not None:
        content["force"] = event.force.tolist()
    return content


def counts_json(counts: StreamCounts) -> SourceJson:
    """What came from a live source, as scripts read it."""
    return {
        "samples": counts.n_samples,
        "lost": counts.n_lost,
        "late": counts.n_late,
        "doubled": counts.n_doubled,
        "garbage": counts.n_garbage,
        "jumps": counts.n_jumps,
        "stops": counts.n_stops,
    }


@dataclass(frozen=True, eq=False)
class ModelTracking(PrintsAsDocument):
    """The result of `dynid.track`: where the filter ended, how it came there, and the model it leaves."""

    run: TrackingResult
    """Parameters, health, events, load and trail of the filter."""
    model: IdentifiedModel
    """The model as the filter has it after the last sample; as it was where only the load was followed."""
    warnings: tuple[str, ...] = ()
    """What makes the result doubtful, a sentence each."""
    inputs: tuple[Path, ...] = ()
    """The files it was made from."""

    @property
    def events(self) -> tuple[LoadEvent, ...]:
        """Loads picked, placed and changed, and contacts."""
        return self.run.events

    def json(self) -> ModelTrackingJson:
        """What scripts read of it, SI."""
        run, health, now, load = self.run, self.run.health, self.run.parameters, self.run.load
        content: ModelTrackingJson = {
            "robot": run.model.robot.name,
            "n_dof": run.model.n_dof,
            "estimator": "track",
            "n_absorbed": health.n_absorbed,
            "n_skipped": run.n_skipped,
            "nis": {"mean": health.nis_mean, "band": health.nis_band, "share_inside": health.nis_share},
            "health": list(health.sentences),
            "parameters": [
                {"label": symbol, "value": float(value), "std": float(std), "unit": unit}
                for symbol, value, std, unit in zip(now.symbols, now.values, now.std, now.units, strict=True)
            ],
            "events": events_json(run.events),
        }
        if run.counts is not None:
            content["source"] = counts_json(run.counts)
        if load is not None:
            content["payload"] = {
                "mass": load.mass,
                "com": load.com,
                "inertia_com": load.inertia_com,
                "std": {"mass": load.mass_std},
                "settings": load.settings(),
            }
        return content

    def document(self) -> Document:
        """The end of a run from top to bottom, as the terminal shows it."""
        run, now, robot, load = self.run, self.run.parameters, self.run.model.robot, self.run.load
        rows = tuple(
            (symbol, f"{value:.5g}", f"{std:.2g}", unit)
            for symbol, value, std, unit in zip(now.symbols, now.values, now.std, now.units, strict=True)
        )
        parts: list[Line | Grid] = [
            Line("robot", f"{robot.name}   {robot.n_dof} joints, {len(now.symbols)} states"),
            Line("samples", f"{run.health.n_absorbed} absorbed, {run.n_skipped} skipped"),
            Line("NIS", run.health.nis_sentence),
            Grid(("parameter", "value", "± 1σ", "unit"), rows, (1, 2)),
            *(Line("event", f"{event.t:.3f} s   {event.sentence}") for event in run.events),
        ]
        if load is not None:
            parts.append(Line("load", f"{load.mass:.3f} ± {load.mass_std:.3f} kg"))
            parts += [Line("", f"{vendor}: {line}") for vendor, line in load.settings().items()]
        return tuple(parts)

    def __repr__(self) -> str:
        return repr(self.run).replace("TrackingResult", "ModelTracking", 1)


@checked_arguments
@one_blas_thread()
def track(
    model: ModelLike,
    log: LogLike | int,
    *,
    from_wrong: float = 0.0,
    payload: bool = False,
    measure: Literal["torque", "base-wrench", "both"] = "torque",
    states: Literal["auto", "entries", "links"] = "auto",
    max_mass: float = 5.0,
    speed: float | None = None,
    half_window: float = 0.1,
    rate: float = 1000.0,
    checkpoint: str | PathLike[str] | None = None,
    seed: int = 0,
    process_noise: float = 0.0,
    annealing: float = 200.0,
    carry: Literal["parameters", "state"] = "parameters",
    noise: Sequence[float] | None = None,
    from_: float | None = None,
    until: float | None = None,
    columns: str | PathLike[str] | ColumnMap | None = None,
    gains: str | Sequence[float] | Array | None = None,
    watch: Callable[[TrackedMoment], None] | None = None,
    progress: Progress = silent,
) -> ModelTracking:
    """Follow parameters, or the load and contacts, sample by sample: what the command ``dynid track`` does (SI).

    The log is read as those of the model's fit were: its column map, gains and delay hold unless given here.

    Args:
        model: model.json or `IdentifiedModel`.
        log: a log to replay, or a live source: ``udp:PORT`` or the port for datagrams on this machine (JSON or
            binary), ``-`` for lines of JSON on standard input, ``follow:FILE`` for a log or bag being written.
        from_wrong: start from parameters wrong by this share, sign by link.
        payload: follow the load on a known arm, and contacts.
        measure: torque, base-wrench, or both.
        states: entries for each parameter between its own bounds, links for whole, always consistent links.
        max_mass: the heaviest load, kg.
        speed: replay at this many times real time; None for full speed.
        half_window: half the window that gives velocity and acceleration, s.
        rate: samples per second of a live source.
        checkpoint: file to resume from if it is there, and to save to.
        seed: of the signs of `from_wrong`.
        process_noise: k₀ of every state of the arm per sample, dimensionless; 0 for an arm that does not change.
        annealing: samples after which the process noise has fallen by e.
        carry: whose covariance stays when a bound bends the state: parameters, or state as in the paper.
        noise: standard deviation of every measured row, or one for all, N·m and N; None takes it from model or log.
        from_: start of the part to use, s.
        until: end of the part to use, s.
        columns: mapping file or `ColumnMap`.
        gains: drive gains in N·m/A, for logs of motor current.
        watch: hears the estimate at every sample that is kept, and wherever something happened.
        progress: hears how far it is.

    Raises:
        TrackingError: options that make no sense, or a stream that cannot be read.
        RecordingError: the log lacks what is to be measured.
    """
    known = as_model(model)
    options = TrackingOptions(
        from_wrong=from_wrong,
        payload=payload,
        measure=measure,
        states=states,
        max_mass=max_mass,
        speed=speed,
        half_window=half_window,
        rate=rate,
        checkpoint=None if checkpoint is None else Path(checkpoint),
        seed=seed,
        process_noise=process_noise,
        annealing=annealing,
        carry=carry,
        noise=None if noise is None else tuple(float(std) for std in noise),
    )
    settings = LogSettings(columns=as_map(columns), gains=as_gains(gains)).over(known.settings)
    source = tracked_source(known, log, settings, from_, until)
    session, run = _followed(known, source, options, watch, progress)
    return _result(model, log, source, (columns, checkpoint), session, run)


def _result(
    model: ModelLike,
    log: LogLike | int,
    source: Recording | SampleIntake,
    others: tuple[object, ...],
    session: TrackingSession,
    run: TrackingResult,
) -> ModelTracking:
    inputs = tuple(Path(given) for given in (model, log) if isinstance(given, str | PathLike) and _is_file(given))
    other = tuple(Path(given) for given in others if isinstance(given, str | PathLike))
    memory = [RawLog.of(source)] if isinstance(source, Recording) and not isinstance(log, str | PathLike) else []
    tracked = run.tracked
    if run.load is None:
        tracked = replace(tracked, provenance=provenance("track", [*inputs, *memory], {}))
    return ModelTracking(run, tracked, _warnings(session, run), (*inputs, *other))


def _followed(
    known: IdentifiedModel,
    source: Recording | SampleIntake,
    options: TrackingOptions,
    watch: Callable[[TrackedMoment], None] | None,
    progress: Progress,
) -> tuple[TrackingSession, TrackingResult]:
    progress("following the log")
    session = TrackingSession(known, source, options)
    for moment in session.follow():
        progress("following the log", moment.share)
        if watch is not None:
            watch(moment)
    return session, session.result()


def _is_file(given: str | PathLike[str]) -> bool:
    return not is_stream(str(given))


def tracked_source(
    known: IdentifiedModel, log: LogLike | int, settings: LogSettings, t_from: float | None, t_until: float | None
) -> Recording | SampleIntake:
    """The log to replay, its torque moved to the motion it belongs to (times in s), or the live source.

    Raises:
        TrackingError: a live source that cannot be opened.
        RecordingError: a log that cannot be read.
    """
    if isinstance(log, int) and not isinstance(log, bool):
        log = f"{UDP}{log}"
    if isinstance(log, str) and is_stream(log):
        return open_stream(log, known.robot, settings)
    if isinstance(log, int):
        raise RecordingError("log: expected a log file, a Recording, arrays by name, or a UDP port, got bool")
    recording = as_recording(log, known.robot, settings).part(t_from, t_until)
    return settings.aligned(settings.with_torque(recording, known.robot))


def _warnings(session: TrackingSession, run: TrackingResult) -> tuple[str, ...]:
    told = []
    if session.unobservable:
        told.append(f"nothing measured can observe {', '.join(session.unobservable)}; they stay where they start")
    told += run.health.sentences
    counts = run.counts
    if counts is not None and (counts.n_lost or counts.n_late or counts.n_doubled or counts.n_garbage):
        told.append(f"the source sent {counts}" + (f"; the last: {counts.complaint}" if counts.complaint else ""))
    if run.health.n_absorbed == 0:
        told.append("no sample was absorbed; the log is shorter than the window, or every sample has a value missing")
    return tuple(told)
