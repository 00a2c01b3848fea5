"""Wrong types given to jobs about robots and motions are told what was expected."""

import json
import subprocess
import sys

import pytest

from tests.processes import ENVIRONMENT, PATIENCE, ROOT

ROBOT = "robot: expected a built-in name, a robot file or a Robot, got"
TRAJECTORY = "after: expected a file of coefficients or a Trajectory, got int"
EXPECTED = {
    "info robot": f"{ROBOT} int",
    "info friction": "friction: expected none, or names joined by +, got list",
    "lint robot": f"{ROBOT} list",
    "excite robot": f"{ROBOT} dict",
    "excite log": "log.csv: is a log, no robot file",
    "excite kind": "kind: no 'zigzag'; known: fourier, spline",
    "excite criterion": "criterion: no 'best'; known: condition, scaled, d-optimal",
    "excite noise": "`noise` loud: write numbers joined by commas",
    "excite start": "`start` a,b: write numbers joined by commas",
    "excite after": TRAJECTORY,
    "excite after list": TRAJECTORY,
    "excite frequency": "`base_frequency` -1: it must be positive",
    "excite keyword": "excite: no keyword 'harmonic'; did you mean 'harmonics'? known: friction, rotor_inertia, rate,",
    "excite seed": "`seed` 1: give a whole number",
    "simulate robot": f"{ROBOT} NoneType",
    "simulate noise": "`noise_q` much: write numbers joined by commas",
    "simulate noise list": "`noise_q` ['a']: write numbers joined by commas",
    "simulate values": "friction_values: expected values by symbol, a text or a file, got int",
    "simulate value": "friction_values: fc is None, not a number",
    "simulate seed": "`seed` 0.5: give a whole number",
    "simulate keyword": "simulate: no keyword 'noise_torque'; did you mean ",
    "simulate trajectory": "trajectory: expected a log file, a Recording or arrays by name",
    "simulate trajectories": "trajectory: expected one, got 2",
    "demo out": "out: expected a folder, got int",
    "demo seed": "`seed` -1: give a whole number",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    done = subprocess.run(
        [sys.executable, "-m", "tests.workflow.wrong_motion_calls"],
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
