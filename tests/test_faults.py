"""What goes wrong outside of dynid: full disks, kills, interrupts, solvers that fail, runs that meet in one folder."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dynid.__main__
from dynid import disk
from dynid.__main__ import AGAIN_SECONDS, _interrupt, _unraisable
from dynid.cli import main
from dynid.disk import at_once, claimed, whole_file, write_whole
from dynid.errors import OutputError
from dynid.regression import load_model
from dynid.tracking.sources.udp import udp_samples
from tests.commands import FILES, WRITING, arguments, denavit, saved
from tests.processes import ENVIRONMENT, PATIENCE, finished, started


def output(command: str, folder: Path) -> Path:
    return folder / "out.csv" if command in FILES else folder / "out"


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- disk


@pytest.mark.slow
@pytest.mark.parametrize("command", WRITING)
def test_a_full_disk_leaves_no_file_a_message_and_exit_code_2(tmp_path, monkeypatch, capsys, command):
    given = arguments(command, tmp_path)
    before = files_of(tmp_path)
    room = {"files": 0}

    def full(descriptor: int) -> None:
        room["files"] -= 1
        if room["files"] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("dynid.disk.os.fsync", full)
    for n_files in (0, 1):
        room["files"] = n_files
        assert main([*given, "--out", str(output(command, tmp_path))]) == 2
        assert "cannot be written: No space left on device" in capsys.readouterr().err
        written = {name: data for name, data in files_of(tmp_path).items() if name not in before}
        # All files of a result appear together or not at all; those of a log are itself and its truth.
        assert list(written) == []


def test_a_file_that_would_grow_too_large_leaves_the_old_one(tmp_path):
    (tmp_path / "log.csv").write_text("old")
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "from pathlib import Path; from dynid.disk import write_whole; from dynid.errors import OutputError\n"
        "try: write_whole(Path('log.csv'), b'x' * 1_000_000)\nexcept OutputError as error: sys.exit(str(error))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120
    )
    assert "log.csv: cannot be written: File too large" in done.stderr
    assert files_of(tmp_path) == {"log.csv": b"old"}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no file system here that is read-only even for root")
@pytest.mark.parametrize("command", WRITING)
def test_a_read_only_place_is_named(tmp_path, capsys, command):
    place = "/proc/out.csv" if command in FILES else "/proc/out"
    assert main([*arguments(command, tmp_path), "--out", place]) == 2
    said = capsys.readouterr().err
    assert "cannot be written" in said
    assert "/proc" in said


def test_a_folder_that_vanishes_while_a_file_is_written_is_said(tmp_path):
    folder = tmp_path / "out"

    def write() -> None:
        with whole_file(folder / "model.json") as file:
            file.write(b"half")
            shutil.rmtree(folder)

    with pytest.raises(OutputError, match=r"model\.json: cannot be written: No such file or directory"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_block_that_fails_leaves_no_file(tmp_path):
    def write() -> None:
        with whole_file(tmp_path / "model.json") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_log_whose_name_is_not_utf_8_is_named_in_the_results(tmp_path, capsys):
    given = arguments("identify", tmp_path)
    named = tmp_path / os.fsdecode(b"l\xffg.csv")
    shutil.move(given[2], named)
    given[2] = str(named)
    assert main([*given, "--out", str(tmp_path / "out"), "--json"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["train"]["log"] == str(named)
    inputs = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))["inputs"]
    assert str(named) in json.dumps(inputs, ensure_ascii=False)
    assert load_model(tmp_path / "out" / "model.json").estimator == "feasible"


@pytest.mark.parametrize("command", ["identify", "campaign"])
def test_a_folder_that_cannot_be_named_is_said(tmp_path, capsys, command):
    given = arguments("identify", tmp_path)
    if command == "campaign":
        (tmp_path / "m.toml").write_text('[[run]]\nname = "a"\nrobot = "planar2r"\nlogs = "log.csv"\n')
        given = ["identify", str(tmp_path / "m.toml")]
    assert main([*given, "--out", "a\0b"]) == 2
    assert "cannot be written: embedded null byte" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["identify", "retrieve", "excite", "simulate"])
def test_a_seed_below_zero_is_refused(tmp_path, capsys, command):
    assert main([*arguments(command, tmp_path), "--out", str(output(command, tmp_path)), "--seed", "-1"]) == 2
    assert "--seed -1: give a whole number that is not negative" in capsys.readouterr().err


# ---- kills and interrupts


@pytest.mark.slow
def test_a_run_killed_while_writing_leaves_the_old_files_or_the_new_ones(tmp_path):
    targets = [tmp_path / "model.json", tmp_path / "report.html"]
    script = (
        "from pathlib import Path; from dynid.disk import at_once, write_whole\nk = 0\nprint('ready', flush=True)\n"
        "while True:\n    k += 1; data = bytes([65 + k % 26]) * 1_500_000\n"
        "    with at_once(): write_whole(Path('model.json'), data); write_whole(Path('report.html'), data)"
    )
    rng = random.Random(1)
    for target in targets:
        write_whole(target, b"A" * 1_500_000)
    before = ord("A")
    for _ in range(15):
        process = subprocess.Popen(
            [sys.executable, "-c", script], cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
        )
        process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.05))
        process.kill()
        process.communicate(timeout=PATIENCE)
        data = [target.read_bytes() for target in targets]
        assert [len(one) for one in data] == [1_500_000, 1_500_000]
        assert [len(set(one)) for one in data] == [1, 1]
        # The model appears last: a kill between the two renames leaves the one before, be it of this run or, at its
        # first pair, of the run before.
        model, report = (one[0] for one in data)
        assert (report - model) % 26 in (0, 1) or (report, model) == (ord("B"), before)
        before = model
    left = [path.name for path in tmp_path.iterdir() if path not in targets]
    assert all(name.startswith((".model.json.", ".report.html.")) and name.endswith(".part") for name in left)


def test_files_written_at_once_appear_together_the_first_one_last(tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("old")
    placed = []
    replace = os.replace

    def placing(temporary: Path, target: Path) -> None:
        placed.append(target.name)
        replace(temporary, target)

    monkeypatch.setattr("dynid.disk.os.replace", placing)
    with at_once():
        write_whole(tmp_path / "model.json", "first try")
        write_whole(tmp_path / "report.html", "new")
        write_whole(tmp_path / "model.json", "new")
        assert (tmp_path / "report.html").read_text() == "old"
        assert not (tmp_path / "model.json").exists()
    assert placed == ["report.html", "model.json"]
    assert files_of(tmp_path) == {"model.json": b"new", "report.html": b"new"}
    write_whole(tmp_path / "model.json", "alone")
    assert files_of(tmp_path) == {"model.json": b"alone", "report.html": b"new"}


def test_of_files_written_at_once_none_is_left_when_one_fails(tmp_path):
    (tmp_path / "folder").mkdir()

    def write() -> None:
        with at_once():
            write_whole(tmp_path / "model.json", "new")
            write_whole(tmp_path / "folder", "new")

    with pytest.raises(OutputError, match="folder: cannot be written: it is a folder"):
        write()
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


LONG = {
    "excite": ["excite", "panda", "--time-budget", "300", "--out"],
    "simulate": ["simulate", "panda", "--duration", "20000", "--rate", "1000", "--out"],
    "identify": ["identify", "panda", "long.csv", "--estimator", "retrieval", "--out"],
    "retrieve": ["retrieve", "model.json", "--runs", "10000", "--time-budget", "300", "--out"],
    "track": ["track", "model.json", "udp:0", "--out"],
    "demo": ["demo", "--out"],
}
"""Runs that take long enough to be interrupted."""


def interrupted(command: list[str], folder: Path, delay: float) -> tuple[int, str]:
    process = started(command, folder)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, said = finished(process)
    return process.returncode, said


@pytest.mark.slow
@pytest.mark.parametrize("command", LONG)
def test_an_interrupt_ends_a_command_with_130_and_no_half_file(tmp_path, command):
    saved(tmp_path / "model.json")
    if command == "identify":
        assert main(["simulate", "panda", "--duration", "60", "--out", str(tmp_path / "long.csv")]) == 0
    before = files_of(tmp_path)
    code, said = interrupted([*LONG[command], str(output(command, tmp_path))], tmp_path, 2.5)
    assert "Traceback" not in said
    new = {name: data for name, data in files_of(tmp_path).items() if name not in before}
    assert not any(name.endswith(".part") for name in new)
    if code == 130:
        assert "interrupted; nothing was left half-written" in said
        assert not any(name.endswith("model.json") for name in new)
    else:
        # A search that already has something to show keeps it.
        assert code in (0, 1)
        assert new


def test_an_interrupt_ends_a_live_stream_that_has_begun_and_keeps_what_it_gave():
    class Interrupted(socket.socket):
        n_left = 0

        def recv(self, *_: int) -> bytes:
            self.n_left -= 1
            if self.n_left < 0:
                raise KeyboardInterrupt
            return json.dumps({"t": 0.0, "q": [0.1], "dq": [0.0], "tau": [1.0]}).encode()

    with Interrupted() as source:
        source.n_left = 2
        assert len(list(udp_samples(0, 1, ready=source))) == 2
        source.n_left = 0
        with pytest.raises(KeyboardInterrupt):
            next(udp_samples(0, 1, ready=source))


@pytest.mark.parametrize("place", ["<frozen importlib._bootstrap>", "<string>", "work.py"])
def test_an_interrupt_waits_for_imports_and_generated_code_to_end(monkeypatch, place):
    armed = []
    monkeypatch.setattr("dynid.__main__.signal.setitimer", lambda *given: armed.append(given))
    inner: dict[str, FrameType] = {}
    run = compile("def run(work): work()", dynid.__main__.__file__, "exec")
    work = compile("import sys\ndef work(): inner['frame'] = sys._getframe()", place, "exec")
    names: dict[str, Any] = {"inner": inner}
    exec(run, names)
    exec(work, names)
    names["run"](names["work"])
    if place == "work.py":
        with pytest.raises(KeyboardInterrupt):
            _interrupt(signal.SIGINT, inner["frame"])
        assert armed == []
    else:
        _interrupt(signal.SIGINT, inner["frame"])
        assert armed == [(signal.ITIMER_REAL, AGAIN_SECONDS)]


def test_an_interrupt_lost_in_a_finaliser_comes_again(monkeypatch, capsys):
    armed = []
    monkeypatch.setattr("dynid.__main__.signal.setitimer", lambda *given: armed.append(given))
    _unraisable(SimpleNamespace(exc_type=KeyboardInterrupt))
    assert armed == [(signal.ITIMER_REAL, AGAIN_SECONDS)]
    assert capsys.readouterr().err == ""


# ---- solvers and workers


@pytest.mark.parametrize("status", ["MaxIterations", "MaxTime", "NumericalError", "InsufficientProgress", "Unsolved"])
def test_a_solver_that_fails_or_stops_early_is_a_status_and_exit_code_1(tmp_path, monkeypatch, capsys, status):
    given = arguments("identify", tmp_path)

    class Failing:
        def __init__(self, P: object, linear: np.ndarray, A: np.ndarray, *_: object) -> None:
            self.n, self.m = len(linear), A.shape[0]

        def solve(self) -> object:
            value = np.zeros if status.startswith("Max") else lambda n: np.full(n, np.nan)
            return SimpleNamespace(
                status=status, x=value(self.n), z=value(self.m), obj_val=np.nan, obj_val_dual=np.nan, iterations=1
            )

    monkeypatch.setattr("clarabel.DefaultSolver", Failing)
    given.remove("--force")
    assert main([*given, "--estimator", "feasible", "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.strip()


@pytest.mark.slow
def test_a_worker_that_dies_is_said(tmp_path):
    saved(tmp_path / "model.json")
    (tmp_path / "deadly.py").write_text(
        "import os\ndef die(links):\n    return 0.0 if os.environ['MAIN'] == str(os.getpid()) else os._exit(3)\n"
    )
    (tmp_path / "r.toml").write_text('functions = ["deadly:die"]\n')
    script = (
        "import os, sys; os.environ['MAIN'] = str(os.getpid()); from dynid.cli import main\n"
        "sys.exit(main('retrieve model.json --out out --runs 3 --workers 2 --config r.toml --allow-code'.split()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 2
    assert "a worker process ended before its search did" in done.stderr
    assert not (tmp_path / "out" / "model.json").exists()


# ---- two at once


def test_two_runs_into_one_folder_never_mix(tmp_path):
    mixed = []

    def run(number: int) -> None:
        for _ in range(5):
            with claimed(tmp_path / "out"):
                write_whole(tmp_path / "out" / "model.json", str(number))
                time.sleep(0.002)
                write_whole(tmp_path / "out" / "report.html", str(number))
                pair = {(tmp_path / "out" / name).read_text() for name in ("model.json", "report.html")}
                if len(pair) > 1:
                    mixed.append(pair)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=PATIENCE)
    assert mixed == []
    assert sorted(files_of(tmp_path)) == ["out/model.json", "out/report.html"]


def test_a_run_that_waits_too_long_for_another_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "CLAIM_PATIENCE", 0.1)
    told = []

    def other_run() -> None:
        try:
            with claimed(tmp_path):
                told.append("claimed")
        except OutputError as error:
            told.append(str(error))

    def wait_for_other() -> None:
        thread = threading.Thread(target=other_run)
        thread.start()
        thread.join(timeout=PATIENCE)

    with claimed(tmp_path):
        wait_for_other()
        assert "another run of dynid is writing there" in told.pop()
        # The run that has the folder may claim it again, and keeps it when it is through with that.
        with claimed(tmp_path):
            assert list(tmp_path.iterdir()) == []
        wait_for_other()
        assert "another run of dynid is writing there" in told.pop()
    wait_for_other()
    assert told == ["claimed"]


@pytest.mark.slow
def test_two_commands_at_once_leave_the_files_of_one(tmp_path):
    runs = []
    for name in ("one", "two"):
        robot = denavit(tmp_path / f"{name}.toml", ("a", "b"), name)
        assert main(["simulate", str(robot), "--duration", "10", "--out", str(tmp_path / f"{name}.csv")]) == 0
        command = ["identify", f"{name}.toml", f"{name}.csv", "--out", "out", "--force"]
        runs.append(started(command, tmp_path))
    for run in runs:
        _, said = finished(run)
        assert run.returncode in (0, 1), said
    named = json.loads((tmp_path / "out" / "model.json").read_text())["robot"]["name"]
    assert f"{named}.csv" in (tmp_path / "out" / "run.json").read_text()
    assert named in (tmp_path / "out" / "report.html").read_text(encoding="utf-8").partition("</h1>")[0]
