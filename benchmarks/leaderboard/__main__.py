"""Measure the leaderboard: ``python -m benchmarks.leaderboard [ARM…] [--page FILE] [--keep FOLDER] [--quick]``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.leaderboard.arms import Arm, measured, simulated
from benchmarks.leaderboard.board import complaints, measure
from benchmarks.leaderboard.judge import Entry
from benchmarks.leaderboard.methods import CONSTANT_VELOCITY, DEFAULT, methods
from benchmarks.leaderboard.page import FIGURES, text
from dynid.disk import write_whole

QUICK = (DEFAULT, "WLS")
"""Methods of a quick run, on the simulated arms alone: it shows that the leaderboard works, not what it says."""


def arms(folder: Path, *, quick: bool) -> list[Arm]:
    """Every arm that can be had here."""
    found = list(simulated(folder, duration=5.0 if quick else 20.0))
    data = os.environ.get("DYNID_DATA")
    if quick:
        return found[:1]
    if not data:
        print("measured arms skipped: DYNID_DATA does not name the folder of their logs", file=sys.stderr)
        return found
    return [*measured(Path(data), folder), *found]


def main(arguments: Sequence[str]) -> int:
    """0 when the default is best or near it everywhere, 1 when it is not, 2 for an arm that does not exist."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leaderboard", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="ARM", help="arms to measure; all by default")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page of the documentation")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep entries here, and do not measure them again")
    parser.add_argument("--workers", type=int, default=2, help="methods that run at the same time")
    parser.add_argument("--quick", action="store_true", help="one simulated arm, two methods")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        known = arms(folder, quick=options.quick)
        wrong = set(options.names) - {arm.name for arm in known}
        if wrong:
            print(f"no arm {', '.join(sorted(wrong))}; there are: {', '.join(a.name for a in known)}", file=sys.stderr)
            return 2
        chosen = [arm for arm in known if not options.names or arm.name in options.names]
        contest = [method.name for method in methods() if not options.quick or method.name in QUICK]
        contest.append(CONSTANT_VELOCITY)
        board = measure(chosen, contest, folder / "entries", workers=options.workers, heard=_tell)
    if options.page is not None:
        write_whole(options.page, text(board))
    lost = complaints(board, FIGURES)
    for sentence in lost:
        print(f"the default loses: {sentence}")
    return 1 if lost else 0


def _tell(entry: Entry) -> None:
    figures = f"{entry.unseen:7.2f} % unseen {entry.rollout:8.2f} mrad {entry.mass:8.1f} kg {entry.seconds:7.1f} s"
    print(f"{entry.arm:10} {entry.method:28} {figures}  {entry.note}".rstrip(), flush=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
