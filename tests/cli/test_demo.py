import json
import re

from dynid import load_robot
from dynid.cli import main


def test_demo_identifies_validates_and_writes_a_report_that_needs_no_network(tmp_path, capsys):
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["n_base"] == 64
    assert content["consistent"] is True
    assert content["findings"] == []
    assert content["condition_number"] < 50.0  # random motions have hundreds
    error = content["compared"]
    assert error["feasible"] < 1.3 * error["truth"]
    assert error["feasible"] < 0.2 * error["nominal without friction"]
    assert content["coverage"] > 0.8
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "physically consistent" in page
    # One error of the held-out log, in the verdict, in the card and on the terminal.
    held_out = f"{error['feasible']:.2f} %"
    assert re.search(r"held-out log to ([\d.]+ %)", page)[1] == held_out
    assert re.search(r"Error, held-out log</dt><dd><strong>([^<]+)<", page)[1] == held_out
    assert content["validation"][0]["relative_error_percent"] == error["feasible"]
    # The charting script names the address of SVG; nothing else names any.
    assert "http" not in re.sub(r"<script>.*?</script>", "", page[page.index("<body>") :], flags=re.DOTALL)
    assert len(page) < 8_000_000
    assert load_robot(out / "robot.urdf").n_dof == 7
    logs = ["train.csv", "train.truth.json", "unseen.csv", "unseen.truth.json"]
    names = ["model.json", "report.html", "robot.urdf", "run.json", *logs]
    assert sorted(path.name for path in out.iterdir()) == names


def test_demo_speaks_to_people(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "demo"), "--seed", "2"]) == 0
    text = capsys.readouterr().out
    assert "report.html in a browser" in text
    assert "healthy" in text
    assert "dynid excite YOUR.urdf" in text
    assert "intervals hold the true value" in text
