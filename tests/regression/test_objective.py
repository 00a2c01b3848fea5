"""What a retrieval minimises: whitened coefficients or the torque of a log."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dynid import TorqueModel, base_parameters, load_robot
from dynid.errors import ParameterError, UnknownName
from dynid.regression.retrieval.objective import RetrievalObjective, _whitening


@pytest.fixture
def base():
    return base_parameters(TorqueModel(load_robot("planar2r")))


def test_whitening_makes_the_covariance_the_identity(rng):
    A = rng.normal(size=(6, 6)) * [1e-3, 1.0, 1.0, 1e3, 1.0, 1.0]
    covariance = A.T @ A
    W = _whitening(covariance)
    np.testing.assert_allclose(W @ covariance @ W.T, np.eye(6), atol=1e-6)


def test_what_is_unknown_or_exact_has_no_weight(rng):
    covariance = np.diag([4.0, np.inf, 0.0, 9.0])
    np.testing.assert_allclose(_whitening(covariance), np.diag([0.5, 0.0, 0.0, 1.0 / 3.0]), atol=1e-12)


@pytest.mark.parametrize(("rho", "refused"), [(1.0 + 0.5e-6, False), (1.0 + 5e-6, True), (-1.5, True)])
def test_a_covariance_may_miss_being_one_by_rounding_only(rho, refused):
    covariance = np.array([[1.0, rho], [rho, 1.0]])
    if refused:
        with pytest.raises(ParameterError, match="the covariance is not positive semidefinite"):
            _whitening(covariance)
    else:
        assert np.max(np.abs(_whitening(covariance))) == pytest.approx(0.5 / np.sqrt(2e-10), rel=1e-3)


def test_a_covariance_without_any_variance_is_refused():
    for nothing in (np.inf, 0.0, -1.0):
        with pytest.raises(ParameterError, match="no finite positive variance; use the plain objective"):
            _whitening(np.diag([nothing, nothing]))


def test_coefficients_are_taken_in_order_or_by_name(base, rng):
    beta = rng.normal(size=base.n_base)
    plain = RetrievalObjective.coefficients(base, beta)
    named = RetrievalObjective.coefficients(base, dict(zip(base.leading[::-1], beta[::-1].tolist(), strict=True)))
    np.testing.assert_array_equal(plain.y, beta)
    np.testing.assert_array_equal(named.y, beta)
    np.testing.assert_array_equal(plain.W, np.eye(base.n_base))
    assert not plain.weighted
    variance = rng.uniform(1.0, 2.0, base.n_base)
    weighted = RetrievalObjective.coefficients(base, beta, np.diag(variance))
    np.testing.assert_allclose(weighted.y, beta / np.sqrt(variance))
    assert weighted.weighted
    assert weighted.rest == plain.rest == 0.0


def test_coefficients_of_another_robot_are_refused(base):
    n = base.n_base
    with pytest.raises(ParameterError, match=f"{n + 1} base parameters for a robot with {n}"):
        RetrievalObjective.coefficients(base, np.zeros(n + 1))
    with pytest.raises(ParameterError, match=f"the covariance must be {n}×{n}"):
        RetrievalObjective.coefficients(base, np.zeros(n), np.eye(n - 1))
    with pytest.raises(ParameterError, match="missing " + ", ".join(base.leading[1:])):
        RetrievalObjective.coefficients(base, {base.leading[0]: 1.0})
    with pytest.raises(UnknownName, match="no base parameter 'm9'"):
        RetrievalObjective.coefficients(base, {"m9": 1.0})
    for size in (n - 1, n + 1):
        with pytest.raises(ParameterError, match="it belongs to another robot or to other friction"):
            RetrievalObjective.one_step(base, np.eye(size), np.zeros(size))
    with pytest.raises(ParameterError, match="must be finite"):
        RetrievalObjective.one_step(base, np.full((n, n), np.nan), np.zeros(n))


def test_the_relative_error_counts_what_no_coefficients_explain(base):
    n = base.n_base
    rho = np.zeros(n)
    rho[0] = 4.0
    assert RetrievalObjective.one_step(base, np.eye(n), rho, 9.0).relative_percent(7.0) == pytest.approx(80.0)
    assert math.isnan(RetrievalObjective.one_step(base, np.eye(n), np.zeros(n)).relative_percent(1.0))
