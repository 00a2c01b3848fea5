import base64
import json
import re
from dataclasses import replace
from html import escape, unescape
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid import load_robot
from dynid.cli import main
from dynid.recording import Conditioning, write_csv
from dynid.regression import OLS, SampleRows, Status, compress
from dynid.review.findings import Finding, Severity
from dynid.validation import Criterion, Validation, compare_torque, judge
from dynid.workflow.identification import Identification
from dynid.writers import Figure, Report, Section, Table, identification_report
from dynid.writers.report.charts import torque_figures
from dynid.writers.report.drawing import MAX_POINTS, curve, kept, packed, shown
from dynid.writers.report.page import BADGES
from dynid.writers.report.tables import provenance_tables
from tests.regression.logs import truth
from tests.robots import random_robot
from tests.writers.reports import FINDINGS, HOSTILE, Words, case, made_model

MAX_BYTES = 8_000_000


def unpacked(value):
    return np.frombuffer(base64.b64decode(value["bdata"]), dtype=f"<{value['dtype']}")


@given(st.integers(1, 5000), st.integers(4, 400), st.integers(0, 2**31))
def test_thinned_curves_are_short_and_keep_every_extreme(n_samples, n_points, seed):
    values = np.random.default_rng(seed).standard_t(1.5, n_samples)
    index = kept(values, n_points)
    assert len(index) <= n_points
    assert np.all(np.diff(index) > 0)
    assert values[index].max() == values.max()
    assert values[index].min() == values.min()
    assert np.max(np.diff(index, prepend=-1, append=n_samples)) <= 2 * -(-n_samples // max(1, n_points // 2))


def test_a_curve_is_broken_where_the_log_has_a_gap():
    t = np.concatenate([np.arange(100) * 0.01, 5.0 + np.arange(100) * 0.01])
    drawn = curve(t, np.sin(t))
    x, y = unpacked(drawn["x"]), unpacked(drawn["y"])
    (place,) = np.flatnonzero(np.isnan(y))
    assert x[place - 1] < 1.0 < 5.0 <= x[place + 1]


def test_stamps_of_a_wall_clock_keep_their_milliseconds():
    t = 1.7e9 + np.arange(1000) * 1e-3
    np.testing.assert_array_equal(unpacked(curve(t, t - t[0])["x"]), t)


def test_numbers_that_are_not_finite_are_left_out_of_curves():
    values = unpacked(packed(np.array([1.0, np.inf, 1e300, np.nan])))
    np.testing.assert_array_equal(values, [1.0, np.nan, np.nan, np.nan])


def test_torque_charts_do_not_grow_with_the_log():
    sizes = []
    for n_rows in (10_000, 400_000):
        rng = np.random.default_rng(1)
        torque = rng.normal(size=(n_rows, 2))
        torque[n_rows // 3, 0] = 1234.0
        log = Validation("long", ("a", "b"), np.arange(n_rows) * 1e-3, torque, torque, raw=True)
        figures = torque_figures(log, ("N·m", "N·m"), link="x")
        sizes.append(sum(len(figure.as_json()) for figure in figures))
        assert np.nanmax(unpacked(figures[0].data[0]["y"])) == 1234.0
        assert all(len(unpacked(trace["y"])) <= MAX_POINTS for figure in figures for trace in figure.data)
    # A longer clock needs more digits in x.
    assert sizes[1] < 2 * sizes[0]


class Addresses(HTMLParser):
    """What the elements of a page lead to or load."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "action", "data", "srcset")]


def test_the_report_holds_no_name_unescaped_and_loads_nothing():
    page = case().report().html()
    body = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    for name in HOSTILE:
        assert name not in body
        assert escape(name, quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in body
    parser = Addresses()
    parser.feed(page)
    assert parser.found
    assert all(address.startswith(("#", "data:")) for address in parser.found)
    assert "<img" not in body
    assert len(page.encode()) < MAX_BYTES


def test_every_part_of_the_report_is_there():
    titles = [section.title for section in case().report().sections]
    assert titles == [
        "Robot and data",
        "Review of the logs",
        "Torque of the training log",
        "Torque of held-out logs",
        "What the torque is made of",
        "The arm in motion",
        "Beside other parameter sets",
        "Base parameters",
        "Links",
        "Friction",
        "Conditioning of the problem",
        "How the log was conditioned",
        "Where it comes from",
    ]


def test_iterations_are_counted_in_words():
    text = case().report().html()
    assert "iteration(s)" not in text
    assert re.search(r"Estimator feasible, (1 iteration|\d+ iterations), ", text)


def test_a_slide_is_driven_by_a_force_and_a_turning_joint_by_a_torque():
    axes = [figure.layout.get("yaxis") for section in case().report().sections for figure in section.figures]
    titles = {axis["title"]["text"] for axis in axes if isinstance(axis, dict) and "title" in axis}
    assert {"torque / N·m", "force / N"} <= titles
    assert "torque / N" not in titles


def test_the_parts_of_the_torque_add_up_to_the_prediction():
    sections = {section.title: section for section in case().report().sections}
    predicted = [unpacked(f.data[1]["y"]) for f in sections["Torque of the training log"].figures]
    parts = [
        np.sum([unpacked(trace["y"]) for trace in figure.data], axis=0)
        for figure in sections["What the torque is made of"].figures[1:]
    ]
    scale = np.max(np.abs(predicted))
    np.testing.assert_allclose(parts, predicted, atol=1e-5 * scale)  # numbers are drawn with 24 bits


def test_an_estimator_without_full_parameters_is_usable_and_has_no_links():
    report = case(feasible=False).report()
    assert report.mark == "usable"
    assert "Links" not in [section.title for section in report.sections]
    assert "the estimator feasible gives them" in report.verdict


def marks(findings=None, held_out=True, **changes):
    made = case()
    estimate = replace(made.estimate, **changes)
    return judge(made.model, estimate, made.train, [made.held_out] if held_out else [], findings).mark


def test_the_mark_follows_from_the_worst_criterion():
    assert marks() == "good"
    assert marks(held_out=False) == "usable"
    assert marks(status=Status.RANK_DEFICIENT) == "usable", "links that the motion does not show come from the prior"
    assert marks(status=Status.STOPPED_EARLY) == "not good enough"
    assert marks(FINDINGS) == "good"
    fault = Finding(code="degrees", severity=Severity.ERROR, measured=Words("e", cause="c", fix="f"))
    assert marks((*FINDINGS, fault)) == "not good enough"


@pytest.mark.parametrize(
    ("error", "mark"), [(0.049, "good"), (0.051, "usable"), (0.149, "usable"), (0.151, "not good enough")]
)
def test_the_error_on_unseen_motion_decides_at_5_and_15_percent(error, mark):
    made = case()
    tau = np.ones((100, 3))
    log = Validation("x", made.train.joint_names, np.arange(100.0), tau, tau * (1.0 - error), raw=False)
    assert judge(made.model, made.estimate, made.train, [made.held_out, log]).mark == mark


def test_a_joint_worse_than_no_prediction_is_not_good_enough():
    made = case()
    tau = np.ones((100, 3)) * [100.0, 100.0, 1.0]
    log = Validation("x", made.train.joint_names, np.arange(100.0), tau, tau - [0.0, 0.0, 1.5], raw=False)
    criteria = judge(made.model, made.estimate, made.train, [log]).criteria
    assert {criterion.name: criterion.mark for criterion in criteria}["Worst joint"] == "not good enough"


def worst_joint(errors, **changes):
    """The criterion on joints for a log with these errors (N·m) of torques of 100, 100 and 1 N·m."""
    made = case()
    tau = np.ones((100, 3)) * [100.0, 100.0, 1.0]
    log = Validation("x", made.train.joint_names, np.arange(100.0), tau, tau - errors, raw=False)
    criteria = judge(replace(made.model, **changes), made.estimate, made.train, [log], rate_hz=200.0).criteria
    return next(criterion for criterion in criteria if criterion.name == "Worst joint")


def test_a_joint_at_53_percent_is_not_usable():
    assert worst_joint([0.0, 0.0, 0.53]).mark == "not good enough"
    assert worst_joint([0.0, 0.0, 0.3]).mark == "usable"
    assert worst_joint([0.0, 0.0, 0.1]).mark == "good"


def test_a_joint_is_not_blamed_for_what_its_noise_explains():
    noise = np.array([0.1, 0.1, 0.1])
    settings = replace(case().model.settings, cutoff_hz=10.0)
    # White noise of 1.8 N·m a sample leaves 1.8·√(10/90) = 0.6 N·m below 10 Hz of 100.
    loud = worst_joint([0.0, 0.0, 0.53], noise=noise, sample_noise=np.hypot(noise, 1.8), settings=settings)
    assert loud.mark == "good"
    assert "as well as so small a torque is measured" in loud.found
    quiet = worst_joint([0.0, 0.0, 0.53], noise=noise, sample_noise=np.hypot(noise, 0.2), settings=settings)
    assert quiet.mark == "not good enough"


def test_a_model_of_absurd_mass_is_not_good():
    made = case()
    theta = np.array(made.model.theta)
    theta[: made.model.model.n_inertial] *= 5.0
    verdict = judge(replace(made.model, theta=theta), made.estimate, made.train, [made.held_out])
    assert next(c for c in verdict.criteria if c.name == "Mass of all links").mark == "usable"
    assert verdict.mark == "usable"


def test_left_out_segments_stand_in_for_a_held_out_log():
    made = case()
    fine = judge(made.model, made.estimate, made.train, [], left_out=made.held_out.error)
    assert fine.mark == "good"
    assert "left-out segments" in fine.criteria[1].name
    assert "left-out segments" in fine.summary


def test_report_and_json_say_the_same_numbers(tmp_path, capsys):
    rng = np.random.default_rng(3)
    write_csv(truth(load_robot("planar2r"), rng, duration=15.0).recording(rng, 0.01), tmp_path / "log.csv")
    code = main(["identify", "planar2r", str(tmp_path / "log.csv"), "--out", str(tmp_path / "out"), "--json"])
    assert code == 0
    content = json.loads(capsys.readouterr().out)
    page = unescape((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    text = re.sub(r"<script.*?</script>|<[^>]*>", "\n", page, flags=re.DOTALL)
    for entry in content["parameters"]:
        assert entry["label"] in text
        assert f"\n{entry['value']:.5g}\n" in text
        assert f"\n{entry['std']:.3g}\n" in text
        assert BADGES[entry["origin"]].text in text
    for entry in content["full_parameters"]:
        assert f"\n{entry['value']:.5g}\n" in text
    assert f"{content['train']['relative_error_percent']:.2f} %" in text
    assert content["verdict"]["mark"] in text
    for other in content["compared"]:
        assert f"\n{other['relative_error_percent']:.2f}\n" in text


@pytest.mark.slow
def test_a_report_on_ten_joints_and_many_logs_stays_small():
    rng = np.random.default_rng(8)
    log = truth(random_robot(rng, 10), rng, duration=12.0)
    recording = log.recording(rng, 0.01)
    samples = Conditioning(cutoff_hz=20.0).plan(recording).apply(recording)
    regression = compress(SampleRows(log.model, log.base, (samples,)))
    estimate = OLS().fit(regression)
    model = made_model(estimate, regression, samples, {})
    train = compare_torque(log.model, model.parameters, samples, raw=True)
    result = Identification(
        model=model,
        estimate=estimate,
        regression=regression,
        samples=samples,
        train=train,
        validation=(train,) * 20,
        findings=(),
        verdict=judge(model, estimate, train, [train] * 20),
        comparisons=(),
    )
    report = identification_report(result)
    assert len(report.html().encode()) < MAX_BYTES


def test_tables_know_their_numbers_and_keep_words_plain():
    table = Table(("a", "b", "c"), (("1e-3", "x", "identified"), ("> 1000", "2", "–"), ("–", "", "other")), badges=(2,))
    assert table.numeric == {0}
    assert table.badge(2, "identified") == BADGES["identified"]
    assert table.badge(2, "other") is None
    assert table.badge(1, "identified") is None
    assert table.words == {2: ["identified"]}


def test_badges_are_told_apart_without_colour():
    seen = {(badge.sign, badge.text) for badge in BADGES.values()}
    assert len(seen) >= len(BADGES) - 2  # yes and good, no and not good enough share their signs, not their words
    assert len({badge.text for badge in BADGES.values()}) == len(BADGES)


def test_provenance_is_a_table_and_names_what_was_not_given():
    tables = provenance_tables({"dynid": "1", "inputs": {"a.csv": "00"}, "options": {"fit": {"x": None, "y": [1, 2]}}})
    assert [table.caption for table in tables] == ["Inputs", "Program and versions", "Options"]
    assert tables[2].rows == (("fit.x", "not given"), ("fit.y", "1, 2"))
    assert provenance_tables({}) == ()


def test_a_report_without_criteria_has_no_mark_and_one_without_figures_no_charting_script():
    report = Report("t", "v", (Section("s", ("text",)),))
    assert report.mark is None
    assert len(report.html()) < 60_000
    marked = replace(report, criteria=(Criterion("a", "good", "1", "2"), Criterion("b", "usable", "1", "2")))
    assert marked.mark == "usable"


def test_names_that_are_no_text_are_written_all_the_same(tmp_path):
    Report("name \udcff", "v", ()).write(tmp_path / "r.html")
    assert "name ?" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_chart_text_is_shown_letter_by_letter_and_cut_when_long():
    assert shown("<b>&amp;") == "&lt;b&gt;&amp;amp;"
    assert len(shown("x" * 500)) < 60
    assert "</script" not in Figure(({"name": "</script>"},), {}).as_json()


def luminance(colour):
    channels = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_every_pair_of_colours_has_the_contrast_that_reading_needs():
    style = files("dynid.writers.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    blocks = [dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in re.findall(r":root[^{]*\{([^}]*)\}", style)]
    assert len(blocks) == 4
    for colours in blocks:
        pairs = [(tone, f"{tone}-tint") for tone in ("green", "blue", "amber", "violet", "red", "grey")]
        pairs += [(text, ground) for text in ("ink", "soft", "accent") for ground in ("paper", "tint", "card")]
        for text, ground in pairs:
            light, dark = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, ground)
