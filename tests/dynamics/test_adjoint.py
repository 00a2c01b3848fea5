"""The adjoint of the regressor is its derivative."""

import numpy as np
import pytest

from dynid.dynamics import Motion, TorqueModel, random_motion
from dynid.dynamics.kernels.adjoint import pull_back
from dynid.dynamics.kernels.chains import chain_arrays
from tests.robots import battery


@pytest.mark.parametrize("robot", battery(), ids=lambda robot: robot.name)
def test_the_adjoint_equals_central_differences(robot, rng):
    motion, model = random_motion(robot, 19, rng), TorqueModel(robot)
    Y_bar = rng.normal(size=(19, robot.n_dof, model.n_params))
    bars = [np.empty_like(motion.q) for _ in range(3)]
    pull_back(chain_arrays(robot), motion.q, motion.dq, motion.ddq, Y_bar, 0, 19, *bars)
    step = 1e-6
    for k in range(3):
        for j in range(robot.n_dof):
            sides = []
            for sign in (1.0, -1.0):
                values = [motion.q.copy(), motion.dq.copy(), motion.ddq.copy()]
                values[k][:, j] += sign * step
                sides.append(np.sum(Y_bar * model.regressor(Motion(motion.t, *values)), axis=(1, 2)))
            # The error of central differences: rounding 1e-16/1e-6 times the size, and the step squared.
            np.testing.assert_allclose(bars[k][:, j], (sides[0] - sides[1]) / (2 * step), atol=1e-5, rtol=1e-6)
