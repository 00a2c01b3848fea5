"""The doctor: how often each fault is named, how often a clean log is, and how long a look takes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks import Item, Line, Note, doctor_model_rates
from dynid.recording import RawLog, Recording
from dynid.review import CHECKS, Check, Look, overlap_findings
from dynid.review.checks.table import SIGNAL_CHECKS
from dynid.review.examination import run_checks
from tests.review.doctor_faults import FAULTS, clean_case, other_cut, robots, spoilt
from tests.review.model_faults import FAULTS as MODEL_FAULTS

N_SPOILT = 24
"""Random corruptions of each fault that signals show; every robot has its turn."""
N_MODEL = 4
"""The same of each fault that the equations show, on each of three robots."""
N_CLEAN = 120
SEED = 5000


def run(*, quick: bool = False) -> Iterator[Item]:
    """Faults in simulated logs of built-in and random arms; clean logs; and time."""
    n_robots, n_spoilt = len(robots()), 1 if quick else N_SPOILT
    for name, fault in FAULTS.items():
        named = 0
        for k in range(n_spoilt):
            case, raw = spoilt(name, SEED + k, index=k % n_robots)
            codes = {finding.code for finding in run_checks(Look.at(case.robot, raw), SIGNAL_CHECKS).findings}
            named += bool(codes & set(fault.codes))
        yield Line(f"{name}, named", 100.0 * named / n_spoilt, 95.0, "%")
    yield Line("the same log, cut and re-saved, named", 100.0 * same_logs(n_robots, n_spoilt), 95.0, "%")
    n_model = 1 if quick else N_MODEL
    arms = doctor_model_rates.robots()
    for name in list(MODEL_FAULTS)[:: 8 if quick else 1]:
        cells = [doctor_model_rates.fault_row(name, label, n_model, seed=SEED) for label in arms]
        share = sum(cell.named for cell in cells) / sum(cell.n_logs for cell in cells)
        yield Line(f"{name}, named ({', '.join(arms)})", 100.0 * share, 95.0, "%")
    logs = list(doctor_model_rates.clean_logs(2 if quick else N_CLEAN, seed=SEED))
    yield Line(
        "clean logs with any finding", 100.0 * sum(bool(log.said) for log in logs) / len(logs), 2.0, "%", "at most"
    )
    for log in logs:
        if log.said:
            yield Note(f"of clean log {log.number}, {log.robot}, {log.source}: {'; '.join(log.said)}")
    yield Line("signals of 20 s of a Panda at 1 kHz", seconds(SIGNAL_CHECKS), 0.3, "s", bound="at most")
    yield Line("everything in 20 s of a Panda at 1 kHz", seconds(CHECKS), 3.0, "s", bound="at most")


def same_logs(n_robots: int, n_logs: int) -> float:
    """Share of copies that are recognised."""
    found = 0
    for k in range(n_logs):
        case = clean_case(6000 + k, index=k % n_robots)
        found += bool(list(overlap_findings(other_cut(case, np.random.default_rng(k)), [case.log])))
    return found / n_logs


def seconds(checks: Sequence[Check]) -> float:
    """CPU time of some checks of a long log, the best of three."""
    case = clean_case(1, index=0, velocity="measured")
    n = 20_000
    t = np.arange(n) / 1000.0
    values = {
        name: np.column_stack([np.interp(t, case.log.t, c) for c in getattr(case.log, name).T])
        for name in case.log.signals
    }
    values = {name: v + 1e-6 * np.random.default_rng(0).normal(size=v.shape) for name, v in values.items()}
    log = RawLog.of(Recording(case.log.joint_names, t, values["q"], dq=values["dq"], tau=values["tau"]))
    best = np.inf
    for _ in range(3):
        began = time.process_time()
        run_checks(Look.at(case.robot, log), checks)
        best = min(best, time.process_time() - began)
    return best
