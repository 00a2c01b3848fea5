"""Streaming compression: throughput, memory, and the whole fit against a Pinocchio loop with lstsq."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from benchmarks import Item, Line, Note
from dynid import Motion, TorqueModel, base_parameters, load_robot
from dynid.arrays import Array
from dynid.dynamics import BaseParameters, friction_models, random_motion
from dynid.recording import Conditioning, Recording, Samples, Segment
from dynid.regression import OLS, JointRows, Regression, SampleRows, compress
from dynid.regression.rows import Result

N_STREAM = 10_000_000
N_LOOP = 100_000
"""Samples of the peer, whose stacked matrix is held; its time is proportional to them."""
MOST_SECONDS, MOST_IMPORTS = 2.2, 1.6
"""What `dynid identify` may take: seconds, or times what importing its libraries takes; issue 14 asks for either."""
FRICTION = "viscous+coulomb+offset"
COMMAND = "from dynid.__main__ import run; raise SystemExit(run())"
LIBRARIES = """
import sys
from dynid.cli import main
main(sys.argv[1:])
own = ("dynid", "__main__")
print(*(name for name, module in sys.modules.items() if name.split(".")[0] not in own and hasattr(module, "__spec__")))
"""
"""Runs the command, and prints all modules it has imported but its own, in the order it did."""
IMPORTS = """
import importlib, sys
for name in sys.argv[1].split():
    try:
        importlib.import_module(name)
    except ImportError:  # made by a library at run time, no file
        pass
"""


@dataclass(frozen=True, eq=False)
class Endless:
    """The same segment of random motion again and again: a log of any length without holding it."""

    model: TorqueModel
    base: BaseParameters
    samples: Samples
    n_samples: int
    memory: list[float]

    def blocks(self) -> Iterator[tuple[JointRows, ...]]:
        return self.mapped(lambda block: block)

    def mapped(self, use: Callable[[tuple[JointRows, ...]], Result]) -> Iterator[Result]:
        done = 0
        while done < self.n_samples:
            yield from SampleRows(self.model, self.base, (self.samples,)).mapped(use)
            done += self.samples.n_samples
            self.memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0)


def random_segment(model: TorqueModel, n_samples: int) -> tuple[Samples, Array]:
    """Random states at 1 kHz with their torque, taken as they are."""
    motion = random_motion(model.robot, n_samples, np.random.default_rng(0))
    timed = Motion(np.arange(n_samples) / 1000.0, motion.q, motion.dq, motion.ddq)
    theta = np.concatenate([model.robot.nominal.ravel(), np.full(model.n_params - model.n_inertial, 0.1)])
    tau = model.torque(timed, theta)
    recording = Recording(model.robot.joint_names, timed.t, timed.q, timed.dq, tau=tau)
    plan = Conditioning(cutoff_hz=np.inf, rate_hz=1000.0).plan(recording)
    return Samples(recording.joint_names, (Segment(timed, tau),), plan), theta


def peer_seconds(model: TorqueModel, base: BaseParameters, motion: Motion, tau: Array, n: int) -> float:
    """Time a sample of a Pinocchio loop and `lstsq` on the stacked matrix of `n` samples, s."""
    robot = model.robot
    data = robot.pinocchio.createData()
    started = time.perf_counter()
    W = np.empty((n, robot.n_dof, model.n_params))
    for k in range(n):
        W[k, :, : model.n_inertial] = pin.computeJointTorqueRegressor(
            robot.pinocchio, data, motion.q[k], motion.dq[k], motion.ddq[k]
        )
    W[:, :, model.n_inertial :] = 0.0
    stacked = base.reduce(W).reshape(-1, base.n_base) + 1e-9
    np.linalg.lstsq(stacked, tau[:n].ravel(), rcond=None)
    return (time.perf_counter() - started) / n


def reading_seconds(samples: Samples, n_samples: int) -> tuple[float, float]:
    """Time of reading the bytes of as many samples: from memory, and from a file that the system has cached, s."""
    (segment,) = samples.segments
    table = np.column_stack([segment.motion.q, segment.motion.dq, segment.motion.ddq, segment.tau])
    turns = -(-n_samples // len(table))
    started = time.perf_counter()
    for _ in range(turns):
        np.add.reduce(table, axis=None)
    memory = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.bin"
        table.tofile(file)
        started = time.perf_counter()
        for _ in range(turns):
            np.fromfile(file)
        return memory, time.perf_counter() - started


def run(*, quick: bool = False) -> Iterator[Item]:
    """Ratios measured in one run."""
    robot = load_robot("panda")
    model = TorqueModel(robot, friction_models(FRICTION))
    base = base_parameters(model)
    n_stream, n_loop = (20_000, 2_000) if quick else (N_STREAM, N_LOOP)
    samples, _ = random_segment(model, min(200_000, n_stream // 4))
    compress(SampleRows(model, base, (random_segment(model, 5_000)[0],)))
    memory: list[float] = []
    started = time.perf_counter()
    regression: Regression = compress(Endless(model, base, samples, n_stream, memory))
    seconds = time.perf_counter() - started
    OLS().fit(regression)
    motion, tau = samples.segments[0].motion, samples.segments[0].tau
    peer = peer_seconds(model, base, motion, tau, n_loop)
    growth = memory[-1] - memory[min(2, len(memory) - 1)]
    yield Line(
        f"streaming compression of {n_stream} samples, Panda with friction",
        n_stream / seconds / 1e3,
        None if quick else 650.0,
        "thousand samples/s",
    )
    memory_time, file_time = reading_seconds(samples, n_stream)
    yield Line("the same over the limit, reading its bytes (q, dq, ddq, tau) from memory", seconds / memory_time)
    yield Line("the same over reading its bytes from a cached file", seconds / file_time)
    yield Line("memory growth over the stream", growth, 50.0, "MB", bound="at most")
    yield Line("a fit: Pinocchio loop + lstsq over dynid", peer / (seconds / n_stream), None if quick else 15.0)
    if not quick:
        yield from identify_lines()


def identify_lines() -> Iterator[Item]:
    """The command on the real Panda log, where the data are, beside importing the libraries that it imports.

    Asked for is the time or the ratio, with this friction: one of them is enough, and the other is then told without a
    target. The command as most people type it, which chooses the friction, is told beside them.
    """
    data = os.environ.get("DYNID_DATA")
    if not data:
        yield Note("dynid identify on the Panda log skipped: DYNID_DATA does not name the folder of logs")
        return
    log = Path(data) / "panda" / "excitation_log.csv.gz"
    with tempfile.TemporaryDirectory() as folder:
        plain = ["identify", "panda", str(log), "--out", str(Path(folder) / "out"), "--json", "--force"]
        typed = [*plain, "--friction", FRICTION]
        names = child(LIBRARIES, *typed)[1]
        times = [(child(COMMAND, *typed)[0], child(IMPORTS, names)[0], child(COMMAND, *plain)[0]) for _ in range(3)]
    seconds, importing, choosing = (min(column) for column in zip(*times, strict=True))
    fast, lean = seconds <= MOST_SECONDS, seconds / importing <= MOST_IMPORTS
    yield Line(
        f"dynid identify --friction {FRICTION} on the 20 544-sample Panda log",
        seconds,
        MOST_SECONDS if fast or not lean else None,
        "s",
        bound="at most",
    )
    yield Line(
        f"the same, {seconds:.2f} s, over importing its {len(names.split())} library modules, {importing:.2f} s",
        seconds / importing,
        MOST_IMPORTS if lean or not fast else None,
        bound="at most",
    )
    yield Line("dynid identify on the same log, choosing the friction", choosing, unit="s")


def child(program: str, *arguments: str) -> tuple[float, str]:
    """Seconds that a Python program takes in a process of its own, and what it says last."""
    # Bytecode is written once, as it is wherever dynid is installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", program, *arguments]
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return time.perf_counter() - started, done.stdout.rsplit("\n", 2)[-2] if done.stdout else ""
