"""Friction, drives and loads on measured arms: the figures that the project promises."""

import json

import numpy as np
import pytest

from dynid.chain import InertialParameters, consistency, load_robot
from dynid.dynamics import Drives, RotorInertia, TorqueModel, base_parameters
from dynid.recording import Conditioning, Recording, Samples, read_recording
from dynid.regression import (
    WLS,
    Feasible,
    KnownArm,
    Reverse,
    SampleRows,
    choose_friction,
    compress,
    fit_friction,
    friction_rows,
    identify_gains,
    identify_payload,
    read_controller_samples,
)
from dynid.validation import compare_torque
from dynid.writers.report.friction_charts import friction_figures

pytestmark = [pytest.mark.data, pytest.mark.slow]


@pytest.fixture(scope="module")
def facts(data_dir):
    return json.loads((data_dir / "ur10e" / "facts.json").read_text())


@pytest.fixture(scope="module")
def arm(data_dir):
    return load_robot(str(data_dir / "ur10e" / "ur10e.urdf"))


@pytest.fixture(scope="module")
def read(data_dir, arm, facts):
    drives = Drives.of(arm, np.array(facts["torque_constants"]["controller_Nm_per_A"]))

    def with_torque(name: str) -> Recording:
        log = read_recording(data_dir / "ur10e" / f"{name}.csv.gz", arm.joint_names)
        return Recording(arm.joint_names, log.t, log.q, dq=log.dq, tau=drives.joint_torque(log.current), source=name)

    return with_torque


def conditioned(recording: Recording, like: Samples | None = None) -> Samples:
    cutoff = None if like is None else like.plan.low_pass.cutoff_hz
    return Conditioning(cutoff_hz=cutoff).plan(recording).apply(recording)


def with_friction(arm, samples: Samples):
    rigid = TorqueModel(arm, (RotorInertia(),))
    base = base_parameters(rigid)
    assert base.n_base == 40
    choice = choose_friction(friction_rows(rigid, base, (samples,)), "auto")
    model = TorqueModel(arm, (RotorInertia(), *choice.models))
    return model, base_parameters(model)


def test_ur10e_predicts_a_motion_it_has_not_seen(arm, read, facts):
    train = conditioned(read("30s12h"))
    model, base = with_friction(arm, train)
    estimate = Feasible().fit(compress(SampleRows(model, base, (train,))))
    assert all(consistency(InertialParameters(pi)).holds for pi in estimate.theta[: model.n_inertial].reshape(-1, 10))
    unseen = conditioned(read("20s8h"), train)
    # Measured: 1.9 % on filtered torque, where the authors' own model has 7.33 %.
    assert compare_torque(model, estimate.theta, unseen).error.relative_percent < 4.2
    # Joint by joint the authors give the error on unfiltered torque. Measured: 8.1, 3.4, 4.2, 7.1, 9.9, 8.9 %.
    raw = compare_torque(model, estimate.theta, unseen, raw=True).error.relative_percent_joint
    assert np.all(raw < np.array(facts["published_pc_ols"]["relative_error_raw_percent_20s8h"]))


@pytest.fixture(scope="module")
def loaded_pair(arm, read):
    unloaded = conditioned(read("14h"))
    return conditioned(read("14hLoad"), unloaded), unloaded, with_friction(arm, unloaded)


def test_ur10e_load_is_weighed_within_a_percent_from_two_runs(loaded_pair):
    loaded, unloaded, (model, base) = loaded_pair
    found = identify_payload(model, base, (loaded,), unloaded=(unloaded,))
    assert found.mass == pytest.approx(2.805, rel=0.01)  # measured: −0.9 %
    assert abs(found.mass - 2.805) < 3.0 * found.mass_std


def test_ur10e_load_is_weighed_within_a_percent_against_a_model(loaded_pair):
    loaded, unloaded, (model, base) = loaded_pair
    arm = WLS().fit(compress(SampleRows(model, base, (unloaded,))))
    found = identify_payload(model, base, (loaded,), known=KnownArm(arm.beta, arm.uncertainty.covariance))
    assert found.mass == pytest.approx(2.805, rel=0.01)  # measured: +0.3 %


def test_ur10e_drive_gains_agree_with_the_controller(data_dir, arm, facts):
    loaded = read_recording(data_dir / "ur10e" / "14hLoad.csv.gz", arm.joint_names)
    unloaded = read_recording(data_dir / "ur10e" / "14h.csv.gz", arm.joint_names)
    found = identify_gains(arm, loaded, unloaded, 2.805, drives=(RotorInertia(),))
    relative = found.gains / np.array(facts["torque_constants"]["controller_Nm_per_A"]) - 1.0
    # Measured: −5.0, 2.0, 2.2, −4.0, −5.7, −4.8 %.
    assert np.all(np.abs(relative[[1, 2]]) < 0.04)
    assert np.all(np.abs(relative) < 0.08)


def test_panda_sigmoids_on_the_reverse_model_have_the_published_shape(data_dir):
    robot = load_robot("panda")
    model = TorqueModel(robot)
    base = base_parameters(model)
    published = json.loads((data_dir / "panda" / "published.json").read_text())["sigmoid_friction"]
    controller = read_controller_samples(data_dir / "panda" / "controller_model_1010.csv.gz", 7)
    theta = base.lift(Reverse().fit(model, base, controller).estimate.beta)
    samples = conditioned(read_recording(data_dir / "panda" / "excitation_log.csv.gz", robot.joint_names))
    found = fit_friction(model, theta, (samples,), "sigmoid")
    # Measured: from 3.78 % to 1.72 %.
    assert found.fit.relative_percent < 0.5 * found.without.relative_percent
    height = np.array([joint.values[0] for joint in found.joints])
    # Another copy of the robot: heights agree to a third where friction is clear (joints 4 to 7).
    np.testing.assert_allclose(height[3:], np.array(published["phi1"])[3:], rtol=0.34)
    figures = friction_figures(found.model, found.theta, found.velocity, found.residual)
    assert [len(figure.data) for figure in figures] == [2] * 7
