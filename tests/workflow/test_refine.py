"""Refinement on rollouts: taken only where held-out rollouts improve; positions and a known controller are enough."""

from __future__ import annotations

import numpy as np
import pytest

import dynid
from dynid.errors import ConfigError
from dynid.regression import IdentifiedModel, Prior
from dynid.regression.problem import Stacked
from dynid.simulation.arm import SimulatedArm
from dynid.simulation.joint_controller import ControllerFile, JointController
from dynid.workflow.refine import TrainingRun, _divided, open_shots
from dynid.workflow.shooting import refined_parameters
from tests.workflow.small_arm import ARM
from tests.workflow.test_rollout import CONTROLLER, controlled, model_and_theta, reference


def error(model: IdentifiedModel, seed: int) -> float:
    """RMS error of rollouts over 0.5 s on a log it has not seen, rad."""
    found = dynid.rollout(model, controlled(seed)[0], window=0.5).models[0].open_loop
    assert found is not None
    return float(np.linalg.norm(found.rms(0.5)))


def test_refinement_is_taken_where_held_out_rollouts_improve_and_links_stay_consistent():
    log, _ = controlled(7)
    plain = dynid.identify(ARM, log, friction="viscous+coulomb")
    refined = dynid.identify(ARM, log, friction="viscous+coulomb", refine="rollout")
    [told] = [choice for choice in refined.json()["chosen"] if choice["setting"] == "refine"]
    assert refined.model.consistent
    if told["value"] == "rollout":
        assert told["change_percent"] is not None
        assert told["change_percent"] < 0.0
        assert "refined on rollouts" in refined.model.rule
        assert error(refined.model, 1) < 1.1 * error(plain.model, 1)
    else:
        np.testing.assert_array_equal(refined.model.parameters, plain.model.parameters)


def test_from_parameters_that_are_off_the_windows_lead_back_to_the_truth():
    """With hardly a prior, from links 10 % too heavy."""
    log, _ = controlled(7)
    model, theta = model_and_theta()
    base = dynid.base_parameters(model)
    off = np.array(theta)
    off[: model.n_inertial] *= 1.1
    samples = dynid.Conditioning().plan(log).apply(log)
    shots = open_shots(SimulatedArm.of(model, off, 3.0), log, samples)
    n = base.n_base
    weak = Stacked(1e-6 * np.eye(n), np.zeros(n), 0.0, n)
    estimator = dynid.Feasible(prior=Prior(rule="nominal"))
    found = refined_parameters(SimulatedArm.of(model, off, 3.0), base, shots, weak, estimator)
    truth, before, after = (base.project(values) for values in (theta, off, found.theta))
    # Inertias and moments; what is left is noise of 1e-4 rad in six seconds.
    assert np.linalg.norm(after - truth) < 0.35 * np.linalg.norm(before - truth)


def test_windows_of_every_log_are_fitted_and_the_last_quarter_of_each_decides():
    model, theta = model_and_theta()
    arm = SimulatedArm.of(model, theta, 3.0)
    logs = [controlled(seed)[0] for seed in (7, 2)]
    runs = [TrainingRun(log, dynid.Conditioning().plan(log).apply(log)) for log in logs]
    each = [open_shots(arm, run.recording, run.samples) for run in runs]
    fitted, rest = _divided(arm, runs, whole=False)
    starts = {tuple(shot.start.ravel()) for shot in fitted}
    for shots in each:
        inside = [tuple(shot.start.ravel()) in starts for shot in shots]
        assert inside == sorted(inside, reverse=True)  # the last windows are those left out
        assert inside.count(False) == pytest.approx(0.25 * len(shots), abs=1.0)
    assert len(fitted) + len(rest) == sum(len(shots) for shots in each)
    assert len(_divided(arm, runs, whole=True)[0]) == len(fitted) + len(rest)


def test_positions_and_a_known_controller_are_enough():
    log, _ = controlled(7)
    bare = {"t": np.array(log.t), "q": np.array(log.q)}
    driver = JointController.of(CONTROLLER, ARM)
    asked = reference(7)
    found = dynid.identify(
        ARM, bare, friction="viscous+coulomb", controller=driver, reference=asked, refine="rollout", force=True
    )
    other = controlled(2)[0]
    unseen = {"t": np.array(other.t), "q": np.array(other.q)}
    result = dynid.rollout(found.model, unseen, controller=driver, reference=reference(2))
    own, nominal = (entry.closed_loop for entry in result.models)
    assert own is not None
    assert nominal is not None
    assert np.linalg.norm(own.rms) < np.linalg.norm(nominal.rms) / 3.0


def test_a_delay_of_the_command_is_found():
    log, _ = controlled(7)
    bare = {"t": np.array(log.t), "q": np.array(log.q)}
    late = ControllerFile(kp=CONTROLLER.kp, kd=CONTROLLER.kd, rate=CONTROLLER.rate, delay=0.005)
    found = dynid.identify(
        ARM, bare, friction="viscous+coulomb", controller=JointController.of(late, ARM), reference=reference(7),
        refine="rollout", force=True,
    )  # fmt: skip
    [told] = [choice for choice in found.json()["chosen"] if choice["setting"] == "refine"]
    # The true controller has none; it is looked for in halves of its period of 5 ms.
    assert "late by 0 ms" in told["reason"]


def test_refinement_needs_links_and_a_friction_that_can_be_simulated():
    log, _ = controlled(7)
    with pytest.raises(ConfigError, match="use the estimator feasible"):
        dynid.identify(ARM, log, friction="viscous", estimator="wls", refine="rollout")
