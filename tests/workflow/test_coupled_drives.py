"""Coupled drives: the doctor's hint, the option that follows it, and what a model remembers of it."""

import json
from dataclasses import replace

import numpy as np
import pytest

import dynid
from dynid.chain import Robot, load_robot
from dynid.chain.transmission import read_transmission
from dynid.cli import main
from dynid.dynamics import Motion, TorqueModel, friction_models
from dynid.dynamics.drives import Drives
from dynid.recording import Recording
from dynid.review import Severity
from dynid.review.checks.coupled import CoupledDrives

MOTION_SECONDS, RATE = 12.0, 100.0


@pytest.fixture(scope="module")
def arm() -> Robot:
    return load_robot("wam7").locked({f"joint{k}": 0.3 for k in (1, 2, 3)})


def log_of(robot: Robot, rng: np.random.Generator, ratio: float = 0.0, *, motors: bool = False) -> Recording:
    """A log of four joints, the last motor turning with the joint before as well; torques of joints or of motors."""
    t = np.arange(0.0, MOTION_SECONDS, 1.0 / RATE)
    k = np.arange(1, 5)
    phase = 2.0 * np.pi * 0.1 * np.outer(t, k)
    A, B = rng.normal(size=(2, 4, 4)) / k[:, None]
    q = np.sin(phase) @ A + np.cos(phase) @ B
    w = 2.0 * np.pi * 0.1 * k[:, None]
    motion = Motion(
        t,
        q,
        np.cos(phase) @ (w * A) - np.sin(phase) @ (w * B),
        -np.sin(phase) @ (w**2 * A) - np.cos(phase) @ (w**2 * B),
    )
    C = np.eye(4)
    C[3, 2] = ratio
    coupled = replace(robot, transmission=C)
    model = TorqueModel(coupled, friction_models("viscous+coulomb"))
    theta = np.concatenate([robot.nominal.ravel(), np.tile([0.3, 0.5], 4)])
    tau = model.torque(motion, theta)
    if motors:
        tau = Drives(np.ones(4), transmission=C).current(tau)
    tau = tau + 0.002 * np.std(tau, axis=0) * rng.normal(size=tau.shape)
    return Recording(robot.joint_names, t, q, tau=tau, dq=motion.dq)


def hints(robot, log):
    return [f for f in dynid.examine(robot, log).findings if f.code == "coupled-drives"]


@pytest.mark.whole
def test_two_residuals_that_show_one_motor_are_a_hint_and_its_file_repairs_the_fit(arm, rng, tmp_path):
    for motors in (False, True):
        log = log_of(arm, rng, -1.0, motors=motors)
        (hint,) = hints(arm, log)
        assert isinstance(hint.measured, CoupledDrives)
        assert (hint.severity, hint.joint, hint.measured.joint) == (Severity.INFO, "joint7", "joint6")
        assert (hint.measured.ratio, hint.measured.motor_torques) == (-1.0, motors)
        file = tmp_path / "transmission.toml"
        file.write_text(hint.fix.split(":\n", 1)[1])
        coupled = replace(arm, transmission=read_transmission(file, arm))
        gains = np.ones(4) if motors else None
        before = dynid.identify(arm, log, friction="viscous+coulomb", estimator="wls", force=True)
        after = dynid.identify(coupled, log, friction="viscous+coulomb", estimator="wls", gains=gains)
        # Noise of 0.2 % of each torque, less what the low-pass takes of it.
        assert after.train.error.relative_percent < 0.2
        assert before.train.error.relative_percent > 5.0 * after.train.error.relative_percent
        again = dynid.validate(after.model, log).validation[0]
        assert again.error.relative_percent == pytest.approx(after.train.error.relative_percent, rel=1e-6)


def test_drives_of_their_own_raise_no_hint(arm, rng):
    assert not hints(arm, log_of(arm, rng))


def test_the_option_goes_into_the_model_and_the_record_of_the_run(tmp_path, rng, capsys):
    robot = load_robot("planar2r")
    file = tmp_path / "transmission.toml"
    file.write_text("matrix = [[1, 0], [1, 1]]")
    log = tmp_path / "log.csv"
    assert main(["simulate", "planar2r", "--out", str(log), "--duration", "8", "--transmission", str(file)]) == 0
    out = tmp_path / "result"
    arguments = ["identify", "planar2r", str(log), "--transmission", str(file), "--friction", "viscous+coulomb"]
    capsys.readouterr()
    assert main([*arguments, "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["train"]["relative_error_percent"] < 2.0
    model = dynid.load_model(out / "model.json")
    np.testing.assert_array_equal(model.robot.transmission, [[1.0, 0.0], [1.0, 1.0]])
    assert str(file) in (out / "run.json").read_text()
    assert robot.transmission is None
