"""The load and each row's errors given the load: the same filter as that of all states, and never a surer one."""

import numpy as np
import pytest

from dynid.tracking.load_gauss import (
    LOAD_SIZE,
    N_ERRORS,
    absorb_row_of_errors,
    absorb_row_of_load,
    errors_by_load,
    row_variance,
    spread_load,
)

N_ROWS = 3
N_ALL = N_ROWS * N_ERRORS + LOAD_SIZE


class Given:
    """The Gaussian in the two parts that the load bank keeps."""

    def __init__(self):
        self.p, self.U, self.D = np.zeros(LOAD_SIZE), np.eye(LOAD_SIZE), np.linspace(0.5, 2.0, LOAD_SIZE)
        self.e = np.zeros((N_ROWS, N_ERRORS))
        self.B = np.zeros((N_ROWS, N_ERRORS, LOAD_SIZE))
        self.C = np.array([np.diag([0.3, 0.1, 0.2, 0.05])] * N_ROWS)
        self.k, self.seen, self.f, self.b = (
            np.zeros(LOAD_SIZE),
            np.zeros(N_ERRORS),
            np.zeros(LOAD_SIZE),
            np.zeros(LOAD_SIZE),
        )

    def absorb(self, r, he, h, z, noise):
        innovation = z - he @ self.e[r] - h @ self.p
        errors_by_load(self.B[r], he, self.k)
        self.k += h
        own, whole = row_variance(self.U, self.D, self.C[r], he, self.k, self.seen, self.f)
        absorb_row_of_errors(self.e[r], self.B[r], self.C[r], self.k, own + noise, innovation, self.seen)
        S = absorb_row_of_load(self.U, self.D, self.f, own + noise, self.b)
        assert pytest.approx(whole + noise, rel=1e-12) == S
        moved = self.b * innovation / S
        self.p += moved
        self.e += self.B @ moved

    def scale(self, factors, variances):
        self.e *= factors
        self.B *= factors[:, None]
        self.C *= np.outer(factors, factors)
        self.C += np.diag(variances)

    def spread(self, u, variance):
        spread_load(self.U, self.D, self.B, self.C, u.copy(), -1, variance, self.f, np.zeros((N_ROWS, N_ERRORS + 1)))

    @property
    def mean(self):
        return np.concatenate([self.e.ravel(), self.p])

    @property
    def covariance(self):
        half = (np.triu(self.U.T, 1) + np.eye(LOAD_SIZE)) * np.sqrt(self.D)
        slopes = np.concatenate([self.B.reshape(-1, LOAD_SIZE), np.eye(LOAD_SIZE)])
        whole = slopes @ half @ half.T @ slopes.T
        for r in range(N_ROWS):
            part = slice(r * N_ERRORS, (r + 1) * N_ERRORS)
            whole[part, part] += self.C[r]
        return whole


def both(rng, n_samples, walk):
    """The Gaussian in parts, and mean and covariance of the textbook filter on the same rows."""
    given = Given()
    x, P = given.mean, given.covariance
    factors, variances = np.array([0.9, 0.999, 0.999, 0.999]), np.array([0.05, 1e-4, 1e-4, 1e-4])
    for _ in range(n_samples):
        given.scale(factors, variances)
        A = np.concatenate([np.tile(factors, N_ROWS), np.ones(LOAD_SIZE)])
        x, P = A * x, P * np.outer(A, A) + np.diag(np.concatenate([np.tile(variances, N_ROWS), np.zeros(LOAD_SIZE)]))
        if walk > 0.0:
            u = rng.standard_normal(LOAD_SIZE)
            given.spread(u, walk)
            P[-LOAD_SIZE:, -LOAD_SIZE:] += walk * np.outer(u, u)
        for r in range(N_ROWS):
            he, h, z = rng.standard_normal(N_ERRORS), rng.standard_normal(LOAD_SIZE), rng.standard_normal()
            given.absorb(r, he, h, z, 0.1)
            row = np.concatenate([np.zeros(r * N_ERRORS), he, np.zeros((N_ROWS - r - 1) * N_ERRORS), h])
            gain = P @ row / (row @ P @ row + 0.1)
            x, P = x + gain * (z - row @ x), P - np.outer(gain, row @ P)
    return given, x, P


def test_a_load_that_stays_gives_the_textbook_filter(rng):
    given, x, P = both(rng, 200, walk=0.0)
    np.testing.assert_allclose(given.mean, x, rtol=0.0, atol=1e-10 * np.max(np.abs(x)))
    np.testing.assert_allclose(given.covariance, P, rtol=0.0, atol=1e-10 * np.max(np.abs(P)))


def test_one_move_of_the_load_keeps_what_each_row_and_the_load_know_of_each_other(rng):
    given, _, P = both(rng, 20, walk=0.0)
    u = rng.standard_normal(LOAD_SIZE)
    given.spread(u, 0.3)
    P[-LOAD_SIZE:, -LOAD_SIZE:] += 0.3 * np.outer(u, u)
    found = given.covariance
    np.testing.assert_allclose(found[:, -LOAD_SIZE:], P[:, -LOAD_SIZE:], rtol=0.0, atol=1e-11 * np.max(np.abs(P)))


@pytest.mark.parametrize("walk", [1e-4, 1e-2, 1.0])
def test_a_load_that_moves_never_makes_the_filter_surer_than_the_textbook_one(rng, walk):
    given, _, P = both(rng, 200, walk=walk)
    more = given.covariance - P
    assert np.min(np.linalg.eigvalsh(more)) > -1e-10 * np.max(np.abs(P))
    std, least = np.sqrt(np.diag(given.covariance)[-LOAD_SIZE:]), np.sqrt(np.diag(P)[-LOAD_SIZE:])
    # Rows that know their errors alike are the worst case of the bound: three of them, at most √3.
    assert np.max(std / least) < 1.35
