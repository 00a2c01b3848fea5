"""What `track` gives: where the filter ended, how it came there, and the model it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np

from dynid.prose import Document, Grid, Line, PrintsAsDocument, counted
from dynid.recording.recording import WRENCH_AXES
from dynid.regression.model import IdentifiedModel
from dynid.tracking.load import LoadEvent
from dynid.tracking.missing import MissingValues
from dynid.tracking.session import TrackingResult
from dynid.tracking.sources.counts import StreamCounts
from dynid.workflow.contract import Numbers
from dynid.workflow.filter_comparison import FilterComparison, FilterComparisonJson

__all__ = ["ModelTracking", "counts_json", "events_json"]


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


class MissingJson(TypedDict):
    """Samples that lacked a value of one joint."""

    joint: str
    q: int
    dq: int
    tau: int


class RepairJson(TypedDict):
    """What was put right in the rows or stamps of a log."""

    code: str
    evidence: str
    done: str


class ModelTrackingJson(TypedDict):
    """The last object that `track` tells."""

    robot: str
    n_dof: int
    estimator: str
    n_absorbed: int
    n_skipped: int
    missing: list[MissingJson]
    missing_wrench: NotRequired[dict[str, int]]
    repairs: list[RepairJson]
    nis: NisJson
    health: list[str]
    parameters: list[TrackedJson]
    events: list[EventJson]
    payload: NotRequired[TrackedLoadJson]
    source: NotRequired[SourceJson]
    compare: NotRequired[FilterComparisonJson]


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


def missing_json(missing: MissingValues) -> list[MissingJson]:
    """Samples that lacked a value, as scripts read it: only joints of which one was missing."""
    counts = zip(missing.joint_names, missing.q.tolist(), missing.dq.tolist(), missing.tau.tolist(), strict=True)
    return [{"joint": name, "q": q, "dq": dq, "tau": tau} for name, q, dq, tau in counts if q or dq or tau]


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
    compared: FilterComparison | None = None
    """The filter beside others on the same log, where that was asked for."""

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
            "missing": missing_json(run.missing),
            "repairs": [
                {"code": repair.code, "evidence": repair.evidence, "done": repair.done} for repair in run.repairs
            ],
            "nis": {"mean": health.nis_mean, "band": health.nis_band, "share_inside": health.nis_share},
            "health": list(health.sentences),
            "parameters": [
                {"label": symbol, "value": float(value), "std": float(std), "unit": unit}
                for symbol, value, std, unit in zip(now.symbols, now.values, now.std, now.units, strict=True)
            ],
            "events": events_json(run.events),
        }
        if run.missing.base_wrench.any():
            counts = zip(WRENCH_AXES, run.missing.base_wrench.tolist(), strict=True)
            content["missing_wrench"] = {axis: count for axis, count in counts if count}
        if run.counts is not None:
            content["source"] = counts_json(run.counts)
        if self.compared is not None:
            content["compare"] = self.compared.json()
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
            Line("robot", f"{robot.name}   {counted(robot.n_dof, 'joint')}, {len(now.symbols)} states"),
            Line("samples", f"{run.health.n_absorbed} absorbed, {run.n_skipped} skipped"),
            Line("NIS", run.health.nis_sentence),
            *(Line("left out", sentence) for sentence in run.missing.sentences),
            *(Line("repaired", f"{repair.evidence}; {repair.done}") for repair in run.repairs),
            Grid(("parameter", "value", "± 1σ", "unit"), rows, (1, 2)),
            *(Line("event", f"{event.t:.3f} s   {event.sentence}") for event in run.events),
        ]
        if load is not None:
            parts.append(Line("load", f"{load.mass:.3f} ± {load.mass_std:.3f} kg"))
            parts += [Line("", f"{vendor}: {line}") for vendor, line in load.settings().items()]
        return (*parts, *(() if self.compared is None else self.compared.document()))

    def __repr__(self) -> str:
        return repr(self.run).replace("TrackingResult", "ModelTracking", 1)
