"""Samples as they come: a missing value costs what needs it, wrong stamps are put right, and both are said."""

import json
import warnings

import numpy as np
import pytest

import dynid
from dynid.cli import main
from dynid.errors import RecordingError
from dynid.recording import RawLog, Recording, write_csv
from dynid.recording.followed import followed_log
from dynid.regression import save_model
from dynid.tracking import KinematicFilter, Sample, TrackingOptions, TrackingSession, with_kinematics
from dynid.workflow.live_buffers import LatestSamples
from tests.cli.test_track import recording
from tests.tracking.test_kinematics import polynomial
from tests.tracking.test_session import identified


def arrays(log):
    """A log as writable arrays by name."""
    return {name: np.array(getattr(log, name)) for name in ("t", *log.signals)}


def raw(log, data):
    """Such arrays as a file would give them."""
    return RawLog(log.joint_names, data["t"], data["q"], dq=data["dq"], tau=data["tau"])


def spoilt(log, rng, *, share=0.02):
    """Torques missing in single cells, and of one joint for a second; velocities and positions here and there."""
    found = arrays(log)
    n, second = log.n_samples, int(log.rate_hz)
    found["tau"][rng.random(found["tau"].shape) < share] = np.nan
    found["tau"][n // 2 : n // 2 + second, 1] = np.inf
    found["dq"][rng.random(found["dq"].shape) < share] = np.nan
    found["q"][rng.choice(n, n // 200, replace=False), 0] = np.nan
    return found


@pytest.mark.whole
def test_what_is_missing_is_counted_by_joint_in_text_json_and_report(tmp_path, capsys):
    save_model(identified(), tmp_path / "model.json")
    log = recording()
    data = arrays(log)
    data["tau"][100:140, 1], data["tau"][7, 0], data["dq"][300, 0] = np.nan, np.nan, np.nan
    data["q"][[500, 501], 1], data["base_wrench"][9, 2] = np.nan, np.nan
    path = tmp_path / "log.csv"
    write_csv(Recording(log.joint_names, **data, holes=True), path)
    path.write_text(path.read_text().replace("nan", "", 20))  # empty cells as well
    words = ["track", str(tmp_path / "model.json"), str(path), "--measure", "both"]
    assert main([*words, "--json", "--out", str(tmp_path / "out")]) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    one, two = log.joint_names
    assert summary["missing"] == [{"joint": one, "q": 0, "dq": 1, "tau": 1}, {"joint": two, "q": 2, "dq": 0, "tau": 40}]
    assert summary["missing_wrench"] == {"fz": 1}
    assert (summary["n_skipped"], summary["repairs"]) == (2, [])
    assert f"{two} in 40" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"torque missing: {one} in 1 sample, {two} in 40; their rows are left out, not the samples" in said
    assert f"position missing: {two} in 2 samples; these samples are skipped" in said


@pytest.mark.parametrize("options", [{"from_wrong": 0.2}, {"payload": True}], ids=["arm", "load"])
def test_a_log_with_holes_ends_where_the_whole_one_does(options, rng):
    log = recording(wrench=False)
    clean = dynid.track(identified(), log, **options).run
    holed = spoilt(log, rng)
    found = dynid.track(identified(), holed, **options).run
    assert [event.kind for event in found.events] == [event.kind for event in clean.events]
    np.testing.assert_array_equal(found.missing.q, np.isnan(holed["q"]).sum(axis=0))
    assert found.n_skipped >= np.isnan(holed["q"]).any(axis=1).sum()  # the filter of the arm needs a torque as well
    np.testing.assert_array_equal(found.missing.tau, (~np.isfinite(holed["tau"])).sum(axis=0))
    spread = np.maximum(clean.parameters.std, found.parameters.std)
    assert np.all(np.abs(found.parameters.values - clean.parameters.values) <= 3.0 * spread)


@pytest.mark.whole
def test_late_doubled_and_lost_rows_and_a_clock_that_starts_again_are_followed_and_said(rng):
    log = recording(wrench=False)
    n, place = log.n_samples, np.arange(log.n_samples, dtype=float)
    place[rng.choice(n, n // 100, replace=False)] += 3.5
    order = np.argsort(place)[np.sort(np.concatenate([np.arange(n), rng.choice(n, n // 100, replace=False)]))]
    order = order[(order < int(0.6 * n)) | (order > int(0.75 * n))]
    data = {name: value[order] for name, value in arrays(log).items()}
    data["t"][n // 3 :] -= data["t"][n // 3]
    clean, found = (dynid.track(identified(), given, payload=True) for given in (log, data))
    assert [event.kind for event in found.events] == [event.kind for event in clean.events]
    assert found.run.load.mass == pytest.approx(clean.run.load.mass, abs=3.0 * clean.run.load.mass_std)
    assert {item["code"] for item in found.json()["repairs"]} == {"backward-stamps"}
    assert "rows that stand there twice are used once" in " ".join(str(found).split())


def test_two_logs_in_one_file_are_kept_apart_also_where_values_are_missing():
    log = recording(wrench=False)
    data = {name: np.concatenate([value[:800], value[500:1300]]) for name, value in arrays(log).items()}
    data["t"][800:] -= data["t"][800]
    data["q"][::50, 1], data["tau"][::50], data["tau"][7:9] = np.nan, np.nan, np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # inf - inf
        followed = followed_log(raw(log, data))
    assert followed.holes
    assert np.diff(followed.t).max() >= 1.0


def test_comparison_and_periodic_noise_leave_out_samples_with_holes(rng):
    data = arrays(recording(wrench=False))
    data["tau"][rng.random(data["tau"].shape) < 0.02] = np.nan
    result = dynid.track(identified(), data, compare=True, noise="periodic")
    assert result.compared is not None
    # Torques have 0.01 N·m of noise at some 5 N·m; nan anywhere would make these nan.
    assert all(row.error < 2.0 for row in result.compared.filters)


def test_missing_velocities_come_from_the_samples_around():
    t = 0.01 * np.arange(200)
    q, dq, ddq = polynomial(t)
    holed = dq.copy()
    holed[[30, 60, 61, 62], 0], holed[100:140, 1], holed[170, 0] = np.nan, np.nan, np.inf
    given = (Sample(t[k], q[k], holed[k]) for k in range(200))
    found = list(with_kinematics(given, KinematicFilter(half_samples=20), 2))
    inner = slice(20, -20)
    assert len(found) == 160
    # Between neighbours 20 ms apart a line is off by 1e-4 rad/s, which a window of 0.4 s makes some 1e-3 rad/s² of.
    np.testing.assert_allclose([s.dq for s in found], dq[inner], atol=1e-4)
    np.testing.assert_allclose([s.ddq for s in found], ddq[inner], atol=5e-3)


def test_a_velocity_that_is_missing_at_the_end_of_the_window_does_not_let_it_differentiate_positions(rng):
    t = 0.005 * np.arange(400)
    q, dq, ddq = polynomial(t)
    q = q + 1e-4 * rng.standard_normal(q.shape)  # which makes some 0.1 rad/s² where positions are differentiated twice
    holed = np.where(rng.random(dq.shape) < 0.02, np.nan, dq)
    whole, found = (
        list(with_kinematics((Sample(t[k], q[k], v[k]) for k in range(400)), KinematicFilter(half_samples=20), 2))
        for v in (dq, holed)
    )
    assert len(found) == len(whole) == 360
    np.testing.assert_allclose([s.ddq for s in whole], ddq[20:-20], atol=5e-3)
    np.testing.assert_allclose([s.ddq for s in found], ddq[20:-20], atol=5e-3)


def test_velocities_of_a_joint_that_hardly_has_any_are_taken_from_positions():
    log = recording(wrench=False)
    data = arrays(log)
    data["dq"][100:, 0] = np.nan
    followed = followed_log(raw(log, data))
    assert followed.dq is None
    assert "velocities of all joints come from the positions" in followed.repairs[-1].done


def test_a_live_sample_without_torques_among_others_lacks_them_all():
    data = recording(wrench=False).part(None, 2.0)
    session = TrackingSession(identified(), data, TrackingOptions(payload=True))
    given = [Sample(data.t[k], data.q[k], data.dq[k], None, data.tau[k]) for k in range(3)]
    given[1] = given[1]._replace(tau=None)
    assert np.isnan(list(session._counted(iter(given)))[1].tau).all()


def test_what_a_live_run_keeps_may_have_holes():
    kept = LatestSamples(("a", "b"), 10)
    for k in range(4):
        kept.add(Sample(0.1 * k, np.zeros(2), np.zeros(2), None, np.array([1.0, np.nan]) if k else np.ones(2)))
    log = kept.recording()
    assert log.holes
    assert log.complete().n_samples == 1
    with pytest.raises(RecordingError, match="say holes=True"):
        Recording(("a", "b"), log.t, log.q, tau=log.tau)
