"""No command writes its result in the place of a file that it was made from."""

import shutil
from dataclasses import replace

import pytest

import dynid
from dynid.cli import main
from dynid.errors import OutputError
from dynid.regression import load_model, save_model
from dynid.workflow.provenance import hashed
from tests.commands import log_of, saved

MAP = 'units.q = "rad"\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model in model.json, its robot in robot.urdf, a log of it and a column map."""
    folder = tmp_path_factory.mktemp("made")
    model = saved(folder / "model.json")
    log_of(folder / "log.csv", model, 600)
    assert main(["export", str(model), "--to", "urdf", "--out", str(folder / "robot.urdf")]) == 0
    robot = dynid.load_robot(folder / "robot.urdf")
    known = load_model(model)
    assert robot.joint_names == known.robot.joint_names
    (folder / "map.toml").write_text(MAP)
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy of these, to work in; model.json names robot.urdf and log.csv as its origin."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    known = load_model("model.json")
    robot = replace(known.robot, source="robot.urdf")
    inputs = {name: hashed(tmp_path / name) for name in ("robot.urdf", "log.csv")}
    save_model(
        replace(known, model=replace(known.model, robot=robot), provenance={"inputs": inputs}), tmp_path / "model.json"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("export model.json --to urdf --out robot.urdf", "robot.urdf"),
        ("export model.json --to urdf --template robot.urdf --out robot.urdf", "robot.urdf"),
        ("export model.json --to json --out model.json", "model.json"),
        ("export model.json --to csv --out log.csv", "log.csv"),
        ("identify robot.urdf log.csv --force --out .", "robot.urdf"),
        ("retrieve model.json --runs 1 --force --out .", "model.json"),
        ("friction model.json log.csv --friction viscous+coulomb --out .", "model.json"),
        ("track model.json log.csv --out .", "model.json"),
        ("track model.json log.csv --payload --out .", "model.json"),
        ("payload model.json log.csv --out log.csv", "log.csv"),
        ("doctor robot.urdf log.csv --write-map log.csv", "log.csv"),
        ("doctor robot.urdf log.csv --columns map.toml --write-map map.toml", "map.toml"),
        ("validate model.json log.csv --report log.csv", "log.csv"),
        ("lint robot.urdf --repair robot.urdf", "robot.urdf"),
    ],
)
def test_a_file_that_a_command_reads_is_not_replaced(folder, capsys, command, named):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main(command.split()) == 2
    assert f"{named}: is read by this very run and would be replaced" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_saved_result_does_not_replace_what_it_was_made_from(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = dynid.identify("robot.urdf", "log.csv", force=True)
    with pytest.raises(OutputError, match=r"robot\.urdf: is read by this very run"):
        dynid.save(result, ".")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    # An older result is no input, and may be replaced.
    for _ in range(2):
        assert (folder / "out" / "robot.urdf") in dynid.save(result, folder / "out").files.values()


FOREIGN = "somebody's own work\n"


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("identify robot.urdf log.csv --force --out mine", "mine/model.json"),
        ("identify robot.urdf log.csv --force --out mine", "mine/report.html"),
        ("identify robot.urdf log.csv --force --out mine", "mine/run.json"),
        ("identify robot.urdf log.csv --force --out mine", "mine/robot.urdf"),
        ("retrieve model.json --runs 1 --force --out mine", "mine/robot.urdf"),
        ("friction model.json log.csv --friction viscous+coulomb --out mine", "mine/report.html"),
        ("track model.json log.csv --out mine", "mine/model.json"),
        ("doctor robot.urdf log.csv --write-map other.csv", "other.csv"),
        ("simulate robot.urdf --duration 1 --out new.csv", "new.truth.json"),
        ("excite robot.urdf --time-budget 1 --out new.csv", "new.toml"),
        ("excite robot.urdf --time-budget 1 --out new.csv", "new.html"),
    ],
)
def test_a_file_that_somebody_else_wrote_is_not_replaced(folder, capsys, command, named):
    (folder / named).parent.mkdir(exist_ok=True)
    (folder / named).write_text(FOREIGN)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main(command.split()) == 2
    assert f"{named}: is there already and would be replaced; it was not written by dynid" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_robot_file_beside_a_trajectory_is_not_replaced(folder, capsys):
    assert main(["export", "model.json", "--to", "urdf", "--out", "scara.urdf"]) == 0
    table = (folder / "scara.toml").write_text("name = 'scara'\n")
    assert main(["excite", "scara.urdf", "--time-budget", "1", "--out", "scara.csv"]) == 2
    assert "scara.toml: is there already" in capsys.readouterr().err
    assert (folder / "scara.toml").stat().st_size == table


@pytest.mark.parametrize(
    "command",
    [
        "identify robot.urdf log.csv --force --out again",
        "simulate robot.urdf --duration 1 --out again.csv",
        "simulate robot.urdf --duration 1 --out again.csv.gz",
        "export model.json --to urdf --out again.urdf",
        "export model.json --to mjcf --out again.xml",
        "export model.json --to c --out again.h",
        "export model.json --to csv --out again.csv",
        "export model.json --to json --out again.json",
        "validate model.json log.csv --report again.html",
        "payload model.json log.csv --out again.json",
    ],
)
def test_an_older_result_is_replaced_by_the_next(folder, command):
    first = main(command.split())
    assert main(command.split()) == first
    assert first in (0, 1)
    assert list(folder.glob("again*"))
