"""The search of friction curves by projection: the same answers as least squares on all columns at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from dynid.arrays import Array
from dynid.dynamics import Asymmetric, Coulomb, Offset, Tanh, TorqueModel, Viscous, base_parameters
from dynid.recording import Conditioning, LowPass
from dynid.regression import friction_rows
from dynid.regression.friction.choice import _Search
from dynid.regression.friction.refine import (
    Picked,
    Rigid,
    _costs,
    _line_search,
    picked_columns,
    picked_models,
    refined,
    shaped,
)
from dynid.regression.friction.rows import N_FOLDS, FrictionRows, _slower
from dynid.regression.friction.search import (
    FREE,
    HELD,
    dictionary,
    leave_out,
    projector,
    scaled_shape,
    shared_information,
    solved,
)
from tests.regression.arms import ARM, conditioned, exciting_motion, frictional, log_of


@pytest.mark.parametrize("free", [(True, True, True), (False, True, False), (False, False, False)])
def test_solved_is_least_squares_with_signs(free, rng):
    for _ in range(20):
        F, tau = rng.normal(size=(30, 5)) * [1e-3, 1.0, 1.0, 1e3, 1.0], rng.normal(size=30)
        index = np.array([3, 0, 4])
        may = np.ones(5, dtype=bool)
        may[index] = free
        lower = np.where(may[index], -np.inf, 0.0)
        expected = lsq_linear(F[:, index], tau, (lower, np.full(3, np.inf)), method="bvls").x
        found = solved(F.T @ F, F.T @ tau, index, may)
        np.testing.assert_allclose(F[:, index] @ found, F[:, index] @ expected, atol=1e-6)
    assert solved(F.T @ F, F.T @ tau, index[:0], may).shape == (0,)


def test_a_projector_spans_the_columns_and_finds_the_coefficients(rng):
    A, b = rng.normal(size=(20, 4)) * [1e-6, 1.0, 1e6, 1.0], rng.normal(size=20)
    U, solve = projector(A)
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-12)
    expected = np.linalg.lstsq(A / np.linalg.norm(A, axis=0), b, rcond=None)[0] / np.linalg.norm(A, axis=0)
    np.testing.assert_allclose(solve @ (U.T @ b), expected, rtol=1e-9)
    # A column of zeros and one that repeats another add nothing.
    U, solve = projector(np.column_stack([A, np.zeros(20), A[:, 1]]))
    assert U.shape == (20, 4)
    assert solve.shape == (6, 4)
    U, solve = projector(np.zeros((7, 0)))
    assert (U.shape, solve.shape) == ((7, 0), (0, 0))


@pytest.fixture(scope="module")
def rows() -> FrictionRows:
    rng = np.random.default_rng(5)
    model, theta = frictional(ARM, (Viscous(), Tanh(((0.2, 0.1),))), {"Fv": 1.0, "Ft": 2.0})
    recording = log_of(model, theta, exciting_motion(ARM, rng, seconds=20.0), rng)
    rigid = TorqueModel(ARM)
    return friction_rows(rigid, base_parameters(rigid), (conditioned(recording),))


WEIGHTS = np.array([2.0, 0.5])


def everything(
    rows: FrictionRows, friction: list[Array], use: list[Array] | None = None, weights: Array = WEIGHTS
) -> tuple[Array, Array]:
    """All rows weighted, with the rigid columns and each drive's own friction columns; some rows where `use` says."""
    widths = [F.shape[1] for F in friction]
    A, b = [], []
    for j, F in enumerate(friction):
        own = np.zeros((len(F), sum(widths)))
        own[:, sum(widths[:j]) : sum(widths[: j + 1])] = F
        keep = slice(None) if use is None else use[j]
        A.append((np.hstack([rows.Y[j], own]) * weights[j])[keep])
        b.append((rows.tau[j] * weights[j])[keep])
    return np.vstack(A), np.concatenate(b)


def least(A: Array, b: Array) -> Array:
    scale = np.linalg.norm(A, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    return np.linalg.lstsq(A / scale, b, rcond=1e-10)[0] / scale


def test_the_cost_of_a_curve_is_that_of_fitting_all_rows_with_it(rows):
    viscous, offset = (list(rows.columns(model)) for model in (Viscous(), Offset()))
    shared = shared_information(rows, viscous, WEIGHTS)
    for j in range(2):
        tried = np.hstack([viscous[j], offset[j]])
        A, b = everything(rows, [tried if k == j else viscous[k] for k in range(2)])
        rest = b - A @ least(A, b)
        fixed = Rigid.of(rows, j, shared, WEIGHTS[j])
        assert fixed.cost(tried, np.array([True, True])) == pytest.approx(rest @ rest, rel=1e-6)
        normal = leave_out(rows, j, tried, np.array([FREE, FREE]), shared, WEIGHTS[j])
        assert normal.costs(np.array([[0, 1]]))[0] == pytest.approx(rest @ rest, rel=1e-6)


@pytest.mark.parametrize(("every", "step"), [(1, 1), (2, 1), (4, 3), (5, 5), (50, 5)])
def test_the_search_takes_fewer_samples_a_second_and_averages_the_torque(every, step, rng):
    motion = exciting_motion(ARM, rng, seconds=3.0)  # at 200 Hz
    recording = log_of(TorqueModel(ARM), TorqueModel(ARM).nominal(), motion, rng)
    samples = conditioned(recording)
    # Six times as many samples a second as 40 over the cut-off; odd, and no more than rows are apart.
    rate = samples.plan.low_pass.rate_hz
    plan = replace(samples.plan, low_pass=LowPass(rate / 240.0, rate), every=every)
    found = _slower(replace(samples, plan=plan))
    if step == 1:
        assert found.plan is plan
        return
    assert found.plan.low_pass.rate_hz == pytest.approx(rate / step)
    assert found.plan.low_pass.cutoff_hz == plan.low_pass.cutoff_hz
    assert found.plan.every == max(1, every // step)
    for before, after in zip(samples.segments, found.segments, strict=True):
        n = before.motion.n_samples // step
        assert after.motion.n_samples == n
        groups = np.arange(n * step).reshape(n, step)
        np.testing.assert_allclose(after.tau, before.tau[groups].mean(axis=1))
        for name in ("t", "q", "dq", "ddq"):
            np.testing.assert_array_equal(
                getattr(after.motion, name), getattr(before.motion, name)[groups[:, step // 2]]
            )


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("coupled", [False, True])
def test_rows_for_friction_are_the_low_passed_rows_of_the_drives(coupled, known, rng):
    C = np.array([[1.0, 0.0], [0.5, 1.2]]) if coupled else np.eye(2)
    model = TorqueModel(replace(ARM, transmission=C) if coupled else ARM)
    base, theta, logs = base_parameters(model), model.nominal(), []
    for seconds in (12.0, 8.0):
        recording = log_of(model, theta, exciting_motion(ARM, rng, seconds=seconds), rng)
        logs.append(Conditioning(cutoff_hz=5.0, min_velocity=0.1).plan(recording).apply(recording))
    found = friction_rows(model, None if known else base, logs, 0.9 * theta if known else None)
    Y, tau, full, fast, time, offset = [], [], [], [], [], 0.0
    for samples in logs:
        (segment,), plan = samples.segments, samples.plan
        motion, pick = segment.motion, slice(plan.low_pass.half_length, None, plan.every)
        left = segment.tau - model.torque(motion, 0.9 * theta) if known else segment.tau
        passed = [plan.low_pass.thinned(x, plan.every) for x in (left, segment.tau)]
        n = len(passed[0])
        regressor = model.regressor(motion)[:, :, base.independent]
        wide = plan.low_pass.thinned(regressor.reshape(len(regressor), -1), plan.every).reshape(n, 2, -1)
        to_motors = np.linalg.inv(C.T)
        Y.append(np.einsum("ij,njk->nik", to_motors, wide))
        tau.append(passed[0] @ to_motors.T)
        full.append(passed[1] @ to_motors.T)
        fast.append(np.abs(motion.dq[pick][:n]) >= 0.1)
        time.append(offset + motion.t[pick][:n] - motion.t[0])
        offset = time[-1][-1]
    keep, at = np.concatenate(fast), np.concatenate(time)
    share = (at - at[0]) / (at[-1] - at[0])
    n_blocks = max(int((at[-1] - at[0]) / 2.0), 12)  # ten over the cut-off of 5 Hz
    assert not keep.all()
    for j in range(2):
        used = keep[:, j]
        np.testing.assert_allclose(found.tau[j], np.concatenate(tau)[used, j], atol=1e-9)
        if known:
            assert found.Y[j].shape[1] == 0
        else:
            np.testing.assert_allclose(found.Y[j], np.concatenate(Y)[used, j], atol=1e-9)
        np.testing.assert_allclose(found.power[j], np.mean(np.concatenate(full)[used, j] ** 2))
        np.testing.assert_array_equal(found.fold[j], np.minimum(np.floor(share * N_FOLDS), N_FOLDS - 1)[used])
        np.testing.assert_array_equal(found.block[j], np.minimum(np.floor(share * n_blocks), n_blocks - 1)[used])
        np.testing.assert_array_equal(found.keep[j], used)
    motor = [segment.motion.dq @ C.T for log in logs for segment in log.segments]
    np.testing.assert_allclose(found.speed, np.max(np.abs(np.concatenate(motor)), axis=0))


def test_residuals_weights_and_memory_of_the_search_are_those_of_one_joint_fit(rows):
    search = _Search(rows, True, (False, False))
    columns = [np.hstack(pair) for pair in zip(rows.columns(Viscous()), rows.columns(Coulomb()), strict=True)]

    def residuals(weights):
        A, b = everything(rows, columns, weights=weights)
        miss = b - A @ least(A, b)
        return [part / w for part, w in zip(np.split(miss, [len(rows.tau[0])]), weights, strict=True)]

    for found, expected in zip(search._residuals(columns, WEIGHTS), residuals(WEIGHTS), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    weights = 1.0 / np.sqrt(rows.power)
    for _ in range(4):
        weights = np.array([1.0 / np.sqrt(np.mean(rest**2)) for rest in residuals(weights)])
    np.testing.assert_allclose(search.weights(columns), weights, rtol=1e-5)
    counts = []
    for rest in residuals(WEIGHTS):
        rest = rest - rest.mean()
        memory = np.correlate(rest, rest, "full")[len(rest) - 1 :]
        first = int(np.argmax(memory < 0.0))
        counts.append(1.0 + 2.0 * np.sum(memory[1:first]) / memory[0])
    assert search.rows_as_one(columns, WEIGHTS) == pytest.approx(np.median(counts), rel=1e-4)
    A, b = everything(rows, columns)
    links = rows.base.lift(least(A, b)[: rows.base.n_base])[: rows.model.n_inertial]
    np.testing.assert_allclose(search.links(columns, WEIGHTS).ravel(), links, atol=1e-5 * np.abs(links).max())


def test_what_was_known_before_counts_as_further_rows_beside_every_fold(rows, rng):
    n_base = rows.Y[0].shape[1]
    prior = 5.0 * rng.normal(size=(n_base, n_base + 1))
    viscous = list(rows.columns(Viscous()))
    shared = shared_information(replace(rows, prior=prior), viscous, WEIGHTS)
    assert len(shared) == 3
    assert [len(factors) for factors in shared] == [N_FOLDS + 1] * 3
    for factor in shared[-1]:
        np.testing.assert_array_equal(factor, prior)
    A, b = everything(rows, viscous)
    A = np.vstack([A, np.hstack([prior[:, :-1], np.zeros((n_base, A.shape[1] - n_base))])])
    b = np.concatenate([b, prior[:, -1]])
    rest = b - A @ least(A, b)
    fixed = Rigid.of(rows, 0, shared, WEIGHTS[0])
    assert fixed.cost(viscous[0], np.array([True])) == pytest.approx(rest @ rest, rel=1e-6)


def test_a_segment_is_predicted_from_the_others(rows):
    viscous, coulomb = (list(rows.columns(model)) for model in (Viscous(), Coulomb()))
    shared = shared_information(rows, viscous, WEIGHTS)
    tried = np.hstack([viscous[0], coulomb[0]])
    normal = leave_out(rows, 0, tried, np.array([HELD, HELD]), shared, WEIGHTS[0])
    found = normal.left_out((0, 1))
    assert found.shape == (N_FOLDS,)
    for fold in range(N_FOLDS):
        kept = [rows.fold[j] != fold for j in range(2)]
        A, b = everything(rows, [tried, viscous[1]], kept)
        beta = least(A, b)
        own = np.hstack([rows.Y[0], tried])[~kept[0]]
        miss = rows.tau[0][~kept[0]] - own @ beta[: own.shape[1]]
        power = rows.power[0] * len(rows.tau[0])
        assert found[fold] == pytest.approx(miss @ miss / power, rel=1e-5)


def test_scales_are_those_of_the_motion(rows):
    motions = [segment.motion for samples in rows.samples for segment in samples.segments]
    np.testing.assert_allclose(rows.speed, np.max([np.abs(m.dq).max(axis=0) for m in motions], axis=0))
    q = np.vstack([m.q for m in motions])
    np.testing.assert_allclose(rows.travel, q.max(axis=0) - q.min(axis=0))


def test_a_dictionary_has_every_curve_of_the_grid_and_the_way_to_the_next(rows):
    tanh = Tanh(((1.0, 1.0),))
    made = dictionary(rows, (Viscous(), tanh))
    assert made.of(0) == (0,)
    curves = [made.atoms[k] for k in made.of(1)]
    assert list(made.parent[list(made.atoms[0].columns)]) == [HELD]
    shape = tanh.shapes[0]
    assert len(curves) == len(shape.grid())
    for place, atom in enumerate(curves):
        first, bend = atom.columns
        assert made.parent[first] == HELD
        assert made.parent[bend] == first
        whole = tanh.reshaped(scaled_shape(rows, tanh, np.full((1, 2), atom.relative[0])))
        below, above = (curves[min(max(place + step, 0), len(curves) - 1)].columns[0] for step in (-1, 1))
        for j in range(2):
            np.testing.assert_allclose(made.D[j][:, first], rows.columns(whole)[j][:, 0], atol=1e-12)
            slope = 0.5 * (made.D[j][:, above] - made.D[j][:, below])
            np.testing.assert_allclose(made.D[j][:, bend], slope, atol=1e-12)


def test_a_dictionary_made_from_an_earlier_one_is_the_same_as_a_fresh_one(rows):
    tanh, coulomb = Tanh(((1.0, 1.0),)), Coulomb()
    earlier = dictionary(rows, (Viscous(), tanh, coulomb))
    models = (Asymmetric(), tanh, coulomb)  # four columns where there was one: those behind move
    made, fresh = dictionary(rows, models, earlier), dictionary(rows, models)
    assert made.models == fresh.models
    assert made.atoms == fresh.atoms
    np.testing.assert_array_equal(made.parent, fresh.parent)
    for columns, expected in zip(made.D, fresh.D, strict=True):
        np.testing.assert_array_equal(columns, expected)


def test_picked_models_are_kept_by_drive(rows):
    tanh = Tanh(((1.0, 1.0),))
    models = (Viscous(), tanh)
    first = Picked((0, 1), ((), (0.1,)), 0.0, "")
    second = Picked((0,), ((),), 0.0, "")
    assert first.of(1, 0) == 0.1
    assert np.isnan(second.of(1, 0))
    assert first.moved(1, 0, 0.2).relative == ((), (0.2,))
    assert second.moved(1, 0, 0.2) is second
    assert first.without(0) == Picked((1,), ((0.1,),), 0.0, "")
    columns = picked_columns(rows, models, (first, second))
    assert [F.shape[1] for F in columns] == [2, 1]
    whole = shaped(tanh, 1, (first, second), rows)
    np.testing.assert_allclose(columns[0][:, 1], rows.columns(whole)[0][:, 0])
    viscous, on = picked_models(rows, models, (first, second))
    assert isinstance(viscous, Viscous)
    np.testing.assert_allclose(rows.columns(on)[0], rows.columns(whole)[0])
    assert not np.any(rows.columns(on)[1])
    assert picked_models(rows, models, (second, second)) == (models[0],)


@pytest.mark.parametrize("steps", [-1.5, 0.0, 1.5])
def test_a_line_search_comes_close_and_refining_comes_closer(steps):
    """A log without noise; the search starts some grid steps from the truth."""
    rng = np.random.default_rng(5)
    model, theta = frictional(ARM, (Viscous(), Tanh(((0.2, 0.1),))), {"Fv": 1.0, "Ft": 2.0})
    recording = log_of(model, theta, exciting_motion(ARM, rng, seconds=20.0), rng, noise=0.0)
    rigid = TorqueModel(ARM)
    exact = friction_rows(rigid, base_parameters(rigid), (conditioned(recording),))
    tanh = Tanh(((1.0, 1.0),))
    models = (Viscous(), tanh)
    grid = tanh.shapes[0].grid()
    ratio = float(grid[1] / grid[0])
    true = np.array([0.2, 0.1]) / tanh.shapes[0].size(exact.speed, exact.travel)
    start = [Picked((0, 1), ((), (float(value * ratio**steps),)), 0.0, "") for value in true]
    shared = shared_information(exact, picked_columns(exact, models, start), np.ones(2))
    fixed = [Rigid.of(exact, j, shared, 1.0) for j in range(2)]
    near = _line_search(exact, models, start, fixed, 1, 0)
    # Costs are differences of the whole power, known to its rounding.
    rounding = 1e-9 * np.array([part.beyond for part in fixed])
    assert np.all(_costs(exact, models, near, fixed) <= _costs(exact, models, start, fixed) + rounding)
    found = np.array([pick.of(1, 0) for pick in near])
    # Four grid steps shrink by the golden ratio five times.
    assert np.all(np.abs(np.log(found / true)) <= 4.0 * np.log(ratio) * 0.618**4)
    best = np.array([pick.of(1, 0) for pick in refined(exact, models, start, shared, np.ones(2))])
    np.testing.assert_allclose(best, true, rtol=0.01)


def test_refining_leaves_models_without_shape_alone(rows):
    picked = [Picked((0,), ((),), 0.0, "")] * 2
    assert refined(rows, (Viscous(),), picked, (), np.ones(2)) == picked


def test_segments_and_blocks_divide_the_time_evenly(rows):
    plan = rows.samples[0].plan
    motion = rows.samples[0].segments[0].motion
    for j in range(2):
        share = np.bincount(rows.fold[j]) / len(rows.fold[j])
        np.testing.assert_allclose(share, 1.0 / N_FOLDS, atol=0.02)
        assert np.all(np.diff(rows.fold[j]) >= 0)
        # Ten periods of the low-pass in a block, but a dozen blocks at least.
        wanted = int(np.clip((motion.t[-1] - motion.t[0]) * plan.low_pass.cutoff_hz / 10.0, 12, 200))
        assert abs(rows.block[j].max() + 1 - wanted) <= 1
        assert np.all(np.diff(rows.block[j]) >= 0)
