"""Column maps as values: joined, written, read again, and applied to a log in memory."""

import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.recording import ColumnMap, RawLog, apply_map, column_map_toml, join_maps, read_column_map
from dynid.recording.column_map_edits import without_signal
from dynid.review import Finding, Severity, repaired_map
from dynid.review.checks.velocities import FlippedVelocity

JOINTS = ("a", "b", "c")
NAMES = st.text(min_size=1, max_size=8)
SIGNS = st.dictionaries(st.sampled_from(("*", "q", "dq", "tau")), st.sampled_from((1, -1)), min_size=1)


def column_map(**content: object) -> ColumnMap:
    return ColumnMap.model_validate(content)


def log_of(rng: np.random.Generator) -> RawLog:
    t = np.arange(6) * 0.1
    q, dq, tau = rng.normal(size=(3, 6, 3))
    return RawLog(JOINTS, t, q, dq=dq, tau=tau)


def test_maps_join_and_signs_multiply():
    used = column_map(signs={"a": {"dq": -1}, "c": -1}, units={"q": "deg"}, exclude=[[0.0, 1.0]])
    repair = column_map(
        signs={"a": {"dq": -1}, "b": -1, "c": {"dq": -1}}, units={"q": {"b": "rad"}}, exclude=[[2.0, 3.0]]
    )
    assert join_maps(used, repair) == column_map(
        signs={"a": {"dq": 1}, "b": -1, "c": {"*": -1, "dq": 1}},
        units={"q": {"*": "deg", "b": "rad"}},
        exclude=[[0.0, 1.0], [2.0, 3.0]],
    )


@given(SIGNS, SIGNS)
def test_the_sign_of_a_joined_map_is_the_product_of_both(one, other):
    used, repair = ColumnMap(signs={"a": one}), ColumnMap(signs={"a": other})
    joined = join_maps(used, repair)
    for signal in ("q", "dq", "tau"):
        assert joined.factor(signal, "a") == used.factor(signal, "a") * repair.factor(signal, "a")


def test_what_a_repair_does_not_say_stays():
    used = column_map(rate_hz=100.0, columns={"t": "stamp", "q": "actual_{n}"}, joints={"a": "arm_a"}, first=0)
    joined = join_maps(used, column_map(columns={"tau": {"a": "torque"}}, drop_bad_rows=True))
    assert joined.columns.q == {"*": "actual_{n}"}
    assert joined.columns.tau == {"a": "torque"}
    assert (joined.rate_hz, joined.first, joined.columns.t, joined.drop_bad_rows) == (100.0, 0, "stamp", True)


def test_motor_sides_grow_and_gears_join():
    used = column_map(gear={"a": 100.0, "b": 1.0}, motor_side={"signals": ["q"]})
    joined = join_maps(used, column_map(gear={"b": 50.0}, motor_side={"signals": ["tau", "q"]}))
    assert joined.gear == {"a": 100.0, "b": 50.0}
    assert joined.motor_side.signals == ("q", "tau")


@pytest.mark.parametrize(
    "columns",
    [
        ColumnMap(),
        column_map(units={"t": "ms", "q": "deg", "tau": {"b": "N·mm"}}, order=["c", "b", "a"]),
        column_map(signs={"a": -1, "b": {"*": -1, "dq": 1}}, drop_bad_rows=True, exclude=[[0.5, 1.25]]),
        column_map(gear={"a": 101.5, "b": 1.0, "c": 1.0}, motor_side={"signals": ["tau"]}, columns={"i": "amps_{n}"}),
    ],
    ids=("empty", "units", "signs", "gears"),
)
def test_a_map_that_was_written_is_read_as_it_was(columns, tmp_path):
    (tmp_path / "map.toml").write_text(column_map_toml(columns), encoding="utf-8")
    assert read_column_map(tmp_path / "map.toml").model_dump() == columns.model_dump()


@given(NAMES.filter(lambda name: "\x00" not in name), NAMES)
def test_any_name_of_a_joint_or_a_column_is_written_as_toml(joint, column):
    columns = column_map(columns={"tau": {joint: column}}, signs={joint: {"q": -1}})
    assert ColumnMap.model_validate(tomllib.loads(column_map_toml(columns))) == columns


def test_a_signal_is_taken_out_of_a_map():
    columns = column_map(signs={"a": {"q": -1, "dq": -1}}, columns={"dq": {"a": "v"}})
    assert without_signal(columns, "dq") == column_map(signs={"a": {"q": -1}})
    assert without_signal(column_map(signs={"a": {"dq": -1}}), "dq") is None


def test_a_map_is_applied_to_a_log_in_memory(rng):
    log = log_of(rng)
    read = apply_map(
        column_map(
            units={"t": "ms", "q": {"b": "deg"}},
            signs={"a": {"tau": -1}},
            columns={"dq": {"a": "dq2", "b": "dq1"}},
            gear={"a": 1.0, "b": 1.0, "c": 10.0},
            motor_side={"signals": ["tau"]},
        ),
        log,
    )
    np.testing.assert_allclose(read.t, 1e-3 * log.t)
    np.testing.assert_allclose(read.q, log.q * [1.0, np.pi / 180.0, 1.0])
    np.testing.assert_allclose(read.dq, log.dq[:, [1, 0, 2]])
    np.testing.assert_allclose(read.tau, log.tau * [-1.0, 1.0, 10.0])


def test_an_order_is_applied_to_every_signal(rng):
    log = log_of(rng)
    read = apply_map(column_map(order=["b", "c", "a"]), log)
    for signal in ("q", "dq", "tau"):
        np.testing.assert_array_equal(getattr(read, signal), getattr(log, signal)[:, [2, 0, 1]])


def test_rows_and_segments_are_left_out_in_memory(rng):
    log = log_of(rng)
    q, t = np.array(log.q), np.array(log.t)
    q[1, 0], t[4] = np.nan, t[3]
    read = apply_map(ColumnMap(drop_bad_rows=True, exclude=((0.15, 0.25),)), RawLog(JOINTS, t, q))
    assert read.places.tolist() == [0, 3, 5]


def test_the_repairs_of_findings_stand_on_top_of_the_map_in_use(tmp_path):
    path = tmp_path / "used.toml"
    path.write_text('[signs]\na.dq = -1\n[columns]\nq = "pos_{n}"\n', encoding="utf-8")
    finding = Finding(
        code="flipped-velocity",
        severity=Severity.ERROR,
        joint="a",
        measured=FlippedVelocity(-0.99),
        repair=ColumnMap(signs={"a": {"dq": -1}}),
    )
    text = repaired_map(path, [finding])
    assert "# flipped-velocity of a" in text
    assert ColumnMap.model_validate(tomllib.loads(text)) == column_map(signs={"a": {"dq": 1}}, columns={"q": "pos_{n}"})
    assert tomllib.loads(repaired_map(None, [finding])) == {"signs": {"a": {"dq": -1}}}
