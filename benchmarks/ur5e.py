"""A UR5e as MuJoCo simulates it: the truth of a rollout benchmark, with a controller and sensors around it.

Kinematics, inertias and armature are those of ``universal_robots_ur5e/ur5e.xml`` in MuJoCo Menagerie (BSD-3-Clause,
derived from Universal Robots' published description); geometry, meshes and servo actuators are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid import InertialParameters, Motion, Recording
from dynid.arrays import Array, Float
from dynid.simulation.closed_loop import wrong_links

JOINTS = (
    "shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint",
)  # fmt: skip
LINKS = ("shoulder_link", "upper_arm_link", "forearm_link", "wrist_1_link", "wrist_2_link", "wrist_3_link")
POSES = ("0 0 0.163", "0 0.138 0", "0 -0.131 0.425", "0 0 0.392", "0 0.127 0", "0 0 0.1")
QUATS = ("1 0 0 0", "1 0 1 0", "1 0 0 0", "1 0 1 0", "1 0 0 0", "1 0 0 0")
AXES = ("0 0 1", "0 1 0", "0 1 0", "0 1 0", "0 0 1", "0 1 0")
MASSES = (3.7, 8.393, 2.275, 1.219, 1.219, 0.1889)
CENTRES = ((0, 0, 0), (0, 0, 0.2125), (0, 0, 0.196), (0, 0.127, 0), (0, 0, 0.1), (0, 0.0771683, 0))
MOMENTS = (
    (0.0102675, 0.0102675, 0.00666),
    (0.133886, 0.133886, 0.0151074),
    (0.0311796, 0.0311796, 0.004095),
    (0.0025599, 0.0025599, 0.0021942),
    (0.0025599, 0.0025599, 0.0021942),
    (9.90863e-05, 0.000132134, 9.90863e-05),
)
"""About the centre of mass, in link axes; the file's quarter turn of the last one is carried out."""
RANGES = (6.28319, 6.28319, 3.1415, 6.28319, 6.28319, 6.28319)
ARMATURE = 0.1
HOME = np.array([-1.5708, -1.5708, 1.5708, -1.5708, -1.5708, 0.0])
SWING = np.array([1.0, 0.6, 0.7, 1.0, 1.0, 1.2])
"""Largest excursion of a joint in the benchmark's motions, rad."""
KP = np.array([2000.0, 2000.0, 2000.0, 500.0, 500.0, 500.0])
KD = np.array([200.0, 200.0, 150.0, 25.0, 25.0, 20.0])
PERIOD = 0.002


@dataclass(frozen=True, eq=False)
class Joints:
    """What the joints of an arm add to its links (SI)."""

    armature: Float[Array, " 6"]
    damping: Float[Array, " 6"]
    frictionloss: Float[Array, " 6"]


NOMINAL_JOINTS = Joints(np.full(6, ARMATURE), np.zeros(6), np.zeros(6))


def nominal_links() -> list[InertialParameters]:
    """The links of the file (SI)."""
    return [
        InertialParameters.from_com(m, np.array(c, dtype=float), np.diag(i))
        for m, c, i in zip(MASSES, CENTRES, MOMENTS, strict=True)
    ]


def truth(seed: int) -> tuple[list[InertialParameters], Joints]:
    """Links within ±20 % of the file's, armature, damping and dry friction as no file says them (SI)."""
    rng = np.random.default_rng(seed)
    links = wrong_links(np.array([link.pi for link in nominal_links()]), 0.2, rng)
    size = np.array([1.0, 1.0, 0.8, 0.35, 0.35, 0.3])
    joints = Joints(
        ARMATURE * rng.uniform(0.8, 1.2, 6),
        4.0 * size * rng.uniform(0.5, 1.5, 6),
        6.0 * size * rng.uniform(0.5, 1.5, 6),
    )
    return [InertialParameters(pi) for pi in links], joints


def mjcf(links: list[InertialParameters], joints: Joints) -> str:
    """The arm as an MJCF file."""
    text, closing = [], []
    for j, link in enumerate(links):
        J = link.inertia_com
        full = " ".join(repr(float(x)) for x in (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]))
        com = " ".join(repr(float(x)) for x in link.com)
        text.append(
            f'<body name="{LINKS[j]}" pos="{POSES[j]}" quat="{QUATS[j]}">'
            f'<inertial mass="{float(link.mass)!r}" pos="{com}" fullinertia="{full}"/>'
            f'<joint name="{JOINTS[j]}" axis="{AXES[j]}" range="{-RANGES[j]} {RANGES[j]}" '
            f'armature="{float(joints.armature[j])!r}" damping="{float(joints.damping[j])!r}" '
            f'frictionloss="{float(joints.frictionloss[j])!r}"/>'
        )
        closing.append("</body>")
    return (
        '<mujoco model="ur5e"><compiler angle="radian" autolimits="true"/><option integrator="implicitfast"/>'
        f'<worldbody><body name="base" quat="0 0 0 -1">{"".join(text)}{"".join(closing)}</body></worldbody></mujoco>'
    )


def reference(seed: int, duration: float) -> Motion:
    """A smooth motion of all joints at 500 Hz: five harmonics of 0.1 Hz, from rest to rest."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(duration / PERIOD) + 1) * PERIOD
    w = 2.0 * np.pi * 0.1 * np.arange(1, 6)
    q, dq, ddq = np.zeros((3, len(t), 6))
    for j in range(6):
        a, b = rng.normal(size=(2, 5)) / np.arange(1, 6) ** 0.5
        angle = w[:, None] * t
        x = a @ np.sin(angle) + b @ np.cos(angle)
        scale = SWING[j] / np.max(np.abs(x))
        q[:, j] = HOME[j] + scale * x
        dq[:, j] = scale * ((a * w) @ np.cos(angle) - (b * w) @ np.sin(angle))
        ddq[:, j] = -scale * ((a * w**2) @ np.sin(angle) + (b * w**2) @ np.cos(angle))
    return Motion(t, q, dq, ddq)


def recorded(
    text: str, asked: Motion, seed: int, *, q_noise: float = 1e-4, tau_noise: float = 0.02
) -> tuple[Recording, Float[Array, "n_samples 6"]]:
    """The log of an arm in MuJoCo that follows a motion under PD control with gravity compensation of its file.

    Encoders have white noise of 1e-4 rad, the torque 2 % of its RMS. Returns the log and what it would be exactly.
    """
    import mujoco

    model: Any = mujoco.MjModel.from_xml_string(text)
    believed: Any = mujoco.MjModel.from_xml_string(mjcf(nominal_links(), NOMINAL_JOINTS))
    model.opt.timestep = PERIOD
    data, guess = mujoco.MjData(model), mujoco.MjData(believed)
    data.qpos[:], data.qvel[:] = asked.q[0], asked.dq[0]
    rng = np.random.default_rng(seed)
    n = asked.n_samples
    q, tau = np.empty((n, 6)), np.empty((n, 6))
    noise: Array = q_noise * rng.normal(size=(n, 6))
    for k in range(n):
        q[k] = data.qpos
        guess.qpos[:] = asked.q[k]
        mujoco.mj_forward(believed, guess)
        seen = data.qpos + noise[k]
        tau[k] = guess.qfrc_bias + KP * (asked.q[k] - seen) + KD * (asked.dq[k] - data.qvel)
        data.qfrc_applied[:] = tau[k]
        mujoco.mj_step(model, data)
    measured = tau + tau_noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    log = Recording(JOINTS, asked.t, q + noise, tau=measured, source="ur5e in MuJoCo")
    return log, q
