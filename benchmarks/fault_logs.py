"""Real logs with faults of senders, networks and clocks injected: as files, and as messages that arrive."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from benchmarks import Item, Line, Table
from benchmarks.load_logs import loaded
from dynid import InertialParameters
from dynid.arrays import Array
from dynid.chain.robot import Robot
from dynid.cli import main
from dynid.errors import TrackingError
from dynid.recording import Recording
from dynid.recording.log_settings import LogSettings
from dynid.regression import load_model, save_model
from dynid.regression.model import IdentifiedModel
from dynid.tracking import SampleIntake, TrackingOptions, TrackingResult, TrackingSession
from dynid.tracking.sources.feeds import Arrived
from dynid.tracking.sources.messages import StreamMessages

SIGNALS = ("q", "dq", "tau")
"""What the rows have after their time, joint after joint."""
DRAWS = 6
"""Draws of every fault where a run is quick."""
SOON = 0.3
"""Difference of the times of an event, s, up to which it is the same one: over so long the load watch decides."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A log row by row, in the order in which rows are written or messages arrive."""

    joint_names: tuple[str, ...]
    t: Array
    """(n_rows,) stamps, s."""
    values: Array
    """(n_rows, 3 n_dof) positions, velocities, torques, SI; what is not finite is not there."""
    number: Array
    """(n_rows,) of the message, as its sender counts."""
    arrival: Array
    """(n_rows,) when it comes, s."""

    @classmethod
    def of(cls, log: Recording) -> Rows:
        """The rows of a log as it was measured."""
        assert log.dq is not None
        assert log.tau is not None
        values = np.hstack([log.q, log.dq, log.tau])
        return cls(log.joint_names, np.array(log.t), values, np.arange(log.n_samples), np.array(log.t - log.t[0]))

    def picked(self, index: Array) -> Rows:
        """Some rows in another order; none arrives before those in front of it."""
        arrival = np.maximum.accumulate(self.arrival[index])
        return replace(self, t=self.t[index], values=self.values[index], number=self.number[index], arrival=arrival)

    def kept(self, mask: Array) -> Rows:
        """Some rows, which arrive when they did."""
        return replace(
            self, t=self.t[mask], values=self.values[mask], number=self.number[mask], arrival=self.arrival[mask]
        )

    def write(self, path: Path, rng: np.random.Generator) -> None:
        """A CSV file; missing cells are empty, nan or inf."""
        names = [f"{signal}.{joint}" for signal in SIGNALS for joint in self.joint_names]
        lines = [",".join(["t", *names])]
        for t, row in zip(self.t, self.values, strict=True):
            cells = [repr(float(v)) if np.isfinite(v) else ("", "nan", "inf")[rng.integers(3)] for v in row]
            lines.append(",".join([repr(float(t)), *cells]))
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def messages(self) -> Iterator[tuple[bytes, float]]:
        """JSON as a sender writes it, and when it arrives (s)."""
        n = len(self.joint_names)
        for k in range(len(self.t)):
            values = [float(v) if np.isfinite(v) else None for v in self.values[k]]
            content = {"t": float(self.t[k]), "n": int(self.number[k])}
            parts = {name: values[i * n : i * n + n] for i, name in enumerate(SIGNALS)}
            yield json.dumps({**content, **parts}).encode(), float(self.arrival[k])


Fault = Callable[[Rows, np.random.Generator], Rows]
"""What may happen to a log on its way."""


def _period(rows: Rows) -> float:
    return float(np.median(np.diff(rows.t)))


def jitter(rows: Rows, rng: np.random.Generator) -> Rows:
    """Stamps off by up to 30 % of a period."""
    return replace(rows, t=rows.t + 0.3 * _period(rows) * rng.uniform(-1.0, 1.0, len(rows.t)))


def late(rows: Rows, rng: np.random.Generator) -> Rows:
    """One row in a hundred comes after the three that follow it."""
    place = np.arange(len(rows.t), dtype=float)
    place[rng.choice(len(place), len(place) // 100, replace=False)] += 3.5
    return rows.picked(np.argsort(place, kind="stable"))


def doubled(rows: Rows, rng: np.random.Generator) -> Rows:
    """One row in fifty comes twice, up to five rows later."""
    n = len(rows.t)
    again = rng.choice(n, n // 50, replace=False)
    place = np.concatenate([np.arange(n), again + rng.integers(1, 6, len(again)) - 0.5])
    return rows.picked(np.concatenate([np.arange(n), again])[np.argsort(place, kind="stable")])


def dropped(rows: Rows, rng: np.random.Generator) -> Rows:
    """One row in twenty is lost, and 0.3 s of them in one piece."""
    since = rows.arrival - rows.arrival[len(rows.t) // 3]
    return rows.kept((rng.random(len(rows.t)) > 0.05) & ~((since > 0.0) & (since < 0.3)))


def restarted(rows: Rows, rng: np.random.Generator) -> Rows:
    """The sender starts again twice: its clock and its numbers begin anew, once without a pause, once after 0.2 s."""
    del rng
    t, number, n = np.array(rows.t), np.array(rows.number), len(rows.t)
    for first in (n // 4, n // 2):
        t[first:] += t[0] - t[first]
        number[first:] -= number[first]
    before = rows.arrival[n // 2] - rows.arrival
    keep = ~((before > 0.0) & (before <= 0.2))
    return replace(rows, t=t, number=number).kept(keep)


def clock_jumps(rows: Rows, rng: np.random.Generator) -> Rows:
    """The clock is set an hour ahead, and a quarter of the log later 2 s behind where it was; the numbers go on."""
    del rng
    n, t = len(rows.t), np.array(rows.t)
    t[n // 4 :] += 3600.0
    t[n // 2 :] -= 3602.0
    return replace(rows, t=t)


def missing(rows: Rows, rng: np.random.Generator) -> Rows:
    """Cells that are not there: one torque and one velocity in fifty, one position in a thousand, torques for 0.5 s."""
    values, n = np.array(rows.values), len(rows.joint_names)
    share = np.repeat([0.001, 0.02, 0.02], n)
    values[rng.random(values.shape) < share] = np.nan
    hole = len(rows.t) // 3
    values[hole : hole + round(0.5 / _period(rows)), 2 * n + 1] = np.nan
    return replace(rows, values=values)


def everything(rows: Rows, rng: np.random.Generator) -> Rows:
    """All of them in one log."""
    for fault in (restarted, missing, jitter, dropped, doubled, late):
        rows = fault(rows, rng)
    return rows


FAULTS: Mapping[str, Fault] = {
    "jitter": jitter,
    "late": late,
    "doubled": doubled,
    "dropped": dropped,
    "restarted": restarted,
    "clock jumps": clock_jumps,
    "missing cells": missing,
    "all of them": everything,
}
"""Faults by name."""


class ArrivingFeed:
    """Messages that arrive when they arrive, without the waiting."""

    def __init__(self, rows: Rows, robot: Robot) -> None:
        self.label, self.real_time, self.ended = "faults", True, False
        self._messages, self._rows = StreamMessages(robot.n_dof, robot.joint_names), rows.messages()

    def receive(self, wait: float) -> Sequence[Arrived]:
        """The next hundred."""
        del wait
        found: list[Arrived] = []
        for data, arrival in self._rows:
            try:
                found.append((self._messages.of_bytes(data, "message"), arrival))
            except TrackingError as error:
                found.append((error, arrival))
            if len(found) == 100:
                return found
        self.ended = True
        return found

    def close(self) -> None:
        """Nothing was opened."""


def live(known: IdentifiedModel, rows: Rows, options: TrackingOptions) -> TrackingResult:
    """The rows through the live intake."""
    session = TrackingSession(known, SampleIntake(ArrivingFeed(rows, known.robot)), options)
    for _ in session.follow():
        pass
    return session.result()


class Outcome(NamedTuple):
    """Where a run has ended."""

    events: tuple[tuple[str, float], ...]
    """Kind and time (s) of each."""
    values: Array
    """Mass of the load (kg), or base parameters of the arm (SI)."""
    std: Array
    """Their standard deviations."""

    def like(self, clean: Outcome) -> bool:
        """Whether the same events came, each within `SOON` of the clean log's."""
        kinds = [kind for kind, _ in self.events] == [kind for kind, _ in clean.events]
        return kinds and all(abs(a - b) < SOON for (_, a), (_, b) in zip(self.events, clean.events, strict=True))

    def apart(self, clean: Outcome) -> float:
        """The largest difference from the clean log's values over the larger σ of the two."""
        return float(np.max(np.abs(self.values - clean.values) / np.maximum(self.std, clean.std)))


def _of_model(model: IdentifiedModel, events: tuple[tuple[str, float], ...]) -> Outcome:
    return Outcome(events, model.beta, np.sqrt(np.diag(model.covariance)))


def through_the_command(known: IdentifiedModel, rows: Rows, *, payload: bool) -> Outcome:
    """The rows as a file that ``dynid track`` replays."""
    with TemporaryDirectory() as folder:
        model, log, out = (Path(folder) / name for name in ("model.json", "log.csv", "out"))
        save_model(known, model)
        rows.write(log, np.random.default_rng(1))
        words = ["track", str(model), str(log), "--json", "--out", str(out), *(["--payload"] if payload else [])]
        with redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()) as complaint:
            code = main(words)
        if code:
            raise TrackingError(complaint.getvalue())
        summary = json.loads(said.getvalue().splitlines()[-1])
        events = tuple((event["kind"], float(event["t"])) for event in summary["events"])
        if not payload:
            return _of_model(load_model(out / "model.json"), events)
        load = summary["payload"]
        return Outcome(events, np.array([load["mass"]]), np.array([load["std"]["mass"]]))


def through_the_intake(known: IdentifiedModel, rows: Rows, *, payload: bool) -> Outcome:
    """The rows as messages of a live source."""
    rate = 1.0 / _period(rows)
    run = live(known, rows, TrackingOptions(payload=payload, rate=rate))
    events = tuple((event.kind, float(event.t)) for event in run.events)
    if run.load is None:
        return _of_model(run.tracked, events)
    return Outcome(events, np.array([run.load.mass]), np.array([run.load.mass_std]))


ROUTES: Mapping[str, Callable[..., Outcome]] = {"file": through_the_command, "live": through_the_intake}
"""Ways of a log into the filter."""


def fault_items(name: str, known: IdentifiedModel, log: Recording) -> Iterator[Item]:
    """Every fault in a log of which the model has seen nothing, by both routes, with a pick of 1.5 kg and without."""
    load = InertialParameters.from_com(1.5, (0.02, 0.0, 0.06), np.diag([0.004, 0.004, 0.003]))
    # The rows have torques already, with their delay undone.
    known = replace(known, settings=LogSettings(cutoff_hz=known.settings.cutoff_hz))
    table, same, apart = [], [], {"load": [0.0], "arm": [0.0]}
    for job in ("load", "arm"):
        rows = Rows.of(loaded(known, log, load, float(log.t[0]) + 4.0) if job == "load" else log)
        for route, run in ROUTES.items():
            clean = run(known, rows, payload=job == "load")
            # Live loads take a second each: several draws.
            draws = range(DRAWS if (job, route) == ("load", "live") else 1)
            for seed, (fault, damage) in product(draws, FAULTS.items()):
                found = run(known, damage(rows, np.random.default_rng(seed)), payload=job == "load")
                same.append(found.like(clean))
                apart[job].append(found.apart(clean))
                heard = ", ".join(f"{kind} {t - log.t[0]:.2f} s" for kind, t in found.events)
                table.append((job, route, f"{fault} {seed}", heard, f"{apart[job][-1]:.2f}"))
    header = ("followed", "route", "fault", "events", "largest difference / σ")
    yield Table(f"{name}: faults in a real log, against the clean log by the same route", header, tuple(table))
    yield Line(f"{name}, faults: runs with the events of the clean log", 100.0 * float(np.mean(same)), 100.0, "%")
    yield Line(f"{name}, faults: mass of the load, largest difference", max(apart["load"]), 1.0, "σ", bound="at most")
    yield Line(f"{name}, faults: base parameters, largest difference", max(apart["arm"]), 1.0, "σ", bound="at most")
