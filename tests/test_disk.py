import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from dynid.disk import HERE, write_whole
from dynid.errors import OutputError


def test_a_file_is_written_with_its_folders_and_nothing_else(tmp_path):
    target = tmp_path / "deep" / "report.html"
    write_whole(target, "text σ")
    assert target.read_text(encoding="utf-8") == "text σ"
    write_whole(target, b"new")
    assert target.read_bytes() == b"new"
    assert [path.name for path in target.parent.iterdir()] == ["report.html"]


def test_permissions_of_a_replaced_file_survive(tmp_path):
    target = tmp_path / "arm.urdf"
    target.write_text("old")
    target.chmod(0o600)
    write_whole(target, b"new")
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_failing_disk_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch):
    target = tmp_path / "model.json"
    target.write_text("old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("dynid.disk.os.fsync", full)
    with pytest.raises(OutputError, match=r"model\.json: cannot be written: No space left on device"):
        write_whole(target, b"new")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


def test_a_file_in_the_place_of_a_folder_is_said(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(OutputError, match="cannot be written"):
        write_whole(tmp_path / "out" / "model.json", b"new")


def test_what_a_killed_run_left_behind_is_removed_by_the_next(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(20.0)
    dead = tmp_path / f".model.json.{HERE}-{ended.pid}-0123abcd.part"
    alive = tmp_path / f".model.json.{HERE}-{os.getpid()}-0123abcd.part"
    other = tmp_path / f".run.json.{HERE}-{ended.pid}-0123abcd.part"
    elsewhere = tmp_path / f".model.json.ffffff-{ended.pid}-0123abcd.part"
    for path in (dead, alive, other, elsewhere):
        path.write_bytes(b"half")
    write_whole(tmp_path / "model.json", b"new")
    assert {path.name for path in tmp_path.iterdir()} == {alive.name, other.name, elsewhere.name, "model.json"}


WRITER = """
import sys, time
from dynid.disk import whole_file
from dynid import cli, __main__
def slow(arguments=None):
    with whole_file(sys.argv[1]) as file:
        file.write(b"half")
        print("writing", flush=True)
        time.sleep(60.0)
cli.main = slow
raise SystemExit(__main__.run())
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_run_that_is_asked_to_end_leaves_no_half_file(tmp_path, number, code):
    script, folder = tmp_path / "writer.py", tmp_path / "out"
    script.write_text(WRITER)
    command = [sys.executable, str(script), str(folder / "model.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"writing\n"
        assert len(list(folder.glob(".*.part"))) == 1
        time.sleep(0.1)
        process.send_signal(number)
        assert process.wait(20.0) == code
    assert list(folder.iterdir()) == []
