"""What every friction model promises; each fact is checked for every model of the table and for those of the recipe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from dynid.chain import Robot, load_robot
from dynid.dynamics import JointModel, Motion, RotorInertia, TorqueModel, base_parameters, random_motion
from dynid.dynamics.friction.mujoco import MUJOCO_RATE
from dynid.regression import OLS, SampleRows, compress, fit_friction, load_model, save_model
from dynid.regression.model_file import joint_model_in, joint_model_out
from dynid.simulation import plausible_parameters
from dynid.tracking import ConstrainedFilter, Entry, Sample, StateBound, StateMap
from dynid.tracking.rows import predict_rows, row_arrays, work_for
from dynid.tracking.terms import JointTerms
from dynid.writers.c.check import differences, evaluate, expected, find_compiler, run_header
from dynid.writers.c.header import HeaderSource
from dynid.writers.exported import export_motion
from dynid.writers.joint_terms import passive_terms
from dynid.writers.report.friction_charts import friction_figures
from tests.regression.arms import conditioned, exciting_motion, log_of
from tests.writers.exported import with_terms

ROBOT = load_robot("spatial2r")
COUPLED = Robot(ROBOT.name, ROBOT.joints, ROBOT.gravity, transmission=np.array([[1.0, 0.0], [-0.5, 2.0]]))

Fact = Callable[[JointModel, np.random.Generator, Path], None]


def sweep(n_dof: int = 2, n_samples: int = 400) -> Motion:
    """Every joint to and fro."""
    t = np.linspace(0.0, 8.0, n_samples)
    q = np.repeat(np.sin(t)[:, None], n_dof, axis=1)
    return Motion(t, q, np.repeat(np.cos(t)[:, None], n_dof, axis=1), -q)


def own_shape(model: JointModel) -> JointModel:
    """The model with shape numbers that differ from joint to joint."""
    return model.reshaped(tuple(tuple(row[0] * (1.0 + 0.3 * j) + 0.01 * j for j in range(2)) for row in model.shape))


def torque_is_linear_in_the_terms_and_agrees_with_the_regressor(model: JointModel, rng, tmp_path) -> None:
    for robot in (ROBOT, COUPLED):
        whole = TorqueModel(robot, (RotorInertia(), own_shape(model)))
        theta = rng.normal(size=whole.n_params)
        np.testing.assert_allclose(whole.regressor(sweep()) @ theta, whole.torque(sweep(), theta), atol=1e-9)


def nonnegative_terms_never_drive_a_sliding_joint(model: JointModel, rng, tmp_path) -> None:
    motion = sweep()
    columns = TorqueModel(ROBOT, (model,)).joint_columns(motion)
    # Power is taken from the motion, but for what a presliding spring gives back just after a reversal.
    sliding = np.abs(motion.dq) > (0.5 if model.has_memory else 1e-6)
    for k, term in enumerate(model.terms):
        if term.nonnegative:
            if "ddq" in term.column.inputs:
                # MuJoCo's constraint looks 1/b ahead: a joint slides whose velocity there has not turned.
                sliding &= motion.dq * (motion.dq + motion.ddq / MUJOCO_RATE) > 0.0
            assert np.min((columns[:, :, k] * motion.dq)[sliding]) >= -1e-12


def every_term_is_a_base_parameter(model: JointModel, rng, tmp_path) -> None:
    plain, with_friction = base_parameters(TorqueModel(ROBOT)), base_parameters(TorqueModel(ROBOT, (model,)))
    assert with_friction.n_base == plain.n_base + 2 * len(model.terms)


def terms_of_joints_without_the_model_are_never_seen(model: JointModel, rng, tmp_path) -> None:
    unseen = base_parameters(TorqueModel(ROBOT, (model.only_on((False, True)),))).unseen
    assert {f"{term.symbol}1" for term in model.terms} <= set(unseen)
    assert not {f"{term.symbol}2" for term in model.terms} & set(unseen)


def it_survives_its_json_and_the_model_file(model: JointModel, rng, tmp_path) -> None:
    shaped = own_shape(model).referred(ROBOT.nominal + np.arange(10.0))
    for original in (model, shaped, shaped.only_on((True, False))):
        saved = with_terms(TorqueModel(ROBOT, (original,)), rng)
        save_model(saved, tmp_path / "model.json")
        again = load_model(tmp_path / "model.json")
        copy = TorqueModel(ROBOT, (joint_model_in(joint_model_out(original)),))
        for model_again in (again.model, copy):
            np.testing.assert_array_equal(model_again.joint_columns(sweep()), saved.model.joint_columns(sweep()))
        (tmp_path / "model.json").unlink()


def least_squares_recovers_it_together_with_the_links(model: JointModel, rng, tmp_path) -> None:
    whole = TorqueModel(ROBOT, (own_shape(model),))
    theta, base = plausible_parameters(whole), base_parameters(whole)
    samples = conditioned(log_of(whole, theta, exciting_motion(ROBOT, rng), rng, noise=0.0))
    estimate = OLS().fit(compress(SampleRows(whole, base, (samples,))))
    # A log has no accelerations: they are differences of its velocities, good to about 1e-4.
    np.testing.assert_allclose(estimate.beta, base.project(theta), rtol=0.01, atol=1e-3 * np.max(np.abs(theta)))


def its_shape_is_searched_until_it_predicts_as_well_as_the_truth(model: JointModel, rng, tmp_path) -> None:
    motion = exciting_motion(ROBOT, rng)
    speed, travel = np.max(np.abs(motion.dq), axis=0), np.ptp(motion.q, axis=0)
    middle = [0.5 * p.upper if p.signed else 3.0**k * np.sqrt(p.lower * p.upper) for k, p in enumerate(model.shapes)]
    sizes = [p.size(speed, travel) for p in model.shapes]
    shape = tuple(tuple((x * size).tolist()) for x, size in zip(middle, sizes, strict=True))
    truth = TorqueModel(ROBOT, (model.reshaped(shape),))
    theta = plausible_parameters(truth)
    samples = conditioned(log_of(truth, theta, motion, rng, noise=1e-3))
    found = fit_friction(TorqueModel(ROBOT), ROBOT.nominal.ravel(), (samples,), (model,))
    mine = found.model.joint_torque(motion, found.theta)
    true = truth.joint_torque(motion, theta)
    # The smallest, Stribeck's peak, is 1 % of the torque, ten times the noise of a sample.
    assert np.sqrt(np.mean((mine - true) ** 2)) < 0.05 * np.sqrt(np.mean(true**2))


def compiled_and_batched_columns_agree_sample_by_sample(model: JointModel, rng, tmp_path) -> None:
    for robot in (ROBOT, COUPLED):
        whole = TorqueModel(robot, (RotorInertia(), own_shape(model), own_shape(model).only_on((True, False))))
        rows = row_arrays(
            whole, ("torque",), carrier=1, T_carrier_load=np.eye(4), active_columns=np.ones(whole.n_params + 10, bool)
        )
        work, terms = work_for(rows, whole.n_params + 10), JointTerms(whole)
        theta = np.append(rng.normal(size=whole.n_params), np.zeros(10))
        motion = sweep(n_samples=50)
        Y = whole.regressor(motion)
        for k in range(motion.n_samples):
            q, dq, ddq = (np.array(x[k]) for x in (motion.q, motion.dq, motion.ddq))
            found = terms.at(q, dq, ddq)
            assert found is not None
            work.terms[:] = found
            predict_rows(rows, q, dq, ddq, theta, work)
            np.testing.assert_allclose(work.Y[:, : whole.n_params], Y[k], atol=1e-12)
            np.testing.assert_allclose(work.z, Y[k] @ theta[: whole.n_params], atol=1e-9)


def its_memory_is_what_its_formulas_say(model: JointModel, rng, tmp_path) -> None:
    q = np.cumsum(rng.normal(size=(200, 2)) * 10.0 ** rng.uniform(-5.0, -1.0, (200, 2)), axis=0)
    q[50] = q[49]
    start = rng.uniform(-1.0, 1.0, (2, model.n_states))
    shaped = own_shape(model)
    np.testing.assert_allclose(shaped.states(q, start), JointModel.states(shaped, q, start), atol=1e-14)


def tracking_follows_it(model: JointModel, rng, tmp_path) -> None:
    whole = TorqueModel(ROBOT, (model,))
    theta = plausible_parameters(whole)
    wrong = np.concatenate([theta[: whole.n_inertial], 1.3 * theta[whole.n_inertial :]])
    symbols = whole.symbols[whole.n_inertial :]
    entries = [Entry(s, StateBound(float(v - 1.0), float(v + 1.0))) for s, v in zip(symbols, wrong[20:], strict=True)]
    whole_motion = exciting_motion(ROBOT, rng, seconds=8.0)
    motion = Motion(*(x[::4] for x in (whole_motion.t, whole_motion.q, whole_motion.dq, whole_motion.ddq)))
    measured = whole.torque(motion, theta)
    noise = 1e-3 * np.sqrt(np.mean(measured**2, axis=0))
    tracker = ConstrainedFilter(model=whole, state=StateMap.of(whole, wrong, entries), noise=noise).start()
    for k in range(motion.n_samples):
        tracker.step(Sample(motion.t[k], motion.q[k], motion.dq[k], motion.ddq[k], measured[k]))
    off = whole.torque(motion, tracker.theta) - measured
    before = whole.torque(motion, wrong) - measured
    assert np.sqrt(np.mean(off**2)) < 0.02 * np.sqrt(np.mean(before**2))


def its_c_code_computes_the_same(model: JointModel, rng, tmp_path) -> None:
    compiler = find_compiler()
    for robot in (ROBOT, COUPLED):
        saved = with_terms(TorqueModel(robot, (own_shape(model), RotorInertia())), rng)
        source = HeaderSource(saved.model, saved.theta, "arm")
        motion = export_motion(saved.model, 200)
        mine = expected(saved.model, saved.theta, motion)
        theirs = [evaluate(source.bodies, "arm", saved.model, saved.theta, motion)]
        # Compiling takes a second: once, with coupled motors. The expressions were evaluated already.
        if compiler and robot is COUPLED:
            theirs.append(run_header(source.text(), "arm", saved.model, motion, compiler))
        for values in theirs:
            assert set(values) == set(mine)
            for name, error in differences(mine, values):
                assert error < 1e-12, name


def it_has_plausible_values(model: JointModel, rng, tmp_path) -> None:
    whole = TorqueModel(ROBOT, (model,))
    theta, motion = plausible_parameters(whole), random_motion(ROBOT, 300, rng)
    own = whole.joint_torque(motion, theta)
    rigid = np.sqrt(np.mean((whole.torque(motion, theta) - own) ** 2, axis=0))
    share = np.max(np.abs(own), axis=0) / rigid
    assert np.all((share > 0.01) & (share < 0.35))


def the_report_draws_it(model: JointModel, rng, tmp_path) -> None:
    whole = TorqueModel(ROBOT, (model,))
    theta = plausible_parameters(whole)
    motion = random_motion(ROBOT, 50, rng)
    figures = friction_figures(whole, theta, motion.dq, whole.joint_torque(motion, theta))
    assert [figure.title for figure in figures] == list(ROBOT.joint_names)
    assert all(len(figure.data) == 2 for figure in figures)


def a_simulator_s_file_says_it_or_says_that_it_cannot(model: JointModel, rng, tmp_path) -> None:
    whole = TorqueModel(ROBOT, (model,))
    theta = plausible_parameters(whole)
    said = passive_terms(whole, theta, rotors=True, file="MJCF")
    places = {"damping": said.damping, "frictionloss": said.friction, "armature": said.rotor}
    for k, term in enumerate(whole.terms):
        values = theta[whole.n_inertial + k :: len(whole.terms)]
        if term.simulator is not None:
            np.testing.assert_array_equal(places[term.simulator], values)
        else:
            assert any(f"no place for {model.description}" in text and term.name in text for text in said.left_out)


BATTERY: tuple[Fact, ...] = (
    torque_is_linear_in_the_terms_and_agrees_with_the_regressor,
    nonnegative_terms_never_drive_a_sliding_joint,
    every_term_is_a_base_parameter,
    terms_of_joints_without_the_model_are_never_seen,
    it_survives_its_json_and_the_model_file,
    least_squares_recovers_it_together_with_the_links,
    its_shape_is_searched_until_it_predicts_as_well_as_the_truth,
    compiled_and_batched_columns_agree_sample_by_sample,
    its_memory_is_what_its_formulas_say,
    tracking_follows_it,
    its_c_code_computes_the_same,
    it_has_plausible_values,
    the_report_draws_it,
    a_simulator_s_file_says_it_or_says_that_it_cannot,
)
"""Facts about a friction model; each takes the model, random numbers and a folder."""
