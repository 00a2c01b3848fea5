import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from dynid import InertialParameters
from dynid.chain import Box, Ellipsoid, consistency, nearest_consistent
from dynid.errors import ParameterError
from tests.robots import BATTERY, random_link


@pytest.mark.parametrize("robot", BATTERY, ids=lambda robot: robot.name)
def test_bodies_made_of_matter_are_consistent(robot):
    for joint in robot.joints:
        verdict = consistency(joint.link.nominal)
        assert verdict.holds
        assert verdict.margin > 0.0


def test_published_panda_parameters_pass_both_tests():
    panda = next(robot for robot in BATTERY if robot.name == "panda")
    for joint in panda.joints:
        assert consistency(joint.link.nominal, triangle=False).holds
        assert consistency(joint.link.nominal)["triangle"].holds


@pytest.mark.parametrize(
    ("link", "failing"),
    [
        (InertialParameters.from_com(-1.0, [0, 0, 0], np.eye(3)), ("mass", "inertia", "triangle")),
        (InertialParameters.from_com(1.0, [0, 0, 0], np.diag([-0.1, 1.0, 1.0])), ("inertia", "triangle")),
        (InertialParameters.from_com(1.0, [0, 0, 0], np.diag([0.1, 0.1, 0.3])), ("triangle",)),
        (InertialParameters.from_com(1.0, [0, 0, 0], np.diag([0.1, 0.15, 0.2])), ()),
        (InertialParameters.zero(), ("mass", "inertia", "triangle")),
    ],
)
def test_the_condition_that_fails_is_named(link, failing):
    assert consistency(link).failing == failing


def test_six_by_six_condition_is_weaker_than_the_triangle_inequality():
    link = InertialParameters.from_com(1.0, [0.1, 0, 0], np.diag([0.1, 0.1, 0.3]))
    assert consistency(link, triangle=False).holds
    assert consistency(link)["triangle"].margin == pytest.approx(-0.05, abs=2e-3)  # (0.1 + 0.1 − 0.3)/2, moved by c


def test_margin_asked_for_is_the_smallest_eigenvalue_allowed(rng):
    link = random_link(rng)
    margin = consistency(link)["triangle"].margin
    assert consistency(link, at_least=0.99 * margin)["triangle"].holds
    assert not consistency(link, at_least=1.01 * margin)["triangle"].holds


def test_centre_of_mass_regions_measure_in_metres():
    link = InertialParameters.from_com(2.0, [0.1, 0.0, 0.0], np.diag([0.1, 0.1, 0.1]))
    inside = consistency(link, com_region=Box(np.full(3, -0.3), np.full(3, 0.15)))
    assert inside.holds
    assert inside["com"].margin == pytest.approx(0.05)
    outside = consistency(link, com_region=Ellipsoid(np.zeros(3), np.array([0.05, 0.2, 0.2])))
    assert outside.failing == ("com",)
    assert outside["com"].margin == pytest.approx(-0.05)


def test_regions_that_hold_nothing_are_refused():
    with pytest.raises(ParameterError, match="upside down"):
        Box(np.ones(3), np.zeros(3))
    with pytest.raises(ParameterError, match="positive"):
        Ellipsoid(np.zeros(3), np.zeros(3))


moments = st.tuples(*[st.floats(-0.5, 2.0) for _ in range(3)])


@given(moments=moments, seed=st.integers(0, 1000))
def test_repair_is_consistent_and_leaves_possible_links_alone(moments, seed):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    link = InertialParameters.from_com(1.5, rng.normal(size=3) * 0.1, Q @ np.diag(moments) @ Q.T)
    repaired = nearest_consistent(link)
    assert consistency(repaired).holds
    assert repaired.mass == link.mass
    np.testing.assert_allclose(repaired.com, link.com, atol=1e-12)
    if consistency(link).holds:
        assert repaired is link


def test_repair_is_the_smallest_change(rng):
    link = InertialParameters.from_com(1.0, [0, 0, 0], np.diag([0.1, 0.2, 0.5]))
    repaired = nearest_consistent(link, relative_floor=1e-9)

    # Any tensor is Q diag(d2 + d3, d1 + d3, d1 + d2) Qᵀ; the search over tensors finds nothing nearer.
    def distance(x):
        L = np.array([[x[0], 0, 0], [x[1], x[2], 0], [x[3], x[4], x[5]]])
        second = L @ L.T
        return np.sum((np.trace(second) * np.eye(3) - second - link.inertia_com) ** 2)

    best = min(minimize(distance, rng.normal(size=6) * 0.3, tol=1e-14).fun for _ in range(10))
    mine = np.sum((repaired.inertia_com - link.inertia_com) ** 2)
    assert mine == pytest.approx(best, rel=1e-4)


def test_repair_of_an_impossible_mass_raises_it():
    repaired = nearest_consistent(InertialParameters.from_com(-2.0, [0, 0, 0.1], np.diag([0.1, 0.1, 0.1])))
    assert repaired.mass > 0.0
    assert consistency(repaired).holds
