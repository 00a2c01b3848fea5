"""How often the doctor finds a fault by the equations of the arm, and how often it sees one in a clean log.

`python -m benchmarks.doctor_model_rates COUNT [SEED] [FAULT…]` prints both, COUNT logs a cell; `clean` is no fault.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dynid.chain import Robot, load_robot
from dynid.errors import DynidError
from dynid.review import Severity, review_log
from tests.review.doctor_faults import limited_arm
from tests.review.model_faults import FAULTS, clean_log, varied_log
from tests.robots import random_robot

__all__ = ["CleanLog", "FaultRow", "clean_logs", "fault_row", "robots"]


class FaultRow(NamedTuple):
    """One fault on one robot."""

    fault: str
    robot: str
    n_logs: int
    named: int
    """Logs with the right code."""
    wrong: int
    """Logs with a warning or error of another code."""
    remarks: tuple[str, ...]
    """Which logs were not named, or also called otherwise, and how."""


class CleanLog(NamedTuple):
    """A clean log and what is said of it."""

    number: int
    robot: str
    source: str
    said: tuple[str, ...]
    """Code and evidence of every finding."""


def robots() -> dict[str, Robot]:
    """The robots whose figures are promised: the UR10e where its file is there."""
    found = {"panda": load_robot("panda"), "wam7": load_robot("wam7")}
    folder = os.environ.get("DYNID_DATA")
    if folder and (Path(folder) / "ur10e" / "ur10e.urdf").is_file():
        found["ur10e"] = load_robot(str(Path(folder) / "ur10e" / "ur10e.urdf"))
    return found


def fault_row(fault: str, label: str, n_logs: int, *, seed: int) -> FaultRow:
    """A fault at `n_logs` random strengths on logs of one robot."""
    robot, kind = robots()[label], FAULTS[fault]
    n_named = n_wrong = 0
    remarks = []
    for k in range(n_logs):
        rng = np.random.default_rng([seed, k, sum(map(ord, fault)), sum(map(ord, label))])
        found = review_log(robot, kind.spoil(clean_log(robot, rng, longest=40.0), rng))
        named = any(kind.named_by(finding) for finding in found)
        wrong = any(not kind.named_by(finding) and finding.severity is not Severity.INFO for finding in found)
        n_named += named
        n_wrong += wrong
        if wrong or not named:
            remarks.append(f"{k}: {', '.join(finding.code for finding in found) or 'nothing'}")
    return FaultRow(fault, label, n_logs, n_named, n_wrong, tuple(remarks))


def clean_logs(n_logs: int, *, seed: int) -> Iterator[CleanLog]:
    """Logs of built-in robots, the UR10e, and random arms of 2 to 7 joints, sliding and branching ones too."""
    named = [*robots().values(), load_robot("planar2r"), load_robot("spatial2r")]
    for k in range(n_logs):
        rng = np.random.default_rng([seed, k])
        turn = k % (len(named) + 3)
        n_dof = int(rng.integers(2, 8))
        random = random_robot if turn == len(named) else limited_arm
        robot = named[turn] if turn < len(named) else random(rng, n_dof)
        try:
            log = varied_log(robot, rng).recording
        except DynidError:
            continue  # a random arm that its controller cannot hold
        said = tuple(f"{finding.code} ({finding.evidence})" for finding in review_log(robot, log))
        yield CleanLog(k, robot.name, log.source, said)


def main(arguments: list[str]) -> None:
    """Print the figures, one line a cell."""
    count, seed = (int(text) for text in [*arguments[:2], *("20", "0")[len(arguments[:2]) :]])
    wanted = arguments[2:] or ["clean", *FAULTS]
    if "clean" in wanted:
        logs = list(clean_logs(count, seed=seed))
        talked = [log for log in logs if log.said]
        sys.stdout.write(f"clean logs, seed {seed}: {len(talked)} of {len(logs)} with a finding\n")
        for log in talked:
            sys.stdout.write(f"    {log.number} {log.robot}, {log.source}: {'; '.join(log.said)}\n")
    for fault in FAULTS:
        for label in robots() if fault in wanted else ():
            row = fault_row(fault, label, count, seed=seed)
            sys.stdout.write(f"{row.fault:28s} {row.robot:8s} named {row.named} of {row.n_logs}, wrong {row.wrong}")
            sys.stdout.write(f"   {'; '.join(row.remarks)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
