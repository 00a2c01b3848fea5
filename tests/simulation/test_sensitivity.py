"""Derivatives of simulated motions are those of the simulation: finite differences agree."""

from __future__ import annotations

import numpy as np
import pytest

from dynid.arrays import Array
from dynid.chain import load_robot
from dynid.dynamics import RotorInertia, TorqueModel, base_parameters, friction_models
from dynid.simulation.arm import SimulatedArm, SimulatedRun
from dynid.simulation.joint_controller import ControllerFile, JointController
from dynid.simulation.sensitivity import sensitivities
from dynid.simulation.synthetic import plausible_parameters
from tests.simulation.test_arm import waves

STEP = 1e-3
N = 150


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
@pytest.mark.parametrize("friction", ["viscous+coulomb", "viscous+tanh", "presliding", "mujoco+viscous", "asymmetric"])
def test_derivatives_are_those_that_finite_differences_give(friction, closed):
    robot = load_robot("planar2r")
    model = TorqueModel(robot, (RotorInertia(), *friction_models(friction)))
    base = base_parameters(model)
    theta = plausible_parameters(model, values={"Ia": 0.1})
    motion = waves(2, np.arange(N) * STEP)
    tau = model.torque(motion, theta)
    driver = JointController.of(ControllerFile(kp=[80.0, 30.0], kd=[6.0, 1.0], rate=200.0, delay=0.004), robot)
    period, steps = driver.ticks(200.0, STEP)

    def run(values: Array, start: Array, bias: Array, *, traced: bool = False) -> SimulatedRun:
        feedback = driver.feedback(robot, motion.t, motion.q, 0.0, N // steps + 1, period, steps, bias)
        arm = SimulatedArm.of(model, values, 3.0)
        given = np.zeros((0, 2)) if closed else tau
        return arm.run(
            start[0], start[1], given, STEP, feedback=feedback if closed else None, n_steps=N if closed else None,
            traced=traced,
        )  # fmt: skip

    start, bias = np.array([motion.q[0], motion.dq[0]]), np.zeros(2)
    feedback = driver.feedback(robot, motion.t, motion.q, 0.0, N // steps + 1, period, steps, bias)
    arm = SimulatedArm.of(model, theta, 3.0)
    found = sensitivities(
        arm, run(theta, start, bias, traced=True), base, STEP, every=10, feedback=feedback if closed else None
    )
    beta = base.project(theta)
    for column in range(found.q.shape[2]):
        moved: list[Array] = []
        size = 1e-6 * (max(abs(beta[column]), 0.1) if column < base.n_base else 1.0)
        for way in (1.0, -1.0):
            values, first, off = np.array(theta), np.array(start), np.array(bias)
            if column < base.n_base:
                values[base.independent[column]] += way * size
            elif column < base.n_base + 4:
                first[(column - base.n_base) // 2, (column - base.n_base) % 2] += way * size
            else:
                off[column - base.n_base - 4] += way * size
            q = run(values, first, off).q[::10]
            moved.append(q + off if closed else q)
        numeric = (moved[0] - moved[1]) / (2.0 * size)
        scale = np.max(np.abs(numeric)) + 1e-6
        np.testing.assert_allclose(found.q[:, :, column] / scale, numeric / scale, atol=2e-3)
