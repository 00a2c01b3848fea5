import json
import subprocess
import sys

import pytest

from dynid.cli import main
from tests.processes import PATIENCE


def test_info_shows_joints_base_parameters_and_what_is_never_seen(capsys):
    assert main(["info", "panda", "--friction", "none"]) == 0
    out = capsys.readouterr().out
    assert "7 joints, 43 base parameters of 70" in out
    assert "J2xx − J2yy + J3yy + 0.632·mc3z" in out
    assert "-2.897 … 2.897 rad" in out
    assert "never" in out
    assert "m1, mc1x" in out


def test_info_json_holds_the_contract(capsys):
    assert main(["info", "wam7", "--friction", "viscous+coulomb", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["n_base"] == 57
    assert content["n_parameters"] == 84
    assert content["columns"][0] == {"owner": "link1", "name": "m", "unit": "kg", "symbol": "m1"}
    assert content["joints"][0]["velocity_limit"] is None


def test_options_reach_the_robot(capsys):
    arguments = ["info", "panda", "--lock", "joint7", "--lock", "joint6=1.5", "--gravity", "0", "0", "-1.62", "--json"]
    assert main([*arguments, "--mount", "3.141592653589793", "0", "0"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["n_dof"] == 5
    assert content["gravity"] == pytest.approx([0.0, 0.0, 1.62], abs=1e-9)
    assert content["joints"][4]["includes"] == ["link6", "link7"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "pandda"], "no built-in robot or file 'pandda'; did you mean 'panda'"),
        (["info", "nowhere.urdf"], "nowhere.urdf: no such robot file"),
        (["info", "panda", "--lock", "elbow"], "no joint 'elbow'"),
        (["info", "panda", "--lock", "joint1=north"], "'north' is not a number"),
        (["info", "panda", "--friction", "sticky"], "no friction model 'sticky'"),
        (["info"], "info"),
        (["inform"], "inform"),
        (["info", "panda", "--colour"], "--colour"),
    ],
)
def test_wrong_usage_is_one_message_and_exit_code_2(arguments, message, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from dynid.cli import main\n"
        "main(['--help'])\n"
        "heavy = [m for m in ('numpy', 'scipy', 'numba', 'pinocchio', 'pydantic', 'plotly') if m in sys.modules]\n"
        "raise SystemExit(1 if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "info" in done.stdout
