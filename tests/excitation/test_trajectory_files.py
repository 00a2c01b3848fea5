"""Files: what is written is what was designed, and reads back exactly."""

import csv

import numpy as np
import pytest
from ruamel.yaml import YAML

from dynid.chain import load_robot
from dynid.errors import ExcitationError, OutputError
from dynid.excitation import (
    FourierBasis,
    MotionLimits,
    SplineBasis,
    design_poses,
    point_to_point,
    random_fourier,
    read_coefficients,
    sinusoids,
    write_coefficients,
    write_poses,
    write_ros,
    write_trajectory,
)
from dynid.writers import trajectory_report

ROBOT = load_robot("planar2r")
TRAJECTORIES = {
    "fourier": random_fourier(ROBOT, basis=FourierBasis(3, 0.5)).trajectory,
    "spline": random_fourier(ROBOT, basis=SplineBasis(6, 2.0)).trajectory,
    "sinusoids": sinusoids(ROBOT, duration=3.0).trajectory,
    "point to point": point_to_point(ROBOT, n_poses=2).trajectory,
}


@pytest.mark.parametrize("trajectory", TRAJECTORIES.values(), ids=TRAJECTORIES)
def test_coefficients_read_back_exactly(trajectory, tmp_path):
    write_coefficients(tmp_path / "c.toml", trajectory)
    again = read_coefficients(tmp_path / "c.toml")
    assert again.joint_names == trajectory.joint_names
    t = np.linspace(0.0, trajectory.duration, 200)
    for one, two in zip(again.at(t), trajectory.at(t), strict=True):
        np.testing.assert_array_equal(one, two)


def test_csv_holds_time_positions_and_derivatives_at_the_rate(tmp_path):
    trajectory = TRAJECTORIES["fourier"]
    write_trajectory(tmp_path / "t.csv", trajectory, rate_hz=250.0)
    with (tmp_path / "t.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["t", "q1", "q2", "dq1", "dq2", "ddq1", "ddq2"]
    table = np.array(rows[1:], dtype=float)
    np.testing.assert_allclose(np.diff(table[:, 0]), 1 / 250.0, rtol=1e-9)
    motion = trajectory.motion(250.0)
    np.testing.assert_allclose(table[:, 1:3], motion.q, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(table[:, 5:7], motion.ddq, rtol=1e-11, atol=1e-13)
    assert table[-1, 0] >= trajectory.duration - 1e-9


def test_ros_yaml_is_a_joint_trajectory(tmp_path):
    trajectory = TRAJECTORIES["spline"]
    write_ros(tmp_path / "t.yaml", trajectory, rate_hz=50.0)
    message = YAML(typ="safe").load(tmp_path / "t.yaml")
    assert message["joint_names"] == ["joint1", "joint2"]
    motion = trajectory.motion(50.0)
    assert len(message["points"]) == motion.n_samples
    last = message["points"][-1]
    assert last["time_from_start"]["sec"] + 1e-9 * last["time_from_start"]["nanosec"] == pytest.approx(motion.t[-1])
    positions = np.array([point["positions"] for point in message["points"]])
    np.testing.assert_allclose(positions, motion.q, rtol=1e-11, atol=1e-12)
    assert last["velocities"] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_poses_are_a_table(tmp_path):
    design = design_poses(ROBOT, 6, exchanges=10)
    write_poses(tmp_path / "p.csv", design)
    table = np.loadtxt(tmp_path / "p.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(table, design.poses, rtol=1e-11)


def test_the_picture_opens_offline(tmp_path):
    history = ((0.1, 80.0), (0.5, 40.0))
    limits = MotionLimits.of(ROBOT)
    report = trajectory_report(TRAJECTORIES["fourier"], ROBOT, limits, history=history, condition_number=40.0, n_base=7)
    report.write(tmp_path / "p.html")
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "<script src=" not in page
    for text in (
        "condition number 40",
        "position, of the range",
        "velocity, of the limit",
        "nominal effort",
    ):
        assert text in page


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("format = 1", "c.toml: format"),
        ("not toml", "c.toml: not valid TOML"),
        ('format = "dynid trajectory 1"\njoint_names = ["a"]\npiece = []', "c.toml: piece"),
        (
            'format = "dynid trajectory 1"\njoint_names = ["a"]\n[[piece]]\nkind = "hold"\npose = [0.0]\n'
            "duration = -1.0",
            "c.toml: piece.0.hold.duration",
        ),
        (
            'format = "dynid trajectory 1"\njoint_names = ["a"]\n[[piece]]\nkind = "cruise"\ncurve = "fourier"\n'
            "phase = 0.0\ncruise = 1.0\nramp = 0.0\na = [[1.0]]\nb = [[1.0]]\ncentre = [0.0]",
            "c.toml: base frequency 0.0 Hz",
        ),
    ],
)
def test_a_broken_coefficient_file_is_named_with_its_key(text, message, tmp_path):
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ExcitationError, match=message):
        read_coefficients(tmp_path / "c.toml")


def test_a_file_that_cannot_be_written_is_said_so(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="folder"):
        write_trajectory(tmp_path / "folder", TRAJECTORIES["fourier"])
    with pytest.raises(ExcitationError, match="cannot carry"):
        write_trajectory(tmp_path / "t.csv", TRAJECTORIES["fourier"], rate_hz=2.0)
    assert not (tmp_path / "t.csv").exists()
