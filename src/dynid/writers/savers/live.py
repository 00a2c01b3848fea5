"""The files of a live run: model.json, log.csv, report.html and events.json."""

from __future__ import annotations

import json
from pathlib import Path

from dynid.disk import refuse_replacing, write_whole
from dynid.recording.formats.text import write_csv
from dynid.regression.model_file import save_model
from dynid.workflow.live_view import LiveSession
from dynid.writers.report.tracking import tracking_report
from dynid.writers.savers.saved import Saved, Saver, marked

__all__: list[str] = []


def _write(result: LiveSession, folder: Path) -> Saved:
    names = {"model": "model.json", "log": "log.csv", "report": "report.html", "events": "events.json"}
    files = {kind: folder / name for kind, name in names.items()}
    refuse_replacing((), (), unasked=marked(files.values()))
    save_model(result.model, files["model"])
    write_csv(result.log, files["log"])
    tracking_report(result.run).write(files["report"])
    events = [{"t": event.t, "kind": event.kind, "mass": event.mass, "detail": event.detail} for event in result.events]
    write_whole(files["events"], json.dumps(events, indent=1) + "\n")
    return Saved(files)


SAVER = Saver(_write)
