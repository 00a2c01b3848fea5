"""Wrong types at the doors of the library are told what was expected, not shown a traceback from the inside."""

import json
import subprocess
import sys

import pytest

from tests.processes import ENVIRONMENT, PATIENCE, ROOT

EXPECTED = {
    "robot": "robot: expected a built-in name, a robot file or a Robot, got int",
    "load_robot": "must be the path of a robot file, or one of panda, wam7, planar2r, spatial2r; got 3 (int)",
    "logs": "logs: expected a log file, a Recording or arrays by name (t, q, tau, and dq where there is one), "
    "or a list of these, got int",
    "log": "dq where there is one), got NoneType",
    "estimator": "estimator: no 'best'; known: ols, wls, robust, feasible, retrieval",
    "friction": "friction: expected names joined by +, got tuple",
    "columns": "columns: expected a mapping file or a ColumnMap, got int",
    "seed": "`seed` 0.5: give a whole number that is not negative",
    "validate": "model: expected a model.json or an IdentifiedModel, got int",
    "predict": "model: expected a model.json or an IdentifiedModel, got NoneType",
    "examine": "log: expected a log file, a Recording or arrays by name",
    "save": "save: expected a result of dynid.identify and its like, got int",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    done = subprocess.run(
        [sys.executable, "-m", "tests.workflow.doors"],
        cwd=tmp_path_factory.mktemp("doors"),
        env={**ENVIRONMENT, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("door", EXPECTED)
def test_a_wrong_type_is_told_what_was_expected(told, door):
    assert EXPECTED[door] in told[door]
