"""What identification costs against joints, samples, logs and parameters, with fitted exponents: cost ∝ sizeᵖ."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import process_time

import numpy as np

import dynid
from benchmarks import Item, Note, Table
from benchmarks.bench_regression import random_segment
from dynid import TorqueModel, base_parameters, load_robot
from dynid.dynamics import friction_models
from dynid.regression import Feasible, SampleRows, compress

FRICTION = "viscous+coulomb+offset"
JOINTS = (2, 3, 4, 6, 8, 12)
SAMPLES = (2_000, 8_000, 32_000, 128_000, 512_000)
LOGS = (1, 2, 4, 8)
TERMS = ("none", "viscous", "viscous+coulomb", FRICTION, "viscous+stribeck+offset+load")
"""Friction of the Panda from none to six parameters a joint."""
N_SAMPLES = 20_000
"""Samples where something else is varied."""


def arm(n_joints: int, folder: Path) -> dynid.Robot:
    """A serial arm whose axes alternate, links of 0.3 m that become lighter towards the tip."""
    parts = []
    for k in range(n_joints):
        mass, axis = 4.0 * 0.8**k + 0.5, "0 0 1" if k % 2 == 0 else "0 1 0"
        inertia = " ".join(
            f'{name}="{value * mass}"' for name, value in (("ixx", 0.01), ("iyy", 0.012), ("izz", 0.004))
        )
        parts.append(
            f'<link name="l{k + 1}"><inertial><origin xyz="0.01 0.02 0.12"/><mass value="{mass}"/>'
            f'<inertia {inertia} ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j{k + 1}" type="revolute">'
            f'<parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="0 0.02 0.3"/><axis xyz="{axis}"/>'
            '<limit lower="-2.5" upper="2.5" velocity="2" effort="200"/></joint>'
        )
    path = folder / f"arm{n_joints}.urdf"
    path.write_text(f'<robot name="arm{n_joints}"><link name="l0"/>{"".join(parts)}</robot>', encoding="utf-8")
    return load_robot(path)


def cost(work: Callable[[], object], repetitions: int) -> float:
    """Least CPU time of several runs, s; the first, which may compile, does not count."""
    work()
    times = []
    for _ in range(repetitions):
        started = process_time()
        work()
        times.append(process_time() - started)
    return min(times)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> tuple[float, float]:
    """Slope of log cost over log size by least squares, and its standard error."""
    x, y = np.log(sizes), np.log(costs)
    (slope, level), n = np.polyfit(x, y, 1), len(x)
    rest = y - slope * x - level
    return float(slope), float(np.sqrt(np.sum(rest**2) / max(n - 2, 1) / np.sum((x - x.mean()) ** 2)))


def row(what: str, sizes: Sequence[float], costs: Sequence[float]) -> tuple[str, ...]:
    """A line of the table: costs relative to the first."""
    slope, error = exponent(sizes, costs)
    told = ", ".join(f"{value / costs[0]:.3g}" for value in costs)
    return what, ", ".join(f"{size:g}" for size in sizes), told, f"{slope:.2f} ± {error:.2f}"


def fits(model: TorqueModel, n_samples: int, repetitions: int) -> dict[str, float]:
    """CPU time of the stages on one model, s."""
    samples, _ = random_segment(model, n_samples)
    base = base_parameters(model)
    rows = SampleRows(model, base, (samples,))
    motion = samples.segments[0].motion
    regression = compress(rows)
    return {
        "regressor": cost(lambda: model.regressor(motion), repetitions),
        "compression": cost(lambda: compress(rows), repetitions),
        "feasible fit": cost(lambda: Feasible(weighted=False).fit(regression), repetitions),
    }


def run(*, quick: bool = False) -> Iterator[Item]:
    """One table: every stage against every size."""
    repetitions = 1 if quick else 5
    n_samples = 500 if quick else N_SAMPLES
    panda = TorqueModel(load_robot("panda"), friction_models(FRICTION))
    found: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as name:
        joints = JOINTS[:2] if quick else JOINTS
        arms = [TorqueModel(arm(n, Path(name)), friction_models(FRICTION)) for n in joints]
        by_joints = [fits(model, n_samples, repetitions) for model in arms]
        found += _rows("joints", joints, by_joints)
        found.append(_base_row(arms, joints))
        sizes = (500, 1000) if quick else SAMPLES
        by_samples = [fits(panda, size, repetitions) for size in sizes]
        found += _rows("samples", sizes, by_samples)
        terms = TERMS[:2] if quick else TERMS
        models = [TorqueModel(panda.robot, friction_models(one)) for one in terms]
        numbers = [model.n_params for model in models]
        by_terms = [fits(model, n_samples, repetitions) for model in models]
        found += _rows("parameters", numbers, by_terms)
        logs = LOGS[:2] if quick else LOGS
        runs = [dynid.simulate("planar2r", seed=k, duration=6.0, rate=100.0).recording for k in range(max(logs))]

        def whole(n_logs: int) -> Callable[[], object]:
            return lambda: dynid.identify("planar2r", runs[:n_logs], friction=FRICTION, force=True)

        found.append(row("dynid.identify, logs", logs, [cost(whole(n), 1 if quick else 3) for n in logs]))
    yield Table(
        "CPU time relative to the smallest size, and p of cost ∝ sizeᵖ",
        ("stage, against", "sizes", "relative cost", "exponent"),
        tuple(found),
    )
    yield Note(
        f"Joints: arms in series with {n_samples} samples; samples and parameters: Panda; logs: whole identifications "
        "of a two-joint arm, 6 s each. The compression keeps one triangular factor a joint, so joints cost less than "
        "the cube that a stacked matrix costs (rows × columns²); the fit does not see the samples any more. What "
        "every call costs flattens the small sizes; regressors of many samples no longer fit the cache."
    )


def _rows(against: str, sizes: Sequence[float], measured: Sequence[dict[str, float]]) -> Iterator[tuple[str, ...]]:
    """A line for every stage."""
    for stage in measured[0]:
        yield row(f"{stage}, {against}", sizes, [costs[stage] for costs in measured])


def _base_row(arms: Sequence[TorqueModel], joints: Sequence[int]) -> tuple[str, ...]:
    """Base parameters are found once for each model, so each repetition takes a fresh one."""
    costs = []
    for model in arms:
        started = process_time()
        base_parameters(TorqueModel(model.robot, friction_models(FRICTION)))
        costs.append(process_time() - started)
    return row("base parameters, joints", joints, costs)
