"""Every example runs as it stands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import PATIENCE

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path, tmp_path, request):
    environment = dict(os.environ)
    if "DYNID_DATA" in path.read_text(encoding="utf-8"):
        environment["DYNID_DATA"] = str(request.getfixturevalue("data_dir").resolve())
    done = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 5
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 80


def test_examples_are_numbered_without_gaps():
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
