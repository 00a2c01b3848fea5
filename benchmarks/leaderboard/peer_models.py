"""What peers make of an arm: rows that dynid conditioned go out, parameters in dynid's order come back."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import dynid
from benchmarks.leaderboard.arms import Arm
from benchmarks.logs import instants, through_urdf
from benchmarks.peers import PeerError, ask
from dynid.arrays import Array, Float
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import Robot
from dynid.chain.stand_ins import with_stand_ins
from dynid.dynamics import RotorInertia, friction_models
from dynid.recording import Samples
from dynid.recording.log_settings import LogSettings
from dynid.workflow.logs import Log
from dynid.writers.joint_terms import PassiveTerms
from dynid.writers.mjcf import mjcf_text

PeerFit = tuple[dynid.TorqueModel, Float[Array, " n_params"], float, str]
"""Model, θ (SI), seconds of the fit alone, and what a reader has to know."""
WINDOW = 0.5
"""s; the length of the rollouts that mujoco.sysid is given, as the leaderboard judges them."""
MOST_WINDOWS = 24
"""Rollouts that mujoco.sysid is given, spread over all training logs: it takes minutes already."""


def _robot_and_logs(arm: Arm, read: LogSettings) -> tuple[str, Robot, list[Samples]]:
    """The robot as a URDF that all read alike, and the conditioned training logs."""
    loaded, _ = with_stand_ins(dynid.load_robot(arm.robot))
    text, robot = through_urdf(loaded)
    robot = robot.with_gravity(loaded.gravity)
    logs = [Log.of(log, robot, read, None, arm.split) for log in arm.train]
    return text, robot, [log.condition() for log in logs]


def _rows(logs: list[Samples]) -> dict[str, Array]:
    """States and low-passed torques (SI) of all logs, at the samples that dynid fits."""
    parts = [instants(samples).segments[0] for samples in logs]
    return {
        "q": np.concatenate([part.motion.q for part in parts]),
        "dq": np.concatenate([part.motion.dq for part in parts]),
        "ddq": np.concatenate([part.motion.ddq for part in parts]),
        "tau": np.concatenate([part.tau for part in parts]),
    }


def _gravity(robot: Robot) -> None:
    """A URDF has no gravity: peers assume that of the earth along −z.

    Raises:
        PeerError: the arm hangs or stands otherwise.
    """
    if not np.allclose(robot.gravity[:2], 0.0, atol=1e-6) or robot.gravity[2] > 0.0:
        raise PeerError(f"its gravity is −z and cannot be set; this arm's is {robot.gravity.tolist()} m/s²")


def pinocchio_lstsq(arm: Arm, read: LogSettings) -> PeerFit:
    """The regressor of Pinocchio in a loop, friction columns by hand, `numpy.linalg.lstsq`: what people write first."""
    text, robot, logs = _robot_and_logs(arm, read)
    answer = ask("pinocchio", "fit", _rows(logs), {"robot.urdf": text}, gravity=" ".join(map(str, robot.gravity)))
    model = dynid.TorqueModel(robot, friction_models("viscous+coulomb+offset"))
    return model, answer.arrays["theta"], float(answer.figures["seconds"]), "links of least norm"


def figaroh(arm: Arm, read: LogSettings) -> PeerFit:
    """FIGAROH's physical fit with the robot file as prior."""
    text, robot, logs = _robot_and_logs(arm, read)
    _gravity(robot)
    answer = ask("figaroh", "physical", _rows(logs), {"robot.urdf": text}, repetitions=1)
    if "theta" not in answer.arrays:
        raise PeerError(f"it ended with {answer.figures['status']} and no parameters")
    model = dynid.TorqueModel(robot, friction_models("viscous+coulomb+offset"))
    note = str(answer.figures["status"]) + ("" if answer.figures["accepted"] else ", not accepted by its own test")
    if "refused" in answer.figures:
        note += f"; its export refuses: {answer.figures['refused']}"
    return model, answer.arrays["theta"], float(answer.figures["whole"]), note


def mujoco_sysid(arm: Arm, read: LogSettings) -> PeerFit:
    """`mujoco.sysid` on rollouts of half a second: pseudo-inertias, armature, damping and friction loss."""
    _, robot, logs = _robot_and_logs(arm, read)
    model = dynid.TorqueModel(robot, (*friction_models("viscous+coulomb"), RotorInertia()))
    nothing = np.zeros(robot.n_dof)
    xml = mjcf_text(robot, [InertialParameters(pi) for pi in robot.nominal], PassiveTerms(nothing, nothing, nothing))
    _, guessed = with_stand_ins(dynid.load_robot(arm.robot))
    answer = ask(
        "mujoco", "fit", _windows(logs), {"robot.xml": xml}, joints=" ".join(robot.joint_names), known=int(not guessed)
    )
    links = answer.arrays["links"]
    terms = [(damping, loss, armature) for damping, loss, armature in answer.arrays["terms"]]
    found = np.concatenate([links.ravel(), np.array(terms).ravel()])
    return model, found, float(answer.figures["seconds"]), f"{answer.figures['iterations']} iterations"


def _windows(logs: list[Samples]) -> dict[str, Array]:
    """Motion and torque (SI) of windows all over the training logs."""
    rate = min(samples.plan.low_pass.rate_hz for samples in logs)
    length = max(4, round(WINDOW * rate)) + 1
    starts = [
        (part, k)
        for samples in logs
        for part in samples.segments
        for k in range(0, part.motion.n_samples - length, max(1, length // 4))
    ]
    chosen = np.unique(np.linspace(0, len(starts) - 1, min(len(starts), MOST_WINDOWS)).round().astype(int))
    cut = [(part, slice(k, k + length)) for part, k in (starts[i] for i in chosen)]
    return {
        "t": np.array([part.motion.t[rows] for part, rows in cut]),
        "q": np.array([part.motion.q[rows] for part, rows in cut]),
        "dq": np.array([part.motion.dq[rows] for part, rows in cut]),
        "ddq": np.array([part.motion.ddq[rows] for part, rows in cut]),
        "tau": np.array([part.tau[rows] for part, rows in cut]),
    }


def scripts() -> dict[str, Path]:
    """The code that each peer's user writes, by method."""
    here = Path(__file__).resolve().parent.parent
    return {
        "Pinocchio + lstsq": here / "peer_pinocchio.py",
        "FIGAROH": here / "peer_figaroh.py",
        "mujoco.sysid": here / "peer_mujoco.py",
    }
