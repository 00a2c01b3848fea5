"""The batched regressor against a bare loop over Pinocchio's, FIGAROH's builder, and writing the bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin

from benchmarks import Item, Line, Note, Table, best_of
from benchmarks.logs import through_urdf
from benchmarks.peers import PeerError, ask
from dynid import Motion, TorqueModel, load_robot, save, simulate
from dynid.chain.robot import Joint, Link, Robot
from dynid.dynamics import random_motion
from tests.robots import random_link, random_placement

SIZES = (1_000, 10_000, 100_000, 1_000_000)
QUICK_SIZES = (200, 1_000)
JOINTS = (2, 4, 7, 10, 15, 20, 30)
CLAIMED = 100_000
"""Samples at which the ratios are asked for."""
PEER_SIZES = 100_000
"""Samples up to which the peer's builder is timed; its time is proportional to them."""


def against(model: TorqueModel, motion: Motion, repetitions: int) -> tuple[float, float, float, float]:
    """Seconds of dynid into memory in use and into fresh memory, of the Pinocchio loop, and of writing the bytes.

    All but the second write into the same array.
    """
    theirs, data = model.robot.pinocchio, model.robot.pinocchio.createData()
    out = np.zeros((motion.n_samples, model.n_dof, model.n_params))

    def loop() -> None:
        for k in range(motion.n_samples):
            out[k] = pin.computeJointTorqueRegressor(theirs, data, motion.q[k], motion.dq[k], motion.ddq[k])

    works = (lambda: model.regressor(motion, out), lambda: model.regressor(motion), loop, lambda: out.fill(1.0))
    model.regressor(motion, out)
    ours, fresh, pinocchio, floor = best_of(works, repetitions=repetitions)
    return ours, fresh, pinocchio, floor


def peer_seconds(
    urdf: str, model: TorqueModel, motion: Motion, sizes: tuple[int, ...], repetitions: int
) -> dict[int, float]:
    """Seconds of FIGAROH's builder for every size, after a check that it gives the same numbers."""
    arrays = {"q": motion.q, "dq": motion.dq, "ddq": motion.ddq}
    wanted = " ".join(str(size) for size in sizes)
    answer = ask("figaroh", "regressor", arrays, {"robot.urdf": urdf}, sizes=wanted, repetitions=repetitions)
    expected = model.regressor(motion.part(0, 10))
    if not np.allclose(answer.arrays["first"], expected, rtol=1e-8, atol=1e-8 * np.max(np.abs(expected))):
        raise PeerError("its regressor is another one; nothing to compare")
    return {int(size): seconds for size, seconds in answer.figures["seconds"].items()}


def sizes_table(sizes: tuple[int, ...]) -> Iterator[Item]:
    """Every program over the number of samples, in units of dynid's time."""
    urdf, robot = through_urdf(load_robot("panda"))
    model = TorqueModel(robot)
    motion = random_motion(model.robot, max(sizes), np.random.default_rng(0))
    peer: dict[int, float] = {}
    try:
        peer = peer_seconds(urdf, model, motion.part(0, PEER_SIZES), tuple(n for n in sizes if n <= PEER_SIZES), 2)
    except PeerError as error:
        yield Note(f"FIGAROH skipped: {error}")
    rows = []
    for n in sizes:
        repetitions = 7 if n < 1e5 else 5 if n < 1e6 else 2
        ours, fresh, loop, floor = against(model, motion.part(0, n), repetitions)
        theirs = f"{peer[n] / ours:.1f}" if n in peer else "—"
        rows.append(
            (f"{n:,}".replace(",", " "), f"{loop / ours:.1f}", theirs, f"{floor / ours:.2f}", f"{fresh / ours:.2f}")
        )
        if n == CLAIMED:
            yield Line(f"{n} Panda samples: Pinocchio loop over dynid", loop / ours, 10.0)
            if n in peer:
                yield Line(f"{n} Panda samples: FIGAROH over dynid", peer[n] / ours, 40.0)
            yield Line(f"{n} Panda samples: dynid over writing the bytes", ours / floor, 8.0, bound="at most")
    header = ("samples", "Pinocchio loop", "FIGAROH", "writing the bytes", "dynid, fresh memory")
    yield Table("Panda regressor without friction columns, time over dynid's into memory in use", header, tuple(rows))


def arm(rng: np.random.Generator, n_dof: int) -> Robot:
    """An unbranched arm of revolute joints in general position."""
    joints = [
        Joint(f"j{i}", "revolute", i - 1, random_placement(rng), rng.normal(size=3), Link(f"body{i}", random_link(rng)))
        for i in range(n_dof)
    ]
    return Robot(f"arm{n_dof}", tuple(joints), gravity=np.array([0.0, 0.0, -9.81]))


def joints_table(joints: tuple[int, ...], n_samples: int) -> Table:
    """Arms of more and more joints; the regressor has 10·n² entries a sample."""
    rng = np.random.default_rng(1)
    rows, first = [], 0.0
    for n_dof in joints:
        model = TorqueModel(arm(rng, n_dof))
        ours, _, loop, floor = against(model, random_motion(model.robot, n_samples, rng), 3)
        per_entry = ours / (10 * n_dof**2)
        first = first or per_entry
        rows.append((str(n_dof), f"{loop / ours:.1f}", f"{floor / ours:.2f}", f"{per_entry / first:.2f}"))
    header = ("joints", "Pinocchio loop", "writing the bytes", "dynid an entry, over the first")
    return Table(
        f"arms of {joints[0]} to {joints[-1]} joints, {n_samples} samples, time over dynid's", header, tuple(rows)
    )


def run(*, quick: bool = False) -> Iterator[Item]:
    """Ratios measured in one run."""
    yield from sizes_table(QUICK_SIZES if quick else SIZES)
    yield joints_table((2, 3) if quick else JOINTS, 100 if quick else 4000)
    if quick:
        return
    first, cached = start_up("-c", CALL)
    yield Line("first call after install, regressor", first, 3.0, "s", bound="at most")
    yield Line("first call with a warm cache, regressor", cached, 0.5, "s", bound="at most")
    yield from first_identification()
    yield Line("dynid --help", help_time(), 0.5, "s", bound="at most")


CALL = """
import time, numpy as np
from dynid import TorqueModel, load_robot
from dynid.dynamics import random_motion
robot = load_robot("panda")
model = TorqueModel(robot)
motion = random_motion(robot, 100, np.random.default_rng(0))
started = time.perf_counter()
model.regressor(motion)
print(time.perf_counter() - started)
"""


def start_up(*arguments: str) -> tuple[float, float]:
    """What a Python process takes (s) without any compiled code on disk, and when run again.

    That is the number it prints, or of a process that prints other things its wall time.
    """
    folder = Path(".bench-cache").absolute()
    # Bytecode is written once, as it is wherever dynid is installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    firsts: list[float] = []
    cached: list[float] = []
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        for times in (firsts, cached):
            started = time.perf_counter()
            command, told = [sys.executable, *arguments], {**environment, "NUMBA_CACHE_DIR": str(folder)}
            done = subprocess.run(command, env=told, capture_output=True, text=True, check=True)
            wall = time.perf_counter() - started
            times.append(float(done.stdout) if CALL in arguments else wall)
    shutil.rmtree(folder, ignore_errors=True)
    return min(firsts), min(cached)


def first_identification() -> Iterator[Line]:
    """The whole command `dynid identify` after an installation, and when typed again: a small log, and the Panda's."""
    data = os.environ.get("DYNID_DATA")
    with tempfile.TemporaryDirectory() as name:
        small, out = Path(name) / "run.csv", str(Path(name) / "out")
        save(simulate("planar2r", seed=1), small)
        jobs: list[tuple[str, str, list[str]]] = [("planar2r", str(small), [])]
        if data:
            log = str(Path(data) / "panda" / "excitation_log.csv.gz")
            jobs.append(("panda", log, ["--friction", "viscous+coulomb+offset"]))
        for robot, log, options in jobs:
            first, again = start_up("-m", "dynid", "identify", robot, log, "--out", out, "--force", *options)
            words = " ".join(["dynid identify", robot, *options])
            yield Line(f"first call after install, {words}", first, 3.0, "s", bound="at most")
            yield Line("the same over the second call", first / again)


def help_time() -> float:
    """Wall time of ``dynid --help``, s."""
    command = [sys.executable, "-m", "dynid", "--help"]
    return best_of([lambda: subprocess.run(command, capture_output=True, check=True)])[0]
