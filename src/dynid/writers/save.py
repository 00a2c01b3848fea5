"""`save`: the files of a result, whole or not at all: what the commands write, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from os import PathLike
from pathlib import Path

from dynid.disk import at_once, claimed, write_whole
from dynid.errors import ConfigError
from dynid.regression.model import IdentifiedModel
from dynid.regression.model_file import save_model
from dynid.workflow.identification import Identification
from dynid.writers.exported import Exported
from dynid.writers.origin import write_urdf_like_its_origin
from dynid.writers.report.identification import identification_report

__all__ = ["Saved", "save"]


@dataclass(frozen=True)
class Saved:
    """The files of a result, by what they are."""

    files: Mapping[str, Path]
    """Such as model, report, run, urdf."""
    urdf: Exported | None = None
    """The robot file among them, with what it leaves out; None where there is none."""
    warnings: tuple[str, ...] = field(default=())
    """What the files do not say, a sentence each."""

    def json(self) -> dict[str, object]:
        """What scripts read of it."""
        content: dict[str, object] = {"files": {name: str(path) for name, path in self.files.items()}}
        if self.urdf is not None:
            left_out, notices = list(self.urdf.left_out), list(self.urdf.notices)
            content["urdf"] = {"how": self.urdf.how, "left_out": left_out, "notices": notices}
        return content

    def __str__(self) -> str:
        return "\n".join(str(path) for path in self.files.values())


@singledispatch
def _save(result: object, folder: Path) -> Saved:
    raise ConfigError(f"save: expected a result of dynid.identify and its like, got {type(result).__name__}")


def save(result: object, out: str | PathLike[str]) -> Saved:
    """Write the files of a result into a folder, all of them or none.

    Args:
        result: what `dynid.identify`, `reverse`, `retrieve`, `friction`, `payload` or `track` returned, or an
            `IdentifiedModel`.
        out: the folder; it is made where it is missing.

    Raises:
        OutputError: naming the file and what the system said.
        ConfigError: for a value that has no files.
    """
    if not isinstance(out, str | PathLike):
        raise ConfigError(f"out: expected a folder, got {type(out).__name__}")
    folder = Path(out)
    with claimed(folder), at_once():
        return _save(result, folder)


@_save.register
def _(result: IdentifiedModel, folder: Path) -> Saved:
    save_model(result, folder / "model.json")
    return Saved({"model": folder / "model.json"})


@_save.register
def _(result: Identification, folder: Path) -> Saved:
    files = {"model": folder / "model.json", "report": folder / "report.html", "run": folder / "run.json"}
    save_model(result.model, files["model"])
    identification_report(result).write(files["report"])
    write_whole(files["run"], run_text(result.model))
    if not result.model.consistent:
        return Saved(files)
    files["urdf"] = folder / "robot.urdf"
    done = write_urdf_like_its_origin(result.model, files["urdf"])
    told = tuple(f"robot.urdf: {sentence}" for sentence in (*done.left_out, *done.notices))
    return Saved(files, done, told)


def run_text(model: IdentifiedModel) -> str:
    """The text of run.json: where a model comes from."""
    return json.dumps(dict(model.provenance), indent=1, default=str) + "\n"
