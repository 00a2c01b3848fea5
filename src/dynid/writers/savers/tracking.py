"""The files of a tracking run: model.json and report.html."""

from __future__ import annotations

from pathlib import Path

from dynid.disk import refuse_replacing
from dynid.regression.model_file import save_model
from dynid.workflow.track_result import ModelTracking
from dynid.writers.report.tracking import tracking_report
from dynid.writers.savers.saved import Saved, Saver, marked

__all__: list[str] = []


def _write(result: ModelTracking, folder: Path) -> Saved:
    files = {"model": folder / "model.json", "report": folder / "report.html"}
    refuse_replacing(result.inputs, (), unasked=marked(files.values()))
    save_model(result.model, files["model"])
    tracking_report(result.run, result.compared).write(files["report"])
    return Saved(files)


SAVER = Saver(_write)
