"""Soak: the filter for ten million steps of bad data, and `identify` on a log of ten million samples."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Item, Line
from dynid import InertialParameters, Motion, TorqueModel, load_robot
from dynid.arrays import Array
from dynid.chain import consistency
from dynid.dynamics import friction_models, random_motion
from dynid.simulation.synthetic import plausible_parameters
from dynid.tracking import Consistent, ConstrainedFilter, ProcessNoise, StateMap, Tracker, load_filter
from tests.regression.logs import exciting_motion

N_STEPS = int(os.environ.get("DYNID_SOAK_STEPS", "10_000_000"))
N_SAMPLES = int(os.environ.get("DYNID_SOAK_SAMPLES", "10_000_000"))
BLOCK = 10_000
"""Samples that are handed over at a time."""
NOISE = 0.1
"""Standard deviation of the torque, N·m."""
LOAD = InertialParameters.from_com(0.5, np.array([0.05, 0.02, 0.0]), 2e-3 * np.eye(3))
PERIOD = 1e-3
"""Between samples, s."""


@dataclass(frozen=True)
class Soak:
    """What was left of a filter after many steps of bad data."""

    growth_mb: float
    """Of the largest resident memory, MB."""
    finite: bool
    """Whether every state and covariance is, at the end of every block."""
    feasible: bool
    """Whether the load was possible (or inside its bounds) at the end of every block."""
    mass_error: float
    """Relative error of the load's mass after clean samples at the end."""
    missing: int
    """Torques that were not finite; each costs its row."""
    skipped: int
    """Samples that were not used."""
    rate: float
    """Steps per second (1/s)."""


def arm() -> tuple[TorqueModel, Array]:
    """A planar arm with friction and its parameters without load."""
    model = TorqueModel(load_robot("planar2r"), friction_models("viscous+coulomb+offset"))
    theta = model.nominal()
    theta[model.n_inertial :] = 0.2
    return model, theta


def bounded() -> ConstrainedFilter:
    """The load by ten numbers between bounds."""
    model, theta = arm()
    return load_filter(model, theta, noise=np.full(2, NOISE), max_mass=2.0)


def consistent() -> ConstrainedFilter:
    """The load by log-Cholesky numbers: consistent whatever the state."""
    model, theta = arm()
    state = StateMap.of(model, theta, [Consistent("load")], load=LOAD)
    return ConstrainedFilter(
        model=model, state=state, noise=np.full(2, NOISE), process_noise=ProcessNoise.constant(3e-4)
    )


def spoiled(tau: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Torque with spikes of up to 1e9 times the noise and with nan, and which samples arrive at all."""
    z = tau + NOISE * rng.normal(size=tau.shape)
    spikes = rng.random(z.shape) < 1e-4
    n_spikes = int(spikes.sum())
    z[spikes] += NOISE * 10.0 ** rng.uniform(1.0, 9.0, n_spikes) * rng.choice([-1.0, 1.0], n_spikes)
    z[rng.random(z.shape) < 1e-3] = np.nan
    z[rng.random(z.shape) < 1e-5] = np.inf
    arrives = rng.random(len(z)) > 0.01
    gone = rng.integers(0, len(z))
    arrives[gone : gone + int(rng.integers(0, 1000))] = False
    return z, arrives


def soaked(options: ConstrainedFilter, n_steps: int) -> Soak:
    """Run a filter over `n_steps` of spoiled data and then over clean samples."""
    model, theta = arm()
    rng = np.random.default_rng(7)
    motion = random_motion(model.robot, BLOCK, rng)
    loaded = theta.copy()
    loaded[10:20] += LOAD.pi
    tau = model.torque(motion, loaded)
    tracker = options.start()
    is_finite = is_feasible = True
    before, started, now, missing = 0.0, time.perf_counter(), 0.0, 0
    for k in range(-1, n_steps // BLOCK):
        z, arrives = spoiled(tau, rng) if k >= 0 else (tau, np.ones(BLOCK, dtype=bool))
        missing += int(np.count_nonzero(~np.isfinite(z[arrives])))
        t = now + PERIOD * np.arange(BLOCK)
        now = float(t[-1]) + PERIOD + (10.0 if k % 50 == 0 else 0.0)
        tracker.run(
            Motion(t[arrives], motion.q[arrives], motion.dq[arrives], motion.ddq[arrives]), z[arrives], every=BLOCK // 2
        )
        is_finite &= finite(tracker)
        is_feasible &= feasible(tracker)
        if k == 0:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    seconds = time.perf_counter() - started
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0 - before
    for _ in range(2):
        t = now + PERIOD * np.arange(BLOCK)
        now = float(t[-1]) + PERIOD
        clean = tau + NOISE * rng.normal(size=tau.shape)
        tracker.run(Motion(t, motion.q, motion.dq, motion.ddq), clean, every=BLOCK)
    error = abs(float(tracker.load[0]) / LOAD.mass - 1.0)
    return Soak(growth, is_finite, is_feasible, error, missing, tracker.n_skipped, n_steps / seconds)


def finite(tracker: Tracker) -> bool:
    """Whether states and covariance are finite, and the covariance positive."""
    state = tracker.state
    return bool(np.all(np.isfinite(state.x)) and np.all(np.isfinite(state.U)) and np.min(state.D) > 0.0)


def feasible(tracker: Tracker) -> bool:
    """Whether bounded states are inside their bounds, and a consistent load is physically consistent."""
    names = tracker.options.state
    if any(bound.free for bound in names.bounds):
        return consistency(InertialParameters(tracker.load)).holds
    values = tracker.parameters.values
    return all(b.lower < value < b.upper for b, value in zip(names.bounds, values, strict=True))


def write_long_log(path: Path, robot: str, n_samples: int) -> None:
    """A log of this robot at 1 kHz as Parquet, written piece by piece: one motion again and again, fresh noise."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    model = TorqueModel(load_robot(robot), friction_models("viscous+coulomb+offset"))
    rng = np.random.default_rng(11)
    # Harmonics of 0.1 Hz: after 50 s the motion begins anew without a jump.
    motion = exciting_motion(model.robot, rng, duration=50.0, rate_hz=1.0 / PERIOD)
    tau = model.torque(motion, plausible_parameters(model))
    size = 0.02 * np.sqrt(np.mean(tau**2, axis=0))
    names = [f"{word}{j + 1}" for word in ("q", "dq", "tau") for j in range(model.n_dof)]
    writer: pq.ParquetWriter | None = None
    done = 0
    while done < n_samples:
        count = min(motion.n_samples, n_samples - done)
        noisy = tau + size * rng.normal(size=tau.shape)
        values = np.hstack([motion.q, motion.dq, noisy])[:count]
        content = {"t": PERIOD * (done + np.arange(count))} | {n: values[:, k] for k, n in enumerate(names)}
        table = pa.table(content)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
        done += count
    if writer is not None:
        writer.close()


SCRIPT = """
import json, resource, sys
import dynid.workflow.logs as logs
from dynid.cli import main

logs.STREAMED_BYTES = min(logs.STREAMED_BYTES, int(sys.argv[1]))
code = main(sys.argv[2:])
print(json.dumps({"code": code, "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), file=sys.stderr)
"""


def identified_in(log: Path, robot: str, *, streamed_bytes: int = 2**40) -> tuple[float, dict[str, Any]]:
    """Largest resident memory (MB) of `dynid identify` on a log, in a process of its own, and what it found."""
    arguments = ["identify", robot, str(log), "--out", str(log.parent / "result"), "--estimator", "wls", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(streamed_bytes), *arguments], capture_output=True, text=True, check=False
    )
    told = json.loads(done.stderr.strip().splitlines()[-1])
    if told["code"] != 0:
        raise RuntimeError(done.stderr)
    return float(told["rss_mb"]), json.loads(done.stdout)


def run(*, quick: bool = False) -> Iterator[Item]:
    """Both soaks."""
    most, n_samples = (20_000, 60_000) if quick else (N_STEPS, N_SAMPLES)
    for name, options, n_steps in (("bounds", bounded(), most), ("log-Cholesky", consistent(), most // 10)):
        found = soaked(options, n_steps)
        what = f"{n_steps:.0e} bad steps, {name}"
        yield from (
            Line(f"{what}: memory grows by", found.growth_mb, 5.0, "MB", bound="at most"),
            Line(f"{what}: finite and consistent all along", float(found.finite and found.feasible), 1.0, ""),
            Line(f"{what}: mass after clean samples is off by", 100.0 * found.mass_error, 5.0, "%", bound="at most"),
            Line(f"{what}: torques missing, each costs its row", float(found.missing), None, ""),
            Line(f"{what}: samples left out", float(found.skipped), None, ""),
            Line(f"{what}: steps a second", found.rate, None, "/s"),
        )
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "long.parquet"
        write_long_log(log, "panda", n_samples)
        started = time.perf_counter()
        rss, content = identified_in(log, "panda")
        seconds = time.perf_counter() - started
    yield from (
        Line(f"identify on {n_samples:.0e} samples, Panda: peak memory", rss, 1000.0, "MB", bound="at most"),
        Line("the same: time", seconds, None, "s"),
        Line("the same: relative torque error", float(content["train"]["relative_error_percent"]), None, "%"),
    )
