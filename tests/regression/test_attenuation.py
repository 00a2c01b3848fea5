"""What noise of positions takes off inertias, by least squares beside instrumental variables."""

from dataclasses import replace

import numpy as np
import pytest

from dynid import TorqueModel, base_parameters, load_robot
from dynid.arrays import Array
from dynid.dynamics import RotorInertia, friction_models
from dynid.recording import Conditioning, LowPass, Plan, Recording
from dynid.recording.splines import spline
from dynid.regression import SampleRows, compress
from dynid.regression.attenuation import Attenuation, attenuation
from tests.regression.logs import exciting_motion

ROBOT = load_robot("planar2r")
MODEL = TorqueModel(ROBOT, (RotorInertia(), *friction_models("viscous+coulomb")))
BASE = base_parameters(MODEL)
WEIGHTS = np.array([2.0, 5.0])


def log(q_noise: float, *, tau_noise: float = 0.05) -> tuple[Recording, Plan]:
    """Positions and torques of 20 s at 200 Hz, and how they are conditioned."""
    rng = np.random.default_rng(5)
    motion = exciting_motion(ROBOT, rng, duration=20.0, rate_hz=200.0, speed=2.0)
    theta = np.concatenate([MODEL.nominal()[: MODEL.n_inertial], [0.5, 1.0, 0.5, 0.2, 0.5, 0.3]])
    tau = MODEL.torque(motion, theta) + tau_noise * rng.standard_normal((motion.n_samples, 2))
    q = motion.q + q_noise * rng.standard_normal(motion.q.shape)
    recording = Recording(ROBOT.joint_names, motion.t, q, tau=tau)
    return recording, Conditioning(cutoff_hz=10.0).plan(recording)


def rows(recording: Recording, plan: Plan) -> tuple[Array, Array]:
    """Weighted rows of all joints in all base parameters, and their torques."""
    source = SampleRows(MODEL, BASE, (plan.apply(recording),))
    visible = compress(source).visible
    Y, tau = [], []
    for block in source.blocks():
        for j, own in enumerate(block):
            wide = np.zeros((len(own.tau), BASE.n_base))
            wide[:, visible[j]] = own.Y
            Y.append(WEIGHTS[j] * wide)
            tau.append(WEIGHTS[j] * own.tau)
    return np.vstack(Y), np.concatenate(tau)


@pytest.mark.parametrize("q_noise", [0.0, 0.1])
def test_the_attenuation_is_half_of_what_two_halves_of_the_samples_show(q_noise: float) -> None:
    recording, plan = log(q_noise)
    half = replace(plan, low_pass=LowPass(10.0, 0.5 * plan.low_pass.rate_hz), every=plan.every // 2, min_velocity=0.0)
    t, tau = recording.t[2:-2:2], recording.tau[2:-2:2]
    between = spline(recording.t[1::2], recording.q[1::2], t)
    X, y = rows(Recording(ROBOT.joint_names, t, recording.q[2:-2:2], tau=tau), half)
    Z, _ = rows(Recording(ROBOT.joint_names, t, between, tau=tau), half)
    plain = np.linalg.lstsq(X, y, rcond=None)[0]
    free = np.linalg.solve(Z.T @ X, Z.T @ y)
    noise = np.sum((y - X @ plain) ** 2) / (len(y) - BASE.n_base)
    std = np.sqrt(noise * np.diag(np.linalg.inv(Z.T @ X) @ Z.T @ Z @ np.linalg.inv(X.T @ Z)))
    clear = np.array([column.unit == "kg·m²" for column in BASE.leading_columns]) & (np.abs(free) > 5.0 * std)
    assert np.any(clear)
    precision = (free / std)[clear] ** 2
    found = attenuation(MODEL, BASE, recording, plan, WEIGHTS)
    assert found is not None
    share = 0.5 * np.average(1.0 - (plain / free)[clear], weights=precision)
    assert found.share == pytest.approx(share, rel=1e-5, abs=1e-9)  # rounding, at a condition of some 1e3
    assert found.std == pytest.approx(0.5 / np.sqrt(np.sum(precision)), rel=1e-5)
    assert (found.share > 0.01) == (q_noise > 0.0)


def test_only_logs_of_positions_alone_with_room_above_the_cut_off_say_anything() -> None:
    recording, plan = log(0.0)
    assert attenuation(MODEL, BASE, replace(recording, dq=np.zeros_like(recording.q)), plan, WEIGHTS) is None
    assert attenuation(MODEL, BASE, replace(recording, tau=None), plan, WEIGHTS) is None
    rate = plan.low_pass.rate_hz
    open_ = replace(plan, low_pass=LowPass(np.inf, rate))
    assert attenuation(MODEL, BASE, recording, open_, WEIGHTS) is None
    # Every other sample carries no more than 0.4 of its rate.
    assert attenuation(MODEL, BASE, recording, replace(plan, low_pass=LowPass(0.21 * rate, rate)), WEIGHTS) is None
    assert attenuation(MODEL, BASE, recording, replace(plan, low_pass=LowPass(0.19 * rate, rate)), WEIGHTS) is not None


def test_inertias_that_drown_in_noise_say_nothing() -> None:
    recording, plan = log(0.0, tau_noise=1e4)
    assert attenuation(MODEL, BASE, recording, plan, WEIGHTS) is None


@pytest.mark.parametrize(("share", "std", "matters"), [(0.03, 0.009, True), (0.03, 0.011, False), (0.009, 0.0, False)])
def test_an_attenuation_matters_if_it_is_clearly_more_than_a_percent(share: float, std: float, matters: bool) -> None:
    assert Attenuation(share, std).matters is matters
    assert str(Attenuation(0.0312, 0.004)) == "3.1 ± 0.4 %"
