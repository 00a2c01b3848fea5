"""Friction is recovered from simulated arms, with links known and unknown; bad input is named."""

import re
from dataclasses import replace

import numpy as np
import pytest

import dynid
from dynid.chain import load_robot
from dynid.dynamics import (
    Asymmetric,
    Coulomb,
    LoadCoulomb,
    Motion,
    Offset,
    Presliding,
    Sigmoid,
    Stribeck,
    Tanh,
    TorqueModel,
    Viscous,
    base_parameters,
    needs_search,
)
from dynid.errors import ParameterError, RegressionError
from dynid.recording import Recording
from dynid.regression import (
    WLS,
    SampleRows,
    choose_friction,
    compress,
    fit_friction,
    friction_curve,
    friction_rows,
    never_reversing,
)
from dynid.validation import compare_torque
from tests.regression.arms import ARM, RATE_HZ, conditioned, exciting_motion, frictional, log_of

TRUTHS = {
    "viscous+coulomb+offset": ((Viscous(), Coulomb(), Offset()), {"Fv": 1.0, "Fc": 2.0, "Fo": 0.3}),
    "asymmetric": ((Asymmetric(),), {"Fv+": 1.0, "Fv-": 0.6, "Fc+": 2.0, "Fc-": 1.5}),
    "viscous+tanh": ((Viscous(), Tanh(((0.2, 0.1),))), {"Fv": 1.0, "Ft": 2.0}),
    "sigmoid": ((Sigmoid(((10.0, 8.0), (0.05, -0.03))),), {"phi1": 4.0}),
    "viscous+coulomb+stribeck": (
        (Viscous(), Coulomb(), Stribeck(((0.15, 0.2),))),
        {"Fv": 1.0, "Fc": 2.0, "Fs": 1.5},
    ),
    "viscous+coulomb+load": ((Viscous(), Coulomb(), LoadCoulomb()), {"Fv": 1.0, "Fc": 1.0, "Fl": 0.1}),
    "viscous+presliding": ((Viscous(), Presliding(((0.05, 0.03),))), {"Fv": 1.0, "Fd": 2.0}),
    "two lengths": (
        (Viscous(), Presliding(((0.005, 0.004), (0.1, 0.08)))),
        {"Fv": 1.0, "Fda": 2.0, "Fdb": 1.5},
    ),
}
QUICK = ("viscous+tanh",)
each_truth = pytest.mark.parametrize("name", TRUTHS)


def simulated(name: str, rng: np.random.Generator):
    models, values = TRUTHS[name]
    model, theta = frictional(ARM, models, values)
    return model, theta, conditioned(log_of(model, theta, exciting_motion(ARM, rng), rng))


def truth_of(name: str, joint: int, numbers: tuple[str, ...]) -> np.ndarray:
    models, values = TRUTHS[name]
    linear = [values[number] * (1.0 + 0.1 * joint) for number in numbers if number in values]
    shapes = [row[joint] for model in models for row in model.shape]
    return np.array([*linear, *shapes])


@each_truth
def test_friction_on_known_links_is_recovered_within_three_sigma(name, rng):
    _, _, samples = simulated(name, rng)
    found = fit_friction(TorqueModel(ARM), ARM.nominal.ravel(), (samples,), TRUTHS[name][0])
    for j, joint in enumerate(found.joints):
        z = (joint.values - truth_of(name, j, joint.names)) / joint.std
        assert np.max(np.abs(z)) < 3.0, (joint.names, z)
        assert np.all(joint.std < 0.3 * np.abs(joint.values) + 0.05)
    assert found.fit.relative_percent < 0.1 * found.without.relative_percent


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in TRUTHS]
)
def test_auto_predicts_another_motion_as_well_as_the_truth(name, rng):
    model, theta, samples = simulated(name, rng)
    rigid, links = TorqueModel(ARM), ARM.nominal.ravel()
    chosen = fit_friction(rigid, links, (samples,), "auto")
    asked = fit_friction(rigid, links, (samples,), TRUTHS[name][0])
    other = conditioned(log_of(model, theta, exciting_motion(ARM, rng), rng, noise=0.0))
    errors = [compare_torque(fit.model, fit.theta, other).error.relative_percent for fit in (chosen, asked)]
    # Noise-free torque: what is left is the error of the parameters, a tenth of the noise of the fit (0.8 %).
    assert errors[0] < errors[1] + 0.2
    for reason, error in zip(asked.choice.reasons, asked.fit.relative_percent_joint, strict=True):
        told = re.fullmatch(r"\w+: as asked for; error on left-out segments ([0-9.e+-]+) %", reason)
        assert told is not None, reason
        # Left-out segments are predicted nearly as well as fitted ones: few numbers, many rows.
        assert 0.95 * error < float(told[1]) < 1.5 * error
    assert all("left-out segments" in reason for reason in chosen.choice.reasons)


@pytest.mark.parametrize("name", ["viscous+tanh", "viscous+coulomb+load", "viscous+presliding"])
def test_curves_are_found_together_with_unknown_links(name, rng):
    model, theta, samples = simulated(name, rng)
    rigid = TorqueModel(ARM)
    choice = choose_friction(friction_rows(rigid, base_parameters(rigid), (samples,)), TRUTHS[name][0])
    fitted = TorqueModel(ARM, choice.models)
    base = base_parameters(fitted)
    estimate = WLS().fit(compress(SampleRows(fitted, base, (samples,))))
    other = conditioned(log_of(model, theta, exciting_motion(ARM, rng), rng, noise=0.0))
    assert compare_torque(fitted, base.lift(estimate.beta), other).error.relative_percent < 0.5
    for mine, true in zip(choice.models, TRUTHS[name][0], strict=True):
        if true.shapes:
            np.testing.assert_allclose(np.array(mine.shape), np.array(true.shape), rtol=0.15)


def test_auto_leaves_a_joint_without_friction_almost_without(rng):
    rigid = TorqueModel(ARM)
    samples = conditioned(log_of(rigid, rigid.nominal(), exciting_motion(ARM, rng), rng))
    found = fit_friction(rigid, rigid.nominal(), (samples,), "auto")
    speed = np.full((1, 2), 1.0)
    rms = np.sqrt(np.mean(samples.segments[0].tau ** 2, axis=0))
    assert np.all(np.abs(friction_curve(found.model, found.theta, speed)[0]) < 0.01 * rms)


def test_rows_of_presliding_do_not_depend_on_how_a_log_is_cut(rng):
    model, theta, samples = simulated("viscous+presliding", rng)
    base = base_parameters(model)
    predicted = compare_torque(model, theta, samples).predicted
    rows = list(SampleRows(model, base, (samples,)).blocks())
    assert len(rows) > 10
    beta = base.project(theta)
    visible = [np.flatnonzero(np.isin(base.independent, model.seen_by(j))) for j in range(2)]
    for j in range(2):
        pieces = np.concatenate([block[j].Y @ beta[visible[j]] for block in rows])
        np.testing.assert_allclose(pieces, predicted[:, j], atol=1e-9 * np.max(np.abs(predicted)))


def one_way_log(rng: np.random.Generator) -> Recording:
    motion = exciting_motion(ARM, rng)
    dq = np.array(motion.dq)
    q = np.array(motion.q)
    dq[:, 0], q[:, 0] = 0.4 + 0.2 * np.cos(motion.t), 0.4 * motion.t + 0.2 * np.sin(motion.t)
    ddq = np.gradient(dq, 1.0 / RATE_HZ, axis=0)
    model, theta = frictional(ARM, (Viscous(), Coulomb()), {"Fv": 1.0, "Fc": 2.0})
    return log_of(model, theta, Motion(motion.t, q, dq, ddq), rng)


def test_its_errors_are_those_of_predicting_the_log_with_and_without_friction(rng):
    model, theta, samples = simulated("viscous+coulomb+offset", rng)
    rigid = TorqueModel(model.robot)
    found = fit_friction(rigid, theta[: rigid.n_params], [samples], "viscous+coulomb+offset")
    whole = compare_torque(found.model, found.theta, samples).error
    links_alone = compare_torque(rigid, theta[: rigid.n_params], samples).error
    # Fitted are rows that are thinned out, predicted is every sample of the same low-passed torque.
    for told, expected in ((found.fit, whole), (found.without, links_alone)):
        np.testing.assert_allclose(told.relative_percent, expected.relative_percent, rtol=0.05)
        np.testing.assert_allclose(told.rmse, expected.rmse, rtol=0.05)
        np.testing.assert_allclose(told.relative_percent_joint, expected.relative_percent_joint, rtol=0.05)


def test_a_joint_that_never_reverses_is_named(rng):
    samples = conditioned(one_way_log(rng))
    first = ARM.joint_names[0]
    assert never_reversing((samples,)) == (first,)
    rigid = TorqueModel(ARM)
    with pytest.raises(RegressionError, match=f"{first} never reverses, so Coulomb friction and offset cannot"):
        fit_friction(rigid, rigid.nominal(), (samples,), "viscous+coulomb+offset")


@pytest.mark.slow
def test_auto_tries_no_offset_on_a_joint_that_never_reverses(rng):
    rigid = TorqueModel(ARM)
    found = fit_friction(rigid, rigid.nominal(), (conditioned(one_way_log(rng)),), "auto")
    assert not {"offset", "asymmetric"} & set(found.choice.names[0])


def test_parameters_of_another_length_are_refused(rng):
    _, _, samples = simulated("viscous+tanh", rng)
    with pytest.raises(ParameterError, match="must have 20 entries"):
        fit_friction(TorqueModel(ARM), np.zeros(3), (samples,))


def test_only_curves_and_loads_need_a_search():
    assert not needs_search("viscous+coulomb+offset")
    assert not needs_search("asymmetric")
    assert all(needs_search(name) for name in ("auto", "tanh", "viscous+load", "presliding"))


def test_a_wrist_with_coupled_motors_gets_its_friction_back(rng):
    arm = replace(load_robot("spatial2r"), transmission=np.array([[1.0, 0.0], [0.5, 1.5]]))
    model, theta = frictional(arm, (Viscous(), Coulomb()), {"Fv": 1.0, "Fc": 2.0})
    samples = conditioned(log_of(model, theta, exciting_motion(arm, rng), rng))
    found = fit_friction(TorqueModel(arm), arm.nominal.ravel(), (samples,), "viscous+coulomb")
    for j, joint in enumerate(found.joints):
        truth = np.array([1.0, 2.0]) * (1.0 + 0.1 * j)
        assert np.all(np.abs(joint.values - truth) < 3.0 * joint.std), (joint.values, joint.std)


@pytest.mark.parametrize(("loss", "taken"), [(0.2, True), (2.0, False)])
def test_auto_takes_no_gear_that_loses_more_than_it_transmits(loss, taken):
    log = dynid.simulate(
        "planar2r", friction="viscous+load", friction_values={"fl": loss, "fv": 0.1}, seed=4, duration=15.0, rate=200.0
    )
    model = dynid.identify("planar2r", log.recording, force=True).model
    found = [value for column, value in zip(model.model.columns, model.parameters, strict=True) if column.name == "Fl"]
    assert bool(np.max(found, initial=0.0) > 0.5 * loss) is taken
    assert np.max(found, initial=0.0) <= 0.5
