import json
from typing import Any

import numpy as np
import pytest

import dynid
from dynid.cli import main
from dynid.errors import OutputError
from dynid.prose import plain

QUICK: dict[str, Any] = {
    "restarts": 1,
    "time_budget": 60.0,
    "workers": 1,
    "harmonics": 2,
    "base_frequency": 0.5,
    "rate": 100.0,
}
TYPED = [word for name, value in QUICK.items() for word in ("--" + name.replace("_", "-"), str(value))]
TABLE = """
name = "scara"
convention = "modified"
[[joint]]
name = "shoulder"
a = 0.0
alpha = 0.0
d = 0.3
position_limits = [-2.0, 2.0]
velocity_limit = 2.0
[[joint]]
name = "elbow"
a = 0.4
alpha = 0.0
d = 0.0
position_limits = [-2.0, 2.0]
velocity_limit = 2.0
"""


def test_the_call_and_the_command_give_the_same_bytes(tmp_path, capsys):
    result: Any = dynid.excite("planar2r", ros=tmp_path / "call.yaml", picture=False, noise=[0.1, 0.2], **QUICK)
    saved = dynid.save(result, tmp_path / "call.csv")
    assert sorted(saved.files) == ["coefficients", "ros", "trajectory"]
    names = ["--out", str(tmp_path / "command.csv"), "--ros", str(tmp_path / "command.yaml")]
    assert main(["excite", "planar2r", *names, "--no-picture", "--noise", "0.1,0.2", "--json", *TYPED]) == 0
    told = json.loads(capsys.readouterr().out)
    del told["files"]
    assert told == plain(result.json())
    for ending in ("csv", "toml", "yaml"):
        assert (tmp_path / f"call.{ending}").read_bytes() == (tmp_path / f"command.{ending}").read_bytes()


def test_a_motion_and_poses_print_as_a_person_reads(capsys, tmp_path):
    motion: Any = dynid.excite("planar2r", kind="random", rate=100.0)
    assert repr(motion).startswith("ExcitingTrajectory('planar2r': ")
    assert "condition" in str(motion)
    assert "position / rad " in str(motion)  # every number has its unit
    assert "acceleration / rad/s² " in str(motion)
    assert f"{motion.start[0]:.4g} rad, {motion.start[1]:.4g} rad\n" in str(motion)
    assert "<table>" in motion._repr_html_()
    arguments = ["excite", "planar2r", "--kind", "random", "--rate", "100", "--no-picture"]
    assert main([*arguments, "--out", str(tmp_path / "t.csv")]) == 0
    assert capsys.readouterr().out.startswith(str(motion))
    poses: Any = dynid.excite("planar2r", kind="gravity-poses", poses=6)
    assert poses.poses.shape == (6, 2)
    assert repr(poses).startswith("ExcitingPoses('planar2r': 6 poses, condition number ")
    assert "base parameters that these poses can show" in str(poses)


def test_a_motion_adds_to_an_earlier_one_given_as_value_or_file(tmp_path):
    first: Any = dynid.excite("planar2r", kind="random", rate=100.0)
    dynid.save(first, tmp_path / "first.csv")
    by_value: Any = dynid.excite("planar2r", kind="sinusoids", rate=100.0, after=first.trajectory)
    by_file: Any = dynid.excite("planar2r", kind="sinusoids", rate=100.0, after=tmp_path / "first.toml")
    np.testing.assert_array_equal(by_value.std, by_file.std)
    assert np.all(by_value.std < first.std)


def test_progress_is_heard(tmp_path):
    heard = []
    dynid.excite("planar2r", progress=lambda text, share=None: heard.append((text, share)), **QUICK)
    assert any("condition number" in text for text, _ in heard)
    assert all(share is None or share >= 0.0 for _, share in heard)


def test_the_coefficients_never_replace_the_robot_file(tmp_path, capsys):
    robot = tmp_path / "scara.toml"
    robot.write_text(TABLE)
    arguments = ["excite", str(robot), "--out", str(tmp_path / "scara.csv"), *TYPED]
    assert main(arguments) == 2
    assert "scara.toml: is read by this very run" in capsys.readouterr().err
    assert robot.read_text() == TABLE
    assert not (tmp_path / "scara.csv").exists()
    with pytest.raises(OutputError, match=r"scara\.toml"):
        dynid.save(dynid.excite(robot, kind="random", rate=100.0), tmp_path / "scara.csv")
    (tmp_path / "mine.toml").write_text("[settings]\n")
    with pytest.raises(OutputError, match=r"mine\.toml: is there already"):
        dynid.save(dynid.excite("planar2r", kind="random", rate=100.0), tmp_path / "mine.csv")
    assert (tmp_path / "mine.toml").read_text() == "[settings]\n"
