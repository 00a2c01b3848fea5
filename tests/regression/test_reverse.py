import json

import numpy as np
import pytest

from dynid import TorqueModel, base_parameters, load_robot
from dynid.dynamics import LagrangianModel, random_motion
from dynid.errors import RecordingError
from dynid.regression import ControllerSamples, Reverse, Status, read_controller_samples
from dynid.regression.reverse import POSTURES_AT_ONCE
from tests.robots import BATTERY


def controller(robot, rng, n_samples=120):
    model = TorqueModel(robot)
    base = base_parameters(model)
    q = random_motion(robot, n_samples, rng).q
    lagrangian = LagrangianModel(model, base, base.project(model.nominal()))
    lower = np.tril_indices(robot.n_dof)
    M = lagrangian.inertia_matrix(q)[:, lower[0], lower[1]]
    return model, base, ControllerSamples(q, M, lagrangian.gravity(q))


@pytest.mark.parametrize("robot", BATTERY, ids=lambda robot: robot.name)
def test_a_controllers_own_model_gives_its_coefficients(robot, rng):
    model, base, samples = controller(robot, rng)
    found = Reverse().fit(model, base, samples)
    assert found.estimate.rank == base.n_base
    beta = base.project(model.nominal())
    np.testing.assert_allclose(found.estimate.beta, beta, atol=1e-8 * np.abs(beta).max())


def test_gravity_rows_that_say_nothing_are_dropped(rng):
    model, base, samples = controller(load_robot("panda"), rng)
    assert Reverse().fit(model, base, samples).dropped == ("g1",)
    lying = load_robot("planar2r", gravity=(0.0, 0.0, -9.81))
    assert Reverse().fit(*controller(lying, rng)).dropped == ("g1", "g2")
    tilted = load_robot("panda", mounting=(0.3, 0.0, 0.0))
    assert Reverse().fit(*controller(tilted, rng)).dropped == ()


def test_base_parameters_of_noisy_samples_are_those_of_all_rows_in_one_stack(rng):
    model, base, exact = controller(load_robot("panda"), rng, n_samples=POSTURES_AT_ONCE + 40)
    M, g = (values + 1e-2 * rng.normal(size=values.shape) for values in (exact.M, exact.g))
    found = Reverse().fit(model, base, ControllerSamples(exact.q, M, g))
    used = np.arange(1, 7)  # gravity says nothing at the first joint
    rows = np.concatenate([model.inertia_rows(exact.q), model.gravity_rows(exact.q)[:, used]], axis=1)
    Y, y = base.reduce(rows).reshape(-1, base.n_base), np.concatenate([M, g[:, used]], axis=1).ravel()
    beta = np.linalg.lstsq(Y, y, rcond=None)[0]
    residual = y - Y @ beta
    variance = residual @ residual / (len(y) - base.n_base)
    estimate = found.estimate
    np.testing.assert_allclose(estimate.beta, beta, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(
        estimate.uncertainty.covariance, variance * np.linalg.inv(Y.T @ Y), rtol=1e-6, atol=1e-15
    )
    np.testing.assert_allclose(estimate.uncertainty.noise, np.sqrt(variance), rtol=1e-9)
    np.testing.assert_allclose(estimate.uncertainty.inflation, 1.0)
    assert estimate.n_rows == len(y)
    assert estimate.fit.relative_percent == pytest.approx(100.0 * np.linalg.norm(residual) / np.linalg.norm(y))
    assert estimate.condition_number == pytest.approx(np.linalg.cond(Y), rel=1e-6)
    assert estimate.status is Status.CONVERGED
    np.testing.assert_allclose(np.abs(found.stacked.rest), residual @ residual, rtol=1e-6)


def test_published_panda_figures(data_dir):
    facts = json.loads((data_dir / "panda" / "published.json").read_text())["reverse_engineering"]
    model = TorqueModel(load_robot("panda"))
    base = base_parameters(model)
    samples = read_controller_samples(data_dir / "panda" / "controller_model_1010.csv.gz", 7)
    assert len(samples.q) == 1010
    found = Reverse().fit(model, base, samples)
    estimate = found.estimate
    assert estimate.rank == 43
    assert estimate.condition_number == pytest.approx(48.9, abs=0.05)
    assert estimate.fit.relative_percent <= 0.0315
    assert found.dropped == ("g1",)
    for mine, theirs in zip(estimate.beta, facts["value"], strict=True):
        digits = 9 if abs(theirs) < 1e-4 else 4
        assert round(mine, digits) == pytest.approx(theirs, abs=1e-12)


def test_noise_like_the_papers_gives_its_standard_deviations_and_its_two_unreliable_coefficients(data_dir, rng):
    facts = json.loads((data_dir / "panda" / "published.json").read_text())["reverse_engineering"]
    model = TorqueModel(load_robot("panda"))
    base = base_parameters(model)
    exact = read_controller_samples(data_dir / "panda" / "controller_model_1010.csv.gz", 7)
    n_rows = exact.M.size + exact.g[:, 1:].size
    power = np.sum(exact.M**2) + np.sum(exact.g**2)
    noise = facts["relative_error_percent"] / 100 * np.sqrt(power / n_rows)
    published = np.array(facts["percent_std"])
    weak = [name for name, std in zip(base.leading, published, strict=True) if std > 30.0]
    assert weak == ["J3xy", "J6xz"]
    flagged: list[str] = []
    for _ in range(10):
        M, g = (values + rng.normal(size=values.shape) * noise for values in (exact.M, exact.g))
        estimate = Reverse().fit(model, base, ControllerSamples(exact.q, M, g)).estimate
        assert estimate.fit.relative_percent == pytest.approx(facts["relative_error_percent"], rel=0.05)
        flagged += [name for name, word in zip(base.leading, estimate.trust, strict=True) if word == "unreliable"]
    # J3xy has 30.4 % in the paper: its own noise decides on which side of 30 % it falls in a draw.
    assert set(flagged) == set(weak)
    assert flagged.count("J6xz") >= 9
    reliable = published < 5.0
    mine = 100 * estimate.std / np.abs(np.array(facts["value"]))
    np.testing.assert_allclose(mine[reliable], published[reliable], rtol=0.25)  # values have two to four digits
    assert np.median(mine[reliable] / published[reliable]) == pytest.approx(1.0, abs=0.03)


def test_too_few_postures_are_rank_deficient(rng):
    model, base, samples = controller(load_robot("panda"), rng, n_samples=1)
    assert Reverse().fit(model, base, samples).estimate.status is Status.RANK_DEFICIENT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs a header"),
        ("q1,q2\n", "needs a header"),
        ("q1,q2,M11,M21,M22,g1\n1,2,3,4,5,6\n", "no column g2"),
        ("q1,q2,M11,M21,M22,g1,g2,q1\n1,2,3,4,5,6,7,8\n", "column given twice: q1"),
        ("q1,q2,M11,M21,M22,g1,g2\n1,2,3,4,5,6\n", "row 2 has 6 cells"),
        ("q1,q2,M11,M21,M22,g1,g2\n1,2,3,x,5,6,7\n", "row 2, column 'M21': 'x' is not a number"),
        ("q1,q2,M11,M21,M22,g1,g2\n1,2,3,nan,5,6,7\n", "M is not finite at sample 0, column 2"),
    ],
)
def test_bad_files_are_named_with_row_and_column(tmp_path, text, message):
    path = tmp_path / "samples.csv"
    path.write_text(text)
    with pytest.raises(RecordingError, match=message):
        read_controller_samples(path, 2)
    with pytest.raises(RecordingError, match="no such file"):
        read_controller_samples(tmp_path / "none.csv", 2)
