import json

import numpy as np
import pytest

from dynid import TorqueModel, load_robot
from dynid.chain.denavit import QUARTER_TURN_TOLERANCE, DenavitJoint, DenavitTable, _cos_sin
from dynid.dynamics import random_motion
from dynid.errors import RobotFileError, UnknownJoint

TABLE = """
name = "my arm"
convention = "modified"
gravity = [0.0, 0.0, -9.81]
[[joint]]
name = "shoulder"
a = 0.0
alpha = 0.0
d = 0.333
position_limits = [-2.9, 2.9]
velocity_limit = 2.17
effort_limit = 87.0
[[joint]]
name = "slide"
type = "prismatic"
a = 0.1
alpha = -1.5707963267948966
d = 0.0
acceleration_limit = 3.0
link = "carriage"
inertia = { mass = 2.0, com = [0.0, 0.1, 0.0], inertia_com = [0.02, 0.0, 0.0, 0.01, 0.0, 0.02] }
"""


@pytest.mark.parametrize("quarters", [-3, -2, -1, 0, 1, 2, 3, 5])
def test_quarter_turns_are_exact_and_other_angles_are_not_touched(quarters):
    turn = quarters * np.pi / 2.0
    exact = (round(np.cos(turn)), round(np.sin(turn)))
    for off in (0.0, 0.9 * QUARTER_TURN_TOLERANCE, -0.9 * QUARTER_TURN_TOLERANCE):
        assert _cos_sin(turn + off) == exact
    for off in (1.1 * QUARTER_TURN_TOLERANCE, -1.1 * QUARTER_TURN_TOLERANCE, 0.3, -1.0):
        assert _cos_sin(turn + off) == (np.cos(turn + off), np.sin(turn + off))
        assert _cos_sin(turn + off) != exact


def test_a_joint_without_a_name_is_called_by_its_number(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(TABLE.replace('name = "slide"\n', ""))
    with pytest.raises(RobotFileError, match="joint 'number 2', name: is missing"):
        load_robot(path)


def test_a_table_file_becomes_a_robot(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(TABLE)
    robot = load_robot(path)
    assert robot.name == "my arm"
    assert robot.joint_names == ("shoulder", "slide")
    assert robot.link_names == ("link1", "carriage")
    assert [joint.type for joint in robot.joints] == ["revolute", "prismatic"]
    limits = robot.joints[0].limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (-2.9, 2.9, 2.17, 87.0)
    assert robot.joints[1].limits.acceleration == 3.0
    assert robot.joints[0].link.nominal is None
    assert robot.joints[1].link.nominal.mass == 2.0


def test_only_a_prismatic_joint_may_leave_out_d(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(TABLE.replace("d = 0.0\n", ""))
    np.testing.assert_array_equal(load_robot(path).joints[1].T_parent_joint[:3, 3], [0.1, 0.0, 0.0])
    path.write_text(TABLE.replace("d = 0.333\n", ""))
    with pytest.raises(RobotFileError, match="joint 'shoulder', d: is missing"):
        load_robot(path)


def transform_of(row, convention, q):
    """The textbook product, written out once more."""

    def rot(axis, angle):
        c, s = np.cos(angle), np.sin(angle)
        T = np.eye(4)
        if axis == "x":
            T[1:3, 1:3] = [[c, -s], [s, c]]
        else:
            T[0:2, 0:2] = [[c, -s], [s, c]]
        return T

    def trans(x, z):
        T = np.eye(4)
        T[0, 3], T[2, 3] = x, z
        return T

    theta = row.theta + (q if row.type == "revolute" else 0.0)
    d = row.d + (q if row.type == "prismatic" else 0.0)
    about_z, about_x = rot("z", theta) @ trans(0, d), trans(row.a, 0) @ rot("x", row.alpha)
    return about_z @ about_x if convention == "standard" else about_x @ about_z


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_both_conventions_give_the_textbook_kinematics(convention, rng):
    rows = tuple(
        DenavitJoint.model_validate({"name": f"j{i}", "a": a, "alpha": alpha, "d": d, "theta": theta, "type": kind})
        for i, (a, alpha, d, theta, kind) in enumerate(
            [(0.1, 0.3, 0.2, 0.1, "revolute"), (0.2, -1.2, 0.0, 0.4, "prismatic"), (0.0, 1.5, 0.3, 0.0, "revolute")]
        )
    )
    robot = DenavitTable(name="arm", convention=convention, joint=rows).robot()
    q = rng.normal(size=3)
    for joint, row, position in zip(robot.joints, rows, q, strict=True):
        np.testing.assert_allclose(joint.T_parent_link(position), transform_of(row, convention, position), atol=1e-14)


def test_a_fixed_row_welds_and_a_parent_branches():
    rows = (
        DenavitJoint(name="a", a=0.0, alpha=0.0, d=0.1),
        DenavitJoint(name="weld", a=0.2, alpha=0.0, d=0.0, type="fixed"),
        DenavitJoint(name="b", a=0.1, alpha=0.0, d=0.0),
        DenavitJoint(name="c", a=0.3, alpha=0.0, d=0.0, parent="a"),
    )
    robot = DenavitTable(name="tree", convention="modified", joint=rows).robot()
    assert robot.joint_names == ("a", "b", "c")
    assert robot.parents.tolist() == [-1, 0, 0]
    np.testing.assert_allclose(robot.joints[1].T_parent_link(0.0)[:3, 3], [0.3, 0.0, 0.0])
    with pytest.raises(UnknownJoint, match="no joint 'aa'"):
        DenavitTable(
            name="x", convention="modified", joint=(DenavitJoint(name="b", a=0, alpha=0, d=0, parent="aa"),)
        ).robot()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("d = 0.333", "", r"arm\.toml: joint 'shoulder', d: is missing"),
        ("a = 0.1", "a = nan", r"joint 'slide', a: input should be a finite number"),
        ("mass = 2.0", "mass = -2.0", r"joint 'slide', inertia, mass: input should be greater than 0"),
        ('"modified"', '"khalil"', r"convention: input should be 'standard' or 'modified'"),
        ("[[joint]]", "[[joints]]", r"joint: is missing"),
        ("d = 0.333", "d = 0.333\ninertia = [1.0]", r"joint 'shoulder', inertia: must be a table: {mass"),
        ("velocity_limit = 2.17", "velocity_limt = 2.17", r"joint 'shoulder', velocity_limt: is no name"),
        ('name = "my arm"', "name = ", r"not valid TOML"),
        ("[-2.9, 2.9]", "[2.9, -2.9]", r"arm\.toml: joint 'shoulder': lower position limit"),
    ],
)
def test_a_bad_table_names_file_joint_and_key(tmp_path, old, new, message):
    path = tmp_path / "arm.toml"
    assert old in TABLE
    path.write_text(TABLE.replace(old, new))
    with pytest.raises(RobotFileError, match=message):
        load_robot(path)


def test_a_missing_table_is_a_file_error(tmp_path):
    with pytest.raises(RobotFileError, match=r"nowhere\.toml: no such robot file"):
        load_robot(tmp_path / "nowhere.toml")


def test_wam_cad_parameters_are_those_of_the_data_set(data_dir):
    facts = json.loads((data_dir / "wam7" / "wam7_cad_params.json").read_text())
    wam = load_robot("wam7")
    for joint, link in zip(wam.joints, facts["links"], strict=True):
        np.testing.assert_allclose(joint.link.nominal.first_moment, link["l"], atol=1e-9)
        np.testing.assert_allclose(joint.link.nominal.inertia, link["L"], atol=1e-9)


def test_panda_facts_are_those_of_the_paper(data_dir):
    facts = json.loads((data_dir / "panda" / "published.json").read_text())["retrieved_parameters"]
    panda = load_robot("panda")
    masses = [joint.link.nominal.mass for joint in panda.joints]
    np.testing.assert_allclose(masses, facts["mass"])
    for joint, com, inertia in zip(panda.joints, facts["com"], facts["inertia_com"], strict=True):
        known = [k for k in range(3) if com[k] is not None]
        np.testing.assert_allclose(joint.link.nominal.com[known], np.array(com, dtype=float)[known], atol=1e-12)
        np.testing.assert_allclose(joint.link.nominal.to_order("urdf")[4:], inertia, atol=1e-12)


def test_spatial_arm_needs_the_torque_of_its_drawing(rng):
    """Link 2 of the Gaz arm held horizontal: gravity torque m·g·(distance of its centre of mass)."""
    robot = load_robot("spatial2r")
    from dynid import Motion

    tau = TorqueModel(robot).torque(Motion.at_rest(np.zeros((1, 2))), robot.nominal.ravel())
    assert tau[0, 1] == pytest.approx(3.0 * 9.80665 * (0.8 - 0.1))
    assert abs(tau[0, 0]) < 1e-12
    assert random_motion(robot, 3, rng).n_dof == 2


def test_a_continuous_joint_turns_without_end():
    row = DenavitJoint(
        name="a", a=0.0, alpha=0.0, d=0.0, type="continuous", position_limits=(-1.0, 1.0), jerk_limit=5.0
    )
    (joint,) = DenavitTable(name="arm", convention="modified", joint=(row,)).robot().joints
    assert joint.type == "revolute"
    assert (joint.limits.lower, joint.limits.upper, joint.limits.jerk) == (-np.inf, np.inf, 5.0)
    assert joint.limits.velocity == joint.limits.effort == joint.limits.acceleration == np.inf
