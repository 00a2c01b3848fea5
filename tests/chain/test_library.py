"""The built-in robots are those of their sources: reach, ranges and weight, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dynid import Motion, Robot, TorqueModel, load_robot
from dynid.arrays import Array
from dynid.errors import RobotFileError


def last_link(robot: Robot, q: Array) -> Array:
    T = np.eye(4)
    for joint, position in zip(robot.joints, q, strict=True):
        T = T @ joint.T_parent_link(float(position))
    return T


def along(angle: float) -> tuple[Array, Array]:
    """In the plane of x and z: the direction that leans forward by `angle` (rad) from upright, and the one ahead."""
    return np.array([np.sin(angle), np.cos(angle)]), np.array([np.cos(angle), -np.sin(angle)])


@pytest.mark.parametrize("shoulder", [0.0, -0.4, 1.1])
@pytest.mark.parametrize("elbow", [0.0, -1.2])
def test_the_pandas_wrist_is_where_its_drawing_puts_it(shoulder, elbow):
    q = np.array([0.0, shoulder, 0.0, elbow, 0.0, 0.3, 0.0])
    up, ahead = along(shoulder)
    at_elbow = np.array([0.0, 0.333]) + 0.316 * up + 0.0825 * ahead
    up, ahead = along(shoulder - elbow)
    wrist = at_elbow - 0.0825 * ahead + 0.384 * up
    # The wrist turns the hand over: at rest it hangs down, 88 mm ahead.
    up, ahead = along(shoulder - elbow - 0.3)
    hand = wrist + 0.088 * ahead
    T = last_link(load_robot("panda"), q)
    np.testing.assert_allclose(T[[0, 2], 3], hand, atol=1e-12)
    np.testing.assert_allclose(T[[0, 2], 2], -up, atol=1e-12)
    assert abs(T[1, 3]) < 1e-12


@pytest.mark.parametrize("shoulder", [0.0, -0.4, 1.1])
@pytest.mark.parametrize("elbow", [0.0, 1.2])
def test_the_wams_plate_is_where_its_drawing_puts_it(shoulder, elbow):
    q = np.array([0.0, shoulder, 0.0, elbow, 0.0, 0.2, 0.0])
    up, ahead = along(shoulder)
    at_elbow = 0.55 * up + 0.045 * ahead
    up, ahead = along(shoulder + elbow)
    wrist = at_elbow - 0.045 * ahead + 0.3 * up
    up, ahead = along(shoulder + elbow + 0.2)
    T = last_link(load_robot("wam7"), q)
    np.testing.assert_allclose(T[[0, 2], 3], wrist + 0.06 * up, atol=1e-12)
    np.testing.assert_allclose(T[[0, 2], 0], ahead, atol=1e-12)
    assert abs(T[1, 3]) < 1e-12


def column(robot: Robot, quantity: str) -> list[float]:
    return [getattr(joint.limits, quantity) for joint in robot.joints]


def test_the_pandas_limits_are_those_of_its_data_sheet():
    panda = load_robot("panda")
    assert column(panda, "upper") == [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973]
    assert column(panda, "lower") == [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973]
    assert column(panda, "velocity") == [2.175] * 4 + [2.61] * 3
    assert column(panda, "effort") == [87.0] * 4 + [12.0] * 3
    assert column(panda, "acceleration") == [15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0]
    assert column(panda, "jerk") == [7500.0, 3750.0, 5000.0, 6250.0, 7500.0, 10000.0, 10000.0]


def test_the_wams_ranges_are_those_of_its_vendor():
    wam = load_robot("wam7")
    assert column(wam, "upper") == [2.6, 2.0, 2.8, 3.1, 1.24, 1.6, 3.0]
    assert column(wam, "lower") == [-2.6, -2.0, -2.8, -0.9, -4.76, -1.6, -3.0]
    assert all(np.isinf(column(wam, "velocity")))


def test_the_planar_arm_obeys_the_textbook_equation(rng):
    robot = load_robot("planar2r")
    q, dq, ddq = rng.normal(size=(3, 5, 2))
    tau = TorqueModel(robot).torque(Motion(np.arange(5.0), q, dq, ddq), robot.nominal.ravel())
    (m1, m2), (l1, l2), g = (1.0, 0.8), (0.5, 0.4), 9.81
    # Rods about their ends: m·l²/3.
    h = m2 * l1 * l2 / 2
    M11 = m1 * l1**2 / 3 + m2 * l1**2 + m2 * l2**2 / 3 + 2 * h * np.cos(q[:, 1])
    M12 = m2 * l2**2 / 3 + h * np.cos(q[:, 1])
    fall = m2 * g * l2 / 2 * np.cos(q[:, 0] + q[:, 1])
    c = h * np.sin(q[:, 1])
    tau1 = M11 * ddq[:, 0] + M12 * ddq[:, 1] - c * (2 * dq[:, 0] * dq[:, 1] + dq[:, 1] ** 2)
    tau1 += (m1 / 2 + m2) * g * l1 * np.cos(q[:, 0]) + fall
    tau2 = M12 * ddq[:, 0] + m2 * l2**2 / 3 * ddq[:, 1] + c * dq[:, 0] ** 2 + fall
    np.testing.assert_allclose(tau, np.column_stack([tau1, tau2]), atol=1e-12)
    for joint in robot.joints:
        limits = joint.limits
        assert (limits.lower, limits.upper) == (-np.pi, np.pi)
        assert (limits.velocity, limits.effort, limits.acceleration) == (4.0, 20.0, 30.0)
        assert joint.link.nominal.inertia_com[0, 0] == pytest.approx(joint.link.nominal.mass * 0.01**2)


def test_the_spatial_arms_links_are_those_of_the_paper():
    first, second = (joint.link.nominal for joint in load_robot("spatial2r").joints)
    np.testing.assert_allclose(first.to_order("urdf"), [8.0, 0.01, -0.75, -0.02, 0.03, 0, 0, 0.03, 0, 0.01], atol=1e-12)
    np.testing.assert_allclose(second.to_order("urdf"), [3.0, -0.1, 0, 0, 0.01, 0, 0, 0.04, 0, 0.04], atol=1e-12)
    np.testing.assert_allclose(last_link(load_robot("spatial2r"), np.zeros(2))[:3, 3], [0.8, 0.0, 1.5], atol=1e-12)
    for joint in load_robot("spatial2r").joints:
        assert (joint.limits.lower, joint.limits.upper) == (-np.pi, np.pi)
        assert (joint.limits.velocity, joint.limits.acceleration) == (4.0, 20.0)


def test_a_folder_and_a_missing_file_are_told_apart_from_unknown_names(tmp_path):
    with pytest.raises(RobotFileError, match="is a folder; give the robot file itself"):
        load_robot(tmp_path)
    with pytest.raises(RobotFileError, match="no such robot file; built in are panda, wam7"):
        load_robot(tmp_path / "arm")
    with pytest.raises(RobotFileError, match="no such robot file"):
        load_robot("arm.urdf")


TABLE = """\
name = "one"
convention = "modified"
[[joint]]
name = "j"
a = 0.0
alpha = 0.0
d = 0.0
inertia = {mass = 1.0, com = [0.0, 0.0, 0.0], inertia_com = [IXX, 0.0, 0.0, 0.02, 0.0, 0.03]}
"""


@pytest.mark.parametrize(
    ("moment", "possible"), [("0.02", True), ("0.0101", True), ("1e-12", False), ("0.0", False), ("-0.02", False)]
)
def test_a_table_with_an_impossible_moment_is_not_trusted_unless_kept(moment, possible, tmp_path):
    path = tmp_path / "one.TOML"
    path.write_text(TABLE.replace("IXX", moment), encoding="utf-8")
    loaded = load_robot(path)
    assert loaded.has_nominal is possible
    assert bool(loaded.notes) is not possible
    assert load_robot(path, inertials="keep").has_nominal
    assert loaded.joints[0].link.nominal.inertia_com[0, 0] == pytest.approx(float(moment), abs=1e-15)
    assert load_robot(path, inertials="ignore").joints[0].link.nominal is None
