"""Every example that a help text or the README shows is run as it stands."""

import ast
import json
import os
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import dynid.cli
from dynid import TorqueModel, base_parameters, load_robot
from dynid.chain import InertialParameters
from dynid.cli import COMMANDS, main
from dynid.dynamics import LagrangianModel, friction_models
from dynid.recording import write_csv
from dynid.simulation.motions import smooth_motion
from dynid.simulation.synthetic import plausible_parameters, synthesise

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"^\s*Example: (dynid .*)$", re.MULTILINE)


def functions_with_help() -> dict[str, str]:
    """The docstring of every command, by what is typed."""
    found = {}
    for name in COMMANDS:
        tree = ast.parse((Path(dynid.cli.__file__).parent / f"{name}.py").read_text(encoding="utf-8"))
        nodes = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        own = [node for node in nodes if node.name == name]
        parts = own or [node for node in nodes if node.decorator_list]
        for node in parts:
            typed = name if own else f"{name} {node.name.rstrip('_')}"
            found[typed] = ast.get_docstring(node) or ""
    return found


HELP = functions_with_help()
HELP_EXAMPLES = {line for doc in HELP.values() for line in EXAMPLE.findall(doc)}


def readme_commands() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [line.split("  #")[0].strip() for line in text.splitlines() if line.startswith("dynid identify ")]
    return [*shown, *re.findall(r"^\| `(dynid [^`]+)` \|", text, re.MULTILINE)]


def run(command: str) -> None:
    words = shlex.split(command)[1:]
    if words[0] == "excite":
        words += ["--time-budget", "1"]  # The example may search for half a minute.
    if words[0] == "live":
        words += ["--seconds", "2"]  # It would show its page until Ctrl-C.
    if words[:2] == ["data", "fetch"] and "DYNID_DATA" not in os.environ:
        return  # Tests do not talk to the network.
    assert main(words) == 0, command


def written(folder: Path, robot: str, names: tuple[str, ...], *, load: float = 0.0) -> None:
    """Logs of a robot with friction and a load at the last link: two motions, the second under all further names."""
    model = TorqueModel(load_robot(robot), friction_models("viscous+coulomb+offset"))
    theta = plausible_parameters(model).copy()
    carried = InertialParameters.from_com(load, [0.0, 0.02, 0.05], 0.002 * np.eye(3)) if load else None
    if carried is not None:
        last = slice(model.n_inertial - 10, model.n_inertial)
        theta[last] += carried.pi
    for number, name in enumerate(names[:2]):
        rng = np.random.default_rng(number)
        motion = smooth_motion(model.robot, rng, kind="fourier", duration=12.0, rate_hz=200.0)
        write_csv(synthesise(model, motion, rng, theta=theta, source=name).recording, folder / name)
    for name in names[2:]:
        shutil.copy(folder / names[1], folder / name)


def write_controller(folder: Path, robot: str) -> None:
    model = TorqueModel(load_robot(robot))
    base = base_parameters(model)
    own = LagrangianModel(model, base, base.project(model.nominal()))
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (60, model.n_dof))
    M, g = own.inertia_matrix(q), own.gravity(q)
    n = model.n_dof
    header = [f"q{i + 1}" for i in range(n)]
    header += [f"M{i + 1}{j + 1}" for i in range(n) for j in range(i + 1)] + [f"g{i + 1}" for i in range(n)]
    rows = np.column_stack([q, *(M[:, i, j] for i in range(n) for j in range(i + 1)), g])
    np.savetxt(folder / "controller_model.csv", rows, delimiter=",", header=",".join(header), comments="")


LOGS = ("run.csv", "run1.csv", "run2.csv", "run3.csv", "run4.csv", "run5.csv", "log.csv", "other.csv", "without.csv")


@pytest.fixture(scope="module")
def panda(tmp_path_factory):
    """A folder with what the examples of the help texts name, all of the Panda."""
    folder = tmp_path_factory.mktemp("help")
    here = Path.cwd()
    os.chdir(folder)
    try:
        written(folder, "panda", (*LOGS, "sinusoids.csv"))
        written(folder, "panda", ("with_load.csv", "loaded.csv"), load=2.0)
        write_controller(folder, "panda")
        manifest = '[[run]]\nname = "cell1"\nrobot = "panda"\nlogs = "run1.csv"\nestimator = "ols"\n'
        (folder / "arms.toml").write_text(manifest, encoding="utf-8")
        (folder / "bounds.csv").write_text("parameter,lower,upper\nm1,0,10\n", encoding="utf-8")
        np.savetxt(folder / "ur-rows.csv", np.column_stack([0.01 * np.arange(500), np.ones((500, 30))]), delimiter=",")
        shutil.copy("run.csv", "traj.csv")
        run("dynid identify panda run1.csv --out result")
        (folder / "arm.urdf").write_bytes((folder / "result" / "robot.urdf").read_bytes())
    finally:
        os.chdir(here)
    return folder


def test_every_command_has_an_example_of_itself():
    without = [typed for typed, doc in HELP.items() if not any(f"dynid {typed}" in x for x in EXAMPLE.findall(doc))]
    assert without == []


@pytest.mark.parametrize("typed", HELP)
def test_help_shows_the_example(typed, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main([*typed.split(), "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for line in EXAMPLE.findall(HELP[typed]):
        assert f"Example: {line}" in text
    assert "--json" in text


@pytest.mark.parametrize("command", sorted(HELP_EXAMPLES))
def test_the_examples_of_the_help_run(command, panda, monkeypatch, capsys):
    if command.startswith("dynid demo"):
        pytest.skip("tests/cli/test_demo.py runs it")
    if command.startswith("dynid reverse"):
        command = command.replace("--out result", "--out controller")  # The others want the identified model.
    monkeypatch.chdir(panda)
    run(command)
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    if command == "dynid data list":
        assert main(["data", "list", "--json"]) == 0
        assert {"name", "licence", "source", "files"} <= set(json.loads(capsys.readouterr().out)["data_sets"][0])


def test_the_commands_of_the_readme_run_in_their_order(panda, monkeypatch, capsys):
    monkeypatch.chdir(panda)
    commands = readme_commands()
    assert len(commands) >= 15
    for command in commands:
        run(command)
    assert "Traceback" not in capsys.readouterr().err
