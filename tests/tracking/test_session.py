"""A tracking run as a library call: filters of an identified model, kept estimates, where it ends, and its report."""

import json

import numpy as np
import pytest

from dynid.errors import RecordingError, TrackingError
from dynid.regression import IdentifiedModel
from dynid.tracking import TrackingOptions, TrackingSession, arm_filter, load_watch
from dynid.tracking.contact_jumps import JUMP_TAILS
from dynid.writers.report.tracking import MAX_DRAWN, tracking_report
from tests.cli.test_track import BASE, MODEL, THETA, recording
from tests.unchecked import unchecked


def identified(**fields):
    known = {"theta": THETA, "labels": (), **fields}
    return IdentifiedModel(MODEL, BASE, "feasible", "", BASE.project(THETA), np.eye(BASE.n_base), **known)


def followed(options=None, **log):
    session = TrackingSession(identified(), recording(**log), options)
    return list(session.follow()), session.result()


def test_the_chosen_rate_of_false_alarms_sets_the_thresholds_of_contacts():
    known = identified(sample_noise=np.full(2, 0.1), noise=np.full(2, 0.1), noise_memory=np.full(2, 0.1))
    rare, often = (
        load_watch(known, np.ones(2), TrackingOptions(payload=True, false_alarms=rate)).bands for rate in (0.5, 50.0)
    )
    # Squares of three normal numbers that are exceeded a hundred times as often: exp(-x / 2) a hundredth, nearly.
    apart = 2.0 * np.log(100.0)
    for one, other in ((rare.jumps, often.jumps), (rare.small, often.small)):
        assert JUMP_TAILS * apart < one.threshold - other.threshold < 1.2 * JUMP_TAILS * apart
    assert rare.threshold > often.threshold


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf])
def test_no_false_alarm_at_all_cannot_be_had(rate):
    with pytest.raises(TrackingError, match="`false_alarms`"):
        TrackingOptions(payload=True, false_alarms=rate)


def test_a_run_keeps_its_way_and_ends_in_a_model():
    moments, result = followed(TrackingOptions(from_wrong=0.2))
    assert result.trail == tuple(moments)
    assert 300 <= len(moments) < 330
    assert moments[-1].share == pytest.approx(1.0, abs=0.05)
    assert moments[-1].n_absorbed <= result.health.n_absorbed
    assert result.load is None
    assert result.tracked.estimator == "track"
    np.testing.assert_allclose(result.tracked.beta, BASE.project(THETA), atol=0.05 * np.max(np.abs(THETA)))


def test_a_load_is_followed_on_an_arm_that_stays_as_it_was():
    _, result = followed(TrackingOptions(payload=True))
    assert abs(result.load.mass) < 0.2
    np.testing.assert_array_equal(result.tracked.theta, THETA)
    assert result.parameters.symbols[0] == "mL"


def test_a_checkpoint_is_resumed_and_saved(tmp_path):
    options = TrackingOptions(checkpoint=tmp_path / "filter.npz")
    data = recording()
    counts = []
    for part in (data.part(None, 4.0), data.part(4.0, None)):
        session = TrackingSession(identified(), part, options)
        assert all(session.follow())
        counts.append(session.result().health.n_absorbed)
    assert counts[1] > counts[0]


def test_the_noise_of_the_watch_is_that_of_the_model_where_it_says():
    quiet, slow = np.array([0.02, 0.03]), np.array([0.01, 0.02])
    known = identified(sample_noise=quiet, noise=slow, noise_memory=np.array([0.1, 0.2]))
    found = load_watch(known, np.ones(2)).noise
    np.testing.assert_allclose(found.sample_std, quiet)
    np.testing.assert_array_equal(found.slow, slow)
    np.testing.assert_array_equal(found.memory, [0.1, 0.2])
    for unknown in (None, np.array([0.1, 0.0]), np.array([0.1, np.nan])):
        np.testing.assert_array_equal(load_watch(identified(sample_noise=unknown), np.ones(2)).noise.white, np.ones(2))


def test_without_a_full_set_the_base_parameters_are_followed():
    known = identified(theta=None)
    assert arm_filter(known, np.ones(2)).state.n_state == BASE.n_base
    with pytest.raises(TrackingError, match="`states` links needs a model whose links are all physically consistent"):
        arm_filter(known, np.ones(2), TrackingOptions(states="links"))


def test_wrong_options_and_sources_are_told_what_was_expected():
    fields = {"from_wrong": 0.0, "payload": False}
    with pytest.raises(TrackingError, match="`measure` 'current': choose among torque, base-wrench, both"):
        unchecked(TrackingOptions, **fields, measure="current")
    with pytest.raises(TrackingError, match=r"`from_wrong` 1\.5: give a share between 0 and 1"):
        TrackingOptions(from_wrong=1.5)
    with pytest.raises(RecordingError, match=r"no base wrench columns .* choose another `measure`"):
        TrackingSession(identified(), recording(wrench=False), TrackingOptions(measure="both"))


def test_a_run_prints_as_a_table_and_reports_on_a_page():
    _, result = followed()
    counts = f"{len(result.parameters.symbols)} states, 1 5"
    assert repr(result).startswith(f"TrackingResult({MODEL.robot.name}: {counts}")
    assert repr(result).endswith(f" samples, 0 events, NIS {result.health.nis_mean:.3g})")
    lines = str(result).splitlines()
    assert lines[0].startswith("robot      ")
    assert lines[2] == f"NIS        {result.health.nis_sentence}"
    assert lines[-1].split()[0] == result.parameters.symbols[-1]
    assert "<td" in result._repr_html_()
    report = tracking_report(result)
    assert [section.title for section in report.sections] == ["Parameters while the robot moves"]
    assert (
        f"; the {MAX_DRAWN} of {len(result.parameters.symbols)} that changed most." in report.sections[0].paragraphs[-1]
    )
    carried = followed(TrackingOptions(payload=True))[1]
    load = tracking_report(carried)
    # What the arm carries and what happened come first, then the curves of all ten parameters, which are explained.
    assert carried.load is not None
    assert load.verdict.startswith(
        f"At the end the arm carries {carried.load.mass:.3f} ± {carried.load.mass_std:.3f} kg"
    )
    assert [section.title for section in load.sections] == ["Loads and contacts", "Parameters while the robot moves"]
    assert load.sections[1].paragraphs[-2] == "Parameters over time with their 2σ bands."
    assert "mL is the mass of the load" in load.sections[1].paragraphs[-1]
    assert len(load.sections[0].tables) == (1 if carried.events else 0)
    figure = report.sections[0].figures[-1]
    assert {trace["name"] for trace in json.loads(figure.as_json())["data"]} == {"NIS", "2.5 %", "97.5 %"}


def test_values_print_short():
    session = TrackingSession(identified(), recording(), TrackingOptions(payload=True))
    next(session.follow())
    values = (session.tracker, session.tracker.options, session.watcher, session.result())
    texts = [repr(value) for value in values]
    assert all(len(text) < 200 for text in texts), texts
    assert not any("array(" in text for text in texts)
    assert repr(session.watcher.estimate).startswith("LoadEstimate(0.")
