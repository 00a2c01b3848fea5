"""The batched regressor against a bare loop over Pinocchio's and against writing the bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin

from benchmarks import Line
from dynid import TorqueModel, load_robot, random_motion

N_SAMPLES = 100_000


def best(work: Callable[[], object], repetitions: int = 5) -> float:
    """Shortest of several runs, s."""
    times = []
    for _ in range(repetitions):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def run() -> list[Line]:
    """Ratios measured in one run."""
    robot = load_robot("panda")
    model = TorqueModel(robot)
    motion = random_motion(robot, N_SAMPLES, np.random.default_rng(0))
    out = np.zeros((N_SAMPLES, model.n_dof, model.n_params))
    theirs, data = robot.pinocchio, robot.pinocchio.createData()

    def loop() -> None:
        for k in range(N_SAMPLES):
            out[k] = pin.computeJointTorqueRegressor(theirs, data, motion.q[k], motion.dq[k], motion.ddq[k])

    def bytes_only() -> None:
        out.fill(1.0)

    model.regressor(motion, out)
    ours = best(lambda: model.regressor(motion, out))
    peer = best(loop, 3)
    floor = best(bytes_only)
    first, cached = start_up()
    return [
        Line("regressor, 100 000 Panda samples: Pinocchio loop over dynid", peer / ours, 10.0, "×", bound="at least"),
        Line("regressor, 100 000 Panda samples: dynid over writing the bytes", ours / floor, 8.0, "×", bound="at most"),
        Line("regressor, first call after install", first, 3.0, "s", bound="at most"),
        Line("regressor, first call with a warm cache", cached, 0.5, "s", bound="at most"),
        Line("dynid --help", help_time(), 0.5, "s", bound="at most"),
    ]


CALL = """
import time, numpy as np
from dynid import TorqueModel, load_robot, random_motion
robot = load_robot("panda")
model = TorqueModel(robot)
motion = random_motion(robot, 100, np.random.default_rng(0))
import dynid.dynamics.kernels
started = time.perf_counter()
model.regressor(motion)
print(time.perf_counter() - started)
"""


def start_up() -> tuple[float, float]:
    """Time of the first call (s) with an empty and with a filled cache of compiled code."""
    folder = Path(".bench-cache").absolute()
    shutil.rmtree(folder, ignore_errors=True)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    times = [
        float(subprocess.run([sys.executable, "-c", CALL], env=environment, capture_output=True, check=True).stdout)
        for _ in range(3)
    ]
    shutil.rmtree(folder, ignore_errors=True)
    return times[0], min(times[1:])


def help_time() -> float:
    """Wall time of ``dynid --help``, s."""
    command = [sys.executable, "-m", "dynid", "--help"]
    return best(lambda: subprocess.run(command, capture_output=True, check=True))
