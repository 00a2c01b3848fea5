"""One method on one arm, in a process of its own: ``python -m benchmarks.leaderboard.run_one ARM METHOD OUT``."""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

from benchmarks.leaderboard.arms import Arm, Sheet
from benchmarks.leaderboard.judge import Entry, constant_velocity, judged
from benchmarks.leaderboard.methods import CONSTANT_VELOCITY, methods, settings
from benchmarks.peers import PeerError
from dynid import DynidError


def stored(arm: Arm) -> str:
    """An arm as the text that a process reads."""
    return json.dumps(asdict(arm), default=str)


def restored(text: str) -> Arm:
    """The arm of what `stored` gave."""
    content = json.loads(text)
    return Arm(
        name=content["name"],
        robot=content["robot"],
        train=tuple(Path(log) for log in content["train"]),
        held_out=Path(content["held_out"]),
        split=content["split"],
        gains=None if content["gains"] is None else tuple(content["gains"]),
        columns=None if content["columns"] is None else Path(content["columns"]),
        sheet=None if content["sheet"] is None else Sheet(**content["sheet"]),
        rate_note=content["rate_note"],
    )


def entry(arm: Arm, name: str) -> Entry:
    """Fit and judge; what cannot be done is an entry that says why."""
    if name == CONSTANT_VELOCITY:
        return Entry(arm.name, name, rollout=constant_velocity(arm, settings(arm)))
    method = next(method for method in methods() if method.name == name)
    started = perf_counter()
    try:
        fitted = method.fit(arm)
    except (DynidError, PeerError) as error:
        return Entry(arm.name, name, lines=method.lines, note=f"no model: {error}")
    seconds = perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return judged(
        arm,
        name,
        fitted.model,
        seconds=seconds if fitted.seconds is None else fitted.seconds,
        megabytes=peak if fitted.megabytes is None else fitted.megabytes,
        lines=method.lines,
        note=fitted.note,
    )


def main(arm: str, method: str, out: str) -> None:
    """Read the arm, write the entry."""
    found = entry(restored(Path(arm).read_text(encoding="utf-8")), method)
    Path(out).write_text(json.dumps(found.stored()), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
