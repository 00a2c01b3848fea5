"""Terminals without σ get ASCII, and a pipe that closes early is no failure."""

import json
import os
import subprocess
import sys

import pytest

from dynid.cli.plain_text import in_ascii


def run(*words, encoding="utf-8", **options):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    return subprocess.run([sys.executable, "-m", "dynid", *words], capture_output=True, env=environment, **options)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_cannot_print_a_letter_gets_ascii(encoding):
    done = run("info", "planar2r", encoding=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode(encoding)
    assert "rad/s^2" in text or "rad/s²" in text
    assert "-3.142 ... 3.142 rad" in text


def test_json_reads_back_the_same_in_any_encoding():
    ascii_only, unicode_text = (run("info", "planar2r", "--json", encoding=name).stdout for name in ("ascii", "utf-8"))
    assert ascii_only.isascii()
    assert json.loads(ascii_only) == json.loads(unicode_text.decode())


def test_letters_have_a_name_in_ascii():
    assert in_ascii("σ ± 3° of é·m² → 𝄞") == "sigma +- 3deg of e*m^2 -> \\U0001d11e"


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize("words", ["info panda", "info panda --json", "--help"])
def test_a_reader_that_stops_reading_is_no_failure(words):
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "dynid", *words.split()]
    with subprocess.Popen(command, stdout=write_end, stderr=subprocess.PIPE) as process:
        os.close(write_end)
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")
