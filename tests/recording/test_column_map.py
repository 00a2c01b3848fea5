"""A column map turns the names, units, signs and gears of a log into ours."""

import textwrap

import numpy as np
import pytest

from dynid.errors import RecordingError, UnknownJoint
from dynid.recording import ColumnMap, read_column_map, read_recording
from dynid.recording.column_map import UNITS, unit_factor
from tests.recording.logs import JOINTS, write_bag


def read_map(tmp_path, text):
    path = tmp_path / "map.toml"
    path.write_text(text, encoding="utf-8")
    return read_column_map(path)


def read_mapped(tmp_path, log, text, joints=JOINTS):
    (tmp_path / "log.csv").write_text(log, encoding="utf-8")
    return read_recording(tmp_path / "log.csv", joints, columns=read_map(tmp_path, text))


def example() -> str:
    """The example of the documentation."""
    return textwrap.dedent((ColumnMap.__doc__ or "").split("::\n", 1)[1])


def test_the_documented_example_is_a_map_with_every_key(tmp_path):
    columns = read_map(tmp_path, example())
    columns.check_joints(JOINTS)
    assert columns.model_fields_set == set(ColumnMap.model_fields)
    assert columns.columns.model_fields_set == set(type(columns.columns).model_fields)
    assert columns.units.model_fields_set == set(type(columns.units).model_fields)
    assert columns.factor("q", "shoulder") == pytest.approx(-2.0 * np.pi / 4096 / 101)
    assert columns.factor("tau", "shoulder") == pytest.approx(-101e-3)
    assert columns.factor("tau", "elbow") == -101.0
    assert columns.factor("q", "elbow") == pytest.approx(2.0 * np.pi / 4096 / 101)
    assert columns.factor("current", "wrist") == 1e-3


def test_every_unit_of_the_table_is_in_the_documented_example():
    text = example()
    assert [unit for units in UNITS.values() for unit in units if unit not in text and unit != "µs"] == []


def test_patterns_name_the_columns_of_every_joint(tmp_path):
    log = "stamp,p_0,p_1,p_2,v of shoulder,v of arm_elbow,v of wrist\n0,1,2,3,4,5,6\n"
    text = """
        first = 0
        joints.elbow = "arm_elbow"
        [columns]
        t = "stamp"
        q = "p_{n}"
        dq = "v of {joint}"
    """
    found = read_mapped(tmp_path, log, text)
    np.testing.assert_array_equal(found.q, [[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(found.dq, [[4.0, 5.0, 6.0]])


def test_single_joints_may_be_renamed_while_the_others_keep_their_names(tmp_path):
    found = read_mapped(tmp_path, "t,q1,pos b,q3\n0,1,2,3\n", 'columns.q.elbow = "pos b"')
    np.testing.assert_array_equal(found.q, [[1.0, 2.0, 3.0]])


def test_columns_numbered_in_another_order_are_put_in_the_robots(tmp_path):
    found = read_mapped(tmp_path, "t,q1,q2,q3\n0,1,2,3\n", 'order = ["elbow", "wrist", "shoulder"]')
    np.testing.assert_array_equal(found.q, [[3.0, 1.0, 2.0]])


def test_more_columns_than_joints_may_be_read_with_a_pattern(tmp_path):
    found = read_mapped(tmp_path, "t,q1,q2,q3,q4\n0,1,2,3,4\n", 'columns.q = "q{n}"')
    np.testing.assert_array_equal(found.q, [[1.0, 2.0, 3.0]])


def test_a_name_without_a_place_for_the_joint_is_a_two_dimensional_array(tmp_path, rng):
    q = rng.normal(size=(20, 3))
    np.savez(tmp_path / "log.npz", clock=np.arange(20), positions=q)
    columns = ColumnMap.model_validate({"columns": {"t": "clock", "q": "positions"}, "units": {"t": "ms"}, "first": 0})
    found = read_recording(tmp_path / "log.npz", JOINTS, columns=columns)
    np.testing.assert_array_equal(found.q, q)
    np.testing.assert_allclose(found.t, np.arange(20) * 1e-3)


def test_units_signs_and_gears_give_si_at_the_joint(tmp_path):
    log = "t,q1,q2,q3,dq1,dq2,dq3,tau1,tau2,tau3,i1,i2,i3\n500,1024,90,0.5,60,1,2,3,4000,5,6,7,8\n"
    text = """
        [units]
        t = "us"
        q.shoulder = "counts:4096"
        q.elbow = "deg"
        dq.shoulder = "rpm"
        tau.elbow = "N·mm"
        i = "mA"
        [signs]
        elbow = -1
        wrist.tau = -1
        [gear]
        shoulder = 100
        elbow = 1
        wrist = 2
        [motor_side]
        signals = ["q", "dq", "tau"]
    """
    found = read_mapped(tmp_path, log, text)
    np.testing.assert_allclose(found.t, [500e-6])
    np.testing.assert_allclose(found.q, [[np.pi / 2 / 100, -np.pi / 2, 0.25]])
    np.testing.assert_allclose(found.dq, [[2 * np.pi / 100, -1.0, 1.0]])
    np.testing.assert_allclose(found.tau, [[300.0, -4.0, -10.0]])
    np.testing.assert_allclose(found.current, [[6e-3, -7e-3, 8e-3]])


def test_a_rate_stands_in_for_the_time(tmp_path):
    found = read_mapped(tmp_path, "q1,q2,q3\n0,1,2\n3,4,5\n6,7,8\n", "rate_hz = 250")
    np.testing.assert_allclose(found.t, [0.0, 0.004, 0.008])


def test_joints_of_a_bag_may_have_other_names(tmp_path, rng):
    from tests.recording.logs import make_recording

    recording = make_recording(rng)
    write_bag(tmp_path / "log.bag", recording)
    columns = read_map(tmp_path, 'joints = { a = "wrist", b = "elbow", c = "shoulder" }')
    found = read_recording(tmp_path / "log.bag", ["a", "b", "c"], columns=columns)
    np.testing.assert_array_equal(found.q, recording.q[:, ::-1])


@pytest.mark.parametrize(
    ("signal", "unit", "factor"),
    [
        ("t", "ns", 1e-9),
        ("q", "°", np.pi / 180),
        ("q", "rev", 2 * np.pi),
        ("dq", "counts/s:1000", 2e-3 * np.pi),
        ("ddq", "deg/s^2", np.pi / 180),
        ("tau", "Nm", 1.0),
        ("tau", "N*mm", 1e-3),
        ("tau", "mN.m", 1e-3),
        ("current", "mA", 1e-3),
    ],
)
def test_units_are_understood_as_people_write_them(signal, unit, factor):
    assert unit_factor(signal, unit) == pytest.approx(factor)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("first = = 0", r"map\.toml: not valid TOML: .*line 1"),
        ("frist = 0", r"map\.toml: no key 'frist'; known: rate_hz, first, order"),
        ("first = 2", r"map\.toml: first: Input should be 0 or 1"),
        ("rate_hz = -1", r"map\.toml: rate_hz: Input should be greater than 0"),
        ("columns.p = 'x'", r"map\.toml: columns: no key 'p'; known: t, q, dq, ddq, tau, current, fx"),
        ("columns.q = 3", r"map\.toml: columns\.q: Input should be a valid string"),
        ("columns.q.elbow = 3", r"map\.toml: columns\.q\.elbow: Input should be a valid string"),
        ("columns.fx = 'x'", r"map\.toml: columns: a wrench needs all of fx, .*; add fy, fz, mx, my, mz"),
        ("units.tau = 'lb'", r"map\.toml: units\.tau: no unit 'lb' for tau; known: N·m, mN·m"),
        ("units.q = 'counts:0'", r"map\.toml: units\.q: no unit 'counts:0' for q; known: rad, .*counts:4096"),
        ("units.t = 'h'", r"map\.toml: units\.t: no unit 'h' for t; known: s, ms"),
        ("signs.elbow = 2", r"map\.toml: signs\.elbow: Input should be 1 or -1"),
        ("signs.elbow.speed = 1", r"map\.toml: signs\.elbow\.speed: Input should be 'q', 'dq'"),
        ("gear.elbow = 0\nmotor_side.signals = ['q']", r"map\.toml: gear\.elbow: Input should be greater than 0"),
        ("gear.elbow = 10", r"map\.toml: gear: say which signals are measured before the gear"),
        ("motor_side.signals = ['current']", r"map\.toml: motor_side\.signals\.0: Input should be 'q', 'dq', 'ddq'"),
    ],
)
def test_a_wrong_map_names_file_and_key(tmp_path, text, message):
    with pytest.raises(RecordingError, match=message):
        read_map(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("signs.elbw = -1", UnknownJoint, r"map\.toml: signs: no joint 'elbw'; did you mean 'elbow'\? known: shoulder"),
        ("columns.q.hip = 'x'", UnknownJoint, r"map\.toml: columns\.q: no joint 'hip'"),
        (
            "order = ['elbow', 'wrist']",
            RecordingError,
            r"map\.toml: order names elbow, wrist; it must name every joint",
        ),
        (
            "gear.elbow = 3\nmotor_side.signals = ['q']",
            RecordingError,
            r"map\.toml: gear: no ratio for shoulder, wrist",
        ),
        ("columns.q = { elbow = 'q1' }", RecordingError, r"log\.csv: q1 would stand for several signals or joints"),
        ("columns.t = 'stamp'", RecordingError, r"no column stamp \(named by .*map\.toml for t\)"),
        ("columns.q = 'p{n}'", RecordingError, r"no column p1 \(named by .*map\.toml for q of shoulder\), p2"),
    ],
)
def test_a_map_that_does_not_fit_robot_or_log_names_the_key(tmp_path, text, error, message):
    with pytest.raises(error, match=message):
        read_mapped(tmp_path, "t,q1,q2,q3\n0,1,2,3\n", text)


def test_a_map_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(RecordingError, match=r"none\.toml: cannot be read \(no such column map\)"):
        read_column_map(tmp_path / "none.toml")
    (tmp_path / "map.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(RecordingError, match=r"map\.toml: not a text file in UTF-8"):
        read_column_map(tmp_path / "map.toml")
