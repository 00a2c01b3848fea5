import importlib
from typing import Any

import numpy as np
import pytest

from dynid import InertialParameters, TorqueModel, base_parameters, load_robot
from dynid.chain import Box, Ellipsoid, consistency
from dynid.dynamics import RotorInertia, friction_models, random_motion
from dynid.errors import ContradictoryBounds, ParameterError
from dynid.regression.constraints.cones import smat
from dynid.regression.constraints.constraints import Constraints, ParameterBounds, Symmetry, Tie
from dynid.regression.constraints.regions import Frustum, RegionUnion, Sphere
from dynid.regression.constraints.user_functions import UserFunction
from dynid.regression.feasible.prior import Prior
from dynid.regression.feasible.programme import EQUAL_FIT, _good, choose_reference, solve
from dynid.regression.feasible.solver import ConeOutcome, ConeSolution, SolverSettings
from dynid.regression.status import Status
from tests.robots import BATTERY, random_link

cp: Any = importlib.import_module("cvxpy")  # its types miss half of what it offers
TERMS = (RotorInertia(), *friction_models("viscous+coulomb+offset"))
ROBOTS = pytest.mark.parametrize("robot", BATTERY, ids=lambda robot: robot.name)


def random_theta(model, rng):
    links = [random_link(rng).pi for _ in range(model.n_dof)]
    return np.concatenate([*links, rng.uniform(0.05, 1.0, model.n_params - model.n_inertial)])


def compressed(model, theta, rng, *, noise=0.0, n_samples=None):
    """R, ρ, what no β explains, and the rows themselves."""
    base = base_parameters(model)
    motion = random_motion(model.robot, n_samples or 20 + 4 * model.n_params // model.n_dof, rng, within_limits=False)
    W = model.regressor(motion).reshape(-1, model.n_params)
    tau = W @ theta + noise * rng.normal(size=len(W))
    Q, R = np.linalg.qr(base.reduce(W))
    rho = Q.T @ tau
    return base, R, rho, float(tau @ tau - rho @ rho), motion


def without_nominal(robot):
    return robot.with_nominal(dict.fromkeys(robot.link_names))


def assert_possible(model, solution, *, triangle=True):
    for pi in solution.theta[: model.n_inertial].reshape(-1, 10):
        assert consistency(InertialParameters(pi), triangle=triangle).holds
    own = solution.theta[model.n_inertial :].reshape(model.n_dof, len(model.terms))
    for k, term in enumerate(model.terms):
        assert not term.nonnegative or np.all(own[:, k] > 0.0)


@ROBOTS
@pytest.mark.parametrize("rule", ["nominal", "centred"])
def test_noise_free_torque_gives_back_the_true_coefficients(robot, rule, rng):
    model = TorqueModel(robot if rule == "nominal" else without_nominal(robot), TERMS)
    theta = random_theta(model, rng)
    base, R, rho, _, motion = compressed(model, theta, rng)
    solution = solve(R, rho, model, base, prior=Prior(rule))
    assert solution.status is Status.CONVERGED
    # The programme is solved to 1e-9 of ‖ρ‖; the condition number of R turns that into 1e-6 of a coefficient.
    scale = np.abs(R).max(axis=0)
    np.testing.assert_allclose(
        scale * solution.beta, scale * base.project(theta), atol=1e-6 * float(np.linalg.norm(rho))
    )
    assert_possible(model, solution)
    tau = model.torque(motion, theta)
    np.testing.assert_allclose(model.torque(motion, solution.theta), tau, atol=1e-6 * np.abs(tau).max())
    if rule == "centred":
        masses, true = solution.theta[: model.n_inertial : 10], theta[: model.n_inertial : 10]
        assert masses.sum() < 10.0 * true.sum()


@ROBOTS
def test_the_nominal_model_itself_is_given_back_exactly(robot, rng):
    model = TorqueModel(robot)
    theta = model.nominal()
    base, R, rho, *_ = compressed(model, theta, rng)
    solution = solve(R, rho, model, base)
    np.testing.assert_allclose(solution.theta, theta, atol=1e-8 * np.abs(theta).max())


@ROBOTS
@pytest.mark.parametrize("triangle", [True, False], ids=["triangle", "6x6"])
def test_every_answer_to_noisy_torque_is_possible_and_repredicts(robot, triangle, rng):
    model = TorqueModel(robot, TERMS)
    base, R, rho, residual, motion = compressed(model, random_theta(model, rng), rng, noise=2.0)
    constraints = Constraints(triangle=triangle)
    solution = solve(R, rho, model, base, constraints, residual=residual)
    assert solution.status is Status.CONVERGED
    assert_possible(model, solution, triangle=triangle)
    assert np.all(solution.link_margins >= constraints.margin)
    Y_b = base.reduce(model.regressor(motion))
    tau = model.torque(motion, solution.theta)
    np.testing.assert_allclose(Y_b @ solution.beta, tau, atol=1e-8 * np.abs(tau).max())
    assert solution.objective <= (1.0 + EQUAL_FIT) * (solution.best_objective + residual) - residual + 1e-6 * rho @ rho


def oracle(R, rho, model, base, constraints):
    """The same programme written with cvxpy, in SI units."""
    theta = cp.Variable(model.n_params)
    rows = []
    for block in constraints.compile(model).blocks:
        if block.kind == "nonnegative":
            rows.append(block.A @ theta + block.b >= 0)
        else:
            size = 4 if len(block.b) == 10 else 6
            rows.append(
                sum(theta[k] * smat(block.A[:, k]) for k in range(model.n_params)) - constraints.margin * np.eye(size)
                >> 0
            )
    problem = cp.Problem(cp.Minimize(cp.norm(R @ base.K @ theta - rho)), rows)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert problem.status == "optimal"
    return float(problem.value) ** 2


@pytest.mark.parametrize("name", ["panda", "spatial2r", "random4"])
@pytest.mark.parametrize("triangle", [True, False], ids=["triangle", "6x6"])
def test_the_best_fit_is_that_of_cvxpy(name, triangle, rng):
    robot = next(robot for robot in BATTERY if robot.name == name)
    model = TorqueModel(robot, friction_models("viscous+coulomb"))
    base, R, rho, residual, _ = compressed(model, 1.2 * model.nominal(), rng, noise=3.0)
    bounds = {f"m{i + 1}": (0.0, 12.0) for i in range(model.n_dof)} | {
        f"c{i + 1}{axis}": (-1.0, 1.0) for i in range(model.n_dof) for axis in "xyz"
    }
    constraints = Constraints(triangle=triangle, bounds=ParameterBounds.of(bounds), margin=1e-6)
    solution = solve(R, rho, model, base, constraints, residual=residual)
    expected = oracle(R, rho, model, base, constraints)
    assert solution.best_objective == pytest.approx(expected, rel=1e-6, abs=1e-6 * residual)


@pytest.mark.parametrize("rule", ["nominal", "entropic"])
def test_a_prior_inside_the_fit_trades_fit_for_nearness(rule, rng):
    model = TorqueModel(load_robot("panda"))
    base, R, rho, *_ = compressed(model, model.nominal() * 1.3, rng, noise=1.0)
    reference = choose_reference(model, Constraints(), Prior(rule), model.nominal())
    distances, objectives = [], []
    for weight in (1e-4, 1.0, 1e4):
        solution = solve(R, rho, model, base, prior=Prior(rule, weight))
        assert solution.status is Status.CONVERGED
        assert_possible(model, solution)
        distances.append(np.linalg.norm(reference.S_inverse @ solution.theta - reference.x_target))
        objectives.append(solution.objective)
    assert distances[0] > distances[1] > distances[2]
    assert objectives[0] < objectives[1] < objectives[2]
    assert "weight" in solution.rule


def test_a_regularised_fit_is_that_of_cvxpy(rng):
    model = TorqueModel(load_robot("spatial2r"))
    base, R, rho, *_ = compressed(model, model.nominal() * 1.3, rng, noise=1.0)
    weight = 5.0
    solution = solve(R, rho, model, base, prior=Prior("entropic", weight))
    theta = cp.Variable(model.n_params)
    cost = cp.sum_squares(R @ base.K @ theta - rho)
    for i, joint in enumerate(model.robot.joints):
        J0 = joint.link.nominal.pseudo_inertia
        J = sum(theta[10 * i + k] * InertialParameters(unit).pseudo_inertia for k, unit in enumerate(np.eye(10)))
        cost += 2.0 * weight * (cp.trace(np.linalg.inv(J0) @ J) - cp.log_det(J))
    problem = cp.Problem(cp.Minimize(cost))
    problem.solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(solution.theta, theta.value, rtol=1e-3, atol=1e-3 * np.abs(theta.value).max())


def test_rules_choose_among_equal_fits_and_say_so(rng):
    model = TorqueModel(load_robot("panda"))
    base, R, rho, residual, _ = compressed(model, model.nominal() * 1.2, rng, noise=0.5)
    found = {
        rule: solve(R, rho, model, base, prior=Prior(rule), residual=residual)
        for rule in ("nominal", "entropic", "centred")
    }
    best = [solution.best_objective for solution in found.values()]
    np.testing.assert_allclose(best, best[0], atol=1e-4 * residual)
    assert "closest to the nominal model" in found["nominal"].rule
    assert "divergence" in found["entropic"].rule
    assert "uniform ball" in found["centred"].rule
    assert solve(R, rho, model, base, residual=residual).rule == found["nominal"].rule
    bare = TorqueModel(without_nominal(model.robot))
    assert solve(R, rho, bare, base, residual=residual).rule == found["centred"].rule
    with pytest.raises(ParameterError, match="needs nominal inertias"):
        solve(R, rho, bare, base, prior=Prior("nominal"))
    with pytest.raises(ParameterError, match="triangle=True"):
        solve(R, rho, model, base, Constraints(triangle=False), prior=Prior("entropic"))


@pytest.mark.parametrize("robot", [r for r in BATTERY if r.n_dof > 2], ids=lambda r: r.name)
def test_masses_stay_sane_without_nominal_model_and_bounds(robot, rng):
    true = TorqueModel(robot)
    model = TorqueModel(without_nominal(robot))
    base, R, rho, residual, _ = compressed(model, true.nominal(), rng, noise=0.3, n_samples=400)
    solution = solve(R, rho, model, base, residual=residual)
    assert solution.status is Status.CONVERGED
    assert np.max(solution.theta[::10]) < 10.0 * true.nominal()[::10].sum()


def test_labels_tell_data_from_prior_from_bound(rng):
    model = TorqueModel(load_robot("panda"), friction_models("viscous+coulomb"))
    theta = np.concatenate([model.nominal()[: model.n_inertial], np.full(14, 0.3)])
    base, R, rho, *_ = compressed(model, theta, rng)
    constraints = Constraints(bounds=ParameterBounds.of({"m4": (0.0, 3.0)}), pinned={"fc2": 0.3})
    labels = dict(zip(model.symbols, solve(R, rho, model, base, constraints).labels, strict=True))
    assert labels["fv1"] == "identified"
    assert labels["fc2"] == "bound"
    assert labels["m4"] == "bound"
    assert labels["m1"] == "prior"
    assert labels["J2xx"] == "combination"
    for symbol in base.unseen:
        assert labels[symbol] == "prior"


def test_pinned_parameters_keep_their_values(rng):
    model = TorqueModel(load_robot("panda"), TERMS)
    theta = np.concatenate([model.nominal()[: model.n_inertial], np.full(28, 0.3)])
    base, R, rho, residual, _ = compressed(model, theta, rng, noise=0.5)
    pinned = {"m3": 3.0, "c3x": 0.03, "c3y": 0.03, "c3z": -0.06, "I3zz": 0.012, "fv2": 0.0, "J5xx": 0.05, "mc6x": 0.1}
    solution = solve(R, rho, model, base, Constraints(pinned=pinned), residual=residual)
    assert solution.status is Status.CONVERGED
    link = InertialParameters(solution.theta[20:30])
    assert link.mass == pytest.approx(3.0, abs=1e-9)
    np.testing.assert_allclose(link.com, [0.03, 0.03, -0.06], atol=1e-9)
    assert link.inertia_com[2, 2] == pytest.approx(0.012, abs=1e-9)
    for symbol in ("fv2", "J5xx", "mc6x"):
        assert solution.theta[model.index(symbol)] == pytest.approx(pinned[symbol], abs=1e-9)


def test_regions_total_mass_and_bounds_are_kept(rng):
    model = TorqueModel(load_robot("panda"))
    base, R, rho, residual, _ = compressed(model, model.nominal() * 1.2, rng, noise=1.0)
    links = model.robot.link_names
    box, ellipsoid = Box(np.full(3, -0.05), np.full(3, 0.05)), Ellipsoid(np.full(3, 0.02), np.array([0.02, 0.03, 0.04]))
    constraints = Constraints(
        com_regions={links[2]: box, links[4]: ellipsoid},
        total_mass=(10.0, 12.0),
        bounds=ParameterBounds.of({"m7": (0.3, 0.4), "I6xx": (0.02, 1.0)}),
    )
    for rule in ("nominal", "entropic", "centred"):
        solution = solve(R, rho, model, base, constraints, prior=Prior(rule), residual=residual)
        assert solution.status is Status.CONVERGED
        bodies = [InertialParameters(pi) for pi in solution.theta.reshape(-1, 10)]
        assert box.margin(bodies[2].com) > -1e-8
        assert ellipsoid.margin(bodies[4].com) > -1e-8
        assert 10.0 - 1e-8 < sum(body.mass for body in bodies) < 12.0 + 1e-8
        assert 0.3 - 1e-8 < bodies[6].mass < 0.4 + 1e-8
        assert bodies[5].inertia_com[0, 0] > 0.02 - 1e-8


def test_bounds_that_are_not_convex_are_met_and_named(rng):
    model = TorqueModel(load_robot("spatial2r"))
    base, R, rho, *_ = compressed(model, model.nominal(), rng)
    free = solve(R, rho, model, base)
    assert InertialParameters(free.theta[10:]).inertia_com[1, 1] > 0.039
    bounds = ParameterBounds.of({"I2yy": (0.0, 0.03), "I2xy": (-0.001, -0.0005), "m1": (0.0, 10.0)})
    solution = solve(R, rho, model, base, Constraints(bounds=bounds))
    assert solution.status is Status.CONVERGED
    inertia = InertialParameters(solution.theta[10:]).inertia_com
    assert inertia[1, 1] <= 0.03 + 1e-8
    assert -0.001 - 1e-8 <= inertia[0, 1] <= -0.0005 + 1e-8
    assert set(solution.restricted) == {"I2yy", "I2xy"}
    assert solution.violated == ()
    loose = solve(R, rho, model, base, Constraints(bounds=ParameterBounds.of({"I2yy": (0.0, 1.0)})))
    assert loose.restricted == ()


@pytest.mark.parametrize(
    ("constraints", "clashing", "innocent"),
    [
        (
            Constraints(bounds=ParameterBounds.of({f"m{i}": (0.0, 2.0) for i in range(1, 8)}), total_mass=(16.0, 20.0)),
            {"total mass ≥ 16 kg", *(f"m{i} ≤ 2" for i in range(1, 8))},
            {"total mass ≤ 20"},
        ),
        (
            Constraints(bounds=ParameterBounds.of({"m2": (0.0, 1.0), "m3": (0.0, 1.0)}), pinned={"m2": 3.0}),
            {"m2 ≤ 1", "m2 ≥ 3"},
            {"m3 ≤ 1"},
        ),
        (
            Constraints(
                bounds=ParameterBounds.of({"m1": (1.0, 5.0), "c1x": (0.1, 0.2)}),
                com_regions={"link1": Box(np.full(3, -0.05), np.full(3, 0.05))},
            ),
            {"c1x ≥ 0.1", "link1.com.x ≤ 0.05", "m1 ≥ 1"},
            {"c1x ≤ 0.2"},
        ),
        (Constraints(pinned={"m4": 0.0}), {"m4 = 0", "pseudo-inertia of link4 ≥ 1e-08"}, set()),
    ],
    ids=["total mass", "pinned", "regions", "physics"],
)
def test_contradictory_bounds_are_named(constraints, clashing, innocent, rng):
    model = TorqueModel(load_robot("panda"))
    base, R, rho, *_ = compressed(model, model.nominal(), rng, noise=0.1)
    with pytest.raises(ContradictoryBounds, match="cannot hold together") as caught:
        solve(R, rho, model, base, constraints)
    assert clashing <= set(caught.value.clashing)
    assert not innocent & set(caught.value.clashing)


@pytest.mark.parametrize(
    "settings", [SolverSettings(max_iterations=3), SolverSettings(time_limit_s=1e-4)], ids=["iterations", "time"]
)
def test_a_solver_stopped_early_says_so_and_never_gives_an_impossible_robot(settings, rng):
    model = TorqueModel(load_robot("panda"), TERMS)
    base, R, rho, residual, _ = compressed(model, random_theta(model, rng), rng, noise=5.0)
    for prior in (Prior(), Prior("centred"), Prior("nominal", 1.0)):
        solution = solve(R, rho, model, base, prior=prior, residual=residual, solver=settings)
        assert solution.status is Status.STOPPED_EARLY
        assert "raise max_iterations" in solution.status.value
        assert np.all(np.isnan(solution.theta)) or np.all(solution.link_margins > 0.0)


def test_directions_the_data_do_not_see_are_left_to_the_prior(rng):
    model = TorqueModel(load_robot("panda"))
    base = base_parameters(model)
    q = random_motion(model.robot, 200, rng).q
    W = model.gravity_rows(q).reshape(-1, model.n_params)
    R = np.linalg.qr(base.reduce(W))[1]
    solution = solve(R, R @ base.project(model.nominal()), model, base)
    assert solution.status is Status.RANK_DEFICIENT
    np.testing.assert_allclose(solution.theta, model.nominal(), atol=1e-6)
    assert solution.labels[model.index("J7zz")] == "prior"


def test_numbers_that_are_not_finite_are_refused():
    model = TorqueModel(load_robot("planar2r"))
    base = base_parameters(model)
    with pytest.raises(ParameterError, match="must be finite"):
        solve(np.eye(base.n_base), np.full(base.n_base, np.nan), model, base)
    with pytest.raises(ParameterError, match="weight of a prior"):
        Prior(weight=-1.0)


def test_what_is_not_convex_is_refused_with_what_to_do(rng):
    model = TorqueModel(load_robot("spatial2r"))
    base, R, rho, *_ = compressed(model, model.nominal(), rng, noise=0.1)
    ball = Sphere(np.zeros(3), 0.5)
    for constraints, message in (
        (
            Constraints(com_regions={"link1": RegionUnion((ball, ball))}),
            "union of link1 is not convex or has",
        ),
        (Constraints(functions=(UserFunction("light", lambda links: -1.0),)), "the function light has no convex form"),
        (Constraints(ties=(Tie("c1x", "c2x"),)), "c1x = c2x relates centres of mass"),
    ):
        with pytest.raises(ParameterError, match=message):
            solve(R, rho, model, base, constraints)
        assert solve(R, rho, model, base, constraints, relaxed=True).left_out


def test_symmetry_ties_and_convex_solids_hold_exactly_in_the_best_fit(rng):
    model = TorqueModel(load_robot("spatial2r"))
    base, R, rho, *_ = compressed(model, model.nominal(), rng, noise=0.1)
    tube = Frustum.cylinder([-0.5, 0.0, 0.0], [-0.15, 0.0, 0.0], 0.02)
    asked = Constraints(
        bounds=ParameterBounds.of({"m1": (1.0, 9.0)}),
        symmetries=(Symmetry("link2", axis="x"),),
        ties=(Tie("m1", "m2", 2.0, 0.5),),
        com_regions={"link2": tube},
    )
    found = solve(R, rho, model, base, asked)
    assert found.left_out == ()
    first, second = (InertialParameters(pi) for pi in found.theta.reshape(2, 10))
    assert first.mass == pytest.approx(2.0 * second.mass + 0.5, abs=1e-9)
    assert tube.outside(second.com)[0] <= 1e-7
    np.testing.assert_allclose(second.com[1:], 0.0, atol=1e-9)
    np.testing.assert_allclose(second.inertia_com - np.diag(np.diag(second.inertia_com)), 0.0, atol=1e-9)
    assert second.inertia_com[1, 1] == pytest.approx(second.inertia_com[2, 2], abs=1e-9)
    assert found.best_objective >= solve(R, rho, model, base).best_objective


def test_conditions_that_only_touch_do_not_contradict_each_other(rng):
    model = TorqueModel(load_robot("planar2r"), TERMS)
    base, R, rho, *_ = compressed(model, random_theta(model, rng), rng)
    masses = {"m1": (1.0, 2.0), "m2": (2.0, 3.0)}
    touching = Constraints(bounds=ParameterBounds.of(masses), total_mass=(5.0, 6.0))
    solve(R, rho, model, base, constraints=touching, prior=Prior("nominal"))  # 2 kg and 3 kg: hard to find, but there
    apart = Constraints(bounds=ParameterBounds.of(masses), total_mass=(5.001, 6.0))
    with pytest.raises(ContradictoryBounds, match=r"m1 ≤ 2.*m2 ≤ 3|total mass"):
        solve(R, rho, model, base, constraints=apart, prior=Prior("nominal"))


@pytest.mark.parametrize(
    ("outcome", "gap", "good"),
    [
        (ConeOutcome.SOLVED, 1.0, True),
        (ConeOutcome.STALLED, 1e-6, True),
        (ConeOutcome.STALLED, 0.5e-6, True),
        (ConeOutcome.STALLED, 2e-6, False),
        (ConeOutcome.STALLED, np.nan, False),
        (ConeOutcome.STOPPED, 0.0, False),
    ],
)
def test_a_stalled_solver_is_good_only_near_the_optimum(outcome, gap, good):
    assert _good(ConeSolution(outcome, np.zeros(1), (), gap), 1e-6) is good
