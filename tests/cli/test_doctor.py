"""The command doctor, and identify behind it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dynid import load_robot
from dynid.cli import main
from dynid.recording import write_csv
from tests.regression.logs import truth


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A clean log of a planar arm, another motion, and the first with faults that a column map cures."""
    folder = tmp_path_factory.mktemp("logs")
    robot = load_robot("planar2r")
    rng = np.random.default_rng(3)
    log = truth(robot, rng, duration=20.0).recording(rng, 0.01)
    write_csv(log, folder / "clean.csv")
    write_csv(truth(robot, rng, duration=15.0).recording(rng, 0.01), folder / "other.csv")
    write_csv(log.part(3.0, 15.0), folder / "cut.csv")
    wrong = replace(log, t=1e3 * log.t, dq=log.dq * [1.0, -1.0])
    write_csv(wrong, folder / "wrong.csv")
    return folder


def examined(capsys, arguments):
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_clean_log_is_healthy(logs, capsys):
    assert main(["doctor", "planar2r", str(logs / "clean.csv")]) == 0
    text = capsys.readouterr().out
    assert "healthy" in text
    assert "\x1b" not in text


def test_the_written_map_repairs_the_log(logs, tmp_path, capsys):
    out = tmp_path / "map.toml"
    code, content = examined(capsys, ["doctor", "planar2r", str(logs / "wrong.csv"), "--write-map", str(out)])
    assert code == 1
    assert {f["code"] for f in content["findings"] if f["severity"] == "error"} == {"time-unit", "flipped-velocity"}
    assert {"code", "severity", "joint", "evidence", "cause", "fix"} <= set(content["findings"][0])
    assert content["files"] == {"map": str(out)}
    code, content = examined(capsys, ["doctor", "planar2r", str(logs / "wrong.csv"), "--columns", str(out)])
    assert (code, content["findings"]) == (0, [])


def test_findings_speak_to_people(logs, capsys):
    assert main(["doctor", "planar2r", str(logs / "wrong.csv")]) == 1
    text = capsys.readouterr().out
    assert 'units.t = "ms"' in text
    assert "found      2 errors" in text


def test_a_log_is_compared_with_others_by_content(logs, capsys):
    arguments = ["doctor", "planar2r", str(logs / "cut.csv"), "--against", str(logs / "clean.csv")]
    code, content = examined(capsys, arguments)
    assert code == 1
    assert [f["code"] for f in content["findings"]] == ["same-log"]
    arguments = ["doctor", "planar2r", str(logs / "other.csv"), "--against", str(logs / "clean.csv")]
    assert examined(capsys, arguments)[0] == 0


def test_bad_input_is_told_apart_from_bad_data(logs, tmp_path, capsys):
    assert main(["doctor", "planar2r", str(tmp_path / "none.csv")]) == 2
    assert main(["doctor", "panda", str(logs / "clean.csv")]) == 2
    assert main(["doctor", "planar2r", str(logs / "clean.csv"), "--gains", "1,1"]) == 2
    assert "no currents" in capsys.readouterr().err


def test_rows_that_are_not_finite_are_listed_rather_than_refused(logs, tmp_path, capsys):
    rows = (logs / "clean.csv").read_text().splitlines()
    rows[12] = ",".join(["nan" if k == 2 else cell for k, cell in enumerate(rows[12].split(","))])
    path = tmp_path / "nan.csv"
    path.write_text("\n".join(rows) + "\n")
    out = tmp_path / "map.toml"
    code, content = examined(capsys, ["doctor", "planar2r", str(path), "--write-map", str(out)])
    assert code == 0
    assert "sample 11" in content["findings"][0]["evidence"]
    assert main(["identify", "planar2r", str(path), "--out", str(tmp_path / "x")]) == 0


def test_identify_refuses_a_log_with_errors_unless_forced(logs, tmp_path, capsys):
    base = ["identify", "planar2r", str(logs / "wrong.csv"), "--out", str(tmp_path / "x"), "--estimator", "ols"]
    code, content = examined(capsys, base)
    assert code == 1
    assert "time-unit" in {f["code"] for f in content["findings"]}
    assert not (tmp_path / "x").exists()
    assert main(base) == 1
    assert "nothing was written" in capsys.readouterr().err


def test_identify_does_not_call_a_model_good_that_was_validated_on_what_it_fitted(logs, tmp_path, capsys):
    base = ["identify", "planar2r", str(logs / "clean.csv"), "--validate", str(logs / "cut.csv")]
    code, content = examined(capsys, [*base, "--out", str(tmp_path / "x")])
    assert code == 0
    assert [(f["code"], f["severity"]) for f in content["findings"]] == [("same-log", "warning")]
    assert content["verdict"]["mark"] == "usable"
    assert main([*base, "--out", str(tmp_path / "y")]) == 0
    assert "same-log" in capsys.readouterr().err
    assert json.loads((tmp_path / "y" / "run.json").read_text())["findings"][0]["code"] == "same-log"
