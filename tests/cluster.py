"""A dask cluster of a few processes on loopback, for tests: in a process of its own, which can be given up."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from tests.processes import ENVIRONMENT

START_SECONDS = 60.0
"""How long a cluster may take to start, s; dask's own processes sometimes never do."""
TRIES = 3
END_SECONDS = 20.0


@dataclass(frozen=True)
class Cluster:
    """Where it is, and who works for it."""

    address: str
    pids: tuple[int, ...]


@contextlib.contextmanager
def cluster(n_workers: int = 2, allowed_failures: int = 3) -> Iterator[Cluster]:
    """A cluster that answers, and tries again what killed a worker so many times; nothing of it is left afterwards."""
    process, found = _started(n_workers, allowed_failures)
    try:
        yield found
    finally:
        _end(process)


def _started(n_workers: int, allowed_failures: int) -> tuple[subprocess.Popen[bytes], Cluster]:
    for _ in range(TRIES):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster", str(n_workers), str(allowed_failures)],
            env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        if select.select([process.stdout], [], [], START_SECONDS)[0] and (line := process.stdout.readline()):
            about = json.loads(line)
            return process, Cluster(about["address"], tuple(about["pids"]))
        _end(process)
    raise AssertionError(f"dask started no cluster in {TRIES} tries of {START_SECONDS:g} s")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, then make it."""
    process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=END_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=END_SECONDS)
    process.stdout.close()


def main(n_workers: int, allowed_failures: int) -> None:
    import dask
    from distributed import LocalCluster

    dask.config.set({"distributed.scheduler.allowed-failures": allowed_failures})
    with LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
    ) as local:
        pids = [nanny.process.pid for nanny in local.workers.values()]
        print(json.dumps({"address": local.scheduler_address, "pids": pids}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
