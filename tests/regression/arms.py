"""Simulated arms with known friction, for the batteries of friction, payload and drive tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array
from dynid.chain import INERTIAL_NAMES, InertialParameters, Robot, load_robot
from dynid.dynamics import JointModel, Motion, TorqueModel
from dynid.recording import Conditioning, Recording, Samples

RATE_HZ = 200.0


def exciting_motion(robot: Robot, rng: np.random.Generator, *, seconds: float = 40.0, fastest: float = 1.5) -> Motion:
    """Sums of sinusoids that start and end anywhere; every joint reverses often and reaches `fastest` (rad/s)."""
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    omega = 2.0 * np.pi * 0.05 * np.arange(1, 7)
    q, dq, ddq = (np.zeros((len(t), robot.n_dof)) for _ in range(3))
    for j in range(robot.n_dof):
        amplitude = rng.uniform(0.5, 1.0, 6)
        phase = rng.uniform(0.0, 2.0 * np.pi, 6)
        speed = np.max(np.abs(np.cos(t[:, None] * omega + phase) @ (amplitude * omega)))
        amplitude *= fastest / speed
        angle = t[:, None] * omega + phase
        q[:, j] = np.sin(angle) @ amplitude
        dq[:, j] = np.cos(angle) @ (amplitude * omega)
        ddq[:, j] = -np.sin(angle) @ (amplitude * omega**2)
    return Motion(t, q, dq, ddq)


def log_of(
    model: TorqueModel, theta: Array, motion: Motion, rng: np.random.Generator, *, noise: float = 0.05
) -> Recording:
    """A log with white torque noise, relative to the RMS torque of each joint; positions and velocities are exact."""
    tau = model.torque(motion, theta)
    tau = tau + noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    return Recording(model.robot.joint_names, motion.t, motion.q, dq=motion.dq, tau=tau)


def conditioned(recording: Recording) -> Samples:
    """The samples of a log with default conditioning."""
    return Conditioning().plan(recording).apply(recording)


def frictional(robot: Robot, models: Sequence[JointModel], values: dict[str, float]) -> tuple[TorqueModel, Array]:
    """A model with nominal links and these friction values, a tenth more from joint to joint."""
    model = TorqueModel(robot, tuple(models))
    theta = model.nominal()
    for j in range(robot.n_dof):
        for k, term in enumerate(model.terms):
            theta[model.n_inertial + j * len(model.terms) + k] = values[term.name] * (1.0 + 0.1 * j)
    return model, theta


ARM = load_robot("spatial2r")


def p_from_theta(theta: Array, n_links: int) -> Array:
    """Mass, centre of mass and inertia about it of every link, in the order of its ten numbers; then the rest of θ."""
    p = theta.copy()
    for own in p[: 10 * n_links].reshape(n_links, 10):
        link = InertialParameters(own.copy())
        own[1:4] = link.com
        own[4:] = [link.inertia_com["xyz".index(name[1]), "xyz".index(name[2])] for name in INERTIAL_NAMES[4:]]
    return p
