"""Loads and contacts online on real logs: splices, unchanged logs, touches, pushes; and the time of a step."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import dynid
from benchmarks import Item, Line, Note, Table
from benchmarks.load_logs import Followed, damaged, follow, loaded, pushed, read, splices
from dynid import InertialParameters, TorqueModel, load_robot
from dynid.dynamics import Motion, random_motion
from dynid.regression.model import IdentifiedModel
from dynid.tracking import LoadWatch, Sample, TorqueNoise

EMPTY, LOADED = ("30s12h", "20s8h", "14h"), "14hLoad"
TRAINED_ON = "30s12h"
CLEAR, CLOSE = (6.0, 10.2, 18.3, 27.1, 32.0, 36.0), 0.6
"""Clear touches of collision_2link, s, and how much later one may be called."""
FAINT = (2.1, 44.0, 52.6)


def identified(robot: object, logs: list[Path], **options: object) -> IdentifiedModel:
    """The model that the plain call gives."""
    return dynid.identify(robot, logs, **options).model  # type: ignore[arg-type]


def judged(run: Followed, t: float, mass: float, kind: str) -> tuple[bool, float, float, float, bool]:
    """Whether exactly the right event came in time, its delay (s), the error after 4 and 10 s (kg), coverage."""
    right = [event for event in run.later if event.kind == kind]
    exact = len(run.later) == 1 and len(right) == 1
    delay = right[0].t - t if right else np.inf
    (early, early_std), (late, late_std) = run.at(t + 4.0), run.at(t + 10.0)
    covers = abs(early - mass) < 2.0 * early_std + 0.02 and abs(late - mass) < 2.0 * late_std + 0.02
    return exact and delay <= 1.5, delay, abs(early - mass), abs(late - mass), covers


def splice_items(known: IdentifiedModel, folder: Path, mass: float, every: float) -> Iterator[Item]:
    """Pick and place in motion, spliced from 14h and 14hLoad; the model has seen neither."""
    empty, full = (read(known, folder / f"{name}.csv.gz") for name in ("14h", LOADED))
    rows, results, n_contacts = [], [], 0
    for kind, first, then, true in (("pick", empty, full, mass), ("place", full, empty, 0.0)):
        for t, log in splices(first, then, start=6.0, stop=39.0, every=every):
            run = follow(known, log.part(max(0.0, t - 6.0), t + 11.0))
            ok, delay, early, late, covers = judged(run, t, true, kind)
            n_contacts += sum(event.kind == "contact" for event in run.later)
            results.append((ok, delay, early / mass, late / mass, covers))
            heard = ", ".join(f"{event.kind} +{event.t - t:.2f} s" for event in run.later)
            rows.append((kind, f"{t:.1f}", heard, f"{100 * early / mass:.1f}", f"{100 * late / mass:.1f}", str(covers)))
    header = ("splice", "at / s", "heard", "error 4 s later / %", "10 s later / %", "2σ covers")
    yield Table(f"UR10e, {mass:g} kg, model of {TRAINED_ON}", header, tuple(rows))
    oks, delays, earlies, lates, covered = (np.array(column, dtype=float) for column in zip(*results, strict=True))
    yield Line("splices: one event, right kind, within 1.5 s", 100.0 * oks.mean(), 100.0, "%")
    yield Line("splices: contacts called", n_contacts, 0.0, "", bound="at most")
    yield Line("splices: longest delay", float(delays.max()), 1.5, "s", bound="at most")
    yield Line("splices: worst mass 4 s later", 100.0 * earlies.max(), 5.0, "%", bound="at most")
    yield Line("splices: worst mass 10 s later", 100.0 * lates.max(), 3.0, "%", bound="at most")
    yield Line("splices: share whose 2σ covers after 4 and 10 s", 100.0 * covered.mean(), 90.0, "%")


def unchanged_items(known: IdentifiedModel, folder: Path, mass: float) -> Iterator[Item]:
    """Logs in which nothing changes, whole; the last lines with faults injected."""
    for name in (*EMPTY, LOADED, "collision_free"):
        run = follow(known, read(known, folder / f"{name}.csv.gz"))
        low, high = run.watcher.band
        yield Line(f"{name}: events after the first load", len(run.later), 0.0, "", bound="at most")
        yield Line(f"{name}: mean NIS over its expectation", float(np.mean(run.nis)) / 6.0, 1.5, "×", bound="at most")
        inside = float(np.mean((run.nis >= low) & (run.nis <= high)))
        yield Line(f"{name}: NIS in its 95 % band", 100.0 * inside, 85.0, "%")
        late = run.t > run.t[0] + 3.0
        if name == LOADED:
            yield Line(f"{name}: mass at the end, error", 100 * abs(run.mass[-1] / mass - 1), 3.0, "%", bound="at most")
        else:
            yield Line(f"{name}: largest mass after 3 s", float(run.mass[late].max()), 0.1, "kg", bound="at most")
    for name in ("14h", LOADED):
        log = read(known, folder / f"{name}.csv.gz")
        run = follow(known, log, samples=damaged(log, np.random.default_rng(0)))
        true = mass if name == LOADED else 0.0
        yield Line(f"{name}, damaged: events after the first load", len(run.later), 0.0, "", bound="at most")
        yield Line(f"{name}, damaged: error of mass at the end", abs(run.mass[-1] - true), 0.1, "kg", bound="at most")


def touch_items(known: IdentifiedModel, folder: Path) -> Iterator[Item]:
    """Real touches by hand at the second link."""
    run = follow(known, read(known, folder / "collision_2link.csv.gz"))
    contacts = [event for event in run.later if event.kind == "contact"]
    found = [any(-0.1 < event.t - t < CLOSE for event in contacts) for t in CLEAR]
    invented = [event for event in contacts if not any(-0.2 < event.t - t < 1.0 for t in (*CLEAR, *FAINT))]
    second = known.robot.link_names[1]
    yield Line("touches: clear ones found", float(sum(found)), float(len(CLEAR)), "")
    yield Line("touches: invented", len(invented), 0.0, "", bound="at most")
    right = np.mean([event.link == second for event in contacts]) if contacts else np.nan
    yield Line("touches: link right when called", 100.0 * float(right), 80.0, "%")
    over = [event for event in run.later if event.kind == "contact over"]
    right = np.mean([event.link == second for event in over]) if over else np.nan
    yield Line("touches: link right once over", 100.0 * float(right), 80.0, "%")
    loads = [event for event in run.later if event.kind not in ("contact", "contact over")]
    yield Line("touches: load events", len(loads), 0.0, "", bound="at most")


def push_items(known: IdentifiedModel, folder: Path, times: np.ndarray) -> Iterator[Item]:
    """10 N at the flange within 20 ms, added to a real log, in four horizontal directions and up."""
    log = read(known, folder / "14h.csv.gz")
    directions = {"x": (1, 0, 0), "-x": (-1, 0, 0), "y": (0, 1, 0), "-y": (0, -1, 0), "up": (0, 0, 1)}
    for name, direction in directions.items():
        delays = []
        for t in times:
            part = log.part(t - 5.0, t + 1.0)
            run = follow(known, pushed(known.robot, part, 10.0 * np.array(direction), t, rise=0.02, last=0.5))
            after = [event.t - t for event in run.later if event.kind == "contact" and event.t >= t]
            delays.append(after[0] if after else np.inf)
        share = np.mean(np.array(delays) <= 0.06)
        yield Line(f"10 N at the flange, {name}: found within 60 ms", 100.0 * float(share), 100.0, "%")
        yield Line(
            f"10 N at the flange, {name}: median delay", 1e3 * float(np.median(delays)), 60.0, "ms", bound="at most"
        )


def other_robots(data: Path) -> Iterator[Item]:
    """Robots that no constant was set on: a load from the regressor on real held-out logs."""
    load = InertialParameters.from_com(1.5, (0.02, 0.0, 0.06), np.diag([0.004, 0.004, 0.003]))
    cases = (
        ("lwr4", data / "lwr4/robot.urdf", ["run2", "run3"], "run1", None),
        ("ur10", data / "ur10/robot.urdf", ["log"], "log", 20.0),
        ("panda", "panda", ["excitation_log"], "excitation_log", 14.0),
    )
    for name, robot, train, test, cut in cases:
        logs = [data / name / f"{log}.csv.gz" for log in train]
        known = identified(robot, logs, **({} if cut is None else {"until": cut}))
        log = read(known, data / name / f"{test}.csv.gz").part(cut, None)
        quiet = follow(known, log)
        yield Line(f"{name}: events without a load", len(quiet.later), 0.0, "", bound="at most")
        yield Line(f"{name}: mean NIS over its expectation", float(np.mean(quiet.nis)) / known.model.n_dof, None)
        t = float(log.t[0]) + 3.0
        run = follow(known, loaded(known, log, load, t))
        ok, _, early, _, _ = judged(run, t, load.mass, "pick")
        yield Line(f"{name}: pick of 1.5 kg heard once, in time (1 yes)", float(ok), 1.0, "")
        yield Line(f"{name}: mass 4 s later", 100.0 * early / load.mass, 5.0, "%", bound="at most")


def speed_items(known: IdentifiedModel | None, *, n_samples: int) -> Iterator[Item]:
    """Time of one whole step: contact watch and load filters, with the friction that the model has."""
    if known is None:
        model = TorqueModel(load_robot("panda"))
        theta = model.nominal()
        watch = LoadWatch(model=model, theta=theta, noise=TorqueNoise.of_std(model, theta, np.full(7, 0.3)))
        name = "Panda without friction"
    else:
        from dynid.tracking import torque_noise

        model, theta = known.model, known.parameters
        watch = LoadWatch(model=model, theta=theta, noise=torque_noise(known, np.ones(model.n_dof)))
        name = f"{model.robot.name} with {len(model.terms)} joint terms"
    motion = random_motion(model.robot, n_samples, np.random.default_rng(0), speed=0.2)
    motion = Motion(0.01 * np.arange(n_samples), motion.q, motion.dq, motion.ddq)
    tau = model.torque(motion, theta) + 0.3 * np.random.default_rng(1).standard_normal((n_samples, model.n_dof))
    samples = [Sample(motion.t[k], motion.q[k], motion.dq[k], motion.ddq[k], tau[k]) for k in range(n_samples)]
    ratios, medians = [], []
    for _ in range(3):
        watcher, times = watch.start(), []
        for sample in samples:
            started = time.perf_counter_ns()
            watcher.step(sample)
            times.append(time.perf_counter_ns() - started)
        settled = 1e-3 * np.array(times[n_samples // 4 :])
        medians.append(float(np.median(settled)))
        ratios.append(float(np.percentile(settled, 99)) / medians[-1])
    yield Line(f"{name}: median of a step, load and contact", min(medians), 60.0, "µs", bound="at most")
    yield Line(f"{name}: 99th percentile over median", min(ratios), 3.0, "×", bound="at most")


def run(*, quick: bool = False) -> Iterator[Item]:
    """Every figure; measured logs where DYNID_DATA names their folder."""
    data = os.environ.get("DYNID_DATA")
    if quick or data is None:
        yield from speed_items(None, n_samples=400)
        if data is None:
            yield Note("DYNID_DATA is not set: no measured logs.")
        return
    folder = Path(data) / "ur10e"
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    gains = facts["torque_constants"]["controller_Nm_per_A"]
    mass = float(facts["logs"][LOADED]["load_kg"])
    known = identified(folder / "ur10e.urdf", [folder / f"{TRAINED_ON}.csv.gz"], gains=gains)
    yield from unchanged_items(known, folder, mass)
    yield from touch_items(known, folder)
    yield from splice_items(known, folder, mass, 3.0)
    yield from push_items(known, folder, np.arange(8.0, 44.0, 4.0))
    yield from speed_items(known, n_samples=4000)
    yield from other_robots(Path(data))
