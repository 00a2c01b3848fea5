"""The files of a retrieval: model.json, report.html, run.json and robot.urdf."""

from __future__ import annotations

from pathlib import Path

from dynid.workflow.retrieve import ModelRetrieval
from dynid.writers.report.retrieval import retrieval_report
from dynid.writers.savers.saved import Saved, Saver, with_urdf, write_model_files

__all__: list[str] = []


def _write(result: ModelRetrieval, folder: Path) -> Saved:
    return with_urdf(result.model, folder, write_model_files(result.model, retrieval_report(result), folder))


SAVER = Saver(_write)
