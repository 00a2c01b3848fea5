"""Friction models: every entry of the table keeps the same promises."""

import numpy as np
import pytest

from dynid.chain import load_robot
from dynid.dynamics import (
    FRICTION,
    Asymmetric,
    Coulomb,
    LoadCoulomb,
    Motion,
    Offset,
    Presliding,
    RotorInertia,
    Sigmoid,
    Stribeck,
    Tanh,
    TorqueModel,
    Viscous,
    friction_models,
    random_motion,
)
from dynid.dynamics.joint_group import checked_models, checked_robot
from dynid.errors import ParameterError, UnknownName
from dynid.simulation.closed_loop import Controller, tracked
from tests.dynamics.friction_battery import BATTERY, sweep

ROBOT = load_robot("spatial2r")
MODELS = [*FRICTION.values(), Presliding(((1e-3,), (1e-1,)))]
names = pytest.mark.parametrize("model", MODELS, ids=lambda m: m.label.replace(" ", "-"))


@pytest.mark.parametrize("fact", BATTERY, ids=lambda fact: fact.__name__)
@names
def test_every_model_keeps_every_promise(fact, model, rng, tmp_path):
    fact(model, rng, tmp_path)


def test_symbols_of_all_models_differ():
    symbols = [term.symbol for model in (*MODELS, RotorInertia()) for term in model.terms]
    assert len(set(symbols)) == len(symbols)


def test_the_sigmoid_is_zero_at_rest_and_phi1_high():
    motion = Motion(np.arange(3.0), np.zeros((3, 1)), np.array([[-50.0], [0.0], [50.0]]), np.zeros((3, 1)))
    low, rest, high = Sigmoid(((10.0,), (0.05,))).columns(motion)[:, 0, 0]
    assert rest == 0.0
    assert high - low == pytest.approx(1.0)
    assert high == pytest.approx(1.0 - 1.0 / (1.0 + np.exp(-0.5)))


def test_a_tanh_of_tiny_velocity_is_coulomb():
    motion = random_motion(ROBOT, 100, np.random.default_rng(0))
    np.testing.assert_allclose(Tanh(((1e-9,),)).columns(motion), Coulomb().columns(motion))


def test_presliding_of_tiny_length_is_the_sign_of_the_motion():
    motion = sweep()
    z = Presliding(((1e-12,),)).columns(motion)[1:, 0, 0]
    np.testing.assert_array_equal(z, np.sign(np.diff(motion.q[:, 0])))


def test_presliding_solves_dahls_equation():
    q = np.concatenate([np.linspace(0.0, 0.02, 500), np.linspace(0.02, 0.0, 500)])[:, None]
    motion = Motion(np.arange(1000.0), q, np.gradient(q, axis=0), np.zeros_like(q))
    z = Presliding(((0.01,),)).columns(motion)[:, 0, 0]
    # Up: z = 1 − exp(−q/ℓ); down from there: z = −1 + (z_top + 1) exp(−(q_top − q)/ℓ).
    np.testing.assert_allclose(z[:500], 1.0 - np.exp(-q[:500, 0] / 0.01), atol=1e-12)
    top = 1.0 - np.exp(-2.0)
    assert z[-1] == pytest.approx(-1.0 + (top + 1.0) * np.exp(-2.0), abs=1e-12)


def test_stribeck_and_coulomb_add_up_to_static_friction_near_standstill():
    slow, fast = 1e-9, 100.0
    motion = Motion(np.arange(2.0), np.zeros((2, 1)), np.array([[slow], [fast]]), np.zeros((2, 1)))
    total = 2.0 * Coulomb().columns(motion) + 0.5 * Stribeck(((0.1,),)).columns(motion)
    np.testing.assert_allclose(total[:, 0, 0], [2.5, 2.0])


def test_load_friction_follows_the_torque_of_the_links():
    motion = random_motion(ROBOT, 50, np.random.default_rng(1))
    rigid = TorqueModel(ROBOT).torque(motion, ROBOT.nominal.ravel())
    column = TorqueModel(ROBOT, (LoadCoulomb(),)).joint_columns(motion)[:, :, 0]
    np.testing.assert_allclose(column, np.abs(rigid) * np.sign(motion.dq), atol=1e-12)


def test_asymmetric_friction_with_equal_sides_is_viscous_and_coulomb():
    motion = random_motion(ROBOT, 50, np.random.default_rng(2))
    both = Asymmetric().columns(motion) @ np.array([1.5, 1.5, 0.7, 0.7])
    plain = 1.5 * Viscous().columns(motion) + 0.7 * Coulomb().columns(motion)
    np.testing.assert_allclose(both, plain[:, :, 0])


def test_offset_is_a_constant():
    assert np.all(Offset().columns(sweep()) == 1.0)


def test_names_make_models_and_wrong_ones_are_refused():
    assert [model.name for model in friction_models("viscous+tanh+load")] == ["viscous", "tanh", "load"]
    assert friction_models("none") == ()
    with pytest.raises(UnknownName, match="no friction model 'stribek'; did you mean 'stribeck'"):
        friction_models("viscous+stribek")
    with pytest.raises(ParameterError, match="names 'viscous' twice"):
        friction_models("viscous+viscous")
    with pytest.raises(ParameterError, match="asymmetric contains viscous and offset already"):
        friction_models("viscous+asymmetric+offset")


def test_shapes_that_make_no_sense_are_refused():
    with pytest.raises(ParameterError, match="tanh: shape numbers must be finite and positive"):
        Tanh(((0.0,),))
    with pytest.raises(ParameterError, match="presliding: 3 values for 2 joints"):
        Presliding(((1e-3, 1e-3, 1e-3),)).columns(sweep())
    with pytest.raises(ParameterError, match="sigmoid: 1 joints named for a motion of 2"):
        Sigmoid(joints=(True,)).columns(sweep())
    with pytest.raises(ParameterError, match="'load' needs the torque of the links"):
        LoadCoulomb().columns(sweep())


@pytest.mark.parametrize("models", [(Presliding(),), (LoadCoulomb(),)], ids=["presliding", "load"])
def test_the_closed_loop_refuses_friction_that_depends_on_more_than_velocity(models, rng):
    model = TorqueModel(ROBOT, models)
    with pytest.raises(ParameterError, match="depends on more than velocity"):
        tracked(model, np.append(model.nominal()[:20], [1.0, 1.0]), sweep(), Controller(), rng)


def test_a_torque_model_takes_friction_names_and_refuses_what_is_neither():
    model = TorqueModel(ROBOT, "viscous+coulomb")
    assert [joint_model.name for joint_model in model.joint_models] == ["viscous", "coulomb"]
    assert repr(model) == "TorqueModel(spatial2r, viscous+coulomb, 24 parameters)"
    assert TorqueModel(ROBOT, [Viscous()]).joint_models == (Viscous(),)
    with pytest.raises(UnknownName, match="no friction model 'viscos'; did you mean 'viscous'"):
        TorqueModel(ROBOT, "viscos")
    # The doors themselves: the tests' own checks of types would stop these before.
    with pytest.raises(ParameterError, match=r"takes joint models, such as .* got 'viscous' \(str\)"):
        checked_models(("viscous", "coulomb"))
    with pytest.raises(ParameterError, match=r"takes a Robot first .* got 'panda' \(str\)"):
        checked_robot("panda")


def test_a_model_without_shape_refuses_shape_numbers():
    with pytest.raises(ParameterError, match="viscous: 1 rows of shape numbers, 0 expected"):
        Viscous(((1.0,),))
