"""Whether exciting motions keep clear of the floor and of the robot itself, end in time, and lose no excitation by it.

Robot files are those of DYNID_DATA/robots where it is set. Every robot is taken by the plain call, `dynid.excite`.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dynid
from benchmarks import Item, Line, Note, Table
from benchmarks.robot_files import robot_files
from dynid.chain import BUILT_IN, Robot, load_robot
from dynid.dynamics import TorqueModel
from dynid.errors import DynidError
from dynid.excitation import (
    FourierBasis,
    MotionLimits,
    Surroundings,
    Trajectory,
    capsules_of,
    clearance_limit,
    design_excitation,
)
from dynid.workflow import ExcitingTrajectory
from tests.excitation.test_design import FRICTION, with_random_limits
from tests.robots import random_robot

N_ROBOTS = 50
BUDGET = 2.0
"""s, for every robot."""
RATE_HZ = 10_000.0
"""At which distances are looked at, Hz."""
CLEARANCE = 0.02
"""m"""
CHUNK = 20_000
"""Samples looked at at once."""
LATE = 2.0
"""s that a search may take beyond its budget, or beyond Ctrl-C."""


@dataclass(frozen=True)
class Kept:
    """What became of one robot."""

    name: str
    distance: float = np.nan
    """Smallest distance of a capsule to floor or another one, m; nan where nothing is watched."""
    late: float = np.nan
    """Seconds beyond the budget."""
    computing: float = np.nan
    """Seconds of computing after the budget ended: what it would be late by on an idle machine."""
    condition_number: float = np.nan
    """A ratio."""
    unchecked: str = ""
    refusal: str = ""


def smallest_distance(result: ExcitingTrajectory) -> float:
    """The smallest distance of what is watched at 10 kHz, m."""
    assert result.clear is not None
    if result.clear.limit is None:
        return np.nan
    trajectory: Trajectory = result.trajectory
    t = np.arange(int(trajectory.duration * RATE_HZ) + 1) / RATE_HZ
    worst = max(
        float(result.clear.limit.excess(trajectory.at(part)).max())
        for part in np.array_split(t, max(1, len(t) // CHUNK))
    )
    return CLEARANCE - worst


def kept(name: str, robot: str | Robot, seed: int, budget: float) -> Kept:
    """One robot by the plain call."""
    began, ended = time.perf_counter(), [np.inf]
    timer = threading.Timer(budget, lambda: ended.append(time.process_time()))
    timer.start()
    try:
        result = dynid.excite(robot, time_budget=budget, seed=seed)
    except DynidError as refused:
        return Kept(name, refusal=str(refused))
    finally:
        timer.cancel()
    late, computing = time.perf_counter() - began - budget, max(0.0, time.process_time() - ended[-1])
    assert isinstance(result, ExcitingTrajectory)
    unchecked = "; ".join(result.clear.unchecked) if result.clear is not None else "all"
    return Kept(name, smallest_distance(result), late, computing, result.report.condition_number, unchecked)


def candidates(*, quick: bool) -> Iterator[tuple[str, str | Robot]]:
    """Built-in robots, random ones, and every robot file."""
    yield from ((name, name) for name in BUILT_IN if not quick or name == "spatial2r")
    for seed in range(1 if quick else N_ROBOTS):
        rng = np.random.default_rng(20_000 + seed)
        n_dof = 2 if quick else int(rng.integers(1, 8))
        yield f"random {seed}", with_random_limits(random_robot(rng, n_dof), rng)
    folder = os.environ.get("DYNID_DATA")
    if folder and not quick:
        for path in robot_files(Path(folder)):
            try:
                load_robot(path)
            except DynidError:
                continue  # a part of a scene
            yield f"{path.parent.name}/{path.name}", str(path)


def clearance_items(*, quick: bool) -> Iterator[Item]:
    """All robots: distances, times, and what is not checked."""
    dynid.excite("spatial2r", time_budget=0.1, restarts=1)  # compiled before the clock starts
    found = [kept(name, robot, 0, 0.2 if quick else BUDGET) for name, robot in candidates(quick=quick)]
    done = [one for one in found if not one.refusal]
    watched = [one for one in done if np.isfinite(one.distance)]
    rows = tuple(
        (
            one.name,
            f"{1e3 * one.distance:.1f}" if np.isfinite(one.distance) else "nothing watched",
            f"{one.condition_number:.4g}",
            (one.unchecked or "–")[:90],
        )
        for one in done
        if not one.name.startswith("random") or one.unchecked
    )
    yield Table("Smallest distance at 10 kHz", ("robot", "mm", "condition number", "not checked"), rows)
    nearest = min((one.distance for one in watched), default=np.nan)
    yield Line(f"{len(watched)} robots, smallest distance", 1e3 * nearest, 1e3 * CLEARANCE, "mm")
    yield Line(f"{len(found)} robots, refused", len(found) - len(done), None, "")
    for one in found:
        if one.refusal:
            yield Note(f"{one.name}: {one.refusal[:200]}")
    slowest = max(done, key=lambda one: one.late)
    yield Line(f"longest beyond the budget ({slowest.name})", slowest.late, LATE, "s", "at most")
    busiest = max(done, key=lambda one: one.computing)
    yield Line(f"the same, computing ({busiest.name})", busiest.computing, LATE, "s", "at most")
    in_time = sum(one.late <= LATE for one in done)
    yield Line("robots that end in time, of all", 100.0 * in_time / len(done), 100.0, "%")


def cpu_seconds(process: int) -> float:
    """Time that a running process has computed for, s."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(robot: str) -> tuple[float, float, bool]:
    """Seconds, and seconds of computing, from Ctrl-C to the end of the command, and whether it left a motion."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "dynid", "excite", robot, "--restarts", "1000", "--no-picture"]
        began = time.perf_counter()
        subprocess.run([*command, "--time-budget", "0.1", "--out", "first.csv"], cwd=folder, capture_output=True)
        whole = time.perf_counter() - began
        process = subprocess.Popen(
            [*command, "--time-budget", "600", "--out", "t.csv"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        # As long as a run without a search takes: by then it has begun.
        time.sleep(whole)
        before, children = cpu_seconds(process.pid), resource.getrusage(resource.RUSAGE_CHILDREN)
        process.send_signal(signal.SIGINT)
        began = time.perf_counter()
        process.communicate()
        late, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        computed = after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime - before
        return late, computed, process.returncode == 0 and (Path(folder) / "t.csv").is_file()


def interrupt_lines(*, quick: bool) -> Iterator[Line]:
    """Ctrl-C some time into a search that would take ten minutes."""
    robots = ["spatial2r"] if quick else ["panda", "wam7"]
    folder = os.environ.get("DYNID_DATA")
    if folder and not quick:
        names = ("urdf/rethinkBaxter.urdf", "urdf/dual_iiwa14_polytope_collision.urdf", "mjcf/kuka_iiwa_14/iiwa14.xml")
        robots += [str(Path(folder) / "robots" / name) for name in names]
    outcomes = [interrupted(robot) for robot in robots]
    yield Line("longest end after Ctrl-C", max(late for late, _, _ in outcomes), LATE, "s", "at most")
    yield Line("longest end after Ctrl-C, computing", max(cpu for _, cpu, _ in outcomes), LATE, "s", "at most")
    yield Line("of these without a motion", sum(not left for *_, left in outcomes), 0.0, "", "at most")


def far_floor_lines(*, quick: bool) -> Iterator[Line]:
    """What watching costs where nothing is near: the same search with and without it."""
    ratios = []
    for name in ("spatial2r",) if quick else ("panda", "wam7"):
        robot = load_robot(name)
        limits, model = MotionLimits.of(robot), TorqueModel(robot, FRICTION)
        around = Surroundings(floor=-10.0, floor_asked=True, itself=False)
        far = clearance_limit(robot, capsules_of(robot), around, limits).limit
        for seed in range(1 if quick else 3):
            numbers = [
                design_excitation(
                    model,
                    basis=FourierBasis(5, 0.075),
                    limits=limits,
                    path_limits=() if path is None else (path,),
                    restarts=1 if quick else 4,
                    max_iterations=5 if quick else 300,
                    seed=seed,
                ).condition_number
                for path in (None, far)
            ]
            ratios.append(numbers[1] / numbers[0])
    yield Line("condition number with a floor far away over that without, worst", max(ratios), 1.15, "", "at most")


def run(*, quick: bool = False) -> Iterator[Item]:
    """Every figure, as soon as it is known: the whole takes some ten minutes."""
    yield from far_floor_lines(quick=quick)
    yield from interrupt_lines(quick=quick)
    yield from clearance_items(quick=quick)
