import numpy as np
import pytest

from dynid import load_robot
from dynid.recording import Conditioning
from dynid.regression import OLS, SampleRows, compress
from dynid.validation import compare_torque, contributions
from tests.regression.logs import truth
from tests.robots import BATTERY


@pytest.mark.parametrize("robot", BATTERY, ids=lambda robot: robot.name)
def test_contributions_add_up_to_the_torque(robot, rng):
    case = truth(robot, rng, duration=3.0)
    parts = contributions(case.model, case.theta, case.motion)
    total = parts.inertia + parts.coriolis + parts.gravity + parts.joint_terms
    np.testing.assert_allclose(total, case.tau, atol=1e-9 * np.abs(case.tau).max())


def test_validation_error_is_that_of_the_regression_rows(rng):
    case = truth(load_robot("panda"), rng, duration=10.0)
    recording = case.recording(rng, 0.05)
    samples = Conditioning().plan(recording).apply(recording)
    estimate = OLS().fit(compress(SampleRows(case.model, case.base, (samples,))))
    result = compare_torque(case.model, case.base.lift(estimate.beta), samples)
    assert result.error.relative_percent == pytest.approx(estimate.fit.relative_percent, rel=1e-6)
    np.testing.assert_allclose(result.error.rmse, estimate.fit.rmse, rtol=1e-6)
    assert np.all(result.r_squared[:4] > 0.98)


def test_raw_comparison_sees_the_noise_that_the_filter_removes(rng):
    case = truth(load_robot("planar2r"), rng, duration=20.0)
    recording = case.recording(rng, 0.1)
    samples = Conditioning().plan(recording).apply(recording)
    smooth = compare_torque(case.model, case.theta, samples)
    raw = compare_torque(case.model, case.theta, samples, raw=True)
    assert raw.error.relative_percent == pytest.approx(10.0, rel=0.15)
    assert smooth.error.relative_percent < 0.6 * raw.error.relative_percent
    assert np.all(np.abs(raw.whiteness) < 0.2)


def test_a_torque_that_never_changes_has_no_score(rng):
    case = truth(load_robot("planar2r"), rng, duration=5.0)
    recording = case.recording()
    constant = type(recording)(recording.joint_names, recording.t, recording.q, tau=np.ones_like(recording.tau))
    samples = Conditioning().plan(constant).apply(constant)
    assert np.all(np.isnan(compare_torque(case.model, case.theta, samples, raw=True).r_squared))
