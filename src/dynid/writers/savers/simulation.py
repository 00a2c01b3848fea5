"""The files of a simulated log: itself, and the truth next to it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from dynid.disk import refuse_replacing, write_whole
from dynid.errors import RecordingError
from dynid.recording.formats.text import write_csv
from dynid.workflow.simulation import Simulation
from dynid.writers.savers.saved import Saved, Saver

__all__ = ["log_files"]


def _write(result: Simulation, path: Path) -> Saved:
    files = log_files(path, result.inputs)
    write_csv(result.recording, files["log"])
    write_whole(files["truth"], json.dumps(result.truth, ensure_ascii=False, indent=1) + "\n")
    return Saved(files)


def log_files(path: Path, inputs: Iterable[Path]) -> dict[str, Path]:
    """The files of a simulated log: itself, and the truth next to it.

    Raises:
        RecordingError: for an ending that no log is written with.
        OutputError: one of them is an input, or somebody else's file.
    """
    if not path.name.endswith((".csv", ".csv.gz")):
        raise RecordingError(f"`out` {path}: the log is written as .csv or .csv.gz; change the ending")
    truth = path.with_name(path.name.removesuffix(".gz").removesuffix(".csv") + ".truth.json")
    refuse_replacing(inputs, [path], unasked={truth: '"parameters"'})
    return {"log": path, "truth": truth}


SAVER = Saver(_write, one_file=True)
