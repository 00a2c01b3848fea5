"""Friction curves: how long a fit takes, and how well measured arms are predicted, weighed and calibrated."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks import Item, Line, Note
from dynid import TorqueModel, base_parameters, load_robot
from dynid.dynamics import FRICTION, Drives, Motion, RotorInertia
from dynid.recording import Conditioning, Recording, Samples, read_recording
from dynid.regression import (
    Feasible,
    Reverse,
    SampleRows,
    choose_friction,
    compress,
    fit_friction,
    friction_rows,
    identify_gains,
    identify_payload,
    read_controller_samples,
)
from dynid.validation import compare_torque

N_SAMPLES = 20_000
MODELS = (*FRICTION, "viscous+coulomb+offset", "viscous+tanh+load")


def run(*, quick: bool = False) -> Iterator[Item]:
    """Times on simulated motion; figures of the measured arms where DYNID_DATA names their folder."""
    yield from times(2_000 if quick else N_SAMPLES, ["viscous+coulomb+offset"] if quick else MODELS)
    data = os.environ.get("DYNID_DATA")
    if quick:
        return
    yield from measured(Path(data)) if data else [Note("measured arms skipped: DYNID_DATA does not name their folder")]


def times(n_samples: int, names: Sequence[str]) -> Iterator[Line]:
    """Seconds to fit each friction model on samples of 7 joints, together with the links."""
    robot = load_robot("panda")
    rng = np.random.default_rng(0)
    t = np.arange(n_samples) / 1000.0
    omega = 2.0 * np.pi * 0.2 * np.arange(1, 6)
    phase, amplitude = rng.uniform(0.0, 6.3, (7, 5)), rng.uniform(0.02, 0.1, (7, 5))
    angle = t[:, None, None] * omega + phase
    q = np.sum(amplitude * np.sin(angle), axis=2)
    dq = np.sum(amplitude * omega * np.cos(angle), axis=2)
    ddq = -np.sum(amplitude * omega**2 * np.sin(angle), axis=2)
    rigid = TorqueModel(robot)
    base = base_parameters(rigid)
    tau = rigid.torque(Motion(t, q, dq, ddq), rigid.nominal()) + 0.5 * np.tanh(dq / 0.05) + 0.1 * dq
    tau += 0.02 * rng.normal(size=tau.shape)
    samples = conditioned(Recording(robot.joint_names, t, q, dq=dq, tau=tau))
    for name in names:
        # The better of two: the first may compile, and other work on the machine counts in neither.
        seconds = np.inf
        for _ in range(2):
            started = time.perf_counter()
            choose_friction(friction_rows(rigid, base, (samples,)), name)
            seconds = min(seconds, time.perf_counter() - started)
        yield Line(f"friction {name}, {n_samples} samples × 7 joints", seconds, 5.0, "s", bound="at most")


def conditioned(recording: Recording, like: Samples | None = None) -> Samples:
    """Default conditioning, with the low-pass of another log where one is given."""
    cutoff = None if like is None else like.plan.low_pass.cutoff_hz
    return Conditioning(cutoff_hz=cutoff).plan(recording).apply(recording)


def measured(data: Path) -> list[Line]:
    """The figures on the UR10e and Panda logs."""
    facts = json.loads((data / "ur10e" / "facts.json").read_text())
    arm = load_robot(str(data / "ur10e" / "ur10e.urdf"))
    gains = np.array(facts["torque_constants"]["controller_Nm_per_A"])
    logs = {n: read_recording(data / "ur10e" / f"{n}.csv.gz", arm.joint_names) for n in facts["logs"]}
    drives = Drives.of(arm, gains)

    def torque(name: str) -> Recording:
        log = logs[name]
        assert log.current is not None
        return Recording(arm.joint_names, log.t, log.q, dq=log.dq, tau=drives.joint_torque(log.current), source=name)

    def searched(samples: Samples) -> TorqueModel:
        rigid = TorqueModel(arm, (RotorInertia(),))
        choice = choose_friction(friction_rows(rigid, base_parameters(rigid), (samples,)), "auto")
        return TorqueModel(arm, (RotorInertia(), *choice.models))

    train = conditioned(torque("30s12h"))
    model = searched(train)
    base = base_parameters(model)
    theta = Feasible().fit(compress(SampleRows(model, base, (train,)))).theta
    assert theta is not None
    unseen = conditioned(torque("20s8h"), train)
    total = compare_torque(model, theta, unseen).error.relative_percent
    raw = compare_torque(model, theta, unseen, raw=True).error.relative_percent_joint
    authors = facts["published_pc_ols"]["relative_error_raw_percent_20s8h"]
    lines = [Line("UR10e, unseen 20s8h, --friction auto (authors 7.33)", total, 4.2, "%", bound="at most")]
    for name, ours, theirs in zip(arm.joint_names, raw, authors, strict=True):
        lines.append(Line(f"  {name}, unfiltered torque (authors {theirs})", float(ours), None, "%"))
    empty = conditioned(torque("14h"))
    model = searched(empty)
    load = identify_payload(model, base_parameters(model), (conditioned(torque("14hLoad"), empty),), unloaded=(empty,))
    lines.append(Line("UR10e, error of the 2.805 kg load", 100 * abs(load.mass / 2.805 - 1), 1.0, "%", bound="at most"))
    found = identify_gains(arm, logs["14hLoad"], logs["14h"], 2.805, drives=(RotorInertia(),)).gains
    off = 100 * np.abs(found / gains - 1)
    lines.append(Line("UR10e, drive gains of joints 2 and 3", float(off[[1, 2]].max()), 4.0, "%", bound="at most"))
    lines.append(Line("UR10e, drive gains of the others", float(off[[0, 3, 4, 5]].max()), 8.0, "%", bound="at most"))
    return [*lines, *panda(data)]


def panda(data: Path) -> list[Line]:
    """Relative error of the reverse model on the excitation log, without and with sigmoidal friction."""
    robot = load_robot("panda")
    model = TorqueModel(robot)
    base = base_parameters(model)
    controller = read_controller_samples(data / "panda" / "controller_model_1010.csv.gz", 7)
    theta = base.lift(Reverse().fit(model, base, controller).estimate.beta)
    log = read_recording(data / "panda" / "excitation_log.csv.gz", robot.joint_names)
    found = fit_friction(model, theta, (conditioned(log),), "sigmoid")
    return [
        Line("Panda, reverse model without friction", found.without.relative_percent, None, "%"),
        Line("Panda, reverse model with sigmoids", found.fit.relative_percent, None, "%"),
    ]
