"""Measured logs of public robots, and faults that are injected into them: what the doctor is calibrated on.

A fault is a change of the log, or of what the robot file says (its gravity), whose repair is known. Nothing of the data
is kept here: the logs are read from the folder that DYNID_DATA names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.chain import Robot, load_robot
from dynid.dynamics import BaseParameters, TorqueModel, base_parameters, friction_models
from dynid.recording import RawLog, Recording, read_recording
from dynid.recording.column_map_edits import apply_map
from dynid.recording.conditioning import Conditioning
from dynid.regression.least_squares import OLS
from dynid.regression.problem import compress
from dynid.regression.rows import SampleRows
from dynid.review import Finding, Severity
from dynid.review.checks.columns import MisreadColumns
from dynid.review.checks.delay import DelayedTorque
from dynid.review.checks.gravity import TiltedBase

Rng = np.random.Generator
RESTORED = 1.1
"""Error of a repaired log over that of the clean one that counts as repaired."""


@dataclass(frozen=True, eq=False)
class RealLog:
    """A measured log without a fault (SI), of a robot that is described rightly."""

    robot: Robot
    recording: Recording
    name: str

    @property
    def folder(self) -> str:
        """The data set."""
        return self.name.split("/")[0]


@lru_cache(maxsize=1)
def real_logs(data: Path) -> tuple[RealLog, ...]:
    """Every log of the data sets that are there; what is known to be wrong with one (med7: all signs) is put right."""
    found = []
    for folder, robot, names, sign in (
        ("panda", "panda", ("excitation_log",), 1.0),
        ("panda30", "panda", ("log",), 1.0),
        ("ur10e", "ur10e.urdf", ("30s12h", "20s8h", "14h", "14hLoad", "collision_free"), 1.0),
        ("ur10", "robot.urdf", ("log",), 1.0),
        ("lwr4", "robot.urdf", ("run1", "run2", "run3"), 1.0),
        ("kr300", "robot.toml", ("runA", "runB", "runC"), 1.0),
        ("med7", "robot.urdf", ("log",), -1.0),
    ):
        if not (data / folder).is_dir():
            continue
        arm = load_robot(robot if "." not in robot else str(data / folder / robot))
        for name in names:
            log = read_recording(data / folder / f"{name}.csv.gz", arm.joint_names)
            if log.current is not None:
                facts = json.loads((data / folder / "facts.json").read_text())
                gains = np.array(facts["torque_constants"]["controller_Nm_per_A"])
                log = replace(log, tau=log.current * gains, current=None)
            assert log.tau is not None
            found.append(RealLog(arm, replace(log, tau=sign * log.tau), f"{folder}/{name}"))
    return tuple(found)


def pieces(log: RealLog) -> Iterator[RealLog]:
    """The log, its halves, its middle, and its first 14 s."""
    t = log.recording.t
    start, end = float(t[0]), float(t[-1])
    middle, quarter = 0.5 * (start + end), 0.25 * (end - start)
    yield log
    for name, since, until in (
        ("first half", start, middle),
        ("last half", middle, end),
        ("middle", start + quarter, end - quarter),
        ("first 14 s", start, start + 14.0),
    ):
        if name != "first 14 s" or until < end - 1.0:
            yield replace(log, recording=log.recording.part(since, until), name=f"{log.name}, {name}")


@dataclass(frozen=True, eq=False)
class Spoilt:
    """A log with a fault, and the joints at fault; none where it is the whole log."""

    robot: Robot
    recording: Recording
    joints: tuple[str, ...] = ()


@dataclass(frozen=True)
class RealFault:
    """A kind of fault: how it gets into a log, and the codes that name it."""

    spoil: Callable[[RealLog, Rng], Spoilt]
    codes: tuple[str, ...]
    twins: tuple[str, ...] = ()
    """Codes that name it where the repair restores the log all the same: the log does not tell the two apart."""
    needs_velocity: bool = False

    def names(self, finding: Finding, spoilt: Spoilt) -> bool:
        """Whether a finding tells this fault at the right joint."""
        if finding.severity is Severity.INFO and finding.code != "delay":
            return False
        if finding.code not in (*self.codes, *self.twins):
            return False
        told = {finding.joint} if finding.joint else set(getattr(finding.measured, "joints", ()))
        if isinstance(finding.measured, MisreadColumns) and finding.measured.change == "negate all":
            told = set()
        pairs = getattr(finding.measured, "pairs", ())
        told |= {name for pair in pairs for name in pair}
        return told == set(spoilt.joints) or (not spoilt.joints and len(told) in (0, finding_size(spoilt)))


def finding_size(spoilt: Spoilt) -> int:
    """Joints of the robot: a finding about every joint is one about the log."""
    return spoilt.robot.n_dof


def _two(log: RealLog, rng: Rng) -> Array:
    order = np.arange(log.robot.n_dof)
    a, b = rng.choice(len(order), 2, replace=False)
    order[[a, b]] = order[[b, a]]
    return order


def _moved(log: RealLog, order: Array) -> tuple[str, ...]:
    return tuple(log.robot.joint_names[int(j)] for j in np.flatnonzero(order != np.arange(len(order))))


def _factor(log: RealLog, joint: int, factor: float) -> Array:
    factors = np.ones(log.robot.n_dof)
    factors[joint] = factor
    return factors


def _scaled(log: RealLog, **factors: Array | float) -> Recording:
    values = {name: getattr(log.recording, name) for name in factors}
    return replace(log.recording, **{name: v * factors[name] for name, v in values.items() if v is not None})


def _one(log: RealLog, rng: Rng, value: float, *signals: str, last: bool = True) -> Spoilt:
    j = int(rng.integers(log.robot.n_dof - (0 if last else 1)))
    factor = _factor(log, j, value)
    return Spoilt(log.robot, _scaled(log, **dict.fromkeys(signals, factor)), (log.robot.joint_names[j],))


def _all(log: RealLog, value: float, *signals: str) -> Spoilt:
    return Spoilt(log.robot, _scaled(log, **dict.fromkeys(signals, value)))


def _exchanged(log: RealLog, rng: Rng, *signals: str) -> Spoilt:
    order = _two(log, rng)
    values = {name: getattr(log.recording, name) for name in signals}
    moved = {name: v[:, order] for name, v in values.items() if v is not None}
    return Spoilt(log.robot, replace(log.recording, **moved), _moved(log, order))


def wall(log: RealLog, rng: Rng) -> Spoilt:
    """The robot file has gravity across: the arm hangs on a wall, or the file was made for one that does."""
    size = float(np.linalg.norm(log.robot.gravity))
    across = [axis for axis in (*np.eye(3), *-np.eye(3)) if abs(axis @ log.robot.gravity) < 1e-9 * size]
    return Spoilt(log.robot.with_gravity(size * across[int(rng.integers(len(across)))]), log.recording)


def ceiling(log: RealLog, rng: Rng) -> Spoilt:
    return Spoilt(log.robot.with_gravity(-log.robot.gravity), log.recording)


def late(log: RealLog, rng: Rng) -> Spoilt:
    t, tau = log.recording.t, log.recording.tau
    assert tau is not None
    seconds = float(rng.uniform(0.03, 0.06))
    return Spoilt(log.robot, replace(log.recording, tau=np.column_stack([np.interp(t - seconds, t, c) for c in tau.T])))


FLIPS = ("flipped-torque", "flipped-position")
FAULTS: dict[str, RealFault] = {
    "one torque flipped": RealFault(lambda log, rng: _one(log, rng, -1.0, "tau"), FLIPS[:1], FLIPS[1:]),
    "all torques flipped": RealFault(lambda log, rng: _all(log, -1.0, "tau"), ("flipped-torque",)),
    "one position flipped": RealFault(lambda log, rng: _one(log, rng, -1.0, "q", "dq"), FLIPS[1:], FLIPS[:1]),
    "one velocity flipped": RealFault(
        lambda log, rng: _one(log, rng, -1.0, "dq"), ("flipped-velocity",), needs_velocity=True
    ),
    "two torques exchanged": RealFault(lambda log, rng: _exchanged(log, rng, "tau"), ("permuted-torques",)),
    "two positions exchanged": RealFault(
        lambda log, rng: _exchanged(log, rng, "q", "dq"), ("permuted-positions",), ("permuted-torques",)
    ),
    "two joints exchanged": RealFault(lambda log, rng: _exchanged(log, rng, "q", "dq", "tau"), ("permuted-joints",)),
    "two velocities exchanged": RealFault(
        lambda log, rng: _exchanged(log, rng, "dq"), ("permuted-velocity",), needs_velocity=True
    ),
    "all in degrees": RealFault(lambda log, rng: _all(log, 180.0 / np.pi, "q", "dq"), ("degrees",)),
    "velocities in degrees": RealFault(
        lambda log, rng: _all(log, 180.0 / np.pi, "dq"), ("velocity-unit",), needs_velocity=True
    ),
    "velocities in rpm": RealFault(
        lambda log, rng: _all(log, 30.0 / np.pi, "dq"), ("velocity-unit",), needs_velocity=True
    ),
    "torques in N·mm": RealFault(lambda log, rng: _all(log, 1000.0, "tau"), ("torque-units",)),
    # The last joint of some arms shares nothing with the others, so nothing in the log tells its scale: not drawn.
    "one torque in N·mm": RealFault(lambda log, rng: _one(log, rng, 1000.0, "tau", last=False), ("torque-units",)),
    "on a wall": RealFault(wall, ("tilted-base",)),
    "upside down": RealFault(ceiling, ("tilted-base",)),
    "torque 30 to 60 ms late": RealFault(late, ("delay",)),
}
"""Sixteen kinds of fault by name."""


@lru_cache(maxsize=16)
def _model(source: str, robot: Robot) -> tuple[TorqueModel, BaseParameters]:
    model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
    return model, base_parameters(model)


def fit_error(robot: Robot, recording: Recording, *, delay: float = 0.0) -> float:
    """What least squares with usual friction leaves of the torque, %."""
    model, base = _model(f"{robot.name} {robot.gravity}", robot)
    samples = Conditioning(delay=delay).plan(recording).apply(recording)
    return float(OLS().fit(compress(SampleRows(model, base, (samples,)))).fit.relative_percent)


def repaired_error(spoilt: Spoilt, findings: tuple[Finding, ...]) -> float:
    """The same once every repair and setting that the findings print is followed, %."""
    raw, robot, delay = RawLog.of(spoilt.recording), spoilt.robot, 0.0
    for finding in findings:
        if finding.severity is Severity.INFO and finding.code != "delay":
            continue
        if finding.repair is not None:
            raw = apply_map(finding.repair, raw)
        elif isinstance(finding.measured, TiltedBase):
            robot = robot.with_gravity(finding.measured.gravity)
        elif isinstance(finding.measured, DelayedTorque):
            delay = finding.measured.seconds
    return fit_error(robot, raw.recording(), delay=delay)
