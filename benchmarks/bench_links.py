"""Links of arms whose nominal model is 10 % wrong: errors of mass and centre of mass, and what their σ hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks import Item, Line, Note
from dynid import InertialParameters, Motion, TorqueModel, base_parameters, load_robot
from dynid.arrays import Array
from dynid.chain.robot import Robot
from dynid.dynamics import RotorInertia, friction_models
from dynid.recording import Conditioning, Recording
from dynid.regression import Feasible, Prior, SampleRows, compress
from dynid.regression.feasible.link_spread import LinkSpreads, link_spreads
from dynid.validation import compare_torque

N_DRAWS = 20
WRONG = 0.1
"""How far nominal masses, centres of mass (over the radius of gyration) and inertias are off, one σ."""
RATE_HZ = 200.0
NORMAL_95 = 1.96


@dataclass(frozen=True, eq=False)
class Draw:
    """One simulated identification beside the truth."""

    mass_error: Array
    """Of each link, relative."""
    com_error: Array
    """Of each link, m."""
    mass_held: Array
    com_held: Array
    """Whether 1.96 σ hold the truth."""
    total_held: bool
    error_percent: float
    """Of the torque of another motion."""
    nearest: float
    """Smallest eigenvalue of any link over that of the nominal one."""


def wrong_nominal(robot: Robot, rng: np.random.Generator) -> Robot:
    """The robot as its maker's file might have it."""
    links = {}
    for name, pi in zip(robot.link_names, robot.nominal, strict=True):
        body = InertialParameters(pi)
        mass = body.mass * np.exp(WRONG * rng.normal())
        gyration = np.sqrt(np.trace(body.inertia_com) / (2.0 * body.mass))
        com = body.com + WRONG * gyration * rng.normal(size=3)
        inertia = body.inertia_com * mass / body.mass * np.exp(WRONG * rng.normal())
        links[name] = InertialParameters.from_com(mass, com, inertia)
    return robot.with_nominal(links)


def motion_of(robot: Robot, seconds: float, rng: np.random.Generator) -> Motion:
    """Sums of sinusoids of up to 1.5 rad/s about the middle of the range."""
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    omega = 2.0 * np.pi * 0.08 * np.arange(1, 6)
    phase = rng.uniform(0.0, 2.0 * np.pi, (robot.n_dof, 5))
    angle = t[:, None, None] * omega + phase
    size = rng.uniform(0.5, 1.0, (robot.n_dof, 5)) / omega
    size *= 1.5 / np.max(np.abs(np.sum(size * omega * np.cos(angle), axis=2)), axis=0)[:, None]
    q = np.sum(size * np.sin(angle), axis=2)
    return Motion(t, q, np.sum(size * omega * np.cos(angle), axis=2), -np.sum(size * omega**2 * np.sin(angle), axis=2))


def coloured(shape: tuple[int, int], memory_s: float, rng: np.random.Generator) -> Array:
    """Noise of unit variance: white, or remembering for a while."""
    white = rng.normal(size=shape)
    if memory_s <= 0.0:
        return white
    keep = np.exp(-1.0 / (memory_s * RATE_HZ))
    out = np.empty(shape)
    out[0] = white[0]
    for k in range(1, shape[0]):
        out[k] = keep * out[k - 1] + np.sqrt(1.0 - keep**2) * white[k]
    return out


def log_of(
    model: TorqueModel, theta: Array, seconds: float, rng: np.random.Generator, memory_s: float, missed: float
) -> Recording:
    """A log with 2 % of torque noise, and `missed` of friction that no model knows (a slow wave over velocity)."""
    motion = motion_of(model.robot, seconds, rng)
    tau = model.torque(motion, theta)
    size = np.sqrt(np.mean(tau**2, axis=0))
    tau = tau + missed * size * np.sin(4.0 * motion.dq) + 0.02 * size * coloured(tau.shape, memory_s, rng)
    return Recording(model.robot.joint_names, motion.t, motion.q, dq=motion.dq, tau=tau)


def draw(robot: Robot, seed: int, *, prior: Prior, seconds: float, memory_s: float, missed: float) -> Draw:
    """One log of the true arm, fitted with the wrong nominal one."""
    rng = np.random.default_rng(seed)
    terms = (RotorInertia(), *friction_models("viscous+coulomb+offset"))
    true = TorqueModel(robot, terms)
    theta = true.nominal()
    n_terms = len(true.terms)
    own = rng.uniform(0.5, 1.5, (robot.n_dof, n_terms)) * np.array([0.3, 2.0, 4.0, 0.3][:n_terms])
    theta[true.n_inertial :] = own.ravel()
    model = TorqueModel(wrong_nominal(robot, rng), terms)
    base = base_parameters(model)
    logs = [log_of(true, theta, seconds, rng, memory_s, missed) for _ in range(2)]
    fitted, unseen = (Conditioning().plan(log).apply(log) for log in logs)
    regression = compress(SampleRows(model, base, (fitted,)))
    estimator = Feasible(prior=prior)
    estimate = estimator.fit(regression)
    assert estimate.theta is not None
    spreads = link_spreads(estimate, regression, estimator.constraints.compile(model))
    links = [InertialParameters(pi) for pi in estimate.theta[: model.n_inertial].reshape(-1, 10)]
    truth = [InertialParameters(pi) for pi in robot.nominal]
    mass = np.array([link.mass - right.mass for link, right in zip(links, truth, strict=True)])
    com = np.array([link.com - right.com for link, right in zip(links, truth, strict=True)])
    nearest = [
        np.linalg.eigvalsh(link.pseudo_inertia)[0] / np.linalg.eigvalsh(right.pseudo_inertia)[0]
        for link, right in zip(links, truth, strict=True)
    ]
    mass_held, com_held, total_held = _held(spreads, mass, com)
    return Draw(
        np.abs(mass) / robot.nominal[:, 0],
        np.linalg.norm(com, axis=1),
        mass_held,
        com_held,
        total_held,
        compare_torque(model, estimate.theta, unseen).error.relative_percent,
        float(min(nearest)),
    )


def _held(spreads: LinkSpreads | None, mass: Array, com: Array) -> tuple[Array, Array, bool]:
    if spreads is None:
        return np.zeros(0), np.zeros(0), False
    std = np.array([link.mass_std for link in spreads.links])
    com_std = np.array([link.com_std for link in spreads.links])
    total = abs(float(np.sum(mass))) <= NORMAL_95 * spreads.total_mass_std
    return np.abs(mass) <= NORMAL_95 * std, np.abs(com) <= NORMAL_95 * com_std, total


SCENES = {"white noise": (0.0, 0.0), "memory of 0.5 s, 3 % of friction not modelled": (0.5, 0.03)}


def study(name: str, robot: Robot, n_draws: int, seconds: float, *, asked: bool = True) -> Iterator[Line]:
    """Errors and coverage, with the prior and by the older choice among equal fits; targets where `asked` for."""
    for scene, (memory_s, missed) in SCENES.items():
        results = {
            rule: [
                draw(robot, seed, prior=prior, seconds=seconds, memory_s=memory_s, missed=missed)
                for seed in range(n_draws)
            ]
            for rule, prior in (("map", Prior("map")), ("nominal", Prior("nominal")))
        }
        found, before = results["map"], results["nominal"]
        what = f"{name}, {scene}"

        def mean(draws: list[Draw], field: str) -> float:
            return float(np.mean([getattr(d, field) for d in draws]))

        yield Line(
            f"{what}: mean mass error", 100.0 * mean(found, "mass_error"), 9.0 if asked else None, "%", "at most"
        )
        yield Line(f"{what}: mean mass error among equal fits", 100.0 * mean(before, "mass_error"), None, "%")
        yield Line(
            f"{what}: median error of the centre of mass",
            1e3 * float(np.median([d.com_error for d in found])),
            12.0 if asked else None,
            "mm",
            "at most",
        )
        yield Line(
            f"{what}: the same among equal fits", 1e3 * float(np.median([d.com_error for d in before])), None, "mm"
        )
        yield Line(f"{what}: mass within 1.96 σ", 100.0 * mean(found, "mass_held"), 90.0, "%")
        yield Line(f"{what}: centre of mass within 1.96 σ", 100.0 * mean(found, "com_held"), 90.0, "%")
        yield Line(f"{what}: total mass within 1.96 σ", 100.0 * mean(found, "total_held"), 90.0, "%")
        worse = mean(found, "error_percent") / mean(before, "error_percent")
        yield Line(
            f"{what}: unseen torque error over that of the choice among equal fits", worse, 1.005, "×", "at most"
        )
        yield Line(
            f"{what}: smallest eigenvalue over that of the true link, median", _median(found, "nearest"), None, "×"
        )


def _median(draws: list[Draw], field: str) -> float:
    return float(np.median([getattr(d, field) for d in draws]))


def timing(robot: Robot, seconds: float) -> Iterator[Line]:
    """CPU time of a feasible fit with the prior, rows compressed, and of the σ of its links."""
    rng = np.random.default_rng(0)
    model = TorqueModel(robot, (RotorInertia(), *friction_models("viscous+coulomb+offset")))
    theta = model.nominal()
    theta[model.n_inertial :] = 0.5
    log = log_of(model, theta, seconds, rng, 0.0, 0.0)
    regression = compress(SampleRows(model, base_parameters(model), (Conditioning().plan(log).apply(log),)))
    estimator = Feasible(prior=Prior("map"))
    compiled = estimator.constraints.compile(model)
    for _ in range(2):
        estimate = estimator.fit(regression)
    times = []
    for _ in range(10):
        started = process_time()
        estimate = estimator.fit(regression)
        times.append(process_time() - started)
    started = process_time()
    for _ in range(5):
        link_spreads(estimate, regression, compiled)
    yield Line("feasible fit with the prior, CPU time", 1e3 * min(times), 40.0, "ms", "at most")
    yield Line("σ of all links, CPU time", 1e3 * (process_time() - started) / 5, None, "ms")


def run(*, quick: bool = False) -> Iterator[Item]:
    """The UR10e where its file is, and the Panda."""
    n_draws, seconds = (2, 8.0) if quick else (N_DRAWS, 30.0)
    data = os.environ.get("DYNID_DATA")
    if data and not quick:
        yield from study("UR10e", load_robot(Path(data) / "ur10e" / "ur10e.urdf"), n_draws, seconds)
    else:
        yield Note("UR10e skipped: DYNID_DATA does not name the folder of its file")
    yield from study("Panda", load_robot("panda"), n_draws, seconds, asked=False)
    yield from timing(load_robot("panda"), seconds)
