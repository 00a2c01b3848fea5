"""Statistics of held-out residuals recover what was put into simulated runs."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from dynid import TorqueModel, base_parameters, load_robot
from dynid.arrays import Array
from dynid.dynamics import friction_models
from dynid.recording import Conditioning, Recording, Samples
from dynid.regression import WLS, ResidualStatistics, SampleRows, compress, left_out_runs
from dynid.regression.noise_colour import noise_colour
from dynid.regression.residuals import ONE_LOG
from dynid.validation.left_out import left_out_error
from tests.regression.logs import FRICTION, exciting_motion

RATE_HZ = 100.0


def slow_noise(rng: np.random.Generator, n_samples: int, memory: float, std: float) -> Array:
    """An Ornstein–Uhlenbeck process at its stationary spread."""
    decay = np.exp(-1.0 / (memory * RATE_HZ))
    white = rng.standard_normal(n_samples + int(10 * memory * RATE_HZ))
    return lfilter([std * np.sqrt(1.0 - decay**2)], [1.0, -decay], white)[-n_samples:]


def runs_of(rng: np.random.Generator, n_runs: int, *, drift: float = 0.0, slow: float = 0.0) -> list[Samples]:
    """Runs of the two-joint arm with white noise of 0.2 N·m whose friction is scaled anew in each run and joint."""
    robot = load_robot("planar2r")
    model = TorqueModel(robot, friction_models(FRICTION))
    theta = model.nominal()
    found = []
    for _ in range(n_runs):
        own = np.array(theta)
        friction = own[model.n_inertial :].reshape(model.n_dof, -1)
        friction[:] = np.array([1.0, 2.0, 0.0]) * (1.0 + drift * rng.standard_normal((model.n_dof, 1)))
        motion = exciting_motion(robot, rng, duration=40.0, rate_hz=RATE_HZ)
        tau = model.torque(motion, own) + 0.2 * rng.standard_normal((motion.n_samples, 2))
        if slow:
            tau += np.column_stack([slow_noise(rng, motion.n_samples, 1.0, slow) for _ in range(2)])
        recording = Recording(robot.joint_names, motion.t, motion.q, motion.dq, tau=tau)
        found.append(Conditioning().plan(recording).apply(recording))
    return found


def statistics(runs: list[Samples]) -> ResidualStatistics:
    model = TorqueModel(load_robot("planar2r"), friction_models(FRICTION))
    base = base_parameters(model)
    estimate = WLS().fit(compress(SampleRows(model, base, tuple(runs))))
    found = left_out_runs(model, base, runs, WLS().fit, estimate)
    assert found is not None
    return found.statistics


@pytest.mark.parametrize(("memory", "white", "slow"), [(2.0, 0.5, 1.0), (0.5, 1.0, 1.0)])
def test_the_memory_of_noise_is_found(memory: float, white: float, slow: float, rng: np.random.Generator) -> None:
    pieces = [
        np.column_stack([slow_noise(rng, 6000, memory, slow) + white * rng.standard_normal(6000) for _ in range(3)])
        for _ in range(4)
    ]
    found = noise_colour(pieces, RATE_HZ, 10.0)
    # 240 s hold some 60 to 240 memories: a spread of 10 to 15 % is expected, and three joints are averaged.
    np.testing.assert_allclose(np.mean(found.memory), memory, rtol=0.4)
    np.testing.assert_allclose(np.mean(found.slow_std), slow, rtol=0.2)
    np.testing.assert_allclose(np.mean(found.white_std), white, rtol=0.15)


def test_noise_without_memory_has_hardly_a_slow_part(rng: np.random.Generator) -> None:
    found = noise_colour([rng.standard_normal((6000, 3)) for _ in range(3)], RATE_HZ, 10.0)
    assert np.all(found.slow_std < 0.15)
    np.testing.assert_allclose(found.white_std, 1.0, rtol=0.05)


def test_friction_that_drifts_is_found_between_runs(rng: np.random.Generator) -> None:
    drifting = statistics(runs_of(rng, 8, drift=0.2))
    steady = statistics(runs_of(rng, 8))
    # Coulomb friction of 2 N·m: 20 % are 0.4 N·m; the prior of 5 % counts as four runs beside the eight.
    coulomb = np.sqrt(np.diag(drifting.drift))[[1, 4]]
    assert np.all((coulomb > 0.15) & (coulomb < 0.6))
    assert np.all(np.sqrt(np.diag(steady.drift))[[1, 4]] < 0.08)
    assert drifting.source == "8 logs"
    assert drifting.statement == ""


def test_slow_noise_shows_in_the_statistics_of_runs(rng: np.random.Generator) -> None:
    found = statistics(runs_of(rng, 4, slow=0.5))
    np.testing.assert_allclose(found.slow_std, 0.5, rtol=0.35)
    np.testing.assert_allclose(found.memory, 1.0, rtol=0.6)
    np.testing.assert_allclose(found.white_std, 0.2, rtol=0.2)


def test_one_run_gives_segments_and_says_what_it_cannot_show(rng: np.random.Generator) -> None:
    found = statistics(runs_of(rng, 1))
    assert found.source == ONE_LOG
    assert "one run cannot show" in found.statement
    assert found.n_runs == 5


def test_rows_at_standstill_have_a_variance_of_their_own(rng: np.random.Generator) -> None:
    shaken = []
    for run in runs_of(rng, 3):
        segments = []
        for segment in run.segments:
            # Stiction pulls this way or that for as long as a joint hardly moves.
            held = np.abs(segment.motion.dq) < 0.03
            turn = np.cumsum(np.diff(held, axis=0, prepend=False) != 0, axis=0)
            pull = 2.0 * rng.standard_normal((int(np.max(turn)) + 1, 2))
            jerk = np.column_stack([pull[turn[:, j], j] for j in range(2)])
            segments.append(replace(segment, tau=segment.tau + np.where(held, jerk, 0.0)))
        shaken.append(replace(run, segments=tuple(segments)))
    found = statistics(shaken)
    assert np.all(found.standstill_std > 0.1)
    assert np.all(found.standstill_speed > 0.0)


def test_statistics_are_read_as_they_were_stored(rng: np.random.Generator) -> None:
    found = statistics(runs_of(rng, 2))
    n_base = found.gain_directions.shape[1]
    again = ResidualStatistics.restored(json.loads(json.dumps(found.stored())), 2, len(found.drift), n_base)
    assert again.stored() == found.stored()
    with pytest.raises(ValueError, match=r"residuals\.drift has shape"):
        ResidualStatistics.restored({**found.stored(), "drift": [1.0]}, 2, len(found.drift), n_base)


def test_the_error_of_left_out_segments_is_that_of_the_same_fits_of_the_compressed_rows(
    rng: np.random.Generator,
) -> None:
    (run,) = runs_of(rng, 1)
    model = TorqueModel(load_robot("planar2r"), friction_models(FRICTION))
    base = base_parameters(model)
    regression = compress(SampleRows(model, base, (run,)))
    found = left_out_runs(model, base, (run,), WLS().fit, WLS().fit(regression))
    expected = left_out_error(regression, WLS().fit)
    assert found is not None
    assert expected is not None
    np.testing.assert_allclose(found.error.relative_percent, expected.relative_percent, rtol=1e-9)  # rounding
    np.testing.assert_allclose(found.error.rmse, expected.rmse, rtol=1e-9)
