"""A Panda that picks up two kilograms while it moves: the model and the log that tests of `live` share."""

import numpy as np

from dynid.chain import InertialParameters, load_robot
from dynid.dynamics import Motion, TorqueModel, base_parameters
from dynid.recording import Recording
from dynid.regression import IdentifiedModel

PANDA = TorqueModel(load_robot("panda"))
THETA = PANDA.nominal()
LOAD = InertialParameters.from_com(2.0, (0.01, 0.02, 0.12), np.diag([0.01, 0.012, 0.008]))
NOISE = np.array([0.1, 0.4, 0.1, 0.2, 0.05, 0.05, 0.02])
RATE = 250.0


def known_panda():
    base = base_parameters(PANDA)
    covariance = 1e-8 * np.eye(base.n_base)
    return IdentifiedModel(
        PANDA, base, "feasible", "", base.project(THETA), covariance, theta=THETA, labels=(), sample_noise=NOISE
    )


def swinging(t, seed=5):
    """Three harmonics a joint, inside the limits."""
    rng, robot = np.random.default_rng(seed), PANDA.robot
    lower, upper = (np.array([getattr(joint.limits, side) for joint in robot.joints]) for side in ("lower", "upper"))
    q, dq, ddq = np.tile((lower + upper) / 2.0, (len(t), 1)), np.zeros((len(t), 7)), np.zeros((len(t), 7))
    for k in range(1, 4):
        omega, amplitude = 2.0 * np.pi * 0.2 * k, (upper - lower) / 4.0 / 3.0 / k
        angle = omega * t[:, None] + rng.uniform(0.0, 2.0 * np.pi, robot.n_dof)
        q += amplitude * np.sin(angle)
        dq += amplitude * omega * np.cos(angle)
        ddq -= amplitude * omega**2 * np.sin(angle)
    return Motion(t, q, dq, ddq)


def picking(duration=8.0, at=3.0):
    motion = swinging(np.arange(round(duration * RATE)) / RATE)
    carried = PANDA.regressor(motion)[:, :, 60:70] @ LOAD.pi * (motion.t >= at)[:, None]
    tau = PANDA.torque(motion, THETA) + carried
    noisy = tau + NOISE * np.random.default_rng(1).standard_normal(tau.shape)
    return Recording(PANDA.robot.joint_names, motion.t, motion.q, dq=motion.dq, tau=noisy)
