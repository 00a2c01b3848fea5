"""``python -m tests.fuzzing [TARGET…] --cases SHARE --seconds S --seed N``: damaged files, until one breaks a promise.

Runs in a process of its own, whose memory is limited, so that a crash or a bomb takes no test runner with it.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import faulthandler
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib
from pathlib import Path

from dynid.errors import DynidError
from tests.fuzzing.targets import NAMES, Target, target

PATIENCE = 10.0
"""Seconds of computing in one case, after which it counts as hanging; twenty times as many of waiting."""
MEMORY = 6 * 2**30
"""Bytes of address space that the whole process may take; the libraries alone take about three quarters of it."""
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where the damaged files are written: a disk takes longer to write one than dynid to read it."""


UNREADABLE = (
    ValueError, SyntaxError, LookupError, TypeError, RecursionError, OSError, EOFError, RuntimeError, MemoryError,
    zlib.error, csv.Error, zipfile.BadZipFile,
)  # fmt: skip
"""What a mutator that takes a file apart raises where there is nothing left to take apart."""


class Hang(BaseException):
    """A case that does not end."""


def _alarm(*_: object) -> None:
    raise Hang


def run_case(kind: Target, path: Path, data: bytes, rng: random.Random) -> str:
    """Read damaged content: ``refused``, ``accepted``, or what went wrong."""
    path.write_bytes(data)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    signal.setitimer(signal.ITIMER_REAL, 20.0 * PATIENCE)
    try:
        try:
            value = kind.read(path)
        except DynidError as error:
            return "refused" if path.name in str(error) else f"a message that does not name the file: {error}"[:500]
        kind.check(value, path, rng)
        return "accepted"
    except Hang:
        return f"no end after {PATIENCE:g} s\n" + traceback.format_exc(limit=-6)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return traceback.format_exc(limit=-6)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def run(name: str, *, share: float, seconds: float | None, seed: int, keep: Path, limit: int) -> dict[str, object]:
    """Try a target; the files that broke a promise are kept."""
    kind = target(name)
    counts = {"refused": 0, "accepted": 0}
    failures: dict[str, str] = {}
    started = time.monotonic()
    keep = keep.resolve()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder, contextlib.chdir(folder):  # MuJoCo writes its log here
        work = Path(folder) / "work"
        work.mkdir()
        seeds = kind.seeds(work)
        shutil.rmtree(work)
        work.mkdir()
        if kind.prepare is not None:
            kind.prepare(work)
        path = work / kind.name
        for data in seeds:
            outcome = run_case(kind, path, data, random.Random(0))
            assert outcome == "accepted", f"{name}: the undamaged file: {outcome}"
        case = 0
        while (time.monotonic() - started < seconds) if seconds is not None else (case < share * kind.cases):
            rng = random.Random(zlib.crc32(f"{name} {seed} {case}".encode()))
            data = rng.choice(seeds)
            for _ in range(rng.choice((1, 1, 1, 2))):
                try:
                    data = rng.choice(kind.mutators)(data, rng)
                except UNREADABLE:
                    break  # a second mutator may find nothing to take apart in what the first left
            sys.stdout.write(f"\r{name} {case} ") if sys.stdout.isatty() else None
            outcome = run_case(kind, path, data, rng)
            case += 1
            if outcome in counts:
                counts[outcome] += 1
                continue
            last = outcome.strip().splitlines()[-1][:80]
            where = [line.strip() for line in outcome.splitlines() if "File" in line][-1:]
            if f"{last} {where}" not in failures:
                failures[f"{last} {where}"] = outcome
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{name.replace(' ', '_')}-{case}-{kind.name}").write_bytes(data)
            if len(failures) >= limit:
                break
    return {"target": name, "cases": case, **counts, "seconds": round(time.monotonic() - started, 1),
            "failures": list(failures.values())}  # fmt: skip


def main() -> int:
    """Run targets one after the other; one line of JSON each."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("targets", nargs="*", default=NAMES, metavar="TARGET", help=", ".join(NAMES))
    parser.add_argument("--share", type=float, default=1.0, help="of the cases that the suite runs")
    parser.add_argument("--seconds", type=float, help="in all, in place of a number of cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="where files that fail are kept")
    parser.add_argument("--limit", type=int, default=5, help="different failures of a target, after which it stops")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _alarm)
    signal.signal(signal.SIGPROF, _alarm)
    faulthandler.enable()
    warnings.simplefilter("ignore")
    seconds = None if options.seconds is None else options.seconds / len(options.targets)
    failed = False
    for name in options.targets:
        # A crash inside a library leaves the name of the target as the last line.
        sys.stderr.write(f"{name}\n")
        sys.stderr.flush()
        found = run(
            name, share=options.share, seconds=seconds, seed=options.seed, keep=options.keep, limit=options.limit
        )
        failed = failed or bool(found["failures"])
        print(json.dumps(found), flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
