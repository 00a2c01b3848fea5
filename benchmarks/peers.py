"""Peers in an environment of their own: created on request, called as a subprocess, answers exchanged as files."""

import json
import os
import subprocess
import tempfile
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import BLAS_THREADS
from dynid.arrays import Array

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = "DYNID_PEERS"
"""Names the folder of the environment where it is not `.peers` in the root of the repository."""
REQUIREMENTS = ROOT / "requirements" / "peers.txt"
TIMEOUT = 600.0
"""s; a peer that takes longer is left out, with this as the reason."""


class PeerError(Exception):
    """A peer is not there, or did not answer; the message is the reason."""


@dataclass(frozen=True)
class Answer:
    """What a peer returned: figures, and arrays by name."""

    figures: dict[str, Any]
    arrays: dict[str, Array]


def folder() -> Path:
    """Where the environment of the peers is, or would be."""
    return Path(os.environ.get(ENVIRONMENT) or ROOT / ".peers")


def interpreter() -> Path:
    """The Python of the peers.

    Raises:
        PeerError: there is none.
    """
    found = folder() / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not found.exists():
        raise PeerError("no environment for peers; make peers creates it")
    return found


def set_up() -> str:
    """Create the environment and install the locked peers into it; a sentence about it.

    Raises:
        PeerError: pip failed.
    """
    venv.create(folder(), with_pip=True, clear=True)
    command = [str(interpreter()), "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    done = subprocess.run([*command, "--require-hashes", "-r", str(REQUIREMENTS)], check=False)
    if done.returncode != 0:
        raise PeerError(f"pip ended with {done.returncode}; the peers are not complete")
    return f"peers are ready: {folder().name}"


def ask(peer: str, task: str, arrays: Mapping[str, Array], files: Mapping[str, str], **figures: float | str) -> Answer:
    """Let ``peer_PEER.py`` do a task in the environment of the peers.

    Args:
        peer: which script beside this one.
        task: which of its functions.
        arrays: its input, by name.
        files: further input files, name to content.
        figures: numbers and words it needs.

    Raises:
        PeerError: no environment, too slow, or it failed; with the last line it wrote.
    """
    script = Path(__file__).with_name(f"peer_{peer}.py")
    python = interpreter()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        np.savez(place / "in.npz", **dict(arrays))  # type: ignore[arg-type]
        (place / "in.json").write_text(json.dumps(figures), encoding="utf-8")
        for file, content in files.items():
            (place / file).write_text(content, encoding="utf-8")
        try:
            done = subprocess.run(
                [str(python), str(script), task, str(place)],
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
                # A peer uses as many threads as it likes.
                env={key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", *BLAS_THREADS)},
            )
        except subprocess.TimeoutExpired as error:
            raise PeerError(f"no answer within {TIMEOUT:g} s") from error
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise PeerError(f"it failed: {last}")
        with np.load(place / "out.npz") as found:
            answers = {key: found[key] for key in found.files}
        return Answer(json.loads((place / "out.json").read_text(encoding="utf-8")), answers)
