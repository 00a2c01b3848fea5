from dataclasses import replace

import numpy as np
import pytest

from dynid import Motion, load_robot
from dynid.recording import Conditioning
from dynid.regression import OLS, Feasible, SampleRows, compress, unexcited
from dynid.regression.uncertainty import Uncertainty
from tests.regression.logs import truth


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(2)
    case = truth(load_robot("planar2r"), rng, duration=15.0)
    recording = case.recording(rng, 0.01)
    samples = Conditioning(cutoff_hz=20.0).plan(recording).apply(recording)
    return compress(SampleRows(case.model, case.base, (samples,)))


def with_covariance(estimate, covariance):
    n_base, n_dof = len(covariance), estimate.model.n_dof
    said = Uncertainty(covariance, np.ones(n_base), np.ones(n_dof), np.ones(n_dof))
    return replace(estimate, beta=np.ones(n_base), uncertainty=said)


def test_origins_tell_identified_from_combined_from_noise_from_unseen(regression):
    estimate = OLS().fit(regression)
    n_base = len(estimate.beta)
    covariance = np.diag(np.full(n_base, 0.01**2))
    covariance[0, 0] = covariance[1, 1] = 1.0
    covariance[0, 1] = covariance[1, 0] = 0.999  # either is known to 4.5 % once the other is
    covariance[2, 2] = 1.0
    covariance[3, 3] = np.inf
    said = with_covariance(estimate, covariance)
    assert said.origins[:5] == ("combination", "combination", "unreliable", "open", "identified")
    assert said.trust[:5] == ("unreliable", "unreliable", "unreliable", "unseen", "identified")


def test_full_parameters_that_show_by_themselves_share_the_word_and_the_deviation_of_their_coefficient(regression):
    estimate = Feasible().fit(regression)
    alone = set(estimate.base.alone)
    assert alone
    for k, symbol in enumerate(estimate.base.symbols):
        if symbol in alone:
            row = estimate.base.leading.index(symbol)
            assert estimate.full_origins[k] == estimate.origins[row]
            assert estimate.full_std[k] == estimate.std[row]
        else:
            assert estimate.full_origins[k] == estimate.labels[k]
            assert np.isnan(estimate.full_std[k])


def test_a_coefficient_made_of_bounded_parameters_only_is_at_a_bound(regression):
    estimate = Feasible().fit(regression)
    place = estimate.base.leading.index(estimate.base.alone[0])
    labels = ["identified"] * len(estimate.labels)
    labels[estimate.base.symbols.index(estimate.base.alone[0])] = "bound"
    said = replace(estimate, labels=tuple(labels)).origins
    assert said[place] == "bound"
    assert said.count("bound") == 1


def test_a_silent_direction_is_chosen_by_the_prior_where_there_is_one(regression):
    estimate = Feasible().fit(regression)
    covariance = np.diag(np.full(len(estimate.beta), 0.01**2))
    covariance[0, 0] = np.inf
    assert with_covariance(estimate, covariance).origins[0] == "prior"


@pytest.mark.parametrize("estimator", [OLS(), Feasible()], ids=lambda e: type(e).__name__)
def test_coefficients_of_a_joint_that_stands_still_are_never_called_identified(estimator):
    rng = np.random.default_rng(1)
    case = truth(load_robot("spatial2r"), rng, duration=10.0)
    still = np.array([1.0, 0.0])
    motion = Motion(case.motion.t, case.motion.q * still, case.motion.dq * still, case.motion.ddq * still)
    moved = replace(case, motion=motion, tau=case.model.torque(motion, case.theta))
    recording = moved.recording(rng, 0.01)
    samples = Conditioning(cutoff_hz=20.0).plan(recording).apply(recording)
    regression = compress(SampleRows(case.model, case.base, (samples,)))
    estimate = estimator.fit(regression)
    hidden = unexcited(regression)
    assert {"fv2", "fc2", "J2zz"} <= set(hidden)
    words = dict(zip(case.base.leading, estimate.trust, strict=True))
    assert {words[symbol] for symbol in hidden} == {"unseen"}
    assert words["fv1"] == "identified"
