"""The doctor: how often each fault is named, how often a clean log is, and how long a look takes."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np

from benchmarks import Line
from dynid.recording import RawLog, Recording
from dynid.recording.doctor.overlap import overlap_findings
from dynid.recording.doctor.signals import signal_findings
from tests.recording.doctor_faults import FAULTS, clean_case, other_cut, robots, spoilt

N_SPOILT = 50
"""Random corruptions of each fault; every robot has its turn."""
N_CLEAN = 200


def run() -> list[Line]:
    """Faults that signals alone show, on simulated logs of built-in and random arms."""
    n_robots = len(robots())
    lines = []
    for name, fault in FAULTS.items():
        named = 0
        for k in range(N_SPOILT):
            case, raw = spoilt(name, 5000 + k, index=k % n_robots)
            codes = {finding.code for finding in signal_findings(case.robot, raw).findings}
            named += bool(codes & set(fault.codes))
        lines.append(Line(f"{name}, named", 100.0 * named / N_SPOILT, 95.0, "%"))
    lines.append(Line("the same log, cut and re-saved, named", 100.0 * same_logs(n_robots), 95.0, "%"))
    wrong: Counter[str] = Counter()
    n_wrong = 0
    for k in range(N_CLEAN):
        case = clean_case(7000 + k)
        codes = {finding.code for finding in signal_findings(case.robot, RawLog.of(case.log)).findings}
        n_wrong += bool(codes)
        wrong.update(codes)
    lines.append(Line("clean logs with any finding", 100.0 * n_wrong / N_CLEAN, 2.0, "%", bound="at most"))
    lines += [Line(f"  of which {code}", 100.0 * n / N_CLEAN, None, "%") for code, n in wrong.items()]
    return [*lines, Line("signals of 20 s of a Panda at 1 kHz", seconds(), 0.3, "s", bound="at most")]


def same_logs(n_robots: int) -> float:
    """Share of copies that are recognised."""
    found = 0
    for k in range(N_SPOILT):
        case = clean_case(6000 + k, index=k % n_robots)
        found += bool(list(overlap_findings(other_cut(case, np.random.default_rng(k)), [case.log])))
    return found / N_SPOILT


def seconds() -> float:
    """CPU time of a look at the signals of a long log, the best of three."""
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
        signal_findings(case.robot, log)
        best = min(best, time.process_time() - began)
    return best
