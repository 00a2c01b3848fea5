"""Public robot files as they are found load, and their torque is that of Pinocchio or MuJoCo."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.bench_robots import SAME_TORQUE
from benchmarks.robot_files import outcome, robot_files, whole_job

DATA = os.environ.get("DYNID_DATA", "")
FILES = robot_files(Path(DATA)) if DATA else []
WHOLE = ("robotisOpenManipulator.urdf", "irb6640_185_280.urdf", "agilex_piper/scene.xml")
"""A small arm with coupled fingers, a large one without inertias, and a scene that includes its arm."""

pytestmark = pytest.mark.data


def test_the_files_are_found(data_dir):
    assert len(robot_files(data_dir)) >= 45


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_public_robot_file_loads_and_has_the_torque_of_others(path):
    one = outcome(path, job=False)
    if one.is_part:
        pytest.skip("no robot: a part that other files include")
    assert one.refusal == ""
    if one.error != one.error:
        pytest.skip(one.by)
    assert one.error <= SAME_TORQUE


@pytest.mark.parametrize("name", WHOLE)
def test_a_public_robot_file_is_simulated_examined_identified_and_exported(name, data_dir):
    path = next(path for path in robot_files(data_dir) if str(path).endswith(name))
    assert whole_job(path) == "well"
