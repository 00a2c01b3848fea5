import json
import tomllib

import numpy as np
import pytest

from dynid.cli import main

QUICK = ["--restarts", "1", "--time-budget", "1", "--no-picture"]


def test_excite_writes_a_trajectory_its_coefficients_and_a_picture(tmp_path, capsys):
    out = tmp_path / "traj.csv"
    arguments = ["excite", "planar2r", "--out", str(out), "--time-budget", "2", "--restarts", "1", "--rate", "200"]
    assert main([*arguments, "--ros", str(tmp_path / "traj.yaml")]) == 0
    text = capsys.readouterr().out
    assert "condition" in text
    assert "joint2" in text
    table = np.loadtxt(out, delimiter=",", skiprows=1)
    assert table.shape[1] == 7
    assert tomllib.loads(out.with_suffix(".toml").read_text(encoding="utf-8"))["joint_names"] == ["joint1", "joint2"]
    assert "plotly" in out.with_suffix(".html").read_text(encoding="utf-8")
    assert (tmp_path / "traj.yaml").is_file()


def test_excite_json_holds_the_contract(tmp_path, capsys):
    out = tmp_path / "t.csv"
    arguments = ["excite", "spatial2r", "--out", str(out), "--friction", "viscous", "--harmonics", "3", "--json"]
    assert main([*arguments, "--base-frequency", "0.5", "--duration", "5", *QUICK]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["robot"] == "spatial2r"
    assert content["condition_number"] > 1.0
    assert content["limits"]["kept"] is True
    assert content["files"]["trajectory"] == str(out)
    assert 6.0 <= content["duration"] < 20.0
    assert all(entry["std"] > 0.0 for entry in content["parameters"])


@pytest.mark.parametrize("kind", ["spline", "random", "sinusoids", "point-to-point"])
def test_every_kind_runs_and_a_second_run_adds_to_the_first(kind, tmp_path, capsys):
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    assert main(["excite", "planar2r", "--kind", kind, "--out", str(first), "--json", *QUICK]) == 0
    before = json.loads(capsys.readouterr().out)
    after = ["--after", str(first.with_suffix(".toml"))]
    assert main(["excite", "planar2r", "--out", str(second), "--json", "--noise", "1.0", *after, *QUICK]) == 0
    both = json.loads(capsys.readouterr().out)
    better = zip(both["parameters"], before["parameters"], strict=True)
    assert all(one["std"] < two["std"] for one, two in better)


@pytest.mark.parametrize("kind", ["reverse-poses", "gravity-poses"])
def test_static_poses_are_a_table_of_positions(kind, tmp_path, capsys):
    out = tmp_path / "poses.csv"
    assert main(["excite", "planar2r", "--kind", kind, "--poses", "8", "--out", str(out), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["n_poses"] == 8
    assert content["condition_number"] >= 1.0
    assert np.loadtxt(out, delimiter=",", skiprows=1).shape == (8, 2)
    assert main(["excite", "planar2r", "--kind", kind, "--poses", "8", "--out", str(out)]) == 0
    assert "condition number" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--harmonics", "60", "--base-frequency", "10"], "60 harmonics of 10 Hz reach 600 Hz, more than a rate"),
        (["--harmonics", "0"], "0 harmonics make no motion"),
        (["--base-frequency", "-1"], "--base-frequency -1: it must be positive"),
        (["--start", "9,9"], "start pose: joint 'joint1' at 9 lies outside its limits"),
        (["--start", "-1,0", "--kind", "random"], "--start is for optimised motions"),
        (["--margin", "1.5"], "margin 1.5: it is a fraction"),
        (["--velocity", "0"], "contradictory limits"),
        (["--floor", "5"], "no pose inside all limits"),
        (["--after", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (["--start", "a,b"], "--start a,b: write numbers joined by commas"),
        (["--noise", "1,2,3"], "noise of 3 joints given, but there are 2"),
    ],
)
def test_wrong_usage_is_one_message_and_exit_code_2(arguments, message, tmp_path, capsys):
    out = tmp_path / "t.csv"
    assert main(["excite", "planar2r", "--out", str(out), *QUICK, *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert not out.exists()
