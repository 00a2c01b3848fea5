"""Logs with known truth for the tests of the regression."""

from dataclasses import dataclass

import numpy as np

from dynid import Motion, Robot, TorqueModel, base_parameters
from dynid.arrays import Array
from dynid.dynamics import BaseParameters, friction_models
from dynid.recording import Recording

FRICTION = "viscous+coulomb+offset"


@dataclass(frozen=True)
class Truth:
    """An exact motion with its exact torque and the parameters behind it."""

    model: TorqueModel
    base: BaseParameters
    theta: Array
    motion: Motion
    tau: Array

    @property
    def beta(self) -> Array:
        return self.base.project(self.theta)

    def recording(
        self, rng: np.random.Generator | None = None, noise: float = 0.0, *, q_noise: float = 0.0
    ) -> Recording:
        """The log with white torque noise, `noise` times the RMS of each joint."""
        tau = self.tau
        q, dq = self.motion.q, self.motion.dq
        if rng is not None:
            tau = tau + rng.normal(size=tau.shape) * noise * np.sqrt(np.mean(tau**2, axis=0))
            q = q + rng.normal(size=q.shape) * q_noise
        return Recording(self.model.robot.joint_names, self.motion.t, q, dq, tau=tau)


def exciting_motion(
    robot: Robot, rng: np.random.Generator, *, duration: float, rate_hz: float, speed: float = 1.0
) -> Motion:
    """A Fourier series per joint, in the middle of the range."""
    t = np.arange(int(duration * rate_hz)) / rate_hz
    w = 2 * np.pi * 0.1 * speed * np.arange(1, 6)
    q, dq, ddq = np.zeros((3, len(t), robot.n_dof))
    for j, joint in enumerate(robot.joints):
        lower, upper = joint.limits.lower, joint.limits.upper
        centre = 0.5 * (lower + upper) if np.isfinite(lower + upper) else 0.0
        size = (1.0 if joint.type == "revolute" else 0.3) / (np.arange(1, 6) * speed)
        a, b = rng.normal(size=(2, 5)) * size * 0.6
        phase = t[:, None] * w
        q[:, j] = centre + np.sin(phase) @ a + np.cos(phase) @ b
        dq[:, j] = np.cos(phase) @ (a * w) - np.sin(phase) @ (b * w)
        ddq[:, j] = -np.sin(phase) @ (a * w**2) - np.cos(phase) @ (b * w**2)
    return Motion(t, q, dq, ddq)


def truth(
    robot: Robot, rng: np.random.Generator, *, duration: float = 20.0, rate_hz: float = 200.0, friction: str = FRICTION
) -> Truth:
    """A robot with its nominal inertias and some friction, on an exciting motion."""
    model = TorqueModel(robot, friction_models(friction))
    theta = np.zeros(model.n_params)
    theta[: model.n_inertial] = robot.nominal.ravel()
    motion = exciting_motion(robot, rng, duration=duration, rate_hz=rate_hz)
    rigid = TorqueModel(robot).torque(motion, robot.nominal.ravel())
    size = np.sqrt(np.mean(rigid**2, axis=0))
    for j in range(robot.n_dof):
        for k, term in enumerate(model.terms):
            sign = 1.0 if term.nonnegative else -1.0
            theta[model.n_inertial + j * len(model.terms) + k] = sign * 0.1 * size[j] * rng.uniform(0.5, 1.5)
    return Truth(model, base_parameters(model), theta, motion, model.torque(motion, theta))
