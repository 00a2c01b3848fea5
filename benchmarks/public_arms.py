"""Public arms as MuJoCo simulates them: the truth of a rollout benchmark, with a controller and sensors around it.

Kinematics and inertias are those of ``universal_robots_ur5e/ur5e.xml`` (BSD-3-Clause) and ``kuka_iiwa_14/iiwa14.xml``
(BSD-3-Clause) in MuJoCo Menagerie, derived from the makers' published descriptions; geometry, meshes and servo
actuators are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dynid import InertialParameters, Motion, Recording
from dynid.arrays import Array, Float
from dynid.simulation.closed_loop import wrong_links

PERIOD = 0.002
"""Time between commands, and between samples, s."""


@dataclass(frozen=True, eq=False)
class Joints:
    """What the joints of an arm add to its links (SI)."""

    armature: Float[Array, " n_dof"]
    damping: Float[Array, " n_dof"]
    frictionloss: Float[Array, " n_dof"]


@dataclass(frozen=True, eq=False)
class PublicArm:
    """An arm as its public file has it, and how it is moved (SI)."""

    name: str
    joints: tuple[str, ...]
    links: tuple[str, ...]
    poses: tuple[str, ...]
    quats: tuple[str, ...]
    axes: tuple[str, ...]
    masses: tuple[float, ...]
    centres: tuple[tuple[float, float, float], ...]
    moments: tuple[tuple[float, float, float], ...]
    """About the centre of mass, in link axes; quarter turns of the file's inertial frames are carried out."""
    ranges: tuple[float, ...]
    armature: float
    """What the file says, kg·m²."""
    base: str
    """Orientation of the base, quaternion."""
    home: Float[Array, " n_dof"]
    swing: Float[Array, " n_dof"]
    """Largest excursion of a joint in the benchmark's motions, rad."""
    kp: Float[Array, " n_dof"]
    kd: Float[Array, " n_dof"]
    size: Float[Array, " n_dof"]
    """Damping and dry friction of the truth relative to 4 N·m·s/rad and 6 N·m."""
    true_armature: float = 0.1
    """About what the truth has, kg·m²."""

    @property
    def n_dof(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @cached_property
    def controller(self) -> str:
        """The controller that moves it, as a file."""
        return f"kp = {self.kp.tolist()}\nkd = {self.kd.tolist()}\nrate = 500\nfeedforward = 'gravity'\n"

    def nominal_links(self) -> list[InertialParameters]:
        """The links of the file (SI)."""
        return [
            InertialParameters.from_com(m, np.array(c, dtype=float), np.diag(i))
            for m, c, i in zip(self.masses, self.centres, self.moments, strict=True)
        ]

    def nominal(self) -> str:
        """The file itself, as far as it matters here."""
        nothing = np.zeros(self.n_dof)
        return self.mjcf(self.nominal_links(), Joints(np.full(self.n_dof, self.armature), nothing, nothing))

    def truth(self, seed: int) -> str:
        """The arm with links within ±20 % of the file's, armature, damping and dry friction as no file says them."""
        rng = np.random.default_rng(seed)
        links = wrong_links(np.array([link.pi for link in self.nominal_links()]), 0.2, rng)
        n = self.n_dof
        joints = Joints(
            self.true_armature * rng.uniform(0.8, 1.2, n),
            4.0 * self.size * rng.uniform(0.5, 1.5, n),
            6.0 * self.size * rng.uniform(0.5, 1.5, n),
        )
        return self.mjcf([InertialParameters(pi) for pi in links], joints)

    def mjcf(self, links: list[InertialParameters], joints: Joints) -> str:
        """The arm with these links and joints as an MJCF file."""
        text, closing = [], []
        for j, link in enumerate(links):
            J = link.inertia_com
            full = " ".join(repr(float(x)) for x in (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]))
            com = " ".join(repr(float(x)) for x in link.com)
            text.append(
                f'<body name="{self.links[j]}" pos="{self.poses[j]}" quat="{self.quats[j]}">'
                f'<inertial mass="{float(link.mass)!r}" pos="{com}" fullinertia="{full}"/>'
                f'<joint name="{self.joints[j]}" axis="{self.axes[j]}" range="{-self.ranges[j]} {self.ranges[j]}" '
                f'armature="{float(joints.armature[j])!r}" damping="{float(joints.damping[j])!r}" '
                f'frictionloss="{float(joints.frictionloss[j])!r}"/>'
            )
            closing.append("</body>")
        return (
            f'<mujoco model="{self.name}"><compiler angle="radian" autolimits="true"/>'
            '<option integrator="implicitfast"/>'
            f'<worldbody><body name="base" quat="{self.base}">{"".join(text)}{"".join(closing)}</body></worldbody>'
            "</mujoco>"
        )

    def reference(self, seed: int, duration: float) -> Motion:
        """A smooth motion of all joints at 500 Hz: five harmonics of 0.1 Hz."""
        rng = np.random.default_rng(seed)
        t = np.arange(round(duration / PERIOD) + 1) * PERIOD
        w = 2.0 * np.pi * 0.1 * np.arange(1, 6)
        q, dq, ddq = np.zeros((3, len(t), self.n_dof))
        for j in range(self.n_dof):
            a, b = rng.normal(size=(2, 5)) / np.arange(1, 6) ** 0.5
            angle = w[:, None] * t
            x = a @ np.sin(angle) + b @ np.cos(angle)
            scale = self.swing[j] / np.max(np.abs(x))
            q[:, j] = self.home[j] + scale * x
            dq[:, j] = scale * ((a * w) @ np.cos(angle) - (b * w) @ np.sin(angle))
            ddq[:, j] = -scale * ((a * w**2) @ np.sin(angle) + (b * w**2) @ np.cos(angle))
        return Motion(t, q, dq, ddq)

    def recorded(
        self, text: str, asked: Motion, seed: int, *, q_noise: float = 1e-4, tau_noise: float = 0.02
    ) -> Recording:
        """The log of the arm `text` in MuJoCo that follows a motion under PD control with gravity of its public file.

        Encoders have white noise of 1e-4 rad, the torque 2 % of its RMS.
        """
        import mujoco

        model: Any = mujoco.MjModel.from_xml_string(text)
        believed: Any = mujoco.MjModel.from_xml_string(self.nominal())
        model.opt.timestep = PERIOD
        data, guess = mujoco.MjData(model), mujoco.MjData(believed)
        data.qpos[:], data.qvel[:] = asked.q[0], asked.dq[0]
        rng = np.random.default_rng(seed)
        n = asked.n_samples
        q, tau = np.empty((n, self.n_dof)), np.empty((n, self.n_dof))
        noise: Array = q_noise * rng.normal(size=(n, self.n_dof))
        for k in range(n):
            q[k] = data.qpos
            guess.qpos[:] = asked.q[k]
            mujoco.mj_forward(believed, guess)
            seen = data.qpos + noise[k]
            tau[k] = guess.qfrc_bias + self.kp * (asked.q[k] - seen) + self.kd * (asked.dq[k] - data.qvel)
            data.qfrc_applied[:] = tau[k]
            mujoco.mj_step(model, data)
        measured = tau + tau_noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
        return Recording(self.joints, asked.t, q + noise, tau=measured, source=f"{self.name} in MuJoCo")


UR5E = PublicArm(
    name="ur5e",
    joints=(
        "shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint",
    ),
    links=("shoulder_link", "upper_arm_link", "forearm_link", "wrist_1_link", "wrist_2_link", "wrist_3_link"),
    poses=("0 0 0.163", "0 0.138 0", "0 -0.131 0.425", "0 0 0.392", "0 0.127 0", "0 0 0.1"),
    quats=("1 0 0 0", "1 0 1 0", "1 0 0 0", "1 0 1 0", "1 0 0 0", "1 0 0 0"),
    axes=("0 0 1", "0 1 0", "0 1 0", "0 1 0", "0 0 1", "0 1 0"),
    masses=(3.7, 8.393, 2.275, 1.219, 1.219, 0.1889),
    centres=((0, 0, 0), (0, 0, 0.2125), (0, 0, 0.196), (0, 0.127, 0), (0, 0, 0.1), (0, 0.0771683, 0)),
    moments=(
        (0.0102675, 0.0102675, 0.00666),
        (0.133886, 0.133886, 0.0151074),
        (0.0311796, 0.0311796, 0.004095),
        (0.0025599, 0.0025599, 0.0021942),
        (0.0025599, 0.0025599, 0.0021942),
        (9.90863e-05, 0.000132134, 9.90863e-05),
    ),
    ranges=(6.28319, 6.28319, 3.1415, 6.28319, 6.28319, 6.28319),
    armature=0.1,
    base="0 0 0 -1",
    home=np.array([-1.5708, -1.5708, 1.5708, -1.5708, -1.5708, 0.0]),
    swing=np.array([1.0, 0.6, 0.7, 1.0, 1.0, 1.2]),
    kp=np.array([2000.0, 2000.0, 2000.0, 500.0, 500.0, 500.0]),
    kd=np.array([200.0, 200.0, 150.0, 25.0, 25.0, 20.0]),
    size=np.array([1.0, 1.0, 0.8, 0.35, 0.35, 0.3]),
)  # fmt: skip
"""A UR5e."""

IIWA14 = PublicArm(
    name="iiwa14",
    joints=tuple(f"joint{j}" for j in range(1, 8)),
    links=tuple(f"link{j}" for j in range(1, 8)),
    poses=("0 0 0.1575", "0 0 0.2025", "0 0.2045 0", "0 0 0.2155", "0 0.1845 0", "0 0 0.2155", "0 0.081 0"),
    quats=("1 0 0 0", "0 0 1 1", "0 0 1 1", "1 1 0 0", "0 0 1 1", "1 1 0 0", "0 0 1 1"),
    axes=("0 0 1",) * 7,
    masses=(5.76, 6.35, 3.5, 3.5, 3.5, 1.8, 1.2),
    centres=(
        (0, -0.03, 0.12), (0.0003, 0.059, 0.042), (0, 0.03, 0.13), (0, 0.067, 0.034), (0.0001, 0.021, 0.076),
        (0, 0.0006, 0.0004), (0, 0, 0.02),
    ),
    moments=(
        (0.0333, 0.033, 0.0123),
        (0.0305, 0.011, 0.0304),
        (0.025, 0.0238, 0.0076),
        (0.017, 0.006, 0.0164),
        (0.01, 0.0087, 0.00449),
        (0.0049, 0.0036, 0.0047),
        (0.001, 0.001, 0.001),
    ),
    ranges=(2.96706, 2.0944, 2.96706, 2.0944, 2.96706, 2.0944, 3.05433),
    armature=0.0,
    base="1 0 0 0",
    home=np.array([0.0, 0.785398, 0.0, -1.5708, 0.0, 0.6, 0.0]),
    swing=np.array([1.0, 0.6, 0.8, 0.5, 1.0, 0.8, 1.2]),
    kp=np.array([1000.0, 1000.0, 800.0, 800.0, 300.0, 300.0, 200.0]),
    kd=np.array([80.0, 80.0, 50.0, 50.0, 12.0, 10.0, 6.0]),
    size=np.array([1.0, 1.0, 0.8, 0.8, 0.4, 0.35, 0.3]),
)  # fmt: skip
"""A KUKA LBR iiwa 14, whose file says nothing of armature."""
