"""The files of the reverse method: model.json, report.html and run.json."""

from __future__ import annotations

from pathlib import Path

from dynid.workflow.reverse import ReverseIdentification
from dynid.writers.report.reverse import reverse_report
from dynid.writers.savers.saved import Saved, Saver, write_model_files

__all__: list[str] = []


def _write(result: ReverseIdentification, folder: Path) -> Saved:
    return Saved(write_model_files(result.model, reverse_report(result), folder))


SAVER = Saver(_write)
