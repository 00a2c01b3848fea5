import contextlib
import io
import json
import shutil
import subprocess
from typing import get_args

import pytest

from dynid.chain import BUILT_IN
from dynid.cli import COMMANDS, main
from dynid.cli.data import FormName, SetName
from dynid.cli.options import FrictionName, RobotName
from dynid.dynamics import FRICTION
from dynid.recording import CONVERTERS, DATA_SETS
from tests.processes import PATIENCE

ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_dynid
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The bash script as a user saves it."""
    path = tmp_path_factory.mktemp("completion") / "dynid.bash"
    with contextlib.redirect_stdout(io.StringIO()) as text:
        assert main(["completion", "bash"]) == 0
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def candidates(script, *words):
    if shutil.which("bash") is None:
        pytest.skip("bash is not here to try the script in")
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK, "bash", str(script), "dynid", *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    return done.stdout.split()


def test_bash_completes_commands_options_and_names(script):
    assert set(COMMANDS) <= set(candidates(script, ""))
    assert candidates(script, "info", "p") == ["panda", "planar2r"]
    assert candidates(script, "identify", "--estimator", "") == ["ols", "wls", "robust", "feasible", "retrieval"]
    assert candidates(script, "info", "panda", "--fri") == ["--friction"]
    assert "stribeck" in candidates(script, "info", "panda", "--friction", "s")
    assert candidates(script, "data", "") == ["list", "fetch", "convert"]
    assert candidates(script, "data", "fetch", "ur") == ["ur10e", "ur10e-contacts", "ur10"]


def test_bash_falls_back_to_files_where_no_name_fits(script):
    assert candidates(script, "info", "arm") == []
    assert "complete -o default -o bashdefault -F _dynid dynid" in script.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("hint", "names"),
    [
        (RobotName, BUILT_IN),
        (SetName, DATA_SETS),
        (FormName, CONVERTERS),
        (FrictionName, ("auto", "none", *FRICTION, "viscous+coulomb", "viscous+coulomb+offset")),
    ],
    ids=["robots", "data sets", "forms", "friction"],
)
def test_the_names_offered_are_the_names_there_are(hint, names):
    union = get_args(hint)[0]
    assert sorted(get_args(get_args(union)[0])) == sorted(names)


@pytest.mark.parametrize(("shell", "files"), [("zsh", ":_dynid_robots"), ("fish", "-F -a 'panda")])
def test_other_shells_have_names_and_files_for_a_robot(shell, files, capsys):
    assert main(["completion", shell, "--json"]) == 0
    text = json.loads(capsys.readouterr().out)["script"]
    assert files in text
    for name in (*COMMANDS, *BUILT_IN, *DATA_SETS):
        assert name in text


def test_an_unknown_shell_is_told(capsys):
    assert main(["completion", "tcsh"]) == 2
    assert "bash" in capsys.readouterr().err
