"""How often the model-based checks of a log find a fault, call it by another name, or see one in a clean log."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dynid.chain import Robot, load_robot
from dynid.recording import Severity
from dynid.recording.doctor.model import model_findings
from tests.recording.model_faults import FAULTS, clean_log
from tests.robots import random_robot

__all__ = ["CleanRow", "FaultRow", "clean_rows", "fault_rows", "robots"]


class FaultRow(NamedTuple):
    """One fault on one robot."""

    fault: str
    robot: str
    n_logs: int
    detected: float
    """Share of logs with the right code."""
    wrong: float
    """Share of logs with a warning or error of another code."""


class CleanRow(NamedTuple):
    """Clean logs of one robot."""

    robot: str
    n_logs: int
    false: float
    """Share of logs with any finding but an informative one on excitation."""
    codes: tuple[str, ...]
    """What was found, every time."""


def robots() -> dict[str, Robot]:
    """The robots whose figures are promised: the UR10e where its file is there."""
    found = {"panda": load_robot("panda"), "wam7": load_robot("wam7")}
    folder = os.environ.get("DYNID_DATA")
    if folder and (Path(folder) / "ur10e" / "ur10e.urdf").is_file():
        found["ur10e"] = load_robot(str(Path(folder) / "ur10e" / "ur10e.urdf"))
    return found


def fault_rows(n_logs: int = 50, *, seed: int = 0, faults: tuple[str, ...] = tuple(FAULTS)) -> list[FaultRow]:
    """The share of faults found, fault by fault and robot by robot."""
    rows = []
    for name in faults:
        for label, robot in robots().items():
            detected = wrong = 0
            for k in range(n_logs):
                rng = np.random.default_rng([seed, k, sum(map(ord, name)), sum(map(ord, label))])
                spoiled = FAULTS[name].spoil(clean_log(robot, rng, longest=40.0), rng)
                found = model_findings(robot, spoiled)
                detected += any(finding.code in FAULTS[name].codes for finding in found)
                others = [f for f in found if f.code not in FAULTS[name].codes and f.severity is not Severity.INFO]
                wrong += bool(others)
                if "-v" in sys.argv and (others or not any(f.code in FAULTS[name].codes for f in found)):
                    sys.stderr.write(f"{name} {label} {k}: {[f.code for f in found]}\n")
            rows.append(FaultRow(name, label, n_logs, detected / n_logs, wrong / n_logs))
    return rows


def clean_rows(n_logs: int = 50, *, seed: int = 1, n_random: int = 20) -> list[CleanRow]:
    """The share of clean logs with a finding: promised robots, and random arms of 2 to 7 joints, prismatic ones too."""
    rng = np.random.default_rng(seed)
    arms: Mapping[str, list[Robot]] = {
        **{label: [robot] for label, robot in robots().items()},
        "random arms": [random_robot(rng, int(n)) for n in rng.integers(2, 8, n_random)],
    }
    rows = []
    for label, choice in arms.items():
        codes: list[str] = []
        false = 0
        for k in range(n_logs):
            robot = choice[k % len(choice)]
            draw = np.random.default_rng([seed, k, sum(map(ord, label))])
            log = clean_log(robot, draw).recording
            found = [f for f in model_findings(robot, log) if f.code != "unexcited"]
            false += bool(found)
            codes += [f.code for f in found]
            if "-v" in sys.argv and found:
                sys.stderr.write(f"clean {label} {k} {robot.name}: {[(f.code, f.evidence) for f in found]}\n")
        rows.append(CleanRow(label, n_logs, false / n_logs, tuple(codes)))
    return rows


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    for clean in clean_rows(count):
        sys.stdout.write(f"clean {clean.robot:14s} {clean.n_logs:4d} logs  false {clean.false:.3f}  {clean.codes}\n")
        sys.stdout.flush()
    wanted = tuple(name for name in FAULTS if len(sys.argv) < 3 or sys.argv[2] in ("-v", name))
    for row in fault_rows(count, faults=wanted):
        sys.stdout.write(
            f"{row.fault:28s} {row.robot:8s} {row.n_logs:4d} logs  found {row.detected:.2f}  wrong {row.wrong:.2f}\n"
        )
        sys.stdout.flush()
