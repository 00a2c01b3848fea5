"""Logs with known truth: the errors asked for are in them, and nothing else."""

import numpy as np
import pytest

from dynid.arrays import Array
from dynid.chain import load_robot
from dynid.dynamics import FRICTION, Motion, TorqueModel, friction_models, random_motion
from dynid.errors import MotionError, ParameterError, RecordingError, UnknownName
from dynid.recording.recording import Recording
from dynid.simulation.closed_loop import Controller
from dynid.simulation.motions import QuinticPath, motion_of, smooth_motion
from dynid.simulation.sensors import Level, SensorModel
from dynid.simulation.synthetic import plausible_parameters, synthesise, with_values
from tests.robots import battery

PANDA = load_robot("panda")
MODEL = TorqueModel(PANDA, friction_models("viscous+coulomb+offset"))


@pytest.fixture(scope="module")
def commanded() -> Motion:
    return smooth_motion(PANDA, np.random.default_rng(7), duration=10.0, rate_hz=500.0)


def table(motion: Motion, *, dq: Array | None = None, ddq: Array | None = None) -> Recording:
    return Recording(PANDA.joint_names, motion.t, motion.q, dq=dq, ddq=ddq, source="traj.csv")


# Motions


@pytest.mark.parametrize("kind", ["fourier", "sinusoids"])
@pytest.mark.parametrize("robot", battery(), ids=lambda robot: robot.name)
def test_smooth_motions_keep_the_limits_and_their_derivatives_are_exact(robot, kind, rng):
    motion = smooth_motion(robot, rng, kind=kind, duration=8.0, rate_hz=400.0)
    assert motion.n_samples == 3201
    for j, joint in enumerate(robot.joints):
        assert joint.limits.lower <= np.min(motion.q[:, j])
        assert np.max(motion.q[:, j]) <= joint.limits.upper
        assert np.max(np.abs(motion.dq[:, j])) <= joint.limits.velocity
        assert np.max(np.abs(motion.ddq[:, j])) <= joint.limits.acceleration
        assert np.ptp(motion.q[:, j]) > 0.05
    middle = QuinticPath.through(motion).at(motion.t[:-1] + 0.5 / 400.0)
    # Central differences over 2.5 ms of motions up to 0.7 Hz: h²/24 times the third derivative.
    np.testing.assert_allclose(np.diff(motion.q, axis=0) * 400.0, middle.dq, atol=1e-3)
    np.testing.assert_allclose(np.diff(motion.dq, axis=0) * 400.0, middle.ddq, atol=1e-2)


def test_a_path_goes_through_its_samples_and_is_exact_for_quintics(rng):
    t = np.sort(rng.uniform(0.0, 2.0, 9))
    polynomials = [np.polynomial.Polynomial(rng.normal(size=6)) for _ in range(3)]
    q, dq, ddq = (np.stack([p.deriv(k)(t) if k else p(t) for p in polynomials], axis=1) for k in range(3))
    path = QuinticPath.through(Motion(t, q, dq, ddq))
    between = np.linspace(t[0], t[-1], 77)
    for k, values in enumerate((path.at(between).q, path.at(between).dq, path.at(between).ddq)):
        expected = np.stack([p.deriv(k)(between) if k else p(between) for p in polynomials], axis=1)
        np.testing.assert_allclose(values, expected, atol=1e-7 * 100**k)
    np.testing.assert_allclose(path.at(np.array([-1.0, 9.0])).q, q[[0, -1]], atol=1e-9)


def test_a_trajectory_of_positions_alone_gets_its_derivatives_and_another_rate(commanded):
    thin = commanded.part(0, 5000).t[::10]
    coarse = Recording(PANDA.joint_names, thin, commanded.q[:5000:10])
    motion = motion_of(coarse, rate_hz=500.0, duration=9.0)
    n = motion.n_samples
    assert n == 4501
    np.testing.assert_allclose(motion.q, commanded.q[:n], atol=1e-6)
    inside = slice(50, -50)  # a spline knows less at its ends
    np.testing.assert_allclose(motion.dq[inside], commanded.dq[:n][inside], atol=1e-4)
    np.testing.assert_allclose(motion.ddq[inside], commanded.ddq[:n][inside], atol=1e-2)


def test_a_trajectory_with_derivatives_is_taken_as_it_is(commanded):
    motion = motion_of(table(commanded, dq=commanded.dq, ddq=commanded.ddq))
    for name in ("t", "q", "dq", "ddq"):
        np.testing.assert_allclose(getattr(motion, name), getattr(commanded, name), atol=1e-9)
    velocities = motion_of(table(commanded, dq=commanded.dq))
    np.testing.assert_allclose(velocities.ddq, commanded.ddq, atol=1e-4)


def test_unusable_trajectories_are_refused(commanded):
    whole = table(commanded)
    with pytest.raises(RecordingError, match=r"traj\.csv: a rate of 1 Hz is too low for this trajectory"):
        motion_of(whole, rate_hz=1.0)
    with pytest.raises(RecordingError, match="rate of -5 Hz; it must be positive"):
        motion_of(whole, rate_hz=-5.0)
    with pytest.raises(RecordingError, match="30 s asked for, but the trajectory lasts 10 s"):
        motion_of(whole, duration=30.0)
    with pytest.raises(RecordingError, match="3 samples are too few"):
        motion_of(table(commanded.part(0, 3)))
    with pytest.raises(RecordingError, match=r"dq is not the derivative of q for joint1, .*check its unit"):
        motion_of(table(commanded, dq=np.rad2deg(commanded.dq)))
    with pytest.raises(RecordingError, match="ddq is not the derivative of dq"):
        motion_of(table(commanded, dq=commanded.dq, ddq=-commanded.ddq))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"rate_hz": 1.5}, r"rate of 1\.5 Hz is too low"), ({"duration": 0.0}, "positive duration")],
)
def test_impossible_smooth_motions_are_refused(options, message, rng):
    with pytest.raises(RecordingError, match=message):
        smooth_motion(PANDA, rng, **options)


# Truth


def test_an_open_loop_log_without_sensor_errors_is_the_exact_torque(commanded, rng):
    log = synthesise(MODEL, commanded, rng)
    np.testing.assert_allclose(log.recording.q, commanded.q, rtol=1e-15)
    assert log.recording.dq is not None
    assert log.recording.tau is not None
    np.testing.assert_allclose(log.recording.dq, commanded.dq, rtol=1e-15)
    np.testing.assert_allclose(MODEL.regressor(log.motion) @ log.theta, log.recording.tau, atol=1e-11)
    np.testing.assert_array_equal(log.tracking_error, np.zeros(7))
    assert log.nominal is None


def test_a_closed_loop_log_tells_what_the_arm_did_not_what_was_asked(commanded, rng):
    log = synthesise(MODEL, commanded.part(0, 1500), rng, controller=Controller())
    np.testing.assert_allclose(log.recording.q, log.motion.q)
    assert np.all(log.tracking_error > 1e-4)
    assert np.max(log.tracking_error) < 0.3
    assert log.nominal is not None
    assert not np.allclose(log.nominal, PANDA.nominal, rtol=0.01)


def test_plausible_friction_is_a_fixed_share_of_the_torque():
    theta = plausible_parameters(MODEL)
    np.testing.assert_array_equal(theta[:70], PANDA.nominal.ravel())
    viscous, coulomb, offset = theta[70:].reshape(7, 3).T
    assert np.all(viscous > 0.0)
    assert np.all(coulomb > 0.0)
    np.testing.assert_allclose(np.abs(offset), 0.2 * coulomb)
    np.testing.assert_array_equal(theta, plausible_parameters(MODEL))


@pytest.mark.parametrize("name", FRICTION)
def test_every_friction_has_plausible_values(name, rng):
    model = TorqueModel(PANDA, friction_models(name))
    theta = plausible_parameters(model)
    motion = random_motion(PANDA, 300, rng)
    rigid = np.sqrt(np.mean((model.torque(motion, theta) - model.joint_torque(motion, theta)) ** 2, axis=0))
    share = np.max(np.abs(model.joint_torque(motion, theta)), axis=0) / rigid
    assert np.all(share > 0.01)
    assert np.all(share < 0.35)


def test_values_are_set_by_symbol_for_one_joint_or_all():
    theta = with_values(MODEL, plausible_parameters(MODEL), {"fv": 0.5, "fv3": 0.7, "fo2": -1.0, "m1": 3.0})
    assert theta[MODEL.index("fv1")] == 0.5
    assert theta[MODEL.index("fv3")] == 0.7
    assert theta[MODEL.index("fo2")] == -1.0
    assert theta[MODEL.index("m1")] == 3.0
    with pytest.raises(UnknownName, match="no parameter 'fv9'"):
        with_values(MODEL, theta, {"fv9": 1.0})
    with pytest.raises(ParameterError, match="fc2 is -1; friction"):
        with_values(MODEL, theta, {"fc2": -1.0})
    with pytest.raises(ParameterError, match="fo1 is nan"):
        with_values(MODEL, theta, {"fo1": np.nan})


# Sensors


def test_noise_has_the_level_asked_for(commanded, rng):
    sensors = SensorModel(
        q_noise=Level(absolute=1e-4),
        dq_noise=Level(relative=0.05),
        tau_noise=Level(absolute=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)),
    )
    log = synthesise(MODEL, commanded, rng, sensors=sensors)
    recording, rtol = log.recording, 0.05  # 5 sigma of a standard deviation from 5001 samples
    assert recording.dq is not None
    assert recording.tau is not None
    np.testing.assert_allclose(np.std(recording.q - log.motion.q, axis=0), 1e-4, rtol=rtol)
    rms = np.sqrt(np.mean(log.motion.dq**2, axis=0))
    np.testing.assert_allclose(np.std(recording.dq - log.motion.dq, axis=0), 0.05 * rms, rtol=rtol)
    np.testing.assert_allclose(np.std(recording.tau - log.tau, axis=0), 0.1 * np.arange(1, 8), rtol=rtol)
    assert np.all(np.abs(np.mean(recording.tau - log.tau, axis=0)) < 5.0 * 0.1 * np.arange(1, 8) / np.sqrt(5001))


def test_quantised_signals_are_whole_steps(commanded, rng):
    log = synthesise(MODEL, commanded, rng, sensors=SensorModel(encoder_counts=4096, tau_step=0.05))
    assert log.recording.tau is not None
    for values, exact, step in (
        (log.recording.q, log.motion.q, 2.0 * np.pi / 4096),
        (log.recording.tau, log.tau, 0.05),
    ):
        np.testing.assert_allclose(values / step, np.round(values / step), atol=1e-6)
        assert np.max(np.abs(values - exact)) <= 0.5001 * step


@pytest.mark.parametrize("controller", [None, Controller(wrong=0.1)], ids=["open", "closed"])
def test_a_delay_shifts_the_torque_and_nothing_else(commanded, controller):
    short = commanded.part(0, 1000)
    prompt, late = (
        synthesise(MODEL, short, np.random.default_rng(1), sensors=SensorModel(delay=delay), controller=controller)
        for delay in (0.0, 0.006)  # three samples
    )
    assert prompt.recording.tau is not None
    assert late.recording.tau is not None
    np.testing.assert_array_equal(prompt.recording.q, late.recording.q)
    np.testing.assert_allclose(late.recording.tau[3:], prompt.recording.tau[:-3], atol=1e-6)
    np.testing.assert_array_equal(late.tau, prompt.tau)


def test_jittered_samples_are_taken_when_their_stamps_say(commanded, rng):
    log = synthesise(MODEL, commanded, rng, sensors=SensorModel(jitter=2e-4))
    shift = log.recording.t - commanded.t
    assert np.std(shift) == pytest.approx(2e-4, rel=0.05)
    expected = QuinticPath.through(commanded).at(log.recording.t)
    np.testing.assert_allclose(log.recording.q, expected.q, atol=1e-12)
    np.testing.assert_allclose(MODEL.torque(expected, log.theta), log.recording.tau, atol=1e-9)


def test_noisy_stamps_are_wrong_about_when_samples_were_taken(commanded, rng):
    log = synthesise(MODEL, commanded, rng, sensors=SensorModel(stamp_noise=3e-4))
    assert np.std(log.recording.t - commanded.t) == pytest.approx(3e-4, rel=0.05)
    np.testing.assert_allclose(log.recording.q, commanded.q, rtol=1e-15)


def test_lost_samples_leave_gaps(commanded, rng):
    log = synthesise(MODEL, commanded, rng, sensors=SensorModel(dropout=0.3))
    assert log.recording.n_samples == pytest.approx(0.7 * commanded.n_samples, rel=0.05)
    assert log.recording.jitter.longest > 2.5 / 500.0
    np.testing.assert_allclose(MODEL.torque(log.motion, log.theta), log.recording.tau, atol=1e-11)


def test_offset_currents_and_missing_velocities(commanded, rng):
    gains = (10.0, 20.0, 30.0, 40.0, 50.0, 60.0, -70.0)
    log = synthesise(MODEL, commanded, rng, sensors=SensorModel(drive_gains=gains, tau_offset=2.0, velocity="none"))
    assert log.recording.signals == ("q", "current")
    assert log.recording.current is not None
    np.testing.assert_allclose(log.recording.current * gains, log.tau + 2.0, rtol=1e-12)
    differences = synthesise(MODEL, commanded, rng, sensors=SensorModel(velocity="differentiated")).recording
    assert differences.dq is not None
    np.testing.assert_allclose(differences.dq[1:-1], commanded.dq[1:-1], atol=1e-3)


def test_the_same_seed_gives_the_same_log_and_another_seed_another(commanded):
    sensors = SensorModel(q_noise=Level(absolute=1e-3), tau_noise=Level(relative=0.1), jitter=1e-4, dropout=0.1)

    def log(seed: int) -> Recording:
        short = commanded.part(0, 200)
        return synthesise(MODEL, short, np.random.default_rng(seed), sensors=sensors, controller=Controller()).recording

    first, again, other = log(1), log(1), log(2)
    for signal in ("t", *first.signals):
        np.testing.assert_array_equal(getattr(first, signal), getattr(again, signal))
    assert not np.array_equal(first.t, other.t)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jitter": -1e-3}, "jitter is -0.001; it must be finite and not negative"),
        ({"tau_step": np.nan}, "tau_step is nan"),
        ({"dropout": 1.0}, "nothing would be left"),
        ({"delay": np.inf}, "delay is inf"),
        ({"encoder_counts": 0.0}, "encoder counts are 0.0"),
        ({"drive_gains": (1.0, 0.0)}, "each must be finite and not zero"),
    ],
)
def test_impossible_sensors_are_refused(options, message):
    with pytest.raises(RecordingError, match=message):
        SensorModel(**options)


def test_negative_noise_is_refused():
    with pytest.raises(RecordingError, match=r"absolute noise is -0\.1; it must be finite and not negative"):
        Level(absolute=-0.1)
    with pytest.raises(RecordingError, match="relative noise is nan"):
        Level(relative=(0.1, np.nan))


def test_sensors_and_motions_of_another_robot_are_refused(commanded, rng):
    with pytest.raises(MotionError, match="the motion has 7 joints but planar2r has 2"):
        synthesise(TorqueModel(load_robot("planar2r")), commanded, rng)
    for sensors, message in (
        (SensorModel(tau_noise=Level(absolute=(0.1, 0.2))), "2 values of noise for 7 joints"),
        (SensorModel(tau_offset=(0.1, 0.2)), "2 values of torque offset for 7 joints"),
        (SensorModel(drive_gains=(1.0, 2.0)), "2 drive gains for 7 joints"),
        (SensorModel(jitter=1e-3), "more than 20% of the 0.002 s between samples"),
    ):
        with pytest.raises(RecordingError, match=message):
            synthesise(MODEL, commanded, rng, sensors=sensors)
    with pytest.raises(ParameterError, match="θ must have 91 entries"):
        synthesise(MODEL, commanded, rng, theta=np.zeros(3))
    with pytest.raises(MotionError, match="at least two samples"):
        synthesise(MODEL, commanded.part(0, 1), rng)
