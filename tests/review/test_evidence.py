"""The evidence for a way to read a log, against brute force and against measured logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.special

from dynid.arrays import Array
from dynid.chain import load_robot
from dynid.chain.limits import Limits
from dynid.dynamics import TorqueModel, friction_models
from dynid.review import Severity, review_log
from dynid.review.equations.evidence import LogEvidence, _Fit, _student_4, is_round, log_prior
from dynid.review.equations.hypothesis import Hypothesis
from dynid.review.equations.rows import Arm, thin_rows
from dynid.review.equations.sizes import BY_REACH, torque_sizes
from dynid.simulation.motions import smooth_motion
from dynid.simulation.synthetic import synthesise
from tests.review.real_faults import FAULTS, RESTORED, fit_error, real_logs, repaired_error

SECOND_TURNED = np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0])


@pytest.fixture(scope="module")
def weigher() -> LogEvidence:
    robot, rng = load_robot("planar2r"), np.random.default_rng(5)
    model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
    log = synthesise(model, smooth_motion(robot, rng, duration=12.0, rate_hz=100.0), rng).recording
    return LogEvidence(Arm.of(robot), thin_rows(log).thinned(60))


def test_the_likelihood_is_that_of_a_gaussian_whose_parameters_integrate_out(weigher):
    plain = Hypothesis.as_logged(2)
    columns, _ = weigher.columns(plain)
    n_rows = columns.rows.n_rows
    fit = _Fit(columns, plain, None, float(n_rows))  # every row is a look
    n_params = columns.n_params
    W = np.zeros((2, n_rows, n_params))
    for j, place in enumerate(columns.places):
        W[j][:, place] = columns.columns[j] * fit.unit[place]
    stacked = W.reshape(-1, n_params)
    covariance = stacked / fit.precision @ stacked.T + np.diag(np.repeat(fit.variance, n_rows))
    L, tau = np.linalg.cholesky(covariance), columns.rows.tau.T.ravel()
    oracle = -0.5 * np.sum(np.linalg.solve(L, tau) ** 2) - np.sum(np.log(np.diag(L)))
    assert fit.log_likelihood() == pytest.approx(oracle, rel=1e-6)


def test_segments_are_predicted_by_the_others(weigher):
    plain = Hypothesis.as_logged(2)
    columns, _ = weigher.columns(plain)
    fit = _Fit(columns, plain, None, weigher.looks)
    assert len(fit.segments()) == len(columns.segments)
    # Chained, the first is predicted from nothing; here each is from all others.
    assert np.sum(fit.segments()) > fit.log_likelihood()


def test_negating_every_torque_changes_what_physics_says_and_what_torques_look_like_and_nothing_else(weigher):
    as_logged, negated = (
        weigher.of(replace(Hypothesis.as_logged(2), tau_scale=sign * np.ones(2))) for sign in (1.0, -1.0)
    )
    assert as_logged.physics > negated.physics + 5.0
    assert as_logged.alike > negated.alike + 5.0
    assert as_logged.size == pytest.approx(negated.size)


def test_torques_that_look_like_the_arm_s_tell_gravity_also_without_inertias_in_the_file(weigher):
    robot = weigher.arm.robot
    unknown = Arm.of(robot.with_nominal(dict.fromkeys(robot.link_names)))
    plain = Hypothesis.as_logged(2)
    for arm in (weigher.arm, unknown):
        log = LogEvidence(arm, weigher.rows)
        upright, hanging = (log.of(replace(plain, gravity=sign * robot.gravity)).alike for sign in (1.0, -1.0))
        assert upright > hanging + 3.0


def test_positions_outside_the_limits_of_the_file_speak_against_a_reading(weigher):
    q = weigher.rows.q
    joints = tuple(
        replace(joint, limits=Limits(lower=float(low), upper=float(high)))
        for joint, low, high in zip(weigher.arm.robot.joints, q.min(axis=0), q.max(axis=0), strict=True)
    )
    log = LogEvidence(Arm.of(replace(weigher.arm.robot, joints=joints)), weigher.rows)
    far = q + np.array([10.0, 0.0])
    assert log.log_place(q) == 0.0
    assert log.log_place(far) == pytest.approx(np.log(0.02))


def test_what_happens_in_practice_has_a_prior_and_odd_values_have_less():
    names, gravity = tuple("abcdef"), np.array([0.0, 0.0, -9.81])
    plain = Hypothesis.as_logged(6)

    def prior(**changes: object) -> float:
        return log_prior(replace(plain, **changes), names, gravity)  # type: ignore[arg-type]

    one, odd = np.ones(6), np.ones(6)
    one[2], odd[2] = 1e-3, 0.00165
    assert prior() == 0.0
    assert prior(tau_scale=one) > prior(tau_scale=odd)
    assert prior(gravity=np.array([9.81, 0.0, 0.0])) > prior(gravity=np.array([9.77, 0.0, 0.86]))
    assert is_round(-1.0)
    assert is_round(1e-3)
    assert not is_round(0.00165)


@pytest.mark.parametrize("reach", [0.3, 1.0, 2.5])
def test_an_arm_of_any_size_has_torques_of_normal_size(reach):
    """A servo arm of half a kilogram, a cobot, and an industrial arm of several hundred: mass grows with volume."""
    panda, rng = load_robot("panda"), np.random.default_rng(2)
    factor = reach / 0.88
    joints = tuple(replace(joint, T_parent_joint=_moved(joint.T_parent_joint, factor)) for joint in panda.joints)
    robot = replace(panda, joints=joints)
    links = panda.nominal * factor ** np.array([3.0, *3 * (4.0,), *6 * (5.0,)])
    motion = smooth_motion(robot, rng, duration=10.0, rate_hz=100.0)
    log = synthesise(TorqueModel(robot), motion, rng, theta=links.ravel()).recording
    blank = robot.with_nominal(dict.fromkeys(robot.link_names))
    limitless = replace(blank, joints=tuple(replace(joint, limits=Limits()) for joint in blank.joints))
    by, ratio = torque_sizes(Arm.of(limitless), thin_rows(log)).largest_surprise()
    assert by is BY_REACH
    assert by.normal[0] < ratio < by.normal[1]


def _moved(transform: Array, factor: float) -> Array:
    moved = np.array(transform)
    moved[:3, 3] *= factor
    return moved


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("kr300/runA", None),
        ("lwr4/run3", None),
        ("med7/log", "all torques flipped"),
        ("ur10/log", "one torque flipped"),
        ("ur10/log", "on a wall"),
    ],
)
def test_measured_logs_are_clean_and_their_faults_are_named_and_repaired(data_dir, name, kind):
    found = [log for log in real_logs(data_dir) if log.name == name]
    if not found:
        pytest.skip(f"{name} is not among the data sets")
    (log,) = found
    if kind is None:
        errors = [str(f) for f in review_log(log.robot, log.recording) if f.severity is Severity.ERROR]
        assert errors == []
        return
    fault = FAULTS[kind]
    spoilt = fault.spoil(log, np.random.default_rng(3))
    told = review_log(spoilt.robot, spoilt.recording)
    assert any(fault.names(finding, spoilt) for finding in told), told
    assert repaired_error(spoilt, told) < RESTORED * fit_error(log.robot, log.recording)


@pytest.mark.data
def test_logs_of_one_robot_have_to_agree_about_a_reading(data_dir):
    logs = [log for log in real_logs(data_dir) if log.folder == "lwr4"]
    if len(logs) < 2:
        pytest.skip("lwr4 is not among the data sets")
    flipped = [replace(log.recording, tau=log.recording.tau * SECOND_TURNED) for log in logs]
    told = review_log(logs[0].robot, flipped[0], beside=flipped[1:])
    assert ("flipped-torque", logs[0].robot.joint_names[1]) in {(f.code, f.joint) for f in told}
    # One log alone, against two that are read rightly as they are, is no proof.
    doubted = review_log(logs[0].robot, logs[2].recording, beside=[log.recording for log in logs[:2]])
    assert [f for f in doubted if f.severity is Severity.ERROR] == []


def test_the_tail_of_signs_is_that_of_student():
    z = np.array([-1e5, -1e3, -50.0, -5.0, -1.0, 0.0, 1.0, 5.0, 50.0])
    np.testing.assert_allclose(_student_4(z), scipy.special.stdtr(4, z), rtol=1e-4)
