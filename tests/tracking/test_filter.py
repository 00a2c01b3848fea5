"""The filter itself: rows, updates against a dense Kalman filter, bounds, noise, bad samples, checkpoints."""

from dataclasses import replace

import numpy as np
import pytest

from dynid.chain import InertialParameters, load_robot
from dynid.dynamics import (
    Motion,
    Presliding,
    RotorInertia,
    TorqueModel,
    base_parameters,
    friction_models,
    random_motion,
)
from dynid.errors import MotionError, TrackingError
from dynid.tracking import (
    LOAD_SYMBOLS,
    Consistent,
    ConstrainedFilter,
    Entry,
    ProcessNoise,
    Sample,
    SampleOutcome,
    StateBound,
    StateMap,
    health,
    resume,
    save_checkpoint,
)
from dynid.tracking.core import memory_for
from dynid.tracking.rows import other_rows, predict_rows
from tests.robots import BATTERY

PANDA = TorqueModel(load_robot("panda"), friction_models("viscous+coulomb+offset"))
THETA = PANDA.nominal() + np.where(np.arange(PANDA.n_params) >= PANDA.n_inertial, 0.4, 0.0)
NOISE = np.full(7, 0.3)


def wide(theta, symbols):
    return [
        Entry(s, StateBound(float(v - 1.0 - abs(v)), float(v + 1.0 + abs(v))))
        for s, v in zip(symbols, theta, strict=True)
    ]


def all_states(model, theta, noise=NOISE, **options):
    state = StateMap.of(model, theta, wide(theta, model.symbols))
    return ConstrainedFilter(model=model, state=state, noise=noise, **options)


def scratch(options):
    return memory_for(options.rows, options.state.n_state, len(options.state.columns), smooth=False)


def moving(n_samples, rng, model=PANDA):
    motion = random_motion(model.robot, n_samples, rng)
    return Motion(1e-3 * np.arange(n_samples), motion.q, motion.dq, motion.ddq)


COUPLED = replace(load_robot("panda"), name="coupled", transmission=np.eye(7) + 0.4 * np.diag([0, 0, 0, 1, 1, 0], -1))
"""A Panda whose motors 5 and 6 also move with the joint before theirs."""


@pytest.mark.parametrize("robot", [*BATTERY, COUPLED], ids=lambda robot: robot.name)
def test_rows_are_the_model_s_torque_wrench_and_load(robot, rng):
    model = TorqueModel(robot, (RotorInertia(), *friction_models("viscous+coulomb+offset")))
    theta = model.nominal() + np.where(np.arange(model.n_params) >= model.n_inertial, 0.2, 0.0)
    load = InertialParameters.from_com(1.5, (0.1, 0.0, 0.2), np.diag([0.02, 0.02, 0.01]))
    T = np.eye(4)
    T[:3, 3] = 0.1, -0.2, 0.05
    symbols = (*model.symbols, *LOAD_SYMBOLS)
    state = StateMap.of(model, theta, wide(np.concatenate([theta, load.pi]), symbols), load=load)
    n = robot.n_dof
    options = ConstrainedFilter(
        model=model,
        state=state,
        noise=np.ones(n + 12),
        measure=("tool-wrench", "base-wrench", "torque"),
        T_carrier_load=T,
    )
    motion, memory = random_motion(robot, 3, rng), scratch(options)
    whole = theta.copy()
    whole[10 * (n - 1) : 10 * n] += load.moved(T).pi
    tau, base = model.torque(motion, whole), model.base_wrench(motion, whole)
    Y, Yb = model.regressor(motion), model.base_wrench_regressor(motion)
    for k in range(3):
        q, dq, ddq = np.array(motion.q[k]), np.array(motion.dq[k]), np.array(motion.ddq[k])
        predict_rows(options.rows, q, dq, ddq, state.at(state.x0).theta, memory.work)
        np.testing.assert_allclose(memory.work.z[:n], tau[k], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(memory.work.z[n : n + 6], base[k], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(memory.work.Y[:n, : model.n_params], Y[k], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(memory.work.Y[n : n + 6, : model.n_params], Yb[k], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(memory.work.Y @ state.at(state.x0).theta, memory.work.z, rtol=1e-9, atol=1e-9)
        others, out = np.concatenate([rng.standard_normal(10 * n), np.zeros(model.n_params + 10 - 10 * n)]), np.zeros(n)
        other_rows(options.rows, others, memory.work, out)
        np.testing.assert_allclose(out, Y[k] @ others[: model.n_params], rtol=1e-9, atol=1e-9)


def test_the_tool_wrench_of_a_still_load_is_its_weight():
    load = InertialParameters.from_com(2.0, (0.0, 0.0, 0.1), 0.01 * np.eye(3))
    state = StateMap.of(PANDA, THETA, [Entry("mL", StateBound(0.0, 4.0))], load=load)
    options = ConstrainedFilter(model=PANDA, state=state, noise=np.ones(6), measure=("tool-wrench",))
    memory, still = scratch(options), np.zeros(7)
    predict_rows(options.rows, still, still, still, state.at(state.x0).theta, memory.work)
    assert np.linalg.norm(memory.work.z[:3]) == pytest.approx(2.0 * np.linalg.norm(PANDA.robot.gravity), rel=1e-12)


def test_scalar_updates_of_the_factors_equal_the_dense_filter(rng):
    options = all_states(PANDA, THETA, process_noise=ProcessNoise.constant(1e-4), carry="state")
    motion = moving(20, rng)
    measured = PANDA.torque(motion, 1.1 * THETA) + 0.3 * rng.standard_normal((20, 7))
    tracker = options.start()
    # 91 states get their noise in turn; what is still due belongs to the dense filter's P as well.
    x, P = options.state.x0.copy(), np.eye(91)
    for k in range(20):
        due = tracker.state.pending.copy()
        tracker.step(Sample(motion.t[k], motion.q[k], motion.dq[k], motion.ddq[k], measured[k]))
        P = P + np.diag(tracker.state.pending - due)
        at = options.state.at(x)
        H = PANDA.regressor(motion.part(k, k + 1))[0] @ at.jacobian[: PANDA.n_params]
        innovation = measured[k] - PANDA.torque(motion.part(k, k + 1), at.theta[: PANDA.n_params])[0]
        S = H @ P @ H.T + np.diag(NOISE**2)
        K = np.linalg.solve(S, H @ P).T
        x, P = x + K @ innovation, P - K @ S @ K.T
        assert tracker.nis == pytest.approx(innovation @ np.linalg.solve(S, innovation), rel=1e-6)
    np.testing.assert_allclose(tracker.state.x, x, atol=1e-8)
    np.testing.assert_allclose(tracker.covariance, P, atol=1e-9)


def test_covariance_stays_symmetric_and_positive_definite(rng):
    tracker = all_states(PANDA, THETA, noise=np.full(7, 1e-4), process_noise=ProcessNoise(start=0.0)).start()
    motion = moving(5000, rng)
    tracker.run(motion, PANDA.torque(motion, THETA), every=5000)
    P = tracker.covariance
    np.testing.assert_array_equal(P, P.T)
    assert np.min(tracker.state.D) > 0.0
    assert np.linalg.eigvalsh(P)[0] > -1e-15  # UDUᵀ itself is exact; forming it rounds


def test_a_block_and_single_steps_give_the_same_bits(rng):
    options = all_states(PANDA, THETA)
    motion = moving(30, rng)
    measured = PANDA.torque(motion, THETA)
    block, single = options.start(), options.start()
    block.run(motion, measured)
    for k in range(30):
        single.step(Sample(motion.t[k], motion.q[k], motion.dq[k], motion.ddq[k], measured[k]))
    np.testing.assert_array_equal(block.state.x, single.state.x)
    np.testing.assert_array_equal(block.state.U, single.state.U)


def test_other_friction_models_are_followed_too(rng):
    model = TorqueModel(load_robot("planar2r"), friction_models("tanh"))
    theta = model.nominal() + np.where(np.arange(model.n_params) >= 20, 0.4, 0.0)
    symbols = model.symbols[20:]
    state = StateMap.of(model, np.concatenate([theta[:20], 1.3 * theta[20:]]), wide(1.3 * theta[20:], symbols))
    tracker = ConstrainedFilter(model=model, state=state, noise=np.full(2, 0.01)).start()
    motion = moving(300, rng, model)
    measured = model.torque(motion, theta)
    for k in range(300):
        tracker.step(Sample(motion.t[k], motion.q[k], motion.dq[k], motion.ddq[k], measured[k]))
    np.testing.assert_allclose(tracker.theta, theta, rtol=2e-3, atol=1e-3)


def test_unexcited_parameters_stay_where_they_are():
    model = TorqueModel(load_robot("planar2r"))
    theta = model.nominal()
    state = StateMap.of(
        model, 0.8 * theta, wide(0.8 * theta[[0, 1, 9, 11, 19]], ["m1", "mc1x", "J1zz", "mc2x", "J2zz"])
    )
    options = ConstrainedFilter(model=model, state=state, noise=np.full(2, 0.01))
    still = Motion.at_rest(np.full((200, 2), 0.3))
    tracker = options.start()
    tracker.run(still, model.torque(still, theta), every=200)
    values = dict(zip(state.symbols, tracker.parameters.values, strict=True))
    assert values["J1zz"] == pytest.approx(0.8 * theta[9], abs=1e-15)
    assert values["J2zz"] == pytest.approx(0.8 * theta[19], abs=1e-15)
    assert values["mc2x"] == pytest.approx(theta[11], rel=1e-2)
    assert options.unobservable == ("m1",)
    assert "starved of excitation: the motion has not shown J1zz, J2zz" in " ".join(health(tracker).sentences)
    assert "nothing measured can observe m1" in " ".join(health(tracker).sentences)


def test_a_parameter_pushed_against_a_bound_stops_there_and_comes_back(rng):
    model = TorqueModel(load_robot("planar2r"))
    theta = model.nominal()
    bound = StateBound(0.5 * theta[11], 1.5 * theta[11])
    state = StateMap.of(model, theta, [Entry("mc2x", bound)])
    tracker = ConstrainedFilter(
        model=model, state=state, noise=np.full(2, 0.05), process_noise=ProcessNoise.constant(1e-3)
    ).start()
    motion = moving(6000, rng, model)
    heavy = theta.copy()
    heavy[11] *= 2.0
    tracker.run(motion.part(0, 3000), model.torque(motion.part(0, 3000), heavy), every=3000)
    assert bound.upper * 0.99 < tracker.parameters.values[0] < bound.upper
    assert health(tracker).at_bound == ("mc2x",)
    assert "at a bound: mc2x" in " ".join(health(tracker).sentences)
    tracker.run(motion.part(3000, 6000), model.torque(motion.part(3000, 6000), theta), every=3000)
    assert tracker.parameters.values[0] == pytest.approx(theta[11], rel=0.02)


@pytest.mark.parametrize("start", [0.1, 10.0])
def test_measurement_noise_is_estimated_from_the_data(start, rng):
    true = np.array([0.4, 0.1])
    model = TorqueModel(load_robot("planar2r"))
    theta = model.nominal()
    state = StateMap.of(model, 0.8 * theta, wide(0.8 * theta[[1, 9, 11, 19]], ["mc1x", "J1zz", "mc2x", "J2zz"]))
    tracker = ConstrainedFilter(model=model, state=state, noise=start * true, noise_memory=500.0).start()
    motion = moving(8000, rng, model)
    tracker.run(motion, model.torque(motion, theta) + true * rng.standard_normal((8000, 2)), every=8000)
    np.testing.assert_allclose(tracker.noise, true, rtol=0.15)  # memory of 500: 3 % scatter of a standard deviation


def test_log_cholesky_links_are_tracked(rng):
    model = TorqueModel(load_robot("planar2r"))
    theta = model.nominal()
    state = StateMap.of(model, 0.8 * theta, [Consistent("link1"), Consistent("link2")])
    tracker = ConstrainedFilter(model=model, state=state, noise=np.full(2, 0.05)).start()
    motion = moving(4000, rng, model)
    tau = model.torque(motion, theta)
    tracker.run(motion, tau + 0.05 * rng.standard_normal(tau.shape), every=4000)
    before = np.linalg.norm(model.torque(motion, 0.8 * theta) - tau)
    assert np.linalg.norm(model.torque(motion, tracker.theta) - tau) < 0.02 * before


def test_missing_values_are_skipped_and_counted_never_absorbed(rng):
    options = all_states(PANDA, THETA)
    motion = moving(10, rng)
    measured = PANDA.torque(motion, THETA)
    tracker, clean = options.start(), options.start()
    samples = [Sample(motion.t[k], motion.q[k], motion.dq[k], motion.ddq[k], measured[k]) for k in range(10)]
    bad = measured[4].copy()
    bad[2] = np.nan
    assert tracker.step(samples[0]) is SampleOutcome.ABSORBED
    assert tracker.step(samples[4]._replace(tau=np.full(7, np.nan))) is SampleOutcome.NOT_FINITE
    assert tracker.step(samples[4]._replace(tau=None)) is SampleOutcome.NOT_FINITE
    assert tracker.step(samples[4]._replace(q=np.full(7, np.inf))) is SampleOutcome.NOT_FINITE
    assert tracker.step(samples[0]) is SampleOutcome.BACKWARDS
    assert tracker.step(samples[1]) is SampleOutcome.ABSORBED
    clean.step(samples[0])
    clean.step(samples[1])
    np.testing.assert_array_equal(tracker.state.x, clean.state.x)
    assert (tracker.n_absorbed, tracker.n_skipped) == (2, 4)
    sentences = " ".join(health(tracker).sentences)
    assert "3 samples skipped because a value was missing or not finite" in sentences
    assert "1 samples skipped because time stood still or ran backwards" in sentences


def test_a_time_jump_is_counted_and_said(rng):
    tracker = all_states(PANDA, THETA).start()
    motion = moving(2, rng)
    for k, t in enumerate((0.0, 100.0)):
        tracker.step(Sample(t, motion.q[k], motion.dq[k], motion.ddq[k], PANDA.torque(motion, THETA)[k]))
    assert "time jumped 1 times" in " ".join(health(tracker).sentences)


@pytest.mark.parametrize("factor", [1000.0, 0.001])
def test_a_torque_unit_off_by_a_thousand_is_noticed(factor, rng):
    motion = moving(200, rng)
    measured = factor * PANDA.torque(motion, THETA)
    with pytest.raises(TrackingError, match=r"times what the model predicts .* check its unit \(N·m, not N·mm"):
        all_states(PANDA, THETA).start().run(motion, measured)
    tracker = all_states(PANDA, THETA).start()
    for k in range(49):
        tracker.step(Sample(motion.t[k], motion.q[k], motion.dq[k], motion.ddq[k], measured[k]))
    with pytest.raises(TrackingError, match="check its unit"):
        tracker.step(Sample(motion.t[49], motion.q[49], motion.dq[49], motion.ddq[49], measured[49]))


def test_states_that_nothing_can_observe_are_named_at_the_start():
    options = all_states(PANDA, THETA)
    assert set(options.unobservable) == set(base_parameters(PANDA).unseen) >= {"m1", "mc1z"}
    with pytest.raises(TrackingError, match="nothing measured can observe any of m1, mc1z"):
        ConstrainedFilter(
            model=PANDA, state=StateMap.of(PANDA, THETA, wide(THETA[[0, 3]], ["m1", "mc1z"])), noise=NOISE
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": np.ones(3)}, "have 7 rows, but there are 3 noise levels"),
        ({"noise": np.zeros(7)}, "noise level above zero"),
        ({"measure": ()}, "nothing is measured; choose among torque"),
    ],
)
def test_filters_that_cannot_work_are_refused(options, message):
    with pytest.raises(TrackingError, match=message):
        all_states(PANDA, THETA, **options)


def test_process_noise_cannot_be_negative():
    with pytest.raises(TrackingError, match="process noise cannot be negative"):
        ProcessNoise(start=-1.0)


def test_samples_that_do_not_fit_are_refused(rng):
    tracker = all_states(PANDA, THETA).start()
    motion = moving(5, rng)
    with pytest.raises(TrackingError, match="run it through KinematicFilter first"):
        tracker.step(Sample(0.0, motion.q[0], tau=np.zeros(7)))
    with pytest.raises(TrackingError, match="measured must be"):
        tracker.run(motion, np.zeros((5, 3)))
    with pytest.raises(MotionError, match="the motion has 2 joints"):
        tracker.run(random_motion(load_robot("planar2r"), 5, rng), np.zeros((5, 7)))


def with_presliding():
    """An arm whose friction remembers its path, at two lengths and on one joint only."""
    model = TorqueModel(
        load_robot("planar2r"),
        (Presliding(((0.01,), (0.3,)), joints=(True, False)), *friction_models("viscous+tanh")),
    )
    theta = model.nominal()
    theta[model.n_inertial :] = 0.3
    state = StateMap.of(model, theta, wide(theta[[11]], ["mc2x"]))
    return model, theta, ConstrainedFilter(model=model, state=state, noise=np.ones(2))


def test_presliding_friction_is_followed_sample_by_sample_as_in_a_block(rng):
    model, theta, options = with_presliding()
    motion = moving(300, rng, model)
    tau = model.torque(motion, 1.2 * theta)
    whole, single = options.start(), options.start()
    whole.run(motion, tau)
    for k in range(motion.n_samples):
        single.step(Sample(float(motion.t[k]), motion.q[k], motion.dq[k], motion.ddq[k], tau[k]))
        if k == 100:  # a sample without a position is no step along the path
            single.step(Sample(float(motion.t[k]) + 1e-9, np.full(2, np.nan), motion.dq[k], motion.ddq[k], tau[k]))
    np.testing.assert_allclose(single.state.x, whole.state.x, rtol=1e-9)
    # The second joint has no presliding: what its path would be is nobody's business, and not kept sample by sample.
    np.testing.assert_allclose(single.terms.z[0], whole.terms.z[0], rtol=1e-12, atol=1e-15)
    assert np.max(np.abs(single.terms.z[0])) > 0.1


def test_a_resumed_filter_remembers_the_path(tmp_path, rng):
    model, theta, options = with_presliding()
    motion = moving(60, rng, model)
    tau = model.torque(motion, 1.2 * theta)
    samples = [Sample(float(motion.t[k]), motion.q[k], motion.dq[k], motion.ddq[k], tau[k]) for k in range(60)]
    whole, first = options.start(), options.start()
    for sample in samples:
        whole.step(sample)
    for sample in samples[:30]:
        first.step(sample)
    save_checkpoint(first, tmp_path / "checkpoint.npz")
    second = resume(options, tmp_path / "checkpoint.npz")
    for sample in samples[30:]:
        second.step(sample)
    np.testing.assert_array_equal(second.state.x, whole.state.x)


def test_a_resumed_filter_goes_on_to_the_last_bit(tmp_path, rng):
    options = all_states(PANDA, THETA, noise_memory=100.0)
    motion = moving(400, rng)
    measured = PANDA.torque(motion, 1.1 * THETA)
    whole, first = options.start(), options.start()
    whole.run(motion, measured, every=400)
    first.run(motion.part(0, 150), measured[:150], every=150)
    path = tmp_path / "filter.npz"
    save_checkpoint(first, path)
    second = resume(options, path)
    second.run(motion.part(150, 400), measured[150:], every=250)
    for name in whole.state._fields:
        np.testing.assert_array_equal(getattr(second.state, name), getattr(whole.state, name))


def test_checkpoints_that_do_not_fit_are_refused(tmp_path):
    options = all_states(PANDA, THETA)
    path = tmp_path / "filter.npz"
    save_checkpoint(options.start(), path)
    with pytest.raises(TrackingError, match="a filter with other states, bounds"):
        resume(all_states(PANDA, 1.1 * THETA), path)
    with pytest.raises(TrackingError, match="not a checkpoint that can be read"):
        resume(options, tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("no", encoding="utf-8")
    with pytest.raises(TrackingError, match="not a checkpoint that can be read"):
        resume(options, tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(TrackingError, match="not a checkpoint of this version"):
        resume(options, tmp_path / "other.npz")


def test_an_over_confident_filter_says_so(rng):
    tracker = all_states(PANDA, THETA, noise=np.full(7, 0.01)).start()
    motion = moving(600, rng)
    tracker.run(motion, PANDA.torque(motion, THETA) + 0.5 * rng.standard_normal((600, 7)), every=600)
    assert "over-confident: innovations are" in " ".join(health(tracker).sentences)
    cautious = all_states(PANDA, THETA, noise=np.full(7, 10.0)).start()
    cautious.run(motion, PANDA.torque(motion, THETA), every=600)
    assert "too cautious: innovations are" in " ".join(health(cautious).sentences)
