import numpy as np
import pytest

from dynid.errors import RecordingError
from dynid.recording import Conditioning, LogSettings, LowPass, Recording
from dynid.recording.filters import motion_bandwidth_hz


def wave(rate_hz=500.0, duration=10.0, frequencies=(0.4, 0.9), *, with_dq=True, rng=None, jitter=0.0):
    """Two joints on sines, with their exact derivatives and a torque that is the acceleration."""
    t = np.arange(int(duration * rate_hz)) / rate_hz
    if jitter:
        t = t + rng.uniform(-jitter, jitter, len(t)) / rate_hz
    w = 2 * np.pi * np.array(frequencies)
    q, dq, ddq = np.sin(t[:, None] * w), np.cos(t[:, None] * w) * w, -np.sin(t[:, None] * w) * w**2
    recording = Recording(("a", "b"), t, q, dq if with_dq else None, tau=ddq.copy())
    return recording, w


@pytest.mark.parametrize("rate", [100.0, 1000.0])
@pytest.mark.parametrize("cutoff", [2.0, 8.0])
def test_low_pass_keeps_what_it_should_and_stops_the_rest(rate, cutoff):
    low_pass = LowPass(cutoff, rate)
    t = np.arange(int(20 * rate)) / rate
    slow, fast = np.sin(2 * np.pi * 0.5 * cutoff * t), np.sin(2 * np.pi * 1.6 * cutoff * t)
    n = low_pass.half_length
    np.testing.assert_allclose(low_pass.applied(slow[:, None])[:, 0], slow[n:-n], atol=6e-3)  # 50 dB
    assert np.abs(low_pass.applied(fast[:, None])).max() < 6e-3


def test_filter_has_no_phase_and_its_derivatives_are_exact_on_polynomials():
    low_pass = LowPass(5.0, 200.0)
    t = np.arange(400) / 200.0
    values = (1.0 + 2.0 * t + 3.0 * t**2)[:, None]
    n = low_pass.half_length
    inner = t[n:-n]
    np.testing.assert_allclose(low_pass.applied(values, 1)[:, 0], 2.0 + 6.0 * inner, rtol=1e-9)
    np.testing.assert_allclose(low_pass.applied(values, 2)[:, 0], 6.0, rtol=1e-9)
    np.testing.assert_array_equal(low_pass.kernel, low_pass.kernel[::-1])
    assert low_pass.kernel.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("every", [1, 3, 17])
@pytest.mark.parametrize("cutoff", [4.0, np.inf])
def test_thinned_rows_are_those_of_the_full_filter(every, cutoff, rng):
    low_pass = LowPass(cutoff, 100.0)
    values = rng.normal(size=(777, 3))
    np.testing.assert_allclose(low_pass.thinned(values, every), low_pass.applied(values)[::every], atol=1e-12)


def test_bandwidth_is_that_of_the_motion_not_of_encoder_noise(rng):
    recording, _ = wave(1000.0, 30.0, (0.4, 0.9), with_dq=False)
    clean = motion_bandwidth_hz(recording.q, 1000.0)
    noisy = motion_bandwidth_hz(recording.q + rng.normal(size=recording.q.shape) * 1e-4, 1000.0)
    assert clean == pytest.approx(0.9, abs=0.1)
    assert noisy == pytest.approx(clean, abs=0.1)


@pytest.mark.parametrize("with_dq", [True, False], ids=["velocity logged", "positions only"])
def test_motion_and_torque_come_out_where_they_were(with_dq):
    recording, w = wave(with_dq=with_dq)
    samples = Conditioning().plan(recording).apply(recording)
    motion = samples.segments[0].motion
    np.testing.assert_allclose(motion.q, np.sin(motion.t[:, None] * w), atol=2e-3)
    np.testing.assert_allclose(motion.dq, np.cos(motion.t[:, None] * w) * w, atol=2e-2)
    np.testing.assert_allclose(motion.ddq, -np.sin(motion.t[:, None] * w) * w**2, atol=0.15)
    np.testing.assert_allclose(samples.segments[0].tau, -np.sin(motion.t[:, None] * w) * w**2, atol=1e-3)


@pytest.mark.parametrize("method", ["spline", "fourier"])
def test_other_differentiations_are_exact_on_smooth_periodic_motion(method):
    recording, w = wave(200.0, 20.0, (0.5, 1.0), with_dq=False)
    plan = Conditioning(differentiation=method, base_frequency_hz=0.5).plan(recording)
    motion = plan.apply(recording).segments[0].motion
    middle = slice(200, -200)
    # A cubic spline's curvature is piecewise straight: 5e-4 of the largest acceleration at 200 Hz.
    np.testing.assert_allclose(motion.ddq[middle], (-np.sin(motion.t[:, None] * w) * w**2)[middle], atol=2e-2)


def test_jittered_stamps_are_resampled_onto_a_uniform_grid(rng):
    recording, w = wave(500.0, 10.0, rng=rng, jitter=0.4)
    samples = Conditioning().plan(recording).apply(recording)
    motion = samples.segments[0].motion
    np.testing.assert_allclose(np.diff(motion.t), 1.0 / samples.plan.low_pass.rate_hz, rtol=1e-9)
    np.testing.assert_allclose(motion.ddq, -np.sin(motion.t[:, None] * w) * w**2, atol=0.15)


def test_a_gap_splits_the_log(rng):
    recording, _ = wave(500.0, 20.0)
    keep = (recording.t < 9.0) | (recording.t > 10.0)
    holed = Recording(("a", "b"), recording.t[keep], recording.q[keep], recording.dq[keep], tau=recording.tau[keep])
    samples = Conditioning().plan(holed).apply(holed)
    assert len(samples.segments) == 2
    for segment in samples.segments:
        assert not np.any((segment.motion.t > 9.0) & (segment.motion.t < 10.0))


def test_a_delay_moves_the_torque_back(rng):
    recording, w = wave(500.0, 10.0)
    late = Recording(
        ("a", "b"), recording.t, recording.q, recording.dq, tau=-np.sin((recording.t[:, None] - 0.02) * w) * w**2
    )
    samples = Conditioning(delay=0.02).plan(late).apply(late)
    motion = samples.segments[0].motion
    np.testing.assert_allclose(samples.segments[0].tau, -np.sin(motion.t[:, None] * w) * w**2, atol=2e-3)


def test_chunks_cover_every_row_once(rng):
    recording, _ = wave(500.0, 20.0)
    samples = Conditioning().plan(recording).apply(recording)
    plan = samples.plan
    whole = plan.low_pass.thinned(samples.segments[0].tau, plan.every)
    pieces = [plan.low_pass.thinned(chunk.tau, plan.every) for chunk in samples.chunks(700)]
    assert len(pieces) > 5
    np.testing.assert_allclose(np.concatenate(pieces), whole, atol=1e-12)


def test_choices_are_reported():
    recording, _ = wave()
    plan = Conditioning().plan(recording)
    assert any("ten times the motion's bandwidth" in choice for choice in plan.choices)
    assert plan.low_pass.cutoff_hz == pytest.approx(10 * plan.bandwidth_hz)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 10}, "only 10 samples; identification needs at least 30"),
        ({"tau": None}, r"no torque columns; .* as in columns\.tau = \"moment_\{n\}\""),
        ({"n": 400, "cutoff": 1.0}, "no segment without a gap is longer"),
        ({"cutoff": 400.0}, "a low-pass at 400 Hz does not fit samples at 500 Hz"),
        ({"cutoff": np.nan}, "a low-pass at nan Hz does not fit samples at 500 Hz"),
        ({"delay": np.inf}, "a delay of inf s is too long for 9.998 s of log"),
        ({"delay": np.nan}, "a delay of nan s is too long"),
        ({"delay": -1.1}, "a delay of -1.1 s is too long"),
    ],
)
def test_logs_that_cannot_be_used_say_why(change, message):
    recording, _ = wave()
    n = change.get("n", recording.n_samples)
    tau = change.get("tau", recording.tau)
    cut = Recording(
        ("a", "b"),
        recording.t[:n],
        recording.q[:n],
        recording.dq[:n],
        tau=None if tau is None else tau[:n],
        source="x.csv",
    )
    with pytest.raises(RecordingError, match=message):
        Conditioning(cutoff_hz=change.get("cutoff"), delay=change.get("delay", 0.0)).plan(cut).apply(cut)


@pytest.mark.parametrize("unit", [1e-300, 1e-20])
def test_time_in_no_unit_is_refused(unit):
    recording, _ = wave()
    wrong = Recording(("a", "b"), recording.t * unit, recording.q, tau=recording.tau, source="x.csv")
    with pytest.raises(RecordingError, match=r"x\.csv: samples at .* Hz.*another unit, or in bursts"):
        Conditioning().plan(wrong)


def test_time_stamps_in_bursts_are_refused_before_a_grid_of_their_steps_fills_the_memory():
    recording, _ = wave()
    k = np.arange(recording.n_samples)
    burst = Recording(("a", "b"), 0.006 * (k // 3) + 1e-9 * (k % 3), recording.q, tau=recording.tau, source="x.csv")
    with pytest.raises(RecordingError, match=r"5000 were logged.*in bursts.*rate_hz = 500\.\d in a column map"):
        Conditioning().plan(burst)


def slow_log(rate, seconds=25.0):
    t = np.arange(0.0, seconds, 1.0 / rate)
    angle = 0.6 * t[:, None] + np.arange(2.0)
    return Recording(("a", "b"), t, np.sin(angle), dq=0.6 * np.cos(angle), tau=5.0 * np.sin(angle))


def test_a_log_of_two_samples_a_second_is_used_without_a_filter_and_that_is_said():
    log = slow_log(2.0)
    plan = Conditioning().plan(log)
    assert not plan.low_pass.active
    assert any("no low-pass: one that suits 2 Hz would use up" in choice for choice in plan.choices)
    segment = plan.apply(log).segments[0]
    assert segment.motion.n_samples > 0.8 * log.n_samples
    # The spline follows the motion to a few per cent of its largest acceleration, 0.36 rad/s².
    inner = slice(3, -3)
    expected = -0.36 * np.sin(0.6 * segment.motion.t[:, None] + np.arange(2.0))
    assert np.max(np.abs(segment.motion.ddq - expected)[inner]) < 0.03


@pytest.mark.parametrize(
    ("cutoff_hz", "rate", "seconds"), [(60.0, 100.0, 25.0), (0.5, 100.0, 8.0), (np.inf, 200.0, 25.0)]
)
def test_remembered_settings_fit_a_log_of_another_rate_or_length(cutoff_hz, rate, seconds):
    samples = LogSettings(cutoff_hz=cutoff_hz).condition(slow_log(rate, seconds))
    assert samples.n_samples > 0.2 * rate * seconds
    assert samples.plan.low_pass.cutoff_hz <= 0.41 * rate
