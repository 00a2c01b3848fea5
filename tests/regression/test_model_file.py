import json

import numpy as np
import pytest

from dynid import TorqueModel, base_parameters, load_robot
from dynid.dynamics import LoadCoulomb, Viscous, random_motion
from dynid.errors import ExportError, ModelFileError
from dynid.recording import Conditioning, LogSettings
from dynid.regression import OLS, Compressed, Feasible, IdentifiedModel, SampleRows, compress, load_model, save_model
from dynid.writers import write_urdf
from tests.regression.logs import truth
from tests.robots import BATTERY


def identified(robot, rng, estimator=None):
    case = truth(robot, rng, duration=10.0, rate_hz=100.0)
    recording = case.recording(rng, 0.01)
    regression = compress(SampleRows(case.model, case.base, (Conditioning().plan(recording).apply(recording),)))
    estimate = (estimator or Feasible()).fit(regression)
    stacked = regression.stacked(estimate.weights)
    return IdentifiedModel(
        model=case.model,
        base=case.base,
        estimator=estimate.estimator,
        status=estimate.status.value,
        beta=estimate.beta,
        covariance=estimate.uncertainty.covariance,
        theta=estimate.theta,
        labels=estimate.labels,
        rule=estimate.rule,
        problem=Compressed(stacked.R, stacked.rho, stacked.rest, stacked.n_rows),
        settings=LogSettings(cutoff_hz=4.0),
        results={"condition_number": 12.5},
        provenance={"inputs": {"a.csv": "00"}},
    )


@pytest.mark.parametrize("name", ["planar2r", "wam7", "random5"])
def test_a_model_round_trips_exactly(name, tmp_path, rng):
    robot = next(robot for robot in BATTERY if robot.name == name)
    model = identified(robot, rng)
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.beta, model.beta)
    np.testing.assert_array_equal(again.theta, model.theta)
    np.testing.assert_array_equal(again.covariance, model.covariance)
    np.testing.assert_array_equal(again.problem.R, model.problem.R)
    assert again.model.symbols == model.model.symbols
    assert again.labels == model.labels
    assert again.results == model.results
    assert again.consistent == model.consistent
    save_model(again, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_a_file_of_version_0_1_has_its_noise_among_the_results(tmp_path, rng):
    path = tmp_path / "model.json"
    save_model(identified(load_robot("planar2r"), rng), path)
    assert load_model(path).sample_noise is None
    content = json.loads(path.read_text(encoding="utf-8"))
    for name in ("log_settings", "noise", "sample_noise", "noise_memory"):
        del content[name]
    content["results"] |= {"noise": [0.1, 0.2], "train": {"rmse": [0.3, 0.4]}}
    path.write_text(json.dumps(content), encoding="utf-8")
    old = load_model(path)
    assert old.settings.cutoff_hz == 4.0
    np.testing.assert_array_equal(old.noise, [0.1, 0.2])
    np.testing.assert_array_equal(old.sample_noise, [0.3, 0.4])
    assert old.noise_memory is None


@pytest.mark.parametrize("robot", BATTERY, ids=lambda robot: robot.name)
def test_exported_urdf_predicts_the_same_torque(robot, tmp_path, rng):
    model = identified(robot, rng)
    assert model.consistent
    write_urdf(model, tmp_path / "robot.urdf")
    loaded = load_robot(tmp_path / "robot.urdf", gravity=robot.gravity)
    assert loaded.joint_names == robot.joint_names
    motion = random_motion(robot, 40, rng)
    mine = TorqueModel(robot).torque(motion, model.theta[: 10 * robot.n_dof])
    theirs = TorqueModel(loaded).torque(motion, loaded.nominal.ravel())
    np.testing.assert_allclose(theirs, mine, atol=1e-8 * np.abs(mine).max())


def test_a_model_without_links_is_not_exported(tmp_path, rng):
    model = identified(load_robot("planar2r"), rng, OLS())
    assert not model.consistent
    with pytest.raises(ExportError, match="gives base parameters only, no link parameters"):
        write_urdf(model, tmp_path / "robot.urdf")
    theta = np.zeros(model.model.n_params)
    theta[[0, 10]] = -1.0
    impossible = IdentifiedModel(
        model=model.model,
        base=model.base,
        estimator="x",
        status="",
        beta=model.beta,
        covariance=model.covariance,
        theta=theta,
    )
    with pytest.raises(ExportError, match=r"physically consistent: link1 .*, link2 "):
        write_urdf(impossible, tmp_path / "robot.urdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format="dynid-model/99"), "not a model file of this version"),
        (lambda c: c.pop("beta"), "damaged model file"),
        (lambda c: c.update(columns=["m1"]), "columns do not match"),
        (lambda c: c["robot"]["joints"][0].update(type="ball"), "joint type 'ball'"),
        (lambda c: c.update(joint_models=["glue"]), "glue"),
    ],
)
def test_a_damaged_file_is_refused_by_name(change, message, tmp_path, rng):
    path = tmp_path / "model.json"
    save_model(identified(load_robot("planar2r"), rng), path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


def test_missing_and_broken_files_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="no such model file"):
        load_model(tmp_path / "none.json")
    with pytest.raises(ModelFileError, match="is a folder"):
        load_model(tmp_path)
    (tmp_path / "half.json").write_text('{"format": "dyn')
    with pytest.raises(
        ModelFileError, match=r"cannot be read as JSON.*; give the model\.json that an identification wrote"
    ):
        load_model(tmp_path / "half.json")


def test_a_quarter_pitch_survives_the_export(tmp_path, rng):
    from scipy.spatial.transform import Rotation

    from dynid.writers.urdf import _rpy

    for angles in ([0.3, np.pi / 2, 0.0], [0.3, -np.pi / 2, 0.7], [0.1, 0.2, 0.3], [0.0, np.pi / 2 - 1e-12, 0.0]):
        R = Rotation.from_euler("xyz", angles).as_matrix()
        np.testing.assert_allclose(Rotation.from_euler("xyz", _rpy(R)).as_matrix(), R, atol=1e-9)


def test_load_dependent_friction_keeps_the_reference_of_its_load(tmp_path, rng):
    robot = load_robot("planar2r")
    friction = LoadCoulomb().referred(2.0 * robot.nominal).only_on((True, False))
    model = TorqueModel(robot, (friction,))
    base = base_parameters(model)
    theta = model.nominal()
    theta[model.n_inertial] = 0.1
    saved = IdentifiedModel(
        model=model,
        base=base,
        estimator="feasible",
        status="optimal",
        beta=base.project(theta),
        covariance=np.eye(base.n_base),
        theta=theta,
    )
    save_model(saved, str(tmp_path / "model.json"))
    again = load_model(str(tmp_path / "model.json"))
    motion = random_motion(robot, 40, rng)
    np.testing.assert_array_equal(again.model.torque(motion, again.theta), model.torque(motion, theta))


class Quadratic(Viscous):
    """Friction that only this file knows."""

    name = "quadratic"


def test_a_model_that_could_not_be_read_again_is_not_written(tmp_path, rng):
    robot = load_robot("planar2r")
    model = TorqueModel(robot, (Quadratic(),))
    base = base_parameters(model)
    unknown = IdentifiedModel(
        model=model,
        base=base,
        estimator="ols",
        status="optimal",
        beta=base.project(model.nominal()),
        covariance=np.eye(base.n_base),
    )
    with pytest.raises(ModelFileError, match=r"model.json: not written, .* unknown joint model 'quadratic'"):
        save_model(unknown, tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()
