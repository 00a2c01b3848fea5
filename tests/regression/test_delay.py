"""Delay and rotor inertias, chosen by what is predicted of left-out segments."""

import numpy as np
import pytest

from dynid import TorqueModel, base_parameters, load_robot
from dynid.dynamics import RotorInertia, friction_models
from dynid.recording import Recording
from dynid.regression.friction.choice import choose_friction
from dynid.regression.friction.delay import DelayChoice, choose_delay
from dynid.regression.friction.rotors import rotor_choice
from dynid.regression.friction.rows import friction_rows
from tests.regression.arms import ARM, conditioned, exciting_motion, frictional, log_of

FRICTION = friction_models("viscous+coulomb+offset")
VALUES = {"Fv": 0.3, "Fc": 0.5, "Fo": 0.1, "Ia": 0.4}


def rows_of(model, theta, rng, *, lag=0.0):
    """Search rows of a log whose torque is stamped `lag` s too late."""
    log = log_of(model, theta, exciting_motion(model.robot, rng, fastest=3.0), rng, noise=0.02)
    tau = np.column_stack([np.interp(log.t - lag, log.t, column) for column in log.tau.T])
    late = Recording(log.joint_names, log.t, log.q, dq=log.dq, tau=tau)
    rigid = TorqueModel(model.robot)
    return friction_rows(rigid, base_parameters(rigid), (conditioned(late),))


@pytest.mark.parametrize("lag", [-0.02, 0.008, 0.045])
def test_a_delay_is_found_and_what_it_gains_is_said(lag, rng):
    rows = rows_of(*frictional(ARM, FRICTION, VALUES), rng, lag=lag)
    found = choose_delay(rows, FRICTION, np.full(2, 10.0))
    assert found.sure
    assert found.delay == pytest.approx(lag, abs=1e-3)
    assert found.after < found.before
    assert f"{1e3 * found.delay:.2f} ms" in found.reason


def test_without_a_delay_none_is_chosen(rng):
    found = choose_delay(rows_of(*frictional(ARM, FRICTION, VALUES), rng), FRICTION, np.full(2, 10.0))
    assert not found.sure
    assert found.delay == 0.0
    assert abs(found.best) < 1e-3
    assert found.reason.startswith("no delay")


@pytest.mark.parametrize(
    ("best", "after", "said"),
    [
        (-1e-5, 0.9999, "no delay of the torque: no other value predicts left-out segments better"),
        (-8e-4, 0.993, "no delay of the torque: the best, -0.8 ms, changes the error on left-out segments by -0.7 %"),
        (4e-4, 0.9999, "no delay of the torque: the best, 0.4 ms, changes the error on left-out segments by less than"),
    ],
)
def test_a_delay_that_is_not_taken_is_never_minus_zero(best, after, said):
    reason = DelayChoice(0.0, best, 1.0, after, sure=False).reason
    assert reason.startswith(said)
    assert "-0.0" not in reason


def test_a_delay_beyond_all_that_are_tried_is_not_taken(rng):
    rows = rows_of(*frictional(ARM, FRICTION, VALUES), rng, lag=0.3)
    found = choose_delay(rows, FRICTION, np.full(2, 10.0))
    assert found.delay == 0.0
    assert not found.sure


def test_rotor_inertias_are_found_with_the_friction_where_there_are_any(rng):
    # Where one axis is at right angles to the next, a rotor cannot be told from its link: this arm is planar.
    drives = (RotorInertia(), *FRICTION)
    rows = rows_of(*frictional(load_robot("planar2r"), drives, VALUES), rng)
    choice = choose_friction(rows, "auto", rotors=True)
    assert choice.models[0].name == "rotor"
    assert "every joint: error on left-out segments -" in str(choice.rotors and choice.rotors.reason)
    assert np.all(choice.left_out_percent < 5.0)


def test_rotor_inertias_that_gain_nothing_are_not_taken(rng):
    """As with torque sensors behind the gear: what one motion does not tell from a link shows in another."""
    rows = rows_of(*frictional(load_robot("planar2r"), FRICTION, VALUES), rng)
    choice = choose_friction(rows, "auto", rotors=True)
    assert "rotor" not in [model.name for model in choice.models]
    assert choice.rotors is not None
    assert not choice.rotors.taken
    assert choice.rotors.reason.startswith("no rotor inertia")


@pytest.mark.parametrize(("gain", "sure", "torque", "simulated"), [
    (0.1, True, True, True), (0.02, True, False, True), (0.1, False, False, True), (-0.1, False, False, True),
    (-0.1, True, False, False),
])  # fmt: skip
def test_rotors_are_taken_where_they_gain_and_in_a_simulator_unless_they_do_worse(gain, sure, torque, simulated):
    without = np.ones(6)
    rotors = (1.0 - gain) ** 2 + (0.001 if sure else 1.0) * np.array([1.0, -1.0] * 3)
    assert rotor_choice(without, rotors, simulated=False).taken == torque
    assert rotor_choice(without, rotors, simulated=True).taken == simulated


def test_rotor_inertias_that_were_not_asked_for_are_not_tried(rng):
    choice = choose_friction(rows_of(*frictional(ARM, FRICTION, VALUES), rng), "auto")
    assert "rotor" not in [model.name for model in choice.models]
    assert choice.rotors is None


def test_a_spring_is_taken_where_there_is_one_and_nowhere_else(rng):
    spring = friction_models("viscous+coulomb+spring")
    values = {**VALUES, "Ks": -1.5, "Ko": 0.4}
    model, theta = frictional(ARM, tuple(m if m.name != "spring" else m.only_on((False, True)) for m in spring), values)
    theta[model.n_inertial + 2 : model.n_inertial + 4] = 0.0
    choice = choose_friction(rows_of(model, theta, rng), "auto")
    assert "spring" not in choice.names[0]
    assert "spring" in choice.names[1]
    assert "with spring" in choice.reasons[1] or "spring " in choice.reasons[1]
