"""The files of refitted friction: model.json, report.html and run.json."""

from __future__ import annotations

from pathlib import Path

from dynid.workflow.friction import FrictionRefit
from dynid.writers.report.friction import friction_report
from dynid.writers.savers.saved import Saved, Saver, write_model_files

__all__: list[str] = []


def _write(result: FrictionRefit, folder: Path) -> Saved:
    return Saved(write_model_files(result.model, friction_report(result), folder))


SAVER = Saver(_write)
