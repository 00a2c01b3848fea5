"""Jumps of the external torque, the link in contact, and noise that follows the innovations, against plain algebra."""

from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from scipy import stats

from dynid.tracking import Sample
from dynid.tracking.contact_force import (
    COUPLINGS,
    PASSING,
    POINTS,
    RADIUS,
    SIZES,
    TOUCH_FORCE,
    UNTURNED,
    contact_link,
    contact_torque,
    link_lengths,
    point_jacobian,
)
from dynid.tracking.contact_jumps import (
    CALM,
    JUMP_TAILS,
    LONG_WINDOW,
    SIZE,
    WINDOW,
    explained,
    forget_jumps,
    jump_state,
    jump_watches,
    keep_calm,
    watch_jumps,
)
from dynid.tracking.load_noise import sweep_friction
from dynid.tracking.rows import work_for
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


def marginal_likelihoods(robot, M, q, r, band):
    """Of every link: plain sums over points, sizes, planes and couplings, weighted by length."""
    n, scores = robot.n_dof, []
    arms = contact_torque(robot) / (0.5 * TOUCH_FORCE)
    least = np.max(np.abs(r) / arms)
    for link in range(n):
        total, near, far = 0.0, far_end(robot, q, link - 1), far_end(robot, q, link)
        around = np.diag(RADIUS**2 * (np.arange(n) <= link))
        for share in POINTS:
            J = carried(robot, q, link, near + share * (far - near))
            joints = [j for j in range(n) if np.linalg.norm(J[:, j]) > UNTURNED]
            across = [np.eye(3) - np.outer(J[:, j], J[:, j]) / (J[:, j] @ J[:, j]) for j in joints]
            weights = [1.0 - PASSING, *[PASSING / len(joints)] * len(joints)] if joints else [1.0]
            for plane, weight in zip([np.eye(3), *across], weights, strict=True):
                for kappa in COUPLINGS:
                    A = np.eye(n) + kappa * (M / np.diag(M) - np.eye(n))
                    for size in SIZES:
                        C = np.diag(band**2) + (least * size) ** 2 * A @ (J.T @ plane @ J + around) @ A.T
                        total += weight * stats.multivariate_normal.pdf(r, np.zeros(n), C)
        scores.append(total * link_lengths(robot)[link])
    return scores


def placements(robot, q):
    data = robot.pinocchio.createData()
    pin.forwardKinematics(robot.pinocchio, data, q)
    return data.oMi[1:]


def far_end(robot, q, link):
    """Where the next joint sits, m in base axes; of the last link, its frame."""
    return placements(robot, q)[min(link + 1, robot.n_dof - 1)].translation


def carried(robot, q, link, point):
    """Velocity of a point of a link per joint velocity: the axes of the Panda are z of its joints."""
    J = np.zeros((3, robot.n_dof))
    for j, place in enumerate(placements(robot, q)[: link + 1]):
        J[:, j] = np.cross(place.rotation[:, 2], point - place.translation)
    return J


def inertia_matrix(robot, q):
    data = robot.pinocchio.createData()
    pin.crba(robot.pinocchio, data, q)
    return np.triu(data.M) + np.triu(data.M, 1).T


def test_the_link_in_contact_has_the_largest_marginal_likelihood():
    rng, band, robot = np.random.default_rng(1), np.full(7, 0.5), PANDA.robot
    for _ in range(10):
        q = rng.uniform(-1.0, 1.0, 7) + np.array([0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0])
        r = 5.0 * rng.standard_normal(7) * (np.arange(7) <= rng.integers(7))
        M = inertia_matrix(robot, q)
        assert contact_link(robot, M, q, r, band) == np.argmax(marginal_likelihoods(robot, M, q, r, band))


def test_the_link_in_contact_is_told_from_its_neighbours_in_most_cases():
    rng, robot, right, near = np.random.default_rng(2), PANDA.robot, 0, 0
    band, lengths = np.full(7, 0.2), link_lengths(PANDA.robot)
    links = rng.choice(7, 60, p=lengths / lengths.sum())
    for link in map(int, links):
        q = rng.uniform(-1.0, 1.0, 7) + np.array([0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0])
        place, following = far_end(robot, q, link - 1), far_end(robot, q, link)
        point = place + rng.uniform(0.3, 1.0) * (following - place) + 0.03 * rng.standard_normal(3)
        r = carried(robot, q, link, point).T @ (20.0 * rng.standard_normal(3)) + band * rng.standard_normal(7)
        found = contact_link(robot, inertia_matrix(robot, q), q, r, band)
        right, near = right + (found == link), near + (abs(found - link) <= 1)
    assert right >= 0.6 * len(links)  # chance is a seventh; the wrist's links and the first turn the same joints
    assert near >= 0.85 * len(links)


def test_the_answer_of_a_coupled_joint_to_a_knock_is_no_contact_beyond_it():
    robot, band = PANDA.robot, np.full(7, 0.3)
    q = np.array([0.3, 0.4, 0.1, -1.5, 0.2, 1.5, 0.3])
    M = inertia_matrix(robot, q)
    near, far = far_end(robot, q, 0), far_end(robot, q, 1)
    torque = carried(robot, q, 1, 0.5 * (near + far)).T @ np.array([60.0, 30.0, 0.0])
    answer = (M / np.diag(M) - np.eye(7)) @ torque
    assert np.max(np.abs(answer[2:]) / band[2:]) > 3.0  # taken for a contact, it would be beyond the second link
    assert contact_link(robot, M, q, torque, band) == 1
    assert contact_link(robot, M, q, torque + answer, band) == 1
    assert contact_link(robot, M, q, torque - answer, band) == 1


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


def jumping(u, *, period=0.01, torque=None, steps=(), spans=None, forgotten=(), small=False):
    """Statistic and band after every sample of external torque (N·m) at a still arm, and the state at the end."""
    n = u.shape[1]
    noise = np.full(n, 1.0), np.full(n, 0.1), np.full(n, 0.2)
    k = jump_watches(*noise, period=period, force=50.0, gaussian=28.0)[small]
    o, zeros, rows = jump_state(k), np.zeros(n), watch().constants.rows
    E = work_for(rows, len(watch().constants.theta)).E
    for i in range(rows.parent.shape[0]):  # every frame of the chain a bit off the one before
        E[i] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.1, 0.2, 0.3]
    found = []
    for i in range(len(u)):
        tau, dt = zeros if torque is None else torque[i], period if spans is None else spans[i]
        if i in forgotten:
            forget_jumps(o)
        found.append(watch_jumps(k, o, rows, E, dt, u[i] * dt, tau - u[i], zeros, zeros, zeros, i in steps))
    return np.array(found), o


def test_a_jump_is_the_mean_of_the_window_less_what_was_before():
    u = np.full((200, 7), 0.7)  # an error of the model that is always there is no jump
    u[100:] += 0.5
    _, o = jumping(u[:150])
    settled, o_settled = jumping(u[:100])
    np.testing.assert_allclose(o_settled.value[0], 0.0, atol=1e-12)
    assert settled[-1] == pytest.approx(0.0, abs=1e-20)
    _, after = jumping(u[:105], steps=range(100, 105))
    np.testing.assert_allclose(after.value[0], 0.5, rtol=0.01)  # five samples are all of the window
    assert np.all(np.abs(o.value[0]) < 0.25)  # half a second later the average has followed


def test_one_wild_sample_is_no_jump_but_a_step_is():
    rng = np.random.default_rng(0)
    u = rng.standard_normal((1200, 7))
    wild, step = u.copy(), u.copy()
    wild[1100] += 40.0
    step[1100:] += 4.0
    (free, _), (once, _), (stays, _) = jumping(u), jumping(wild), jumping(step)
    threshold = JUMP_TAILS * 28.0
    assert np.max(free[100:]) < threshold
    assert np.max(once[1100:1110]) < threshold
    assert np.max(stays[1100:1106]) > threshold  # within 60 ms


def test_the_band_learns_noise_and_the_share_of_a_change_of_torque():
    rng, t = np.random.default_rng(0), 0.01 * np.arange(6000)
    torque = 20.0 * np.sin(2.0 * np.pi * 1.5 * t)[:, None] * np.ones(7)
    drift = 0.08 * torque * np.sign(np.sin(2.0 * np.pi * 0.11 * t))[:, None]
    _, o = jumping(0.5 * rng.standard_normal((6000, 7)) + drift, torque=torque)
    np.testing.assert_allclose(np.sqrt(o.usual[1]), 0.08, rtol=0.35)  # ten seconds of a band of 1.5 Hz
    white = 0.5 * np.sqrt(0.01 / WINDOW)
    assert np.all(np.sqrt(o.usual[0]) < 3.0 * white)
    assert np.all(np.sqrt(o.usual[0]) > 0.5 * white)


def test_a_step_that_the_noise_of_the_quick_watch_hides_is_seen_by_the_other():
    rng, threshold = np.random.default_rng(4), JUMP_TAILS * 28.0
    free = rng.standard_normal((3000, 7))
    pushed = free + 0.9 * (np.arange(3000) >= 2500)[:, None]
    (quick, _), (small, _) = jumping(pushed), jumping(pushed, small=True)
    assert np.max(quick) < threshold
    assert np.max(jumping(free, small=True)[0]) < threshold
    late = np.argmax(small > threshold) - 2500
    assert 0 < late <= LONG_WINDOW / 0.01


def test_noise_of_velocities_after_a_gap_is_no_jump():
    """The average before the window is one of few samples then, and the noise of a velocity is an impulse."""
    rng, period = np.random.default_rng(3), 0.001
    u = np.diff(0.02 * rng.standard_normal((6001, 7)), axis=0) / period
    found, _ = jumping(u, period=period, forgotten=range(2500, 6000, 500))
    assert np.max(found[2000:]) < JUMP_TAILS * 28.0  # two seconds to learn that noise


def test_a_wild_velocity_counts_no_further_where_the_sample_before_was_lost():
    rng, period = np.random.default_rng(0), 0.01
    impulses = period * rng.standard_normal((1200, 7))
    impulses[1100] += 40.0 * period
    spans = np.full(1200, period)
    found = []
    for lost in (1.0, 2.0, 3.0):
        spans[1100] = lost * period
        size, _ = jumping(impulses / spans[:, None], spans=spans)
        found.append(np.max(size[1100:1110]))
    assert np.max(found) < JUMP_TAILS * 28.0


def test_the_time_of_lost_samples_is_no_rise():
    k, _ = jump_watches(np.ones(7), np.ones(7), np.ones(7), period=0.01, force=50.0, gaussian=28.0)
    o = jump_state(k)
    for t, dt, size, calm in ((1.0, 0.01, 3.0, 1.0), (1.01, 0.01, 20.0, 1.0), (1.05, 0.04, 60.0, 1.03)):
        o.numbers[SIZE] = size
        keep_calm(k, o, t, dt, 12.0)
        assert o.numbers[CALM] == pytest.approx(calm)
