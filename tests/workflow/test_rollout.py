"""Rollouts: the truth is as good as the noise allows, worse models are told from better ones, files say it too."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid.arrays import Array
from dynid.cli import main
from dynid.dynamics import Coulomb, Motion, TorqueModel, Viscous
from dynid.errors import ConfigError
from dynid.regression import IdentifiedModel
from dynid.simulation.arm import SimulatedArm
from dynid.simulation.joint_controller import ControllerFile, JointController
from dynid.validation.simulator import SimulatorError
from dynid.validation.verdict import judge
from dynid.workflow import Identification
from tests.regression.arms import frictional
from tests.workflow.small_arm import ARM, prints_well

CONTROLLER = ControllerFile(kp=[300.0, 60.0], kd=[12.0, 1.0], rate=200.0)


@cache
def model_and_theta() -> tuple[TorqueModel, Array]:
    """The arm, with friction that lets it move between reversals."""
    return frictional(ARM, (Viscous(), Coulomb()), {"Fv": 0.2, "Fc": 0.3})


def asked(seed: int, seconds: float = 6.0) -> Motion:
    """A smooth reference at 200 Hz."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(200 * seconds)) / 200.0
    w = 2.0 * np.pi * 0.3 * np.arange(1, 4)
    x = w[:, None] * t
    a, b = rng.normal(size=(2, 2, 3)) * 0.3
    q = a @ np.sin(x) + b @ np.cos(x)
    return Motion(t, q.T, ((a * w) @ np.cos(x) - (b * w) @ np.sin(x)).T, np.zeros((len(t), 2)))


@cache
def controlled(seed: int, noise: float = 1e-4) -> tuple[dynid.Recording, Array]:
    """A log of the true arm under `CONTROLLER`, every sample with encoder noise, and the reference."""
    model, theta = model_and_theta()
    motion = asked(seed)
    driver = JointController.of(CONTROLLER, ARM)
    period, steps = driver.ticks(200.0, 1e-3)
    n_ticks = len(motion.t) - 1
    feedback = driver.feedback(ARM, motion.t, motion.q, 0.0, n_ticks + 1, period, steps)
    arm = SimulatedArm.of(model, theta, 3.0)
    nothing = np.zeros((0, 2))
    run = arm.run(motion.q[0], motion.dq[0], nothing, period / steps, feedback=feedback, n_steps=n_ticks * steps)
    rng = np.random.default_rng(seed)
    q = run.q[::steps] + noise * rng.normal(size=(n_ticks + 1, 2))
    # The torque at a sample is that between its halves.
    staircase = np.vstack([run.tau[::steps], run.tau[-1:]])
    tau = np.vstack([staircase[:1], 0.5 * (staircase[:-1] + staircase[1:])])
    return dynid.Recording(ARM.joint_names, motion.t, q, tau=tau, source="controlled arm"), motion.q


@cache
def fit() -> Identification:
    """What another log gives."""
    return dynid.identify(ARM, controlled(7)[0], friction="viscous+coulomb")


def known() -> IdentifiedModel:
    """Its model."""
    return fit().model


@cache
def truth() -> IdentifiedModel:
    """The model that is the arm."""
    found = known()
    _, theta = model_and_theta()
    return IdentifiedModel(
        found.model, found.base, "truth", "", found.base.project(theta), found.covariance, theta=theta,
        labels=("identified",) * len(theta), settings=found.settings,
    )  # fmt: skip


def worse(factor: float) -> IdentifiedModel:
    """The arm with inertias that are off by a factor."""
    model, theta = model_and_theta()
    changed = np.array(theta)
    changed[: model.n_inertial] *= factor
    found = truth()
    return IdentifiedModel(
        found.model, found.base, "wrong", "", found.base.project(changed), found.covariance, theta=changed,
        labels=("identified",) * len(theta), settings=found.settings,
    )  # fmt: skip


def reference(seed: int) -> dict[str, Array]:
    """What the controller was asked for, as a log."""
    log, q = controlled(seed)
    return {"t": np.array(log.t), "q": q}


def test_the_true_model_errs_as_much_as_noise_explains_and_a_worse_one_errs_more():
    log, _ = controlled(1)
    result = dynid.rollout([truth(), worse(1.1), worse(1.3)], log)
    true, off, far, nominal = (model.open_loop for model in result.models)
    assert true is not None
    assert off is not None
    assert far is not None
    assert nominal is not None
    for seconds in (0.25, 0.5, 1.0):
        ratio = np.linalg.norm(true.rms(seconds)) / np.linalg.norm(true.noise(seconds))
        assert 0.4 < ratio < 2.5  # two draws of some twenty windows
    sizes = [float(np.linalg.norm(found.rms(0.5))) for found in (true, off, far)]
    assert sizes[0] < 0.5 * sizes[1] < 0.5 * sizes[2]
    assert true.divergence > far.divergence
    assert true.tool_end(0.5) < off.tool_end(0.5)
    assert np.all(true.end(1.0) > true.rms(1.0) * 0.9)
    # The robot file has no friction: far off.
    assert np.linalg.norm(nominal.rms(0.5)) > 5.0 * sizes[1]


def test_in_closed_loop_the_true_model_explains_the_tracking_error():
    log, _ = controlled(2)
    driver = JointController.of(CONTROLLER, ARM)
    result = dynid.rollout([truth(), worse(1.2)], log, controller=driver, reference=reference(2))
    true, off, nominal = (model.closed_loop for model in result.models)
    assert true is not None
    assert off is not None
    assert nominal is not None
    assert true.share_percent < 2.0
    assert off.share_percent > 4.0 * true.share_percent
    assert nominal.share_percent > off.share_percent
    assert np.all(true.tracking > 1e-3)


def test_a_log_without_torque_is_repeated_in_closed_loop_alone():
    log, _ = controlled(2)
    bare = {"t": np.array(log.t), "q": np.array(log.q)}
    with pytest.raises(ConfigError, match="no torque"):
        dynid.rollout(truth(), bare)
    driver = JointController.of(CONTROLLER, ARM)
    result = dynid.rollout(truth(), bare, controller=driver, reference=reference(2))
    assert result.models[0].open_loop is None
    assert result.json()["windows"] == []
    loop = result.models[0].closed_loop
    assert loop is not None
    assert loop.share_percent < 2.0


def test_a_rollout_prints_as_a_page_and_in_one_line():
    result = dynid.rollout(known(), controlled(1)[0])
    prints_well(result)
    assert "noise alone" in str(result)
    assert "robot file" in str(result)


@pytest.mark.parametrize(
    ("keywords", "match"),
    [
        ({"window": -1.0}, "`window`"),
        ({"in_": "gazebo:arm.xml"}, "mujoco:FILE"),
        ({"in_": "mujoco:nowhere.xml"}, r"nowhere\.xml: no such file"),
        ({"controller": JointController.of(CONTROLLER, ARM)}, "give `reference`"),
    ],
)
def test_wrong_calls_say_what_was_expected(keywords, match):
    with pytest.raises(ConfigError, match=match):
        dynid.rollout(truth(), controlled(1)[0], **keywords)


def files(folder: Path) -> tuple[str, str, str]:
    """Model, log with its reference, and controller file."""
    dynid.save(known(), folder / "result")
    log, q = controlled(1)
    assert log.tau is not None
    table = np.column_stack([log.t, log.q, log.tau, q])
    np.savetxt(folder / "log.csv", table, delimiter=",", header="t,q1,q2,tau1,tau2,q_ref1,q_ref2", comments="")
    (folder / "ctrl.toml").write_text("kp = [300.0, 60.0]\nkd = [12.0, 1.0]\nrate = 200\n")
    return str(folder / "result" / "model.json"), str(folder / "log.csv"), str(folder / "ctrl.toml")


def test_the_command_gives_the_keys_that_scripts_read_and_a_page(tmp_path, capsys):
    model, log, controller = files(tmp_path)
    page = tmp_path / "page.html"
    assert main(["rollout", model, log, "--controller", controller, "--report", str(page), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [window["seconds"] for window in found["windows"]] == [0.25, 0.5, 1.0]
    assert {"rms", "end", "floor"} <= set(found["windows"][0])
    assert len(found["windows"][0]["rms"]) == 2
    assert found["closed_loop"]["share_percent"] < 10.0
    assert [entry["model"] for entry in found["models"]] == [model, "robot file"]
    assert found["divergence_s"] is None or found["divergence_s"] > 0.0
    text = page.read_text(encoding="utf-8")
    assert "Error over the horizon" in text
    # The page opens with what it found, in the numbers of the terminal.
    assert re.search(r"[\d.]+ mrad in 0\.5 s \(noise alone [\d.]+, constant velocity [\d.e+]+, robot file", text)
    assert re.search(r"The model leaves [\d.]+ of the error of constant velocity\.", text)
    assert "Noise alone is the error that measurement noise would cause with a perfect model" in text
    assert "Around velocity reversals" in text
    assert "Closed loop" in text


def test_the_command_says_what_it_needs(tmp_path, capsys):
    model, log, _ = files(tmp_path)
    assert main(["rollout", model]) == 2
    assert "then the log" in capsys.readouterr().err
    (tmp_path / "bad.toml").write_text('kp = 1.0\nreference = "asked{n}"\n')
    assert main(["rollout", model, log, "--controller", str(tmp_path / "bad.toml")]) == 2
    assert "asked1" in capsys.readouterr().err
    assert main(["rollout", model, log, "--in", f"mujoco:{log}"]) == 2
    assert "MuJoCo refuses it" in capsys.readouterr().err


def test_constant_velocity_stands_beside_the_models_and_is_what_its_formula_says():
    log, _ = controlled(1)
    result = dynid.rollout(truth(), log)
    assert "constant velocity" in str(result)
    coasting = result.coasting
    assert coasting is not None
    speed = (coasting.simulated[:, 1] - coasting.simulated[:, 0]) / coasting.t[1]
    expected = coasting.measured[:, :1] + coasting.t[None, :, None] * speed[:, None]
    np.testing.assert_allclose(coasting.simulated, expected, atol=1e-12)  # rounding of a second's path
    told = result.json()["constant_velocity"]
    assert [window["seconds"] for window in told] == [0.25, 0.5, 1.0]
    np.testing.assert_allclose(told[1]["rms"], coasting.rms(0.5))
    true = result.models[0].open_loop
    assert true is not None
    assert np.all(true.rms(0.5) < 0.1 * coasting.rms(0.5))


def test_for_a_simulator_rollouts_decide_and_not_torque_alone():
    log, other = controlled(7)[0], controlled(1)[0]
    found = dynid.identify(ARM, log, friction="viscous+coulomb", validate=other, purpose="simulator")
    names = [criterion.name for criterion in found.verdict.criteria]
    assert "Rollouts of the held-out log" in names
    assert "Rollouts beside the robot file" in names
    assert found.verdict.mark == "good"
    [told] = found.json()["rollouts"]
    assert told["models"][0]["model"] == "this model"
    assert "constant velocity" in str(found)
    assert "In simulation of the held-out log" in found.verdict.summary
    plain = dynid.identify(ARM, log, friction="viscous+coulomb", validate=other)
    assert plain.rollouts == ()
    assert not [c for c in plain.verdict.criteria if "ollout" in c.name]


def test_without_a_held_out_log_rollouts_of_the_training_log_make_it_usable_at_best():
    found = dynid.identify(ARM, controlled(7)[0], friction="viscous+coulomb", purpose="simulator", refine="none")
    [judged] = [c for c in found.verdict.criteria if c.name == "Rollouts of the training log"]
    assert judged.mark == "usable"
    assert not [choice for choice in found.chosen if choice["setting"] == "refine"]


@pytest.mark.parametrize(
    ("own", "floor", "mark"),
    [(0.09, 0.0, "good"), (0.4, 0.0, "usable"), (0.9, 0.0, "not good enough"), (0.9, 0.8, "usable")],
)
def test_a_rollout_is_marked_by_what_it_leaves_of_constant_velocity_and_by_noise(own, floor, mark):
    size = np.ones(2)
    found = SimulatorError("log", False, "mrad", 0.5, own * size, floor * size, size, 2.0 * size)
    fitted = fit()
    verdict = judge(fitted.model, fitted.estimate, fitted.train, (), rollouts=[found])
    [judged] = [c for c in verdict.criteria if c.name == "Rollouts of the held-out log"]
    assert judged.mark == mark


def test_a_model_that_the_robot_file_beats_is_not_good_enough():
    size = np.ones(2)
    found = SimulatorError("log", False, "mrad", 0.5, 0.05 * size, 0.0 * size, size, 0.04 * size)
    fitted = fit()
    verdict = judge(fitted.model, fitted.estimate, fitted.train, (), rollouts=[found])
    assert [c.name for c in verdict.failed] == ["Rollouts beside the robot file"]
