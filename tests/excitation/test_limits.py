"""Limits: refused where they contradict each other, certified where they are kept."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dynid.chain import Limits, Robot, load_robot
from dynid.errors import ExcitationError
from dynid.excitation import (
    Cruise,
    EffortLimit,
    FourierBasis,
    FourierSeries,
    Hold,
    KeepOut,
    MotionLimits,
    Move,
    States,
    Trajectory,
    Workspace,
    WorkspaceLimit,
    certify,
)
from dynid.excitation.assembly import safe_pose
from dynid.excitation.limits.certificate import highest_between
from dynid.excitation.limits.workspace import link_origins


def with_limits(robot: Robot, joint: int, **changes: float) -> Robot:
    joints = list(robot.joints)
    joints[joint] = replace(joints[joint], limits=replace(joints[joint].limits, **changes))
    return replace(robot, joints=tuple(joints))


def test_limits_of_a_robot_are_those_of_its_file_less_margins():
    limits = MotionLimits.of(load_robot("panda"), margin=0.1, effort_margin=0.2, velocity=2.5)
    assert limits.upper[0] == pytest.approx(0.9 * 2.8973)
    assert limits.velocity == pytest.approx(0.9 * np.array([2.175] * 4 + [2.5] * 3))
    assert limits.effort[0] == pytest.approx(0.8 * 87.0)


def test_joints_without_position_limits_get_a_modest_range():
    robot = with_limits(load_robot("planar2r"), 0, lower=-np.inf, upper=np.inf)
    robot = with_limits(robot, 1, lower=5.0, upper=np.inf)
    limits = MotionLimits.of(robot)
    np.testing.assert_allclose(limits.lower, [-np.pi, 5.0])
    np.testing.assert_allclose(limits.upper, [np.pi, 5.0 + 2 * np.pi])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lower": 1.0, "upper": 1.0}, "joint 'joint2': contradictory limits, nothing lies between 1 and 1; lock the"),
        ({"velocity": 0.0}, "joint 'joint2': contradictory limits, velocity limit 0 allows no motion"),
        ({"acceleration": 0.0}, "acceleration limit 0 allows no motion"),
    ],
)
def test_contradictory_limits_are_refused(changes, message):
    with pytest.raises(ExcitationError, match=message):
        MotionLimits.of(with_limits(load_robot("planar2r"), 1, **changes))


def test_tighter_limits_that_leave_nothing_and_impossible_margins_are_refused():
    robot = load_robot("planar2r")
    with pytest.raises(ExcitationError, match=r"nothing lies between 4 and 3\.14159"):
        MotionLimits.of(robot, lower=4.0)
    with pytest.raises(ExcitationError, match="margin 1: it is a fraction"):
        MotionLimits.of(robot, margin=1.0)
    with pytest.raises(ExcitationError, match=r"effort margin -0\.1: it is a fraction"):
        MotionLimits.of(robot, effort_margin=-0.1)


def test_a_pose_outside_is_refused_by_joint():
    limits = MotionLimits.of(load_robot("panda"))
    with pytest.raises(ExcitationError, match="start pose: joint 'joint4' at 0 lies outside its limits"):
        limits.check_pose(np.zeros(7), "start pose")
    with pytest.raises(ExcitationError, match="start pose must be 7 finite numbers"):
        limits.check_pose(np.zeros(6), "start pose")


def test_an_effort_limit_below_gravity_names_joint_and_pose(rng):
    # The second link hangs along gravity only where the first does not lie flat: joint 1 is free, joint 2 is not.
    robot = with_limits(load_robot("planar2r"), 0, lower=-0.2, upper=0.2, effort=0.5)
    robot = with_limits(robot, 1, lower=-0.2, upper=0.2)
    limits = MotionLimits.of(robot)
    with pytest.raises(ExcitationError, match=r"effort limit below gravity.*closest is .*the effort of joint1 is"):
        safe_pose(limits, (EffortLimit(robot, limits.effort),), rng)


def test_a_pose_that_can_be_held_is_found_where_the_middle_cannot(rng):
    robot = with_limits(load_robot("planar2r"), 0, effort=1.0, lower=-np.pi, upper=np.pi)
    limits = MotionLimits.of(robot)
    path = EffortLimit(robot, limits.effort)
    pose = safe_pose(limits, (path,), rng)
    still = np.zeros((1, 2))
    assert path.excess(States(pose[None], still, still, still)).max() < 0.0
    assert path.excess(States(limits.middle[None], still, still, still)).max() > 0.0


def test_what_happens_between_samples_is_not_missed():
    t = np.linspace(0.0, 1.0, 12)
    fine = np.linspace(0.0, 1.0, 10_001)
    for phase in np.linspace(0.0, 1.0, 20):
        smooth = lambda x, p=phase: np.sin(5.0 * x + 6.0 * p)[:, None]  # noqa: E731
        corner = lambda x, p=phase: -np.abs(x - p)[:, None]  # noqa: E731
        for function in (smooth, corner):
            assert highest_between(function(t))[0] >= function(fine).max()


def series(amplitude: float) -> FourierSeries:
    return FourierSeries(0.1, np.array([[amplitude]]), np.array([[0.0]]), np.array([0.0]))


def one_joint(**caps: float) -> MotionLimits:
    chosen = {"velocity": np.inf, "acceleration": np.inf, "jerk": np.inf, **caps}
    arrays = {name: np.array([value]) for name, value in chosen.items()}
    return MotionLimits(("j",), np.array([-2.0]), np.array([2.0]), effort=np.array([np.inf]), **arrays)


@pytest.mark.parametrize(
    ("caps", "quantity"),
    [({"velocity": 0.999}, "velocity"), ({"acceleration": 0.627}, "acceleration"), ({"jerk": 0.393}, "jerk")],
)
def test_a_violation_is_found_and_named(caps, quantity):
    trajectory = Trajectory(("j",), (Cruise(series(1.0), 2.5, 10.0, 0.0),))
    certificate = certify(trajectory, one_joint(**caps))
    assert not certificate.holds
    assert [(use.quantity, use.label) for use in certificate.violations] == [(quantity, "j")]
    assert certify(trajectory, one_joint(**{name: 1.01 * cap for name, cap in caps.items()})).holds


def test_repetitions_are_checked_once_and_long_runs_stay_cheap():
    trajectory = Trajectory(("j",), (Cruise(series(1.0), 2.5, 1e6, 1.0),))
    assert certify(trajectory, one_joint(velocity=1.001)).holds


def test_ramps_start_and_end_at_rest_on_the_path_of_the_curve(rng):
    curve = FourierBasis(3, 0.2).curve(rng.normal(size=(6, 2)), np.zeros(2))
    piece = Cruise(curve, 1.3, 10.0, 0.8)
    ends = piece.at(np.array([0.0, piece.duration]))
    for values in ends[1:]:
        np.testing.assert_allclose(values, 0.0, atol=1e-12)
    t = np.linspace(0.0, piece.duration, 4001)
    states = piece.at(t)
    for order in range(3):
        slope = np.gradient(states[order], t, axis=0)[2:-2]
        scale = np.abs(states[order + 1]).max()
        # Jerk has a corner where a ramp ends, which central differences round off.
        np.testing.assert_allclose(slope, states[order + 1][2:-2], atol=5e-3 * scale)
    np.testing.assert_allclose(piece.at(np.array([0.8 + 3.0])).q, curve.at(np.array([1.3 + 3.0])).q, atol=1e-12)
    np.testing.assert_allclose(ends.q[0], curve.at(np.array([1.3 - 0.4])).q[0], atol=1e-12)


def test_the_fastest_move_keeps_its_limits_and_touches_one():
    start, stop = np.array([0.0, 1.0]), np.array([2.0, 0.5])
    caps: dict[str, Any] = {
        "velocity": np.array([1.0, 2.0]),
        "acceleration": np.array([3.0, 0.5]),
        "jerk": np.array([20.0, np.inf]),
    }
    move = Move.fastest(start, stop, **caps)
    states = move.at(np.linspace(0.0, move.duration, 10_001))
    used = [np.abs(v).max(axis=0) / cap for v, cap in zip(states[1:], caps.values(), strict=True)]
    assert np.max(used) == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(states.q[[0, -1]], [start, stop], atol=1e-12)


def test_pieces_must_meet():
    with pytest.raises(ExcitationError, match="pieces 0 and 1 of the trajectory do not meet"):
        Trajectory(("j",), (Hold(np.zeros(1), 1.0), Hold(np.ones(1), 1.0)))
    with pytest.raises(ExcitationError, match="without pieces"):
        Trajectory(("j",), ())


def test_a_rate_must_carry_the_highest_harmonic():
    curve = FourierBasis(20, 2.0).curve(np.ones((40, 1)), np.zeros(1))
    trajectory = Trajectory(("j",), (Cruise(curve, 0.0, 0.5, 0.0),))
    with pytest.raises(ExcitationError, match="a rate of 80 Hz cannot carry 40 Hz, the highest harmonic"):
        trajectory.motion(80.0)
    with pytest.raises(ExcitationError, match="it must be positive"):
        trajectory.motion(0.0)
    assert trajectory.motion(100.0).n_samples == 51


def test_link_origins_are_those_of_pinocchio(rng):
    import pinocchio as pin

    robot = load_robot("wam7")
    q = rng.normal(size=(5, 7))
    data = robot.pinocchio.createData()
    for k in range(5):
        pin.framesForwardKinematics(robot.pinocchio, data, q[k])
        frames = [data.oMf[robot.pinocchio.getFrameId(name)].translation for name in robot.link_names]
        np.testing.assert_allclose(link_origins(robot, q)[k], frames, atol=1e-12)


def test_the_workspace_sees_floor_walls_and_boxes():
    robot = load_robot("planar2r")  # in the plane z = 0; gravity along −y
    stretched = np.zeros((1, 2))
    still = States(stretched, stretched, stretched, stretched)
    tool = np.array([0.4, 0.0, 0.0])
    walls = Workspace(upper=np.array([0.6, np.inf, np.inf]), tool=tool, clearance=0.05)
    assert WorkspaceLimit(robot, walls).excess(still)[0] == pytest.approx([0.35])
    box = KeepOut(np.array([0.65, -0.1, -0.1]), np.array([0.75, 0.1, 0.1]))
    limit = WorkspaceLimit(robot, Workspace(keep_out=(box,), tool=tool))
    assert limit.labels == ("keep-out 1",)
    assert limit.excess(still)[0, 0] == pytest.approx(0.05)
    with pytest.raises(ExcitationError, match="is empty; swap its corners"):
        Workspace(lower=np.ones(3), upper=np.zeros(3))
    with pytest.raises(ExcitationError, match=r"keep-out box .* is empty"):
        KeepOut(np.ones(3), np.zeros(3))


def test_limits_need_a_range():
    with pytest.raises(ExcitationError, match="a motion needs finite position limits"):
        replace(one_joint(), lower=np.array([-np.inf]))
    assert Limits().effort == np.inf
