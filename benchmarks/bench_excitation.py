"""Exciting trajectories: how well, how soon, and whether a limit is ever broken.

The trajectories that were published are judged by the same measure when DYNID_DATA names the folder of data sets.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks import Item, Line, Table
from benchmarks.scipy_excitation import scipy_search
from dynid.chain import load_robot
from dynid.dynamics import TorqueModel, friction_models
from dynid.excitation import (
    FourierBasis,
    FourierSeries,
    MotionLimits,
    SplineBasis,
    assess,
    design_excitation,
    design_poses,
)
from dynid.excitation.design import curve_motion
from tests.excitation.test_design import FRICTION, WAM_RANGES, violations, with_random_limits
from tests.robots import random_robot

SEEDS = range(5)
N_ROBOTS = 50


def panda_lines() -> list[Line]:
    """Five seeds on the Panda, each with 30 s, of which the last is for ramps and certificate."""
    model = TorqueModel(load_robot("panda"), FRICTION)
    design_excitation(model, restarts=1, max_iterations=1)  # compiled before the clock starts
    found, seconds, broken = [], [], 0
    for seed in SEEDS:
        began = time.perf_counter()
        excitation = design_excitation(model, basis=FourierBasis(5, 0.075), time_budget=29.0, restarts=8, seed=seed)
        seconds.append(time.perf_counter() - began)
        found.append(excitation.condition_number)
        broken += len(violations(model.robot, excitation.trajectory)) + (not excitation.certificate.holds)
    quick = design_excitation(model, basis=FourierBasis(5, 0.075), time_budget=5.0, restarts=2)
    spline = design_excitation(model, basis=SplineBasis(15, 13.3), time_budget=30.0, restarts=4)
    poses = design_poses(model.robot, 40)
    return [
        Line("panda, worst condition number of five seeds", max(found), 38.0, "", "at most"),
        Line("panda, median of five seeds", float(np.median(found)), None, ""),
        Line("panda, best of five seeds", min(found), None, ""),
        Line("panda, longest search", max(seconds), 30.0, "s", "at most"),
        Line("panda, limits broken at 10 kHz", broken, 0.0, "", "at most"),
        Line("panda, condition number after 5 s", quick.condition_number, None, ""),
        Line("panda, spline of 15 points", spline.condition_number, None, ""),
        Line("panda, 40 static poses for the reverse method", poses.condition_number, 48.9, "", "at most"),
    ]


def wam_lines() -> list[Line]:
    """The WAM inside the ranges of the robot, and inside those of its published trajectories."""
    model = TorqueModel(load_robot("wam7"), friction_models("viscous+coulomb"))
    lower, upper = WAM_RANGES
    peak = {"velocity": 1.45, "acceleration": 2.19}
    lines = []
    for name, limits in (
        ("robot's ranges", MotionLimits.of(model.robot, **peak)),
        ("published trajectories' ranges", MotionLimits.of(model.robot, lower=lower, upper=upper, **peak)),
    ):
        began = time.perf_counter()
        found = design_excitation(model, basis=FourierBasis(5, 0.05), limits=limits, time_budget=58.0, restarts=16)
        seconds = time.perf_counter() - began
        lines.append(Line(f"wam7 within the {name}, condition number", found.condition_number, 42.0, "", "at most"))
        lines.append(Line(f"wam7 within the {name}, search", seconds, 60.0, "s", "at most"))
        broken = len(found.certificate.violations)
        lines.append(Line(f"wam7 within the {name}, limits broken", broken, 0.0, "", "at most"))
    return lines


def random_lines() -> list[Line]:
    """Fifty random robots and limits, slow motions included."""
    broken = infinite = 0
    for seed in range(N_ROBOTS):
        rng = np.random.default_rng(10_000 + seed)
        robot = with_random_limits(random_robot(rng, int(rng.integers(1, 8))), rng)
        basis = FourierBasis(int(rng.integers(1, 6)), 10.0 ** rng.uniform(-1.5, 0.5))
        found = design_excitation(TorqueModel(robot, FRICTION), basis=basis, restarts=1, max_iterations=10, seed=seed)
        broken += len(violations(robot, found.trajectory))
        infinite += not np.isfinite(found.condition_number)
    return [
        Line(f"{N_ROBOTS} random robots, limits broken at 10 kHz", broken, 0.0, "", "at most"),
        Line(f"{N_ROBOTS} random robots, infinite or failed results", infinite, 0.0, "", "at most"),
    ]


def published_lines() -> list[Line]:
    """The published trajectories, once through at full speed; nothing where the data sets are not here."""
    folder = os.environ.get("DYNID_DATA")
    if not folder:
        return []
    table = json.loads((Path(folder) / "panda" / "published.json").read_text(encoding="utf-8"))["excitation"]
    series = FourierSeries(0.075, np.array(table["a"]), np.array(table["b"]), np.array(table["q0"]))
    panda = TorqueModel(load_robot("panda"), FRICTION)
    report = assess(panda, curve_motion(series).motion(100.0))
    lines = [Line("panda, published trajectory", report.condition_number, None, "")]
    wam = TorqueModel(load_robot("wam7"), friction_models("viscous+coulomb"))
    published = json.loads((Path(folder) / "wam7" / "wam7_trajectories.json").read_text(encoding="utf-8"))
    for name, entry in published.items():
        a, b = np.array(entry["a"]).T, np.array(entry["b"]).T
        report = assess(wam, curve_motion(FourierSeries(0.05, a, b, np.array(entry["q0"]))).motion(100.0))
        lines.append(Line(f"wam7, published {name}", report.condition_number, None, ""))
    return lines


BUDGETS = (1.0, 2.0, 5.0, 10.0, 20.0)
"""s."""
SHAPE = FourierBasis(5, 0.075)


def over_time(budgets: Sequence[float]) -> Table:
    """The best condition number that keeps every limit, by program and time spent."""
    model = TorqueModel(load_robot("panda"), FRICTION)
    design_excitation(model, restarts=1, max_iterations=1)
    ours = [
        design_excitation(model, basis=SHAPE, time_budget=budget, restarts=8).condition_number for budget in budgets
    ]
    rows = [("dynid", *(f"{found:.1f}" for found in ours))]
    for method in ("SLSQP", "COBYLA"):
        found = scipy_search(model, SHAPE, method, budgets)
        rows.append((f"SciPy {method}", *(f"{value:.1f}" if np.isfinite(value) else "none" for value in found)))
    header = ("program", *(f"{budget / budgets[-1]:.2g}" for budget in budgets))
    return Table("Panda, condition number within all limits over time (last column 1)", header, tuple(rows))


def run(*, quick: bool = False) -> Iterator[Item]:
    """Every figure, as soon as it is known: the whole takes some ten minutes."""
    yield over_time((0.5,) if quick else BUDGETS)
    if quick:
        return
    for part in (published_lines, panda_lines, wam_lines, random_lines):
        yield from part()
