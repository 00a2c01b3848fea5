"""A small arm of five servos that logs positions alone: known position gains, 12-bit encoders, 100 Hz."""

from __future__ import annotations

import numpy as np

from dynid import InertialParameters, Motion, Recording, Robot, TorqueModel
from dynid.arrays import Array, Float
from dynid.chain import Joint, Link
from dynid.dynamics import RotorInertia, friction_models
from dynid.simulation.arm import SimulatedArm
from dynid.simulation.closed_loop import wrong_links
from dynid.simulation.joint_controller import ControllerFile, JointController

LENGTHS = (0.06, 0.11, 0.13, 0.06, 0.05)
MASSES = (0.15, 0.13, 0.11, 0.09, 0.12)
AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1))
CONTROLLER = ControllerFile(kp=[18.0, 18.0, 14.0, 8.0, 6.0], kd=[0.6, 0.6, 0.4, 0.15, 0.08], rate=100.0, delay=0.005)
"""Position gains as the datasheet of such servos gives them, N·m/rad and N·m·s/rad."""
ROTOR = 0.003
"""Rotor inertia behind the gear that the drawing assumes, kg·m²."""
COUNTS = 4096
"""Of an encoder in a turn: 12 bit."""


def arm() -> Robot:
    """Plain rods with a servo at the end of each."""
    joints = []
    for j, (length, mass, axis) in enumerate(zip(LENGTHS, MASSES, AXES, strict=True)):
        T = np.eye(4)
        T[2, 3] = LENGTHS[j - 1] if j else 0.0
        moment = mass * length**2 / 12.0 + 2e-5
        link = InertialParameters.from_com(mass, [0.005, 0.0, 0.6 * length], np.diag([moment, moment, 3e-5]))
        joints.append(
            Joint(
                f"joint{j + 1}",
                "revolute",
                j - 1,
                T,
                np.array(axis, dtype=float),
                Link(f"link{j + 1}", link),
                rotor_inertia=ROTOR,
            )
        )
    return Robot("servo arm", tuple(joints))


def truth(seed: int) -> tuple[TorqueModel, Float[Array, " n_params"]]:
    """Links within 20 % of the drawing, friction and rotors that it does not know."""
    rng = np.random.default_rng(seed)
    robot = arm()
    model = TorqueModel(robot, (RotorInertia(), *friction_models("viscous+coulomb")))
    theta = model.nominal()
    theta[: model.n_inertial] = wrong_links(np.array(robot.nominal), 0.2, rng).ravel()
    for j in range(5):
        for symbol, size in (("Ia", 0.004), ("fv", 0.05), ("fc", 0.06)):
            theta[model.index(f"{symbol}{j + 1}")] = size * rng.uniform(0.6, 1.4)
    return model, theta


def reference(seed: int, seconds: float) -> Motion:
    """Five harmonics of 0.1 Hz, at 100 Hz."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(100 * seconds)) / 100.0
    w = 2.0 * np.pi * 0.1 * np.arange(1, 6)
    x = w[:, None] * t
    a, b = rng.normal(size=(2, 5, 5))
    q, dq, ddq = (
        (a * w**k) @ f(x) + (b * w**k) @ g(x)
        for k, f, g in (
            (0, np.sin, np.cos),
            (1, np.cos, lambda y: -np.sin(y)),
            (2, lambda y: -np.sin(y), lambda y: -np.cos(y)),
        )
    )
    scale = 0.8 / np.max(np.abs(q), axis=1, keepdims=True)
    return Motion(t, (scale * q).T, (scale * dq).T, (scale * ddq).T)


def logged(seed: int, motion_seed: int, seconds: float) -> tuple[Recording, Motion]:
    """Positions that the encoders of the true arm tell while it follows a motion, and that motion."""
    model, theta = truth(seed)
    asked = reference(motion_seed, seconds)
    driver = JointController.of(CONTROLLER, model.robot)
    period, steps = driver.ticks(100.0, 1e-3)
    n_ticks = len(asked.t) - 1
    feedback = driver.feedback(model.robot, asked.t, asked.q, 0.0, n_ticks + 1, period, steps)
    simulated = SimulatedArm.of(model, theta, 3.0)
    run = simulated.run(
        asked.q[0], asked.dq[0], np.zeros((0, 5)), period / steps, feedback=feedback, n_steps=n_ticks * steps
    )
    step = 2.0 * np.pi / COUNTS
    q: Array = np.round(run.q[::steps] / step) * step
    return Recording(model.robot.joint_names, asked.t, q, source="servo arm"), asked
