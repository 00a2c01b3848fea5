"""Whether any physically consistent robot has given base parameters."""

import json

import numpy as np
import pytest

import dynid
from dynid import TorqueModel, base_parameters, load_robot
from dynid.cli import main
from dynid.dynamics import LagrangianModel, friction_models
from dynid.errors import ConfigError, ParameterError
from dynid.regression.base_table import read_base_table
from dynid.regression.constraints.cones import svec
from dynid.regression.feasible.mass_matrix import worst_pose
from tests.workflow.logs import run_json


@pytest.fixture
def nominal():
    """The leading parameters of the two-joint arm, by name."""
    model = TorqueModel(load_robot("spatial2r"), friction_models("viscous"))
    theta = model.nominal()
    theta[model.n_inertial :] = 0.5
    base = base_parameters(model)
    return dict(zip(base.leading, base.project(theta).tolist(), strict=True))


def write_table(path, values, header="symbol,value"):
    path.write_text(header + "\n" + "".join(f"{name},{value!r}\n" for name, value in values.items()))
    return path


def test_the_base_parameters_of_a_robot_are_consistent(nominal):
    found = dynid.check(nominal, robot="spatial2r")
    assert found.consistent is True
    assert found.margin > 0.0
    assert found.pose.is_positive
    np.testing.assert_allclose(found.nearest.beta, found.beta)
    theta = found.identified.theta
    np.testing.assert_allclose(found.base.project(theta), found.beta, atol=1e-9)


def test_negative_friction_is_not_consistent_and_the_nearest_robot_has_none(nominal):
    found = dynid.check({**nominal, "fv1": -0.2}, robot="spatial2r")
    assert found.consistent is False
    k = found.base.leading.index("fv1")
    assert found.nearest.beta[k] == pytest.approx(0.0, abs=1e-6)
    others = np.delete(np.arange(found.base.n_base), k)
    np.testing.assert_allclose(found.nearest.beta[others], found.beta[others], atol=1e-3)


def test_the_search_finds_a_worse_pose_than_those_drawn():
    robot = load_robot("panda")
    model = TorqueModel(robot)
    base = base_parameters(model)
    beta = base.project(model.nominal())
    found = worst_pose(model, base, beta, np.random.default_rng(0))
    lower = np.array([joint.limits.lower for joint in robot.joints])
    upper = np.array([joint.limits.upper for joint in robot.joints])
    assert np.all((lower <= found.q) & (found.q <= upper))
    drawn = np.random.default_rng(5).uniform(lower, upper, (6000, 7))
    M = LagrangianModel(model, base, beta).inertia_matrix(drawn)
    size = np.sqrt(np.mean(np.diagonal(M, axis1=1, axis2=2), axis=0))
    values = np.linalg.eigvalsh(M / np.outer(size, size))[:, 0]
    # Another draw scales by another mean; three times as many poses stay above what the search finds.
    assert found.eigenvalue < 1.02 * np.min(values)
    assert found.is_positive


def test_a_mass_matrix_that_fails_in_few_poses_is_found(nominal):
    model = TorqueModel(load_robot("spatial2r"), friction_models("viscous"))
    base = base_parameters(model)
    beta = np.array([nominal[name] for name in base.leading])
    before = worst_pose(model, base, beta, np.random.default_rng(0))
    least = LagrangianModel(model, base, beta).inertia_matrix(before.q[None])[0]
    # J1yy adds to M11 in every pose: taken away until M is singular close to its worst pose, and nowhere else.
    beta[base.leading.index("J1yy")] -= np.linalg.det(least) / least[1, 1] + 1e-6
    found = worst_pose(model, base, beta, np.random.default_rng(0))
    assert not found.is_positive
    assert found.share_not_positive < 0.01


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a,b\n1,2\n", "must name a column"),
        ("symbol,value\n", "no parameter in it"),
        ("symbol,value\nJ1zz,x\n", "line 2: 'x' of J1zz is no number"),
        ("symbol,value\nJ1zz,nan\n", "not finite"),
        ("symbol,value\nJ1zz,1\nJ1zz,2\n", "line 3: J1zz stands there twice"),
        ("symbol,value\nJ1zz\n", "line 2: 1 cells"),
    ],
)
def test_a_bad_table_is_refused_by_line(text, complaint, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(ParameterError, match=complaint):
        read_base_table(path)


def test_names_as_papers_write_them_are_understood(tmp_path):
    path = tmp_path / "paper.csv"
    path.write_text("param,parameter,value\nx,L_2xx,1\nx,l_3y,2\nx,fv_1,3\nx,Ia_4,4\n")
    assert read_base_table(path) == {"J2xx": 1.0, "mc3y": 2.0, "fv1": 3.0, "Ia4": 4.0}


def test_wrong_calls_say_what_was_expected(nominal, tmp_path):
    with pytest.raises(ConfigError, match="do not say of which robot"):
        dynid.check(nominal)
    with pytest.raises(ParameterError, match="are missing"):
        dynid.check({"J1zz": 1.0}, robot="spatial2r")
    with pytest.raises(ParameterError, match="no joint model has terms called qq"):
        dynid.check({**nominal, "qq1": 1.0}, robot="spatial2r")


def test_the_command_writes_a_certificate_that_can_be_verified(nominal, tmp_path):
    table = write_table(tmp_path / "bad.csv", {**nominal, "fv1": -0.2})
    code, told = run_json("check", table, "--robot", "spatial2r", "--out", tmp_path / "out")
    assert code == 1
    assert told["consistent"] is False
    content = json.loads((tmp_path / "out" / "certificate.json").read_text())
    K, lam, beta = (np.array(content[name]) for name in ("K", "lambda", "beta"))
    value, reach = lam @ beta, -K.T @ lam
    compiled = dynid.Constraints(margin=0.0).compile(TorqueModel(load_robot("spatial2r"), friction_models("viscous")))
    for block, entry in zip(compiled.blocks, content["multipliers"], strict=True):
        Y = np.array(entry["Y"])
        assert np.min(np.linalg.eigvalsh(Y) if Y.ndim == 2 else Y) > -1e-9
        own = svec(Y) if Y.ndim == 2 else Y
        value, reach = value + own @ block.b, reach + block.A.T @ own
    assert value < 0.0
    assert np.max(np.abs(reach)) < 1e-9
    read = dynid.load_model(tmp_path / "out" / "model.json")
    assert read.consistent


def test_exit_codes(nominal, tmp_path):
    good = write_table(tmp_path / "good.csv", nominal)
    assert main(["check", str(good), "--robot", "spatial2r"]) == 0
    assert main(["check", str(good)]) == 2
    assert main(["check", str(tmp_path / "none.json")]) == 2


@pytest.mark.data
@pytest.mark.whole
def test_published_columns(data_dir, tmp_path):
    facts = json.loads((data_dir / "wam7" / "wam7_notebook_results.json").read_text())
    wam = {row["param"]: row["feasible_extra"] for row in facts["base_table"]}
    path = write_table(tmp_path / "wam.csv", wam)
    papers = dynid.check(path, robot="wam7", condition="inertia")
    whole = dynid.check(path, robot="wam7")
    assert papers.consistent is True
    assert papers.margin == pytest.approx(1e-6, rel=0.01)
    assert whole.consistent is False
    assert whole.margin == pytest.approx(-0.0108, abs=1e-4)
    facts = json.loads((data_dir / "panda" / "published.json").read_text())
    names = facts["coefficient_leading_parameter"]
    panda = {key: dict(zip(names, facts[key]["value"], strict=True)) for key in ("classical", "reverse_engineering")}
    classical = dynid.check(panda["classical"], robot="panda")
    assert classical.consistent is False
    assert classical.margin == pytest.approx(-0.0230, abs=1e-4)
    assert not classical.pose.is_positive
    reverse = dynid.check(panda["reverse_engineering"], robot="panda")
    assert reverse.consistent is False
    assert reverse.margin == pytest.approx(-0.0078, abs=1e-4)
    assert reverse.pose.is_positive
