import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from dynid import InertialParameters, Motion, Robot, TorqueModel, load_robot
from dynid.chain import Joint, Limits, Link
from dynid.chain.placement import is_rigid, rotation_about, rotation_rpy, transform, unit
from dynid.dynamics import random_motion
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


Z = np.array([0.0, 0.0, 1.0])


def joint(name: str = "a", parent: int = -1, **given) -> Joint:
    given = {"T_parent_joint": np.eye(4), "axis": Z, "link": Link(f"link {name}"), **given}
    return Joint(name, "revolute", parent, **given)


def test_rotations_are_those_of_scipy(rng):
    for roll, pitch, yaw in rng.uniform(-3.0, 3.0, (5, 3)):
        mine = rotation_rpy(roll, pitch, yaw)
        np.testing.assert_allclose(mine, Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix(), atol=1e-14)
        axis = unit(np.array([roll, pitch, yaw]))
        np.testing.assert_allclose(rotation_about(axis, 0.7), Rotation.from_rotvec(0.7 * axis).as_matrix(), atol=1e-14)


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e300])
def test_a_direction_does_not_depend_on_the_length(size):
    np.testing.assert_allclose(unit(size * np.array([3.0, 0.0, -4.0])), [0.6, 0.0, -0.8], rtol=1e-15)
    np.testing.assert_allclose(joint(axis=size * np.array([3.0, 0.0, -4.0])).axis, [0.6, 0.0, -0.8], rtol=1e-15)


def rigid(**changes: float) -> np.ndarray:
    """The identity with single entries changed, as in T01=0.1."""
    T = np.eye(4)
    for place, value in changes.items():
        T[int(place[1]), int(place[2])] = value
    return T


@pytest.mark.parametrize(
    ("T", "answer"),
    [
        (rigid(), True),
        (rigid(T03=1e6), True),
        (rigid(T13=-1e6), True),
        (rigid(T23=1.001e6), False),
        (rigid(T13=-1.001e6), False),
        (rigid(T01=1e-7, T10=-1e-7), True),
        (rigid(T01=1e-5), False),
        (rigid(T00=1.00001), False),
        (rigid(T00=-1.0), False),
        (rigid(T00=-1.0, T11=-1.0), True),
        (rigid(T00=2.0, T11=0.5), False),
        (rigid(T30=1e-9), False),
        (rigid(T33=2.0), False),
        (rigid(T03=np.nan), False),
        (rigid(T22=np.inf), False),
    ],
)
def test_only_a_turn_and_a_shift_of_at_most_a_thousand_kilometres_is_rigid(T, answer):
    assert is_rigid(T) is answer


def test_a_transform_turns_and_then_shifts():
    T = transform([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], (1.0, 2.0, 3.0))
    np.testing.assert_array_equal(T @ [1.0, 0.0, 0.0, 1.0], [1.0, 3.0, 3.0, 1.0])
    np.testing.assert_array_equal(transform(), np.eye(4))


@pytest.mark.parametrize("name", ["velocity", "effort", "acceleration", "jerk"])
def test_a_speed_limit_may_be_zero_but_not_negative(name):
    joint(limits=Limits(**{name: 0.0}))
    with pytest.raises(RobotError, match="velocity, effort, acceleration and jerk limits cannot be negative"):
        joint(limits=Limits(**{name: -1e-9}))


@pytest.mark.parametrize("name", ["lower", "upper", "velocity", "effort", "acceleration", "jerk"])
def test_a_limit_that_is_not_a_number_is_refused(name):
    with pytest.raises(RobotError, match="a limit is not a number; leave it out where it is unknown"):
        joint(limits=Limits(**{name: np.nan}))


def test_position_limits_may_meet_and_are_infinite_by_default():
    assert joint(limits=Limits(lower=0.5, upper=0.5)).limits.lower == 0.5
    free = joint().limits
    assert (free.lower, free.upper) == (-np.inf, np.inf)
    assert free.velocity == free.effort == free.acceleration == free.jerk == np.inf


def test_rotors_weigh_nothing_or_something():
    assert joint().rotor_inertia == 0.0
    assert joint(rotor_inertia=0.5).rotor_inertia == 0.5
    for wrong in (-1e-9, np.inf, np.nan):
        with pytest.raises(RobotError, match=r"rotor inertia .* is not a positive number"):
            joint(rotor_inertia=wrong)


def test_masses_beyond_any_are_refused():
    joint(link=Link("l", InertialParameters.from_com(1e18, np.zeros(3), np.eye(3))))
    with pytest.raises(RobotError, match="the mass or inertia of link 'l' is beyond any"):
        joint(link=Link("l", InertialParameters.from_com(1.0, np.zeros(3), 1.01e18 * np.eye(3))))


def test_a_robot_has_at_most_512_joints():
    links = tuple(joint(f"j{i}", i - 1) for i in range(513))
    assert Robot("long", links[:512]).n_dof == 512
    with pytest.raises(RobotError, match="513 joints; robots of up to 512 are supported"):
        Robot("longer", links)


def test_gravity_is_finite():
    assert np.array_equal(Robot("r", (joint(),)).gravity, [0.0, 0.0, -9.80665])
    assert Robot("r", (joint(),), gravity=np.array([0.0, 0.0, -1e6])).gravity[2] == -1e6
    for wrong in ([0.0, 0.0, -1.001e6], [np.nan, 0.0, 0.0], [0.0, np.inf, 0.0]):
        with pytest.raises(RobotError, match="gravity must be three finite numbers in m/s², up to 1e"):
            Robot("r", (joint(),), gravity=np.array(wrong))


@pytest.mark.parametrize("name", ["", "x" * 257, "a\nb", "\x1b[31m"])
@pytest.mark.parametrize("kind", ["joint", "link"])
def test_names_that_cannot_be_shown_are_refused(name, kind):
    with pytest.raises(RobotError, match=f"the {kind} name .* is empty, longer than 256 characters, or holds"):
        Robot("r", (joint(name, link=Link("l")) if kind == "joint" else joint("j", link=Link(name)),))


def test_names_may_have_256_characters():
    assert Robot("r", (joint("x" * 256, link=Link("l")),)).link_names == ("l",)


def test_links_may_not_share_a_name():
    with pytest.raises(RobotError, match="link name used twice: l; names must be unique"):
        Robot("r", (joint("a", link=Link("l")), joint("b", 0, link=Link("l"))))


def test_a_branch_may_start_at_the_base_again():
    robot = Robot("r", (joint("a"), joint("b", 0), joint("c", -1), joint("d", 2)))
    assert robot.path_to == ((0,), (0, 1), (2,), (2, 3))
    assert list(robot.parents) == [-1, 0, -1, 2]


def test_links_without_inertia_are_named():
    robot = Robot("r", (joint("a", link=Link("l", InertialParameters.zero())), joint("b", 0)))
    assert not robot.has_nominal
    assert load_robot("panda").has_nominal
    with pytest.raises(RobotError, match="no nominal inertia for link b; add mass"):
        _ = robot.nominal
    welded = robot.locked({"b": 0.0})
    assert welded.joints[0].link.nominal is None
    assert welded.joints[0].link.includes == ("link b",)


@pytest.mark.parametrize(
    ("C", "message"),
    [
        (np.eye(2), None),
        (np.diag([1e-9, 1e9]), None),
        (np.array([[1.0, 0.0], [1.0, 1.0]]), None),
        (np.array([[1.0, 0.0], [1.0, 3e-6]]), None),
        (np.array([[1.0, 0.0], [1.0, 1e-7]]), "the transmission matrix is singular"),
        (np.array([[1.0, 0.0], [0.0, 0.0]]), "the transmission matrix is singular"),
        (np.array([[1.0, 0.0], [0.0, np.nan]]), "must be 2×2 and finite"),
        (np.eye(3), "must be 2×2 and finite"),
        (np.eye(1), "must be 2×2 and finite"),
    ],
)
def test_a_transmission_couples_every_motor_to_the_joints(C, message):
    joints = (joint("a"), joint("b", 0))
    if message is None:
        np.testing.assert_array_equal(Robot("r", joints, transmission=C).transmission, C)
    else:
        with pytest.raises(RobotError, match=message):
            Robot("r", joints, transmission=C)


def test_only_a_joint_of_its_own_drive_can_be_locked():
    C = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
    robot = Robot("r", (joint("a"), joint("b", 0), joint("c", 1)), transmission=C)
    np.testing.assert_array_equal(robot.locked({"a": 0.1}).transmission, [[1.0, 0.0], [1.0, 2.0]])
    for name in ("b", "c"):
        with pytest.raises(RobotError, match=f"joint '{name}' is coupled to others and cannot be locked"):
            robot.locked({name: 0.1})
