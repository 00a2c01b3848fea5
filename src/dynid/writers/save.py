"""`save`: the files of a result, whole or not at all: what the commands write, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import singledispatch
from os import PathLike
from pathlib import Path

from dynid.disk import at_once, claimed, write_whole
from dynid.errors import ConfigError
from dynid.prose import json_text
from dynid.regression.model import IdentifiedModel
from dynid.regression.model_file import save_model
from dynid.workflow.friction import FrictionRefit
from dynid.workflow.identification import Identification
from dynid.workflow.payload import GainsIdentification, PayloadIdentification
from dynid.workflow.retrieve import ModelRetrieval
from dynid.workflow.reverse import ReverseIdentification
from dynid.workflow.track import ModelTracking
from dynid.writers.exported import Exported
from dynid.writers.origin import write_urdf_like_its_origin
from dynid.writers.report.friction import friction_report
from dynid.writers.report.identification import identification_report
from dynid.writers.report.page import Report
from dynid.writers.report.retrieval import retrieval_report
from dynid.writers.report.reverse import reverse_report
from dynid.writers.report.tracking import tracking_report

__all__ = ["Saved", "save"]

IN_ONE_FILE = (PayloadIdentification, GainsIdentification)
"""Results that are one JSON file rather than a folder."""


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
    """Write the files of a result, all of them or none: into a folder, or for `dynid.payload` into one JSON file.

    Args:
        result: what `dynid.identify`, `reverse`, `retrieve`, `friction`, `payload` or `track` returned, or an
            `IdentifiedModel`.
        out: the folder, made where it is missing; for a result of `payload` the JSON file.

    Raises:
        OutputError: naming the file and what the system said.
        ConfigError: for a value that has no files.
    """
    if not isinstance(out, str | PathLike):
        raise ConfigError(f"out: expected a path, got {type(out).__name__}")
    place = Path(out)
    with nullcontext() if isinstance(result, IN_ONE_FILE) else claimed(place), at_once():
        return _save(result, place)


@_save.register
def _(result: IdentifiedModel, folder: Path) -> Saved:
    save_model(result, folder / "model.json")
    return Saved({"model": folder / "model.json"})


@_save.register
def _(result: Identification, folder: Path) -> Saved:
    return _with_urdf(result.model, folder, _model_files(result.model, identification_report(result), folder))


@_save.register
def _(result: ModelRetrieval, folder: Path) -> Saved:
    return _with_urdf(result.model, folder, _model_files(result.model, retrieval_report(result), folder))


@_save.register
def _(result: ReverseIdentification, folder: Path) -> Saved:
    return Saved(_model_files(result.model, reverse_report(result), folder))


@_save.register
def _(result: FrictionRefit, folder: Path) -> Saved:
    return Saved(_model_files(result.model, friction_report(result), folder))


@_save.register(PayloadIdentification)
@_save.register(GainsIdentification)
def _(result: PayloadIdentification | GainsIdentification, path: Path) -> Saved:
    write_whole(path, json_text(result.json()))
    return Saved({"payload" if isinstance(result, PayloadIdentification) else "gains": path})


def _model_files(model: IdentifiedModel, report: Report, folder: Path) -> dict[str, Path]:
    """Write model.json, report.html and run.json."""
    files = {"model": folder / "model.json", "report": folder / "report.html", "run": folder / "run.json"}
    save_model(model, files["model"])
    report.write(files["report"])
    write_whole(files["run"], run_text(model))
    return files


def _with_urdf(model: IdentifiedModel, folder: Path, files: dict[str, Path]) -> Saved:
    """The same with robot.urdf, where every link is physically consistent."""
    if not model.consistent:
        return Saved(files)
    files["urdf"] = folder / "robot.urdf"
    done = write_urdf_like_its_origin(model, files["urdf"])
    told = tuple(f"robot.urdf: {sentence}" for sentence in (*done.left_out, *done.notices))
    return Saved(files, done, told)


def run_text(model: IdentifiedModel) -> str:
    """The text of run.json: where a model comes from."""
    return json.dumps(dict(model.provenance), indent=1, default=str) + "\n"


@_save.register
def _(result: ModelTracking, folder: Path) -> Saved:
    files = {"model": folder / "model.json", "report": folder / "report.html"}
    save_model(result.model, files["model"])
    tracking_report(result.run).write(files["report"])
    return Saved(files)
