"""Curves: exact derivatives, and bounds that hold between samples."""

import numpy as np
import pytest

from dynid.errors import ExcitationError
from dynid.excitation import Basis, Curve, FourierBasis, FourierSeries, Sinusoids, SplineBasis, SplineCurve
from tests.unchecked import unchecked

BASES = [FourierBasis(1, 0.3), FourierBasis(5, 0.075), FourierBasis(12, 1.7), SplineBasis(3, 2.0), SplineBasis(17, 9.0)]


def some_curve(basis, rng, n_dof=3):
    return basis.curve(rng.normal(size=(basis.n_free, n_dof)), rng.normal(size=n_dof))


@pytest.mark.parametrize("basis", BASES, ids=str)
def test_derivatives_are_exact(basis, rng):
    curve = some_curve(basis, rng)
    assert isinstance(basis, Basis)
    assert isinstance(curve, Curve)
    step = 1e-5 / basis.bandwidth_hz
    # Quintic pieces meet with a kink in the fourth derivative: stay away from knots.
    t = basis.length * (0.01 + 0.98 * rng.random(50))
    up, down, here = curve.at(t + step), curve.at(t - step), curve.at(t)
    for order in range(3):
        slope = (up[order] - down[order]) / (2 * step)
        np.testing.assert_allclose(slope, here[order + 1], rtol=1e-4, atol=1e-5 * np.abs(here[order + 1]).max())


@pytest.mark.parametrize("basis", BASES, ids=str)
@pytest.mark.parametrize("density", [4, 16, 100])
def test_bounds_hold_at_every_instant(basis, density, rng):
    rows, stretch = basis.bounds(density)
    fine = basis.matrices(np.linspace(0.0, basis.length, 20_001))
    for _ in range(20):
        coefficients = rng.normal(size=(basis.n_free, 1))
        for row, matrix in zip(rows, fine, strict=True):
            bound, curve = row @ coefficients, matrix @ coefficients
            middle, half = 0.5 * (bound.max() + bound.min()), 0.5 * np.ptp(bound)
            assert np.max(np.abs(curve - middle)) <= stretch * half * (1 + 1e-9)
            assert np.max(np.abs(curve)) <= stretch * np.max(np.abs(bound)) * (1 + 1e-9)


def test_dense_bounds_of_a_series_are_tight(rng):
    basis = FourierBasis(5, 0.1)
    rows, stretch = basis.bounds(200)
    assert stretch < 1.0 + 5e-5
    assert len(rows[0]) == 2000


def test_a_series_repeats_and_a_spline_starts_and_ends_at_rest(rng):
    series = some_curve(FourierBasis(4, 0.2), rng)
    t = np.linspace(0.0, 5.0, 30)
    for before, after in zip(series.at(t), series.at(t + series.length), strict=True):
        np.testing.assert_allclose(before, after, atol=1e-9 * np.abs(before).max())
    spline = some_curve(SplineBasis(9, 4.0), rng)
    ends = spline.at(np.array([0.0, 4.0]))
    np.testing.assert_allclose(ends.dq, 0.0, atol=1e-10)
    np.testing.assert_allclose(ends.ddq, 0.0, atol=1e-9)


def test_the_series_is_the_one_of_the_papers():
    series = FourierSeries(0.05, np.array([[0.3], [0.1]]), np.array([[-0.2], [0.4]]), np.array([0.7]))
    w, t = 0.1 * np.pi, 3.3
    expected = 0.7 + 0.3 / w * np.sin(w * t) + 0.2 / w * np.cos(w * t)
    expected += 0.1 / (2 * w) * np.sin(2 * w * t) - 0.4 / (2 * w) * np.cos(2 * w * t)
    assert series.at(np.array([t])).q[0, 0] == pytest.approx(expected)


def test_sinusoids_have_the_velocity_of_equation_31():
    curve = Sinusoids(np.array([2.21, -2.21]), np.array([3.68, 2.04]), np.array([0.1, 0.2]))
    t = np.linspace(0.0, 7.0, 40)
    expected = np.array([2.21, -2.21]) * np.sin(2 * np.pi * t[:, None] / np.array([3.68, 2.04]))
    np.testing.assert_allclose(curve.at(t).dq, expected, atol=1e-12)
    step = 1e-6
    for order in range(3):
        slope = (curve.at(t + step)[order] - curve.at(t - step)[order]) / (2 * step)
        np.testing.assert_allclose(slope, curve.at(t)[order + 1], atol=1e-6)


MISFIT = {"base_frequency_hz": 0.1, "a": np.ones((2, 3)), "b": np.ones((2, 2)), "centre": np.ones(3)}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FourierBasis(0, 0.1), "0 harmonics make no motion"),
        (lambda: FourierBasis(5, 0.0), "base frequency 0.0 Hz; it must be positive"),
        (lambda: FourierBasis(5, np.nan), "base frequency nan Hz"),
        (lambda: unchecked(FourierSeries, **MISFIT), "do not fit together"),
        (lambda: FourierSeries(0.1, np.full((2, 3), np.inf), np.ones((2, 3)), np.ones(3)), "not finite"),
        (lambda: SplineBasis(2, 1.0), "2 free control points make no motion"),
        (lambda: SplineBasis(8, -1.0), "length must be positive"),
        (lambda: SplineCurve(1.0, np.ones((4, 2))), "at least 7 finite control points"),
        (lambda: Sinusoids(np.ones(2), np.zeros(2), np.zeros(2)), "positive periods"),
    ],
)
def test_curves_that_cannot_be_are_refused(make, message):
    with pytest.raises(ExcitationError, match=message):
        make()
