"""Designs: good, repeatable, never outside a limit, never without a result."""

import signal
import threading
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from dynid.chain import Limits, Robot, load_robot
from dynid.dynamics import Motion, RotorInertia, TorqueModel, base_parameters, friction_models, random_motion
from dynid.errors import ExcitationError
from dynid.excitation import (
    ConditionNumber,
    DesignProgress,
    DOptimality,
    ExcitationStatus,
    FourierBasis,
    FourierSeries,
    MotionLimits,
    SplineBasis,
    Workspace,
    WorkspaceLimit,
    assess,
    design_excitation,
)
from dynid.excitation.design import curve_motion
from tests.robots import random_robot

FRICTION = friction_models("viscous+coulomb+offset")
N_ROBOTS = 20
"""Here, where every shape is checked; the benchmark runs a hundred."""
WAM_RANGES = ((-1.85, -1.0, -2.41, -0.51, -3.99, -1.3, -1.9), (2.3, 1.0, 2.34, 2.8, 0.9, 1.3, 2.1))
"""What the published trajectories of the WAM use, rad."""


@pytest.fixture(scope="module")
def panda() -> TorqueModel:
    return TorqueModel(load_robot("panda"), FRICTION)


def violations(robot: Robot, trajectory, rate_hz: float = 10_000.0) -> list[str]:
    """Limits of the robot file that are not kept at this rate."""
    t = np.arange(int(trajectory.duration * rate_hz) + 1) / rate_hz
    q, dq, ddq, dddq = trajectory.at(t)
    model = TorqueModel(robot)
    tau = model.torque(Motion(t, q, dq, ddq), model.nominal())
    found = []
    for j, joint in enumerate(robot.joints):
        limits = joint.limits
        checks = {
            "lower": q[:, j] >= limits.lower,
            "upper": q[:, j] <= limits.upper,
            "velocity": np.abs(dq[:, j]) <= limits.velocity,
            "acceleration": np.abs(ddq[:, j]) <= limits.acceleration,
            "jerk": np.abs(dddq[:, j]) <= limits.jerk,
            "effort": np.abs(tau[:, j]) <= limits.effort,
        }
        found += [f"{joint.name} {kind}" for kind, kept in checks.items() if not kept.all()]
    return found


def test_the_panda_is_excited_below_38_within_its_limits(panda):
    excitation = design_excitation(panda, basis=FourierBasis(5, 0.075), restarts=2, max_iterations=150, seed=0)
    assert excitation.report.n_base == 64
    assert excitation.condition_number < 38.0
    assert excitation.certificate.holds
    assert violations(panda.robot, excitation.trajectory) == []
    ends = excitation.trajectory.at(np.array([0.0, excitation.trajectory.duration]))
    np.testing.assert_allclose(np.concatenate(ends[1:3]), 0.0, atol=1e-12)


def test_the_wam_is_excited_below_42_inside_its_published_trajectories():
    model = TorqueModel(load_robot("wam7"), friction_models("viscous+coulomb"))
    lower, upper = WAM_RANGES
    limits = MotionLimits.of(model.robot, lower=lower, upper=upper, velocity=1.45, acceleration=2.19)
    excitation = design_excitation(
        model, basis=FourierBasis(5, 0.05), limits=limits, restarts=1, max_iterations=400, seed=2
    )
    assert excitation.condition_number < 42.0
    assert excitation.certificate.holds


@pytest.mark.data
def test_the_published_panda_trajectory_has_condition_number_95(panda, data_dir):
    import json

    table = json.loads((data_dir / "panda" / "published.json").read_text(encoding="utf-8"))["excitation"]
    series = FourierSeries(0.075, np.array(table["a"]), np.array(table["b"]), np.array(table["q0"]))
    report = assess(panda, curve_motion(series).motion(100.0))
    assert report.condition_number == pytest.approx(95.0, abs=1.0)


def test_the_result_depends_on_the_seed_alone(panda):
    options: dict[str, Any] = {"restarts": 3, "max_iterations": 12}
    one = design_excitation(panda, seed=5, workers=1, **options)
    two = design_excitation(panda, seed=5, workers=3, **options)
    other = design_excitation(panda, seed=6, workers=1, **options)
    t = np.linspace(0.0, one.trajectory.duration, 50)
    assert one.trajectory.duration == two.trajectory.duration
    np.testing.assert_array_equal(one.trajectory.at(t).q, two.trajectory.at(t).q)
    assert one.condition_number != other.condition_number


def test_the_time_budget_returns_the_best_so_far(panda):
    excitation = design_excitation(panda, time_budget=0.5, restarts=1000)
    assert excitation.status is ExcitationStatus.TIME_BUDGET
    assert excitation.certificate.holds
    assert np.isfinite(excitation.condition_number)


def test_ctrl_c_returns_the_best_so_far(panda):
    seen: list[DesignProgress] = []

    def interrupt(progress: DesignProgress) -> None:
        if not seen:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        seen.append(progress)

    excitation = design_excitation(panda, restarts=1000, progress=interrupt)
    assert excitation.status is ExcitationStatus.INTERRUPTED
    assert excitation.certificate.holds
    assert seen
    assert seen[-1].condition_number == excitation.history[-1][1]


def with_random_limits(robot: Robot, rng: np.random.Generator) -> Robot:
    """Ranges from 0.01 to 6 rad or m, any of the other limits or none, efforts above what gravity asks."""
    joints = []
    for joint in robot.joints:
        width, middle = 10.0 ** rng.uniform(-2.0, 0.8), rng.uniform(-2.0, 2.0)
        limits = Limits(
            lower=middle - width / 2,
            upper=middle + width / 2,
            velocity=10.0 ** rng.uniform(-1, 1) if rng.random() < 0.8 else np.inf,
            acceleration=10.0 ** rng.uniform(-1, 1.5) if rng.random() < 0.7 else np.inf,
            jerk=10.0 ** rng.uniform(0, 3) if rng.random() < 0.4 else np.inf,
        )
        if rng.random() < 0.1:
            limits = replace(limits, lower=-np.inf, upper=np.inf)
        joints.append(replace(joint, limits=limits))
    limited = replace(robot, joints=tuple(joints))
    model = TorqueModel(limited)
    states = random_motion(limited, 200, rng)
    still = Motion.at_rest(states.q)
    gravity = np.abs(model.torque(still, model.nominal())).max(axis=0)
    motion = np.abs(model.torque(states, model.nominal())).max(axis=0)
    efforts = [
        max(1.3 * g, m * rng.uniform(0.8, 2.0)) if rng.random() < 0.6 else np.inf
        for g, m in zip(gravity, motion, strict=True)
    ]
    joints = [
        replace(joint, limits=replace(joint.limits, effort=effort))
        for joint, effort in zip(limited.joints, efforts, strict=True)
    ]
    return replace(limited, joints=tuple(joints))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, N_ROBOTS, 10))
def test_no_limit_is_broken_at_10_khz_on_random_robots(first):
    for seed in range(first, first + 10):
        rng = np.random.default_rng(seed)
        robot = with_random_limits(random_robot(rng, int(rng.integers(1, 6))), rng)
        model = TorqueModel(robot, FRICTION)
        basis = FourierBasis(int(rng.integers(1, 6)), 10.0 ** rng.uniform(-0.4, 0.5))
        excitation = design_excitation(model, basis=basis, restarts=1, max_iterations=4, seed=seed)
        assert violations(robot, excitation.trajectory) == [], seed
        assert np.isfinite(excitation.condition_number), seed
        assert np.ptp(excitation.trajectory.motion(200.0 + 4 * basis.bandwidth_hz).q) > 0.0


def one_joint_robot(kind: Literal["revolute", "prismatic"], limits: Limits) -> Robot:
    robot = load_robot("planar2r")
    joint = replace(robot.joints[0], type=kind, limits=limits, axis=np.array([0.6, 0.8, 0.0]))
    return replace(robot, joints=(joint,))


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize(
    "limits",
    [
        Limits(lower=-1.0, upper=1.0, velocity=2.0),
        Limits(lower=0.3, upper=0.31, velocity=1.0, acceleration=5.0, effort=50.0),
        Limits(),
        Limits(velocity=0.5, jerk=3.0, effort=40.0),
    ],
    ids=["plain", "0.01 wide", "unlimited", "partly"],
)
def test_one_joint_of_any_kind_gets_a_finite_result(kind, limits):
    robot = one_joint_robot(kind, limits)
    model = TorqueModel(robot, FRICTION)
    excitation = design_excitation(model, restarts=1, max_iterations=20)
    assert violations(robot, excitation.trajectory) == []
    assert np.isfinite(excitation.condition_number)


def test_a_joint_with_a_hundredth_of_a_radian_does_not_spoil_the_rest(panda):
    robot = panda.robot
    joint = robot.joints[2]
    narrow = replace(joint, limits=replace(joint.limits, lower=0.1, upper=0.11))
    model = TorqueModel(replace(robot, joints=(*robot.joints[:2], narrow, *robot.joints[3:])), FRICTION)
    excitation = design_excitation(model, restarts=1, max_iterations=60)
    assert violations(model.robot, excitation.trajectory) == []
    assert excitation.condition_number < 1e4


def test_splines_and_other_criteria_serve_too(panda):
    spline = design_excitation(panda, basis=SplineBasis(14, 12.0), restarts=1, max_iterations=60)
    assert spline.certificate.holds
    assert spline.condition_number < 60.0
    assert spline.trajectory.duration == 12.0
    rotors = TorqueModel(panda.robot, (RotorInertia(), *FRICTION))
    options: dict[str, Any] = {"restarts": 1, "max_iterations": 60, "base": base_parameters(rotors)}
    plain = design_excitation(rotors, **options).report
    scaled = design_excitation(rotors, criterion=ConditionNumber(scaled=True), **options).report
    volume = design_excitation(rotors, criterion=DOptimality(noise_std=(0.5,)), **options).report
    assert plain.condition_number < scaled.condition_number
    assert scaled.scaled_condition_number < plain.scaled_condition_number
    assert volume.log_det > max(plain.log_det, scaled.log_det)


def test_the_motion_starts_and_stops_where_it_is_told_to(panda):
    pose = np.array([0.0, -0.8, 0.0, -2.3, 0.0, 1.6, 0.8])
    excitation = design_excitation(panda, start=pose, restarts=1, max_iterations=10, repeats=2)
    ends = excitation.trajectory.at(np.array([0.0, excitation.trajectory.duration]))
    np.testing.assert_allclose(ends.q, [pose, pose], atol=1e-12)
    assert violations(panda.robot, excitation.trajectory, 1000.0) == []
    assert excitation.trajectory.duration > 20.0


def test_floor_and_efforts_are_kept_and_cost_little(panda):
    joints = [replace(j, limits=replace(j.limits, effort=0.45 * j.limits.effort)) for j in panda.robot.joints]
    weak = TorqueModel(replace(panda.robot, joints=tuple(joints)), FRICTION)
    floor = WorkspaceLimit(weak.robot, Workspace.above(0.3, clearance=0.05))
    excitation = design_excitation(weak, path_limits=(floor,), restarts=1, max_iterations=60)
    assert violations(weak.robot, excitation.trajectory, 1000.0) == []
    states = excitation.trajectory.at(np.arange(0.0, excitation.trajectory.duration, 1e-3))
    assert floor.excess(states).max() <= 0.0
    assert excitation.condition_number < 80.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": np.zeros(7)}, "start pose: joint 'joint4' at 0 lies outside"),
        ({"limits": MotionLimits.of(load_robot("planar2r"))}, "limits are for joints joint1, joint2, not for those"),
        ({"restarts": 0}, "counts of at least 1"),
        ({"repeats": 0}, "counts of at least 1"),
        ({"workers": 0}, "counts of at least 1"),
        ({"criterion": DOptimality(noise_std=(1.0, 2.0))}, "noise of 2 joints given, but there are 7"),
        ({"criterion": DOptimality(prior=np.eye(3))}, "prior information is about 3 base parameters, the model has 64"),
    ],
)
def test_what_cannot_be_designed_is_refused(panda, options, message):
    with pytest.raises(ExcitationError, match=message):
        design_excitation(panda, **{"restarts": 1, "max_iterations": 1, **options})


def test_a_start_pose_that_cannot_be_held_is_refused(panda):
    joints = list(panda.robot.joints)
    joints[1] = replace(joints[1], limits=replace(joints[1].limits, effort=20.0))
    weak = TorqueModel(replace(panda.robot, joints=tuple(joints)), FRICTION)
    flat = np.array([0.0, 1.5, 0.0, -0.1, 0.0, 1.6, 0.0])
    with pytest.raises(ExcitationError, match=r"start pose \(.*\): the effort of joint2 is beyond its limit at rest"):
        design_excitation(weak, start=flat, restarts=1, max_iterations=1)


def test_efforts_that_cannot_be_predicted_are_named(panda):
    unknown = TorqueModel(panda.robot.with_nominal(dict.fromkeys(panda.robot.link_names)), FRICTION)
    excitation = design_excitation(unknown, restarts=1, max_iterations=2)
    assert "no nominal inertias" in excitation.certificate.unchecked[0]
