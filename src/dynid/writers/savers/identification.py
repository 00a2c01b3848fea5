"""The files of an identification: model.json, report.html, run.json and robot.urdf."""

from __future__ import annotations

from pathlib import Path

from dynid.workflow.identification import Identification
from dynid.writers.report.identification import identification_report
from dynid.writers.savers.saved import Saved, Saver, model_files, with_urdf

__all__ = ["SAVER"]


def _write(result: Identification, folder: Path) -> Saved:
    return with_urdf(result.model, folder, model_files(result.model, identification_report(result), folder))


SAVER = Saver(_write)
