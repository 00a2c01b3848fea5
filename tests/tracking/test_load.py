"""Loads: the first load, pick, place, slow change, and contacts that must not be taken for them."""

import numpy as np
import pytest

from dynid.chain import InertialParameters, consistency
from dynid.dynamics import Motion
from dynid.errors import TrackingError
from dynid.tracking import KinematicFilter, LoadEstimate, LoadWatch, Sample, TorqueNoise, load_filter
from dynid.tracking.load_body import BARRIER, body_scratch, is_body, nearest_body, small_body
from tests.tracking.test_contact import PANDA, THETA, flange_jacobian, fourier

LOAD = InertialParameters.from_com(2.0, (0.01, 0.02, 0.12), np.diag([0.01, 0.012, 0.008]))
RATE = 200.0
POSTURE = np.array([0.0, 0.6, 0.0, -1.5, 0.0, 2.0, 0.0])
NOISE = np.array([0.1, 0.4, 0.1, 0.2, 0.05, 0.05, 0.02])


def watch(**changes):
    fields = {"model": PANDA, "theta": THETA, "noise": TorqueNoise.of_std(PANDA, THETA, NOISE), "rate_hz": RATE}
    return LoadWatch(**{**fields, **changes})


def torque(motion, share):
    """Torque with a share of the load at every sample."""
    Y = PANDA.regressor(motion)[:, :, 60:]
    return PANDA.torque(motion, THETA) + share[:, None] * (Y @ LOAD.pi)


def still(duration):
    t = np.arange(round(duration * RATE)) / RATE
    zeros = np.zeros((len(t), 7))
    return Motion(t, zeros + POSTURE, zeros, zeros)


def moving(duration, seed):
    return fourier(PANDA.robot, np.arange(round(duration * RATE)) / RATE, seed)


def noisy(tau, seed):
    """White noise and a slow error with the memory that the watch expects."""
    rng = np.random.default_rng(seed)
    noise = TorqueNoise.of_std(PANDA, THETA, NOISE)
    keep = np.exp(-1.0 / RATE / noise.memory)
    slow = noise.slow * rng.standard_normal(7)
    out = np.array(tau)
    for k in range(len(tau)):
        slow = keep * slow + noise.slow * np.sqrt(1.0 - keep**2) * rng.standard_normal(7)
        out[k] += slow + noise.white * rng.standard_normal(7)
    return out


def followed(motion, tau, seed=0, **changes):
    watcher = watch(**changes).start()
    measured = noisy(tau, seed)
    events, loads, nis = [], [], []
    for k in range(motion.n_samples):
        events += watcher.step(Sample(motion.t[k], motion.q[k], motion.dq[k], motion.ddq[k], measured[k]))
        loads.append(watcher.load)
        nis.append(watcher.nis)
    return watcher, events, np.array(loads), np.array(nis)


@pytest.mark.parametrize("motion", [still(8.0), moving(8.0, 5)], ids=["still", "moving"])
def test_pick_and_place_are_announced_in_time_with_the_right_mass(motion):
    share = ((motion.t >= 3.0) & (motion.t < 6.0)).astype(float)
    watcher, events, loads, _ = followed(motion, torque(motion, share))
    assert [event.kind for event in events] == ["initial load", "pick", "place"]
    assert 3.3 <= events[1].t < 4.5
    assert 6.3 <= events[2].t < 7.5
    assert 0.2 < events[1].delay < 1.5
    assert events[1].reaction == "set load"
    assert abs(watcher.estimate.mass) < 0.15
    late = (motion.t > 5.5) & (motion.t < 6.0)
    if motion.dq.any():  # at rest one pose does not tell mass from lever
        np.testing.assert_allclose(loads[late, 0], 2.0, rtol=0.1)


def test_a_change_as_it_comes_does_not_make_a_sound_filter_look_over_confident():
    motion = moving(8.0, 5)
    share = ((motion.t >= 3.0) & (motion.t < 6.0)).astype(float)
    watcher, events, _, nis = followed(motion, torque(motion, share))
    assert [event.kind for event in events] == ["initial load", "pick", "place"]
    assert np.mean(nis) > 1.5 * 7.0  # what nobody could have known counts in full here
    assert watcher.health.nis_mean < 1.2 * 7.0
    assert watcher.health.n_absorbed == motion.n_samples
    assert not any("over-confident" in sentence for sentence in watcher.health.sentences)


def test_what_accelerations_see_ahead_of_a_push_does_not_make_a_sound_filter_look_over_confident():
    motion, step = moving(8.0, 5), 1.0 / RATE
    pushed = np.where((motion.t >= 4.0) & (motion.t < 4.2), 6.0, 0.0) - np.where(
        (motion.t >= 4.2) & (motion.t < 4.4), 6.0, 0.0
    )
    speed = np.concatenate([[0.0], np.cumsum(pushed)[:-1] * step])
    place = np.concatenate([[0.0], np.cumsum(speed)[:-1] * step]) + 0.5 * step**2 * pushed
    q, dq = motion.q + place[:, None], motion.dq + speed[:, None]
    tau = noisy(PANDA.torque(Motion(motion.t, q, dq, motion.ddq), THETA), 3)
    watcher, window = watch().start(), KinematicFilter(half_samples=20).start(7)
    events = []
    for k in range(motion.n_samples):
        sample = Sample(motion.t[k], q[k], dq[k], None, tau[k])
        events += watcher.hear(sample)
        late = window.step(sample)
        events += watcher.step(late) if late is not None else ()
    assert [event.kind for event in events][:2] == ["initial load", "contact"]
    assert watcher.health.nis_mean < 1.3 * 7.0


def test_the_load_is_a_body_at_every_sample():
    motion = moving(6.0, 8)
    share = ((motion.t >= 2.5) & (motion.t < 4.0)).astype(float)
    _, _, loads, _ = followed(motion, torque(motion, share), 1)
    assert all(consistency(InertialParameters(pi)).holds for pi in loads)
    assert np.all(loads[:, 0] > 0.0)
    assert np.max(np.linalg.norm(loads[:, 1:4] / loads[:, :1], axis=1)) < 0.5


@pytest.mark.parametrize("carried", [0.0, 1.0])
def test_an_unchanged_load_is_announced_once_and_the_nis_is_right(carried):
    motion = moving(10.0, 3)
    watcher, events, _, nis = followed(motion, torque(motion, np.full(len(motion.t), carried)), 2)
    assert [event.kind for event in events] == ["initial load"]
    assert abs(watcher.estimate.mass - 2.0 * carried) < 3.0 * watcher.estimate.mass_std + 0.05
    assert 0.85 < np.mean(nis) / 7.0 < 1.15  # 2000 samples of 7 rows, and R is estimated on the way
    assert watcher.health.nis_share > 0.9


def test_samples_whose_errors_are_alike_count_as_fewer():
    """Errors that last 20 samples: at 1 kHz the residual of a real arm does."""
    rate, off = 1000.0, []
    keep = np.exp(-1.0 / 20.0)
    motion = fourier(PANDA.robot, np.arange(round(4.0 * rate)) / rate, 5)
    tau = torque(motion, np.ones(motion.n_samples))
    for seed in range(4):
        rng, error, watcher = np.random.default_rng(seed), np.zeros(7), watch(rate_hz=rate).start()
        for k in range(motion.n_samples):
            error = keep * error + np.sqrt(1.0 - keep**2) * NOISE * rng.standard_normal(7)
            watcher.step(Sample(motion.t[k], motion.q[k], motion.dq[k], motion.ddq[k], tau[k] + error))
        off.append((watcher.estimate.mass - 2.0) / watcher.estimate.mass_std)
    assert np.sqrt(np.mean(np.square(off))) < 1.5


def test_a_slow_loss_is_followed():
    motion = moving(14.0, 6)
    share = np.clip(1.0 - (motion.t - 3.0) / 20.0, 0.5, 1.0)  # 0.1 kg/s
    watcher, events, _, _ = followed(motion, torque(motion, share))
    kinds = [event.kind for event in events]
    assert kinds[0] == "initial load"
    assert set(kinds[1:]) <= {"change", "place"}
    assert len(kinds) > 1
    assert watcher.estimate.mass == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("motion", [still(6.0), moving(6.0, 7)], ids=["still", "moving"])
def test_a_push_is_a_contact_with_its_link_and_force_and_leaves_the_load_alone(motion):
    force = np.array([24.0, 18.0, 0.0])
    tau = torque(motion, np.zeros(motion.n_samples))
    for k in np.flatnonzero((motion.t >= 3.0) & (motion.t < 3.5)):
        tau[k] -= flange_jacobian(motion.q[k]).T @ force
    watcher, events, loads, _ = followed(motion, tau)
    assert [event.kind for event in events] == ["initial load", "contact", "contact over"]
    contact = events[1]
    assert contact.t - 3.0 < 0.06
    assert 3.5 < events[2].t < 3.9
    assert contact.nature == "knock"
    assert contact.reaction == "stop"
    strongest = events[2]
    assert strongest.link in PANDA.robot.link_names[-3:]
    assert strongest.force is not None
    assert strongest.force @ force / np.linalg.norm(strongest.force) / 30.0 > 0.8
    assert 15.0 < np.linalg.norm(strongest.force) < 60.0
    assert np.max(loads[motion.t > 2.0, 0]) < 0.15
    assert not watcher.in_contact


def test_a_missing_torque_costs_its_row_and_a_missing_position_the_sample():
    motion = moving(6.0, 4)
    tau = torque(motion, np.zeros(motion.n_samples))
    tau[200:900, 2] = np.nan
    watcher, events, _, _ = followed(motion, tau)
    assert watcher.n_absorbed == motion.n_samples
    assert [event.kind for event in events] == ["initial load"]
    last = Sample(100.0, np.full(7, np.nan), np.zeros(7), np.zeros(7), np.zeros(7))
    watcher.step(last)
    assert watcher.n_skipped == 1


def test_the_nearest_body_is_found_from_far_away_and_lies_inside():
    limits, scratch = np.array([5.0, 0.5]), body_scratch()
    rng = np.random.default_rng(0)
    for mean in (np.array(LOAD.pi), np.zeros(10), -np.array(LOAD.pi), 10.0 * np.array(LOAD.pi)):
        x = mean + 0.01 * rng.standard_normal(10)
        D = np.array([0.1, *[0.02] * 3, *[0.02] * 6]) ** 2
        pi = small_body(0.1, 0.5)
        for _ in range(10):
            distance = nearest_body(x, np.eye(10), D, limits, 2, pi, scratch)
            assert is_body(pi, limits, scratch.J)
        if consistency(InertialParameters(x)).holds and x[0] < 5.0:
            assert distance < 0.5
        assert 0.0 < pi[0] < 5.0


def test_the_nearest_body_is_the_most_probable_one():
    limits, scratch, rng = np.array([5.0, 0.5]), body_scratch(), np.random.default_rng(1)
    U = np.tril(0.3 * rng.standard_normal((10, 10)), -1) + np.eye(10)
    D = np.array([0.1, *[0.02] * 3, *[0.02] * 6]) ** 2
    x, pi = np.array(LOAD.pi) + 0.02 * rng.standard_normal(10), small_body(0.1, 0.5)
    W = np.linalg.inv(U.T @ np.diag(D) @ U)

    def cost(body):
        J = InertialParameters(body).pseudo_inertia
        room = body[0] * 0.25 - np.trace(J[:3, :3])
        return 0.5 * (body - x) @ W @ (body - x) - BARRIER * np.log(np.linalg.det(J) * room * (5.0 - body[0]))

    for _ in range(20):
        distance = nearest_body(x, U, D, limits, 2, pi, scratch)
    assert distance == pytest.approx(0.5 * (pi - x) @ W @ (pi - x), rel=1e-9)
    # At the minimum along each axis: how far off it is, in standard deviations, by central differences.
    h, here = 1e-4, cost(pi)
    for step in np.sqrt(np.diag(np.linalg.inv(W)))[:, None] * np.eye(10):
        up, down = cost(pi + h * step), cost(pi - h * step)
        assert abs(0.5 * h * (up - down) / (up + down - 2.0 * here)) < 1e-3


def test_a_load_is_printed_the_way_controllers_want_it():
    settings = LoadEstimate.of(LOAD.pi, 0.01).settings()
    assert settings["Universal Robots"].startswith(
        "set_target_payload(2.000, [0.0100, 0.0200, 0.1200], [0.01, 0.012, 0.008"
    )
    assert settings["Franka"].startswith("setLoad(2.000, {0.0100, 0.0200, 0.1200}")
    assert "CM {X 10.0,Y 20.0,Z 120.0" in settings["KUKA"]
    assert settings["ABB"].startswith("[2.000,[10.0,20.0,120.0],[1,0,0,0]")
    nothing = LoadEstimate.of(np.zeros(10), 0.01)
    assert nothing.mass == 0.0
    np.testing.assert_array_equal(nothing.com, np.zeros(3))


def test_a_load_watch_needs_torques_and_a_possible_load():
    with pytest.raises(TrackingError, match="both must be above zero"):
        load_filter(PANDA, THETA, noise=NOISE, max_mass=0.0)
    with pytest.raises(TrackingError, match="both must be above zero"):
        watch(max_mass=0.0)
    with pytest.raises(TrackingError, match="measure torque"):
        watch(measure=("base-wrench",), wrench_noise=np.ones(6))
