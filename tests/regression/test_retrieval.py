"""Full parameters under any constraint: figures of the paper, derivatives, repeatability, interruption."""

import json
import math

import numpy as np
import pytest

from dynid import TorqueModel, base_parameters, load_robot
from dynid.arrays import Array
from dynid.chain.consistency import Box, consistency
from dynid.chain.inertia import InertialParameters
from dynid.dynamics import friction_models, random_motion
from dynid.dynamics.drives import RotorInertia
from dynid.recording import Conditioning, read_recording
from dynid.regression import (
    Constraints,
    Frustum,
    Hull,
    MultiStart,
    ParameterBounds,
    RegionUnion,
    Retrieval,
    RetrievalObjective,
    RetrievalProblem,
    SampleRows,
    SimulatedAnnealing,
    Sphere,
    Status,
    Symmetry,
    Tie,
    UserFunction,
    compress,
    read_bounds,
)
from dynid.regression.constraints.link_parameters import Links, theta_from_p, theta_of
from dynid.regression.retrieval.body_factors import BodyFactors
from dynid.regression.retrieval.lagrangian import Lagrangian, Watch
from tests.regression.arms import p_from_theta

LINK1 = Frustum.cylinder([0.0, -1.5, 0.0], [0.0, 0.0, 0.0], 0.15)
LINK2 = RegionUnion(
    (
        Frustum.cylinder([-0.8, 0.0, 0.0], [-0.2, 0.0, 0.0], 0.08),
        Frustum(np.array([-0.2, 0.0, 0.0]), np.zeros(3), 0.08, 0.02),
    )
)
"""The links of the spatial arm of [Gaz2019]: a cylinder, and a cylinder that ends in a cone."""


def spatial_bounds():
    moments = {f"I{i}{a}{a}": (0.0, 1.0) for i in (1, 2) for a in "xyz"}
    products = {f"I{i}{a}": (-1.0, 1.0) for i in (1, 2) for a in ("xy", "xz", "yz")}
    return ParameterBounds.of(
        {"m1": (0.0, 10.0), "m2": (0.0, 5.0), "c1y": (-1.42, 0.08), "c2x": (-0.8, 0.0)} | moments | products
    )


@pytest.fixture(scope="module")
def spatial():
    model = TorqueModel(load_robot("spatial2r"))
    base = base_parameters(model)
    return model, base, RetrievalObjective.coefficients(base, base.project(model.nominal()))


@pytest.fixture(scope="module")
def panda(data_dir):
    model = TorqueModel(load_robot("panda"))
    base = base_parameters(model)
    facts = json.loads((data_dir / "panda" / "published.json").read_text())
    values = facts["reverse_engineering"]["value"]
    given = dict(zip(facts["coefficient_leading_parameter"], values, strict=True))
    constraints = Constraints(bounds=read_bounds(data_dir / "panda" / "bounds.csv"), total_mass=(16.0, 20.0))
    return model, base, RetrievalObjective.coefficients(base, given), constraints


def full_constraints():
    """One of every kind of constraint, for the two-link arm."""
    return Constraints(
        bounds=spatial_bounds(),
        total_mass=(1.0, 15.0),
        pinned={"J2xx": 0.02},
        com_regions={"link1": LINK1, "link2": LINK2},
        symmetries=(Symmetry("link2", plane="xy"),),
        ties=(Tie("I1xx", "I1yy", 2.0, 0.01), Tie("mc1x", "c2x")),
        functions=(UserFunction("heavier", lambda links: links["link2"].mass - links[0].mass),),
    )


def central(function, x, step):
    return np.stack([(function(x + step * e) - function(x - step * e)) / (2.0 * step) for e in np.eye(len(x))], axis=-1)


def test_parallel_axis_map_and_its_derivative(rng):
    model = TorqueModel(load_robot("panda"), friction_models("viscous"))
    p = p_from_theta(model.nominal(), 7)
    theta, blocks = theta_from_p(p, 7)
    np.testing.assert_allclose(theta, model.nominal(), atol=1e-14)
    p = rng.normal(size=model.n_params)
    theta, blocks = theta_from_p(p, 7)
    np.testing.assert_allclose(theta_of(p, 7), theta, atol=1e-13)
    slopes = central(lambda v: theta_from_p(v, 7)[0], p, 1e-6)
    for i in range(7):
        own = slice(10 * i, 10 * i + 10)
        np.testing.assert_allclose(blocks[i], slopes[own, own], atol=1e-8)


@pytest.mark.parametrize("triangle", [True, False])
def test_derivatives_of_constraints_are_those_of_the_link_they_are_about(triangle, rng):
    model = TorqueModel(load_robot("panda"))
    names = model.robot.link_names
    asked = Constraints(
        triangle=triangle,
        total_mass=(1.0, 15.0),
        com_regions={names[2]: LINK1, names[6]: LINK2},
        symmetries=(Symmetry(names[4], plane="xz"),),
        ties=(Tie("I3xx", "I6yy", 2.0, 0.01), Tie("mc7x", "c5x")),
        pinned={"J6xz": 0.02},
        functions=(UserFunction("heavier", lambda links: links[names[6]].mass - links[3].com[1]),),
    )
    p = p_from_theta(model.nominal(), 7) + 0.03 * rng.normal(size=70)
    for rows in asked.compile(model).all_rows:
        np.testing.assert_allclose(rows.slopes(p), central(rows.at, p, 1e-6), atol=2e-5)


@pytest.mark.parametrize("triangle", [True, False])
def test_every_body_factor_is_a_possible_body(rng, triangle):
    bodies = BodyFactors(3, 1e-6, triangle)
    x = rng.normal(size=30)
    x[::10] = np.abs(x[::10])
    x[4:10] = 0.0  # a link without extent is still possible
    p = bodies.p(x)
    np.testing.assert_allclose(bodies.p(bodies.x(p)), p, atol=1e-12)
    for link in theta_from_p(p, 3)[0].reshape(3, 10):
        assert consistency(InertialParameters(link), triangle=triangle).holds
    slopes = central(bodies.p, x, 1e-6)
    for i in range(3):
        own = slice(10 * i + 4, 10 * i + 10)
        np.testing.assert_allclose(bodies.derivative(x)[i], slopes[own, own], atol=1e-8)


def test_annealing_starts_where_it_is_told_and_stays_between_its_limits(spatial, rng, monkeypatch):
    model, base, objective = spatial
    problem = RetrievalProblem(objective.W @ base.K, objective.y, full_constraints().compile(model))
    seen = []

    def penalised(_: RetrievalProblem, p: Array, xi: float) -> float:
        seen.append(p.copy())
        return xi * float(np.sum((p - 0.3) ** 2))

    monkeypatch.setattr("dynid.regression.retrieval.search._penalised", penalised)
    lower, upper = rng.uniform(-2.0, -1.0, 20), rng.uniform(1.0, 4.0, 20)
    start = rng.uniform(-0.5, 0.5, 20)
    lower[3] = upper[3] = start[3]  # a known value
    watch = Watch(math.inf)
    found = SimulatedAnnealing(iterations=5)._annealed(problem, start, 10.0, (lower, upper), rng, watch)
    np.testing.assert_allclose(seen[0], start, atol=1e-12)
    assert len(seen) == watch.evaluations > 20
    assert all(np.all((lower - 1e-12 <= p) & (p <= upper + 1e-12)) for p in seen)
    assert np.ptp([p[3] for p in seen]) == 0.0
    assert watch.best == pytest.approx(min(10.0 * np.sum((p - 0.3) ** 2) for p in seen))
    np.testing.assert_allclose(found, watch.at, atol=1e-12)
    outside = len(seen)
    SimulatedAnnealing(iterations=1)._annealed(problem, start + 10.0, 10.0, (lower, upper), rng, watch)
    free = np.arange(20) != 3
    np.testing.assert_allclose(seen[outside][free], upper[free])


def test_derivatives_of_every_constraint_and_of_the_lagrangian_are_exact(spatial, rng):
    model, base, objective = spatial
    penalties = full_constraints().compile(model)
    problem = RetrievalProblem(objective.W @ base.K, objective.y, penalties)
    p = p_from_theta(model.nominal(), 2) + 0.03 * rng.normal(size=20)
    for rows in penalties.all_rows:
        np.testing.assert_allclose(rows.slopes(p), central(rows.at, p, 1e-6), atol=2e-5)
    work = Lagrangian(problem, weight=3.0)
    work.wake(np.ones_like(work.sleeping.equal))
    x = work.start(rng)
    np.testing.assert_allclose(work._slopes(x), central(work._residual, x, 1e-6), rtol=1e-4, atol=1e-4)


def test_panda_coefficients_within_half_a_percent_of_the_optimum(panda):
    model, base, objective, constraints = panda
    found = Retrieval(constraints=constraints, runs=2).solve(model, base, objective)
    assert found.convex
    assert found.optimum == pytest.approx(3.7564e-4, rel=1e-4)
    assert found.objective <= 3.95e-4
    assert 0.0 <= found.gap < 5e-3
    assert found.met
    assert all(consistency(link).holds for link in found.links)
    assert 16.0 <= sum(link.mass for link in found.links) <= 20.0
    assert found.spread.n_runs == 2
    assert {"m2", "c4y"} <= set(found.spread.open)  # masses do not follow from the torque


def test_panda_published_parameters_are_further_off(panda):
    model, base, objective, _ = panda
    published = base.project(model.nominal())
    assert float(np.sum((published - objective.y) ** 2)) == pytest.approx(1.29e-3, rel=0.02)


def test_annealing_reaches_the_figure_on_the_panda(panda):
    model, base, objective, constraints = panda
    found = Retrieval(constraints=constraints, engine=SimulatedAnnealing(steps=6, iterations=2), runs=1).solve(
        model, base, objective
    )
    assert found.met
    assert found.objective <= 3.95e-4


def test_panda_one_step_is_within_two_percent_of_the_optimum(data_dir):
    robot = load_robot("panda")
    model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
    base = base_parameters(model)
    log = read_recording(data_dir / "panda" / "excitation_log.csv.gz", robot.joint_names)
    regression = compress(SampleRows(model, base, (Conditioning().plan(log).apply(log),)))
    stacked = regression.stacked()
    objective = RetrievalObjective.one_step(base, stacked.R, stacked.rho, stacked.rest)
    constraints = Constraints(bounds=read_bounds(data_dir / "panda" / "bounds.csv"), total_mass=(16.0, 20.0))
    search = Retrieval(constraints=constraints, runs=1)
    found = search.solve(model, base, objective)
    assert found.met
    assert found.convex
    assert found.relative_percent <= 1.02 * objective.relative_percent(found.optimum)
    assert np.all(found.theta[model.n_inertial :: 3] >= 0.0)  # viscous friction, as physics asks
    estimate = search.fit(regression)
    assert estimate.estimator == "retrieval"
    assert estimate.fit.relative_percent < 1.2


@pytest.mark.parametrize("engine", [MultiStart(), SimulatedAnnealing(steps=4, iterations=10)], ids=lambda e: e.name)
def test_spatial_arm_is_retrieved_inside_its_shapes(spatial, engine, rng):
    model, base, objective = spatial
    constraints = Constraints(
        bounds=spatial_bounds(), total_mass=(1.0, 15.0), com_regions={"link1": LINK1, "link2": LINK2}
    )
    found = Retrieval(constraints=constraints, engine=engine, runs=2).solve(model, base, objective)
    assert found.met
    assert not found.convex
    np.testing.assert_allclose(found.beta, objective.y, atol=1e-6)
    assert LINK1.outside(found.links[0].com)[0] <= 1e-8
    assert LINK2.outside(found.links[1].com)[0] <= 1e-8
    motion = random_motion(model.robot, 200, rng)
    np.testing.assert_allclose(model.torque(motion, found.theta), model.torque(motion, model.nominal()), atol=1e-4)


def test_joint_forces_need_a_feasible_set(spatial, rng):
    model, base, objective = spatial
    constraints = Constraints(
        bounds=spatial_bounds(), total_mass=(1.0, 15.0), com_regions={"link1": LINK1, "link2": LINK2}
    )
    found = Retrieval(constraints=constraints, runs=4).solve(model, base, objective)
    motion = random_motion(model.robot, 200, rng)
    truth = model.joint_wrenches(motion, model.nominal())[..., :3]
    feasible = model.joint_wrenches(motion, found.theta)[..., :3]
    # the same torque from masses of −200 and 300 kg: a direction that no torque shows
    masses = base.lift(objective.y)
    masses[model.index("m1")] = -200.0
    masses[model.index("m2")] = 300.0
    impossible = masses + base.lift(objective.y - base.project(masses))
    np.testing.assert_allclose(model.torque(motion, impossible), model.torque(motion, model.nominal()), atol=1e-9)
    size = np.linalg.norm(truth)
    assert np.linalg.norm(feasible - truth) < size
    wrong = model.joint_wrenches(motion, impossible)[..., :3]
    assert np.linalg.norm(wrong - truth) > 10.0 * size


def test_exact_shape_keeps_a_centre_of_mass_that_a_box_cuts_off(spatial):
    """An L-shaped link: its centre of mass lies in the short arm, beyond any box round the long one."""
    model, base, _ = spatial
    theta = model.nominal()
    theta[10:20] = _body(2.0, (-0.05, 0.12, 0.0))
    objective = RetrievalObjective.coefficients(base, base.project(theta))
    long_arm = Frustum.cylinder([-0.8, 0.0, 0.0], [0.0, 0.0, 0.0], 0.05)
    short_arm = Frustum.cylinder([-0.05, 0.0, 0.0], [-0.05, 0.3, 0.0], 0.05)
    bounds = ParameterBounds.of({"m2": (1.9, 2.1), "m1": (0.0, 10.0)})
    box = Box(np.array([-0.8, -0.05, -0.05]), np.array([0.0, 0.05, 0.05]))

    def retrieved(region):
        constraints = Constraints(bounds=bounds, com_regions={"link2": region})
        return Retrieval(constraints=constraints, runs=4).solve(model, base, objective)

    exact, cut = retrieved(RegionUnion((long_arm, short_arm))), retrieved(box)
    assert exact.met
    assert exact.objective < 1e-10
    assert short_arm.outside(exact.links[1].com)[0] <= 1e-8
    assert cut.met
    assert cut.objective > 1e-3  # the box forbids the truth: mc2y can no longer be explained


def _body(mass, com):
    return InertialParameters.from_com(mass, com, np.diag([0.01, 0.04, 0.04])).pi


def test_every_kind_of_constraint_is_met(spatial):
    model, base, objective = spatial
    hull = Hull.of(np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-1.4, 0.0) for z in (-0.2, 0.2)]))
    constraints = Constraints(
        bounds=spatial_bounds(),
        pinned={"m1": 7.5, "I2xx": 0.012, "J2zz": 0.07},
        com_regions={"link1": hull, "link2": Sphere(np.array([-0.2, 0.0, 0.0]), 0.15)},
        symmetries=(Symmetry("link2", axis="x"), Symmetry("link1", plane="xy")),
        ties=(Tie("I1xx", "I1yy"),),
    )
    found = Retrieval(constraints=constraints, runs=2).solve(model, base, objective)
    assert found.met, found.violated
    link1, link2 = found.links
    assert link1.mass == pytest.approx(7.5, abs=1e-9)
    assert link2.inertia_com[0, 0] == pytest.approx(0.012, abs=1e-8)
    assert found.theta[19] == pytest.approx(0.07, abs=1e-8)
    np.testing.assert_allclose(link2.com[1:], 0.0, atol=1e-7)
    assert link2.inertia_com[1, 1] == pytest.approx(link2.inertia_com[2, 2], abs=1e-8)
    assert link1.com[2] == pytest.approx(0.0, abs=1e-7)
    assert link1.inertia_com[0, 0] == pytest.approx(link1.inertia_com[1, 1], abs=1e-8)
    assert not found.convex
    assert found.left_out == ("I2xx = 0.012", "I1xx = I1yy")


@pytest.mark.parametrize("clipped", [False, True])
def test_a_condition_written_in_python_is_met(spatial, clipped):
    model, base, objective = spatial

    def light_or_low(links):
        """If the second link is heavier than 2.5 kg, its centre of mass must lie beyond 0.25 m."""
        violation = links["link2"].com[0] + 0.25 if links[1].mass > 2.5 else -1.0
        return max(0.0, violation) if clipped else violation

    constraints = Constraints(
        bounds=spatial_bounds(), total_mass=(1.0, 15.0), functions=(UserFunction("light or low", light_or_low),)
    )
    found = Retrieval(constraints=constraints, runs=3).solve(model, base, objective)
    assert found.met
    link = found.links[1]
    assert link.mass <= 2.5 or link.com[0] <= -0.25 + 1e-6
    np.testing.assert_allclose(found.beta, objective.y, atol=1e-6)
    assert found.left_out == ("light or low",)


def test_covariance_moves_the_error_to_what_is_uncertain(panda):
    model, base, objective, constraints = panda
    std = np.full(base.n_base, 1e-3)
    std[:5] = np.inf
    covariance = np.diag(std**2)
    weighted = RetrievalObjective.coefficients(base, objective.y, covariance)
    found = Retrieval(constraints=constraints, runs=1).solve(model, base, weighted)
    assert found.met
    assert found.gap < 0.02
    assert np.sum((found.beta - objective.y)[5:] ** 2) < np.sum((found.beta - objective.y) ** 2)


def test_joint_terms_take_part(rng):
    model = TorqueModel(load_robot("planar2r"), (*friction_models("viscous"), RotorInertia()))
    base = base_parameters(model)
    theta = model.nominal()
    theta[model.n_inertial :] = 0.2
    objective = RetrievalObjective.coefficients(base, base.project(theta))
    found = Retrieval(runs=2, constraints=Constraints(bounds=ParameterBounds.of({"fv1": (0.0, 0.1)}))).solve(
        model, base, objective
    )
    assert found.met
    assert found.theta[model.index("fv1")] == pytest.approx(0.1, abs=1e-6)
    assert found.theta[model.index("fv2")] == pytest.approx(0.2, abs=1e-6)
    assert found.labels[model.index("fv1")] == "bound"


def summed(found):
    return [(run.index, run.objective, run.p.tobytes()) for run in found.runs]


def test_same_seed_same_result_whatever_the_workers(spatial):
    model, base, objective = spatial
    constraints = Constraints(bounds=spatial_bounds(), total_mass=(1.0, 15.0), com_regions={"link2": LINK2})
    alone = Retrieval(constraints=constraints, runs=4, seed=3).solve(model, base, objective)
    again = Retrieval(constraints=constraints, runs=4, seed=3, workers=2).solve(model, base, objective)
    other = Retrieval(constraints=constraints, runs=4, seed=4).solve(model, base, objective)
    assert summed(alone) == summed(again)
    assert summed(alone) != summed(other)


def test_progress_tells_runs_and_best(spatial):
    model, base, objective = spatial
    told = []
    Retrieval(constraints=Constraints(bounds=spatial_bounds()), runs=3).solve(
        model, base, objective, progress=lambda done, of, best: told.append((done, of, best))
    )
    assert [(done, of) for done, of, _ in told] == [(1, 3), (2, 3), (3, 3)]
    assert all(math.isfinite(best) for _, _, best in told)


def test_the_penalty_of_annealing_grows_as_in_the_paper(spatial, monkeypatch):
    model, base, objective = spatial
    penalties = []

    def seen(self, problem, p, xi, *rest):
        penalties.append(xi)
        return p

    monkeypatch.setattr(SimulatedAnnealing, "_annealed", seen)
    engine = SimulatedAnnealing(steps=4, iterations=1)
    Retrieval(constraints=Constraints(bounds=spatial_bounds()), engine=engine, runs=1).solve(model, base, objective)
    assert penalties == [0.0, 10.0, 20.0, 30.0]


@pytest.mark.parametrize("engine", [MultiStart(), SimulatedAnnealing()], ids=lambda e: e.name)
def test_time_budget_returns_the_best_so_far(panda, engine):
    model, base, objective, constraints = panda
    found = Retrieval(constraints=constraints, runs=500, engine=engine, time_budget=0.3).solve(model, base, objective)
    assert found.status is Status.STOPPED_EARLY
    assert 1 <= len(found.runs) < 500
    assert np.all(np.isfinite(found.theta))


def test_interruption_returns_the_best_so_far(spatial):
    model, base, objective = spatial
    calls = []

    def impatient(links):
        calls.append(1)
        if len(calls) == 400:
            raise KeyboardInterrupt
        return -1.0

    constraints = Constraints(bounds=spatial_bounds(), functions=(UserFunction("impatient", impatient),))
    found = Retrieval(constraints=constraints, runs=50).solve(model, base, objective)
    assert found.status is Status.STOPPED_EARLY
    assert 1 <= len(found.runs) < 50
    assert found.met


def test_a_factorisation_that_does_not_converge_leaves_the_best_point_so_far(spatial, rng, monkeypatch):
    model, base, objective = spatial
    problem = RetrievalProblem(objective.W @ base.K, objective.y, full_constraints().compile(model))
    work = Lagrangian(problem, weight=1.0)
    x = work.start(rng)
    costs: list[float] = []

    def failing(cost, inside, slopes, **options):
        costs.extend(float(np.sum(cost(inside + shift) ** 2)) for shift in (0.2, 0.0, 0.1))
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr("dynid.regression.retrieval.lagrangian.least_squares", failing)
    found = work.minimise(x, 10, Watch(math.inf))
    assert float(np.sum(work._residual(found) ** 2)) == pytest.approx(min(costs))


def test_weaker_condition_allows_what_the_triangle_forbids(spatial):
    model, base, _ = spatial
    theta = model.nominal()
    objective = RetrievalObjective.coefficients(base, base.project(theta))
    found = Retrieval(constraints=Constraints(triangle=False, bounds=spatial_bounds()), runs=1).solve(
        model, base, objective
    )
    assert found.met
    assert all(consistency(link, triangle=False).holds for link in found.links)


def test_bounds_that_are_not_convex_leave_a_bound_below_the_optimum(spatial):
    model, base, objective = spatial
    tight = ParameterBounds.of({"m2": (2.999, 3.001), "c2x": (-0.11, -0.09), "I2yy": (0.0, 0.02), "I2zz": (0.0, 0.02)})
    found = Retrieval(constraints=Constraints(bounds=tight), runs=3).solve(model, base, objective)
    assert found.met
    assert np.all(np.diag(found.links[1].inertia_com)[1:] <= 0.02 + 1e-8)  # the truth is 0.04
    assert not found.convex
    assert found.left_out == ("bounds of inertia about the centre of mass",)
    assert 0.0 < found.optimum <= found.objective


def test_links_are_found_by_number_and_by_name(spatial):
    model, _, _ = spatial
    links = Links.of(p_from_theta(model.nominal(), 2), model.robot.link_names)
    assert len(links) == 2
    assert links["link2"].mass == links[1].mass == pytest.approx(3.0)
    assert links.total_mass == pytest.approx(11.0)
    assert [link.name for link in links.links] == ["link1", "link2"]
