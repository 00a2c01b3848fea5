"""The files of refitted friction: model.json, report.html and run.json."""

from __future__ import annotations

from pathlib import Path

from dynid.workflow.friction import FrictionRefit
from dynid.writers.report.friction import friction_report
from dynid.writers.savers.saved import Saved, Saver, model_files

__all__ = ["SAVER"]


def _write(result: FrictionRefit, folder: Path) -> Saved:
    return Saved(model_files(result.model, friction_report(result), folder))


SAVER = Saver(_write)
