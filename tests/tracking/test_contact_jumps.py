"""Jumps of the external torque, the link in contact, and noise that follows the innovations, against plain algebra."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from dynid.tracking import Sample
from dynid.tracking.contact_bands import SPARED, touched_link
from dynid.tracking.contact_force import contact_torque, link_lengths, point_jacobian
from dynid.tracking.contact_jumps import explained
from dynid.tracking.load_noise import sweep_friction
from tests.tracking.test_contact import PANDA, flange_jacobian
from tests.tracking.test_load import NOISE, moving, noisy, still, torque, watch


def test_what_a_force_explains_is_the_generalised_least_squares_fit():
    rng = np.random.default_rng(0)
    H, r, band, prior = rng.standard_normal((7, 3)), rng.standard_normal(7), rng.uniform(0.5, 2.0, 7), np.full(3, 4.0)
    fit, log_det, first = explained(r, band, H, prior, np.zeros((3, 4)))
    P = np.diag(band**2) + H @ np.diag(prior**2) @ H.T
    assert fit == pytest.approx(r @ (r / band**2) - r @ np.linalg.solve(P, r))
    assert log_det == pytest.approx(np.linalg.slogdet(P)[1] - np.sum(np.log(band**2)))
    assert first == pytest.approx((np.diag(prior**2) @ H.T @ np.linalg.solve(P, r))[0])


def test_the_rows_of_a_force_are_the_jacobian_of_the_flange():
    watcher, motion = watch().start(), moving(0.1, 2)
    for k in range(motion.n_samples):
        watcher.hear(Sample(motion.t[k], motion.q[k], motion.dq[k], None, np.zeros(7)))
    J, wanted = watcher.contact.jumps.J, point_jacobian(PANDA.robot, motion.q[-1], 6)
    np.testing.assert_allclose(J @ J.T, wanted.T @ wanted, atol=1e-12)  # the axes are those of the load frame


def test_the_link_in_contact_is_the_likeliest_one():
    rng, band = np.random.default_rng(1), np.full(7, 0.5)
    sizes, lengths = contact_torque(PANDA.robot), link_lengths(PANDA.robot)
    known = SimpleNamespace(link_touch=sizes, link_prior=np.log(lengths))
    for _ in range(20):
        r = 5.0 * rng.standard_normal(7) * (np.arange(7) <= rng.integers(7))
        free = band**2
        spared, scores = stats.norm.pdf(r, 0.0, np.sqrt(free)), []
        for i in range(7):
            turned = stats.norm.pdf(r, 0.0, np.sqrt(free + sizes[i] ** 2))
            likelihood = np.where(np.arange(7) <= i, SPARED * spared + (1.0 - SPARED) * turned, spared)
            scores.append(lengths[i] * np.prod(likelihood))
        assert touched_link.py_func(known, r, band) == np.argmax(scores)


def test_friction_that_turns_round_has_all_of_its_variance_once():
    c = SimpleNamespace(standstill_speed=np.array([0.1]), standstill=np.array([3.0]))
    for path in (np.linspace(-0.5, 0.5, 7), np.linspace(0.3, -0.3, 101), np.array([-1.0, 1.0])):
        s, m, total = SimpleNamespace(speed=np.full(1, np.nan)), SimpleNamespace(swept=np.zeros(1)), 0.0
        for dq in path:
            sweep_friction.py_func(c, s, m, np.array([dq]))
            total += m.swept[0]
        assert total == pytest.approx(9.0)


@pytest.mark.parametrize("motion", [still(4.0), moving(4.0, 7)], ids=["still", "moving"])
def test_ten_newtons_sideways_are_called_within_sixty_milliseconds(motion):
    tau = torque(motion, np.zeros(motion.n_samples))
    for i in np.flatnonzero((motion.t >= 3.0) & (motion.t < 3.5)):
        share = min(1.0, (motion.t[i] - 3.0) / 0.02)
        tau[i] -= share * flange_jacobian(motion.q[i]).T @ np.array([0.0, 10.0, 0.0])
    watcher, measured, events = watch().start(), noisy(tau, 3), []
    for k in range(motion.n_samples):
        events += watcher.step(Sample(motion.t[k], motion.q[k], motion.dq[k], motion.ddq[k], measured[k]))
    assert [event.kind for event in events[:2]] == ["initial load", "contact"]
    assert 0.0 < events[1].t - 3.0 <= 0.06
    assert {event.kind for event in events} <= {"initial load", "contact", "contact over"}


def test_errors_that_are_alike_from_sample_to_sample_keep_the_nis_in_its_band_and_the_mass_unsure():
    motion = moving(8.0, 3)
    tau = torque(motion, np.zeros(motion.n_samples))
    smooth = np.sin(2.0 * np.pi * (0.7 * motion.t[:, None] + np.arange(7) / 7.0))
    both = []
    for measured in (noisy(tau, 1), tau + 0.3 * NOISE * smooth):
        watcher, found = watch().start(), []
        for k in range(motion.n_samples):
            watcher.step(Sample(motion.t[k], motion.q[k], motion.dq[k], motion.ddq[k], measured[k]))
            found.append(watcher.nis)
        both.append((watcher, np.array(found)[400:]))  # two seconds to learn how small innovations are
    (usual, _), (alike, nis) = both
    low, high = alike.band
    assert np.mean((nis >= low) & (nis <= high)) > 0.85
    assert 0.7 < np.mean(nis) / 7.0 < 1.5
    # Successive samples say the same: the mass is not known better than the noise of the model allows.
    assert alike.estimate.mass_std > 0.3 * usual.estimate.mass_std
