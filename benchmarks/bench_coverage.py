"""Statistical honesty: how often nominal 95 % intervals hold the truth, by robot and colour of the noise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks import Item, Line
from dynid.regression import WLS, Feasible, SampleRows, bootstrap, compress
from tests.regression.coverage import COLOURS, Study, drawn

ROBOTS = ("panda", "wam7")
N_DRAWS = 60
N_BOOTSTRAPS = 20
FLOOR = 92.0
"""Share in % that intervals should hold at least, from 20 s of log."""


def by_colour(robot: str, n_draws: int) -> list[Line]:
    """Base parameters, exact and measured torque of an unseen motion, and the papers' intervals beside."""
    study, lines = Study.of(robot), []
    for colour in COLOURS:
        for moved in (False, True):
            found = study.coverage(WLS(), colour, moved=moved, n_draws=n_draws)
            what = f"{robot}, {colour}{', motion noise' if moved else ''}"
            lines += [
                Line(f"{what}: base parameters held", 100.0 * found.parameters, FLOOR, "%"),
                Line(f"{what}: exact torque held", 100.0 * found.torque, FLOOR, "%"),
                Line(f"{what}: measured torque held", 100.0 * found.prediction, FLOOR, "%"),
                Line(f"{what}: base parameter held least often", 100.0 * found.worst_parameter, None, "%"),
                Line(f"{what}: base parameters, as papers count", 100.0 * found.as_in_papers, None, "%"),
            ]
    return lines


def others(robot: str, n_draws: int) -> list[Line]:
    """The feasible fit, and intervals by resampling."""
    study = Study.of(robot)
    feasible = study.coverage(Feasible(), "white", moved=True, n_draws=n_draws)
    inside = []
    for draw in range(n_draws):
        samples = drawn(study.fitted, study.noise, "AR(1)", True, np.random.default_rng((1, draw)))
        regression = compress(SampleRows(study.fitted.model, study.fitted.base, (samples,)))
        found = bootstrap(regression, WLS().fit, n_draws=100, seed=draw)
        inside.append(np.mean((found.lower <= study.fitted.beta) & (study.fitted.beta <= found.upper)))
    return [
        Line(f"{robot}, white, feasible fit: base parameters held", 100.0 * feasible.parameters, None, "%"),
        Line(f"{robot}, AR(1), bootstrap: base parameters held", 100.0 * float(np.mean(inside)), None, "%"),
    ]


def run(*, quick: bool = False) -> Iterator[Item]:
    """All robots and colours."""
    for robot in ROBOTS[:1] if quick else ROBOTS:
        yield from by_colour(robot, 2 if quick else N_DRAWS)
        yield from others(robot, 1 if quick else N_BOOTSTRAPS)
