"""Forward dynamics undoes inverse dynamics, and agrees with Pinocchio's articulated-body algorithm."""

import numpy as np
import pinocchio as pin
import pytest

from dynid.chain import Robot
from dynid.dynamics import Motion, RotorInertia, TorqueModel, random_motion
from dynid.dynamics.kernels.forward import accelerations
from dynid.errors import ParameterError
from tests.robots import battery


@pytest.mark.parametrize("robot", battery(), ids=lambda robot: robot.name)
def test_accelerations_are_those_of_pinocchio(robot: Robot, rng):
    motion = random_motion(robot, 60, rng)
    tau = TorqueModel(robot).torque(motion, robot.nominal.ravel()) + rng.normal(size=motion.q.shape)
    data = robot.pinocchio.createData()
    rows = zip(motion.q, motion.dq, tau, strict=True)
    expected = np.array([pin.aba(robot.pinocchio, data, *row) for row in rows])
    # Rounding grows with the condition of M, 1e5 for a wrist on an arm.
    np.testing.assert_allclose(accelerations(robot, motion.q, motion.dq, tau), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("robot", battery(), ids=lambda robot: robot.name)
def test_forward_dynamics_is_the_inverse_of_inverse_dynamics(robot: Robot, rng):
    motion = random_motion(robot, 700, rng)  # more than a chunk
    model = TorqueModel(robot, (RotorInertia(),))
    rotor = rng.uniform(0.0, 0.1, robot.n_dof)
    theta = np.concatenate([robot.nominal.ravel(), rotor])
    ddq = accelerations(robot, motion.q, motion.dq, model.torque(motion, theta), rotor_inertia=rotor)
    np.testing.assert_allclose(ddq, motion.ddq, rtol=1e-8, atol=1e-8)


def test_parameters_of_no_arm_are_refused(rng):
    robot = battery()[0]
    motion = Motion.at_rest(rng.normal(size=(3, robot.n_dof)))
    with pytest.raises(ParameterError, match="mass matrix is not positive definite at sample 0"):
        accelerations(robot, motion.q, motion.dq, motion.q, links=-robot.nominal)
