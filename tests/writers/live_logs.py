"""A Panda that picks up two kilograms while it moves: the model and the log that tests of `live` share."""

import numpy as np

from dynid.dynamics import base_parameters
from dynid.recording import Recording
from dynid.regression import IdentifiedModel
from tests.tracking.test_contact import PANDA, THETA, fourier
from tests.tracking.test_load import NOISE, torque

RATE = 250.0


def known_panda():
    base = base_parameters(PANDA)
    covariance = 1e-8 * np.eye(base.n_base)
    return IdentifiedModel(
        PANDA, base, "feasible", "", base.project(THETA), covariance, theta=THETA, labels=(), sample_noise=NOISE
    )


def picking(duration=8.0, at=3.0):
    motion = fourier(PANDA.robot, np.arange(round(duration * RATE)) / RATE, 5)
    tau = torque(motion, (motion.t >= at).astype(float))
    noisy = tau + NOISE * np.random.default_rng(1).standard_normal(tau.shape)
    return Recording(PANDA.robot.joint_names, motion.t, motion.q, dq=motion.dq, tau=noisy)
