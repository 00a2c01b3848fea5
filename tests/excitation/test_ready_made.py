"""Ready-made motions and static poses."""

import numpy as np
import pytest

from dynid.chain import load_robot
from dynid.dynamics import TorqueModel, base_parameters
from dynid.errors import ExcitationError
from dynid.excitation import (
    DOptimality,
    MotionLimits,
    SplineBasis,
    Workspace,
    WorkspaceLimit,
    design_poses,
    point_to_point,
    random_fourier,
    sinusoids,
)
from tests.excitation.test_design import violations

ROBOTS = ["panda", "wam7", "planar2r", "spatial2r"]
MAKERS = {
    "sinusoids": lambda robot: sinusoids(robot, duration=6.0),
    "random": lambda robot: random_fourier(robot, seed=1),
    "random spline": lambda robot: random_fourier(robot, basis=SplineBasis(8, 6.0), seed=2),
    "point to point": lambda robot: point_to_point(robot, n_poses=4, seed=3),
}


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_ready_made_motions_keep_every_limit_and_start_and_end_at_rest(make, name):
    robot = load_robot(name)
    made = make(robot)
    assert made.certificate.holds
    assert violations(robot, made.trajectory, 2000.0) == []
    ends = made.trajectory.at(np.array([0.0, made.trajectory.duration]))
    np.testing.assert_allclose(ends.dq, 0.0, atol=1e-9)
    assert np.all(np.ptp(made.trajectory.motion(100.0).q, axis=0) > 1e-3)


def test_sinusoids_follow_the_published_amplitudes_where_limits_allow():
    amplitude = np.array([2.1, -2.1, 1.2, -2.1, -2.3, 2.1, -2.5])
    period = np.array([3.68, 2.04, 2.98, 1.75, 4.43, 2.749, 1.06])
    made = sinusoids(load_robot("panda"), amplitude=amplitude, period=period, duration=5.458)
    motion = made.trajectory.motion(1000.0)
    np.testing.assert_allclose(np.abs(motion.dq).max(axis=0), np.abs(amplitude), rtol=0.02)


def test_moves_stay_above_a_floor():
    robot = load_robot("panda")
    floor = WorkspaceLimit(robot, Workspace.above(0.1, clearance=0.05))
    made = point_to_point(robot, n_poses=4, path_limits=(floor,), seed=1)
    states = made.trajectory.at(np.arange(0.0, made.trajectory.duration, 0.005))
    assert floor.excess(states).max() <= 0.0
    assert made.certificate.holds


def test_twenty_poses_show_the_panda_better_than_1010_published_ones():
    design = design_poses(load_robot("panda"), 20, n_candidates=300, exchanges=1500)
    assert len(design.labels) == 43
    assert design.condition_number < 48.9
    limits = MotionLimits.of(load_robot("panda"))
    assert np.all((design.poses >= limits.lower) & (design.poses <= limits.upper))
    model = TorqueModel(load_robot("panda"))
    base = base_parameters(model)
    stack = np.concatenate([model.inertia_rows(design.poses), model.gravity_rows(design.poses)], axis=1)
    rows = base.reduce(stack).reshape(-1, base.n_base)
    assert np.linalg.cond(rows) == pytest.approx(design.condition_number, rel=1e-6)


def test_gravity_alone_shows_fewer_coefficients():
    design = design_poses(load_robot("panda"), 15, kind="gravity", criterion=DOptimality(), exchanges=300)
    assert 0 < len(design.labels) < 43
    assert design.condition_number < 5.0
    assert design.poses.shape == (15, 7)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda robot: sinusoids(robot, duration=-1.0), "positive seconds"),
        (lambda robot: sinusoids(robot, period=(1.0, 2.0, 3.0)), "periods: give one finite number, or 2"),
        (lambda robot: point_to_point(robot, n_poses=0), "at least one pose"),
        (lambda robot: design_poses(robot, 1), "equations for"),
        (lambda robot: design_poses(robot.with_gravity(np.zeros(3)), 9, kind="gravity"), "gravity causes no torque"),
        (lambda robot: design_poses(robot, 9, criterion=DOptimality(noise_std=(1.0, 2.0))), "same noise on every row"),
    ],
)
def test_bad_requests_are_refused(make, message):
    with pytest.raises(ExcitationError, match=message):
        make(load_robot("planar2r"))
