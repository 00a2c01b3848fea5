"""The files of an identification: model.json, report.html, run.json and robot.urdf."""

from __future__ import annotations

from pathlib import Path

from dynid.workflow.identification import Identification
from dynid.writers.report.identification import identification_report
from dynid.writers.savers.saved import Saved, Saver, with_urdf, write_model_files

__all__: list[str] = []


def _write(result: Identification, folder: Path) -> Saved:
    return with_urdf(result.model, folder, write_model_files(result.model, identification_report(result), folder))


SAVER = Saver(_write)
