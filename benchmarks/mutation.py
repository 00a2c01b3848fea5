"""A mutation run: how many small faults in `chain/` and `regression/` do the tests notice?

    make mutate ARGS="--sample 150"

Cosmic Ray (in an environment of its own, ``.mutation``) makes the faults; what is no fault is left out by the rules of
`benchmarks.mutation_faults`. For each of a random sample, the tests that execute the changed line are run until one
fails, within a budget of time (`benchmarks.mutation_tests`). A fault that no test executes counts as not noticed.
Everything runs in copies of the project, so the working tree is never touched.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutation_faults import Fault, listed, sources
from benchmarks.mutation_tests import Seen, copy_project, measure, noticed, prepare, warm_up

ROOT = Path(__file__).parents[1]
TOOL = str(ROOT / ".mutation" / "bin" / "cosmic-ray")
FORK = multiprocessing.get_context("fork")
"""From a process that has imported what takes long."""
FOLDERS = ("src/dynid/chain", "src/dynid/regression")


@dataclass(frozen=True)
class Tried:
    """A fault and what became of it."""

    fault: Fault
    change: str
    n_tests: int
    failed: str


@dataclass(frozen=True)
class Share:
    """Of a sample of faults, how many were noticed."""

    noticed: int
    tried: int

    @property
    def rate(self) -> float:
        """Between 0 and 1."""
        return self.noticed / self.tried

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the rate in the whole folder, by Wilson's formula."""
        z = 1.96
        n, p = self.tried, self.rate
        middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        return middle - half, middle + half

    def __str__(self) -> str:
        low, high = self.interval
        between = f"95 %: {100 * low:.0f} to {100 * high:.0f}"
        return f"{self.noticed} of {self.tried} noticed, {100 * self.rate:.1f} % ({between})"


def overall(shares: dict[str, Share], possible: dict[str, int]) -> tuple[float, float]:
    """The share over all folders, each with the weight of its possible faults, and the half width of its interval."""
    total = sum(possible.values())
    weights = {name: possible[name] / total for name in shares}
    rate = sum(weights[name] * share.rate for name, share in shares.items())
    variance = sum(weights[name] ** 2 * s.rate * (1 - s.rate) / s.tried for name, s in shares.items())
    return rate, 1.96 * math.sqrt(variance)


class Worker:
    """What a process needs to try faults; one for each process."""

    copy: Path
    tests: Seen
    budget: float

    @classmethod
    def start(cls, copies: multiprocessing.Queue, tests: Seen, budget: float) -> None:
        cls.copy, cls.tests, cls.budget = copies.get(), tests, budget

    @classmethod
    def attempt(cls, fault: Fault) -> Tried:
        tree = sources(cls.copy, {fault.module})[fault.module]
        chosen = cls.tests.chosen(fault, tree.lines_of(fault), at_import=tree.at_import(fault), budget=cls.budget)
        failed, change = noticed(TOOL, cls.copy, fault, cls.tests, chosen)
        return Tried(fault, change, len(chosen), failed)


def drawn(possible: list[Fault], n_sample: int, seed: int) -> list[Fault]:
    """At most `n_sample` faults of each folder, mixed."""
    generator = random.Random(seed)
    sample: list[Fault] = []
    for folder in sorted({fault.folder for fault in possible}):
        within = [fault for fault in possible if fault.folder == folder]
        sample += generator.sample(within, min(n_sample, len(within)))
    generator.shuffle(sample)
    return sample


def attempted(sample: list[Fault], copies: list[Path], tests: Seen, budget: float) -> list[Tried]:
    """Try every fault, telling each; those tried so far if interrupted."""
    queue = FORK.Queue()
    for copy in copies:
        queue.put(copy)
    done: list[Tried] = []
    with ProcessPoolExecutor(len(copies), FORK, Worker.start, (queue, tests, budget)) as pool:
        trials = [pool.submit(Worker.attempt, fault) for fault in sample]
        try:
            for trial in as_completed(trials):
                tried = trial.result()
                done.append(tried)
                verdict = f"noticed by {tried.failed[:100]}" if tried.failed else "NOT NOTICED"
                print(f"[{len(done)}/{len(sample)}] {tried.fault}: {verdict} ({tried.n_tests} tests)", flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            print("interrupted; of those tried:")
    return done


def report(done: list[Tried], possible: list[Fault], minutes: float) -> None:
    """Print what was not noticed, and the shares."""
    print("\nnot noticed:")
    for tried in sorted(done, key=lambda tried: (tried.fault.module, tried.fault.begin)):
        if not tried.failed:
            print(f"{tried.fault} ({tried.n_tests} tests)\n    {tried.change}")
    print()
    shares, counts = {}, {}
    for name in sorted({tried.fault.folder for tried in done}):
        here = [tried for tried in done if tried.fault.folder == name]
        shares[name] = Share(sum(bool(tried.failed) for tried in here), len(here))
        counts[name] = sum(fault.folder == name for fault in possible)
        print(f"{name}: {shares[name]}; {counts[name]} are possible")
    rate, half = overall(shares, counts)
    print(f"all, by the number possible: {100 * rate:.1f} % ± {100 * half:.1f} ({minutes:.0f} min)")


def main(arguments: list[str] | None = None) -> int:
    """Print each fault and whether it was noticed, then the share that was, by folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=150, help="faults to try in each folder, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--coverage", type=Path, help="where to keep what the measuring run saw, for further runs")
    parser.add_argument("--within", default="", help="only modules whose path holds this")
    parser.add_argument("--budget", type=float, default=30.0, help="seconds of tests for a fault")
    parser.add_argument("--processes", type=int, default=1, help="faults tried at the same time")
    options = parser.parse_args(arguments)
    if not Path(TOOL).exists():
        print("Cosmic Ray is not in .mutation; run: make mutate")
        return 2
    found = [str(p.relative_to(ROOT)) for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*.py"))]
    modules = [module for module in found if options.within in module]
    if not modules:
        print(f"no module has {options.within} in its path")
        return 2
    with tempfile.TemporaryDirectory(prefix="dynid-mutation-") as name:
        folder = Path(name).resolve()
        copy = folder / "0"
        copy_project(ROOT, copy)
        warm_up()
        data = (options.coverage or folder / "coverage.data").resolve()
        # In such a process as the faults will be tried in: the tests pass there as long as there is no fault.
        with ProcessPoolExecutor(1, FORK) as pool:
            failed = (pool.submit(prepare, copy) if data.exists() else pool.submit(measure, copy, data)).result()
        if failed:
            print(f"without a fault this fails: {failed}")
            return 1
        possible, exempt = listed(TOOL, copy, modules)
        for rule, count in exempt.most_common():
            print(f"no fault, {rule}: {count}")
        copies = [copy, *(folder / str(n) for n in range(1, options.processes))]
        for further in copies[1:]:
            copy_project(copy, further)
        sample = drawn(possible, options.sample, options.seed)
        print(f"{len(possible)} faults are possible, {len(sample)} are tried (seed {options.seed})", flush=True)
        begin = time.monotonic()
        done = attempted(sample, copies, Seen.load(data), options.budget)
        if done:
            report(done, possible, (time.monotonic() - begin) / 60.0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
