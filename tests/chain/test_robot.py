import numpy as np
import pinocchio as pin
import pytest

from dynid import InertialParameters, Joint, Limits, Link, Motion, Robot, TorqueModel, load_robot, random_motion
from dynid.errors import RobotError, UnknownJoint, UnknownName, UnknownRobot
from tests.robots import BATTERY, random_robot


@pytest.mark.parametrize("robot", BATTERY, ids=lambda robot: robot.name)
def test_locking_a_joint_equals_holding_it_still(robot, rng):
    if robot.n_dof < 2:
        pytest.skip("one joint: nothing would be left to move")
    name = robot.joint_names[robot.n_dof // 2]
    held = robot.index(name)
    locked = robot.locked({name: 0.3})
    motion = random_motion(locked, 20, rng)
    rest = [robot.index(other) for other in locked.joint_names]
    q, dq, ddq = np.zeros((3, 20, robot.n_dof))
    q[:, rest], dq[:, rest], ddq[:, rest] = motion.q, motion.dq, motion.ddq
    q[:, held] = 0.3
    full = TorqueModel(robot).torque(Motion(motion.t, q, dq, ddq), robot.nominal.ravel())
    mine = TorqueModel(locked).torque(motion, locked.nominal.ravel())
    np.testing.assert_allclose(mine, full[:, rest], atol=1e-10)


def test_a_locked_link_survives_by_name(rng):
    robot = random_robot(rng, 4)
    parent = robot.joints[3].parent
    locked = robot.locked({"j3": 0.0})
    assert locked.joint_names == ("j0", "j1", "j2")
    if parent >= 0:
        assert "body3" in locked.joints[parent].link.includes


def test_a_turned_base_turns_gravity(rng):
    robot = load_robot("panda")
    hanging = robot.mounted(np.pi, 0.0, 0.0)
    np.testing.assert_allclose(hanging.gravity, [0.0, 0.0, 9.80665], atol=1e-12)
    wall = load_robot("panda", mounting=(0.0, np.pi / 2, 0.0), gravity=(0.0, 0.0, -9.81))
    np.testing.assert_allclose(wall.gravity, [9.81, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("robot", BATTERY, ids=lambda robot: robot.name)
def test_pinocchio_model_has_the_same_links(robot):
    model = robot.pinocchio
    assert model.nq == model.nv == robot.n_dof
    data = model.createData()
    q = np.linspace(-0.5, 0.7, robot.n_dof)
    pin.framesForwardKinematics(model, data, q)
    T_world: list[np.ndarray] = []
    for index, joint in enumerate(robot.joints):
        T_parent = np.eye(4) if joint.parent < 0 else T_world[joint.parent]
        T_world.append(T_parent @ joint.T_parent_link(q[index]))
        placement = data.oMf[model.getFrameId(joint.link.name)].homogeneous
        np.testing.assert_allclose(placement, T_world[-1], atol=1e-12)


def test_names_and_order_are_checked(rng):
    joints = random_robot(rng, 3).joints
    with pytest.raises(RobotError, match="name used twice: j0"):
        Robot("twice", (joints[0], joints[0]))
    with pytest.raises(RobotError, match="no movable joint"):
        Robot("none", ())
    with pytest.raises(RobotError, match="comes before the joint that carries it"):
        Robot("backwards", (Joint("a", "revolute", 0, np.eye(4), np.array([0.0, 0.0, 1.0]), Link("l")),))
    branches = tuple(
        Joint(name, "revolute", parent, np.eye(4), np.array([0.0, 0.0, 1.0]), Link(f"link {name}"))
        for name, parent in (("a", -1), ("b", -1), ("c", 0))
    )
    with pytest.raises(RobotError, match="branch by branch; 'c' sits on 'a'"):
        Robot("mixed", branches)
    with pytest.raises(RobotError, match="joint 'a': the axis must be three finite numbers, and not zero"):
        Joint("a", "revolute", -1, np.eye(4), np.zeros(3), Link("l"))
    with pytest.raises(RobotError, match="joint 'a': lower position limit 1 lies above the upper 0"):
        Joint("a", "revolute", -1, np.eye(4), np.ones(3), Link("l"), limits=Limits(lower=1.0, upper=0.0))


def test_unknown_names_offer_the_nearest():
    robot = load_robot("panda")
    with pytest.raises(UnknownJoint, match="did you mean 'joint3'"):
        robot.index("jont3")
    with pytest.raises(UnknownName, match="no link 'link9'"):
        robot.with_nominal({"link9": InertialParameters.zero()})
    with pytest.raises(UnknownRobot, match=r"did you mean 'panda'.*known: panda, wam7, planar2r, spatial2r"):
        load_robot("pandda")
    with pytest.raises(RobotError, match="cannot be locked at nan"):
        robot.locked({"joint3": float("nan")})
