"""σ of a load holds with coloured noise and uncertain scales, and says where it comes from."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from dynid import InertialParameters, TorqueModel, base_parameters, load_robot
from dynid.arrays import Array
from dynid.dynamics import friction_models
from dynid.recording import Conditioning, Recording, Samples
from dynid.regression import WLS, KnownArm, Payload, ResidualStatistics, SampleRows, compress, identify_payload
from dynid.regression.coloured import coloured_estimate, gain_directions
from dynid.regression.drift import base_drift
from dynid.regression.load_fit import LoadProblem
from dynid.regression.load_rows import _whitened, loaded_regression
from dynid.regression.noise_colour import RowColour
from dynid.regression.payload import _drift_root
from dynid.regression.rows import JointRows
from tests.regression.logs import FRICTION, exciting_motion

RATE_HZ = 100.0
MASS = 1.5
ROBOT = load_robot("panda").locked({f"joint{k}": 0.3 * k for k in (3, 5, 7)})
"""Four joints, so that all ten numbers of the load show."""
N_DOF = ROBOT.n_dof
MODEL = TorqueModel(ROBOT, friction_models(FRICTION))
BASE = base_parameters(MODEL)
LOAD = InertialParameters.from_com(MASS, np.array([0.1, 0.0, 0.05]), 0.01 * np.eye(3))
MOTIONS = tuple(exciting_motion(ROBOT, np.random.default_rng(seed), duration=20.0, rate_hz=RATE_HZ) for seed in (0, 1))


def statistics(*, white: float, slow: float, memory: float, drift: float = 0.0) -> ResidualStatistics:
    """What is known of the noise, as an identification would have found it."""
    ones, n_terms = np.ones(N_DOF), MODEL.n_params - MODEL.n_inertial
    return ResidualStatistics(
        white_std=white * ones,
        slow_std=slow * ones,
        memory=memory * ones,
        row_std=white * ones,
        standstill_std=0.0 * ones,
        standstill_speed=0.01 * ones,
        drift=drift**2 * np.eye(n_terms),
        gain_std=0.0 * ones,
        gain_directions=np.zeros((N_DOF, BASE.n_base)),
        rate_hz=RATE_HZ,
        n_runs=3,
        source="3 logs",
        gain_source="",
    )


def samples(which: int, rng: np.random.Generator, noise: ResidualStatistics, scale: Array, *, loaded: bool) -> Samples:
    motion, theta = MOTIONS[which], MODEL.nominal()
    theta[MODEL.n_inertial :] = np.tile([1.0, 2.0, 0.3], N_DOF)
    if loaded:
        theta[MODEL.n_inertial - 10 : MODEL.n_inertial] += LOAD.pi
    tau = scale * MODEL.torque(motion, theta)
    decay = np.exp(-1.0 / (noise.memory[0] * RATE_HZ))
    slow = lfilter(
        [np.sqrt(1.0 - decay**2)], [1.0, -decay], rng.standard_normal((motion.n_samples + 2000, N_DOF)), axis=0
    )
    tau = tau + noise.white_std * rng.standard_normal(tau.shape) + noise.slow_std * slow[2000:]
    recording = Recording(ROBOT.joint_names, motion.t, motion.q, motion.dq, tau=tau, source=f"run{which}")
    return Conditioning(cutoff_hz=4.0).plan(recording).apply(recording)


def weighed(seed: int, noise: ResidualStatistics, gain_error: float = 0.0) -> Payload:
    """The load by the model of an empty run, both with the noise and scales of this draw."""
    rng = np.random.default_rng(seed)
    scale = 1.0 + gain_error * rng.standard_normal(N_DOF)
    empty, loaded = (samples(k, rng, noise, scale, loaded=k == 1) for k in (0, 1))
    regression = compress(SampleRows(MODEL, BASE, (empty,)))
    arm = WLS().fit(regression)
    directions = gain_directions(regression, arm.beta, arm.weights)
    sure = coloured_estimate(arm, regression, (empty,), noise)
    known = KnownArm(arm.beta, sure.uncertainty.covariance, directions)
    return identify_payload(
        MODEL, BASE, (loaded,), known=known, noise=noise, scales=gain_error**2 * np.eye(N_DOF) if gain_error else None
    )


@pytest.mark.parametrize(
    ("noise", "gain_error"),
    [
        (statistics(white=0.1, slow=0.5, memory=2.0), 0.0),
        (statistics(white=0.5, slow=0.1, memory=0.5), 0.02),
    ],
    ids=["2 s of memory", "2 % gains"],
)
@pytest.mark.whole
def test_intervals_hold_the_mass_of_the_load(noise: ResidualStatistics, gain_error: float) -> None:
    found = [weighed(seed, noise, gain_error) for seed in range(24)]
    z = np.array([(load.free[0] - MASS) / load.mass_std for load in found])
    # 95 % of 24 are 23; fewer than 20 would happen once in 170 times, and σ twice too large would give z of 0.5.
    assert np.count_nonzero(np.abs(z) <= 1.96) >= 20
    assert np.sqrt(np.mean(z**2)) > 0.55


def test_what_limits_the_accuracy_adds_up() -> None:
    load = weighed(0, statistics(white=0.1, slow=0.3, memory=1.0, drift=0.05), 0.02)
    np.testing.assert_allclose(sum(load.parts.values()), load.covariance, rtol=1e-9, atol=1e-15)
    assert set(load.limits) == {"noise", "arm", "friction", "gains"}
    np.testing.assert_allclose(sum(load.limits.values()), 100.0)
    assert all(share > 0.0 for share in load.limits.values())


def test_uncertain_scales_make_an_exact_load_uncertain() -> None:
    noise = statistics(white=0.01, slow=0.0, memory=1.0)
    one, two = weighed(3, noise), weighed(3, noise, 0.02)
    # Independent errors of 2 % a joint: between what one of four would do, and all of them together.
    assert two.mass_std > 2.0 * one.mass_std
    assert 0.005 < two.mass_std / MASS < 0.08


def test_directions_of_the_scales_add_up_to_the_base_parameters(rng: np.random.Generator) -> None:
    quiet = statistics(white=1e-6, slow=0.0, memory=1.0)
    empty = samples(0, rng, quiet, np.ones(N_DOF), loaded=False)
    regression = compress(SampleRows(MODEL, BASE, (empty,)))
    arm = WLS().fit(regression)
    directions = gain_directions(regression, arm.beta, arm.weights)
    np.testing.assert_allclose(directions.sum(axis=0), arm.beta, rtol=1e-6, atol=1e-9)


def test_whitened_rows_are_those_of_generalised_least_squares(rng: np.random.Generator) -> None:
    colour = RowColour(np.array([0.3]), np.array([1.0]), np.array([0.9]))
    k = np.arange(80)
    C = 0.3 * np.eye(80) + 0.9 ** np.abs(k[:, None] - k)
    Y = rng.standard_normal((80, 4))
    W = colour.whitened(0, Y)
    np.testing.assert_allclose(W.T @ W, Y.T @ np.linalg.solve(C, Y), rtol=1e-6)
    np.testing.assert_allclose(colour.summed(0, Y), Y.T @ C @ Y, rtol=1e-9)


def test_load_and_parts_of_its_covariance_are_those_of_generalised_least_squares(rng: np.random.Generator) -> None:
    # Logs far quieter than what is known of their noise, so that no residual shows more of it.
    quiet, noise = statistics(white=1e-3, slow=0.0, memory=1.0), statistics(white=0.5, slow=0.2, memory=1.0, drift=0.05)
    empty, loaded = (samples(k, rng, quiet, np.ones(N_DOF), loaded=k == 1) for k in (0, 1))
    regression = compress(SampleRows(MODEL, BASE, (empty,)))
    arm = WLS().fit(regression)
    n, directions = BASE.n_base, gain_directions(regression, arm.beta, arm.weights)
    known = KnownArm(arm.beta, coloured_estimate(arm, regression, (empty,), noise).uncertainty.covariance, directions)
    scales = np.diag([4e-4, 1e-4, 9e-4, 4e-4])
    rows = loaded_regression(MODEL, BASE, (loaded,), noise=noise)
    found = LoadProblem(rows, None, known, _drift_root(BASE, noise, 1.0), scales).solved()
    wide = []
    for factor, columns in zip(rows.joints, rows.visible, strict=True):
        Y = np.zeros((len(factor.rho), n + 10))
        Y[:, columns] = factor.R
        wide.append(Y)
    drift = base_drift(BASE, noise.drift)
    # β of this run is what is known of β and its drift.
    P = np.zeros((n + 10, n + 10))
    P[:n, :n] = np.linalg.inv(known.covariance + drift)
    G = np.linalg.inv(P + sum(Y.T @ Y for Y in wide))

    def solved(torques: list[Array], beta: Array) -> Array:
        right = sum(Y.T @ tau for Y, tau in zip(wide, torques, strict=True)) + P[:, :n] @ beta
        return np.asarray(G @ right)

    z = solved([factor.rho for factor in rows.joints], known.beta)
    np.testing.assert_allclose(found.load, z[n:], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.beta + found.deviation, z[:n], rtol=1e-5, atol=1e-6)
    # Each joint's torques a little larger, and with them the arm that was fitted to them.
    silent = [np.zeros(len(Y)) for Y in wide]
    per_scale = [solved([*silent[:j], wide[j] @ z, *silent[j + 1 :]], directions[j])[n:] for j in range(N_DOF)]
    gain = G[n:] @ P[:, :n]
    expected = {
        "noise": G[n:] @ sum(Y.T @ Y for Y in wide) @ G[:, n:],
        "arm": gain @ known.covariance @ gain.T,
        "friction": gain @ drift @ gain.T,
        "gains": np.transpose(per_scale) @ scales @ per_scale,
    }
    for name, part in expected.items():
        np.testing.assert_allclose(found.parts[name], part, rtol=1e-4, atol=1e-6 * np.abs(part).max(), err_msg=name)
    np.testing.assert_allclose(found.covariance, sum(expected.values()), rtol=1e-4, atol=1e-8)
    # All else projected out, the triangular problem of the load has the same answer and information.
    np.testing.assert_allclose(np.linalg.solve(found.R, found.rho), found.load, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(np.linalg.inv(found.R.T @ found.R), G[n:, n:], rtol=1e-4, atol=1e-8)


def test_whitened_rows_keep_their_blocks(rng: np.random.Generator) -> None:
    colour = RowColour(np.array([0.3, 1.0]), np.array([1.0, 0.2]), np.array([0.9, 0.5]))
    lengths, widths = (7, 3, 12, 5), (4, 2)
    blocks = [tuple(JointRows(rng.standard_normal((n, w)), rng.standard_normal(n)) for w in widths) for n in lengths]
    found = _whitened(blocks, colour)
    assert [[len(rows.tau) for rows in block] for block in found] == [[n, n] for n in lengths]
    for j in range(2):
        whole = np.vstack([np.column_stack([block[j].Y, block[j].tau]) for block in blocks])
        again = np.vstack([np.column_stack([block[j].Y, block[j].tau]) for block in found])
        np.testing.assert_allclose(again, colour.whitened(j, whole))


def test_slow_noise_and_drift_widen_what_independent_rows_would_give(rng: np.random.Generator) -> None:
    noise = statistics(white=0.1, slow=0.5, memory=2.0)
    empty = samples(0, rng, noise, np.ones(N_DOF), loaded=False)
    regression = compress(SampleRows(MODEL, BASE, (empty,)))
    arm = WLS().fit(regression)
    sure = coloured_estimate(arm, regression, (empty,), noise)
    assert np.all(sure.std > arm.uncertainty.white_std)
    drifting = coloured_estimate(arm, regression, (empty,), replace(noise, drift=0.09 * np.eye(len(noise.drift))))
    friction = [k for k, symbol in enumerate(BASE.leading) if symbol.startswith("fc")]
    np.testing.assert_allclose(drifting.std[friction] ** 2 - sure.std[friction] ** 2, 0.03, rtol=1e-6)
