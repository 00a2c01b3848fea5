"""Damaged files of every kind end in an error of ours that names the file, or in a value that is valid."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzzing.targets import NAMES

ROOT = Path(__file__).resolve().parents[2]
GROUPS = {
    "robots": ("urdf", "mjcf", "dh", "lint"),
    "settings and models": tuple(NAMES[4:14]),
    "logs": tuple(NAMES[14:]),
}
N_CASES = 20_000
SHARE = 0.76
"""Of the cases of each target, so that the suite keeps its time; ``make fuzz`` goes on as long as it is told."""


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_a_damaged_file_is_refused_by_name_or_gives_a_valid_value(tmp_path, group):
    command = [sys.executable, "-m", "tests.fuzzing", *GROUPS[group], "--share", str(SHARE)]
    command += ["--keep", str(tmp_path / "failures")]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    failures = "\n".join(f"{entry['target']}: {text}" for entry in found for text in entry["failures"])
    assert done.returncode == 0, f"{failures}\nlast lines: {done.stderr[-2000:]}"
    assert [entry["target"] for entry in found] == list(GROUPS[group])
    # A battery in which nothing is accepted, or nothing refused, would test nothing.
    assert all(entry["accepted"] > 0 and entry["refused"] > 0 for entry in found)


def test_the_battery_has_the_promised_number_of_cases_and_leaves_no_target_out():
    from tests.fuzzing.targets import target

    assert sorted(name for names in GROUPS.values() for name in names) == sorted(NAMES)
    assert SHARE * sum(target(name).cases for name in NAMES) >= N_CASES
