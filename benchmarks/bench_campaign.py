"""A campaign of 1000 identifications on a local dask cluster: throughput, a killed worker, a restarted scheduler."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import dynid
from benchmarks import Item, Line, Note
from dynid.writers.urdf import urdf_text

N_RUNS, N_TIMED = 1000, 240
"""Runs of the whole campaign, and of the part whose throughput is measured on one and on two workers."""
ROBOTS = ("planar2r", "panda", "spatial2r", "wam7")
SMALL = ("planar2r", "spatial2r")
"""Robots of a quick run, which is about the cluster and not about the arms."""
DURATION, RATE = 6.0, 100.0
"""Length of a log, s, and its samples a second."""
DEFAULTS = '[defaults]\nfriction = "viscous+coulomb+offset"\nforce = true\n'
PATIENCE = 60.0
"""How long a scheduler or its workers may take to start, s."""
LONGEST = 3600.0
"""s for a whole campaign."""


@dataclass
class Cluster:
    """A scheduler and workers on loopback, each a process that can be killed."""

    n_workers: int
    port: int = 0
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __enter__(self) -> Cluster:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start_scheduler()
        for _ in range(self.n_workers):
            self.start_worker()
        self.wait_for_workers()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            _kill(process)

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        return f"tcp://127.0.0.1:{self.port}"

    def start_scheduler(self) -> None:
        """A scheduler at the port, first in the list of processes."""
        self.processes.insert(0, _dask("scheduler", "--host", "127.0.0.1", "--port", str(self.port)))
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1.0):
                return
            time.sleep(0.1)
        raise RuntimeError(f"no dask scheduler within {PATIENCE:g} s")

    def start_worker(self) -> None:
        """One more worker with one thread; it waits for a scheduler that is away."""
        self.processes.append(_dask("worker", self.address, "--nthreads", "1", "--no-nanny"))

    def wait_for_workers(self) -> None:
        """Until all workers have come, as on a cluster that is up."""
        from distributed import Client

        connect: Callable[..., Any] = Client
        with connect(self.address, timeout=PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(self.n_workers, timeout=PATIENCE)

    def cpu_seconds(self) -> list[float]:
        """CPU time of the scheduler and of each worker since it started."""
        import psutil

        times = [psutil.Process(process.pid).cpu_times() for process in self.processes]
        return [float(time.user + time.system) for time in times]

    def kill_worker(self) -> None:
        """The last worker, as the system kills one that takes too much memory; another comes in its place."""
        _kill(self.processes.pop())
        self.start_worker()

    def restart_scheduler(self) -> None:
        """The scheduler, with all that it knew, and its workers."""
        for process in self.processes:
            _kill(process)
        self.processes.clear()
        self.start_scheduler()
        for _ in range(self.n_workers):
            self.start_worker()


def _dask(kind: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments, "--no-dashboard"]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, start_new_session=True
    )


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=20.0)


def manifests(folder: Path, names: tuple[str, ...], n_runs: int, n_timed: int) -> tuple[Path, Path]:
    """Variants of built-in robots, links off by up to a fifth, a log of each; a manifest of the first, and of all."""
    entries = []
    robots = [dynid.load_robot(name) for name in names]
    for k in range(n_runs):
        robot, rng = robots[k % len(robots)], np.random.default_rng(k)
        place = folder / f"arm{k:04d}"
        place.mkdir()
        factors = 1.0 + rng.uniform(-0.2, 0.2, len(robot.nominal))
        truth = robot.with_nominal(
            {
                name: dynid.InertialParameters(factor * pi)
                for name, factor, pi in zip(robot.link_names, factors, robot.nominal, strict=True)
            }
        )
        dynid.save(dynid.simulate(truth, seed=k, duration=DURATION, rate=RATE), place / "log.csv")
        links = tuple(dynid.InertialParameters(pi) for pi in robot.nominal)
        (place / "robot.urdf").write_text(urdf_text(robot, links), encoding="utf-8")
        entries.append(f'[[run]]\nname = "run{k:04d}"\nrobot = "arm{k:04d}/robot.urdf"\nlogs = "arm{k:04d}/log.csv"\n')
    paths = folder / "some.toml", folder / "all.toml"
    for path, own in zip(paths, (entries[:n_timed], entries), strict=True):
        path.write_text("\n".join([DEFAULTS, *own]), encoding="utf-8")
    return paths


def seconds(path: Path, out: Path, workers: str) -> float:
    """Time of a whole campaign as the command runs it, s."""
    started = time.monotonic()
    subprocess.run(_command(path, out, workers), check=True, timeout=LONGEST, capture_output=True)
    return time.monotonic() - started


@dataclass(frozen=True)
class Spent:
    """What a campaign on a cluster took, s."""

    wall: float
    workers: float
    """CPU time of all workers."""
    others: float
    """CPU time of the scheduler and of the command."""


def spent(path: Path, out: Path, n_workers: int) -> Spent:
    """A whole campaign on a cluster of so many workers."""
    with Cluster(n_workers) as cluster:
        before, at_first = cluster.cpu_seconds(), os.times()
        wall = seconds(path, out, cluster.address)
        after, at_last = cluster.cpu_seconds(), os.times()
    scheduler, *workers = (then - now for then, now in zip(after, before, strict=True))
    command = sum(at_last[2:4]) - sum(at_first[2:4])
    shutil.rmtree(out)  # a report takes 5 MB
    return Spent(wall, sum(workers), scheduler + command)


def _command(path: Path, out: Path, workers: str) -> list[str]:
    run = "from dynid.__main__ import run; raise SystemExit(run())"
    return [sys.executable, "-c", run, "identify", str(path), "--out", str(out), "--workers", workers]


def disturbed(path: Path, out: Path, n_runs: int) -> tuple[float, int]:
    """Run a campaign whose worker is killed at a third and whose scheduler is restarted at two thirds: s, starts."""
    started, starts = time.monotonic(), 0
    with Cluster(2) as cluster:
        todo = [(n_runs // 3, cluster.kill_worker), (2 * n_runs // 3, cluster.restart_scheduler)]
        while starts < 5:
            starts += 1
            campaign = subprocess.Popen(
                _command(path, out, cluster.address), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            while campaign.poll() is None:
                time.sleep(0.2)
                if todo and len(list(out.glob("run*/status.json"))) >= todo[0][0]:
                    todo.pop(0)[1]()
                if time.monotonic() - started > LONGEST:
                    campaign.kill()
            if not todo and campaign.returncode == 0:
                break
    return time.monotonic() - started, starts


def same(one: Path, other: Path, n_runs: int) -> int:
    """Runs whose model is the same, byte for byte, in two campaigns."""
    names = [f"run{k:04d}" for k in range(n_runs)]
    pairs = [(folder / name / "model.json" for folder in (one, other)) for name in names]
    return sum(a.exists() and b.exists() and a.read_bytes() == b.read_bytes() for a, b in pairs)


def throughput(two: Spent, one: Spent, n_timed: int, alone: float) -> Iterator[Item]:
    """The same campaign on two workers and on one; `alone` is what a run takes without a cluster, s."""
    yield Line(f"{n_timed} runs: one dask worker over two", one.wall / two.wall, 1.8)
    yield Line("CPU time of a run: on two workers over on one", two.workers / one.workers)
    yield Line(
        "CPU time on two workers: scheduler and command over workers", 100.0 * two.others / two.workers, unit="%"
    )
    yield Line("a run: no cluster over one dask worker", alone / (one.wall / n_timed))
    yield Note(
        f"{n_timed / two.wall:.2g} identifications a second on two workers, reports and files included; "
        f"{(two.workers + two.others) / n_timed:.2g} s of CPU for each."
    )


def run(*, quick: bool = False) -> Iterator[Item]:
    """Throughput on one worker and on two, and what is left after a disturbed campaign."""
    if importlib.util.find_spec("distributed") is None:
        yield Note("skipped: dask is not installed (dynid[cluster])")
        return
    n_runs, n_timed = (3, 2) if quick else (N_RUNS, N_TIMED)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "arms").mkdir()
        timed, whole = manifests(folder / "arms", SMALL if quick else ROBOTS, n_runs, n_timed)
        alone = seconds(whole, folder / "alone", "1") / n_runs
        two = None if quick else spent(timed, folder / "timed", 2)
        if two is not None:
            yield from throughput(two, spent(timed, folder / "timed", 1), n_timed, alone)
        took, starts = disturbed(whole, folder / "disturbed", n_runs)
        told = json.loads((folder / "disturbed" / "campaign.json").read_text(encoding="utf-8"))
        kept = sum(told["counts"].values()) - told["counts"]["failed"]
        yield Line(f"of {n_runs} runs, done after a killed worker and a restarted scheduler", kept, n_runs, "runs")
        longer = "" if two is None else f" and {took / n_runs / (two.wall / n_timed):.2f} times as long a run"
        yield Note(f"It took {starts} starts of the same command{longer}.")
        equal = same(folder / "disturbed", folder / "alone", n_runs)
        yield Line("models that are the same bytes as those of one process", equal, n_runs, "runs")
