"""An empty folder, a robot file and a CSV: one command, no configuration."""

import json

import numpy as np
import pytest

from dynid import load_robot, read_recording
from dynid.cli import main
from dynid.dynamics import TorqueModel, friction_models
from dynid.errors import RecordingError
from dynid.recording import write_csv
from dynid.simulation import plausible_parameters, smooth_motion, synthesise

JOINTS = ("joint1", "joint2")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of a new user, with a log of a planar arm."""
    model = TorqueModel(load_robot("planar2r"), friction_models("viscous+coulomb+offset"))
    rng = np.random.default_rng(0)
    motion = smooth_motion(model.robot, rng, kind="fourier", duration=10.0, rate_hz=100.0)
    write_csv(synthesise(model, motion, rng, theta=plausible_parameters(model)).recording, tmp_path / "run.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_results_go_to_a_free_folder_when_none_is_named(folder, capsys):
    for expected in ("result", "result-2", "result-3"):
        assert main(["identify", "planar2r", "run.csv", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["files"]["model"] == f"{expected}/model.json"
        assert (folder / expected / "model.json").exists()
    assert main(["identify", "run.csv", "planar2r"]) == 2
    assert "the robot comes first" in capsys.readouterr().err
    assert main(["simulate", "planar2r", "--duration", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"]["log"] == "log.csv"
    assert main(["simulate", "planar2r", "--duration", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"]["log"] == "log-2.csv"


HEADERS = {
    "units in brackets": "t [s],q1 [rad],q2 [rad],dq1 [rad/s],dq2 [rad/s],tau1 [Nm],tau2 [Nm]",
    "units in parentheses": "time (s),q1(rad),q2(rad),dq1(rad/s),dq2(rad/s),tau1(N·m),tau2(N·m)",
    "ROS endings": "Time,joint1_pos,joint2_pos,joint1_vel,joint2_vel,joint1_eff,joint2_eff",
    "from zero": "t,q0,q1,dq0,dq1,tau0,tau1",
    "from zero, words": "timestamp,position_0,position_1,velocity_0,velocity_1,effort_0,effort_1",
    "joints by number": "time,j1_position,j2_position,j1_velocity,j2_velocity,j1_torque,j2_torque",
    "topic": "__time,/js/position[0],/js/position[1],/js/velocity[0],/js/velocity[1],/js/effort[0],/js/effort[1]",
    "topic and joint": "__time,/js/joint1/position,/js/joint2/position,/js/joint1/velocity,/js/joint2/velocity,"
    "/js/joint1/effort,/js/joint2/effort",
    "rostopic echo": "t,field.position0,field.position1,field.velocity0,field.velocity1,field.effort0,field.effort1",
    "units at the end": "time_s,q1_rad,q2_rad,dq1,dq2,tau1_nm,tau2_Nm",
    "spaces": "t,q 1,q 2,dq 1,dq 2,tau 1,tau 2",
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_usual_spellings_of_columns_are_understood(folder, header):
    rows = (folder / "run.csv").read_text(encoding="utf-8").splitlines()[1:]
    (folder / "other.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    expected, found = read_recording("run.csv", JOINTS), read_recording("other.csv", JOINTS)
    for signal in ("t", "q", "dq", "tau"):
        np.testing.assert_array_equal(getattr(found, signal), getattr(expected, signal))


def test_semicolons_decimal_commas_a_mark_and_degrees_are_understood(folder):
    rows = (folder / "run.csv").read_text(encoding="utf-8").splitlines()[1:]
    text = "\n".join(row.replace(",", ";").replace(".", ",") for row in rows)
    header = "t [s];q1 [deg];q2 [deg];dq1 [rad/s];dq2 [rad/s];tau1 [Nm];tau2 [Nm]\n"
    (folder / "other.csv").write_bytes(b"\xef\xbb\xbf" + (header + text + "\n").encode())
    expected, found = read_recording("run.csv", JOINTS), read_recording("other.csv", JOINTS)
    np.testing.assert_allclose(found.q, np.deg2rad(expected.q))
    np.testing.assert_array_equal(found.tau, expected.tau)


def test_the_data_command_speaks_json_and_refuses_kindly(folder, capsys, monkeypatch):
    monkeypatch.delenv("DYNID_DATA", raising=False)
    assert main(["data", "fetch", "wam7", "--json"]) == 2
    assert "--unverified" in capsys.readouterr().err
    assert main(["data", "fetch", "pandas"]) == 2
    assert "did you mean 'panda'" in capsys.readouterr().err
    np.savetxt("rows.csv", np.column_stack([0.01 * np.arange(50), np.ones((50, 18))]), delimiter=",", fmt="%.4f")
    assert main(["data", "convert", "ur", "rows.csv", "--rows", "2", "21", "--out", "log.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["logs"][0]["n_samples"] == 20
    assert sorted(path.name for path in folder.iterdir()) == ["log.csv", "rows.csv", "run.csv"]


STAMPS = {
    "header.stamp.sec,header.stamp.nanosec": lambda t: [f"{int(t)},{(t % 1) * 1e9:.0f}"],
    "secs,nsecs": lambda t: [f"{int(t)},{(t % 1) * 1e9:.0f}"],
    "%time": lambda t: [f"{t * 1e9:.0f}"],
    "time_ms": lambda t: [f"{t * 1e3:.6f}"],
    "timestamp_ns": lambda t: [f"{t * 1e9:.0f}"],
}


@pytest.mark.parametrize("header", STAMPS)
def test_usual_stamps_are_read_in_seconds(folder, header):
    names, *rows = (folder / "run.csv").read_text(encoding="utf-8").splitlines()
    lines = [",".join([header, *names.split(",")[1:]])]
    lines += [",".join([*STAMPS[header](float(row.split(",")[0])), *row.split(",")[1:]]) for row in rows]
    (folder / "other.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    expected, found = read_recording("run.csv", JOINTS), read_recording("other.csv", JOINTS)
    np.testing.assert_allclose(found.t, expected.t, atol=1e-9)
    np.testing.assert_array_equal(found.q, expected.q)


def test_degrees_at_the_end_of_a_name_are_degrees_and_other_units_an_error(folder):
    rows = (folder / "run.csv").read_text(encoding="utf-8").splitlines()[1:]
    (folder / "other.csv").write_text("\n".join(["t,q1_deg,q2_deg,dq1,dq2,tau1,tau2", *rows]), encoding="utf-8")
    np.testing.assert_allclose(
        read_recording("other.csv", JOINTS).q, np.radians(read_recording("run.csv", JOINTS).q), rtol=1e-15
    )
    (folder / "other.csv").write_text("\n".join(["t,q1_Nm,q2_Nm,dq1,dq2,tau1,tau2", *rows]), encoding="utf-8")
    with pytest.raises(RecordingError, match="column 'q1_Nm': no unit 'Nm' for q"):
        read_recording("other.csv", JOINTS)


def test_columns_with_foreign_names_come_with_the_lines_of_a_map(folder):
    rows = (folder / "run.csv").read_text(encoding="utf-8").splitlines()[1:]
    header = "Zeit,A1_ist,A2_ist,A1_speed,A2_speed,A1_mom,A2_mom"
    (folder / "other.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    with pytest.raises(RecordingError, match=r'columns\.t = "Zeit", columns\.q = "A\{n\}_ist" \(or A\{n\}_speed'):
        read_recording("other.csv", JOINTS)


def test_terminal_and_exit_code_say_what_the_report_says_of_a_bad_fit(folder, capsys):
    names, *rows = (folder / "run.csv").read_text(encoding="utf-8").splitlines()
    table = np.array([row.split(",") for row in rows], dtype=float)
    torque = [place for place, name in enumerate(names.split(",")) if name.startswith("tau")]
    table[:, torque] = 2.0 * table[::-1, torque]  # the torque of no arm that moves like this
    np.savetxt("other.csv", table, delimiter=",", header=names, comments="")
    command = ["identify", "planar2r", "run.csv", "--validate", "other.csv", "--out", "r"]
    assert main(command) == 1
    told = capsys.readouterr()
    assert "verdict    not good enough" in told.out
    assert "not good enough: Torque of the held-out log: " in told.err
    assert "not good enough" in (folder / "r" / "report.html").read_text(encoding="utf-8")
    assert main([*command, "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"]["mark"] == "not good enough"
    assert main(["identify", "planar2r", "run.csv", "--out", "s"]) == 0
    assert "verdict    good" in capsys.readouterr().out
