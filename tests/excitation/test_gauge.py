"""Gauge coordinates: every point keeps the joint limits, and gradients are exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.chain import load_robot
from dynid.dynamics import RotorInertia, TorqueModel, base_parameters, friction_models
from dynid.excitation import ConditionNumber, DOptimality, EffortLimit, FourierBasis, MotionLimits, SplineBasis
from dynid.excitation.gauge import Gauge
from dynid.excitation.objective import Objective, largest_scale


def some_limits(rng, n_dof):
    middle, half = rng.normal(size=n_dof), 10.0 ** rng.uniform(-2, 1, n_dof)
    return MotionLimits(
        tuple(f"j{k}" for k in range(n_dof)),
        middle - half,
        middle + half,
        velocity=10.0 ** rng.uniform(-1, 1, n_dof),
        acceleration=10.0 ** rng.uniform(-1, 2, n_dof),
        jerk=np.where(rng.random(n_dof) < 0.5, np.inf, 10.0 ** rng.uniform(0, 3, n_dof)),
        effort=np.full(n_dof, np.inf),
    )


@given(seed=st.integers(0, 10**6), spline=st.booleans(), scale=st.floats(-6.0, 6.0))
def test_every_point_keeps_every_joint_limit_at_every_instant(seed, spline, scale):
    rng = np.random.default_rng(seed)
    limits = some_limits(rng, 4)
    basis = SplineBasis(9, 3.0) if spline else FourierBasis(int(rng.integers(1, 7)), 10.0 ** rng.uniform(-2, 1))
    gauge = Gauge(basis, limits)
    placed = gauge.place(10.0**scale * rng.normal(size=gauge.shape))
    states = basis.curve(placed.coefficients, placed.centre).at(np.linspace(0.0, basis.length, 5001))
    assert np.all(states.q >= limits.lower)
    assert np.all(states.q <= limits.upper)
    for values, cap in zip(states[1:], (limits.velocity, limits.acceleration, limits.jerk), strict=True):
        assert np.all(np.abs(values) <= cap)


def test_a_dense_gauge_touches_the_tightest_limit(rng):
    limits = some_limits(rng, 6)
    gauge = Gauge(FourierBasis(5, 0.1), limits, density=200)
    x = rng.normal(size=gauge.shape)
    x[-2] = 0.0
    placed = gauge.place(x)
    states = gauge.basis.curve(placed.coefficients, placed.centre).at(np.linspace(0.0, 10.0, 20_001))
    used = [np.ptp(states.q, axis=0) / (limits.upper - limits.lower)]
    for values, cap in zip(states[1:], (limits.velocity, limits.acceleration, limits.jerk), strict=True):
        used.append(np.abs(values).max(axis=0) / cap)
    np.testing.assert_allclose(np.max(used, axis=0), 1.0, atol=1e-4)


def make_objective(criterion, *, effort=np.inf, basis=None):
    robot = load_robot("planar2r")
    model = TorqueModel(robot, (RotorInertia(), *friction_models("viscous+coulomb+offset")))
    limits = MotionLimits.of(robot)
    paths = (EffortLimit(robot, np.full(2, effort)),) if np.isfinite(effort) else ()
    anchor = np.array([-np.pi / 2, 0.0])
    base = base_parameters(model)
    return Objective(model, base, Gauge(basis or FourierBasis(3, 0.2), limits), criterion, paths, anchor, 60)


CRITERIA = [
    ConditionNumber(),
    ConditionNumber(scaled=True),
    DOptimality(noise_std=(0.1, 0.5)),
    DOptimality(noise_std=(0.2,), prior=np.diag(np.arange(1.0, 14.0))),
]


@pytest.mark.parametrize("criterion", CRITERIA, ids=["plain", "scaled", "d-optimal", "sequential"])
@pytest.mark.parametrize("effort", [np.inf, 3.0], ids=["free", "effort bound"])
def test_the_gradient_equals_central_differences(criterion, effort, rng):
    objective = make_objective(criterion, effort=effort)
    smoothing = objective.smoothing(8.0, 0.1)
    for _ in range(3):
        x = objective.gauge.random(rng)
        value, gradient, _ = objective.smooth(x, smoothing)
        direction = rng.normal(size=x.shape)
        step = 1e-5
        up, down = (objective.smooth(x + sign * step * direction, smoothing)[0] for sign in (1, -1))
        assert np.isfinite(value)
        # A limit may change hands within the step; the slope is then between the two.
        assert np.sum(gradient * direction) == pytest.approx((up - down) / (2 * step), rel=2e-3, abs=1e-5)


def test_the_gradient_holds_for_splines_too(rng):
    objective = make_objective(ConditionNumber(), basis=SplineBasis(8, 5.0))
    smoothing = objective.smoothing(8.0, 0.1)
    x, direction = objective.gauge.random(rng), rng.normal(size=objective.gauge.shape)
    up, down = (objective.smooth(x + sign * 1e-6 * direction, smoothing)[0] for sign in (1, -1))
    assert np.sum(objective.smooth(x, smoothing)[1] * direction) == pytest.approx((up - down) / 2e-6, rel=1e-4)


def test_motions_shrink_until_efforts_are_kept(rng):
    objective = make_objective(ConditionNumber(), effort=2.0)
    for _ in range(5):
        coefficients, centre = objective.coefficients(objective.gauge.random(rng))
        basis = objective.gauge.basis
        states = basis.curve(coefficients, centre).at(np.arange(60) * basis.length / 60)
        assert objective.path_limits[0].excess(states).max() <= 0.0
        assert np.ptp(states.q) > 1e-3


def test_the_sharper_the_closer_to_the_condition_number(rng):
    A = rng.normal(size=(40, 6))
    G = A.T @ A
    criterion = ConditionNumber()
    exact = np.log(criterion.exact(G))
    gaps = [criterion.smooth(G, p)[0] - exact for p in (2.0, 8.0, 64.0)]
    assert gaps[0] > gaps[1] > gaps[2] > 0.0
    assert gaps[2] < 2 * np.log(6) / 64
    assert criterion.exact(G) == pytest.approx(np.linalg.cond(A))


def test_the_largest_scale_is_one_where_nothing_is_broken():
    assert largest_scale(lambda scale: scale - 2.0) == 1.0
    assert largest_scale(lambda scale: scale**2 - 0.09) == pytest.approx(0.3)
    assert largest_scale(lambda scale: scale**2 - 0.09) <= 0.3
