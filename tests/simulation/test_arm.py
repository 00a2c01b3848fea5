"""The forward simulation: second order in smooth motion, exact sticking, the same arm that inverse dynamics knows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynid.arrays import Array
from dynid.chain import load_robot
from dynid.dynamics import FRICTION, Motion, RotorInertia, TorqueModel, friction_models
from dynid.dynamics.friction.mujoco import MUJOCO_RATE
from dynid.dynamics.kernels.chains import chain_arrays
from dynid.dynamics.kernels.forward import mass_and_bias
from dynid.errors import ConfigError, ParameterError
from dynid.simulation.arm import SimulatedArm
from dynid.simulation.arm_kernels import mass_matrix_and_bias, rigid_torque, workspace
from dynid.simulation.joint_controller import ControllerFile, JointController, read_controller
from dynid.simulation.mujoco_arm import MujocoArm
from dynid.simulation.synthetic import plausible_parameters

COUPLED = np.array([[1.0, 0.0], [-1.0, 1.0]])
CART = """<mujoco><compiler angle="radian"/><option timestep="{step}" gravity="0 0 0"/><worldbody><body name="cart">
<inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/><joint name="slide" type="slide" axis="1 0 0" damping="{damping}"
 frictionloss="{dry}"/></body></worldbody></mujoco>"""
"""A mass of 2 kg on a rail."""


def cart(tmp_path, friction: str, values: dict[str, float]) -> SimulatedArm:
    path = tmp_path / "cart.xml"
    path.write_text(CART.format(step=0.001, damping=0, dry=0))
    model = TorqueModel(load_robot(path), friction_models(friction))
    theta = model.nominal()
    for symbol, value in values.items():
        theta[model.index(symbol)] = value
    return SimulatedArm.of(model, theta, 1.0)


def waves(n_dof: int, t: Array) -> Motion:
    """Every joint on a sine of its own frequency, exactly differentiated."""
    w, phase = 2.0 * np.pi * np.linspace(0.4, 1.1, n_dof), np.linspace(0.0, 5.0, n_dof)
    x = w * t[:, None] + phase
    return Motion(t, 0.4 * np.sin(x) - 0.5, 0.4 * w * np.cos(x), -0.4 * w**2 * np.sin(x))


@pytest.mark.parametrize("name", ["panda", "planar2r", "spatial2r"])
def test_mass_matrix_and_bias_are_those_of_the_batch_kernels(name, rng):
    robot = load_robot(name)
    n, chain = robot.n_dof, chain_arrays(robot)
    q, dq, ddq = rng.normal(size=(3, n))
    links, rotor = np.array(robot.nominal), rng.uniform(0.0, 1.0, n)
    M, bias, mine, own = np.empty((n, n)), np.empty(n), np.empty((n, n)), np.empty(n)
    W, tau = workspace(n), np.empty(n)
    mass_and_bias(chain, q, dq, links, rotor, M, bias)
    mass_matrix_and_bias(chain, q, dq, np.zeros(n), links, rotor, W, mine, own)
    np.testing.assert_allclose(mine, M, atol=1e-12 * np.max(M))
    np.testing.assert_allclose(own, bias, atol=1e-12 * np.max(np.abs(bias)) + 1e-13)
    rigid_torque(chain, q, dq, ddq, links, W, tau)
    expected = TorqueModel(robot).torque(Motion(np.zeros(1), q[None], dq[None], ddq[None]), links.ravel())[0]
    np.testing.assert_allclose(tau, expected, atol=1e-12 * np.max(np.abs(expected)) + 1e-13)


def test_halving_the_step_quarters_the_error_of_a_smooth_motion():
    model = TorqueModel(load_robot("panda"), (RotorInertia(), *friction_models("viscous")))
    theta = plausible_parameters(model, values={"Ia": 0.1})
    errors = []
    for step in (2e-3, 1e-3):
        n = round(0.4 / step)
        motion = waves(7, np.arange(2 * n + 1) * step / 2)
        arm = SimulatedArm.of(model, theta, 3.0)
        run = arm.run(motion.q[0], motion.dq[0], model.torque(motion, theta)[1::2], step)
        errors.append(np.max(np.abs(run.q[-1] - motion.q[-1])))
    assert errors[1] < 2e-5  # rad; encoders have 1e-4
    assert 3.0 < errors[0] / errors[1] < 5.0  # 4 for second order


def test_a_force_below_dry_friction_moves_nothing_and_one_above_it_accelerates_by_the_rest(tmp_path):
    arm = cart(tmp_path, "coulomb", {"fc1": 3.0})
    held = arm.run(np.zeros(1), np.zeros(1), np.full((500, 1), 2.999), 1e-3)
    assert np.all(held.q == 0.0)
    assert np.all(held.dq == 0.0)
    moved = arm.run(np.zeros(1), np.zeros(1), np.full((500, 1), 5.0), 1e-3)
    np.testing.assert_allclose(moved.dq[-1], 0.5 * (5.0 - 3.0) / 2.0, rtol=1e-9)


def test_a_sliding_mass_stops_where_dry_friction_has_used_up_its_energy_and_stays(tmp_path):
    arm = cart(tmp_path, "coulomb", {"fc1": 3.0})
    run = arm.run(np.zeros(1), np.array([0.6]), np.zeros((800, 1)), 1e-3)
    np.testing.assert_allclose(run.q[-1], 2.0 * 0.6**2 / (2.0 * 3.0), rtol=1e-4)
    assert np.all(run.dq[-100:] == 0.0)


def test_a_mass_on_a_spring_swings_with_its_frequency(tmp_path):
    arm = cart(tmp_path, "spring", {"ks1": 8.0, "ko1": -0.8})
    run = arm.run(np.zeros(1), np.zeros(1), np.zeros((3000, 1)), 1e-3)
    t = np.arange(3001) * 1e-3
    # At rest about 0.1 m; √(8/2) = 2 rad/s. The step is second order: (2·1e-3)² of the angle.
    np.testing.assert_allclose(run.q[:, 0], 0.1 * (1.0 - np.cos(2.0 * t)), atol=1e-5)


@pytest.mark.parametrize("name", [*FRICTION, "coulomb+stribeck", "presliding+viscous", "viscous+coulomb+load"])
def test_steps_of_a_millisecond_agree_with_far_finer_ones_whatever_rubs(name):
    """The torque is the same staircase; what is left is the integrator's error, reversals included."""
    model = TorqueModel(load_robot("planar2r"), (RotorInertia(), *friction_models(name)))
    theta = plausible_parameters(model, values={"Ia": 0.1})
    n, fine = 600, 10
    motion = waves(2, np.arange(n) * 1e-3)
    arm = SimulatedArm.of(model, theta, 3.0)
    tau = model.torque(motion, theta)
    coarse = arm.run(motion.q[0], motion.dq[0], tau, 1e-3)
    exact = arm.run(motion.q[0], motion.dq[0], np.repeat(tau, fine, axis=0), 1e-3 / fine)
    assert coarse.n_steps == n
    # rad; a joint that has stuck breaks loose up to a step late, and is off by some 1e-3 rad/s from then on.
    assert np.max(np.abs(coarse.q - exact.q[::fine])) < 4e-4
    assert np.ptp(exact.q, axis=0).min() > 0.1


def test_what_presliding_remembers_at_the_start_counts(tmp_path):
    arm = cart(tmp_path, "presliding", {"fd1": 3.0})
    tau = np.full((200, 1), 1.0)
    loaded = arm.run(np.zeros(1), np.zeros(1), tau, 1e-3, z=np.array([[1.0 / 3.0]]))
    fresh = arm.run(np.zeros(1), np.zeros(1), tau, 1e-3)
    assert np.max(np.abs(loaded.q)) < 1e-9  # the force is held already
    assert np.max(np.abs(fresh.q)) > 1e-4


@pytest.mark.parametrize("dry", [1.0, 4.0])
def test_friction_as_mujoco_applies_it_is_that_of_mujoco(tmp_path, dry):
    step = 1e-4
    path = tmp_path / "cart.xml"
    path.write_text(CART.format(step=step, damping=0.5, dry=dry))
    robot = load_robot(path)
    t = np.arange(6000) * step
    push = 6.0 * np.sin(2.0 * np.pi * 3.0 * t)[:, None]
    theirs = MujocoArm.of(path, robot).run(np.zeros(1), np.array([0.2]), push, step)
    # R = (1 − d) / d · 1/m with d = 0.9, and it slips beyond R F / b.
    slip = (0.1 / 0.9) / 2.0 * dry / MUJOCO_RATE
    soft = friction_models("mujoco")[0].reshaped(((slip,),))
    model = TorqueModel(robot, (soft, *friction_models("viscous")))
    theta = model.nominal()
    theta[model.index("fm1")], theta[model.index("fv1")] = dry, 0.5
    mine = SimulatedArm.of(model, theta, 1.0).run(np.zeros(1), np.array([0.2]), push, step)
    assert np.ptp(mine.q) > 0.02
    np.testing.assert_allclose(mine.q, theirs.q, atol=2e-5)  # m; the steps of MuJoCo are of first order


def test_an_arm_that_runs_away_ends_there_and_says_when(tmp_path):
    arm = cart(tmp_path, "none", {})
    run = arm.run(np.zeros(1), np.zeros(1), np.full((100, 1), 1e6), 1e-3)
    assert run.n_steps < 10
    assert np.all(np.isnan(run.q[run.n_steps + 2 :]))


def test_dry_friction_that_drives_a_joint_is_refused(tmp_path):
    arm = cart(tmp_path, "coulomb", {"fc1": -1.0})
    with pytest.raises(ParameterError, match=r"dry friction of slide is negative.*feasible"):
        arm.run(np.zeros(1), np.zeros(1), np.zeros((1, 1)), 1e-3)


def test_coupled_joints_are_refused():
    with pytest.raises(ParameterError, match="transmission"):
        SimulatedArm.of(TorqueModel(replace(load_robot("planar2r"), transmission=COUPLED)), np.zeros(20), 1.0)


def test_a_held_delayed_command_does_what_the_same_torques_do(tmp_path):
    """The controller's own staircase, given as torque, repeats the motion exactly."""
    arm = cart(tmp_path, "viscous+coulomb", {"fv1": 0.4, "fc1": 0.3})
    robot = arm.model.robot
    driver = JointController.of(ControllerFile(kp=40.0, kd=4.0, rate=100.0, delay=0.015), robot)
    t = np.arange(200) * 0.01
    reference = 0.1 * np.sin(4.0 * t)[:, None]
    period, steps = driver.ticks(100.0, 1e-3)
    assert (period, steps) == (0.01, 10)
    feedback = driver.feedback(robot, t, reference, 0.0, 200, period, steps)
    run = arm.run(np.zeros(1), np.zeros(1), np.zeros((0, 1)), 1e-3, feedback=feedback, n_steps=1990)
    again = arm.run(np.zeros(1), np.zeros(1), run.tau, 1e-3)
    np.testing.assert_array_equal(again.q, run.q)
    first = 40.0 * (reference[1] - run.q[10]) + 4.0 * (feedback.velocity[1] - run.dq[10])
    np.testing.assert_allclose(run.tau[25], first)  # decided at 10 ms, in force from 25 ms on
    assert np.max(np.abs(run.tau[16:24] - run.tau[16])) == 0.0


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("kp = [1.0, 2.0]", r"kp has 2 numbers.*1 joints"),
        ("kp = {elbow = 1.0}", r"no joint 'elbow'.*slide"),
        ("kp = -1.0", "not negative"),
        ("kp = 1.0\nspeed = 3", r"speed.*the keys are kp, kd"),
        ("kd = 1.0", "kp"),
        ("kp = 1.0\nhold = 'first'", "hold"),
        ("kp = ", "ctrl.toml"),
    ],
)
def test_a_wrong_controller_file_says_which_key_is_wrong(tmp_path, text, match):
    robot = cart(tmp_path, "none", {}).model.robot
    path = tmp_path / "ctrl.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=match):
        read_controller(path, robot)
