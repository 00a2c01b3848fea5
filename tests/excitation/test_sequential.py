"""What is known, what a run adds, and whether it is enough."""

import numpy as np
import pytest

from dynid.chain import load_robot
from dynid.dynamics import TorqueModel, base_parameters, friction_models
from dynid.errors import ExcitationError
from dynid.excitation import (
    ConditionNumber,
    FourierBasis,
    Information,
    assess,
    design_excitation,
    random_fourier,
    sufficiency,
)

NOISE = np.array([0.8, 0.9, 0.5, 0.5, 0.2, 0.15, 0.1])
"""Of the Panda's torque sensors, about, N·m."""


@pytest.fixture(scope="module")
def panda() -> TorqueModel:
    return TorqueModel(load_robot("panda"), friction_models("viscous+coulomb+offset"))


@pytest.fixture(scope="module")
def motion(panda):
    return random_fourier(panda.robot, basis=FourierBasis(5, 0.1), seed=3).trajectory.motion(100.0)


def test_predicted_deviations_match_the_spread_of_200_simulated_repetitions(panda, motion, rng):
    base = base_parameters(panda)
    predicted = Information.of(panda, motion, noise_std=NOISE, base=base).std
    rows = base.reduce(panda.regressor(motion))
    whitened = (rows / NOISE[:, None]).reshape(-1, base.n_base)
    true = base.project(panda.nominal())
    tau = rows @ true
    fits = []
    for _ in range(200):
        measured = tau + NOISE * rng.normal(size=tau.shape)
        fits.append(np.linalg.lstsq(whitened, (measured / NOISE).ravel(), rcond=None)[0])
    spread = np.std(fits, axis=0, ddof=1)
    # The spread of 200 draws is itself uncertain by 5 %: 15 % is three of its standard deviations.
    np.testing.assert_allclose(predicted, spread, rtol=0.15)
    np.testing.assert_allclose(np.mean(fits, axis=0), true, atol=5 * predicted.max() / np.sqrt(200))


def test_four_times_as_long_halves_the_deviation(panda, motion):
    run = Information.of(panda, motion, noise_std=NOISE)
    assert run.seconds == pytest.approx(motion.t[-1], abs=0.02)
    answer = sufficiency(None, run, 0.5 * run.std)
    assert answer.seconds == pytest.approx(4.0 * run.seconds, rel=1e-4)
    assert not answer.enough
    assert np.all(np.isinf(answer.now))
    np.testing.assert_allclose(answer.after, run.std)
    later = sufficiency(run.repeated(4.0), run, 0.5 * run.std * (1 + 1e-9))
    assert later.enough
    assert later.seconds == 0.0
    np.testing.assert_allclose(run.repeated(4.0).std, 0.5 * run.std)


def test_what_a_motion_never_shows_is_infinitely_uncertain(panda, motion):
    still = motion.part(0, 1)
    nothing = Information.of(panda, still, noise_std=NOISE)
    assert np.isinf(nothing.std).sum() > 40
    answer = sufficiency(None, Information(nothing.labels, nothing.matrix, 1.0), 1e-3)
    assert answer.seconds == np.inf
    assert answer.limiting in nothing.labels


def test_the_next_trajectory_adds_more_than_a_repetition(panda, motion):
    base = base_parameters(panda)
    known = Information.of(panda, motion, noise_std=NOISE, base=base)
    n_samples = 1000.0
    criterion = known.criterion(noise_std=NOISE, n_samples=n_samples)
    found = design_excitation(panda, criterion=criterion, base=base, restarts=1, max_iterations=80)
    new = Information.of(panda, found.trajectory.motion(100.0), noise_std=NOISE, base=base)

    def volume(information: Information) -> float:
        return float(np.linalg.slogdet(information.matrix)[1])

    again = known + known.repeated(new.seconds / known.seconds)
    assert volume(known + new) > volume(again) + 10.0
    assert np.all((known + new).std <= known.std)


def test_any_motion_can_be_assessed(panda, motion):
    report = assess(panda, motion, noise_std=NOISE)
    G = Information.of(panda, motion, noise_std=np.ones(7)).matrix
    assert report.condition_number == pytest.approx(ConditionNumber().exact(G), rel=1e-6)
    assert report.scaled_condition_number == pytest.approx(ConditionNumber(scaled=True).exact(G), rel=1e-6)
    weighted = Information.of(panda, motion, noise_std=NOISE).matrix
    assert report.log_det == pytest.approx(np.linalg.slogdet(weighted)[1], rel=1e-9)
    too_short = assess(panda, motion.part(0, 5))
    assert too_short.condition_number == np.inf
    assert too_short.log_det == -np.inf


def test_bad_questions_are_refused(panda, motion):
    run = Information.of(panda, motion, noise_std=NOISE)
    with pytest.raises(ExcitationError, match="a wanted standard deviation must be positive"):
        sufficiency(None, run, 0.0)
    with pytest.raises(ExcitationError, match="the run has no duration"):
        sufficiency(None, Information(run.labels, run.matrix), 1.0)
    with pytest.raises(ExcitationError, match="different base parameters"):
        run + Information(("a",), np.eye(1), 1.0)
    with pytest.raises(ExcitationError, match="finite 1 × 1 matrix"):
        Information(("a",), np.eye(2))
    with pytest.raises(ExcitationError, match="noise of 3 joints given, but there are 7"):
        assess(panda, motion, noise_std=np.ones(3))
    with pytest.raises(ExcitationError, match="must be positive for every joint"):
        assess(panda, motion, noise_std=0.0)
