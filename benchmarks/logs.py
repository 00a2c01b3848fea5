"""The robots and logs that benchmarks share: simulated always, measured where DYNID_DATA names their folder."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import Note
from dynid import InertialParameters, Motion, TorqueModel, load_robot
from dynid.arrays import Array
from dynid.chain.robot import Robot
from dynid.dynamics import Drives, friction_models
from dynid.recording import Conditioning, Recording, Samples, Segment, read_recording
from dynid.writers.urdf import urdf_text

FRICTION = "viscous+coulomb+offset"
PANDA_SPLIT = 14.0
"""s of the Panda log that are fitted; the rest is held out."""


@dataclass(frozen=True, eq=False)
class Case:
    """A robot, what it is fitted on, and what it is judged by."""

    name: str
    robot: Robot
    train: Samples
    held_out: Samples

    @property
    def model(self) -> TorqueModel:
        """Links with viscous and Coulomb friction and offset."""
        return TorqueModel(self.robot, friction_models(FRICTION))


def cases(*, quick: bool) -> Iterator[Case | Note]:
    """Every case that can be run here, and a sentence where some cannot."""
    yield simulated(500 if quick else 5000)
    data = os.environ.get("DYNID_DATA")
    if quick:
        return
    if not data:
        yield Note("measured logs skipped: DYNID_DATA does not name their folder")
        return
    yield panda(Path(data) / "panda")
    yield ur10e(Path(data) / "ur10e")


def through_urdf(robot: Robot) -> tuple[str, Robot]:
    """A robot as a URDF document, and as dynid reads that: a peer that reads it has the same frames and parameters."""
    text = urdf_text(robot, tuple(InertialParameters(pi) for pi in robot.nominal))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_text(text, encoding="utf-8")
        # Pinocchio's, and so the peers', gravity.
        return text, load_robot(path).with_gravity(np.array([0.0, 0.0, -9.81]))


def simulated(n_samples: int) -> Case:
    """The Panda 20 % heavier than its file says, with friction and 1 N·m of white noise at 250 Hz; two motions."""
    robot = through_urdf(load_robot("panda"))[1]
    model = TorqueModel(robot, friction_models(FRICTION))
    theta = 1.2 * model.nominal()
    theta[model.n_inertial :] = 0.3

    def log(seed: int) -> Samples:
        rng = np.random.default_rng(seed)
        t = np.arange(n_samples) / 250.0
        omega = 2.0 * np.pi * 0.15 * np.arange(1, 6)
        phase, amplitude = rng.uniform(0.0, 2.0 * np.pi, (7, 5)), rng.uniform(0.05, 0.15, (7, 5))
        angle = t[:, None, None] * omega + phase
        middle = np.array([0.5 * (joint.limits.lower + joint.limits.upper) for joint in robot.joints])
        q = middle + np.sum(amplitude * np.sin(angle), axis=2)
        dq = np.sum(amplitude * omega * np.cos(angle), axis=2)
        ddq = -np.sum(amplitude * omega**2 * np.sin(angle), axis=2)
        motion = Motion(t, q, dq, ddq)
        tau = model.torque(motion, theta) + rng.normal(size=q.shape)
        recording = Recording(robot.joint_names, t, q, dq=dq, ddq=ddq, tau=tau, source=f"simulated {seed}")
        return unfiltered(recording, motion, tau)

    return Case("simulated Panda", robot, log(1), log(2))


def unfiltered(recording: Recording, motion: Motion, tau: Array) -> Samples:
    """Samples that are taken as they are."""
    plan = Conditioning(cutoff_hz=np.inf, rate_hz=recording.rate_hz).plan(recording)
    return Samples(recording.joint_names, (Segment(motion, tau),), plan)


def panda(folder: Path) -> Case:
    """The published excitation log: fitted on its first 14 s, judged by the rest."""
    robot = through_urdf(load_robot("panda"))[1]
    log = read_recording(folder / "excitation_log.csv.gz", robot.joint_names)
    split = float(log.t[0]) + PANDA_SPLIT
    plan = Conditioning().plan(log)
    return Case("Panda log", robot, plan.apply(log.part(t_until=split)), plan.apply(log.part(split)))


def ur10e(folder: Path) -> Case:
    """Two logs of one arm, currents times the controller's constants: fitted on 30s12h, judged by 20s8h."""
    facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    file = load_robot(folder / "ur10e.urdf")
    drives = Drives.of(file, np.array(facts["torque_constants"]["controller_Nm_per_A"]))

    def torque(name: str) -> Recording:
        log = read_recording(folder / f"{name}.csv.gz", file.joint_names)
        assert log.current is not None
        return Recording(log.joint_names, log.t, log.q, dq=log.dq, tau=drives.joint_torque(log.current), source=name)

    train = torque("30s12h")
    plan = Conditioning().plan(train)
    like = Conditioning(cutoff_hz=plan.low_pass.cutoff_hz)
    unseen = torque("20s8h")
    return Case("UR10e logs", through_urdf(file)[1], plan.apply(train), like.plan(unseen).apply(unseen))


def instants(samples: Samples) -> Samples:
    """The same log as states and low-passed torques at the instants that are fitted, with nothing left to filter.

    Every program then has the same rows, whether it filters the columns of its regressor or not.
    """
    low_pass, every = samples.plan.low_pass, samples.plan.every
    pieces = []
    for segment in samples.segments:
        tau = low_pass.thinned(segment.tau, every)
        at = low_pass.half_length + every * np.arange(len(tau))
        moved = segment.motion
        pieces.append((moved.t[at], moved.q[at], moved.dq[at], moved.ddq[at], tau))
    t, q, dq, ddq, tau = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    recording = Recording(samples.joint_names, t, q, dq=dq, ddq=ddq, tau=tau, source=samples.source)
    plan = replace(unfiltered(recording, Motion(t, q, dq, ddq), tau).plan, every=1)
    return Samples(samples.joint_names, (Segment(Motion(t, q, dq, ddq), tau),), plan)
