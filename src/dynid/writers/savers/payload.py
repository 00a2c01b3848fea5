"""The file of a load, or of drive gains: JSON."""

from __future__ import annotations

from pathlib import Path

from dynid.disk import refuse_replacing, write_whole
from dynid.prose import json_text
from dynid.workflow.payload_results import GainsIdentification, PayloadIdentification
from dynid.writers.savers.saved import Saved, Saver

__all__: list[str] = []


def _write(result: PayloadIdentification | GainsIdentification, path: Path) -> Saved:
    refuse_replacing(result.inputs, [path])
    write_whole(path, json_text(result.json()))
    return Saved({"payload" if isinstance(result, PayloadIdentification) else "gains": path})


SAVER = Saver(_write, one_file=True)
