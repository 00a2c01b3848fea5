"""Uncertainty, trust and fit of an estimate against the formulas on the whole stack of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dynid import load_robot
from dynid.arrays import Array
from dynid.recording import Conditioning
from dynid.regression import OLS, WLS, Estimate, Feasible, FitError, Regression, SampleRows, Status, compress
from dynid.regression.estimate import full_estimate
from dynid.regression.uncertainty import uncertainty, unseen_columns
from tests.regression.logs import Truth, truth


def stacked(case: Truth, source: SampleRows, regression: Regression) -> tuple[list[list[Array]], list[list[Array]]]:
    """By block and joint, the rows with all columns, and their torque."""
    Y, tau = [], []
    for block in source.blocks():
        Y.append([np.zeros((len(rows.tau), case.base.n_base)) for rows in block])
        tau.append([rows.tau for rows in block])
        for full, rows, columns in zip(Y[-1], block, regression.visible, strict=True):
            full[:, columns] = rows.Y
    return Y, tau


@pytest.fixture
def fitted(rng):
    case = truth(load_robot("planar2r"), rng, duration=20.0)
    recording = case.recording(rng, 0.05)
    source = SampleRows(case.model, case.base, (Conditioning().plan(recording).apply(recording),))
    regression = compress(source)
    return case, regression, *stacked(case, source, regression)


@pytest.mark.parametrize("weights", [None, np.array([0.5, 4.0])])
def test_uncertainty_is_that_of_its_formula(fitted, weights):
    case, regression, Y, tau = fitted
    n_dof, n_base = 2, case.base.n_base
    w = np.ones(2) if weights is None else weights
    whole = [np.vstack([block[j] for block in Y]) for j in range(n_dof)]
    target = [np.concatenate([block[j] for block in tau]) for j in range(n_dof)]
    H = [A.T @ A for A in whole]
    inverse = np.linalg.inv(sum(w[j] ** 2 * H[j] for j in range(n_dof)))
    beta = inverse @ sum(w[j] ** 2 * whole[j].T @ target[j] for j in range(n_dof))
    found = uncertainty(regression, beta, weights)

    used = [w[j] ** 2 * np.trace(inverse @ H[j]) for j in range(n_dof)]
    assert sum(used) == pytest.approx(n_base)
    residual = [target[j] - whole[j] @ beta for j in range(n_dof)]
    sigma = np.array([np.sqrt(residual[j] @ residual[j] / (len(target[j]) - used[j])) for j in range(n_dof)])
    np.testing.assert_allclose(found.noise, sigma, rtol=1e-9)

    white = inverse @ sum(w[j] ** 4 * sigma[j] ** 2 * H[j] for j in range(n_dof)) @ inverse
    np.testing.assert_allclose(found.white_std, np.sqrt(np.diag(white)), rtol=1e-6)

    G = np.linalg.inv(sum(H[j] / sigma[j] ** 2 for j in range(n_dof)))
    inflation = []
    for j in range(n_dof):
        seen = expected = 0.0
        for A, b in ((block[j], torque[j]) for block, torque in zip(Y, tau, strict=True)):
            g, own = A.T @ (b - A @ beta) / sigma[j] ** 2, A.T @ A / sigma[j] ** 2
            seen += g @ G @ g
            expected += np.trace(G @ (own - own @ G @ own))
        inflation.append(max(seen / expected, 0.5))
    np.testing.assert_allclose(found.inflation, inflation, rtol=1e-6)
    middle = sum(inflation[j] * w[j] ** 4 * sigma[j] ** 2 * H[j] for j in range(n_dof))
    covariance = inverse @ middle @ inverse
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-6 * np.max(np.diag(covariance)))
    np.testing.assert_array_equal(found.covariance, found.covariance.T)
    np.testing.assert_allclose(found.std, np.sqrt(np.diag(covariance)), rtol=1e-5)


def test_a_fit_is_judged_by_the_joint_and_over_all():
    fit = FitError.of(np.array([1.0, 0.0, 4.0]), np.array([100.0, 0.0, 300.0]), np.array([4.0, 4.0, 16.0]))
    assert fit.relative_percent == pytest.approx(100 * np.sqrt(5.0 / 400.0))
    np.testing.assert_allclose(fit.rmse, [0.5, 0.0, 0.5])
    np.testing.assert_allclose(fit.relative_percent_joint[[0, 2]], [10.0, 100 * np.sqrt(4.0 / 300.0)])
    assert np.isnan(FitError.of(np.zeros(1), np.zeros(1), np.ones(1)).relative_percent)


def test_the_error_of_an_estimate_is_that_of_its_rows(fitted):
    _, regression, Y, tau = fitted
    estimate = OLS().fit(regression)
    rest = [np.concatenate([t[j] - A[j] @ estimate.beta for A, t in zip(Y, tau, strict=True)]) for j in range(2)]
    np.testing.assert_allclose(estimate.fit.rmse, [np.sqrt(np.mean(r**2)) for r in rest], rtol=1e-9)
    assert estimate.n_rows == sum(map(len, rest))
    assert estimate.rank == regression.base.n_base


def changed(estimate: Estimate, beta: Array, std: Array, correlation: Array | None = None, **rest) -> Estimate:
    R = np.eye(len(beta)) if correlation is None else correlation
    with np.errstate(invalid="ignore"):
        covariance = np.where(R != 0.0, np.outer(std, std) * R, 0.0)
    return replace(estimate, beta=beta, uncertainty=replace(estimate.uncertainty, covariance=covariance), **rest)


def test_trust_ends_where_the_deviation_exceeds_thirty_percent(fitted):
    _, regression, *_ = fitted
    estimate = OLS().fit(regression)
    n = len(estimate.beta)
    std = np.full(n, 0.1)
    std[:4] = 0.2999, 0.3001, np.inf, 0.3001
    beta = np.ones(n)
    beta[3] = -1.0
    made = changed(estimate, beta, std)
    assert made.trust[:4] == ("identified", "unreliable", "unseen", "unreliable")
    assert set(made.trust[4:]) == {"identified"}
    assert made.origins[:4] == ("identified", "unreliable", "open", "unreliable")
    # With a full set the prior chose what the data leave open.
    theta = np.zeros(len(made.base.columns))
    full = changed(estimate, beta, std, theta=theta, labels=("identified",) * len(theta))
    assert full.origins[2] == "prior"
    bound = changed(estimate, beta, std, theta=theta, labels=("bound",) * len(theta))
    assert set(bound.origins) == {"bound"}
    # Two that hide behind each other: 0.5 alone, 0.5·√(1 − 0.98²) = 0.0995 if the other were known.
    std[:2] = 0.5
    R = np.eye(n)
    R[0, 1] = R[1, 0] = 0.98
    pair = changed(estimate, beta, std, R)
    assert pair.origins[:2] == ("combination", "combination")
    np.testing.assert_allclose(pair.correlation[:2, :2], R[:2, :2], atol=1e-12)
    assert not np.any(pair.correlation[2])
    R[0, 1] = R[1, 0] = 0.5  # 0.433
    assert changed(estimate, beta, std, R).origins[:2] == ("unreliable", "unreliable")


def test_parameters_that_show_by_themselves_have_their_own_deviation(fitted):
    _, regression, *_ = fitted
    estimate = OLS().fit(regression)
    base = estimate.base
    for k, symbol in enumerate(base.symbols):
        if symbol in base.alone:
            row = list(base.independent).index(k)
            assert estimate.full_std[k] == estimate.std[row]
        else:
            assert np.isnan(estimate.full_std[k])
    assert estimate.full_origins == ()
    labels = ("identified",) * len(base.columns)
    std = np.full(base.n_base, 10.0 * np.max(np.abs(estimate.beta)))
    made = changed(estimate, estimate.beta, std, theta=np.zeros(len(labels)), labels=labels)
    words = dict(zip(base.symbols, made.full_origins, strict=True))
    assert {words[symbol] for symbol in base.alone} == {"unreliable"}
    assert {word for symbol, word in words.items() if symbol not in base.alone} == {"identified"}


def test_a_full_set_is_judged_like_any_other(fitted):
    case, regression, *_ = fitted
    weights = np.array([0.5, 4.0])
    told: dict[str, Any] = {
        "weights": weights,
        "status": Status.CONVERGED,
        "labels": ("prior",) * case.model.n_params,
        "rule": "near",
    }
    known = full_estimate(Feasible(), regression, case.theta, **told)
    np.testing.assert_allclose(known.beta, case.beta, atol=1e-12)
    assert (known.estimator, known.rule, known.status, known.iterations) == ("feasible", "near", Status.CONVERGED, 1)
    assert known.labels == told["labels"]
    failed = full_estimate(Feasible(), regression, np.full(case.model.n_params, np.nan), **told)
    assert failed.theta is None
    assert (failed.labels, failed.rule) == ((), "")
    stacked = regression.stacked(weights)
    np.testing.assert_allclose(failed.beta, np.linalg.solve(stacked.R, stacked.rho), rtol=1e-6)


def test_what_does_not_move_is_not_seen(rng):
    case = truth(load_robot("planar2r"), rng, duration=10.0)
    motion = replace(case.motion, **{name: case.motion.__dict__[name] * [1.0, 0.0] for name in ("q", "dq", "ddq")})
    still = replace(case, motion=motion, tau=case.model.torque(motion, case.theta))
    recording = still.recording(rng, 0.01)
    samples = Conditioning().plan(recording).apply(recording)
    regression = compress(SampleRows(still.model, still.base, (samples,)))
    hidden = unseen_columns(regression)
    names = {name for name, unseen in zip(still.base.leading, hidden, strict=True) if unseen}
    assert "fv2" in names
    assert "fv1" not in names
    estimate = WLS().fit(regression)
    assert estimate.status is Status.RANK_DEFICIENT
    np.testing.assert_array_equal(np.isinf(estimate.std), hidden)
    told: dict[str, Any] = {"weights": np.ones(2), "status": Status.CONVERGED, "labels": (), "rule": ""}
    assert full_estimate(Feasible(), regression, still.theta, **told).status is Status.RANK_DEFICIENT
