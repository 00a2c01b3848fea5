import numpy as np
import pytest

from dynid import load_robot
from dynid.chain import Robot
from dynid.errors import RegressionError
from dynid.recording import Conditioning, Samples, Segment
from dynid.regression import OLS, WLS, FitError, JointRows, Regression, Robust, SampleRows, Status, compress, unexcited
from dynid.regression.problem import MAX_BLOCKS
from dynid.regression.rows import HeldRows, block_length, rows_of_segment, visible_columns
from tests.regression.logs import truth
from tests.robots import BATTERY


def regression_of(case, recording, **options) -> Regression:
    samples = Conditioning(**options).plan(recording).apply(recording)
    return compress(SampleRows(case.model, case.base, (samples,)))


@pytest.mark.parametrize(
    ("robot", "estimator"),
    [
        *((robot, WLS()) for robot in BATTERY),
        *((robot, other) for robot in BATTERY[::2] for other in (OLS(), Robust())),
    ],
    ids=lambda value: value.name if isinstance(value, Robot) else type(value).__name__,
)
def test_exact_logs_give_the_exact_coefficients(robot, estimator, rng):
    case = truth(robot, rng, duration=12.0, rate_hz=100.0)
    recording = case.recording()
    # The exact motion as conditioned samples: no interpolation or differentiation error.
    plan = Conditioning(cutoff_hz=np.inf).plan(recording)
    samples = Samples(recording.joint_names, (Segment(case.motion, case.tau),), plan)
    estimate = estimator.fit(compress(SampleRows(case.model, case.base, (samples,))))
    if estimate.rank == case.base.n_base:
        np.testing.assert_allclose(estimate.beta, case.beta, rtol=1e-5, atol=1e-6 * np.abs(case.beta).max())
    assert estimate.fit.relative_percent < 1e-5


def test_factors_solve_the_same_problem_as_the_stacked_rows(rng):
    case = truth(load_robot("panda"), rng, duration=8.0)
    recording = case.recording(rng, 0.05)
    samples = Conditioning().plan(recording).apply(recording)
    source = SampleRows(case.model, case.base, (samples,))
    regression = compress(source)
    Y, tau = [], []
    for block in source.blocks():
        for rows, columns in zip(block, regression.visible, strict=True):
            full = np.zeros((len(rows.tau), case.base.n_base))
            full[:, columns] = rows.Y
            Y.append(full)
            tau.append(rows.tau)
    stacked, target = np.vstack(Y), np.concatenate(tau)
    expected, *_ = np.linalg.lstsq(stacked, target, rcond=None)
    estimate = OLS().fit(regression)
    np.testing.assert_allclose(estimate.beta, expected, atol=1e-9)
    assert estimate.condition_number == pytest.approx(np.linalg.cond(stacked), rel=1e-9)
    residual = np.linalg.norm(target - stacked @ expected) / np.linalg.norm(target)
    assert estimate.fit.relative_percent == pytest.approx(100 * residual, rel=1e-9)
    assert regression.n_rows == len(target)


def test_logs_add_up_and_memory_does_not_grow(rng):
    case = truth(load_robot("planar2r"), rng, duration=10.0)
    one = regression_of(case, case.recording(rng, 0.05))
    two = regression_of(case, case.recording(rng, 0.05))
    both = one + two
    np.testing.assert_allclose(both.power(), one.power() + two.power())
    assert both.n_rows == one.n_rows + two.n_rows
    many = one
    for _ in range(7):
        many = many + many
    assert len(many.blocks) <= MAX_BLOCKS
    np.testing.assert_allclose(many.power(), 128 * one.power(), rtol=1e-9)
    np.testing.assert_allclose(OLS().fit(many).beta, OLS().fit(one).beta, atol=1e-7)


def test_weighted_fit_learns_the_noise_of_each_joint(rng):
    case = truth(load_robot("wam7"), rng, duration=40.0)
    sizes = np.sqrt(np.mean(case.tau**2, axis=0)) * 0.02
    regression = regression_of(case, case.recording(rng, 0.02), cutoff_hz=np.inf)
    estimate = WLS().fit(regression)
    np.testing.assert_allclose(estimate.uncertainty.noise, sizes, rtol=0.1)
    np.testing.assert_allclose(1.0 / estimate.weights, sizes, rtol=0.1)


def test_robust_fit_shrugs_off_what_ruins_least_squares(rng):
    case = truth(load_robot("panda"), rng, duration=20.0)
    recording = case.recording(rng, 0.01)
    tau = recording.tau.copy()
    hit = rng.choice(len(tau), len(tau) // 50, replace=False)
    tau[hit] += rng.normal(size=(len(hit), 7)) * 5.0 * np.sqrt(np.mean(tau**2, axis=0))
    spoiled = type(recording)(recording.joint_names, recording.t, recording.q, recording.dq, tau=tau)
    regression = regression_of(case, spoiled, cutoff_hz=np.inf)
    clean = compress(
        SampleRows(case.model, case.base, (Conditioning(cutoff_hz=np.inf).plan(recording).apply(recording),))
    )
    errors = {
        type(e).__name__: FitError.on(clean, e.fit(regression).beta).relative_percent for e in (OLS(), WLS(), Robust())
    }
    floor = OLS().fit(clean).fit.relative_percent
    assert errors["Robust"] < 1.05 * floor
    assert errors["OLS"] > 1.5 * errors["Robust"]


def test_robust_needs_its_rows(rng):
    case = truth(load_robot("planar2r"), rng)
    one = regression_of(case, case.recording())
    with pytest.raises(RegressionError, match="weighs single rows"):
        Robust().fit(one + one)


def test_a_motion_that_excites_nothing_names_what_is_unseen(rng):
    case = truth(load_robot("planar2r"), rng, friction="none")
    recording = case.recording()
    still = np.full_like(recording.q, 0.4)
    frozen = type(recording)(recording.joint_names, recording.t, still, tau=recording.tau)
    regression = regression_of(case, frozen)
    estimate = OLS().fit(regression)
    assert estimate.status is Status.RANK_DEFICIENT
    assert "a motion that excites them" in estimate.status.value
    hidden = unexcited(regression)
    assert hidden
    assert set(hidden) <= set(case.base.leading)
    assert [t for t, s in zip(estimate.trust, case.base.leading, strict=True) if s in hidden] == ["unseen"] * len(
        hidden
    )


def test_a_threshold_above_every_speed_leaves_nothing(rng):
    case = truth(load_robot("planar2r"), rng)
    with pytest.raises(RegressionError, match="no rows left for joint1"):
        regression_of(case, case.recording(), min_velocity=100.0)


def redrawn(case, samples, rng, noise):
    """The same rows under new torque noise: motion and regressor are computed once."""
    plan, visible = samples.plan, visible_columns(case.model, case.base)
    length = block_length(samples)
    exact = [rows_of_segment(case.model, case.base, chunk, plan, visible) for chunk in samples.chunks(length)]
    segment = samples.segments[0]

    def draw():
        shaken = Segment(segment.motion, rng.normal(size=segment.tau.shape) * noise)
        noisy = Samples(samples.joint_names, (shaken,), plan)
        blocks = []
        for rows, chunk in zip(exact, noisy.chunks(length), strict=True):
            extra = plan.low_pass.thinned(chunk.tau, plan.every)
            blocks.append(tuple(JointRows(r.Y, r.tau + extra[:, j]) for j, r in enumerate(rows)))
        return compress(HeldRows(case.model, case.base, tuple(blocks)))

    return draw


@pytest.mark.slow
@pytest.mark.parametrize("cutoff", [None, np.inf, 8.0], ids=["default filter", "unfiltered", "oversampled"])
@pytest.mark.parametrize("name", ["panda", "random3"])
def test_intervals_cover_the_truth(name, cutoff, rng):
    robot = next(robot for robot in BATTERY if robot.name == name)
    case = truth(robot, rng, duration=20.0, rate_hz=100.0)
    recording = case.recording()
    plan = Conditioning(cutoff_hz=cutoff, decimate=1 if cutoff == 8.0 else None).plan(recording)
    samples = Samples(recording.joint_names, (Segment(case.motion, case.tau),), plan)
    noise = 0.05 * np.sqrt(np.mean(case.tau**2, axis=0))
    draw = redrawn(case, samples, rng, noise)
    inside, n_draws = 0, {"random3": 120, "panda": 60}[name]
    for _ in range(n_draws):
        estimate = WLS().fit(draw())
        inside += int(np.count_nonzero(np.abs(estimate.beta - case.beta) <= 1.96 * estimate.std))
    assert 0.92 <= inside / (n_draws * case.base.n_base) <= 0.98


def test_paper_intervals_are_too_narrow_on_filtered_rows_and_honest_ones_are_not(rng):
    case = truth(load_robot("planar2r"), rng, duration=30.0)
    recording = case.recording()
    plan = Conditioning(cutoff_hz=5.0, decimate=1).plan(recording)
    samples = Samples(recording.joint_names, (Segment(case.motion, case.tau),), plan)
    draw = redrawn(case, samples, rng, 0.05 * np.sqrt(np.mean(case.tau**2, axis=0)))
    white = honest = 0
    for _ in range(60):
        estimate = OLS().fit(draw())
        distance = np.abs(estimate.beta - case.beta)
        white += int(np.count_nonzero(distance <= 1.96 * estimate.uncertainty.white_std))
        honest += int(np.count_nonzero(distance <= 1.96 * estimate.std))
    total = 60 * case.base.n_base
    assert white / total < 0.7
    assert 0.9 < honest / total < 0.99


def test_error_falls_with_the_square_root_of_the_length(rng):
    errors = []
    for duration in (10.0, 40.0):
        case = truth(load_robot("planar2r"), np.random.default_rng(5), duration=duration)
        recording = case.recording()
        samples = Samples(
            recording.joint_names, (Segment(case.motion, case.tau),), Conditioning(cutoff_hz=np.inf).plan(recording)
        )
        draw = redrawn(case, samples, rng, 0.1 * np.sqrt(np.mean(case.tau**2, axis=0)))
        spread = np.array([OLS().fit(draw()).beta - case.beta for _ in range(40)])
        errors.append(np.sqrt(np.mean(spread**2, axis=0)))
    assert np.median(errors[0] / errors[1]) == pytest.approx(2.0, rel=0.2)
