"""The filter of an arm: rows through a low-pass, links always possible, one pass against the batch, noise, bounds."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import butter

import dynid
from dynid.cli import main
from dynid.dynamics import TorqueModel, base_parameters, friction_models
from dynid.errors import ParameterError, RecordingError, TrackingError
from dynid.recording import Recording, write_csv
from dynid.regression import OLS, Constraints, IdentifiedModel, SampleRows, compress
from dynid.regression.constraints.cones import ConeBlock
from dynid.regression.feasible.solver import SolverSettings, solve_cones
from dynid.tracking import KinematicFilter, Tracker, TrackingOptions, TrackingSession, arm_filter, with_kinematics
from dynid.tracking.arm_cone import ArmCone
from dynid.tracking.periodic_noise import motion_period, periodic_noise
from dynid.tracking.row_filter import low_pass_weights
from dynid.tracking.sources.replayed import replay
from dynid.validation import compare_torque
from dynid.workflow.track import tracked_source
from tests.cli.test_track import BASE, MODEL, THETA, model_file, recording  # noqa: F401
from tests.tracking.test_session import identified


def error(theta):
    """Of the torque over a motion that no filter here has seen, relative."""
    motion = dynid.dynamics.random_motion(MODEL.robot, 200, np.random.default_rng(5))
    true = MODEL.torque(motion, THETA)
    return float(np.linalg.norm(MODEL.torque(motion, theta) - true) / np.linalg.norm(true))


def test_the_low_pass_is_a_butterworth_filter():
    b, a = butter(2, 5.0, fs=250.0)
    np.testing.assert_allclose(low_pass_weights(5.0, 250.0), [*b, *a[1:]], rtol=1e-9)
    assert len(low_pass_weights(None, 250.0)) == len(low_pass_weights(120.0, 250.0)) == 0


@pytest.mark.whole
def test_filtered_rows_say_the_same_as_rows_and_the_order_of_samples_does_not_matter():
    log = recording()
    motion, tau = TrackingSession(identified(), log).samples_of(log)
    exact = MODEL.torque(motion, THETA)
    for cutoff in (None, 3.0):
        tracker = arm_filter(
            identified(), np.full(2, 0.01), TrackingOptions(from_wrong=0.3), cutoff_hz=cutoff, rate_hz=200.0
        ).start()
        assert tracker.options.every == (1 if cutoff is None else 16)
        tracker.run(motion, exact, every=len(exact))
        # What the prior weighs against thousands of exact rows.
        assert error(tracker.theta) < 1e-3
    assert tau.shape == exact.shape


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_arm_is_that_of_a_conic_solver(seed):
    rng = np.random.default_rng(seed)
    n = MODEL.n_params
    cone = ArmCone.of(MODEL, THETA, np.ones(n))
    factor = np.triu(rng.standard_normal((n, n))) + 5.0 * np.eye(n)
    mean = THETA - rng.uniform(0.0, 1.0, n)  # negative masses, friction that drives
    found = cone.nearest(mean, factor, cone.start)
    rest = ConeBlock("zero", np.hstack([factor, -np.eye(n)]), -factor @ mean, ("rest",) * n)
    conditions = [
        ConeBlock(block.kind, np.hstack([block.A, np.zeros((len(block.b), n))]), block.b, block.names)
        for block in Constraints().compile(MODEL).blocks
    ]
    squares = np.concatenate([np.zeros(n), np.ones(n)])
    best = solve_cones(np.zeros(2 * n), [rest, *conditions], SolverSettings(), quadratic=squares).x[:n]
    cost = [0.5 * np.sum((factor @ (theta - mean)) ** 2) for theta in (found, best)]
    # The barrier costs its weight for each of its 8 + 4 dimensions at most (0.02 · 12).
    assert cost[1] <= cost[0] + 1e-6 <= cost[1] + 0.24
    assert identified(theta=found).consistent
    assert np.all(cone.A @ found + cone.b > 0.0)


def test_parameters_inside_stay_as_they_are():
    cone = ArmCone.of(MODEL, THETA, np.ones(MODEL.n_params))
    np.testing.assert_array_equal(cone.nearest(THETA, np.eye(MODEL.n_params), cone.start), THETA)


def test_two_runs_one_after_the_other_know_what_one_run_knows():
    log = recording()
    start = identified(theta=np.where(np.arange(MODEL.n_params) < 20, 0.7 * THETA, 0.0))
    whole = dynid.track(start, log).model
    first = dynid.track(start, log, until=4.0).model
    second = dynid.track(first, log, from_=4.0).model
    assert first.estimator == second.estimator == "track"
    # The second run sees half of the log; without what the first had learnt it would be like it.
    alone = dynid.track(start, log, from_=4.0).model
    assert np.all(np.sqrt(np.diag(second.covariance)) < 0.9 * np.sqrt(np.diag(alone.covariance)))
    assert error(second.theta) < 2.0 * error(whole.theta) + 1e-3
    assert whole.consistent
    assert second.consistent


def test_friction_that_starts_at_zero_is_found():
    start = identified(theta=np.where(np.arange(MODEL.n_params) < 20, THETA, 0.0))
    links, entries = (dynid.track(start, recording(), states=states) for states in ("links", "entries"))
    np.testing.assert_allclose(links.model.theta[20:], 0.1, atol=0.01)  # σ is 0.004 at most
    # Curves bend the optimum and their start weighs: within 2σ, and away from zero.
    assert np.all(np.abs(entries.model.theta[20:] - 0.1) < 2.0 * entries.run.parameters.std[-6:])
    assert np.all(entries.model.theta[20:] > 0.02)


def test_standard_deviations_are_those_of_repeated_logs():
    log, ends, told = recording(), [], []
    clean = MODEL.torque(TrackingSession(identified(), log).samples_of(log)[0], THETA)
    motion = TrackingSession(identified(), log).samples_of(log)[0]
    for seed in range(12):
        rng = np.random.default_rng(seed)
        tracker = arm_filter(identified(), np.full(2, 0.3), cutoff_hz=3.0, rate_hz=200.0).start()
        tracker.run(motion, clean + 0.05 * rng.standard_normal(clean.shape), every=len(clean))
        spread = BASE.K * tracker.options.state.arrays.scale
        ends.append(BASE.project(tracker.columns[: MODEL.n_params]))
        told.append(np.sqrt(np.diag(spread @ tracker.covariance @ spread.T)))
    ratio = np.std(ends, axis=0) / np.mean(told, axis=0)
    # Given noise six times too large and rows that overlap: 12 draws know a σ to 20 %.
    assert 0.6 < np.median(ratio) < 1.5


def periodic(*, periods=4, memory=0.0, noise=0.05):
    """A motion of 3 s, several times, its torque with noise that may remember for some samples."""
    rng, t = np.random.default_rng(3), 0.005 * np.arange(600 * periods)
    omega = 2.0 * np.pi / 3.0
    q = np.column_stack([np.sin(omega * t) + 0.3 * np.cos(2 * omega * t), 0.5 * np.cos(omega * t)])
    v = rng.standard_normal(q.shape)
    for k in range(1, len(v)):
        v[k] = memory * v[k - 1] + np.sqrt(1.0 - memory**2) * v[k]
    return t, q, q @ np.array([[2.0, 0.3], [0.1, 1.0]]) + noise * v


def test_the_noise_is_what_differs_between_periods():
    t, q, tau = periodic()
    assert motion_period(t, q) == pytest.approx(3.0, abs=0.006)
    white = periodic_noise("log", t, q, tau, cutoff_hz=None, rate_hz=200.0, every=1)
    np.testing.assert_allclose(white, 0.05, rtol=0.1)  # 1800 differences: 2 % of a σ, and ρ from as many
    t, q, tau = periodic(memory=0.8)
    slow = periodic_noise("log", t, q, tau, cutoff_hz=None, rate_hz=200.0, every=1)
    np.testing.assert_allclose(slow, 0.05 * np.sqrt(1.8 / 0.2), rtol=0.25)
    smooth = periodic_noise("log", *periodic(), cutoff_hz=3.0, rate_hz=200.0, every=16)
    assert np.all(smooth < 0.5 * white)  # the low-pass takes most of it away


def test_a_motion_without_a_period_is_told():
    log = recording().part(None, 5.0)  # its period is 3.3 s
    with pytest.raises(RecordingError, match=r"does not repeat itself at least 2 times.*give `noise` in numbers"):
        dynid.track(identified(), log, noise="periodic")
    run = dynid.track(identified(), recording(), noise="periodic", from_wrong=0.1)
    assert error(run.model.theta) < 0.02


@pytest.mark.whole
def test_filters_side_by_side_on_one_log():
    log = recording()
    result = dynid.track(identified(), log, from_wrong=0.2, compare=True, settle=1.0, until=6.0)
    rows = {row.name: row for row in result.compared.filters}
    assert list(rows) == [
        "constrained filter",
        "bounded entries, as in the paper",
        "unconstrained filter",
        "recursive least squares",
        "batch least squares",
    ]
    assert rows["constrained filter"].consistent == "yes"
    assert all(row.held_out is not None and row.seconds > 0.0 for row in rows.values())
    settings = identified().settings
    batch = OLS().fit(compress(SampleRows(MODEL, BASE, (settings.condition(log.part(None, 6.0)),)))).beta
    judged = compare_torque(MODEL, BASE.lift(batch), settings.condition(log.part(1.0, 6.0)))
    assert rows["batch least squares"].error == pytest.approx(judged.error.relative_percent, rel=1e-9)
    # Recursive least squares is batch least squares, rows filtered a little differently.
    assert rows["recursive least squares"].error == pytest.approx(judged.error.relative_percent, rel=0.1)
    assert result.json()["compare"]["settle_s"] == 1.0
    assert len(result.json()["compare"]["filters"]) == 5
    text = str(result)
    assert "error after 1 s / %" in text
    assert "recursive least squares" in text


def test_a_comparison_needs_a_log_of_torques():
    with pytest.raises(TrackingError, match="`compare` is for the parameters of an arm"):
        dynid.track(identified(), recording(), compare=True, payload=True)
    with pytest.raises(TrackingError, match="leaves too little"):
        dynid.track(identified(), recording(), compare=True, settle=7.9)


@pytest.mark.whole
def test_bounds_are_kept_and_a_start_outside_is_refused():
    m2 = float(THETA[10])
    heavier = identified(theta=np.where(np.arange(MODEL.n_params) < 20, 1.4 * THETA, THETA))
    kept = dynid.track(heavier, recording(), bounds={"m2": (1.2 * m2, 2.0 * m2)}, measure="both")
    free = dynid.track(heavier, recording(), measure="both")
    assert kept.model.theta[10] > 1.2 * m2 > 1.1 * free.model.theta[10]  # the wrench under the base weighs the arm
    with pytest.raises(ParameterError, match=r"start outside m2 ≥ .*; widen the bound"):
        dynid.track(identified(), recording(), bounds={"m2": (1.2 * m2, 2.0 * m2)})
    told = dynid.track(identified(), recording(), bounds={"I1xx": (0.0, 0.5)}).warnings
    assert any("bounds of I1xx are not convex and were left out" in sentence for sentence in told)
    entries = dynid.track(identified(), recording(), bounds={"fv1": (0.0, 0.15)}, states="entries", from_wrong=0.2)
    assert 0.0 < entries.model.theta[MODEL.symbols.index("fv1")] < 0.15
    with pytest.raises(ParameterError, match="bounds of c1x: no state of its own"):
        dynid.track(identified(), recording(), bounds={"c1x": (0.0, 1.0)}, states="entries")


def test_the_command_takes_everything_from_a_file(model_file, tmp_path, capsys):  # noqa: F811
    log, bounds, config = tmp_path / "log.csv", tmp_path / "bounds.csv", tmp_path / "track.toml"
    write_csv(recording(), log)
    bounds.write_text("parameter,lower,upper\nfv1,0,0.3\n", encoding="utf-8")
    config.write_text(
        'states = "entries"\nprocess-noise = 1e-4\nannealing = 100\ncarry = "state"\nnoise = [0.02, 0.03]\n'
        f'bounds = "{bounds}"\n',
        encoding="utf-8",
    )
    out = tmp_path / "out"
    arguments = ["track", str(model_file), str(log), "--config", str(config), "--compare", "--out", str(out), "--json"]
    assert main(arguments) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    value = next(row["value"] for row in last["parameters"] if row["label"] == "fv1")
    assert 0.0 < value < 0.3
    assert last["compare"]["filters"][0]["name"] == "constrained filter"
    assert "Filters side by side" in (out / "report.html").read_text(encoding="utf-8")
    assert main(["track", str(model_file), str(log), "--noise", "loud"]) == 2
    assert "give numbers in N·m and N, or periodic" in capsys.readouterr().err


def nominal(robot, friction, settings):
    model = TorqueModel(robot, friction_models(friction))
    base, theta = base_parameters(model), model.nominal()
    unknown = np.full((base.n_base, base.n_base), np.nan)
    return IdentifiedModel(model, base, "nominal", "", base.project(theta), unknown, theta=theta, settings=settings)


@pytest.fixture(scope="module")
def ur10e(data_dir):
    folder = data_dir / "ur10e"
    gains = json.loads((folder / "facts.json").read_text())["torque_constants"]["controller_Nm_per_A"]
    batch = dynid.identify(
        folder / "ur10e.urdf", [folder / "30s12h.csv.gz"], gains=gains, friction="viscous+coulomb+offset",
        rotor_inertia=False, prior="auto",
    ).model  # fmt: skip
    return folder, nominal(batch.robot, "viscous+coulomb+offset", replace(batch.settings, cutoff_hz=None)), batch


def unseen(model, log, **part):
    return dynid.validate(model, log, **part).validation[0].error.relative_percent


@pytest.mark.data
def test_one_pass_over_a_real_log_comes_to_the_batch_fit(ur10e):
    folder, start, batch = ur10e
    found = dynid.track(start, folder / "30s12h.csv.gz")
    assert found.model.consistent
    assert unseen(found.model, folder / "20s8h.csv.gz") <= 1.15 * unseen(batch, folder / "20s8h.csv.gz")


@pytest.mark.data
@pytest.mark.whole
def test_faults_in_a_real_log_cost_what_they_hide(ur10e):
    folder, start, _ = ur10e
    log = tracked_source(start, folder / "30s12h.csv.gz", start.settings, None, 15.0)
    assert isinstance(log, Recording)
    session = TrackingSession(start, log)
    rng, faulty = np.random.default_rng(0), []
    for sample in replay(log):
        tau = np.array(sample.tau)
        tau[rng.random(6) < 0.05] = np.nan  # a joint's torque is missing
        late = sample._replace(t=sample.t + 1e-4 * rng.standard_normal(), tau=tau)  # time stamps that jitter
        if rng.random() < 0.02:
            continue  # lost
        faulty += [late, late] if rng.random() < 0.05 else [late]  # doubled
        if len(faulty) > 9 and rng.random() < 0.02:
            faulty.append(faulty[-8])  # much too late
    kinematics = KinematicFilter.at_rate(log.rate_hz)
    tracker = session.tracker
    assert isinstance(tracker, Tracker)
    for sample in with_kinematics(iter(faulty), kinematics, 6):
        tracker.step(sample)
    clean = dynid.track(start, log).model
    hurt = replace(clean, theta=tracker.theta, beta=clean.base.project(tracker.theta))
    assert hurt.consistent
    assert tracker.n_absorbed > 0.9 * log.n_samples
    held_out = folder / "20s8h.csv.gz"
    assert unseen(hurt, held_out) < 1.1 * unseen(clean, held_out)


@pytest.mark.data
@pytest.mark.whole
def test_a_filter_stopped_and_resumed_over_real_logs_is_one_filter(ur10e, tmp_path):
    folder, start, _ = ur10e
    log, path = folder / "30s12h.csv.gz", tmp_path / "arm.npz"
    whole = dynid.track(start, log, until=12.0).model
    dynid.track(start, log, checkpoint=path, until=6.0)
    parted = dynid.track(start, log, checkpoint=path, from_=6.0, until=12.0).model
    other = folder / "20s8h.csv.gz"
    again = dynid.track(start, other, checkpoint=path, until=4.0)  # another log, whose clock starts anew
    # The window of the kinematics starts anew, and the first part guesses the noise from its own torques.
    held_out = folder / "20s8h.csv.gz"
    assert unseen(parted, held_out) == pytest.approx(unseen(whole, held_out), rel=0.1)
    assert again.run.health.n_backwards == 0
    assert again.run.health.n_absorbed > 12.0 * 90.0
    assert unseen(again.model, held_out) < 1.1 * unseen(whole, held_out)
