"""Joints that a log calls otherwise than the robot, and messages without a time, are understood and said."""

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin

from dynid.errors import RecordingError
from dynid.recording import ColumnMap, read_raw, read_recording
from dynid.recording.joint_match import matched_joints
from tests.recording.logs import JOINTS, STEP_NS, columns_of, csv_text, make_recording, write_bag

SEVEN = tuple(f"joint{k}" for k in range(1, 8))
UR = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint")
NAMES = {"q": "position", "dq": "velocity", "tau": "effort"}


@pytest.mark.parametrize(
    ("robot", "log"),
    [
        (SEVEN, [f"fer_joint{k}" for k in range(1, 8)]),
        (SEVEN, [*(f"fer_joint{k}" for k in range(1, 8)), "fer_finger_joint1", "fer_finger_joint2"]),
        (tuple(f"panda_joint{k}" for k in range(1, 8)), [f"fer_joint{k}" for k in range(1, 8)]),
        (tuple(f"panda_{name}" for name in SEVEN), list(SEVEN)),
        (SEVEN, [f"left/joint_{k}" for k in range(1, 8)]),
        (SEVEN, [f"robot1_j{k}" for k in range(1, 8)]),
        (SEVEN, [f"A{k}" for k in range(1, 8)]),
        (SEVEN, [f"axis_{k}_deg" for k in range(7)]),
        (tuple(f"lwr_{k}_joint" for k in range(7)), [f"lbr_A{k}" for k in range(1, 8)]),
        (UR, [f"ur/{name}" for name in UR]),
        (UR, [name.removesuffix("_joint") for name in UR]),
        (UR, [name.replace("_joint", "").upper() + "_MOTOR" for name in UR]),
        (UR, ["j0", "j1", "j2"]),
    ],
)
def test_names_that_differ_by_a_prefix_a_suffix_or_a_number_are_matched(robot, log):
    found = matched_joints("log", robot, log[::-1])
    assert [found[joint] for joint in robot] == log[: len(robot)]


def test_names_of_another_robot_are_not_matched():
    assert matched_joints("log", UR, ["hip", "knee", "ankle"]) == {}
    assert matched_joints("log", SEVEN, ["j1", "j2"]) == {}
    assert matched_joints("log", SEVEN, [*SEVEN, "finger"]) == {}


def test_two_arms_of_one_log_are_asked_for():
    log = [f"{side}_joint{k}" for side in ("left", "right") for k in range(1, 8)]
    with pytest.raises(
        RecordingError, match=r"could be any of: left_joint1, .*; right_joint1, .* column map, as in joints"
    ):
        matched_joints("log", SEVEN, log)


@pytest.mark.parametrize(
    "spelled",
    [
        lambda signal, joint: f"{signal}.arm_{joint}_joint",
        lambda signal, joint: f"arm_{joint}_joint_{NAMES[signal]}",
        lambda signal, joint: f"/joint_states/arm_{joint}/{NAMES[signal]}",
    ],
)
def test_columns_of_joints_with_a_prefix_are_found_and_it_is_said(tmp_path, rng, spelled):
    recording = make_recording(rng)
    columns = {
        name if name == "t" else spelled(name[:-1], JOINTS[int(name[-1]) - 1]): values
        for name, values in columns_of(recording).items()
    }
    (tmp_path / "log.csv").write_text(csv_text(columns))
    raw = read_raw(tmp_path / "log.csv", JOINTS)
    np.testing.assert_array_equal(raw.tau, recording.tau)
    (repair,) = raw.repairs
    assert repair.code == "joint-names"
    assert "for shoulder" in repair.evidence


@pytest.mark.parametrize("stems", [("joint_positions", "joint_velocities", "joint_torques"), ("q", "dq", "tau_J")])
@pytest.mark.parametrize("place", ["[{}]", "_{}", ".{}", "{}"])
def test_numbered_columns_are_the_joints_in_order(tmp_path, rng, stems, place):
    recording = make_recording(rng)
    stem_of = dict(zip(("q", "dq", "tau"), stems, strict=True))
    columns = {
        name if name == "t" else stem_of[name[:-1]] + place.format(int(name[-1]) - 1): values
        for name, values in columns_of(recording).items()
    }
    (tmp_path / "log.csv").write_text(csv_text(columns))
    raw = read_raw(tmp_path / "log.csv", JOINTS)
    np.testing.assert_array_equal(raw.tau, recording.tau)
    assert raw.repairs == ()


@pytest.mark.parametrize("storage", [None, StoragePlugin.SQLITE3, StoragePlugin.MCAP])
@pytest.mark.parametrize("which", ["first", "some", "all"])
def test_messages_without_a_time_take_that_of_their_arrival(tmp_path, rng, storage, which):
    recording = make_recording(rng)
    stamped = {"first": lambda k: k > 0, "some": lambda k: k % 7 != 3, "all": lambda k: False}[which]
    path = tmp_path / ("log.bag" if storage is None else "bag")
    write_bag(path, recording, storage=storage, stamped=stamped, gripper=False)
    raw = read_raw(path, JOINTS)
    np.testing.assert_allclose(np.diff(raw.t), STEP_NS * 1e-9, atol=1e-12)
    (repair,) = raw.repairs
    assert repair.code == "header-stamps"
    assert "the time received stands in" in repair.done
    np.testing.assert_array_equal(raw.tau, recording.tau)
    said = read_recording(path, JOINTS, columns=ColumnMap(stamps="received"))
    np.testing.assert_allclose(np.diff(said.t), STEP_NS * 1e-9, atol=1e-12)
