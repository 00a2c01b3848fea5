"""Torque that was filtered before it was logged is told, torque as sensors give it is not."""

import numpy as np
import pytest
from scipy import signal

import dynid
from dynid.recording import read_raw
from dynid.review.checks.filtered import low_pass_of

RATE = 500.0


def torque(rng, seconds=40.0):
    t = np.arange(0.0, seconds, 1.0 / RATE)
    phase = 2.0 * np.pi * np.array([0.1, 0.17, 0.23]) * t[:, None]
    return 20.0 * np.sin(phase) + 2.0 * np.sign(np.cos(phase)) + 0.1 * rng.normal(size=phase.shape)


def test_torque_with_the_noise_of_its_sensor_is_not_filtered(rng):
    assert low_pass_of(torque(rng), RATE) is None


@pytest.mark.parametrize("cutoff_hz", [4.0, 10.0, 25.0])
@pytest.mark.parametrize("order", [3, 4])
def test_the_cut_off_of_a_filter_is_found(rng, cutoff_hz, order):
    sos = signal.butter(order, cutoff_hz, fs=RATE, output="sos")
    found = low_pass_of(signal.sosfiltfilt(sos, torque(rng), axis=0), RATE)
    assert found is not None
    # The spectrum bends gradually: good to a third.
    assert cutoff_hz / 1.35 < found.cutoff_hz < 1.35 * cutoff_hz
    assert f"about {found.cutoff_hz:.2g} Hz" in found.evidence


@pytest.mark.data
def test_of_the_measured_robots_two_have_filtered_torques(data_dir):
    logs = {
        "panda/excitation_log.csv.gz": "panda",
        "panda30/log.csv.gz": "panda",
        "ur10e/30s12h.csv.gz": "ur10e/ur10e.urdf",
        "ur10/log.csv.gz": "ur10/robot.urdf",
        "lwr4/run1.csv.gz": "lwr4/robot.urdf",
        "kr300/runA.csv.gz": "kr300/robot.toml",
        "med7/log.csv.gz": "med7/robot.urdf",
    }
    filtered = []
    for name, robot in logs.items():
        raw = read_raw(data_dir / name, dynid.load_robot(robot if robot == "panda" else data_dir / robot).joint_names)
        tau = raw.tau if raw.tau is not None else raw.current
        if low_pass_of(tau, 1.0 / float(np.median(np.diff(raw.t)))) is not None:
            filtered.append(name)
    assert filtered == ["ur10/log.csv.gz", "lwr4/run1.csv.gz"]
