"""Logs with known truth, and commands run as a user does, for the tests of the jobs."""

from __future__ import annotations

import contextlib
import io
import json

import numpy as np

from dynid.chain import load_robot
from dynid.cli import main
from dynid.dynamics import Motion, TorqueModel, friction_models
from dynid.recording import Recording
from dynid.simulation import plausible_parameters, smooth_motion

NOISE = 0.01
"""Torque noise of the logs, relative to the RMS torque of each joint."""


def simulated(
    name: str,
    *,
    seed: int,
    duration: float = 8.0,
    friction: str = "viscous+coulomb+offset",
    delay: float = 0.0,
    noise: float = NOISE,
) -> Recording:
    """A log of a built-in robot with plausible parameters; `delay` s pass before the torque is logged."""
    rng = np.random.default_rng(seed)
    robot = load_robot(name)
    model = TorqueModel(robot, friction_models(friction))
    motion: Motion = smooth_motion(robot, rng, duration=duration, rate_hz=250.0)
    tau = model.torque(motion, plausible_parameters(model))
    tau = np.column_stack([np.interp(motion.t - delay, motion.t, column) for column in tau.T])
    tau = tau + noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    return Recording(robot.joint_names, motion.t, motion.q, dq=motion.dq, tau=tau)


def run_json(*words: object) -> tuple[int, dict]:
    """Exit code of a command with ``--json``, and the last object it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main([*(str(word) for word in words), "--json"])
    return code, json.loads(out.getvalue().splitlines()[-1])
