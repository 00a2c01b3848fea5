"""Loads: pick, place, slow change, and contacts that must not be taken for them."""

import numpy as np
import pytest

from dynid.chain import InertialParameters
from dynid.dynamics import Motion
from dynid.errors import TrackingError
from dynid.tracking import ContactObserver, LoadEstimate, LoadEvent, LoadWatch, Sample, load_filter
from tests.tracking.test_contact import PANDA, THETA, flange_jacobian, fourier

LOAD = InertialParameters.from_com(2.0, (0.01, 0.02, 0.12), np.diag([0.01, 0.012, 0.008]))
RATE = 500.0
POSTURE = np.array([0.0, 0.6, 0.0, -1.5, 0.0, 2.0, 0.0])


def watch(noise):
    return LoadWatch(
        filter=load_filter(PANDA, THETA, noise=noise, max_mass=5.0, process_noise=1e-7),
        observer=ContactObserver(model=PANDA, noise=noise),
    )


def torque(motion, mass_share):
    """Torque with a share of the load at every sample."""
    Y = PANDA.regressor(motion)[:, :, 60:]
    return PANDA.torque(motion, THETA) + mass_share[:, None] * (Y @ LOAD.pi)


def still(duration):
    t = np.arange(round(duration * RATE)) / RATE
    zeros = np.zeros((len(t), 7))
    return Motion(t, zeros + POSTURE, zeros, zeros)


def followed(motion, tau, noise, seed=0, external=None):
    rng = np.random.default_rng(seed)
    watcher = watch(noise).start()
    measured = tau + noise * rng.standard_normal(tau.shape)
    if external is not None:
        measured = measured - external
    events, masses = [], []
    for k in range(motion.n_samples):
        events += watcher.step(Sample(motion.t[k], motion.q[k], motion.dq[k], motion.ddq[k], measured[k]))
        masses.append(watcher.tracker.load[0])
    return watcher, events, np.array(masses)


NOISE = np.array([0.1, 0.4, 0.1, 0.2, 0.05, 0.05, 0.02])


@pytest.mark.parametrize("moving", [False, True])
def test_pick_and_place_are_announced_in_time_with_the_right_mass(moving):
    motion = fourier(PANDA.robot, np.arange(3000) / RATE, 5) if moving else still(6.0)
    share = ((motion.t >= 2.0) & (motion.t < 4.0)).astype(float)
    watcher, events, masses = followed(motion, torque(motion, share), NOISE)
    assert [event.kind for event in events] == ["pick", "place"]
    assert 2.0 < events[0].t < 2.3
    assert 4.0 < events[1].t < 4.3
    np.testing.assert_allclose(masses[(motion.t > 2.5) & (motion.t < 4.0)], 2.0, rtol=0.05)
    assert np.max(np.abs(masses[motion.t > 5.0])) < 0.1
    assert np.max(np.abs(masses[motion.t < 2.0])) < 0.1
    assert not watcher.in_contact


def test_the_mass_is_right_within_a_tenth_of_a_second_of_the_pick():
    motion = still(3.0)
    _, _, masses = followed(motion, torque(motion, (motion.t >= 2.0).astype(float)), NOISE)
    assert abs(masses[np.searchsorted(motion.t, 2.1)] / 2.0 - 1.0) < 0.05


@pytest.mark.parametrize(
    ("seed", "duration"), [(0, 8.0), *(pytest.param(seed, 20.0, marks=pytest.mark.slow) for seed in range(1, 3))]
)
def test_no_event_is_announced_without_one(seed, duration):
    motion = fourier(PANDA.robot, np.arange(round(duration * RATE)) / RATE, seed)
    _, events, _ = followed(motion, torque(motion, np.zeros(len(motion.t))), NOISE, seed)
    assert events == []


def test_a_slow_loss_is_announced_as_change():
    motion = fourier(PANDA.robot, np.arange(5000) / RATE, 6)
    share = np.where(motion.t < 2.0, 0.0, np.clip(1.0 - (motion.t - 4.0) / 4.0, 0.4, 1.0))
    options = LoadWatch(
        filter=load_filter(PANDA, THETA, noise=NOISE, max_mass=5.0, process_noise=1e-5),
        observer=ContactObserver(model=PANDA, noise=NOISE),
    )
    watcher = options.start()
    tau = torque(motion, share) + NOISE * np.random.default_rng(0).standard_normal((5000, 7))
    events: list[LoadEvent] = []
    for k in range(5000):
        events += watcher.step(Sample(motion.t[k], motion.q[k], motion.dq[k], motion.ddq[k], tau[k]))
    kinds = [event.kind for event in events]
    assert kinds[0] == "pick"
    assert "contact" not in kinds
    assert kinds.count("change") >= 2
    assert watcher.estimate.mass == pytest.approx(0.8, abs=0.15)


@pytest.mark.parametrize("moving", [False, True])
def test_a_push_is_a_contact_and_leaves_the_load_alone(moving):
    motion = fourier(PANDA.robot, np.arange(2500) / RATE, 7) if moving else still(5.0)
    force = np.array([12.0, 9.0, 0.0])
    external = np.zeros((motion.n_samples, 7))
    for k in np.flatnonzero((motion.t >= 2.0) & (motion.t < 2.5)):
        external[k] = flange_jacobian(motion.q[k]).T @ force
    watcher, events, masses = followed(motion, torque(motion, np.zeros(motion.n_samples)), NOISE, external=external)
    assert [event.kind for event in events] == ["contact", "contact over"]
    assert events[0].t - 2.0 < 0.05
    assert 2.5 < events[1].t < 2.8
    assert np.max(np.abs(masses[motion.t > 1.5])) < 0.1
    assert not watcher.in_contact


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
    wrench = load_filter(PANDA, THETA, noise=np.ones(6), max_mass=5.0, measure=("base-wrench",))
    with pytest.raises(TrackingError, match="measure torque"):
        LoadWatch(filter=wrench, observer=ContactObserver(model=PANDA, noise=NOISE))
