"""Retrieval of full parameters: both engines on the Panda in one run, the one-step fit, and joint forces.

The figures of the Panda need the folder of data sets that DYNID_DATA names.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks import Item, Line, Note, Table
from dynid import TorqueModel, base_parameters, load_robot
from dynid.dynamics import friction_models, random_motion
from dynid.recording import Conditioning, read_recording
from dynid.regression import (
    Constraints,
    Frustum,
    MultiStart,
    ParameterBounds,
    RegionUnion,
    Retrieval,
    RetrievalObjective,
    RetrievalResult,
    SampleRows,
    SimulatedAnnealing,
    compress,
    read_bounds,
)

BUDGETS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""s; each search starts anew."""


def run(*, quick: bool = False) -> Iterator[Item]:
    """Objectives over time, gaps and times; joint forces of consistent and inconsistent parameter sets."""
    data = os.environ.get("DYNID_DATA")
    yield over_time(Path(data) / "panda" if data and not quick else None, (0.2,) if quick else BUDGETS)
    if quick:
        return
    yield from joint_forces()
    yield from panda(Path(data) / "panda") if data else [Note("Panda skipped: DYNID_DATA does not name its folder")]


def over_time(folder: Path | None, budgets: Sequence[float]) -> Table:
    """How far the best allowed answer so far is above the semidefinite optimum, by engine and time spent."""
    model = TorqueModel(load_robot("panda"))
    base = base_parameters(model)
    if folder is None:
        name, given = "file's own base parameters", dict(zip(base.leading, base.project(model.nominal()), strict=True))
        masses = {f"m{i + 1}": (0.5, 3.0) for i in range(7)}
        constraints = Constraints(bounds=ParameterBounds.of(masses), total_mass=(8.0, 12.0))
    else:
        name, facts = "published base parameters and bounds", json.loads((folder / "published.json").read_text())
        given = dict(zip(facts["coefficient_leading_parameter"], facts["reverse_engineering"]["value"], strict=True))
        constraints = Constraints(bounds=read_bounds(folder / "bounds.csv"), total_mass=(16.0, 20.0))
    objective = RetrievalObjective.coefficients(base, given)
    Retrieval(constraints=constraints, runs=1, time_budget=max(budgets)).solve(model, base, objective)
    unit = budgets[-1]
    rows = []
    for engine in (MultiStart(), SimulatedAnnealing()):
        shown = []
        for budget in budgets:
            found = Retrieval(constraints=constraints, engine=engine, runs=100, time_budget=budget).solve(
                model, base, objective
            )
            shown.append(f"{100.0 * found.gap:.3g} %" if found.met else "no answer")
        rows.append(("our engine" if isinstance(engine, MultiStart) else "annealing as published", *shown))
    rows.append(("semidefinite optimum", *("0 %" for _ in budgets)))
    header = ("engine", *(f"{budget / unit:.3g}" for budget in budgets))
    return Table(f"Panda, {name}: squared error above the optimum over time (last column 1)", header, tuple(rows))


def panda(folder: Path) -> list[Line]:
    """Published base parameters of the reverse method and bounds, 16–20 kg, triangle inequality; then the log."""
    facts = json.loads((folder / "published.json").read_text())
    given = dict(zip(facts["coefficient_leading_parameter"], facts["reverse_engineering"]["value"], strict=True))
    constraints = Constraints(bounds=read_bounds(folder / "bounds.csv"), total_mass=(16.0, 20.0))
    model = TorqueModel(load_robot("panda"))
    base = base_parameters(model)
    coefficients = RetrievalObjective.coefficients(base, given)
    lines = []
    for engine, runs in ((MultiStart(), 4), (SimulatedAnnealing(), 1)):
        started = time.perf_counter()
        found = Retrieval(constraints=constraints, engine=engine, runs=runs).solve(model, base, coefficients)
        seconds = time.perf_counter() - started
        assert found.met, found.violated
        name = f"Panda base parameters, {engine.name}, {runs} runs"
        lines += [
            Line(f"{name}: squared error", found.objective, 3.95e-4, "", "at most"),
            Line(f"{name}: above the semidefinite optimum", 100.0 * found.gap, None, "%"),
            Line(f"{name}: time", seconds, 10.0 if runs > 1 else None, "s", "at most"),
        ]
    return [*lines, *_one_step(folder, constraints)]


def _one_step(folder: Path, constraints: Constraints) -> list[Line]:
    robot = load_robot("panda")
    model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
    base = base_parameters(model)
    log = read_recording(folder / "excitation_log.csv.gz", robot.joint_names)
    stacked = compress(SampleRows(model, base, (Conditioning().plan(log).apply(log),))).stacked()
    objective = RetrievalObjective.one_step(base, stacked.R, stacked.rho, stacked.rest)
    lines = []
    for engine, runs in ((MultiStart(), 3), (SimulatedAnnealing(), 1)):
        started = time.perf_counter()
        found = Retrieval(constraints=constraints, engine=engine, runs=runs).solve(model, base, objective)
        seconds = time.perf_counter() - started
        best = objective.relative_percent(found.optimum)
        name = f"Panda one-step, {engine.name}, {runs} runs"
        lines += [
            Line(f"{name}: relative torque error", found.relative_percent, None, "%"),
            Line(f"{name}: over the semidefinite optimum", found.relative_percent / best, 1.02, "×", "at most"),
            Line(f"{name}: time", seconds, None, "s"),
        ]
    return lines


def spatial_arm() -> tuple[TorqueModel, RetrievalResult, RetrievalObjective]:
    """The spatial arm of the paper, retrieved inside its cylinder and its cylinder with a cone."""
    model = TorqueModel(load_robot("spatial2r"))
    base = base_parameters(model)
    moments = {f"I{i}{a}{a}": (0.0, 1.0) for i in (1, 2) for a in "xyz"}
    limits = {"m1": (0.0, 10.0), "m2": (0.0, 5.0), "c1y": (-1.42, 0.08), "c2x": (-0.8, 0.0)} | moments
    link1 = Frustum.cylinder([0.0, -1.5, 0.0], [0.0, 0.0, 0.0], 0.15)
    cylinder = Frustum.cylinder([-0.8, 0.0, 0.0], [-0.2, 0.0, 0.0], 0.08)
    link2 = RegionUnion((cylinder, Frustum(np.array([-0.2, 0.0, 0.0]), np.zeros(3), 0.08, 0.02)))
    constraints = Constraints(
        bounds=ParameterBounds.of(limits), total_mass=(1.0, 15.0), com_regions={"link1": link1, "link2": link2}
    )
    objective = RetrievalObjective.coefficients(base, base.project(model.nominal()))
    return model, Retrieval(constraints=constraints, runs=4).solve(model, base, objective), objective


def joint_forces() -> list[Line]:
    """Same torques, other forces: how far those of a consistent and of an inconsistent parameter set are off."""
    model, found, objective = spatial_arm()
    base = base_parameters(model)
    motion = random_motion(model.robot, 500, np.random.default_rng(0))
    truth, tau = model.joint_wrenches(motion, model.nominal())[..., :3], model.torque(motion, model.nominal())
    heavy = base.lift(objective.y)
    heavy[model.index("m1")], heavy[model.index("m2")] = -200.0, 300.0
    impossible = heavy + base.lift(objective.y - base.project(heavy))

    def off(theta: np.ndarray) -> float:
        return float(np.linalg.norm(model.joint_wrenches(motion, theta)[..., :3] - truth) / np.linalg.norm(truth))

    torque = max(float(np.max(np.abs(model.torque(motion, theta) - tau))) for theta in (found.theta, impossible))
    return [
        Line(
            "spatial arm, largest error of a base parameter",
            float(np.max(np.abs(found.beta - objective.y))),
            1e-6,
            "SI",
            "at most",
        ),
        Line("spatial arm, largest torque error of both sets", torque, 1e-4, "N·m", "at most"),
        Line("spatial arm, joint forces of the retrieved set off by", 100.0 * off(found.theta), 100.0, "%", "at most"),
        Line(
            "spatial arm, joint forces of the bare base parameters off by",
            100.0 * off(base.lift(objective.y)),
            None,
            "%",
        ),
        Line("spatial arm, joint forces of an inconsistent set off by", 100.0 * off(impossible), 1000.0, "%"),
    ]
