"""Many robots and logs in one command: the same bytes on every kind of worker, and no run lost to a kill."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor
from importlib import import_module
from pathlib import Path

import numpy as np
import psutil
import pytest

from dynid import load_robot
from dynid.cli import main
from dynid.errors import ConfigError, RegressionError
from dynid.recording import write_csv
from dynid.workflow.identify_job import IdentifyJob
from dynid.workflow.manifest import is_manifest, read_manifest
from dynid.workflow.workers import Workers
from dynid.writers import CampaignRow, campaign_page
from dynid.writers.campaign import Task, _work, key_of
from tests.cluster import cluster
from tests.processes import PATIENCE, ended, finished, started
from tests.regression.logs import truth

MANIFEST = """
[defaults]
estimator = "ols"

[[run]]
name = "planar"
robot = "planar2r"
logs = "planar.csv"
validate = ["planar2.csv"]

[[run]]
name = "spatial"
robot = "spatial2r"
logs = ["spatial.csv"]
estimator = "feasible"
total-mass = [0.1, 30]

[[run]]
name = "missing"
robot = "planar2r"
logs = ["no-such-log.csv"]

[[run]]
name = "both"
robot = "planar2r"
logs = ["planar.csv", "planar2.csv"]
delay = 0
"""
GOOD = ("planar", "spatial", "both")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Three short logs of two tiny robots, and the manifest."""
    place = tmp_path_factory.mktemp("campaign")
    for name, robot, seconds in (
        ("planar", "planar2r", 20.0),
        ("planar2", "planar2r", 15.0),
        ("spatial", "spatial2r", 20.0),
    ):
        rng = np.random.default_rng(3)
        write_csv(truth(load_robot(robot), rng, duration=seconds).recording(rng, 0.01), place / f"{name}.csv")
    (place / "arms.toml").write_text(MANIFEST, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def plain(folder) -> Path:
    """The campaign done by one process, to compare with."""
    assert main(["identify", str(folder / "arms.toml"), "--out", str(folder / "plain")]) == 1
    return folder / "plain"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "campaign.lock"
    }


def campaign(folder: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    return started(["identify", str(folder / "arms.toml"), "--out", str(out), *more])


def wait_until(condition, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, f"ended too early: {finished(process)}"
        if time.monotonic() > deadline:
            ended(process)
            pytest.fail("nothing happened")
        time.sleep(0.002)


def n_under_way(out: Path) -> int:
    return len(list(out.glob(".*.partial-*"))) if out.is_dir() else 0


def test_every_run_gets_a_folder_and_a_failed_one_says_why(plain, folder, capsys):
    for name in GOOD:
        assert {"model.json", "report.html", "run.json", "status.json"} <= {p.name for p in (plain / name).iterdir()}
    assert [path.name for path in (plain / "missing").iterdir()] == ["status.json"]
    content = json.loads((plain / "campaign.json").read_text(encoding="utf-8"))
    assert content["counts"] == {"done": 3, "weak": 0, "failed": 1}
    by_name = {run["name"]: run for run in content["runs"]}
    assert "no-such-log.csv: no such file" in by_name["missing"]["reason"]
    assert by_name["spatial"]["result"]["consistent"] is True
    assert by_name["spatial"]["result"]["estimator"] == "feasible"
    assert by_name["planar"]["result"]["validation"][0]["relative_error_percent"] < 2.0
    page = (plain / "campaign.html").read_text(encoding="utf-8")
    assert 'href="spatial/report.html"' in page
    assert "no-such-log.csv" in page
    # The same again, for machines: nothing is done twice.
    assert main(["identify", str(folder / "arms.toml"), "--out", str(plain), "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["counts"]["done"] == 3
    assert "1 of 4 runs are not good: missing" in captured.err


def test_a_run_is_the_identification_it_would_be_alone(plain, folder, tmp_path, capsys):
    alone = ["identify", "planar2r", str(folder / "planar.csv"), "--validate", str(folder / "planar2.csv")]
    assert main([*alone, "--estimator", "ols", "--out", str(tmp_path / "x")]) == 0
    assert (tmp_path / "x" / "model.json").read_bytes() == (plain / "planar" / "model.json").read_bytes()
    assert (tmp_path / "x" / "report.html").read_bytes() == (plain / "planar" / "report.html").read_bytes()


@pytest.mark.slow
def test_processes_give_the_same_bytes_though_one_is_killed_half_way(plain, folder, tmp_path):
    out = tmp_path / "killed"
    process = campaign(folder, out, "--workers", "2")
    wait_until(lambda: n_under_way(out) > 0, process)
    children = psutil.Process(process.pid).children(recursive=True)
    victims = [child.pid for child in children if "popen_loky" in " ".join(child.cmdline())]
    os.kill(victims[0], signal.SIGKILL)
    _, errors = finished(process)
    assert process.returncode == 1, errors
    assert "Traceback" not in errors
    assert contents(out) == contents(plain)


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_bytes_though_a_worker_is_killed_half_way(plain, folder, tmp_path):
    out = tmp_path / "dask"
    with cluster() as local:
        process = campaign(folder, out, "--workers", local.address)
        wait_until(lambda: n_under_way(out) > 0, process)
        os.kill(local.pids[0], signal.SIGKILL)
        _, errors = finished(process)
    assert process.returncode == 1, errors
    assert "Traceback" not in errors
    assert contents(out) == contents(plain)


def signed(item: tuple[Path, str]) -> None:
    """Leaves the number of its process behind, or kills it."""
    folder, name = item
    if name == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / name).write_text(str(os.getpid()), encoding="utf-8")


@pytest.mark.slow
def test_the_only_worker_of_a_cluster_does_the_work(tmp_path):
    items = [(tmp_path, name) for name in "abc"]
    with cluster(1) as local:
        outcomes = sorted(Workers.of(local.address).on_cluster(signed, items))
    assert outcomes == [(item, True) for item in items]
    assert {(tmp_path / name).read_text(encoding="utf-8") for name in "abc"} == {str(local.pids[0])}


@pytest.mark.slow
def test_what_kills_its_worker_on_a_cluster_costs_no_other(tmp_path):
    items = [(tmp_path, name) for name in ("a", "deadly", "z")]
    with cluster(2, allowed_failures=0) as local:
        outcomes = dict(Workers.of(local.address).on_cluster(signed, items))
    assert not outcomes.pop((tmp_path, "deadly"))
    # One that waited behind it at the same worker may be taken for it; campaigns then do it alone.
    assert any(outcomes.values())
    assert len(outcomes) == 2


@pytest.mark.slow
def test_a_cluster_without_workers_is_told_with_what_to_do(monkeypatch):
    monkeypatch.setattr("dynid.workflow.workers.WORKER_SECONDS", 0.5)
    with cluster(0) as local, pytest.raises(ConfigError, match=r"no worker came within 0\.5 s; start one with: dask"):
        list(Workers.of(local.address).on_cluster(signed, []))


class Deadly(IdentifyJob):
    """A job that kills whoever tries to do it, like one that needs too much memory."""

    def __getattribute__(self, name):
        if name == "fit":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getattribute__(name)


@pytest.mark.slow
def test_a_run_that_kills_every_worker_is_given_up_and_costs_no_other(folder, tmp_path):
    runs = read_manifest(folder / "arms.toml")
    tasks = [Task(run.name, run.job, tmp_path, key_of(run.job), 1) for run in runs if run.name in GOOD]
    tasks.insert(1, Task("deadly", Deadly(robot="planar2r", logs=(folder / "planar.csv",)), tmp_path, "key", 1))
    heard: list[str] = []
    _work(tasks, Workers(2), heard.append)
    assert sorted(heard) == sorted([*GOOD, "deadly"])
    told = {name: json.loads((tmp_path / name / "status.json").read_text()) for name in heard}
    assert [told[name]["status"] for name in GOOD] == ["done"] * 3
    assert "killed twice" in told["deadly"]["reason"]


@pytest.mark.slow
def test_a_killed_campaign_goes_on_where_it_was(plain, folder, tmp_path, capsys):
    out = tmp_path / "resumed"
    process = campaign(folder, out)
    wait_until(lambda: (out / "planar" / "status.json").exists() and n_under_way(out) > 0, process)
    ended(process)
    before = (out / "planar" / "model.json").stat().st_mtime_ns
    assert main(["identify", str(folder / "arms.toml"), "--out", str(out)]) == 1
    assert "done by an earlier campaign" in capsys.readouterr().out
    assert (out / "planar" / "model.json").stat().st_mtime_ns == before
    assert contents(out) == contents(plain)


def test_an_interrupted_campaign_leaves_nothing_half_done(folder, tmp_path, monkeypatch, capsys):
    def interrupted(result, out):
        (out / "model.json").write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr("dynid.writers.campaign.save", interrupted)
    assert main(["identify", str(folder / "arms.toml"), "--out", str(tmp_path)]) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["campaign.lock"]


def test_only_what_changed_is_done_again(folder, tmp_path, capsys):
    for name in ("planar.csv", "planar2.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    manifest, out = tmp_path / "two.csv", tmp_path / "out"
    header = "name,robot,logs,validate,estimator\n"
    manifest.write_text(f"{header}a,planar2r,planar.csv,planar2.csv,ols\nb,planar2r,planar2.csv;planar.csv,,ols\n")
    command = ["identify", str(manifest), "--out", str(out)]
    assert main(command) == 0

    def stamps():
        return [(out / name / "model.json").stat().st_mtime_ns for name in "ab"]

    first = stamps()
    (out / ".a.partial-0123abcd").mkdir()
    assert main(command) == 0
    assert stamps() == first
    assert not (out / ".a.partial-0123abcd").exists()
    manifest.write_text(
        manifest.read_text().replace("b,planar2r,planar2.csv;planar.csv,,ols", "b,planar2r,planar.csv,,wls")
    )
    assert main(command) == 0
    second = stamps()
    assert second[0] == first[0]
    assert second[1] != first[1]
    # Another validation log is another result; a damaged folder counts for nothing.
    (tmp_path / "planar2.csv").write_bytes((folder / "planar.csv").read_bytes())
    (out / "b" / "report.html").unlink()
    assert main(command) == 0
    assert all(new != old for new, old in zip(stamps(), second, strict=True))
    assert (out / "b" / "report.html").exists()


def test_two_campaigns_do_not_share_a_folder(folder, tmp_path, capsys):
    import fcntl

    (tmp_path / "campaign.lock").touch()
    with (tmp_path / "campaign.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert main(["identify", str(folder / "arms.toml"), "--out", str(tmp_path)]) == 2
    assert "another campaign is running there" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["folder", "file", "link", "own notes"])
def test_a_campaign_deletes_nothing_that_no_campaign_wrote(folder, tmp_path, capsys, kind):
    (tmp_path / "missing.toml").write_text('[[run]]\nname = "arm"\nrobot = "planar2r"\nlogs = "none.csv"\n')
    place, precious = tmp_path / "arm", tmp_path / "arm" / "precious.csv"
    if kind == "own notes":
        assert main(["identify", str(tmp_path / "missing.toml"), "--out", str(tmp_path)]) == 1
    if kind == "file":
        precious = place
    elif kind == "link":
        (tmp_path / "elsewhere").mkdir()
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.mkdir(exist_ok=True)
    precious.write_text("precious")
    assert main(["identify", str(tmp_path / "missing.toml"), "--out", str(tmp_path)]) == 2
    said = "holds precious.csv, which no campaign wrote" if kind == "own notes" else "no result of a campaign"
    assert said in capsys.readouterr().err
    assert precious.read_text() == "precious"


def test_a_link_in_the_place_of_the_lock_is_not_followed(folder, tmp_path, capsys):
    (tmp_path / "precious.txt").write_text("precious")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "campaign.lock").symlink_to(tmp_path / "precious.txt")
    assert main(["identify", str(folder / "arms.toml"), "--out", str(tmp_path / "out")]) == 2
    assert "campaign.lock: cannot be written" in capsys.readouterr().err
    assert (tmp_path / "precious.txt").read_text() == "precious"


RUN = '[[run]]\nname = "a"\nrobot = "planar2r"\nlogs = "x.csv"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[defaults]\n", "no runs"),
        ("run = 3\n", "run: expected tables"),
        ("run = [\n", "not valid TOML"),
        pytest.param("run = " + "[" * 20_000, "not valid TOML", id="endless brackets"),
        pytest.param(f"{RUN}seed = {'9' * 5000}\n", "not valid TOML", id="an endless number"),
        ('[[run]]\nname = "a"\nrobot = "panda"\n', r"run 1 \(a\): logs: Field required"),
        ('[[run]]\nrobot = "panda"\nlogs = "x.csv"\n', "run 1: name: Field required"),
        (RUN + "estimatr = 3\n", r"run 1 \(a\): estimatr: no such key; known: .*estimator"),
        (RUN + 'estimator = "best"\n', r"run 1 \(a\): estimator: Input should be 'ols'"),
        (RUN + "total-mass = [1]\n", "total-mass"),
        (RUN + RUN.replace('"a"', '"A"'), "two runs are called"),
        (RUN.replace('"a"', '"../a"'), "cannot be a folder"),
        (RUN.replace('"a"', '"campaign.json"'), "cannot be a folder"),
        (RUN.replace('"x.csv"', "[]"), "logs: none given"),
        (RUN + "[defaults]\nlowpass = 'x'\n", "defaults: lowpass"),
        (RUN + "[other]\n", "other: unknown table"),
    ],
)
def test_a_wrong_manifest_is_told_by_file_run_and_key(text, message, tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=f"m.toml: .*{message}"):
        read_manifest(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,logs\na,b\n", "robot: no such column"),
        ("name,robot,logs\na,b\n", "line 2: more or fewer cells"),
        ("name,robot,logs,seed\na,planar2r,x.csv,many\n", r"run 1 \(a\): seed"),
        ('name,robot\n"a', "not valid CSV"),
        ("name,robot,logs,robot\na,planar2r,x.csv,panda\n", "robot: two columns have this name"),
    ],
)
def test_a_wrong_table_is_told_by_line_or_key(text, message, tmp_path):
    path = tmp_path / "m.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        read_manifest(path)


def test_what_is_typed_wins_over_an_entry_which_wins_over_the_defaults(tmp_path):
    path = tmp_path / "m.toml"
    defaults = "[defaults]\nseed = 7\nlowpass = 5\nestimator = 'ols'\nforce = true\n"
    path.write_text(f"{defaults}{RUN}seed = 8\nlowpass = 6\n")
    (plain,) = read_manifest(path)
    assert (plain.job.seed, plain.job.log.lowpass, plain.job.fit.estimator, plain.job.force) == (8, 6.0, "ols", True)
    (typed,) = read_manifest(path, {"seed": 1, "estimator": "wls"})
    assert (typed.job.seed, typed.job.log.lowpass, typed.job.fit.estimator, typed.job.force) == (1, 6.0, "wls", True)


def test_what_is_typed_beside_a_manifest_reaches_every_run(folder, tmp_path, capsys):
    entries = "[[run]]\nname = 'a'\nrobot = 'planar2r'\nlogs = 'planar.csv'\nestimator = 'feasible'\n"
    for name in ("planar.csv", "planar2.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "m.toml").write_text(
        f"[defaults]\nestimator = 'robust'\n{entries}" + entries.replace("'a'", "'b'").replace("estimator", "#")
    )
    command = ["identify", str(tmp_path / "m.toml"), "--estimator", "wls", "--out", str(tmp_path / "out"), "--json"]
    assert main(command) == 0
    assert [run["result"]["estimator"] for run in json.loads(capsys.readouterr().out)["runs"]] == ["wls", "wls"]


def test_typed_options_and_the_manifest_add_up_and_files_stand_beside_it(tmp_path):
    path = tmp_path / "m.toml"
    (tmp_path / "arm.urdf").write_text("<robot/>")
    path.write_text(
        "[defaults]\nlowpass = 5\nseed = 7\nbounds = 'b.csv'\n"
        + RUN.replace("planar2r", "arm.urdf")
        + "seed = 8\nfrom = 1.5\n"
    )
    (run,) = read_manifest(path, {"raw": True})
    assert (run.job.seed, run.job.raw, run.job.log.lowpass, run.job.log.from_) == (8, True, 5.0, 1.5)
    assert run.job.robot == str(tmp_path / "arm.urdf")
    assert run.job.logs == (tmp_path / "x.csv",)
    assert run.job.fit.bounds == tmp_path / "b.csv"


def test_a_robot_in_toml_is_no_manifest(tmp_path, capsys):
    path = tmp_path / "arm.toml"
    path.write_text("name = 'arm'\n[[joint]]\nname = 'a'\n")
    assert not is_manifest(str(path))
    assert main(["identify", str(path), "--out", str(tmp_path / "x")]) == 2
    assert "no training log given" in capsys.readouterr().err


def test_the_page_escapes_what_others_wrote():
    row = CampaignRow(
        name="a",
        robot="<script>alert(1)</script>",
        status="failed",
        reason="<img src=x>",
        warnings=('"><b>',),
        files={"report": 'a"/x y.html'},
    )
    page = campaign_page("<i>", [row]).html()
    for text in ("<script>", "<img", "<b>", "<i>", 'a"/x'):
        assert text not in page
    assert "a%22/x%20y.html" in page


@pytest.mark.parametrize(
    ("text", "message"), [("many", "a number of processes"), ("0", "at least 1"), ("-2", "at least 1")]
)
def test_workers_are_a_number_or_an_address(text, message):
    with pytest.raises(ConfigError, match=message):
        Workers.of(text)


def test_work_that_died_with_its_worker_is_told(monkeypatch, capsys):
    with pytest.raises(RegressionError, match="a worker ended before its work did"), Workers(2).active():
        raise BrokenExecutor
    monkeypatch.setattr(import_module("dynid.workflow.info"), "base_parameters", lambda *_: exhausted())
    assert main(["info", "planar2r"]) == 2
    assert "not enough memory" in capsys.readouterr().err


def exhausted() -> None:
    raise MemoryError


def test_a_missing_dask_or_scheduler_is_told_with_what_to_do(monkeypatch):
    import dynid.workflow.workers as module

    monkeypatch.setattr(module, "CONNECT_SECONDS", 0.2)
    with pytest.raises(ConfigError, match="no dask scheduler answers there"), Workers.of("tcp://127.0.0.1:9").active():
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigError, match=r"pip install 'dynid\[cluster\]'"), Workers.of("tcp://127.0.0.1:9").active():
        pass
