"""Motion from noisy positions, alone and in front of the filter."""

import numpy as np
import pytest

from dynid.dynamics import Motion
from dynid.errors import TrackingError
from dynid.tracking import KinematicFilter, Sample, replay, with_kinematics
from tests.tracking.wam import MODEL, arm_filter, draw, exciting


def polynomial(t):
    c = np.array([0.3, -0.4, 0.5, 0.2, -0.3, 0.1])
    p = np.polynomial.Polynomial(c)
    return np.stack([p(t), p(t)]).T, np.stack([p.deriv(1)(t)] * 2).T, np.stack([p.deriv(2)(t)] * 2).T


def smoothed(options, t, q, dq=None):
    """The motion at all samples but the first and last half window."""
    given = (Sample(t[k], q[k], None if dq is None else dq[k]) for k in range(len(t)))
    samples = list(with_kinematics(given, options, q.shape[1]))
    stamps, *motion = (np.array([getattr(s, name) for s in samples]) for name in ("t", "q", "dq", "ddq"))
    return Motion(stamps, *motion)


@pytest.mark.parametrize("with_velocity", [False, True])
def test_polynomials_are_reproduced_exactly_on_jittered_stamps(with_velocity, rng):
    t = np.cumsum(rng.uniform(0.005, 0.015, 200))
    q, dq, ddq = polynomial(t)
    motion = smoothed(KinematicFilter(half_samples=20), t, q, dq if with_velocity else None)
    inner = slice(20, -20)
    np.testing.assert_allclose(motion.q, q[inner], atol=1e-9)
    np.testing.assert_allclose(motion.dq, dq[inner], atol=1e-8)
    np.testing.assert_allclose(motion.ddq, ddq[inner], atol=1e-6)


def test_the_stream_gives_the_polynomial_through_the_window_half_a_window_late(rng):
    t = 0.01 * np.arange(120)
    q = np.sin(t)[:, None] + 1e-3 * rng.standard_normal((120, 3))
    tau = rng.standard_normal((120, 3))
    options = KinematicFilter(half_samples=10)
    samples = list(with_kinematics((Sample(t[k], q[k], tau=tau[k]) for k in range(120)), options, 3))
    assert len(samples) == 100
    np.testing.assert_allclose([s.t for s in samples], t[10:-10])
    for k in range(0, 100, 7):
        window = slice(k, k + 21)
        for j in range(3):
            fit = np.polynomial.Polynomial.fit(t[window] - t[k + 10], q[window, j], options.order)
            # Two ways to solve the same normal equations, whose condition number is about 1e4.
            np.testing.assert_allclose(samples[k].ddq[j], fit.deriv(2)(0.0), atol=1e-8)
    np.testing.assert_array_equal([s.tau for s in samples], tau[10:-10])


def test_even_stamps_that_turn_uneven_keep_no_old_weights(rng):
    steps = np.concatenate([np.full(60, 0.01), [0.013], np.full(50, 0.01), rng.uniform(0.005, 0.015, 40)])
    t = np.cumsum(steps)
    q, dq, ddq = polynomial(t)
    motion = smoothed(KinematicFilter(half_samples=10), t, q, dq)
    inner = slice(10, -10)
    np.testing.assert_allclose(motion.q, q[inner], atol=1e-9)
    np.testing.assert_allclose(motion.ddq, ddq[inner], atol=1e-6)


def test_a_gap_empties_the_window_and_bad_samples_are_counted():
    window = KinematicFilter(half_samples=3, order=3).start(1)
    given = [window.step(Sample(0.01 * k, np.array([0.1 * k]))) for k in range(10)]
    assert sum(sample is not None for sample in given) == 4
    assert window.step(Sample(0.05, np.zeros(1))) is None
    assert window.step(Sample(0.2, np.array([np.nan]))) is None
    assert window.step(Sample(9.0, np.zeros(1))) is None
    assert (window.n_skipped, window.n_restarts) == (2, 1)


def test_windows_that_hold_no_polynomial_are_refused():
    with pytest.raises(TrackingError, match="a polynomial of degree 5 over 3 samples"):
        KinematicFilter(half_samples=1)


def torque_errors(seed):
    """RMS torque error of every joint with perfect kinematics, and from positions with noise of 1e-4 rad at 1 kHz."""
    motion = exciting(1000.0)
    data = draw(seed, motion=motion)
    q = motion.q + 1e-4 * np.random.default_rng(500 + seed).standard_normal(motion.q.shape)
    options = KinematicFilter.at_rate(1000.0)
    half = options.half_samples
    estimated = smoothed(options, motion.t, q)
    errors = []
    for moved, measured in ((motion, data.measured), (estimated, data.measured[half:-half])):
        tracker = arm_filter(0.8, data.noise).start()
        tracker.run(moved, measured, every=10000)
        errors.append(np.sqrt(np.mean((MODEL.torque(motion, tracker.theta) - data.tau) ** 2, axis=0)))
    return errors


@pytest.mark.slow
def test_positions_alone_predict_torque_at_most_twice_as_badly_as_perfect_kinematics():
    perfect, estimated = np.array([torque_errors(seed) for seed in range(5)]).transpose(1, 0, 2)
    assert np.all(np.linalg.norm(estimated, axis=1) <= 2.0 * np.linalg.norm(perfect, axis=1))
    # Both errors of one joint in one draw may be small by chance: joints are compared over all draws.
    ratio = np.sqrt(np.mean(estimated**2, axis=0) / np.mean(perfect**2, axis=0))
    assert np.all(ratio <= 2.0), ratio


def test_a_replayed_log_has_the_motion_it_was_recorded_with():
    from dynid.recording import Recording

    motion = exciting(100.0, 2.0)
    recording = Recording(MODEL.robot.joint_names, motion.t, motion.q, dq=motion.dq, tau=np.zeros_like(motion.q))
    samples = list(with_kinematics(replay(recording), KinematicFilter(half_samples=6), 7))
    k = 50
    assert isinstance(motion, Motion)
    np.testing.assert_allclose(samples[k - 6].ddq, motion.ddq[k], atol=0.02 * np.max(np.abs(motion.ddq)))


@pytest.mark.parametrize("half_window", [0.0, -0.1, np.nan])
def test_a_window_of_no_time_is_refused(half_window):
    with pytest.raises(TrackingError, match=r"`half_window` .* above 0 s"):
        KinematicFilter.at_rate(100.0, half_window=half_window)
