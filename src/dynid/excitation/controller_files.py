"""Trajectories as robot controllers take them: URScript, libfranka, ROS 2; each is read back before it is kept."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float
from dynid.disk import write_whole
from dynid.dynamics.motion import Motion
from dynid.errors import ExcitationError
from dynid.excitation.trajectory import Trajectory

__all__ = ["CONTROLLERS", "ControllerFormat", "write_controller", "write_ros"]

URSCRIPT_HZ = 125.0
"""Control cycle that every generation of these arms can stream at, Hz."""
FRANKA_HZ = 1000.0
"""Control cycle of libfranka, Hz: it takes no other."""
ROS_HZ = 100.0
"""Points a second of a JointTrajectory, between which ros2_control interpolates by quintic splines, Hz."""
TO_START = "a=0.3, v=0.2"
"""rad/s² and rad/s: the move to the start pose, slow enough to be stopped by hand."""
_NUMBER = r"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?"
_TOLERANCE = 1e-9
"""rad or m: by how much a position may differ once it is written and read again."""


def _listed(values: Float[Array, " n_dof"]) -> str:
    return "[" + ", ".join(f"{value:.12g}" if value % 1.0 else f"{value:.1f}" for value in values) + "]"


def _urscript(motion: Motion, names: tuple[str, ...]) -> str:
    step = float(motion.t[1] - motion.t[0])
    lines = [
        f"# joints {json.dumps(list(names), ensure_ascii=False)}, {motion.t[-1]:.3f} s from rest to rest",
        "# Check the way to the start pose before you run this.",
        "def dynid_motion():",
        f"  movej({_listed(motion.q[0])}, {TO_START})",
        "  sleep(1.0)",
    ]
    lines += [
        f"  servoj({_listed(q)}, 0, 0, {step:.6g}, 0.1, 300) # t = {t:.6f}"
        for t, q in zip(motion.t.tolist(), motion.q, strict=True)
    ]
    return "\n".join([*lines, "  stopj(2.0)", "end", "dynid_motion()", ""])


def _read_urscript(text: str) -> Float[Array, "n_samples n_columns"]:
    found = re.findall(rf"servoj\(\[([^\]]*)\][^#]*# t = ({_NUMBER})", text)
    return np.array([[float(t), *map(float, q.split(","))] for q, t in found])


def _franka(motion: Motion, names: tuple[str, ...]) -> str:
    numbers = range(1, len(names) + 1)
    text = io.StringIO()
    text.write(",".join(["t", *(f"{name}{j}" for name in ("q", "dq", "ddq") for j in numbers)]) + "\n")
    rows = np.column_stack([np.round(motion.t, 9), motion.q, motion.dq, motion.ddq])
    np.savetxt(text, rows, fmt="%.12g", delimiter=",")
    return text.getvalue()


def _read_franka(text: str) -> Float[Array, "n_samples n_columns"]:
    table = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1, ndmin=2)
    return table[:, : 1 + (table.shape[1] - 1) // 3]


def _ros(motion: Motion, names: tuple[str, ...]) -> str:
    lines = ["header:", "  stamp: {sec: 0, nanosec: 0}", "  frame_id: ''"]
    lines += [f"joint_names: {json.dumps(list(names), ensure_ascii=False)}", "points:"]
    for k in range(motion.n_samples):
        nanoseconds = round(float(motion.t[k]) * 1e9)
        lines += [
            f"- positions: {_listed(motion.q[k])}",
            f"  velocities: {_listed(motion.dq[k])}",
            f"  accelerations: {_listed(motion.ddq[k])}",
            f"  time_from_start: {{sec: {nanoseconds // 10**9}, nanosec: {nanoseconds % 10**9}}}",
        ]
    return "\n".join(lines) + "\n"


def _read_ros(text: str) -> Float[Array, "n_samples n_columns"]:
    positions = re.findall(r"^- positions: \[([^\]]*)\]", text, re.MULTILINE)
    stamps = re.findall(r"time_from_start: \{sec: (\d+), nanosec: (\d+)\}", text)
    return np.array(
        [
            [int(sec) + 1e-9 * int(nano), *map(float, q.split(","))]
            for q, (sec, nano) in zip(positions, stamps, strict=True)
        ]
    )


@dataclass(frozen=True)
class ControllerFormat:
    """How a trajectory is written for one kind of controller, and read back."""

    what: str
    """What the file is, in words."""
    rate_hz: float
    """Points a second, Hz."""
    n_dof: int
    """Number of joints that it must have; 0 for any."""
    write: Callable[[Motion, tuple[str, ...]], str]
    read: Callable[[str], Float[Array, "n_samples n_columns"]]
    """The time stamps (s) and positions (rad or m) of a text."""


CONTROLLERS: Mapping[str, ControllerFormat] = {
    "ros": ControllerFormat("ROS 2 JointTrajectory", ROS_HZ, 0, _ros, _read_ros),
    "urscript": ControllerFormat("URScript", URSCRIPT_HZ, 6, _urscript, _read_urscript),
    "franka": ControllerFormat("libfranka CSV", FRANKA_HZ, 7, _franka, _read_franka),
}
"""What `excite` writes for controllers, by the name of its keyword."""


def write_controller(path: Path, kind: str, trajectory: Trajectory, *, rate_hz: float | None = None) -> None:
    """Write a trajectory for a controller, one of `CONTROLLERS`, at its rate or another (Hz).

    Every file begins at rest in the start pose and ends at rest. What was written is read again and compared first.

    Raises:
        ExcitationError: the controller has another number of joints, or the rate is too low for the motion.
        OutputError: the file cannot be written.
    """
    controller = CONTROLLERS[kind]
    if controller.n_dof not in (0, trajectory.n_dof):
        raise ExcitationError(
            f"`{kind}`: {controller.what} is for arms of {controller.n_dof} joints, this motion has {trajectory.n_dof}"
        )
    motion = trajectory.motion(controller.rate_hz if rate_hz is None else rate_hz)
    text = controller.write(motion, trajectory.joint_names)
    table = controller.read(text)
    meant = np.column_stack([motion.t, motion.q])
    if table.shape != meant.shape or np.max(np.abs(table - meant)) > _TOLERANCE * (1.0 + np.max(np.abs(meant))):
        raise ExcitationError(f"{path}: what was written for {controller.what} does not read back as the motion")
    write_whole(path, text)


def write_ros(path: Path, trajectory: Trajectory, *, rate_hz: float = ROS_HZ) -> None:
    """Write a ROS 2 ``trajectory_msgs/JointTrajectory`` as YAML, points at `rate_hz` (Hz).

    Raises:
        ExcitationError: the rate is too low for the motion.
        OutputError: the file cannot be written.
    """
    write_controller(path, "ros", trajectory, rate_hz=rate_hz)
