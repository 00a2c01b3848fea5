"""A load is found with its mass, centre and inertia; drive gains are found from a load of known mass."""

from dataclasses import replace

import numpy as np
import pytest

from dynid.chain import InertialParameters, consistency, load_robot
from dynid.chain.placement import transform
from dynid.dynamics import LoadCoulomb, TorqueModel, base_parameters, friction_models
from dynid.errors import ParameterError, RecordingError, RegressionError
from dynid.recording import Recording
from dynid.regression import WLS, KnownArm, SampleRows, compress, identify_gains, identify_payload
from dynid.regression.load_rows import load_transform
from tests.regression.arms import conditioned, exciting_motion, frictional, log_of

ARM = load_robot("panda").locked({f"joint{k}": 0.3 * k for k in (3, 5, 7)})
"""Four joints, so that all ten numbers of the load show."""
LOAD = InertialParameters.from_order([1.5, 0.05, -0.02, 0.1, 0.01, 0.001, -0.002, 0.012, 0.0005, 0.008], "urdf")
FRICTION = {"Fv": 1.0, "Fc": 2.0}


def carrying(robot, load: InertialParameters):
    """The robot with the load welded to its last link."""
    links = np.array(robot.nominal)
    links[-1] += load.pi
    return robot.with_nominal({robot.link_names[-1]: InertialParameters(links[-1])})


def two_runs(rng, *, noise: float = 0.01, extra: tuple = ()):
    models = (*friction_models("viscous+coulomb"), *extra)
    values = {**FRICTION, "Fl": 0.05}
    empty, theta = frictional(ARM, models, values)
    full, theta_full = frictional(carrying(ARM, LOAD), models, values)
    unloaded = log_of(empty, theta, exciting_motion(ARM, rng, seconds=20.0), rng, noise=noise)
    loaded = log_of(full, theta_full, exciting_motion(ARM, rng, seconds=20.0), rng, noise=noise)
    return empty, loaded, unloaded


def errors_in_sigma(payload, load: InertialParameters):
    return (payload.free - load.pi) / np.sqrt(np.diag(payload.covariance))


def test_a_load_is_recovered_from_two_runs(rng):
    model, loaded, unloaded = two_runs(rng)
    found = identify_payload(model, base_parameters(model), (conditioned(loaded),), unloaded=(conditioned(unloaded),))
    assert np.max(np.abs(errors_in_sigma(found, LOAD))) < 3.5
    assert found.mass == pytest.approx(1.5, rel=0.01)
    np.testing.assert_allclose(found.com, LOAD.com, atol=0.01)
    assert np.all(np.abs(found.inertia_com - LOAD.inertia_com) < 5.0 * found.inertia_com_std + 1e-3)
    assert consistency(found.inertial).holds
    assert found.fit.relative_percent < 0.2 * found.without.relative_percent


def test_a_load_is_recovered_against_a_model(rng):
    model, loaded, unloaded = two_runs(rng)
    base = base_parameters(model)
    arm = WLS().fit(compress(SampleRows(model, base, (conditioned(unloaded),))))
    known = KnownArm(arm.beta, arm.uncertainty.covariance)
    found = identify_payload(model, base, (conditioned(loaded),), known=known)
    assert np.max(np.abs(errors_in_sigma(found, LOAD))) < 3.5
    assert found.mass == pytest.approx(1.5, rel=0.01)


def test_gears_that_feel_the_load_do_not_bias_it(rng):
    model, loaded, unloaded = two_runs(rng, extra=(LoadCoulomb(),))
    found = identify_payload(model, base_parameters(model), (conditioned(loaded),), unloaded=(conditioned(unloaded),))
    assert found.mass == pytest.approx(1.5, rel=0.01)


def test_the_flange_frame_only_changes_the_words(rng):
    model, loaded, unloaded = two_runs(rng)
    samples = (conditioned(loaded),), (conditioned(unloaded),)
    T = transform([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], (0.0, 0.0, 0.107))
    here = identify_payload(model, base_parameters(model), samples[0], unloaded=samples[1])
    there = identify_payload(model, base_parameters(model), samples[0], unloaded=samples[1], T_link_flange=T)
    np.testing.assert_allclose(load_transform(T) @ there.free, here.free, atol=1e-8)
    np.testing.assert_allclose(T[:3, :3] @ there.com + T[:3, 3], here.com, atol=2e-3)


def test_numbers_that_the_joints_cannot_show_have_no_finite_deviation(rng):
    two = load_robot("spatial2r")
    model, theta = frictional(two, friction_models("viscous+coulomb"), FRICTION)
    runs = [conditioned(log_of(model, theta, exciting_motion(two, rng), rng, noise=0.01)) for _ in range(2)]
    found = identify_payload(model, base_parameters(model), runs[:1], unloaded=runs[1:])
    assert np.any(np.isinf(np.diag(found.covariance)))
    assert np.any(np.isinf(found.inertia_com_std))


def test_the_same_log_twice_is_refused(rng):
    model, loaded, _ = two_runs(rng)
    samples = conditioned(loaded)
    with pytest.raises(RegressionError, match="is the same log as memory: with and without load must be two runs"):
        identify_payload(model, base_parameters(model), (samples,), unloaded=(samples,))


def test_a_load_without_anything_to_compare_is_refused(rng):
    model, loaded, _ = two_runs(rng)
    base = base_parameters(model)
    with pytest.raises(RegressionError, match="give a run without load, or its model"):
        identify_payload(model, base, (conditioned(loaded),))
    with pytest.raises(ParameterError, match="the model has 3 base parameters"):
        identify_payload(model, base, (conditioned(loaded),), known=KnownArm(np.zeros(3), np.eye(3)))


GAINS = np.array([12.0, 9.0, 7.0, 5.0])


def as_currents(recording: Recording) -> Recording:
    return replace(recording, tau=None, current=recording.tau / GAINS)


def test_gains_come_out_of_currents_and_a_known_mass(rng):
    _, loaded, unloaded = two_runs(rng)
    found = identify_gains(ARM, as_currents(loaded), as_currents(unloaded), 1.5, friction="viscous+coulomb")
    assert np.max(np.abs(found.gains - GAINS) / found.std) < 3.5
    np.testing.assert_allclose(found.gains, GAINS, rtol=0.05)
    assert found.load[0] == 1.5


def test_gains_scale_with_the_mass_that_is_claimed(rng):
    _, loaded, unloaded = two_runs(rng)
    logs = as_currents(loaded), as_currents(unloaded)
    right, double = (identify_gains(ARM, *logs, mass, friction="viscous+coulomb").gains for mass in (1.5, 3.0))
    np.testing.assert_allclose(double, 2.0 * right, rtol=1e-6)


def test_gains_need_currents_alone_and_a_mass(rng):
    _, loaded, unloaded = two_runs(rng)
    with pytest.raises(RecordingError, match="has no motor currents"):
        identify_gains(ARM, loaded, as_currents(unloaded), 1.5)
    both = replace(loaded, current=loaded.tau)
    with pytest.raises(RecordingError, match="has torques and currents; map one of them away"):
        identify_gains(ARM, both, as_currents(unloaded), 1.5)
    with pytest.raises(RegressionError, match="the mass of the load is 0 kg"):
        identify_gains(ARM, as_currents(loaded), as_currents(unloaded), 0.0)
    coupled = replace(ARM, transmission=np.eye(4))
    with pytest.raises(RegressionError, match="gains of coupled drives cannot be found one by one"):
        identify_gains(coupled, as_currents(loaded), as_currents(unloaded), 1.5)


def test_an_empty_arm_has_no_load(rng):
    model, theta = frictional(ARM, friction_models("viscous+coulomb"), FRICTION)
    runs = [conditioned(log_of(model, theta, exciting_motion(ARM, rng), rng, noise=0.01)) for _ in range(2)]
    found = identify_payload(TorqueModel(ARM, model.joint_models), base_parameters(model), runs[:1], unloaded=runs[1:])
    assert found.mass < 4.0 * found.mass_std
