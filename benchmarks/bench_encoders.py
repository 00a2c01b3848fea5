"""A light servo arm with coarse encoders: bias of rotor inertias, coverage, and error on another motion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks import Item, Line
from dynid import InertialParameters, Motion, TorqueModel, base_parameters, load_robot
from dynid.arrays import Array
from dynid.chain.robot import Robot
from dynid.dynamics import RotorInertia, friction_models
from dynid.recording import Conditioning, Recording
from dynid.recording.conditioning import Plan
from dynid.regression import WLS, SampleRows, compress
from dynid.validation import compare_torque

N_DRAWS = 30
LIGHTER = 0.08
"""Masses over those of the WAM, whose kinematics the servo arm has."""
JOINT_TERMS = np.array([0.03, 0.1, 0.15, 0.02])
"""Rotor inertia (kg·m²), viscous (N·m·s/rad) and Coulomb friction, offset (N·m)."""


@dataclass(frozen=True, kw_only=True)
class Servo:
    """What a servo logs."""

    bits: int = 12
    """Of one turn."""
    rate_hz: float = 100.0
    speed: float = 0.5
    """rad/s, largest of every joint."""
    seconds: float = 40.0
    noise: float = 0.02
    """Of the torque, relative to its RMS."""
    base_hz: float = 0.1
    """Fundamental of the motion; five harmonics."""


def servo_arm() -> Robot:
    """The kinematics of the WAM with light links."""
    robot = load_robot("wam7")
    links = {}
    for name, pi in zip(robot.link_names, robot.nominal, strict=True):
        body = InertialParameters(pi)
        links[name] = InertialParameters.from_com(LIGHTER * body.mass, body.com, LIGHTER * body.inertia_com)
    return robot.with_nominal(links)


def motion_of(robot: Robot, servo: Servo, rng: np.random.Generator) -> Motion:
    """Five harmonics of random phase, each joint as fast as asked."""
    t = np.arange(round(servo.seconds * servo.rate_hz)) / servo.rate_hz
    omega = 2.0 * np.pi * servo.base_hz * np.arange(1, 6)
    angle = t[:, None, None] * omega + rng.uniform(0.0, 2.0 * np.pi, (robot.n_dof, 5))
    size = rng.uniform(0.5, 1.0, (robot.n_dof, 5)) / omega
    size *= servo.speed / np.max(np.abs(np.sum(size * omega * np.cos(angle), axis=2)), axis=0)[:, None]
    q, dq = np.sum(size * np.sin(angle), axis=2), np.sum(size * omega * np.cos(angle), axis=2)
    return Motion(t, q, dq, -np.sum(size * omega**2 * np.sin(angle), axis=2))


def truth_of(robot: Robot, rng: np.random.Generator) -> tuple[TorqueModel, Array]:
    """The arm with rotors and friction, and all its parameters."""
    model = TorqueModel(robot, (RotorInertia(), *friction_models("viscous+coulomb+offset")))
    theta = model.nominal()
    theta[model.n_inertial :] = (rng.uniform(0.7, 1.3, (robot.n_dof, 4)) * JOINT_TERMS).ravel()
    return model, theta


def log_of(model: TorqueModel, theta: Array, servo: Servo, rng: np.random.Generator) -> Recording:
    """Positions in whole steps, torque with noise, no velocities."""
    motion = motion_of(model.robot, servo, rng)
    tau = model.torque(motion, theta)
    tau = tau + servo.noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    step = 2.0 * np.pi / 2**servo.bits
    return Recording(model.robot.joint_names, motion.t, np.round(motion.q / step) * step, tau=tau)


@dataclass(frozen=True, eq=False)
class Draw:
    """One identification beside the truth."""

    bias: Array
    """Of the rotor inertias that show by themselves, relative."""
    held: Array
    """Which base parameters lie within 1.96 σ."""
    error_percent: float
    """On another motion, logged alike."""


def draw(servo: Servo, seed: int, *, as_before: bool = False) -> Draw:
    """Fit one log and predict another; `as_before` with the filter for fine encoders."""
    rng = np.random.default_rng(seed)
    model, theta = truth_of(servo_arm(), rng)
    base = base_parameters(model)
    beta = base.project(theta)
    fitted, unseen = (log_of(model, theta, servo, rng) for _ in range(2))

    def plan(log: Recording) -> Plan:
        chosen = Conditioning().plan(log)
        return replace(chosen, motion_cutoff_hz=np.inf, min_velocity=0.0) if as_before else chosen

    estimate = WLS().fit(compress(SampleRows(model, base, (plan(fitted).apply(fitted),))))
    rotors = [k for k, name in enumerate(base.leading) if name.startswith("Ia")]
    error = compare_torque(model, base.lift(estimate.beta), plan(unseen).apply(unseen)).error.relative_percent
    held = np.abs(estimate.beta - beta) <= 1.96 * estimate.std
    return Draw((estimate.beta / beta - 1.0)[rotors], held, error)


SERVOS = {
    "12 bit, 100 Hz, 0.5 rad/s": Servo(),
    "the same, 20 s": Servo(seconds=20.0),
    "the same, motion twice as fast": Servo(base_hz=0.2, speed=1.0),
    "10 bit": Servo(bits=10),
    "16 bit": Servo(bits=16),
}


def run(*, quick: bool = False) -> Iterator[Item]:
    """The servo of the findings with its targets, others beside it."""
    n_draws = 2 if quick else N_DRAWS
    for number, (name, servo) in enumerate(SERVOS.items()):
        for as_before in (False, True):
            draws = [draw(servo, seed, as_before=as_before) for seed in range(n_draws)]
            what = f"{name}{', filter for fine encoders' if as_before else ''}"
            asked = number == 0 and not as_before
            bias = 100.0 * float(np.mean([d.bias for d in draws]))
            yield Line(f"{what}: mean bias of rotor inertias", abs(bias), 1.0 if asked else None, "%", "at most")
            held = 100.0 * float(np.mean([d.held for d in draws]))
            yield Line(f"{what}: base parameters within 1.96 σ", held, 90.0 if asked else None, "%")
            error = float(np.mean([d.error_percent for d in draws]))
            yield Line(f"{what}: error on another motion", error, 1.3 if asked else None, "%", "at most")
        if quick:
            return
