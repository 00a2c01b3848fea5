import numpy as np
import pytest

from dynid import InertialParameters
from dynid.errors import ParameterError
from tests.robots import random_link, random_placement


@pytest.mark.parametrize("order", ["dynid", "urdf", "mjcf", "khalil"])
def test_every_order_round_trips(order, rng):
    link = random_link(rng)
    np.testing.assert_allclose(InertialParameters.from_order(link.to_order(order), order).pi, link.pi, atol=1e-14)


def test_orders_put_the_numbers_where_their_tools_expect_them(rng):
    link = random_link(rng)
    I, about_com = link.inertia, link.inertia_com  # noqa: E741
    np.testing.assert_allclose(link.to_order("khalil")[:6], [I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]])
    np.testing.assert_allclose(link.to_order("khalil")[6:], [*link.first_moment, link.mass])
    np.testing.assert_allclose(link.to_order("urdf")[4:7], about_com[0])
    np.testing.assert_allclose(link.to_order("mjcf")[4:7], np.diag(about_com))


def test_ten_numbers_are_those_of_pinocchio(rng):
    pin = pytest.importorskip("pinocchio")
    link = random_link(rng)
    theirs = pin.Inertia(link.mass, link.com, link.inertia_com)
    np.testing.assert_allclose(theirs.toDynamicParameters(), link.pi, atol=1e-14)
    np.testing.assert_allclose(theirs.toPseudoInertia().toMatrix(), link.pseudo_inertia, atol=1e-14)


def test_pseudo_inertia_is_the_sum_over_point_masses(rng):
    points, masses = rng.normal(size=(5, 3)), rng.uniform(0.1, 1.0, 5)
    mass, com = masses.sum(), masses @ points / masses.sum()
    centred = points - com
    inertia = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, centred, strict=True))
    link = InertialParameters.from_com(mass, com, inertia)
    homogeneous = np.column_stack([points, np.ones(5)])
    np.testing.assert_allclose(link.pseudo_inertia, homogeneous.T @ np.diag(masses) @ homogeneous, atol=1e-13)


def test_log_cholesky_goes_both_ways(rng):
    link = random_link(rng)
    np.testing.assert_allclose(InertialParameters.from_log_cholesky(link.log_cholesky).pi, link.pi, atol=1e-13)
    numbers = rng.normal(size=10)
    np.testing.assert_allclose(InertialParameters.from_log_cholesky(numbers).log_cholesky, numbers, atol=1e-12)


def test_log_cholesky_of_an_impossible_link_is_refused():
    link = InertialParameters.from_com(1.0, [0, 0, 0], np.diag([1.0, 1.0, 3.0]))
    with pytest.raises(ParameterError, match="not positive definite"):
        _ = link.log_cholesky


def test_kinetic_energy_does_not_depend_on_the_frame(rng):
    link, T = random_link(rng), random_placement(rng)
    v, w = rng.normal(size=3), rng.normal(size=3)
    R, p = T[:3, :3], T[:3, 3]
    w_there = R @ w
    v_there = R @ v - np.cross(w_there, p)
    here = np.concatenate([w, v]) @ link.spatial_inertia @ np.concatenate([w, v])
    moved = link.moved(T)
    there = np.concatenate([w_there, v_there]) @ moved.spatial_inertia @ np.concatenate([w_there, v_there])
    assert there == pytest.approx(here, rel=1e-12)


def test_welded_bodies_add_up(rng):
    a, b = random_link(rng), random_link(rng)
    both = a + b
    assert both.mass == pytest.approx(a.mass + b.mass)
    np.testing.assert_allclose(both.com, (a.mass * a.com + b.mass * b.com) / both.mass)


def test_parameters_are_frozen(rng):
    with pytest.raises(ValueError, match="read-only"):
        random_link(rng).pi[0] = 3.0


@pytest.mark.parametrize(
    ("numbers", "message"),
    [(np.full(10, np.nan), "must be finite, but m, mx"), (np.array([1.0, *np.zeros(8), np.inf]), "Izz is not")],
)
def test_numbers_that_are_not_finite_are_named(numbers, message):
    with pytest.raises(ParameterError, match=message):
        InertialParameters(numbers)
