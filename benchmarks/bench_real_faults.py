"""The doctor on measured logs: false alarms on clean ones, and faults injected into them.

`python -m benchmarks.bench_real_faults [--draws N] [--robots NAME…] [--kinds WORD…]` prints the same in other sizes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import Item, Line, Note, Table
from dynid.errors import DynidError
from dynid.review import Finding, Severity, review_log
from tests.review.real_faults import (
    FAULTS,
    RESTORED,
    RealFault,
    RealLog,
    fit_error,
    pieces,
    real_logs,
    repaired_error,
)

DRAWS = 10
"""Draws of each kind of fault for each robot, over its logs in turn."""
SEED = 15
LACKS = frozenset({"one-way", "standstill", "still-joint", "unexcited", "slow", "short"})
"""Codes that say what the motion of a log lacks: true of pieces of five seconds in which joints never reverse."""
NAMED = 90.0
"""%: the target of issue 15."""
FALSE_WARNINGS = 5.0
"""%: the same."""


@dataclass(frozen=True)
class Draw:
    """One fault injected into one log."""

    robot: str
    kind: str
    named: bool
    alone: bool
    """Without an error of another code."""
    restored: bool
    remark: str


def data_folder() -> Path | None:
    """The folder of measured data; None where there is none."""
    name = os.environ.get("DYNID_DATA")
    return Path(name) if name and Path(name).is_dir() else None


def run(*, quick: bool = False) -> Iterator[Item]:
    """Clean logs and their pieces, then every kind of fault on every robot."""
    folder = data_folder()
    found = () if folder is None else real_logs(folder)
    yield Line("measured logs", float(len(found)), unit="logs")
    if not found:
        yield Note("DYNID_DATA names no folder with measured logs")
        return
    logs = [log for log in found if not quick or log.folder == "panda30"]
    yield from clean(logs)
    yield from faults(logs, 1 if quick else DRAWS, list(FAULTS)[: 2 if quick else None])


def clean(logs: Sequence[RealLog]) -> Iterator[Item]:
    """False errors and warnings on clean logs and their pieces."""
    looked = [(piece, _told_of(piece)) for log in logs for piece in pieces(log)]
    for severity, target in ((Severity.ERROR, 0.0), (Severity.WARNING, FALSE_WARNINGS)):
        wrong = [(piece, found) for piece, found in looked if any(f.severity is severity for f in found)]
        share = 100.0 * len(wrong) / len(looked)
        name = f"clean measured logs and pieces with a false {severity.value} ({len(wrong)} of {len(looked)})"
        yield Line(name, share, target, "%", "at most")
        for piece, found in wrong:
            yield Note(f"{piece.name}: {'; '.join(str(f) for f in found if f.severity is severity)}")


def _told_of(piece: RealLog) -> tuple[Finding, ...]:
    """What is said of a log; of a piece, without what its motion truly lacks."""
    found = review_log(piece.robot, piece.recording)
    return tuple(f for f in found if "," not in piece.name or f.code not in LACKS)


def faults(logs: Sequence[RealLog], n_draws: int, kinds: Sequence[str]) -> Iterator[Item]:
    """How many draws of each kind are named, at the right joint, with a fix that restores the error."""
    robots = list(dict.fromkeys(log.folder for log in logs))
    rows, every = [], []
    for kind in kinds:
        drawn = [draw for robot in robots for draw in draws(kind, FAULTS[kind], robot, logs, n_draws)]
        if not drawn:
            continue
        every += drawn
        cells = []
        for robot in robots:
            own = [draw for draw in drawn if draw.robot == robot]
            told = "–" if not own else f"{_percent(own, 'named'):.0f}/{_percent(own, 'restored'):.0f}"
            cells.append(told)
        rows.append((kind, *cells))
        yield Line(f"{kind}, named at the right joint", _percent(drawn, "named"), NAMED, "%")
        yield Line(f"{kind}, the printed fix restores the error within 10 %", _percent(drawn, "restored"), NAMED, "%")
        yield from (Note(draw.remark) for draw in drawn if draw.remark)
    yield Table("named/restored, %", ("fault", *robots), tuple(rows))
    yield Line("all faults, named at the right joint", _percent(every, "named"), NAMED, "%")
    yield Line("all faults, the printed fix restores the error", _percent(every, "restored"), NAMED, "%")


def _percent(drawn: Sequence[Draw], what: str) -> float:
    return 100.0 * sum(getattr(draw, what) for draw in drawn) / max(1, len(drawn))


def draws(kind: str, fault: RealFault, robot: str, logs: Sequence[RealLog], n_draws: int) -> Iterator[Draw]:
    """One kind of fault in the logs of one robot, in turn."""
    own = [log for log in logs if log.folder == robot]
    for k in range(n_draws):
        log = own[k % len(own)]
        if fault.needs_velocity and log.recording.dq is None:
            return
        rng = np.random.default_rng([SEED, k, sum(map(ord, kind)), sum(map(ord, robot))])
        spoilt = fault.spoil(log, rng)
        found = review_log(spoilt.robot, spoilt.recording)
        named = any(fault.names(finding, spoilt) for finding in found)
        try:
            error, least = repaired_error(spoilt, found), fit_error(log.robot, log.recording)
        except DynidError as problem:
            error, least = np.inf, 1.0
            found = found or (problem,)  # type: ignore[assignment]
        restored = error < RESTORED * least
        alone = all(f.severity is not Severity.ERROR or fault.names(f, spoilt) for f in found)
        remark = ""
        if not (named and restored):
            told = ", ".join(_told(finding) for finding in found) or "nothing"
            remark = f"{kind} in {log.name} {' '.join(spoilt.joints)}: {told}; {error:.3g} % against {least:.3g} %"
        yield Draw(robot, kind, named, alone, restored, remark)


def _told(finding: Finding) -> str:
    where = finding.joint or " ".join(getattr(finding.measured, "joints", ()))
    sure = "" if finding.probability is None else f" {finding.probability:.3f}"
    return f"{finding.severity.value} {finding.code} {where}{sure}"


def main(arguments: list[str]) -> None:
    """Print the figures."""
    from benchmarks.page import as_text

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of each kind for each robot")
    parser.add_argument("--robots", nargs="*", help="data sets; default all")
    parser.add_argument("--kinds", nargs="*", help="words in the kinds of fault; default all, none for clean logs only")
    options = parser.parse_args(arguments)
    folder = data_folder()
    logs = [log for log in real_logs(folder) if not options.robots or log.folder in options.robots] if folder else []
    wanted = options.kinds
    kinds = [kind for kind in FAULTS if wanted is None or any(word in kind for word in wanted)]
    if wanted is None or "clean" in wanted or not wanted:
        for item in clean(logs):
            print(as_text(item), flush=True)
    if kinds:
        for item in faults(logs, options.draws, kinds):
            print(as_text(item), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
