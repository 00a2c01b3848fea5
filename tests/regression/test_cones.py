"""Cones and the coordinates of a reference robot: identities that hold for any numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dynid import InertialParameters, TorqueModel, base_parameters, load_robot
from dynid.arrays import Array
from dynid.chain.consistency import Box, Ellipsoid
from dynid.dynamics import friction_models
from dynid.dynamics.drives import RotorInertia
from dynid.errors import ContradictoryBounds, ParameterError
from dynid.regression.constraints.cones import PSEUDO_INERTIA, SPATIAL_INERTIA, ConeBlock, ConeKind, slack, smat, svec
from dynid.regression.constraints.constraints import Constraints, ParameterBounds
from dynid.regression.feasible.certificate import _projected, _smallest
from dynid.regression.feasible.coordinates import _DIAGONAL, _EMBED_X, _EMBED_Z, ScaledProgramme, scaled_programme
from dynid.regression.feasible.prior import Prior, Reference, nominal_reference, plain_reference
from dynid.regression.feasible.solver import ConeOutcome, SolverSettings, solve_cones
from tests.robots import random_link

KINDS: tuple[ConeKind, ...] = ("nonnegative", "second order", "psd", "zero")


def block(kind: ConeKind, b: Array) -> ConeBlock:
    return ConeBlock(kind, np.zeros((len(b), 1)), b, ())


def test_stacked_triangles_keep_inner_products(rng):
    A, B = (M + M.T for M in rng.normal(size=(2, 5, 5)))
    assert svec(A) @ svec(B) == pytest.approx(np.trace(A @ B))
    np.testing.assert_allclose(smat(svec(A)), A, atol=1e-15)
    np.testing.assert_array_equal(svec(np.stack([A, B])), [svec(A), svec(B)])


def test_operators_make_the_matrices_of_a_link(rng):
    link = random_link(rng)
    np.testing.assert_allclose(smat(PSEUDO_INERTIA @ link.pi), link.pseudo_inertia, atol=1e-14)
    np.testing.assert_allclose(smat(SPATIAL_INERTIA @ link.pi), link.spatial_inertia, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_the_slack_is_how_much_of_the_identity_can_be_taken(kind, rng):
    for _ in range(10):
        b = rng.normal(size=6)
        made = block(kind, b)
        left = slack(made, np.zeros(1))
        if kind == "zero":
            assert left == -np.max(np.abs(b))
            continue
        assert slack(block(kind, b - left * made.identity), np.zeros(1)) == pytest.approx(0.0, abs=1e-12)
        assert slack(block(kind, b + made.identity), np.zeros(1)) == pytest.approx(left + 1.0)
    assert slack(block(kind, np.zeros(0)), np.zeros(1)) == math.inf


@pytest.mark.parametrize("kind", KINDS[:3])
@pytest.mark.parametrize("lift", [-4.0, 0.0, 4.0])
def test_a_projection_leaves_only_what_points_away_from_the_cone(kind, lift, rng):
    """Moreau: Y is the sum of its projections onto the cone and onto its polar, at a right angle."""
    for _ in range(5):
        Y = rng.normal(size=6) + lift * block(kind, np.zeros(6)).identity
        inside = _projected(block(kind, Y), Y)
        assert _smallest(block(kind, Y), inside) >= -1e-12
        assert _smallest(block(kind, Y), inside - Y) >= -1e-12
        assert inside @ (Y - inside) == pytest.approx(0.0, abs=1e-12)
    assert np.all(_projected(block(kind, Y), -block(kind, Y).identity) == 0.0)


def test_a_multiplier_of_an_equation_is_free(rng):
    Y = rng.normal(size=3)
    np.testing.assert_array_equal(_projected(block("zero", Y), Y), Y)
    assert _smallest(block("zero", Y), Y) == 0.0


def test_the_solver_finds_the_nearest_point_of_each_cone(rng):
    for kind in KINDS[:3]:
        Y = rng.normal(size=6)
        found = solve_cones(-Y, [ConeBlock(kind, np.eye(6), np.zeros(6), ())], SolverSettings(), quadratic=np.ones(6))
        assert found.outcome is ConeOutcome.SOLVED
        np.testing.assert_allclose(found.x, _projected(block(kind, Y), Y), atol=1e-6)
        assert found.gap < 1e-6
        np.testing.assert_allclose(found.multipliers[0], found.x - Y, atol=1e-6)
    free = solve_cones(-Y, [], SolverSettings(), quadratic=np.ones(6))
    np.testing.assert_allclose(free.x, Y, atol=1e-9)
    assert free.multipliers == ()


def test_a_programme_without_a_point_and_one_without_patience_are_told_apart():
    blocks = [ConeBlock("nonnegative", np.array([[1.0], [-1.0]]), np.array([-2.0, 1.0]), ("x ≥ 2", "x ≤ 1"))]
    assert solve_cones(np.ones(1), blocks, SolverSettings()).outcome is ConeOutcome.INFEASIBLE
    bounded = [ConeBlock("nonnegative", np.array([[1.0], [-1.0]]), np.array([2.0, 1.0]), ("", ""))]
    assert solve_cones(np.ones(1), bounded, SolverSettings(max_iterations=1)).outcome is ConeOutcome.STOPPED


def test_the_entropic_matrix_is_the_one_of_the_formula(rng):
    X, Z = rng.normal(size=(4, 4)), np.tril(rng.normal(size=(4, 4)))
    X = X + X.T
    z = Z[np.tril_indices(4)]
    big = np.block([[X, Z], [Z.T, np.diag(np.diag(Z))]])
    np.testing.assert_allclose(smat(_EMBED_X @ svec(X) + _EMBED_Z @ z), big, atol=1e-14)
    np.testing.assert_array_equal(z[list(_DIAGONAL)], np.diag(Z))


@pytest.fixture
def model() -> TorqueModel:
    return TorqueModel(load_robot("spatial2r"), (RotorInertia(), *friction_models("viscous")))


def test_coordinates_go_there_and_back_and_pseudo_inertias_become_congruent(model, rng):
    reference = nominal_reference(model, Constraints(), Prior(rule="nominal"), np.ones(model.n_params))
    np.testing.assert_allclose(reference.S @ reference.S_inverse, np.eye(model.n_params), atol=1e-9)
    nominal = model.robot.nominal
    for k in range(2):
        J = InertialParameters(nominal[k]).pseudo_inertia
        com = J[:3, 3] / J[3, 3]
        round_part = np.trace(J[:3, :3] - J[3, 3] * np.outer(com, com))
        L = reference.factors[k]
        np.testing.assert_allclose(L @ L.T, J + np.diag([round_part] * 3 + [0.0]), atol=1e-12)
        X = smat(reference.x_target[10 * k : 10 * k + 10])
        np.testing.assert_allclose(L @ X @ L.T, J, atol=1e-12)
        np.testing.assert_allclose(reference.congruence(k) @ svec(J), svec(X), atol=1e-12)
    # A rotor is measured by what its link resists, other joint terms by themselves; none is asked to be anything.
    scales = np.diag(reference.S)[20:]
    np.testing.assert_allclose(scales[[1, 3]], 1.0)
    np.testing.assert_allclose(scales[[0, 2]], nominal[:, 4] + nominal[:, 6] + nominal[:, 9])
    assert not np.any(reference.x_target[20:])


def test_without_the_triangle_a_mass_and_a_length_scale_each_link(model):
    weak = Constraints(triangle=False)
    reference = nominal_reference(model, weak, Prior(rule="nominal"), np.ones(model.n_params))
    for k, nominal in enumerate(model.robot.nominal):
        factor = reference.factors[k]
        np.testing.assert_allclose(factor, np.diag(np.diag(factor)))
        assert factor[3, 3] ** 2 == pytest.approx(nominal[0])
        assert factor[0, 0] == factor[1, 1] == factor[2, 2]


def test_a_divergence_needs_a_consistent_nominal_model(model):
    flat = {"link2": InertialParameters.from_com(1.0, np.zeros(3), np.diag([0.1, 0.1, 0.5]))}
    broken = TorqueModel(model.robot.with_nominal(flat), model.joint_models)
    with pytest.raises(ParameterError, match="nominal inertia of link2 is not physically consistent"):
        nominal_reference(broken, Constraints(), Prior(rule="entropic"), np.ones(model.n_params))
    # Otherwise the impossible link, and it alone, is measured in the coordinates of a plain body.
    rough = np.ones(model.n_params)
    mixed = nominal_reference(broken, Constraints(), Prior(rule="nominal"), rough)
    plain = plain_reference(broken, Constraints(), rough)
    own = nominal_reference(model, Constraints(), Prior(rule="nominal"), rough)
    np.testing.assert_allclose(mixed.factors[1], plain.factors[1])
    np.testing.assert_allclose(mixed.factors[0], own.factors[0])
    all_plain = nominal_reference(model, Constraints(), Prior(rule="nominal"), rough, own_coordinates=False)
    np.testing.assert_allclose(all_plain.factors, plain.factors)
    assert "plain links" in all_plain.text
    assert "each nominal link" in own.text
    empty = TorqueModel(model.robot.with_nominal(dict.fromkeys(model.robot.link_names)), model.joint_models)
    with pytest.raises(ParameterError, match="rule 'nominal' needs nominal inertias for every link"):
        nominal_reference(empty, Constraints(), Prior(rule="nominal"), rough)


def bodies(reference: Reference) -> list[InertialParameters]:
    return [InertialParameters(pi) for pi in (reference.S @ reference.x_target)[:20].reshape(2, 10)]


def rough(model: TorqueModel, **links: float) -> Array:
    """Rough θ with these entries of the second link."""
    theta = np.zeros(model.n_params)
    for name, value in links.items():
        theta[10 + {"m": 0, "mc": 1, "J": 4}[name]] = value
    return theta


def test_plain_bodies_are_balls_between_the_joints(model):
    """The spatial arm: both joint axes meet at the elbow, then 0.8 m to the frame at the far end."""
    first, second = bodies(plain_reference(model, Constraints(), rough(model, m=-4.0, mc=9.0, J=9.0)))
    assert first.mass == pytest.approx(2.0)
    assert second.mass == pytest.approx(2.0)
    np.testing.assert_allclose(first.com, [0.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(second.com, [-0.4, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(first.inertia_com, 0.4 * 2.0 * 0.05**2 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(second.inertia_com, 0.4 * 2.0 * 0.4**2 * np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("seen", "total"),
    [
        ({"m": 3.0, "mc": 9.0}, 3.0),
        ({"mc": -2.0, "J": 9.0}, 2.0 * 2.0 / 0.8),
        ({"J": 1.28}, 3.0 * 1.28 / 0.8**2),
        ({"m": 0.009, "J": 1.28}, 6.0),
        ({}, 0.01),
    ],
)
def test_the_mass_of_plain_bodies_is_guessed_from_what_is_seen(model, seen, total):
    masses = [body.mass for body in bodies(plain_reference(model, Constraints(), rough(model, **seen)))]
    assert sum(masses) == pytest.approx(total)
    assert masses[0] == pytest.approx(masses[1])


def test_plain_bodies_lie_in_the_middle_of_what_is_allowed(model):
    bounds = ParameterBounds.of({"m1": (2.0, 6.0), "c2x": (-0.3, 0.1), "c2y": (0.0, math.inf), "m2": (-6.0, 2.0)})
    regions: dict[str, Box | Ellipsoid] = {"link1": Box(np.zeros(3), np.array([0.2, 0.4, 0.6]))}
    first, second = bodies(plain_reference(model, Constraints(bounds=bounds, com_regions=regions), rough(model, m=4.0)))
    assert [first.mass, second.mass] == pytest.approx([4.0, 2.0])
    np.testing.assert_allclose(first.com, [0.1, 0.2, 0.3], atol=1e-12)
    np.testing.assert_allclose(second.com, [-0.1, 0.0, 0.0], atol=1e-12)
    regions = {"link1": Ellipsoid(np.array([0.1, 0.0, 0.0]), np.ones(3))}
    total = Constraints(bounds=bounds, com_regions=regions, total_mass=(8.0, 10.0))
    first, second = bodies(plain_reference(model, total, rough(model, m=4.0)))
    assert [first.mass, second.mass] == pytest.approx([6.0, 3.0])
    np.testing.assert_allclose(first.com, [0.1, 0.0, 0.0], atol=1e-12)
    half = Constraints(total_mass=(8.0, math.inf))
    assert bodies(plain_reference(model, half, rough(model, m=4.0)))[0].mass == pytest.approx(2.0)


def programme(model: TorqueModel, rng, constraints: Constraints = Constraints(), *, noise: float = 0.0):  # noqa: B008
    base = base_parameters(model)
    R = np.triu(rng.normal(size=(base.n_base, base.n_base))) + 3.0 * np.eye(base.n_base)
    rho = R @ base.project(model.nominal() + 0.0) + noise * rng.normal(size=base.n_base)
    reference = nominal_reference(model, constraints, Prior(rule="nominal"), np.ones(model.n_params))
    return scaled_programme(R @ base.K, rho, constraints.compile(model), reference, SolverSettings()), rho


@pytest.fixture
def made(model, rng) -> ScaledProgramme:
    return programme(model, rng, noise=1.0)[0]


def test_the_unconstrained_fit_is_the_nearest_to_the_target_of_those_without_error(made, rng):
    x = made.unconstrained()
    assert made.error(x) < 1e-12
    directions, values = made.seen
    np.testing.assert_allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-12)
    np.testing.assert_allclose(directions @ x, values, atol=1e-10)
    away = x - made.reference.x_target
    # At a right angle to every direction that the data do not see.
    np.testing.assert_allclose(away - directions.T @ (directions @ away), 0.0, atol=1e-10)
    assert made.distance_of_data == pytest.approx(float(np.linalg.norm(away)))


def test_errors_are_relative_to_the_torque(model, rng):
    made, rho = programme(model, rng)
    assert made.error(np.zeros(made.n_params)) == pytest.approx(1.0)
    assert np.linalg.norm(made.y) == pytest.approx(1.0)
    np.testing.assert_allclose(made.y * np.linalg.norm(rho), rho)
    assert made.error(made.reference.x_target) < 1e-9


def test_the_nearest_of_equal_fits_is_no_further_than_any_other(made, rng):
    best = made.fit()
    error = made.error(best.x[: made.n_params])
    chosen = made.choose(1.05 * error)
    x = chosen.x[: made.n_params]
    assert chosen.outcome is ConeOutcome.SOLVED
    assert made.error(x) <= 1.05 * error * (1 + 1e-6)
    assert np.linalg.norm(x - made.reference.x_target) <= np.linalg.norm(
        best.x[: made.n_params] - made.reference.x_target
    )
    loose = made.choose(2.0)
    np.testing.assert_allclose(loose.x[: made.n_params], made.reference.x_target, atol=1e-3)


def test_a_weight_trades_fit_for_nearness_as_ridge_regression(model, rng):
    """Where no condition binds the answer is that of a linear equation."""
    made, _ = programme(model, rng, Constraints(nonnegative_joint_terms=False))
    for weight in (1e-2, 1.0, 1e3):
        y = made.y + 1e-3 * rng.normal(size=len(made.y))
        moved = scaled_programme(
            made.F @ made.reference.S_inverse,
            y,
            Constraints(nonnegative_joint_terms=False).compile(model),
            made.reference,
            SolverSettings(),
        )
        n, target = moved.n_params, moved.reference.x_target
        F = moved.F
        ridge = np.linalg.solve(F.T @ F + weight * np.eye(n), F.T @ moved.y + weight * target)
        found = moved.regularised(weight).x[:n]
        if all(slack(block, ridge) > 1e-6 for block in moved.blocks):
            np.testing.assert_allclose(found, ridge, atol=1e-5)
        assert moved.error(found) ** 2 + weight * np.sum((found - target) ** 2) >= (
            moved.error(ridge) ** 2 + weight * np.sum((ridge - target) ** 2) - 1e-9
        )


def test_what_holds_is_what_was_asked(model, rng):
    asked = Constraints(bounds=ParameterBounds.of({"m1": (7.0, 9.0)}), nonnegative_joint_terms=False)
    made, _ = programme(model, rng, asked)
    theta = model.nominal()
    assert made.holds(theta)
    for mass, answer in ((9.0, True), (9.0 + 8e-9, True), (9.0 + 2e-8, False), (6.9, False), (np.nan, False)):
        moved = theta.copy()
        moved[0] = mass
        assert made.holds(moved) is answer, mass
    broken = theta.copy()
    broken[10:20] = InertialParameters.from_com(3.0, np.zeros(3), np.diag([0.1, 0.1, 0.3])).pi
    assert not made.holds(broken)


def test_an_answer_outside_is_moved_inside(model, rng):
    made, _ = programme(model, rng, Constraints(nonnegative_joint_terms=False))
    target = made.reference.x_target
    np.testing.assert_array_equal(made.interior(), target)
    assert made._roomiest()[1] == pytest.approx(1.0)  # what nothing bounds from above leaves room without end
    np.testing.assert_allclose(made.inside(target), model.nominal(), atol=1e-12)
    # The edge of what is possible: the smallest eigenvalue of the first link's matrix is just negative.
    X = smat(target[:10])
    values, vectors = np.linalg.eigh(X)
    edge = target.copy()
    edge[:10] = svec(X - (values[0] + 1e-8) * np.outer(vectors[:, 0], vectors[:, 0]))
    assert not made.holds(made.theta(edge))
    moved = made.inside(edge)
    assert made.holds(moved)
    np.testing.assert_allclose(moved, made.theta(edge), atol=1e-4)
    assert made.inside(edge, shares=(0.0, 1e-12)) is None


def test_known_values_are_kept_to_rounding(model, rng):
    made, _ = programme(model, rng, Constraints(pinned={"m1": 7.5}))
    theta = made.theta(made.reference.x_target)
    assert theta[0] == pytest.approx(7.5, abs=1e-12)
    assert slack(made.pins, made.reference.x_target) < -1e-3


def test_conditions_that_exclude_each_other_are_named_and_no_others(model, rng):
    bounds = ParameterBounds.of({"m1": (7.0, 9.0), "m2": (2.0, 4.0), "c1x": (-0.1, 0.1)})
    made, _ = programme(model, rng, Constraints(bounds=bounds, total_mass=(20.0, 30.0)))
    for act in (made.check, made.fit, made.interior, lambda: made.regularised(1.0)):
        with pytest.raises(ContradictoryBounds) as raised:
            act()
        assert {"m1 ≤ 9", "m2 ≤ 4", "total mass ≥ 20 kg"} == set(raised.value.clashing)
