"""Coupled drives from a file of their own, for any robot file."""

import numpy as np
import pytest

from dynid.chain import load_robot
from dynid.chain.transmission import read_transmission, with_transmission
from dynid.errors import RobotError, RobotFileError, UnknownJoint

ROBOT = load_robot("panda")


def written(tmp_path, text):
    file = tmp_path / "transmission.toml"
    file.write_text(text)
    return file


def test_a_motor_turns_with_the_joints_that_it_names_and_with_its_own(tmp_path):
    file = written(tmp_path, '[motor."joint7"]\njoint6 = -1.0\n[motor.joint5]\njoint5 = 2.0\njoint4 = 0.5\n')
    expected = np.eye(7)
    expected[6, 5], expected[4, 4], expected[4, 3] = -1.0, 2.0, 0.5
    np.testing.assert_array_equal(read_transmission(file, ROBOT), expected)
    np.testing.assert_array_equal(with_transmission(ROBOT, str(file)).transmission, expected)


def test_a_whole_matrix_may_stand_in_the_file_or_in_memory(tmp_path):
    robot = load_robot("planar2r")
    file = written(tmp_path, "matrix = [[1, 0], [1, 1]]")
    for given in (file, [[1, 0], [1, 1]], np.array([[1.0, 0.0], [1.0, 1.0]])):
        np.testing.assert_array_equal(with_transmission(robot, given).transmission, [[1.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("[motor.elbow]\njoint1 = 1.0", UnknownJoint, "no joint 'elbow'"),
        ("[motor.joint1]\nelbow = 1.0", UnknownJoint, "no joint 'elbow'"),
        ("", RobotFileError, "names no motor; a transmission file looks like"),
        ("motor = 3", RobotFileError, "motor: .*a transmission file looks like"),
        ("[motor.joint1]\njoint2 = 'x'", RobotFileError, "motor.joint1.joint2: "),
        ("matrix = [[1.0]]", RobotFileError, "must be 7×7"),
        (f"matrix = {np.eye(7)[:, :6].tolist()}", RobotFileError, "must be 7×7"),
        (f"matrix = {np.eye(8)[:, :7].tolist()}", RobotFileError, "must be 7×7"),
        (f"matrix = {np.eye(6, 7).tolist()}", RobotFileError, "must be 7×7"),
        (f"matrix = {[*np.eye(7)[:6].tolist(), [1.0]]}", RobotFileError, "must be 7×7"),
        ("matrix = [[1.0]]\n[motor.joint1]\njoint2 = 1.0", RobotFileError, "leave one of them out"),
        ("[motor.joint1]\njoint1 = 0.0", RobotError, "singular"),
        ("[motor.joint1]\njoint1 = nan", RobotError, "finite"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path, text, error, message):
    with pytest.raises(error, match=message):
        with_transmission(ROBOT, written(tmp_path, text))


def test_a_joint_that_is_held_has_no_motor(tmp_path):
    file = written(tmp_path, "[motor.joint7]\njoint6 = 1.0")
    with pytest.raises(RobotError, match="'joint7' is held and does not move"):
        with_transmission(ROBOT.locked({"joint7": 0.3}), file)
