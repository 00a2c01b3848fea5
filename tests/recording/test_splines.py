"""Cubics through samples, with SciPy's as the oracle, to the last bit: models of 0.1 were identified with those."""

import numpy as np
import pytest
from scipy.fft import next_fast_len
from scipy.interpolate import CubicHermiteSpline, CubicSpline

from dynid.recording.filters import _fast_length
from dynid.recording.splines import hermite, spline


@pytest.mark.parametrize("n_samples", [2, 3, 4, 5, 500])
def test_cubics_are_those_of_scipy(n_samples):
    rng = np.random.default_rng(n_samples)
    t = 3.0 + np.cumsum(rng.uniform(0.5, 1.5, n_samples)) * 1e-3
    q, dq = rng.standard_normal((2, n_samples, 3))
    grid = np.concatenate([np.linspace(t[0], t[-1], 3 * n_samples), t, [t[0] - 1e-4, t[-1] + 1e-4]])
    np.testing.assert_array_equal(hermite(t, q, dq, grid), CubicHermiteSpline(t, q, dq)(grid))
    np.testing.assert_array_equal(spline(t, q, grid), CubicSpline(t, q)(grid))


def test_lengths_of_fast_transforms_are_those_of_scipy():
    lengths = range(1, 5000)
    assert [_fast_length(n) for n in lengths] == [next_fast_len(n, real=True) for n in lengths]
