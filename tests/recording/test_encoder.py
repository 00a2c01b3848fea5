"""Coarse encoders: their resolution, the filter that suits them, and what is left of their noise."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.bench_encoders import Servo, draw, log_of, servo_arm, truth_of
from dynid.dynamics import base_parameters
from dynid.recording import Conditioning
from dynid.recording.encoder import encoder_noise, period_of, resolution
from dynid.regression import WLS, SampleRows, compress
from dynid.regression.attenuation import attenuation
from dynid.workflow.motion_choice import attenuation_words, choose_motion


def servo_log(servo, seed=0):
    rng = np.random.default_rng(seed)
    model, theta = truth_of(servo_arm(), rng)
    return model, theta, log_of(model, theta, servo, rng)


@pytest.mark.parametrize("step", [2.0 * np.pi / 4096, 1e-3, 1e-5])
def test_the_resolution_is_found(step, rng):
    values = np.sin(np.linspace(0.0, 40.0, 5000)) + 0.3
    assert resolution(np.round(values / step) * step) == pytest.approx(step, rel=1e-3) or step < 1e-4
    assert resolution(values + 1e-3 * rng.normal(size=5000)) == 0.0
    assert resolution(np.zeros(5000)) == 0.0


def test_the_band_of_the_motion_is_not_that_of_its_rounding():
    # A motion that repeats itself: its rounding does too, and stands in few, strong lines.
    for base_hz in (0.1, 0.2):
        _, _, log = servo_log(Servo(base_hz=base_hz))
        found = encoder_noise(log.q, log.q, 100.0)
        assert 5 * base_hz <= found.band_hz < 8 * base_hz
        assert found.std == pytest.approx(2.0 * np.pi / 4096 / np.sqrt(12.0), rel=0.1)


def test_a_motion_that_repeats_itself_is_seen_to():
    for base_hz, samples in ((0.1, 1000), (0.2, 500)):
        _, _, log = servo_log(Servo(base_hz=base_hz))
        assert period_of(log.q, np.full(7, 2.0 * np.pi / 4096 / np.sqrt(12.0))) == samples
    rng = np.random.default_rng(0)
    assert period_of(np.cumsum(rng.normal(size=(2000, 2)), axis=0), np.full(2, 1e-3)) is None


def test_fine_encoders_keep_the_usual_filter():
    _, _, log = servo_log(Servo(bits=20))
    plan = Conditioning().plan(log)
    assert plan.motion_cutoff_hz == np.inf
    assert plan.motion_pass.cutoff_hz == pytest.approx(2.0 * plan.low_pass.cutoff_hz)
    assert plan.min_velocity == 0.0


def test_coarse_encoders_get_a_filter_of_the_motions_own_band_and_say_so():
    _, _, log = servo_log(Servo())
    plan = Conditioning().plan(log)
    assert 0.5 / (2.0 / 3.0) <= plan.motion_cutoff_hz < 1.2
    assert any("steps of 1.53 mrad" in choice for choice in plan.choices)
    assert 0.0 < plan.min_velocity < 0.1


def test_rotor_inertias_of_a_servo_with_12_bit_are_not_biased():
    draws = [draw(Servo(), seed) for seed in range(5)]
    assert abs(np.mean([d.bias for d in draws])) < 0.01
    assert np.mean([d.held for d in draws]) > 0.88
    assert np.mean([d.error_percent for d in draws]) < 1.3
    before = draw(Servo(), 0, as_before=True)
    assert before.error_percent > 3.0 * draws[0].error_percent


def test_instrumental_variables_see_what_noise_takes_off_inertias():
    model, _, log = servo_log(Servo(), seed=1)
    base = base_parameters(model)
    plan = Conditioning().plan(log)
    weights = WLS().fit(compress(SampleRows(model, base, (plan.apply(log),)))).weights
    clean = attenuation(model, base, log, plan, weights)
    spoilt = attenuation(model, base, log, replace(plan, motion_cutoff_hz=np.inf), weights)
    assert abs(clean.share) < 0.005
    assert not clean.matters
    assert spoilt.share > 0.03
    assert spoilt.matters
    assert attenuation(model, base, replace(log, dq=np.zeros_like(log.q)), plan, weights) is None


def test_how_the_motion_is_smoothed_is_chosen_by_prediction_and_said():
    model, _, log = servo_log(Servo(seconds=30.0), seed=1)
    base = base_parameters(model)
    plan, samples = choose_motion(model, base, log, Conditioning().plan(log))
    told = plan.choices[-1]
    assert told.startswith("motion by ")
    assert all(name in told for name in ("low-pass", "smoothing spline", "Fourier series"))
    assert samples.plan is plan
    words, warning = attenuation_words(model, base, log, samples)
    assert "instrumental variables" in words
    assert warning == ""
    model, _, log = servo_log(Servo(base_hz=0.2), seed=1)
    rough = replace(Conditioning().plan(log), motion_cutoff_hz=np.inf)
    _, warning = attenuation_words(model, base, log, rough.apply(log))
    assert "log positions at a higher rate" in warning
