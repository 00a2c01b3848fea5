"""Loads and contacts online on real logs: splices, unchanged logs, touches, pushes; and the time of a step."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

import dynid
from benchmarks import Item, Line, Note, Table
from benchmarks.allocations import bytes_kept, compiled_blocks, quiet_samples
from benchmarks.contact_logs import contact_items
from benchmarks.fault_logs import fault_items
from benchmarks.load_logs import Followed, damaged, follow, held, loaded, pushed, read, splices
from dynid import InertialParameters, TorqueModel, load_robot
from dynid.arrays import Array
from dynid.dynamics import Motion, random_motion
from dynid.recording import Recording, read_recording
from dynid.regression.model import IdentifiedModel
from dynid.tracking import LoadWatch, Sample, TorqueNoise
from dynid.tracking.contact_force import point_jacobian
from dynid.tracking.contact_jumps import WINDOW

EMPTY, LOADED = ("30s12h", "20s8h", "14h"), "14hLoad"
TRAINED_ON = "30s12h"
CLEAR, CLOSE = (6.0, 10.2, 18.3, 27.1, 32.0, 36.0), 0.6
"""Clear touches of collision_2link, s, and how much later one may be called."""
FAINT = (2.1, 44.0, 52.6)


def identified(robot: object, logs: Sequence[Path | Recording], **options: object) -> IdentifiedModel:
    """The model that the plain call gives."""
    return dynid.identify(robot, list(logs), **options).model  # type: ignore[arg-type]


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
        yield Line(f"{name}: events after the first load", len(run.later), 0.0, "", bound="at most")
        yield Line(f"{name}: mean NIS over its expectation", float(np.mean(run.nis)) / 6.0, 1.5, "×", bound="at most")
        yield Line(f"{name}: NIS in its 95 % band", 100.0 * run.inside, 85.0, "%")
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


class Touches(NamedTuple):
    """Real touches by hand at the second link, as they were heard."""

    n_found: int
    n_faint: int
    n_invented: int
    n_loads: int
    right: float
    """Share of clear ones at the right link as they were called,"""
    right_over: float
    """and of all once over."""
    right_all: float
    """Share of all contacts at the right link as they were called, faint ones too."""


def touches(known: IdentifiedModel, folder: Path) -> Touches:
    """Follow the log of touches."""
    run = follow(known, read(known, folder / "collision_2link.csv.gz"))
    contacts = [event for event in run.later if event.kind == "contact"]
    over = [event for event in run.later if event.kind == "contact over"]
    second = known.robot.link_names[1]
    return Touches(
        sum(any(-0.1 < event.t - t < CLOSE for event in contacts) for t in CLEAR),
        sum(any(-0.1 < event.t - t < CLOSE for event in contacts) for t in FAINT),
        sum(not any(-0.2 < event.t - t < 1.0 for t in (*CLEAR, *FAINT)) for event in contacts),
        len(run.later) - len(contacts) - len(over),
        *(
            float(np.mean([event.link == second for event in named])) if named else np.nan
            for named in (
                [event for event in contacts if any(-0.1 < event.t - t < CLOSE for t in CLEAR)],
                over,
                contacts,
            )
        ),
    )


def touch_items(known: IdentifiedModel, folder: Path) -> Iterator[Item]:
    """Real touches by hand at the second link."""
    found = touches(known, folder)
    yield Line("touches: clear ones found", float(found.n_found), float(len(CLEAR)), "")
    yield Line("touches: faint ones found", float(found.n_faint), None, "")
    yield Line("touches: invented", found.n_invented, 0.0, "", bound="at most")
    yield Line("touches: link of clear ones right when called", 100.0 * found.right, 80.0, "%")
    yield Line("touches: link of all right once over", 100.0 * found.right_over, 80.0, "%")
    yield Line("touches: link of all right when called", 100.0 * found.right_all, None, "%")
    yield Line("touches: load events", found.n_loads, 0.0, "", bound="at most")


N_PEAKS, APART = 25, 0.1
"""Largest values by which a tail is judged, and the time (s) in which the largest counts as one."""


def rare(values: Array, rate_hz: float, per_hour: float) -> float:
    """What values at a rate (Hz) exceed so often an hour, if their tail goes on as it begins: exponentially."""
    block = max(1, round(APART * rate_hz))
    peaks = np.sort(values[: len(values) // block * block].reshape(-1, block).max(axis=1))[::-1]
    n = min(N_PEAKS, len(peaks) // 4)
    expected = per_hour * len(values) / rate_hz / 3600.0
    return float(peaks[n] + np.mean(peaks[:n] - peaks[n]) * np.log(n / expected))


def detectable(known: IdentifiedModel, log: Recording, force: Array) -> tuple[float, float]:
    """Share of the samples of a log at which a matched filter finds a step of this force (N, base axes) in 60 ms.

    It knows the direction of the force, as no detector does, and the band of the watch. The first threshold is that of
    Gaussian jumps at half a false alarm an hour; the second is what jumps of this very log exceed so often.
    """
    run = follow(known, log, keep_jumps=True)
    moving = np.arange(len(run.jumps)) > 3.0 * log.rate_hz
    jumps, band = run.jumps[moving, 0], run.jumps[moving, 1]
    # Mean over the window that ends with the last sample within 60 ms of a force that rises over 20 ms; the observer
    # takes the mean of a torque and the one before.
    last = 0.06 - 1.0 / log.rate_hz
    reached = float(np.mean(np.clip(np.linspace(last - WINDOW, last) / 0.02, 0.0, 1.0)))
    link = known.model.n_dof - 1
    step = np.array([reached * point_jacobian(known.robot, q, link).T @ force for q in log.q[moving]]) / band
    size = np.linalg.norm(step, axis=1)
    seen = np.sum(step * jumps / band, axis=1) / size
    needed = float(stats.norm.isf(0.5 * WINDOW / 3600.0)), np.sqrt(rare(seen**2, log.rate_hz, 0.5))
    gaussian, real = (float(np.mean(seen + size > least)) for least in needed)
    return gaussian, real


DIRECTIONS = {"x": (1, 0, 0), "-x": (-1, 0, 0), "y": (0, 1, 0), "-y": (0, -1, 0), "up": (0, 0, 1)}
"""Of pushes, in base axes."""


def pushes(known: IdentifiedModel, log: Recording, times: Array, directions: Iterable[str]) -> tuple[float, float, int]:
    """Share of pushes of 10 N in 20 ms at the flange that is found in 60 ms, median delay (s), other events."""
    delays, others = [], 0
    for name in directions:
        for t in times:
            part = log.part(t - 5.0, t + 1.0)
            run = follow(known, pushed(known.robot, part, 10.0 * np.array(DIRECTIONS[name]), t, rise=0.02, last=0.5))
            after = [event.t - t for event in run.later if event.kind == "contact" and event.t >= t]
            delays.append(after[0] if after else np.inf)
            others += sum(event.kind not in ("contact", "contact over") for event in run.later)
    return float(np.mean(np.array(delays) <= 0.06)), float(np.median(delays)), others


def push_items(known: IdentifiedModel, folder: Path, times: Array) -> Iterator[Item]:
    """10 N at the flange within 20 ms, added to a real log, in four horizontal directions and up."""
    log = read(known, folder / "14h.csv.gz")
    for name in DIRECTIONS:
        share, delay, others = pushes(known, log, times, (name,))
        gaussian, real = detectable(known, log, 10.0 * np.array(DIRECTIONS[name]))
        yield Line(f"10 N at the flange, {name}: found within 60 ms", 100.0 * share, 100.0, "%")
        yield Line(f"10 N at the flange, {name}: matched filter that knows the direction", 100.0 * real, None, "%")
        yield Line(f"10 N at the flange, {name}: the same if jumps were Gaussian", 100.0 * gaussian, None, "%")
        yield Line(f"10 N at the flange, {name}: median delay", 1e3 * delay, 60.0, "ms", bound="at most")
        yield Line(f"10 N at the flange, {name}: other events", others, 0.0, "", bound="at most")


def filled_items(known: IdentifiedModel, folder: Path, mass: float) -> Iterator[Item]:
    """A load that comes little by little into a moving hand, and one that comes at once into a hand at rest."""
    load = InertialParameters.from_com(mass, (0.02, 0.0, 0.06), mass * np.diag([0.0025, 0.0025, 0.002]))
    log = read(known, folder / "14h.csv.gz")
    for over in (10.0, 20.0, 30.0):
        t = float(log.t[0]) + 4.0
        run = follow(known, loaded(known, log, load, t, over=over))
        lag = run.mass - mass * np.clip((run.t - t) / over, 0.0, 1.0)
        while_filled = (run.t > t) & (run.t < t + over)
        name = f"filled in {over:g} s"
        yield Line(f"{name}: largest lag", float(np.abs(lag[while_filled]).max()), None, "kg")
        yield Line(
            f"{name}: error 8 s later", 100.0 * abs(run.at(t + over + 8.0)[0] / mass - 1.0), 5.0, "%", bound="at most"
        )
        others = sum(event.kind not in ("change", "pick") for event in run.later)
        yield Line(f"{name}: contacts and places called", others, 0.0, "", bound="at most")
    for pose in (5.0, 15.0, 25.0, 35.0):
        still, t = held(known, log, pose), float(log.t[0]) + 5.0
        quiet = follow(known, still.part(None, t + 11.0))
        run = follow(known, loaded(known, still, load, t).part(None, t + 11.0))
        heard = [event.t - t for event in run.later if event.kind in ("change", "pick")]
        name = f"at rest, pose of {pose:g} s"
        yield Line(f"{name}: events without a load", len(quiet.later), 0.0, "", bound="at most")
        yield Line(f"{name}: load heard after", heard[0] if heard else np.inf, 1.5, "s", bound="at most")
        yield Line(f"{name}: error 10 s later", 100.0 * abs(run.at(t + 10.0)[0] / mass - 1.0), None, "%")


def model_items(folder: Path, gains: object, mass: float) -> Iterator[Item]:
    """Every figure for models of other logs: each alone, in pairs, and all; a log in the model is not left out."""
    rows = []
    for train in (("20s8h",), ("14h",), ("30s12h", "20s8h"), ("30s12h", "14h"), ("20s8h", "14h"), EMPTY):
        known = identified(folder / "ur10e.urdf", [folder / f"{name}.csv.gz" for name in train], gains=gains)
        empty, full = (read(known, folder / f"{name}.csv.gz") for name in ("14h", LOADED))
        found = []
        for kind, first, then, true in (("pick", empty, full, mass), ("place", full, empty, 0.0)):
            for t, log in splices(first, then, start=6.0, stop=39.0, every=6.0):
                found.append(judged(follow(known, log.part(max(0.0, t - 6.0), t + 11.0)), t, true, kind))
        oks, delays, earlies, lates, _ = (np.array(column, dtype=float) for column in zip(*found, strict=True))
        events, shares, means = 0, [], []
        for name in (*EMPTY, LOADED, "collision_free"):
            run = follow(known, read(known, folder / f"{name}.csv.gz"))
            events += len(run.later)
            shares.append(run.inside)
            means.append(float(np.mean(run.nis)) / 6.0)
        touched = touches(known, folder)
        rows.append(
            (
                "+".join(train),
                f"{int(oks.sum())} of {len(oks)}, {delays.max():.2f} s",
                f"{100 * earlies.max() / mass:.1f}, {100 * lates.max() / mass:.1f}",
                str(events),
                f"{100 * min(shares):.0f}, {min(means):.2f} to {max(means):.2f}",
                f"{touched.n_found} of {len(CLEAR)}, {touched.n_faint}, {touched.n_invented}, {touched.n_loads}",
                f"{100 * touched.right:.0f}, {100 * touched.right_over:.0f}",
            )
        )
    header = (
        "model of",
        "splices right, longest delay",
        "worst mass 4 s, 10 s later / %",
        "events in 5 unchanged logs",
        "NIS in band / %, mean",
        "touches found, faint ones, invented, loads",
        "link right when called, once over / %",
    )
    yield Table("UR10e, models of other logs", header, tuple(rows))


def false_items(data: Path, gains: object) -> Iterator[Item]:
    """Events in real logs without change that the model has not seen, over models of single logs of every robot."""
    cases = [
        ("ur10e", data / "ur10e/ur10e.urdf", ("30s12h", "20s8h", "14h"), ("30s12h", "20s8h", "14h", LOADED), 5.0),
        ("lwr4", data / "lwr4/robot.urdf", ("run1", "run2", "run3"), ("run1", "run2", "run3"), 5.0),
        ("kr300", data / "kr300/robot.toml", ("runA", "runB", "runC"), ("runA", "runB", "runC"), 300.0),
    ]
    n_all, hours_all, rows = 0, 0.0, []
    for name, robot, train, test, heaviest in cases:
        for own in train:
            known = identified(robot, [data / name / f"{own}.csv.gz"], **({"gains": gains} if name == "ur10e" else {}))
            for other in test:
                if other == own:
                    continue
                log = read(known, data / name / f"{other}.csv.gz")
                run = follow(known, log, max_mass=heaviest)
                n_events = sum(event.kind != "contact over" for event in run.later)
                n_all, hours_all = n_all + n_events, hours_all + float(log.t[-1] - log.t[0]) / 3600.0
                shown = (100 * run.inside, float(np.mean(run.nis)) / known.model.n_dof, float(run.mass[-1]))
                rows.append((name, own, other, *(f"{value:.2f}" for value in shown), str(n_events)))
    header = ("robot", "model of", "followed", "NIS in band / %", "mean NIS", "mass at the end / kg", "false events")
    yield Table("Models of one log, other logs without change", header, tuple(rows))
    yield Line("false events an hour, models of one log", n_all / hours_all, 0.0, "1/h", bound="at most")


def other_robots(data: Path) -> Iterator[Item]:
    """Other robots, logs held out: nothing happens, a load and a push added; NIS."""
    load = InertialParameters.from_com(1.5, (0.02, 0.0, 0.06), np.diag([0.004, 0.004, 0.003]))
    cases = (
        ("lwr4", data / "lwr4/robot.urdf", ["run2", "run3"], "run1", None),
        ("ur10", data / "ur10/robot.urdf", ["log"], "log", 20.0),
        ("panda", "panda", ["excitation_log"], "excitation_log", 14.0),
        ("panda30", "panda", ["log"], "log", 16.0),
        ("kr300", data / "kr300/robot.toml", ["runA", "runB"], "runC", None),
        ("med7", data / "med7/robot.urdf", ["log"], "log", 11.0),
    )
    for name, robot, train, test, cut in cases:
        logs: list[Path | Recording] = [data / name / f"{log}.csv.gz" for log in train]
        if name == "med7":  # the controller counts torque the other way round
            raw = read_recording(data / "med7/log.csv.gz", load_robot(robot).joint_names)
            assert raw.tau is not None
            logs = [replace(raw, tau=-raw.tau)]
        known = identified(robot, logs, **({} if cut is None else {"until": cut}))
        log = read(known, logs[0] if name == "med7" else data / name / f"{test}.csv.gz").part(cut, None)
        heaviest = 300.0 if name == "kr300" else 5.0
        quiet = follow(known, log, max_mass=heaviest)
        n = known.model.n_dof
        yield Line(f"{name}: events without a load", len(quiet.later), 0.0, "", bound="at most")
        yield Line(f"{name}: mean NIS over its expectation", float(np.mean(quiet.nis)) / n, 1.5, "×", bound="at most")
        yield Line(f"{name}: NIS in its 95 % band", 100.0 * quiet.inside, 85.0, "%")
        if name in ("lwr4", "panda"):
            yield from fault_items(name, known, log.part(None, float(log.t[0]) + 25.0))
        if name in ("kr300", "med7"):
            continue
        t = float(log.t[0]) + 3.0
        ok, _, early, _, _ = judged(follow(known, loaded(known, log, load, t)), t, load.mass, "pick")
        yield Line(f"{name}: pick of 1.5 kg heard once, in time (1 yes)", float(ok), 1.0, "")
        yield Line(f"{name}: mass 4 s later", 100.0 * early / load.mass, 5.0, "%", bound="at most")
        times = np.arange(log.t[0] + 5.0, log.t[-1] - 1.0, 1.0 if cut is not None else 4.0)
        share, delay, _ = pushes(known, log, times, ("x", "y", "up"))
        yield Line(f"{name}: 10 N at the flange found within 60 ms", 100.0 * share, 100.0, "%")
        yield Line(f"{name}: 10 N at the flange, median delay", 1e3 * delay, 60.0, "ms", bound="at most")


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
    quiet, watcher = quiet_samples(model, theta, 3 * n_samples), watch.start()
    heard = [event for sample in quiet[:n_samples] for event in watcher.step(sample)]
    blocks = compiled_blocks(lambda k: heard.extend(watcher.step(quiet[k])), n_samples, 2 * n_samples)
    yield Line(f"{name}: blocks that {n_samples} steps allocate, compiled", blocks, 0.0, "", bound="at most")
    kept = bytes_kept(lambda k: heard.extend(watcher.step(quiet[k])), 2 * n_samples, len(quiet))
    yield Line(f"{name}: memory that a step keeps, Python", kept, 1.0, "B", bound="at most")


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
    yield from fault_items("ur10e", known, read(known, folder / "14h.csv.gz").part(None, 25.0))
    yield from touch_items(known, folder)
    yield from splice_items(known, folder, mass, 3.0)
    yield from push_items(known, folder, np.arange(8.0, 44.0, 4.0))
    yield from filled_items(known, folder, mass)
    yield from model_items(folder, gains, mass)
    yield from false_items(Path(data), gains)
    yield from speed_items(known, n_samples=4000)
    yield from other_robots(Path(data))
    yield from contact_items(Path(data), gains)
