import json

import dynid
from dynid.cli import main
from dynid.prose import plain


def test_the_call_tells_what_the_command_tells(capsys):
    result = dynid.info("panda", friction="viscous", lock=["joint7=0.1"], gravity=(0.0, 0.0, -1.62))
    arguments = ["info", "panda", "--friction", "viscous", "--lock", "joint7=0.1", "--gravity", "0", "0", "-1.62"]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == plain(result.json())
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"{result}\n"


def test_a_result_prints_as_a_person_reads():
    result = dynid.info(dynid.load_robot("planar2r"), rotor_inertia=True)
    assert repr(result) == "RobotInfo('planar2r': 2 joints, 13 base parameters of 28)"
    assert "base parameter: what torque can reveal" in str(result)
    assert "<table>" in result._repr_html_()
    assert result.warnings == ()


def test_one_joint_is_no_joints(tmp_path):
    path = tmp_path / "pendulum.toml"
    path.write_text(
        'name = "pendulum"\nconvention = "standard"\n[[joint]]\nname = "swing"\na = 0.5\nalpha = 0\nd = 0\n'
    )
    result = dynid.info(path, friction="none")
    assert str(result).startswith("robot      pendulum   1 joint, 1 base parameter of 10\n")
    assert repr(result) == "RobotInfo('pendulum': 1 joint, 1 base parameter of 10)"


def test_lint_prints_as_its_command(capsys):
    assert main(["lint", "wam7"]) == 0
    assert capsys.readouterr().out == f"{dynid.lint('wam7')}\n"
    assert "7 links" in repr(dynid.lint("wam7"))
