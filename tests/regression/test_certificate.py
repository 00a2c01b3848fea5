import json
import re

import numpy as np
import pytest

from dynid import InertialParameters, TorqueModel, base_parameters, load_robot
from dynid.chain import consistency
from dynid.dynamics import LagrangianModel, RotorInertia, friction_models
from dynid.errors import ParameterError
from dynid.regression.constraints.cones import ConeBlock, svec
from dynid.regression.constraints.constraints import Constraints, ParameterBounds
from dynid.regression.constraints.files import read_bounds
from dynid.regression.feasible.certificate import (
    ProvenFeasible,
    ProvenInfeasible,
    Undecided,
    _projected,
    _repaired,
    _smallest,
    is_feasible,
    margin,
)
from dynid.regression.feasible.programme import solve
from dynid.regression.feasible.solver import SolverSettings
from dynid.regression.status import Status
from tests.robots import BATTERY

TERMS = (RotorInertia(), *friction_models("viscous+coulomb+offset"))
SIX = Constraints(triangle=False, margin=0.0)
PAPERS = Constraints(triangle=False, margin=1e-6)


def symbol_of(name):
    """The WAM paper's L_2xx, l_3y, m_4, fv_1 as ours."""
    kind, number, axes = re.fullmatch(r"([A-Za-z]+)_(\d)(\w*)", name).groups()
    return {"L": "J", "l": "mc"}.get(kind, kind) + number + axes


@pytest.fixture(scope="module")
def wam(data_dir):
    """Model, base parameters, and the four-digit columns of the published results."""
    facts = json.loads((data_dir / "wam7" / "wam7_notebook_results.json").read_text())
    model = TorqueModel(load_robot("wam7"), TERMS)
    base = base_parameters(model)
    rows = {symbol_of(row["param"]): row for row in facts["base_table"]}
    columns = {key: np.array([rows[symbol][key] for symbol in base.leading]) for key in ("ols", "feasible_extra")}
    return model, base, columns, facts


def test_wam_least_squares_column_is_infeasible_with_a_verified_certificate(wam):
    model, base, columns, _ = wam
    for constraints in (SIX, PAPERS, Constraints()):
        verdict = is_feasible(model, base, columns["ols"], constraints)
        assert isinstance(verdict, ProvenInfeasible)
        again = verdict.certificate.verify(model, base, columns["ols"])
        assert again.proves
        assert again.value < -0.02
        assert again.smallest_eigenvalue > -1e-9
        assert again.residual < 1e-14
        assert again.excludes_below > 1e8
        # By hand, the inertial part of what verify does: one eigenvalue computation a link.
        assert np.min(np.linalg.eigvalsh(verdict.certificate.matrices(model))) > -1e-9


def test_wam_least_squares_column_has_margin_minus_0_0314(wam):
    model, base, columns, _ = wam
    assert margin(model, base, columns["ols"], SIX) == pytest.approx(-0.0314, abs=5e-5)


def test_wam_feasible_column_sits_on_its_margin_and_violates_the_triangle_condition(wam):
    model, base, columns, _ = wam
    verdict = is_feasible(model, base, columns["feasible_extra"], PAPERS)
    assert isinstance(verdict, ProvenFeasible)
    np.testing.assert_allclose(base.project(verdict.theta), columns["feasible_extra"], atol=1e-12)
    assert margin(model, base, columns["feasible_extra"], SIX) == pytest.approx(1e-6, rel=0.01)
    triangle = is_feasible(model, base, columns["feasible_extra"])
    assert isinstance(triangle, ProvenInfeasible)
    assert triangle.verification.proves
    assert triangle.margin == pytest.approx(-0.0108, abs=5e-5)


def test_wam_nearest_feasible_coefficients_are_at_the_published_distance(wam):
    model, base, columns, facts = wam
    nearest = solve(np.eye(base.n_base), columns["ols"], model, base, PAPERS, equal_fit=1e-6)
    assert nearest.status is Status.CONVERGED
    # The infimum lies at infinite masses, so every solver stops just above it; the published one has tolerance 1e-7.
    assert nearest.best_objective == pytest.approx(facts["u_bpfc"], rel=1e-4)
    assert np.all(nearest.link_margins >= 1e-6)
    assert isinstance(is_feasible(model, base, nearest.beta, SIX), ProvenFeasible)


def test_wam_mass_matrix_is_not_positive_in_55_percent_of_postures(wam, rng):
    model, base, columns, facts = wam
    q = rng.uniform(size=(10000, 7))
    published = facts["mass_matrix_test"]["OLS_not_pd"] / facts["mass_matrix_test"]["n"]
    smallest = {
        name: np.linalg.eigvalsh(LagrangianModel(model, base, columns[name]).inertia_matrix(q))[:, 0]
        for name in ("ols", "feasible_extra")
    }
    assert np.mean(smallest["ols"] <= 0.0) == pytest.approx(published, abs=0.02)  # 4 sigma
    assert np.all(smallest["feasible_extra"] > 0.0)


def test_wam_legible_entries_of_the_paper_are_refuted_by_the_stored_certificate(data_dir):
    stored = json.loads((data_dir / "wam7" / "wam7_ols_infeasibility_certificate.json").read_text())
    table = json.loads((data_dir / "wam7" / "wam7_table1.json").read_text())
    model = TorqueModel(load_robot("wam7"), friction_models("viscous+coulomb"))
    base = base_parameters(model)
    text = {symbol_of(row["param"]): row["ols_text"] for row in table["rows"]}
    lam = np.zeros(base.n_base)
    for name, weight in stored["lam"].items():
        lam[base.leading.index(symbol_of(name))] = weight
    # Unreadable entries have no weight, so any number may stand for them.
    beta = np.array([text[symbol] if text[symbol] is not None else 0.1 for symbol in base.leading])
    assert lam @ beta == pytest.approx(stored["value"], rel=1e-4)
    verdict = is_feasible(model, base, beta, SIX)
    assert isinstance(verdict, ProvenInfeasible)
    assert verdict.verification.proves


def test_published_panda_coefficients_have_a_possible_robot_near_them(data_dir):
    facts = json.loads((data_dir / "panda" / "published.json").read_text())
    model = TorqueModel(load_robot("panda"))
    base = base_parameters(model)
    beta = np.array(facts["reverse_engineering"]["value"])
    bounds = read_bounds(data_dir / "panda" / "bounds.csv", model)
    asked = Constraints(bounds=bounds, total_mass=(16.0, 20.0))
    nearest = solve(np.eye(base.n_base), beta, model, base, asked, equal_fit=1e-6)
    assert nearest.status is Status.CONVERGED
    assert nearest.best_objective == pytest.approx(3.76e-4, abs=5e-7)
    assert nearest.objective == pytest.approx(3.76e-4, abs=5e-7)
    assert 16.0 <= nearest.theta[::10].sum() <= 20.0
    assert nearest.violated == ()
    for pi in nearest.theta.reshape(-1, 10):
        assert consistency(InertialParameters(pi)).holds
    assert isinstance(is_feasible(model, base, beta), ProvenInfeasible)


@pytest.mark.parametrize("robot", BATTERY, ids=lambda robot: robot.name)
def test_real_robots_are_feasible_and_negative_ones_are_not(robot, rng):
    model = TorqueModel(robot, TERMS)
    base = base_parameters(model)
    theta = np.concatenate([model.nominal()[: model.n_inertial], rng.uniform(0.1, 1.0, 4 * model.n_dof)])
    beta = base.project(theta)
    verdict = is_feasible(model, base, beta)
    assert isinstance(verdict, ProvenFeasible)
    np.testing.assert_allclose(base.project(verdict.theta), beta, atol=1e-9 * max(1.0, np.abs(beta).max()))
    for pi in verdict.theta[: model.n_inertial].reshape(-1, 10):
        assert consistency(InertialParameters(pi)).holds
    refuted = is_feasible(model, base, -beta)
    assert isinstance(refuted, ProvenInfeasible)
    assert refuted.certificate.verify(model, base, -beta).proves
    assert not refuted.certificate.verify(model, base, beta).proves
    assert margin(model, base, -beta) < 0.0 < margin(model, base, beta)


def test_bounds_take_part_in_the_certificate():
    model = TorqueModel(load_robot("planar2r"))
    base = base_parameters(model)
    beta = base.project(model.nominal())
    light = Constraints(
        bounds=ParameterBounds.of({"m1": (0.0, 0.1), "m2": (0.0, 0.1), "c1x": (-0.5, 0.5), "c2x": (-0.4, 0.4)})
    )
    verdict = is_feasible(model, base, beta, light)
    assert isinstance(verdict, ProvenInfeasible)
    assert verdict.certificate.verify(model, base, beta).proves
    pinned = is_feasible(model, base, beta, Constraints(pinned={"J2zz": 5.0}))
    assert isinstance(pinned, ProvenInfeasible)
    assert pinned.certificate.verify(model, base, beta).proves


def test_a_coefficient_on_the_boundary_or_an_early_stop_is_undecided_not_guessed():
    model = TorqueModel(load_robot("planar2r"), friction_models("viscous"))
    base = base_parameters(model)
    theta = model.nominal()
    stopped = is_feasible(model, base, base.project(theta) - 0.01, solver=SolverSettings(max_iterations=1))
    assert isinstance(stopped, Undecided)
    assert "raise max_iterations" in stopped.advice
    with pytest.raises(ParameterError, match="finite numbers"):
        is_feasible(model, base, np.zeros(2))


@pytest.mark.parametrize(("kind", "n_rows"), [("nonnegative", 5), ("second order", 4), ("psd", 6), ("zero", 3)])
def test_a_projection_leaves_what_is_orthogonal_and_in_the_polar_cone(kind, n_rows, rng):
    block = ConeBlock(kind, np.zeros((n_rows, 1)), np.zeros(n_rows), ())
    for size in (0.1, 1.0, 30.0):
        for lift in (-3.0, 0.0, 3.0):
            Y = size * rng.normal(size=n_rows)
            Y[0] += lift * size
            inside = _projected(block, Y)
            # Moreau: Y is the sum of its projections onto the cone and onto its polar; these cones are self-dual.
            assert _smallest(block, inside) >= -1e-9 * size
            if kind != "zero":
                assert _smallest(block, inside - Y) >= -1e-9 * size
            assert abs(inside @ (Y - inside)) <= 1e-9 * size**2
    if kind == "second order":
        np.testing.assert_array_equal(_projected(block, np.array([-1.0, 0.0, 0.0, 0.0])), np.zeros(4))


def test_repaired_multipliers_meet_their_equation_and_keep_to_their_cones(rng):
    A = rng.normal(size=(9, 3))
    exact = np.concatenate([[1.0, 2.0, 0.5], svec(np.diag([1.0, 2.0, 3.0]))])
    A -= np.outer(exact, exact @ A) / (exact @ exact)  # so that Aᵀ of the exact multipliers is zero
    blocks = [ConeBlock("nonnegative", A[:3], np.zeros(3), ()), ConeBlock("psd", A[3:], np.zeros(6), ())]
    found = _repaired(blocks, np.split(exact + 1e-4 * rng.normal(size=9), [3]))
    Y = np.concatenate(found)
    np.testing.assert_allclose(A.T @ Y, 0.0, atol=1e-12)
    np.testing.assert_allclose(Y, exact, atol=2e-3)
    assert [len(part) for part in found] == [3, 6]
    assert all(_smallest(block, part) > 0.0 for block, part in zip(blocks, found, strict=True))
