"""``dynid track``: parameters, loads and contacts while the robot moves, replayed or live."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from cyclopts import Parameter
from rich.console import Console
from rich.live import Live
from rich.table import Table

from dynid.arrays import Array, Float
from dynid.cli.console import emit_json, note, say, table, warn
from dynid.cli.options import JsonFlag
from dynid.cli.pipeline import LogOptions, provenance
from dynid.cli.progress import progress
from dynid.cli.track_report import Trail, tracking_section
from dynid.disk import at_once, claimed
from dynid.dynamics import TorqueModel
from dynid.errors import RecordingError, TrackingError
from dynid.recording import Recording
from dynid.regression import IdentifiedModel, load_model, save_model
from dynid.tracking import (
    Annealing,
    Bound,
    Consistent,
    ConstrainedFilter,
    ContactObserver,
    Entry,
    KinematicFilter,
    LoadEvent,
    LoadWatch,
    LoadWatcher,
    Measurement,
    Sample,
    StateMap,
    Tracker,
    health,
    load_filter,
    replay,
    resume,
    save_checkpoint,
    udp_samples,
    with_kinematics,
)
from dynid.writers import Report

__all__ = ["track"]

MEASURES: dict[str, tuple[Measurement, ...]] = {
    "torque": ("torque",),
    "base-wrench": ("base-wrench",),
    "both": ("torque", "base-wrench"),
}
KEPT = 300
"""Instants of a replayed log that report and JSON show."""
SHOWN = 14
"""Parameters in the live view and the table."""
UDP = "udp:"
INITIAL_STD = 0.3
"""Of the states of the arm: their bounds are much wider than what an identified model is wrong by."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TrackOptions:
    """What to follow, from what, and how fast."""

    from_wrong: Annotated[
        float, Parameter(help="Start from parameters this much wrong (0.2 is 20 %), sign by link.")
    ] = 0.0
    payload: Annotated[bool, Parameter(negative="", help="Follow the load on a known arm, and contacts.")] = False
    measure: Annotated[Literal["torque", "base-wrench", "both"], Parameter(help="What is measured.")] = "torque"
    states: Annotated[
        Literal["entries", "links"],
        Parameter(help="entries: each parameter between its own bounds; links: whole links, always possible."),
    ] = "entries"
    max_mass: Annotated[float, Parameter(help="The heaviest load, kg.")] = 5.0
    speed: Annotated[float | None, Parameter(help="Replay at this many times real time [default: full speed].")] = None
    half_window: Annotated[float, Parameter(help="Half the window that gives velocity and acceleration, s.")] = 0.1
    rate: Annotated[float, Parameter(help="Samples per second of a live source.")] = 1000.0
    checkpoint: Annotated[Path | None, Parameter(help="Resume from this file if it is there, and save to it.")] = None
    seed: Annotated[int, Parameter(help="Of the signs of --from-wrong.")] = 0


def track(
    model: Path,
    log: str,
    /,
    *,
    out: Path | None = None,
    what: TrackOptions | None = None,
    options: LogOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Online estimation, replayed or live: parameters over time, NIS, load changes, contacts.

    Example: dynid track result/model.json log.csv --from-wrong 0.2 --out tracked

    Parameters
    ----------
    model
        The model.json of identify.
    log
        A log to replay, or udp:PORT for JSON datagrams with t, q, dq, tau on this machine.
    out
        Folder for model.json and report.html.
    """
    what, options = what or TrackOptions(), options or LogOptions()
    known = load_model(model)
    run = _Run(known, what, _source(log, known, what, options))
    if run.watcher is None and what.checkpoint is not None and what.checkpoint.exists():
        run.tracker = resume(run.tracker.options, what.checkpoint)
    for symbols in (run.tracker.options.unobservable,):
        if symbols:
            warn(f"nothing measured can observe {', '.join(symbols)}; they stay where they start")
    run.follow(json=json)
    if what.checkpoint is not None and run.watcher is None:
        save_checkpoint(run.tracker, what.checkpoint)
    files = {} if out is None else run.write(out, model, log)
    if json:
        emit_json({**run.summary(), "files": files})
    else:
        run.show(files)
    state = health(run.tracker)
    for sentence in state.sentences:
        warn(sentence)
    if state.n_absorbed == 0:
        warn("no sample was absorbed; the log is shorter than the window, or every sample has a value missing")
        return 1
    return 0


@dataclass(frozen=True)
class _Source:
    """Samples and what is known of them beforehand."""

    samples: Iterator[Sample]
    noise: Float[Array, " n_rows"]
    every: int
    """One instant in this many is kept."""
    n_samples: int = 0
    """Of a replayed log; 0 for a live source."""


def _source(log: str, known: IdentifiedModel, what: TrackOptions, options: LogOptions) -> _Source:
    robot, measure = known.model.robot, MEASURES[what.measure]
    if log.startswith(UDP):
        port = log.removeprefix(UDP)
        if not port.isdigit():
            raise TrackingError(f"{log}: the port is not a number; write udp:5005")
        limits = np.array([joint.limits.effort for joint in robot.joints])
        torque = np.where(np.isfinite(limits), 0.01 * limits, 1.0)
        noise = np.concatenate([torque if kind == "torque" else np.full(6, 5.0) for kind in measure])
        samples = udp_samples(int(port), robot.n_dof)
        kinematics = KinematicFilter.at_rate(what.rate, half_window=what.half_window)
        return _Source(with_kinematics(samples, kinematics, robot.n_dof), noise, max(1, int(what.rate // 10)))
    recording = options.read(Path(log), robot)
    parts = [_rows(recording, kind, log) for kind in measure]
    noise = np.concatenate([0.02 * np.maximum(np.max(np.abs(part), axis=0), 1e-6) for part in parts])
    samples = replay(recording, speed=what.speed)
    if recording.dq is None or recording.ddq is None:
        kinematics = KinematicFilter.at_rate(recording.rate_hz, half_window=what.half_window)
        samples = with_kinematics(samples, kinematics, robot.n_dof)
    return _Source(samples, noise, max(1, recording.n_samples // KEPT), recording.n_samples)


def _rows(recording: Recording, kind: Measurement, log: str) -> Float[Array, "n_samples n_rows"]:
    values = recording.tau if kind == "torque" else recording.base_wrench
    if values is None:
        columns = "torque columns" if kind == "torque" else "base wrench columns fx fy fz mx my mz"
        raise RecordingError(f"{log}: no {columns}; choose another --measure or log them")
    return values


class _Run:
    """One run of the filter, or of filter and observer, over a source."""

    def __init__(self, known: IdentifiedModel, what: TrackOptions, source: _Source) -> None:
        self.known, self.what, self.source = known, what, source
        self.trail, self.last_t = Trail(), np.nan
        self.watcher: LoadWatcher | None = None
        if what.payload:
            self.watcher = _watch(known, what, source.noise).start()
            self.tracker = self.watcher.tracker
        else:
            self.tracker = _arm_filter(known, what, source.noise).start()

    def follow(self, *, json: bool) -> None:
        """Absorb every sample; show a live view on a terminal, or a JSON object an instant."""
        live = sys.stdout.isatty() and not json
        with ExitStack() as stack:
            view = stack.enter_context(Live(console=Console(), refresh_per_second=8)) if live else None
            step = stack.enter_context(progress("following the log", quiet=live))
            for number, sample in enumerate(self.source.samples, 1):
                events = self._step(sample)
                if number % self.source.every and not events:
                    continue
                self.trail.keep(sample.t, self.tracker)
                share = number / self.source.n_samples if self.source.n_samples else None
                step("following the log", share)
                if json:
                    emit_json(self._instant(sample.t, events))
                if view is not None:
                    view.update(self._view(sample.t, share))

    def _step(self, sample: Sample) -> tuple[LoadEvent, ...]:
        self.last_t = sample.t
        if self.watcher is None:
            self.tracker.step(sample)
            return ()
        events = self.watcher.step(sample)
        self.trail.events.extend(events)
        return events

    def _instant(self, t: float, events: tuple[LoadEvent, ...]) -> dict[str, object]:
        now = self.tracker.parameters
        content: dict[str, object] = {
            "t": t,
            "nis": self.tracker.nis,
            "parameters": dict(zip(now.symbols, now.values.tolist(), strict=True)),
            "std": dict(zip(now.symbols, now.std.tolist(), strict=True)),
        }
        if events:
            content["events"] = [{"kind": event.kind, "t": event.t, "mass": event.mass} for event in events]
        return content

    def _view(self, t: float, share: float | None) -> Table:
        now = self.tracker.parameters
        done = "" if share is None else f"{100 * share:.0f} %   "
        title = f"{done}{t:.2f} s   NIS {self.tracker.nis:.3g}   {self.tracker.n_absorbed} samples"
        grid = Table(title=title, box=None)
        for header in ("parameter", "value", "± 2σ", "unit"):
            grid.add_column(header, justify="left" if header in ("parameter", "unit") else "right")
        for symbol, value, std, unit in list(zip(now.symbols, now.values, now.std, now.units, strict=True))[:SHOWN]:
            grid.add_row(symbol, f"{value:.4g}", f"{2 * std:.2g}", unit)
        return grid

    def summary(self) -> dict[str, object]:
        """The end of a run as scripts read it, SI."""
        state, now = health(self.tracker), self.tracker.parameters
        content: dict[str, object] = {
            "robot": self.known.model.robot.name,
            "n_dof": self.known.model.n_dof,
            "estimator": "track",
            "n_absorbed": state.n_absorbed,
            "n_skipped": self.tracker.n_skipped,
            "nis": {"mean": state.nis_mean, "band": state.nis_band, "share_inside": state.nis_share},
            "health": list(state.sentences),
            "parameters": [
                {"label": symbol, "value": float(value), "std": float(std), "unit": unit}
                for symbol, value, std, unit in zip(now.symbols, now.values, now.std, now.units, strict=True)
            ],
            "events": [{"kind": event.kind, "t": event.t, "mass": event.mass} for event in self.trail.events],
        }
        if self.watcher is not None:
            load = self.watcher.estimate
            std = {"mass": load.mass_std}
            content["payload"] = {
                "mass": load.mass,
                "com": load.com,
                "inertia_com": load.inertia_com,
                "std": std,
                "settings": load.settings(),
            }
        return content

    def show(self, files: dict[str, str]) -> None:
        """The end of a run on the terminal."""
        now, robot = self.tracker.parameters, self.known.model.robot
        say("robot", f"{robot.name}   {robot.n_dof} joints, {len(now.symbols)} states")
        say("samples", f"{self.tracker.n_absorbed} absorbed, {self.tracker.n_skipped} skipped")
        state = health(self.tracker)
        say("NIS", f"{state.nis_mean:.3g}, healthy between {state.nis_band[0]:.3g} and {state.nis_band[1]:.3g}")
        note("")
        rows = [
            (symbol, f"{value:.5g}", f"{std:.2g}", unit)
            for symbol, value, std, unit in zip(now.symbols, now.values, now.std, now.units, strict=True)
        ]
        table(("parameter", "value", "± 1σ", "unit"), rows, numeric=(1, 2))
        note("")
        for event in self.trail.events:
            say("event", f"{event.t:.3f} s   {event.kind}, load {event.mass:.3f} kg")
        if self.watcher is not None:
            load = self.watcher.estimate
            say("load", f"{load.mass:.3f} ± {load.mass_std:.3f} kg")
            for vendor, line in load.settings().items():
                say("", f"{vendor}: {line}")
        for file in files.values():
            say("wrote", file)

    def write(self, out: Path, model: Path, log: str) -> dict[str, str]:
        """Write model.json and report.html into a folder."""
        state = health(self.tracker)
        section = tracking_section(self.trail, state, self.tracker.band)
        verdict = f"{state.n_absorbed} samples absorbed, {self.tracker.n_skipped} skipped. " + " ".join(
            sentence[0].upper() + sentence[1:] + "." for sentence in state.sentences
        )
        report = Report(f"{self.known.model.robot.name} while it moves", verdict, (section,), "Written by dynid track.")
        tracked = _tracked_model(self.known, self.tracker, model, log) if self.watcher is None else self.known
        with claimed(out), at_once():
            save_model(tracked, out / "model.json")
            report.write(out / "report.html")
        return {"model": str(out / "model.json"), "report": str(out / "report.html")}


def _tracked_model(known: IdentifiedModel, tracker: Tracker, model: Path, log: str) -> IdentifiedModel:
    theta = tracker.theta
    J = tracker.options.state.at(tracker.state.x).jacobian[: known.model.n_params]
    spread = known.base.K @ J
    inputs = [model] if log.startswith(UDP) else [model, Path(log)]
    return replace(
        known,
        estimator="track",
        beta=known.base.project(theta),
        covariance=spread @ tracker.covariance @ spread.T,
        theta=theta if known.theta is not None else None,
        rule="as the filter had it after the last sample",
        provenance=provenance("track", inputs, {}),
    )


def _arm_filter(known: IdentifiedModel, what: TrackOptions, noise: Float[Array, " n_rows"]) -> ConstrainedFilter:
    theta = _wrong(known, what)
    return ConstrainedFilter(
        model=known.model,
        state=StateMap.of(known.model, theta, _pieces(known, theta, what)),
        noise=noise,
        measure=MEASURES[what.measure],
        annealing=Annealing(start=0.0),
        initial_std=INITIAL_STD,
        noise_memory=500.0,
    )


def _wrong(known: IdentifiedModel, what: TrackOptions) -> Float[Array, " n_params"]:
    """Parameters (SI) of the model, each link and each joint term wrong by the asked share with a sign of its own."""
    if not 0.0 <= what.from_wrong < 1.0:
        raise TrackingError(f"--from-wrong {what.from_wrong:g}: give a share between 0 and 1")
    rng, n_dof = np.random.default_rng(what.seed), known.model.n_dof
    links = np.repeat(rng.choice([-1.0, 1.0], n_dof), 10)
    terms = rng.choice([-1.0, 1.0], known.model.n_params - len(links))
    return known.parameters * (1.0 + what.from_wrong * np.concatenate([links, terms]))


def _pieces(known: IdentifiedModel, theta: Float[Array, " n_params"], what: TrackOptions) -> list[Entry | Consistent]:
    """Every parameter of a full set, or whole links; where there is none, the base coefficients."""
    model = known.model
    size = np.maximum(_sizes(model, theta), np.abs(theta))
    nonnegative = {"m", "Ixx", "Iyy", "Izz", *(term.name for term in model.terms if term.nonnegative)}

    def entry(k: int) -> Entry:
        value, reach = float(theta[k]), float(size[k])
        if known.theta is not None and model.columns[k].name in nonnegative and value > -1e-3 * reach:
            return Entry(model.symbols[k], Bound(-2e-3 * reach, 2.0 * value + reach))
        return Entry(model.symbols[k], Bound(value - reach, value + reach))

    own = [entry(k) for k in range(model.n_inertial, model.n_params)]
    if what.states == "links":
        if not known.consistent:
            raise TrackingError("--states links needs a model whose links are all possible; identify with feasible")
        return [*(Consistent(link, scale=0.15) for link in model.robot.link_names), *own]
    if known.theta is not None:
        return [*(entry(k) for k in range(model.n_inertial)), *own]
    return [entry(int(k)) for k in known.base.independent]


def _sizes(model: TorqueModel, theta: Float[Array, " n_params"]) -> Float[Array, " n_params"]:
    """A typical size (SI) for each parameter: the root mean square over all links or joints."""
    inertial = theta[: model.n_inertial].reshape(-1, 10)
    kinds = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    typical = np.array([np.sqrt(np.mean(inertial[:, kinds == kind] ** 2)) for kind in range(3)])[kinds]
    own = theta[model.n_inertial :].reshape(model.n_dof, len(model.terms))
    terms = np.sqrt(np.mean(own**2, axis=0)) if own.size else np.zeros(len(model.terms))
    whole = np.concatenate([np.tile(typical, model.n_dof), np.tile(terms, model.n_dof)])
    return np.maximum(whole, 1e-3)


def _watch(known: IdentifiedModel, what: TrackOptions, noise: Float[Array, " n_rows"]) -> LoadWatch:
    if what.measure == "base-wrench":
        raise TrackingError("--payload tells loads and contacts apart by joint torques; use --measure torque or both")
    theta, n_dof = _wrong(known, what), known.model.n_dof
    torque = _fit_noise(known)
    rows = np.concatenate([torque if torque is not None else noise[:n_dof], noise[n_dof:]])
    return LoadWatch(
        filter=load_filter(
            known.model,
            theta,
            noise=rows,
            max_mass=what.max_mass,
            process_noise=1e-8,
            measure=MEASURES[what.measure],
        ),
        observer=ContactObserver(model=known.model, noise=rows[:n_dof], floor=float(np.max(3.0 * rows[:n_dof]))),
    )


def _fit_noise(known: IdentifiedModel) -> Float[Array, " n_dof"] | None:
    """What the fit left over at each joint, N·m or N, where the model file says it."""
    train = known.results.get("train")
    if not isinstance(train, dict) or not isinstance(train.get("rmse"), list):
        return None
    rmse = np.array(train["rmse"], dtype=float)
    return rmse if rmse.shape == (known.model.n_dof,) and np.all(rmse > 0.0) else None
