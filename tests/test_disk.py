import errno

import pytest

from dynid.disk import write_whole
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
