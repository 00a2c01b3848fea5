"""`identify` from what was just recorded, in a process of its own: the filter goes on undisturbed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from dynid.errors import DynidError
from dynid.recording.formats.text import write_csv
from dynid.recording.readers import read_recording
from dynid.recording.recording import Recording
from dynid.regression.model import IdentifiedModel
from dynid.regression.model_file import load_model, save_model
from dynid.workflow.identify import identify

__all__ = ["BackgroundIdentification", "identify_recorded"]

MAX_SECONDS = 900.0
"""Time in s after which the process is ended."""


def identify_recorded(folder: Path) -> None:
    """Identify the robot of model.json from log.csv, and write the mark and the verdict as text to told.txt."""
    robot = load_model(folder / "model.json").robot
    try:
        result = identify(robot, [read_recording(folder / "log.csv", robot.joint_names)])
        words = f"{result.verdict.mark}\n{result.verdict.summary}"
    except DynidError as error:
        words = f"refused\n{error}"
    (folder / "told.txt").write_text(words, encoding="utf-8")


class BackgroundIdentification:
    """At most one identification at a time; `status` says how it stands."""

    def __init__(self, done: Callable[[str], None]) -> None:
        """Call `done` with the verdict."""
        self.status = ""
        self._done = done
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def busy(self) -> bool:
        """Whether one is running."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, known: IdentifiedModel, recording: Recording) -> bool:
        """Begin; False where one is running already."""
        if self.busy:
            return False
        self.status = f"Identifying from {recording.duration:.0f} s of {recording.n_samples} samples …"
        self._thread = threading.Thread(target=self._run, args=(known, recording), daemon=True)
        self._thread.start()
        return True

    def stop(self) -> None:
        """End what is running."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    def _run(self, known: IdentifiedModel, recording: Recording) -> None:
        with tempfile.TemporaryDirectory(prefix="dynid-live-") as folder:
            place, told = Path(folder), Path(folder) / "told.txt"
            save_model(known, place / "model.json")
            write_csv(recording, place / "log.csv")
            script = (
                "import sys; from pathlib import Path; from dynid.writers.live.background import identify_recorded; "
                "identify_recorded(Path(sys.argv[1]))"
            )
            command = [sys.executable, "-c", script, str(place)]
            self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                self._process.wait(timeout=MAX_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(timeout=10.0)
            text = told.read_text(encoding="utf-8") if told.exists() else "failed\nthe identification did not end"
        mark, _, words = text.partition("\n")
        self.status = f"Identified: {mark}. {words}"
        self._done(mark)
