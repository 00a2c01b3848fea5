"""How sure the scale of torques is: stated, identified or assumed, remembered, and applied."""

import json

import numpy as np
import pytest

import dynid
from dynid import TorqueModel, load_robot
from dynid.dynamics import friction_models
from dynid.errors import RecordingError
from dynid.recording import Recording
from dynid.recording.gains_file import read_gains
from dynid.recording.log_settings import LogSettings
from dynid.workflow.identification import Identification
from dynid.workflow.torque_scales import as_gain_settings
from tests.regression.logs import FRICTION, exciting_motion


@pytest.fixture(scope="module")
def logs() -> list[Recording]:
    robot = load_robot("spatial2r")
    model = TorqueModel(robot, friction_models(FRICTION))
    rng = np.random.default_rng(5)
    theta = model.nominal()
    theta[model.n_inertial :] = np.tile([1.0, 2.0, 0.3], 2)
    found = []
    for _ in range(3):
        motion = exciting_motion(robot, rng, duration=30.0, rate_hz=100.0)
        tau = model.torque(motion, theta) + 0.2 * rng.standard_normal((motion.n_samples, 2))
        found.append(Recording(robot.joint_names, motion.t, motion.q, motion.dq, tau=tau))
    return found


@pytest.fixture(scope="module")
def result(logs: list[Recording]) -> Identification:
    return dynid.identify("spatial2r", logs[:2], validate=logs[2], friction=FRICTION, gain_std=0.03)


def test_a_stated_scale_reaches_base_parameters_and_the_model(result: Identification) -> None:
    residuals = result.model.residuals
    assert residuals is not None
    np.testing.assert_allclose(residuals.gain_std, 0.03)
    assert residuals.gain_source == "as stated"
    # No base parameter is surer than what moves with the scale of its torque.
    assert np.all(np.diag(result.model.covariance) >= np.diag(residuals.of_scales) * (1.0 - 1e-9))
    assert "scale of the torques ± 3 % (as stated)" in str(result)


def test_a_model_file_keeps_scales_and_statistics(result: Identification, tmp_path) -> None:
    dynid.save(result, tmp_path / "out")
    again = dynid.load_model(tmp_path / "out" / "model.json")
    assert again.residuals is not None
    assert result.model.residuals is not None
    assert again.residuals.stored() == result.model.residuals.stored()
    assert again.settings.gain_covariance == result.model.settings.gain_covariance
    content = json.loads((tmp_path / "out" / "model.json").read_text(encoding="utf-8"))
    del content["residuals"]
    (tmp_path / "old.json").write_text(json.dumps(content), encoding="utf-8")
    old = dynid.load_model(tmp_path / "old.json")
    assert old.residuals is None


def test_bands_of_the_next_run_hold_and_tell_what_they_rest_on(result: Identification, logs: list[Recording]) -> None:
    checked = dynid.validate(result.model, logs[2])
    inside = float(np.mean(checked.validation[0].coverage))
    # Rows of one log are correlated: some 60 independent ones of two joints spread by 2 %.
    assert 0.88 <= inside <= 1.0
    assert "from held-out residuals of 2 logs" in str(checked)
    assert checked.json()["validation"][0]["coverage_95"] == pytest.approx(inside)
    motion = logs[2]
    assert motion.dq is not None
    prediction = dynid.predict(result.model, motion.q[:50], motion.dq[:50], np.zeros((50, 2)))
    assert prediction.next_run is not None
    # σ of the true torque counts the scale in full, that of a torque measured by the same drives hardly.
    assert np.all(prediction.std[np.abs(prediction.tau) > 20.0] > 0.015 * 20.0)
    np.testing.assert_allclose(prediction.upper - prediction.lower, 2 * 1.959963984540054 * prediction.next_run)


def test_one_log_says_that_drift_between_runs_does_not_show(logs: list[Recording]) -> None:
    found = dynid.identify("spatial2r", logs[0], friction=FRICTION)
    assert "one run cannot show how friction drifts" in str(found)
    assert "0.5 % assumed of torque sensors" in str(found)


def test_what_is_stated_later_replaces_what_the_model_knows(result: Identification, logs: list[Recording]) -> None:
    exact = dynid.validate(result.model, logs[2], gain_std=0.0).models[0].model
    assert np.all(np.diag(exact.covariance) < np.diag(result.model.covariance))
    load = dynid.payload(result.model, logs[2], gain_std="0,0")
    assert load.load.limits["gains"] == 0.0
    assert sum(load.load.limits.values()) == pytest.approx(100.0)
    assert "of the mass is limited by" in str(load)


def test_a_gains_file_carries_its_covariance(tmp_path) -> None:
    path = tmp_path / "gains.json"
    entries = [{"joint": "a", "value": 10.0, "std": 0.2, "unit": "N·m/A"}, {"joint": "b", "value": 5.0, "std": 0.1}]
    relative = [[4e-4, 1e-4], [1e-4, 4e-4]]
    path.write_text(json.dumps({"gains": entries, "relative_covariance": relative}), encoding="utf-8")
    settings = as_gain_settings(path, None)
    assert settings.gains == (10.0, 5.0)
    np.testing.assert_allclose(settings.scales(2)[0], relative)
    assert settings.scales(2)[1] == "identified, gains.json"
    np.testing.assert_allclose(as_gain_settings(str(path), 0.05).scales(2)[0], 0.0025 * np.eye(2))
    again = LogSettings.restored(json.loads(json.dumps(settings.stored())))
    assert again.gain_covariance == settings.gain_covariance
    path.write_text('{"gains": [{"value": 1.0}]}', encoding="utf-8")
    with pytest.raises(RecordingError, match=r"gains\.json: drive gains are damaged"):
        read_gains(path)
    with pytest.raises(RecordingError, match="no such file of drive gains"):
        read_gains(tmp_path / "none.json")


@pytest.mark.parametrize("wrong", ["x", -0.1, 1.5, "0.01,y"])
def test_a_scale_that_is_no_share_is_refused(wrong: object) -> None:
    with pytest.raises(RecordingError, match=r"`gain_std`"):
        as_gain_settings(None, wrong)  # type: ignore[arg-type]


def test_a_scale_for_other_joints_is_refused(logs: list[Recording]) -> None:
    with pytest.raises(RecordingError, match="3 numbers for 2 joints"):
        dynid.identify("spatial2r", logs[0], friction=FRICTION, gain_std=[0.01, 0.01, 0.01])
