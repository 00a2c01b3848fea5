"""``dynid export`` from the command line, and the robot.urdf that other commands write by the way."""

import json
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dynid import Motion, TorqueModel, load_robot
from dynid.cli import main
from dynid.regression import save_model
from dynid.workflow.doors import RobotOptions
from dynid.workflow.provenance import hashed, texts_of
from dynid.writers.origin import robot_origin, write_urdf_like_its_origin
from tests.processes import PATIENCE
from tests.writers.exported import inconsistent, model_of
from tests.writers.test_mjcf import ARM as MJCF
from tests.writers.test_urdf import ARM, LOCK

DOCS = Path(__file__).parents[2] / "docs" / "export.md"


def output(capsys):
    return json.loads(capsys.readouterr().out)


def recorded(model, path, lock=()):
    """A model that remembers the file it came from, as identify writes it."""
    story = {"inputs": {str(path): hashed(path)}, "options": {"robot": {"lock": list(lock)}}}
    return replace(model, provenance=story)


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    """A folder with the model of a small built-in robot."""
    monkeypatch.chdir(tmp_path)
    save_model(model_of(load_robot("spatial2r"), rng, "viscous+coulomb+offset"), tmp_path / "model.json")
    return tmp_path


@pytest.mark.parametrize("to", ["urdf", "mjcf", "c", "csv", "json"])
def test_every_format_is_written_and_reported(to, folder, capsys):
    assert main(["export", "model.json", "--to", to, "--out", f"out/arm.{to}", "--json"]) == 0
    found = output(capsys)
    assert found["files"] == {to: f"out/arm.{to}"}
    assert (folder / "out" / f"arm.{to}").stat().st_size > 500
    assert found["error"] < 1e-6
    assert found["possible"]
    assert any("constant torque" in sentence for sentence in found["left_out"]) == (to == "urdf")


def test_what_is_left_out_stands_on_stderr(folder, capsys):
    assert main(["export", "model.json", "--to", "urdf", "--out", "arm.urdf"]) == 0
    captured = capsys.readouterr()
    assert "left out: URDF has no place for rotor inertia: joint1 Ia" in captured.err
    assert "Pinocchio; largest difference" in captured.out


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (None, "edited in place"),
        ("touch", "has changed since"),
        ("delete", "is not here any more"),
        ("forget", "does not record its robot file"),
    ],
)
def test_a_model_from_a_file_is_written_into_that_file_while_it_is_the_same(change, how, folder, rng, capsys):
    path = folder / "arm.urdf"
    path.write_text(ARM)
    model = recorded(model_of(load_robot(path, lock=LOCK), rng), path, ["finger=0.03"])
    if change == "forget":
        model = replace(model, provenance={})
    save_model(model, folder / "arm.json")
    if change == "touch":
        path.write_text(ARM + "\n")
    if change == "delete":
        path.unlink()
    assert main(["export", "arm.json", "--to", "urdf", "--out", "new.urdf", "--json"]) == 0
    found = output(capsys)
    assert how in found["how"]
    assert ("<!-- from CAD -->" in (folder / "new.urdf").read_text()) == (change is None)


def test_a_template_and_locks_can_be_named(folder, rng, capsys):
    path = folder / "arm.urdf"
    path.write_text(ARM)
    robot = load_robot(path, lock=LOCK)
    save_model(model_of(replace(robot, held={}), rng), folder / "arm.json")
    arguments = ["export", "arm.json", "--to", "urdf", "--out", "new.urdf", "--template", "arm.urdf"]
    assert main(arguments) == 2
    assert "--lock finger=VALUE" in capsys.readouterr().err
    assert main([*arguments, "--lock", "finger=0.03"]) == 0
    save_model(model_of(robot, rng), folder / "arm.json")
    assert main([*arguments]) == 0
    assert main(["export", "arm.json", "--to", "c", "--out", "arm.h", "--template", "arm.urdf"]) == 2
    assert "--template is for urdf and mjcf" in capsys.readouterr().err


def test_an_mjcf_model_is_written_into_its_file_and_as_a_fresh_urdf(folder, rng, capsys):
    path = folder / "arm.xml"
    path.write_text(MJCF)
    save_model(recorded(model_of(load_robot(path), rng), path), folder / "arm.json")
    assert main(["export", "arm.json", "--to", "mjcf", "--out", "new.xml", "--json"]) == 0
    assert "edited in place" in output(capsys)["how"]
    assert main(["export", "arm.json", "--to", "urdf", "--out", "new.urdf", "--json"]) == 0
    assert output(capsys)["how"] == "a fresh file"
    assert main(["export", "arm.json", "--to", "mjcf", "--out", "new.xml", "--fresh"]) == 0
    assert "<!-- kept -->" not in (folder / "new.xml").read_text()


@pytest.mark.parametrize("to", ["urdf", "mjcf", "c"])
def test_an_inconsistent_model_is_refused_with_exit_code_1_and_forced_with_a_warning(to, folder, rng, capsys):
    save_model(inconsistent(model_of(load_robot("spatial2r"), rng)), folder / "bad.json")
    assert main(["export", "bad.json", "--to", to, "--out", "bad.out"]) == 1
    assert "not physically consistent" in capsys.readouterr().err
    assert not (folder / "bad.out").exists()
    assert main(["export", "bad.json", "--to", to, "--out", "bad.out", "--force", "--json"]) == 0
    captured = capsys.readouterr()
    assert "NOT CONSISTENT, written by --force" in captured.err
    assert json.loads(captured.out)["possible"] is False
    assert "NOT PHYSICALLY CONSISTENT" in (folder / "bad.out").read_text()


def test_a_model_without_links_is_exported_as_a_table_and_by_force_as_c(folder, rng, capsys):
    model = replace(model_of(load_robot("planar2r"), rng), theta=None, labels=(), estimator="ols")
    save_model(model, folder / "ols.json")
    assert main(["export", "ols.json", "--to", "c", "--out", "arm.h"]) == 1
    assert "base parameters only, no link parameters" in capsys.readouterr().err
    assert main(["export", "ols.json", "--to", "csv", "--out", "table.csv"]) == 0
    assert main(["export", "ols.json", "--to", "c", "--out", "arm.h", "--force"]) == 0


def payload(frame):
    return {
        "payload": {
            "mass": 2.0,
            "com": [0.0, 0.0, 0.15],
            "inertia_com": [[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.008]],
            "frame": {"name": frame},
        }
    }


@pytest.mark.parametrize("to", ["franka", "franka-desk", "ur"])
def test_a_payload_becomes_settings_of_a_controller(to, folder, capsys):
    (folder / "load.json").write_text(json.dumps(payload("link7")))
    arguments = ["export", "load.json", "--to", to, "--out", "settings.txt"]
    assert main(arguments) == 2
    assert "say where the flange is" in capsys.readouterr().err
    assert main([*arguments, "--flange", "0", "0", "0.107", "0", "0", "0"]) == 0
    assert "0.043" in (folder / "settings.txt").read_text()
    (folder / "load.json").write_text(json.dumps(payload("flange")))
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    assert output(capsys)["possible"]
    assert main([*arguments, "--flange", "0", "0", "0.107", "0", "0", "0"]) == 2


def test_wrong_input_ends_with_exit_code_2(folder, capsys):
    for arguments in (["nothing.json", "--to", "c"], ["model.json", "--to", "pdf"], ["model.json", "--to", "ur"]):
        assert main(["export", *arguments, "--out", "x"]) == 2
        assert "error" in capsys.readouterr().err
    assert not (folder / "x").exists()


def test_robot_urdf_keeps_the_layout_of_the_file_the_model_came_from(folder, rng):
    path = folder / "robot.urdf"
    path.write_text(ARM)
    model = recorded(model_of(load_robot(path, lock=LOCK), rng), path, ["finger=0.03"])
    assert robot_origin(model, "robot").path == path
    done = write_urdf_like_its_origin(model, folder / "result" / "robot.urdf")
    assert "nothing else changed" in done.how
    assert "<!-- from CAD -->" in done.path.read_text()
    assert path.read_text() == ARM
    # In the folder of the robot file itself the copy takes its place, layout and all.
    assert "<!-- from CAD -->" in write_urdf_like_its_origin(model, path).path.read_text()


def test_identify_records_where_joints_were_locked():
    assert texts_of(RobotOptions(lock=("finger=0.03",)))["lock"] == ["finger=0.03"]


def test_the_provenance_of_a_refined_model_is_followed_to_its_robot_file(folder, rng):
    path = folder / "arm.urdf"
    path.write_text(ARM)
    model = recorded(model_of(load_robot(path, lock=LOCK), rng), path, ["finger=0.03"])
    refined = replace(model, provenance={"inputs": {"bounds.csv": "0"}, "of": dict(model.provenance)})
    origin = robot_origin(refined, "robot")
    assert origin.path == path
    assert origin.lock == {"finger": 0.03}


def test_the_c_lines_of_the_documentation_compile_and_run(folder, rng):
    """The how-to page: its program, its compile line, and the torque it prints."""
    text = DOCS.read_text(encoding="utf-8")
    program = text.split("```c\n")[1].split("```")[0]
    line = next(row for row in text.splitlines() if row.startswith("cc "))
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed, so the program of the page cannot be compiled")
    model = model_of(load_robot("panda"), rng)
    save_model(model, folder / "model.json")
    assert main(["export", "model.json", "--to", "c", "--out", "panda.h"]) == 0
    (folder / "control.c").write_text(program)
    subprocess.run(shlex.split(line), cwd=folder, check=True, timeout=PATIENCE)
    done = subprocess.run([folder / "control"], capture_output=True, text=True, check=True, timeout=PATIENCE)
    robot = model.model.robot
    q = np.array([[0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]])
    gravity = TorqueModel(robot).torque(Motion.at_rest(q), model.theta[:70])
    np.testing.assert_allclose([float(word) for word in done.stdout.split()], gravity[0], atol=1e-3)
