"""The spectrum of the report is Welch's."""

import numpy as np
import pytest
from scipy import signal

from dynid.writers.report import charts


@pytest.mark.parametrize("n_samples", [999, 1000, 2500])
def test_the_spectrum_is_that_of_scipy(n_samples, rng, monkeypatch):
    monkeypatch.setattr(charts, "_WINDOW", 1000)
    values = rng.normal(size=(n_samples, 3)).cumsum(axis=0)
    frequency, power = charts._spectrum(values, 250.0)
    expected, density = signal.welch(values, fs=250.0, nperseg=min(n_samples, 1000), axis=0)
    np.testing.assert_allclose(frequency, expected)
    np.testing.assert_allclose(power, density, rtol=1e-9, atol=1e-12 * density.max())
