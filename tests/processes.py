"""dynid as a process of its own: none is waited for without end, and one that hangs tells where."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OPENBLAS_NUM_THREADS": "1"}
"""For processes that run the dynid and the tests of this very tree, wherever they start."""
PATIENCE = 180.0
"""Seconds after which a process that is waited for counts as hanging."""
LAST_WORDS = 20.0
"""Seconds in which a process that was told to end must have done so."""


def started(command: list[str], folder: Path | None = None) -> subprocess.Popen[str]:
    """``dynid COMMAND`` in a group of its own, begun; its output is kept as text."""
    return subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-m", "dynid", *command],
        cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def finished(process: subprocess.Popen[str], seconds: float = PATIENCE) -> tuple[str, str]:
    """What a process wrote to its output and to its error channel; the test fails where it does not end."""
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # the fault handler writes down what every thread is at
    try:
        _, said = process.communicate(timeout=LAST_WORDS)
    except subprocess.TimeoutExpired as error:
        said = str(error.stderr)
    ended(process)
    pytest.fail(f"still running after {seconds:g} s: {said[-8000:]}")


def ended(process: subprocess.Popen[str]) -> None:
    """Kill a process with all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=LAST_WORDS)
