"""Wrong types given to the jobs are told what was expected, not shown a traceback from the inside."""

import json
import subprocess
import sys

import pytest

from tests.processes import ENVIRONMENT, PATIENCE, ROOT

MODEL = "model: expected a model.json or an IdentifiedModel, got int"
A_LOG = "expected a log file, a Recording or arrays by name"
EXPECTED = {
    "reverse robot": "robot: expected a built-in name, a robot file or a Robot, got int",
    "reverse samples": "samples: expected a CSV file, ControllerSamples or arrays by name (q, M, g), got int",
    "retrieve model": MODEL,
    "retrieve engine": "engine: no 'luck'; known: annealing, multistart",
    "retrieve objective": "objective: no 'beauty'; known: coefficients, one-step",
    "retrieve bounds": "bounds: expected a CSV file or (lower, upper) by parameter, got int",
    "retrieve config": "config: expected a TOML file or ",
    "retrieve seed": "`seed` 0.5: give a whole number",
    "friction model": MODEL,
    "friction logs": f"logs: {A_LOG}",
    "friction friction": "friction: expected names joined by +, or friction models, got int",
    "friction against": MODEL,
    "payload model": MODEL,
    "payload log": f"log: {A_LOG}",
    "payload logs": "log: expected one log, got 2",
    "payload unloaded": f"unloaded: {A_LOG}",
    "payload flange": "give x y z in m and roll pitch yaw in rad",
    "payload mass": "known_mass: expected a number, got str",
    "payload gains": "`gains` 7: ",
    "payload columns": "columns: expected a mapping file or a ColumnMap, got int",
    "save": "out: expected a path, got int",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    done = subprocess.run(
        [sys.executable, "-m", "tests.workflow.wrong_calls"],
        cwd=tmp_path_factory.mktemp("calls"),
        env={**ENVIRONMENT, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_wrong_type_is_told_what_was_expected(told, name):
    assert EXPECTED[name] in told[name]
