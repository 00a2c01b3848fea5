"""The real UR10e logs with motor currents: trained on one, tried on another."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dynid import TorqueModel, base_parameters, load_robot
from dynid.dynamics import RotorInertia, friction_models
from dynid.recording import Conditioning, read_recording
from dynid.regression import Feasible, SampleRows, compress
from dynid.validation import compare_torque


@pytest.fixture(scope="module")
def fitted(data_dir):
    folder = data_dir / "ur10e"
    gains = np.array(json.loads((folder / "facts.json").read_text())["torque_constants"]["controller_Nm_per_A"])
    robot = load_robot(folder / "ur10e.urdf")
    model = TorqueModel(robot, (RotorInertia(), *friction_models("viscous+coulomb+offset")))

    def read(name):
        recording = read_recording(folder / f"{name}.csv.gz", robot.joint_names)
        return replace(recording, tau=recording.current * gains)

    log = read("30s12h")
    plan = Conditioning().plan(log)
    base = base_parameters(model)
    return model, plan, read, Feasible().fit(compress(SampleRows(model, base, (plan.apply(log),))))


def test_an_unseen_motion_is_predicted_better_than_published(fitted):
    model, plan, read, estimate = fitted
    error = compare_torque(model, estimate.theta, plan.apply(read("20s8h"))).error
    assert error.relative_percent < 5.0  # the authors' method: 7.33 %


def test_links_weigh_what_an_arm_can_weigh(fitted):
    model, _, _, estimate = fitted
    masses = estimate.theta[: model.n_inertial : 10]
    assert np.all(masses > 0.0)
    assert np.all(masses < 30.0)
    assert 15.0 < masses.sum() < 60.0  # 28.7 kg in the robot file
