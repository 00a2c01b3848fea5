"""Contacts on real held-out logs: how many are invented, and which link is named where a force was added."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dynid
from benchmarks import Item, Line, Table
from benchmarks.load_logs import follow, pushed, read
from dynid import load_robot
from dynid.recording import Recording, read_recording
from dynid.regression.model import IdentifiedModel

ASKED = (0.5, 50.0)
"""False alarms an hour that are asked for: the default, and so many that minutes of logs show whether they come."""


class HeldOut(NamedTuple):
    """Logs of one robot in which nothing touches the arm, each with a model that has not seen it."""

    robot: str
    file: str
    """Robot file in the folder of logs, or a built-in one."""
    pairs: tuple[tuple[tuple[str, ...], str], ...]
    """Training logs and the held-out one."""
    until: float | None = None
    """Time (s) up to which the training log is used, where it is the held-out log, too."""
    unit: float = 1.0
    """Size of the robot over that of one which a person can push."""


UR10E = ("30s12h", "20s8h", "14h")
CASES = (
    HeldOut(
        "ur10e",
        "ur10e.urdf",
        tuple(((a,), b) for a in UR10E for b in (*UR10E, "14hLoad", "collision_free") if b != a),
    ),
    HeldOut("ur10", "robot.urdf", ((("log",), "log"),), 20.0),
    HeldOut("lwr4", "robot.urdf", tuple((tuple({"run1", "run2", "run3"} - {b}), b) for b in ("run1", "run2", "run3"))),
    HeldOut("panda", "", ((("excitation_log",), "excitation_log"),), 14.0),
    HeldOut("panda30", "", ((("log",), "log"),), 16.0),
    HeldOut(
        "kr300", "robot.toml", tuple((tuple({"runA", "runB", "runC"} - {b}), b) for b in ("runA", "runB", "runC")),
        None, 20.0,
    ),
    HeldOut("med7", "robot.urdf", ((("log",), "log"),), 11.0),
)  # fmt: skip


def held_out(case: HeldOut, data: Path, gains: object) -> Iterator[tuple[IdentifiedModel, Recording]]:
    """Every model of a robot with every log that it has not seen, from where it has not."""
    folder = data / case.robot
    robot = folder / case.file if case.file else "panda"
    models: dict[tuple[str, ...], IdentifiedModel] = {}
    for train, test in case.pairs:
        logs: list[Path | Recording] = [folder / f"{name}.csv.gz" for name in sorted(train)]
        if case.robot == "med7":  # the controller counts torque the other way round
            raw = read_recording(folder / "log.csv.gz", load_robot(robot).joint_names)
            assert raw.tau is not None
            logs = [replace(raw, tau=-raw.tau)]
        if train not in models:
            options = {} if case.until is None else {"until": case.until}
            given = {"gains": gains} if case.robot == "ur10e" else {}
            models[train] = dynid.identify(robot, logs, **options, **given).model  # type: ignore[arg-type]
        known = models[train]
        log = logs[0] if case.robot == "med7" else folder / f"{test}.csv.gz"
        yield known, read(known, log).part(case.until, None)


def contact_items(data: Path, gains: object) -> Iterator[Item]:
    """Contacts invented in an hour of held-out logs, and the link named for a force halfway along each link."""
    totals = {asked: [0, 0.0] for asked in ASKED}
    for case in CASES:
        heaviest, n_named, n_right, n_near = 300.0 if case.unit > 1.0 else 5.0, 0, 0, 0
        seconds, counts, confusion = 0.0, dict.fromkeys(ASKED, 0), np.zeros((0, 0), dtype=int)
        n_blind = 0
        for number, (known, log) in enumerate(held_out(case, data, gains)):
            for asked in ASKED:
                run = follow(known, log, max_mass=heaviest, false_alarms_per_hour=asked)
                counts[asked] += sum(event.kind == "contact" for event in run.later)
            blind = follow(known, replace(log, dq=None), max_mass=heaviest)
            n_blind += sum(event.kind == "contact" for event in blind.later)
            seconds += float(log.t[-1] - log.t[0])
            if number == 0 and case.robot != "med7":
                confusion = named_links(known, log, heaviest, 30.0 * case.unit)
        for asked in ASKED:
            totals[asked][0] += counts[asked]
            totals[asked][1] += seconds
        yield Line(
            f"{case.robot}: contacts invented in {seconds:.0f} s of held-out logs", counts[ASKED[0]], 0.0, "",
            bound="at most",
        )  # fmt: skip
        yield Line(f"{case.robot}: the same without the velocities of the logs", n_blind, 0.0, "", bound="at most")
        if confusion.size:
            n_named, n_right = int(confusion.sum()), int(np.trace(confusion))
            n_near = sum(int(np.trace(confusion, offset)) for offset in (-1, 0, 1))
            header = ("pushed halfway along", *(str(k + 1) for k in range(len(confusion))))
            rows = tuple((f"link {k + 1}", *map(str, row)) for k, row in enumerate(confusion.tolist()))
            yield Table(f"{case.robot}: links named for {30.0 * case.unit:g} N, where heard", header, rows)
        if n_named:
            yield Line(f"{case.robot}: link right where a push is heard", 100.0 * n_right / n_named, None, "%")
            yield Line(f"{case.robot}: link right or next to it", 100.0 * n_near / n_named, None, "%")
    for asked, (count, seconds) in totals.items():
        yield Line(
            f"contacts an hour in {seconds:.0f} s of held-out logs, {asked:g} asked for", 3600.0 * count / seconds,
            None, "1/h",
        )  # fmt: skip


def named_links(known: IdentifiedModel, log: Recording, heaviest: float, size: float) -> np.ndarray:
    """How often each link (columns) was named for a force (N) halfway along each link (rows)."""
    n = known.model.n_dof
    confusion = np.zeros((n, n), dtype=int)
    starts = np.linspace(float(log.t[0]) + 3.5, float(log.t[-1]) - 1.0, 3)
    for k in range(3 * n):
        link, t = k % n, float(starts[k // n])
        force = size * np.eye(3)[(k + k // n) % 3]
        part = pushed(known.robot, log.part(t - 3.5, t + 0.9), force, t, rise=0.02, last=0.5, halfway=link)
        run = follow(known, part, max_mass=heaviest)
        heard = [event.link for event in run.later if event.kind == "contact" and event.t >= t and event.link]
        if heard:
            confusion[link, known.robot.link_names.index(heard[0])] += 1
    return confusion
