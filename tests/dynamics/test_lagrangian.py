import numpy as np
import pinocchio as pin
import pytest

from dynid import TorqueModel, base_parameters
from dynid.dynamics import LagrangianModel, RotorInertia, friction_models, random_motion
from tests.robots import BATTERY

ROBOTS = pytest.mark.parametrize("robot", BATTERY, ids=lambda robot: robot.name)


def lagrangian(robot, terms=()):
    model = TorqueModel(robot, terms)
    theta = np.zeros(model.n_params)
    theta[: model.n_inertial] = robot.nominal.ravel()
    theta[model.n_inertial :] = 0.4
    base = base_parameters(model)
    return LagrangianModel(model, base, base.project(theta)), theta


@ROBOTS
def test_base_coefficients_alone_give_pinocchios_matrices(robot, rng):
    mine, _ = lagrangian(robot)
    motion = random_motion(robot, 11, rng)
    data = robot.pinocchio.createData()
    M, g = mine.inertia_matrix(motion.q), mine.gravity(motion.q)
    c = mine.coriolis_vector(motion.q, motion.dq)
    for k in range(11):
        upper = pin.crba(robot.pinocchio, data, motion.q[k])
        theirs = np.triu(upper) + np.triu(upper, 1).T
        np.testing.assert_allclose(M[k], theirs, atol=1e-9 * np.abs(theirs).max())
        gravity = pin.computeGeneralizedGravity(robot.pinocchio, data, motion.q[k])
        np.testing.assert_allclose(g[k], gravity, atol=1e-9 * max(1.0, np.abs(gravity).max()))
        C = pin.computeCoriolisMatrix(robot.pinocchio, data, motion.q[k], motion.dq[k])
        np.testing.assert_allclose(c[k], C @ motion.dq[k], atol=1e-8)


@ROBOTS
def test_rate_of_inertia_minus_twice_coriolis_is_skew(robot, rng):
    mine, _ = lagrangian(robot)
    motion = random_motion(robot, 5, rng)
    step = 1e-6
    ahead, behind = mine.inertia_matrix(motion.q + step * motion.dq), mine.inertia_matrix(motion.q - step * motion.dq)
    S = (ahead - behind) / (2 * step) - 2.0 * mine.coriolis_matrix(motion.q, motion.dq)
    np.testing.assert_allclose(S, -np.swapaxes(S, 1, 2), atol=1e-7 * max(1.0, np.abs(ahead).max()))


@ROBOTS
def test_coriolis_matrix_is_christoffels(robot, rng):
    mine, _ = lagrangian(robot)
    n = robot.n_dof
    q, dq = rng.normal(size=(1, n)), rng.normal(size=(1, n))
    step = 1e-5
    dM = np.empty((n, n, n))
    for k in range(n):
        e = np.zeros((1, n))
        e[0, k] = step
        dM[k] = (mine.inertia_matrix(q + e)[0] - mine.inertia_matrix(q - e)[0]) / (2 * step)
    C = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            C[i, j] = 0.5 * sum((dM[k, i, j] + dM[j, i, k] - dM[i, j, k]) * dq[0, k] for k in range(n))
    np.testing.assert_allclose(mine.coriolis_matrix(q, dq)[0], C, atol=1e-6 * max(1.0, np.abs(dM).max()))


@ROBOTS
def test_lagrangian_and_newton_euler_torques_agree(robot, rng):
    mine, theta = lagrangian(robot, (RotorInertia(), *friction_models("viscous+coulomb+offset")))
    motion = random_motion(robot, 25, rng)
    expected = mine.model.torque(motion, theta)
    np.testing.assert_allclose(mine.torque(motion), expected, atol=1e-8 * max(1.0, np.abs(expected).max()))
