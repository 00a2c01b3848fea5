"""Identities of rigid-body dynamics and of its parametrisations, over random robots, motions and parameters."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.chain import InertialParameters, consistency, load_robot
from dynid.dynamics import LagrangianModel, Motion, TorqueModel, base_parameters, friction_models
from dynid.regression.constraints.link_parameters import theta_from_p, theta_of
from dynid.tracking import StateBound, StateMap
from dynid.tracking.state_map import Entry
from tests.properties.strategies import link_of, links, motion_of, robot_of, robots, seeds
from tests.regression.arms import p_from_theta

FRICTION = "viscous+coulomb+offset"


def inverse_dynamics(robot, motion):
    data = robot.pinocchio.createData()
    rows = zip(motion.q, motion.dq, motion.ddq, strict=True)
    return np.array([pin.rnea(robot.pinocchio, data, *row) for row in rows])


def energy(robot, q, dq):
    data = robot.pinocchio.createData()
    return pin.computeKineticEnergy(robot.pinocchio, data, q, dq) + pin.computePotentialEnergy(robot.pinocchio, data, q)


@given(robots, seeds)
def test_the_regressor_times_the_parameters_is_inverse_dynamics(robot, seed):
    robot = robot_of(robot)
    model, motion = TorqueModel(robot), motion_of(robot, seed)
    expected = inverse_dynamics(robot, motion)
    Y, theta = model.regressor(motion), model.nominal()
    # Relative to the terms that are added up: they cancel.
    scale = np.max(np.abs(Y * theta))
    np.testing.assert_allclose(Y @ theta, expected, rtol=0.0, atol=1e-11 * scale)
    np.testing.assert_allclose(model.torque(motion, theta), expected, rtol=0.0, atol=1e-11 * scale)


@given(robots, seeds, st.floats(-5.0, 5.0), st.floats(-5.0, 5.0))
def test_torque_is_linear_in_the_parameters(robot, seed, a, b):
    robot = robot_of(robot)
    model, motion = TorqueModel(robot, friction_models(FRICTION)), motion_of(robot, seed)
    one, two = np.random.default_rng(seed).normal(size=(2, model.n_params))
    together = model.torque(motion, a * one + b * two)
    apart = a * model.torque(motion, one) + b * model.torque(motion, two)
    scale = np.max(np.abs(model.regressor(motion))) * 10.0 * max(1.0, abs(a), abs(b))
    np.testing.assert_allclose(together, apart, rtol=0.0, atol=1e-12 * scale)


@given(robots, seeds)
def test_what_torque_cannot_see_changes_neither_coefficients_nor_torque(robot, seed):
    robot = robot_of(robot)
    model = TorqueModel(robot, friction_models(FRICTION))
    base, motion = base_parameters(model), motion_of(robot, seed)
    null = np.linalg.svd(base.K)[2][base.n_base :]
    theta = model.nominal()
    other = theta + np.random.default_rng(seed).normal(size=len(null)) @ null
    Y = model.regressor(motion)
    np.testing.assert_allclose(base.project(other), base.project(theta), rtol=0.0, atol=1e-10 * np.abs(other).max())
    # K is found to about 1e-10 by the regrouping; a column that is seen would show at its full size.
    scale = np.max(np.abs(Y)) * np.abs(other).max()
    np.testing.assert_allclose(model.torque(motion, other), model.torque(motion, theta), rtol=0.0, atol=1e-7 * scale)
    np.testing.assert_allclose(base.project(base.lift(base.project(theta))), base.project(theta), rtol=1e-9, atol=1e-12)


@given(robots, seeds)
def test_the_rate_of_the_inertia_matrix_minus_twice_coriolis_is_skew(robot, seed):
    robot = robot_of(robot)
    model = TorqueModel(robot)
    base = base_parameters(model)
    lagrangian = LagrangianModel(model, base, base.project(model.nominal()))
    motion = motion_of(robot, seed, 2)
    q, dq, h = motion.q, motion.dq, 1e-5
    rate = (lagrangian.inertia_matrix(q + h * dq) - lagrangian.inertia_matrix(q - h * dq)) / (2.0 * h)
    S = rate - 2.0 * lagrangian.coriolis_matrix(q, dq)
    scale = np.max(np.abs(lagrangian.inertia_matrix(q))) * max(1.0, np.max(np.abs(dq)) ** 3)
    # Central differences: rounding 1e-16/h and h² of the third derivative, both about 1e-10.
    np.testing.assert_allclose(S + np.swapaxes(S, 1, 2), 0.0, atol=1e-7 * scale)


@given(robots, seeds)
def test_power_is_the_rate_of_energy_and_what_friction_takes(robot, seed):
    robot = robot_of(robot)
    model = TorqueModel(robot, friction_models("viscous+coulomb"))
    theta = model.nominal()
    rng = np.random.default_rng(seed)
    theta[model.n_inertial :] = rng.uniform(0.0, 2.0, model.n_params - model.n_inertial)
    motion = motion_of(robot, seed, 1)
    q, dq, ddq = motion.q[0], motion.dq[0], motion.ddq[0]
    h = 1e-5
    ahead, behind = (energy(robot, q + s * dq + 0.5 * h * h * ddq, dq + s * ddq) for s in (h, -h))
    power = float(model.torque(motion, theta)[0] @ dq)
    rigid = TorqueModel(robot)
    loss = float((model.torque(motion, theta) - rigid.torque(motion, rigid.nominal()))[0] @ dq)
    assert loss >= 0.0
    scale = abs(power) + abs(ahead) + np.abs(rigid.regressor(motion) * rigid.nominal()).max() * np.abs(dq).max()
    assert power == pytest.approx((ahead - behind) / (2.0 * h) + loss, abs=1e-6 * scale)


@given(links)
def test_every_parametrisation_of_a_link_comes_back(link):
    link = link_of(link)
    scale = np.abs(link.pi).max()
    for again in (
        InertialParameters.from_pseudo_inertia(link.pseudo_inertia),
        InertialParameters.from_com(link.mass, link.com, link.inertia_com),
        *(InertialParameters.from_order(link.to_order(order), order) for order in ("urdf", "mjcf", "khalil")),
    ):
        np.testing.assert_allclose(again.pi, link.pi, rtol=0.0, atol=1e-12 * scale)
    numbers = link.log_cholesky
    again = InertialParameters.from_log_cholesky(numbers)
    # The factor of a thin body loses digits with its smallest eigenvalue.
    np.testing.assert_allclose(again.pi, link.pi, rtol=0.0, atol=1e-7 * scale)
    assert consistency(again).holds
    p = p_from_theta(link.pi, 1)
    np.testing.assert_allclose(theta_of(p, 1), link.pi, rtol=0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(theta_from_p(p, 1)[0], link.pi, rtol=0.0, atol=1e-12 * scale)


@given(seeds, st.floats(0.1, 10.0))
def test_states_of_the_filter_start_at_their_parameters_and_stay_between_their_bounds(seed, width):
    rng = np.random.default_rng(seed)
    model = TorqueModel(load_robot("planar2r"))
    theta = model.nominal()
    lower, upper = theta - width * rng.uniform(0.1, 1.0, 20), theta + width * rng.uniform(0.1, 1.0, 20)
    pieces = [Entry(s, StateBound(a, b)) for s, a, b in zip(model.symbols, lower, upper, strict=True)]
    state = StateMap.of(model, theta, pieces)
    np.testing.assert_allclose(state.at(state.x0).theta[:20], theta, rtol=0.0, atol=1e-9 * width)
    far = state.at(state.x0 + rng.normal(size=20) * 1e3).theta[:20]
    assert np.all((far >= lower - 1e-12) & (far <= upper + 1e-12))
    assert np.all(np.isfinite(far))


@given(robots, seeds, st.floats(-9.0, 9.0))
def test_torque_scales_with_the_unit_of_mass(robot, seed, exponent):
    robot = robot_of(robot)
    model, motion = TorqueModel(robot), motion_of(robot, seed)
    factor = 10.0**exponent
    np.testing.assert_allclose(
        model.torque(motion, factor * model.nominal()), factor * model.torque(motion, model.nominal()), rtol=1e-9,
        atol=1e-12 * factor * np.max(np.abs(model.regressor(motion))) * np.abs(model.nominal()).max(),
    )  # fmt: skip


@given(robots, seeds)
def test_a_robot_turned_with_its_gravity_needs_the_same_torque(robot, seed):
    robot = robot_of(robot)
    motion = motion_of(robot, seed)
    roll, pitch, yaw = np.random.default_rng(seed).uniform(-3.0, 3.0, 3)
    turned = robot.mounted(roll, pitch, yaw)
    assert np.linalg.norm(turned.gravity) == pytest.approx(np.linalg.norm(robot.gravity))
    free, still = Motion.at_rest(motion.q), np.zeros(3)
    weightless = TorqueModel(robot.with_gravity(still))
    np.testing.assert_allclose(weightless.torque(free, weightless.nominal()), 0.0, atol=1e-9)
