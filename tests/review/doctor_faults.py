"""Clean logs of many robots, and every fault that the doctor tells from signals, at random strength."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from dynid import TorqueModel, load_robot
from dynid.arrays import Array
from dynid.chain import Joint, Limits, Link, Robot
from dynid.dynamics import friction_models
from dynid.recording import RawLog, Recording
from dynid.simulation.motions import MotionKind, smooth_motion
from dynid.simulation.sensors import Level, SensorModel
from dynid.simulation.synthetic import plausible_parameters, synthesise
from tests.robots import random_link, random_placement

Rng = np.random.Generator


def limited_arm(rng: Rng, n_dof: int, *, prismatic: float = 0.15) -> Robot:
    """A serial arm with limits; some joints slide."""
    joints = []
    for i in range(n_dof):
        slides = rng.random() < prismatic
        width = rng.uniform(0.3, 0.8) if slides else rng.uniform(1.5, 3.1)
        middle = rng.uniform(-0.2, 0.2) * width
        speed = rng.uniform(0.5, 1.5) if slides else rng.uniform(1.5, 4.0)
        limits = Limits(middle - width, middle + width, speed, 500.0, 5.0 * speed)
        joints.append(
            Joint(
                name=f"joint {i + 1}" if rng.random() < 0.2 else f"axis_{i + 1}",
                type="prismatic" if slides else "revolute",
                parent=i - 1,
                T_parent_joint=random_placement(rng),
                axis=rng.normal(size=3),
                link=Link(f"body{i}", random_link(rng)),
                limits=limits,
            )
        )
    return Robot(f"arm{n_dof}", tuple(joints))


@cache
def robots() -> tuple[Robot, ...]:
    """Built-in arms, the UR10e where its file is at hand, and random arms of two to seven joints."""
    rng = np.random.default_rng(7)
    data = os.environ.get("DYNID_DATA")
    file = Path(data) / "ur10e" / "ur10e.urdf" if data else None
    named = [load_robot("panda"), load_robot("wam7")]
    if file is not None and file.is_file():
        named.append(load_robot(str(file)))
    return (*named, *(limited_arm(rng, n) for n in (4, 5, 6, 7, 2)))


@cache
def arm(index: int, friction: str) -> tuple[TorqueModel, Array]:
    """A robot with plausible friction."""
    model = TorqueModel(robots()[index], friction_models(friction))
    return model, plausible_parameters(model)


@dataclass(frozen=True, eq=False)
class Case:
    """One clean log and its robot."""

    robot: Robot
    log: Recording


def clean_case(seed: int, *, index: int | None = None, velocity: str | None = None) -> Case:
    """A clean log: robot, motion, rate, length, noise and friction drawn at random."""
    rng = np.random.default_rng(seed)
    index = int(rng.integers(len(robots()))) if index is None else index
    model, theta = arm(index, str(rng.choice(["viscous+coulomb+offset", "viscous+coulomb", "viscous"])))
    kind: MotionKind = "fourier" if rng.random() < 0.6 else "sinusoids"
    rate = float(rng.choice([100.0, 125.0, 200.0, 250.0, 500.0, 1000.0]))
    duration = float(rng.uniform(8.0, 25.0 if rate > 400.0 else 40.0))
    sources = ["measured", "measured", "differentiated", "none"]
    source = str(rng.choice(sources)) if velocity is None else velocity
    sensors = SensorModel(
        q_noise=Level(absolute=float(rng.choice([0.0, 1e-6, 1e-5, 5e-5]))),
        dq_noise=Level(absolute=float(rng.choice([1e-4, 1e-3, 5e-3]))),
        tau_noise=Level(relative=float(rng.choice([0.002, 0.01, 0.03]))),
        encoder_counts=None if rng.random() < 0.5 else float(2 ** rng.integers(14, 21)),
        jitter=float(rng.choice([0.0, 0.02])) / rate,
        velocity="measured" if source == "measured" else "differentiated" if source == "differentiated" else "none",
    )
    motion = smooth_motion(model.robot, rng, kind=kind, duration=duration, rate_hz=rate)
    log = synthesise(model, motion, rng, theta=theta, sensors=sensors).recording
    return Case(model.robot, log)


@dataclass(frozen=True)
class Fault:
    """One way to spoil a log."""

    corrupt: Callable[[Case, Rng], RawLog]
    """Returns the spoilt log."""
    codes: tuple[str, ...]
    """Findings of which at least one must be there."""
    needs_velocity: bool = False
    cured: bool = True
    """Whether the mapping lines of the findings repair the log."""


def revolute(case: Case) -> Array:
    return np.array([joint.type == "revolute" for joint in case.robot.joints])


def raw_of(log: Recording, **changes: object) -> RawLog:
    fields = {name: np.array(getattr(log, name)) for name in ("t", *log.signals)}
    return RawLog(log.joint_names, **(fields | changes), source="spoilt.csv")  # type: ignore[arg-type]


def moving_joint(case: Case, rng: Rng) -> int:
    """A joint that moves as the others do."""
    return int(rng.choice(np.flatnonzero(np.ptp(case.log.q, axis=0) > 0.05)))


def degrees(case: Case, rng: Rng) -> RawLog:
    scale = np.where(revolute(case), 180.0 / np.pi, 1.0)
    dq = case.log.dq
    if dq is not None and rng.random() < 0.5:
        return raw_of(case.log, q=case.log.q * scale, dq=dq * scale)
    return raw_of(case.log, q=case.log.q * scale)


def velocity_degrees(case: Case, rng: Rng) -> RawLog:
    unit = 180.0 / np.pi if rng.random() < 0.5 else 30.0 / np.pi
    return raw_of(case.log, dq=case.log.dq * np.where(revolute(case), unit, 1000.0))


def motor_velocity(case: Case, rng: Rng) -> RawLog:
    gears = np.round(rng.uniform(20.0, 160.0, case.log.n_dof))
    gears = np.where(np.abs(gears - 57.3) < 4.0, 80.0, gears)
    return raw_of(case.log, dq=case.log.dq * gears)


def flipped_velocity(case: Case, rng: Rng) -> RawLog:
    signs = np.ones(case.log.n_dof)
    signs[rng.choice(case.log.n_dof, rng.integers(1, case.log.n_dof + 1), replace=False)] = -1.0
    return raw_of(case.log, dq=case.log.dq * signs)


def permuted_velocity(case: Case, rng: Rng) -> RawLog:
    order = np.arange(case.log.n_dof)
    while np.all(order == np.arange(case.log.n_dof)):
        order = rng.permutation(case.log.n_dof)
    return raw_of(case.log, dq=case.log.dq[:, order])


def time_unit(case: Case, rng: Rng) -> RawLog:
    return raw_of(case.log, t=case.log.t * float(rng.choice([1e3, 1e6, 1e9])))


def wrong_stamps(case: Case, rng: Rng) -> RawLog:
    period = case.log.jitter.median
    late = rng.uniform(0.15, 0.4) * period
    t = case.log.t + np.clip(rng.normal(0.0, late, case.log.n_samples), -0.49 * period, 0.49 * period)
    return raw_of(case.log, t=np.maximum.accumulate(t) + 1e-9 * np.arange(len(t)))


def gaps(case: Case, rng: Rng) -> RawLog:
    kept = np.full(case.log.n_samples, True)
    for _ in range(int(rng.integers(1, 6))):
        start = int(rng.integers(50, case.log.n_samples - 60))
        kept[start : start + int(rng.integers(4, 50))] = False
    return raw_of(case.log).rows(kept)


def lost_samples(case: Case, rng: Rng) -> RawLog:
    kept = rng.random(case.log.n_samples) >= rng.uniform(0.05, 0.2)
    return raw_of(case.log).rows(kept)


def doubled_rows(case: Case, rng: Rng) -> RawLog:
    n = case.log.n_samples
    twice = np.sort(np.concatenate([np.arange(n), rng.choice(n, int(rng.integers(1, 40)))]))
    return raw_of(case.log).rows(twice)


def shuffled_rows(case: Case, rng: Rng) -> RawLog:
    order = np.arange(case.log.n_samples)
    for k in rng.choice(case.log.n_samples - 12, int(rng.integers(1, 20))):
        order[k : k + 5] = order[k : k + 5][::-1]
    return raw_of(case.log).rows(order)


def missing_values(case: Case, rng: Rng) -> RawLog:
    name = str(rng.choice(case.log.signals))
    values = np.array(getattr(case.log, name))
    for _ in range(int(rng.integers(1, 30))):
        values[rng.integers(len(values)), rng.integers(values.shape[1])] = rng.choice([np.nan, np.inf])
    return raw_of(case.log, **{name: values})


def frozen(case: Case, rng: Rng) -> RawLog:
    name = str(rng.choice([name for name in ("q", "tau") if name in case.log.signals]))
    j, n = moving_joint(case, rng), case.log.n_samples
    length = int(np.clip(rng.uniform(0.2, 1.5) * case.log.rate_hz, 20, n // 4))
    speed = np.abs(np.gradient(case.log.q[:, j], case.log.t))
    busy = np.flatnonzero(speed > 0.5 * speed.max())
    start = int(np.clip(rng.choice(busy), 5, n - length - 5))
    values = np.array(getattr(case.log, name))
    columns = slice(j, j + 1) if rng.random() < 0.5 else slice(None)
    values[start : start + length, columns] = values[start, columns]
    return raw_of(case.log, **{name: values})


def held(case: Case, rng: Rng) -> RawLog:
    name = str(rng.choice(case.log.signals))
    times = int(rng.integers(2, 11))
    places = np.arange(case.log.n_samples) // times * times
    return raw_of(case.log, **{name: getattr(case.log, name)[places]})


def saturated(case: Case, rng: Rng) -> RawLog:
    tau = np.array(case.log.tau)
    j = int(rng.integers(case.log.n_dof))
    level = float(np.quantile(np.abs(tau[:, j]), rng.uniform(0.75, 0.97)))
    tau[:, j] = np.clip(tau[:, j], -level, level)
    return raw_of(case.log, tau=tau)


def clipped(case: Case, rng: Rng) -> RawLog:
    name = str(rng.choice([name for name in ("q", "dq") if name in case.log.signals]))
    values = np.array(getattr(case.log, name))
    j = moving_joint(case, rng)
    middle = float(np.median(values[:, j]))
    level = float(np.quantile(np.abs(values[:, j] - middle), rng.uniform(0.7, 0.9)))
    values[:, j] = np.clip(values[:, j], middle - level, middle + level)
    return raw_of(case.log, **{name: values})


def coarse(case: Case, rng: Rng) -> RawLog:
    name = str(rng.choice(case.log.signals))
    values = getattr(case.log, name)
    levels = {"q": (20.0, 400.0), "dq": (8.0, 60.0), "tau": (8.0, 60.0)}[name]
    # Torques of 3 % noise blur steps that are finer.
    step = np.ptp(values, axis=0) / rng.uniform(*levels)
    return raw_of(case.log, **{name: np.round(values / step) * step})


def resting(case: Case, rng: Rng) -> RawLog:
    log = case.log
    n_rest = int(rng.uniform(0.5, 2.0) * log.n_samples)
    lead = np.repeat(np.arange(1), n_rest)
    order = np.concatenate([lead, np.arange(log.n_samples)])
    sigma = {"q": 1e-6, "dq": 1e-4, "tau": 1e-3}
    changes: dict[str, object] = {"t": np.arange(len(order)) * log.jitter.median}
    for name in log.signals:
        values = np.array(getattr(log, name))[order]
        if name == "dq":
            values[:n_rest] = 0.0
        values[:n_rest] += rng.normal(size=values[:n_rest].shape) * sigma[name]
        changes[name] = values
    return raw_of(log, **changes)


def one_way(case: Case, rng: Rng) -> RawLog:
    log, j = case.log, moving_joint(case, rng)
    q = np.array(log.q)
    steps = np.abs(np.diff(q[:, j]))
    span = np.ptp(q[:, j])
    climb = np.concatenate([[0.0], np.cumsum(steps)])
    share = span / climb[-1]
    q[:, j] = q[:, j].min() + climb * share
    changes: dict[str, object] = {"q": q}
    if log.dq is not None:
        dq = np.array(log.dq)
        dq[:, j] = np.abs(dq[:, j]) * share
        changes["dq"] = dq
    return raw_of(log, **changes)


def locked(case: Case, rng: Rng) -> RawLog:
    log, j = case.log, moving_joint(case, rng)
    q = np.array(log.q)
    q[:, j] = q[0, j] + 1e-6 * rng.normal(size=len(q))
    changes: dict[str, object] = {"q": q}
    if log.dq is not None:
        dq = np.array(log.dq)
        dq[:, j] = 1e-4 * rng.normal(size=len(q))
        changes["dq"] = dq
    return raw_of(log, **changes)


def cut_short(case: Case, rng: Rng) -> RawLog:
    kept = np.arange(case.log.n_samples) < max(20, int(rng.uniform(0.2, 0.9) * case.log.rate_hz))
    return raw_of(case.log).rows(kept)


def slowed(case: Case, rng: Rng) -> RawLog:
    times = float(rng.uniform(15.0, 40.0))
    t = case.log.t * times
    # Slower at the same rate: most of the samples are interpolated.
    fine = np.arange(t[0], t[-1], case.log.jitter.median)[: 4 * case.log.n_samples]
    values = {"t": fine}
    for name in case.log.signals:
        table = getattr(case.log, name) / (times if name == "dq" else 1.0)
        values[name] = np.column_stack([np.interp(fine, t, column) for column in table.T])
    return raw_of(case.log, **values)


def shifted_zero(case: Case, rng: Rng) -> RawLog:
    j = moving_joint(case, rng)
    limits = case.robot.joints[j].limits
    q = np.array(case.log.q)
    q[:, j] += limits.upper - q[:, j].max() + rng.uniform(0.05, 0.3) * (limits.upper - limits.lower)
    return raw_of(case.log, q=q)


def spikes(case: Case, rng: Rng) -> RawLog:
    j = moving_joint(case, rng)
    q = np.array(case.log.q)
    for k in rng.choice(np.arange(20, len(q) - 20), int(rng.integers(1, 5)), replace=False):
        q[k, j] += rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 1.0) * np.ptp(q[:, j])
    return raw_of(case.log, q=q)


FAULTS: dict[str, Fault] = {
    "degrees": Fault(degrees, ("degrees",)),
    "velocity in deg/s or rpm": Fault(velocity_degrees, ("velocity-unit",), needs_velocity=True),
    "velocity before the gear": Fault(motor_velocity, ("motor-velocity",), needs_velocity=True),
    "flipped velocity": Fault(flipped_velocity, ("flipped-velocity",), needs_velocity=True),
    "permuted velocity": Fault(permuted_velocity, ("permuted-velocity",), needs_velocity=True),
    "stamps in ms, µs or ns": Fault(time_unit, ("time-unit",)),
    "wrong stamps": Fault(wrong_stamps, ("jitter",)),
    "gaps": Fault(gaps, ("gaps",), cured=False),
    "lost samples": Fault(lost_samples, ("gaps", "jitter"), cured=False),
    "doubled rows": Fault(doubled_rows, ("repeated-stamps",)),
    "shuffled rows": Fault(shuffled_rows, ("backward-stamps",)),
    "missing values": Fault(missing_values, ("not-finite",)),
    "frozen sensor": Fault(frozen, ("frozen",), cured=False),
    "held signal": Fault(held, ("held", "repeated-rows"), cured=False),
    "saturated torque": Fault(saturated, ("saturation",), cured=False),
    "clipped motion": Fault(clipped, ("clipping",), cured=False),
    "coarse steps": Fault(coarse, ("quantisation",), cured=False),
    "standstill": Fault(resting, ("standstill",), cured=False),
    "one way": Fault(one_way, ("one-way",), cured=False),
    "joint that rests": Fault(locked, ("still-joint",), cured=False),
    "too short": Fault(cut_short, ("short", "no-motion"), cured=False),
    "too slow": Fault(slowed, ("slow",), cured=False),
    "outside limits": Fault(shifted_zero, ("outside-limits",), cured=False),
    "spikes": Fault(spikes, ("jump",), cured=False),
}
"""Every fault that signals alone show."""


def spoilt(name: str, seed: int, *, index: int | None = None) -> tuple[Case, RawLog]:
    """A clean log and the same with a fault of random strength."""
    fault = FAULTS[name]
    velocity = "measured" if fault.needs_velocity else None
    case = clean_case(seed, index=index, velocity=velocity)
    return case, fault.corrupt(case, np.random.default_rng(seed + 10_000))


def other_cut(case: Case, rng: Rng) -> Recording:
    """The same log, cut, shifted in time and with fewer digits."""
    start, stop = sorted(rng.choice(case.log.n_samples, 2, replace=False))
    stop = max(stop, min(start + case.log.n_samples // 5, case.log.n_samples - 1))
    log = case.log.part(float(case.log.t[start]), float(case.log.t[stop]))
    shift = float(rng.uniform(-100.0, 1e5))
    values = {name: np.round(getattr(log, name), 5) for name in log.signals}
    return replace(log, t=log.t + shift, **values)


def seeds(n: int, start: int = 0) -> Iterator[int]:
    yield from range(start, start + n)
