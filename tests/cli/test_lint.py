import json

import pytest

from dynid.cli import main

ROBOT = """<?xml version='1.0'?>
<!-- kept -->
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><mass value="2.0"/><origin xyz="0 0 0.1"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="{izz}"/></inertial>
  </link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/></joint>
</robot>
"""


@pytest.fixture
def impossible(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ROBOT.format(izz="0.05"))
    return path


def test_a_possible_robot_passes(tmp_path, capsys):
    path = tmp_path / "arm.urdf"
    path.write_text(ROBOT.format(izz="0.012"))
    assert main(["lint", str(path)]) == 0
    assert "nothing impossible" in capsys.readouterr().out
    assert main(["lint", "panda"]) == 0


def test_an_impossible_link_is_named_and_repaired(impossible, tmp_path, capsys):
    assert main(["lint", str(impossible)]) == 1
    assert "upper" in capsys.readouterr().out
    out = tmp_path / "repaired.urdf"
    assert main(["lint", str(impossible), "--repair", str(out)]) == 0
    assert main(["lint", str(out)]) == 0
    assert "<!-- kept -->" in out.read_text()


def test_json_lists_findings(impossible, capsys):
    assert main(["lint", str(impossible), "--json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert content["possible"] is False
    assert content["findings"][0]["severity"] == "impossible"
    assert content["findings"][0]["link"] == "upper"
    assert content["findings"][0]["fix"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot name='x'", "arm.urdf"),
        ("<!DOCTYPE r [<!ENTITY a 'b'>]><robot name='x'>&a;</robot>", "arm.urdf"),
        (ROBOT.format(izz="nan"), "upper"),
        (ROBOT.format(izz="lots"), "upper"),
    ],
)
@pytest.mark.parametrize("command", ["lint", "info"])
def test_unreadable_files_are_exit_code_2(tmp_path, text, message, command, capsys):
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    assert main([command, str(path)]) == 2
    captured = capsys.readouterr()
    assert "arm.urdf" in captured.err
    assert message in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("mass", ["-1.0", "0.0"])
def test_info_warns_of_an_impossible_mass_and_names_the_remedy(tmp_path, mass, capsys):
    path = tmp_path / "arm.urdf"
    path.write_text(ROBOT.format(izz="0.012").replace('mass value="2.0"', f'mass value="{mass}"'))
    assert main(["info", str(path)]) == 0
    error = capsys.readouterr().err
    assert f"upper (mass is {float(mass):g} kg)" in error
    assert "dynid lint ROBOT --repair OUT" in error
    assert main(["info", str(path), "--ignore-inertials"]) == 0


def test_repair_of_a_built_in_robot_is_refused(tmp_path, capsys):
    assert main(["lint", "panda", "--repair", str(tmp_path / "x.urdf")]) == 2
    assert main(["lint", "pandda"]) == 2
    assert "did you mean 'panda'" in capsys.readouterr().err
