"""Noise, drift and scales of residuals against dense formulas, exact but for rounding: no draw decides."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import linalg, optimize, signal, stats

from dynid import TorqueModel, base_parameters, load_robot
from dynid.arrays import Array
from dynid.dynamics import RotorInertia, friction_models
from dynid.recording import Conditioning, Recording, Samples
from dynid.regression import WLS, ResidualStatistics, SampleRows, compress, left_out_runs
from dynid.regression.coloured import coloured_estimate, gain_directions, scale_distortion
from dynid.regression.drift import (
    COMMON,
    PRIOR_RUNS,
    PRIOR_SHARE,
    DriftEvidence,
    base_drift,
    drift_between,
    drifting_terms,
)
from dynid.regression.noise_colour import N_BINS, RowColour, _spectrum, noise_colour
from dynid.regression.problem import Regression
from dynid.regression.residuals import LEAST_NOISE, ONE_LOG, WHITE_FLOOR
from dynid.regression.run_variation import STANDSTILL_SPEEDS, _standstill, _two_variances
from tests.regression.logs import FRICTION, exciting_motion

RATE_HZ = 100.0
ROBOT = load_robot("planar2r")
MODEL = TorqueModel(ROBOT, friction_models(FRICTION))
BASE = base_parameters(MODEL)
THETA = np.concatenate([MODEL.nominal()[: MODEL.n_inertial], [1.0, 2.0, 0.3, 0.7, 1.5, -0.2]])


def run(seed: int, friction: float = 1.0) -> Samples:
    """A run of the two-joint arm with white noise of 0.2 and 0.1 N·m, its friction so many times the usual."""
    rng = np.random.default_rng(seed)
    theta = np.array(THETA)
    theta[MODEL.n_inertial :] *= friction
    motion = exciting_motion(ROBOT, rng, duration=16.0, rate_hz=RATE_HZ)
    tau = MODEL.torque(motion, theta) + np.array([0.2, 0.1]) * rng.standard_normal((motion.n_samples, 2))
    recording = Recording(ROBOT.joint_names, motion.t, motion.q, motion.dq, tau=tau, source=f"run {seed}")
    return Conditioning(cutoff_hz=8.0).plan(recording).apply(recording)


@pytest.fixture(scope="module")
def runs() -> tuple[Samples, ...]:
    return tuple(run(seed, friction) for seed, friction in ((1, 1.0), (2, 1.1), (3, 0.85)))


@pytest.fixture(scope="module")
def regression(runs: tuple[Samples, ...]) -> Regression:
    return compress(SampleRows(MODEL, BASE, runs))


def joint_rows(runs: tuple[Samples, ...]) -> list[tuple[Array, Array]]:
    """All rows of each joint in all columns of β, and their torques."""
    source = SampleRows(MODEL, BASE, runs)
    visible = compress(source).visible
    found = []
    for j in range(MODEL.n_dof):
        own = [block[j] for block in source.blocks()]
        Y = np.zeros((sum(len(rows.tau) for rows in own), BASE.n_base))
        Y[:, visible[j]] = np.vstack([rows.Y for rows in own])
        found.append((Y, np.concatenate([rows.tau for rows in own])))
    return found


def test_the_binned_spectrum_is_the_tapered_periodogram(rng: np.random.Generator) -> None:
    pieces = [rng.standard_normal((400, 2)), rng.standard_normal((15, 2)), rng.standard_normal((257, 2))]
    f, S, count = _spectrum(pieces, RATE_HZ, 20.0)
    frequencies, densities = [], []
    for piece in (pieces[0], pieces[2]):  # fifteen samples are too few to count
        # scipy-stubs know no window of numbers.
        periodogram: Any = signal.periodogram
        at, density = periodogram(piece, RATE_HZ, np.hanning(len(piece)), detrend=False, return_onesided=False, axis=0)
        kept = (at > 0.0) & (at <= 20.0)
        frequencies.append(at[kept])
        densities.append(density[kept])
    every_f, every_S = np.concatenate(frequencies), np.vstack(densities)
    assert np.sum(count) == len(every_f)
    assert np.all(np.diff(f) > 0.0)
    assert len(f) <= N_BINS
    order = np.argsort(every_f)
    edges = np.geomspace(0.999 * every_f.min(), 1.001 * every_f.max(), N_BINS + 1)
    np.testing.assert_array_equal(count, [n for n in np.histogram(every_f, edges)[0] if n])
    ends = np.cumsum(count).astype(int)[:-1]
    np.testing.assert_allclose(f, [part.mean() for part in np.split(every_f[order], ends)], rtol=1e-12)
    np.testing.assert_allclose(S, [part.mean(axis=0) for part in np.split(every_S[order], ends)], rtol=1e-12)


@pytest.mark.parametrize(("memory", "slow", "highest_hz"), [(0.4, 1.0, 10.0), (0.1, 2.0, 25.0)])
def test_the_colour_of_noise_is_the_most_likely_one(
    memory: float, slow: float, highest_hz: float, rng: np.random.Generator
) -> None:
    decay = np.exp(-1.0 / (memory * RATE_HZ))
    pieces = []
    for n_samples in (3000, 2000):
        drawn = signal.lfilter([slow * np.sqrt(1.0 - decay**2)], [1.0, -decay], rng.standard_normal(n_samples))
        pieces.append((drawn + 0.5 * rng.standard_normal(n_samples))[:, None])
    found = noise_colour(pieces, RATE_HZ, highest_hz)
    f, P, count = _spectrum(pieces, RATE_HZ, highest_hz)

    def cost(white: float, slow: float, memory: float) -> float:
        S = white**2 / RATE_HZ + 2.0 * slow**2 * memory / (1.0 + (2.0 * np.pi * f * memory) ** 2)
        return float(count @ (np.log(S) + P[:, 0] / S))

    def improbability(x: Array) -> float:
        return cost(*np.exp(x))

    start = np.log([found.band_white_std[0], found.slow_std[0], found.memory[0]])
    best = optimize.minimize(improbability, start, method="Nelder-Mead", tol=1e-4)
    # The grid has 60 memories and 60 ratios: half a step off costs far less than the 0.5 that one σ would.
    assert cost(*np.exp(start)) - best.fun < 0.2
    np.testing.assert_allclose(np.exp(start), np.exp(best.x), rtol=0.15)
    lag = round(0.5 * RATE_HZ / highest_hz)
    steps = np.concatenate([piece[lag:] - piece[:-lag] for piece in pieces])
    forgotten = 0.5 * np.mean(steps**2) - found.slow_std[0] ** 2 * (1.0 - np.exp(-lag / (RATE_HZ * found.memory[0])))
    np.testing.assert_allclose(found.white_std[0] ** 2, max(forgotten, found.band_white_std[0] ** 2), rtol=1e-9)


def test_joints_do_not_change_the_colour_of_one_another(rng: np.random.Generator) -> None:
    pieces = [np.cumsum(rng.standard_normal((500, 1)), axis=0), rng.standard_normal((500, 1))]
    both = noise_colour([np.hstack(pieces)], RATE_HZ, 20.0)
    for j, piece in enumerate(pieces):
        alone = noise_colour([piece], RATE_HZ, 20.0)
        for name in ("white_std", "slow_std", "memory", "band_white_std"):
            np.testing.assert_allclose(getattr(both, name)[j], getattr(alone, name)[0], rtol=1e-12)


@pytest.mark.parametrize(("white", "slow", "decay"), [(0.3, 1.0, 0.9), (2.0, 0.5, 0.4), (0.01, 3.0, 0.99)])
def test_whitened_rows_are_the_innovations_of_the_cholesky_factor(
    white: float, slow: float, decay: float, rng: np.random.Generator
) -> None:
    colour = RowColour(np.array([9.0, white]), np.array([9.0, slow]), np.array([0.1, decay]))
    C = white * np.eye(120) + slow * linalg.toeplitz(decay ** np.arange(120.0))
    rows = rng.standard_normal((120, 3))
    expected = linalg.solve_triangular(np.linalg.cholesky(C), rows, lower=True)
    # The gain is taken as constant once its variance changes by less than 1e-10 of itself.
    np.testing.assert_allclose(colour.whitened(1, rows), expected, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose(colour.summed(1, rows), rows.T @ C @ rows, rtol=1e-10)


def evidence(rng: np.random.Generator, n_terms: int, n_runs: int) -> list[DriftEvidence]:
    found = []
    for _ in range(n_runs):
        A = rng.standard_normal((3 * n_terms, n_terms))
        delta = 0.3 * rng.standard_normal(n_terms)
        power = np.zeros((MODEL.n_dof, n_terms, n_terms))
        power[0], power[1] = A.T @ A / 10.0, np.diag(np.arange(1.0, n_terms + 1.0))
        found.append(DriftEvidence(50.0 * A.T @ A, 50.0 * A.T @ (A @ delta), power))
    return found


def test_the_drift_between_runs_is_the_most_probable_one(rng: np.random.Generator) -> None:
    terms = drifting_terms(MODEL)
    assert terms.tolist() == [0, 1, 2, 3, 4, 5]
    seen = evidence(rng, len(terms), 4)
    friction = THETA[MODEL.n_inertial :]
    D, deviations = drift_between(seen, MODEL, terms, THETA)
    power = np.mean([one.power.sum(axis=0) for one in seen], axis=0)
    shapes = []
    for j in range(2):
        own = slice(3 * j, 3 * j + 3)
        level = friction[own] @ power[own, own] @ friction[own]
        scale2 = level / np.diag(power)[own]
        shapes.append(COMMON * np.outer(friction[own], friction[own]) + (1.0 - COMMON) / 3.0 * np.diag(scale2))

    def covariance(log_share: Array) -> Array:
        return np.asarray(linalg.block_diag(*(np.exp(s) * shape for s, shape in zip(log_share, shapes, strict=True))))

    def improbability(log_share: Array) -> float:
        """−2 log of the marginal likelihood of the runs, and of a prior that counts as so many runs."""
        D = covariance(log_share)
        total = 0.0
        for one in seen:
            total += np.linalg.slogdet(np.eye(6) + D @ one.information)[1]
            total -= one.pull @ np.linalg.solve(one.information + np.linalg.inv(D), one.pull)
        n_terms = 3  # of a joint
        return float(total + PRIOR_RUNS * n_terms * np.sum(log_share + PRIOR_SHARE**2 * np.exp(-log_share)))

    share = [D[3 * j, 3 * j] / shapes[j][0, 0] for j in range(2)]
    np.testing.assert_allclose(D, covariance(np.log(share)), rtol=1e-10, atol=1e-15)
    best = optimize.minimize(improbability, np.log(share), method="Nelder-Mead", tol=1e-5)
    np.testing.assert_allclose(share, np.exp(best.x), rtol=5e-3)  # it ends at changes of 1e-4, and converges slowly
    for one, delta in zip(seen, deviations, strict=True):
        expected = np.linalg.solve(one.information + np.linalg.inv(D), one.pull)
        np.testing.assert_allclose(delta, expected, rtol=1e-3, atol=1e-6)


def test_drift_leaves_rotors_and_terms_that_do_not_act_alone(rng: np.random.Generator) -> None:
    model = TorqueModel(ROBOT, (RotorInertia(), *friction_models("viscous+coulomb")))
    terms = drifting_terms(model)
    assert terms.tolist() == [1, 2, 4, 5]
    theta = np.concatenate([model.nominal()[: model.n_inertial], [0.1, 1.0, 2.0, 0.1, 0.0, 0.0]])
    D, deviations = drift_between(evidence(rng, 4, 2), model, terms, theta)
    touched = [1, 2]  # joint 2 has no friction that could drift
    assert np.all(np.diag(D)[touched] > 0.0)
    D[np.ix_(touched, touched)] = 0.0
    assert not D.any()
    assert not deviations[:, [0, 3, 4, 5]].any()
    assert np.all(deviations[:, touched] != 0.0)


def test_without_friction_nothing_drifts(rng: np.random.Generator) -> None:
    theta = np.concatenate([THETA[: MODEL.n_inertial], np.zeros(6)])
    D, deviations = drift_between(evidence(rng, 6, 3), MODEL, drifting_terms(MODEL), theta)
    assert D.shape == (6, 6)
    assert deviations.shape == (3, 6)
    assert not D.any()
    assert not deviations.any()


def test_drift_of_joint_terms_reaches_the_base_parameters_through_the_regrouping(rng: np.random.Generator) -> None:
    A = rng.standard_normal((6, 6))
    whole = linalg.block_diag(np.zeros((MODEL.n_inertial, MODEL.n_inertial)), A @ A.T)
    np.testing.assert_allclose(base_drift(BASE, A @ A.T), BASE.K @ whole @ BASE.K.T, rtol=1e-12)


@pytest.mark.parametrize("weights", [None, np.array([3.0, 0.5])])
def test_directions_of_scales_are_the_change_of_the_fit(
    runs: tuple[Samples, ...], regression: Regression, weights: Array | None
) -> None:
    rows = joint_rows(runs)
    w = np.ones(2) if weights is None else weights
    beta = np.linalg.lstsq(
        np.vstack([w[j] * rows[j][0] for j in range(2)]),
        np.concatenate([w[j] * rows[j][1] for j in range(2)]),
        rcond=None,
    )[0]
    H = sum(w[j] ** 2 * rows[j][0].T @ rows[j][0] for j in range(2))
    found = gain_directions(regression, beta, weights)
    for j in range(2):
        Y = rows[j][0]
        np.testing.assert_allclose(found[j], np.linalg.solve(H, w[j] ** 2 * Y.T @ (Y @ beta)), rtol=1e-6, atol=1e-9)
    scales = np.array([[4e-4, 1e-4], [1e-4, 9e-4]])
    for j in range(2):
        Y = rows[j][0]
        v = Y @ found.T - np.outer(Y @ beta, np.eye(2)[j])
        expected = np.mean(np.einsum("ki,ij,kj->k", v, scales, v))
        np.testing.assert_allclose(scale_distortion(regression, beta, found, scales)[j], expected, rtol=1e-6)


def test_the_covariance_of_coloured_residuals_is_the_sandwich_of_their_rows(
    runs: tuple[Samples, ...], regression: Regression
) -> None:
    estimate = WLS().fit(regression)
    known = left_out_runs(MODEL, BASE, runs, WLS().fit, estimate)
    assert known is not None
    # Far more slow noise than the blocks of time show, so that no joint counts with its blocks.
    noisy = replace(known.statistics, slow_std=np.array([5.0, 4.0]), memory=np.array([0.5, 1.0]))
    found = coloured_estimate(estimate, regression, runs, noisy).uncertainty.covariance
    w = estimate.weights
    assert w is not None
    middle, H = np.zeros((BASE.n_base, BASE.n_base)), np.zeros((BASE.n_base, BASE.n_base))
    for samples in runs:
        colour = noisy.row_colour(samples.plan.every, samples.plan.low_pass.rate_hz)
        for j, (Y, _) in enumerate(joint_rows((samples,))):
            k = np.arange(len(Y))
            C = colour.white[j] * np.eye(len(Y)) + colour.slow[j] * colour.decay[j] ** np.abs(k[:, None] - k)
            middle += w[j] ** 4 * Y.T @ C @ Y
            H += w[j] ** 2 * Y.T @ Y
    expected = np.linalg.solve(H, np.linalg.solve(H, middle).T)
    expected += base_drift(BASE, noisy.drift) / noisy.n_logs + noisy.of_scales
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
    # Hardly any noise at all, and the blocks decide.
    quiet = replace(noisy, slow_std=np.full(2, 1e-6), white_std=np.full(2, 1e-6), band_white_std=np.full(2, 1e-6))
    less = coloured_estimate(estimate, regression, runs, replace(quiet, drift=np.zeros((6, 6))))
    assert 0.3 < np.median(less.std / estimate.std) < 3.0


def test_statistics_of_left_out_runs_are_those_of_the_fits_of_the_others(
    runs: tuple[Samples, ...], regression: Regression
) -> None:
    estimate = WLS().fit(regression)
    found = left_out_runs(MODEL, BASE, runs, WLS().fit, estimate)
    assert found is not None
    terms = MODEL.n_inertial + np.arange(6)
    squares, power, n_rows = np.zeros(2), np.zeros(2), np.zeros(2)
    seen, spreads = [], []
    for left in range(3):
        others = WLS().fit(compress(SampleRows(MODEL, BASE, tuple(r for k, r in enumerate(runs) if k != left))))
        sure = others.uncertainty
        Lambda, pull, products, spread = np.zeros((6, 6)), np.zeros(6), np.zeros((2, 6, 6)), np.zeros(2)
        for j, (Y, tau) in enumerate(joint_rows((runs[left],))):
            residual, Z = tau - Y @ others.beta, Y @ BASE.K[:, terms]
            squares[j] += residual @ residual
            power[j] += tau @ tau
            n_rows[j] += len(tau)
            noise = np.mean(residual**2) * max(sure.inflation[j], 1.0)
            Lambda, pull = Lambda + Z.T @ Z / noise, pull + Z.T @ residual / noise
            products[j] = Z.T @ Z / len(tau)
            spread[j] = np.mean(np.einsum("ki,ij,kj->k", Y, sure.covariance, Y))
        seen.append(DriftEvidence(Lambda, pull, products))
        spreads.append(spread)
    np.testing.assert_allclose(found.error.rmse, np.sqrt(squares / n_rows), rtol=1e-6)
    np.testing.assert_allclose(found.error.relative_percent_joint, 100.0 * np.sqrt(squares / power), rtol=1e-6)
    drift, _ = drift_between(seen, MODEL, drifting_terms(MODEL), BASE.lift(estimate.beta))
    np.testing.assert_allclose(found.statistics.drift, drift / 1.5, rtol=1e-5)  # two others
    assert found.statistics.n_runs == 3
    assert found.statistics.rate_hz == pytest.approx(RATE_HZ)
    # Noise, parameters and drift together have the power of the held-out rows that move.
    explained = np.mean([s + np.einsum("jkl,kl->j", one.power, drift) for s, one in zip(spreads, seen, strict=True)], 0)
    np.testing.assert_allclose(found.statistics.row_std**2 + explained, squares / n_rows, rtol=0.15)  # some rows rest


def test_a_variance_of_their_own_gains_what_two_normal_distributions_do(rng: np.random.Generator) -> None:
    residual = np.concatenate([3.0 * rng.standard_normal(40), rng.standard_normal(160)])
    slow = np.arange(200) < 40
    n_slow, gain, variance = _two_variances(residual, slow)

    def likelihood(part: Array) -> float:
        return float(np.sum(stats.norm.logpdf(part, scale=np.sqrt(np.mean(part**2)))))

    assert n_slow == 40
    assert variance == pytest.approx(np.mean(residual[slow] ** 2))
    assert gain == pytest.approx(likelihood(residual[slow]) + likelihood(residual[~slow]) - likelihood(residual))
    # Quieter rows have no variance of their own, and nothing compares with nothing.
    assert _two_variances(residual, ~slow)[:2] == (160, 0.0)
    assert _two_variances(residual, slow & False) == (0, 0.0, 0.0)
    assert _two_variances(residual, slow | True) == (200, 0.0, 0.0)


def test_the_speed_of_standstill_is_the_likeliest_and_others_follow_suit(rng: np.random.Generator) -> None:
    speed = np.abs(rng.standard_normal((4000, 3)))
    speed[:, 2] += 1.0  # never at rest
    typical = np.sqrt(np.mean(speed**2, axis=0))
    residual = rng.standard_normal((4000, 3))
    for j, share in ((0, STANDSTILL_SPEEDS[3]), (1, STANDSTILL_SPEEDS[4])):
        held = speed[:, j] <= share * typical[j]
        residual[held, j] *= 5.0
    found, std = _standstill(residual, speed, np.ones(3))
    np.testing.assert_allclose(found / typical, [STANDSTILL_SPEEDS[3], STANDSTILL_SPEEDS[4], STANDSTILL_SPEEDS[2]])
    for j in range(2):
        np.testing.assert_allclose(std[j], np.sqrt(np.mean(residual[speed[:, j] <= found[j], j] ** 2)), rtol=1e-12)
    ratios = std[:2] ** 2 / np.mean(residual[:, :2] ** 2, axis=0)
    np.testing.assert_allclose(std[2] ** 2, np.mean(residual[:, 2] ** 2) * np.median(ratios), rtol=1e-12)
    # Where no joint rested, stiction lies evenly between the signs of friction.
    _, alone = _standstill(residual[:, 2:], speed[:, 2:], np.array([6.0]))
    np.testing.assert_allclose(alone**2, np.mean(residual[:, 2] ** 2) + 6.0**2 / 3.0, rtol=1e-12)


def known(**changed: Any) -> ResidualStatistics:
    """Statistics of two joints, no two numbers alike."""
    fields: dict[str, Any] = {
        "white_std": np.array([0.5, 0.02]),
        "slow_std": np.array([0.3, 0.4]),
        "memory": np.array([0.5, 2.0]),
        "row_std": np.array([0.2, 0.1]),
        "standstill_std": np.array([0.05, 0.0]),
        "standstill_speed": np.array([0.01, 0.02]),
        "drift": np.diag([0.1, 0.2]),
        "gain_std": np.array([0.02, 0.03]),
        "gain_directions": np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 3.0]]),
        "rate_hz": 200.0,
        "n_runs": 3,
        "source": "3 logs",
        "gain_source": "sensors",
    }
    return ResidualStatistics(**{**fields, **changed})


def test_rows_have_the_noise_of_the_samples_they_are_made_of() -> None:
    colour = known().row_colour(4, 100.0)
    # Rows are 0.04 s apart; at 100 Hz a sample holds half the white power that one at 200 Hz does.
    np.testing.assert_allclose(colour.decay, np.exp([-4.0 / 50.0, -4.0 / 200.0]))
    np.testing.assert_allclose(colour.slow, [0.09, 0.16])
    floor = WHITE_FLOOR * (0.02**2 + 0.4**2)
    np.testing.assert_allclose(colour.white, np.array([0.25, max(0.0004, floor)]) * 0.5 / 4.0)
    banded = known(band_white_std=np.array([0.1, 0.6])).row_colour(1, 200.0)
    np.testing.assert_allclose(banded.white, [max(0.01, WHITE_FLOOR * 0.1), 0.36])


def test_scales_add_to_the_covariance_along_their_directions() -> None:
    one, two = known().gain_directions
    np.testing.assert_allclose(known().of_scales, 4e-4 * np.outer(one, one) + 9e-4 * np.outer(two, two))
    joined = known().with_scales(np.array([[4e-4, 1e-4], [1e-4, 1e-4]]), "a weight")
    np.testing.assert_allclose(joined.gain_std, [0.02, 0.01])
    assert joined.gain_source == "a weight"
    cross = np.outer(one, two)
    expected = 4e-4 * np.outer(one, one) + 1e-4 * np.outer(two, two) + 1e-4 * (cross + cross.T)
    np.testing.assert_allclose(joined.of_scales, expected)


def test_what_scales_explain_moves_from_rows_to_standstill() -> None:
    found = known().explained_by_scales(np.array([0.01, 1.0]))
    np.testing.assert_allclose(found.row_std**2, [0.03, LEAST_NOISE * 0.01])
    before = known()
    total = found.row_std**2 + found.standstill_std**2
    np.testing.assert_allclose(total, before.row_std**2 + before.standstill_std**2)


def test_drift_counts_as_often_as_there_were_logs() -> None:
    assert known().n_logs == 3
    assert known(source=ONE_LOG, n_runs=5).n_logs == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rate_hz": 0.0}, "rate_hz is 0.0"),
        ({"rate_hz": True}, "rate_hz is True"),
        ({"rate_hz": "200"}, "rate_hz is '200'"),
        ({"n_runs": 2.5}, "n_runs is 2.5"),
        ({"n_runs": True}, "n_runs is True"),
        ({"memory": [1.0]}, "memory has shape"),
        ({"memory": "long"}, "memory holds no numbers"),
        ({"memory": [1.0, None]}, "memory is not finite"),
        ({"gain_covariance": [1.0]}, "gain_covariance has shape"),
    ],
)
def test_stored_statistics_that_cannot_be_are_named(wrong: dict[str, object], said: str) -> None:
    whole = known(gain_covariance=np.eye(2), band_white_std=np.ones(2))
    again = ResidualStatistics.restored(whole.stored(), 2, 2, 3)
    assert again.stored() == whole.stored()
    assert str(again) == str(whole)
    assert ResidualStatistics.restored(known().stored(), 2, 2, 3).gain_covariance is None
    with pytest.raises(ValueError, match=re.escape(f"residuals.{said}")):
        ResidualStatistics.restored({**whole.stored(), **wrong}, 2, 2, 3)
