import mujoco
import numpy as np
import pinocchio as pin
import pytest

from dynid import Motion, TorqueModel, load_robot
from dynid.dynamics import Column, RotorInertia, friction_models, random_motion
from dynid.dynamics.joint_columns import chosen_columns
from dynid.errors import MotionError, ParameterError, UnknownName
from tests.robots import BATTERY, as_mujoco
from tests.unchecked import unchecked

ROBOTS = pytest.mark.parametrize("robot", BATTERY, ids=lambda robot: robot.name)
ALL_TERMS = (RotorInertia(), *friction_models("viscous+coulomb+offset"))


def parameters(model, rng):
    theta = np.zeros(model.n_params)
    theta[: model.n_inertial] = model.robot.nominal.ravel()
    theta[model.n_inertial :] = rng.uniform(0.1, 1.0, model.n_params - model.n_inertial)
    return theta


@ROBOTS
def test_regressor_times_parameters_is_pinocchios_inverse_dynamics(robot, rng):
    motion = random_motion(robot, 53, rng, speed=2.0)
    data = robot.pinocchio.createData()
    theirs = np.array(
        [pin.rnea(robot.pinocchio, data, *state) for state in zip(motion.q, motion.dq, motion.ddq, strict=True)]
    )
    model, theta = TorqueModel(robot), robot.nominal.ravel()
    np.testing.assert_allclose(model.regressor(motion) @ theta, theirs, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.torque(motion, theta), theirs, rtol=1e-10, atol=1e-10)


@ROBOTS
def test_regressor_times_parameters_is_mujocos_inverse_dynamics(robot, rng):
    motion = random_motion(robot, 17, rng, speed=2.0)
    model = as_mujoco(robot)
    data = mujoco.MjData(model)
    theirs = np.empty_like(motion.q)
    for k in range(motion.n_samples):
        data.qpos[:], data.qvel[:], data.qacc[:] = motion.q[k], motion.dq[k], motion.ddq[k]
        mujoco.mj_inverse(model, data)
        theirs[k] = data.qfrc_inverse
    mine = TorqueModel(robot).regressor(motion) @ robot.nominal.ravel()
    # MuJoCo turns each inertia into principal axes and a quaternion, which costs it a few digits.
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9 * np.max(np.abs(theirs)))


def test_ur10e_file_gives_pinocchios_torque(data_dir, rng):
    path = data_dir / "ur10e" / "ur10e.urdf"
    robot = load_robot(path)
    theirs = pin.buildModelFromUrdf(str(path))
    data = theirs.createData()
    motion = random_motion(robot, 40, rng)
    expected = np.array([pin.rnea(theirs, data, *s) for s in zip(motion.q, motion.dq, motion.ddq, strict=True)])
    gravity = np.array([0.0, 0.0, -9.81])
    mine = TorqueModel(robot.with_gravity(gravity)).regressor(motion) @ robot.nominal.ravel()
    np.testing.assert_allclose(mine, expected, rtol=1e-10, atol=1e-10)


@ROBOTS
def test_base_wrench_is_the_sum_of_what_joints_pass_to_the_base(robot, rng):
    motion = random_motion(robot, 21, rng)
    model = robot.pinocchio
    data = model.createData()
    theirs = np.zeros((21, 6))
    for k in range(21):
        pin.rnea(model, data, motion.q[k], motion.dq[k], motion.ddq[k])
        for i in range(1, model.njoints):
            if model.parents[i] == 0:
                wrench = data.liMi[i].act(data.f[i])
                theirs[k] += np.concatenate([wrench.linear, wrench.angular])
    mine = TorqueModel(robot, ALL_TERMS)
    theta = parameters(mine, rng)
    np.testing.assert_allclose(mine.base_wrench(motion, theta), theirs, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(mine.base_wrench_regressor(motion) @ theta, theirs, rtol=1e-10, atol=1e-10)


@ROBOTS
def test_joint_wrenches_are_pinocchios_internal_forces(robot, rng):
    motion = random_motion(robot, 9, rng)
    model, theta = TorqueModel(robot), robot.nominal.ravel()
    mine = model.joint_wrenches(motion, theta)
    data = robot.pinocchio.createData()
    for k in range(9):
        pin.rnea(robot.pinocchio, data, motion.q[k], motion.dq[k], motion.ddq[k])
        theirs = [np.concatenate([data.f[i].linear, data.f[i].angular]) for i in range(1, robot.n_dof + 1)]
        np.testing.assert_allclose(mine[k], theirs, rtol=1e-10, atol=1e-10)


@ROBOTS
def test_torque_is_the_wrench_along_the_joint_axis(robot, rng):
    motion = random_motion(robot, 9, rng)
    model, theta = TorqueModel(robot), robot.nominal.ravel()
    wrenches, tau = model.joint_wrenches(motion, theta), model.torque(motion, theta)
    for j, joint in enumerate(robot.joints):
        part = slice(3, 6) if joint.type == "revolute" else slice(0, 3)
        np.testing.assert_allclose(wrenches[:, j, part] @ joint.axis, tau[:, j], atol=1e-10)


@ROBOTS
def test_a_joint_feels_only_the_links_it_carries(robot, rng):
    model = TorqueModel(robot, ALL_TERMS)
    Y = model.regressor(random_motion(robot, 5, rng))
    for j in range(robot.n_dof):
        hidden = np.setdiff1d(np.arange(model.n_params), model.seen_by(j))
        assert not Y[:, j, hidden].any()


@ROBOTS
def test_inertia_and_gravity_rows_are_pinocchios(robot, rng):
    motion = random_motion(robot, 7, rng)
    model = TorqueModel(robot, ALL_TERMS)
    theta = parameters(model, rng)
    rotor = theta[[model.index(f"Ia{j + 1}") for j in range(robot.n_dof)]]
    data = robot.pinocchio.createData()
    lower = np.tril_indices(robot.n_dof)
    for k, q in enumerate(motion.q):
        upper = pin.crba(robot.pinocchio, data, q)
        M = np.triu(upper) + np.triu(upper, 1).T + np.diag(rotor)
        np.testing.assert_allclose((model.inertia_rows(motion.q) @ theta)[k], M[lower], atol=1e-10)
        g = pin.computeGeneralizedGravity(robot.pinocchio, data, q)
        np.testing.assert_allclose((model.gravity_rows(motion.q) @ theta)[k], g, atol=1e-10)


def test_joint_terms_enter_as_their_equations_say(rng):
    robot = load_robot("planar2r")
    model = TorqueModel(robot, ALL_TERMS)
    theta = np.zeros(model.n_params)
    for name, value in {"Ia": 0.3, "Fv": 0.5, "Fc": 0.7, "Fo": -0.2}.items():
        column = next(c for c in model.columns if c.owner == "joint2" and c.name == name)
        theta[model.index(column)] = value
    motion = random_motion(robot, 12, rng)
    expected = 0.3 * motion.ddq[:, 1] + 0.5 * motion.dq[:, 1] + 0.7 * np.sign(motion.dq[:, 1]) - 0.2
    np.testing.assert_allclose(model.torque(motion, theta)[:, 1], expected, atol=1e-14)
    np.testing.assert_allclose((model.regressor(motion) @ theta)[:, 1], expected, atol=1e-14)
    assert not model.torque(motion, theta)[:, 0].any()


def test_columns_are_named_and_found_by_name():
    model = TorqueModel(load_robot("panda"), friction_models("viscous"))
    assert model.columns[model.index("J3xy")] == Column("link3", "Ixy", "kg·m²")
    assert model.index(Column("joint2", "Fv", "N·m·s/rad")) == model.symbols.index("fv2")
    assert len(model.columns) == len(model.symbols) == model.n_params == 77
    with pytest.raises(UnknownName, match="no parameter 'fv22'; did you mean 'fv2'"):
        model.index("fv22")
    with pytest.raises(UnknownName, match="no column 'link9 m'"):
        model.index(Column("link9", "m", "kg"))
    with pytest.raises(UnknownName, match="no friction model 'viscus'; did you mean 'viscous'"):
        friction_models("viscus+coulomb")
    with pytest.raises(ParameterError, match="names 'coulomb' twice"):
        friction_models("coulomb+coulomb")


def test_every_sample_is_computed_alike_whatever_the_block(rng):
    """Lengths around the block and chunk sizes, so that no sample falls between two threads."""
    robot = load_robot("planar2r")
    model = TorqueModel(robot)
    motion = random_motion(robot, 4600, rng)
    whole = model.regressor(motion)
    for n in (1, 2, 15, 16, 17, 2047, 2048, 2049, 4599):
        np.testing.assert_array_equal(model.regressor(motion.part(0, n)), whole[:n])


def test_an_array_can_be_filled_in_place(rng):
    robot = load_robot("panda")
    model = TorqueModel(robot, friction_models("viscous"))
    motion = random_motion(robot, 30, rng)
    out = np.zeros((30, 7, model.n_params))
    assert model.regressor(motion, out) is out
    np.testing.assert_array_equal(out, model.regressor(motion))
    with pytest.raises(ParameterError, match="out must be contiguous"):
        model.regressor(motion, np.zeros((30, 7, 3)))


@pytest.mark.parametrize("largest", [4.0, 1e3, 1e6])
def test_joints_may_have_turned_any_number_of_times(largest, rng):
    model = TorqueModel(load_robot("planar2r"))
    q = np.concatenate([rng.uniform(-largest, largest, (200, 2)), np.pi / 4.0 * np.arange(-8.0, 8.0)[:, None] * [1, 1]])
    turned = Motion.at_rest(np.arctan2(np.sin(q), np.cos(q)))
    scale = np.max(np.abs(model.regressor(turned)))
    # Both add two angles; each sum is known to a unit in its last place.
    error = np.max(np.abs(model.regressor(Motion.at_rest(q)) - model.regressor(turned)))
    assert error <= 8.0 * np.finfo(float).eps * scale


def test_bad_motion_and_parameters_are_refused(rng):
    model = TorqueModel(load_robot("panda"))
    with pytest.raises(MotionError, match="the motion has 2 joints but panda has 7"):
        model.regressor(random_motion(load_robot("planar2r"), 3, rng))
    good = random_motion(load_robot("panda"), 3, rng)
    q = good.q.copy()
    q[1, 4] = np.nan
    with pytest.raises(MotionError, match="q is not finite at sample 1, joint 5"):
        Motion(good.t, q, good.dq, good.ddq)
    with pytest.raises(MotionError, match="share one shape"):
        unchecked(Motion, t=good.t, q=good.q, dq=good.dq[:, :3], ddq=good.ddq)
    with pytest.raises(MotionError, match="3 samples but"):
        unchecked(Motion, t=good.t[:2], q=good.q, dq=good.dq, ddq=good.ddq)
    with pytest.raises(ParameterError, match="must have 70 entries"):
        model.torque(good, np.zeros(3))
    with pytest.raises(ParameterError, match="parameter not finite: link2 m"):
        model.torque(good, np.where(np.arange(70) == 10, np.inf, 0.0))


def test_positions_stay_inside_the_limits(rng):
    robot = load_robot("panda")
    motion = random_motion(robot, 500, rng)
    for j, joint in enumerate(robot.joints):
        assert joint.limits.lower <= motion.q[:, j].min() <= motion.q[:, j].max() <= joint.limits.upper


@ROBOTS
def test_chosen_columns_are_those_of_the_regressor(robot, rng):
    model = TorqueModel(robot, ALL_TERMS)
    motion = random_motion(robot, 275, rng)
    Y = model.regressor(motion)
    chosen = [rng.permutation(model.n_params)[: 1 + int(rng.integers(model.n_params))] for _ in range(model.n_dof)]
    for j, columns in enumerate(chosen_columns(model, motion, chosen)):
        np.testing.assert_array_equal(columns, Y[:, j, chosen[j]])
