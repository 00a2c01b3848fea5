import json
import re

import numpy as np
import pytest

from dynid import TorqueModel, base_parameters, load_robot
from dynid.dynamics import RotorInertia, friction_models, random_motion
from dynid.errors import ParameterError
from tests.robots import BATTERY

ROBOTS = pytest.mark.parametrize("robot", BATTERY, ids=lambda robot: robot.name)
TERMS = (RotorInertia(), *friction_models("viscous+coulomb+offset"))


@ROBOTS
@pytest.mark.parametrize("terms", [(), TERMS], ids=["rigid", "with friction and rotors"])
def test_base_columns_span_the_torque_and_are_independent(robot, terms, rng):
    model = TorqueModel(robot, terms)
    base = base_parameters(model)
    W = model.regressor(random_motion(robot, 60 + model.n_params, rng, within_limits=False)).reshape(-1, model.n_params)
    reduced = base.reduce(W)
    scaled = reduced / np.linalg.norm(reduced, axis=0)
    assert np.linalg.matrix_rank(scaled, tol=1e-7) == base.n_base
    np.testing.assert_allclose(reduced @ base.K, W, atol=1e-8 * np.abs(W).max())


@ROBOTS
def test_projection_keeps_the_torque_and_lift_inverts_it(robot, rng):
    model = TorqueModel(robot, TERMS)
    base = base_parameters(model)
    theta = rng.normal(size=model.n_params)
    beta = base.project(theta)
    np.testing.assert_allclose(base.project(base.lift(beta)), beta, atol=1e-12)
    motion = random_motion(robot, 20, rng)
    np.testing.assert_allclose(model.torque(motion, base.lift(beta)), model.torque(motion, theta), rtol=1e-8, atol=1e-8)


@ROBOTS
def test_unseen_parameters_change_no_torque_and_lonely_ones_stand_alone(robot, rng):
    model = TorqueModel(robot)
    base = base_parameters(model)
    Y = model.regressor(random_motion(robot, 30, rng))
    assert {*base.unseen, *base.alone, *base.combined} == set(model.symbols)
    for symbol in base.unseen:
        assert np.abs(Y[:, :, model.index(symbol)]).max() < 1e-12
    for symbol in base.alone:
        row = base.K[base.leading.index(symbol)]
        assert np.count_nonzero(row) == 1


def test_panda_has_the_43_published_coefficients(data_dir):
    facts = json.loads((data_dir / "panda" / "published.json").read_text())
    rigid = base_parameters(TorqueModel(load_robot("panda")))
    assert list(rigid.leading) == facts["coefficient_leading_parameter"]
    full = base_parameters(TorqueModel(load_robot("panda"), friction_models("viscous+coulomb+offset")))
    assert full.n_base == 64
    assert list(full.leading[:43]) == facts["coefficient_leading_parameter"]


def test_panda_base_parameters_without_data():
    assert base_parameters(TorqueModel(load_robot("panda"))).n_base == 43
    assert base_parameters(TorqueModel(load_robot("wam7"), friction_models("viscous+coulomb"))).n_base == 57


def test_labels_read_like_the_papers():
    base = base_parameters(TorqueModel(load_robot("panda")))
    assert base.labels()[1].startswith("J2xx − J2yy + J3yy + 0.632·mc3z + 0.0999·m3 + 0.107·m4")
    assert base.labels()[0] == "J1zz + J2yy"
    assert base.labels(digits=6)[1].startswith("J2xx − J2yy + J3yy + 0.632·mc3z + 0.099856·m3")
    assert "m1" in base.unseen


def test_panda_controller_samples_have_rank_43_and_condition_48_9(data_dir):
    data = np.loadtxt(data_dir / "panda" / "controller_model_1010.csv.gz", delimiter=",", skiprows=1)
    facts = json.loads((data_dir / "panda" / "published.json").read_text())
    model = TorqueModel(load_robot("panda"))
    base = base_parameters(model)
    q = data[:, :7]
    rows = np.concatenate([model.inertia_rows(q), model.gravity_rows(q)[:, 1:]], axis=1)
    A = base.reduce(rows).reshape(-1, base.n_base)
    singular = np.linalg.svd(A, compute_uv=False)
    assert np.count_nonzero(singular > 1e-10 * singular[0]) == 43
    assert singular[0] / singular[-1] == pytest.approx(48.906, abs=0.001)
    b = np.concatenate([data[:, 7:35], data[:, 36:42]], axis=1).ravel()
    beta = np.linalg.lstsq(A, b, rcond=None)[0]
    np.testing.assert_allclose(beta, facts["reverse_engineering"]["value"], atol=6e-5)  # four printed decimals


def symbol_of(name):
    """The WAM paper's L_2xx, l_3y, m_4, fv_1 as ours."""
    kind, number, axes = re.fullmatch(r"([A-Za-z]+)_(\d)(\w*)", name).groups()
    return {"L": "J", "l": "mc"}.get(kind, kind) + number + axes


@pytest.mark.parametrize(
    ("key", "terms", "n_base"),
    [
        ("Sousa and Cortesao (WAM paper)_57", friction_models("viscous+coulomb"), 57),
        ("notebook_69", TERMS, 69),
    ],
)
def test_wam_combinations_are_the_published_ones_row_by_row(data_dir, key, terms, n_base):
    facts = json.loads((data_dir / "wam7" / "wam7_base_params.json").read_text())[key]
    model = TorqueModel(load_robot("wam7"), terms)
    base = base_parameters(model)
    assert base.n_base == n_base
    assert set(base.leading) == set(map(symbol_of, facts["independent"]))
    assert set(base.unseen) == set(map(symbol_of, facts["never_identifiable"]))
    for name, combination in zip(facts["independent"], facts["combinations"], strict=True):
        row = np.zeros(model.n_params)
        for parameter, weight in combination.items():
            row[model.index(symbol_of(parameter))] = weight
        np.testing.assert_allclose(base.K[base.leading.index(symbol_of(name))], row, atol=1e-12)


def test_wam_cad_column_of_the_paper_to_six_decimals(data_dir):
    table = json.loads((data_dir / "wam7" / "wam7_table1.json").read_text())
    model = TorqueModel(load_robot("wam7"), friction_models("viscous+coulomb"))
    base = base_parameters(model)
    beta = base.project(model.nominal())
    legible = [row for row in table["rows"] if row["legible"]["cad"]]
    assert len(legible) > 30
    for row in legible:
        mine = beta[base.leading.index(symbol_of(row["param"]))]
        assert round(mine, 6) == pytest.approx(row["cad_text"], abs=1e-9), row["param"]


def test_ur10e_has_40_base_parameters_with_rotors(data_dir):
    robot = load_robot(data_dir / "ur10e" / "ur10e.urdf")
    assert base_parameters(TorqueModel(robot, (RotorInertia(),))).n_base == 40


def test_known_counts_of_textbook_robots():
    """Planar 2R under gravity: I2, I1 + l²m2, two first moments of link 2 and of link 1 (+ l·m2): six."""
    assert base_parameters(TorqueModel(load_robot("planar2r"))).n_base == 6
    still = load_robot("planar2r").with_gravity(np.zeros(3))
    assert base_parameters(TorqueModel(still)).n_base == 4


def test_the_same_set_comes_from_other_random_states():
    model = TorqueModel(load_robot("panda"), TERMS)
    first, second = base_parameters(model, seed=0), base_parameters(model, seed=1)
    np.testing.assert_array_equal(first.independent, second.independent)
    np.testing.assert_allclose(first.K, second.K, atol=1e-10)


def test_shapes_are_checked():
    base = base_parameters(TorqueModel(load_robot("planar2r")))
    with pytest.raises(ParameterError, match="θ must have 20 entries"):
        base.project(np.zeros(3))
    with pytest.raises(ParameterError, match="β must have 6 entries"):
        base.lift(np.zeros(3))
