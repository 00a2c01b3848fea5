"""Progress and colour are for terminals: tried in a pseudo-terminal and in a pipe."""

import os
import re
import select
import subprocess
import sys
import time

import pytest

from dynid.cli.progress import progress
from tests.processes import PATIENCE

pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")

WORK = """
import sys, time
from dynid.cli.progress import progress
with progress("thinking") as step:
    time.sleep(0.6)
    for k in range(30):
        step("counting: some\\x1b]0;owned\\x07", k / 30)
        time.sleep(0.03)
from dynid.cli.console import warn
warn("done")
"""
CSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[(?:3[0-79]|9[0-7]|38|1;3)[0-9;]*m")


def on_a_terminal(code, **environment):
    """What a program writes to a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    names = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**names, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
    ) as process:
        os.close(theirs)
        text = b""
        end = time.monotonic() + 120.0
        while time.monotonic() < end:
            ready, _, _ = select.select([ours], [], [], 0.2)
            if ready:
                try:
                    piece = os.read(ours, 65536)
                except OSError:
                    break  # Linux says so when the other end is closed.
                if not piece:
                    break
                text += piece
            elif process.poll() is not None:
                break
    os.close(ours)
    assert process.returncode == 0
    return text.decode()


def test_a_terminal_shows_share_and_time_left_in_colour():
    text = on_a_terminal(WORK)
    plain = CSI.sub("", text)
    assert "thinking …" in plain
    assert "counting: some\\x1b]0;owned\\x07 …" in plain
    assert re.search(r"\b[1-9]\d%", plain)
    assert re.search(r"\d:\d\d", plain)
    assert COLOUR.search(text)


def test_no_color_is_honoured():
    text = on_a_terminal(WORK, NO_COLOR="1")
    assert "counting: some\\x1b]0;owned\\x07 …" in CSI.sub("", text)
    assert not COLOUR.search(text)


def test_a_pipe_gets_neither_progress_nor_colour():
    done = subprocess.run([sys.executable, "-c", WORK], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout == ""
    assert done.stderr == "warning    done\n"


def test_quick_and_quiet_work_shows_nothing(capsys):
    with progress("thinking", quiet=True) as step:
        step("more", 0.5)
        step("less")
    assert capsys.readouterr().err == ""
    quick = on_a_terminal("from dynid.cli.progress import progress\nwith progress('thinking'):\n    pass\n")
    assert "thinking" not in quick
