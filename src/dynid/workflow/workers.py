"""Who does the work: this process, several processes on this machine, or a dask cluster by its scheduler's address."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from dynid.errors import ConfigError, RegressionError

__all__ = ["Workers"]

CONNECT_SECONDS = 10.0
"""How long a scheduler may take to answer, s."""
WORKER_SECONDS = 60.0
"""How long the first worker of a scheduler may take to come, s."""
Item = TypeVar("Item")


@dataclass(frozen=True)
class Workers:
    """Who does the work: this process, several processes, or a dask cluster."""

    count: int = 1
    """Processes; −1 for one a core, or for all that a cluster has."""
    address: str = ""
    """Of the dask scheduler, as tcp://127.0.0.1:8786; empty for this machine."""

    @classmethod
    def of(cls, workers: int | str) -> Workers:
        """From a number of processes, or a text: a number, or the address of a dask scheduler.

        Raises:
            ConfigError: neither a number of processes nor an address.
        """
        text = str(workers)
        if "://" in text:
            return cls(-1, text)
        try:
            count = int(text.replace("−", "-"))
        except ValueError as error:
            raise ConfigError(
                f"`workers` {text}: give a number of processes, or the address of a dask scheduler "
                "as tcp://127.0.0.1:8786"
            ) from error
        if count < -1 or count == 0:
            raise ConfigError(f"`workers` {text}: give at least 1, or −1 for one a core")
        return cls(count)

    @property
    def alone(self) -> bool:
        """Whether all is done in this very process."""
        return self.count == 1 and not self.address

    @property
    def threads(self) -> int | None:
        """Threads each of several processes on one machine should use; None for as many as it likes."""
        from dynid.dynamics.threads import n_threads

        if self.address:
            return 1
        return None if self.count == 1 else 1 if self.count < 0 else max(1, n_threads() // self.count)

    @property
    def deaths(self) -> type[Exception]:
        """What joblib raises when a worker dies."""
        if not self.address:
            return BrokenExecutor
        from distributed.scheduler import KilledWorker

        return KilledWorker

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside the block joblib hands its work to these workers.

        Raises:
            ConfigError: dask is not installed, or no scheduler answers.
            RegressionError: a worker died, and the work is lost.
        """
        from joblib import parallel_config

        if not self.address:
            with parallel_config(backend="loky", n_jobs=self.count, inner_max_num_threads=1), _deaths_told(self.deaths):
                yield
            return
        with (
            self._client() as client,
            parallel_config(backend="dask", n_jobs=-1, client=client),
            _deaths_told(self.deaths),
        ):
            yield

    def on_cluster(self, work: Callable[[Item], object], items: Sequence[Item]) -> Iterator[tuple[Item, bool]]:
        """Each item when its work is done, and whether the workers lived through it.

        The scheduler has all items from the start: no worker waits for this process, and one that comes later helps.

        Raises:
            ConfigError: dask is not installed, or no scheduler or worker is there.
            RegressionError: the scheduler went away.
        """
        with self._client() as client:
            from distributed import CancelledError, TimeoutError, as_completed

            try:
                client.wait_for_workers(1, timeout=WORKER_SECONDS)
            except TimeoutError as error:
                raise ConfigError(
                    f"`workers` {self.address}: no worker came within {WORKER_SECONDS:g} s; start one with: "
                    f"dask worker {self.address} --nthreads 1"
                ) from error
            futures = dict(zip(client.map(work, items, pure=False), items, strict=True))
            for future in as_completed(list(futures), loop=client.loop):
                try:
                    future.result()
                except self.deaths:
                    yield futures.pop(future), False
                except CancelledError as error:
                    raise RegressionError(
                        f"`workers` {self.address}: the scheduler went away; start it and do the same again, what is "
                        "complete is kept"
                    ) from error
                else:
                    yield futures.pop(future), True

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """A connection to the scheduler."""
        try:
            from distributed import Client
        except ImportError as error:
            raise ConfigError(
                f"`workers` {self.address}: dask is not installed; pip install 'dynid[cluster]', or give a number of "
                "processes"
            ) from error
        try:
            connect: Callable[..., Any] = Client
            client = connect(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"`workers` {self.address}: no dask scheduler answers there ({error}); start one with: dask scheduler"
            ) from error
        with client:
            yield client


@contextmanager
def _deaths_told(kind: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kind as error:
        raise RegressionError("a worker ended before its work did: too little memory? try 1 for `workers`") from error
