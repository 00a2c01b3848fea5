"""Clean logs of many kinds, and the faults that the model-based checks must find in them.

Ranges are what a practitioner meets; they are written beside each fault.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.chain import Robot
from dynid.chain.placement import rotation_about
from dynid.dynamics import Motion, TorqueModel, friction_models
from dynid.excitation.limits.motion_limits import MotionLimits
from dynid.excitation.ready_made import point_to_point
from dynid.recording import Recording
from dynid.review import Finding
from dynid.review.checks.columns import MisreadColumns
from dynid.simulation.closed_loop import Controller
from dynid.simulation.motions import MotionKind, smooth_motion
from dynid.simulation.sensors import Level, SensorModel
from dynid.simulation.synthetic import Synthetic, plausible_parameters, synthesise

FRICTION_KINDS = (
    "viscous+coulomb+offset",
    "viscous+coulomb+offset+stribeck",
    "viscous+tanh+offset",
    "viscous+presliding+offset",
)
"""What clean logs are made with; the checks know none of them in particular."""


def friction_parameters(model: TorqueModel, rng: np.random.Generator) -> Array:
    """Nominal inertias and friction of plausible size for any of `FRICTION_KINDS`, each joint a little different."""
    simple = TorqueModel(model.robot, friction_models("viscous+coulomb+offset"))
    known = dict(zip(simple.symbols, plausible_parameters(simple), strict=True))
    theta = np.zeros(model.n_params)
    theta[: model.n_inertial] = model.robot.nominal.ravel()
    for k in range(model.n_inertial, model.n_params):
        symbol = model.symbols[k]
        name, number = symbol.rstrip("0123456789_"), "".join(c for c in symbol if c.isdigit())
        if name == "fl":
            theta[k] = rng.uniform(0.02, 0.1)
            continue
        source = {"ft": "fc", "fd": "fc", "fs": "fc"}.get(name, name)
        share = rng.uniform(0.2, 0.8) if name == "fs" else rng.uniform(0.5, 2.0)
        theta[k] = share * known[f"{source}{number}"]
    return theta


def production_motion(robot: Robot, rng: np.random.Generator, rate_hz: float) -> Motion:
    """Moves from pose to pose with short pauses, as robots in production make."""
    slides = np.array([joint.type == "prismatic" for joint in robot.joints])
    # Where a robot file has no limits, no arm is faster than this.
    speed, acceleration = np.where(slides, 1.0, 3.0), np.where(slides, 4.0, 12.0)
    slowed = MotionLimits.of(robot, velocity=speed, acceleration=acceleration, margin=float(rng.uniform(0.05, 0.4)))
    n_poses, pause = int(rng.integers(12, 25)), float(rng.uniform(0.05, 0.3))
    trajectory = point_to_point(robot, n_poses=n_poses, pause=pause, limits=slowed, seed=int(rng.integers(2**31)))
    return trajectory.trajectory.motion(rate_hz)


def varied_log(robot: Robot, rng: np.random.Generator) -> Synthetic:
    """A log without a fault of any kind: Fourier, sines or point to point, open or closed loop, exact or noisy."""
    rate = float(rng.choice([100.0, 125.0, 200.0, 250.0, 500.0, 1000.0]))
    duration = float(rng.uniform(10.0, 25.0 if rate > 400.0 else 50.0))
    kind = str(rng.choice(["fourier", "fourier", "sinusoids", "point to point"]))
    closed = rng.random() < 0.2
    if closed:
        rate, duration = float(rng.choice([250.0, 500.0])), min(duration, 15.0)
    friction = str(rng.choice(FRICTION_KINDS[:1] if closed else (*FRICTION_KINDS, f"{FRICTION_KINDS[0]}+load")))
    if kind == "point to point":
        motion = production_motion(robot, rng, rate)
    else:
        shape: MotionKind = "fourier" if kind == "fourier" else "sinusoids"
        motion = smooth_motion(robot, rng, kind=shape, duration=duration, rate_hz=rate)
    if closed:
        motion = motion.part(0, min(motion.n_samples, int(15.0 * rate)))
    model = TorqueModel(robot, friction_models(friction))
    exact = rng.random() < 0.2
    sensors = SensorModel(
        q_noise=Level(absolute=0.0 if exact else float(10.0 ** rng.uniform(-6.0, -4.3))),
        dq_noise=Level(absolute=0.0 if exact else float(10.0 ** rng.uniform(-4.0, -2.5))),
        tau_noise=Level(relative=0.0 if exact else float(10.0 ** rng.uniform(-2.7, -1.3))),
        velocity=str(rng.choice(["measured", "measured", "differentiated", "none"])),  # type: ignore[arg-type]
        encoder_counts=float(2 ** rng.integers(15, 21)) if rng.random() < 0.3 else None,
        jitter=0.05 / rate if rng.random() < 0.3 else 0.0,
    )
    controller = Controller(natural_frequency=15.0) if closed else None
    source = f"{kind}, {'closed' if closed else 'open'} loop, {friction}, {rate:g} Hz, {'exact' if exact else 'noisy'}"
    theta = friction_parameters(model, rng)
    return synthesise(model, motion, rng, theta=theta, sensors=sensors, controller=controller, source=source)


def clean_log(robot: Robot, rng: np.random.Generator, *, longest: float = 60.0) -> Synthetic:
    """A log without a fault: 100 to 1000 Hz, 10 to 60 s, torque noise 0.2 to 5 %, any friction, some in closed loop."""
    rate = float(rng.choice([100.0, 125.0, 250.0, 500.0, 1000.0]))
    duration = float(rng.uniform(10.0, longest))
    closed = rng.random() < 0.2
    if closed:
        rate, duration = float(rng.choice([250.0, 500.0])), min(duration, 15.0)
    kind = FRICTION_KINDS[0 if closed else int(rng.integers(len(FRICTION_KINDS)))]
    motion = smooth_motion(
        robot, rng, kind="fourier" if rng.random() < 0.75 else "sinusoids", duration=duration, rate_hz=rate
    )
    model = TorqueModel(robot, friction_models(kind))
    sensors = SensorModel(
        q_noise=Level(absolute=float(10.0 ** rng.uniform(-6.0, -4.3))),
        dq_noise=Level(absolute=float(10.0 ** rng.uniform(-4.0, -2.5))),
        tau_noise=Level(relative=float(10.0 ** rng.uniform(-2.7, -1.3))),
        velocity=str(rng.choice(["measured", "measured", "differentiated", "none"])),  # type: ignore[arg-type]
        jitter=0.05 / rate if rng.random() < 0.3 else 0.0,
    )
    controller = Controller(natural_frequency=15.0) if closed else None
    return synthesise(model, motion, rng, theta=friction_parameters(model, rng), sensors=sensors, controller=controller)


@dataclass(frozen=True)
class Fault:
    """A way to spoil a log, and what the doctor may call it."""

    spoil: Callable[[Synthetic, np.random.Generator], Recording]
    codes: tuple[str, ...]
    """Any of these names the fault rightly."""
    ranges: str
    twin: str | None = None
    """Names it rightly where the finding says that the log does not tell the two apart."""

    def named_by(self, finding: Finding) -> bool:
        """Whether a finding is right."""
        unsure = isinstance(finding.measured, MisreadColumns) and bool(finding.measured.twin)
        return finding.code in self.codes or (finding.code == self.twin and unsure)


def torque_of(log: Synthetic, recording: Recording) -> Array:
    assert recording.tau is not None
    return recording.tau


def _with_tau(log: Synthetic, change: Array) -> Recording:
    return replace(log.recording, tau=torque_of(log, log.recording) + change)


def _signs(robot: Robot, joint: int) -> Array:
    signs = np.ones(robot.n_dof)
    signs[joint] = -1.0
    return signs


def _turned(recording: Recording, signs: Array) -> Recording:
    return replace(recording, q=recording.q * signs, dq=None if recording.dq is None else recording.dq * signs)


def _ordered(recording: Recording, order: Array) -> Recording:
    return replace(recording, q=recording.q[:, order], dq=None if recording.dq is None else recording.dq[:, order])


def _loaded(recording: Recording, scale: Array | float) -> Recording:
    assert recording.tau is not None
    return replace(recording, tau=recording.tau * scale)


def one_joint_in_other_units(log: Synthetic, rng: np.random.Generator) -> Recording:
    scale = np.ones(log.model.n_dof)
    factor = rng.choice([1000.0, 100.0 / rng.uniform(20.0, 300.0), 1.0 / rng.uniform(50.0, 160.0)])
    factor = 1000.0 if 0.4 < factor < 2.5 else factor
    # The last joint of some arms shares nothing with the others, so nothing in the log tells its scale.
    scale[int(rng.integers(log.model.n_dof - 1))] = factor
    return _loaded(log.recording, scale)


def all_joints_in_other_units(log: Synthetic, rng: np.random.Generator) -> Recording:
    gears = rng.uniform(50.0, 160.0, log.model.n_dof)
    return _loaded(log.recording, 1000.0 if rng.random() < 0.5 else 1.0 / gears)


def flipped_torque(log: Synthetic, rng: np.random.Generator) -> Recording:
    return _loaded(log.recording, _signs(log.model.robot, int(rng.integers(log.model.n_dof))))


def flipped_position(log: Synthetic, rng: np.random.Generator) -> Recording:
    return _turned(log.recording, _signs(log.model.robot, int(rng.integers(log.model.n_dof))))


def flipped_joint(log: Synthetic, rng: np.random.Generator) -> Recording:
    # A last link that is symmetric about its axis looks the same from both sides: not drawn.
    signs = _signs(log.model.robot, int(rng.integers(log.model.n_dof - 1)))
    return _loaded(_turned(log.recording, signs), signs)


def all_torques_flipped(log: Synthetic, rng: np.random.Generator) -> Recording:
    return _loaded(log.recording, -1.0)


def _shuffle(n_dof: int, rng: np.random.Generator) -> Array:
    if rng.random() < 0.5:
        order = np.arange(n_dof)
        a, b = rng.choice(n_dof, 2, replace=False)
        order[[a, b]] = order[[b, a]]
        return order
    order = rng.permutation(n_dof)
    return order if np.any(order != np.arange(n_dof)) else order[::-1].copy()


def permuted_torques(log: Synthetic, rng: np.random.Generator) -> Recording:
    order = _shuffle(log.model.n_dof, rng)
    return replace(log.recording, tau=torque_of(log, log.recording)[:, order])


def permuted_joints(log: Synthetic, rng: np.random.Generator) -> Recording:
    n_dof = log.model.n_dof
    order = np.arange(n_dof)[::-1].copy()
    if rng.random() < 0.75:
        order = np.arange(n_dof)
        a, b = rng.choice(n_dof, 2, replace=False)
        order[[a, b]] = order[[b, a]]
    moved = _ordered(log.recording, order)
    return replace(moved, tau=torque_of(log, log.recording)[:, order])


def gravity_change(log: Synthetic, gravity: Array) -> Array:
    """What another gravity adds to the torques."""
    still = Motion.at_rest(log.motion.q)
    links = log.theta[: log.model.n_inertial]
    robot = log.model.robot
    other = TorqueModel(robot.with_gravity(gravity)).torque(still, links)
    return other - TorqueModel(robot).torque(still, links)


def without_gravity(log: Synthetic, rng: np.random.Generator) -> Recording:
    return _with_tau(log, gravity_change(log, np.zeros(3)))


def external_torque(log: Synthetic, rng: np.random.Generator) -> Recording:
    tau = torque_of(log, log.recording)
    swing = np.std(tau, axis=0) * rng.uniform(0.005, 0.05)
    n, step = len(tau), max(1, len(tau) // 200)
    slow = np.repeat(rng.normal(size=(n // step + 1, tau.shape[1])), step, axis=0)[:n]
    return replace(log.recording, tau=swing * (slow + rng.normal(size=tau.shape)))


def delay(log: Synthetic, rng: np.random.Generator) -> Recording:
    seconds = float(rng.choice([-1.0, 1.0]) * rng.uniform(2e-3, 40e-3))
    t, tau = log.recording.t, torque_of(log, log.recording)
    noise = tau - log.tau
    late = np.column_stack([np.interp(t - seconds, t, column) for column in log.tau.T])
    return replace(log.recording, tau=late + noise)


def tilt(log: Synthetic, rng: np.random.Generator) -> Recording:
    angle, around = np.radians(rng.uniform(3.0, 45.0)), rng.uniform(0.0, 2.0 * np.pi)
    own = log.model.robot.gravity
    across = np.cross(own, [1.0, 0.3, 0.2])
    axis = rotation_about(own / np.linalg.norm(own), around) @ (across / np.linalg.norm(across))
    return _with_tau(log, gravity_change(log, rotation_about(axis, angle) @ own))


def tip_load(log: Synthetic, rng: np.random.Generator) -> Array:
    """Torque of a load at the last link: 3 to 15 % of the arm's mass, centre of mass 2 to 15 cm from its frame."""
    mass = rng.uniform(0.03, 0.15) * float(np.sum(log.model.robot.nominal[:, 0]))
    com = rng.normal(size=3)
    com *= rng.uniform(0.02, 0.15) / np.linalg.norm(com)
    tensor = mass * (0.05**2 * np.eye(3) + (com @ com) * np.eye(3) - np.outer(com, com))
    pi = np.array(
        [mass, *(mass * com), tensor[0, 0], tensor[0, 1], tensor[1, 1], tensor[0, 2], tensor[1, 2], tensor[2, 2]]
    )
    links = np.zeros((log.model.n_dof, 10))
    links[-1] = pi
    return TorqueModel(log.model.robot).torque(log.motion, links.ravel())


def payload(log: Synthetic, rng: np.random.Generator) -> Recording:
    return _with_tau(log, tip_load(log, rng))


def load_change(log: Synthetic, rng: np.random.Generator) -> Recording:
    t = log.recording.t
    after = t > t[0] + rng.uniform(0.2, 0.8) * (t[-1] - t[0])
    if rng.random() < 0.3:
        after = ~after
    return _with_tau(log, tip_load(log, rng) * after[:, None])


def contact(log: Synthetic, rng: np.random.Generator) -> Recording:
    """A push on a link: the torques of all joints before it, 10 to 50 % of their swing at least at one, 0.1 to 1 s."""
    t, tau = log.recording.t, torque_of(log, log.recording)
    length = rng.uniform(0.1, 1.0)
    start = rng.uniform(t[0] + 1.5, t[-1] - 1.5 - length)
    push = np.where((t > start) & (t < start + length), np.sin(np.pi * (t - start) / length), 0.0)
    n_pushed = int(rng.integers(2, log.model.n_dof + 1))
    size = rng.uniform(0.1, 0.5) * np.std(tau, axis=0) * rng.choice([-1.0, 1.0], log.model.n_dof)
    size *= rng.uniform(0.3, 1.0, log.model.n_dof) * (np.arange(log.model.n_dof) < n_pushed)
    return _with_tau(log, push[:, None] * size)


def drift(log: Synthetic, rng: np.random.Generator) -> Recording:
    """Friction that falls by 20 to 100 % of its value over the log, evenly or towards a warm state."""
    t = log.recording.t
    part = (t - t[0]) / (t[-1] - t[0])
    shape = 1.0 - part if rng.random() < 0.5 else np.exp(-3.0 * part)
    theta = np.array(log.theta)
    theta[: log.model.n_inertial] = 0.0
    constant = [k for k, symbol in enumerate(log.model.symbols) if symbol.startswith("fo")]
    theta[constant] = 0.0
    friction = log.model.joint_torque(log.motion, theta)
    return _with_tau(log, rng.uniform(0.2, 1.0) * shape[:, None] * friction)


FAULTS: dict[str, Fault] = {
    "torque units, one joint": Fault(
        one_joint_in_other_units, ("torque-units",), "N·mm; percent of 20–300 N·m; motor side, 1/50–1/160; not the last"
    ),
    "torque units, all joints": Fault(
        all_joints_in_other_units, ("torque-units",), "N·mm; motor side, 1/50–1/160 each"
    ),
    "torque flipped, one joint": Fault(flipped_torque, ("flipped-torque",), "any joint", "flipped-position"),
    "torque flipped, all joints": Fault(all_torques_flipped, ("flipped-torque",), ""),
    "position flipped": Fault(flipped_position, ("flipped-position",), "q and dq of any joint", "flipped-torque"),
    "joint flipped": Fault(flipped_joint, ("flipped-joint",), "q, dq and tau of any joint but the last"),
    "torques permuted": Fault(permuted_torques, ("permuted-torques",), "a swap, or any permutation"),
    "joints permuted": Fault(permuted_joints, ("permuted-joints",), "any swap, or reversed"),
    "no gravity": Fault(without_gravity, ("torque-without-gravity",), ""),
    "external torque": Fault(external_torque, ("external-torque",), "0.5–5 % of the torque's swing"),
    "delay": Fault(delay, ("delay",), "2–40 ms, either way"),
    "tilted base": Fault(tilt, ("tilted-base",), "3–45°, any axis across gravity"),
    "payload": Fault(payload, ("payload",), "3–15 % of the arm's mass"),
    "load change": Fault(load_change, ("load-change",), "3–15 % of the arm's mass, at 20–80 % of the log"),
    "contact": Fault(contact, ("contact",), "3–50 % of the swing of 2 to all joints, 0.1–1 s"),
    "drift": Fault(drift, ("drift",), "20–100 % of friction"),
}
"""Faults by name."""
