"""Files for controllers: right joints, stamps and start pose, from rest to rest, and rehearsals of the same path."""

import csv
import re
from typing import Any

import numpy as np
import pytest

import dynid
from dynid.cli import main
from dynid.errors import ConfigError, ExcitationError
from dynid.excitation import CONTROLLERS, KeepOut, Trajectory, read_coefficients, read_motion_file, write_controller
from dynid.excitation.trajectory import Move
from dynid.excitation.trajectory_files import write_coefficients

FORMAT = 'format = "dynid trajectory 1"'
QUICK: dict[str, Any] = {"restarts": 1, "time_budget": 1.0, "rate": 100.0, "picture": False, "harmonics": 2}


def moves(n_dof: int) -> Trajectory:
    """There and back along a quintic, from rest to rest."""
    rng = np.random.default_rng(n_dof)
    one, two = rng.uniform(-1.0, 1.0, (2, n_dof))
    return Trajectory(tuple(f"joint {k}" for k in range(n_dof)), (Move(one, two, 1.5), Move(two, one, 2.0)))


@pytest.mark.parametrize(("kind", "n_dof", "rate_hz"), [("ros", 3, 100.0), ("urscript", 6, 125.0), ("franka", 7, 1e3)])
def test_files_hold_the_motion_at_the_controllers_rate(tmp_path, kind, n_dof, rate_hz):
    trajectory, path = moves(n_dof), tmp_path / "file"
    write_controller(path, kind, trajectory)
    table = CONTROLLERS[kind].read(path.read_text(encoding="utf-8"))
    t = np.arange(int(np.ceil(3.5 * rate_hz - 1e-9)) + 1) / rate_hz
    np.testing.assert_allclose(table[:, 0], t, atol=1e-9)
    states = trajectory.at(np.minimum(t, trajectory.duration))
    np.testing.assert_allclose(table[:, 1:], states.q, atol=1e-10)
    np.testing.assert_array_equal(states.dq[[0, -1]], 0.0)


def test_each_format_can_be_read_by_others(tmp_path):
    for kind, n_dof in (("ros", 6), ("urscript", 6), ("franka", 7)):
        write_controller(tmp_path / kind, kind, moves(n_dof))
    with (tmp_path / "franka").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[1]["t"]) == 0.001
    assert float(rows[0]["dq7"]) == 0.0
    script = (tmp_path / "urscript").read_text(encoding="utf-8")
    start = re.search(r"movej\(\[(.*?)\]", script)
    assert start is not None
    np.testing.assert_allclose([float(x) for x in start[1].split(",")], moves(6).at(np.zeros(1)).q[0], atol=1e-10)
    assert script.count("servoj(") == 439
    assert script.strip().endswith("end\ndynid_motion()")
    message = (tmp_path / "ros").read_text(encoding="utf-8")
    assert 'joint_names: ["joint 0", "joint 1"' in message
    assert message.count("time_from_start") == 351


def test_a_controller_of_another_arm_is_refused(tmp_path):
    with pytest.raises(ExcitationError, match="`urscript`: URScript is for arms of 6 joints, this motion has 7"):
        write_controller(tmp_path / "f", "urscript", moves(7))
    assert not (tmp_path / "f").exists()


def test_a_rehearsal_is_the_same_path_more_slowly(tmp_path):
    trajectory = moves(4)
    slow = trajectory.slowed(0.2)
    assert slow.duration == pytest.approx(5.0 * trajectory.duration)
    t = np.linspace(0.0, trajectory.duration, 300)
    fast, same = trajectory.at(t), slow.at(t / 0.2)
    np.testing.assert_allclose(same.q, fast.q, atol=1e-12)
    np.testing.assert_allclose(same.dq, 0.2 * fast.dq, atol=1e-12)
    np.testing.assert_allclose(same.ddq, 0.04 * fast.ddq, atol=1e-12)
    numeric = np.gradient(slow.at(t).q, t, axis=0)
    np.testing.assert_allclose(numeric[2:-2], slow.at(t).dq[2:-2], atol=1e-3)
    with pytest.raises(ExcitationError, match="`scale` 2: a rehearsal runs at a part of the speed"):
        trajectory.slowed(2.0)


def test_the_motion_file_keeps_floor_and_boxes_and_old_files_read_on(tmp_path):
    box = KeepOut(np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.5, 0.6]))
    write_coefficients(tmp_path / "m.toml", moves(2), floor=-0.5, keep_out=(box,))
    file = read_motion_file(tmp_path / "m.toml")
    assert file.floor == -0.5
    np.testing.assert_array_equal(file.keep_out[0].upper, box.upper)
    assert file.trajectory is not None
    np.testing.assert_array_equal(file.trajectory.at(np.ones(1)).q, moves(2).at(np.ones(1)).q)
    write_coefficients(tmp_path / "old.toml", moves(2))
    assert read_motion_file(tmp_path / "old.toml").floor is None
    (tmp_path / "cell.toml").write_text(
        f'{FORMAT}\nfloor = "none"\n[[keep_out]]\nlower = [0.3, -1.0, 0.0]\nupper = [1.0, 1.0, 0.4]\n'
    )
    assert read_motion_file(tmp_path / "cell.toml").trajectory is None
    with pytest.raises(ExcitationError, match=r"cell\.toml: piece: the file holds no motion"):
        read_coefficients(tmp_path / "cell.toml")
    (tmp_path / "bad.toml").write_text('format = "dynid trajectory 1"\n[[keep_out]]\nlower = [0, 0, 0]\n')
    with pytest.raises(ExcitationError, match=r"bad\.toml: keep_out\.0\.upper"):
        read_motion_file(tmp_path / "bad.toml")
    (tmp_path / "bad.toml").write_text(
        'format = "dynid trajectory 1"\n[[keep_out]]\nlower = [1, 1, 1]\nupper = [0, 0, 0]\n'
    )
    with pytest.raises(ExcitationError, match=r"bad\.toml: keep-out box .* is empty"):
        read_motion_file(tmp_path / "bad.toml")


def test_the_command_keeps_out_of_the_boxes_of_a_motion_file_and_rehearses_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cell.toml").write_text(
        f"{FORMAT}\nfloor = -1.0\n[[keep_out]]\nlower = [0.5, -0.2, -2.0]\nupper = [3.0, 0.2, 2.0]\n"
    )
    quick = ["--restarts=1", "--time-budget=1", "--rate=100", "--no-picture", "--harmonics=2", "--scale=0.2"]
    assert main(["excite", "spatial2r", "--motion", "cell.toml", "--out", "a.csv", "--ros", "a.yaml", *quick]) == 0
    told = capsys.readouterr().out
    assert told.startswith("clearance  20 mm, above the floor z = -1 m, out of the keep-out boxes")
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["a-rehearsal.csv", "a-rehearsal.yaml", "a.csv", "a.toml", "a.yaml", "cell.toml"]
    table, slow = (np.loadtxt(name, delimiter=",", skiprows=1) for name in ("a.csv", "a-rehearsal.csv"))
    assert slow[-1, 0] == pytest.approx(5.0 * table[-1, 0], abs=0.1)
    # The same motion again, with the boxes that its file remembers.
    assert main(["excite", "spatial2r", "--motion", "a.toml", "--out", "b.csv", "--rate", "100", "--no-picture"]) == 0
    np.testing.assert_allclose(np.loadtxt("b.csv", delimiter=",", skiprows=1), table, atol=1e-11)
    assert "keep-out boxes" in capsys.readouterr().out
    everywhere = (tmp_path / "a.toml").read_text().replace("lower = [0.5, -0.2, -2.0]", "lower = [-3.0, -3.0, -2.0]")
    (tmp_path / "c.toml").write_text(everywhere.replace("upper = [3.0, 0.2, 2.0]", "upper = [3.0, 3.0, 2.0]"))
    assert main(["excite", "spatial2r", "--motion", "c.toml", "--out", "d.csv"]) == 2
    assert "--motion: it does not keep clearance of keep-out 1" in capsys.readouterr().err
    assert not (tmp_path / "d.csv").exists()


def test_python_takes_boxes_floor_and_scale_and_says_what_is_wrong():
    result: Any = dynid.excite("spatial2r", floor=None, keep_out=[(0.5, -0.2, -2, 3, 0.2, 2)], scale=0.5, **QUICK)
    assert result.json()["clearance"]["unchecked"][0] == "floor (turned off)"
    assert "keep-out 1" in " ".join(use.label for use in result.certificate.uses)
    assert result.rehearsal.duration == pytest.approx(2.0 * result.trajectory.duration)
    assert str(result).startswith("clearance  20 mm, out of the keep-out boxes")
    wrong: dict[str, tuple[Any, str]] = {
        "floor": ("low", "`floor` low: give a height in m in the base frame, or none"),
        "keep_out": ([(1, 2)], r"`keep_out` \(1, 2\): each box is six numbers"),
        "scale": (3.0, "`scale` 3.0: a rehearsal runs at a part of the speed"),
        "clearance": (-0.1, "`clearance` -0.1: give a distance in m that is not negative"),
        "motion": (3, "motion: expected a motion file or a Trajectory, got int"),
    }
    for name, (value, message) in wrong.items():
        with pytest.raises(ConfigError, match=message):
            dynid.excite("planar2r", **{**QUICK, name: value})
