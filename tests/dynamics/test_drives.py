"""Drives: currents, gear ratios, and joints that share motors."""

from dataclasses import replace

import numpy as np
import pytest

from dynid.chain import load_robot
from dynid.dynamics import (
    Coulomb,
    Drives,
    LoadCoulomb,
    Motion,
    RotorInertia,
    TorqueModel,
    Viscous,
    base_parameters,
    random_motion,
)
from dynid.errors import ParameterError, RobotError, RobotFileError
from dynid.regression.model_file import _robot_in, _robot_out

WRIST = np.array([[1.0, 0.0], [0.5, 2.0]])
"""The second motor turns with both joints."""
COUPLED = replace(load_robot("spatial2r"), transmission=WRIST)
TABLE = """
name = "wrist"
convention = "modified"
transmission = {matrix}
[[joint]]
name = "bend"
a = 0.0
alpha = 0.0
d = 0.0
[[joint]]
name = "roll"
a = 0.0
alpha = 1.5707963267948966
d = 0.0
"""


def test_currents_become_torques_and_back(rng):
    drives = Drives(np.array([0.1, -0.2]), np.array([100.0, 50.0]), WRIST)
    current = rng.normal(size=(20, 2))
    tau = drives.joint_torque(current)
    np.testing.assert_allclose(tau, (current * [10.0, -10.0]) @ WRIST)
    np.testing.assert_allclose(drives.current(tau), current, atol=1e-12)


def test_power_of_motors_is_power_of_joints(rng):
    drives = Drives.of(COUPLED, np.array([10.0, 8.0]))
    dq, current = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    motor_power = np.sum(current * drives.gains * (dq @ WRIST.T), axis=1)
    np.testing.assert_allclose(np.sum(drives.joint_torque(current) * dq, axis=1), motor_power)


def test_friction_of_coupled_motors_acts_on_every_joint_they_move(rng):
    model = TorqueModel(COUPLED, (RotorInertia(), Viscous(), Coulomb(), LoadCoulomb()))
    motion = random_motion(COUPLED, 60, rng)
    theta = np.concatenate([COUPLED.nominal.ravel(), rng.uniform(0.5, 2.0, 8)])
    own = theta[20:].reshape(2, 4)
    rigid = TorqueModel(load_robot("spatial2r")).torque(motion, theta[:20])
    motor = Motion(motion.t, motion.q @ WRIST.T, motion.dq @ WRIST.T, motion.ddq @ WRIST.T)
    load = np.abs(rigid @ np.linalg.inv(WRIST))
    friction = own[:, 0] * motor.ddq + own[:, 1] * motor.dq + (own[:, 2] + own[:, 3] * load) * np.sign(motor.dq)
    expected = rigid + friction @ WRIST
    np.testing.assert_allclose(model.torque(motion, theta), expected, atol=1e-9)
    np.testing.assert_allclose(model.regressor(motion) @ theta, expected, atol=1e-9)


def test_rotors_behind_a_coupling_add_to_the_mass_matrix(rng):
    model = TorqueModel(COUPLED, (RotorInertia(),))
    rows = model.inertia_rows(rng.normal(size=(5, 2)))
    theta = np.concatenate([np.zeros(20), [3.0, 5.0]])
    M = WRIST.T @ np.diag([3.0, 5.0]) @ WRIST
    np.testing.assert_allclose(rows @ theta, np.tile([M[0, 0], M[1, 0], M[1, 1]], (5, 1)), atol=1e-12)


def test_a_joint_sees_the_terms_of_all_motors_that_move_it():
    model = TorqueModel(COUPLED, (Viscous(),))
    symbols = np.array(model.symbols)
    assert {"fv1", "fv2"} <= set(symbols[model.seen_by(0)])
    assert "fv1" not in symbols[model.seen_by(1)]
    assert base_parameters(model).n_base == base_parameters(TorqueModel(COUPLED)).n_base + 2


def test_a_table_file_may_hold_the_transmission(tmp_path):
    file = tmp_path / "wrist.toml"
    file.write_text(TABLE.format(matrix="[[1.0, 0.0], [1.0, 2.0]]"))
    np.testing.assert_array_equal(load_robot(str(file)).transmission, [[1.0, 0.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    ("matrix", "complaint"),
    [
        ("[[1.0, 2.0], [0.5, 1.0]]", "the transmission matrix is singular"),
        ("[[1.0, 0.0], [0.0, 0.0]]", "the transmission matrix is singular"),
        ("[[1.0, 0.0]]", "must be 2×2, a row for every motor"),
        ("[[1.0, 0.0], [1.0]]", "must be 2×2, a row for every motor"),
    ],
)
def test_a_transmission_that_cannot_be_is_refused(tmp_path, matrix, complaint):
    file = tmp_path / "wrist.toml"
    file.write_text(TABLE.format(matrix=matrix))
    with pytest.raises(RobotFileError, match=complaint):
        load_robot(str(file))


def test_a_model_file_keeps_the_transmission():
    np.testing.assert_array_equal(_robot_in(_robot_out(COUPLED)).transmission, WRIST)


def test_a_coupled_joint_cannot_be_locked():
    with pytest.raises(RobotError, match="is coupled to others and cannot be locked"):
        COUPLED.locked({COUPLED.joint_names[0]: 0.0})


def test_gains_that_make_no_sense_are_refused():
    with pytest.raises(ParameterError, match="drive gains must be finite and not zero"):
        Drives(np.array([1.0, 0.0]))
    with pytest.raises(ParameterError, match="3 drive gains but spatial2r has 2 joints"):
        Drives.of(COUPLED, np.ones(3))
