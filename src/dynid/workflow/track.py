"""`track`: parameters, loads and contacts while the robot moves, replayed or live."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Literal

from dynid.arrays import Array
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ConfigError, RecordingError, TrackingError
from dynid.recording.column_map import ColumnMap
from dynid.recording.log_settings import LogSettings
from dynid.recording.raw import RawLog
from dynid.recording.recording import Recording
from dynid.regression.constraints.constraints import ParameterBounds
from dynid.regression.constraints.files import read_bounds
from dynid.regression.model import IdentifiedModel
from dynid.tracking.session import TrackedMoment, TrackingResult, TrackingSession
from dynid.tracking.setup import TrackingOptions
from dynid.tracking.sources.intake import UDP, SampleIntake, is_stream, open_stream
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.doors import LogLike, ModelLike, as_gains, as_map, as_model
from dynid.workflow.filter_comparison import compare_filters
from dynid.workflow.logs import followed_recording
from dynid.workflow.progress import Progress, silent
from dynid.workflow.provenance import provenance
from dynid.workflow.track_result import ModelTracking

__all__ = ["track", "tracked_source"]


@checked_arguments
@one_blas_thread()
def track(
    model: ModelLike,
    log: LogLike | int,
    *,
    from_wrong: float = 0.0,
    payload: bool = False,
    measure: Literal["torque", "base-wrench", "both"] = "torque",
    tared: bool = False,
    states: Literal["auto", "entries", "links"] = "auto",
    max_mass: float = 5.0,
    false_alarms: float = 0.5,
    speed: float | None = None,
    half_window: float = 0.1,
    rate: float = 1000.0,
    checkpoint: str | PathLike[str] | None = None,
    seed: int = 0,
    process_noise: float = 0.0,
    annealing: float = 200.0,
    carry: Literal["parameters", "state"] = "parameters",
    noise: Sequence[float] | Literal["periodic"] | None = None,
    bounds: str | PathLike[str] | ParameterBounds | Mapping[str, tuple[float, float]] | None = None,
    compare: bool = False,
    settle: float = 2.0,
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
        log: a log to replay, in which values may be missing (nan, empty or infinite), or a live source: ``udp:PORT``
            or the port for datagrams on this machine (JSON or binary), ``-`` for lines of JSON on standard input,
            ``follow:FILE`` for a log or bag being written.
        from_wrong: start from parameters wrong by this share, sign by link.
        payload: follow the load on a known arm, and contacts.
        measure, tared: torque, base-wrench, or both; whether the sensor under the base was zeroed with the arm on it.
        states: links for all parameters together, always physically consistent; entries for each parameter between its
            own bounds, as in the paper; auto for links where the model has physically consistent ones.
        max_mass, false_alarms: the heaviest load, kg; contacts that may be invented in an hour of free motion, 1/h.
        speed: replay at this many times real time; None for full speed.
        half_window, rate: half the window that gives velocity and acceleration, s; samples per second of a live source.
        checkpoint, seed: file to resume from if it is there, and to save to; of the signs of `from_wrong`.
        process_noise, annealing: k₀ of every state of the arm per sample, dimensionless, 0 for an arm that does not
            change; samples after which it has fallen by e.
        carry: whose covariance stays when a bound bends the state: parameters, or state as in the paper.
        noise: standard deviation of every measured row, or one for all, N·m and N; periodic takes it, with its memory,
            from how the periods of a periodic log differ; None takes it from model or log.
        bounds: CSV with parameter,lower,upper, or (lower, upper) by parameter, SI; held beside physical consistency.
        compare, settle: run other filters and least squares beside it on the same log; time to converge first, s.
        from_, until: start and end of the part to use, s.
        columns, gains: mapping file or `ColumnMap`; drive gains in N·m/A, for logs of motor current.
        watch, progress: hear the estimate at every sample that is kept and wherever something happened; how far it is.

    Raises:
        TrackingError: options that make no sense, or a stream that cannot be read.
        RecordingError: the log lacks what is to be measured.
    """
    known = as_model(model)
    options = TrackingOptions(
        from_wrong=from_wrong, payload=payload, measure=measure, tared=tared, states=states, max_mass=max_mass,
        false_alarms=false_alarms, speed=speed, half_window=half_window, rate=rate, seed=seed,
        process_noise=process_noise, annealing=annealing, carry=carry, bounds=_bounds(bounds),
        checkpoint=None if checkpoint is None else Path(checkpoint),
        noise=noise if noise is None or isinstance(noise, str) else tuple(float(std) for std in noise),
    )  # fmt: skip
    settings = LogSettings(columns=as_map(columns), gains=as_gains(gains)).over(known.settings)
    source = tracked_source(known, log, settings, from_, until)
    if compare:
        _check_comparison(options, source)
    session, run = _followed(known, source, options, watch, progress)
    found = _result(model, log, source, (columns, checkpoint, bounds), session, run)
    if not compare or not isinstance(source, Recording):
        return found
    rest = None if until is None else tracked_source(known, log, settings, until, None)
    return replace(found, compared=compare_filters(session, run, source, rest, settings, settle))


def _check_comparison(options: TrackingOptions, source: Recording | SampleIntake) -> None:
    if options.payload or options.measure != "torque":
        raise TrackingError("`compare` is for the parameters of an arm and its torques: no `payload`, `measure` torque")
    if not isinstance(source, Recording):
        raise TrackingError("`compare` runs several filters over the same samples: give it a log, not a live source")


def _bounds(
    given: str | PathLike[str] | ParameterBounds | Mapping[str, tuple[float, float]] | None,
) -> ParameterBounds | None:
    if given is None or isinstance(given, ParameterBounds):
        return given
    if isinstance(given, str | PathLike):
        return read_bounds(Path(given))
    if isinstance(given, Mapping):
        return ParameterBounds.of(given)
    raise ConfigError(f"bounds: expected a CSV file or (lower, upper) by parameter, got {type(given).__name__}")


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
    progress("preparing the filter")
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
    recording = followed_recording(log, known.robot, settings).part(t_from, t_until)
    return settings.aligned(settings.with_torque(recording, known.robot))


def _warnings(session: TrackingSession, run: TrackingResult) -> tuple[str, ...]:
    told = []
    if session.unobservable:
        told.append(f"nothing measured can observe {', '.join(session.unobservable)}; they stay where they start")
    told += [sentence for sentence in run.health.sentences if not sentence.startswith("nothing measured")]
    if session.left_out:
        told.append(f"bounds of {', '.join(session.left_out)} are not convex and were left out; the others are kept")
    if run.load is not None and session.options.measure != "torque" and session.known.base_link is None:
        told.append(
            "the model does not know the base link, so the base wrench counts as that of the moving links; follow "
            "the arm with `measure` both first"
        )
    if run.load is None and not run.tracked.consistent:
        told.append("the links at the end are not physically consistent; start from a model with consistent ones")
    counts = run.counts
    if counts is not None and (counts.n_lost or counts.n_late or counts.n_doubled or counts.n_garbage):
        told.append(f"the source sent {counts}" + (f"; the last: {counts.complaint}" if counts.complaint else ""))
    if run.health.n_absorbed == 0:
        told.append("no sample was absorbed; the log is shorter than the window, or every sample has a value missing")
    return tuple(told)
