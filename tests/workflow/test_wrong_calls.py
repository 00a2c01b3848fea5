"""Wrong types given to the jobs are told what was expected, not shown a traceback from the inside."""

import json
import subprocess
import sys

import pytest

from tests.processes import ENVIRONMENT, PATIENCE
from tests.workflow.wrong_calls import WRONG


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    done = subprocess.run(
        [sys.executable, "-m", "tests.workflow.wrong_calls"],
        cwd=tmp_path_factory.mktemp("calls"),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_type_is_told_what_was_expected(told, name):
    assert WRONG[name][1] in told[name]


def test_every_number_of_every_job_is_among_them():
    jobs = {name.split()[0] for name in WRONG if " without " in name}
    assert jobs >= {"identify", "validate", "payload", "friction", "track", "retrieve", "excite", "simulate", "rollout"}
    assert {"identify without lowpass", "excite without time_budget", "simulate without jitter"} <= set(WRONG)
