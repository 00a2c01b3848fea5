"""The file of an identified model alone."""

from __future__ import annotations

from pathlib import Path

from dynid.disk import refuse_replacing
from dynid.regression.model import IdentifiedModel
from dynid.regression.model_file import save_model
from dynid.writers.origin import model_sources
from dynid.writers.savers.saved import Saved, Saver, marked

__all__: list[str] = []


def _write(result: IdentifiedModel, folder: Path) -> Saved:
    refuse_replacing(model_sources(result), (), unasked=marked([folder / "model.json"]))
    save_model(result, folder / "model.json")
    return Saved({"model": folder / "model.json"})


SAVER = Saver(_write)
