"""The problem of a retrieval: where it searches, what its Lagrangian is, and how multipliers move."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from dynid import TorqueModel, base_parameters, load_robot
from dynid.arrays import Array
from dynid.dynamics import friction_models
from dynid.regression.constraints.constraints import Constraints, ParameterBounds, Tie
from dynid.regression.constraints.link_parameters import theta_of
from dynid.regression.constraints.regions import Sphere
from dynid.regression.retrieval.lagrangian import (
    Lagrangian,
    RetrievalProblem,
    RetrievalRun,
    TimeUp,
    Watch,
    clash,
    search_span,
)
from tests.regression.arms import p_from_theta

INF = math.inf


@pytest.fixture(scope="module")
def model() -> TorqueModel:
    return TorqueModel(load_robot("spatial2r"), friction_models("viscous+offset"))


def problem(model: TorqueModel, constraints: Constraints | None = None) -> RetrievalProblem:
    base = base_parameters(model)
    return RetrievalProblem(base.K, base.project(model.nominal()), (constraints or Constraints()).compile(model))


def test_the_search_looks_between_bounds_in_shapes_or_where_robots_are(model):
    constraints = Constraints(
        bounds=ParameterBounds.of({"m1": (1.0, 3.0), "c2x": (-0.1, 0.9), "m2": (30.0, INF), "I1xy": (-INF, -3.0)}),
        com_regions={"link2": Sphere(np.array([0.2, 0.0, 0.0]), 0.5), "link1": Sphere(np.zeros(3), 0.25)},
    )
    lower, upper = search_span(problem(model, constraints))
    found = {name: (float(lower[k]), float(upper[k])) for k, name in enumerate(Constraints().compile(model).names_p)}
    assert found["m1"] == (1.0, 3.0)
    assert found["m2"] == (30.0, 50.0)
    assert found["c1x"] == found["c1z"] == (-0.25, 0.25)
    assert found["c2x"] == (-0.1, 0.7)
    assert found["c2y"] == (-0.5, 0.5)
    assert found["I1xx"] == found["I2zz"] == (0.0, 1.0)
    assert found["I1xy"] == (-5.0, -3.0)
    assert found["I2yz"] == (-1.0, 1.0)
    assert found["fv1"] == (1e-8, 200.0 + 1e-8)
    assert found["fo1"] == (-100.0, 100.0)
    free_lower, free_upper = search_span(problem(model))
    assert (free_lower[0], free_upper[0]) == (1e-6, 20.0 + 1e-6)
    assert (free_lower[1], free_upper[1]) == (-0.5, 0.5)


def test_a_shape_beyond_the_bounds_leaves_them_as_they_are(model):
    constraints = Constraints(
        bounds=ParameterBounds.of({"c2x": (1.0, 2.0)}), com_regions={"link2": Sphere(np.zeros(3), 0.5)}
    )
    lower, upper = search_span(problem(model, constraints))
    assert (lower[11], upper[11]) == (1.0, 2.0)


def test_a_start_is_a_possible_body_between_the_bounds(model, rng):
    constraints = Constraints(bounds=ParameterBounds.of({"m1": (1.0, 3.0), "c1x": (0.2, 0.2), "fo1": (5.0, 6.0)}))
    work = Lagrangian(problem(model, constraints), weight=1.0)
    for _ in range(20):
        x = work.start(rng)
        assert np.all((x >= work.lower) & (x <= work.upper))
        assert x[1] == 0.2
        assert np.all(x[20:] <= 6.0)
        p = work.p(x)
        assert np.all(p[20:] == x[20:])
        # Second moments of some ten centimetres: three squares in every direction.
        assert np.trace(np.array([[p[4], p[5]], [p[5], p[6]]])) < 2 * p[0] * 0.1**2 * 60
        checks = {check.name: check.holds for check in work.problem.constraints.check(p)}
        assert checks["triangle inequality of link1"]
        assert checks["m1 ≥ 1"]


def test_bounds_of_inertias_are_rows_that_sleep_until_they_are_broken(model):
    constraints = Constraints(
        bounds=ParameterBounds.of({"I1xx": (0.0, 2.0), "I1yy": (0.1, INF), "I2xy": (-0.3, 0.4), "I2zz": (0.7, 0.7)})
    )
    work = Lagrangian(problem(model, constraints), weight=1.0)
    assert work.sleeping.names == ("I1xx ≤ 2", "I1yy ≥ 0.1", "I2xy ≥ -0.3", "I2xy ≤ 0.4")
    assert [name for rows in work.rows for name in rows.names] == ["I2zz = 0.7"]
    assert list(work.equal) == [True]
    p = np.zeros(model.n_params)
    p[[4, 6, 15]] = 3.0, 0.3, -0.5
    np.testing.assert_allclose(work.sleeping.at(p), [1.0, -0.2, 0.2, -0.9])
    x = work.bodies.x(p_from_theta(model.nominal(), 2))
    inertia = work.p(x)
    broken = work.sleeping.at(inertia) > 0.0
    work.update(x)
    assert len(work.equal) == 1 + np.count_nonzero(broken)
    assert len(work.sleeping.names) == 4 - np.count_nonzero(broken)
    assert np.all(np.isinf(work.lower[4:10]))
    assert np.all(np.isinf(work.upper[14:20]))


def tied(model: TorqueModel) -> tuple[Lagrangian, Array]:
    """An equation and a bound on a product, at the nominal robot of 8 and 3 kg."""
    constraints = Constraints(
        bounds=ParameterBounds.of({"mc1x": (-INF, 0.05)}), nonnegative_joint_terms=False, ties=(Tie("m1", "m2", 2.0),)
    )
    work = Lagrangian(problem(model, constraints), weight=0.5)
    return work, work.bodies.x(p_from_theta(model.nominal(), 2))


def test_violations_are_in_units_of_their_scale_and_aimed_inside(model):
    work, x = tied(model)
    names = [name for rows in work.rows for name in rows.names]
    found = dict(zip(names, work.violations(work.p(x)).tolist(), strict=True))
    # mc1x is 8 kg · 0.01 m; first moments are measured by 0.1 kg·m, masses by 1 kg; 3e-7 is the aim.
    assert found["mc1x ≤ 0.05"] == pytest.approx((0.08 - 0.05) / 0.1 + 3e-7, abs=1e-12)
    assert found["m1 = 2·m2"] == pytest.approx(2.0)


def test_multipliers_and_penalties_follow_the_violations(model):
    work, x = tied(model)
    h = work.violations(work.p(x))
    work.update(x)
    np.testing.assert_allclose(work.multipliers, 10.0 * h)
    np.testing.assert_allclose(work.penalty, 10.0)
    work.update(x)  # nothing has become better: ten times the penalty
    np.testing.assert_allclose(work.multipliers, 20.0 * h)
    np.testing.assert_allclose(work.penalty, 100.0)
    met = x.copy()
    met[0], met[1] = 6.0, 0.0
    before = work.violations(work.p(met))
    work.update(met)
    np.testing.assert_allclose(work.penalty, 100.0)
    order = [name for rows in work.rows for name in rows.names]
    bound = order.index("mc1x ≤ 0.05")
    assert before[bound] < 0.0
    assert work.multipliers[bound] == 0.0
    for _ in range(20):
        work.update(x)
    assert np.max(work.penalty) == 1e9
    work.press(3.0)
    np.testing.assert_allclose(work.penalty, 3.0)


def test_the_cost_is_the_augmented_lagrangian(model):
    work, x = tied(model)
    work.update(x)
    moved = x + 0.01
    p = work.p(moved)
    h = work.violations(p)
    shifted = h + work.multipliers / work.penalty
    active = np.where(work.equal, shifted, np.maximum(shifted, 0.0))
    rest = work.problem.A @ theta_of(p, 2) - work.problem.b
    expected = 0.25 * rest @ rest + float(np.sum(work.penalty * active**2))
    residual = work._residual(moved)
    assert residual @ residual == pytest.approx(expected)
    assert work.problem.objective(p) == pytest.approx(rest @ rest)
    step = 1e-6
    for k in range(len(x)):
        ahead, behind = moved.copy(), moved.copy()
        ahead[k] += step
        behind[k] -= step
        slope = (work._residual(ahead) - work._residual(behind)) / (2 * step)
        np.testing.assert_allclose(work._slopes(moved)[:, k], slope, atol=1e-6)


def test_minimising_meets_the_constraints_and_keeps_what_is_fixed(model):
    constraints = Constraints(
        bounds=ParameterBounds.of({"m1": (9.0, 9.0), "c2y": (0.05, 0.1)}), nonnegative_joint_terms=False
    )
    work = Lagrangian(problem(model, constraints), weight=1.0)
    watch = Watch(INF)
    x = work.minimise(work.bodies.x(p_from_theta(model.nominal(), 2)), 50, watch)
    assert x[0] == 9.0
    assert 0.05 <= x[12] <= 0.1
    assert 1 < watch.evaluations <= 50
    rest = work._residual(watch.at)
    assert watch.best == pytest.approx(rest @ rest)
    assert watch.best <= float(np.sum(work._residual(x) ** 2)) * (1 + 1e-9)


def test_a_watch_keeps_the_best_and_ends_at_its_deadline():
    watch = Watch(time.time() + 60.0)
    for k, cost in enumerate((3.0, 1.0, 2.0)):
        watch.saw(np.full(2, float(k)), cost)
    assert (watch.evaluations, watch.best) == (3, 1.0)
    np.testing.assert_array_equal(watch.at, [1.0, 1.0])
    late = Watch(time.time() - 1.0)
    with pytest.raises(TimeUp):
        late.saw(np.zeros(2), 0.5)
    assert late.best == 0.5


def run(objective: float, violation: float) -> RetrievalRun:
    return RetrievalRun(0, np.zeros(1), objective, violation, 1, 0.1, True)


def test_runs_that_meet_the_constraints_come_first_then_the_better_fit():
    order = [run(5.0, 1.0), run(7.0, 0.2), run(0.1, 1.1), run(0.0, 9.0)]
    assert [r.met for r in order] == [True, True, False, False]
    assert sorted((order[k] for k in (2, 0, 3, 1)), key=lambda r: r.rank) == order


def test_the_violation_of_a_problem_is_its_worst(model):
    bounded = problem(model, Constraints(bounds=ParameterBounds.of({"m1": (-INF, 7.0), "m2": (3.5, INF)})))
    p = p_from_theta(model.nominal(), 2)
    assert bounded.violation(p) == pytest.approx(1.0 / 1e-7)
    assert problem(model, Constraints(nonnegative_joint_terms=False)).violation(p) <= 1.0
    assert bounded.size == pytest.approx(float(bounded.b @ bounded.b))
    assert RetrievalProblem(bounded.A, np.zeros(len(bounded.b)), bounded.constraints).size == 1.0


def test_only_those_that_clash_are_named(model):
    p = p_from_theta(model.nominal(), 2)
    constraints = Constraints(
        bounds=ParameterBounds.of({"m1": (1.0, 2.0), "m2": (3.0, 9.0), "c1x": (-0.1, 0.1)}), ties=(Tie("m1", "m2"),)
    )
    assert set(clash(problem(model, constraints), p, starts=2)) == {"m1 = m2", "m1 ≤ 2", "m2 ≥ 3"}
    loose = Constraints(bounds=ParameterBounds.of({"m1": (1.0, 4.0), "m2": (3.0, 9.0)}), ties=(Tie("m1", "m2"),))
    assert clash(problem(model, loose), p, starts=2) == ()
