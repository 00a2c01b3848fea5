"""What peers make of an arm: rows that dynid conditioned go out, parameters in dynid's order come back."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import fromstring

import numpy as np
from scipy.spatial.transform import Rotation

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


def _upright(text: str, robot: Robot) -> str:
    """The URDF on a base that is turned until gravity is along −z: a URDF has none, and peers assume the earth's."""
    down = robot.gravity / np.linalg.norm(robot.gravity)
    turn, _ = Rotation.align_vectors([[0.0, 0.0, -1.0]], [down])
    if turn.magnitude() < 1e-9:
        return text
    rpy = " ".join(f"{angle:.15g}" for angle in turn.as_euler("xyz"))
    (base,) = {joint.get("link") for joint in fromstring(text).iter("parent")} - {
        joint.get("link") for joint in fromstring(text).iter("child")
    }
    stand = f'<link name="ground"/><joint name="stand" type="fixed"><parent link="ground"/><child link="{base}"/>'
    return text.replace("</robot>", f'{stand}<origin xyz="0 0 0" rpy="{rpy}"/></joint></robot>')


def pinocchio_lstsq(arm: Arm, read: LogSettings) -> PeerFit:
    """The regressor of Pinocchio in a loop, friction columns by hand, `numpy.linalg.lstsq`: what people write first."""
    text, robot, logs = _robot_and_logs(arm, read)
    answer = ask("pinocchio", "fit", _rows(logs), {"robot.urdf": text}, gravity=" ".join(map(str, robot.gravity)))
    model = dynid.TorqueModel(robot, friction_models("viscous+coulomb+offset"))
    return model, answer.arrays["theta"], float(answer.figures["seconds"]), "links of least norm"


def figaroh(arm: Arm, read: LogSettings) -> PeerFit:
    """FIGAROH's physical fit with the robot file as prior."""
    text, robot, logs = _robot_and_logs(arm, read)
    answer = ask("figaroh", "physical", _rows(logs), {"robot.urdf": _upright(text, robot)}, repetitions=1)
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
